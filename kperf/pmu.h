/* SPDX-License-Identifier: MIT */
/*
 * pmu.h - counting, sampling and tracing: the interface of libkperf on top of libattar.
 *
 * A task is opened from a struct PmuAttr and identified by a number, its pd. PmuRead() returns an
 * array of struct PmuData that the caller frees with PmuDataFree(); it stays valid after
 * PmuClose(). Functions that fail return -1 or NULL, unless they return an error code of pcerrc.h;
 * Perrorno() and Perror() then have the reason, separately in each thread. Tasks may be used by
 * different threads at the same time.
 *
 *	PmuAttr attr = {0};
 *	attr.evtList = events, attr.numEvt = 1;
 *	attr.pidList = pids, attr.numPid = 1;
 *	int pd = PmuOpen(COUNTING, &attr);
 *	PmuEnable(pd);
 *	...
 *	PmuDisable(pd);
 *	int n = PmuRead(pd, &data);
 *	PmuDataFree(data);
 *	PmuClose(pd);
 */
#ifndef PMU_DATA_STRUCT_H
#define PMU_DATA_STRUCT_H

#include <stdint.h>
#include <sys/types.h>
#include <unistd.h>

#include "proc_data_types.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

enum PmuTaskType { COUNTING = 0, SAMPLING = 1, SPE_SAMPLING = 2, MAX_TASK_TYPE };

enum PmuEventType { CORE_EVENT, UNCORE_EVENT, TRACE_EVENT, ALL_EVENT };

/* What an SPE task samples. Constants are wider than int, as in the kernel's attributes. */
enum SpeFilter {
	SPE_FILTER_NONE = 0,
	TS_ENABLE = 1UL << 0,      /* time stamps of the generic timer */
	PA_ENABLE = 1UL << 1,      /* physical addresses of loads and stores */
	PCT_ENABLE = 1UL << 2,     /* physical instead of virtual time stamps */
	JITTER = 1UL << 16,        /* vary the period at random */
	BRANCH_FILTER = 1UL << 32, /* branches only */
	LOAD_FILTER = 1UL << 33,   /* loads only */
	STORE_FILTER = 1UL << 34,  /* stores only */
	SPE_DATA_ALL = TS_ENABLE | PA_ENABLE | PCT_ENABLE | JITTER | BRANCH_FILTER | LOAD_FILTER |
		       STORE_FILTER
};

enum SpeEventFilter {
	SPE_EVENT_NONE = 0,
	SPE_EVENT_RETIRED = 0x2,
	SPE_EVENT_L1DMISS = 0x8,
	SPE_EVENT_TLB_WALK = 0x20,
	SPE_EVENT_MISPREDICTED = 0x80,
};

/* When and how the addresses of samples get names. */
enum SymbolMode {
	NO_SYMBOL_RESOLVE = 0,   /* PmuData.stack is NULL; ResolvePmuDataSymbol() sets it */
	RESOLVE_ELF = 1,         /* by PmuRead(): names of functions */
	RESOLVE_ELF_DWARF = 2,   /* by PmuRead(): also source lines and inlined functions */
	RESOLVE_DELAY_ELF = 3,   /* by ResolvePmuDataSymbol(): as RESOLVE_ELF */
	RESOLVE_DELAY_DWARF = 4, /* by ResolvePmuDataSymbol(): as RESOLVE_ELF_DWARF */
};

/* Which branches are recorded with a sample: privilege levels, and at least one kind of branch. */
enum BranchSampleFilter {
	KPERF_NO_BRANCH_SAMPLE = 0,
	KPERF_SAMPLE_BRANCH_USER = 1U << 0,
	KPERF_SAMPLE_BRANCH_KERNEL = 1U << 1,
	KPERF_SAMPLE_BRANCH_HV = 1U << 2,
	KPERF_SAMPLE_BRANCH_ANY = 1U << 3,
	KPERF_SAMPLE_BRANCH_ANY_CALL = 1U << 4,
	KPERF_SAMPLE_BRANCH_ANY_RETURN = 1U << 5,
	KPERF_SAMPLE_BRANCH_IND_CALL = 1U << 6,
	KPERF_SAMPLE_BRANCH_ABORT_TX = 1U << 7,
	KPERF_SAMPLE_BRANCH_IN_TX = 1U << 8,
	KPERF_SAMPLE_BRANCH_NO_TX = 1U << 9,
	KPERF_SAMPLE_BRANCH_COND = 1U << 10,
	KPERF_SAMPLE_BRANCH_CALL_STACK = 1U << 11,
	KPERF_SAMPLE_BRANCH_IND_JUMP = 1U << 12,
	KPERF_SAMPLE_BRANCH_CALL = 1U << 13,
	KPERF_SAMPLE_BRANCH_NO_FLAGES = 1U << 14,
	KPERF_SAMPLE_BRANCH_NO_CYCLES = 1U << 15,
	KPERF_SAMPLE_BRANCH_TYPE_SAVE = 1U << 16,
};

/* Attributes of one event, in addition to struct PmuAttr. */
struct EvtAttr {
	int groupId;     /* events with the same number are one group; -1: none */
	unsigned period; /* of SAMPLING; 0: the period of struct PmuAttr */
	unsigned excludeUser : 1;
	unsigned excludeKernel : 1;
};

/* A task. Zero it first. It is not changed by any function, and not used after PmuOpen(). */
struct PmuAttr {
	char **evtList; /* names as of PmuEventList() and docs/events.md; NULL for SPE */
	unsigned numEvt;
	/* processes with all their threads, 0: the calling one; NULL: the CPUs are monitored */
	int *pidList;
	unsigned numPid;
	int *cpuList; /* NULL: all */
	unsigned numCpu;
	struct EvtAttr *evtAttr; /* of the first numEvtAttr events; NULL: none */
	unsigned numEvtAttr;
	union {
		unsigned period; /* of SAMPLING and SPE_SAMPLING, in events */
		unsigned freq;   /* of SAMPLING with useFreq, in Hz */
	};
	unsigned useFreq : 1;
	unsigned excludeUser : 1;
	unsigned excludeKernel : 1;
	unsigned excludeGuest : 1;
	unsigned excludeHost : 1;
	enum SymbolMode symbolMode;
	unsigned callStack : 1;     /* whole stacks, not only the innermost function */
	unsigned blockedSample : 1; /* also sample the time off the CPU; evtList is NULL */
	enum SpeFilter dataFilter;
	enum SpeEventFilter evFilter;
	unsigned long minLatency; /* of SPE samples, in cycles */
	/* COUNTING: new threads and processes have separate rows; 0: the rows of their creators */
	unsigned includeNewFork : 1;
	unsigned long branchSampleFilter;
	char **cgroupNameList; /* below the root of the hierarchy; NULL: none */
	unsigned numCgroup;
	unsigned enableUserAccess : 1; /* count the calling thread without system calls */
	unsigned enableBpf : 1;
	unsigned enableHwMetric : 1;
	/*
	 * Begins at the exec of each process, without PmuEnable(). After PmuDisable(), PmuEnable()
	 * and PmuCollect() resume what has begun.
	 */
	unsigned enableOnExec : 1;
	unsigned perThread : 1; /* one descriptor per thread, not per thread and CPU */
};

enum PmuTraceType {
	TRACE_SYS_CALL,
};

struct PmuTraceAttr {
	const char **funcs; /* system calls, as of PmuSysCallFuncList(); NULL: all */
	unsigned numFuncs;
	int *pidList;
	unsigned numPid;
	int *cpuList;
	unsigned numCpu;
	unsigned callStack;         /* 1: whole stacks, not only the innermost function */
	enum SymbolMode symbolMode; /* NO_SYMBOL_RESOLVE: PmuTraceData.stack is NULL */
};

struct CpuTopology {
	int coreId; /* the CPU's number */
	int numaId;
	int socketId;
};

enum SPE_EVENTS {
	SPE_EV_EXCEPT = 1 << 0,
	SPE_EV_RETIRED = 1 << 1,
	SPE_EV_L1D_ACCESS = 1 << 2,
	SPE_EV_L1D_REFILL = 1 << 3,
	SPE_EV_TLB_ACCESS = 1 << 4,
	SPE_EV_TLB_WALK = 1 << 5,
	SPE_EV_NOT_TAKEN = 1 << 6,
	SPE_EV_MISPRED = 1 << 7,
	SPE_EV_LLC_ACCESS = 1 << 8,
	SPE_EV_LLC_MISS = 1 << 9,
	SPE_EV_REMOTE_ACCESS = 1 << 10,
	SPE_EV_ALIGNMENT = 1 << 11,
	SPE_EV_PARTIAL_PRED = 1 << 17,
	SPE_EV_EMPTY_PRED = 1 << 18,
	SPE_FORWARD_HAZARD = 1 << 24, /* of HiSilicon CPUs, as the next one */
	SPE_STRUCTURE_HAZARD = 1 << 25,
};

/* Data sources of HiSilicon CPUs; other CPUs have other numbers. */
enum HIP_DATA_SOURCE {
	HIP_PEER_CPU = 0,
	HIP_PEER_CPU_HITM = 1,
	HIP_L3 = 2,
	HIP_L3_HITM = 3,
	HIP_PEER_CLUSTER = 4,
	HIP_PEER_CLUSTER_HITM = 5,
	HIP_REMOTE_SOCKET = 6,
	HIP_REMOTE_SOCKET_HITM = 7,
	HIP_LOCAL_MEM = 8,
	HIP_REMOTE_MEM = 9,
	HIP_NC_DEV = 13,
	HIP_L2 = 16,
	HIP_L2_HITM = 17,
	HIP_L1 = 18,
};

/* What an SPE sample's load or store was; its other operations have none of these bits. */
enum SpeLdStOpType {
	SPE_OP_LD = 1 << 20,
	SPE_OP_ST = 1 << 21,
	SPE_OP_ATOMIC = 1 << 22,
	SPE_OP_EXCL = 1 << 23, /* exclusive */
	SPE_OP_AR = 1 << 24,   /* acquire or release */
};

struct BranchSampleRecord {
	unsigned long fromAddr;
	unsigned long toAddr;
	unsigned long cycles;
	uint8_t misPred;
	uint8_t predicted;
};

struct PmuDataExt {
	union {
		struct {                       /* of SPE_SAMPLING */
			unsigned long pa, va;  /* physical and virtual address */
			unsigned long event;   /* bits of enum SPE_EVENTS */
			unsigned short lat;    /* cycles from dispatch to completion */
			unsigned short source; /* enum HIP_DATA_SOURCE; 0xffff: none */
			uint32_t op;           /* bits of enum SpeLdStOpType */
		};
		struct { /* of branchSampleFilter; newest branch first */
			unsigned long nr;
			struct BranchSampleRecord *branchRecords;
		};
	};
};

/* The bytes of a tracepoint's sample, for PmuGetField(). */
struct SampleRawData {
	char *data;
};

struct SampleRawField {
	char *fieldName;
	char *fieldStr; /* as declared by the kernel: "char prev_comm[16]" */
	unsigned offset;
	unsigned size; /* bytes; 4 for the location of a field of variable length */
	unsigned isSigned;
};

struct PmuData {
	struct Stack *stack; /* see symbol.h; NULL: none */
	const char *evt;
	int64_t ts; /* ns, CLOCK_MONOTONIC */
	pid_t pid;
	int tid;
	int cpu;     /* -1: any */
	int groupId; /* -1: none */
	struct CpuTopology *cpuTopo;
	const char *comm;
	uint64_t period; /* of SAMPLING */
	uint64_t count;  /* of COUNTING, scaled if the event was multiplexed */
	/* share (0 to 1) of the enabled time that the event was on a counter; -1: it never was */
	double countPercent;
	struct PmuDataExt *ext; /* NULL: none */
	struct SampleRawData *rawData;
	const char *cgroupName;
};

struct PmuTraceData {
	const char *funcs;  /* system call */
	int64_t startTs;    /* ns */
	double elapsedTime; /* ms */
	pid_t pid;
	int tid;
	int cpu;
	const char *comm;
	struct Stack *stack; /* the code of the program that called it; NULL: none */
};

struct PmuCpuFreqDetail {
	int cpuId;
	uint64_t minFreq, maxFreq, avgFreq; /* Hz */
};

/* ---- tasks ---- */

/* Opens a task. Returns its pd, above 0, or -1. */
int PmuOpen(enum PmuTaskType collectType, struct PmuAttr *attr);

/*
 * The names of events that this system has, and their number. The array is owned by the library and
 * valid until the process ends. NULL: see Perror().
 */
const char **PmuEventList(enum PmuEventType eventType, unsigned *numEvt);

/*
 * Start and stop. Counts begin at 0; samples that were not read yet are kept. Return 0, or an error
 * code.
 */
int PmuEnable(int pd);
int PmuDisable(int pd);

/*
 * Collects for a number of milliseconds (-1: until all processes of pidList have ended, or
 * PmuStop()), reading the buffers at each interval of at least 100 ms; PmuRead() then returns the
 * data. Return 0, or an error code.
 */
int PmuCollect(int pd, int milliseconds, unsigned interval);
int PmuCollectV(int *pd, unsigned len, int milliseconds);

/* Ends PmuCollect() of another thread. PmuClose() does so, too. */
void PmuStop(int pd);

/* Ends the resolution of symbols of the task; PmuRead() of another thread returns without names. */
void PmuExit(int pd);

/*
 * The data since PmuEnable() or the previous PmuRead(). Returns the number of elements of *pmuData,
 * which the caller frees with PmuDataFree(); 0 and NULL: there is none; -1: an error. GetWarn() is
 * LIBPERF_WARN_DATA_LOST if samples were lost since then, LIBPERF_WARN_NOT_COUNTED if an event was
 * never on a counter of its PMU.
 */
int PmuRead(int pd, struct PmuData **pmuData);

/* Sets the stacks of data that was read without names. Returns 0 or an error code. */
int ResolvePmuDataSymbol(struct PmuData *pmuData);

/*
 * Appends fromData to *toData (NULL: a new array), which then replaces *toData. Either array can be
 * freed first. Returns the number of elements of *toData, or -1.
 */
int PmuAppendData(struct PmuData *fromData, struct PmuData **toData);

/*
 * Appends data as text to a file: comm pid tid cpu period evt count, then va pa event of SPE or a
 * line "addr symbol+offset module [file:line]" for each function of the stack. Returns 0 or -1.
 */
int PmuDumpData(struct PmuData *pmuData, unsigned len, char *filepath, int dumpDwf);

/* Closes the task. Data that was read stays valid. */
void PmuClose(int pd);

/* Frees data; NULL is allowed. */
void PmuDataFree(struct PmuData *pmuData);

/* ---- fields of tracepoints ---- */

/*
 * Copies a field to value, at most vSize bytes: its bytes, for fields of variable length those that
 * the record refers to. Returns 0 or an error code.
 */
int PmuGetField(struct SampleRawData *rawData, const char *fieldName, void *value, uint32_t vSize);

/* Describes a field. Valid as long as the data. NULL: see Perror(). */
struct SampleRawField *PmuGetFieldExp(struct SampleRawData *rawData, const char *fieldName);

/* ---- devices ---- */

enum PmuDeviceMetric {
	PMU_DDR_READ_BW, /* bytes of each channel of memory */
	PMU_DDR_WRITE_BW,
	PMU_L3_TRAFFIC, /* bytes of each CPU */
	PMU_L3_MISS,    /* accesses of each CPU */
	PMU_L3_REF,
	PMU_L3_LAT,         /* nanoseconds of a request of the L3 cache, of each cluster of CPUs */
	PMU_PCIE_RX_MRD_BW, /* bytes in a microsecond of requests to read, of one device */
	PMU_PCIE_RX_MWR_BW, /* RX: requests of the device, TX: requests of CPUs to it */
	PMU_PCIE_TX_MRD_BW,
	PMU_PCIE_TX_MWR_BW,
	PMU_PCIE_RX_MRD_LAT, /* nanoseconds of a request, behind one root port */
	PMU_PCIE_RX_MWR_LAT,
	PMU_PCIE_TX_MRD_LAT,
	PMU_SMMU_TRAN,      /* transactions of one device */
	PMU_HHA_CROSS_NUMA, /* share (0 to 1) of each node's operations that come from another */
	PMU_HHA_CROSS_SOCKET
};

struct PmuDeviceAttr {
	enum PmuDeviceMetric metric;
	char *bdf;  /* a PCI device, "7a:01.0": of bandwidths of PCIe and PMU_SMMU_TRAN */
	char *port; /* of latencies: a root port, or a device behind it */
};

enum PmuBdfType { PMU_BDF_TYPE_PCIE, PMU_BDF_TYPE_SMMU };

enum PmuMetricMode {
	PMU_METRIC_INVALID,
	PMU_METRIC_CORE,
	PMU_METRIC_NUMA,
	PMU_METRIC_CLUSTER,
	PMU_METRIC_BDF,
	PMU_METRIC_CHANNEL
};

struct PmuDeviceData {
	enum PmuDeviceMetric metric;
	double count;
	enum PmuMetricMode mode;
	union {
		unsigned coreId;
		unsigned numaId;
		unsigned clusterId;
		char *bdf;
		char *port;
		struct {
			unsigned channelId;
			unsigned ddrNumaId;
			unsigned socketId;
		};
	};
};

/*
 * The PCI devices that metrics of PCIe or of an SMMU can be of, in PCI domain 0. Owned by the
 * library, made once. NULL: see Perror().
 */
const char **PmuDeviceBdfList(enum PmuBdfType bdfType, unsigned *numBdf);

/*
 * A task of the counts that metrics are made of, and the metrics of its data: PmuDeviceOpen()
 * returns a pd for PmuEnable(), PmuRead() and PmuClose(); PmuGetDevMetric() returns the number of
 * elements of *data, in the order of attr without what is repeated, and by channel, CPU, cluster or
 * node. Free them with DevDataFree(). -1: see Perror().
 */
int PmuDeviceOpen(struct PmuDeviceAttr *attr, unsigned len);
int PmuGetDevMetric(struct PmuData *pmuData, unsigned len, struct PmuDeviceAttr *attr,
	unsigned attrLen, struct PmuDeviceData **data);
void DevDataFree(struct PmuDeviceData *data);

/*
 * The CPUs of a cluster or a NUMA node. Returns their number, or -1. The caller frees *coreList
 * with free(3).
 */
int PmuGetClusterCore(unsigned clusterId, unsigned **coreList);
int PmuGetNumaCore(unsigned nodeId, unsigned **coreList);

/* ---- system calls ---- */

/* As the functions of tasks; each element of the data is a system call that has returned. */
int PmuTraceOpen(enum PmuTraceType traceType, struct PmuTraceAttr *traceAttr);
int PmuTraceEnable(int pd);
int PmuTraceDisable(int pd);
int PmuTraceRead(int pd, struct PmuTraceData **pmuTraceData);
void PmuTraceClose(int pd);
void PmuTraceDataFree(struct PmuTraceData *pmuTraceData);

/* The names of system calls; owned by the library. */
const char **PmuSysCallFuncList(unsigned *numFunc);
void PmuSysCallFuncListFree(void);

/* ---- CPU frequency ---- */

/* The frequency of a CPU in Hz; -1: see Perror(). */
int64_t PmuGetCpuFreq(unsigned core);

/* Sample the frequencies of all CPUs at this period in ms; 0 or -1. */
int PmuOpenCpuFreqSampling(unsigned period);

/* Per CPU since the previous call. Owned by the library until the next call or the close. */
struct PmuCpuFreqDetail *PmuReadCpuFreqDetail(unsigned *cpuNum);
void PmuCloseCpuFreqSampling(void);

/* ---- perf.data files ---- */

typedef void *PmuFile;

/* Creates a perf.data file for data of a SAMPLING task. NULL: see Perror(). */
PmuFile PmuBeginWrite(const char *path, const struct PmuAttr *pattr, const int addIdHdr);

/* Appends data. Returns 0 or an error code. */
int PmuWriteData(PmuFile file, struct PmuData *data, int len);

/* Finishes the file. */
void PmuEndWrite(PmuFile file);

/* ---- hardware metrics of HiSilicon CPUs ---- */

enum PmuHwMetric {
	PMU_HWM_CPI = 1 << 0,
	PMU_HWM_CACHE_MISS = 1 << 1,
	PMU_HWM_L3_CACHE_MISS = 1 << 2,
	PMU_HWM_L2D_CACHE_MISS = 1 << 3,
	PMU_HWM_L1_DCACHE_MISS = 1 << 4,
	PMU_HWM_L1_ICACHE_LOAD_MISS = 1 << 5,
	PMU_HWM_DTLB_LOAD_MISS = 1 << 6,
	PMU_HWM_ITLD_LOAD_MISS = 1 << 7,
	PMU_HWM_BRACH_LOADS_MISS = 1 << 8,
};

struct PmuHwMetricAttr {
	unsigned long metric;     /* bits of enum PmuHwMetric */
	unsigned *basePeriodList; /* one per bit */
	double *thresholdList;    /* one per bit */
	unsigned pid;
};

/* Needs a kernel with CONFIG_HISILICON_HW_METRIC; otherwise LIBPERF_ERR_NOT_SUPPORT_HWMETRIC. */
int PmuOpenWithHWMetric(struct PmuHwMetricAttr *hwMetricAttr);

/* ---- functions of programs ---- */

struct SymbolSource {
	char *moduleName; /* path of a program or library */
	char *symbolName; /* a function in its symbol table: "main.(*T).Method" */
};

struct UTraceAttr {
	struct SymbolSource *symSrc;
	unsigned numSym;
	int *pidList;
	unsigned numPid;
	unsigned fetchG; /* 1: the goroutine of Go functions, as the address of its runtime.g */
};

/* A call of a function, or its return. */
struct UTraceData {
	unsigned long addr; /* the instruction pointer, in the memory of the process */
	const char *comm;
	int tid;
	int cpu;
	int64_t timestamp; /* ns */
	uint64_t gPtr;     /* of fetchG; 0: none */
	const char *module;
	const char *func;
	int isRet; /* 1: the function returns */
};

int UTraceOpen(struct UTraceAttr *attr);
int UTraceEnable(int pd);
int UTraceDisable(int pd);
int UTraceRead(int pd, struct UTraceData **traceData);
void UTraceDataFree(struct UTraceData *traceData);
void UTraceClose(int pd);

/* ---- files of /proc ---- */

/*
 * Parses the files of enum ProcSource; sources of processes are files of process pid (0: left out).
 * *data is an array of *numData sources; one that cannot be read is not in it, and GetWarnMsg()
 * names it. Free it with ProcDataFree(). Returns 0 or an error code.
 */
int ProcDataRead(int pid, struct ProcData **data, unsigned *numData);
void ProcDataFree(struct ProcData *data, unsigned numData);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

/* C programs may leave out the keyword, as C++ programs do. */
#ifndef __cplusplus
typedef struct EvtAttr EvtAttr;
typedef struct PmuAttr PmuAttr;
typedef struct PmuTraceAttr PmuTraceAttr;
typedef struct CpuTopology CpuTopology;
typedef struct BranchSampleRecord BranchSampleRecord;
typedef struct PmuDataExt PmuDataExt;
typedef struct SampleRawData SampleRawData;
typedef struct SampleRawField SampleRawField;
typedef struct PmuData PmuData;
typedef struct PmuTraceData PmuTraceData;
typedef struct PmuCpuFreqDetail PmuCpuFreqDetail;
typedef struct PmuDeviceAttr PmuDeviceAttr;
typedef struct PmuDeviceData PmuDeviceData;
typedef struct PmuHwMetricAttr PmuHwMetricAttr;
typedef struct UTraceAttr UTraceAttr;
typedef struct UTraceData UTraceData;
#endif

#endif
