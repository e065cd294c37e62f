/* SPDX-License-Identifier: MIT */
/*
 * The layout of structs and the values of enumerations, which programs and ctypes bindings built
 * for libkperf rely on: the same on x86-64 and arm64. The bits of bit fields are tested in
 * tests/e2e/test_kperf.py. docs/kperf.md says of which version the layout is.
 */
#include <stddef.h>

#include "pmu.h"
#include "symbol.h"

/* Offsets of up to eight members. */
#define AT(type, member, offset)                                                                   \
	_Static_assert(offsetof(struct type, member) == (offset), #type "." #member)
#define AT2(type, member, offset, ...)                                                             \
	AT(type, member, offset);                                                                  \
	AT(type, __VA_ARGS__)
#define AT3(type, member, offset, ...)                                                             \
	AT(type, member, offset);                                                                  \
	AT2(type, __VA_ARGS__)
#define AT4(type, member, offset, ...)                                                             \
	AT(type, member, offset);                                                                  \
	AT3(type, __VA_ARGS__)
#define AT5(type, member, offset, ...)                                                             \
	AT(type, member, offset);                                                                  \
	AT4(type, __VA_ARGS__)
#define AT6(type, member, offset, ...)                                                             \
	AT(type, member, offset);                                                                  \
	AT5(type, __VA_ARGS__)
#define AT7(type, member, offset, ...)                                                             \
	AT(type, member, offset);                                                                  \
	AT6(type, __VA_ARGS__)
#define AT8(type, member, offset, ...)                                                             \
	AT(type, member, offset);                                                                  \
	AT7(type, __VA_ARGS__)
#define SIZE(type, size) _Static_assert(sizeof(struct type) == (size), #type)

AT2(EvtAttr, groupId, 0, period, 4);
/* excludeUser and excludeKernel: 8 */
SIZE(EvtAttr, 12);

AT8(PmuAttr, evtList, 0, numEvt, 8, pidList, 16, numPid, 24, cpuList, 32, numCpu, 40, evtAttr, 48,
	numEvtAttr, 56);
AT2(PmuAttr, period, 60, freq, 60);
/* useFreq and the bits after it: 64 */
AT(PmuAttr, symbolMode, 68);
/* callStack and blockedSample: 72 */
AT3(PmuAttr, dataFilter, 80, evFilter, 88, minLatency, 96);
/* includeNewFork: 104 */
AT3(PmuAttr, branchSampleFilter, 112, cgroupNameList, 120, numCgroup, 128);
/* enableUserAccess to perThread: 132 */
SIZE(PmuAttr, 136);

AT8(PmuTraceAttr, funcs, 0, numFuncs, 8, pidList, 16, numPid, 24, cpuList, 32, numCpu, 40,
	callStack, 44, symbolMode, 48);
SIZE(PmuTraceAttr, 56);

AT3(CpuTopology, coreId, 0, numaId, 4, socketId, 8);
SIZE(CpuTopology, 12);

AT5(BranchSampleRecord, fromAddr, 0, toAddr, 8, cycles, 16, misPred, 24, predicted, 25);
SIZE(BranchSampleRecord, 32);

AT8(PmuDataExt, pa, 0, va, 8, event, 16, lat, 24, source, 26, op, 28, nr, 0, branchRecords, 8);
SIZE(PmuDataExt, 32);

AT(SampleRawData, data, 0);
SIZE(SampleRawData, 8);
AT5(SampleRawField, fieldName, 0, fieldStr, 8, offset, 16, size, 20, isSigned, 24);
SIZE(SampleRawField, 32);

AT8(PmuData, stack, 0, evt, 8, ts, 16, pid, 24, tid, 28, cpu, 32, groupId, 36, cpuTopo, 40);
AT7(PmuData, comm, 48, period, 56, count, 64, countPercent, 72, ext, 80, rawData, 88, cgroupName,
	96);
SIZE(PmuData, 104);

AT8(PmuTraceData, funcs, 0, startTs, 8, elapsedTime, 16, pid, 24, tid, 28, cpu, 32, comm, 40, stack,
	48);
SIZE(PmuTraceData, 56);

AT4(PmuCpuFreqDetail, cpuId, 0, minFreq, 8, maxFreq, 16, avgFreq, 24);
SIZE(PmuCpuFreqDetail, 32);

AT3(PmuDeviceAttr, metric, 0, bdf, 8, port, 16);
SIZE(PmuDeviceAttr, 24);

AT8(PmuDeviceData, metric, 0, count, 8, mode, 16, coreId, 24, numaId, 24, clusterId, 24, bdf, 24,
	port, 24);
AT3(PmuDeviceData, channelId, 24, ddrNumaId, 28, socketId, 32);
SIZE(PmuDeviceData, 40);

AT4(PmuHwMetricAttr, metric, 0, basePeriodList, 8, thresholdList, 16, pid, 24);
SIZE(PmuHwMetricAttr, 32);

AT2(SymbolSource, moduleName, 0, symbolName, 8);
SIZE(SymbolSource, 16);
AT5(UTraceAttr, symSrc, 0, numSym, 8, pidList, 16, numPid, 24, fetchG, 28);
SIZE(UTraceAttr, 32);
AT8(UTraceData, addr, 0, comm, 8, tid, 16, cpu, 20, timestamp, 24, gPtr, 32, module, 40, func, 48);
AT(UTraceData, isRet, 56);
SIZE(UTraceData, 64);

AT2(ProcData, filePath, 16, stat, 24);
SIZE(ProcData, 32);
SIZE(ProcField, 16);

AT8(Symbol, addr, 0, module, 8, symbolName, 16, mangleName, 24, fileName, 32, lineNum, 40, offset,
	48, codeMapEndAddr, 56);
AT3(Symbol, codeMapAddr, 64, firstLine, 72, mntPoint, 80);
SIZE(Symbol, 88);
AT3(Stack, symbol, 0, next, 8, prev, 16);
SIZE(Stack, 64);
_Static_assert(_Alignof(struct Stack) == 64, "Stack");
AT5(StackAsm, funcName, 0, funcStartAddr, 8, functFileOffset, 16, next, 24, asmCode, 32);
SIZE(StackAsm, 40);
AT4(AsmCode, addr, 0, code, 8, fileName, 16, lineNum, 24);
SIZE(AsmCode, 32);

/* ---- values of enumerations: the last of each, and those that leave out numbers ---- */

#define VALUE(name, value) _Static_assert((name) == (value), #name)

VALUE(SPE_SAMPLING, 2);
VALUE(ALL_EVENT, 3);
VALUE(STORE_FILTER, 1UL << 34);
VALUE(JITTER, 1UL << 16);
VALUE(SPE_EVENT_MISPREDICTED, 0x80);
VALUE(RESOLVE_DELAY_DWARF, 4);
VALUE(KPERF_SAMPLE_BRANCH_TYPE_SAVE, 1 << 16);
VALUE(SPE_EV_ALIGNMENT, 1 << 11);
VALUE(SPE_EV_PARTIAL_PRED, 1 << 17);
VALUE(SPE_FORWARD_HAZARD, 1 << 24);
VALUE(SPE_STRUCTURE_HAZARD, 1 << 25);
VALUE(HIP_REMOTE_MEM, 9);
VALUE(HIP_NC_DEV, 13);
VALUE(HIP_L1, 18);
VALUE(SPE_OP_LD, 1 << 20);
VALUE(SPE_OP_AR, 1 << 24);
VALUE(PMU_HHA_CROSS_SOCKET, 15);
VALUE(PMU_BDF_TYPE_SMMU, 1);
VALUE(PMU_METRIC_CHANNEL, 5);
VALUE(PMU_HWM_BRACH_LOADS_MISS, 1 << 8);
VALUE(PROC_PID_TASK_STAT, 46);

_Static_assert(sizeof(enum SpeFilter) == 8, "SpeFilter");
_Static_assert(sizeof(enum SymbolMode) == 4, "SymbolMode");
