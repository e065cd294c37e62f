# SPDX-License-Identifier: MIT
"""attar sched-migrate: a thread that moves 100 times, and scripts on another machine's caches."""
import json
import os
import shlex
import sys

import pytest

from command import ATTAR, run

pytestmark = pytest.mark.usefixtures('root')

MOVES = 100
# After its renaming the program moves MOVES times, and for no other reason: it is always pinned.
MIGRANT = f'''
import os
here, there = {{0}}, {{os.cpu_count() - 1}}
os.sched_setaffinity(0, here)
open("/proc/self/comm", "w").write("migrant")
for i in range({MOVES}): os.sched_setaffinity(0, here if i % 2 else there)
'''
SCRIPT = '''# attar script
event sched:sched_migrate_task stack comm:char[16] pid:pid_t prio:int orig_cpu:int dest_cpu:int
0.9 0 1/1 init fork 200/200
1.0 0 100/100 a sched:sched_migrate_task comm=a pid=100 prio=120 orig_cpu=0 dest_cpu=1 stack=0x1000
1.1 0 100/100 a sched:sched_migrate_task comm=a pid=100 prio=120 orig_cpu=1 dest_cpu=2 stack=0x1000
1.2 0 100/100 a sched:sched_migrate_task comm=a pid=100 prio=120 orig_cpu=2 dest_cpu=4 stack=0x1000
1.3 0 100/100 a sched:sched_migrate_task comm=b pid=200 prio=10 orig_cpu=5 dest_cpu=4 stack=0x2000
1.4 0 200/200 b sched:sched_migrate_task comm=b pid=200 prio=10 orig_cpu=4 dest_cpu=9 stack=0x2000
'''
# CPUs 0-1, 2-3 and 4-5 share a second-level cache, 0-3 and 4-5 the last-level cache.
L2, LLC = ['0-1', '0-1', '2-3', '2-3', '4-5', '4-5'], ['0-3'] * 4 + ['4-5'] * 2


def rows(report, name):
    table = next(s for s in report['sections'] if s['name'] == name)
    return [tuple(row) for row in table['rows']]


def report(ended):
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout.splitlines()[-1])


@pytest.fixture(name='machine')
def fixture_machine(tmp_path):
    """machine(...) runs attar on a machine with six CPUs, in a separate mount namespace."""
    cpus = tmp_path / 'cpu'
    for cpu in range(6):
        for index, (level, kind, shared) in enumerate((
                (1, 'Data', str(cpu)), (1, 'Instruction', str(cpu)), (2, 'Unified', L2[cpu]),
                (3, 'Unified', LLC[cpu]))):
            cache = cpus / f'cpu{cpu}/cache/index{index}'
            cache.mkdir(parents=True)
            for name, value in (('level', level), ('type', kind), ('shared_cpu_list', shared)):
                (cache / name).write_text(f'{value}\n')
    for name in ('online', 'possible', 'present'):
        (cpus / name).write_text('0-5\n')
    script = tmp_path / 'migrate.script'
    script.write_text(SCRIPT)

    def call(*args):
        words = [ATTAR, 'sched-migrate', '--format', 'json', '--input', script, *args]
        mount = f'mount --bind {cpus} /sys/devices/system/cpu'
        return report(run('-m', 'sh', '-c', f'{mount} && exec {shlex.join(map(str, words))}',
                          program='unshare'))

    return call


def test_shared_caches(machine):
    found = machine('--detail')
    assert rows(found, 'migrations') == [(5, 50, 75)]
    assert rows(found, 'tasks') == [(100, 'a', 3, pytest.approx(100 / 3), pytest.approx(200 / 3)),
                                    (200, 'b', 2, 100, 100)]
    assert sorted(rows(found, 'cpus')) == [
        (0, 1, 1, 100, 100), (1, 2, 1, 0, 100), (2, 4, 1, 0, 0), (4, 9, 1, None, None),
        (5, 4, 1, 100, 100)]
    assert any('without cache information in sysfs' in r and r.endswith(': 1')
               for r in found['remarks'])


def test_filter_and_tasks_are_those_that_move(machine):
    assert rows(machine('--filter', 'prio<100'), 'migrations') == [(2, 100, 100)]
    assert rows(machine('-p', '200'), 'tasks') == [(200, 'b', 2, 100, 100)]


def test_stacks(machine, tmp_path):
    folded = tmp_path / 'migrate.folded'
    found = machine('-g', '--flame-graph', folded)
    functions = next(s for s in found['sections'] if s['name'] == 'functions')
    assert 'migrations' in [c['name'] for c in functions['columns']]
    assert sum(row[2] for row in functions['rows']) == 5
    weights = {line.split(';')[0]: int(line.split()[-1])
               for line in folded.read_text().splitlines()}
    assert weights == {'a': 4, 'b': 1}  # one moves b in the code of a


def test_invalid_filter():
    ended = run('sched-migrate', '--filter', 'no_such_field==1', '-d', '1ms')
    assert ended.returncode == 2
    assert 'no_such_field' in ended.stderr


@pytest.mark.skipif(os.cpu_count() < 2, reason='needs two CPUs')
def test_a_thread_that_moves_100_times():
    found = report(run('sched-migrate', '--format', 'json', '--filter', 'comm=="migrant"', '--',
                       sys.executable, '-c', MIGRANT))
    assert [row[1:3] for row in rows(found, 'tasks')] == [('migrant', MOVES)]
    assert rows(found, 'migrations')[0][0] == MOVES
