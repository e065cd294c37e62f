# SPDX-License-Identifier: MIT
"""--listen: clients of another user cannot keep others out, or read what is not for them."""
import re
import socket
import ssl
import subprocess
import sys
import time

import pytest

from adversary import UID, cpu_time, directory
from command import ATTAR, has

# Opens connections from several loopback addresses, and never finishes a request on them.
CROWD = '''
import socket, sys, time
crowd = []
def fill():
    for i in range(200):
        s = socket.socket()
        try:
            s.bind((f'127.0.0.{2 + i % 40}', 0))
            s.settimeout(1)
            s.connect(('127.0.0.1', int(sys.argv[1])))
            s.send(b'GET /')
            crowd.append(s)
        except OSError:
            s.close()
fill()
print(len(crowd), flush=True)
while True:
    for s in list(crowd):
        try:
            s.send(b'x')
        except OSError:
            crowd.remove(s)
    time.sleep(.5)
'''


@pytest.fixture
def serve():
    programs = []

    def start(address='0', *words):
        programs.append(subprocess.Popen(
            [ATTAR, 'stat', '-a', '-e', 'context-switches', '-i', '50ms', '--listen', address,
             *map(str, words)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True))
        line = next(line for line in programs[-1].stderr if 'listening on' in line)
        port = re.search(r':(\d+)/$', line)
        return int(port[1]) if port else None
    start.programs = programs
    yield start
    for program in programs:
        program.terminate()
        program.wait()


def ask(connection, path='/healthz', host='localhost'):
    connection.settimeout(10)
    connection.sendall(f'GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n'.encode())
    answer = b''
    while piece := connection.recv(65536):
        answer += piece
    return int(answer.split()[1])


def connect(port):
    return socket.create_connection(('127.0.0.1', port), 10)


def test_a_crowd_of_idle_clients_does_not_keep_others_out(serve, nobody):
    port = serve()
    nobody.python(CROWD, port)
    for _ in range(5):
        begin = time.monotonic()
        assert ask(connect(port)) == 200
        assert time.monotonic() - begin < 3


# Prints after how many seconds an answer has come. It connects anew, as programs do that scrape:
# the kernel waits twice as long each time.
HONEST = '''
import socket, sys, time
begin = time.monotonic()
def ask():
    try:
        with socket.create_connection(('127.0.0.1', int(sys.argv[1])), 2) as s:
            s.settimeout(10)
            s.sendall(b'GET /healthz HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n')
            return s.recv(100)
    except TimeoutError:
        return b''
while b' 200 ' not in ask():
    assert time.monotonic() - begin < 60
print(time.monotonic() - begin)
'''


def test_connecting_all_the_time_costs_little(serve, hammer):
    """Root and users who connect seldom wait for the next turn, or for a place in the queue."""
    port = serve()
    hammer(port)
    pid = serve.programs[0].pid
    before, begin = cpu_time(pid), time.monotonic()
    time.sleep(3)  # the attack goes on
    share = (cpu_time(pid) - before) / (time.monotonic() - begin)
    waits = []
    for user in (0, UID - 1) * 5:
        done = subprocess.run(['setpriv', f'--reuid={user}', '--clear-groups', sys.executable, '-c',
                               HONEST, str(port)], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        waits.append(float(done.stdout))
    assert sorted(waits)[5] < 3, waits
    assert share < 0.4


@pytest.mark.parametrize('host, status', [
    ('localhost', 200), ('LOCALHOST:9101', 200), ('127.0.0.1', 200), ('127.1.2.3:80', 200),
    ('[::1]:9101', 200), ('evil.example', 421), ('evil.example:9101', 421), ('10.0.0.1', 421),
    ('127.0.0.1.evil.example', 421), ('[fe80::1]', 421), ('x' * 300, 421)])
def test_names_of_other_hosts_are_refused(host, status, serve):
    assert ask(connect(serve()), host=host) == status


@pytest.mark.filterwarnings('ignore::DeprecationWarning')
def test_only_new_versions_of_tls_are_accepted(serve, tmp_path):
    if not has('openssl'):
        pytest.skip('openssl is not installed')
    key, certificate = tmp_path / 'key', tmp_path / 'certificate'
    subprocess.run(['openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', key,
                    '-out', certificate, '-subj', '/CN=localhost'], check=True,
                   capture_output=True)
    port = serve('0', '--listen-cert', certificate, '--listen-key', key)
    accepted = []
    for version in (ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1, ssl.TLSVersion.TLSv1_2,
                    ssl.TLSVersion.TLSv1_3):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.set_ciphers('ALL:@SECLEVEL=0')
        context.minimum_version = context.maximum_version = version
        try:
            with context.wrap_socket(connect(port)) as connection:
                accepted.append(connection.version())
                assert ask(connection) == 200
        except OSError:
            pass
    assert accepted == ['TLSv1.2', 'TLSv1.3']


def test_a_socket_file_is_for_the_same_user(serve, tmp_path, nobody):
    path = directory(tmp_path / 'run', 0o755) / 'attar.sock'
    for _ in range(2):  # a server that was killed has left its file
        serve(f'unix:{path}')
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(path))
            assert ask(connection, host='anything') == 200
        done = subprocess.run(nobody.command('/usr/bin/python3', '-c', 'import socket, sys;'
                                             'socket.socket(1).connect(sys.argv[1])', path),
                              capture_output=True, text=True)
        assert 'PermissionError' in done.stderr
        serve.programs[-1].kill()
        serve.programs[-1].wait()
        assert path.exists()
    serve(f'unix:{path}')
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(path))
        assert ask(connection, host='anything') == 200
    serve.programs[-1].terminate()
    serve.programs[-1].wait()
    assert not path.exists()


MALFORMED = [
    b'\n', b'\r\n\r\n', b'\0' * 100, b'GET\r\n\r\n', b'GET / HTTP/9.9\r\n\r\n',
    b'GET  HTTP/1.1\r\nHost: localhost\r\n\r\n', b'get / http/1.1\r\n\r\n',
    b'GET / HTTP/1.1\r\n\r\n', b'GET / HTTP/1.1\r\nHost\r\n\r\n',
    b'GET / HTTP/1.1\r\nHost: localhost\r\nHost: other\r\n\r\n',
    b'GET / HTTP/1.1\r\nHost: localhost\r\n folded: x\r\n\r\n',
    b'GET /../../../../etc/shadow HTTP/1.1\r\nHost: localhost\r\n\r\n',
    b'GET /%00%0d%0aX: y HTTP/1.1\r\nHost: localhost\r\n\r\n',
    b'GET /%zz%f HTTP/1.1\r\nHost: localhost\r\n\r\n',
    b'GET http://other/ HTTP/1.1\r\nHost: localhost\r\n\r\n',
    b'GET /' + b'a' * 100000 + b' HTTP/1.1\r\nHost: localhost\r\n\r\n',
    b'GET / HTTP/1.1\r\nHost: localhost\r\n' + b'X: y\r\n' * 20000 + b'\r\n',
    b'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999999999\r\n\r\n',
    b'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n',
    b'GET / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n',
    b'GET / HTTP/1.1\r\nHost: localhost\r\nConnection: \xff\x1b[2J\r\n\r\n',
    b'\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03' + b'\xff' * 200,
    b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
]


def answer_of(port, request):
    """Nothing, if the client is dropped, or if more of the request is awaited."""
    answer = b''
    with connect(port) as client:
        client.settimeout(0.5)
        try:
            client.sendall(request)
            client.shutdown(socket.SHUT_WR)
            while piece := client.recv(65536):
                answer += piece
        except OSError:
            pass
    return answer


def test_malformed_requests(serve):
    """Each is refused or dropped, none is repeated in the answer, and the next is served."""
    port = serve()
    for request in MALFORMED:
        answer = answer_of(port, request)
        status = answer.split(b' ', 2)[1:2]
        assert not answer or answer.startswith(b'HTTP/1.1 '), (request, answer)
        assert status in ([], [b'200']) or status[0][:1] in b'45', (request, answer)
        head = answer.partition(b'\r\n\r\n')[0]
        assert b'X: y' not in head and b'\x1b' not in answer and b'root:' not in answer
        with connect(port) as client:
            assert ask(client) == 200
    assert serve.programs[0].poll() is None


def test_requests_in_single_bytes(serve):
    port = serve()
    with connect(port) as client:
        for byte in b'GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r':
            client.sendall(bytes([byte]))
        client.sendall(b'\n')
        assert client.recv(65536).startswith(b'HTTP/1.1 200 ')
