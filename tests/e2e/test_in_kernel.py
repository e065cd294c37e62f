# SPDX-License-Identifier: MIT
"""--in-kernel: sums of programs in the kernel, beside the events of the same workload."""
import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

import guest
from command import ATTAR, as_nobody, is_waiting, run, wait_until, workload
from scripts import lacks_events, report, rows, section

WOKEN = 200
READ = {'x86_64': '0 0x0 ', 'aarch64': '63 0x0 '}[os.uname().machine]  # of standard input
SAID = 'the events were counted in the kernel'


@pytest.fixture(autouse=True)
def can_count(root):
    """The build has programs, and the system accepts them."""
    done = run('runqlat', '-d', '10ms', '--in-kernel', 'yes')
    if done.returncode == 4:
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stderr


def is_in_kernel(found):
    return any(SAID in remark for remark in found.get('remarks', []))


def watch(spawn, command, *runs):
    """
    Return the reports of each run of attar, which all watch the same run of a command, from before
    its begin until nothing of it runs any more.
    """
    held = spawn('sh', '-c', 'read go; "$@"; echo done; read end', 'sh', *command,
                 stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    watching = [spawn(ATTAR, *args, '--format', 'json', '-p', held.pid, '-m', 2048,
                      stdout=subprocess.PIPE) for args in runs]
    for process in watching:
        wait_until(lambda process=process: is_waiting(process), 'attar waits')
    held.stdin.write(b'\n')
    held.stdin.flush()
    assert held.stdout.readline() == b'done\n'
    wait_until(lambda: Path(f'/proc/{held.pid}/syscall').read_text().startswith(READ),
               'the shell waits')
    for process in watching:
        process.send_signal(signal.SIGINT)
    return [[json.loads(line) for line in process.communicate(timeout=30)[0].splitlines()]
            for process in watching]


def both(spawn, profiler, *command):
    """Return the reports of the same run of a command: from the kernel's sums, and from events."""
    for _ in range(8):
        (sums,), (events,) = watch(spawn, command, (profiler, '--in-kernel', 'yes'),
                                   (profiler, '--in-kernel', 'no'))
        assert is_in_kernel(sums) and not is_in_kernel(events)
        said = str(events.get('remarks'))
        if not lacks_events(sums) and not lacks_events(events) and 'did not deliver' not in said:
            break
    return sums, events


def calls(found):
    return {(row['start'], row['end']): row['calls'] for row in rows(found, 'pairs')}


@pytest.mark.parametrize('profiler', ['runqlat', 'cpudist', 'rundelay'])
def test_same_answer(busy_cpus, spawn, profiler):
    """Counts are equal; each time is read twice, at most some microseconds apart."""
    sums, events = both(spawn, profiler, workload('wakeups23'), WOKEN)
    of_sums, of_events = rows(sums, 'pairs'), rows(events, 'pairs')
    assert calls(sums) == calls(events)
    assert sum(calls(sums).values()) >= WOKEN
    assert sums['notes']['lost'] == 0
    for row in of_sums:
        other = next(o for o in of_events if o['start'] == row['start'])
        # the sum differs by the time between two clock reads of each end
        assert abs(row['total'] - other['total']) < 20_000 * row['calls'] + other['total'] / 10
        assert row['min'] <= row['p50'] <= row['p95'] <= row['max'] <= row['total']


def test_woken_exactly(spawn):
    """The thread is woken WOKEN times: those times, and the few of the start and the end."""
    sums, _ = both(spawn, 'runqlat', workload('wakeups23'), WOKEN)
    woken = calls(sums)[('sched:sched_wakeup', 'sched:sched_switch')]
    assert WOKEN <= woken
    histogram = section(sums, 'times')
    assert histogram['summary']['count'] == sum(calls(sums).values())
    assert sum(row[2] for row in histogram['rows']) == histogram['summary']['count']


@pytest.mark.parametrize('profiler', ['syscount', 'syscalls'])
def test_numbers_of_no_system_call(profiler):
    """More than 32 of them are in no row, and not lost."""
    calls = 'import ctypes; f = ctypes.CDLL(None).syscall; [f(600 + n % 35) for n in range(350)]'
    found = report(profiler, '--in-kernel', 'yes', '--', '/usr/bin/python3', '-c', calls)
    assert found['notes']['lost'] == 0
    assert ("30 calls of a number that no system call has are not shown: '--in-kernel no' shows "
            'them') in found['remarks']


def test_system_calls(spawn):
    """Numbers and errors of each call are equal; the times in the kernel are a little shorter."""
    command = ['sh', '-c', 'for i in $(seq 30); do /bin/ls / /none >/dev/null 2>&1; done']
    (sums,), (events,), (few,), (all,) = watch(
        spawn, command, ('syscalls', '--in-kernel', 'yes'), ('syscalls', '--in-kernel', 'no'),
        ('syscount', '--in-kernel', 'yes'), ('syscount', '--in-kernel', 'no'))
    assert is_in_kernel(sums) and is_in_kernel(few)
    of_sums, of_events = ({row['syscall']: row for row in rows(found, 'system calls')}
                          for found in (sums, events))
    assert of_sums.keys() == of_events.keys()
    for call, row in of_sums.items():
        assert (row['calls'], row['errors']) == (of_events[call]['calls'],
                                                 of_events[call]['errors'])
        assert row['min'] <= row['p50'] <= row['p99'] <= row['max'] <= row['total']
        # in the kernel the clock is read after the event of the other run, or before it
        assert abs(row['min'] - of_events[call]['min']) < 100_000
    assert of_sums['execve(59)' if os.uname().machine == 'x86_64' else 'execve(221)']['calls'] == 32
    counts = [{row['syscall']: row['count'] for row in rows(found, 'syscount')}
              for found in (few, all)]
    assert counts[0] == counts[1]
    assert counts[0]['execve'] == 32


def test_command_begins_with_its_exec():
    """What attar does between the fork and the exec is not part of the command."""
    both = [{row['syscall']: (row['calls'], row['errors']) for row in rows(
        report('syscalls', '--in-kernel', how, '--', '/bin/true'), 'system calls')}
        for how in ('yes', 'no')]
    assert both[0] == both[1]
    assert not any(call.startswith(('execve(', 'poll(')) for call in both[0])


def test_known_number_of_calls():
    """The workload makes a known number of each system call."""
    counts = {row['syscall']: row['count'] for row in rows(
        report('syscount', '--in-kernel', 'yes', '--', 'dd', 'if=/dev/zero', 'of=/dev/null',
               'bs=1', 'count=5000'), 'syscount')}
    assert counts['write'] >= 5000 and counts['write'] < 5010


CHILDREN = 100


def test_intervals_sum_up(spawn):
    """No interval loses or doubles a value, and threads that exit keep their times."""
    command = ['sh', '-c', f'for i in $(seq {CHILDREN}); do /bin/true; done']
    parts, (whole,) = watch(spawn, command, ('cpudist', '--in-kernel', 'yes', '-i', '5ms'),
                            ('cpudist', '--in-kernel', 'yes'))
    parts = [row for found in parts for row in rows(found, 'pairs')]
    (whole,) = rows(whole, 'pairs')
    assert len(parts) > 3
    assert sum(row['calls'] for row in parts) == whole['calls'] >= CHILDREN
    # both programs read the clock themselves
    assert abs(sum(row['total'] for row in parts) - whole['total']) < 20_000 * whole['calls']
    # the extremes of each interval are its own
    assert len({row['max'] for row in parts}) > 3
    assert all(row['min'] <= row['p50'] <= row['max'] <= row['total'] for row in parts)


def test_extremes_of_each_interval(spawn):
    """Of one value, both are its time; of two, they are both times."""
    (*parts,), = watch(spawn, ['/usr/bin/python3', '-c',
                               'import time\nfor i in range(60): time.sleep(0.003 + i % 7 / 1e3)'],
                       ('cpudist', '--in-kernel', 'yes', '-i', '8ms'))
    parts = [row for found in parts for row in rows(found, 'pairs')]
    one, two = ([row for row in parts if row['calls'] == n] for n in (1, 2))
    assert len(one) > 3 and len(two) > 3
    assert all(row['min'] == row['max'] == row['total'] for row in one)
    assert all(row['min'] + row['max'] == row['total'] for row in two)


def test_softirqs_by_kind(busy_cpus):
    """/proc/softirqs counts the same."""
    def raised():
        lines = Path('/proc/softirqs').read_text().splitlines()[1:]
        return {line.split()[0].rstrip(':').lower(): sum(map(int, line.split()[1:]))
                for line in lines}

    before = raised()
    found = report('softirqs', '--in-kernel', 'yes', '-d', '1s')
    after = raised()
    assert is_in_kernel(found)
    seen = {row['comm']: row['calls'] for row in rows(found, 'pairs')}
    assert seen.get('timer') and seen.keys() <= before.keys()
    for kind, count in seen.items():
        assert 0 < count <= after[kind] - before[kind]
    assert sum(seen.values()) > sum(after[k] - before[k] for k in before) / 4


WRITES = ['sh', '-c', 'for n in 1 7 300 5000 70000; do '
          'dd if=/dev/zero of=/dev/null bs=$n count=200 status=none; done']
# Failing calls: 5 bad descriptors; and 3 sizes whose total is above 2^64.
FAILING = """
import ctypes, os
call = ctypes.CDLL(None).syscall
for i in range(5):
    call(3 if os.uname().machine == 'x86_64' else 57, -1)
for i in range(3):
    call(1 if os.uname().machine == 'x86_64' else 64, -1, None, ctypes.c_ulong(2**63 + 5))
"""


def same(spawn, command, *words):
    """Return the reports by both ways of a run, whose tables, remarks and histograms are equal."""
    (sums,), (events,) = watch(spawn, command, (*words, '--in-kernel', 'yes'),
                               (*words, '--in-kernel', 'no'))
    assert is_in_kernel(sums) and not is_in_kernel(events)
    assert sums['notes']['lost'] == events['notes']['lost'] == 0
    assert sums['sections'] == events['sections']
    assert [r for r in sums['remarks'] if SAID not in r] == events.get('remarks', [])
    return sums


def test_numbers_of_an_event(spawn):
    """Sizes of writes are exact: all of the histogram is equal."""
    found = same(spawn, WRITES, 'num-dist', '-e', 'syscalls:sys_enter_write//num=count/',
                 '--than', '299')
    (row,) = rows(found, 'numbers')
    assert 1000 <= row['count'] < 1010 and row['than'] == 600
    assert row['min'] == 1 and row['max'] == 70000
    assert 200 * 75308 <= row['total'] < 200 * 75308 + 1000


def test_negative_numbers(spawn):
    found = same(spawn, ['/usr/bin/python3', '-c', FAILING], 'num-dist', '-e',
                 'syscalls:sys_exit_close//num=ret/')
    assert any(r == '5 negative numbers are not counted' for r in found['remarks'])


def test_totals_above_64_bits(spawn):
    found = same(spawn, ['/usr/bin/python3', '-c', FAILING], 'num-dist', '-e',
                 'syscalls:sys_enter_write//num=count/')
    assert any('above 2^64 - 1' in r for r in found['remarks'])
    assert rows(found, 'numbers')[0]['max'] == 2**63 + 5


def test_totals_above_64_bits_in_intervals(spawn):
    """The carry of a total is of its interval, and of no other one."""
    script = FAILING + """
import time
for i in range(6):
    os.write(os.open('/dev/null', os.O_WRONLY), b'xyz')
    time.sleep(0.02)
"""
    parts, = watch(spawn, ['/usr/bin/python3', '-c', script],
                   ('num-dist', '-e', 'syscalls:sys_enter_write//num=count/', '--in-kernel', 'yes',
                    '-i', '5ms'))
    totals = [row['total'] for found in parts for row in rows(found, 'numbers')]
    assert totals.count(2**64 - 1) == 1 and len(totals) > 3
    assert all(total < 100 for total in totals if total != 2**64 - 1)


@pytest.mark.parametrize('event, key', [
    ('syscalls:sys_enter_write', 'count'), ('syscalls:sys_exit_close', 'ret')])
def test_keys_of_an_event(spawn, event, key):
    """Each value has its count; numbers of 8 bytes, of which results are signed."""
    command = WRITES if key == 'count' else ['/usr/bin/python3', '-c', FAILING]
    found = {row[key]: row[event] for row in rows(
        same(spawn, command, 'top', '-e', f'{event}//key={key}/'), 'top')}
    if key == 'count':
        assert {n: found[n] for n in (7, 300, 5000, 70000)} == {
            7: 200, 300: 200, 5000: 200, 70000: 200}
    else:
        assert found[-9] == 5 and found[0] > 5


def test_keys_of_small_fields(spawn):
    """Of 4 bytes and of 2 bytes."""
    connect = """
import socket
listening = socket.create_server(('127.0.0.1', 0))
for i in range(20):
    socket.create_connection(listening.getsockname()).close()
"""
    for key, value in ('family', 2), ('oldstate', 7):
        found = same(spawn, ['/usr/bin/python3', '-c', connect], 'top', '-e',
                     f'sock:inet_sock_set_state//key={key}/')
        table = {row[key]: row['sock:inet_sock_set_state'] for row in rows(found, 'top')}
        assert table[value] >= 20


def test_keys_in_intervals(spawn):
    """No interval loses or doubles an event."""
    parts, (whole,) = watch(
        spawn, WRITES, ('top', '-e', 'syscalls:sys_enter_write//key=count/', '--in-kernel', 'yes',
                        '-i', '5ms'),
        ('top', '-e', 'syscalls:sys_enter_write//key=count/', '--in-kernel', 'yes'))
    added = {}
    for row in (row for found in parts for row in rows(found, 'top')):
        added[row['count']] = added.get(row['count'], 0) + row['syscalls:sys_enter_write']
    assert len(parts) > 3
    assert added == {row['count']: row['syscalls:sys_enter_write'] for row in rows(whole, 'top')}


def test_more_keys_than_there_is_room_for(spawn):
    """What finds no room is counted as lost."""
    count = 70_000
    script = f"""
import os
fd, view = os.open('/dev/null', os.O_WRONLY), memoryview(bytes({count}))
for i in range({count}):
    os.write(fd, view[:i])
"""
    (found,), = watch(spawn, ['/usr/bin/python3', '-c', script],
                      ('top', '-e', 'syscalls:sys_enter_write//key=count/', '--in-kernel', 'yes'))
    shown = sum(row['syscalls:sys_enter_write'] for row in rows(found, 'top'))
    lost = found['notes']['lost']
    assert count <= shown + lost < count + 10
    assert lost >= count - 65536


@pytest.mark.parametrize('words, is_counted', [
    (['num-dist', '-e', 'sched:sched_switch//num=next_prio/'], True),
    (['num-dist', '-e', 'sched:sched_switch//num=next_prio+1/'], False),
    (['num-dist', '-e', 'sched:sched_switch//num=common_pid/'], False),
    (['num-dist', '-e', 'sched:sched_switch/next_pid>0/num=next_prio/'], False),
    (['num-dist', '-e', 'sched:sched_switch//num=next_prio/,sched:sched_wakeup//num=pid/'], False),
    (['num-dist', '-e', 'sched:sched_switch//num=next_prio/stack/'], False),
    (['top', '-e', 'sched:sched_switch//key=next_prio/'], True),
    (['top', '-e', 'sched:sched_switch//key=next_prio/alias=n/'], True),
    (['top', '-e', 'sched:sched_switch//key=next_comm/'], False),
    (['top', '-e', 'sched:sched_switch//key=next_prio/comm=next_comm/'], False),
    (['top', '-e', 'sched:sched_switch//key=next_prio/top-by=next_pid/'], False),
    (['top', '-e', 'sched:sched_switch'], False)])
def test_which_events_are_counted(words, is_counted):
    assert is_in_kernel(report(*words, '-d', '10ms')) == is_counted


@pytest.mark.parametrize('option', [['--perins'], ['--heatmap', 'x'], ['--call-graph']])
def test_single_numbers_are_refused_with_the_reason(option, tmp_path):
    done = run('num-dist', '-e', 'sched:sched_switch//num=next_prio/', '-d', '10ms',
               '--in-kernel', 'yes', *option, cwd=tmp_path)
    assert done.returncode == 2 and f'--in-kernel yes: {option[0]} needs each event' in done.stderr


@pytest.mark.parametrize('option', [
    ['--than', '1ms'], ['--only-than', '1ms'], ['--detail'], ['--perins'], ['--cgroups', '/'],
    ['-N', '10'], ['--by', 'user'], ['--filter', 'sh']])
def test_single_events_are_refused_with_the_reason(option):
    done = run('runqlat', '-d', '10ms', '--in-kernel', 'yes', *option)
    assert done.returncode == 2
    assert f'--in-kernel yes: {option[0]}'.replace('-N', '--count') in done.stderr
    found = report('runqlat', '-d', '10ms', *option) if option[0] != '--detail' else None
    assert not found or not is_in_kernel(found)


def test_others_are_refused():
    done = run('trace', '-e', 'sched:sched_switch', '-d', '10ms', '--in-kernel', 'yes')
    assert done.returncode == 4 and 'cannot be counted in the kernel' in done.stderr
    done = run('runqlat', '-d', '10ms', '--in-kernel', 'perhaps')
    assert done.returncode == 2 and 'auto, yes or no' in done.stderr


def test_auto_and_no():
    assert is_in_kernel(report('runqlat', '-d', '10ms'))
    assert not is_in_kernel(report('runqlat', '-d', '10ms', '--in-kernel', 'no'))
    assert not is_in_kernel(report(
        'multi-trace', '--tasks', '-d', '10ms', '-e', 'sched:sched_wakeup/prio<100/',
        '-e', 'sched:sched_switch'))


@pytest.mark.parametrize('comm, is_counted', [
    ('vec==1?"timer":"other vec"', True), ('vec', True), ('common_pid', False),
    ('vec+_cpu', False), ('syscall_name(vec)', False)])
def test_names_of_the_number_only(comm, is_counted):
    """What is named by other fields of the event needs the event."""
    found = report('multi-trace', '--perins', '-d', '10ms',
                   '-e', f'irq:softirq_entry//key=_cpu/comm={comm}/',
                   '-e', 'irq:softirq_exit//key=_cpu/')
    assert is_in_kernel(found) == is_counted
    if comm == 'vec':
        assert {row['comm'] for row in rows(found, 'pairs')} <= set('0123456789')


def test_without_rights():
    done = as_nobody(ATTAR, 'runqlat', '-d', '10ms', '--in-kernel', 'yes')
    assert done.returncode != 0
    assert 'CAP_BPF' in done.stderr or 'permi' in done.stderr.lower()


def programs():
    """Return the ids of the BPF programs that are attached by links."""
    infos = []
    for path in Path('/proc').glob('[0-9]*/fdinfo/*'):
        try:
            text = path.read_text()
        except OSError:
            continue
        infos += [line.split()[1] for line in text.splitlines() if line.startswith('prog_id')]
    return set(infos)


def test_nothing_is_left_after_sigkill(spawn):
    process = spawn(ATTAR, 'runqlat', '-q', '--in-kernel', 'yes')
    wait_until(lambda: is_waiting(process), 'attar waits')
    own = {line.split()[1] for path in Path(f'/proc/{process.pid}/fdinfo').iterdir()
           for line in path.read_text().splitlines() if line.startswith('prog_id')}
    assert own
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    wait_until(lambda: not own & programs(), 'the kernel has removed the programs')


def test_only_selected_cpus():
    """Times of the other CPU are not counted; taskset itself may run there."""
    command = ['--', 'taskset', '-c', '1', 'sh', '-c', 'for i in $(seq 50); do /bin/true; done']
    of = [sum(row['calls'] for row in rows(
        report('cpudist', '--in-kernel', 'yes', '-C', cpu, *command), 'pairs')) for cpu in '01']
    assert of[0] < 25 and of[1] >= 50


@pytest.mark.parametrize('name', [
    pytest.param(name, marks=pytest.mark.guest(name)) for name in ('debian5', 'debian', 'debian7')])
def test_other_kernels(guests, name):
    """5.10, before tracepoints have the state of the task; 6.1; the newest."""
    done = guest.run(name, ATTAR, 'runqlat', '--in-kernel', 'yes', '--format', 'json', '--',
                     workload('wakeups23'), '50')
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert is_in_kernel(found) and not found['notes']['lost']
    assert calls(found)[('sched:sched_wakeup', 'sched:sched_switch')] >= 50
    done = guest.run(name, ATTAR, 'syscalls', '--in-kernel', 'yes', '--format', 'json', '--',
                     workload('flood'), '1000')
    assert done.returncode == 0, done.stderr
    found = {row['syscall']: row['calls']
             for row in rows(json.loads(done.stdout.splitlines()[-1]), 'system calls')}
    assert found['getppid(110)'] == 1000


@pytest.mark.guest('debian5')
def test_limit_on_locked_memory(guests):
    """5.10 charges maps to it: attar raises it for itself, not for the command."""
    done = guest.run('debian5', ATTAR, 'runqlat', '-q', '--in-kernel', 'yes', '--', 'sh', '-c',
                     'ulimit -l')
    assert (done.returncode, done.stdout) == (0, '64\n'), done.stderr


# 30 calls of a number that no system call has, 3 of -1 and 40 different ones.
UNKNOWN_CALLS = r'''
#include <unistd.h>
int main(void)
{
    for (int i = 0; i < 30; i++)
        syscall(9999);
    for (int i = 0; i < 3; i++)
        syscall(-1);
    for (int i = 0; i < 20; i++)
        syscall(100000 + i);
    return 0;
}
'''


@pytest.mark.parametrize('profiler, table, column', [
    ('syscount', 'syscount', 'count'), ('syscalls', 'system calls', 'calls')])
def test_system_calls_that_do_not_exist(tmp_path, profiler, table, column):
    """They have rows, and none is lost."""
    (tmp_path / 'x.c').write_text(UNKNOWN_CALLS)
    subprocess.run(['cc', '-o', tmp_path / 'x', tmp_path / 'x.c'], check=True)
    found = {}
    for how in 'yes', 'no':
        shown = report(profiler, '--in-kernel', how, '--', tmp_path / 'x')
        found[how] = {row['syscall'].partition('(')[0]: row[column] for row in rows(shown, table)}
        assert shown['notes']['lost'] == 0
    assert found['yes'] == found['no']
    assert found['yes']['syscall_9999'] == 30 and found['yes']['syscall_100019'] == 1
