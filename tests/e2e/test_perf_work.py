# SPDX-License-Identifier: MIT
"""What the kernel does for perf events within a program: none of its waits and allocations."""
import contextlib
import re
import subprocess

import pytest

from command import run, workload
from scripts import of_script, report, rows, stacks

LOCK, MUTEX, EXIT, MMAP, INIT, CLOSE, SPIN = (0xffffffff81000010 + 0x1000 * i for i in range(7))
KERNEL = ''.join(f'0.1 0 0/0 swapper ksymbol register {address - 0x10:#x} 0x100 {name}\n'
                 for address, name in ((LOCK, '__mutex_lock'), (MUTEX, 'mutex_lock'),
                                       (EXIT, 'perf_event_exit_task'), (MMAP, 'perf_event_mmap'),
                                       (INIT, 'perf_event_init_task'), (CLOSE, 'ext4_sync_fs'),
                                       (SPIN, 'native_queued_spin_lock_slowpath')))
SCHED = '''event sched:sched_switch stack prev_comm:char[16] prev_pid:pid_t prev_state:s64 \
next_comm:char[16] next_pid:pid_t
event sched:sched_waking stack comm:char[16] pid:pid_t target_cpu:int
event sched:sched_wakeup comm:char[16] pid:pid_t target_cpu:int
event sched:sched_wakeup_new comm:char[16] pid:pid_t target_cpu:int
event cpu-clock stack
'''.replace('\\\n', '')
MS = 10**6


def block(start, ms, stack):
    """A thread waits in the kernel for some ms, and 1 ms for a CPU, then runs for 2 ms."""
    def at(after, event):
        return f'{start + after / 1000:.3f} 0 {event}\n'

    addresses = ','.join(f'{address:#x}' for address in (*stack, 0x1000))
    return (at(0, f'7/7 a sched:sched_switch stack={addresses} prev_comm=a prev_pid=7 prev_state=2')
            + at(ms, '9/9 b sched:sched_waking comm=a pid=7')
            + at(ms, '9/9 b sched:sched_wakeup comm=a pid=7 target_cpu=0')
            + at(ms + 1, '0/0 swapper sched:sched_switch next_comm=a next_pid=7')
            + at(ms + 3, '7/7 a sched:sched_switch prev_comm=a prev_pid=7 prev_state=1'))


# 100 ms of a lock, then 40 and 50 ms of perf's locks; the waits between them have no reason.
WAITS = (SCHED + KERNEL + block(1, 100, (LOCK, MUTEX, CLOSE))
         + block(2, 40, (LOCK, MUTEX, EXIT)) + block(3, 50, (LOCK, MUTEX, INIT)))
WAITS += '3.5 0 9/9 b sched:sched_waking comm=a pid=7\n3.6 0 7/7 a cpu-clock\n'
REMARK = ('2 waits of 90.0 ms in all are left out: the kernel was working for events of attar or '
          'of another profiler')


@pytest.mark.quick
def test_waits_in_wall_and_overview(tmp_path):
    """The delay of 1 ms until the thread runs after such a wait is left out with it."""
    found = of_script(tmp_path, WAITS, 'wall')
    [thread] = (row for row in rows(found, 'threads') if row['comm'] == 'a')
    assert thread['lock'] * thread['time'] / 100 == pytest.approx(100 * MS)
    assert REMARK.replace('90.0', '92.0') in found['remarks']
    waits = [path for path in stacks(found) if 'perf_event' in str(path)]
    assert not waits
    found = of_script(tmp_path, WAITS, 'overview')
    assert {row['time spent']: row['time'] for row in rows(found, 'time')}['lock'] == 100 * MS
    assert REMARK.replace('90.0', '92.0') in found['remarks']


@pytest.mark.quick
def test_spinning_in_overview(tmp_path):
    """The CPU time is the thread's, but the lock is not one of the program."""
    text = SCHED + KERNEL + '1.0 0 7/7 a sched:sched_switch next_pid=7\n' + ''.join(
        f'1.{i:03} 0 7/7 a cpu-clock stack={SPIN:#x},{EXIT if i % 4 else CLOSE:#x}\n'
        for i in range(40)) + '1.5 0 7/7 a sched:sched_switch prev_pid=7 prev_state=1\n'
    found = of_script(tmp_path, text, 'overview')
    assert {row['time spent']: (row['time'], row['samples']) for row in rows(found, 'time')} == {
        'kernel': (375 * MS, 30), 'kernel spinlocks': (125 * MS, 10)}


@pytest.mark.quick
def test_waits_in_offcpu(tmp_path):
    found = of_script(tmp_path, WAITS, 'offcpu', '-t', '7')
    [thread] = rows(found, 'threads')
    assert thread['max'] < 1000 * MS
    assert REMARK in found['remarks']
    assert 'perf_event' not in str(stacks(found))


@pytest.mark.quick
def test_waits_of_each_interval(tmp_path):
    path = tmp_path / 'x.script'
    path.write_text('# attar script\n' + WAITS)
    shown = run('offcpu', '--input', path, '-i', '1s').stdout
    assert re.findall(r'(\d+) wait of ([0-9.]+) ms is left out: the kernel', shown) == [
        ('1', '40.0'), ('1', '50.0')]


LOCKS = '''event lock:contention_begin stack lock_addr:u64 flags:u32
event lock:contention_end lock_addr:u64 ret:int
''' + KERNEL + ''.join(
    f'{i}.0 0 7/7 a lock:contention_begin stack={LOCK:#x},{stack:#x} lock_addr=4096 flags=32\n'
    f'{i}.0{ms} 0 7/7 a lock:contention_end lock_addr=4096\n'
    for i, (stack, ms) in enumerate(((CLOSE, 10), (INIT, 40), (MMAP, 50)), 1))


@pytest.mark.quick
def test_kernel_locks(tmp_path):
    found = of_script(tmp_path, LOCKS, 'locks')
    assert [(row['count'], row['total']) for row in rows(found, 'locks')] == [(1, 10 * MS)]
    assert REMARK in found['remarks']


ALLOCATIONS = '''event kmem:kmalloc stack ptr:u64 bytes_alloc:u64
event kmem:kfree ptr:u64
''' + KERNEL + f'''1.0 0 7/7 a kmem:kmalloc stack={CLOSE:#x} ptr=4096 bytes_alloc=64
1.1 0 7/7 a kmem:kmalloc stack={CLOSE:#x} ptr=8192 bytes_alloc=96
1.2 0 7/7 a kmem:kmalloc stack={MMAP:#x} ptr=12288 bytes_alloc=4096
1.3 0 7/7 a kmem:kmalloc stack={INIT:#x},{CLOSE:#x} ptr=16384 bytes_alloc=1024
1.4 0 7/7 a kmem:kfree ptr=4096
1.5 0 7/7 a kmem:kfree ptr=12288
'''
EVENTS = ['--alloc', 'kmem:kmalloc//stack/', '--free', 'kmem:kfree']


@pytest.mark.quick
def test_allocations(tmp_path):
    remark = ('2 allocations of 5.0 KiB in all are left out: the kernel needed the memory for '
              'events of attar or of another profiler')
    found = of_script(tmp_path, ALLOCATIONS, 'kmemprof', *EVENTS)
    assert [list(row.values())[1:] for row in rows(found, 'allocations')] == [[160, 2, 64, 1]]
    assert found['remarks'] == [remark]
    found = of_script(tmp_path, ALLOCATIONS, 'kmemleak', *EVENTS)
    assert [(row['state'], row['objects'], row['bytes'])
            for row in rows(found, 'allocations')] == [('allocated', 2, 160), ('freed', 1, 64),
                                                       ('leaked', 1, 96)]
    assert [row['bytes'] for row in rows(found, 'leaks')] == [96]
    assert found['remarks'] == [remark]


@pytest.mark.usefixtures('root')
def test_allocations_for_records_of_mappings():
    """The sleeps allocate nothing, but the records of the mappings of its start need memory."""
    found = report('kmemprof', '-e', 'kmem:kmalloc//stack/', '-e', 'kmem:kfree', '--',
                   workload('sleeps'), 20, 1)
    assert any(re.match(r'\d+ allocations? of .* left out', text) for text in found['remarks'])
    assert 'perf_event_mmap' not in str(found['sections'])


@contextlib.contextmanager
def others_that_open_events():
    """Another profiler opens and closes events until the end of the block."""
    command = ['sh', '-c', 'while :; do perf stat -a -e sched:sched_switch,kmem:kmalloc,'
               'raw_syscalls:sys_enter,sched:sched_wakeup true; done']
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            yield
        finally:
            process.kill()


@pytest.mark.exclusive
@pytest.mark.usefixtures('root')
def test_processes_that_wait_for_the_events_of_others(tmp_path):
    """Each creates and removes copies of attar's events, for which the kernel has one mutex."""
    folded = tmp_path / 'x.folded'
    for _ in range(10):
        with others_that_open_events():
            found = report('overview', '--only-comm', '-o', folded, '--', workload('forks'), 2000)
        waits = [line for line in folded.read_text().splitlines()
                 if '[lock]' in line or '[other waits]' in line]
        assert not [line for line in waits if re.search(r'perf_event_(init|exit)_task', line)]
        if 'the kernel was working for events' in str(found['remarks']):
            return
    raise AssertionError('no process has waited for the events of others')
