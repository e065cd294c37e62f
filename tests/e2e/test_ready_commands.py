# SPDX-License-Identifier: MIT
"""Commands for questions on call: forks, fsyncslow, loopblock, slowest; and summaries of lines."""
import json

import pytest

from command import run, run_delivered
from scripts import of_script, report_until, rows

pytestmark = pytest.mark.usefixtures('root')
PYTHON = '/usr/bin/python3'

FORKS = '''
import os, threading
for i in range(40):
    t = threading.Thread(target=lambda: None)
    t.start()
    t.join()
for i in range(30):
    if os.fork() == 0:
        os._exit(0)
    os.wait()
'''


def test_forks():
    """30 processes and 40 threads; a child that creates 7 processes has a row of its own."""
    script = 'for i in 1 2 3 4 5 6 7; do /bin/true; done; exec "$0" -c "$1"'
    found = report_until(lambda r: rows(r, 'forks')[0]['forks'] == 37, 'forks', '-i', '30s', '--',
                         'sh', '-c', script, PYTHON, FORKS)
    assert [(r['forks'], r['threads']) for r in rows(found, 'forks')] == [(37, 40)]
    name, = {r['comm'] for r in rows(found, 'forks')}
    assert name.startswith('python3')
    script = f'{PYTHON} -c "$0"; {PYTHON} -c "$0"; :'
    found = report_until(lambda r: len(rows(r, 'forks')) == 3, 'forks', '-i', '30s', '--', 'sh',
                         '-c', script, FORKS)
    assert [(r['forks'], r['threads']) for r in rows(found, 'forks')] == [
        (30, 40), (30, 40), (2, 0)]


SYNCS = '''
import os, sys
fd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
for i in range(7):
    os.write(fd, b'x')
    os.fsync(fd)
for i in range(3):
    os.fdatasync(fd)
r, w = os.pipe()
try:
    os.fsync(w)
except OSError:
    pass
'''


def test_fsyncslow(tmp_path):
    args = ['--format', 'json', '--', PYTHON, '-c', SYNCS, tmp_path / 'x']
    ended = run_delivered('fsyncslow', '--than', '0', *args)
    lines = [row for line in ended.stdout.splitlines() for s in json.loads(line)['sections']
             if s['kind'] == 'events' for row in s['rows']]
    calls = [(row[3], row[5]) for row in lines]
    assert calls == [('fsync', '')] * 7 + [('fdatasync', '')] * 3 + [('fsync', 'EINVAL')]
    assert {row[4] for row in lines} <= {str(tmp_path / 'x'), '[unknown]'} | {
        row[4] for row in lines if row[4].startswith('pipe:')}
    ended = run_delivered('fsyncslow', '--than', '100s', *args)
    assert 'fdatasync' not in ended.stdout


LOOP = '''
import os, select, time
epoll, (r, w) = select.epoll(), os.pipe()
epoll.register(r, select.EPOLLIN)
def busy(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
for i in range(20):
    os.write(w, b'x')
    epoll.poll(1)
    os.read(r, 1)
    if i == 9:
        busy(1)
    if i == 14:
        time.sleep(1.2)
'''


def test_loopblock():
    """One turn runs for 1 s and one sleeps for 1.2 s; the others take no second."""
    ended = run_delivered('loopblock', '--than', '1s', '--format', 'json', '--', PYTHON, '-c', LOOP)
    assert ended.returncode == 0, ended.stderr
    parsed = [json.loads(line) for line in ended.stdout.splitlines()]
    events = [dict(zip([c['name'] for c in s['columns']], row))
              for found in parsed for s in found['sections'] if s['kind'] == 'events'
              for row in s['rows']]
    pairs = {}
    for event in events:
        pairs.setdefault(event['pair'], []).append(event)
    busy, asleep = pairs.values()
    assert 1e9 <= busy[-1]['offset'] < 50e9 and 1.2e9 <= asleep[-1]['offset'] < 50e9
    assert sum(e['event'] == 'runs' for e in busy) > 20
    assert sum(e['event'] == 'blocks' for e in asleep) >= 1
    table, = (s for s in parsed[-1]['sections'] if s['name'] == 'pairs')
    row = dict(zip([c['name'] for c in table['columns']], table['rows'][0]))
    assert (row['calls'], row['than']) == (19, 2)


def test_stacks_of_loopblock():
    ended = run('loopblock', '--than', '1s', '--', PYTHON, '-c', LOOP)
    assert 'do_nanosleep' in ended.stdout


BUILD = '''all: a b slow c
a b c slow:
\t./compile -O2 -c $@.c
'''
COMPILER = '''#!/bin/sh
case $3 in slow.c) sleep 1.5 ;; *) sleep 0.1 ;; esac
'''


def test_slowest_file_of_a_build(tmp_path):
    (tmp_path / 'Makefile').write_text(BUILD)
    (tmp_path / 'compile').write_text(COMPILER)
    (tmp_path / 'compile').chmod(0o755)
    found = report_until(lambda r: len(rows(r, 'longest')) == 9, 'slowest', '--', 'make', '-j2',
                         '-C', tmp_path)
    longest = rows(found, 'longest')
    assert [r['comm'] for r in longest[:3]] == ['make', 'compile', 'sleep']
    assert longest[1]['command'].endswith('compile -O2 -c slow.c')
    assert longest[2]['command'] == '/usr/bin/sleep 1.5'
    assert all(1.5e9 <= r['duration'] < 15e9 for r in longest[:3])
    assert all(1e8 <= r['duration'] < 1.5e9 for r in longest[3:])
    assert {r['state'] for r in longest} == {'ended'} and len(longest) == 9


def test_slowest_has_what_still_runs():
    found = report_until(lambda r: len(rows(r, 'longest')) == 2, 'slowest', '-d', '2s', '-n',
                         'sleep,sh', '--', 'sh', '-c', 'sleep 9 > /dev/null 2>&1; :')
    assert [(r['comm'], r['state']) for r in rows(found, 'longest')] == [
        ('sh', 'runs'), ('sleep', 'runs')]
    assert rows(found, 'longest')[1]['command'] == '/usr/bin/sleep 9'


SIGNALS = '''
import os, signal
for name in (signal.SIGUSR1, signal.SIGUSR2):
    signal.signal(name, lambda *_: None)
for i in range(30):
    os.kill(os.getpid(), signal.SIGUSR1)
for i in range(COUNT):
    os.kill(os.getpid(), signal.SIGUSR2)
'''


def of_signals(count):
    return report_until(lambda r: True, 'signals', '--', PYTHON, '-c',
                        SIGNALS.replace('COUNT', str(count)))


def test_summary_of_signals():
    found = of_signals(7)
    process, = rows(found, 'by process')
    assert process['lines'] == 37 and process['comm'].startswith('python3')
    assert [(r['SIGNAL'], r['lines']) for r in rows(found, 'by SIGNAL')] == [
        ('SIGUSR1', 30), ('SIGUSR2', 7)]


def test_summary_of_a_script(tmp_path):
    """27 lines in 13 s, of twelve paths, ten of which are shown; 21 lines are needed."""
    text = 'event my:open name:string\n'
    paths = ['/often'] * 10 + ['/twice'] * 2 + [f'/p{i:02}' for i in range(15)]
    for i, path in enumerate(paths):
        text += f'{i / 2 + 1:.3f} 0 {7 + i % 2}/{7 + i % 2} worker{i % 2} my:open name="{path}"\n'
    args = ['snoop', '-e', 'my:open//column=PATH:name/']
    found = of_script(tmp_path, text, *args)
    assert [(r['PATH'], r['lines'], r['per second']) for r in rows(found, 'by PATH')] == [
        ('/often', 10, pytest.approx(10 / 13)), ('/twice', 2, pytest.approx(2 / 13))] + [
            (f'/p{i:02}', 1, pytest.approx(1 / 13)) for i in range(8)]
    assert [(r['comm'], r['pid'], r['lines']) for r in rows(found, 'by process')] == [
        ('worker0', 7, 14), ('worker1', 8, 13)]
    few = of_script(tmp_path, '\n'.join(text.splitlines()[:21]) + '\n', *args)
    assert [s['name'] for s in few['sections'] if s['name'].startswith('by ')] == []
    more = of_script(tmp_path, '\n'.join(text.splitlines()[:22]) + '\n', *args)
    assert sum(r['lines'] for r in rows(more, 'by process')) == 21


def test_summary_of_too_many_values(tmp_path):
    """20,000 values, of which 16,384 have room: a quarter of them is removed once."""
    text = 'event my:number n:u64\n' + ''.join(
        f'1.{i:09} 0 7/7 worker my:number n={i}\n' for i in range(20000))
    found = of_script(tmp_path, text, 'snoop', '-e', 'my:number//column=N:n/')
    assert found['remarks'] == [
        'the table by N is full: 4096 rows with few lines were removed, and lose these lines if '
        'they return']


def test_summary_of_pairs(tmp_path):
    """30 pairs of 1 to 30 ms."""
    text = 'event my:a name:string\nevent my:b ret:s64\n'
    for i in range(30):
        text += f'{i + 1}.000 0 7/7 worker my:a name="/x"\n'
        text += f'{i + 1}.{i + 1:03} 0 7/7 worker my:b ret=0\n'
    found = of_script(tmp_path, text, 'snoop', '-e', 'my:a//column=PATH:name/', '-e', 'my:b')
    row, = rows(found, 'by PATH')
    assert (row['lines'], row['total'], row['max']) == (30, 465_000_000, 30_000_000)
    assert row['p50'] == pytest.approx(15e6, rel=0.05)


def test_summary_of_programs():
    found = report_until(lambda r: True, 'execsnoop', '--', 'sh', '-c',
                         'for i in 1 2 3 4 5 6 7 8 9 10 11 12; do /bin/true; /bin/ls; done')
    assert ('sh', 24) in [(r['comm'], r['lines']) for r in rows(found, 'by parent')]
    assert [(r['file'], r['lines']) for r in rows(found, 'by file')][:2] == [
        ('/bin/ls', 12), ('/bin/true', 12)]


def test_columns_keep_their_widths(tmp_path):
    """A longer path and address come after the first lines were printed."""
    text = '# attar script\nevent my:open name:string host:string fd:s64\n'
    for i in range(3000):
        name, host = ('/a-path-of-thirty-characters--!', '255.100.100.100') if i == 2999 else (
            '/', '::')
        text += f'{i + 1}.0 0 7/7 worker my:open name="{name}" host="{host}" fd=3\n'
    (tmp_path / 'x.script').write_text(text)
    shown = run('snoop', '--input', tmp_path / 'x.script', '-e',
                'my:open//column=PATH:name/column=DADDR:host/column=FD:fd/').stdout.splitlines()
    head, first = shown[:2]
    last, = (line for line in shown if '/a-path' in line and 'worker ' in line)
    assert len(head) == len(first) == len(last)
    assert head.index('DADDR') == last.index('255.') == first.index('::')


def test_summary_of_exits():
    found = report_until(lambda r: True, 'exitsnoop', '--', 'sh', '-c',
                         'for i in 1 2 3 4 5 6 7 8 9 10 11 12; do /bin/true; /bin/ls; done')
    assert ('sh', 24) in [(r['comm'], r['lines']) for r in rows(found, 'by parent')]
    assert [(r['name'], r['lines']) for r in rows(found, 'by name')][:2] == [
        ('ls', 12), ('true', 12)]
