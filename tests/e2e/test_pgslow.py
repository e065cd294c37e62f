# SPDX-License-Identifier: MIT
"""attar pgslow with a real server of PostgreSQL: slow queries, and who blocks whom."""
import glob
import json
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from command import ATTAR, is_sampling, run, wait_until
from scripts import rows_of

BIN = sorted(glob.glob('/usr/lib/postgresql/*/bin'))[-1:]
pytestmark = [pytest.mark.usefixtures('root'),
              pytest.mark.skipif(not BIN, reason='needs PostgreSQL (postgresql)')]


class Server:
    def __init__(self, place):
        self.place = place
        self.by_user('initdb', '-D', f'{place}/data', '-A', 'trust', '--no-sync')
        self.by_user('pg_ctl', '-D', f'{place}/data', '-l', f'{place}/log', '-w', '-o',
                     f'-k {place} -c listen_addresses= -c fsync=off -c deadlock_timeout=60s',
                     'start')
        self.psql('create table t (id int primary key, n int); insert into t values (1, 0)')

    def by_user(self, program, *args):
        subprocess.run(['setpriv', '--reuid', 'postgres', '--regid', 'postgres', '--clear-groups',
                        f'{BIN[0]}/{program}', *args], check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, cwd=self.place)

    def command(self):
        return ['psql', '-q', '-At', '-h', self.place, '-U', 'postgres', '-v', 'ON_ERROR_STOP=1']

    def psql(self, text):
        return subprocess.run([*self.command(), '-c', text], check=True, text=True,
                              capture_output=True).stdout.strip()

    def session(self):
        return subprocess.Popen(self.command(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                text=True)

    def stop(self):
        self.by_user('pg_ctl', '-D', f'{self.place}/data', '-m', 'immediate', 'stop')


@pytest.fixture(name='server', scope='module')
def fixture_server():
    place = Path(tempfile.mkdtemp(prefix='pgslow'))
    place.chmod(0o755)
    shutil.chown(place, 'postgres', 'postgres')
    server = Server(place)
    yield server
    server.stop()
    shutil.rmtree(place)


class Pgslow:
    """A running attar pgslow, and after stop(): its lines and tables."""

    def __init__(self, server, *args):
        postmaster = (server.place / 'data/postmaster.pid').read_text().split()[0]
        self.attar = subprocess.Popen([ATTAR, 'pgslow', '-p', postmaster, '--format', 'json',
                                       *args],
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        wait_until(lambda: is_sampling(self.attar), 'events are open')
        self.attar.send_signal(signal.SIGUSR1)  # answered by the main loop
        self.attar.stdout.readline()
        self.tables, self.lines = {}, []

    def stop(self):
        self.attar.send_signal(signal.SIGINT)
        text, error = self.attar.communicate(timeout=60)
        assert self.attar.returncode == 0, error
        for line in text.splitlines():
            for section in json.loads(line)['sections']:
                if section['kind'] == 'events':
                    self.lines += rows_of(section)
                else:
                    self.tables[section['name']] = rows_of(section)
        return self


def say(session, text):
    session.stdin.write(text + '\n')
    session.stdin.flush()


def test_slow_queries(server):
    """One sleeps for 0.4 s, with the words of its text in one line; the others are short."""
    found = Pgslow(server, '--than', '400ms')
    server.psql('select 1')
    server.psql('select\n\t pg_sleep(0.4),  17')
    server.psql('select 2')
    line, = found.stop().lines
    assert line['query'] == 'select pg_sleep(0.4), 17'
    assert 4e8 <= line['duration'] < 20e8 and line['lock wait'] == 0
    assert found.tables['by query'][0]['lines'] == 1
    assert found.tables['who blocks whom'] == []


def test_prepared_statements(server):
    """Parts of the extended protocol are one query."""
    script = server.place / 'script.sql'
    script.write_text('select pg_sleep(0.3), 5;\n')
    found = Pgslow(server, '--than', '200ms')
    subprocess.run([f'{BIN[0]}/pgbench', '-h', server.place, '-U', 'postgres', '-n', '-M',
                    'extended', '-t', '3', '-f', script, 'postgres'], check=True,
                   stdout=subprocess.DEVNULL)
    lines = found.stop().lines
    assert [line['query'] for line in lines] == ['select pg_sleep(0.3), 5;'] * 3
    assert all(3e8 <= line['duration'] < 20e8 for line in lines)


def test_parts_of_a_query_are_one(server):
    """Parse, bind and execute each report the text: with --than 0, too, it is a line."""
    script = server.place / 'script.sql'
    script.write_text('select 6, 5;\n')
    found = Pgslow(server, '--than', '0')
    subprocess.run([f'{BIN[0]}/pgbench', '-h', server.place, '-U', 'postgres', '-n', '-M',
                    'extended', '-t', '20', '-f', script, 'postgres'], check=True,
                   stdout=subprocess.DEVNULL)
    assert [line['query'] for line in found.stop().lines].count('select 6, 5;') == 20


def test_who_blocks_whom(server):
    found = Pgslow(server, '--than', '300ms')
    with server.session() as culprit, server.session() as victim:
        say(culprit, 'select pg_backend_pid();')
        say(victim, 'select pg_backend_pid();')
        culprit_pid, victim_pid = (int(s.stdout.readline()) for s in (culprit, victim))
        say(culprit, 'begin; update t set n = n + 1 where id = 1;\nselect 7;')
        assert culprit.stdout.readline() == '7\n'
        say(victim, 'update t set n = n + 10 where id = 1; select 8;')
        wait_until(lambda: server.psql('select count(*) from pg_locks where not granted') == '1',
                   'the victim waits')
        began = time.monotonic()
        time.sleep(0.5)  # how long it is blocked
        say(culprit, 'commit;')
        assert victim.stdout.readline() == '8\n'
        blocked = time.monotonic() - began
        culprit.stdin.close()
        victim.stdin.close()
    found.stop()
    line, = (line for line in found.lines if line['lock wait'])
    assert line['pid'] == victim_pid and line['blocked by'] == culprit_pid
    assert line['query'].startswith('update t set n = n + 10')
    assert 5e8 <= line['lock wait'] <= line['duration'] < (blocked + 5) * 1e9
    block, = found.tables['who blocks whom']
    assert (block['pid'], block['blocked by'], block['waits']) == (victim_pid, culprit_pid, 1)
    assert block['total'] == line['lock wait']
    assert block['its query'] in ('select 7;', 'update t set n = n + 1 where id = 1;')


def test_who_waits_now(server):
    """The culprit does nothing: it holds a lock, in a transaction that stays open."""
    found = Pgslow(server, '--than', '200ms')
    with server.session() as culprit, server.session() as victim:
        say(culprit, 'select pg_backend_pid();\nbegin;\nupdate t set n = 0 where id = 1;')
        say(victim, 'select pg_backend_pid();')
        culprit_pid, victim_pid = (int(s.stdout.readline()) for s in (culprit, victim))
        say(culprit, 'select 7;')
        assert culprit.stdout.readline() == '7\n'
        say(victim, 'delete from t where id = 1;')
        wait_until(lambda: server.psql('select count(*) from pg_locks where not granted') == '1',
                   'the victim waits')
        time.sleep(0.3)  # longer than --than
        found.stop()
        say(culprit, 'rollback;')
        culprit.stdin.close()
        victim.stdin.close()
    waiting, = found.tables['waiting now']
    assert (waiting['pid'], waiting['blocked by']) == (victim_pid, culprit_pid)
    assert waiting['query'] == 'delete from t where id = 1;' and waiting['waits'] >= 3e8
    assert waiting['lock'].startswith('transaction ') and waiting['its query'] == 'select 7;'
    server.psql('insert into t values (1, 0) on conflict do nothing')


def test_server_that_does_not_exist():
    ended = run('pgslow', '--server', '/nonexistent/postgres', '-d', '1ms')
    assert ended.returncode == 2 or ended.returncode == 1
    assert 'cannot probe /nonexistent/postgres: No such file or directory' in ended.stderr


def test_program_that_is_no_server():
    ended = run('pgslow', '--server', '/bin/ls', '-d', '1ms')
    assert ended.returncode != 0
    assert "no function 'pgstat_report_activity'" in ended.stderr


def test_nothing_was_seen(server):
    del server
    ended = run('pgslow', '-d', '1ms')
    assert ended.returncode == 0
    assert f'no query of {BIN[0]}/postgres was seen' in ended.stdout
