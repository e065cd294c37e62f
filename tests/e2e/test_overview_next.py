# SPDX-License-Identifier: MIT
"""The command after `next:` of a finding answers on the incident that caused the finding."""
import contextlib
import json
import os
import shlex
import signal
import subprocess

import pytest

import scripts
from command import run, workload

pytestmark = [pytest.mark.exclusive, pytest.mark.usefixtures('root')]

SPIN = 'while True: pass'
READ = 'import os\nf = os.open("/dev/zero", os.O_RDONLY)\nwhile True: os.read(f, 1 << 20)'
FAULT = ('import mmap\nwhile True:\n m = mmap.mmap(-1, 64 << 20)\n'
         ' for i in range(0, 64 << 20, 4096): m[i] = 1\n m.close()')
FAIL = 'import os\nwhile True:\n try: os.rmdir("/nonexistent")\n except OSError: pass'
SYNC = ('import os\nf = os.open("sync.bin", os.O_RDWR | os.O_CREAT)\n'
        'while True:\n os.pwrite(f, b"x" * (8 << 20), 0)\n os.fdatasync(f)')
LOCK = ('import threading, ctypes, time\nlibc = ctypes.CDLL(None)\n'
        'm = ctypes.create_string_buffer(64)\n'
        'def work():\n while True:\n  libc.pthread_mutex_lock(m)\n  libc.usleep(2000)\n'
        '  libc.pthread_mutex_unlock(m)\n'
        'for _ in range(4): threading.Thread(target=work, daemon=True).start()\ntime.sleep(100)')
PEER = ('import os, time\nr, w = os.pipe()\n'
        'if os.fork():\n while True: os.read(r, 1)\n'
        'while True:\n time.sleep(0.02)\n os.write(w, b"x")')
SWITCH = ('import os\nr, w = os.pipe()\nr2, w2 = os.pipe()\n'
          'if os.fork():\n while True:\n  os.write(w, b"x")\n  os.read(r2, 1)\n'
          'while True:\n os.read(r, 1)\n os.write(w2, b"x")')
POOL = ('import threading, time\n'
        'def work(i):\n while True: time.sleep(0.05) if i else sum(range(1000))\n'
        'for i in range(6): threading.Thread(target=work, args=[i], daemon=True).start()\n'
        'time.sleep(100)')
STOP = 'import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)'
THREADS = [workload('queues'), '100', '1', '100000']
MAJOR = ('import mmap, os\nf = os.open("major.bin", os.O_RDWR | os.O_CREAT)\n'
         'os.truncate(f, 64 << 20)\nos.pwrite(f, os.urandom(64 << 20), 0)\nos.fsync(f)\n'
         'while True:\n os.posix_fadvise(f, 0, 0, os.POSIX_FADV_DONTNEED)\n'
         ' m = mmap.mmap(f, 64 << 20, mmap.MAP_SHARED, mmap.PROT_READ)\n'
         ' m.madvise(mmap.MADV_RANDOM)\n for i in range(0, 64 << 20, 4096): m[i]\n m.close()')
MOVE = 'import os\nwhile True:\n os.sched_setaffinity(0, [0])\n os.sched_setaffinity(0, [1])'

INCIDENTS = {
    'user code': SPIN, 'kernel': READ, 'page faults': FAULT, 'failing calls': FAIL, 'disk': SYNC,
    'lock': LOCK, 'other programs': PEER, 'run queue': SPIN,
    'context switches': SWITCH, 'migrations': MOVE, 'uneven threads': POOL, 'other waits': STOP,
    'CPU, too few samples': SPIN, 'many threads': THREADS, 'major faults': MAJOR,
}


@contextlib.contextmanager
def incident(name, folder):
    """Processes of one group, whose parent is yielded."""
    n = 4 * (os.cpu_count() or 1) if name == 'run queue' else 1
    program = INCIDENTS[name]
    if n > 1:
        program = f'import os\nfor _ in range({n - 1}):\n if not os.fork(): break\n{program}'
    if isinstance(program, str):
        program = ['/usr/bin/python3', '-I', '-S', '-c', program]
    with subprocess.Popen(program, cwd=folder, stdin=subprocess.PIPE,
                          start_new_session=True) as process:
        try:
            yield process
        finally:
            os.killpg(process.pid, signal.SIGKILL)


def finding_of(name, process):
    """The first finding with this name of up to five reports."""
    options = ['-F', '1'] if name == 'CPU, too few samples' else []
    for _ in range(5):
        found = scripts.report('overview', '-p', process.pid, '-d', '1s', '-m', 4096, *options)
        for row in scripts.rows(found, 'findings'):
            if row['finding'] == name:
                return row
    raise AssertionError(found)


def has_answer(report):
    """Whether a table, tree or histogram of the report has rows."""
    return any(s.get('rows') or s.get('buckets') for s in report['sections'])


@pytest.mark.parametrize('name', INCIDENTS)
def test_the_next_command_answers(name, tmp_path):
    if name == 'migrations' and os.cpu_count() == 1:
        pytest.skip('one CPU')
    with incident(name, tmp_path) as process:
        row = finding_of(name, process)
        command = shlex.split(row['values']['command'])
        tasks = os.listdir(f'/proc/{process.pid}/task')
        assert command[0] == 'attar' and set(tasks) & set(command), row
        # who has the CPUs instead
        assert (command[1] == 'blame') == (name == 'run queue'), row
        options = ['--json'] if command[1] == 'stack' else [
            '-d', '1s', '-m', 4096, '--format', 'json', '-q']
        done = run(*command[1:], *options)
    assert done.returncode == 0, (command, done.stderr)
    reports = [json.loads(line) for line in done.stdout.splitlines()]
    assert any(has_answer(report) for report in reports), (command, done.stdout)


def test_the_next_command_of_a_wait_that_does_not_end():
    """Its threads are blocked before both commands and after them."""
    with subprocess.Popen([workload('whom'), 'shared'], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as program:
        waiter, other, _ = program.stdout.readline().split()
        found = scripts.report('overview', '-p', program.pid, '-d', '1s')
        commands = {r['finding']: r['values']['command'] for r in scripts.rows(found, 'findings')}
        for name in ('stuck', 'lock'):
            words = shlex.split(commands[name])[1:]
            done = run(*words, *(() if words[0] == 'stack' else ('-d', '200ms')))
            assert waiter in done.stdout and f'({other})' in done.stdout, done.stdout
        program.stdin.close()


@pytest.mark.parametrize('kind, part', [('semaphore', 'lock'), ('send', 'other programs'),
                                        ('terminal', 'other programs')])
def test_the_next_command_of_a_wait_without_events(kind, part):
    """It names the other end, which the finding of the time does not know."""
    with subprocess.Popen([workload('ends'), kind], stdout=subprocess.PIPE) as program:
        try:
            other = program.stdout.readline().split()[0].decode()
            found = scripts.report('overview', '-p', program.pid, '-d', '1s')
            row, = [r for r in scripts.rows(found, 'findings') if r['finding'] == part]
            words = shlex.split(row['values']['command'])[1:]
            done = run(*words, '-d', '200ms')
        finally:
            program.kill()
    assert f'by other end ({other})' in done.stdout, (words, done.stdout)
