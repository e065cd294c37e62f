# SPDX-License-Identifier: MIT
"""Presets with the names of other tools: on programs that do a known number of known things."""
import json
import sys
import textwrap

import pytest

from command import run
from scripts import rows_of

pytestmark = pytest.mark.usefixtures('root')


def python(program):
    return '--', sys.executable, '-c', textwrap.dedent(program)


def rows(name, *words, section=None):
    """The rows of a section of the report, and of all lines before it."""
    ended = run(name, '--format', 'json', *words, stdin=None)
    assert ended.returncode == 0, ended.stderr
    return [row for line in ended.stdout.splitlines() if line.startswith('{')
            for found in json.loads(line)['sections']
            if found['name'] == (section or name) for row in rows_of(found)]


def lines(name, *words):
    return rows(name, *words, section='events')


# A server, which ends a second after the last connection, and ten clients.
SERVER = '''
    import os, socket, time
    server = socket.socket({family})
    server.bind(('{bind}', 0))
    server.listen(20)
    port = server.getsockname()[1]
    if not os.fork():
        open('/proc/self/comm', 'w').write('server')
        for _ in range(10):
            connection = server.accept()[0]
            connection.recv(1)
            connection.close()
        time.sleep(1)
        os._exit(0)
    server.close()
    for _ in range(10):
        client = socket.create_connection(('{to}', port))
        time.sleep(.03)
        client.close()
    os.wait()
    '''
IPV4 = {'family': 'socket.AF_INET', 'bind': '127.0.0.1', 'to': '127.0.0.1'}
IPV6 = {'family': 'socket.AF_INET6', 'bind': '::1', 'to': '::1'}


def test_tcpstates():
    """Ten connections stay open for 30 ms, and both of their ends leave each state once."""
    found = lines('tcpstates', *python(SERVER.format(**IPV4)))
    open_for = [r['duration'] for r in found if r['STATE'] == 'ESTABLISHED']
    assert len(open_for) == 20 and min(open_for) >= 30e6
    assert sum(r['STATE'] == 'SYN_SENT' and r['NEXT'] == 'ESTABLISHED' for r in found) == 10
    assert sum(r['STATE'] == 'SYN_RECV' and r['NEXT'] == 'ESTABLISHED' for r in found) == 10
    assert sum(r['STATE'] == 'LAST_ACK' and r['NEXT'] == 'CLOSE' for r in found) == 10
    assert not [r for r in found if r['STATE'] in (r['NEXT'], 'CLOSE')]


def test_tcpstates_adds_up(script):
    """The times in states are the time between the first change and the end."""
    path = script('# attar script\nevent sock:inet_sock_set_state skaddr:u64 oldstate:int '
                  'newstate:int sport:u16 dport:u16 family:u16 protocol:u16 saddr_v6:char[16] '
                  'daddr_v6:char[16]\n' + ''.join(
                      f'{time} 0 5/5 a sock:inet_sock_set_state skaddr=1 protocol={protocol} '
                      f'oldstate={old} newstate={new}\n' for time, protocol, old, new in (
                          ('1.0', 6, 7, 2), ('1.1', 6, 2, 1), ('1.2', 132, 2, 1),
                          ('3.1', 6, 1, 4), ('3.3', 6, 4, 7), ('9.0', 6, 7, 2))))
    found = [(r['STATE'], r['NEXT'], r['duration']) for r in lines('tcpstates', '--input', path)]
    assert found == [('SYN_SENT', 'ESTABLISHED', 100_000_000),
                     ('ESTABLISHED', 'FIN_WAIT1', 2_000_000_000),
                     ('FIN_WAIT1', 'CLOSE', 200_000_000)]


def test_tcpconnlat():
    """Ten connections that are established, and five that are refused."""
    program = SERVER.format(**IPV4) + '''
    for _ in range(5):
        socket.socket().connect_ex(('127.0.0.1', port))
    '''
    found = lines('tcpconnlat', *python(program))
    assert [r['STATE'] for r in found] == ['ESTABLISHED'] * 10 + ['CLOSE'] * 5
    assert len({r['DPORT'] for r in found}) == 1 and all(r['duration'] > 0 for r in found)


@pytest.mark.parametrize('kind', [IPV4, IPV6, {**IPV4, 'bind': '0.0.0.0'},
                                  {**IPV4, 'family': 'socket.AF_INET6', 'bind': '::'}],
                         ids=['address', 'ipv6', 'any', 'dual'])
def test_tcpaccept(kind):
    """They belong to the server, though the packet arrives in the client."""
    found = lines('tcpaccept', *python(SERVER.format(**kind)))
    assert [r['comm'] for r in found] == ['server'] * 10
    assert {r['LADDR'] for r in found} == {kind['to']}


def test_tcprtt():
    """At least a packet of each of ten connections of this machine."""
    found = rows('tcprtt', '-a', *python(SERVER.format(**IPV4)), section='numbers')
    assert found[0]['count'] >= 10 and 0 < found[0]['p50'] < 100_000


def test_tcpdrop():
    """Seven packets of UDP, and seven of TCP, to a port at which nobody listens."""
    program = '''
    import socket
    closed = socket.socket()
    closed.bind(('127.0.0.1', 0))
    for _ in range(7):
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        udp.sendto(b'x', ('127.0.0.1', 9))
        socket.socket().connect_ex(closed.getsockname())
    '''
    found = rows('tcpdrop', *python(program), section='query 1')
    counts = {r['function'].split('+')[0]: r['packets'] for r in found
              if r['reason'] == 'NO_SOCKET'}
    assert counts == {'__udp4_lib_rcv': 7, 'tcp_v4_rcv': 7}


def test_syncsnoop(tmp_path):
    program = f'''
    import mmap, os
    file = os.open({str(tmp_path / 'file')!r}, os.O_RDWR | os.O_CREAT)
    os.ftruncate(file, 4096)
    memory = mmap.mmap(file, 4096)
    for call in [os.fsync] * 3 + [os.fdatasync] * 2:
        call(file)
    memory.flush()
    '''
    found = lines('syncsnoop', *python(program))
    assert [r['CALL'] for r in found] == ['fsync'] * 3 + ['fdatasync'] * 2 + ['msync']


def test_wqlat(script):
    path = script('# attar script\nevent workqueue:workqueue_queue_work work:u64\n'
                  'event workqueue:workqueue_execute_start work:u64\n'
                  '1.000 0 5/5 a workqueue:workqueue_queue_work work=1\n'
                  '1.001 0 5/5 a workqueue:workqueue_queue_work work=2\n'
                  '1.003 1 9/9 k workqueue:workqueue_execute_start work=2\n'
                  '1.010 1 9/9 k workqueue:workqueue_execute_start work=1\n')
    found = rows('wqlat', '--input', path, section='pairs')
    assert [(r['calls'], r['min'], r['max']) for r in found] == [(2, 2_000_000, 10_000_000)]


def test_wqlat_of_the_system():
    """The kernel always has some work."""
    assert rows('wqlat', '-d', '2s', section='pairs')[0]['calls'] > 0


RING = '''
    import ctypes, mmap, os, struct
    libc = ctypes.CDLL(None, use_errno=True)
    parameters = ctypes.create_string_buffer(120)
    ring = libc.syscall(425, 8, parameters)
    if ring < 0:
        print('none', ctypes.get_errno())
        raise SystemExit
    tail, array = struct.unpack_from('4xI16xI', parameters, 40)  # of the ring of requests
    done = struct.unpack_from('I', parameters, 80)[0]            # of the ring of results
    requests = mmap.mmap(ring, array + 4 * 8, offset=0)
    entry = mmap.mmap(ring, 64 * 8, offset=0x10000000)
    for i in range(40):
        entry[0:64] = bytes(64)                          # IORING_OP_NOP
        requests[array + 4 * (i & 7):array + 4 * (i & 7) + 4] = struct.pack('I', 0)
        requests[tail:tail + 4] = struct.pack('I', i + 1)
        assert libc.syscall(426, ring, 1, 0, 0, None, 0) == 1
        requests[done:done + 4] = struct.pack('I', i + 1)
    '''


def test_iouring():
    """40 requests that do nothing."""
    ended = run('iouring', '--format', 'json', *python(RING))
    assert ended.returncode == 0, ended.stderr
    if 'none' in ended.stdout:
        pytest.skip('the kernel has no io_uring')
    report = json.loads(ended.stdout.splitlines()[-1])
    found = {s['name']: rows_of(s) for s in report['sections']}
    assert found['pairs'][0]['calls'] == 40


def test_slabratetop():
    """A file that is opened is an object of the cache of files."""
    found = rows('slabratetop', *python('import os\n[os.eventfd(0) for _ in range(500)]'))
    files = next(r for r in found if r['name'] == 'filp')
    assert 500 <= files['objects'] < 600
    assert files['bytes'] % files['objects'] == 0


def test_biotop(tmp_path):
    """A file of 3 MiB that is written to the disk."""
    name = tmp_path / 'file'
    found = rows('biotop', '--', 'dd', 'if=/dev/zero', f'of={name}', 'bs=1M', 'count=3',
                 'conv=fsync')
    if not found:
        pytest.skip('the file system has no block device')
    written = [r for r in found if 'W' in r['rwbs']]
    assert 3 << 20 <= sum(r['bytes'] for r in written) < 4 << 20
    assert 1 <= sum(r['requests'] for r in written) < 1000
    assert {r['comm'] for r in found} == {'dd'}


def typed(*typed_lines):
    """A program that types lines into bash."""
    return python(f'''
    import os, pty, time
    pid, terminal = pty.fork()
    if not pid:
        os.execvp('bash', ['bash', '--norc', '-i'])
    for line in {typed_lines!r}:
        time.sleep(.3)
        os.write(terminal, line.encode() + b'\\n')
    try:
        while os.read(terminal, 1000):
            pass
    except OSError:
        pass
    os.waitpid(pid, 0)
    ''')


def test_bashreadline():
    found = lines('bashreadline', *typed('true one', 'true "a b"', 'exit'))
    assert [(r['comm'], r['LINE']) for r in found] == [
        ('bash', 'true one'), ('bash', 'true "a b"'), ('bash', 'exit')]
