# SPDX-License-Identifier: MIT
"""Databases on other machines: what is sent there can be read and changed on the way."""
import re
import socket
import subprocess
import threading
import urllib.parse

import pytest

import clickhouse
from clickhouse import events, sums, trace  # noqa: F401
from command import has, write_secret

PASSWORD = 'geheim'  # of the user "fleet"


def make_certificate(folder, name):
    folder.mkdir()
    subprocess.run(['openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout',
                    folder / 'key', '-out', folder / 'certificate', '-subj', f'/CN={name}',
                    '-addext', f'subjectAltName=DNS:{name}'], check=True, capture_output=True)
    return folder


@pytest.fixture(scope='module')
def tls_server(tmp_path_factory):
    """A server, its port of TLS, and the certificate."""
    for program in 'clickhouse-server', 'openssl':
        if not has(program):
            pytest.skip(f'{program} is not installed')
    folder = tmp_path_factory.mktemp('tls')
    files = make_certificate(folder / 'files', 'localhost')
    *ports, https = clickhouse.free_ports(3)
    server = clickhouse.Server(folder / 'server', ports, https=(https, files))
    try:
        yield server.start(), https, files / 'certificate'
    finally:
        server.kill()


def url(server, port, user='fleet', **parameters):
    parameters = {'timeout': '10s', **parameters}
    return (f'clickhouses://{user}@{server}:{port}/perf?'
            + '&'.join(f'{k}={urllib.parse.quote(str(v))}' for k, v in parameters.items()))


def test_rows_and_the_password_are_sent_by_tls(tls_server, events, tmp_path):  # noqa: F811
    server, port, certificate = tls_server
    write_secret(tmp_path / 'password', PASSWORD)
    done = trace(events(1000), url('localhost', port, spool=tmp_path / 'spool', ca=certificate,
                                   password_file=tmp_path / 'password'))
    rows, stored, dropped, *_ = sums(done)
    assert rows == stored >= 1000 and dropped == 0, done.stderr
    assert f'clickhouses://localhost:{port}/perf: ' in done.stderr
    assert server.count('attar_trace_events') == 1000


@pytest.mark.parametrize('host, trusted, reason', [
    ('localhost', False, 'is not trusted'), ('127.0.0.1', True, 'is not trusted')],
    ids=['authority', 'name'])
def test_another_server_gets_nothing(tls_server, events, tmp_path, host, trusted,  # noqa: F811
                                     reason):
    server, port, certificate = tls_server
    server.ask('DROP TABLE IF EXISTS attar_trace_events', 'perf')
    write_secret(tmp_path / 'password', PASSWORD)
    ca = certificate if trusted else make_certificate(tmp_path / 'other', 'x') / 'certificate'
    done = trace(events(10), url(host, port, spool=tmp_path / 'spool', ca=ca, timeout='1s',
                                 password_file=tmp_path / 'password'))
    assert reason in done.stderr and 'ca=FILE' in done.stderr
    assert sums(done)[1] == 0 and server.count('attar_trace_events') == 0


def test_a_server_without_tls_is_told_nothing(events, tmp_path):  # noqa: F811
    """It would see the password in a request."""
    got = []
    write_secret(tmp_path / 'password', 'never-in-clear-text')
    with socket.create_server(('127.0.0.1', 0)) as listener:
        def serve():
            while True:
                try:
                    connection = listener.accept()[0]
                except OSError:
                    return
                with connection:
                    got.append(connection.recv(1 << 16))
                    connection.sendall(b'HTTP/1.1 200 OK\r\n\r\n')
        threading.Thread(target=serve, daemon=True).start()
        done = trace(events(1), url('localhost', listener.getsockname()[1], timeout='1s',
                                    spool=tmp_path / 'spool',
                                    password_file=tmp_path / 'password'))
        assert 'cannot begin TLS' in done.stderr
        listener.shutdown(socket.SHUT_RDWR)
    assert got and not re.search(rb'never-in|X-ClickHouse|HTTP', b''.join(got))


@pytest.mark.parametrize('host', ['db.invalid', '192.0.2.1', '[2001:db8::1]', '127.0.0.1.invalid'])
def test_a_password_without_tls_stays_here(events, tmp_path, monkeypatch, host):  # noqa: F811
    monkeypatch.setenv('CLICKHOUSE_PASSWORD', 'secret')
    place = f'clickhouse://fleet@{host}/perf?spool={tmp_path}/spool&timeout=1s'
    done = trace(events(1), place, status=2)
    assert 'the password would be sent to clickhouse://' in done.stderr
    assert 'clickhouses://' in done.stderr and 'insecure=1' in done.stderr
    assert 'secret' not in done.stderr


@pytest.mark.parametrize('host', ['127.0.0.1', 'localhost', '[::1]', '127.9.9.9'])
def test_a_password_within_this_machine_needs_no_tls(events, tmp_path, monkeypatch,  # noqa: F811
                                                     host):
    monkeypatch.setenv('CLICKHOUSE_PASSWORD', 'secret')
    port, = clickhouse.free_ports(1)
    trace(events(1), f'clickhouse://fleet@{host}:{port}/perf?spool={tmp_path}/spool&timeout=1s')


def test_insecure_is_a_choice(events, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.setenv('CLICKHOUSE_PASSWORD', 'secret')
    place = f'clickhouse://fleet@db.invalid/perf?spool={tmp_path}/spool&timeout=1s&insecure='
    assert 'cannot connect' in trace(events(1), place + '1').stderr
    assert 'the only value is 1' in trace(events(1), place + '2', status=2).stderr
    for words in 'insecure=1', 'ca=file':
        other = 'clickhouse' + 's' * (words != 'ca=file') + f'://h/perf?{words}'
        assert words.split('=')[0] in trace(events(1), other, status=2).stderr
