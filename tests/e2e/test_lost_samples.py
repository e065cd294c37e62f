# SPDX-License-Identifier: MIT
"""Recordings that lack samples: times are within the bounds that profilers state."""
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import lost_samples
from command import ATTAR, is_waiting, run, wait_until
from scripts import report, rows_of, section

pytestmark = pytest.mark.usefixtures('root')
DIFFER = "times that differ from the kernel's counts"


@pytest.mark.parametrize('words', [(), ('--no-switch-events',)])
def test_times_are_within_their_bounds(words):
    """lost_samples.py 200 has more runs."""
    results = list(lost_samples.bounds(8, 3, words=words))
    outside = [f'{r.share:.2f} {r.state} said {r.said} true {r.true}'
               for r in results if not r.is_within]
    assert len(results) == 8 * 12
    assert len(outside) <= 1, outside
    # without records of switches, the rows of most times are wrong by more than 5 %
    assert not words or any(r.said.counted is not None for r in results)


def differing(found, tid):
    return {r['time']: r for s in found['sections'] if s['name'] == DIFFER for r in rows_of(s)
            if r['tid'] == tid}


@pytest.mark.parametrize('profiler', ['wall', 'oncpu', 'cpudist --perins'])
def test_running_is_counted_by_the_kernel(profiler, tmp_path):
    """Of a recording without half of the samples, the time on a CPU is too short, or too long."""
    path = tmp_path / 'x.data'
    with lost_samples.programs() as tids:
        pipe = lost_samples.record(2, '--no-switch-events')
    for seed in range(20):
        path.write_bytes(pipe.without_any(0.5, seed))
        found = report(*profiler.split(), '--rows', 0, '--input', path)
        wrong = [differing(found, t).get('running') for t in tids]
        for row in filter(None, wrong):
            assert abs(row['counted'] - row['by events']) > 0.05 * row['of']
        if any(wrong):
            return
    raise AssertionError('no time differs by more than 5 %')


def test_nothing_differs_live():
    """Unless events are lacking."""
    cpu = max(os.sched_getaffinity(0))
    with subprocess.Popen([sys.executable, '-I', '-S', '-c', lost_samples.PROGRAM, '0.002', '0.002',
                           str(cpu)]) as program:
        try:
            found = report('task-state', '--perins', '--rows', 0, '-d', '2s', '-m', 1024,
                           '-p', program.pid)
        finally:
            program.kill()
    assert not differing(found, program.pid) or found['notes'].get('lost') or \
        'left out' in str(found['remarks'])


SPIN = '''
import os, sys
os.sched_setaffinity(0, [int(sys.argv[1])])
sys.stdin.readline()
if sys.argv[2] == 'first':
    os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
while True: pass
'''


class Runs:
    """How long a program that spins has run, and whether it has not run for a time."""

    def __init__(self, pid):
        self.file, self.ns, self.since = Path(f'/proc/{pid}/schedstat'), 0, 0

    def read(self):
        ns = int(self.file.read_text(encoding='utf-8').split()[0])
        if ns != self.ns:
            self.ns, self.since = ns, time.monotonic()
        return self

    def has_paused(self, seconds):
        return time.monotonic() - self.read().since > seconds


@pytest.mark.exclusive
def test_wait_for_a_cpu_that_does_not_end():
    """The kernel counts it later: it is no difference."""
    def spin(*words):
        return stack.enter_context(subprocess.Popen(
            [sys.executable, '-I', '-S', '-c', SPIN, str(max(os.sched_getaffinity(0))), *words],
            stdin=subprocess.PIPE, text=True, bufsize=1))

    with contextlib.ExitStack() as stack:
        program, other = spin('then'), spin('first')
        stack.callback(program.kill)
        stack.callback(other.kill)
        attar = stack.enter_context(subprocess.Popen(
            [ATTAR, 'wall', '-q', '--format', 'json', '--rows', '0', '-p', str(program.pid)],
            stdout=subprocess.PIPE))
        wait_until(lambda: is_waiting(attar), 'the measurement to begin')
        runs = Runs(program.pid)
        before = runs.read().ns
        program.stdin.write('\n')
        wait_until(lambda: runs.read().ns > before + 50_000_000, 'the program to run')
        other.stdin.write('\n')
        wait_until(lambda: runs.has_paused(0.4), 'the program to wait')
        attar.send_signal(signal.SIGINT)
        found = json.loads(attar.stdout.read().splitlines()[-1])
    row, = [r for r in rows_of(section(found, 'threads')) if r['tid'] == program.pid]
    assert row['ready'] > 5
    assert 'waiting for a CPU' not in differing(found, program.pid), found


def test_counted_needs_tasks():
    ended = run('multi-trace', '--counted', 'ready', '-e', 'sched:sched_wakeup//key=pid/', '-e',
                'sched:sched_switch//key=next_pid/')
    assert ended.returncode == 2 and '--tasks' in ended.stderr
    ended = run('multi-trace', '--counted', 'sleeping', '--tasks', '-e',
                'sched:sched_wakeup//key=pid/', '-e', 'sched:sched_switch//key=next_pid/')
    assert ended.returncode == 2 and 'running or ready' in ended.stderr
