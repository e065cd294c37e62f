# SPDX-License-Identifier: MIT
"""Recordings of groups of which only the leader has samples, `{a,b}:S` of perf record."""
import subprocess
import sys

import pytest

from command import run
from perf_data import (CPU_CLOCK, FORMAT_GROUP, FORMAT_ID, INHERIT, PAGE_FAULTS, SAMPLE_READ,
                       SAMPLE_TYPE, SWITCHES, TASK_CLOCK, Recording)
from scripts import lines_of_csv, report, rows

GROUP = {'fields': SAMPLE_TYPE | SAMPLE_READ, 'read_format': FORMAT_GROUP | FORMAT_ID}
LEADER, FAULTS, OTHERS = 7, 8, 9 # numbers of the events on CPU 0; on CPU 1: 10 more
REMARK = ("'page-faults' was counted in a group (:S): it has samples of the leader of the group, "
          'whose periods are its numbers of events, and no fields')


def group(order='<', excluded=0):
    """A recording of {cpu-clock,page-faults,context-switches}:S."""
    data = Recording(order, events=())
    data.attr(CPU_CLOCK, (LEADER, LEADER + 10), period=1_000_000, excluded=excluded, **GROUP)
    data.attr(PAGE_FAULTS, (FAULTS, FAULTS + 10), period=0, excluded=excluded, **GROUP)
    data.attr(SWITCHES, (OTHERS, OTHERS + 10), period=0, excluded=excluded, **GROUP)
    data.comm(1, 'one')
    data.comm(1, 'two', pid=200, tid=200)
    return data


def sample(data, time, faults, others, *, cpu=0, task=100):
    first = 10 * cpu
    counts = {LEADER + first: time, FAULTS + first: faults, OTHERS + first: others}
    data.sample(time, pid=task, tid=task, cpu=cpu, number=LEADER + first, period=1_000_000,
                counts=counts)


@pytest.fixture(name='recorded', params=['<', '>'])
def fixture_recorded(request, tmp_path):
    """Page faults: 14 of `one`, 45 of `two`; context switches: 3 of `one`."""
    data = group(request.param)
    sample(data, 10, 10, 0)
    sample(data, 20, 40, 0, cpu=1, task=200)
    sample(data, 30, 10, 2)
    sample(data, 40, 45, 1, cpu=1)
    sample(data, 50, 25, 2, task=200)
    sample(data, 60, 25, 2)
    return data.write(tmp_path / 'x.data')


@pytest.mark.quick
@pytest.mark.parametrize('events', [
    [], ['-e', 'cpu-clock,page-faults,context-switches']])
def test_counts_of_members(recorded, events):
    """Differences of the counts of each CPU; 5 of those on CPU 1 are of the first task."""
    found = report('top', '--input', recorded, *events)
    assert {r['comm']: (r['cpu-clock'], r['page-faults'], r['context-switches'])
            for r in rows(found, 'top')} == {'one': (4, 10 + 5, 2 + 1), 'two': (2, 40 + 15, 0)}
    assert REMARK in found['remarks']


@pytest.mark.quick
def test_a_member_alone(recorded):
    found = report('top', '--input', recorded, '-e', 'context-switches')
    assert [(r['comm'], r['context-switches']) for r in rows(found, 'top')] == [('one', 3)]


@pytest.mark.quick
def test_samples_of_members(recorded):
    """Each has the time, task and CPU of its leader, and follows it."""
    ended = run('trace', '--format', 'csv', '-e', 'cpu-clock,page-faults', '--input', recorded)
    assert ended.returncode == 0, ended.stderr
    lines = [line.split(',')[1:5] for line in lines_of_csv(ended.stdout)[1:]]
    assert lines == [
        ['one', '100', '0', 'cpu-clock'], ['one', '100', '0', 'page-faults'],
        ['two', '200', '1', 'cpu-clock'], ['two', '200', '1', 'page-faults'],
        ['one', '100', '0', 'cpu-clock'],
        ['one', '100', '1', 'cpu-clock'], ['one', '100', '1', 'page-faults'],
        ['two', '200', '0', 'cpu-clock'], ['two', '200', '0', 'page-faults'],
        ['one', '100', '0', 'cpu-clock']]


@pytest.mark.quick
def test_weights_of_members(recorded):
    found = report('profile', '-e', 'page-faults', '--input', recorded)
    assert {r['comm']: r['events'] for r in rows(found, 'functions')} == {'one': 15, 'two': 55}
    sums = report('sql', '--input', recorded, '-e', 'page-faults', '--query',
                  'SELECT tid, sum(period) AS n FROM page_faults GROUP BY tid ORDER BY tid')
    assert [(r['tid'], r['n']) for r in rows(sums, 'query 1')] == [(100, 15), (200, 55)]


@pytest.mark.quick
@pytest.mark.parametrize('clock, name', [(CPU_CLOCK, 'cpu-clock'), (TASK_CLOCK, 'task-clock')])
def test_clocks_that_are_members(tmp_path, clock, name):
    """Their periods are times in ns: 3,000 of `one` and 57,000 of `two`, of one sample each."""
    data = Recording(events=())
    data.attr(PAGE_FAULTS, (LEADER,), period=1, **GROUP)
    data.attr(clock, (FAULTS,), period=0, **GROUP)
    data.comm(1, 'one')
    data.comm(1, 'two', pid=200, tid=200)
    for time, task, ns in (10, 100, 3_000), (20, 200, 60_000):
        data.sample(time, pid=task, tid=task, cpu=0, number=LEADER, period=1,
                    counts={LEADER: time, FAULTS: ns})
    path = data.write(tmp_path / 'x.data')
    found = rows(report('top', '--input', path, '-e', name), 'top')
    assert {r['comm']: r[name] for r in found} == {'one': 3_000, 'two': 57_000}
    found = rows(report('profile', '-e', name, '--input', path), 'functions')
    assert {r['comm']: round(r['self']) for r in found} == {'one': 5, 'two': 95}


@pytest.mark.quick
def test_inherited_events_count_in_each_task(tmp_path):
    data = group(excluded=INHERIT)
    sample(data, 10, 5, 0)
    sample(data, 20, 7, 0, task=200)
    sample(data, 30, 6, 0)
    found = report('top', '--input', data.write(tmp_path / 'x.data'), '-e', 'page-faults')
    assert {r['comm']: r['page-faults'] for r in rows(found, 'top')} == {'one': 6, 'two': 7}


@pytest.fixture(name='of_perf')
def fixture_of_perf(tmp_path):
    """500 calls of getsid, of which each fifth is followed by one of getpgid."""
    data = tmp_path / 'perf.data'
    code = ('import os\nfor i in range(500):\n    os.getsid(0)\n'
            '    if i % 5 == 0: os.getpgid(0)')
    subprocess.run(['perf', 'record', '-q', '-o', data, '-e',
                    '{syscalls:sys_enter_getsid,syscalls:sys_enter_getpgid}:S', '--',
                    sys.executable, '-S', '-c', code], check=True, capture_output=True)
    return data


@pytest.mark.usefixtures('root', 'needs_perf')
def test_recording_of_perf(of_perf):
    found = report('top', '--input', of_perf)
    assert [(r['syscalls:sys_enter_getsid'], r['syscalls:sys_enter_getpgid'])
            for r in rows(found, 'top')] == [(500, 100)]
    fields = report('top', '--input', of_perf, '-e', 'syscalls:sys_enter_getsid//key=pid/')
    assert [(r['pid'], r['syscalls:sys_enter_getsid']) for r in rows(fields, 'top')] == [(0, 500)]


@pytest.mark.usefixtures('root', 'needs_perf')
@pytest.mark.parametrize('event, what', [
    ('syscalls:sys_enter_getpgid//key=pid/', 'key'),
    ('syscalls:sys_enter_getpgid//top-by=pid/', 'top-by'),
    ('syscalls:sys_enter_getpgid/pid==0/', 'filter')])
def test_members_have_no_fields(of_perf, event, what):
    """The raw data of a sample are of the leader's format."""
    ended = run('top', '--input', of_perf, '-e', event)
    assert ended.returncode == 2
    assert ended.stderr.startswith(
        "attar: 'syscalls:sys_enter_getpgid' has no fields, only variables such as _period, "
        'because it was counted in the samples of another event (:S of perf record): '
        f"{what}: no such field or variable 'pid'")


@pytest.mark.quick
@pytest.mark.parametrize('words', [
    ['top', '-e', 'page-faults:S'],
    ['record', '-o', '/dev/null', '-e', '{cpu-clock,page-faults}:S'],
    ['stat', '-e', '{cpu-clock,page-faults}:S']])
def test_refused_live(words):
    ended = run(*words, '--', 'true')
    assert ended.returncode == 4
    assert ('samples of the leader of a group only (:S) are supported in recordings of perf, not '
            'live: leave out the S' in ended.stderr)
