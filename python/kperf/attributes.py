# SPDX-License-Identifier: MIT
"""Attributes of tasks: what the functions that open a task take, and their C structs.

An object has the members of the C struct of its name. It is converted when a task is opened: an
attribute of a wrong type is a TypeError, a number that its member cannot hold a ValueError.
"""
import ctypes
from ctypes import POINTER, c_char_p, c_double, c_int, c_uint, c_ulong


def _c_number(name, value, kind):
    """An integer that fits into a C type."""
    if not isinstance(value, int):
        raise TypeError(f'{name}: an integer is needed, not {type(value).__name__}')
    if kind(value).value != value:
        raise ValueError(f'{name}: {value} is out of range')
    return value


def c_text(name, value):
    """Text for C; None is NULL."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise TypeError(f'{name}: a str is needed, not {type(value).__name__}')
    if '\0' in value:
        raise ValueError(f'{name}: {value!r} has a NUL character')
    return value.encode()


def _c_array(name, values, kind, convert):
    """A C array and its length; None, and an empty list, are NULL."""
    if values is None:
        return None, 0
    if isinstance(values, (str, bytes)) or not hasattr(values, '__len__'):
        raise TypeError(f'{name}: a list is needed, not {type(values).__name__}')
    if len(values) == 0:
        return None, 0
    return (kind * len(values))(*[convert(name, value, kind) for value in values]), len(values)


def _texts(name, values):
    array, n = _c_array(name, values, c_char_p, lambda name, value, _: c_text(name, value))
    return (ctypes.cast(array, POINTER(c_char_p)) if n else None), n


def _numbers(name, values, kind=c_int):
    array, n = _c_array(name, values, kind, _c_number)
    return (ctypes.cast(array, POINTER(kind)) if n else None), n


def _list(values):
    """The value of an attribute that is a list: None is an empty one."""
    return [] if values is None else values


def _length(name):
    """The attribute that is the length of a list."""
    return property(lambda self: len(getattr(self, name) or ()))


class _CEvtAttr(ctypes.Structure):
    _fields_ = [('groupId', c_int), ('period', c_uint), ('excludeUser', c_uint, 1),
                ('excludeKernel', c_uint, 1)]


class _CPmuAttr(ctypes.Structure):
    _fields_ = [('evtList', POINTER(c_char_p)), ('numEvt', c_uint), ('pidList', POINTER(c_int)),
                ('numPid', c_uint), ('cpuList', POINTER(c_int)), ('numCpu', c_uint),
                ('evtAttr', POINTER(_CEvtAttr)), ('numEvtAttr', c_uint), ('sampleRate', c_uint),
                ('useFreq', c_uint, 1), ('excludeUser', c_uint, 1), ('excludeKernel', c_uint, 1),
                ('excludeGuest', c_uint, 1), ('excludeHost', c_uint, 1), ('symbolMode', c_int),
                ('callStack', c_uint, 1), ('blockedSample', c_uint, 1), ('dataFilter', c_ulong),
                ('evFilter', c_uint), ('minLatency', c_ulong), ('includeNewFork', c_uint, 1),
                ('branchSampleFilter', c_ulong), ('cgroupNameList', POINTER(c_char_p)),
                ('numCgroup', c_uint), ('enableUserAccess', c_uint, 1), ('enableBpf', c_uint, 1),
                ('enableHwMetric', c_uint, 1), ('enableOnExec', c_uint, 1),
                ('perThread', c_uint, 1)]


class EvtAttr:
    """Of one event: without a group, groupId is -1. An int in its place is the group."""

    def __init__(self, groupId=0, period=0, excludeUser=False, excludeKernel=False):
        self.groupId = groupId
        self.period = period
        self.excludeUser = excludeUser
        self.excludeKernel = excludeKernel


def _event_attribute(name, value, _):
    if not isinstance(value, EvtAttr):
        return _CEvtAttr(groupId=_c_number(name, value, c_int))
    return _CEvtAttr(_c_number(f'{name}.groupId', value.groupId, c_int),
                     _c_number(f'{name}.period', value.period, c_uint),
                     bool(value.excludeUser), bool(value.excludeKernel))


class PmuAttr:
    """A task. `sampleRate` is a frequency in Hz with useFreq, otherwise a period in events."""

    _FLAGS = ('useFreq', 'excludeUser', 'excludeKernel', 'excludeGuest', 'excludeHost', 'callStack',
              'blockedSample', 'includeNewFork', 'enableUserAccess', 'enableBpf', 'enableHwMetric',
              'enableOnExec', 'perThread')
    _NUMBERS = {'sampleRate': c_uint, 'symbolMode': c_int, 'dataFilter': c_ulong,
                'evFilter': c_uint, 'minLatency': c_ulong, 'branchSampleFilter': c_ulong}

    def __init__(self, evtList=None, pidList=None, cpuList=None, evtAttr=None, sampleRate=0,
                 useFreq=False, excludeUser=False, excludeKernel=False, symbolMode=0,
                 callStack=False, blockedSample=False, dataFilter=0, evFilter=0, minLatency=0,
                 includeNewFork=False, branchSampleFilter=0, cgroupNameList=None,
                 enableUserAccess=False, enableBpf=False, enableHwMetric=False,
                 enableOnExec=False, perThread=False, excludeGuest=False, excludeHost=False):
        self.evtList = _list(evtList)
        self.pidList = _list(pidList)
        self.cpuList = _list(cpuList)
        self.evtAttr = _list(evtAttr)
        self.sampleRate = sampleRate
        self.useFreq = useFreq
        self.excludeUser = excludeUser
        self.excludeKernel = excludeKernel
        self.excludeGuest = excludeGuest
        self.excludeHost = excludeHost
        self.symbolMode = symbolMode
        self.callStack = callStack
        self.blockedSample = blockedSample
        self.dataFilter = dataFilter
        self.evFilter = evFilter
        self.minLatency = minLatency
        self.includeNewFork = includeNewFork
        self.branchSampleFilter = branchSampleFilter
        self.cgroupNameList = _list(cgroupNameList)
        self.enableUserAccess = enableUserAccess
        self.enableBpf = enableBpf
        self.enableHwMetric = enableHwMetric
        self.enableOnExec = enableOnExec
        self.perThread = perThread

    numEvt = _length('evtList')
    numPid = _length('pidList')
    numCpu = _length('cpuList')
    numEvtAttr = _length('evtAttr')
    numCgroup = _length('cgroupNameList')

    def c_struct(self):
        c = _CPmuAttr()
        c.evtList, c.numEvt = _texts('evtList', self.evtList)
        c.pidList, c.numPid = _numbers('pidList', self.pidList)
        c.cpuList, c.numCpu = _numbers('cpuList', self.cpuList)
        array, c.numEvtAttr = _c_array('evtAttr', self.evtAttr, _CEvtAttr, _event_attribute)
        c.evtAttr = array and ctypes.cast(array, POINTER(_CEvtAttr))
        c.cgroupNameList, c.numCgroup = _texts('cgroupNameList', self.cgroupNameList)
        for name, kind in self._NUMBERS.items():
            setattr(c, name, _c_number(name, getattr(self, name), kind))
        for name in self._FLAGS:
            setattr(c, name, bool(getattr(self, name)))
        return c


class _CPmuTraceAttr(ctypes.Structure):
    _fields_ = [('funcs', POINTER(c_char_p)), ('numFuncs', c_uint), ('pidList', POINTER(c_int)),
                ('numPid', c_uint), ('cpuList', POINTER(c_int)), ('numCpu', c_uint),
                ('callStack', c_uint), ('symbolMode', c_int)]


class PmuTraceAttr:
    """The system calls that trace_open() traces; None: all."""

    def __init__(self, funcs=None, pidList=None, cpuList=None, callStack=False, symbolMode=0):
        self.funcs = _list(funcs)
        self.pidList = _list(pidList)
        self.cpuList = _list(cpuList)
        self.callStack = callStack
        self.symbolMode = symbolMode

    numFuncs = _length('funcs')
    numPid = _length('pidList')
    numCpu = _length('cpuList')

    def c_struct(self):
        c = _CPmuTraceAttr()
        c.funcs, c.numFuncs = _texts('funcs', self.funcs)
        c.pidList, c.numPid = _numbers('pidList', self.pidList)
        c.cpuList, c.numCpu = _numbers('cpuList', self.cpuList)
        c.callStack = bool(self.callStack)
        c.symbolMode = _c_number('symbolMode', self.symbolMode, c_int)
        return c


class _CSymbolSource(ctypes.Structure):
    _fields_ = [('moduleName', c_char_p), ('symbolName', c_char_p)]


class _CUTraceAttr(ctypes.Structure):
    _fields_ = [('symSrc', POINTER(_CSymbolSource)), ('numSym', c_uint),
                ('pidList', POINTER(c_int)), ('numPid', c_uint), ('fetchG', c_uint)]


class SymbolSource:
    """A function of a program or library."""

    def __init__(self, moduleName=None, symbolName=None):
        self.moduleName = moduleName
        self.symbolName = symbolName

    def c_struct(self):
        return _CSymbolSource(c_text('moduleName', self.moduleName),
                              c_text('symbolName', self.symbolName))


def _c_structs(name, values, python_type, c_type):
    """An array of structs, for a list of objects that have c_struct()."""
    def convert(name, value, _):
        if not isinstance(value, python_type):
            raise TypeError(f'{name}: {python_type.__name__} is needed, not '
                            f'{type(value).__name__}')
        return value.c_struct()
    array, n = _c_array(name, values, c_type, convert)
    return (ctypes.cast(array, POINTER(c_type)) if n else None), n


class UTraceAttr:
    """The functions that u_trace_open() traces: each a SymbolSource or (module, function)."""

    def __init__(self, symSrc=None, pidList=None, fetchG=False):
        self.symSrc = _list(symSrc)
        self.pidList = _list(pidList)
        self.fetchG = fetchG

    numSym = _length('symSrc')
    numPid = _length('pidList')

    def c_struct(self):
        c = _CUTraceAttr()
        sources = self.symSrc
        if isinstance(sources, (list, tuple)):
            sources = [SymbolSource(*source) if isinstance(source, tuple) else source
                       for source in sources]
        c.symSrc, c.numSym = _c_structs('symSrc', sources, SymbolSource, _CSymbolSource)
        c.pidList, c.numPid = _numbers('pidList', self.pidList)
        c.fetchG = bool(self.fetchG)
        return c


class _CPmuDeviceAttr(ctypes.Structure):
    _fields_ = [('metric', c_int), ('bdf', c_char_p), ('port', c_char_p)]


class PmuDeviceAttr:
    """A metric of a device."""

    def __init__(self, metric=0, bdf=None, port=None):
        self.metric = metric
        self.bdf = bdf
        self.port = port

    def c_struct(self):
        return _CPmuDeviceAttr(_c_number('metric', self.metric, c_int), c_text('bdf', self.bdf),
                               c_text('port', self.port))


def device_attributes(values):
    """The C array of a list of PmuDeviceAttr, and its length."""
    return _c_structs('device_attr', values, PmuDeviceAttr, _CPmuDeviceAttr)


class _CPmuHwMetricAttr(ctypes.Structure):
    _fields_ = [('metric', c_ulong), ('basePeriodList', POINTER(c_uint)),
                ('thresholdList', POINTER(c_double)), ('pid', c_uint)]


class PmuHwMetricAttr:
    """A task of hardware metrics."""

    def __init__(self, metric=0, basePeriodList=None, thresholdList=None, pid=0):
        self.metric = metric
        self.basePeriodList = basePeriodList
        self.thresholdList = thresholdList
        self.pid = pid

    def c_struct(self):
        c = _CPmuHwMetricAttr(metric=_c_number('metric', self.metric, c_ulong),
                              pid=_c_number('pid', self.pid, c_uint))
        c.basePeriodList, _ = _numbers('basePeriodList', self.basePeriodList, c_uint)
        array, _ = _c_array('thresholdList', self.thresholdList, c_double,
                            lambda name, value, _: float(value))
        c.thresholdList = array and ctypes.cast(array, POINTER(c_double))
        return c


def c_attributes(attributes, kind):
    """The C struct of attributes; None is NULL."""
    if attributes is None:
        return None
    if not isinstance(attributes, kind):
        raise TypeError(f'{kind.__name__} is needed, not {type(attributes).__name__}')
    return attributes.c_struct()
