# SPDX-License-Identifier: MIT
"""Data that was read: arrays of C structs, and their elements.

An element keeps the memory of its array, which is freed with the last object that refers to it:
free() only empties the array. Data stays valid when its task is closed.
"""
import ctypes
import functools
from ctypes import POINTER, c_char_p, c_double, c_int, c_int64, c_uint, c_ulong, c_void_p

from ksym import Stack
from ksym._library import function, pointed, text

from .constants import PmuDeviceMetric, PmuMetricMode


class _Elements(map):
    """An iterator that programs may also call: both data.iter and data.iter()."""

    def __call__(self):
        return self


class CpuTopology(ctypes.Structure):
    _fields_ = [('coreId', c_int), ('numaId', c_int), ('socketId', c_int)]


class SampleRawData(ctypes.Structure):
    """The bytes of a tracepoint's record, for get_field()."""

    _fields_ = [('_data', c_void_p)]


class SampleRawField(ctypes.Structure):
    """The description of a field of a tracepoint."""

    _fields_ = [('_fieldName', c_char_p), ('_fieldStr', c_char_p), ('offset', c_uint),
                ('size', c_uint), ('isSigned', c_uint)]

    fieldName = property(lambda self: text(self._fieldName))
    fieldStr = property(lambda self: text(self._fieldStr))
    field_name = fieldName
    field_str = fieldStr
    is_signed = property(lambda self: bool(self.isSigned))


class ImplBranchRecord(ctypes.Structure):
    """A branch before a sample."""

    _fields_ = [('fromAddr', c_ulong), ('toAddr', c_ulong), ('cycles', c_ulong),
                ('misPred', ctypes.c_uint8), ('predicted', ctypes.c_uint8)]


class BranchRecords:
    """The branches before a sample, newest first."""

    def __init__(self, records, n):
        self._records = records
        self.len = n

    def __len__(self):
        return self.len

    def __iter__(self):
        return _Elements(self._records.__getitem__, range(self.len))

    iter = property(__iter__)


class _Spe(ctypes.Structure):
    _fields_ = [('pa', c_ulong), ('va', c_ulong), ('event', c_ulong), ('lat', ctypes.c_ushort),
                ('source', ctypes.c_ushort), ('op', c_uint)]


class _Branches(ctypes.Structure):
    _fields_ = [('nr', c_ulong), ('_records', POINTER(ImplBranchRecord))]


class _Ext(ctypes.Union):
    _anonymous_ = ('_spe', '_branches')
    _fields_ = [('_spe', _Spe), ('_branches', _Branches)]


class PmuDataExt(ctypes.Structure):
    """What samples of branchSampleFilter, or of SPE, have in addition."""

    _anonymous_ = ('_ext',)
    _fields_ = [('_ext', _Ext)]

    branchRecords = property(
        lambda self: BranchRecords(self._records, self.nr) if self._records else None)


class ImplPmuData(ctypes.Structure):
    """A count or a sample, as struct PmuData of pmu.h."""

    _fields_ = [('_stack', POINTER(Stack)), ('_evt', c_char_p), ('ts', c_int64), ('pid', c_int),
                ('tid', c_int), ('cpu', c_int), ('groupId', c_int),
                ('_cpuTopo', POINTER(CpuTopology)), ('_comm', c_char_p),
                ('period', ctypes.c_uint64), ('count', ctypes.c_uint64),
                ('countPercent', c_double), ('_ext', POINTER(PmuDataExt)),
                ('_rawData', POINTER(SampleRawData)), ('_cgroupName', c_char_p)]

    stack = property(lambda self: pointed(self._stack))
    evt = property(lambda self: text(self._evt))
    cpuTopo = property(lambda self: pointed(self._cpuTopo))
    comm = property(lambda self: text(self._comm))
    ext = property(lambda self: pointed(self._ext))
    rawData = property(lambda self: pointed(self._rawData))
    cgroupName = property(lambda self: text(self._cgroupName))

    def __repr__(self):
        return f'<ImplPmuData {self.evt} pid {self.pid} tid {self.tid} count {self.count}>'


class ImplPmuTraceData(ctypes.Structure):
    """A system call that has returned."""

    _fields_ = [('_funcs', c_char_p), ('startTs', c_int64), ('elapsedTime', c_double),
                ('pid', c_int), ('tid', c_int), ('cpu', c_int), ('_comm', c_char_p),
                ('_stack', POINTER(Stack))]

    funcs = property(lambda self: text(self._funcs))
    comm = property(lambda self: text(self._comm))
    stack = property(lambda self: pointed(self._stack))


class UTraceData(ctypes.Structure):
    """A call of a function, or its return."""

    _fields_ = [('addr', c_ulong), ('_comm', c_char_p), ('tid', c_int), ('cpu', c_int),
                ('timestamp', c_int64), ('gPtr', ctypes.c_uint64), ('_module', c_char_p),
                ('_func', c_char_p), ('isRet', c_int)]

    comm = property(lambda self: text(self._comm))
    module = property(lambda self: text(self._module))
    func = property(lambda self: text(self._func))


class DdrDataStructure(ctypes.Structure):
    _fields_ = [('channelId', c_uint), ('ddrNumaId', c_uint), ('socketId', c_uint)]


class _DeviceId(ctypes.Union):
    _fields_ = [('number', c_uint), ('bdf', c_char_p), ('ddr', DdrDataStructure)]


def _of_mode(mode, get, other=0):
    """An identifier of the elements of one mode; elements of other modes have `other`."""
    return property(lambda self: get(self._id) if self._mode == mode else other)


class ImplPmuDeviceData(ctypes.Structure):
    """A value of a metric of a device."""

    _fields_ = [('_metric', c_int), ('count', c_double), ('_mode', c_int), ('_id', _DeviceId)]

    metric = property(lambda self: PmuDeviceMetric(self._metric))
    mode = property(lambda self: PmuMetricMode(self._mode))
    coreId = _of_mode(PmuMetricMode.PMU_METRIC_CORE, lambda of: of.number)
    numaId = _of_mode(PmuMetricMode.PMU_METRIC_NUMA, lambda of: of.number)
    clusterId = _of_mode(PmuMetricMode.PMU_METRIC_CLUSTER, lambda of: of.number)
    bdf = _of_mode(PmuMetricMode.PMU_METRIC_BDF, lambda of: text(of.bdf), '')
    port = bdf
    channelId = _of_mode(PmuMetricMode.PMU_METRIC_CHANNEL, lambda of: of.ddr.channelId)
    ddrNumaId = _of_mode(PmuMetricMode.PMU_METRIC_CHANNEL, lambda of: of.ddr.ddrNumaId)
    socketId = _of_mode(PmuMetricMode.PMU_METRIC_CHANNEL, lambda of: of.ddr.socketId)


class PmuCpuFreqDetail(ctypes.Structure):
    """The frequencies of a CPU in Hz."""

    _fields_ = [('cpuId', c_int), ('minFreq', ctypes.c_uint64), ('maxFreq', ctypes.c_uint64),
                ('avgFreq', ctypes.c_uint64)]


class CpuFreqDetail(tuple):
    """What read_cpu_freq_detail() returns: elements are PmuCpuFreqDetail."""

    len = property(tuple.__len__)
    iter = property(lambda self: _Elements(self.__getitem__, range(len(self))))


_item = ctypes._Pointer.__getitem__


class _Data(ctypes._Pointer):
    """An array: `len`, `iter` and free(). A call that failed has none, and is equal to -1."""

    _type_ = ctypes.c_char  # of classes below: their element
    n = 0  # that the call returned

    def __len__(self):
        return self.n if self.n > 0 else 0

    def __bool__(self):
        return True

    def __eq__(self, other):
        return self is other or (other == -1 and self.n == -1)

    __hash__ = object.__hash__

    def __iter__(self):
        return _Elements(functools.partial(_item, self), range(len(self)))

    def __getitem__(self, at):
        return _item(self, range(len(self))[at])

    len = property(__len__)
    iter = property(__iter__)

    def free(self):
        """End the use of the data; elements that were taken out of it stay valid."""
        self.n = 0

    def pointer(self):
        """The array for C; None if it is empty."""
        return self if len(self) else None


class PmuData(_Data):
    """What read() returns: elements are ImplPmuData."""

    _type_ = ImplPmuData

    def __del__(self, free=function('PmuDataFree', None, c_void_p)):
        free(self)


class PmuTraceData(_Data):
    """What trace_read() returns: elements are ImplPmuTraceData."""

    _type_ = ImplPmuTraceData

    def __del__(self, free=function('PmuTraceDataFree', None, c_void_p)):
        free(self)


class UTraceDataList(_Data):
    """What u_trace_read() returns: elements are UTraceData."""

    _type_ = UTraceData

    def __del__(self, free=function('UTraceDataFree', None, c_void_p)):
        free(self)


class PmuDeviceData(_Data):
    """What get_device_metric() returns: elements are ImplPmuDeviceData."""

    _type_ = ImplPmuDeviceData

    def __del__(self, free=function('DevDataFree', None, c_void_p)):
        free(self)


def text_list(function_name, *arguments):
    """The names that a function of the library lists."""
    n = c_uint()
    names = function(function_name, POINTER(c_char_p), *[c_int] * len(arguments),
                     POINTER(c_uint))(*arguments, ctypes.byref(n))
    return [text(names[i]) for i in range(n.value)] if names else []


def place_of(value):
    """Where get_field() copies to: the address of a ctypes object, and its size."""
    if isinstance(value, ctypes._Pointer):
        return ctypes.cast(value, c_void_p), ctypes.sizeof(value._type_)
    if isinstance(value, (ctypes.Array, ctypes._SimpleCData, ctypes.Structure)):
        return ctypes.cast(ctypes.pointer(value), c_void_p), ctypes.sizeof(value)
    raise TypeError(f'value: a ctypes object or pointer is needed, not {type(value).__name__}')
