# SPDX-License-Identifier: MIT
"""Start ClickHouse servers on loopback, ask them, and run attar with their addresses."""
import contextlib
import http.client
import random
import re
import signal
import socket
import subprocess
import urllib.parse
import urllib.request
from pathlib import Path
from urllib.error import HTTPError, URLError

import pytest

from command import has, run, wait_until

HEAD = '# attar script\nevent sched:sched_wakeup comm:char[16] pid:pid_t\n'
SUMS = re.compile(r'([\d,]+) rows?, ([\d,]+) stored, ([\d,]+) dropped'
                  r'(?:, ([\d,]+) waits? in ([^\s,]+))?(?:, ([\d,]+) of earlier runs stored)?')
CONFIG = '''<yandex>
<logger><level>error</level><log>{path}/log</log><errorlog>{path}/errors</errorlog></logger>
<http_port>{http}</http_port>{tls}<tcp_port>{tcp}</tcp_port><listen_host>127.0.0.1</listen_host>
<path>{path}/data/</path><tmp_path>{path}/tmp/</tmp_path>
<users_config>{path}/users.xml</users_config>
<default_profile>default</default_profile><default_database>default</default_database>
<mark_cache_size>67108864</mark_cache_size><timezone>UTC</timezone>
<remote_servers><fleet>{shards}</fleet></remote_servers>
</yandex>'''
TLS = '''<https_port>{0}</https_port><openSSL><server>
<certificateFile>{1}/certificate</certificateFile><privateKeyFile>{1}/key</privateKeyFile>
<verificationMode>none</verificationMode><loadDefaultCAFile>false</loadDefaultCAFile>
<cacheSessions>false</cacheSessions><preferServerCiphers>true</preferServerCiphers>
</server></openSSL>'''
SHARD = '<shard><replica><host>127.0.0.1</host><port>{}</port></replica></shard>'
USER = '''<{0}><password>{1}</password><networks><ip>127.0.0.1</ip></networks>
<profile>default</profile><quota>default</quota></{0}>'''
USERS = '''<yandex><profiles><default/></profiles><quotas><default/></quotas><users>
{}{}</users></yandex>'''.format(USER.format('default', ''), USER.format('fleet', 'geheim'))


def free_ports(n):
    """Return free ports outside the range from which the kernel chooses ports for connections."""
    end = int(Path('/proc/sys/net/ipv4/ip_local_port_range').read_text().split()[0])
    ports = []
    with contextlib.ExitStack() as stack:
        for port in random.sample(range(10000, end), 1000) if end > 11000 else [0] * n:
            s = stack.enter_context(socket.socket())
            with contextlib.suppress(OSError):
                s.bind(('127.0.0.1', port))
                ports.append(s.getsockname()[1])
            if len(ports) == n:
                return ports
    pytest.skip('there are no free ports on 127.0.0.1')


class Server:
    """A separate server, with the database "perf"."""

    def __init__(self, path, ports=None, shards=(), https=None):
        """https: the port of TLS, and the folder of the files "certificate" and "key"."""
        self.path, self.process = path, None
        self.http, self.tcp = ports or free_ports(2)
        path.mkdir()
        (path / 'users.xml').write_text(USERS)
        (path / 'config.xml').write_text(CONFIG.format(
            path=path, http=self.http, tcp=self.tcp, tls=TLS.format(*https) if https else '',
            shards=''.join(SHARD.format(port) for port in shards or [self.tcp])))

    def is_up(self):
        assert self.process.poll() is None, f'clickhouse-server ended: see {self.path}/errors'
        try:
            return self.ask('SELECT 1') == '1'
        except (URLError, ConnectionError, http.client.HTTPException):
            return False

    def start(self):
        with open(self.path / 'output', 'ab') as output:
            self.process = subprocess.Popen(
                ['clickhouse-server', f'--config-file={self.path}/config.xml'],
                stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        wait_until(self.is_up, 'clickhouse-server answers', 60)
        self.ask('CREATE DATABASE IF NOT EXISTS perf')
        return self

    def kill(self):
        if self.process:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
            self.process.wait()
            self.process = None

    close = kill

    def ask(self, query, database=None):
        """Return the answer as text, without the last line's end."""
        where = f'?database={database}' if database else ''
        try:
            with urllib.request.urlopen(f'http://127.0.0.1:{self.http}/{where}',
                                        query.encode(), timeout=60) as answer:
                return answer.read().decode().rstrip('\n')
        except HTTPError as e:
            raise AssertionError(f'{query}: {e.read().decode()}') from e

    def rows(self, query):
        """Return the rows of a query on the database as lists of text."""
        return [line.split('\t') for line in self.ask(query, 'perf').splitlines()]

    def count(self, table):
        """Return the number of rows; 0 if there is no such table."""
        if self.ask(f'EXISTS TABLE {table}', 'perf') == '0':
            return 0
        return int(self.ask(f'SELECT count() FROM {table}', 'perf'))

    def url(self, spool, user='', database='perf', **parameters):
        parameters = {'spool': spool, 'timeout': '30s', **parameters}
        return (f'clickhouse://{user}127.0.0.1:{self.http}/{database}?'
                + '&'.join(f'{k}={urllib.parse.quote(str(v))}' for k, v in parameters.items()))


@contextlib.contextmanager
def servers(folder, n):
    """Yield n running servers, each of which knows all as shards of the cluster "fleet"."""
    if not has('clickhouse-server'):
        pytest.skip('clickhouse-server (package clickhouse-server) is not installed')
    ports = free_ports(2 * n)
    all_servers = [Server(folder / f'server{i}', ports[2 * i:2 * i + 2], ports[1::2])
                   for i in range(n)]
    try:
        yield [server.start() for server in all_servers]
    finally:
        for server in all_servers:
            server.kill()


@pytest.fixture(scope='module')
def the_server(tmp_path_factory):
    with servers(tmp_path_factory.mktemp('clickhouse'), 1) as started:
        yield started[0]


@pytest.fixture
def server(the_server):
    """A running server with an empty database."""
    if not the_server.process:
        the_server.start()
    the_server.ask('DROP DATABASE IF EXISTS perf')
    the_server.ask('CREATE DATABASE perf')
    yield the_server


@pytest.fixture
def events(tmp_path):
    """events(n): the path of a script with n events, whose pids are 0 to n - 1."""
    def write(n, start=0):
        path = tmp_path / f'{n}.script'
        path.write_text(HEAD + ''.join(
            f'{100000 + i // 1000}.{i % 1000:03} 0 7/7 t sched:sched_wakeup pid={start + i}\n'
            for i in range(n)))
        return path
    return write


def sums(done):
    """Return (rows, stored, dropped, waiting, drained) of the line on stderr."""
    found = SUMS.findall(done.stderr)
    assert found, done.stderr
    numbers = [int(n.replace(',', '') or 0) for i, n in enumerate(found[-1]) if i != 4]
    assert numbers[0] == numbers[1] + numbers[2] + numbers[3], 'a row is not accounted for'
    return numbers


def trace(script, url, *args, status=0):
    done = run('trace', '-e', 'sched:sched_wakeup', '--format', 'json', '--input', script, '-o',
               url, *args)
    if 'built without' in done.stderr:
        pytest.skip('attar was built without ClickHouse: libcurl4-openssl-dev')
    assert done.returncode == status, done.stderr
    return done


def stored_pids(server):
    """Return the pids of all stored events."""
    return sorted(int(row[0]) for row in server.rows(
        "SELECT visitParamExtractInt(values, 'pid') FROM attar_trace_events"))
