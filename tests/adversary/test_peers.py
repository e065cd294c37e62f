# SPDX-License-Identifier: MIT
"""--push and --pull: another user gets no events, supplies none, and cannot keep others out."""
import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
import time

import pytest

from adversary import UID, cpu_time, directory
from command import ATTAR, run, wait_until, workload, write_secret
from test_push import DATA, HELLO, START, free_port, frame, listens

GREETING = frame(HELLO) + frame(START, sequence=1)

# Prints the number of bytes that a sender sends, at most a million, and the first ones.
PULL = '''
import socket, sys
got = b''
with socket.socket(socket.AF_INET6 if ':' in sys.argv[1] else socket.AF_INET) as s:
    s.settimeout(10)
    s.connect((sys.argv[1], int(sys.argv[2])))
    s.sendall(bytes.fromhex(sys.argv[3]))
    while len(got) < 1000000 and (part := s.recv(1 << 16)):
        got += part
print(len(got), got[:400])
'''

# Greets the first that connects, and prints what it sends.
SERVE = '''
import socket, sys
with socket.create_server(('::', int(sys.argv[1])), family=socket.AF_INET6,
                          dualstack_ipv6=True) as l:
    print('listens', flush=True)
    s = l.accept()[0]
    s.sendall(bytes.fromhex(sys.argv[2]))
    got = b''
    while part := s.recv(4096):
        got += part
    print(got, flush=True)
'''

# Listens, and neither greets nor, if the second argument is 0, accepts connections.
MUTE = '''
import socket, sys, time
listener = socket.create_server(('127.0.0.1', int(sys.argv[1])), backlog=int(sys.argv[2]))
full = [socket.socket() for _ in range(4 if sys.argv[2] == '0' else 0)]
for s in full:
    s.setblocking(False)
    s.connect_ex(listener.getsockname())
print('listens', flush=True)
time.sleep(600)
'''

# Keeps connections that read nothing.
CROWD = '''
import socket, sys, time
crowd = [socket.create_connection(('127.0.0.1', int(sys.argv[1]))) for _ in range(24)]
for s in crowd:
    s.send(bytes.fromhex(sys.argv[2]))
print('full', flush=True)
time.sleep(600)
'''


@pytest.fixture
def push():
    """Starts to push the calls of getppid() of all programs to an address."""
    senders = []

    def start(address, *args):
        senders.append(subprocess.Popen(
            [ATTAR, 'top', '-a', '-e', 'raw_syscalls:sys_enter/id==110/', '--push', address,
             *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))
        if '::1' not in address:
            wait_until(lambda: listens(address), 'a listener')
        return senders[-1]
    yield start
    for sender in senders:
        sender.kill()
        sender.wait()


def said(sender):
    sender.terminate()
    return sender.communicate(timeout=60)[0]


def pull(port, *args):
    return run('top', '-q', '-e', 'raw_syscalls:sys_enter', '-d', '500ms', '--pull', str(port),
               *args)


@pytest.mark.parametrize('bind, host', [
    ('127.0.0.1:{}', '127.0.0.1'), ('127.0.0.1:{}', '::ffff:127.0.0.1'), ('[::1]:{}', '::1')])
def test_another_user_gets_no_events(push, nobody, bind, host):
    port = free_port()
    sender = push(bind.format(port))

    def attack():
        return subprocess.run(
            nobody.command(sys.executable, '-c', PULL, host, port, GREETING.hex()),
            capture_output=True, text=True, timeout=60).stdout
    wait_until(attack, 'a connection')
    answer = attack()
    assert int(answer.split()[0]) < 1000, answer
    for text in answer, said(sender):
        assert 'it belongs to user 65534, not to root: use unix:PATH' in text
        assert '--peer-psk' in text


def test_another_user_is_told_why(push, nobody):
    port = free_port()
    push(str(port))
    done = subprocess.run(nobody.command(ATTAR, 'top', '-q', '-e', 'context-switches', '--pull',
                                         port), capture_output=True, text=True, timeout=60)
    assert done.returncode == 3, done.stderr
    assert 'refuses the connection of this attar: it belongs to user 65534, ' in done.stderr
    assert 'unix:PATH' in done.stderr and '--peer-psk' in done.stderr


@pytest.mark.parametrize('host', ['127.0.0.1', '[::1]'])
def test_another_user_supplies_no_events(nobody, host):
    port = free_port()
    hello = frame(HELLO, bytes(24) + b'host') + frame(DATA, b'PERFILE2', sequence=1)
    server = nobody.python(SERVE, port, hello.hex())
    done = pull(f'{host}:{port}')
    assert done.returncode == 3, done.stderr
    assert 'it belongs to user 65534, not to root: use unix:PATH' in done.stderr
    assert '--peer-psk' in done.stderr
    assert 'does not accept this sender: it belongs to user 65534' in server.stdout.readline()


@pytest.mark.parametrize('backlog', [0, 9], ids=['connection', 'greeting'])
@pytest.mark.parametrize('seconds', [1, 3])
def test_who_does_not_answer_delays_no_more_than_the_run_takes(nobody, backlog, seconds):
    ports = [free_port(), free_port()]
    for port in ports:
        nobody.python(MUTE, port, backlog)
    events = [word for port in ports
              for word in ('-e', f'raw_syscalls:sys_enter//pull=127.0.0.1:{port}/')]
    begin = time.monotonic()
    done = run('trace', '-d', f'{seconds}s', *events)
    assert seconds - 0.1 < time.monotonic() - begin < seconds + 1
    assert done.returncode == 1
    assert f'127.0.0.1:{ports[0]}' in done.stderr


@pytest.mark.parametrize('tls', [False, True], ids=['tcp', 'tls'])
def test_a_crowd_of_another_user_does_not_keep_root_out(push, nobody, tmp_path, tls):
    write_secret(tmp_path / 'key', '0123456789abcdef' * 4)
    key = ['--peer-psk', tmp_path / 'key'] if tls else []
    port = free_port()
    sender = push(str(port), *key)
    nobody.python(CROWD, port, '' if tls else GREETING.hex())
    done = pull(port, *key)
    assert done.returncode == 0, done.stderr
    out = said(sender)
    assert 'pushed to 1 receiver' in out
    if tls:
        assert '4 receivers of this user or address are connected' in out


def test_a_receiver_that_reads_nothing_is_dropped(push):
    port = free_port()
    sender = push(str(port), '-v')
    with socket.create_connection(('127.0.0.1', port)) as s:
        s.sendall(GREETING)
        flood = subprocess.Popen([workload('flood'), '1000000000'])
        try:
            begin = time.monotonic()

            wait_until(lambda: is_closed(s), "the end of the connection", 40)
            assert 14 < time.monotonic() - begin < 30
        finally:
            flood.kill()
            flood.wait()
    assert '1 receiver was disconnected, after 15 seconds in which nothing was read' in said(sender)


def is_closed(s):
    """Whether the other side has closed the connection, of which nothing is read."""
    return s.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] != 1


def test_connecting_often_costs_little(push):
    """The names of all processes are sent to four receivers at once, then to one a second."""
    port = free_port()
    push(str(port))
    begin = time.monotonic()
    with contextlib.ExitStack() as stack:
        waiting = [stack.enter_context(socket.create_connection(('127.0.0.1', port)))
                   for _ in range(10)]
        got = dict.fromkeys(waiting, 0)
        for s in waiting:
            s.sendall(GREETING)
        while waiting and time.monotonic() - begin < 60:
            for s in select.select(waiting, [], [], 1)[0]:
                got[s] += len(s.recv(1 << 20))
                if got[s] > 100000:
                    waiting.remove(s)
    assert not waiting
    assert time.monotonic() - begin > 5


def connect(port, number):
    """As attar: from a port that only root can use, and anew if there is no place in the queue."""
    while True:
        s = socket.socket()
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.bind(('', 700 + number))
        s.settimeout(.01)
        try:
            s.connect(('127.0.0.1', port))
            return s
        except TimeoutError:
            s.close()


def seconds_to_hello(port, number):
    begin = time.monotonic()
    with connect(port, number) as s:
        s.settimeout(60)
        s.sendall(frame(HELLO))
        assert s.recv(100)
        return time.monotonic() - begin


@pytest.mark.parametrize('tls', [False, True], ids=['tcp', 'tls'])
@pytest.mark.parametrize('rights', ['--keep-rights', '-q'], ids=['filter', 'turns'])
def test_refused_connections_cost_little(push, hammer, tmp_path, tls, rights):
    """
    Some kernels allow a filter with CAP_NET_ADMIN only, which attar gives up otherwise: then,
    without TLS, the queue is short, and receivers try again until they have a place in it.
    """
    write_secret(tmp_path / 'key', '0123456789abcdef' * 4)
    key = ['--peer-psk', tmp_path / 'key'] if tls else []
    port = free_port()
    sender = push(str(port), rights, *key)
    hammer(port)
    before, begin = cpu_time(sender.pid), time.monotonic()
    time.sleep(3)  # the attack goes on
    share = (cpu_time(sender.pid) - before) / (time.monotonic() - begin)
    if not tls:
        seconds = sorted(seconds_to_hello(port, number) for number in range(9))
        assert seconds[4] < (0.1 if rights == '--keep-rights' else 1), seconds
    for _ in range(5 if rights == '-q' and not tls else 1):
        done = pull(port, '-N', '1', *key)
        assert done.returncode == 0, done.stderr
    assert share < (0.05 if rights == '--keep-rights' else 0.4 if tls else 0.12)


# Exchanges the two names all the time, and leaves sockets without a listener in the first one.
EXCHANGE = '''
import ctypes, os, socket, sys
libc = ctypes.CDLL(None)
folder, link, name = sys.argv[1:]
print(flush=True)
while True:
    try:
        socket.socket(socket.AF_UNIX).bind(f'{folder}/{name}')
    except OSError:
        pass
    for _ in range(101):
        libc.renameat2(-100, folder.encode(), -100, link.encode(), 2)
'''


def test_no_file_of_root_is_removed_as_a_socket(tmp_path, secret, nobody):
    """The other user exchanges the directory of the socket with a link to one of root."""
    folder = directory(tmp_path / 'theirs', 0o777, UID)
    nobody.run('mkdir', folder / 'x')
    nobody.run('ln', '-s', secret.parent, folder / 'y')
    nobody.python(EXCHANGE, folder / 'x', folder / 'y', 'secret')
    for _ in range(25):
        run('top', '-q', '-e', 'context-switches', '-d', '20ms', '--push',
            f'unix:{folder}/x/secret')
        assert secret.exists()
