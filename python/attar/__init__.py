# SPDX-License-Identifier: MIT
"""attar: count, sample and trace what happens on a running Linux system.

    import attar

    with attar.profile(freq=997, stacks=True, duration=5) as run:
        for report in run:
            print(report)

    for event in attar.events('sched:sched_wakeup/prio<10/', duration=5):
        print(event._comm, event.pid)

    with attar.count('page-faults:u') as c:
        f()
    print(c.value)

Every profiler of the attar command is a function, with its options as keyword arguments:
attar.trace(), attar.syscalls(), ... The tutorial is docs/python.md.
"""
import atexit as _atexit
import logging as _logging

from .profilers import *  # first: no preset of the user hides a name below
from . import _attar, profilers
from ._attar import Batch, Frame, TraceEvent
from ._count import Count, Counters, count
from ._error import Error
from ._perfume import Event
from ._recording import Recording, open_recording as open
from ._report import Report, Section
from ._run import Events, Run, events

__version__ = _attar.version()
__all__ = ['Batch', 'Count', 'Counters', 'Error', 'Event', 'Events', 'Frame', 'Recording',
           'Report', 'Run', 'Section', 'TraceEvent', 'count', 'events', 'open', 'profilers']
__all__ += profilers.__all__

_log = _logging.getLogger(__name__)
_LEVELS = {1: _logging.INFO, 2: _logging.WARNING}  # enum attar_level


def _take_log_line(level, text):
    _log.log(_LEVELS.get(level, _logging.DEBUG), '%s', text)


_attar.set_log(_take_log_line)
_atexit.register(_attar.set_log, None)


def __getattr__(name):
    if name.startswith('_'):
        raise AttributeError(f"module 'attar' has no attribute '{name}'")
    return profilers.find(name)
