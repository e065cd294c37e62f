# SPDX-License-Identifier: MIT
"""attar diff of databases (-o x.db): the same differences as of the same results in JSON."""
import json
import os
import sqlite3

import pytest

from command import run

pytestmark = pytest.mark.quick


def samples(counts):
    """Return a script with a number of samples of each thread in each of ten seconds."""
    lines = ['# attar script', 'event cpu-clock stack']
    for second in range(1, 11):
        at = 0
        for tid, (comm, n) in enumerate(counts.items(), 1):
            for i in range(n + second % 3):
                lines.append(f'{second}.{at:06} 0 1/{tid} {comm} cpu-clock stack=0xa{i % 3},0xb')
                at += 1
    return '\n'.join(lines) + '\n'


def pairs(delays):
    """Return a script of wakeups and switches with these delays in us."""
    lines = ['# attar script', 'event sched:sched_wakeup comm:char[16] pid:pid_t',
             'event sched:sched_switch prev_comm:char[16] prev_pid:pid_t prev_prio:int '
             'prev_state:long next_comm:char[16] next_pid:pid_t next_prio:int']
    for i, delay in enumerate(delays, 1):
        lines += [f'{i}.0 0 1/1 x sched:sched_wakeup comm=y pid=2',
                  f'{i}.{delay:06} 0 1/1 x sched:sched_switch prev_comm=x prev_pid=1 '
                  'prev_prio=120 prev_state=1 next_comm=y next_pid=2 next_prio=120']
    return '\n'.join(lines) + '\n'


BEFORE, AFTER = samples({'heavy': 30, 'light': 20}), samples({'heavy': 10, 'light': 40, 'new': 5})
RESULTS = {
    'profile': (['profile', '-g'], BEFORE, AFTER),
    'intervals': (['profile', '-g', '-i', '1s'], BEFORE, AFTER),
    'histograms': (['runqlat'], pairs([10, 20, 300, 4000]), pairs([100, 200, 3000, 4000, 9])),
}


def make(tmp_path, name, side):
    words, *scripts = RESULTS[name]
    script = tmp_path / f'{side}.script'
    script.write_text(scripts[side])
    paths = [tmp_path / f'{side}.{kind}' for kind in ('json', 'db')]
    done = run(*words, '-q', '--input', script, '-o', paths[0], '-o', paths[1])
    assert done.returncode == 0, done.stderr
    return paths


def sections(*paths):
    done = run('diff', '--format', 'json', *paths)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report['sections']
    return report['sections']


@pytest.mark.parametrize('name', RESULTS)
def test_equals_that_of_json(tmp_path, name):
    (a_json, a_db), (b_json, b_db) = make(tmp_path, name, 0), make(tmp_path, name, 1)
    truth = sections(a_json, b_json)
    assert any(row for section in truth for row in section['rows'])
    for before, after in (a_db, b_db), (a_json, b_db), (a_db, b_json):
        assert sections(before, after) == truth
    folded = [tmp_path / 'json.folded', tmp_path / 'db.folded']
    for path, pair in zip(folded, ((a_json, b_json), (a_db, b_db))):
        assert run('diff', '--folded', path, *pair).returncode == 0
    assert folded[0].read_text() == folded[1].read_text()


def test_fail_above(tmp_path):
    a, b = make(tmp_path, 'profile', 0)[1], make(tmp_path, 'profile', 1)[1]
    assert run('diff', '--fail-above', '5%', a, b).returncode == 1
    assert run('diff', '--fail-above', '5%', a, a).returncode == 0


@pytest.mark.parametrize('script, message', [
    ('CREATE TABLE t(a)', "the database has no table 'reports': it was not written by 'attar -o'"),
    ('CREATE TABLE reports(a)', 'no such column'),
    ('CREATE VIEW reports AS SELECT 1 AS id', "has no table 'reports'"),
    ('DROP TABLE sections', "has no table 'sections'"),
    ("UPDATE sections SET name = 'nope' WHERE kind = 'table'", "has no table 'nope'"),
    ("UPDATE sections SET kind = 'tree'", 'lacks columns|before its parent|damaged'),
    ('DROP TABLE functions; CREATE VIEW functions AS WITH RECURSIVE c(x) AS '
     '(SELECT 1 UNION ALL SELECT x FROM c) SELECT x FROM c', "has no table 'functions'"),
    ('UPDATE stacks SET parent = 1000000', 'before its parent'),
    ('DELETE FROM reports', 'it has no table, histogram or call tree'),
])
def test_other_and_damaged_databases(tmp_path, script, message):
    good = make(tmp_path, 'profile', 0)[1]
    path = tmp_path / 'x.db' if script.startswith('CREATE') else good
    db = sqlite3.connect(path)
    db.executescript(script)
    db.close()
    done = run('diff', path, path)
    assert done.returncode == 2 and done.stdout == '', done.stdout
    assert any(text in done.stderr for text in message.split('|')), done.stderr


def test_damaged_pages(tmp_path):
    """Each page is overwritten: a sentence or differences, never a crash."""
    path = make(tmp_path, 'profile', 0)[1]
    whole = path.read_bytes()
    size = int.from_bytes(whole[16:18], 'big')
    for at in range(0, len(whole), size):
        path.write_bytes(whole[:at + 100] + os.urandom(size - 100) + whole[at + size:])
        done = run('diff', path, path)
        assert done.returncode in (0, 2), (at, done.returncode, done.stderr)
        assert done.returncode == 0 or done.stderr.startswith('attar: '), done.stderr
