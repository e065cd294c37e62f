# SPDX-License-Identifier: MIT
"""Databases for SQLite, as the real sqlite3 reads them."""
import collections
import json
import os
import re
import shutil
import sqlite3
import subprocess
from pathlib import Path

import pytest

from command import ATTAR, Profile, has, profile, run, share_is, workload
from test_wall import SCRIPT

pytestmark = pytest.mark.skipif(not has('sqlite3'), reason='sqlite3 is not installed')

EVENTS = '''# attar script
event sched:sched_wakeup stack comm:char[16] pid:pid_t
wall 1700000000
1.000000100 0 100/101 waker sched:sched_wakeup stack=0xa1,0xa2 comm=sleeper pid=42
1.5 1 100/102 waker sched:sched_wakeup stack=0xa1,0xa2 comm="it's 1" pid=43
'''

DOCUMENT = Path(__file__).parents[2] / 'docs/exports.md'


def folded(weight):
    """Return the documented query for folded stacks, with this column as the weight."""
    text = re.search(r'(?m)^ +WITH RECURSIVE paths(.|\n)*?;$', DOCUMENT.read_text()).group(0)
    return re.sub(r'\bself\b', weight, text)


def ask(path, query):
    """Return the rows of a query as dictionaries."""
    text = subprocess.run(['sqlite3', '-json', '-bail', path, query], capture_output=True,
                          text=True, check=True, timeout=60).stdout
    return json.loads(text) if text.strip() else []


def test_equals_the_table_and_the_tree(tmp_path):
    path = tmp_path / 'x.db'
    found = profile('--exclude-kernel', '-o', path, command=[workload('split7030')])
    rows = ask(path, 'SELECT self_percent, total_percent, samples, comm, dso, symbol '
                     'FROM functions')
    assert rows == [{'self_percent': f['self'], 'total_percent': f['total'], **{
        name: f[name] for name in ('samples', 'comm', 'dso', 'symbol')}} for f in found.functions]
    heavy = ask(path, "SELECT sum(samples) AS n FROM functions WHERE symbol = 'heavy'")[0]['n']
    share_is(heavy, found.samples, 0.7)
    assert {row['path']: row['self'] for row in ask(path, folded('self'))} == {
        ';'.join(stack): n for stack, n in found.stacks().items()}
    report, = ask(path, 'SELECT * FROM reports')
    assert report['profiler'] == 'profile' and report['seen'] == found.notes['seen']
    assert report['time'] == found.report['time'] and report['lost'] == 0
    assert ask(path, 'PRAGMA user_version') == [{'user_version': 1}]
    assert ask(path, 'PRAGMA integrity_check') == [{'integrity_check': 'ok'}]
    assert sorted(p.name for p in tmp_path.iterdir()) == ['x.db']


@pytest.mark.parametrize('words, weight', [(['profile', '-g', '-i', '20ms'], 'self'),
                                           (['wall', '-i', '20ms'], 'self_ns')],
                         ids=['samples', 'times'])
def test_documented_query_for_several_reports(tmp_path, words, weight):
    """Folded stacks of all reports, each of which has its own nodes."""
    script, path, out = tmp_path / 'test.script', tmp_path / 'x.db', tmp_path / 'x.json'
    samples = ''.join(f'1.{i:03} 0 100/100 worker cpu-clock stack=0xa{i % 3},0xb{i % 2}\n'
                      for i in range(11, 90, 7))
    script.write_text('\n'.join(sorted((SCRIPT + samples).splitlines(),
                                       key=lambda line: line if line[0] == '1' else '')) + '\n')
    done = run(*words, '-q', '-o', path, '-o', out, '--input', script)
    assert done.returncode == 0, done.stderr
    found = Profile(out.read_text(), done)
    assert len(found.reports) > 3
    expected = collections.Counter()
    for report in found.reports:
        for stack, n in Profile(json.dumps(report), done).stacks().items():
            expected[';'.join(stack)] += n
    assert max(expected.values()) > 1
    rows = ask(path, folded(weight))
    assert {row['path']: row[weight] for row in rows} == expected and len(rows) == len(expected)


def test_events_with_values_and_stacks(tmp_path):
    script, path = tmp_path / 'test.script', tmp_path / 'x.db'
    script.write_text(EVENTS)
    done = run('trace', '-q', '-g', '-o', path, '--input', script)
    assert done.returncode == 0, done.stderr
    rows = ask(path, '''SELECT time, comm, tid, cpu, event, stack,
        json_extract("values", '$.comm') AS woken, json_extract("values", '$.pid') AS pid
        FROM events ORDER BY time''')
    stack = rows[0]['stack']
    assert rows == [
        {'time': 1700000001000000100, 'comm': 'waker', 'tid': 101, 'cpu': 0, 'pid': 42,
         'event': 'sched:sched_wakeup', 'woken': 'sleeper', 'stack': stack},
        {'time': 1700000001500000000, 'comm': 'waker', 'tid': 102, 'cpu': 1, 'pid': 43,
         'event': 'sched:sched_wakeup', 'woken': "it's 1", 'stack': stack}]
    kept, = ask(path, 'SELECT * FROM event_stacks')
    assert kept['id'] == stack and 'a1' in kept['frames'].split(';')[0]
    report, = ask(path, 'SELECT seen FROM reports')
    assert report == {'seen': 2}


def test_each_interval_is_a_report(tmp_path):
    path = tmp_path / 'x.db'
    found = profile('--exclude-kernel', '-i', '100ms', '-o', path, command=[workload('split7030')])
    rows = ask(path, 'SELECT r.time, r.interval_ns, sum(samples) AS n FROM reports r LEFT JOIN '
                     'functions f ON f.report = r.id GROUP BY r.id')
    assert len(rows) == len(found.reports) > 1
    for row, report in zip(rows, found.reports):
        assert (row['time'], row['interval_ns']) == (report['time'], report['interval_ns'])
    table = [sum(r[2] for s in report['sections'] if s['name'] == 'functions' for r in s['rows'])
             for report in found.reports]
    assert [row['n'] or 0 for row in rows] == table


def test_histograms(tmp_path):
    script, path, out = tmp_path / 'test.script', tmp_path / 'x.db', tmp_path / 'x.json'
    script.write_text(SCRIPT)
    done = run('runqlat', '-q', '-o', path, '-o', out, '--input', script)
    assert done.returncode == 0, done.stderr
    section = next(s for s in json.loads(out.read_text())['sections'] if s['kind'] == 'histogram')
    assert [list(row.values()) for row in ask(path, 'SELECT low, high, count FROM histograms')] == \
        section['rows'] and section['rows']
    summary, = ask(path, 'SELECT name, unit, count, sum, min, max FROM summaries')
    assert summary == {'name': section['name'], 'unit': 'ns', **section['summary']}
    assert ask(path, 'SELECT share, value FROM quantiles') == section['quantiles']


def test_replaces_a_file_and_what_a_killed_run_has_left(tmp_path):
    path = tmp_path / 'x.db'
    subprocess.run(['sqlite3', path, 'CREATE TABLE old (a)'], check=True)
    (tmp_path / 'x.db-wal').write_bytes(b'garbage')
    profile('-o', path, command=['true'])
    names = {row['name'] for row in ask(path, 'SELECT name FROM sqlite_schema')}
    assert 'functions' in names and 'old' not in names


def test_names_that_are_not_utf8(tmp_path):
    """The bytes of a program's name that no text can have are U+FFFD, as in JSON."""
    program = os.fsencode(tmp_path) + b'/\xff\xfe\xe6\xbcbad\xc3\xa4'
    shutil.copy(workload('split7030'), program)
    done = subprocess.run([ATTAR, 'profile', '-q', '-g', '--exclude-kernel', '-o', 'x.db', '-o',
                           'x.json', '--', program, '300'], cwd=tmp_path, capture_output=True)
    assert done.returncode == 0, done.stderr
    with sqlite3.connect(tmp_path / 'x.db') as db:
        names = {name for name, in db.execute('SELECT comm FROM functions')}
        modules = {name for name, in db.execute('SELECT module FROM stacks')}
    assert names == {'\ufffd\ufffd\ufffd\ufffdbad\u00e4'}
    assert str(tmp_path / '\ufffd\ufffd\ufffd\ufffdbad\u00e4') in modules
    done = run('diff', '--format', 'json', 'x.json', 'x.db', cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for section in json.loads(done.stdout)['sections']:
        columns = [column['name'] for column in section['columns']]
        before, after = columns.index('before'), columns.index('after')
        assert all(row[before] == row[after] for row in section['rows']), section


def on_small_disk(where, used, *args):
    """Run attar in a file system of 200 KiB with `used` bytes in use. Return it and the files."""
    script = ('mount -t tmpfs -o size=200k none "$1" && cd "$1" && head -c "$2" /dev/zero >used && '
              'shift 2 && { "$@"; r=$?; ls; exit $r; }')
    where.mkdir(exist_ok=True)
    done = subprocess.run(['unshare', '-m', 'sh', '-c', script, 'sh', where, str(used), ATTAR,
                           *args], capture_output=True, text=True, timeout=60)
    return done, done.stdout.split()


# With 200 KiB in use, not even SQLite's index of its log fits.
@pytest.mark.parametrize('used', [0, 120, 160, 180, 192, 200])
@pytest.mark.parametrize('how', [['trace', '-q', '-o', 'x.db'],
                                 ['sql', '-q', '-e', 'sched:sched_wakeup', '--output2', 'x.db']],
                         ids=['output', 'sql'])
def test_full_disk(root, tmp_path, how, used):
    """The error is reported once, attar ends, and only a log with reports stays."""
    script = tmp_path / 'test.script'
    script.write_text(EVENTS + ''.join(f'2.{i:06} 0 1/1 x sched:sched_wakeup pid={i}\n'
                                       for i in range(20000)))
    done, files = on_small_disk(tmp_path / 'small', used << 10, *how, '--input', script)
    assert done.returncode == 1
    assert done.stderr == "attar: cannot write 'x.db': No space left on device\n"
    assert set(files) <= {'used', 'x.db', *(['x.db-wal'] if not used else [])}


def test_needs_a_file(tmp_path):
    (tmp_path / 'x.db').symlink_to('/dev/null')
    done = run('profile', '-q', '-o', 'x.db', '--', 'true', cwd=tmp_path)
    assert done.returncode == 1 and 'a database needs a file: use -o FILE.db' in done.stderr


@pytest.mark.parametrize('command', [('profile', '--format', 'sqlite', '--', 'true'),
                                     ('diff', '--format', 'sqlite', 'a.json', 'b.json')])
def test_is_refused_on_stdout(command):
    done = run(*command)
    assert done.returncode == 2
    assert '--format: sqlite is a database: use -o FILE.db' in done.stderr
    formats = run(command[0], '--help', 'all').stdout.split('--format')[1].split('\n  ')[0]
    assert 'sqlite' not in formats
