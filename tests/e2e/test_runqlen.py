# SPDX-License-Identifier: MIT
"""attar runqlen: queues of a script, and more spinning tasks than a CPU can run."""
import json
import os
import sys

import pytest

from command import run

SCRIPT = '''# attar script
event sched:sched_switch prev_pid:pid_t prev_state:s64 next_pid:pid_t
event sched:sched_wakeup pid:pid_t target_cpu:int
event sched:sched_wakeup_new pid:pid_t target_cpu:int
event sched:sched_migrate_task pid:pid_t orig_cpu:int dest_cpu:int
event cpu-clock
1.000 0 10/10 a sched:sched_switch prev_pid=0 next_pid=10
1.001 0 10/10 a sched:sched_wakeup pid=11 target_cpu=0
1.002 0 10/10 a sched:sched_wakeup_new pid=12 target_cpu=0
1.003 0 10/10 a sched:sched_wakeup pid=10 target_cpu=0
1.010 0 10/10 a cpu-clock
1.010 1 0/0 idle cpu-clock
1.011 0 10/10 a sched:sched_switch prev_pid=10 prev_state=0 next_pid=11
1.020 0 11/11 b cpu-clock
1.021 1 0/0 idle sched:sched_migrate_task pid=12 orig_cpu=0 dest_cpu=1
1.022 1 0/0 idle sched:sched_migrate_task pid=99 orig_cpu=0 dest_cpu=1
1.030 0 11/11 b cpu-clock
1.030 1 0/0 idle cpu-clock
1.031 1 0/0 idle sched:sched_switch next_pid=12
1.032 0 11/11 b sched:sched_switch prev_pid=11 prev_state=1 next_pid=10
1.040 0 10/10 a cpu-clock
1.040 1 12/12 c cpu-clock
'''


def rows(ended):
    assert ended.returncode == 0, ended.stderr
    report = json.loads(ended.stdout.splitlines()[-1])
    return [tuple(row) for row in report['sections'][0]['rows']]


@pytest.fixture(name='attar')
def fixture_attar(tmp_path):
    path = tmp_path / 'runqlen.script'

    def call(script, *args):
        path.write_text(script)
        return rows(run('runqlen', '--format', 'json', '--input', path, *args))
    return call


@pytest.mark.quick
def test_queues(attar):
    assert attar(SCRIPT, '--perins') == [
        (0, 0, 1, 25), (0, 1, 1, 25), (0, 2, 2, 50),
        (1, 0, 2, pytest.approx(200 / 3)), (1, 1, 1, pytest.approx(100 / 3))]
    assert [row[:2] for row in attar(SCRIPT)] == [(0, 3), (1, 2), (2, 2)]


@pytest.mark.quick
def test_a_loss_empties_the_queues(attar):
    """The queue of CPU 0 is unknown from 1.005 on; a task that is preempted later is known."""
    script = SCRIPT.replace('1.010 0', '1.009 0 10/10 a lost 1\n1.010 0', 1)
    assert attar(script, '--perins', '-C', '0') == [(0, 0, 2, 50), (0, 1, 2, 50)]


@pytest.mark.quick
def test_lengths_distinguish_series(tmp_path):
    script, out = tmp_path / 'runqlen.script', tmp_path / 'runqlen.prom'
    script.write_text(SCRIPT)
    assert run('runqlen', '-o', out, '--input', script).returncode == 0
    assert {line for line in out.read_text().splitlines() if 'samples{' in line} == {
        'attar_runqlen_runqlen_samples{waiting="0"} 3',
        'attar_runqlen_runqlen_samples{waiting="1"} 2',
        'attar_runqlen_runqlen_samples{waiting="2"} 2'}


SPINNERS = 4
PROGRAM = f'''
import os, time
os.sched_setaffinity(0, {{0}})
for _ in range({SPINNERS}):
    if os.fork() == 0:
        end = time.monotonic() + 1
        while time.monotonic() < end: pass
        os._exit(0)
for _ in range({SPINNERS}): os.wait()
'''


@pytest.mark.usefixtures('root')
def test_spinners_wait_for_their_cpu(tmp_path):
    """One runs, the others wait, for a second; other tasks of the machine may wait, too."""
    out = tmp_path / 'runqlen.json'
    ended = run('runqlen', '--perins', '-o', out, '--', sys.executable, '-c', PROGRAM)
    assert ended.returncode == 0, ended.stderr
    table = json.loads(out.read_text())['sections'][0]['rows']
    of_cpu = [row for row in table if row[0] == 0]
    long = sum(row[2] for row in of_cpu if row[1] >= SPINNERS - 1)
    assert long >= 40, table
    assert sum(row[2] for row in of_cpu) >= long
    assert {row[0] for row in table} <= set(range(os.cpu_count()))
