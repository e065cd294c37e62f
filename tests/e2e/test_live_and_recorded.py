# SPDX-License-Identifier: MIT
"""
A profiler on a running program, and on the same events that it wrote to a file meanwhile: the same
reports.
"""
import json

import pytest

from command import run, workload

CALLS, PAGES = 3000, 300
SCRIPT = f'{workload("flood")} {CALLS} >/dev/null; {workload("faults1000")} {PAGES}'
ENTER, EXIT = 'raw_syscalls:sys_enter', 'raw_syscalls:sys_exit'
FAULTS = 'page-faults/period=1/'
CASES = {
    'trace': ['trace', '--monotonic', '-g', '-e',
              f'{ENTER},sched:sched_process_exec,sched:sched_process_exit'],
    'top': ['top', '-e', f'{ENTER}//key=id/'],
    'system calls': ['multi-trace', '--impl', 'syscalls'],
    'pairs': ['multi-trace', '-k', 'common_pid', '-e', ENTER, '-e', EXIT, '--perins'],
    'single pairs': ['multi-trace', '-k', 'common_pid', '--monotonic', '-e', ENTER, '-e', EXIT,
                     '--detail', '--than', '10us'],
    'calls': ['nested-trace', '-k', 'common_pid', '-e', f'{ENTER},{EXIT}', '--perins'],
    'numbers': ['num-dist', '-e', f'{ENTER}//num=id/'],
    'sql': ['sql', '-e', f'{ENTER},{EXIT}', '--query',
            'SELECT id, count(*), sum(ret) FROM sys_exit GROUP BY id ORDER BY id'],
    'profile': ['profile', '-e', FAULTS, '-g'],
}


def results(path):
    """Return the rows of single events, the other sections, the remarks and the number of events.
    """
    reports = [json.loads(line) for line in path.read_text().splitlines()]
    events = [row for r in reports for s in r['sections'] if s['kind'] == 'events'
              for row in s['rows']]
    tables = [s for s in reports[-1]['sections'] if s['kind'] != 'events']
    notes = reports[-1]['notes']
    assert notes['lost'] == 0
    remarks = [r for r in reports[-1].get('remarks', []) if str(path.parent) not in r]
    return events, tables, remarks, notes['seen']


@pytest.mark.parametrize('case', CASES)
def test_reports_are_equal(root, tmp_path, case):
    data, live, replayed = (tmp_path / name for name in ('x.data', 'live.json', 'replayed.json'))
    done = run(*CASES[case], '-q', '-m', 1024, '--push', data, '-o', live, '--', 'sh', '-c',
               SCRIPT)
    assert done.returncode == 0, done.stderr
    done = run(*CASES[case], '-q', '--pull', data, '-o', replayed)
    assert done.returncode == 0, done.stderr
    ours, theirs = results(live), results(replayed)
    assert ours[3] >= PAGES
    assert ours[2:] == theirs[2:]
    for one, other in zip(ours[:2], theirs[:2]):
        assert len(one) == len(other)
        assert [pair for pair in zip(one, other) if pair[0] != pair[1]][:1] == []
