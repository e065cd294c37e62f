# SPDX-License-Identifier: MIT
"""
--cpus with profilers that match events or follow threads: a thread that moves to another CPU has no
invented times, and each time belongs to one CPU.
"""
import os
from collections import Counter

import pytest

from command import run, workload
from scripts import of_script, report, rows

MS = 10**6
SWITCH = ('event sched:sched_switch stack prev_comm:char[16] prev_pid:pid_t prev_prio:int '
          'prev_state:s64 next_comm:char[16] next_pid:pid_t next_prio:int\n')
WAKEUPS = ('event sched:sched_waking comm:char[16] pid:pid_t prio:int target_cpu:int\n'
           'event sched:sched_wakeup comm:char[16] pid:pid_t prio:int target_cpu:int\n'
           'event sched:sched_wakeup_new comm:char[16] pid:pid_t prio:int target_cpu:int\n')
TRACEPOINTS = SWITCH + WAKEUPS + 'event cpu-clock stack\n'


def leaves(second, cpu, state):
    return (f'{second} {cpu} 7/7 t sched:sched_switch stack=0xa1 prev_comm=t prev_pid=7 '
            f'prev_state={state} next_comm=swapper next_pid=0\n')


def enters(second, cpu):
    return (f'{second} {cpu} 0/0 swapper sched:sched_switch prev_comm=swapper prev_pid=0 '
            'next_comm=t next_pid=7\n')


def wakes(second, cpu, target):
    return ''.join(f'{second} {cpu} 0/0 swapper sched:{name} comm=t pid=7 target_cpu={target}\n'
                   for name in ('sched_waking', 'sched_wakeup'))


# Thread 7 runs for 10 ms on CPU 0, sleeps for 20 ms, is woken up by CPU 1, waits for 1 ms and runs
# for 2 ms on CPU 0; is moved to CPU 1 within 3 ms, runs for 30 ms, sleeps for 40 ms and waits for
# 4 ms, runs for 1 ms; is moved to CPU 0 within 5 ms, and runs for 6 ms.
MOVES = ('1.000 0 7/7 t fork 7/8\n' + enters('1.000', 0) + leaves('1.010', 0, 1)
         + wakes('1.030', 1, 0) + enters('1.031', 0) + leaves('1.033', 0, 0)
         + enters('1.036', 1) + leaves('1.066', 1, 1) + wakes('1.106', 0, 1)
         + enters('1.110', 1) + leaves('1.111', 1, 0) + enters('1.116', 0) + leaves('1.122', 0, 1))
OF_CPU = {'0': {'R': 10 + 2 + 6, 'S': 20, 'RD': 1 + 3},
          '1': {'R': 30 + 1, 'S': 40, 'RD': 4 + 5}}
OF_CPU['0,1'] = {state: OF_CPU['0'][state] + OF_CPU['1'][state] for state in OF_CPU['0']}


@pytest.mark.quick
@pytest.mark.parametrize('cpus', OF_CPU)
def test_states_belong_to_the_cpu_on_which_they_began(tmp_path, cpus):
    found = of_script(tmp_path, TRACEPOINTS + MOVES, 'task-state', '--perins', '-C', cpus)
    assert {r['state']: r['total'] / MS for r in rows(found, 'task-state')} == OF_CPU[cpus]
    assert found.get('remarks', []) == []


@pytest.mark.quick
@pytest.mark.parametrize('cpus', OF_CPU)
def test_wall(tmp_path, cpus):
    found = of_script(tmp_path, TRACEPOINTS + MOVES, 'wall', '-C', cpus)
    truth = OF_CPU[cpus]
    [row] = rows(found, 'threads')
    assert row['time'] / MS == sum(truth.values())
    assert [round(row[name] * row['time'] / MS) for name in ('running', 'blocked', 'ready')] == [
        100 * truth[state] for state in ('R', 'S', 'RD')]


@pytest.mark.quick
@pytest.mark.parametrize('cpus', OF_CPU)
def test_offcpu(tmp_path, cpus):
    found = of_script(tmp_path, TRACEPOINTS + MOVES, 'offcpu', '-C', cpus)
    assert sum(r['total'] for r in rows(found, 'threads')) / MS == OF_CPU[cpus]['S']


@pytest.mark.quick
@pytest.mark.parametrize('cpus, delays', [('0', [1]), ('1', [3, 4]), ('0-1', [1, 3, 4])])
def test_run_delays_belong_to_the_cpu_that_runs_the_thread(tmp_path, cpus, delays):
    """Woken up at 1.033 on CPU 0, it waits 3 ms and runs on CPU 1."""
    moves = MOVES.replace(leaves('1.033', 0, 0), leaves('1.033', 0, 1) + wakes('1.033', 0, 1))
    moves = moves.replace(leaves('1.111', 1, 0), leaves('1.111', 1, 1))
    found = of_script(tmp_path, TRACEPOINTS + moves, 'runqlat', '-C', cpus)
    assert sum(r['calls'] for r in rows(found, 'pairs')) == len(delays)
    assert sum(r['total'] for r in rows(found, 'pairs')) / MS == sum(delays)


# A call that begins on CPU 0 and ends on CPU 1 (3 ms), one on CPU 1 (4 ms), one that begins there
# and ends on CPU 0 (5 ms).
CALLS = '''event raw_syscalls:sys_enter id:s64
event raw_syscalls:sys_exit id:s64 ret:s64
1.000 0 7/7 t raw_syscalls:sys_enter id=203
1.003 1 7/7 t raw_syscalls:sys_exit id=203
1.004 1 7/7 t raw_syscalls:sys_enter id=35
1.008 1 7/7 t raw_syscalls:sys_exit id=35
1.009 1 7/7 t raw_syscalls:sys_enter id=203
1.014 0 7/7 t raw_syscalls:sys_exit id=203
'''
BY_THREAD = ('-e', 'raw_syscalls:sys_enter//key=common_pid/', '-e',
             'raw_syscalls:sys_exit//key=common_pid/')


@pytest.mark.quick
@pytest.mark.parametrize('cpus, times', [('0', [5]), ('1', [3, 4]), ('0-1', [3, 4, 5])])
def test_pairs_belong_to_the_cpu_on_which_they_end(tmp_path, cpus, times):
    found = of_script(tmp_path, CALLS, 'syscalls', '-C', cpus)
    calls = rows(found, 'system calls')
    assert (sum(r['calls'] for r in calls), sum(r['total'] for r in calls) / MS) == (
        len(times), sum(times))
    assert found.get('remarks', []) == []
    found = of_script(tmp_path, CALLS, 'nested-trace', '-k', '_tid', '-C', cpus, '--impl', 'delay',
                      '-e', 'raw_syscalls:sys_enter,raw_syscalls:sys_exit')
    assert sum(r['total'] for r in rows(found, 'calls')) / MS == sum(times)


@pytest.mark.quick
def test_an_allocation_can_be_freed_on_another_cpu(tmp_path):
    """Of CPU 0: one of 100 bytes is freed on CPU 1, one of 7 bytes is not freed."""
    found = of_script(tmp_path, '''event m:alloc ptr:u64 bytes_alloc:u64
event m:free ptr:u64
1.000 0 7/7 t m:alloc ptr=1 bytes_alloc=100
1.001 0 7/7 t m:alloc ptr=2 bytes_alloc=7
1.002 1 7/7 t m:alloc ptr=3 bytes_alloc=50
1.003 1 7/7 t m:free ptr=1
''', 'kmemleak', '-C', '0', '--alloc', 'm:alloc', '--free', 'm:free')
    [row] = rows(found, 'leaks')
    assert (row['objects'], row['bytes']) == (1, 7)


@pytest.mark.quick
def test_a_list_that_is_none(tmp_path):
    for cpus in ('x', str(os.cpu_count() + 4000)):
        ended = run('syscalls', '-C', cpus, '-d', '1ms')
        assert ended.returncode != 0 and 'CPU' in ended.stderr, ended.stderr


# ---- live ----

ROUNDS, SLEEP = 10, 5
# All tasks of the CPUs are seen, so also the program of another run of these tests.
PROGRAM = f'moves{os.getpid()}'
# The command inherits the CPU of attar. taskset would be one call more, of the same thread.
ON_CPU_0 = {'preexec_fn': lambda: os.sched_setaffinity(0, {0})}


@pytest.fixture(scope='module', name='command')
def fixture_command(tmp_path_factory):
    """
    A program that sleeps 5 ms on CPU 0, on which it starts, and 20 ms on CPU 1, ten times. It has
    real-time priority, as its moves would wait for other threads of a busy CPU otherwise.
    """
    if os.cpu_count() < 2 or os.geteuid():
        pytest.skip('needs two CPUs and root')
    program = tmp_path_factory.mktemp('program') / PROGRAM
    program.symlink_to(workload('migrates'))
    return ['--', 'chrt', '-f', 1, program, ROUNDS, SLEEP]


@pytest.fixture(scope='module', name='recording')
def fixture_recording(command, tmp_path_factory):
    data = tmp_path_factory.mktemp('cpus') / 'moves.data'
    ended = run('record', '-a', '-m', 1024, '-o', data, '-e',
                'raw_syscalls:*,sched:sched_switch,sched:sched_wak*,kmem:kmalloc,kmem:kfree,'
                'irq:softirq_*,syscalls:sys_*_exit_group,cpu-clock', *command,
                **ON_CPU_0)
    assert ended.returncode == 0, ended.stderr
    return ['--input', data]


@pytest.mark.parametrize('source', ['command', 'recording'])
@pytest.mark.parametrize('cpu', [0, 1])
def test_no_time_is_invented(request, source, cpu):
    """No call on CPU 0 sleeps as long as those on CPU 1; moving takes less than both."""
    args = request.getfixturevalue(source)
    pids = [] if source == 'command' else ['-p', pid_of(args)]
    found = report('multi-trace', '--impl', 'syscalls', '--perins', '-m', 1024, '-C', cpu, *pids,
                   *args, **ON_CPU_0)
    calls = {r['syscall'].split('(')[0]: r for r in rows(found, 'system calls')
             if r['comm'] == PROGRAM}
    sleep = calls.get('clock_nanosleep') or calls['nanosleep']
    moves = calls['sched_setaffinity']
    assert (sleep['calls'], moves['calls']) == (ROUNDS, ROUNDS), found
    assert sleep['min'] >= (SLEEP if cpu == 0 else 4 * SLEEP) * MS
    assert moves['p50'] < SLEEP * MS


def pid_of(recording):
    found = report('multi-trace', '--impl', 'syscalls', '--perins', *recording)
    return next(r['tid'] for r in rows(found, 'system calls') if r['comm'] == PROGRAM)


def lacks_switches(recording):
    """On some virtual machines; which times are left out then depends on what else is known."""
    return any('lacks' in remark for remark in report('task-state', *recording).get('remarks', []))


@pytest.mark.parametrize('cpu', [0, 1])
def test_sleeps_of_each_cpu(recording, cpu):
    """
    As long as the program sleeps on the CPU, or shorter if it was preempted after the timer had
    been armed. The times of both CPUs add up.
    """
    pid = pid_of(recording)
    asleep = {}
    for cpus in ('0', '1', '0-1'):
        found = report('task-state', '--perins', '-p', pid, '-C', cpus, *recording)
        asleep[cpus] = {r['state']: r for r in rows(found, 'task-state')
                        if r['comm'] == PROGRAM}
    sleep = SLEEP * MS * (1 if cpu == 0 else 4)
    mine = asleep[str(cpu)].get('S')
    if mine:  # some virtual machines do not deliver the switches from idle CPUs
        assert mine['count'] <= ROUNDS
        assert mine['p50'] < 2 * sleep
    for state, row in asleep['0-1'].items() if not lacks_switches(recording) else ():
        parts = [asleep[c].get(state, {'count': 0, 'total': 0}) for c in ('0', '1')]
        assert row['count'] == sum(p['count'] for p in parts)
        assert row['total'] == sum(p['total'] for p in parts)


@pytest.mark.parametrize('args', [
    ['syscalls'], ['runqlat'], ['softirqs'], ['offcpu'], ['wall'], ['task-state', '--perins'],
    ['oncpu'], ['top', '-e', 'raw_syscalls:sys_enter'],
    ['nested-trace', '-k', '_tid', '-e', 'raw_syscalls:sys_enter,raw_syscalls:sys_exit'],
    ['kmemleak', '--alloc', 'kmem:kmalloc', '--free', 'kmem:kfree']], ids=lambda args: args[0])
def test_all_cpus_add_up(recording, args):
    """What is found without --cpus is found on one CPU or the other, and nothing else is."""
    all_cpus = [','.join(map(str, range(os.cpu_count())))]

    def sums(*cpus):
        found, table = Counter(), report(*args, *cpus, *recording)['sections'][0]
        for i, column in enumerate(table['columns']):
            if column['name'] in ('count', 'calls', 'total', 'time', 'objects', 'bytes',
                                  'raw_syscalls:sys_enter'):
                found[column['name']] += sum(r[i] for r in table['rows'])
        return found

    each = [sums('-C', cpu) for cpu in range(os.cpu_count())]
    assert sum(each, Counter())
    assert sums() == sums('-C', *all_cpus)
    if not lacks_switches(recording):
        assert sums() == sum(each, Counter())
