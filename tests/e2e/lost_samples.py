# SPDX-License-Identifier: MIT
"""
What task-state states of programs with known shares, from recordings that lack samples: each time
with its bounds, and whether the time of the complete recording is within them.

usage: lost_samples.py RUNS: prints the share of times within their bounds.
"""
import contextlib
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from command import ATTAR
from perf_pipe import Pipe
from scripts import report, rows

CPUS = sorted(os.sched_getaffinity(0))[:2]
LIMIT = 0.05  # of the time of the report: what is said is exact to it
EVENTS = 'sched:sched_switch,sched:sched_wakeup,sched:sched_wakeup_new'
# They end at the latest after this time, if nothing ends them.
PROGRAM = '''
import os, sys, time
work, pause, cpu = float(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
if cpu >= 0:
    os.sched_setaffinity(0, [cpu])
end = time.monotonic() + 60
while time.monotonic() < end:
    until = time.monotonic() + work
    while time.monotonic() < until:
        pass
    if pause:
        time.sleep(pause)
'''
PROGRAMS = [(60, 0, -1), (0.005, 0.005, -1)] + [(0, 0.005, cpu) for cpu in CPUS]
TIMES = {'R': 'running', 'RD': 'waiting for a CPU', 'S': 'off the CPU'}


@contextlib.contextmanager
def programs():
    """Runs them. Gives their numbers."""
    with contextlib.ExitStack() as stack:
        running = []
        for words in PROGRAMS:
            running.append(stack.enter_context(subprocess.Popen(
                [sys.executable, '-I', '-S', '-c', PROGRAM, *map(str, words)])))
            stack.callback(running[-1].kill)
        yield [p.pid for p in running]


def record(seconds, *words):
    """A recording of the system, as a pipe, without losses."""
    for _ in range(10):
        done = subprocess.run(
            [ATTAR, 'record', '-a', '-m', '2048', '-d', f'{seconds}s', '-o', '-', '-e', EVENTS,
             *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True)
        if b' 0 lost' in done.stderr or b'lost' not in done.stderr:
            return Pipe(done.stdout)
    raise AssertionError(done.stderr)


class Stated:
    """What a report says of the time of a thread in a state, ns."""

    def __repr__(self):
        return f'{self.low / 1e6:.1f} to {self.high / 1e6:.1f} ms (seen {self.seen / 1e6:.1f})'

    def __init__(self, found, tid, state):
        name, others = TIMES[state], {'S', 'D', 'I', 'T', 't'}
        own = [r for r in rows(found, 'task-state') if r['tid'] == tid]
        states = others if state == 'S' else {state}
        self.seen = sum(r['total'] for r in own if r['state'] in states)
        self.low = self.high = self.seen
        unsplit = sum(r.get('unsplit', 0) for r in own)
        if state == 'S':
            self.low -= unsplit
        if state == 'RD':
            self.high += unsplit
        self.counted = None
        differ = "times that differ from the kernel's counts"
        for r in rows(found, differ) if any(s['name'] == differ for s in found['sections']) else ():
            if r['tid'] == tid and r['time'] == name:
                self.counted = r['counted']
                self.low, self.high = r['counted'] - r['+/-'], r['counted'] + r['+/-']


class Result(NamedTuple):
    """Of a time of a thread: whether the truth is within what is stated."""
    is_within: bool
    share: float  # of the samples that were removed
    state: str
    said: Stated
    true: Stated


def read(pipe, share, seed, folder):
    """The report of a recording without some of its samples of tracepoints."""
    path = Path(folder) / 'x.data'
    path.write_bytes(pipe.without_any(share, seed))
    return report('task-state', '--perins', '--rows', 0, '--input', path)


def bounds(runs, seed, seconds=2, words=()):
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder, programs() as tids:
        for _ in range(10):
            pipe = record(seconds, *words)
            whole = read(pipe, 0, 0, folder)
            truth = {(t, s): Stated(whole, t, s) for t in tids for s in TIMES}
            if all(t.counted is None for t in truth.values()):
                break
        else:
            raise AssertionError('the kernel does not deliver the switches of these programs')
        for _ in range(runs):
            share = rng.uniform(0.01, 0.5)
            found = read(pipe, share, rng.random(), folder)
            slack = LIMIT * seconds * 1e9 + 20e6
            for key, true in truth.items():
                said = Stated(found, *key)
                yield Result(said.low - slack <= true.high and true.low <= said.high + slack,
                             share, key[1], said, true)


if __name__ == '__main__':
    for options in [(), ('--no-switch-events',)]:
        results = list(bounds(int(sys.argv[1]), 1, words=options))
        within = sum(r.is_within for r in results)
        said = sum(r.said.counted is not None for r in results)
        print(' '.join(options) or 'with records of switches', within, 'of', len(results),
              f'times within their bounds: {100 * within / len(results):.2f} %,', said,
              "by the kernel's counts")
