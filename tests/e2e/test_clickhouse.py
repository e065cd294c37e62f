# SPDX-License-Identifier: MIT
"""-o clickhouse://: what real servers store."""
import json
import re
import signal

import pytest

import clickhouse
from clickhouse import (  # noqa: F401 (fixtures)
    events, server, stored_pids, sums, the_server, trace)
from command import ATTAR, profile, run, share_is, wait_until, workload


def test_invalid_utf8_is_stored_as_in_other_files(server, tmp_path):
    """In columns of text, in the names of stacks and in the values of events."""
    head = b'# attar script\nevent sched:sched_wakeup comm:char[16] pid:pid_t\n'
    script = tmp_path / 'x.script'
    script.write_bytes(head + b'1.0 0 7/7 bad\xff sched:sched_wakeup comm=a\xc3 pid=3\n')
    trace(script, server.url(tmp_path / 'spool'))
    found, = server.rows('SELECT comm, values FROM attar_trace_events')
    assert found[0] == 'bad\ufffd' and 'a\ufffd' in found[1]


def test_shares_of_the_profile_model(server, tmp_path):
    """70 % and 30 % of the samples, by a join of the two tables; and those of the report."""
    found = profile('--exclude-kernel', '-o', server.url(tmp_path / 'spool', service='shop'),
                    command=[workload('split7030')])
    own = dict(server.rows('''
        SELECT names[1], sum(value) FROM attar_samples
        ANY INNER JOIN (SELECT hash AS stack, names FROM attar_stacks) USING (stack)
        WHERE comm = 'split7030' AND service = 'shop' GROUP BY names[1]'''))
    heavy, light = int(own['heavy']), int(own['light'])
    assert (heavy, light) == (found.own('heavy', comm='split7030'),
                              found.own('light', comm='split7030'))
    share_is(heavy, heavy + light, 0.7)
    folded = dict(server.rows('''
        SELECT arrayStringConcat(arrayReverse(names), ';'), sum(value) FROM attar_samples
        ANY INNER JOIN (SELECT hash AS stack, names FROM attar_stacks) USING (stack)
        GROUP BY names'''))
    expected = {';'.join(path[1:]): n for path, n in found.stacks().items()}
    assert {path: int(n) for path, n in folded.items()} == expected
    assert server.rows('SELECT samples FROM attar_profile_functions WHERE symbol = \'heavy\'') \
        == [[str(heavy)]]
    assert server.rows('SELECT seen, lost FROM attar_reports') \
        == [[str(found.notes['seen']), str(found.notes['lost'])]]
    assert server.rows('SELECT max(version) FROM attar_schema') == [['1']]


def test_events_are_rows(server, tmp_path, events):
    done = trace(events(3000), server.url(tmp_path / 'spool', host='one', service='shop'))
    assert sums(done)[1:] == [sums(done)[0], 0, 0, 0]
    assert stored_pids(server) == list(range(3000))
    columns = '''SELECT toString(date), time, moment, host, service, comm, tid, cpu, event
        FROM attar_trace_events ORDER BY time LIMIT 1'''
    assert server.rows(columns) == [[
        '1970-01-02', '100000000000000', '1970-01-02 03:46:40', 'one', 'shop', 't', '7', '0',
        'sched:sched_wakeup']]
    assert json.loads(done.stdout.splitlines()[-1])['notes']['unstored'] == 0


@pytest.mark.parametrize('words', [
    ['stat'], ['runqlat'], ['rundelay'], ['percpu-stat', '-i', '100ms'], ['task-state'], ['wall'],
    ['page-faults', '-g'], ['syscalls'], ['hrcount', '-e', 'sched:sched_switch', '--period', '1ms',
                                           '-i', '50ms']], ids=lambda words: words[0])
def test_rows_of_every_kind_of_section(root, server, tmp_path, words):
    """Each table has as many rows as the report in JSON."""
    path = tmp_path / 'x.json'
    done = run(*words, '-d', '300ms', '-o', path, '-o', server.url(tmp_path / 'spool'))
    assert done.returncode == 0, done.stderr
    assert sums(done)[0] == sums(done)[1]
    reports = [json.loads(line) for line in path.read_text().splitlines()]
    expected = {'attar_reports': len(reports)}
    for section in (s for report in reports for s in report['sections']):
        name = re.sub(r'\W', '_', f'attar_{words[0]}_{section["name"]}')
        rows = len(section['rows'])
        if section['kind'] == 'histogram':
            name = 'attar_histograms'
        elif section['kind'] == 'time-series':
            name = 'attar_series'
            rows = sum(cell is not None for row in section['rows'] for cell in row[1:])
        elif section['kind'] == 'tree':
            name = 'attar_samples'
            column = [c['name'] for c in section['columns']].index('self')
            rows = sum(row[column] > 0 for row in section['rows'])
        expected[name] = expected.get(name, 0) + rows
    assert {name: server.count(name) for name, n in expected.items() if n} \
        == {name: n for name, n in expected.items() if n}


def test_columns_with_another_type(server, tmp_path, events):
    """Missing columns are added to an existing table; a column of another type gets a numbered
    name.
    """
    server.ask('CREATE TABLE attar_trace_events (date Date, time UInt64, tid String)'
               ' ENGINE = MergeTree PARTITION BY date ORDER BY time', 'perf')
    assert sums(trace(events(10), server.url(tmp_path / 'spool')))[1] > 0
    assert server.rows('SELECT DISTINCT tid, tid_2, comm FROM attar_trace_events') \
        == [['', '7', 't']]
    assert stored_pids(server) == list(range(10))


def test_newer_tables_are_not_changed(server, tmp_path, events):
    trace(events(5), server.url(tmp_path / 'spool'))
    server.ask('INSERT INTO attar_schema VALUES (today(), 9)', 'perf')
    done = trace(events(5), server.url(tmp_path / 'spool'))
    assert 'the tables have version 9' in done.stderr
    assert sums(done)[1] == 0 and sums(done)[3] == sums(done)[0]
    assert len(stored_pids(server)) == 5


def test_server_is_restarted_during_a_run(root, server, tmp_path, spawn):
    """Intervals continue while the server is down, and are stored once when it is back."""
    path = tmp_path / 'x.json'
    with open(tmp_path / 'stderr', 'w+') as stderr:
        process = spawn(ATTAR, 'stat', '-i', '50ms', '-o', path, '-o',
                        server.url(tmp_path / 'spool', timeout='60s'), stderr=stderr)
        lines = lambda: path.read_text().count('\n') if path.exists() else 0
        wait_until(lambda: lines() > 20, 'intervals')
        server.kill()
        before = lines()
        wait_until(lambda: lines() > before + 20, 'intervals without a server')
        server.start()
        wait_until(lambda: server.count('attar_reports') > before, 'rows are stored again', 120)
        process.send_signal(signal.SIGINT)
        assert process.wait(120) == 0
    numbers = server.rows('SELECT report, count() AS n FROM attar_reports GROUP BY report')
    assert {n for _, n in numbers} == {'1'}
    assert len(numbers) == lines()


def test_two_servers_as_one(tmp_path, events):
    """Hosts write to their shards; a Distributed table shows all."""
    with clickhouse.servers(tmp_path, 2) as both:
        for i, server in enumerate(both):
            trace(events(100, start=100 * i),
                  server.url(tmp_path / 'spool', host=f'host{i}'))
        for server in both:
            server.ask('CREATE TABLE fleet_events AS attar_trace_events ENGINE ='
                       ' Distributed(fleet, perf, attar_trace_events)', 'perf')
            assert server.rows('''SELECT host, count(), min(toUInt32(visitParamExtractInt(
                values, 'pid'))) FROM fleet_events GROUP BY host ORDER BY host''') \
                == [['host0', '100', '0'], ['host1', '100', '100']]
