# SPDX-License-Identifier: MIT
"""attar calls: the same lines as strace, and known calls."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from command import ATTAR, is_waiting, run, wait_until, workload

needs_program = pytest.mark.skipif(
    os.geteuid() or not Path('/sys/kernel/btf/vmlinux').exists(),
    reason='programs in the kernel need root and the types of the kernel')
needs_root = pytest.mark.usefixtures('root')


def rows_of(text, section='system calls'):
    found = []
    for line in text.splitlines():
        for s in json.loads(line)['sections']:
            if s['name'] == section:
                names = [c['name'] for c in s['columns']]
                found += [dict(zip(names, row)) for row in s['rows']]
    return found


def calls(*args, status=0):
    """The lines of a run."""
    ended = run('calls', '-q', '--format', 'json', *args)
    assert ended.returncode == status, ended.stderr
    return rows_of(ended.stdout)


def python(code, *options, **kwargs):
    """The lines of a program in Python, without those before its first call of getppid()."""
    found = [row['call'] for row in calls(
        *options, '--', sys.executable, '-IS', '-c', f'import os; os.getppid(); {code}', **kwargs)]
    return found[[line.split('(')[0] for line in found].index('getppid') + 1:]


def masked(line):
    """Without what differs from run to run, and without what only strace shows."""
    line = re.sub(r' += ', ' = ', line, count=1)
    line = re.sub(r'^(execve\(".*?", )\[.*\], ', r'\1X, ', line)
    line = re.sub(r'0x[0-9a-f]{5,}( /\* .*? \*/)?', 'X', line)
    line = re.sub(r'^sysinfo\(.*\)', 'sysinfo()', line)
    line = re.sub(r'^getrandom\(".*?"', 'getrandom(X', line)
    ids = r'^((set_tid_address|getpid|getppid|gettid|rt_sigreturn)\(.*\)) = \d+'
    return re.sub(ids, r'\1', line)


NOWHERE = {'stdout': subprocess.DEVNULL, 'stderr': subprocess.DEVNULL}


def stracing(tmp_path, command):
    out = tmp_path / 'strace.txt'
    subprocess.run(['strace', '-o', out, *command], check=False, **NOWHERE)
    return [masked(line) for line in out.read_text().splitlines() if not line.startswith('+++')]


@needs_program
@pytest.mark.skipif(not shutil.which('strace'), reason='strace is not installed')
@pytest.mark.parametrize('command', [
    ['cat', '/etc/passwd'], ['ls', '-l', '/etc'], ['sort', '/etc/passwd'], ['wc', '/etc/group'],
    ['head', '-n1', '/etc/passwd', '/nonexistent/../etc/group'], ['md5sum', '/etc/passwd'],
    ['stat', '/etc'], ['readlink', '-f', '/etc/alternatives/awk'], ['printf', '%s\\t', 'a"b\\']],
    ids=lambda command: command[0])
def test_lines_are_those_of_strace(tmp_path, command):
    """The same calls in the same order with the same arguments and results."""
    theirs = stracing(tmp_path, command)
    run('calls', '-q', '--format', 'json', '-o', tmp_path / 'calls.json', '--', *command, **NOWHERE)
    ours = [masked(row['call']) for row in rows_of((tmp_path / 'calls.json').read_text())]
    assert len(ours) > 30
    assert ours == theirs


@needs_program
@pytest.mark.skipif(not shutil.which('strace'), reason='strace is not installed')
def test_structures_are_those_of_strace(tmp_path):
    """Sockets, events, signals, limits, times and children; numbers of processes differ."""
    code = r"""
import os, resource, select, signal, socket, time
os.getppid()
a, b = socket.socketpair()
p = select.poll(); p.register(a, 5); p.register(b, 1); p.poll(100)
e = select.epoll(); e.register(a, select.EPOLLOUT); e.poll(1)
s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
for to in ('127.0.0.1', 1), ('127.255.255.254', 1):
    s.connect_ex(to)
socket.socket(socket.AF_INET6).connect_ex(('::1', 1, 2, 0))
socket.socket(socket.AF_UNIX).connect_ex('/none'); socket.socket(socket.AF_UNIX).connect_ex('\0ab')
signal.signal(signal.SIGUSR1, signal.SIG_IGN); signal.pthread_sigmask(signal.SIG_BLOCK, {10, 12})
resource.getrlimit(resource.RLIMIT_NOFILE); resource.setrlimit(resource.RLIMIT_CORE, (0, 4096))
time.sleep(0.001); os.pipe(); os.stat('/dev/null'); os.uname(); os.sched_getaffinity(0)
if os.fork() == 0: os.kill(os.getpid(), 9)
os.wait()
"""
    command = [sys.executable, '-IS', '-c', code]
    theirs = stracing(tmp_path, command)
    run('calls', '-q', '--format', 'json', '-o', tmp_path / 'calls.json', '--', *command, **NOWHERE)
    rows = rows_of((tmp_path / 'calls.json').read_text())
    ours = [masked(row['call']) for row in rows if row['tid'] == rows[0]['tid']]

    def compared(lines):
        lines = lines[[line.split('(')[0] for line in lines].index('getppid'):]
        lines = [re.sub(r'^(clone|wait4)(.*) = \d+$', r'\1\2', line) for line in lines]
        lines = [re.sub(r'\[\d+ => (\d+)\]', r'[\1]', line) for line in lines]
        lines = [re.sub(r'\[\d+\](\) = -1)', r'X\1', line) for line in lines]
        lines = [re.sub(r'u64=\d+|htons\(\d{5}\)', 'X', line) for line in lines]
        return [re.sub('^clock_nanosleep.*', 'clock_nanosleep', line) for line in lines
                if not line.startswith(('---', 'brk', 'mmap', 'munmap', 'futex'))]
    assert compared(ours) == compared(theirs)


@needs_program
def test_strings_are_those_of_the_call():
    """Each is overwritten when the call has returned, and bytes are escaped."""
    found = python(r'''
b = bytearray(b"a\n\"\x01" + b"1" + b"z" * 40)
r, w = os.pipe()
for i in range(300):
    b[4] = 48 + i % 8
    os.write(w, b)
    os.readv(r, [bytearray(100)])
''', '-e', 'getppid,write')
    expected = [f'write(4, "a\\n\\"\\001{i % 8}{"z" * 27}"..., 45) = 45' for i in range(300)]
    assert found == expected


@needs_program
@pytest.mark.parametrize('size', [0, 1, 100, 4096])
def test_string_size(size):
    found = python('os.write(os.open("/dev/null", 1), b"x" * 5000)', '-e', 'getppid,write',
                   '-s', size)
    assert found == [f'write(3, "{"x" * size}"..., 5000) = 5000']


@needs_program
def test_results_and_errors():
    found = python(r"""
os.umask(0o27)
try: os.open("/none/" + "x" * 300, os.O_RDWR | os.O_CREAT, 0o640)
except OSError: pass
try: os.read(77, 5)
except OSError: pass
os._exit(3)""", '-e', 'getppid,umask,openat,read,exit_group', status=3)
    assert len(found) == 4 and found[1] == (
        f'openat(AT_FDCWD, "/none/{"x" * 300}", O_RDWR|O_CREAT|O_CLOEXEC, 0640) = '
        '-1 ENOENT (No such file or directory)')
    assert re.fullmatch(r'umask\(027\) = 0\d+', found[0])
    assert re.fullmatch(r'read\(77, 0x[0-9a-f]+, 5\) = -1 EBADF \(Bad file descriptor\)', found[2])
    assert found[3] == 'exit_group(3) = ?'


SELECTED = 'os.getuid(); os.getgid(); os.getuid(); os.access("/none", 0); os.getpgid(0)'


@needs_program
@pytest.mark.parametrize('options, names', [
    (['-e', 'getppid,getuid'], ['getuid'] * 2),
    (['-e', 'trace=getppid', '-e', 'trace=get[ug]id'], ['getuid', 'getgid', 'getuid']),
    (['-e', 'getppid,?no_such_call,access'], ['access']),
    (['-e', '!%file,%desc,%memory,%signal,exit_group'],
     ['getuid', 'getgid', 'getuid', 'getpgid']),
    (['-e', 'getppid,%creds'], ['getuid', 'getgid', 'getuid']),
], ids=['list', 'two', 'optional', 'without', 'class'])
def test_selected_calls(options, names):
    found = python(f'{SELECTED}; os.kill(os.getpid(), 9)', *options, status=128 + 9)
    found = [line.split('(')[0] for line in found if not line.startswith(('kill', 'getpid('))]
    assert found == names


@needs_program
@pytest.mark.parametrize('options, n', [
    (['-e', 'status=failed'], (0, 1)), (['-Z'], (0, 1)), (['-e', 'status=successful'], (1, 0)),
    (['-e', 'status=!failed'], (1, 0)), ([], (1, 1))],
    ids=['failed', 'Z', 'successful', 'not-failed', 'all'])
def test_selected_results(options, n):
    found = calls('-e', 'access', *options, '--', sys.executable, '-IS', '-c',
                  'import os; os.access("/", 0); os.access("/none", 0)')
    lines = Counter(row['call'] for row in found)
    assert (lines['access("/", F_OK) = 0'],
            lines['access("/none", F_OK) = -1 ENOENT (No such file or directory)']) == n


@needs_root
def test_durations():
    code = 'import time; [time.sleep(s) for s in (.001, .03, .002, .05)]'
    found = calls('-T', '-e', 'clock_nanosleep', '--than', '20ms', '--', sys.executable, '-c', code)
    assert len(found) == 2
    assert 30e6 <= found[0]['duration'] and 50e6 <= found[1]['duration']
    assert found[1]['time'] - found[0]['time'] >= 32e6
    since = calls('-r', '-e', 'clock_nanosleep', '--', sys.executable, '-c', code)
    assert [row['since'] >= ms * 1e6 for row, ms in zip(since, (0, 1, 30, 2))] == [True] * 4
    assert since[0]['since'] == 0


@needs_root
def test_summary():
    """flood calls getppid() n times, and nothing else so often."""
    ended = run('calls', '-c', '--format', 'json', '--', workload('flood'), 5678)
    report = json.loads(ended.stdout)
    assert report['notes']['lost'] == 0
    table = {row['syscall']: row for row in rows_of(ended.stdout, 'summary')}
    assert table['getppid']['calls'] == 5678 and table['getppid']['errors'] == 0
    assert table['access']['errors'] == table['access']['calls'] == 1
    assert sum(row['time'] for row in table.values()) == pytest.approx(100)
    for row in table.values():
        assert row['total'] == pytest.approx(row['mean'] * row['calls'], abs=row['calls'])
        assert row['p50'] <= row['p99'] <= row['max'] <= row['total']
    assert not rows_of(ended.stdout)
    both = run('calls', '--summary', '-e', 'getppid', '--format', 'json', '--',
               workload('flood'), 123).stdout
    assert len(rows_of(both)) == 123 and rows_of(both, 'summary')[0]['calls'] == 123


@needs_program
def test_processes_that_a_watched_one_creates():
    """The strings of its children are copied, strings of others are not."""
    code = ('import os\nfor i in range(20):\n if os.fork() == 0:\n'
            '  os.access(f"/child/{i}", 0); os._exit(0)\n os.wait()')
    found = calls('-e', 'access', '--', sys.executable, '-c', code)
    paths = [row['call'] for row in found if '/child/' in row['call']]
    assert paths == [f'access("/child/{i}", F_OK) = -1 ENOENT (No such file or directory)'
                     for i in range(20)]
    assert len({row['tid'] for row in found if '/child/' in row['call']}) == 20


def until_stopped(victim, *options):
    words = [ATTAR, 'calls', '-q', '--format', 'json', '-p', str(victim.pid), *options]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True) as attar:
        wait_until(lambda: is_waiting(attar), 'attar waits')
        victim.stdin.write(b'x')
        victim.stdin.flush()
        victim.stdout.read(1)
        attar.send_signal(signal.SIGINT)
        out, err = attar.communicate(timeout=30)
    assert attar.returncode == 0, err
    return [row['call'] for row in rows_of(out)]


@needs_program
def test_a_running_process():
    """The read in which it was is left out, and the one in which it is at the end has no result."""
    code = ('import os\nos.read(0, 1)\nos.access("/none", 0)\nos.write(1, b"y")\n'
            'os.read(0, 1)')
    with subprocess.Popen([sys.executable, '-c', code], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as victim:
        wait_until(lambda: Path(f'/proc/{victim.pid}/syscall').read_text().startswith('0 '),
                   'the program reads')
        found = until_stopped(victim)
        victim.kill()
    assert found[:2] == ['access("/none", F_OK) = -1 ENOENT (No such file or directory)',
                         'write(1, "y", 1) = 1']
    assert len(found) == 2 or re.fullmatch(r'read\(0, 0x[0-9a-f]+, 1 <unfinished \.\.\.>', found[2])


@needs_root
def test_without_a_program_in_the_kernel():
    ended = run('calls', '--in-kernel', 'no', '-e', 'access', '--format', 'json', '--',
                'sh', '-c', 'test -r /none/such')
    assert all(re.match(r'access\(0x[0-9a-f]+, ', row['call']) for row in rows_of(ended.stdout))
    assert 'shown as addresses' in ' '.join(json.loads(ended.stdout.splitlines()[-1])['remarks'])


@needs_root
def test_recordings(tmp_path):
    """Recordings have the numbers, but no memory."""
    data = tmp_path / 'calls.data'
    recorded = run('record', '-q', '-e', 'raw_syscalls:sys_enter,raw_syscalls:sys_exit', '-o', data,
                   '--', workload('flood'), 321)
    assert recorded.returncode == 0, recorded.stderr
    found = [row['call'] for row in calls('--input', data)]
    assert sum(re.fullmatch(r'getppid\(\) = \d+', line) is not None for line in found) == 321
    assert any(re.match(r'openat\(AT_FDCWD, 0x[0-9a-f]+, O_RDONLY\|O_CLOEXEC\) = 3', line)
               for line in found)


@needs_root
def test_lost_events_are_counted():
    """No line has the arguments of another call, and a loss is said."""
    ended = run('calls', '-m', '1', '--format', 'json', '--', sys.executable, '-c',
                'import os\nfor i in range(30000): os.getpgid(i % 2)')
    report = json.loads(ended.stdout.splitlines()[-1])
    found = [row['call'] for row in rows_of(ended.stdout) if row['call'].startswith('getpgid')]
    assert set(found) <= {f'getpgid({i}) = {n}' for i in (0, 1)
                          for n in {line.split(' = ')[1] for line in found}}
    assert len(found) == 30000 or report['notes']['lost'] > 0


@pytest.mark.parametrize('options, message', [
    (['-e', 'opnat'], "attar: -e: there is no system call 'opnat': use names such as openat, with "
     '* and ?, or classes such as %file'),
    (['-e', '%fil'], "attar: -e: there is no system call '%fil': use %file, %desc, %net, %process, "
     '%memory, %signal, %ipc, %creds or %clock'),
    (['-e', 'signal=all'], 'attar: -e signal=: only trace= and status= are supported: use '
     '-e trace=openat,%net or -e status=failed'),
    (['-e', 'status=bad'], "attar: -e status=: there is no status 'bad': use successful, failed or "
     'unfinished'),
    (['-s', '4097'], None)],
    ids=['name', 'class', 'qualifier', 'status', 'size'])
@needs_root
def test_mistakes(options, message):
    ended = run('calls', *options, '--', 'true')
    assert ended.returncode == 2
    assert message is None or ended.stderr == message + '\n'
