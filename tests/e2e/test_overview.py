# SPDX-License-Identifier: MIT
"""attar overview: exact on scripts; programs that are slow for one known reason."""
import contextlib
import errno
import json
import os
import pathlib
import re
import resource
import shlex
import signal
import subprocess
import tempfile

import pytest

import guest
from command import ATTAR, BUILD, is_waiting, run, wait_until, workload
from scripts import of_script, report, report_until, rows, section

pytestmark = pytest.mark.exclusive

MS = 1_000_000
LARGE = ('-m', 8192)  # each ring holds all events of 1.5 s of writes to a disk, 10 to 30 MB

EVENTS = '''event cpu-clock stack
event sched:sched_switch stack prev_comm:char[16] prev_pid:pid_t prev_prio:int prev_state:s64 \
next_comm:char[16] next_pid:pid_t next_prio:int
event sched:sched_wakeup comm:char[16] pid:pid_t
event sched:sched_wakeup_new comm:char[16] pid:pid_t
event block:block_rq_issue dev:u32 sector:u64
event block:block_rq_complete dev:u32 sector:u64
event raw_syscalls:sys_exit id:s64 ret:s64
event page-faults
'''

# The first third is in the kernel.
SAMPLES = [f'1.{i:03} 0 100/100 worker cpu-clock stack={kernel}0xa1\n'
           for i in range(10, 31) for kernel in ['0xffffffff81000010,' if i < 17 else '']]

# A second of thread 100: 500 ms on the CPU, 200 ms uninterruptible, 300 ms ready in two parts of
# 100 and 200 ms. After the first part it runs on another CPU.
SCRIPT = EVENTS + '''1.000 0 100/100 worker fork 100/101
1.000 0 7/7 other fork 7/8
1.000 0 0/0 swapper sched:sched_switch next_pid=100
''' + ''.join(SAMPLES) + '''1.100 0 100/100 worker block:block_rq_issue dev=8 sector=64
1.200 0 100/100 worker sched:sched_switch stack=0xb1 prev_pid=100 prev_state=2
1.300 0 0/0 swapper block:block_rq_complete dev=8 sector=64
1.400 0 0/0 swapper sched:sched_wakeup pid=100
1.500 1 0/0 swapper sched:sched_switch next_pid=100
1.600 1 100/100 worker sched:sched_switch stack=0xb1 prev_pid=100 prev_state=0 next_pid=7
1.800 1 7/7 other sched:sched_switch stack=0xb1 prev_pid=7 prev_state=1 next_pid=100
1.900 1 100/100 worker raw_syscalls:sys_exit id=2 ret=-2
1.901 1 100/100 worker raw_syscalls:sys_exit id=2 ret=-2
1.902 1 100/100 worker raw_syscalls:sys_exit id=2 ret=-13
1.903 1 100/100 worker raw_syscalls:sys_exit id=0 ret=-11
1.904 1 100/100 worker raw_syscalls:sys_exit id=0 ret=-512
1.905 1 100/100 worker page-faults period=7
2.000 1 100/100 worker sched:sched_switch stack=0xb1 prev_pid=100 prev_state=1
'''


RECORD = 'record -a -g -d 10s -e'
OFFCPU = 'sched:sched_switch,sched:sched_waking', 'offcpu -D'
RUNDELAY = 'sched:sched_switch,sched:sched_wakeup,sched:sched_wakeup_new', 'blame --by process'
LOCKS = ('lock:contention_begin,lock:contention_end,syscalls:sys_enter_futex,'
         'syscalls:sys_exit_futex', 'locks')


def file_lock(text):
    """The wait is for the lock of a file, which has no events."""
    symbols = ('1.000 0 0/0 swapper ksymbol register 0xffffffffc0000000 64 flock_lock_inode_wait\n'
               '1.000 0 0/0 swapper ksymbol register 0xffffffffc0000040 64 __x64_sys_flock\n')
    return text.replace('0xb1', '0xffffffffc0000010,0xffffffffc0000050,0xb1').replace(
        '1.000 0 0/0', symbols + '1.000 0 0/0', 1)


def failed_in(result):
    return [r['count'] for r in rows(result, 'counts') if r['what'] == 'failed processes']


def found_in(result):
    return [r['finding'] for r in rows(result, 'findings')]


@pytest.mark.xdist_group('overview_scripts')  # not exclusive
@pytest.mark.quick
class TestScripts:
    def test_where_the_time_goes(self, tmp_path):
        """14 of the 21 samples are in user code, and the running time is divided so."""
        found = of_script(tmp_path, SCRIPT, 'overview', '-p', 100)
        times = {r['time spent']: r for r in rows(found, 'time')}
        assert {name: r['time'] for name, r in times.items()} == {
            'user code': 500 * MS * 2 // 3, 'kernel': 500 * MS // 3, 'run queue': 300 * MS,
            'disk': 200 * MS}
        assert times['run queue']['share'] == pytest.approx(30)
        assert times['disk']['mostly'] == 'worker (100)'
        assert {name: r['samples'] for name, r in times.items()} == {
            'user code': 14, 'kernel': 7, 'run queue': None, 'disk': None}
        assert [r['samples'] for r in rows(found, 'on CPU')] == [14, 7]
        assert found_in(found) == ['user code', 'run queue', 'disk']
        process, = rows(found, 'processes')
        assert process == {
            'pid': 100, 'comm': 'worker', 'threads': 1, 'on CPU': 500 * MS - 1,
            'run queue': 300 * MS, 'disk': 200 * MS, 'lock': 0, 'sleep': 0,
            'other programs': 0, 'other waits': 0}

    def test_the_end_of_a_signal_handler_is_no_failing_call(self, tmp_path):
        """It has the result of what the signal interrupted."""
        ends = ''.join(f'1.91{i} 1 100/100 worker raw_syscalls:sys_exit id=-1 ret=-{error}\n'
                       for i, error in enumerate([2, 4, 22]))
        found = of_script(tmp_path, SCRIPT.replace('1.905', ends + '1.905'), 'overview', '-p', 100)
        assert rows(found, 'system calls') == rows(
            of_script(tmp_path, SCRIPT, 'overview', '-p', 100), 'system calls')
        assert [r['count'] for r in rows(found, 'counts') if r['what'] == 'failing calls'] == [3]

    def test_name_of_processes_with_one_pid(self, tmp_path):
        """Three processes, one after the other: each has a row."""
        text, names = EVENTS, ['first', 'second', 'last']
        for i, (name, end) in enumerate(zip(names, [900, 90, 9])):
            text += f'''{i + 1}.000 0 1/1 init fork 100/100
{i + 1}.001 0 100/100 {name} exec
{i + 1}.002 0 1/1 init sched:sched_switch stack=0xb1 prev_pid=1 prev_state=1 next_pid=100
{i + 1}.{10 + end:03} 0 100/100 {name} sched:sched_switch stack=0xb1 prev_pid=100 prev_state=16 \
next_pid=1
{i + 1}.{11 + end:03} 0 100/100 {name} exit
'''
        found = of_script(tmp_path, text, 'overview', '-p', 100)
        assert [(r['pid'], r['comm'], r['on CPU']) for r in rows(found, 'processes')] == [
            (100, 'first', 908 * MS), (100, 'second', 98 * MS), (100, 'last', 17 * MS)]

    @pytest.mark.parametrize('n', [0, 1, 19, 20])
    def test_few_samples(self, tmp_path, n):
        """With fewer than 20, it is not known what runs on the CPU."""
        text = SCRIPT.replace(''.join(SAMPLES), ''.join(SAMPLES[-1:] * n))
        found = of_script(tmp_path, text, 'overview', '-p', 100)
        times = {r['time spent']: (r['time'], r['samples']) for r in rows(found, 'time')}
        name = 'user code' if n == 20 else 'CPU, too few samples'
        assert times == {name: (500 * MS, n), 'run queue': (300 * MS, None),
                         'disk': (200 * MS, None)}
        process, = rows(found, 'processes')
        assert process['on CPU'] == 500 * MS
        assert {r['on CPU'] for r in rows(found, 'system calls')} == {0 if n == 20 else None}
        first = rows(found, 'findings')[0]
        assert first['finding'] == name
        assert first['values']['evidence'] == {
            20: 'worker (pid 100, 1 thread) runs its own code for 50 % of the time',
            1: 'worker (pid 100, 1 thread) runs on a CPU for 50 % of the time; 1 sample is too few '
               'to tell in which code'}.get(
            n, 'worker (pid 100, 1 thread) runs on a CPU for 50 % of the time; '
               f'{n} samples are too few to tell in which code')
        if n < 20:
            assert first['values']['command'] == 'attar record -a -g -d 10s -F 9999'
            assert first['values']['then'] == 'attar profile -g --input perf.data'

    @pytest.mark.parametrize('n, function', [
        (19, ''), (20, ', 100 % of it in busy ([kernel.kallsyms])')], ids=['few', 'enough'])
    def test_function_of_few_samples(self, tmp_path, n, function):
        """Its share is stated if 20 samples are in the kernel, of 21 or more."""
        sample = '1.010 0 100/100 worker cpu-clock stack=0xffffffffc0000010\n'
        text = SCRIPT.replace(''.join(SAMPLES), sample * n + ''.join(SAMPLES[-2:])).replace(
            '1.000', '1.000 0 0/0 swapper ksymbol register 0xffffffffc0000000 64 busy\n1.000', 1)
        found = of_script(tmp_path, text, 'overview', '-p', 100)
        kernel, = (r['values'] for r in rows(found, 'findings') if r['finding'] == 'kernel')
        share = round(50 * n / (n + 2))
        assert kernel['evidence'] == (
            'worker (pid 100, 1 thread) runs kernel code, in system calls for '
            f'{share} % of the time{function}')

    def test_latencies_and_counts(self, tmp_path):
        found = of_script(tmp_path, SCRIPT, 'overview', '-p', 100)
        run_delay, block = rows(found, 'latency')
        assert (run_delay['count'], run_delay['total'], run_delay['max']) == (
            2, 300 * MS, 200 * MS)
        assert (block['count'], block['total']) == (1, 200 * MS)
        assert {r['what']: r['count'] for r in rows(found, 'counts')} == {
            'context switches': 3, 'migrations': 1, 'page faults': 7, 'major faults': 0,
            'failing calls': 3}

    def test_system_calls_by_errors(self, tmp_path):
        """EAGAIN is an error but not a failure; the kernel's internal error numbers are neither."""
        found = of_script(tmp_path, SCRIPT, 'overview', '-p', 100)
        assert sorted((r['errors'], r['mostly']) for r in rows(found, 'system calls')) == [
            (1, 'EAGAIN'), (3, 'ENOENT')]

    def test_other_tasks_are_left_out(self, tmp_path):
        found = of_script(tmp_path, SCRIPT, 'overview', '-p', 7)
        process, = rows(found, 'processes')
        assert (process['pid'], process['on CPU']) == (7, 200 * MS)
        assert found_in(found) == ['CPU, too few samples']
        assert rows(found, 'time')[-1]['time'] == 200 * MS  # idle: blocked up to the end

    def test_whole_system(self, tmp_path):
        """The thread that is blocked at the end is idle, as most threads of a system are."""
        found = of_script(tmp_path, SCRIPT, 'overview')
        times = {r['time spent']: r['time'] for r in rows(found, 'time')}
        assert times['idle'] == 200 * MS
        assert 'other waits' not in times
        assert rows(found, 'time')[-1]['share'] is None

    def test_tree_begins_with_what_the_time_is_spent_for(self, tmp_path):
        out = tmp_path / 'out.folded'
        of_script(tmp_path, SCRIPT, 'overview', '-p', 100, '-o', out)
        second = {line.split(';')[1].split(' ')[0] for line in out.read_text().splitlines()}
        assert second == {'[user', '[kernel]', '[run', '[disk]'}

    def test_loss(self, tmp_path):
        """States that begin before the loss and end after it are left out."""
        lost = SCRIPT.replace('1.300 0', '1.250 0 100/100 worker lost 5\n1.300 0')
        found = of_script(tmp_path, lost, 'overview', '-p', 100)
        times = {r['time spent']: r['time'] for r in rows(found, 'time')}
        assert 'disk' not in times and times['run queue'] == 300 * MS
        assert ('times left out because events were lost during them: 1, with 20.00 % of all time'
                in found['remarks'])
        assert any(r.startswith('events were lost: 5;') and 'a recording with a larger -m' in r
                   for r in found['remarks'])
        assert not any('not delivered' in r for r in found['remarks'])

    @pytest.mark.parametrize('lost, share', [(8, None), (9, '21.4 %')])
    def test_findings_after_losses(self, tmp_path, lost, share):
        """There are 33 switches, wakeups, samples and failing calls. An interval has its own."""
        text = SCRIPT.replace('1.300 0', f'1.250 0 100/100 worker lost {lost}\n1.300 0')
        found = of_script(tmp_path, text, 'overview', '-p', 100)
        assert [r['value'] for r in rows(found, 'findings') if r['finding'] == 'unreliable'] == (
            [share] if share else [])
        if share:
            assert rows(found, 'findings')[-1]['finding'] == 'unreliable'
            assert rows(found, 'findings')[-1]['values']['evidence'].startswith(
                'of the events were lost')
        doubts = [r for r in found.get('remarks', []) if r.startswith('unreliable: ')]
        assert doubts == ([f'unreliable: {share} of the events were lost: the findings are based '
                           'on the remaining events, and may be wrong'] if share else [])
        assert found['remarks'][:1] == doubts or not share
        shown = run('overview', '-p', 100, '--input', tmp_path / 'test.script').stdout
        assert shown.startswith(doubts[0] + '\n' if share else 'overview, 1.00 s, ')
        assert shown.count('of the events were lost:') == (2 if share else 0)
        found = of_script(tmp_path, text + '3.0 0 100/100 worker cpu-clock stack=0xa1\n',
                          'overview', '-p', 100, '-i', '900ms')
        assert 'unreliable' not in [r['finding'] for r in rows(found, 'findings')]
        assert all('estimated' not in row for row in rows(found, 'system calls'))

    def test_thread_that_runs_since_a_loss(self, tmp_path):
        """It was not seen before, and the first switch of its CPU after the loss is from it."""
        text = EVENTS + '''1.0 0 100/100 worker fork 100/101
1.1 0 0/0 swapper lost 5
1.2 1 0/0 swapper sched:sched_switch next_pid=9
1.5 0 100/100 worker sched:sched_switch stack=0xb1 prev_pid=100 prev_state=0 next_pid=0
1.6 1 0/0 swapper sched:sched_switch next_pid=100
'''
        found = of_script(tmp_path, text, 'overview', '-p', 100)
        assert {r['time spent']: r['time'] for r in rows(found, 'time')} == {
            'CPU, too few samples': 400 * MS - 1, 'run queue': 100 * MS}

    def test_recording_of_a_single_task(self, tmp_path):
        """It lacks the switch to 100, which is on a CPU when its call fails, and has exited."""
        text = EVENTS + '''1.0 0 100/100 worker fork 100/101
1.0 0 7/7 other sched:sched_wakeup pid=100
1.1 0 100/100 worker raw_syscalls:sys_exit id=2 ret=-2
1.5 0 100/100 worker sched:sched_switch stack=0xb1 prev_pid=100 prev_state=0 next_pid=7
1.7 0 100/100 worker page-faults period=1
1.8 0 100/100 worker exit
3.0 0 200/200 last page-faults period=1
'''
        found = of_script(tmp_path, text, 'overview', '-p', 100)
        assert {r['time spent']: r['time'] for r in rows(found, 'time')} == {
            'CPU, too few samples': 500 * MS, 'run queue': 300 * MS}

    def test_switch_of_another_thread_than_was_known(self, tmp_path):
        """The switch from 100 to 9 is missing: 100 did not run until 9 was switched out."""
        text = EVENTS + '''1.0 0 100/100 worker fork 100/101
1.0 0 0/0 swapper sched:sched_switch next_pid=100
1.5 0 9/9 other sched:sched_switch stack=0xb1 prev_pid=9 prev_state=1 next_pid=100
1.6 0 100/100 worker sched:sched_switch stack=0xb1 prev_pid=100 prev_state=0 next_pid=0
'''
        found = of_script(tmp_path, text, 'overview', '-p', 100)
        assert {r['time spent']: r['time'] for r in rows(found, 'time')} == {
            'CPU, too few samples': 100 * MS}
        assert [r for r in found['remarks'] if 'left out' in r] == [
            'times left out because an event during them was not delivered: 1']


    @pytest.mark.parametrize('n', [19, 20])
    def test_processes_by_name(self, tmp_path, n):
        """Of each, a parent and its two threads run for 10 ms."""
        text = EVENTS + ''.join(
            f'{i}.00 0 {2 * i}/{2 * i} child fork {2 * i}/{2 * i + 1}\n'
            f'{i}.00 0 0/0 swapper sched:sched_switch next_pid={2 * i}\n'
            f'{i}.01 0 {2 * i}/{2 * i} child sched:sched_switch prev_pid={2 * i} prev_state=32 '
            f'next_pid={2 * i + 1}\n'
            f'{i}.02 0 {2 * i}/{2 * i + 1} child sched:sched_switch prev_pid={2 * i + 1} '
            'prev_state=32\n' for i in range(1, n + 1)) + (
                '21.00 0 7777/7777 other cpu-clock stack=0xa1\n'
                '22.00 0 7777/7777 other sched:sched_switch prev_pid=7777 prev_state=32\n')
        found = of_script(tmp_path, text, 'overview')
        assert [r['comm'] for r in rows(found, 'processes')] == ['other'] + ['child'] * 4
        assert any('--only-comm' in r for r in found.get('remarks', [])) == (n == 20)
        found = of_script(tmp_path, text, 'overview', '--only-comm')
        assert [(r['comm'], r['processes'], r['threads'], r['on CPU'])
                for r in rows(found, 'processes')] == [
            ('other', 1, 1, 1000 * MS), ('child', n, 2 * n, n * 20 * MS)]

    @pytest.mark.parametrize('waits, words, evidence', [
        ((4, 4, 5), [], 'spread over 3 processes; the first of them, other (pid 300, 1 thread) '
                        'waits for a CPU for 83 % of the time'),
        ((4, 4, 5), ['--only-comm'],
         'child (2 processes, 2 threads) waits for a CPU in 1.3 threads on average'),
        ((5, 4, 3), [], 'child (2 processes, 2 threads) waits for a CPU in 1.5 threads on average'),
        ((1, 2, 5), [], 'other (pid 300, 1 thread) waits for a CPU for 83 % of the time')])
    def test_culprit(self, tmp_path, waits, words, evidence):
        """A process with half of the time; else the processes with its name; else none."""
        text = EVENTS + '''1.0 0 100/100 child fork 100/101
1.0 0 200/200 child fork 200/201
1.0 0 300/300 other fork 300/301
'''
        text += ''.join(f'1.0 0 0/0 swapper sched:sched_wakeup pid={i}00\n' for i in (1, 2, 3))
        text += ''.join(f'1.{wait} {i} 0/0 swapper sched:sched_switch next_pid={i}00\n'
                        for wait, i in sorted(zip(waits, (1, 2, 3))))
        for i, comm in enumerate(('child', 'child', 'other'), 1):
            text += f'1.6 {i} {i}00/{i}00 {comm} sched:sched_switch prev_pid={i}00 prev_state=32\n'
        found = of_script(tmp_path, text, 'overview', *words)
        finding, = (r for r in rows(found, 'findings') if r['finding'] == 'run queue')
        assert finding['values']['evidence'].startswith(evidence)
        mostly, = (r['mostly'] for r in rows(found, 'time') if r['time spent'] == 'run queue')
        if waits == (4, 4, 5):
            assert mostly == ('child (2 processes)' if words else 'other (300)')

    def test_sleep_is_the_last_finding(self, tmp_path):
        text = EVENTS + '''0.5 0 0/0 swapper ksymbol register 0xffffffffc0000000 64 do_nanosleep
0.5 0 100/100 worker fork 100/101
1.0 0 100/100 worker sched:sched_switch stack=0xffffffffc0000010 prev_pid=100 prev_state=1
1.7 0 0/0 swapper sched:sched_wakeup pid=100
2.0 0 0/0 swapper sched:sched_switch next_pid=100
2.0 0 100/100 worker sched:sched_switch prev_pid=100 prev_state=32
'''
        found = of_script(tmp_path, text, 'overview', '-p', 100)
        assert [(r['finding'], r['value']) for r in rows(found, 'findings')][:2] == [
            ('run queue', '30.0 %'), ('sleep', '70.0 %')]
        assert not [r for r in found.get('remarks', []) if r.startswith('no finding')]
        found = of_script(tmp_path, text.replace('1.7 0', '1.95 0'), 'overview', '-p', 100)
        assert not found_in(found)
        assert found['remarks'][0].startswith(
            'no finding: the time passes in sleep, on purpose: worker (pid 100, 1 thread) sleeps '
            'for 95 % of the time')

    def test_failed_processes(self, tmp_path):
        """
        200 fails twice, as two processes, 400 once, 500 crashes. The status of 300 is 0, 600
        handles its signal, and 700 is killed. Later causes of the same end do not count.
        """
        text = EVENTS + '''event syscalls:sys_enter_exit_group error_code:s64
event signal:signal_deliver sig:int sa_handler:u64
''' + ''.join(f'1.0{i} 0 100/100 worker fork {i}00/{i}00\n' for i in range(2, 8)) + '''
1.1 0 200/200 worker syscalls:sys_enter_exit_group error_code=3
1.1 1 200/200 worker syscalls:sys_enter_exit_group error_code=4
1.2 0 200/200 worker exit
1.3 0 300/300 worker syscalls:sys_enter_exit_group error_code=256
1.3 0 300/300 worker exit
1.4 0 400/400 worker syscalls:sys_enter_exit_group error_code=259
1.4 0 400/400 worker exit
1.5 0 500/500 worker signal:signal_deliver sig=11 sa_handler=0
1.5 1 500/500 worker signal:signal_deliver sig=9 sa_handler=0
1.5 0 500/500 worker exit
1.6 0 600/600 worker signal:signal_deliver sig=11 sa_handler=4096
1.6 0 600/600 worker exit
1.7 0 700/700 worker signal:signal_deliver sig=9 sa_handler=0
1.7 0 700/700 worker exit
1.8 0 100/100 worker fork 200/200
1.9 0 200/200 worker syscalls:sys_enter_exit_group error_code=3
1.9 0 200/200 worker exit
2.0 0 9/9 other syscalls:sys_enter_exit_group error_code=1
'''
        found = of_script(tmp_path, text, 'overview', '-p', 100)
        assert failed_in(found) == [4]
        assert ('4 of 7 exited processes failed (exit status 3: 3, SIGSEGV: 1)'
                in found['remarks'])
        found = of_script(tmp_path, text, 'overview', '-p', 300)
        assert failed_in(found) == [0]
        assert not any('exited processes' in r for r in found.get('remarks', []))
        assert not failed_in(of_script(tmp_path, SCRIPT, 'overview', '-p', 100))

    @pytest.mark.parametrize('words, n', [([], 3), (['-i', '1s'], 2)], ids=['whole', 'intervals'])
    def test_process_that_another_thread_continues(self, tmp_path, words, n):
        """
        Another thread than the main one, which the kernel ends, executes a program: that is no exit
        of the process. 200 does so within an interval, 300 after the report of the first one, which
        has its exit. A new process 200 is another.
        """
        text = EVENTS + '''event syscalls:sys_enter_exit_group error_code:s64
event signal:signal_deliver sig:int sa_handler:u64
1.0 0 100/100 worker sched:sched_switch next_pid=100
1.1 0 100/100 worker fork 200/200
1.1 0 200/200 worker fork 200/201
1.2 0 100/100 worker fork 300/300
1.2 0 300/300 worker fork 300/301
1.3 0 200/200 worker exit
1.3 0 200/200 worker exec
1.9 0 300/300 worker exit
2.1 0 300/300 worker exec
3.3 0 300/300 worker syscalls:sys_enter_exit_group error_code=3
3.3 0 300/300 worker exit
3.4 0 200/200 worker exit
3.5 0 100/100 worker fork 200/200
3.6 0 200/200 worker exit
3.7 0 0/0 swapper sched:sched_switch prev_pid=0
'''
        found = of_script(tmp_path, text, 'overview', '-p', 100, *words)
        assert f'1 of {n} exited processes failed (exit status 3: 1)' in found['remarks']

    def test_convoy(self, tmp_path):
        """
        Four threads wait for a lock in 200 of 1,000 ms, under which a fifth one sleeps, and sleep
        otherwise: these waits are 16 % of all time, and all of the time without sleep.
        """
        sleep, lock = 'stack=0xffffffffc0000010', 'stack=0xffffffffc0000050'
        text = EVENTS + '''0.5 0 0/0 swapper ksymbol register 0xffffffffc0000000 64 do_nanosleep
0.5 0 0/0 swapper ksymbol register 0xffffffffc0000040 64 mutex_lock
'''
        times = {100: [('1.0', sleep)], **{
            tid: [('1.0', lock), ('1.2', sleep)] for tid in range(101, 105)}}
        for tid in times:
            text += f'0.5 0 100/100 worker fork 100/{tid}\n' if tid > 100 else ''
        events = [(at, tid, stack) for tid, waits in times.items() for at, stack in waits]
        for at, tid, stack in sorted(events) + [('2.0', tid, sleep) for tid in times]:
            text += (f'{at} 0 0/0 swapper sched:sched_switch next_pid={tid}\n'
                     f'{at} 0 100/{tid} worker sched:sched_switch {stack} prev_pid={tid} '
                     'prev_state=1\n')
        found = of_script(tmp_path, text, 'overview', '-p', 100)
        assert {r['time spent']: r['time'] for r in rows(found, 'time')} == {
            'lock': 800 * MS, 'sleep': 4200 * MS}
        assert [(r['finding'], r['value']) for r in rows(found, 'findings')] == [
            ('lock', '100 %'), ('sleep', '84.0 %')]
        assert rows(found, 'findings')[0]['values']['evidence'] == (
            'worker (pid 100, 5 threads) waits for locks for 80 % of the time; the value is the '
            'share of the time without sleep')

    @pytest.mark.parametrize('change, expected', [
        (lambda text: text,
         {'user code': 'profile -g', 'run queue': 'blame --by process', 'disk': OFFCPU}),
        (lambda text: text.replace('cpu-clock stack=0xa1', 'cpu-clock stack=0xffffffff81000010'),
         {'kernel': 'profile -g'}),
        (lambda text: 'event sched:sched_waking pid:pid_t\n' + text,
         {'user code': 'profile -g', 'run queue': 'blame --by process', 'disk': 'offcpu -D'}),
        (lambda text: re.sub(r' stack(=\S*)?', '', text),
         {'user code': 'profile', 'run queue': 'blame --by process', 'disk': OFFCPU}),
        (lambda text: re.sub('.*swapper sched:sched_switch.*\n', '', text),
         {'user code': 'profile -g', 'run queue': RUNDELAY, 'disk': OFFCPU}),
        (lambda text: text.replace('0xb1', '0xffffffffc0000010,0xb1').replace(
            '1.000 0 0/0', '1.000 0 0/0 swapper ksymbol register 0xffffffffc0000000 64 mutex_lock'
            '\n1.000 0 0/0', 1),
         {'user code': 'profile -g', 'run queue': 'blame --by process', 'lock': LOCKS}),
        (file_lock, {'lock': ('sched:sched_switch,sched:sched_waking', 'offcpu')}),
    ], ids=['wakeups', 'kernel', 'wakings', 'no-stacks', 'single', 'locks', 'file locks'])
    def test_next_command_of_a_recording(self, tmp_path, change, expected):
        """It reads the recording, or makes one that has what the command needs."""
        found = of_script(tmp_path, change(SCRIPT), 'overview', '-p', 100)
        findings = {r['finding']: r['values'] for r in rows(found, 'findings')}
        for name, command in expected.items():
            words = shlex.split(findings[name]['command'])
            if isinstance(command, tuple):
                assert words == ['attar', *RECORD.split(), command[0]]
                assert findings[name]['then'] == f'attar {command[1]} --input perf.data'
                continue
            assert words == ['attar', *command.split(), '--input', str(tmp_path / 'test.script'),
                             '-p', '100']
            assert 'then' not in findings[name]
            done = run(*words[1:])
            assert done.returncode == 0, done.stderr
        remark = ('the recording has no stacks of context switches: the reasons for waits are '
                  'unknown; record with -g')
        assert (remark in found['remarks']) == (' stack' not in change(SCRIPT))


# ---- programs that are slow for one known reason ----

SLOW = {'cpu': 'user code', 'lock': 'lock', 'disk': 'disk', 'faults': 'page faults',
        'crowd': 'run queue', 'convoy': 'lock'}
NEXT = {'cpu': 'profile', 'lock': 'locks', 'disk': 'offcpu -D', 'faults': 'page-faults',
        'crowd': 'blame --by process', 'convoy': 'locks'}


def faults_are_user_time():
    """Some virtual machines handle a part of each page fault before the kernel knows of it."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([workload('faults1000'), '300000'], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime > after.ru_stime - before.ru_stime


@pytest.mark.usefixtures('root')
@pytest.mark.parametrize('reason', SLOW)
def test_first_finding_is_the_reason(tmp_path, reason):
    """The program takes precedence over attar, which may not run before its end."""
    if reason == 'faults' and faults_are_user_time():
        pytest.skip('on this machine, most of the time of page faults is time of user code')
    # so that it need not be read from the disk below
    subprocess.run([workload('slow'), 'cpu', '1'], check=True)
    # a file of a disk: /tmp may be memory
    with open(ATTAR.parent / 'slow.tmp', 'w') as file:
        found = report_until(
            lambda found: found_in(found)[:1] == [SLOW[reason]],
            'overview', *LARGE, '--', workload('slow'), reason, 1500, file.name)
    first = rows(found, 'findings')[0]
    assert first['finding'] == SLOW[reason], found
    assert first['values']['value'] >= first['values']['limit'] == 20
    assert first['values']['evidence'].startswith('slow (pid '), found
    assert first['values']['command'].startswith(f'attar {NEXT[reason]}')
    assert first['values']['command'].endswith(
        f' -- {workload("slow")} {reason} 1500 {file.name}')
    assert sum(r['share'] or 0 for r in rows(found, 'time')) == pytest.approx(100)


@pytest.mark.usefixtures('root')
def test_sleep_is_no_finding():
    """A remark names the function and the system call."""
    found = report_until(lambda found: not set(found_in(found)) - {'unreliable'},
                         'overview', *LARGE, '--', workload('slow'), 'sleep', 1500)
    assert not set(found_in(found)) - {'unreliable'}, found
    remark, = (r for r in found['remarks'] if r.startswith('no finding: '))
    assert re.fullmatch(
        r'no finding: the time passes in sleep, on purpose: slow \(pid \d+, \d+ threads?\) '
        r'sleeps .*, \d+ % of it in \w+ \(.*slow\); mostly in the system call clock_nanosleep',
        remark), remark


@pytest.mark.usefixtures('root')
def test_time_with_few_samples():
    """One sample a second of a program that computes for 300 ms."""
    few = 'CPU, too few samples'
    found = report_until(
        lambda found: found_in(found)[:1] == [few],
        'overview', '-F', 1, '--', workload('slow'), 'cpu', 300)
    names = [r['time spent'] for r in rows(found, 'time')]
    assert few in names and 'user code' not in names and 'kernel' not in names
    first = rows(found, 'findings')[0]
    assert first['finding'] == few
    assert first['values']['command'] == (
        f'attar profile -g -F 9999 -- {workload("slow")} cpu 300')


@pytest.mark.usefixtures('root')
@pytest.mark.parametrize('words', [[], ['--no-errors']], ids=['all', 'no-errors'])
def test_failed_processes(words):
    """Of nine, five fail; threads that end with their process do not count, nor does SIGTERM."""
    script = f'''ulimit -c 0
for i in 1 2 3; do sh -c 'exit 3'; done; sh -c 'exit 4'; sh -c 'kill -SEGV $$'; sh -c 'kill $$'
sh -c 'exit 0'; {workload("threads2")} 10; exit 0'''
    found = report('overview', *words, '--', 'sh', '-c', script)
    remarks = [r for r in found.get('remarks', []) if 'exited processes' in r]
    assert failed_in(found) == ([] if words else [5])
    assert len(remarks) == (not words)
    assert not remarks or remarks[0].startswith(
        '5 of 9 exited processes failed (exit status 3: 3, ')
    assert not remarks or 'exit status 4: 1' in remarks[0] and 'SIGSEGV: 1' in remarks[0]


@contextlib.contextmanager
def control_group(controller, name, value, name_v2, value_v2):
    """A control group with a limit: the path of its list of tasks."""
    root = pathlib.Path('/sys/fs/cgroup')
    for parent, tasks, limit, text in [(root / controller, 'tasks', name, value),
                                       (root, 'cgroup.procs', name_v2, value_v2)]:
        folder = parent / f'attar-{os.getpid()}'
        with contextlib.suppress(OSError):
            folder.mkdir()
        try:
            (folder / limit).write_text(text)
        except OSError:
            with contextlib.suppress(OSError):
                folder.rmdir()
            continue
        try:
            yield folder / tasks
        finally:
            folder.rmdir()
        return
    pytest.skip(f'no control groups with the controller {controller}')


@pytest.fixture
def small_group():
    with control_group('memory', 'memory.limit_in_bytes', str(16 << 20),
                       'memory.max', str(16 << 20)) as tasks:
        yield tasks


@pytest.fixture
def slow_group():
    with control_group('cpu', 'cpu.cfs_quota_us', '5000', 'cpu.max', '5000 100000') as tasks:
        yield tasks


@pytest.mark.usefixtures('root')
def test_limit_of_a_control_group(slow_group):
    """The program waits although CPUs may be idle. What was before attar does not count."""
    busy = 'while True: pass'
    once = ('import time\nend = time.process_time() + 0.05\n'
            'while time.process_time() < end: pass\nprint(flush=True)\n'
            'while True: time.sleep(0.01)')
    found = []
    for group, program in (('/dev/null', busy), (slow_group, once), (slow_group, busy)):
        words = ['/usr/bin/python3', '-I', '-S', '-c', program]
        with subprocess.Popen(['sh', '-c', f'echo $$ >{group}; exec "$@"', 'sh', *words],
                              stdout=subprocess.PIPE) as process:
            if program == once:
                process.stdout.readline()
            try:
                found += [report('overview', '-p', process.pid, '-d', '2s')]
                if group != '/dev/null' and program == busy:
                    command = rows(found[-1], 'findings')[0]['values']['command']
                    answer = run(*command.split()[1:], '-d', '1s')
            finally:
                process.kill()
    assert [('CPU limit' in found_in(f)) for f in found] == [False, False, True], found
    first = rows(found[2], 'findings')[0]
    stopped, periods = re.match(
        f'control group /{slow_group.parent.name} may use 0.05 CPUs, and was stopped in '
        r'(\d+) of (\d+) periods, because it had used them', first['values']['evidence']).groups()
    assert 5 <= int(stopped) <= int(periods) <= 25
    assert command == f'attar profile -g -p {process.pid}' and 'python3' in answer.stdout, answer


@pytest.mark.usefixtures('root')
def test_processes_that_the_kernel_kills(small_group):
    program = 'parts = []\nwhile True: parts.append(bytearray(b"x") * (1 << 20))'
    done = run('overview', '--format', 'json', '-q', '--', 'sh', '-c',
               f'echo $$ >{small_group}; exec "$@"', 'sh', '/usr/bin/python3', '-I', '-S', '-c',
               program)
    assert done.returncode == 128 + signal.SIGKILL, done.stderr
    finding = rows(json.loads(done.stdout), 'findings')[0]
    assert (finding['finding'], finding['values']['value']) == ('OOM kill', 1)
    assert 'OOM kill' not in found_in(report('overview', '--', 'true'))


@pytest.mark.usefixtures('root')
def test_a_process_that_is_killed_elsewhere(small_group):
    """It is none of the watched ones, one of which would have to be missing."""
    program = 'parts = []\nwhile True: parts.append(bytearray(b"x") * (1 << 20))'
    with subprocess.Popen(['sleep', '100']) as other:
        with subprocess.Popen([ATTAR, 'overview', '--format', 'json', '-q', '-p', str(other.pid),
                               '-d', '5s'], stdout=subprocess.PIPE, text=True) as attar:
            wait_until(lambda: is_waiting(attar), 'attar to watch')
            killed = subprocess.run(['sh', '-c', f'echo $$ >{small_group}; exec "$@"', 'sh',
                                     '/usr/bin/python3', '-I', '-S', '-c', program], check=False)
            found = json.loads(attar.communicate()[0])
        other.kill()
    assert killed.returncode == -signal.SIGKILL
    assert 'OOM kill' not in found_in(found)


@pytest.mark.usefixtures('root')
def test_a_call_whose_function_jumps_to_another():
    """The kernel's function of read(2) ends with a jump to ksys_read(), and is in no stack."""
    program = 'f = open("/dev/zero", "rb", 0)\nfor _ in range(50000): f.read(1 << 18)'
    found = report('overview', '-F', 997, '--', '/usr/bin/python3', '-I', '-S', '-c', program)
    call, = (r for r in rows(found, 'system calls') if r['syscall'] == 'read')
    assert call['on CPU'] > 20 * MS


@pytest.mark.usefixtures('root')
@pytest.mark.parametrize('number, is_finding', [(errno.EINVAL, False), (errno.ENOTDIR, True)])
def test_calls_of_realpath_are_no_failure(number, is_finding):
    """It reads each part of a path as a link; most are none."""
    path = '/' if number == errno.EINVAL else '/etc/passwd/name'
    program = f'''
import os, time
end = time.monotonic() + 1
while time.monotonic() < end:
    try:
        os.readlink("{path}")
    except OSError:
        pass'''
    found = report('overview', '--', '/usr/bin/python3', '-I', '-S', '-c', program)
    assert ('failing calls' in found_in(found)) == is_finding
    failing, = (r['count'] for r in rows(found, 'counts') if r['what'] == 'failing calls')
    assert (failing > 5000) == is_finding
    assert {r['syscall']: r['errors'] for r in rows(found, 'system calls')}['readlink'] > 5000


INTERRUPTED = '''
import os, signal, time
signal.signal(signal.SIGALRM, lambda *_: None)
empty = os.eventfd(0, os.EFD_NONBLOCK)
for _ in range(10):
    try: os.read(empty, 8)
    except BlockingIOError: pass
signal.setitimer(signal.ITIMER_REAL, .001, .001)
time.sleep(.2)
signal.setitimer(signal.ITIMER_REAL, 0)
'''


@pytest.mark.usefixtures('root')
def test_the_end_of_a_signal_handler_is_not_counted():
    """Ten calls fail with EAGAIN, and many signals interrupt a sleep: each handler ends once."""
    found = report('overview', '--', '/usr/bin/python3', '-I', '-S', '-c', INTERRUPTED)
    calls = {r['syscall']: (r['errors'], r['mostly']) for r in rows(found, 'system calls')}
    assert calls['read'] == (10, 'EAGAIN')
    assert 'none' not in calls and 'EINTR' not in dict(calls.values()).values()


@pytest.mark.usefixtures('root')
def test_page_faults_are_exact():
    """Starts of a program differ by few faults, whose addresses are random."""
    def faults(n, *words):
        found = report('overview', *words, '--', workload('faults1000'), n)
        return next(r['count'] for r in rows(found, 'counts') if r['what'] == 'page faults')

    assert 1049 - 20 <= faults(1050) - faults(1) <= 1049 + 20
    assert faults(1050, '-a') > 1050


@pytest.mark.usefixtures('root')
@pytest.mark.parametrize('words', [[], ['-a']], ids=['command', 'system'])
def test_time_before_the_exec(words):
    """execvp(3) fails in 2,000 directories of PATH before it finds the program."""
    path = ':'.join([*(f'/nonexistent/{i}' for i in range(2000)), str(BUILD / 'tests/workloads')])
    found = report('overview', *words, '--', 'failing', 10, env={**os.environ, 'PATH': path})
    calls = {r['syscall']: r['errors'] for r in rows(found, 'system calls')}
    assert calls.get('execve', 0) < 2000
    if not words: # otherwise other programs run, too
        assert not calls.get('execve') and calls['read'] == 10 # it may take time, but succeeds
        failing, = (r['count'] for r in rows(found, 'counts') if r['what'] == 'failing calls')
        assert 10 <= failing < 2000
        assert {r['comm'] for r in rows(found, 'processes')} <= {'failing'}


THREADS = """
import os, threading
threading.stack_size(65536)
event = threading.Event()
for _ in range(1030): threading.Thread(target=event.wait, daemon=True).start()
print("ready", flush=True)
while True:
    try: os.rmdir("/nonexistent")
    except OSError: pass"""


@pytest.mark.usefixtures('root')
def test_processes_with_many_threads():
    """These are not counted: the number is an estimate, and all calls add up to it."""
    with subprocess.Popen(['/usr/bin/python3', '-I', '-S', '-c', THREADS],
                          stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout.readline() == b'ready\n'
            found = report('overview', '-p', process.pid, '-d', 2)
        finally:
            process.kill()
    assert 'is not counted in 1031 threads' in found['stderr']
    assert any(r.startswith('page faults were not counted, but one') for r in found['remarks'])
    failing, = (r['count'] for r in rows(found, 'counts') if r['what'] == 'failing calls')
    assert sum(r['errors'] for r in rows(found, 'system calls')
               if r['mostly'] == 'ENOENT') == failing > 0


@pytest.mark.usefixtures('root')
def test_a_running_process(tmp_path):
    """A process that already waits when attar starts, and continues to wait."""
    with subprocess.Popen(['/usr/bin/python3', '-c', '''
import sys, threading, time
def nap():
    while True:
        time.sleep(0.01)
threading.Thread(target=nap, daemon=True).start()
print("ready", flush=True)
sys.stdin.read()'''], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as sleeper:
        try:
            assert sleeper.stdout.readline() == b'ready\n'
            for _ in range(5): # beside a thread that waits for a CPU, the other one is idle
                found = report('overview', '-p', sleeper.pid, '-d', 2, '-m', 4096)
                process, = rows(found, 'processes')
                if process['run queue'] < found['interval_ns'] / 10:
                    break
        finally:
            sleeper.kill()
    first = rows(found, 'findings')[0]
    assert first['finding'] in ('sleep', 'other programs')
    assert process['pid'] == sleeper.pid and process['threads'] == 2
    # both threads waited for most of the two seconds, each for its reason
    assert process['sleep'] > 10**9 and process['other programs'] > 10**9, found
    assert first['values']['command'] == f'attar offcpu -p {sleeper.pid}'


@pytest.mark.usefixtures('root')
def test_page_faults_wait_in_the_function_that_faults():
    """Not in the first one of another file, which is the start of the program."""
    with tempfile.NamedTemporaryFile(dir='/var/tmp') as file:
        file.write(os.urandom(2000 * 4096))
        file.flush()
        found = report('overview', '--', workload('majorfaults'), file.name)
    time_of = {r['time spent']: r for r in rows(found, 'time')}
    if 'disk' not in time_of or time_of['disk']['time'] < 20 * 10**6:
        pytest.skip('the disk of /var/tmp answers at once')
    assert time_of['disk']['in'] == 'touch'


@pytest.mark.usefixtures('root')
def test_priority_is_not_that_of_the_command():
    """attar raises its own, and a command does not inherit it."""
    ended = run('overview', '--', 'nice')
    assert ended.returncode == 0 and ended.stdout.splitlines()[0] == str(os.nice(0))


@pytest.mark.usefixtures('root')
def test_page_shows_findings_and_a_flame_graph(tmp_path):
    page = tmp_path / 'slow.html'
    ended = run('overview', '-o', page, '--', workload('slow'), 'lock', 300)
    assert ended.returncode == 0, ended.stderr
    text = page.read_text()
    assert '"name":"findings"' in text
    assert 'next (runs the command again): attar locks' in text
    assert '"trees":[{"name":"stacks"' in text


@pytest.mark.usefixtures('root')
def test_ten_seconds_by_default():
    found = report('overview')
    assert 10 * 10**9 <= found['interval_ns'] < 25 * 10**9
    assert all(section(found, name) for name in (
        'findings', 'time', 'processes', 'on CPU', 'latency', 'counts', 'system calls'))
    assert section(report('overview', '-d', '0.2'), 'time')


# ---- a separate system ----

@pytest.mark.guest('x86')
def test_system_with_one_reason_and_without(tmp_path):
    """
    In a guest that runs nothing else: an idle system has no finding, others the right one.
    Without CAP_SYS_NICE, because kernel threads would wait for a program with higher priority.
    """
    script = f'''
sleep 2
{ATTAR} overview -q -d 3s -o {tmp_path}/idle.json
for reason in cpu lock faults crowd convoy; do
    setpriv --bounding-set=-sys_nice {workload("slow")} $reason 60000 & slow=$!
    sleep 1
    {ATTAR} overview -q -d 3s -o {tmp_path}/$reason.json
    kill $slow; wait $slow
done
true'''
    done = guest.run('x86', 'sh', '-c', script)
    assert done.returncode == 0, done.stdout + done.stderr
    assert found_in(json.loads((tmp_path / 'idle.json').read_text())) == []
    for reason in ('cpu', 'lock', 'faults', 'crowd', 'convoy'):
        found = json.loads((tmp_path / f'{reason}.json').read_text())
        assert found_in(found)[:1] == [SLOW[reason]], reason


@pytest.mark.xdist_group('overview_scripts')
@pytest.mark.parametrize('state', [4, 8])
def test_stopped_thread(tmp_path, state):
    """For 250 ms of a second, wherever its code was stopped."""
    text = SCRIPT.replace('prev_state=2', f'prev_state={state}').replace('1.400', '1.450')
    found = of_script(tmp_path, text, 'overview', '-p', 100)
    finding, = (r['values'] for r in rows(found, 'findings') if r['finding'] == 'other waits')
    assert finding['evidence'] == ('worker (pid 100, 1 thread) is blocked for 25 % of the time, '
                                   '100 % of it stopped by a signal or a debugger')
    where = next(r for r in rows(found, 'time') if r['time spent'] == 'other waits')
    assert where['in'] == '[stopped]' and where['time'] == 250 * MS
