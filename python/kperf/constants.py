# SPDX-License-Identifier: MIT
"""The enumerations of pmu.h."""
from enum import IntEnum, IntFlag


def bits(name, words, zero=None):
    """Return an enumeration whose members have bit 0, 1, ... in this order; zero has none."""
    members = {word: 1 << bit for bit, word in enumerate(words.split())}
    return IntFlag(name, {zero: 0, **members} if zero else members, module=__name__)


class PmuTaskType(IntEnum):
    COUNTING = 0
    SAMPLING = 1
    SPE_SAMPLING = 2
    MAX_TASK_TYPE = 3


class PmuEventType(IntEnum):
    CORE_EVENT = 0
    UNCORE_EVENT = 1
    TRACE_EVENT = 2
    ALL_EVENT = 3


class PmuTraceType(IntEnum):
    TRACE_SYS_CALL = 0


class SymbolMode(IntEnum):
    NO_SYMBOL_RESOLVE = 0
    RESOLVE_ELF = 1
    RESOLVE_ELF_DWARF = 2
    RESOLVE_DELAY_ELF = 3
    RESOLVE_DELAY_DWARF = 4


class SpeFilter(IntFlag):
    SPE_FILTER_NONE = 0
    TS_ENABLE = 1 << 0
    PA_ENABLE = 1 << 1
    PCT_ENABLE = 1 << 2
    JITTER = 1 << 16
    BRANCH_FILTER = 1 << 32
    LOAD_FILTER = 1 << 33
    STORE_FILTER = 1 << 34
    SPE_DATA_ALL = (TS_ENABLE | PA_ENABLE | PCT_ENABLE | JITTER | BRANCH_FILTER | LOAD_FILTER |
                    STORE_FILTER)


class SpeEventFilter(IntFlag):
    SPE_EVENT_NONE = 0
    SPE_EVENT_RETIRED = 0x2
    SPE_EVENT_L1DMISS = 0x8
    SPE_EVENT_TLB_WALK = 0x20
    SPE_EVENT_MISPREDICTED = 0x80


class SpeEvent(IntFlag):
    SPE_EV_EXCEPT = 1 << 0
    SPE_EV_RETIRED = 1 << 1
    SPE_EV_L1D_ACCESS = 1 << 2
    SPE_EV_L1D_REFILL = 1 << 3
    SPE_EV_TLB_ACCESS = 1 << 4
    SPE_EV_TLB_WALK = 1 << 5
    SPE_EV_NOT_TAKEN = 1 << 6
    SPE_EV_MISPRED = 1 << 7
    SPE_EV_LLC_ACCESS = 1 << 8
    SPE_EV_LLC_MISS = 1 << 9
    SPE_EV_REMOTE_ACCESS = 1 << 10
    SPE_EV_ALIGNMENT = 1 << 11
    SPE_EV_PARTIAL_PRED = 1 << 17
    SPE_EV_EMPTY_PRED = 1 << 18
    SPE_FORWARD_HAZARD = 1 << 24
    SPE_STRUCTURE_HAZARD = 1 << 25


class SpeLdStOpType(IntFlag):
    SPE_OP_LD = 1 << 20
    SPE_OP_ST = 1 << 21
    SPE_OP_ATOMIC = 1 << 22
    SPE_OP_EXCL = 1 << 23
    SPE_OP_AR = 1 << 24


class HitDataSource(IntEnum):
    """Data sources of HiSilicon CPUs, enum HIP_DATA_SOURCE."""

    HIP_PEER_CPU = 0
    HIP_PEER_CPU_HITM = 1
    HIP_L3 = 2
    HIP_L3_HITM = 3
    HIP_PEER_CLUSTER = 4
    HIP_PEER_CLUSTER_HITM = 5
    HIP_REMOTE_SOCKET = 6
    HIP_REMOTE_SOCKET_HITM = 7
    HIP_LOCAL_MEM = 8
    HIP_REMOTE_MEM = 9
    HIP_NC_DEV = 13
    HIP_L2 = 16
    HIP_L2_HITM = 17
    HIP_L1 = 18


BranchSampleFilter = bits('BranchSampleFilter', '''
    KPERF_SAMPLE_BRANCH_USER KPERF_SAMPLE_BRANCH_KERNEL KPERF_SAMPLE_BRANCH_HV
    KPERF_SAMPLE_BRANCH_ANY KPERF_SAMPLE_BRANCH_ANY_CALL KPERF_SAMPLE_BRANCH_ANY_RETURN
    KPERF_SAMPLE_BRANCH_IND_CALL KPERF_SAMPLE_BRANCH_ABORT_TX KPERF_SAMPLE_BRANCH_IN_TX
    KPERF_SAMPLE_BRANCH_NO_TX KPERF_SAMPLE_BRANCH_COND KPERF_SAMPLE_BRANCH_CALL_STACK
    KPERF_SAMPLE_BRANCH_IND_JUMP KPERF_SAMPLE_BRANCH_CALL KPERF_SAMPLE_BRANCH_NO_FLAGES
    KPERF_SAMPLE_BRANCH_NO_CYCLES KPERF_SAMPLE_BRANCH_TYPE_SAVE
''', zero='KPERF_NO_BRANCH_SAMPLE')


PmuDeviceMetric = IntEnum('PmuDeviceMetric', '''
    PMU_DDR_READ_BW PMU_DDR_WRITE_BW PMU_L3_TRAFFIC PMU_L3_MISS PMU_L3_REF PMU_L3_LAT
    PMU_PCIE_RX_MRD_BW PMU_PCIE_RX_MWR_BW PMU_PCIE_TX_MRD_BW PMU_PCIE_TX_MWR_BW
    PMU_PCIE_RX_MRD_LAT PMU_PCIE_RX_MWR_LAT PMU_PCIE_TX_MRD_LAT PMU_SMMU_TRAN
    PMU_HHA_CROSS_NUMA PMU_HHA_CROSS_SOCKET
''', start=0)


class PmuBdfType(IntEnum):
    PMU_BDF_TYPE_PCIE = 0
    PMU_BDF_TYPE_SMMU = 1


PmuMetricMode = IntEnum('PmuMetricMode', '''
    PMU_METRIC_INVALID PMU_METRIC_CORE PMU_METRIC_NUMA PMU_METRIC_CLUSTER PMU_METRIC_BDF
    PMU_METRIC_CHANNEL
''', start=0)


PmuHwMetric = bits('PmuHwMetric', '''
    PMU_HWM_CPI PMU_HWM_CACHE_MISS PMU_HWM_L3_CACHE_MISS PMU_HWM_L2D_CACHE_MISS
    PMU_HWM_L1_DCACHE_MISS PMU_HWM_L1_ICACHE_LOAD_MISS PMU_HWM_DTLB_LOAD_MISS
    PMU_HWM_ITLD_LOAD_MISS PMU_HWM_BRACH_LOADS_MISS
''')