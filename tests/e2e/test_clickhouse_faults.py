# SPDX-License-Identifier: MIT
"""-o clickhouse://: rows that a server does not store are counted, and none is stored twice."""
import contextlib
import json
import signal
import socket
import subprocess
import threading

import pytest

import clickhouse
from clickhouse import (  # noqa: F401 (fixtures)
    events, server, stored_pids, sums, the_server, trace)
from command import ATTAR, run, wait_until, write_secret


def test_server_is_away_for_the_whole_run(server, tmp_path, events):
    """The next run stores the rows, in order and once."""
    server.kill()
    done = trace(events(2000), server.url(tmp_path / 'spool'))
    assert f'cannot connect to http://127.0.0.1:{server.http}/' in done.stderr
    rows, stored, dropped, waiting, _ = sums(done)
    assert (stored, dropped, waiting) == (0, 0, rows)
    server.start()
    done = trace(events(10, start=2000), server.url(tmp_path / 'spool'))
    assert sums(done)[4] == rows
    assert stored_pids(server) == list(range(2010))
    done = trace(events(10, start=2010), server.url(tmp_path / 'spool'))
    assert sums(done)[4] == 0
    assert stored_pids(server) == list(range(2020))


def test_server_is_killed_in_the_middle(server, tmp_path, events, spawn):
    """All rows are stored once, including those of an earlier run, wherever the server was killed.
    """
    n, url = 150_000, server.url(tmp_path / 'spool')
    with open(tmp_path / 'stderr', 'w+') as stderr:
        process = spawn(ATTAR, 'trace', '-q', '-e', 'sched:sched_wakeup', '--input', events(n),
                        '-o', url, stderr=stderr)
        wait_until(lambda: 'attar_trace_events' in server.ask('SHOW TABLES', 'perf')
                   or process.poll() is not None, 'rows are being stored')
        server.kill()
        assert process.wait(60) == 0
    server.start()
    assert sums(trace(events(1, start=n), url))[2:4] == [0, 0]
    assert stored_pids(server) == list(range(n + 1))


def start_trace(spawn, script, url):
    """The same as trace(), in the background."""
    return spawn(ATTAR, 'trace', '-e', 'sched:sched_wakeup', '--format', 'json', '--input', script,
                 '-o', url, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def ended(process):
    """A process of start_trace(), when it has ended."""
    _, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return subprocess.CompletedProcess(process.args, 0, '', err)


def test_one_of_two_servers_is_killed_in_the_middle(tmp_path, events, spawn):
    """The Distributed table has each row that was not dropped once."""
    n, per_host = 150_000, '''
        SELECT host, count(), uniqExact(visitParamExtractInt(values, 'pid'))
        FROM fleet_events GROUP BY host ORDER BY host'''
    with clickhouse.servers(tmp_path, 2) as (killed, other):
        runs = [start_trace(spawn, events(n), server.url(
            tmp_path / f'spool{i}', host=f'host{i}', quota='1M'))
                for i, server in enumerate((killed, other))]
        wait_until(lambda: 'attar_trace_events' in killed.ask('SHOW TABLES', 'perf')
                   or runs[0].poll() is not None, 'rows are being stored')
        killed.kill()
        (rows, stored, dropped, waiting, _), others = (sums(ended(run)) for run in runs)
        assert rows == others[1] and dropped > 0 and waiting > 0
        killed.start()
        last = sums(trace(events(1, start=n), killed.url(tmp_path / 'spool0', host='host0')))
        assert last[4] == waiting
        other.ask('CREATE TABLE fleet_events AS attar_trace_events ENGINE ='
                  ' Distributed(fleet, perf, attar_trace_events)', 'perf')
        reports = rows - n  # they are rows of another table
        found = [[int(word) for word in row[1:]] for row in other.rows(per_host)]
        assert found[1] == [n, n]
        assert found[0][0] == found[0][1]
        assert n + 1 - dropped <= found[0][0] <= n + 1 - dropped + reports


def test_server_is_killed_while_the_spool_drains(server, tmp_path, events, spawn):
    n, url = 150_000, server.url(tmp_path / 'spool')
    server.kill()
    assert sums(trace(events(n), url))[3] > n
    server.start()
    process = start_trace(spawn, events(1, start=n), url)
    wait_until(lambda: 'attar_trace_events' in server.ask('SHOW TABLES', 'perf')
               and server.count('attar_trace_events'), 'a batch is stored')
    server.kill()
    waiting = sums(ended(process))[3]
    server.start()
    assert sums(trace(events(1, start=n + 1), url))[4] >= waiting > 0
    assert stored_pids(server) == list(range(n + 2))


@pytest.mark.parametrize('wait', ['short', 'long'])
def test_server_is_stopped(server, tmp_path, events, spawn, wait):
    """When it continues, it may store what it had received: nothing is stored twice."""
    url = server.url(tmp_path / 'spool', timeout='1s')
    trace(events(5), url)
    server.process.send_signal(signal.SIGSTOP)
    process = spawn(ATTAR, 'trace', '-q', '-e', 'sched:sched_wakeup', '--input',
                    events(100, start=5), '-o', url)
    with contextlib.suppress(Exception):
        process.wait(0.3 if wait == 'short' else 60)
    server.process.send_signal(signal.SIGCONT)
    assert process.wait(60) == 0
    trace(events(1, start=105), server.url(tmp_path / 'spool'))
    assert stored_pids(server) == list(range(106))


def test_quota_of_the_spool(server, tmp_path, events):
    server.kill()
    url = server.url(tmp_path / 'spool', quota='64K')
    done = trace(events(5000), url)
    assert 'has reached its quota' in done.stderr
    rows, stored, dropped, waiting, _ = sums(done)
    assert stored == 0 and dropped > 0
    assert json.loads(done.stdout.splitlines()[-1])['notes']['unstored'] == dropped
    done = run('trace', '-e', 'sched:sched_wakeup', '--input', events(5000), '-o', url)
    assert 'not stored in the database' in done.stdout
    waiting += sums(done)[3]
    assert sum(f.stat().st_size for f in (tmp_path / 'spool').rglob('*.batch')) <= 64 * 1024
    server.start()
    assert sums(trace(events(1, start=5000), url))[4] == waiting


def test_full_disk_of_the_spool(root, server, tmp_path, events):
    """What it has room for is stored later; the rest is counted."""
    server.kill()
    spool = tmp_path / 'spool'
    spool.mkdir()
    url = server.url(spool)
    script = ('mount -t tmpfs -o size=64k none "$1" && shift && "$@"; r=$?; '
              'cp -a "$0"/. "$0.kept" && exit $r')
    done = run('--mount', 'sh', '-c', script, spool, spool, ATTAR, 'trace', '-e',
               'sched:sched_wakeup', '--format', 'json', '--input', events(5000), '-o', url,
               program='unshare')
    assert done.returncode == 0, done.stderr
    assert 'No space left on device' in done.stderr
    rows, stored, dropped, waiting, _ = sums(done)
    assert stored == 0 and dropped > 0
    assert json.loads(done.stdout.splitlines()[-1])['notes']['unstored'] == dropped
    spool.rmdir()
    (tmp_path / 'spool.kept').rename(spool)
    server.start()
    assert sums(trace(events(1, start=5000), url))[4] == waiting
    pids = stored_pids(server)
    assert len(set(pids)) == len(pids)


@pytest.mark.parametrize('kind', ['cut', 'flipped', 'empty', 'garbage', 'table', 'unfinished'])
def test_damaged_files_of_the_spool(server, tmp_path, events, kind):
    """Each is removed and counted; the others are stored."""
    server.kill()
    for pid in (1, 2):
        trace(events(1, start=pid), server.url(tmp_path / 'spool'))
    files = sorted(f for f in (tmp_path / 'spool').rglob('*.batch')
                   if b'attar_trace_events' in f.read_bytes())
    assert len(files) == 2
    content = bytearray(files[0].read_bytes())
    if kind == 'cut':
        content = content[:-10]
    elif kind == 'flipped':
        content[-1] ^= 1
    elif kind == 'empty':
        content = b''
    elif kind == 'garbage':
        content = b'\xff' * len(content)
    elif kind == 'table':
        content[56:62] = b'; DROP'
    if kind == 'unfinished':
        content = content[:-10]
        files[0] = files[0].rename(files[0].with_suffix('.part'))
    files[0].write_bytes(content)
    if kind == 'unfinished':
        run('-d', '1970-01-02', files[0], program='touch')
    server.start()
    done = trace(events(1, start=3), server.url(tmp_path / 'spool'))
    assert sums(done)[1:4] == [sums(done)[0], 0, 0], 'the rows of this run are stored'
    assert '1 damaged file of the spool' in done.stderr
    known = 1 if kind in ('cut', 'flipped', 'unfinished') else 0
    assert f'with at least {known} row' + ('s' if known != 1 else '') in done.stderr
    assert stored_pids(server) == [2, 3]
    assert not list((tmp_path / 'spool').rglob('*.[bp]a*'))


def test_spool_of_others_is_refused(server, tmp_path, events):
    spool = tmp_path / 'spool' / f'127.0.0.1_{server.http}_perf'
    spool.mkdir(parents=True, mode=0o755)
    done = trace(events(1), server.url(tmp_path / 'spool'), status=1)
    assert 'is accessible to other users' in done.stderr


@pytest.mark.parametrize('user, database, password, text', [
    ('fleet@', 'perf', 'wrong', "does not accept user 'fleet' with this password"),
    ('nobody@', 'perf', '', "does not accept user 'nobody'"),
    ('', 'nowhere', '', "database 'nowhere' does not exist"),
    ('fleet@', 'perf', 'geheim', None)])
def test_access(server, tmp_path, events, monkeypatch, user, database, password, text):
    monkeypatch.setenv('CLICKHOUSE_PASSWORD', password)
    done = trace(events(10), server.url(tmp_path / 'spool', user=user, database=database))
    rows, stored, dropped, waiting, _ = sums(done)
    assert (stored, waiting) == ((0, rows) if text else (rows, 0)) and not dropped
    assert text is None or text in done.stderr
    assert 'geheim' not in done.stdout + done.stderr


def test_password_from_a_file(server, tmp_path, events):
    write_secret(tmp_path / 'password', 'geheim\n')
    done = trace(events(10), server.url(tmp_path / 'spool', user='fleet@',
                                        password_file=tmp_path / 'password'))
    assert sums(done)[1] == sums(done)[0]


ANSWERS = {
    'silent': (b'', 'did not respond in time'),
    'garbage': (b'\x00\xff' * 1000, 'is not in the format of ClickHouse'),
    'another server': (b'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello',
                       'is not in the format of ClickHouse'),
    'not found': (b'HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n',
                  'responded with status 404, but is not ClickHouse'),
    'endless': (b'HTTP/1.1 200 OK\r\n\r\n' + b'x' * (4 << 20),
                'is not in the format of ClickHouse'),
}


@pytest.mark.parametrize('kind', ANSWERS)
def test_other_servers(tmp_path, events, kind):
    """An error message, and the run continues."""
    answer, text = ANSWERS[kind]
    with socket.create_server(('127.0.0.1', 0)) as listener, contextlib.ExitStack() as stack:
        def serve():
            with contextlib.suppress(OSError):
                while True:
                    peer = stack.enter_context(listener.accept()[0])
                    with contextlib.suppress(OSError):
                        if answer:
                            peer.recv(1)
                            peer.sendall(answer)
                            peer.shutdown(socket.SHUT_WR)

        threading.Thread(target=serve, daemon=True).start()
        url = f'clickhouse://127.0.0.1:{listener.getsockname()[1]}/perf?spool={tmp_path}/spool' \
              f'&timeout={"30s" if answer else "1s"}'
        done = trace(events(10), url)
        listener.shutdown(socket.SHUT_RDWR)
    assert text in done.stderr
    assert sums(done)[3] == sums(done)[0]


@pytest.mark.parametrize('url, text', [
    ('clickhouse://', 'is not a ClickHouse address'),
    ('clickhouse://host', 'is not a ClickHouse address'),
    ('clickhouse://host/', 'is not a ClickHouse address'),
    ('clickhouse://host:0/db', 'is not a ClickHouse address'),
    ('clickhouse://host:8123x/db', 'is not a ClickHouse address'),
    ('clickhouse://u:secret@host/db', 'all users can see'),
    ('clickhouse://u:sec/secret@host/db', 'all users can see'),
    ('clickhouse://u:1/secret@host/db', 'all users can see'),
    ('clickhouse://u:sec?secret@host/db', 'all users can see'),
    ('clickhouse://host/db?spool=', 'must name a directory'),
    ('clickhouse://host/db?ttl=3', "no parameter 'ttl'"),
    ('clickhouse://host/db?quota=much', "parameter 'quota'"),
    ('clickhouse://host/db?timeout=0', 'must not be 0'),
    ('clickhouse://host/db?password_file=/nonexistent', 'password_file')])
def test_addresses_that_are_refused(tmp_path, events, url, text):
    done = trace(events(1), url, status=1 if 'nonexistent' in url else 2)
    assert text in done.stderr and 'secret' not in done.stderr


def test_default_spool(tmp_path, events, monkeypatch):
    monkeypatch.setenv('XDG_STATE_HOME', str(tmp_path / 'state'))
    port, = clickhouse.free_ports(1)
    done = trace(events(10), f'clickhouse://127.0.0.1:{port}/perf')
    folder = tmp_path / 'state/attar' / f'127.0.0.1_{port}_perf'
    assert f'wait in {folder}' in done.stderr
    assert list(folder.glob('*.batch')) and folder.stat().st_mode & 0o777 == 0o700
