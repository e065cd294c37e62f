# SPDX-License-Identifier: MIT
"""attar wall: the time of threads in each state adds up."""
import json
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

import scripts
from command import BUILD, run, run_delivered, wait_until, workload
from scripts import rows_of

STATES = ('running', 'ready', 'disk', 'lock', 'sleep', 'peer', 'blocked', 'condition', 'work')
LARGE = ('-m', 4096)  # large rings: segments that a loss may have affected would be left out

SCRIPT = '''# attar script
event sched:sched_switch stack prev_comm:char[16] prev_pid:pid_t prev_prio:int prev_state:s64 \
next_comm:char[16] next_pid:pid_t next_prio:int
event sched:sched_wakeup comm:char[16] pid:pid_t
event sched:sched_wakeup_new comm:char[16] pid:pid_t
event cpu-clock stack
1.000 0 100/100 worker fork 100/101
1.000 0 0/0 swapper sched:sched_switch next_pid=100
1.010 0 100/100 worker cpu-clock stack=0xa1
1.030 0 100/100 worker sched:sched_switch stack=0xb1,0xb2 prev_pid=100 prev_state=1
1.050 0 0/0 swapper sched:sched_wakeup pid=100
1.060 0 0/0 swapper sched:sched_switch next_pid=100
1.070 0 100/100 worker sched:sched_switch stack=0xa1 prev_pid=100 prev_state=0 next_pid=101
1.080 0 100/101 worker sched:sched_switch stack=0xa1 prev_pid=101 prev_state=32 next_pid=100
1.090 0 100/100 worker sched:sched_switch stack=0xa1 prev_pid=100 prev_state=2
'''


def report(*args, **kwargs):
    ended = run_delivered('wall', '--format', 'json', *args, **kwargs)
    assert ended.returncode == 0, ended.stderr
    lines = [line for line in ended.stdout.splitlines() if line.startswith('{')]
    table = next(s for s in json.loads(lines[-1])['sections'] if s['name'] == 'threads')
    return rows_of(table)


@pytest.mark.quick
def test_time_of_each_state(tmp_path):
    """The second thread exits: it is not shown as blocked from then on."""
    script, folded = tmp_path / 'test.script', tmp_path / 'wall.folded'
    script.write_text(SCRIPT)
    found = {r['tid']: r for r in report('-o', folded, '--input', script)}
    assert (found[100]['time'], found[101]['time']) == (90_000_000, 10_000_000)
    assert [round(found[100][s] * 0.9, 6) for s in (
        'running', 'ready', 'blocked', 'disk', 'work')] == [50, 20, 20, 0, 0]
    assert found[101]['running'] == 100
    stacks = [line.rpartition(' ') for line in folded.read_text().splitlines()]
    by_state = {}
    for stack, _, weight in stacks:
        state = stack[stack.index('['):].split(';')[0]
        by_state[state] = by_state.get(state, 0) + int(weight)
    assert by_state == {'[running]': 60_000_000, '[waiting for a CPU]': 20_000_000,
                        '[blocked]': 20_000_000}


@pytest.mark.quick
def test_recording_without_samples(tmp_path):
    """Times do not need samples of CPU time."""
    script, folded = tmp_path / 'test.script', tmp_path / 'wall.folded'
    script.write_text(''.join(line for line in SCRIPT.splitlines(True) if 'cpu-clock' not in line))
    found = scripts.report('wall', '-o', folded, '--input', script)
    assert [(r['tid'], r['time'], round(r['running'] * r['time'] / 100))
            for r in scripts.rows(found, 'threads')] == [
        (100, 90_000_000, 50_000_000), (101, 10_000_000, 10_000_000)]
    assert any('[running] has no stacks' in remark for remark in found['remarks'])
    assert not re.search(r'\[running\];', folded.read_text())


RENAMED = SCRIPT[:SCRIPT.index('1.000 0 100')] + '''event task:task_rename pid:pid_t
1.000 0 100/100 sh fork 100/101
1.000 0 0/0 swapper sched:sched_switch next_pid=100
1.010 0 100/100 sh task:task_rename pid=100
1.030 0 100/100 program sched:sched_switch prev_pid=100 prev_state=1
1.040 0 0/0 swapper sched:sched_wakeup pid=100
1.060 0 0/0 swapper sched:sched_switch next_pid=100
1.070 0 100/100 other sched:sched_switch prev_pid=100 prev_state=1
'''


def shown_by_name(folded):
    """The ms in the tree by the name of the thread, without its tid."""
    shown = {}
    for line in folded.read_text().splitlines():
        name = line.split(';')[0].split(' ')[0]
        shown[name] = shown.get(name, 0) + int(line.split()[-1]) / 10**6
    return shown


@pytest.mark.quick
def test_time_belongs_to_the_name_of_then(tmp_path):
    """In the table and in the tree. Without the event of a change, to the name of the end."""
    script, folded = tmp_path / 'test.script', tmp_path / 'wall.folded'
    for text, times in ((RENAMED, {'sh': 10, 'program': 50, 'other': 10}),
                        (RENAMED.replace('task:task_rename', 'sched:nothing'),
                         {'program': 60, 'other': 10})):
        script.write_text(text)
        found = {r['comm']: r['time'] / 10**6 for r in report('-o', folded, '--input', script)}
        assert found == times
        assert shown_by_name(folded) == times


@pytest.mark.quick
def test_sample_between_a_change_of_the_name_and_its_record(tmp_path):
    """It has the old name; the time since the event of the change belongs to the new one."""
    script, folded = tmp_path / 'test.script', tmp_path / 'wall.folded'
    script.write_text(RENAMED.replace('rename pid:pid_t', 'rename pid:pid_t newcomm:char[16]')
                      .replace('rename pid=100', 'rename pid=100 newcomm=program\n'
                               '1.015 0 100/100 sh cpu-clock stack=0xa1'))
    times = {'sh': 10, 'program': 50, 'other': 10}
    assert {r['comm']: r['time'] / 10**6
            for r in report('-o', folded, '--input', script)} == times
    assert shown_by_name(folded) == times


@pytest.mark.quick
def test_sample_of_another_thread_than_was_known(tmp_path):
    """
    The switch from 100 to 9 is missing: when 100 stopped is unknown, so that it only counts from
    its next switch; 9 runs from its sample.
    """
    script = tmp_path / 'test.script'
    script.write_text(SCRIPT[:SCRIPT.index('1.000 0 100')] + '''1.000 0 100/100 worker fork 100/101
1.000 0 9/9 other fork 9/10
1.000 0 0/0 swapper sched:sched_switch next_pid=100
1.010 0 100/100 worker cpu-clock stack=0xa1
1.030 0 9/9 other cpu-clock stack=0xc1
1.050 0 9/9 other sched:sched_switch stack=0xb1 prev_pid=9 prev_state=1 next_pid=11
1.090 0 11/11 third sched:sched_switch stack=0xb1 prev_pid=11 prev_state=1 next_pid=100
1.100 0 100/100 worker sched:sched_switch stack=0xa1 prev_pid=100 prev_state=0
''')
    found = {r['tid']: r for r in report('--input', script)}
    running = {tid: r['running'] / 100 * r['time'] for tid, r in found.items()}
    assert running[100] == pytest.approx(10_000_000)
    assert running[9] == pytest.approx(20_000_000)


@pytest.mark.quick
def test_switch_of_another_thread_than_was_known(tmp_path):
    """The switch from 100 to 9 is missing: 100 counts from the switch to it only."""
    script = tmp_path / 'test.script'
    script.write_text(SCRIPT[:SCRIPT.index('1.000 0 100')] + '''1.000 0 100/100 worker fork 100/101
1.000 0 9/9 other fork 9/10
1.000 0 0/0 swapper sched:sched_switch next_pid=100
1.050 0 9/9 other sched:sched_switch stack=0xb1 prev_pid=9 prev_state=1 next_pid=100
1.060 0 100/100 worker sched:sched_switch stack=0xa1 prev_pid=100 prev_state=1
''')
    found = scripts.report('wall', '--input', script)
    times = {r['tid']: r['running'] / 100 * r['time'] for r in scripts.rows(found, 'threads')}
    assert times[100] == pytest.approx(10_000_000)
    assert ('segments of time left out because an event during them was not delivered: 1'
            in found['remarks'])


@pytest.mark.quick
def test_waker_of_an_earlier_wait(tmp_path):
    """The wakeup that ends the second wait was not delivered: its waker is unknown."""
    script, trace = tmp_path / 'test.script', tmp_path / 'x.trace.json'
    script.write_text(SCRIPT[:SCRIPT.index('1.000 0 100')] + '''
event sched:sched_waking stack comm:char[16] pid:pid_t
0.900 0 100/100 worker fork 100/101
1.000 0 0/0 swapper sched:sched_switch next_pid=100
1.010 0 100/100 worker sched:sched_switch stack=0xb1 prev_pid=100 prev_state=0
1.015 1 200/200 stale sched:sched_waking pid=100
1.020 0 0/0 swapper sched:sched_switch next_pid=100
1.030 0 100/100 worker sched:sched_switch stack=0xb1 prev_pid=100 prev_state=1
1.040 0 0/0 swapper sched:sched_switch next_pid=100
1.050 0 100/100 worker sched:sched_switch stack=0xb1 prev_pid=100 prev_state=1
1.055 1 300/300 right sched:sched_waking pid=100
1.055 1 300/300 right sched:sched_wakeup pid=100
1.060 0 0/0 swapper sched:sched_switch next_pid=100
''')
    assert run('wall', '-o', trace, '--input', script).returncode == 0
    blocks = [e['args'].get('waker') for e in json.loads(trace.read_text())['traceEvents']
              if e['name'] == 'blocked']
    assert blocks == [None, 'right']


# Of threads 100 and 101: without the switches from other tasks, and the last one of each.
SINGLE = SCRIPT[:SCRIPT.index('1.000 0 100')] + '''1.000 0 100/100 worker fork 100/101
1.000 0 8/8 other fork 8/9
1.000 0 100/100 worker cpu-clock stack=0xa1
1.010 0 100/100 worker sched:sched_switch stack=0xb1 prev_pid=100 prev_state=1 next_pid=9
1.030 0 8/9 other sched:sched_wakeup pid=100
1.040 0 100/100 worker cpu-clock stack=0xa1 period=15000000
1.070 0 100/100 worker sched:sched_switch stack=0xb1 prev_pid=100 prev_state=0 next_pid=9
1.080 1 100/100 worker sched:sched_wakeup_new pid=101
1.090 0 101/101 child cpu-clock stack=0xa1 period=4000000
1.095 0 101/101 child sched:sched_wakeup pid=8
1.100 1 100/100 worker exit
1.120 0 101/101 child sched:sched_switch stack=0xb1 prev_pid=101 prev_state=1 next_pid=9
1.150 0 8/9 other sched:sched_wakeup pid=101
1.170 0 101/101 child exit
2.000 0 7/7 last cpu-clock stack=0xa1
'''


@pytest.mark.quick
def test_recording_of_single_tasks(tmp_path):
    """
    Samples and wakeups show that a thread runs, and an exit ends its time. At its second sample,
    100 has run for 15 ms since the first, 10 ms of which were before it slept. Threads 8 and 9,
    which have no events of their own, are unknown.
    """
    script = tmp_path / 'test.script'
    script.write_text(SINGLE)
    found = {r['tid']: {s: round(r[s] / 100 * r['time']) / 10**6 for s in STATES if r[s]}
             for r in report('--input', script)}
    assert found == {100: {'running': 65, 'ready': 15, 'blocked': 20},
                     101: {'running': 34, 'ready': 26, 'blocked': 30}, 7: {}}
    remarks = scripts.report('wall', '--input', script)['remarks']
    assert ('1 thread is left out: the recording has wakeups of it or switches to it, but no '
            'events of its own so far; record all tasks with -a') in remarks


@pytest.mark.quick
def test_recording_of_all_tasks(tmp_path):
    """The switch that begins a run is there: no other event is taken for one."""
    script = tmp_path / 'test.script'
    script.write_text(SINGLE.replace('1.010', '''1.005 1 0/0 swapper sched:sched_switch next_pid=9
1.010'''))
    found = {r['tid']: r for r in report('--input', script)}
    assert round(found[100]['running'] / 100 * found[100]['time']) == 10 * 10**6
    assert round(found[100]['ready'] / 100 * found[100]['time']) == (40 + 930) * 10**6


PROGRAM = '''
import select, time
waiting = select.epoll()
waiting.poll(0.3)
time.sleep(0.2)
end = time.process_time() + 0.2
while time.process_time() < end:
    pass
'''


@pytest.mark.usefixtures('root', 'busy_cpus')
def test_waiting_for_work_is_not_blocked():
    """0.3 s in epoll_wait(), 0.2 s asleep, 0.2 s of CPU time."""
    rows = report(*LARGE, '--', '/usr/bin/python3', '-c', PROGRAM)
    found = max((r for r in rows if r['comm'].startswith('python')), key=lambda r: r['time'])
    shares = [found[s] for s in STATES]
    assert sum(shares) == pytest.approx(100)
    seconds = found['time'] / 10**9
    assert found['work'] / 100 * seconds >= 0.29
    assert found['running'] / 100 * seconds >= 0.19
    assert found['sleep'] / 100 * seconds >= 0.19


def many(n):
    """Return a script of n threads with the name `child`, the i-th of which runs for i ms."""
    return SCRIPT[:SCRIPT.index('1.000 0 100')] + ''.join(
        f'{i}.000 0 100/{i} child fork 100/{i + 1}\n{i}.000 0 0/0 swapper sched:sched_switch '
        f'next_pid={i}\n{i + i / 1000:.3f} 0 100/{i} child sched:sched_switch prev_pid={i} '
        'prev_state=32\n' for i in range(1, n + 1))


@pytest.mark.quick
def test_sums_by_name(tmp_path):
    script = tmp_path / 'test.script'
    for n in 19, 20:
        script.write_text(many(n) + '30.0 0 7/7 other cpu-clock stack=0xa1\n'
                          '30.5 0 7/7 other sched:sched_switch prev_pid=7 prev_state=32\n')
        found = scripts.report('wall', '--input', script)
        assert len(scripts.rows(found, 'threads')) == n + 1
        assert [r for r in found.get('remarks', []) if '--only-comm' in r] == [
            "20 threads have the name 'child': --only-comm adds up threads by name"][:n - 19]
        found = scripts.report('wall', '--only-comm', '--input', script)
        assert [(r['comm'], r['threads'], r['time'], r['running'])
                for r in scripts.rows(found, 'names')] == [
            ('other', 1, 500_000_000, 100), ('child', n, n * (n + 1) // 2 * 10**6, 100)]
        assert not any('--only-comm' in r for r in found.get('remarks', []))


@pytest.mark.quick
@pytest.mark.parametrize('n, is_whole', [(99, False), (100, True)])
def test_recording_of_all_tasks_without_idle_ones(tmp_path, n, is_whole):
    """Most switches follow each other: they are those of all tasks, also if no CPU is idle."""
    script = tmp_path / 'test.script'
    switches = ''.join(
        f'1.{i:03} 0 100/{100 + i % 2} worker sched:sched_switch stack=0xb1 '
        f'prev_pid={100 + i % 2} prev_state=0 next_pid={101 - i % 2}\n' for i in range(n + 1))
    script.write_text(SCRIPT[:SCRIPT.index('1.000 0 100')] + f'''0.5 0 100/100 worker fork 100/101
{switches}1.200 0 100/{100 + n % 2} worker cpu-clock stack=0xa1 period=1000000
2.000 0 7/7 last cpu-clock stack=0xa1
''')
    found = {r['tid']: r for r in report('--input', script)}
    last = found[100 + n % 2]
    assert (last['ready'] / 100 * last['time'] > 0.8e9) == is_whole


SLEEPS = '''
import ctypes, os, select
libc, end = ctypes.CDLL(None), os.pipe()[0]
select.poll().poll(200)
libc.ppoll(None, 0, (ctypes.c_long * 2)(0, 200_000_000), None)
select.select([], [], [], 0.2)
select.select([end], [], [], 0.1)
waiting = select.poll()
waiting.register(end)
waiting.poll(100)
'''


@pytest.mark.usefixtures('root')
def test_waiting_without_files_is_a_sleep():
    """0.6 s in poll(), ppoll() and select() without descriptors, 0.2 s with one."""
    rows = report(*LARGE, '--', '/usr/bin/python3', '-I', '-S', '-c', SLEEPS)
    found = max((r for r in rows if r['comm'].startswith('python')), key=lambda r: r['time'])
    assert found['sleep'] / 100 * found['time'] >= 0.59e9
    assert found['work'] / 100 * found['time'] >= 0.19e9


POLLS = SCRIPT[:SCRIPT.index('1.000 0 100')] + '''event syscalls:sys_enter_poll ufds:u64 nfds:u32
1.000 0 100/100 worker fork 100/101
1.000 0 100/100 worker ksymbol register 0xffffffffc0000000 64 do_sys_poll
1.000 0 100/100 worker ksymbol register 0xffffffffc0001000 64 __x64_sys_poll
1.000 0 100/100 worker ksymbol register 0xffffffffc0002000 64 core_sys_select
1.000 0 100/100 worker ksymbol register 0xffffffffc0003000 64 __x64_sys_select
1.000 0 0/0 swapper sched:sched_switch next_pid=100
'''


@pytest.mark.quick
@pytest.mark.parametrize('files, call, state', [
    (0, '0xffffffffc0000010,0xffffffffc0001010', 'sleep'),
    (1, '0xffffffffc0000010,0xffffffffc0001010', 'work'),
    (0, '0xffffffffc0002010,0xffffffffc0003010', 'work')], ids=['none', 'one', 'select'])
def test_arguments_in_a_recording(tmp_path, files, call, state):
    """Those of poll() are not those of a later select(), which was not recorded."""
    script = tmp_path / 'test.script'
    script.write_text(POLLS + f'''1.010 0 100/100 worker syscalls:sys_enter_poll nfds={files}
1.020 0 100/100 worker sched:sched_switch stack={call} prev_pid=100 prev_state=1
1.080 0 0/0 swapper sched:sched_wakeup pid=100
''')
    row, = report('--input', script)
    assert (row['time'], row[state]) == (80_000_000, 75)


JOINS = SCRIPT[:SCRIPT.index('1.000 0 100')] + '''event syscalls:sys_enter_futex op:int \
val:u32
1.000 0 100/100 worker fork 100/101
1.000 0 100/100 worker ksymbol register 0xffffffffc0000000 64 futex_wait
1.000 0 100/100 worker ksymbol register 0xffffffffc0001000 64 __x64_sys_futex
1.000 0 0/0 swapper sched:sched_switch next_pid=100
'''


@pytest.mark.quick
@pytest.mark.parametrize('op, value, state', [
    (0, 101, 'condition'), (265, 101, 'condition'), (128, 101, 'lock'), (0, 2, 'lock')],
                         ids=['old', 'new', 'private', 'mutex'])
def test_joins_are_no_locks(tmp_path, op, value, state):
    """pthread_join() waits without FUTEX_PRIVATE_FLAG for the tid of a thread of the process."""
    script = tmp_path / 'test.script'
    script.write_text(JOINS + f'''1.010 0 100/100 worker syscalls:sys_enter_futex op={op} \
val={value}
1.020 0 100/100 worker sched:sched_switch stack=0xffffffffc0000010,0xffffffffc0001010 \
prev_pid=100 prev_state=1
1.080 0 0/0 swapper sched:sched_wakeup pid=100
''')
    row, = report('--input', script)
    assert (row['time'], row[state]) == (80_000_000, 75)


@pytest.mark.usefixtures('root')
@pytest.mark.parametrize('events', [
    'raw_syscalls:sys_enter', ','.join(f'syscalls:sys_enter_{call}' for call in (
        'poll', 'ppoll', 'select', 'pselect6'))], ids=['raw', 'single'])
def test_arguments_in_a_real_recording(tmp_path, events):
    """As live; each wait ends with a wakeup, which is recorded."""
    data = tmp_path / 'x.data'
    done = run('record', '-q', '-g', '-m', 1024, '-o', data, '-e', 'cpu-clock,sched:sched_switch,'
               f'sched:sched_wakeup,sched:sched_wakeup_new,{events}', '--', '/usr/bin/python3',
               '-I', '-S', '-c', SLEEPS)
    assert done.returncode == 0, done.stderr
    found = max((r for r in report('--input', data) if r['comm'].startswith('python')),
                key=lambda r: r['time'])
    assert found['sleep'] / 100 * found['time'] >= 0.59e9
    assert found['work'] / 100 * found['time'] >= 0.19e9


@pytest.mark.usefixtures('root')
def test_locks_and_conditions():
    """main holds the lock for 10 * 20 ms, asleep, while the other thread waits for it."""
    rows = report(*LARGE, '--', workload('locked'), 10, 20)
    found = {'main' if r['sleep'] > r['lock'] else 'waiter': r for r in rows
             if r['comm'] == 'locked'}
    main, waiter = found['main'], found['waiter']
    assert main['sleep'] / 100 * main['time'] >= 0.19e9
    assert waiter['lock'] / 100 * waiter['time'] >= 0.19e9
    assert waiter['sleep'] == 0


STOPPED = """
import os, signal, subprocess, time
child = subprocess.Popen(['sleep', '100'])
for _ in range(2):
    time.sleep(0.1)
    child.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, child.pid, os.WSTOPPED)
    time.sleep(0.3)
    child.send_signal(signal.SIGCONT)
child.kill()
"""


@pytest.mark.usefixtures('root')
def test_stopped_thread_is_blocked():
    """`sleep` is stopped for 2 * 0.3 s, and does not wait for work at any time."""
    rows = report(*LARGE, '--', '/usr/bin/python3', '-c', STOPPED)
    found = next(r for r in rows if r['comm'] == 'sleep')
    assert found['blocked'] / 100 * found['time'] >= 0.6e9
    assert found['work'] == 0


@pytest.mark.usefixtures('root')
def test_time_before_the_exec():
    """execvp(3) fails in 5,000 directories of PATH, which is no time of the program."""
    path = ':'.join([*(f'/nonexistent/{i}' for i in range(5000)), str(BUILD / 'tests/workloads')])
    found = scripts.report('wall', '--', 'slow', 'sleep', 100, env=os.environ | {'PATH': path})
    assert {r['comm'] for r in scripts.rows(found, 'threads')} == {'slow'}


@pytest.mark.usefixtures('root')
def test_execs_in_the_table_and_in_the_tree(tmp_path):
    """A process that is five programs, one after the other."""
    programs = ['first', 'second', 'third', 'fourth', 'fifth']
    text = '#!/bin/sh\nfor i in 1 2 3 4 5 6 7 8 9; do :; done\n'
    for name, then in zip(programs, [*programs[1:], 'sleep']):
        (tmp_path / name).write_text(text + f'exec {then} 0.1\n')
        (tmp_path / name).chmod(0o755)
    out = tmp_path / 'wall.json'
    ended = run_delivered('wall', '-q', *LARGE, '-o', out, '--', 'first', output=out,
                          env=os.environ | {'PATH': f'{tmp_path}:{os.environ["PATH"]}'})
    assert ended.returncode == 0, ended.stderr
    found = json.loads(out.read_text())
    table, shown = {}, {}
    for row in scripts.rows(found, 'threads'):
        table[row['comm']] = table.get(row['comm'], 0) + row['time']
    for path, time in scripts.stacks(found).items():
        name = path[0].split(' ')[0]
        shown[name] = shown.get(name, 0) + time
    assert shown == table
    assert {*programs, 'sleep'} <= set(table)


@pytest.mark.usefixtures('root')
def test_process_that_was_stopped_before(spawn):
    """It causes no events: its state is read from /proc."""
    process = spawn('sleep', '100')
    process.send_signal(signal.SIGSTOP)
    wait_until(lambda: ') T ' in Path(f'/proc/{process.pid}/stat').read_text(), 'it is stopped')
    row, = report('-d', '200ms', '-p', process.pid)
    assert row['blocked'] == 100


@pytest.mark.usefixtures('root')
def test_thread_that_sleeps_all_the_time():
    """Threads without any event, selected by their process, are read from /proc."""
    program = """
import select, threading, time
for call, argument in (time.sleep, 60), (select.poll().poll, 60000):
    threading.Thread(target=call, args=(argument,)).start()
print("ready", flush=True)
select.epoll().poll()"""
    with subprocess.Popen(['/usr/bin/python3', '-c', program], stdout=subprocess.PIPE) as sleeper:
        try:
            assert sleeper.stdout.readline() == b'ready\n'
            wait_until(lambda: all(re.search('epoll_wait|nanosleep|do_sys_poll', path.read_text())
                                   for path in Path(f'/proc/{sleeper.pid}/task').glob('*/stack')),
                       'all threads wait')
            rows = report(*LARGE, '-p', sleeper.pid, '-d', '0.5')
        finally:
            sleeper.kill()
    found = {r['tid']: r for r in rows}
    assert found.pop(sleeper.pid)['work'] == 100
    assert [r['sleep'] for r in found.values()] == [100, 100]


@pytest.mark.usefixtures('root')
@pytest.mark.parametrize('all_tasks', [False, True])
def test_thread_that_sleeps_when_a_recording_begins(all_tasks, tmp_path):
    """
    Its wait is stored in the recording: the thread is shown from the beginning on, unless all
    threads of the system are.
    """
    program = """
import os, select, threading, time
end, _ = os.pipe()
one, none, many = select.poll(), select.poll(), select.epoll()
one.register(end)
for call, argument in ((time.sleep, 60), (os.read, end), (one.poll, 60000), (none.poll, 60000),
                       (many.poll, 60)):
    arguments = (end, 1) if call is os.read else (argument,)
    threading.Thread(target=call, args=arguments, daemon=True).start()
print("ready", flush=True)
while True:
    time.sleep(0.01)"""
    waits, data = 'epoll_wait|nanosleep|do_sys_poll|pipe_read', tmp_path / 'x.data'
    with subprocess.Popen(['/usr/bin/python3', '-c', program], stdout=subprocess.PIPE) as sleeper:
        try:
            assert sleeper.stdout.readline() == b'ready\n'
            threads = sorted(int(path.name) for path in
                             Path(f'/proc/{sleeper.pid}/task').iterdir())
            wait_until(lambda: all(re.search(waits, Path(f'/proc/{tid}/stack').read_text())
                                   for tid in threads[1:]), 'all threads wait')
            done = run('record', '-q', *LARGE, '-g', '-e',
                       'sched:sched_switch,sched:sched_wakeup,sched:sched_wakeup_new,cpu-clock',
                       *(['-a'] if all_tasks else ['-p', sleeper.pid]), '-d', '1', '-o', data)
            assert done.returncode == 0, done.stderr
        finally:
            sleeper.kill()
    if all_tasks:
        assert not set(threads[1:]) & {r['tid'] for r in report('--input', data)}
        assert {r['tid'] for r in report('--input', data, '-p', sleeper.pid)} == set(threads)
        return
    for options in [], ['-p', sleeper.pid]:
        found = {r['tid']: r for r in report('--input', data, *options)}
        assert sorted(found) == threads
        assert len({r['time'] for r in found.values()}) == 1
        assert found[threads[1]]['time'] > 500_000_000
        assert [next(s for s in STATES if found[tid][s] == 100) for tid in threads[1:]] == [
            'sleep', 'peer', 'work', 'sleep', 'work']
