# SPDX-License-Identifier: MIT
"""Counters of events around a piece of code."""
import os
from typing import Any, Dict, List, NamedTuple, Tuple

from . import _attar
from ._error import checks_keywords
from ._options import _text, _texts


class Count(NamedTuple):
    """What was counted.

    value is scaled if the event shared a hardware counter with others; quality says 'exact',
    'scaled', 'partial', 'idle', 'not counted' or 'error'. unit and scale: value * scale is the
    amount in this unit, '' for plain counts. Times are in ns.
    """
    value: int
    raw: int
    time_enabled: int
    time_running: int
    quality: str
    unit: str
    scale: float


class Counters:
    """Counts of events by name: 'with attar.count("page-faults:u") as c: f()', then c.value."""

    def __init__(self, *events, pids=None, tids=None, cpus=None, system=False, thread=False):
        if not events:
            raise TypeError("count(): name an event, such as 'page-faults:u'")
        if (pids is not None) + (tids is not None) + bool(system) + bool(thread) > 1:
            raise TypeError('count(): specify one of pids, tids, system and thread')
        if pids is None and tids is None and not thread and not system and cpus is None:
            pids = os.getpid()
        self._counters = _attar.Counters(
            os.fsencode(','.join(map(_text, events))), *map(_joined, (pids, tids, cpus)),
            bool(thread))
        self._read = None

    def __enter__(self) -> 'Counters':
        self.enable()
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def enable(self) -> None:
        """Start counting; what was counted before remains."""
        self._counters.enable()

    def disable(self) -> None:
        """Stop counting."""
        self._counters.disable()

    def reset(self) -> None:
        """Set all counts to 0."""
        self._counters.reset()

    def close(self) -> None:
        """Stop counting and keep the counts."""
        if self._read is None:
            self._counters.disable()
            self._read = self._counters.read()
            self._counters.close()

    def items(self) -> List[Tuple[str, Count]]:
        """(name, Count) of each event in the order of the names."""
        return [(name, Count(*rest)) for name, *rest in self._read or self._counters.read()]

    def __getitem__(self, name: str) -> int:
        found = [count for other, count in self.items() if other == name]
        if not found:
            raise KeyError(f"'{name}' is not counted: {', '.join(n for n, _ in self.items())}")
        return found[0].value

    @property
    def values(self) -> Dict[str, int]:
        """The values by name."""
        return {name: count.value for name, count in self.items()}

    @property
    def value(self) -> int:
        """The value of the only event."""
        values = self.values
        if len(values) != 1:
            raise ValueError(f'{len(values)} events are counted: use values or [name]')
        return next(iter(values.values()))

    def __repr__(self):
        return f'<attar.Counters {self.values}>'


def _joined(value):
    return None if value is None else os.fsencode(','.join(_texts(value)))


@checks_keywords('count')
def count(*events: str, pids: Any = None, tids: Any = None, cpus: Any = None,
          system: bool = False, thread: bool = False) -> Counters:
    """Count events while a block runs: of this process and all of its threads and children.

        with attar.count('page-faults:u', 'context-switches') as c:
            f()
        print(c.values)

    pids, tids, cpus: of others; system: of the whole system; thread: of this thread only.
    """
    return Counters(*events, pids=pids, tids=tids, cpus=cpus, system=system, thread=thread)
