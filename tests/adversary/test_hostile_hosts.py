# SPDX-License-Identifier: MIT
"""Hosts of attar fleet, and senders, that say what they like, as much as they like, for ever."""
import json
import re
import time

import pytest

from command import run

# The greeting and the clock of a host; its report follows.
HOST = '''#!/usr/bin/python3
import json, sys, time
host = next(word for word in sys.argv if word in ('honest', 'evil'))
print('attar-fleet 1 x', flush=True)
while not (line := sys.stdin.readline()).startswith('run '):
    print('clock', time.time_ns(), flush=True)
sys.stdin.read(int(line.split()[2]))
print('started', time.time_ns(), flush=True)
def table(name, columns, *rows):
    return {'name': name, 'kind': 'table', 'rows': rows, 'columns': [
        {'name': column, 'unit': unit} for column, unit in columns.items()]}
def report(*sections, remarks=()):
    print(json.dumps({'schema': 'attar/1', 'version': 'x', 'profiler': 'stat', 'time': 5,
                      'interval_ns': 5, 'remarks': remarks, 'sections': sections}), flush=True)
COUNTS = {'event': 'text', 'count': 'count'}
if host == 'honest':
    report(table('counts', COUNTS, ['a', 1]))
else:
'''


@pytest.fixture
def fleet(tmp_path):
    """Runs a profiler on two hosts, of which one does what the text says."""
    def start(text, *words, output=()):
        ssh = tmp_path / 'ssh'
        ssh.write_text(HOST + '\n'.join('    ' + line for line in text.splitlines())
                       + "\nprint('ended 0', flush=True)\n")
        ssh.chmod(0o755)
        done = run('fleet', '-H', 'honest,evil', '--ssh', ssh, '--timeout', '1s', *words, 'stat',
                   '-d', '100ms', '--format', 'json', *output)
        report, = map(json.loads, done.stdout.splitlines())
        sections = {}
        for section in report['sections']:
            names = [column['name'] for column in section['columns']]
            assert len(set(names)) == len(names), names
            sections.setdefault(section['name'], []).extend(
                dict(zip(names, row)) for row in section['rows'])
        return sections, done
    return start


def reason_of(sections, host='evil'):
    row, = [row for row in sections['hosts'] if row['host'] == host]
    return row['state'], row['reason']


@pytest.mark.parametrize('text', ['time.sleep(100)', 'report()\nprint("ended 0")\ntime.sleep(100)',
                                  'while True: report(); time.sleep(.01)',
                                  'while print(end=" ", flush=True) is None: time.sleep(.01)'],
                         ids=['silence', 'no end', 'reports', 'blanks'])
def test_a_host_that_does_not_end_does_not_delay_the_others(fleet, text):
    begin = time.monotonic()
    sections, done = fleet(text)
    assert time.monotonic() - begin < 10
    assert done.returncode == 1
    assert sections['counts'] == [{'event': 'a', 'count': 1}]
    assert reason_of(sections) == ('timed out', 'it did not end within --timeout')
    assert reason_of(sections, 'honest')[0] == 'ended'


def test_endless_messages(fleet):
    _, done = fleet('while True: print("failed\\x1b[31m", file=sys.stderr)')
    assert 60 < done.stderr.count('attar: evil: failed\\x1b[31m') < 80
    assert 'it sends many messages: most are not shown' in done.stderr


def test_a_host_cannot_be_another_one(fleet):
    sections, done = fleet('report(table("counts", {"host": "text", **COUNTS}, '
                           '["honest", "a", 1000]))', '--by-host')
    assert done.returncode == 0
    assert [(row['host'], row['count']) for row in sections['counts']] == [
        ('honest', 1), ('evil', 1000)]


@pytest.mark.parametrize('text, reason', [
    ('report(table("hosts", {"host": "text", "state": "text"}, ["honest", "failed"]))',
     'its report has a table of hosts, as only attar fleet makes it'),
    ('report(remarks=["x"] * 257)', 'its report has too many remarks')], ids=['hosts', 'remarks'])
def test_reports_that_are_refused(fleet, text, reason):
    sections, _ = fleet(text)
    assert reason_of(sections) == ('failed', reason)
    assert len(sections['hosts']) == 2


def test_names_of_a_host_have_no_control_characters(fleet, tmp_path):
    out = tmp_path / 'out.html'
    _, done = fleet(r'report(table("x\x1b[2J\u202e", {"<b>": "text", "n\x07": "count"},'
                    r' ["</script><b>\x9b", 1]), remarks=["<b>\x1b[31m\nnext: x"])',
                    output=('-o', out))
    assert done.returncode == 0
    assert not re.search('[\0-\x08\x0b-\x1f\x7f-\x9f\u202e]', done.stdout + out.read_text('utf-8'))
    assert '<b>' not in out.read_text('utf-8')
