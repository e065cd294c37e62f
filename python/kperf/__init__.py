# SPDX-License-Identifier: MIT
"""kperf - counting, sampling and tracing: the interface of libkperf's package kperf.

    pd = kperf.open(kperf.PmuTaskType.COUNTING, kperf.PmuAttr(evtList=['page-faults']))
    if pd == -1:
        print(kperf.error())
    kperf.enable(pd)
    for data in kperf.read(pd).iter:
        print(data.evt, data.count)
    kperf.close(pd)

Functions return what those of pmu.h return; after a failure that is -1, None or an error code, and
error() returns the reason, separately for each thread. Arguments of a wrong type are exceptions.
"""
import ctypes
from ctypes import POINTER, byref, c_char_p, c_int, c_int64, c_uint, c_void_p

from ksym._library import function, pointed, text

from .attributes import (EvtAttr, PmuAttr, PmuDeviceAttr, PmuHwMetricAttr, PmuTraceAttr,
                         SymbolSource, UTraceAttr, c_attributes, c_text, device_attributes)
from .constants import (BranchSampleFilter, HitDataSource, PmuBdfType, PmuDeviceMetric,
                        PmuEventType, PmuHwMetric, PmuMetricMode, PmuTaskType, PmuTraceType,
                        SpeEvent, SpeEventFilter, SpeFilter, SpeLdStOpType, SymbolMode)
from .data import (BranchRecords, CpuFreqDetail, CpuTopology, DdrDataStructure, ImplBranchRecord,
                   ImplPmuData, ImplPmuDeviceData, ImplPmuTraceData, PmuCpuFreqDetail, PmuData,
                   PmuDataExt, PmuDeviceData, PmuTraceData, SampleRawData, SampleRawField,
                   UTraceData, UTraceDataList, place_of, text_list)
from .errors import Error
from .pointers import PointerEvt

__all__ = [
    'BranchRecords', 'BranchSampleFilter', 'CpuFreqDetail', 'CpuTopology', 'DdrDataStructure',
    'Error', 'EvtAttr', 'HitDataSource', 'ImplBranchRecord', 'ImplPmuData', 'ImplPmuDeviceData',
    'ImplPmuTraceData', 'PmuAttr', 'PmuBdfType', 'PmuCpuFreqDetail', 'PmuData', 'PmuDataExt',
    'PmuDeviceAttr', 'PmuDeviceData', 'PmuDeviceMetric', 'PmuEventType', 'PmuHwMetric',
    'PmuHwMetricAttr', 'PmuMetricMode', 'PmuTaskType', 'PmuTraceAttr', 'PmuTraceData',
    'PmuTraceType', 'PointerEvt', 'SampleRawData', 'SampleRawField', 'SpeEvent', 'SpeEventFilter',
    'SpeFilter', 'SpeLdStOpType', 'SymbolMode', 'SymbolSource', 'UTraceAttr', 'UTraceData',
    'UTraceDataList', 'begin_write', 'close', 'close_cpu_freq_sampling', 'device_bdf_list',
    'device_open', 'disable', 'dump', 'enable', 'end_write', 'error', 'errorno', 'event_list',
    'exit', 'get_cluster_core', 'get_cpu_freq', 'get_device_metric', 'get_field', 'get_field_exp',
    'get_numa_core', 'get_warn', 'get_warn_msg', 'open', 'open_cpu_freq_sampling',
    'pmu_open_with_hw_metric', 'read', 'read_cpu_freq_detail', 'resolvePmuDataSymbol', 'stop',
    'sys_call_func_list', 'trace_close', 'trace_disable', 'trace_enable', 'trace_open',
    'trace_read', 'u_trace_close', 'u_trace_disable', 'u_trace_enable', 'u_trace_open',
    'u_trace_read', 'write_data']

# ---- errors ----

errorno = function('Perrorno', c_int)
get_warn = function('GetWarn', c_int)
_perror = function('Perror', c_char_p)
_warning = function('GetWarnMsg', c_char_p)


def error():
    """The reason of the last failure; '' after a success."""
    return text(_perror())


def get_warn_msg():
    """The warning of the last call; '' if there is none."""
    return text(_warning())


# ---- tasks ----

_open = function('PmuOpen', c_int, c_int, c_void_p)
_read = function('PmuRead', c_int, c_int)  # a declared pointer is converted at each call
_resolve = function('ResolvePmuDataSymbol', c_int, c_void_p)
_dump = function('PmuDumpData', c_int, c_void_p, c_uint, c_char_p, c_int)


def _of_task(name, result=None):
    """A function whose only argument is the number of a task."""
    call = function(name, result, c_int)

    def checked(pd):
        try:
            return call(pd)
        except ctypes.ArgumentError:
            raise TypeError(f'pd: an integer is needed, not {type(pd).__name__}') from None
    return checked


enable = _of_task('PmuEnable', c_int)
disable = _of_task('PmuDisable', c_int)
stop = _of_task('PmuStop')
close = _of_task('PmuClose')
exit = _of_task('PmuExit')


def _reference(struct):
    return byref(struct) if struct is not None else None


def open(collect_type, pmu_attr):
    """Open a task. Returns its number, or -1."""
    return _open(collect_type, _reference(c_attributes(pmu_attr, PmuAttr)))


def event_list(event_type):
    """An iterator of the names of events that this system has."""
    return iter(text_list('PmuEventList', event_type))


def read(pd):
    """The data since enable(), or since the previous read()."""
    data = PmuData()
    data.n = _read(pd, byref(data))
    return data


def resolvePmuDataSymbol(pmuData):
    """Set the stacks of data that was read without names. Returns 0, or an error code."""
    return _resolve(_rows_of(pmuData))


def _rows_of(pmu_data):
    """The array of data for C; NULL after free()."""
    if not isinstance(pmu_data, PmuData):
        raise TypeError(f'PmuData is needed, not {type(pmu_data).__name__}')
    return pmu_data.pointer()


def dump(pmuData, filepath, dump_dwf):
    """Append data as text to a file. Returns 0, or -1."""
    return _dump(_rows_of(pmuData), len(pmuData), c_text('filepath', filepath), bool(dump_dwf))


# ---- fields of tracepoints ----

_get_field = function('PmuGetField', c_int, c_void_p, c_char_p, c_void_p, ctypes.c_uint32)
_get_field_exp = function('PmuGetFieldExp', POINTER(SampleRawField), c_void_p, c_char_p)


def _raw_of(pmu_data):
    if not isinstance(pmu_data, ImplPmuData):
        raise TypeError(f'ImplPmuData is needed, not {type(pmu_data).__name__}')
    return pmu_data._rawData


def get_field(pmu_data, field_name, value):
    """Copy a field to a ctypes object, or to what a pointer refers to. 0, or an error code."""
    return _get_field(_raw_of(pmu_data), c_text('field_name', field_name), *place_of(value))


def get_field_exp(pmu_data, field_name):
    """The description of a field; None: see error()."""
    found = pointed(_get_field_exp(_raw_of(pmu_data), c_text('field_name', field_name)))
    if found is not None:
        found._owner = pmu_data  # whose task has its strings
    return found


# ---- devices and CPUs ----

_device_open = function('PmuDeviceOpen', c_int, c_void_p, c_uint)
_device_metric = function('PmuGetDevMetric', c_int, c_void_p, c_uint, c_void_p, c_uint, c_void_p)
_hw_metric = function('PmuOpenWithHWMetric', c_int, c_void_p)
_cpu_freq = function('PmuGetCpuFreq', c_int64, c_uint)
_freq_detail = function('PmuReadCpuFreqDetail', POINTER(PmuCpuFreqDetail), POINTER(c_uint))
_cluster_core = function('PmuGetClusterCore', c_int, c_uint, POINTER(POINTER(c_uint)))
_numa_core = function('PmuGetNumaCore', c_int, c_uint, POINTER(POINTER(c_uint)))

_open_freq = function('PmuOpenCpuFreqSampling', c_int, c_uint)
close_cpu_freq_sampling = function('PmuCloseCpuFreqSampling', None)


def get_cpu_freq(core):
    """The frequency of a CPU in Hz; -1: see error()."""
    return _cpu_freq(core)


def open_cpu_freq_sampling(period):
    """Sample the frequencies of all CPUs at this period in ms. Returns 0, or -1."""
    return _open_freq(period)


def device_bdf_list(bdf_type):
    """The devices that have metrics."""
    return text_list('PmuDeviceBdfList', bdf_type)


def device_open(device_attr):
    """Open a task for metrics of devices, a list of PmuDeviceAttr. Its number, or -1."""
    return _device_open(*device_attributes(device_attr))


def get_device_metric(pmu_data, device_attr):
    """The metrics of data that was read from a task of device_open()."""
    data = PmuDeviceData()
    data.n = _device_metric(_rows_of(pmu_data), len(pmu_data), *device_attributes(device_attr),
                            byref(data))
    return data


def pmu_open_with_hw_metric(pmu_hw_metric_attr):
    """Open a task of hardware metrics. Returns its number, or -1."""
    return _hw_metric(_reference(c_attributes(pmu_hw_metric_attr, PmuHwMetricAttr)))


def read_cpu_freq_detail():
    """The frequencies since the previous call: a PmuCpuFreqDetail for each CPU."""
    n = c_uint()
    details = _freq_detail(byref(n))
    return CpuFreqDetail(PmuCpuFreqDetail.from_buffer_copy(details[i])
                         for i in range(n.value if details else 0))


_free = ctypes.CDLL(None).free
_free.argtypes = [c_void_p]
_free.restype = None


def _cores(call, number):
    cores = POINTER(c_uint)()
    n = call(number, byref(cores))
    if n < 0:
        return []
    found = cores[:n]
    _free(cores)
    return found


def get_cluster_core(clusterId):
    """The CPUs of a cluster; [] if it does not exist."""
    return _cores(_cluster_core, clusterId)


def get_numa_core(numaId):
    """The CPUs of a NUMA node; [] if it does not exist."""
    return _cores(_numa_core, numaId)


# ---- system calls ----

_trace_open = function('PmuTraceOpen', c_int, c_int, c_void_p)
_trace_read = function('PmuTraceRead', c_int, c_int, c_void_p)

trace_enable = _of_task('PmuTraceEnable', c_int)
trace_disable = _of_task('PmuTraceDisable', c_int)
trace_close = _of_task('PmuTraceClose')


def trace_open(trace_type, pmu_trace_attr):
    """Open a task that traces system calls. Returns its number, or -1."""
    return _trace_open(trace_type, _reference(c_attributes(pmu_trace_attr, PmuTraceAttr)))


def trace_read(pd):
    """The system calls that have returned since the previous call."""
    data = PmuTraceData()
    data.n = _trace_read(pd, byref(data))
    return data


def sys_call_func_list(trace_type=PmuTraceType.TRACE_SYS_CALL):
    """An iterator of the names of system calls, the only kind of trace."""
    return iter(text_list('PmuSysCallFuncList'))


# ---- functions of programs ----

_u_trace_open = function('UTraceOpen', c_int, c_void_p)
_u_trace_read = function('UTraceRead', c_int, c_int, c_void_p)

u_trace_enable = _of_task('UTraceEnable', c_int)
u_trace_disable = _of_task('UTraceDisable', c_int)
u_trace_close = _of_task('UTraceClose')


def u_trace_open(trace_attr):
    """Open a task that traces calls of functions. Returns its number, or -1."""
    return _u_trace_open(_reference(c_attributes(trace_attr, UTraceAttr)))


def u_trace_read(pd):
    """The calls and returns since the previous call."""
    data = UTraceDataList()
    data.n = _u_trace_read(pd, byref(data))
    return data


# ---- perf.data files ----

_begin_write = function('PmuBeginWrite', c_void_p, c_char_p, c_void_p, c_int)
_write_data = function('PmuWriteData', c_int, c_void_p, c_void_p, c_int)
_end_write = function('PmuEndWrite', None, c_void_p)


class PmuFile:
    """A file of begin_write()."""

    def __init__(self, address):
        self.address = address  # None after end_write()


def begin_write(path, pattr, addIdHdr=0):
    """Create a perf.data file for data of a SAMPLING task. None: see error()."""
    address = _begin_write(c_text('path', path), _reference(c_attributes(pattr, PmuAttr)), addIdHdr)
    return PmuFile(address) if address else None


def write_data(file, data):
    """Append data. Returns 0, or an error code."""
    return _write_data(_address_of(file), _rows_of(data), len(data))


def _address_of(file):
    if not isinstance(file, PmuFile):
        raise TypeError(f'PmuFile is needed, not {type(file).__name__}')
    return file.address


def end_write(file):
    """Finish the file."""
    address = _address_of(file)
    file.address = None
    _end_write(address)
