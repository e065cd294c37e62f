# SPDX-License-Identifier: MIT
"""The first finding of attar overview names the cause, and the process that causes it."""
import contextlib
import os
import re
import shlex
import signal
import subprocess
from pathlib import Path

import pytest

from command import run, wait_until
from scripts import of_script, report, rows
from test_outputs import on_terminal, visible
from test_overview import EVENTS, found_in

pytestmark = pytest.mark.exclusive

# 25 MB and 500 files a second
GROWS = ('import time\nkept = []\n'
         'while True: kept.append(bytearray(b"x") * 50000); time.sleep(0.002)')
OPENS = 'import os, time\nwhile True: os.open("/", os.O_RDONLY); time.sleep(0.002)'
FULL = ('import os, resource, time\nresource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))\n'
        'while True:\n try: os.open("/", os.O_RDONLY)\n except OSError: time.sleep(0.02)')
SEARCH = ('import os, time\nwhile True:\n for i in range(80):\n'
          '  try: os.open(f"/nonexistent/{i}", os.O_RDONLY)\n  except OSError: pass\n'
          ' time.sleep(0.005)')
REFUSED = ('import socket, time\nwhile True:\n'
           ' try: socket.create_connection(("127.0.0.1", 1))\n except OSError: pass\n'
           ' time.sleep(0.01)')

STARTS = 'import os\nwhile True: os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0)'
SIGNALS = ('import os, signal, time\nsignal.signal(signal.SIGUSR1, signal.SIG_IGN)\n'
           'while True:\n for _ in range(50): os.kill(os.getpid(), signal.SIGUSR1)\n'
           ' time.sleep(0.005)')
ACCEPTS = ('import socket, threading, time\nserver = socket.create_server(("127.0.0.1", 0), '
           'backlog=1)\n'
           'def call():\n while True:\n  s = socket.socket()\n  s.settimeout(0.05)\n'
           '  try: s.connect(server.getsockname())\n  except OSError: pass\n  s.close()\n'
           '  time.sleep(0.02)\n'
           'for _ in range(8): threading.Thread(target=call, daemon=True).start()\n'
           'while True: time.sleep(0.2); server.accept()[0].close()')
DATAGRAMS = ('import socket, time\ns = socket.socket(type=socket.SOCK_DGRAM)\n'
             's.bind(("127.0.0.1", 0))\nother = socket.socket(type=socket.SOCK_DGRAM)\n'
             'while True: other.sendto(b"x" * 8000, s.getsockname()); time.sleep(0.001)')
# A server that answers after 0.3 s, in a process of its own, and a client that polls its socket.
ANSWERED = ('import os, select, socket, time\ns = socket.socket(type=socket.SOCK_DGRAM)\n'
            's.bind(("127.0.0.1", 0))\nparent = os.getpid()\n'
            'if os.fork() == 0:\n while True:\n  data, who = s.recvfrom(100)\n'
            '  time.sleep(0.3)\n  s.sendto(data, who)\n'
            'while True:\n c = socket.socket(type=socket.SOCK_DGRAM)\n'
            ' c.connect(s.getsockname())\n c.send(b"?")\n p = select.poll()\n'
            ' p.register(c, select.POLLIN)\n p.poll()\n c.recv(100)\n c.close()')

# finding, a part of the evidence, the command after next:
CAUSES = {
    'grows': (GROWS, 'memory grows', 'more than at the start', 'page-faults -g'),
    'opens': (OPENS, 'descriptors grow', 'that it did not close', 'opensnoop'),
    'full': (FULL, 'descriptors', '64 open files and sockets, of 64', 'syscalls'),
    'search': (SEARCH, 'failing calls', 'open', 'opensnoop -x'),
    'refused': (REFUSED, 'failing calls', 'connect fails with ECONNREFUSED', 'tcpconnect'),
    'starts': (STARTS, 'new processes', '100 % are true', 'execsnoop'),
    'signals': (SIGNALS, 'signals', 'SIGUSR1', 'top -e signal:signal_generate'),
    'accepts': (ACCEPTS, 'full accept queue', 'accepts too slowly', 'wall'),
    'datagrams': (DATAGRAMS, 'lost datagrams', 'reads too slowly', 'wall'),
    'answered': (ANSWERED, 'other programs', 'waits for an answer of 127.0.0.1:', 'stack'),
}

# What the command shows.
ANSWERS = {'grows': 'python3', 'opens': 'python3', 'full': 'openat', 'search': 'ENOENT',
           'refused': '127.0.0.1', 'starts': 'true', 'signals': 'python3', 'accepts': 'sleep',
           'datagrams': 'sleep', 'answered': 'waits for data of the connection with 127.0.0.1'}

# What seems to be one of these, but is none.
HEALTHY = {
    'a start': ('import time\ntime.sleep(0.5)\nkept = bytearray(b"x") * (100 << 20)\n'
                'files = [open("/") for _ in ()]\nwhile True: time.sleep(0.01)'),
    'a request': ('import time\nwhile True: kept = bytearray(b"x") * (50 << 20); del kept; '
                  'time.sleep(0.1)'),
    'few searches': SEARCH.replace('range(80)', 'range(2)'),
    'few refusals': REFUSED.replace('0.01', '0.3'),
    'few processes': STARTS.replace('\nwhile', ', time\nwhile').replace(
        ': os.waitpid', ': time.sleep(0.1); os.waitpid'),
    'few signals': SIGNALS.replace('range(50)', 'range(2)'),
    'idle': ANSWERED.replace('time.sleep(0.3)', 'time.sleep(100)'),
    'a timer': 'import time\nwhile True: time.sleep(0.01)',
}


@contextlib.contextmanager
def running(program, **options):
    with subprocess.Popen(['/usr/bin/python3', '-I', '-S', '-c', program],
                          start_new_session=True, **options) as process:
        try:
            yield process.pid
        finally:
            os.killpg(process.pid, signal.SIGKILL)


@pytest.mark.usefixtures('root')
@pytest.mark.parametrize('name', CAUSES)
def test_the_first_finding_is_the_cause(name):
    program, finding, evidence, command = CAUSES[name]
    with running(program) as pid:
        found = report('overview', '-p', pid, '-d', '3s')
        first = rows(found, 'findings')[0]
        assert first['finding'] == finding, found
        assert evidence in first['values']['evidence'], first
        assert f'python3 (pid {pid})' in first['values']['evidence'], first
        assert first['values']['command'] == f'attar {command} -p {pid}'
        words = shlex.split(first['values']['command'])[1:]
        done = run(*words, *(() if words[0] == 'stack' else ('-d', '500ms')))
        assert done.returncode == 0 and ANSWERS[name] in done.stdout, done


TIMER = ('import signal, time\nsignal.signal(signal.SIGALRM, lambda *_: None)\n'
         'signal.setitimer(signal.ITIMER_REAL, 0.0003, 0.0003)\nwhile True: time.sleep(1)')


@pytest.mark.usefixtures('root')
def test_signals_of_a_timer():
    """The tasks that its interrupts interrupt do not send them."""
    with running(TIMER) as pid:
        found = report('overview', '-p', pid, '-d', '3s')
        row, = [r for r in rows(found, 'findings') if r['finding'] == 'signals']
        assert row['values']['evidence'] == (
            f'100 % of them are SIGALRM of timers or the kernel to python3 ({pid})'), row
        shown = report(*shlex.split(row['values']['command'])[1:], '-d', '1s')
        counted = sum(row['signal:signal_generate'] for row in rows(shown, 'top'))
    assert counted == pytest.approx(row['values']['value'], rel=0.5), 'also those in other tasks'


# The error of these calls is EAGAIN, which is usual for files that are not ready.
UNAVAILABLE = {
    'processes': ('import os, resource, time\nos.setuid(65534)\n'
                  'resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))\nwhile True:\n'
                  ' try: os.fork() or os._exit(0)\n except OSError: time.sleep(0.01)',
                  r'clone3? fails with EAGAIN \(.*\), \d+ times: a limit of the number of '
                  r'processes or threads'),
    'file lock': ('import fcntl, os, tempfile, time\nf = tempfile.TemporaryFile()\n'
                  'fcntl.flock(f, fcntl.LOCK_EX)\ng = open(f"/proc/self/fd/{f.fileno()}")\n'
                  'while True:\n try: fcntl.flock(g, fcntl.LOCK_EX | fcntl.LOCK_NB)\n'
                  ' except OSError: time.sleep(0.05)',
                  r'flock fails with EAGAIN \(.*\), \d+ times: the file is locked'),
}


@pytest.mark.usefixtures('root')
@pytest.mark.parametrize('kind', UNAVAILABLE)
def test_calls_that_others_make_fail(kind):
    program, words = UNAVAILABLE[kind]
    with running(program) as pid:
        found = report('overview', '-p', pid, '-d', '3s')
    first = rows(found, 'findings')[0]
    assert first['finding'] == 'failing calls', found
    assert re.fullmatch(rf'python3 \(pid {pid}\): {words}', first['values']['evidence']), first


@pytest.mark.usefixtures('root')
@pytest.mark.parametrize('n, is_found', [(40, False), (60, True)])
def test_children_that_are_not_waited_for(n, is_found):
    program = (f'import os, time\nfor _ in range({n}):\n if not os.fork(): os._exit(0)\n'
               'time.sleep(1000)')
    with running(program) as pid:
        children = Path(f'/proc/{pid}/task/{pid}/children')
        wait_until(lambda: len(children.read_text(encoding='ascii').split()) == n
                   and 'sleep' in Path(f'/proc/{pid}/wchan').read_text(encoding='ascii'),
                   'the children to exit')
        found = report('overview', '-p', pid, '-d', '1s')
        values = [r['values'] for r in rows(found, 'findings') if r['finding'] == 'zombies']
        assert bool(values) == is_found, found
        if not is_found:
            return
        shown = run(*shlex.split(values[0]['command'])[1:])
    assert values[0]['evidence'] == (
        f'{n} children of python3 (pid {pid}) have exited, and it has not waited for them (wait4)')
    assert rows(found, 'findings')[0]['finding'] == 'zombies', found
    assert 'waits for a time to pass' in shown.stdout, shown


@pytest.mark.usefixtures('root')
def test_file_system_without_room(tmp_path):
    """Another one of this machine may be as full."""
    if subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=64k', 'attar', tmp_path],
                      check=False).returncode:
        pytest.skip('a tmpfs cannot be mounted here')
    program = ('import time\nfile = open("file", "wb", buffering=0)\nwhile True:\n'
               ' try: file.write(bytes(4096))\n except OSError: time.sleep(0.02)')
    try:
        with running(program, cwd=tmp_path):
            found = report('overview', '-a', '-d', '2s')
    finally:
        subprocess.run(['umount', '--lazy', tmp_path], check=True)
    row, = [r for r in rows(found, 'findings')
            if 'write fails with ENOSPC' in r['values'].get('evidence', '')]
    assert re.search(r'; the fullest file system is /\S*, (9[5-9]|100) % of its space are used$',
                     row['values']['evidence']), row


def waits_for_pipes(pid):
    """The number of children that do."""
    children = Path(f'/proc/{pid}/task/{pid}/children').read_text(encoding='ascii').split()
    return sum('pipe_read' in Path(f'/proc/{child}/wchan').read_text(encoding='ascii')
               for child in children)


@pytest.mark.usefixtures('root')
def test_a_wait_of_one_of_several_processes():
    """Both processes wait for the first one, which has the pipe."""
    program = ('import os, time\nends = os.pipe()\nfor _ in range(2):\n'
               ' if os.fork() == 0: os.close(ends[1]); os.read(ends[0], 1)\ntime.sleep(1000)')
    with running(program) as pid:
        wait_until(lambda: waits_for_pipes(pid) == 2, 'the processes to wait')
        found = report('overview', '-p', pid, '-d', '1s')
    row, = [r for r in rows(found, 'findings') if r['finding'] == 'other programs']
    assert re.search(rf'; now python3 \(\d+\) waits for data of pipe:\S+, written by python3 '
                     rf'\({pid}\)', row['values']['evidence']), row


@pytest.mark.usefixtures('root')
def test_rates():
    """Within a third of what the program does, on a busy machine too."""
    counted = ('import time\nkept = []\nend = time.monotonic() + 4\n'
               'while time.monotonic() < end: kept.append(bytearray(b"x") * 50000); '
               'time.sleep(0.002)\n'
               'print(len(kept) * 50000 / 4e6)')
    with subprocess.Popen(['/usr/bin/python3', '-I', '-S', '-c', counted],
                          stdout=subprocess.PIPE, text=True) as program:
        found = report('overview', '-p', program.pid, '-d', '3s')
        rate = float(program.communicate()[0])
    first = rows(found, 'findings')[0]
    assert first['finding'] == 'memory grows', found
    assert first['values']['value'] == pytest.approx(rate, rel=0.35)


@pytest.mark.usefixtures('root')
@pytest.mark.parametrize('name', HEALTHY)
def test_no_cause(name):
    with running(HEALTHY[name]) as pid:
        found = report('overview', '-p', pid, '-d', '3s')
    assert not {values[1] for values in CAUSES.values()} & set(found_in(found)), found
    assert 'sleep' not in found_in(found)


@pytest.mark.xdist_group('overview_scripts')
@pytest.mark.quick
@pytest.mark.skipif(os.uname().machine != 'x86_64', reason='numbers of other system calls')
@pytest.mark.parametrize('call, error, n, is_several, finding', [
    (1, 28, 4, False, 'write fails with ENOSPC (No space left on device), 4 times'),
    (1, 28, 1, False, None),
    (43, 24, 4, False, 'accept fails with EMFILE (Too many open files), 4 times'),
    (42, 111, 40, False, 'connect fails with ECONNREFUSED (Connection refused), 40 times'),
    (42, 111, 15, False, None),
    (2, 2, 12000, False, 'open fails with ENOENT (No such file or directory), 12000 times'),
    (2, 2, 8000, False, None),
    (2, 2, 12000, True, None),  # as in a build
])
def test_failing_calls_of_one_name(tmp_path, call, error, n, is_several, finding):
    """In two seconds."""
    text = EVENTS + '1.0 0 100/100 worker fork 200/200\n'
    for i in range(n):
        pid = 200 if is_several and i % 2 else 100
        text += f'1.{i:06} 0 {pid}/{pid} worker raw_syscalls:sys_exit id={call} ret=-{error}\n'
    found = of_script(tmp_path, text + '3.1 0 100/100 worker page-faults\n', 'overview', '-p', 100)
    texts = [r['values']['evidence'] for r in rows(found, 'findings')
             if r['finding'] == 'failing calls']
    assert texts == ([f'worker (pid 100): {finding}'] if finding else []), found


@pytest.mark.usefixtures('root')
def test_backends_that_wait_for_locks(tmp_path):
    """PostgreSQL says so in the titles of its processes: two of three wait."""
    source = tmp_path / 'postgres.c'
    source.write_text('#include <unistd.h>\nint main(void) { for (;;) usleep(100000); }')
    subprocess.run(['cc', '-o', tmp_path / 'postgres', source], check=True)
    program = ('import os, time\nfor title in ("UPDATE waiting", "SELECT", "INSERT waiting"):\n'
               f' if os.fork() == 0: os.execv("{tmp_path}/postgres", '
               '["postgres: me db [local] " + title])\ntime.sleep(100)')
    with running(program) as pid:
        found = report('overview', '-p', pid, '-d', '3s')
    first = rows(found, 'findings')[0]
    assert first['finding'] == 'database lock', found
    assert first['values']['evidence'].startswith('2.0 processes of PostgreSQL wait for locks')
    assert 'pg_blocking_pids' in first['values']['command']


@pytest.mark.usefixtures('root')
def test_the_longest_process_of_a_build():
    """One of seven with the same name takes most of the time: its command line is named."""
    one = '/usr/bin/python3 -I -S -c "sum(i for i in range({}))" {}'
    words = [one.format(1000000, f'{i}.cpp') for i in range(6)]
    words.insert(3, one.format(30000000, 'gen_tables.cpp'))
    found = report('overview', '--only-comm', '--', 'sh', '-c', '; '.join(words))
    evidence = {r['finding']: r['values']['evidence'] for r in rows(found, 'findings')}
    assert evidence['user code'].startswith('python3 ('), found
    assert 'the longest process that was seen is' in evidence['user code'], found
    assert evidence['user code'].endswith('gen_tables.cpp'), found


@pytest.mark.usefixtures('root')
def test_tables_that_no_finding_needs():
    """At most 40 lines; JSON and --all have all tables."""
    with running(SEARCH) as pid:
        few, everything = (run('overview', '-p', pid, '-d', '2s', *words).stdout
                           for words in ([], ['--all']))
        found = report('overview', '-p', pid, '-d', '2s')
    names = [s['name'] for s in found['sections']]
    assert names == ['findings', 'time', 'processes', 'on CPU', 'latency', 'counts',
                     'system calls']
    assert all(f'\n{name}\n' in everything for name in names)
    assert len(few.splitlines()) <= 40 < len(everything.splitlines())
    assert '\nfindings\n' in few and '\ntime\n' in few and '\ncounts\n' not in few


@pytest.mark.usefixtures('root')
def test_lines_on_a_terminal():
    """At most 40 lines of 80 columns, of the first findings; the terminal wraps long commands."""
    with running(SEARCH), running(STARTS), running(SIGNALS):
        lines = on_terminal(80, 'overview', '-d', '2s').splitlines()
    lines = [visible(line) for line in lines]
    # without the lines of the progress, which a terminal does not keep
    first = next(i for i, line in enumerate(lines) if line.startswith(('unreliable', 'overview,')))
    lines = lines[first:]
    assert len(lines) + sum(len(line) > 80 for line in lines) <= 40, lines
    assert 'findings' in lines and 'time' in lines
    # findings have the first lines, before the times
    table = lines[lines.index('findings'):lines.index('time')]
    shown = sum(line.startswith('        next: ') for line in table)
    assert shown >= 3 or not any('--all shows all' in line for line in table), lines
    assert any(line.startswith('        next: attar ') for line in lines), lines
    assert not [line for line in lines if line.endswith('…') and 'next:' in line]
