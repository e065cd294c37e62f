# SPDX-License-Identifier: MIT
"""Runs of profilers and streams of events."""
from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any, Optional, TypeVar

from . import _attar, _options
from ._attar import Batch, TraceEvent
from ._report import Report

_Self = TypeVar('_Self', bound='_Driven')


class _Driven:
    """What runs of both kinds share: options, start, end."""

    def __init__(self, function, profiler, words, command, is_script=False):
        self._name = function
        self._run = _attar.Run(profiler.encode() if profiler else None, is_script)
        self._started = self._over = False
        self._tree = False
        self._status = None
        try:
            _options.apply(self._run, words)
            if command is not None:
                self._run.command(_options.to_command(command))
        except BaseException:
            self._run.close()
            raise

    def _start(self):
        if not self._started:
            self._started = True
            self._run.start(self._tree)

    def _step(self, milliseconds=-1):
        self._start()
        self._over = not self._run.step(milliseconds)

    def __enter__(self: _Self) -> _Self:
        self._run.check()
        try:
            self._start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def stop(self) -> None:
        """End the run: what was measured is delivered. May be called from another thread."""
        self._run.stop()

    def close(self) -> None:
        """End the run and free it. Only its command_status can be used afterwards."""
        self._status = self.command_status
        self._run.close()

    @property
    def closed(self) -> bool:
        return self._run.closed

    @property
    def command_status(self) -> Optional[int]:
        """Exit status of the command as a shell has it; None before its end."""
        return self._status if self.closed else self._run.command_status

    def __repr__(self):
        state = 'closed' if self.closed else 'over' if self._over else \
            'running' if self._started else 'not started'
        return f'<attar.{type(self).__name__} of {self._name}: {state}>'


class Run(_Driven):
    """A run of a profiler: iterate over its reports.

    With interval=, there is one for each interval; without, one at the end. Profilers that print
    events, such as trace, also give reports of the lines while they run.
    """

    def __init__(self, function, profiler, words, command=None, tree=False):
        super().__init__(function, profiler, words, command)
        self._tree = tree
        self._waiting = []
        self._last_taken = False

    def _next_report(self):
        """The next report, None after the last."""
        while not self._waiting:
            if self._last_taken and not self.closed:
                return None
            if self._over or self.closed:
                self._last_taken = True
                self._waiting = [self._run.report(not self._run.interval)]
            else:
                self._step()
                self._waiting = self._run.take_reports()
        return Report(self._waiting.pop(0))

    def __iter__(self) -> Iterator[Report]:
        return self

    def __next__(self) -> Report:
        report = self._next_report()
        if report is None:
            raise StopIteration
        return report

    def report(self) -> Report:
        """Wait for the end of the run and return the report of all of it."""
        while not self._over:
            self._step()
            self._waiting += self._run.take_reports()
        return Report(self._run.report(True))

    def snapshot(self) -> Report:
        """Return the report of the whole run so far."""
        self._start()
        return Report(self._run.report(True))


class Events(_Driven):
    """Events in order of time: iterate over them, with for or async for, or over batches()."""

    POLL_S = 0.1  # rings are read at least so often

    def __init__(self, words, command=None, is_script=False):
        super().__init__('events', None, words, command, is_script)
        self._current = iter(())
        self._losses = []

    def _next_batch(self, milliseconds=-1):
        """The next batch; None at the end, or with a timeout if there is none yet."""
        while True:
            if not self._over:
                self._step(milliseconds)
            batch = self._run.take_batch()
            self._take_losses()
            if batch is not None or self._over or milliseconds >= 0:
                return batch

    def _take_losses(self):
        self._losses += [what for _, what in self._run.take_marks() if isinstance(what, tuple)]

    def marked_batches(self, wait=lambda: -1):
        """Iterate over (batch or (), marks): what happened before event number n of the batch.

        A mark is (n, None) at the end of an interval, (n, (from, to, number, cpu)) of a loss, or
        (n, text) of a line that exec= has printed.
        wait() returns for how many milliseconds to wait for them; -1: without a limit.
        """
        while not self._over:
            self._step(wait())
            yield self._run.take_batch() or (), self._run.take_marks()

    def drain(self):
        """After stop(): drop the events that are left, for losses() and notes of all events."""
        while not self._over:
            self._step(0)
            self._run.take_batch()
            self._take_losses()

    def batches(self) -> Iterator[Batch]:
        """Iterate over batches: the events of each reading of the rings."""
        while True:
            batch = self._next_batch()
            if batch is None:
                return
            yield batch

    def read(self, timeout: float = 0.0) -> Optional[Batch]:
        """Return the next batch, or None if there is none within the timeout in seconds."""
        return self._next_batch(round(timeout * 1000))

    def __iter__(self) -> Iterator[TraceEvent]:
        yield from self._current
        for batch in self.batches():
            yield from batch

    def __next__(self) -> TraceEvent:
        while True:
            for event in self._current:
                return event
            batch = self._next_batch()
            if batch is None:
                raise StopIteration
            self._current = iter(batch)

    async def __aiter__(self) -> AsyncIterator[TraceEvent]:
        self._start()
        while True:
            batch = self._next_batch(0)
            if batch is not None:
                for event in batch:
                    yield event
                await asyncio.sleep(0)  # other tasks run also while events never end
            elif self._over:
                return
            else:
                await self._readable()

    async def _readable(self):
        """Wait until the rings have events, at most POLL_S."""
        loop, ready = asyncio.get_running_loop(), asyncio.Event()
        fd = self._run.fd()
        loop.add_reader(fd, ready.set)
        # Before Python 3.12, asyncio.wait_for() can take a cancellation for its timeout.
        timer = loop.call_later(self.POLL_S, ready.set)
        try:
            await ready.wait()
        finally:
            timer.cancel()
            loop.remove_reader(fd)

    def losses(self) -> list[tuple[int, int, int, int]]:
        """Return (from, to, number, cpu) of each period, in ns, since the last call."""
        self._take_losses()
        found, self._losses = self._losses, []
        return found

    def names(self) -> list[str]:
        """Names of the events so far: those of programs appear when they are registered."""
        self._start()
        return [kind.name for kind in self._run.kinds()]

    @property
    def notes(self) -> dict[str, Any]:
        """What was seen and lost so far, as in reports."""
        self._start()
        return self._run.report(True).notes


def run_profiler(function, profiler, operands, given, command=None):
    """Make the Run of a profiler from its keyword arguments."""
    options = _options.of_profiler(profiler)
    stacks = given.pop('stacks', None) if 'stacks' not in options else None
    if stacks is not None and not isinstance(stacks, bool):
        raise TypeError(f'{function}(): stacks must be True or False, not {stacks!r}')
    if stacks and 'call_graph' in options:
        given.setdefault('call_graph', True)
    words = _operand_words(function, profiler, options, operands)
    words += _options.to_words(function, options, given)
    return Run(function, profiler, words, command, bool(stacks))


def _operand_words(function, profiler, options, operands):
    """Words without a name: those of the command line, or else the events."""
    if not operands:
        return []
    names = {name: operand for name, _, _, operand in _attar.profilers(False)}
    name = names.get(profiler) or ('event' if 'event' in options else None)
    if not name:
        raise TypeError(f'{function}() takes keyword arguments only')
    option = next(o for o in options.values() if o.name == name)
    return [word for operand in operands
            for word in _options.to_words(function, options, {option.keyword: operand})]


def events(*names: str, stacks: bool = False, command: Any = None, **options: Any) -> Events:
    """Events by name, one by one: see docs/events.md for names, filters and attributes.

        for event in attar.events('sched:sched_wakeup/prio<10/', duration=5):
            print(event._comm, event.pid)

    Fields are attributes of an event; those of its sample begin with _: _name, _time (ns of
    CLOCK_MONOTONIC), _realtime, _pid, _tid, _comm, _cpu, _stack, _text and others. Options are
    those of 'attar trace': pids, tids, cpus, cgroups, duration, count, mmap_pages, input, ...

    Events are recorded from the first iteration on, or from the start of a with block. Names that
    do not exist are reported then.
    """
    known = _options.of_profiler(None)
    given = dict(options)
    if names:
        given['event'] = [*names, *(_options._texts(given['event']) if 'event' in given else [])]
    if stacks:
        given['call_graph'] = stacks
    if not any(given.get(key) for key in ('event', 'input', 'pull')):
        raise TypeError("events(): name an event, such as 'sched:sched_wakeup'")
    return Events(_options.to_words('events', known, given), command)
