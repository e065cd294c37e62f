# SPDX-License-Identifier: MIT
"""Events that are requested several times: the kernel writes each once, and every user gets it."""
import collections
import json
import os
import platform
import subprocess

import pytest

from command import ATTAR, is_waiting, run, wait_until, workload

CALLS = 'raw_syscalls:sys_enter'
GETPPID = {'x86_64': 110, 'aarch64': 173}.get(platform.machine())


def rows_of(out):
    """The rows of events in a file of JSON, by the name of the event, and the last notes."""
    counts, notes = collections.Counter(), None
    for line in out.read_text().splitlines():
        report = json.loads(line)
        for section in report['sections']:
            event = [c['name'] for c in section['columns']].index('event')
            counts.update(row[event] for row in section['rows'])
        notes = report['notes']
    return counts, notes


def open_events(*events):
    """The number of perf events that attar has open for one sleeping process."""
    sleeper = subprocess.Popen(['sleep', '60'])
    attar = subprocess.Popen([ATTAR, 'trace', '-q', '-p', str(sleeper.pid), '-e',
                              ','.join(events)], stdout=subprocess.DEVNULL)
    try:
        wait_until(lambda: is_waiting(attar), 'all its events are open')
        folder = f'/proc/{attar.pid}/fd'
        return sum(os.readlink(f'{folder}/{fd}') == 'anon_inode:[perf_event]'
                   for fd in os.listdir(folder))
    finally:
        for process in (attar, sleeper):
            process.kill()
            process.wait()


def test_the_kernel_writes_each_event_once(root):
    same = open_events(f'{CALLS}//alias=one/', f'{CALLS}//alias=two/')
    assert same == open_events(CALLS)
    assert same < open_events(CALLS, 'raw_syscalls:sys_exit')
    assert same < open_events(CALLS, f'{CALLS}/id==1/')


def test_each_use_has_each_event(root, tmp_path):
    out = tmp_path / 'out.json'
    done = run('trace', '-q', '-o', out, '-e', f'{CALLS}//alias=one/,{CALLS}//alias=two/',
               '--', workload('flood'), 1000)
    counts, notes = rows_of(out)
    assert done.returncode == 0, done.stderr
    assert counts['one'] == counts['two'] == notes['seen'] > 1000
    assert notes['lost'] == notes['missing'] == 0


@pytest.mark.parametrize('other, are_seen', [(f'id*2!={2 * GETPPID}', True), ('id*2==1', False)])
def test_each_use_has_its_own_filter(root, tmp_path, other, are_seen):
    """Filters that attar applies: an event that passes no filter is not counted as seen."""
    out = tmp_path / 'out.json'
    first = f'{CALLS}/id*2=={2 * GETPPID}/alias=parent/'
    done = run('trace', '-q', '-o', out, '-e', f'{first},{CALLS}/{other}/alias=others/',
               '--', workload('flood'), 1000)
    counts, notes = rows_of(out)
    assert done.returncode == 0, done.stderr
    assert counts['parent'] == 1000
    assert (counts['others'] > 0) == are_seen
    assert notes['seen'] == sum(counts.values())
