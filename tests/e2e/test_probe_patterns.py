# SPDX-License-Identifier: MIT
"""Probes of all functions that match a pattern, in a program with known calls."""
import collections
import json
import os
import platform
import subprocess
from pathlib import Path

import pytest

from command import ATTAR, is_waiting, run, wait_until, workload
from scripts import report, rows

CALLS = {'fam_a': 3, 'fam_b': 5, 'fam_outer': 11, 'fam_inner': 22}
if platform.machine() != 'x86_64':
    CALLS['fam_locked'] = 2


def families():
    return workload('families')


def probes(pattern='fam_*', what='uprobe'):
    return f'{what}:{pattern}@{families()}'


def function_of(event):
    return event.split(':')[1].split('@')[0]


def calls(*args, events=probes, **kwargs):
    """The number of lines of attar trace by function."""
    found = collections.Counter()
    done = run('trace', '-q', '--format', 'json', '-e', events(), *args, '--', families(), **kwargs)
    assert done.returncode == 0, done.stderr
    for line in done.stdout.splitlines():
        part = json.loads(line)
        if part.get('notes'):
            assert part['notes']['lost'] == 0
        for section in part['sections']:
            names = [c['name'] for c in section['columns']]
            if 'event' in names:
                found.update(function_of(row[names.index('event')]) for row in section['rows'])
    return dict(found)


def test_each_call_has_the_name_of_its_function(root):
    """Once for each function: another name of it is no other one, nor is a resolver."""
    assert calls() == CALLS


def test_what_is_skipped_is_said(root):
    if platform.machine() != 'x86_64':
        pytest.skip('other instructions')
    done = run('trace', '-e', probes(), '--', families())
    assert ("skipped 1 of the 5 functions that match 'uprobe:fam_*@" in done.stderr
            and "cannot probe the first instruction of 'fam_locked'" in done.stderr), done.stderr


@pytest.mark.parametrize('pattern, functions', [
    ('fam_{a,b}', 'ab'), ('fam_?', 'ab'), ('fam_[!a]', 'b'), ('fam_{outer,{a,inne}}?',
                                                              ('inner',))])
def test_patterns(root, pattern, functions):
    found = calls(events=lambda: probes(pattern))
    assert found == {f'fam_{f}': CALLS[f'fam_{f}'] for f in functions}


def test_filters_arguments_and_returns(root):
    found = calls(events=lambda: probes('fam_[ab]') + '/n>1/args=(n=$arg1)/')
    assert found == {'fam_a': 2, 'fam_b': 3}
    found = calls(events=lambda: probes('fam_[ab]', 'uretprobe') + '/n==3/args=(n=$retval)/')
    assert found == {'fam_a': 1, 'fam_b': 1}
    found = calls(events=lambda: probes('fam_[ab]') + '/n*2==4/args=(n=$arg1)/')  # in attar
    assert found == {'fam_a': 1, 'fam_b': 1}


def test_the_fields_are_those_of_the_arguments(root):
    done = run('trace', '-e', probes('fam_a') + '//args=(n=$arg1)/',
               '-e', probes('fam_[b]') + '//args=(n=$arg1)/', '--', families())
    assert done.returncode == 0, done.stderr
    texts = [line.split('n=')[1].split()[0] for line in done.stdout.splitlines() if 'n=' in line]
    assert texts == ['0x1', '0x2', '0x3', '0x0', '0x1', '0x2', '0x3', '0x4']
    assert '__probe_place' not in done.stdout


def test_stat_counts_each_function(root):
    found = report('stat', '-e', probes(), '-e', probes('other'), '--', families())
    counts = {function_of(row['event']): row['value'] for row in rows(found, 'counts')}
    assert counts == CALLS | {'other': 13}


def test_stat_with_a_filter(root):
    found = report('stat', '-e', probes('fam_[ab]') + '/n>1/args=(n=$arg1)/', '--', families())
    counts = {function_of(row['event']): row['value'] for row in rows(found, 'counts')}
    assert counts == {'fam_a': 2, 'fam_b': 3}


def test_recordings_have_the_functions(root, tmp_path):
    data = tmp_path / 'perf.data'
    done = run('record', '-o', data, '-e', probes(), '--', families())
    assert done.returncode == 0, done.stderr
    lines = run('trace', '--input', data).stdout
    assert {f: lines.count(f'uprobe:{f}@') for f in CALLS} == CALLS
    assert '__probe_place' not in lines
    lines = run('trace', '--input', data, '-e', probes('fam_{a,outer}')).stdout
    assert {f: lines.count(f'uprobe:{f}@') for f in CALLS} == {
        f: CALLS[f] if f in ('fam_a', 'fam_outer') else 0 for f in CALLS}


def test_nested_calls(root):
    """Without an exit, the functions return."""
    found = report('nested-trace', probes('fam_{outer,inner}'), '--', families())
    tree = {(row['depth'], function_of(row['call'])): row['count'] for row in rows(found, 'calls')}
    assert tree == {(0, 'fam_outer'): 11, (1, 'fam_inner'): 22}


def test_nested_calls_of_one_function(root):
    found = report('nested-trace', '-e', probes('fam_outer'), '-e', probes('fam_inner') + ',' +
                   probes('fam_inner', 'uretprobe'), '--', families())
    tree = {(row['depth'], function_of(row['call'])): row['count'] for row in rows(found, 'calls')}
    assert tree == {(0, 'fam_outer'): 11, (1, 'fam_inner'): 22}


def test_without_a_file(root):
    """In the program of the command."""
    found = calls(events=lambda: 'uprobe:fam_[ab]')
    assert {f: found.get(f) for f in ('fam_a', 'fam_b')} == {'fam_a': 3, 'fam_b': 5}


def probes_of(process):
    """The names of the events of a process in tracefs, one for each place."""
    lines = Path('/sys/kernel/tracing/uprobe_events').read_text().splitlines()
    return [line.split()[0].split(':')[1] for line in lines
            if f'_{process.pid}_' in line.split()[0]]


def open_files(process):
    folder = f'/proc/{process.pid}/fd'
    return sum(os.readlink(f'{folder}/{fd}') == 'anon_inode:[perf_event]'
               for fd in os.listdir(folder))


def test_all_functions_are_one_event(root):
    """Closing one takes tens of milliseconds, however many functions it has."""
    found = []
    for pattern in ('fam_*', 'fam_a'):
        sleeper = subprocess.Popen(['sleep', '60'])
        attar = subprocess.Popen([ATTAR, 'trace', '-q', '--no-children', '-p', str(sleeper.pid),
                                  '-e', probes(pattern) + '//args=(n=$arg1)/'],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait_until(lambda: is_waiting(attar), 'all its events are open')
            found.append((probes_of(attar), open_files(attar)))
        finally:
            attar.terminate()
            attar.wait()
            sleeper.kill()
            sleeper.wait()
        assert not probes_of(attar)
    (many, files), (one, files_of_one) = found
    assert len(many) == len(CALLS) and len(set(many)) == len(one) == 1
    assert files == files_of_one


@pytest.mark.parametrize('args, words', [
    (['-e', 'uprobe:fam_*@{}', '--probes', '2'],
     'matches 5 functions, more than 2: narrow the pattern, or allow them with --probes 5'),
    (['-e', 'uprobe:none_*@{}'], "no function matches 'uprobe:none_*@"),
    (['-e', 'uprobe:fam_{a@{}'], "missing '}' for a '{' of the pattern"),
    (['-e', 'uprobe:fam_{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}@{}'],
     'the pattern has more than 256 alternatives'),
    (['-e', 'uprobe:none_*'], "no function 'none_*'"),
    (['--probes', '0', '-e', 'uprobe:fam_*@{}'], '--probes'),
])
def test_errors(root, args, words):
    args = [arg.replace('@{}', f'@{families()}') for arg in args]
    done = run('trace', *args, '--', families())
    assert done.returncode in (1, 2) and words in done.stderr, done.stderr


def test_the_limit_is_an_option_where_events_are_counted(root):
    done = run('stat', '-e', probes(), '--probes', '2', '--', families())
    assert 'matches 5 functions, more than 2:' in done.stderr
    assert run('stat', '-e', probes(), '--probes', '5', '--', families()).returncode == 0


def test_only_what_cannot_be_probed(root):
    if platform.machine() != 'x86_64':
        pytest.skip('other instructions')
    done = run('trace', '-e', probes('fam_lock*'), '--', families())
    assert done.returncode != 0
    assert "the kernel cannot probe the first instruction of 'fam_locked'" in done.stderr
