/* SPDX-License-Identifier: MIT */
/*
 * The layout of structs, which programs and ctypes bindings built for libkperf rely on: the same on
 * x86-64 and arm64. Bit fields are in the order of their declaration.
 */
#include <stddef.h>

#include "pmu.h"
#include "symbol.h"

#define AT(type, member, offset)                                                                   \
	_Static_assert(offsetof(struct type, member) == (offset), #type "." #member)
#define SIZE(type, size) _Static_assert(sizeof(struct type) == (size), #type)

AT(EvtAttr, period, 4);
SIZE(EvtAttr, 12);

AT(PmuAttr, evtList, 0);
AT(PmuAttr, numEvt, 8);
AT(PmuAttr, pidList, 16);
AT(PmuAttr, numPid, 24);
AT(PmuAttr, cpuList, 32);
AT(PmuAttr, numCpu, 40);
AT(PmuAttr, evtAttr, 48);
AT(PmuAttr, numEvtAttr, 56);
AT(PmuAttr, numGroup, 56);
AT(PmuAttr, period, 60);
AT(PmuAttr, freq, 60);
/* useFreq and the bits after it: 64 */
AT(PmuAttr, symbolMode, 68);
/* callStack and blockedSample: 72 */
AT(PmuAttr, dataFilter, 80);
AT(PmuAttr, evFilter, 88);
AT(PmuAttr, minLatency, 96);
/* includeNewFork: 104 */
AT(PmuAttr, branchSampleFilter, 112);
AT(PmuAttr, cgroupNameList, 120);
AT(PmuAttr, numCgroup, 128);
/* enableUserAccess to perThread: 132 */
SIZE(PmuAttr, 136);

AT(PmuTraceAttr, pidList, 16);
AT(PmuTraceAttr, cpuList, 32);
SIZE(PmuTraceAttr, 48);

SIZE(CpuTopology, 12);

AT(BranchSampleRecord, misPred, 24);
SIZE(BranchSampleRecord, 32);

AT(PmuDataExt, event, 16);
AT(PmuDataExt, lat, 24);
AT(PmuDataExt, source, 26);
AT(PmuDataExt, branchRecords, 8);
SIZE(PmuDataExt, 32);

SIZE(SampleRawData, 8);
AT(SampleRawField, offset, 16);
AT(SampleRawField, isSigned, 24);
SIZE(SampleRawField, 32);

AT(PmuData, stack, 0);
AT(PmuData, evt, 8);
AT(PmuData, ts, 16);
AT(PmuData, pid, 24);
AT(PmuData, tid, 28);
AT(PmuData, cpu, 32);
AT(PmuData, groupId, 36);
AT(PmuData, cpuTopo, 40);
AT(PmuData, comm, 48);
AT(PmuData, period, 56);
AT(PmuData, count, 64);
AT(PmuData, countPercent, 72);
AT(PmuData, ext, 80);
AT(PmuData, rawData, 88);
AT(PmuData, cgroupName, 96);
SIZE(PmuData, 104);

AT(PmuTraceData, startTs, 8);
AT(PmuTraceData, elapsedTime, 16);
AT(PmuTraceData, pid, 24);
AT(PmuTraceData, cpu, 32);
AT(PmuTraceData, comm, 40);
AT(PmuTraceData, stack, 48);
SIZE(PmuTraceData, 56);

AT(PmuCpuFreqDetail, minFreq, 8);
SIZE(PmuCpuFreqDetail, 32);

AT(PmuDeviceAttr, bdf, 8);
AT(PmuDeviceAttr, port, 16);
SIZE(PmuDeviceAttr, 24);

AT(PmuDeviceData, count, 8);
AT(PmuDeviceData, mode, 16);
AT(PmuDeviceData, coreId, 24);
AT(PmuDeviceData, socketId, 32);
SIZE(PmuDeviceData, 40);

AT(PmuHwMetricAttr, basePeriodList, 8);
AT(PmuHwMetricAttr, thresholdList, 16);
AT(PmuHwMetricAttr, pid, 24);
SIZE(PmuHwMetricAttr, 32);

SIZE(SymbolSource, 16);
AT(UTraceAttr, pidList, 16);
AT(UTraceAttr, cpuList, 32);
SIZE(UTraceAttr, 48);
AT(UTraceData, comm, 8);
AT(UTraceData, tid, 16);
AT(UTraceData, timestamp, 24);
AT(UTraceData, gPtr, 32);
AT(UTraceData, module, 40);
AT(UTraceData, func, 48);

AT(ProcData, filePath, 16);
AT(ProcData, stat, 24);
SIZE(ProcData, 32);
SIZE(ProcField, 16);

AT(Symbol, module, 8);
AT(Symbol, fileName, 32);
AT(Symbol, lineNum, 40);
AT(Symbol, offset, 48);
AT(Symbol, codeMapEndAddr, 56);
AT(Symbol, codeMapAddr, 64);
AT(Symbol, mntPoint, 72);
SIZE(Symbol, 80);
AT(Stack, next, 8);
SIZE(Stack, 64);
_Static_assert(_Alignof(struct Stack) == 64, "Stack");
SIZE(StackAsm, 40);
SIZE(AsmCode, 32);

_Static_assert(sizeof(enum SpeFilter) == 8, "SpeFilter");
_Static_assert(sizeof(enum SymbolMode) == 4, "SymbolMode");
