# SPDX-License-Identifier: MIT
"""
tcpretrans shows the retransmissions of the connections of the chosen processes. A socket filter
that drops all packets makes the sender send a segment again, until it is removed.
"""
import json
import subprocess
import sys

import pytest

from command import ATTAR, is_waiting, run, wait_until
from scripts import lacks_events
from test_snoop import lines_of

LOSES = '''
import ctypes, socket, struct, sys, time
def retransmitted(sender):
    info = sender.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
    return struct.unpack_from('I', info, 100)[0]
def lose(sender, receiver, times=2):
    """Return the ports, and how often the sender has sent its byte again."""
    code = ctypes.create_string_buffer(struct.pack('HBBI', 6, 0, 0, 0))
    receiver.setsockopt(socket.SOL_SOCKET, 26, struct.pack('HxxxxxxP', 1, ctypes.addressof(code)))
    sender.send(b'x')
    while retransmitted(sender) < times:
        time.sleep(0.01)
    receiver.setsockopt(socket.SOL_SOCKET, 27, bytes(4))
    receiver.recv(1)
    ends = [s.getsockname()[1] for s in (sender, receiver)]
    return *ends, retransmitted(sender)
def connect(family, address):
    with socket.create_server((address, 0), family=family) as server:
        own = ('127.0.0.2', 0) if family == socket.AF_INET else None
        client = socket.create_connection(server.getsockname()[:2], source_address=own)
        return client, server.accept()[0]
'''
ADDRESSES = {'ipv4': ('AF_INET', '127.0.0.1'), 'ipv6': ('AF_INET6', '::1')}
# Retransmissions of a connection in both directions; one end was accepted.
BOTH = LOSES + '''
client, accepted = connect(getattr(socket, sys.argv[1]), sys.argv[2])
if len(sys.argv) > 3: print('connected', flush=True); sys.stdin.read(1)
print(*lose(client, accepted), flush=True)
print(*lose(accepted, client), flush=True)
'''


def program(kind, *args):
    return [sys.executable, '-I', '-S', '-c', BOTH, *ADDRESSES[kind], *args]


def numbers(text):
    """Return the numbers of retransmissions that the kernel counts, by the ports."""
    values = [tuple(map(int, line.split())) for line in text.splitlines()]
    return {(source, target): n for source, target, n in values}


def counts(lines):
    ends = [(row['SPORT'], row['DPORT']) for row in lines]
    return {end: ends.count(end) for end in ends}


def delivered(measure, path):
    """
    Repeat what measures to a file until the kernel delivers all events: some lack what happens in
    an idle task. Return what it returns, and the lines.
    """
    for _ in range(5):
        truth = measure()
        if not lacks_events(json.loads(path.read_text().splitlines()[-1])):
            break
    return truth, lines_of(path.read_text())


@pytest.mark.exclusive
@pytest.mark.usefixtures('root', 'busy_cpus')
@pytest.mark.parametrize('kind', ADDRESSES)
@pytest.mark.parametrize('options', [[], ['-a']], ids=['command', 'all'])
def test_connections_of_a_command(tmp_path, kind, options):
    """Timers retransmit in any task. Of a command, nothing of other processes is shown."""
    path = tmp_path / 'x.json'

    def measure():
        with subprocess.Popen(program(kind), stdout=subprocess.PIPE, text=True) as other:
            ended = run('tcpretrans', '-q', '-o', path, *options, '--', *program(kind))
            others = numbers(other.communicate()[0])
        assert ended.returncode == 0, ended.stderr
        return numbers(ended.stdout), others

    (truth, others), found = delivered(measure, path)
    assert len(truth) == 2 and min(truth.values()) > 1
    assert {ends: n for ends, n in counts(found).items() if ends not in others} == truth
    assert bool(options) == bool(others.keys() & counts(found).keys())
    # the other program can have ended before attar looks for it
    own = {(row['comm'], row['tid']) for row in found if (row['SPORT'], row['DPORT']) in truth}
    assert len(own) == 1 and min(own)[0] == 'python3'


@pytest.mark.exclusive
@pytest.mark.usefixtures('root', 'busy_cpus')
@pytest.mark.parametrize('kind', ADDRESSES)
def test_connections_that_existed_before(tmp_path, spawn, kind):
    """Which process has them is in /proc."""
    path = tmp_path / 'x.json'

    def measure():
        own, other = [spawn(*program(kind, 'waits'), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            text=True) for _ in range(2)]
        for process in own, other:
            assert process.stdout.readline() == 'connected\n'
        attar = spawn(ATTAR, 'tcpretrans', '-q', '-p', own.pid, '-o', path)
        wait_until(lambda: is_waiting(attar), 'attar')
        for process in own, other:
            process.stdin.write('x')
            process.stdin.flush()
        truth = numbers(own.communicate()[0])
        assert min(numbers(other.communicate()[0]).values()) > 1
        assert attar.wait(30) == 0
        return truth, own.pid

    (truth, pid), found = delivered(measure, path)
    assert counts(found) == truth
    assert {(row['comm'], row['tid']) for row in found} == {('python3', pid)}


FIELDS = '''sport:u16 dport:u16 family:u16 saddr_v6:char[16] daddr_v6:char[16]'''
SCRIPT = f'''# attar script
event sock:inet_sock_set_state skaddr:u64 oldstate:int newstate:int protocol:u16 {FIELDS}
event tcp:tcp_retransmit_skb skaddr:u64 state:int {FIELDS}
1.0 0 5/5 client sock:inet_sock_set_state skaddr=1 newstate=2 protocol=6
1.1 0 6/6 other sock:inet_sock_set_state skaddr=2 newstate=2 protocol=6
1.2 0 0/0 swapper tcp:tcp_retransmit_skb skaddr=1 sport=10 dport=80 state=1
1.3 0 6/6 other tcp:tcp_retransmit_skb skaddr=1 sport=11 dport=80 state=1
1.4 0 5/5 client tcp:tcp_retransmit_skb skaddr=2 sport=20 dport=80 state=1
1.5 0 5/5 client tcp:tcp_retransmit_skb skaddr=3 sport=30 dport=80 state=1
1.6 0 5/5 client sock:inet_sock_set_state skaddr=1 newstate=4 protocol=6
1.7 0 0/0 swapper tcp:tcp_retransmit_skb skaddr=1 sport=12 dport=80 state=4
1.8 0 0/0 swapper sock:inet_sock_set_state skaddr=1 newstate=7 protocol=6
1.9 0 5/5 client tcp:tcp_retransmit_skb skaddr=1 sport=40 dport=80 state=1
'''


@pytest.mark.quick
@pytest.mark.parametrize('options, of, expected', [
    ([], 'comm', {10: 'client', 11: 'client', 20: 'other', 30: '[unknown]', 12: 'client',
                  40: '[unknown]'}),
    (['-n', 'client'], 'tid', {10: 5, 11: 5, 12: 5}),
    (['-p', '5'], 'tid', {10: 5, 11: 5, 12: 5}),
    (['-p', '6'], 'tid', {20: 6})], ids=['all', 'name', 'client', 'other'])
def test_connection_by_its_socket(script, options, of, expected):
    """The kernel uses the address of a socket again when it is closed."""
    ended = run('tcpretrans', '--format', 'json', *options, '--input', script(SCRIPT))
    assert ended.returncode == 0, ended.stderr
    assert {row['SPORT']: row[of] for row in lines_of(ended.stdout)} == expected
    remark = '2 events were left out: no selected process was found that has the connection'
    assert (remark in ended.stdout) == ('-p' in options)


@pytest.mark.usefixtures('root')
def test_owners_of_pairs_are_refused():
    event = 'tcp:tcp_retransmit_skb//column=sport/'
    ended = run('snoop', '-e', event, '-e', event, '--owners', event)
    assert (ended.returncode, ended.stderr) == (
        2, 'attar: --owners conflicts with pairs of events: leave out the second -e option\n')
