# SPDX-License-Identifier: MIT
"""attar locks: waits of known number and length; attar list profilers."""
import json
import platform
import re
import subprocess
from pathlib import Path

import pytest

import scripts
from command import ATTAR, perf, run, workload

COUNT, MS = 5, 20
SCRIPT = '''# attar script
event lock:contention_begin stack lock_addr:u64 flags:u32
event lock:contention_end lock_addr:u64 ret:int
event syscalls:sys_enter_futex stack uaddr:u64 op:int val:u64
event syscalls:sys_exit_futex ret:long
1.000000000 0 5/5 a lock:contention_begin stack=0xa1,0xa2 lock_addr=4096 flags=32
1.000000100 1 6/6 b lock:contention_begin stack=0xa1,0xa3 lock_addr=4096 flags=32
1.000000700 0 5/5 a lock:contention_end lock_addr=4096
1.000001100 1 6/6 b lock:contention_end lock_addr=4096
1.000002000 0 5/5 a lock:contention_begin stack=0xa1,0xa2 lock_addr=8192 flags=2
1.000002050 0 5/5 a lock:contention_end lock_addr=8192
2.000000000 0 7/8 c syscalls:sys_enter_futex stack=0xc1 uaddr=64 op=128 val=2
2.000000500 1 7/9 c syscalls:sys_enter_futex stack=0xc1 uaddr=64 op=129 val=1
2.000001000 0 7/8 c syscalls:sys_exit_futex ret=0
'''


def reports(*args):
    ended = run('locks', '--format', 'json', *args)
    assert ended.returncode == 0, ended.stderr
    return [json.loads(line) for line in ended.stdout.splitlines() if line.startswith('{')]


def rows(report, name='locks'):
    return scripts.rows(report, name)


@pytest.fixture(name='script')
def fixture_script(script):
    return lambda text=SCRIPT: script(text)


@pytest.mark.quick
def test_waits_to_the_nanosecond(script):
    found = [(r['type'], r['lock'], r['pid'], r['waiter'], r['holder'], r['holder share'],
              r['count'], r['total'], r['max']) for r in rows(reports('--input', script())[-1])]
    assert found == [('mutex', 4096, None, 'b', None, None, 2, 1700, 1000),
                     ('futex', 64, 7, 'c', 9, 50, 1, 1000, 1000),
                     ('rwsem:R', 8192, None, 'a', None, None, 1, 50, 50)]


@pytest.mark.quick
def test_selections(script):
    assert [r['type'] for r in rows(reports('--futex', '--input', script())[-1])] == ['futex']
    assert {r['type'] for r in rows(reports('--kernel', '--input', script())[-1])} == {
        'mutex', 'rwsem:R'}
    found = reports('--than', '1us', '--kernel', '--input', script())
    waits = [r for report in found for s in report['sections'] if s['name'] == 'waits'
             for r in rows(report, 'waits')]
    assert [(r['comm'], r['tid'], r['waited']) for r in waits] == [('b', 6, 1000)]
    ended = run('locks', '--futex', '--kernel', '--input', script())
    assert ended.returncode in (1, 2) and 'mutually exclusive' in ended.stderr


@pytest.mark.quick
def test_losses_drop_waits(script):
    lost = SCRIPT.replace('1.000001100', '1.000001000 1 6/6 b lost 1\n1.000001100')
    found = reports('--kernel', '--input', script(lost))[-1]
    assert [r['count'] for r in rows(found) if r['type'] == 'mutex'] == [1]
    assert any('lost' in r for r in found['remarks'])


@pytest.mark.quick
def test_threads_with_the_same_name_and_stack(script):
    """They are one node; the table of waits has them apart."""
    text = SCRIPT + '''3.000000000 0 7/9 c syscalls:sys_enter_futex stack=0xc1 uaddr=64 op=128 val=2
3.000003000 0 7/9 c syscalls:sys_exit_futex ret=0
'''
    shown = run('locks', '--input', script(text)).stdout
    shares = {name: float(share)
              for share, name in re.findall(r'^ *([0-9.]+)%  (\w.*)$', shown, re.M)}
    assert shares['c (2 threads)'] == 69.57  # 3000 and 1000 of 5750
    assert 'a' in shares and 'b' in shares


@pytest.mark.quick
def test_locks_inside_of_a_wait(script):
    """A waiter takes the spinlock of the wait list; a mutex begins again when it stops spinning."""
    text = SCRIPT[:SCRIPT.index('1.0')] + '''
1.000000000 0 5/5 a lock:contention_begin lock_addr=4096 flags=4
1.000000100 0 5/5 a lock:contention_begin lock_addr=4100 flags=1
1.000000300 0 5/5 a lock:contention_end lock_addr=4100
1.000001000 0 5/5 a lock:contention_end lock_addr=4096
2.000000000 0 5/5 a lock:contention_begin lock_addr=8192 flags=33
2.000000100 0 5/5 a lock:contention_begin lock_addr=8192 flags=32
2.000000200 0 5/5 a lock:contention_begin lock_addr=8192 flags=33
2.000000400 0 5/5 a lock:contention_end lock_addr=8192
3.000000000 0 0/0 swapper lock:contention_begin lock_addr=64 flags=1
3.000000100 1 0/0 swapper lock:contention_begin lock_addr=64 flags=1
3.000000300 0 0/0 swapper lock:contention_end lock_addr=64
3.000000600 1 0/0 swapper lock:contention_end lock_addr=64
'''
    report = reports('--kernel', '--input', script(text))[-1]
    assert {(r['type'], r['lock'], r['count'], r['total']) for r in rows(report)} == {
        ('rwsem:W', 4096, 1, 1000), ('spinlock', 4100, 1, 200), ('mutex', 8192, 1, 400),
        ('spinlock', 64, 2, 800)}
    assert not [remark for remark in report.get('remarks', []) if 'waits' in remark]


JOINS = '''2.000000000 0 7/7 c fork 7/8
2.000000000 0 7/7 c fork 7/9
2.000000000 0 7/7 c fork 6/6
2.000001000 0 7/7 c syscalls:sys_enter_futex stack=0xc1 uaddr=4096 op=265 val=8
2.000003000 0 7/7 c syscalls:sys_exit_futex
2.000004000 0 7/7 c syscalls:sys_enter_futex stack=0xc1 uaddr=8192 op=0 val=9
2.000009000 0 7/7 c syscalls:sys_exit_futex
'''
NO_JOINS = '''2.000010000 0 7/7 c syscalls:sys_enter_futex stack=0xc1 uaddr=64 op=393 val=8
2.000010100 0 7/7 c syscalls:sys_exit_futex
2.000020000 0 7/7 c syscalls:sys_enter_futex stack=0xc1 uaddr=64 op=265 val=6
2.000020200 0 7/7 c syscalls:sys_exit_futex
2.000030000 0 7/7 c syscalls:sys_enter_futex stack=0xc1 uaddr=64 op=265 val=0
2.000030400 0 7/7 c syscalls:sys_exit_futex
'''


@pytest.mark.quick
def test_conditions_come_after_locks(script):
    """However long: threads without work wait for them. A lock with a time limit is a lock."""
    header = SCRIPT[:SCRIPT.index('1.0')]
    waits = [(64, 0x189, 0, 9000), (128, 0x80, 2, 1000), (192, 0x189, 2, 700), (256, 0x189, 3, 600)]
    lines, time = '', 2_000_000_000
    for address, op, value, length in waits:
        lines += (f'2.{time % 10**9:09d} 0 7/7 c syscalls:sys_enter_futex stack=0xc1 '
                  f'uaddr={address} op={op} val={value}\n')
        time += length
        lines += f'2.{time % 10**9:09d} 0 7/7 c syscalls:sys_exit_futex\n'
        time += 1000
    found = reports('--input', script(header + lines))[-1]
    assert [(r['type'], r['lock'], r['total']) for r in rows(found)] == [
        ('futex', 128, 1000), ('futex', 192, 700), ('futex', 256, 600), ('condition', 64, 9000)]


@pytest.mark.quick
def test_joins_are_apart(script):
    """Private, with the tid of another process, or of no thread: it is a lock or a condition."""
    header = SCRIPT[:SCRIPT.index('1.0')]
    report = reports('--than', '1ns', '--input', script(header + JOINS + NO_JOINS))
    assert [(r['pid'], r['waiter'], r['thread'], round(r['thread share'], 3), r['count'],
             r['total'], r['max']) for r in rows(report[-1], 'joins')] == [
                 (7, 'c', 9, 71.429, 2, 7000, 5000)]
    assert [(r['type'], r['lock'], r['count'], r['total']) for r in rows(report[-1])] == [
        ('condition', 64, 3, 700)]
    lines = [r['waited'] for part in report for s in part['sections'] if s['name'] == 'waits'
             for r in rows(part, 'waits')]
    assert lines == [100, 200, 400]
    assert sum(r['self'] for r in rows(report[-1], 'functions')) == 100
    only = reports('--input', script(header + NO_JOINS))[-1]
    assert 'joins' not in [s['name'] for s in only['sections']]


WAIT, WAKE, WOKEN = ('syscalls:sys_enter_futex uaddr=64 op=128 val=2',
                     'syscalls:sys_enter_futex uaddr=64 op=129 val=1', 'syscalls:sys_exit_futex')


def futex_events(*events):
    """Events are (ns, tid, what)."""
    return SCRIPT[:SCRIPT.index('1.0')] + ''.join(
        f'1.{ns:09} {tid % 2} 10/{tid} t{tid} {what}\n' for ns, tid, what in events)


CONVOY = [(0, 11, WAIT), (100, 12, WAIT), (1000, 10, WAKE), (1050, 11, WOKEN), (1100, 11, WAKE),
          (1300, 12, WOKEN), (1400, 12, WAKE)]


def holders(report):
    return [(r['lock'], r['holder'], r['holder share'] and round(r['holder share'], 3), r['total'])
            for r in rows(report)]


@pytest.mark.quick
def test_holder_of_a_convoy(script):
    """10 holds the lock for 1000 + 900 of 2250 ns, then 11 for 100 ns; 250 ns are wakeups."""
    path = script(futex_events(*CONVOY))
    assert holders(reports('--input', path)[-1]) == [(64, 10, 84.444, 2250)]
    assert holders(reports('--than', '1100ns', '--input', path)[-1]) == [(64, 10, 84.444, 1200)]


@pytest.mark.quick
@pytest.mark.parametrize('wait, expected', [
    # a read-write lock of glibc: 10 holds it for reading, then the writers 11 and 12
    ('uaddr=68 op=393 val=3', (68, 10, 78.261, 1150)),
    ('uaddr=68 op=128 val=2', (68, 11, 95.652, 1150))],  # another mutex
    ids=['turn', 'mutex'])
def test_holder_of_a_writer_that_waits_for_its_turn(script, wait, expected):
    enter = 'syscalls:sys_enter_futex'
    text = futex_events((0, 11, f'{enter} uaddr=64 op=393 val=2'), (100, 12, f'{enter} {wait}'),
                        (1000, 10, f'{enter} uaddr=64 op=129 val=1'), (1050, 11, WOKEN),
                        (1200, 11, f'{enter} uaddr=68 op=129 val=1'), (1250, 12, WOKEN))
    assert sorted(holders(reports('--input', script(text))[-1])) == [
        (64, 10, 95.238, 1050), expected]


# The main thread holds the lock for reading for 500 ms, while two threads wait to write.
WRITERS = r'''
#include <pthread.h>
#include <sys/prctl.h>
#include <time.h>
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static void *work(void *unused)
{
    prctl(PR_SET_NAME, "writer");
    pthread_rwlock_wrlock(&lock);
    pthread_rwlock_unlock(&lock);
    return NULL;
}
int main(void)
{
    pthread_t writers[2];
    pthread_rwlock_rdlock(&lock);
    for (int i = 0; i < 2; i++)
        pthread_create(&writers[i], NULL, work, NULL);
    nanosleep(&(struct timespec){.tv_nsec = 500000000}, NULL);
    pthread_rwlock_unlock(&lock);
    for (int i = 0; i < 2; i++)
        pthread_join(writers[i], NULL);
    return 0;
}
'''


@pytest.mark.usefixtures('root')
def test_holder_of_two_writers(tmp_path):
    (tmp_path / 'holder.c').write_text(WRITERS)
    subprocess.run(['cc', '-pthread', '-o', tmp_path / 'holder', tmp_path / 'holder.c'], check=True)
    found = [r for r in rows(reports('--futex', '--', tmp_path / 'holder')[-1])
             if r['waiter'] == 'writer' and r['total'] > 250_000_000]
    assert len(found) == 2
    for row in found:
        assert row['holder name'] == 'holder' and row['holder share'] > 50


@pytest.mark.quick
def test_holder_of_each_interval(script):
    """The wait of 12 ends in the second interval; 10 releases the lock in the first."""
    later = [(800_000_000 + ns, tid, what) for ns, tid, what in CONVOY]
    text = futex_events(*CONVOY[:4], *[(800_000_000, 11, WAKE), (800_000_200, 12, WOKEN)])
    found = reports('-i', '500ms', '--input', script(text))
    assert [holders(report) for report in found] == [
        [(64, 10, 97.436, 1050)], [(64, 11, 100, 800_000_100)]]
    twice = reports('--input', script(futex_events(*CONVOY, *later)))[-1]
    assert holders(twice) == [(64, 10, 84.444, 4500)]


@pytest.mark.quick
@pytest.mark.parametrize('ended, share, total', [('exit', 45.455, 1100), ('lost 1', 50, 1000)])
def test_waits_without_an_end_have_no_holder(script, ended, share, total):
    """13 begins to wait and is not seen again: what 10 holds later is not due to it."""
    text = futex_events((0, 13, WAIT), (100, 13, ended), (200, 11, 'fork 10/11'), (1000, 11, WAIT),
                        (1500, 10, WAKE), (2000, 11, WOKEN))
    assert holders(reports('--input', script(text))[-1]) == [(64, 10, share, total)]


@pytest.mark.quick
def test_a_wait_that_a_loss_has_affected_has_no_holder(script):
    """Its end shows that it is left out: 10 is not the holder for which 13 waited before."""
    text = futex_events((0, 13, WAIT), (100, 10, 'lost 1'), (200, 13, WOKEN), (1500, 10, WAKE),
                        (1600, 11, WAIT), (1700, 11, WOKEN))
    assert holders(reports('--input', script(text))[-1]) == [(64, None, None, 100)]


@pytest.mark.quick
def test_a_wait_that_ends_with_the_exit_of_its_thread(script):
    text = futex_events((0, 11, WAIT), (400_000_000, 11, 'exit'), (500_000_000, 12, WAIT),
                        (500_000_100, 12, WOKEN))
    found = reports('--than', '1ms', '--input', script(text))
    lines = [r for report in found for s in report['sections'] if s['name'] == 'waits'
             for r in rows(report, 'waits')]
    assert [(r['tid'], r['comm'], r['waited']) for r in lines] == [(11, 't11', 400_000_000)]
    row, = rows(reports('--input', script(text))[-1])
    assert (row['count'], row['total'], row['max']) == (2, 400_000_100, 400_000_000)


@pytest.mark.usefixtures('root')
def test_a_waiter_that_is_killed():
    """
    It waits for a futex that nobody wakes, and is killed while it does. Its parent kills it,
    because the interpreter starts slowly on a busy machine.
    """
    number = 202 if platform.machine() == 'x86_64' else 98
    program = f'''
import ctypes, os, signal, time
call, word = ctypes.CDLL(None).syscall, ctypes.byref(ctypes.c_int(5))
if waiter := os.fork():
    time.sleep(0.7)
    os.kill(waiter, signal.SIGKILL)
    os.wait()
else:
    call({number}, word, 0, 5, None)
'''
    report = reports('--futex', '--', '/usr/bin/python3', '-c', program)[-1]
    longest = max((row for row in rows(report)), key=lambda row: row['max'])
    assert longest['waiter'] == 'python3' and 10**8 < longest['max'] < 11 * 10**8


LIBC = ('__futex_abstimed_wait_common', '___pthread_mutex_lock', '__GI___lll_lock_wait',
        'getaddrinfo')
PROGRAM = ('pthread_mutex_lock', 'lock_table', '__new_sem_wait_slow64')


@pytest.fixture(name='mapped', scope='module')
def fixture_mapped(tmp_path_factory):
    """Return the lines that map a libc and a program, and the address of each function."""
    folder, lines, found = tmp_path_factory.mktemp('libc'), '', {'nameless': 0x10001f00}
    for base, name, functions in ((0x10000000, 'libc.so.6', LIBC), (0x20000000, 'prog', PROGRAM)):
        source, file = folder / f'{name}.c', folder / name
        source.write_text(''.join(f'void {f}(void) {{}}\n' for f in functions))
        subprocess.run(['cc', '-shared', '-fPIC', '-nostdlib', '-fno-builtin', '-o', file, source],
                       check=True)
        lines += f'1.0 0 7/7 c mmap {base + 0x1000:#x} 0x1000 0x1000 r-xp {file}\n'
        for address, function in re.findall(r'^(\w+) T (\w+)$', subprocess.check_output(
                ['nm', file], text=True), re.M):
            found[function if base == 0x10000000 else f'prog:{function}'] = (
                base + int(address, 16) + 1)
    return lines, found


@pytest.mark.quick
@pytest.mark.parametrize('stack, caller', [
    (['__futex_abstimed_wait_common', 'nameless', 'prog:lock_table'], 'lock_table'),
    (['__GI___lll_lock_wait', '___pthread_mutex_lock', 'prog:lock_table'], 'lock_table'),
    (['__GI___lll_lock_wait', 'getaddrinfo', 'prog:lock_table'], 'getaddrinfo'),
    (['prog:__new_sem_wait_slow64', 'prog:pthread_mutex_lock', 'prog:lock_table'], 'lock_table'),
    (['__futex_abstimed_wait_common', '___pthread_mutex_lock'], '___pthread_mutex_lock'),
    (['__futex_abstimed_wait_common'], '__futex_abstimed_wait_common')],
                         ids=['nameless', 'mutex', 'library', 'static', 'no caller', 'one'])
def test_caller_of_a_futex(script, mapped, stack, caller):
    """Ten functions of the kernel come first. Names of programs may contain "lock"."""
    lines, found = mapped
    addresses = ','.join([hex(0xffffffffc0000010 + 64 * i) for i in range(10)] +
                         [hex(found[name]) for name in stack])
    text = SCRIPT[:SCRIPT.index('1.0')] + lines + f'''2.0 0 7/7 c syscalls:sys_enter_futex \
stack={addresses} uaddr=64 op=128 val=2
2.1 0 7/7 c syscalls:sys_exit_futex
'''
    row, = rows(reports('--input', script(text))[-1])
    assert row['caller'] == caller


def said_of_libc(report):
    return [r for r in report.get('remarks', []) if 'inside libc' in r]


@pytest.mark.quick
@pytest.mark.parametrize('ns, share', [(600, 60), (500, None)])
def test_callers_inside_of_libc(script, mapped, ns, share):
    """Two futexes with 1000 ns in all: one of them has no caller outside libc."""
    lines, found = mapped
    text = SCRIPT[:SCRIPT.index('1.0')] + lines
    inside = ['__futex_abstimed_wait_common']
    for start, time, stack in ((2, ns, inside), (3, 1000 - ns, inside + ['prog:lock_table'])):
        text += f'{start}.0 0 7/7 c syscalls:sys_enter_futex stack=' \
                f'{",".join(hex(found[name]) for name in stack)} uaddr={start} op=128 val=2\n' \
                f'{start}.{time:09d} 0 7/7 c syscalls:sys_exit_futex\n'
    report = reports('--input', script(text))[-1]
    assert said_of_libc(report) == ([] if share is None else [
        f'for {share}% of the waiting time of futexes, the caller is a function inside libc, '
        'which keeps no frame pointers: a recording with --call-graph=dwarf shows that of the '
        'program'])


@pytest.mark.usefixtures('root')
@pytest.mark.parametrize('unwind', [(), ('--unwind', 'dwarf', '-m', '4096')], ids=['fp', 'dwarf'])
def test_callers_of_joins(unwind):
    """The main thread only waits for its threads. The libc may have frame pointers."""
    report = reports('--futex', *unwind, '--', workload('threads2'), 100)[-1]
    join, = rows(report, 'joins')
    assert said_of_libc(report) == ([] if join['caller'] == 'main' else [
        'for 100% of the waiting time of futexes, the caller is a function inside libc, which '
        'keeps no frame pointers: --unwind dwarf shows that of the program'])
    assert join['caller'] == 'main' or not unwind


def test_more_holders_than_room(script):
    """10 holds the lock for 10,000 ns, then each of 70,000 other threads for 10."""
    others = range(100, 70100)
    text = futex_events((0, 11, WAIT), (10_000, 10, WAKE),
                        *[(10_010 + 10 * i, tid, WAKE) for i, tid in enumerate(others)],
                        (710_000, 11, WOKEN))
    report = reports('--input', script(text))[-1]
    assert holders(report) == [(64, 10, 1.408, 710_000)]
    assert any('the table of holders is full' in remark for remark in report['remarks'])


@pytest.mark.usefixtures('root')
def test_holder_of_a_real_convoy(tmp_path):
    """Four threads wait for "holder" eight times 50 ms, and main for its end, or less if busy."""
    output = tmp_path / 'locks.json'
    ended = run('locks', '--futex', '-q', '--unwind', 'dwarf', '-m', 4096, '-o', output, '--',
                workload('convoy'), 8, 50)
    assert ended.returncode == 0, ended.stderr
    holder, report = int(ended.stdout), json.loads(output.read_text())
    longest = rows(report)[0]
    assert (longest['holder'], longest['caller']) == (holder, 'lock_and_unlock')
    assert longest['holder name'] == 'holder'
    assert longest['total'] > 8 * 50e6
    join = rows(report, 'joins')[0]
    assert (join['thread'], join['caller'], join['total'] > 4 * 50e6) == (holder, 'join', True)
    assert not [r for r in rows(report, 'functions') if r['symbol'] == 'join']


@pytest.mark.usefixtures('root')
def test_mutex_of_known_times():
    """The thread waits five times 20 ms; semaphores wait for less."""
    found = reports('--futex', '--', workload('locked'), COUNT, MS)[-1]
    longest = rows(found)[0]
    assert longest['count'] == COUNT and longest['waiter'] == 'locked'
    assert longest['total'] >= COUNT * (MS - 5) * 10**6
    assert longest['holder'] == longest['pid']
    functions = {r['symbol']: r for r in rows(found, 'functions')}
    assert functions['waiter']['total'] > 50


def waits(data, comm):
    """Return {address: [number, sum in ns]} of waits of kernel locks in a recording of perf."""
    began, found = {}, {}
    for tid, seconds, ns, event, lock in re.findall(
            rf'^ *{comm} +(\d+) +(\d+)\.(\d{{9}}): +lock:contention_(\w+): +0x(\w+)',
            perf('script', '-i', data, '--ns', '-F', 'comm,tid,time,event,trace'), re.M):
        key, time = (tid, int(lock, 16)), int(seconds + ns)
        if event == 'begin':
            began.setdefault(key, time)
        elif key in began:
            of_lock = found.setdefault(key[1], [0, 0])
            of_lock[0] += 1
            of_lock[1] += time - began.pop(key)
    return found


@pytest.mark.usefixtures('root', 'needs_perf')
def test_the_lock_of_an_address_space(tmp_path):
    """Its waits are those that perf records at the same time; in the recording, to the ns."""
    if not Path('/sys/kernel/tracing/events/lock').exists():
        pytest.skip('the kernel has no events of locks (Linux 5.19)')
    data, live = tmp_path / 'perf.data', tmp_path / 'live.json'
    perf('record', '-q', '-m', '8M', '-o', data, '-e', 'lock:contention_begin',
         '-e', 'lock:contention_end', '--', ATTAR, 'locks', '--kernel', '-q', '-m', 4096, '-o',
         live, '--', workload('maplocks'), 8, 20000)
    truth, found = waits(data, 'maplocks'), rows(json.loads(live.read_text()))
    lock, (count, total) = max(truth.items(), key=lambda item: item[1])
    row = next(r for r in found if r['lock'] == lock)
    assert row['count'] == count > 100 and row['type'].startswith('rwsem')
    assert abs(row['total'] - total) < 0.05 * total
    recorded = rows(reports('--kernel', '--input', data)[-1])
    row = next(r for r in recorded if r['lock'] == lock)
    assert [row['count'], row['total']] == waits(data, r'\S+')[lock]  # also of attar's start


@pytest.mark.quick
def test_profilers_are_grouped_by_question():
    listed, overview = run('list', 'profilers').stdout, run('-h').stdout
    assert 'CPU: where is CPU time spent?\n  annotate' in listed
    assert listed in overview
    names = run('list', '--names', 'profilers').stdout.split()
    assert sorted(re.findall(r'(?m)^  (\S+) ', listed)) == sorted(names)
    assert {'locks', 'offcpu', 'opensnoop', 'trace'} < set(names)
    assert all(group.splitlines()[0].endswith('?') for group in listed.split('\n\n')[1:])
