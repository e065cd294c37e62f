# SPDX-License-Identifier: MIT
"""attar tcptop: bytes of connections of a known program, before and during the measurement."""
import json
import os
import re
import signal
import socket
import subprocess

import pytest

from command import ATTAR, is_sampling, run, wait_until
from scripts import rows

pytestmark = pytest.mark.usefixtures('root')


class Connection:
    """Both ends, in this process."""

    def __init__(self, family, address):
        with socket.create_server((address, 0), family=family) as server:
            self.client = socket.create_connection(server.getsockname()[:2])
            self.server = server.accept()[0]

    def send(self, there, back):
        for source, target, n in ((self.client, self.server, there),
                                  (self.server, self.client, back)):
            while n:
                sent = source.send(bytes(min(n, 50_000)))
                n -= sent
                while sent:
                    sent -= len(target.recv(sent))

    def port(self):
        return self.client.getsockname()[1]

    def close(self):
        self.client.close()
        self.server.close()


@pytest.mark.parametrize('family, address', [(socket.AF_INET, '127.0.0.1'),
                                             (socket.AF_INET6, '::1')])
def test_bytes(family, address):
    """
    One has sent 30,000 bytes before; then 1,000,000 and 5,000. Another one is new, and the client
    of a third one has closed its direction.
    """
    old = Connection(family, address)
    old.send(30_000, 0)
    with subprocess.Popen([ATTAR, 'tcptop', '-d', '60s', '--format', 'json', '-p',
                           str(os.getpid())], stdout=subprocess.PIPE, text=True) as attar:
        wait_until(lambda: is_sampling(attar), 'events are open')
        attar.send_signal(signal.SIGUSR1)
        first = json.loads(attar.stdout.readline())
        old.send(1_000_000, 5_000)
        new = Connection(family, address)
        new.send(2_000, 70_000)
        half = Connection(family, address)
        half.send(3_000, 40)
        half.client.shutdown(socket.SHUT_WR)
        assert not half.server.recv(1)
        attar.send_signal(signal.SIGINT)
        last = json.loads(attar.communicate(timeout=60)[0].splitlines()[-1])
    ports = {old.port(): (1_000_000, 5_000), new.port(): (2_000, 70_000), half.port(): (3_000, 40)}
    for connection in (old, new, half):
        connection.close()
    assert not {r['LPORT'] for r in rows(first, 'connections')} & set(ports)
    found = {r['LPORT']: r for r in rows(last, 'connections')}
    back = {r['RPORT']: r for r in rows(last, 'connections')}
    for port, (sent, received) in ports.items():
        assert (found[port]['sent'], found[port]['received']) == (sent, received)
        assert (back[port]['sent'], back[port]['received']) == (received, sent)
        assert (found[port]['RADDR'], found[port]['state']) == (address, 'open')
        assert found[port]['pid'] == os.getpid()
    order = [r['sent'] + r['received'] for r in rows(last, 'connections')]
    assert order == sorted(order, reverse=True)


def test_ended_connections_are_said():
    """Of a program that closes a connection at once: shown, or counted in a note."""
    program = '''
import socket
with socket.create_server(('127.0.0.1', 0)) as server:
    client = socket.create_connection(server.getsockname())
    peer = server.accept()[0]
    client.sendall(bytes(1000))
    peer.recv(1000)
    client.close()
    peer.close()
'''
    ended = run('tcptop', '--', '/usr/bin/python3', '-c', program)
    assert ended.returncode == 0, ended.stderr
    assert 'connections ended' in ended.stdout or '1,000 B' in ended.stdout


def test_connection_that_ends_soon():
    """It begins, sends and ends within a second, and is selected by its process."""
    program = '''
import socket, time
time.sleep(0.3)
with socket.create_server(('127.0.0.1', 0)) as server:
    client = socket.create_connection(server.getsockname())
    peer = server.accept()[0]
    client.sendall(bytes(1000))
    peer.recv(1000)
    time.sleep(0.4)
'''
    ended = run('tcptop', '--format', 'json', '--', '/usr/bin/python3', '-c', program)
    assert ended.returncode == 0, ended.stderr
    report = json.loads(ended.stdout.splitlines()[-1])
    assert sorted((r['sent'], r['received'], r['state']) for r in rows(report, 'connections')) == [
        (0, 1000, 'ended'), (1000, 0, 'ended')], report


def test_listening_sockets_are_no_connections():
    program = '''
import socket
for _ in range(5):
    socket.create_server(('127.0.0.1', 0)).close()
'''
    ended = run('tcptop', '--', '/usr/bin/python3', '-c', program)
    assert ended.returncode == 0, ended.stderr
    others = re.search(r'(\d+) connections ended', ended.stdout)  # in interrupts
    assert not others or int(others[1]) < 5, ended.stdout
