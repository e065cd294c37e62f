# SPDX-License-Identifier: MIT
"""
attar overview and lost packets. A filter of the receiving socket drops packets at random, as a bad
line does: the sender sends them again.
"""
import contextlib
import re
import signal
import subprocess

import pytest

from command import ATTAR
from namespaces import network  # noqa: F401
from scripts import report, rows

pytestmark = [pytest.mark.exclusive, pytest.mark.usefixtures('root')]

COMMON = '''
import ctypes, os, socket, struct, sys, time
def lose(receiver, share):
    """Drop a share of the packets: BPF_LD SKF_AD_RANDOM, BPF_JGE, BPF_RET 0, BPF_RET all."""
    code = ctypes.create_string_buffer(b''.join(struct.pack('HBBI', *op) for op in (
        (0x20, 0, 0, 0xfffff000 + 56), (0x35, 1, 0, int(share * 2**32)), (6, 0, 0, 0),
        (6, 0, 0, 0xffffffff))))
    receiver.setsockopt(socket.SOL_SOCKET, 26, struct.pack('HxxxxxxP', 4, ctypes.addressof(code)))
def retransmitted(sender):
    info = sender.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
    return struct.unpack_from('I', info, 100)[0]
def send(sender, seconds):
    """In small messages, each of which is a packet. Print how many were sent again each second."""
    sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    begin, before = time.monotonic(), retransmitted(sender)
    while time.monotonic() < begin + seconds:
        for _ in range(8): sender.send(b'x' * 1000)
        time.sleep(0.002)
    print((retransmitted(sender) - before) / seconds, flush=True)
def receive(receiver):
    while receiver.recv(1 << 20): pass
'''
BOTH = COMMON + '''
server = socket.create_server(('127.0.0.1', 0))
sender = socket.create_connection(server.getsockname())
receiver = server.accept()[0]
lose(receiver, float(sys.argv[1]))
print('ready', flush=True)
if os.fork() == 0:
    sender.close()
    receive(receiver)
    os._exit(0)
receiver.close()
send(sender, 4)
'''
RECEIVER = COMMON + '''
server = socket.create_server(('0.0.0.0', 7000))
print('ready', flush=True)
receiver = server.accept()[0]
lose(receiver, 0.08)
receive(receiver)
'''
SENDER = COMMON + '''
sender = socket.create_connection((sys.argv[1], 7000))
print('ready', flush=True)
send(sender, 100)
'''


def python(program, *args):
    return ['/usr/bin/python3', '-I', '-S', '-c', program, *args]


@contextlib.contextmanager
def running(words):
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True) as process:
        try:
            assert process.stdout.readline() == 'ready\n', process.communicate()
            yield process
        finally:
            process.send_signal(signal.SIGKILL)


def findings_of(pid):
    return rows(report('overview', '-p', pid, '-d', '3s'), 'findings')


@pytest.mark.parametrize('share', [0, 0.08])
def test_lost_packets_of_a_transfer(share):
    """In a network namespace of its own. The rate is what the sending socket says."""
    with running(['unshare', '-n', 'sh', '-c', 'ip link set lo up && exec "$@"', 'sh',
                  *python(BOTH, str(share))]) as process:
        found = findings_of(process.pid)
        rate = float(process.stdout.readline())
    names = [row['finding'] for row in found]
    assert names[:1] == ['retransmits'] if share else 'retransmits' not in names, found
    if not share:
        assert 'lost packets' not in names and rate < 5, found  # of late answers
        return
    first = found[0]['values']
    n, of, second, most = re.search(
        r'(\d+) of (\d+) segments of TCP were sent again, ([\d.]+) a second, (\d+) % of those seen '
        r'in the system to 127.0.0.1 port \d+', first['evidence']).groups()
    assert first['value'] == pytest.approx(100 * int(n) / int(of))
    assert 2 <= first['value'] <= 16, first
    assert float(second) == pytest.approx(rate, rel=0.35)
    assert int(most) >= 80  # others of the system may have few
    assert first['command'] == 'attar tcpretrans'


def test_lost_packets_between_two_hosts(network):  # noqa: F811
    """Both ends find them: the sender knows to whom, the receiver that its packets are lost."""
    with running(network.on('two', *python(RECEIVER))) as receiver, \
         running(network.on('one', *python(SENDER, network.addresses['two']))) as sender:
        sent, received = (findings_of(process.pid) for process in (sender, receiver))
        commands = [found[0]['values']['command'] for found in (sent, received)]
        answers = [subprocess.run(
            ['sh', '-c', command.replace('attar ', f'{ATTAR} ') + ' -d 1s'], check=True,
            capture_output=True, text=True).stdout for command in commands]
    for answer, text in zip(answers, ('192.0.2.2', '192.0.2.1')):
        assert text in answer, answer
    assert sent[0]['finding'] == 'retransmits', sent
    share = re.search(r', (\d+) % of those seen in the system to 192.0.2.2 port 7000',
                      sent[0]['values']['evidence'])
    assert share and int(share[1]) >= 80, sent
    assert received[0]['finding'] == 'lost packets', received
    assert 'on the way to this host' in received[0]['values']['evidence']
    assert commands == ['attar tcpretrans', f'nsenter -t {receiver.pid} -n attar tcptop']
