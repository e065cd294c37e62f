# SPDX-License-Identifier: MIT
"""attar blame: what ran while tasks waited for a CPU, with exact times, and beside rundelay."""
import os
import pathlib
import sys
from collections import Counter

import pytest

from command import run, wait_until, workload
from scripts import of_script, report, rows

EVENTS = '''event sched:sched_switch prev_comm:char[16] prev_pid:pid_t prev_state:s64 \
next_comm:char[16] next_pid:pid_t
event sched:sched_wakeup comm:char[16] pid:pid_t target_cpu:int
event sched:sched_migrate_task pid:pid_t orig_cpu:int dest_cpu:int
event irq:irq_handler_entry irq:int name:char[16]
event irq:irq_handler_exit irq:int
event irq:softirq_entry vec:int
event irq:softirq_exit vec:int
0.900000000 0 1/1 init fork 100/100
0.900000000 0 1/1 init fork 200/200
0.900000000 0 200/200 init fork 200/201
'''
SWITCH = 'sched:sched_switch'
SCRIPT = EVENTS + f'''1.000000000 0 0/0 swapper {SWITCH} next_comm=hog next_pid=200
1.000000000 1 0/0 swapper {SWITCH} next_comm=other next_pid=400
1.010000000 0 200/200 hog sched:sched_wakeup comm=victim pid=100 target_cpu=0
1.015000000 0 200/200 hog irq:irq_handler_entry irq=5 name=eth0
1.015500000 0 200/200 hog irq:irq_handler_exit irq=5
1.015500000 0 200/200 hog irq:softirq_entry vec=3
1.017500003 0 200/200 hog irq:softirq_exit vec=3
1.030000000 0 200/200 hog {SWITCH} prev_comm=hog prev_pid=200 next_comm=pool next_pid=201
1.040000000 1 400/400 other sched:sched_migrate_task pid=100 orig_cpu=0 dest_cpu=1
1.045000007 1 400/400 other {SWITCH} prev_comm=other prev_pid=400 prev_state=1 \
next_comm=victim next_pid=100
1.050000000 0 200/201 pool {SWITCH} prev_comm=pool prev_pid=201 prev_state=1 \
next_comm=hog next_pid=200
1.060000000 0 200/200 hog {SWITCH} prev_comm=hog prev_pid=200 prev_state=1
1.070000000 0 0/0 swapper sched:sched_wakeup comm=hog pid=200 target_cpu=0
1.071000000 0 0/0 swapper {SWITCH} next_comm=hog next_pid=200
1.080000000 0 200/200 hog {SWITCH} prev_comm=hog prev_pid=200 prev_state=1
'''
MS = 10**6


def blamed(found, key='tid'):
    return {(r[key], r[f'culprit_{key}'], r['culprit_comm']):
            (r['total'], r['waits'], r['longest'], r['preempted']) for r in rows(found, 'blame')}


@pytest.mark.quick
class TestScripts:
    def test_who_ran_meanwhile(self, tmp_path):
        """A task is queued behind two on a CPU and one on another; another one is preempted."""
        found = of_script(tmp_path, SCRIPT, 'blame')
        assert blamed(found) == {
            (100, 200, 'hog'): (20 * MS, 1, 20 * MS, 0),
            (100, 201, 'pool'): (10 * MS, 1, 10 * MS, 0),
            (100, 400, 'other'): (5 * MS + 7, 1, 5 * MS + 7, 0),
            (200, 201, 'pool'): (20 * MS, 1, 20 * MS, 1), (200, None, '[idle]'): (MS, 1, MS, 0)}
        assert [(r['culprit_tid'], r['total'], r['waits'], r['longest'])
                for r in rows(found, 'culprits')] == [
            (201, 30 * MS, 2, 20 * MS), (200, 20 * MS, 1, 20 * MS),
            (400, 5 * MS + 7, 1, 5 * MS + 7), (None, MS, 1, MS)]
        share = {r['culprit_tid']: r['share'] for r in rows(found, 'culprits')}
        assert share[201] == pytest.approx(100 * 30 * MS / (56 * MS + 7))

    def test_interrupts(self, tmp_path):
        found = blamed(of_script(tmp_path, SCRIPT, 'blame', '--irqs', '-p', 100))
        assert found == {
            (100, 200, 'hog'): (17500000 - 3, 1, 17500000 - 3, 0),
            (100, None, '[irq eth0]'): (500000, 1, 500000, 0),
            (100, None, '[softirq net_rx]'): (2 * MS + 3, 1, 2 * MS + 3, 0),
            (100, 201, 'pool'): (10 * MS, 1, 10 * MS, 0),
            (100, 400, 'other'): (5 * MS + 7, 1, 5 * MS + 7, 0)}

    def test_steal(self, tmp_path):
        """
        The kernel counts 3 ms less for hog than it is on its CPU, also in an event of another CPU,
        and in one of an interrupt. 40 us are no steal, nor is what was before the wait.
        """
        ran = 'sched:sched_stat_runtime pid=200 runtime='
        text = 'event sched:sched_stat_runtime pid:pid_t runtime:u64\n' + SCRIPT.replace(
            '1.010000000 0', f'1.005000000 0 200/200 hog {ran}4000000\n1.010000000 0').replace(
            '1.017500003 0', f'1.016500000 0 200/200 hog {ran}9000000\n1.017500003 0').replace(
            '1.030000000 0', f'1.020000000 0 200/200 hog {ran}3500000\n'
            f'1.022000000 1 400/400 other {ran}2000000\n1.028000000 0 200/200 hog {ran}3000000\n'
            f'1.029000000 0 200/200 hog {ran}960000\n1.030000000 0')
        found = blamed(of_script(tmp_path, text, 'blame', '--steal', '-p', 100))
        assert found[100, None, '[steal]'] == (3 * MS, 1, 3 * MS, 0)
        assert found[100, 200, 'hog'][0] == 17500000 - 3 - 3 * MS
        assert sum(row[0] for row in found.values()) == 35 * MS + 7
        assert (100, None, '[steal]') not in blamed(of_script(tmp_path, text, 'blame', '-p', 100))

    def test_processes(self, tmp_path):
        """Threads of a process count together, also in one wait."""
        found = blamed(of_script(tmp_path, SCRIPT, 'blame', '--by', 'process'), 'pid')
        assert {k[:2]: v for k, v in found.items()} == {
            (100, 200): (30 * MS, 1, 30 * MS, 0), (100, 400): (5 * MS + 7, 1, 5 * MS + 7, 0),
            (200, 200): (20 * MS, 1, 20 * MS, 1), (200, None): (MS, 1, MS, 0)}

    def test_selections(self, tmp_path):
        assert {k[0] for k in blamed(of_script(tmp_path, SCRIPT, 'blame', '--than', '20ms'))} == {
            100}
        assert {k[0] for k in blamed(of_script(tmp_path, SCRIPT, 'blame', '--filter', 'h*'))} == {
            200}
        assert {k[0] for k in blamed(of_script(tmp_path, SCRIPT, 'blame', '-C', 1))} == {100}

    def test_lost_events(self, tmp_path):
        """Waits that overlap a loss are left out; who runs after it is known from the switch."""
        text = SCRIPT.replace('1.030000000 0', '1.020000000 0 7/7 x lost 3\n1.030000000 0', 1)
        found = of_script(tmp_path, text, 'blame')
        assert {k[:2] for k in blamed(found)} == {(200, 201), (200, None)}
        assert blamed(found)[200, 201, 'pool'] == (20 * MS, 1, 20 * MS, 1)
        assert 'waits for a CPU are not part of a pair' in str(found['remarks'])

    def test_missing_switches(self, tmp_path):
        """Another task had run than the one that was switched to."""
        text = SCRIPT.replace('prev_comm=other prev_pid=400', 'prev_comm=else prev_pid=500')
        found = of_script(tmp_path, text, 'blame', '-p', 100)
        assert blamed(found)[100, None, '[unknown]'] == (5 * MS + 7, 1, 5 * MS + 7, 0)
        assert 'the culprit is unknown because context switches are missing: 1' in str(
            found['remarks'])

    def test_a_wait_longer_than_the_history_of_other_waits(self, tmp_path):
        """Pieces are kept as long as a wait is open: 1,000 of 1 us."""
        turns = ''.join(
            f'1.{100000 + i:06}000 0 {200 + i % 2}/{200 + i % 2} h {SWITCH} prev_comm=h '
            f'prev_pid={200 + i % 2} next_comm=h next_pid={201 - i % 2}\n' for i in range(1000))
        text = EVENTS + f'1.0 0 0/0 swapper {SWITCH} next_comm=h next_pid=200\n' \
            '1.05 0 200/200 h sched:sched_wakeup comm=v pid=100 target_cpu=0\n' + turns + \
            f'1.101 0 200/200 h {SWITCH} prev_comm=h prev_pid=200 next_comm=v next_pid=100\n'
        found = blamed(of_script(tmp_path, text, 'blame', '-p', 100))
        assert {k[1]: v[0] for k, v in found.items()} == {
            200: 50 * MS + 500000, 201: 500000}

    def test_intervals(self, tmp_path):
        path = tmp_path / 'x.script'
        path.write_text('# attar script\n' + SCRIPT)
        ended = run('blame', '--input', path, '-i', '50ms', '--format', 'csv')
        assert ended.returncode == 0 and ended.stdout.count('culprit_tid') == 4

    def test_bad_kind(self, tmp_path):
        ended = run('blame', '--by', 'colour')
        assert ended.returncode == 2 and "--by: 'colour' is not thread, process, user" in \
            ended.stderr


def test_sums_are_those_of_rundelay(root, tmp_path, busy_cpus):
    """For each task, to the nanosecond, on one recording; also with interrupts."""
    path = tmp_path / 'x.data'
    ended = run('record', '-a', '-m', 2048, '-o', path, '-e',
                'sched:sched_switch,sched:sched_wakeup,sched:sched_wakeup_new,'
                'sched:sched_migrate_task,irq:irq_handler_entry,irq:irq_handler_exit,'
                'irq:softirq_entry,irq:softirq_exit', '--', workload('wakeups23'), '1000')
    assert ended.returncode == 0, ended.stderr
    delays = Counter()
    for row in rows(report('rundelay', '--input', path, '--perins'), 'pairs'):
        delays[row['pid'], row['comm']] += row['total']
    for options in [], ['--irqs'], ['--by', 'process']:
        found = rows(report('blame', '--input', path, *options), 'blame')
        sums = Counter()
        for row in found:
            sums[row.get('tid', row.get('pid')), row['comm']] += row['total']
        if options[:1] == ['--by']:
            assert sum(sums.values()) == sum(delays.values())
        else:
            assert sums == delays and len(sums) > 1
    longer = rows(report('blame', '--input', path, '--than', '100us'), 'blame')
    assert sum(r['total'] for r in longer) == sum(
        r['total'] for r in rows(report('rundelay', '--input', path, '--only-than', '100us'),
                                 'pairs'))


def test_the_hog(root, spawn):
    """Live: two loops on one CPU wait for each other, and each is the culprit of the other."""
    hogs = [spawn('taskset', '-c', 0, sys.executable, '-c', 'while True: pass') for _ in range(2)]
    pids = [hog.pid for hog in hogs]
    found = rows(report('blame', '-p', pids[0], '-m', 2048, '-N', 3000), 'blame')
    assert {row['tid'] for row in found} == {pids[0]}
    culprit = next(row for row in found if row['culprit_tid'] == pids[1])
    assert culprit['waits'] and culprit['total'] > MS


def steal_ticks():
    return int(pathlib.Path('/proc/stat').read_text().split('\n')[0].split()[8])


def test_steal_only_if_the_host_says_so(root, busy_cpus):
    """What is missing because an event was not delivered is no steal time."""
    for _ in range(5):
        before = steal_ticks()
        found = rows(report('blame', '--steal', '-m', 2048, '-d', '1s'), 'culprits')
        if steal_ticks() == before:
            break
    else:
        pytest.skip('the host takes time all the time')
    assert found and '[steal]' not in {row['culprit_comm'] for row in found}


@pytest.mark.exclusive
def test_a_cpu_limit(root, spawn):
    """A loop that may use a tenth of a CPU: while the CPU is idle, the limit is the culprit."""
    group = pathlib.Path(f'/sys/fs/cgroup/cpu/attar-blame-{os.getpid()}')
    if not group.parent.is_dir():
        pytest.skip('the controller cpu is not in a hierarchy of version 1')
    group.mkdir()
    try:
        (group / 'cpu.cfs_quota_us').write_text('10000')
        loop = spawn(sys.executable, '-c', 'while True: pass')
        (group / 'cgroup.procs').write_text(str(loop.pid))
        longest = {}
        for _ in range(5):
            for row in rows(report('blame', '-p', loop.pid, '-d', '1s'), 'blame'):
                name = row['culprit_comm']
                longest[name] = max(row['longest'], longest.get(name, 0))
            if '[CPU limit]' in longest:
                break
        assert longest.get('[idle]', 0) < 20 * MS, longest  # the limit is for 90 ms
        if '[CPU limit]' not in longest:
            pytest.skip('no CPU was idle while the loop had to wait')
        assert longest['[CPU limit]'] >= MS
    finally:
        loop.kill()
        loop.wait()
        wait_until(lambda: not (group / 'cgroup.procs').read_text(), 'its processes to end')
        group.rmdir()
