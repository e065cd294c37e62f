# SPDX-License-Identifier: MIT
"""
A profiler on a running program, on the same events that it wrote to a file meanwhile, and on a
recording of the same program: the same reports.
"""
import json
import os

import pytest

from command import ATTAR, is_waiting, run, wait_until, workload

CALLS, PAGES = 3000, 300
SCRIPT = f'{workload("flood")} {CALLS} >/dev/null; {workload("faults1000")} {PAGES}'
DEEP = f'{workload("recurse")} 3000 1'  # page faults of its stack, under more than 127 frames
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
    'complete stacks': ['profile', '-e', FAULTS, '-g', '--unwind', 'kernel'],
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
    remarks = [r for r in reports[-1].get('remarks', []) if str(path.parent) not in r and
               'than without attar' not in r and  # is measured in live runs only
               not r.startswith('user stacks')]  # and so is how they were taken
    return events, tables, remarks, notes['seen']


@pytest.mark.parametrize('case', CASES)
def test_reports_are_equal(root, tmp_path, case):
    data, live, replayed = (tmp_path / name for name in ('x.data', 'live.json', 'replayed.json'))
    done = run(*CASES[case], '-q', '-m', 1024, '--push', data, '-o', live, '--', 'sh', '-c',
               f'{SCRIPT}; {DEEP}')
    assert done.returncode == 0, done.stderr
    done = run(*CASES[case], '-q', '--pull', data, '-o', replayed)
    assert done.returncode == 0, done.stderr
    ours, theirs = results(live), results(replayed)
    assert ours[3] >= PAGES
    assert ours[2:] == theirs[2:]
    assert case != 'profile' or any('stacks of 127 frames' in r for r in ours[2]), ours[2]
    for one, other in zip(ours[:2], theirs[:2]):
        assert len(one) == len(other)
        assert [pair for pair in zip(one, other) if pair[0] != pair[1]][:1] == []


RECORDED = {
    'trace': ['trace', '-g', '-e', f'{ENTER},{EXIT},sched:sched_process_exec'],
    'top': ['top', '-e', f'{ENTER}//key={{comm_get(common_pid),id}}/,{EXIT}//key='
            '{comm_get(common_pid),id}/top-by=ret/', '--rows', 0],
    'system calls': ['multi-trace', '--impl', 'syscalls', '--perins'],
    'pairs': ['multi-trace', '--impl', 'pair', '-k', 'common_pid', '-e', ENTER, '-e', EXIT],
    'numbers': ['num-dist', '-e', f'{EXIT}//num=ret/'],
    'sql': ['sql', '-e', f'{ENTER},{EXIT}', '--query',
            'SELECT id, count(*), sum(ret) FROM sys_exit GROUP BY id ORDER BY id'],
    'profile': ['profile', '-e', EXIT, '-g'],
}
TIMES = {'time', 'interval_ns', 'total', 'min', 'p50', 'p95', 'p99', 'p99.9', 'max', 'mean'}


def without_times(path):
    """
    Return the rows of the last report by section, and those of single events by thread. The clock
    is read for each profiler anew: durations, and the order of rows by them, differ.
    """
    reports = [json.loads(line) for line in path.read_text().splitlines()]
    events, tables = {}, {}
    for section in [s for report in reports for s in report['sections']]:
        rows = []
        names = [column['name'] for column in section.get('columns', [])]
        for values in section['rows']:
            row = {k: v for k, v in dict(zip(names, values)).items() if k not in TIMES}
            rows.append(row)
            if section['kind'] == 'events':
                events.setdefault(row['tid'], []).append(row)
        if section['kind'] != 'events':
            tables[section['name']] = sorted(rows, key=str) if TIMES & set(names) else rows
    notes = reports[-1]['notes']
    assert (notes['lost'], notes['missing']) == (0, 0)
    return events, tables, notes['seen']


def test_a_recording_of_the_same_program_has_the_same_report(root, tmp_path, spawn):
    """
    All watch one program, which starts when they are ready. Their events are tracepoints: Linux
    6.18 gives samples of a software event that a task has twice the id of one of them.
    """
    gate, data = tmp_path / 'gate', tmp_path / 'x.data'
    os.mkfifo(gate)
    program = spawn('sh', '-c', f'read line <{gate}; {SCRIPT}; exit 0')
    watch = ['-q', '-m', 1024, '-p', program.pid, '-o']
    events = f'{ENTER},{EXIT},sched:sched_process_exec'
    watching = [spawn(ATTAR, 'record', '-g', '-e', events, *watch, data)]
    watching += [spawn(ATTAR, *words, *watch, tmp_path / f'{name}.live.json')
                 for name, words in RECORDED.items()]
    for process in watching:
        wait_until(lambda process=process: is_waiting(process), 'all watch the program')
    gate.write_text('\n')
    assert [process.wait(60) for process in watching] == [0] * len(watching)
    for name, words in RECORDED.items():
        replayed = tmp_path / f'{name}.json'
        done = run(*words, '-q', '--input', data, '-o', replayed)
        assert done.returncode == 0, done.stderr
        live, recorded = without_times(tmp_path / f'{name}.live.json'), without_times(replayed)
        assert live[2] == recorded[2] >= CALLS, name
        for ours, theirs in zip(live[:2], recorded[:2]):
            assert ours.keys() == theirs.keys(), name
            different = [pair for key in ours for pair in zip(ours[key], theirs[key])
                         if pair[0] != pair[1]]
            assert not different[:1], name
            assert [len(rows) for rows in ours.values()] == [
                len(rows) for rows in theirs.values()], name
