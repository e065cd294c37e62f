# SPDX-License-Identifier: MIT
"""Healthy programs have no findings except findings about a machine that is busy with others."""
import contextlib
import os
import pty
import signal
import subprocess
import sys
import threading
import urllib.request

import pytest

from command import wait_until
from scripts import lacks_events, of_script, report, rows
from test_overview import EVENTS, found_in

pytestmark = pytest.mark.exclusive

# Shares of the time and latencies, which say what is done, or come from other programs.
OF_THE_MACHINE = {'user code', 'kernel', 'page faults', 'interrupts', 'CPU, too few samples',
                  'run queue', 'run delay', 'disk', 'block latency', 'major faults', 'steal',
                  'memory pressure', 'unreliable', 'swap', 'dropped packets', 'TCP resets',
                  'full socket queue', 'kernel log', 'full file system', 'thermal throttling'}

OF_THE_SYSTEM = {'block latency', 'steal', 'memory pressure', 'unreliable', 'swap', 'TCP resets',
                 'dropped packets', 'full socket queue', 'kernel log', 'full file system',
                 'thermal throttling'}


def wrong_in(found):
    """The findings that a healthy program must not have."""
    return set(found_in(found)) - OF_THE_MACHINE


def build(folder):
    headers = ['stdio', 'stdlib', 'string', 'pthread', 'sys/socket', 'time', 'math', 'errno']
    for i in range(12):
        (folder / f'include{i}').mkdir()
        (folder / f'{i}.c').write_text(''.join(f'#include <{name}.h>\n' for name in headers))
    words = ' '.join(f'-I{folder}/include{i}' for i in range(12))
    return f'for i in 0 1 2 3 4 5 6 7 8 9 10 11; do cc {words} -c {folder}/$i.c -o {folder}/o; done'


def backup(folder):
    return f'tar cf {folder}/backup.tar /usr/include'


def script(_):
    return ('for i in $(seq 100); do test -f /nonexistent; x=$(date); '
            'echo $x | sed s/a/b/ >/dev/null; done')


def suite(folder):
    (folder / 'test_it.py').write_text(
        'import subprocess, unittest\nclass Test(unittest.TestCase):\n'
        ' def test_programs(self):\n  for _ in range(30): subprocess.run(["true"])\n'
        ' def test_sums(self): self.assertEqual(sum(range(100000)), 4999950000)\n')
    return f'/usr/bin/python3 -m unittest discover -s {folder}'


@pytest.mark.usefixtures('root')
@pytest.mark.parametrize('command', [build, backup, script, suite])
def test_commands(tmp_path, command):
    found = report('overview', '--', 'sh', '-c', command(tmp_path))
    # the time in which a program reads the output of another one, that it has started
    reads = {'other programs'} if command in (script, suite) else set()
    assert wrong_in(found) <= reads, found


@contextlib.contextmanager
def running(*words, **kwargs):
    with subprocess.Popen(words, start_new_session=True, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, **kwargs) as process:
        try:
            yield process
        finally:
            os.killpg(process.pid, signal.SIGKILL)


def answers(url):
    with contextlib.suppress(OSError), urllib.request.urlopen(url) as answer:
        return answer.read()
    return None


@pytest.mark.usefixtures('root')
@pytest.mark.parametrize('is_loaded', [False, True], ids=['idle', 'loaded'])
def test_web_server(tmp_path, is_loaded):
    port = 20000 + os.getpid() % 10000
    url = f'http://127.0.0.1:{port}/'
    ended = threading.Event()

    def load():
        while not ended.is_set():
            answers(url)

    with running(sys.executable, '-m', 'http.server', '--bind', '127.0.0.1', str(port),
                 cwd=tmp_path) as server:
        wait_until(lambda: answers(url), 'the server to answer')
        clients = [threading.Thread(target=load) for _ in range(2 * is_loaded)]
        for client in clients:
            client.start()
        try:
            found = report('overview', '-p', server.pid, '-d', '2s')
        finally:
            ended.set()
            for client in clients:
                client.join()
    # a connection without a request is a wait for its client
    assert wrong_in(found) <= ({'other programs'} if is_loaded else set()), found
    assert is_loaded or set(found_in(found)) <= OF_THE_SYSTEM


@pytest.mark.usefixtures('root')
def test_sleeps_of_a_service():
    """It does something for a moment every 1.2 s; its sleeps are idle."""
    with running('sh', '-c', 'while sleep 1.2; do date; done') as cron:
        for _ in range(3):
            found = report('overview', '-p', cron.pid, '-d', '4s')
            if not lacks_events(found):
                break
    assert not wrong_in(found), found
    times = {r['time spent']: r['time'] for r in rows(found, 'time')}
    assert times['idle'] > 0.5 * found['interval_ns']


@pytest.mark.usefixtures('root')
def test_editor_that_waits_for_a_key():
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv('/usr/bin/python3', ['python3', '-c', 'input("> ")'])
    try:
        assert b'>' in os.read(terminal, 100)
        found = report('overview', '-p', pid, '-d', '1s')
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(terminal)
    assert set(found_in(found)) <= OF_THE_SYSTEM, found


# Numbers of x86-64: open, newfstatat, access, execve, ioctl, wait4, read, readlink; rmdir, close.
HARMLESS = [(2, 2), (262, 2), (21, 2), (59, 2), (16, 25), (61, 10), (0, 11), (89, 22),
            (89, 2)]
HARMFUL = [(84, 2), (3, 9), (2, 13), (16, 22)]


@pytest.mark.xdist_group('overview_scripts')
@pytest.mark.skipif(os.uname().machine != 'x86_64', reason='numbers of other system calls')
@pytest.mark.parametrize('call, error', HARMLESS + HARMFUL)
def test_each_harmless_error(tmp_path, call, error):
    lines = [f'1.{i:06} 0 100/100 worker raw_syscalls:sys_exit id={call} ret=-{error}\n'
             for i in range(1500)]
    found = of_script(tmp_path, EVENTS + ''.join(lines) + '2.000 0 9/9 other page-faults\n',
                      'overview', '-p', 100)
    assert ('failing calls' in found_in(found)) == ((call, error) in HARMFUL), found


# Their addresses are known to clients; but a client receives at a port of the kernel's choice.
DATAGRAMS = {
    'udp': ('import os, socket\ns = socket.socket(type=socket.SOCK_DGRAM)\n'
            's.bind(("127.0.0.1", 10000 + os.getpid() % 20000))\nwhile True: s.recvfrom(100)'),
    'local': ('import os, socket\ns = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)\n'
              's.bind(f"\\0attar.{os.getpid()}")\nwhile True: s.recv(100)'),
    'client': ('import socket\ns = socket.socket(type=socket.SOCK_DGRAM)\n'
               's.bind(("127.0.0.1", 0))\nwhile True: s.recvfrom(100)'),
}


@pytest.mark.usefixtures('root')
@pytest.mark.parametrize('kind', DATAGRAMS)
def test_server_of_datagrams(kind):
    with running('/usr/bin/python3', '-I', '-S', '-c', DATAGRAMS[kind]) as server:
        wait_until(lambda: 'skb' in open(f'/proc/{server.pid}/wchan', encoding='ascii').read(),
                   'the server to wait')
        found = report('overview', '-p', server.pid, '-d', '1s')
        shown = report('wall', '-p', server.pid, '-d', '200ms')
    assert ('other programs' in found_in(found)) == (kind == 'client'), found
    row, = rows(shown, 'waits that have not ended')
    assert row['waits for'].startswith('datagrams at port ' if kind != 'local' else
                                       f'datagrams at @attar.{server.pid}'), row
