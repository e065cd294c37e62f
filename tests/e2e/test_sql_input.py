# SPDX-License-Identifier: MIT
"""attar sql --input x.db: databases that attar wrote, others, and hostile ones."""
import json
import os
import sqlite3

import pytest

from command import NOBODY, run

pytestmark = pytest.mark.quick

EVENTS = '''# attar script
event sched:sched_wakeup comm:char[16] pid:pid_t
wall 1700000000
1.000000100 0 100/101 waker sched:sched_wakeup comm=sleeper pid=42
1.5 1 100/102 waker sched:sched_wakeup comm=other pid=43
'''


@pytest.fixture
def recording(tmp_path):
    path = tmp_path / 'test.script'
    path.write_text(EVENTS)
    return path


def make(path, script):
    """Create a database with SQLite itself."""
    db = sqlite3.connect(path)
    db.executescript(script)
    db.close()
    return path


def sql(path, query, *words, **kwargs):
    return run('sql', '--format', 'json', '--input', path, '--query', query, *words, **kwargs)


def rows(path, query):
    done = sql(path, query)
    assert done.returncode == 0, done.stderr
    return [section['rows'] for section in json.loads(done.stdout)['sections']]


def refused(path, query, message):
    done = sql(path, query)
    assert done.returncode not in (0, -11, -6) and message in done.stderr, done.stderr
    assert done.stderr.count('attar: ') == 1, done.stderr


def test_results_of_an_output(recording, tmp_path):
    path = tmp_path / 'x.db'
    done = run('trace', '-q', '--input', recording, '-o', path)
    assert done.returncode == 0, done.stderr
    found = rows(path, 'SELECT comm, tid, cpu FROM events ORDER BY time; '
                       'SELECT profiler FROM reports')
    assert found == [[['waker', 101, 0], ['waker', 102, 1]], [['trace']]]
    assert sorted(p.name for p in tmp_path.iterdir()) == ['test.script', 'x.db']


def test_several_options(recording):
    """All are executed, in their order, also after a comment at the end of one."""
    done = run('sql', '--format', 'json', '--input', recording, '--query', 'SELECT 1 -- one',
               '--query', 'SELECT count(*) FROM sched_wakeup; SELECT 3', '--query', 'SELECT 4')
    assert done.returncode == 0, done.stderr
    assert [s['rows'] for s in json.loads(done.stdout)['sections']] == [[[1]], [[2]], [[3]], [[4]]]


def test_tables_of_output2(recording, tmp_path):
    path = tmp_path / 'x.db'
    done = run('sql', '-q', '--input', recording, '--output2', path)
    assert done.returncode == 0, done.stderr
    assert rows(path, 'SELECT comm, pid, signal_name(9) FROM sched_wakeup ORDER BY time') == [
        [['sleeper', 42, 'SIGKILL'], ['other', 43, 'SIGKILL']]]


def test_prompt_and_tables(tmp_path):
    path = make(tmp_path / 'x.db', 'CREATE TABLE t(a INTEGER, b TEXT); INSERT INTO t VALUES(1,2);'
                                   'CREATE VIEW v AS SELECT a FROM t')
    (tmp_path / 'queries').write_text('.tables\n.schema\nSELECT * FROM v;\n')
    with open(tmp_path / 'queries') as queries:
        done = run('sql', '--format', 'json', '--prompt', '--input', path, stdin=queries)
    assert done.returncode == 0, done.stderr
    found = [json.loads(line)['sections'] for line in done.stdout.splitlines()]
    assert [sections[0]['rows'] for sections in found if sections] == [
        [['t', 'table'], ['v', 'view']], [['t', 'a', 'INTEGER'], ['t', 'b', 'TEXT']], [[1]]]


def test_database_that_is_being_written(tmp_path):
    """Its newest rows are in a log next to it, also in a folder that cannot be written."""
    path = tmp_path / 'x.db'
    writer = sqlite3.connect(path)
    writer.execute('PRAGMA journal_mode = WAL')
    writer.execute('CREATE TABLE t(a)')
    writer.execute('INSERT INTO t VALUES (1)')
    writer.commit()
    assert (tmp_path / 'x.db-wal').stat().st_size > 0
    assert rows(path, 'SELECT a FROM t') == [[[1]]]
    writer.close()
    assert rows(path, 'SELECT a FROM t') == [[[1]]]


def test_database_of_a_folder_that_cannot_be_written(root, open_dir):
    path = make(open_dir.path / 'x ?%20#.db', 'PRAGMA journal_mode = WAL; CREATE TABLE t(a);'
                                              'INSERT INTO t VALUES (1)')
    done = run('sql', '--format', 'json', '--input', path, '--query', 'SELECT a FROM t',
               program=open_dir.path / 'attar', user=NOBODY)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)['sections'][0]['rows'] == [[1]]


@pytest.mark.parametrize('query, message', [
    ('DELETE FROM t', 'DELETE is not allowed'),
    ('CREATE TABLE u(a)', 'is not allowed: queries are read-only'),
    ("ATTACH 'y.db' AS y", 'ATTACH is not allowed'),
    ('PRAGMA trusted_schema = ON', 'PRAGMA is not allowed'),
    ("SELECT load_extension('x')", 'not authorized'),
    ('SELECT * FROM u', 'no such table: u; the tables are t(a)'),
    ('WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c',
     'interrupted after 0.2 s'),
])
def test_queries_only_read(tmp_path, query, message):
    path = make(tmp_path / 'x.db', 'CREATE TABLE t(a); INSERT INTO t VALUES (1)')
    before = path.read_bytes()
    done = sql(path, query, '--timeout', '200ms')
    assert done.returncode in (1, 2) and message in done.stderr, done.stderr
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ['x.db']


@pytest.mark.parametrize('words, message', [
    (['-e', 'sched:sched_wakeup'], 'conflicts with --event'),
    (['--output2', 'y.db'], 'conflicts with --output2'),
    (['--verify'], 'conflicts with --verify'),
    (['-i', '1s'], 'conflicts with --interval'),
    (['-p', '1'], 'conflicts with --pids'),
])
def test_options_that_a_database_has_no_use_for(tmp_path, words, message):
    path = make(tmp_path / 'x.db', 'CREATE TABLE t(a)')
    done = sql(path, 'SELECT 1', *words)
    assert done.returncode == 2 and message in done.stderr, done.stderr


def test_other_profilers_name_the_command(tmp_path):
    path = make(tmp_path / 'x.db', 'CREATE TABLE t(a)')
    done = run('profile', '--input', path)
    assert done.returncode == 2 and 'attar sql --input' in done.stderr


# ---- hostile ----

def test_garbage(tmp_path):
    path = tmp_path / 'x.db'
    path.write_bytes(b'SQLite format 3\0' + os.urandom(5000))
    refused(path, 'SELECT 1', 'cannot read the database')
    path.write_bytes(b'SQLite format 3\0')
    refused(path, 'SELECT 1', 'cannot read the database')


def test_damaged_pages(tmp_path):
    """Each page is overwritten: a sentence or rows, never a crash."""
    path = make(tmp_path / 'x.db', 'CREATE TABLE t(a, b); CREATE INDEX i ON t(b); WITH RECURSIVE '
                'c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 2000) '
                'INSERT INTO t SELECT x, x FROM c')
    whole = path.read_bytes()
    size = int.from_bytes(whole[16:18], 'big')
    for at in range(0, len(whole), 2 * size):
        path.write_bytes(whole[:at + 100] + b'\xff' * (size - 100) + whole[at + size:])
        done = sql(path, 'SELECT sum(a) FROM t; SELECT count(*) FROM t WHERE b > 5')
        assert done.returncode in (0, 1, 2), (at, done.returncode, done.stderr)
        assert done.returncode == 0 or done.stderr.startswith('attar: '), done.stderr


@pytest.mark.parametrize('script, query, message', [
    ("CREATE VIEW v AS SELECT load_extension('/tmp/x')", 'SELECT * FROM v', 'unsafe use|not auth'),
    ('CREATE VIEW v AS SELECT comm_get(1)', 'SELECT * FROM v', 'unsafe use|no such function'),
    ('CREATE VIEW v AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x FROM c) '
     'SELECT count(*) FROM c', 'SELECT * FROM v', 'interrupted after'),
    ('CREATE VIEW v AS SELECT * FROM v', 'SELECT * FROM v', 'circularly defined'),
    ("PRAGMA writable_schema = ON; CREATE TABLE t(a); "
     "UPDATE sqlite_schema SET sql = 'CREATE TABLE t(((' ", 'SELECT * FROM t', 'malformed'),
    ("PRAGMA writable_schema = ON; INSERT INTO sqlite_schema VALUES "
     "('table', 't', 't', 0, 'CREATE VIRTUAL TABLE t USING attar(0)')", 'SELECT * FROM t',
     'no such module|malformed'),
])
def test_hostile_schemas(tmp_path, script, query, message):
    path = tmp_path / 'x.db'
    db = sqlite3.connect(path)
    for name in ('comm_get', 'load_extension'):
        db.create_function(name, 1, lambda a: a, deterministic=True)
    db.executescript(script)
    db.commit()
    db.close()
    done = sql(path, query, '--timeout', '200ms')
    assert done.returncode in (1, 2), (done.returncode, done.stdout, done.stderr)
    assert any(text in done.stderr for text in message.split('|')), done.stderr
