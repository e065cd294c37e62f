# SPDX-License-Identifier: MIT
"""What threads wait for, and who can end the wait: known by construction."""
import contextlib
import ctypes
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import scripts
from command import ATTAR, has, is_sampling, is_waiting, run, wait_until, workload

LOCKS = ['mutex', 'checked', 'robust', 'pi', 'shared', 'read', 'wrwait']
FILES = ['pipe', 'kept', 'full', 'poll', 'select', 'unix', 'tcp', 'unaccepted']
CHILDREN = ['child', 'any']
WORDS = {
    'kept': r'data of pipe:\[\d+\], written by ',
    'pipe': r'data of pipe:\[\d+\], written by ', 'full': r'room in pipe:\[\d+\], read by ',
    'poll': r'data of pipe:\[\d+\], written by ', 'select': r'data of pipe:\[\d+\], written by ',
    'unix': 'data of a UNIX socket, written by ',
    'tcp': r'data of the connection with 127\.0\.0\.1:\d+, written by ',
    'unaccepted': r'data of the connection with 127\.0\.0\.1:\d+ \(not accepted yet\), '
                  'written by ',
    'child': 'the end of ', 'any': 'the end of ', 'join': 'the end of ',
    'flock': r'the lock of file /tmp/whom\.\w+ \(deleted\), held by ',
    'fcntl': r'the lock of file /tmp/whom\.\w+ \(deleted\), held by ',
}
IDLE = {'sleep': 'a time to pass', 'accept': 'a client to connect',
        'epoll': 'an event of several files', 'read2': 'an event of several files',
        'signal': 'a signal', 'terminal': 'input of a terminal'}


# A child locks a mutex between processes, and exits; the parent waits for both.
SHARED = '''
import ctypes, mmap, os
libc = ctypes.CDLL(None)
memory = mmap.mmap(-1, 4096)
mutex = ctypes.byref((ctypes.c_char * 64).from_buffer(memory))
attr = ctypes.create_string_buffer(64)
libc.pthread_mutexattr_init(attr)
libc.pthread_mutexattr_setpshared(attr, 1)
libc.pthread_mutex_init(mutex, attr)
pid = os.fork()
if not pid:
    libc.pthread_mutex_lock(mutex)
    os._exit(0)
os.waitpid(pid, 0)
print(pid, flush=True)
libc.pthread_mutex_lock(mutex)
'''


def wchan(tid):
    with open(f'/proc/{tid}/wchan', encoding='utf-8') as file:
        return file.read()


@contextlib.contextmanager
def whom(kind, prefix=()):
    """The program, with its thread that waits, the other end and the address of the lock."""
    with subprocess.Popen([*prefix, workload('whom'), kind], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as program:
        try:
            waiter, other, address = program.stdout.readline().split()
            waiter, other = int(waiter), int(other)
            wait_until(lambda: kind == 'full' or state(waiter) in 'SD', 'the thread to wait')
            yield program, waiter, other, int(address, 16)
        finally:
            program.stdin.close()


def state(tid):
    with open(f'/proc/{tid}/stat', encoding='utf-8') as file:
        return file.read().rpartition(')')[2].split()[0]


def waits_of(tid):
    """The row of the thread."""
    done = run('stack', '-t', tid, '--json')
    assert done.returncode == 0, done.stderr
    table = json.loads(done.stdout)['sections'][0]
    row = table['rows'][0]
    return dict(zip([c['name'] for c in table['columns']], row))


@pytest.mark.parametrize('kind', LOCKS)
def test_holder_of_a_lock(kind):
    with whom(kind) as (_, waiter, other, address):
        row = waits_of(waiter)
        name = 'other end' if kind == 'shared' else 'holder'
        assert row['waits for'].endswith(f', held by {name} ({other})'), row
        assert row['other tid'] == other
        assert row['waits for'].startswith(f'the lock at {address:#x}, ')


@pytest.mark.parametrize('kind', ['dead', 'deadwriter'])
def test_holder_that_has_ended(kind):
    """Nobody can unlock what a thread has locked that is no more."""
    with whom(kind) as (program, waiter, other, address):
        row = waits_of(waiter)
        assert row['waits for'] == (
            f'the lock at {address:#x}, held by thread {other}, which has ended')
        assert (row['other pid'], row['other tid']) == (program.pid, other)


def test_shared_lock_whose_holder_has_ended():
    """The process of the holder was reaped by its parent."""
    with subprocess.Popen([sys.executable, '-I', '-c', SHARED], stdout=subprocess.PIPE,
                          text=True) as program:
        try:
            holder = int(program.stdout.readline())
            wait_until(lambda: 'futex' in wchan(program.pid), 'the process to wait')
            assert waits_of(program.pid)['waits for'].endswith(
                f', held by thread {holder}, which has ended')
        finally:
            program.kill()


def test_lock_that_readers_hold():
    """No thread is named: the lock counts its readers."""
    with whom('write') as (_, waiter, _, address):
        row = waits_of(waiter)
        assert row['waits for'] == f'the lock at {address:#x}, held by 1 reader'
        assert row['other pid'] is None


@pytest.mark.parametrize('kind', FILES + CHILDREN + ['join', 'flock', 'fcntl'])
def test_other_end(kind):
    with whom(kind) as (_, waiter, other, _):
        row = waits_of(waiter)
        name = 'holder' if kind == 'join' else 'other end'
        assert re.match(WORDS[kind], row['waits for']), row
        assert f'{name} ({other})' in row['waits for'], row
        assert row['other pid'] == other and 'other process' not in row['waits for']


# By the kind of tests/workloads/ends.c: what the process waits for, of {child} and its {number}.
ENDS = {
    'ofd': r'the lock of file /tmp/ends\.\w+ \(deleted\), held by other end \({child}\)',
    'bytes': r'the lock of file /tmp/ends\.\w+ \(deleted\), held by other end \({child}\)',
    'inherited': r'the lock of file /tmp/ends\.\w+ \(deleted\), held by other end \({child}\)',
    'lease': r'the lock of file /tmp/ends\.\w+, held by other end \({child}\)',
    'semaphore': r'semaphore 1 of set {number}, last changed by other end \({child}\)',
    'zero': r'semaphore 0 of set {number}',
    'send': r'room in message queue {number}, last read by other end \({child}\)',
    'receive': r'data in message queue {number}, last written by other end \({child}\)',
    'queue': r'room in the message queue /ends\.\d+ \(deleted\), read by other end \({child}\)',
    'shared': r'another process to signal the condition at 0x[0-9a-f]+, in memory that is shared '
              r'with other end \({child}\)',
    'eventfd': r'an event of an eventfd, signalled by other end \({child}\)',
    'own-eventfd': 'an event of an eventfd',
    'pidfd': r'the end of other end \({child}\)',
    'epoll': r'data of a UNIX socket, written by other end \({child}\)',
    'nested-epoll': r'data of a UNIX socket, written by other end \({child}\)',
    'epoll-and-own': r'data of a UNIX socket, written by other end \({child}\)',
    'own-epoll': 'an event of epoll',
    'vmsplice': r'room in pipe:\[\d+\], read by other end \({child}\)',
    'tee': r'data of pipe:\[\d+\], written by other end \({child}\)',
    'full-tee': r'room in pipe:\[\d+\], read by other end \({child}\)',
    'preadv2': r'data of pipe:\[\d+\], written by other end \({child}\)',
    'terminal': r'room in the terminal /dev/pts/\d+, read by other end \({child}\)',
    'fifo': r'another process to open /tmp/ends\.\d+ for reading',
    'full-connection': r'room in the connection with 127\.0\.0\.1:{number} \(zero window\), '
                       r'read by other end \({child}\)',
    'backlog': r'the connection to 127\.0\.0\.1:{number} \(SYN sent, \d+ retransmissions?\), to be '
               r'accepted by other end \({child}\)',
    'inotify': 'an event of inotify',
    'io_uring': 'an event of io_uring',
    'ring-pipe': r'data of pipe:\[\d+\], written by other end \({child}\)',
    'ring-pipes': 'an event of io_uring',
    'aio': 'an event of asynchronous I/O',
    'two-pipes': r'an event of several files, signalled by other end \({child}\)',
    'own-pipe': 'a time to pass',
    'and-own-pipe': r'data of pipe:\[\d+\], written by other end \({child}\)',
    'local-backlog': r'the connection to @ends\.{number}, to be accepted by other end '
                     r'\({child}\)',
    'local-address': r'room in a UNIX socket @ends\.{number}, read by other end \({child}\)',
    'seccomp': r'an answer to its system call \(seccomp\), served by other end \({child}\)',
    'fanotify': r'permission to open /tmp/ends\.\w+ \(fanotify\), served by other end '
                r'\({child}\)',
}


@contextlib.contextmanager
def end(kind):
    """The process that waits, its child, and the number of what it waits for."""
    with subprocess.Popen([workload('ends'), kind], stdout=subprocess.PIPE, text=True) as program:
        try:
            words = program.stdout.readline().split()
            if not words:
                pytest.skip(f'the kernel does not let programs use {kind}')
            yield program.pid, int(words[0]), int(words[1])
        finally:
            program.kill()


@pytest.mark.usefixtures('root')
@pytest.mark.parametrize('kind', ENDS)
def test_end_of_a_wait(kind):
    with end(kind) as (pid, child, number):
        words = ENDS[kind].format(child=child, number=number)
        row = {}

        def is_told():  # some waits are looked at again by the kernel at each tick
            row.update(waits_of(pid))
            return re.fullmatch(words, row['waits for'])

        wait_until(is_told, f'{pid} to wait for {words}')
        assert row['other pid'] == (child if '{child}' in ENDS[kind] else None)


@pytest.mark.usefixtures('root')
def test_mutex_that_was_held_at_a_fork():
    """The child has a copy of the mutex, and no copy of the thread that holds it."""
    with end('forked') as (pid, child, holder):
        wait_until(lambda: 'futex' in wchan(child), 'the child to wait')
        waits = waits_of(child)['waits for']
        assert re.fullmatch(rf'the lock at 0x[0-9a-f]+, held at the fork by holder \({holder}\) '
                            'of the parent process: nobody can unlock it', waits), waits
        found, report = findings('-p', pid, '-d', '1200ms')
    assert found[0]['finding'] == 'stuck' and waits in found[0]['evidence'], report


HUNG = ', but all threads of the process wait for each other'


@pytest.mark.usefixtures('root')
@pytest.mark.parametrize('kind', ['hang', 'hang-handler', 'hang-time'])
def test_threads_that_wait_for_each_other(kind):
    """Nobody else can signal the condition, unless a handler of a signal or a time ends it."""
    with end(kind) as (pid, _, _):
        def sleeper():
            tids = [int(tid) for tid in os.listdir(f'/proc/{pid}/task')]
            return max(tids) != pid and 'futex' in wchan(max(tids)) and max(tids)

        wait_until(lambda: sleeper() and 'futex' in wchan(pid), 'the threads to wait')
        rows, report = open_waits('offcpu', '-p', pid, '-d', '100ms')
        waits = rows[sleeper()]['waits for']
        assert waits.startswith('another thread to signal the condition at 0x'), report
        assert waits.endswith(HUNG) == (kind == 'hang'), report
        found, report = findings('-p', pid, '-d', '1200ms')
    assert any(f['finding'] == 'stuck' and f['evidence'].endswith(HUNG)
               for f in found) == (kind == 'hang'), report


@pytest.mark.usefixtures('root')
def test_connection_that_is_closed():
    """Its descriptor is free already. The thread is not stopped, which would end the call."""
    with end('linger') as (pid, child, port):
        wait_until(lambda: wchan(pid) in ('wait_woken', 'sk_stream_wait_close'), 'the wait')
        shown = run('stack', '-p', pid)
        assert 'its close() waits' in shown.stdout or ' close+0x' in shown.stdout, shown
        rows, report = open_waits('offcpu', '-p', pid, '-d', '100ms')
    assert rows[pid]['waits for'] == (
        f'data of the connection with 127.0.0.1:{port}, which it closes, to be acknowledged '
        f'(SO_LINGER), read by other end ({child})'), report


@pytest.mark.usefixtures('root')
def test_several_connections_that_are_closed():
    """Which of them each process closes is unknown."""
    with end('linger') as (pid, _, _), end('linger') as (other, _, _):
        wait_until(lambda: {wchan(pid), wchan(other)} <= {'wait_woken', 'sk_stream_wait_close'},
                   'the waits')
        rows, report = open_waits('offcpu', '-p', pid, '-d', '100ms')
    assert rows[pid]['waits for'] == (
        'data of a connection that it closes to be acknowledged (SO_LINGER)'), report


@pytest.mark.usefixtures('root')
@pytest.mark.parametrize('kind', ['vmsplice', 'tee'])
def test_wait_for_a_pipe_of_other_calls(kind):
    with end(kind) as (pid, _, _):
        found = scripts.report('wall', '-p', pid, '-d', '200ms')
    row, = [row for row in scripts.rows(found, 'threads') if row['tid'] == pid]
    assert row['peer'] == 100, row


@pytest.mark.usefixtures('root')
def test_wait_for_asynchronous_io_is_none_for_a_disk():
    with end('aio') as (pid, _, _):
        found = scripts.report('wall', '-p', pid, '-d', '200ms')
        row, = scripts.rows(found, 'threads')
    assert row['work'] == 100, row


@pytest.mark.usefixtures('root')
@pytest.mark.parametrize('name', ['mount', 'm' * 40 + 'ü' * 60])
def test_file_system_that_is_frozen(tmp_path, name):
    """One thread writes to it, another one waits for this thread, to execute a program."""
    if not has('fsfreeze') or not has('mkfs.ext4') or not Path('/dev/loop-control').exists():
        pytest.skip('no fsfreeze, mkfs.ext4 or loop devices')
    image, mount = tmp_path / 'image', tmp_path / name
    mount.mkdir()
    with open(image, 'wb') as file:
        file.truncate(8 << 20)
    subprocess.run(['mkfs.ext4', '-q', image], check=True)
    if subprocess.run(['mount', '-o', 'loop', image, mount], check=False).returncode:
        pytest.skip('loop devices cannot be mounted')
    with contextlib.ExitStack() as stack:
        stack.callback(subprocess.run, ['umount', '--lazy', mount], check=True)
        program = stack.enter_context(subprocess.Popen(
            [workload('ends'), 'frozen'], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            cwd=mount))
        stack.callback(program.kill)
        program.stdout.readline()
        subprocess.run(['fsfreeze', '--freeze', mount], check=True)
        stack.callback(subprocess.run, ['fsfreeze', '--unfreeze', mount], check=True)
        program.stdin.write(b'x')
        program.stdin.flush()

        def writer():
            tids = [int(tid) for tid in os.listdir(f'/proc/{program.pid}/task')]
            return max(tids) != program.pid and state(max(tids)) == 'D' and max(tids)

        wait_until(writer, 'the thread to write')
        program.stdin.write(b'x')
        program.stdin.flush()
        wait_until(lambda: state(program.pid) == 'D', 'the program to execute another one')
        text = f'the file system {mount} (ext4), which is frozen (fsfreeze)'
        first, dots, last = waits_of(writer())['waits for'].partition('...')
        if len(text.encode()) < 128:
            assert first == text
        else:
            assert dots and text.startswith(first) and text.endswith(last)
            assert len(first.encode()) > 50 and len(last.encode()) > 50
        assert waits_of(program.pid)['waits for'] == (
            f'the end of writer ({writer()}), which is in uninterruptible sleep')
        found, report = findings('-p', program.pid, '-d', '1200ms')
    assert found[0]['finding'] == 'stuck', report
    assert str(mount)[:40] in found[0]['evidence'], report
    lock, = [f for f in found if f['finding'] == 'lock']
    assert lock['command'].startswith('attar offcpu '), 'it shows such waits'


@pytest.mark.usefixtures('root')
def test_page_that_a_program_provides():
    """The faults that wait are counted for each userfaultfd(2); another one has none."""
    with end('inotify'), end('fault') as (pid, _, _):
        def faulter():
            tids = [int(tid) for tid in os.listdir(f'/proc/{pid}/task') if int(tid) != pid]
            return tids and wchan(tids[0]) == 'handle_userfault' and tids[0]

        wait_until(faulter, 'the page fault')
        assert waits_of(faulter())['waits for'] == (
            f'a page of memory (userfaultfd), served by waiter ({pid})')


@pytest.mark.usefixtures('root')
def test_overview_names_the_debugger():
    attach, detach = 16, 17
    libc = ctypes.CDLL(None)
    with subprocess.Popen(['/usr/bin/yes'], stdout=subprocess.DEVNULL) as program:
        try:
            assert libc.ptrace(attach, program.pid, None, None) == 0
            wait_until(lambda: state(program.pid) == 't', 'the program to stop')
            found = scripts.report('overview', '-p', program.pid, '-d', '1s')
        finally:
            libc.ptrace(detach, program.pid, None, None)
            program.kill()
    row, = [r for r in scripts.rows(found, 'findings') if r['finding'] == 'other waits']
    assert f'; now yes ({program.pid}) waits for its debugger ' in row['values']['evidence'], row
    assert f'({os.getpid()})' in row['values']['evidence']


@pytest.mark.usefixtures('root')
def test_control_group_that_is_frozen():
    """Nobody but who has frozen it can let it go on."""
    group = Path('/sys/fs/cgroup/freezer') / f'attar-{os.getpid()}'
    if not group.parent.is_dir():
        pytest.skip('no freezer of version 1')
    group.mkdir()
    with subprocess.Popen(['/usr/bin/yes'], stdout=subprocess.DEVNULL) as program:
        try:
            (group / 'cgroup.procs').write_text(str(program.pid), encoding='utf-8')
            (group / 'freezer.state').write_text('FROZEN', encoding='utf-8')
            wait_until(lambda: wchan(program.pid) == '__refrigerator', 'the group to freeze')
            found = scripts.report('offcpu', '-p', program.pid, '-d', '100ms')
            row, = scripts.rows(found, 'waits that have not ended')
            assert row['waits for'] == f'the control group /{group.name} to be thawed'
            found = scripts.report('overview', '-p', program.pid, '-d', '1s')
            row, = [r for r in scripts.rows(found, 'findings') if r['finding'] == 'other waits']
            assert (f'; now yes ({program.pid}) waits for the control group /'
                    in row['values']['evidence'])
        finally:
            (group / 'freezer.state').write_text('THAWED', encoding='utf-8')
            program.kill()
            program.wait()
    wait_until(lambda: not (group / 'cgroup.procs').read_text(encoding='utf-8'), 'its end')
    group.rmdir()


@pytest.mark.usefixtures('root')
def test_file_of_another_kind():
    """A device that is no pipe, socket or terminal has its path."""
    program = ('import os\nf = os.open("/dev/kmsg", os.O_RDONLY)\nos.lseek(f, 0, os.SEEK_END)\n'
               'print("ready", flush=True)\nwhile True: os.read(f, 8192)')
    with subprocess.Popen(['/usr/bin/python3', '-I', '-S', '-c', program],
                          stdout=subprocess.PIPE) as reader:
        try:
            reader.stdout.readline()
            wait_until(lambda: state(reader.pid) == 'S', 'the program to wait')
            assert waits_of(reader.pid)['waits for'] == 'data of /dev/kmsg'
        finally:
            reader.kill()


def test_locks_of_several_files():
    """Each waiter has the holder of its own file."""
    with whom('flock') as first, whom('fcntl') as second, whom('flock') as third:
        for _, waiter, other, _ in (first, second, third):
            assert waits_of(waiter)['other pid'] == other


@pytest.mark.parametrize('kind', IDLE)
def test_waits_for_nobody(kind):
    with whom(kind) as (_, waiter, _, _):
        row = waits_of(waiter)
        assert row['waits for'] == IDLE[kind]
        assert row['other pid'] is None


@pytest.mark.parametrize('kind', ['condition', 'semaphore'])
def test_condition_has_no_holder(kind):
    """Nor is a semaphore a lock, whatever the memory beside it looks like."""
    with whom(kind) as (_, waiter, _, _):
        row = waits_of(waiter)
        assert row['waits for'].startswith('another thread to signal the condition at 0x')
        assert row['other pid'] is None


def test_datagrams():
    with whom('udp') as (_, waiter, *_):
        assert re.fullmatch(r'datagrams at port \d+', waits_of(waiter)['waits for'])


@pytest.mark.parametrize('kind, words', [('sleep', 'a time to pass'),
                                         ('timed', 'the lock at {:#x}, held by holder ({})')])
def test_calls_that_are_restarted(kind, words):
    """After SIGSTOP and SIGCONT, and when attar has copied the stack: restart_syscall(2)."""
    with whom(kind) as (program, waiter, other, address):
        os.kill(program.pid, signal.SIGSTOP)
        wait_until(lambda: state(waiter) == 'T', 'the program to stop')
        os.kill(program.pid, signal.SIGCONT)
        wait_until(lambda: state(waiter) == 'S', 'the thread to wait')
        for _ in range(2):
            assert waits_of(waiter)['waits for'] == words.format(address, other)
        if kind == 'sleep':
            found = scripts.report('wall', '-p', program.pid, '-d', '200ms')
            row, = [r for r in scripts.rows(found, 'threads') if r['tid'] == waiter]
            assert row['sleep'] == 100


def test_parent_of_vfork():
    """It does not stop for its stack to be copied; what it waits for is known."""
    with whom('vfork') as (program, waiter, _, _):
        done = run('stack', '-t', waiter)
        with open(f'/proc/{program.pid}/task/{waiter}/children', encoding='utf-8') as file:
            child = int(file.read().split()[-1])
        assert waits_of(waiter)['end'] == 'not copied'
        assert done.returncode == 0, done.stderr
        assert f'  waits for the end of waiter ({child})' in done.stdout
        assert '  ... no stack: ' in done.stdout
        os.kill(child, signal.SIGKILL)


def test_state_of_the_holder():
    with whom('shared') as (_, waiter, other, _):
        os.kill(other, signal.SIGSTOP)
        wait_until(lambda: state(other) == 'T', 'the holder to stop')
        assert waits_of(waiter)['waits for'].endswith(f'held by other end ({other}), '
                                                      'which is stopped')


def test_numbers_of_another_pid_namespace():
    """The owner's number in the lock is one of the namespace of the program."""
    with whom('mutex', prefix=['unshare', '--pid', '--fork', '--kill-child']) as (program, *_):
        child = int(open(f'/proc/{program.pid}/task/{program.pid}/children',
                         encoding='utf-8').read())
        rows = json.loads(run('stack', '-p', child, '--json').stdout)['sections'][0]
        names = [c['name'] for c in rows['columns']]
        threads = {row[names.index('comm')]: dict(zip(names, row)) for row in rows['rows']}
        assert threads['waiter']['other tid'] == threads['holder']['tid']


def children_of(pid):
    with open(f'/proc/{pid}/task/{pid}/children', encoding='utf-8') as file:
        return [int(child) for child in file.read().split()]


def test_child_of_another_pid_namespace():
    """The number in the call is another process in the namespace of attar."""
    with whom('child', prefix=['unshare', '--pid', '--fork', '--kill-child']) as (program, *_):
        parent = children_of(program.pid)[0]
        child, = children_of(parent)
        rows = json.loads(run('stack', '-p', parent, '--json').stdout)['sections'][0]
        names = [c['name'] for c in rows['columns']]
        others = {row[names.index('comm')]: row[names.index('other pid')] for row in rows['rows']}
        assert others['waiter'] == child


OWN_PIPE = '''
import os, signal, sys, threading, time
ends = os.pipe()
signal.signal(signal.SIGINT, signal.SIG_DFL)
if sys.argv[1] == 'handler':
    signal.signal(signal.SIGCHLD, lambda *_: os.write(ends[1], b'x'))
if sys.argv[1] == 'threads':
    threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
print('ready', flush=True)
os.read(ends[0], 1)
'''


@pytest.mark.usefixtures('root')
@pytest.mark.parametrize('kind', ['alone', 'threads', 'handler'])
def test_pipe_of_the_own_process(kind):
    """Another thread may write, or the handler of a signal; without one, nobody can."""
    with subprocess.Popen(['/usr/bin/python3', '-I', '-S', '-c', OWN_PIPE, kind],
                          stdout=subprocess.PIPE) as program:
        try:
            program.stdout.readline()
            wait_until(lambda: state(program.pid) == 'S', 'the program to read')
            rows, _ = open_waits('offcpu', '-p', program.pid, '-d', '100ms')
        finally:
            program.kill()
    row = rows[program.pid]
    assert row['waits for'].endswith(f'written by python3 ({program.pid})')
    assert ('deadlock' in row['in the end']) == (kind == 'alone'), row


OWN_SOCKET = '''
import socket, threading, time
ends = socket.socketpair()
threading.Thread(target=lambda: ends[0].recv(1), daemon=True).start()
time.sleep(1000)
'''


@pytest.mark.usefixtures('root')
def test_socket_of_the_own_process():
    """What the main thread waits for is not what the thread waits for in the end."""
    with subprocess.Popen(['/usr/bin/python3', '-I', '-S', '-c', OWN_SOCKET]) as program:
        def reader():
            tids = [int(tid) for tid in os.listdir(f'/proc/{program.pid}/task')]
            return max(tids) != program.pid and 'unix' in wchan(max(tids)) and max(tids)

        try:
            wait_until(reader, 'the thread to read')
            wait_until(lambda: 'nanosleep' in wchan(program.pid), 'the program to sleep')
            rows, _ = open_waits('offcpu', '-p', program.pid, '-d', '100ms')
            row = rows[reader()]
        finally:
            program.kill()
    assert row['waits for'].endswith(f'written by python3 ({program.pid})')
    assert not row['in the end'], row


RUNTIMES = {
    'python3': (['/usr/bin/python3', '-I', '-S'], 'x.py', '''
import sys, threading
sys.setswitchinterval(1000)
def spin():
    while True: pass
for _ in range(3): threading.Thread(target=spin, daemon=True).start()
spin()
'''),
    'ruby': (['ruby'], 'x.rb', '3.times { Thread.new { loop {} } }\nloop {}\n'),
    'java': (['java', '-Xint'], 'X.java', '''
public class X {
    public static void main(String[] args) {
        Object lock = new Object();
        synchronized (lock) {
            for (int i = 0; i < 3; i++)
                new Thread(() -> { synchronized (lock) { } }, "blocked").start();
            for (long n = 0; ; n++) { }
        }
    }
}
'''),
}


@pytest.mark.usefixtures('root')
@pytest.mark.parametrize('runtime', RUNTIMES)
def test_threads_of_a_runtime_wait_for_another_one(runtime, tmp_path):
    """For the global lock of the interpreter, or a monitor, while the holder runs."""
    command, name, text = RUNTIMES[runtime]
    if not has(command[0]):
        pytest.skip(f'{command[0]} is not installed')
    (tmp_path / name).write_text(text)
    with subprocess.Popen([*command, tmp_path / name], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as program:
        def found():
            rows, _ = open_waits('task-state', '-p', program.pid, '-d', '100ms')
            waits = ' '.join(row['waits for'] for row in rows.values())
            runs = re.search(r'signal the condition at 0x\w+, while \S.*? \((\d+)\)'
                             r'( and \d other threads?)? runs?\b', waits)
            return runs and os.path.exists(f'/proc/{program.pid}/task/{runs[1]}')
        try:
            wait_until(found, 'threads that wait while another one runs')
        finally:
            program.kill()


@contextlib.contextmanager
def silent_mount(directory):
    """A FUSE file system whose server answers no read."""
    directory.mkdir()
    with subprocess.Popen(['/usr/bin/python3', Path(__file__).with_name('silent_fuse.py'),
                           directory, str(os.geteuid())], stdout=subprocess.PIPE) as server:
        try:
            assert server.stdout.readline(), 'the file system is not mounted'
            yield server
        finally:
            server.kill()
            server.wait()
            subprocess.run(['umount', '-l', directory], check=False)


@pytest.mark.usefixtures('root')
@pytest.mark.skipif(not os.path.exists('/dev/fuse'), reason='the kernel has no FUSE')
def test_servers_of_file_systems(tmp_path):
    """Each of two readers waits for the server of its own file system, which waits for requests."""
    with contextlib.ExitStack() as stack:
        mounts = [(tmp_path / name, stack.enter_context(silent_mount(tmp_path / name)))
                  for name in ('one', 'two')]
        readers = [stack.enter_context(subprocess.Popen(['cat', path / 'file'],
                                                        stderr=subprocess.DEVNULL))
                   for path, _ in mounts]
        stack.callback(lambda: [server.kill() for _, server in mounts])
        for (path, server), reader in zip(mounts, readers):
            wchan = Path(f'/proc/{reader.pid}/wchan')
            wait_until(lambda: 'request_wait' in wchan.read_text(), 'the program to read')
            row = waits_of(reader.pid)
            server_of = f'the file system {path} (fuse), served by python3 '
            assert row['waits for'].startswith(server_of), row
            with open(f'/proc/{server.pid}/fdinfo/3', encoding='utf-8') as file:
                if 'fuse_connection' in file.read():
                    assert row['waits for'] == f'{server_of}({server.pid})'
            assert waits_of(server.pid)['waits for'].startswith('a request to the file system')
        rows, _ = open_waits('offcpu', '-a', '-d', '100ms')
        assert rows[readers[0].pid]['waits for'].startswith(f'the file system {tmp_path}/one')


# ---- profilers: waits that have not ended ----

OPEN = 'waits that have not ended'
WATCHED = 500_000_000
HAS_STARTS = os.path.exists('/proc/self/sched')


def open_waits(*args):
    """The rows of the table by thread, and the report."""
    done = run(*args, '--format', 'json')
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout.splitlines()[-1])
    rows = {}
    for section in report['sections']:
        if section['name'] == OPEN:
            names = [c['name'] for c in section['columns']]
            rows = {row[names.index('tid')]: dict(zip(names, row)) for row in section['rows']}
    return rows, report


@pytest.mark.usefixtures('root')
@pytest.mark.parametrize('profiler', ['locks', 'offcpu', 'task-state', 'wall'])
def test_wait_that_outlasts_the_watch(profiler):
    """It began before and does not end: its row has a bound, the holder and what that waits for."""
    with whom('shared') as (program, waiter, other, _):
        rows, report = open_waits(profiler, '-p', program.pid, '-d', '500ms')
    assert_shared(rows, waiter, other)
    assert_remark(report)


def assert_shared(rows, waiter, other):
    row = rows[waiter]
    assert row['comm'] == 'waiter' and row['threads'] == 1
    assert row['at least'] >= WATCHED
    assert row['waits for'].endswith(f'held by other end ({other})')
    assert row['in the end'] == f'other end ({other}) waits for a signal'


def assert_remark(report):
    """The length is a bound where the kernel does not say when the wait began."""
    assert HAS_STARTS or has_bounds(report), report


def has_bounds(report):
    """On a busy machine, a CPU may not say in time by how much its clock is behind."""
    return any('began before the measurement' in r for r in report.get('remarks', []))


SLEEPER = '''
import os, sys, time
if sys.argv[1] != 'any':
    os.sched_setaffinity(0, [int(sys.argv[1])])
print(time.monotonic_ns(), flush=True)
time.sleep(100)
'''


@pytest.mark.usefixtures('root')
@pytest.mark.skipif(not HAS_STARTS, reason='the kernel has no /proc/TID/sched')
@pytest.mark.parametrize('prefix', [[], ['unshare', '--pid', '--fork', '--kill-child']])
@pytest.mark.parametrize('cpu', ['any', *sorted(os.sched_getaffinity(0))[:4]])
def test_start_of_a_wait_before_the_watch(cpu, prefix):
    """As the program knows it, but for what interrupts and the hypervisor took."""
    with subprocess.Popen([*prefix, '/usr/bin/python3', '-I', '-S', '-c', SLEEPER, str(cpu)],
                          stdout=subprocess.PIPE) as program:
        try:
            began = int(program.stdout.readline())
            pid = children_of(program.pid)[0] if prefix else program.pid
            wait_until(lambda: state(pid) == 'S', 'the program to sleep')
            asleep = time.monotonic_ns()
            wait_until(lambda: time.monotonic_ns() > began + 1_000_000_000, 'a second to pass')
            for _ in range(5):
                before = time.monotonic_ns()
                rows, report = open_waits('task-state', '-p', pid, '-d', '100ms')
                after = time.monotonic_ns()
                if not has_bounds(report):
                    break
        finally:
            program.kill()
    length = rows[pid]['at least']
    assert (before + 100_000_000 - asleep) * 0.98 < length < after - began, report
    assert not has_bounds(report)


RECORDED = ['sched:sched_switch', 'sched:sched_wakeup', 'sched:sched_wakeup_new',
            'sched:sched_waking', 'syscalls:sys_enter_futex', 'syscalls:sys_exit_futex',
            'cpu-clock']


@pytest.fixture(name='recorded', scope='module',
                params=[('process', []), ('system', []), ('process', ['-z']), ('pipe', [])],
                ids=['process', 'system', 'compressed', 'pipe'])
def fixture_recorded(request, tmp_path_factory):
    """A recording of a wait that outlasts it: its file, waiter, other end, process, time, kind."""
    kind, options = request.param
    path = tmp_path_factory.mktemp('recorded') / 'x.data'
    with whom('shared') as (program, waiter, other, _):
        asleep = time.monotonic_ns()
        selected = ['-a'] if kind == 'system' else ['-p', program.pid]
        for _ in range(5):
            warnings = record(path, '-d', '500ms', *selected, *options, is_pipe=kind == 'pipe')
            warnings += run('task-state', '--input', path).stdout
            if 'were not read' not in warnings and 'cannot be read' not in warnings:
                break
        else:
            pytest.skip('other programs of this machine take the time to read their waits')
        return path, waiter, other, program.pid, time.monotonic_ns() - asleep, kind


def record(path, *args, is_pipe=False):
    with open(path, 'wb') as file:
        done = run('record', '-q', '-g', '-e', ','.join(RECORDED), *args, '-o',
                   '-' if is_pipe else path, stdout=file, stderr=subprocess.PIPE)
    assert done.returncode == 0, done.stderr
    return done.stderr


@pytest.mark.usefixtures('root')
@pytest.mark.parametrize('profiler', ['locks', 'offcpu', 'task-state', 'wall'])
def test_wait_in_a_recording(profiler, recorded):
    """As live, of the process that was recorded or is selected, after it has gone."""
    path, waiter, other, pid, length, _ = recorded
    rows, report = open_waits(profiler, '--input', path, '-p', pid)
    assert_shared(rows, waiter, other)
    assert rows[waiter]['at least'] <= length
    assert_remark(report)


@pytest.mark.usefixtures('root')
@pytest.mark.skipif(not HAS_STARTS, reason='the kernel has no /proc/TID/sched')
@pytest.mark.parametrize('profiler', ['locks', 'offcpu', 'task-state', 'wall'])
def test_wait_that_outlasts_a_range(profiler, recorded):
    """It had not ended at the end of the range, 0.2 s before the last event, either."""
    path, waiter, other, pid, _, kind = recorded
    if kind != 'system': # all threads wait: there are no events
        done = run(profiler, '--input', path, '--to=-200ms')
        assert done.returncode == 2 and 'has no events, and so no times' in done.stderr
        return
    whole, _ = open_waits(profiler, '--input', path, '-p', pid)
    rows, _ = open_waits(profiler, '--input', path, '-p', pid, '--to=-200ms')
    assert rows.keys() == whole.keys()
    for name in 'comm', 'threads', 'waits for', 'in the end':
        assert rows[waiter][name] == whole[waiter][name]
    assert 0 < rows[waiter]['at least'] <= whole[waiter]['at least'] - 200_000_000
    rows, _ = open_waits(profiler, '--input', path, '-p', pid, '--from', '0.1')
    assert rows[waiter]['at least'] == whole[waiter]['at least']


FORMER = 'waits that began before and have ended'
# A thread reads a pipe, until another one writes to it after a byte of input.
READER = '''
import os, sys, threading
ends = os.pipe()
thread = threading.Thread(target=os.read, args=(ends[0], 1))
thread.start()
print(thread.native_id, flush=True)
sys.stdin.read(1)
os.write(ends[1], b"x")
thread.join()
print(flush=True)
sys.stdin.read()
'''


@pytest.mark.usefixtures('root')
@pytest.mark.parametrize('profiler', ['offcpu', 'task-state', 'wall'])
def test_wait_that_ends_in_a_recording(profiler, tmp_path):
    """With its true start, and whom it waited for, which no event of the recording has."""
    path = tmp_path / 'x.data'
    before = time.monotonic_ns()
    with subprocess.Popen([sys.executable, '-I', '-S', '-c', READER], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True, bufsize=1) as program:
        waiter = int(program.stdout.readline())
        wait_until(lambda: 'pipe' in wchan(waiter), 'the thread to wait')
        asleep = time.monotonic_ns()
        with subprocess.Popen([ATTAR, 'record', '-q', '-g', '-e', ','.join(RECORDED), '-o', path,
                               '-p', str(program.pid)]) as recording:
            wait_until(lambda: is_waiting(recording), 'the recording to begin')
            began = time.monotonic_ns()
            wait_until(lambda: time.monotonic_ns() > began + 300_000_000, 'some time to pass')
            shortest = time.monotonic_ns() - asleep
            program.stdin.write('x')
            program.stdin.flush()
            program.stdout.readline()
            longest = time.monotonic_ns() - before
            recording.send_signal(signal.SIGINT)
            recording.wait()
        program.stdin.close()
    found = scripts.report(profiler, '--rows', 0, '--input', path)
    row, = [r for r in scripts.rows(found, FORMER) if r['tid'] == waiter]
    assert re.fullmatch(r'data of pipe:\[\d+\], written by \S+ \(' + str(program.pid) + r'\)',
                        row['waits for']), row
    assert shortest * 0.98 <= row['time'] <= longest, (shortest, row, longest)
    assert waiter not in {
        r['tid'] for s in found['sections'] if s['name'] == 'waits that have not ended'
        for r in scripts.rows_of(s)}


def watch_end_of_wait(profiler):
    """The row of a thread whose wait ended in the watch, and how long it lasted; None: no row."""
    before = time.monotonic_ns()
    with subprocess.Popen([sys.executable, '-I', '-S', '-c', READER], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True, bufsize=1) as program:
        waiter = int(program.stdout.readline())
        wait_until(lambda: 'pipe' in wchan(waiter), 'the thread to wait')
        asleep = time.monotonic_ns()
        with subprocess.Popen([ATTAR, profiler, '-q', '--format', 'json', '--rows', '0', '-p',
                               str(program.pid)], stdout=subprocess.PIPE, text=True) as attar:
            wait_until(lambda: is_sampling(attar), 'the measurement to begin')
            began = time.monotonic_ns()
            wait_until(lambda: time.monotonic_ns() > began + 1_000_000_000, 'turns to pass')
            shortest = time.monotonic_ns() - asleep
            program.stdin.write('x')
            program.stdin.flush()
            program.stdout.readline()
            longest = time.monotonic_ns() - before
            attar.send_signal(signal.SIGINT)
            found = json.loads(attar.stdout.read().splitlines()[-1])
        program.stdin.close()
    former = [r for s in found['sections'] if s['name'] == FORMER for r in scripts.rows_of(s)
              if r['tid'] == waiter]
    return former[0] if former else None, shortest, longest


@pytest.mark.usefixtures('root')
@pytest.mark.parametrize('profiler', ['offcpu', 'task-state', 'wall'])
def test_wait_that_ends_in_the_watch(profiler):
    """The same live, unless its start is unknown, since the CPU does not answer in time."""
    for _ in range(5):
        row, shortest, longest = watch_end_of_wait(profiler)
        if row:
            break
    assert re.match(r'data of pipe:\[\d+\], written by ', row['waits for']), row
    assert shortest * 0.98 <= row['time'] <= longest, (shortest, row, longest)


# Waits for the lock of a file, which a child has, after a second.
LATER = '''
import fcntl, os, sys, tempfile, time
with tempfile.NamedTemporaryFile() as file:
    if not os.fork():
        with open(file.name) as other:
            fcntl.flock(other, fcntl.LOCK_EX)
            sys.stdin.read()
            os._exit(0)
    time.sleep(1)
    print(time.monotonic_ns(), flush=True)
    fcntl.flock(file, fcntl.LOCK_EX)
'''


@pytest.mark.usefixtures('root')
@pytest.mark.parametrize('profiler', ['locks', 'offcpu'])
def test_lock_of_a_file_that_is_waited_for_later(profiler):
    """Not since the start, although attar locks has no event of the thread."""
    with subprocess.Popen([sys.executable, '-I', '-S', '-c', LATER], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as program:
        rows, report = open_waits(profiler, '-p', program.pid, '-d', '2s', '--no-children')
        ended = time.monotonic_ns()
        longest = ended - int(program.stdout.readline())
        program.stdin.close()
    row = rows[program.pid]
    assert row['waits for'].startswith('the lock of file '), row
    assert row['at least'] is None or row['at least'] <= longest or has_bounds(report), report


@pytest.mark.usefixtures('root')
def test_waits_of_a_recorded_system(recorded):
    """Without -p, a recording of a process shows its idle threads, one of the system does not."""
    path, waiter, other, *_, kind = recorded
    rows, _ = open_waits('offcpu', '--input', path)
    assert_shared(rows, waiter, other)
    assert (other in rows) == (kind != 'system'), rows
    rows, _ = open_waits('offcpu', '--input', path, '-p', os.getpid(), '--no-children')
    assert waiter not in rows


@pytest.mark.usefixtures('root')
@pytest.mark.skipif(not has('perf'), reason='perf is not installed')
def test_perf_reads_a_recording_with_waits(recorded):
    path, *_, kind = recorded
    with open(path, 'rb') as file:
        done = subprocess.run(['perf', 'script', '-i', '-' if kind == 'pipe' else path],
                              stdin=file, capture_output=True, check=False)
    assert done.returncode == 0 and b'Error' not in done.stderr, done.stderr


@pytest.mark.usefixtures('root')
@pytest.mark.parametrize('profiler', ['locks', 'offcpu', 'task-state'])
def test_wait_that_begins_in_the_watch(profiler):
    """Its length is known from its start, if the kernel delivered the event."""
    read, write = os.pipe()
    with subprocess.Popen([ATTAR, profiler, '-d', '1s', '--format', 'json', '--',
                           workload('whom'), 'shared'], stdin=read, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as attar:
        out, err = attar.communicate()
    os.close(read)
    os.close(write)
    assert attar.returncode == 0, err
    waiter = int(re.search(r'^(\d+) \d+ 0x', out + err, re.M)[1])
    report = json.loads(out.splitlines()[-1])
    section, = [s for s in report['sections'] if s['name'] == OPEN]
    row, = [r for r in section['rows'] if r[1] == waiter]
    length = report['interval_ns']
    if row[3] is None:
        assert report['notes']['lost'] or report['notes']['missing'], report
    else:
        assert length - 500_000_000 < row[3] < length, report
    assert not any('began before' in remark for remark in report.get('remarks', []))


@pytest.mark.usefixtures('root')
def test_threads_that_wait_for_the_same_are_one_row():
    with whom('shared') as (program, *_), whom('sleep') as (sleeper, *_):
        rows, _ = open_waits('offcpu', '-p', f'{program.pid},{sleeper.pid}', '-d', '100ms')
        main = [r for r in rows.values() if r['comm'] == 'whom']
        assert sum(r['threads'] for r in main) == 2, rows


# Every other thread waits for the first lock, and for the second one, which share a slot.
TWO_LOCKS = """
import ctypes, threading
lock = ctypes.CDLL(None).pthread_mutex_lock
memory = ctypes.create_string_buffer(64 * 64)
def slot(i):  # of attar's table of what was read, see base_hash64()
    h = ctypes.addressof(memory) + 64 * i
    for factor in 0xff51afd7ed558ccd, 0xc4ceb9fe1a85ec53:
        h = (h ^ h >> 33) * factor % 2**64
    return (h ^ h >> 33) % 16
other = next(i for i in range(1, 64) if slot(i) == slot(0))
locks = [ctypes.byref(memory, 64 * i) for i in (0, other)]
for i in range(2):
    lock(locks[i])
for i in range(300):
    threading.Thread(target=lock, args=[locks[i % 2]]).start()
print('ready', flush=True)
"""

# Each thread waits for an object of its own, whose futex is 0.
OWN_LOCKS = """
import threading
locks = [threading.Lock() for _ in range(300)]
for lock in locks:
    lock.acquire()
    threading.Thread(target=lock.acquire).start()
print('ready', flush=True)
"""


@pytest.mark.usefixtures('root')
@pytest.mark.parametrize('text, least, most', [(TWO_LOCKS, 1, 30), (OWN_LOCKS, 0, 30)],
                         ids=['two', 'own'])
def test_memory_is_not_read_for_each_thread(text, least, most):
    """Once for those that wait for one lock, and not if the futex can be no lock."""
    with subprocess.Popen(['/usr/bin/python3', '-I', '-S', '-c', text],
                          stdout=subprocess.PIPE) as program:
        try:
            program.stdout.readline()
            found = scripts.report('stat', '-e', 'syscalls:sys_enter_process_vm_readv', '--',
                                   ATTAR, 'offcpu', '-q', '-d', '100ms', '-p', program.pid)
        finally:
            program.kill()
    reads, = (row['value'] for row in scripts.rows(found, 'counts'))
    assert least <= reads < most


NAPPERS = """
import os, sys, threading
reader, writer = os.pipe()
threads = [threading.Thread(target=os.read, args=[reader, 1]) for _ in range(40)]
for thread in threads:
    thread.start()
print(threads[-1].native_id, flush=True)
sys.stdin.readline()
os.write(writer, b'x' * 40)
for thread in threads:
    thread.join()
print('ended', flush=True)
sys.stdin.read()
"""


@pytest.mark.usefixtures('root')
def test_many_threads_whose_wait_ends():
    """All of them are counted, and the time is the time of the longest one."""
    with subprocess.Popen([sys.executable, '-I', '-S', '-c', NAPPERS], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True, bufsize=1) as program:
        last = int(program.stdout.readline())
        wait_until(lambda: 'pipe' in wchan(last), 'the threads to wait')
        asleep = time.monotonic_ns()
        with subprocess.Popen([ATTAR, 'task-state', '-q', '--format', 'json', '--rows', '0', '-p',
                               str(program.pid)], stdout=subprocess.PIPE, text=True) as attar:
            wait_until(lambda: is_sampling(attar), 'the measurement to begin')
            began = time.monotonic_ns()
            wait_until(lambda: time.monotonic_ns() > began + 1_000_000_000, 'turns to pass')
            shortest = time.monotonic_ns() - asleep
            program.stdin.write('\n')
            program.stdout.readline()
            attar.send_signal(signal.SIGINT)
            found = json.loads(attar.stdout.read().splitlines()[-1])
        program.stdin.close()
    if not scripts.lacks_events(found):
        row, = [r for r in scripts.rows(found, FORMER) if 'pipe' in r['waits for']]
        assert row['threads'] == 40
        assert row['time'] >= 0.98 * shortest or has_bounds(found)


@pytest.mark.usefixtures('root')
def test_files_that_are_read_for_each_thread():
    """A bound of the cost: eight; /proc/TID/sched takes as long as all of them, and is not read."""
    with subprocess.Popen([workload('naps'), '0', '0', '600'], stdout=subprocess.PIPE) as program:
        try:
            assert program.stdout.readline() == b'ready\n'
            found = scripts.report('stat', '-e', 'syscalls:sys_enter_openat', '-e',
                                   'syscalls:sys_enter_access', '--', ATTAR, 'task-state', '-q',
                                   '-p', program.pid, '-d', '100ms')
        finally:
            program.kill()
    opens, tests = (row['value'] for row in scripts.rows(found, 'counts'))
    assert 600 < opens < 8.5 * 600 and tests < 300, found


@pytest.mark.usefixtures('root')
def test_system_shows_no_thread_that_waits_for_work():
    """Nor one that waits for a child: shells do."""
    with whom('sleep') as (_, sleeper, *_), whom('shared') as (_, waiter, *_), \
            whom('child') as (_, parent, *_):
        rows, report = open_waits('offcpu', '-a', '-d', '100ms')
    assert waiter in rows and sleeper not in rows and parent not in rows, report
    assert not any(r['waits for'] in IDLE.values() for r in rows.values())
    assert any('wait for other programs or for their children' in r for r in report['remarks'])


@pytest.mark.usefixtures('root')
def test_holder_that_was_killed():
    """A lock between processes that is not robust stays locked for ever."""
    with whom('shared') as (program, waiter, other, _):
        os.kill(other, signal.SIGKILL)
        wait_until(lambda: state(other) == 'Z', 'the holder to end')
        rows, _ = open_waits('locks', '-p', program.pid, '-d', '100ms')
    assert rows[waiter]['waits for'].endswith(f'({other}), which has exited')
    assert rows[waiter]['in the end'] == ''


@pytest.mark.usefixtures('root')
def test_intervals_have_the_wait_each():
    with whom('shared') as (program, waiter, *_):
        done = run('locks', '-p', program.pid, '-i', '200ms', '-d', '600ms', '--format', 'json')
    lengths = [row[3] for line in done.stdout.splitlines() for s in json.loads(line)['sections']
               if s['name'] == OPEN for row in s['rows'] if row[1] == waiter]
    assert len(lengths) >= 3
    for i, length in enumerate(lengths[:3]):
        assert length >= 200_000_000 * (i + 1) - 50_000_000, lengths


# ---- overview ----


def findings(*args):
    """The findings of the report, with their values by name."""
    found = scripts.report('overview', *args)
    return [{**row, **row['values']} for row in scripts.rows(found, 'findings')], found


@pytest.mark.usefixtures('root')
@pytest.mark.parametrize('selection', ['process', 'system'])
def test_overview_names_who_holds_threads_up(selection):
    """First of all findings; the next command shows the thread and the holder."""
    with whom('shared') as (program, waiter, other, _):
        os.kill(other, signal.SIGSTOP)
        wait_until(lambda: state(other) == 'T', 'the holder to stop')
        selected = ['-p', program.pid] if selection == 'process' else ['-a']
        for _ in range(5):
            found, report = findings('-d', '1200ms', *selected)
            if not any('were not read' in r for r in report.get('remarks', [])):
                break
        first = found[0]
        assert first['finding'] == 'stuck', report
        if selection == 'system' and not first['evidence'].startswith('waiter '):
            pytest.skip(f'on this machine, {first["evidence"]}')
        assert first['evidence'].startswith(f'waiter ({waiter}) has waited for ')
        assert first['evidence'].endswith(f'held by other end ({other}), which is stopped')
        assert first['command'] == f'attar stack -p {program.pid}'
        done = run(*first['command'].split()[1:])
    assert f'held by other end ({other}), which is stopped\n' in done.stdout


@pytest.mark.usefixtures('root')
@pytest.mark.skipif(not HAS_STARTS, reason='the kernel has no /proc/TID/sched')
def test_overview_of_a_recording(tmp_path):
    """A wait of more than a second is found in a recording of less."""
    path = tmp_path / 'x.data'
    with whom('shared') as (program, waiter, other, _):
        began = time.monotonic_ns()
        wait_until(lambda: time.monotonic_ns() > began + 1_000_000_000, 'a second to pass')
        for _ in range(5):
            warnings = record(path, '-a', '-d', '200ms')
            found, report = findings('--input', path, '-p', program.pid)
            warnings += str(report.get('remarks'))
            if 'were not read' not in warnings and 'cannot be read' not in warnings:
                break
        else:
            pytest.skip('other programs of this machine take the time to read their waits')
    stuck = [f for f in found if f['finding'] == 'stuck']
    assert stuck, report
    assert re.match(rf'waiter \({waiter}\) has waited for \d\.\d s for the lock at \w+, held by '
                    rf'other end \({other}\)', stuck[0]['evidence'])
    assert not stuck[0].get('command')


@pytest.mark.usefixtures('root')
@pytest.mark.parametrize('kind', ['pipe', 'tcp'])
def test_peer_of_the_system_that_is_stopped(kind):
    """Waits for data are common, but not for data of a process that is stopped."""
    with whom(kind) as (_, waiter, other, _):
        os.kill(other, signal.SIGSTOP)
        wait_until(lambda: state(other) == 'T', 'the other end to stop')
        for _ in range(5):
            rows, report = open_waits('offcpu', '-a', '-d', '100ms')
            if not any('were not read' in r for r in report.get('remarks', [])):
                break
    assert rows[waiter]['waits for'].endswith(f'({other}), which is stopped'), report


@pytest.mark.usefixtures('root')
@pytest.mark.parametrize('kind', ['semaphore', 'send'])
def test_last_user_of_the_system_that_is_stopped(kind):
    with end(kind) as (pid, child, _):
        wait_until(lambda: re.search('do_semtimedop|do_msgsnd', wchan(pid)), 'the wait')
        os.kill(child, signal.SIGSTOP)
        wait_until(lambda: state(child) == 'T', 'the other end to stop')
        for _ in range(5):
            rows, report = open_waits('offcpu', '-a', '-d', '100ms')
            if not any('were not read' in r for r in report.get('remarks', [])):
                break
    assert rows[pid]['waits for'].endswith(f'({child}), which is stopped'), report


@pytest.mark.usefixtures('root')
def test_overview_names_a_deadlock():
    with whom('deadlock') as (program, waiter, holder, address):
        found, report = findings('-p', program.pid, '-d', '1200ms')
    first = found[0]
    assert first['finding'] == 'stuck' and first['evidence'].endswith(': a deadlock'), report
    assert found[0]['value'] == 2, 'threads'
    assert f'({holder})' in first['evidence'] and f'({waiter})' in first['evidence']
    assert f'{address:#x}' in first['evidence']


@pytest.mark.usefixtures('root')
@pytest.mark.parametrize('kind', ['sleep', 'accept', 'epoll', 'child', 'pipe', 'condition',
                                  'semaphore'])
def test_overview_of_programs_that_are_not_stuck(kind):
    with whom(kind) as (program, *_):
        found, report = findings('-p', program.pid, '-d', '1200ms')
    assert 'stuck' not in [f['finding'] for f in found], report
