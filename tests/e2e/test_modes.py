# SPDX-License-Identifier: MIT
"""Events with the modifiers u and k: which samples of a recording, or of the kernel, they have."""
import csv
import re
import subprocess
from collections import Counter

import pytest

from command import run, workload
from perf_data import (CPU_CLOCK, EXCLUDE_GUEST, EXCLUDE_KERNEL, EXCLUDE_USER, FORMAT_ID,
                       FORMAT_TIMES, IN_KERNEL, IN_USER, INHERIT, INHERIT_STAT, PAGE_FAULTS,
                       Recording)
from scripts import lines_of_csv, report, rows

PAGES = 1000
ONLY_USER, ONLY_KERNEL, BOTH = EXCLUDE_KERNEL, EXCLUDE_USER, 0


def recording(path, *events, config=PAGE_FAULTS, extra=()):
    """
    events: the modes that each excludes, and the numbers of its samples in user mode and not.
    extra: the modes of further samples of the last one.
    """
    data, time = Recording(events=()), 1000
    for number, (excluded, _, _) in enumerate(events):
        data.attr(config, number + 1, excluded=excluded)
    data.comm(500, 'test', number=1)
    for number, (_, in_user, in_kernel) in enumerate(events):
        more = extra if number == len(events) - 1 else ()
        for mode in [IN_USER] * in_user + [IN_KERNEL] * in_kernel + [*more]:
            time += 10
            data.sample(time, number=number + 1, misc=mode)
    return data.write(path)


def counts(*args):
    """Return the columns of counts of the only process, and the remarks."""
    found = report('top', *args)
    row, = rows(found, 'top')
    remarks = [r for r in found.get('remarks', []) if 'does not say when it was made' not in r]
    return {name: n for name, n in row.items() if name not in ('_pid', 'comm')}, remarks


def traced(path):
    """The number of samples of each event, as trace prints them."""
    ended = run('trace', '--format', 'csv', '--input', path)
    assert ended.returncode == 0, ended.stderr
    lines = list(csv.DictReader(lines_of_csv(ended.stdout)))
    return Counter(line['event'] for line in lines)


def top(path, *events):
    return counts('--input', path, '-e', ','.join(f'{e}//key=_pid/' for e in events))


def test_events_of_a_recording_by_their_modes(tmp_path):
    path = recording(tmp_path / 'both.data', (ONLY_USER, 347, 0), (ONLY_KERNEL, 0, 3))
    for event, count in (('page-faults:u', 347), ('page-faults:k', 3), ('page-faults', 350),
                         ('page-faults:uk', 350)):
        assert top(path, event) == ({event: count}, []), event
    assert top(path, 'page-faults:u', 'page-faults:k')[0] == {
        'page-faults:u': 347, 'page-faults:k': 3}


def test_clocks_of_a_recording_by_their_modes(tmp_path):
    path = recording(tmp_path / 'clock.data', (ONLY_USER, 234, 0), (ONLY_KERNEL, 0, 47),
                     config=CPU_CLOCK)
    for event, count in (('cpu-clock:u', 234), ('cpu-clock:k', 47)):
        assert top(path, event) == ({event: count}, []), event
        found = report('profile', '-e', event, '--input', path)
        assert sum(row['samples'] for row in rows(found, 'functions')) == count


def test_all_events_of_a_recording(tmp_path):
    """Without -e, each event has its own samples."""
    path = recording(tmp_path / 'both.data', (ONLY_USER, 347, 0), (ONLY_KERNEL, 0, 3))
    assert traced(path) == {'page-faults:u': 347, 'page-faults:k': 3}


def test_samples_of_an_event_by_their_mode(tmp_path):
    """An event without a modifier has the samples of both modes."""
    path = recording(tmp_path / 'plain.data', (BOTH, 347, 3))
    found, remarks = top(path, 'page-faults:u', 'page-faults:k', 'page-faults')
    assert found == {'page-faults:u': 347, 'page-faults:k': 3, 'page-faults': 350}
    assert not remarks


def test_the_event_with_exactly_these_modes(tmp_path):
    path = recording(tmp_path / 'two.data', (BOTH, 10, 2), (ONLY_USER, 7, 0))
    assert top(path, 'page-faults')[0] == {'page-faults': 12}
    assert top(path, 'page-faults:u')[0] == {'page-faults:u': 7}
    assert top(path, 'page-faults:k')[0] == {'page-faults:k': 2}


def test_a_mode_that_the_recording_lacks(tmp_path):
    path = recording(tmp_path / 'user.data', (ONLY_USER, 346, 0))
    ended = run('top', '-e', 'page-faults:k', '--input', path)
    assert ended.returncode == 2
    assert " has no event 'page-faults:k'; it has page-faults:u\n" in ended.stderr


@pytest.mark.parametrize('excluded, mode', [(ONLY_USER, 'user'), (ONLY_KERNEL, 'kernel')])
def test_an_event_that_the_recording_has_in_one_mode(tmp_path, excluded, mode):
    path = recording(tmp_path / 'one.data', (excluded, 5 * (mode == 'user'), 5 * (mode != 'user')))
    found, remarks = top(path, 'page-faults')
    assert found == {'page-faults': 5}
    assert remarks == [f"'page-faults': the recording has this event in {mode} code only"]


def test_excluded_modes_of_a_recording(tmp_path):
    """--exclude-kernel is the modifier u of -e."""
    path = recording(tmp_path / 'plain.data', (BOTH, 20, 3))
    for option, count in (('--exclude-kernel', 20), ('--exclude-user', 3)):
        found = report('profile', '-e', 'page-faults', option, '--input', path)
        assert sum(row['samples'] for row in rows(found, 'functions')) == count


def test_samples_in_all_modes(tmp_path):
    """Mode n of the six, from unknown to user code of a guest, has 2 to the power of n samples."""
    path = recording(tmp_path / 'all.data', (BOTH, 0, 0), extra=[
        mode for mode in range(6) for _ in range(2 ** mode)])
    for event, options, count in (
            ('page-faults', [], 63), ('page-faults:u', [], 37),
            ('page-faults', ['--exclude-kernel'], 37), ('page-faults:k', [], 19),
            ('page-faults', ['--exclude-user'], 27), ('page-faults:kh', [], 27),
            ('page-faults:h', [], 9),
            ('page-faults:G', [], 48), ('page-faults', ['--exclude-host'], 48),
            ('page-faults:H', [], 15), ('page-faults', ['--exclude-guest'], 15),
            ('page-faults:uG', [], 32), ('page-faults:kH', [], 3)):
        found = report('profile', '-e', event, *options, '--input', path)
        assert sum(row['samples'] for row in rows(found, 'functions')) == count, (event, options)


def test_an_event_of_the_host_only(tmp_path):
    """perf excludes guests unless G is requested."""
    path = recording(tmp_path / 'host.data', (EXCLUDE_GUEST, 5, 0))
    assert top(path, 'page-faults') == ({'page-faults': 5}, [])
    ended = run('top', '-e', 'page-faults:G', '--input', path)
    assert ended.returncode == 2
    assert " has no event 'page-faults:G'; it has page-faults" in ended.stderr


def test_faults_of_a_recorded_program(root, tmp_path):
    """attar record writes each event with its modes."""
    path = tmp_path / 'perf.data'
    ended = run('record', '-o', path, '-e', 'page-faults:u,page-faults:k', '--',
                workload('faults1000'), PAGES)
    assert ended.returncode == 0, ended.stderr
    seen = traced(path)
    user, kernel = seen['page-faults:u'], seen['page-faults:k']
    assert user > PAGES > kernel > 0
    assert top(path, 'page-faults:u')[0] == {'page-faults:u': user}
    assert top(path, 'page-faults:k')[0] == {'page-faults:k': kernel}


def test_faults_in_several_modes_at_once(root):
    """
    One event of the kernel, which gives the samples of several the id of one of them. Faults in
    user code and in the kernel add up to all.
    """
    found = report('top', '-e', 'page-faults//key=_pid/,page-faults:u//key=_pid/alias=u/,'
                   'page-faults:k//key=_pid/alias=k/', '--', workload('faults1000'), PAGES)
    row, = rows(found, 'top')
    assert row['u'] > PAGES > row['k'] > 0
    assert row['page-faults'] == row['u'] + row['k'] == found['notes']['seen']
    assert found['notes']['missing'] == 0 and 'same software event' not in found['stderr']


def test_switches_in_several_modes_at_once(root):
    """They are in the kernel, so all of them are those of :k and none is one of :u."""
    events = ('context-switches', 'context-switches:k', 'context-switches:u')
    found = report('top', '-e', ','.join(f'{e}//key=_pid/' for e in events), '--', 'sh', '-c',
                   'cat /proc/self/stat | cat | cat')
    for row in rows(found, 'top'):
        assert row[events[0]] == row[events[1]] and row[events[2]] == 0
    assert sum(row[events[0]] for row in rows(found, 'top')) == found['notes']['seen'] > 0


def test_events_whose_samples_have_common_ids(root, tmp_path):
    """Those with different periods, and in recordings, cannot be one event of the kernel."""
    path = tmp_path / 'perf.data'
    common = 'sample the same software event: the kernel can give samples of one the id of the ' \
        'other, and then the counts of both are wrong; sample one of them'
    found = report('top', '-e', 'page-faults,page-faults//period=10/', '--', 'true')
    assert f"'page-faults' and 'page-faults' {common}\n" in found['stderr']
    assert found['notes']['missing'] == 0
    found = report('record', '-o', path, '-e', 'page-faults,page-faults:u', '--', 'true')
    assert f"'page-faults' and 'page-faults:u' {common}, without :u and :k, which select samples " \
        'of the recording with --input' in found['stderr']
    remarks = top(path, 'page-faults')[1]
    assert [r for r in remarks if r.startswith(
        "the recording has samples of 'page-faults' and 'page-faults:u', which are the same")]


def test_disjoint_modes_have_their_own_ids(root, tmp_path):
    path = tmp_path / 'perf.data'
    found = report('record', '-o', path, '-e', 'page-faults:u,page-faults:k', '--', 'true')
    assert 'same software event' not in found['stderr']
    assert not top(path, 'page-faults')[1]


@pytest.mark.parametrize('event, table', [
    ('page-faults:u', 'page_faults_u'), ('page-faults:k', 'page_faults_k'),
    ('page-faults//alias=all/', 'all'), ('page-faults', 'page_faults')])
def test_names_of_tables(tmp_path, event, table):
    path = recording(tmp_path / 'plain.data', (BOTH, 7, 7))
    found = report('sql', '--input', path, '-e', event, '--query',
                   f'SELECT count(*) AS n FROM "{table}"')
    row, = (row for s in found['sections'] for row in rows(found, s['name']))
    assert row['n'] == (7 if ':' in event else 14)


def test_names_of_tables_of_live_events(root):
    """The system of a tracepoint and the file of a probe are no part of the name of its table."""
    path = workload('faults1000')
    events = (f'page-faults:u,syscalls:sys_enter_munmap:k,syscalls:sys_enter_munmap,'
              f'uprobe:touch@"{path}":u')
    ended = run('sql', '-e', events, '--query', 'SELECT * FROM none', '--', path, 10)
    assert ended.returncode == 2
    names = [word.split('(')[0] for word in ended.stderr.split('the tables are ')[1].split('), ')]
    assert names[:3] == ['page_faults_u', 'sys_enter_munmap_k', 'sys_enter_munmap']
    assert names[3] == 'touch'


def test_names_in_a_condition(root):
    ended = run('hrtimer', '-e', 'page-faults:u', '--period', '5ms', 'page_faults_u>=0', '--',
                'true')
    assert ended.returncode == 0, ended.stderr


def test_counts_of_a_recording_by_their_modes(tmp_path):
    data = Recording(events=())
    for number, excluded in (1, ONLY_USER), (2, ONLY_KERNEL):
        data.attr(PAGE_FAULTS, number, excluded=excluded | INHERIT | INHERIT_STAT,
                  read_format=FORMAT_TIMES | FORMAT_ID)
    for tid, in_user, in_kernel in (100, 700, 30), (101, 50, 4):
        data.read(1000, in_user, 600, tid=tid, number=1)
        data.read(1001, in_kernel, 600, tid=tid, number=2)
    path = data.write(tmp_path / 'x.data')
    found = report('stat', '-e', 'page-faults:u,page-faults:k', '--input', path)
    assert {row['event']: row['value'] for row in rows(found, 'counts')} == {
        'page-faults:u': 750, 'page-faults:k': 34}


def test_counts_of_perf_by_their_modes(root, needs_perf, tmp_path):
    """Those of each thread are as in perf report, or left out if the kernel has exchanged them."""
    path = tmp_path / 'perf.data'
    subprocess.run(['perf', 'record', '-q', '-s', '-e', 'page-faults:u,page-faults:k', '-o', path,
                    '--', 'sh', '-c', f'{workload("faults1000")} {PAGES}; true'],
                   check=True, capture_output=True)
    perf = subprocess.run(['perf', 'report', '-T', '--stdio', '-i', path], check=True,
                          capture_output=True, text=True).stdout
    names = re.search(r'^# +PID +TID +(page-faults:.) +(page-faults:.)', perf, re.M).groups()
    threads = re.findall(r'^ +\d+ +(\d+) +(\d+) +(\d+)$', perf, re.M)
    counted = {(int(tid), name): int(count) for tid, *counts in threads
               for name, count in zip(names, counts)}
    found = report('stat', '--per-thread', '-e', 'page-faults:u,page-faults:k', '--input', path)
    counts_found = rows(found, 'counts')
    assert {(row['tid'], row['event']) for row in counts_found} == set(counted) != set()
    for row in counts_found:
        is_left_out = row['quality'] == 'error'
        assert row['value'] == (None if is_left_out else counted[row['tid'], row['event']])
