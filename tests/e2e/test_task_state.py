# SPDX-License-Identifier: MIT
"""attar task-state: known sleeps, selections, recordings, and loss."""
import json
import os
import re
import subprocess
import sys
import time

import pytest

import perf_prof_machine
import scripts
from command import perf, run, run_delivered, workload
from scripts import rows_of

pytestmark = pytest.mark.usefixtures('root')

SLEEPS, MS = 10, 20
SLEEPER = f'import time\nfor _ in range({SLEEPS}): time.sleep({MS / 1000})\n'
# Some virtual machines do not deliver switches from the idle tasks of other CPUs.
CPU = str(min(os.sched_getaffinity(0)))
COMMAND = ['--', 'taskset', '-c', CPU, sys.executable, '-c', SLEEPER]


def report(*args, **kwargs):
    ended = run_delivered('task-state', '--format', 'json', *args, **kwargs)
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout.splitlines()[-1])


def rows(found, name='task-state'):
    return scripts.rows(found, name)


@pytest.mark.usefixtures('busy_cpus')
def test_sleeps_of_known_length():
    """
    The program sleeps ten times 20 ms. On a busy machine it may be preempted after the timer was
    armed: that sleep is shorter, or does not happen.
    """
    lines = []
    ended = run('task-state', '--format', 'json', '-S', '--than', f'{MS - 1}ms', *COMMAND)
    for line in ended.stdout.splitlines():
        found = json.loads(line)
        for section in found['sections']:
            if section['name'] == 'segments':
                lines += rows_of(section)
    sleeps = [r for r in lines if r['comm'].startswith('python')]
    assert SLEEPS // 2 <= len(sleeps) <= SLEEPS
    assert all(r['state'] == 'S' and r['duration'] > (MS - 1) * 10**6 for r in sleeps)


@pytest.mark.usefixtures('busy_cpus')
def test_time_of_a_thread_adds_up():
    """R, RD and the sleeps of a thread are the time from its start to its end."""
    began = time.monotonic_ns()
    found = rows(report('--perins', *COMMAND))
    passed = time.monotonic_ns() - began
    threads = {r['tid'] for r in found if r['comm'].startswith('python')}
    assert len(threads) == 1
    total = sum(r['total'] for r in found if r['tid'] in threads)
    assert SLEEPS * MS * 10**6 <= total <= passed


@pytest.mark.usefixtures('busy_cpus')
def test_states_are_selected():
    found = rows(report('-S', *COMMAND))
    assert {r['state'] for r in found} == {'S'}
    assert 'S' not in {r['state'] for r in rows(report('--no-interruptible', *COMMAND))}


@pytest.mark.usefixtures('busy_cpus')
def test_groups():
    by_process = rows(report('--per-process', *COMMAND))
    assert {'pid', 'state'} <= set(by_process[0])
    by_name = rows(report('--per-comm', *COMMAND))
    assert any(r['comm'].startswith('python') for r in by_name)


@pytest.mark.usefixtures('busy_cpus')
def test_process_is_selected():
    with subprocess.Popen([sys.executable, '-c', 'import time\nwhile 1: time.sleep(0.01)']) as p:
        try:
            found = rows(report('--perins', '-p', p.pid, '-d', '300ms'))
        finally:
            p.kill()
    assert {r['tid'] for r in found} == {p.pid}
    assert any(r['state'] == 'S' and r['count'] > 0 for r in found)


@pytest.mark.usefixtures('busy_cpus')
def test_names_are_selected():
    found = rows(report('--per-comm', '--filter', 'python*', *COMMAND))
    assert found and all(r['comm'].startswith('python') for r in found)


TWO_NAMES = '# attar script\nevent sched:sched_switch ' \
    'prev_comm:char[16] prev_pid:pid_t prev_state:s64 next_comm:char[16] next_pid:pid_t\n' \
    'event sched:sched_wakeup comm:char[16] pid:pid_t\n' \
    'event sched:sched_wakeup_new comm:char[16] pid:pid_t\n0.900 0 1/1 a fork 7/7\n' + ''.join(
        f'{begin} 0 0/0 swapper sched:sched_switch next_comm={first} next_pid=7\n'
        f'{end} 0 7/7 {last} sched:sched_switch prev_comm={last} prev_pid=7 prev_state=1\n'
        for begin, end, first, last in (
            (1.0, 1.1, 'a', 'b'), (1.5, 1.6, 'b', 'a'), (2.0, 2.3, 'a', 'a'), (3.0, 3.1, 'a', 'b'),
            (4.0, 4.2, 'b', 'a')))


@pytest.mark.quick
@pytest.mark.parametrize('profiler, table', [('task-state', 'task-state'), ('cpudist', 'pairs')])
def test_selected_name_at_both_ends(profiler, table, tmp_path):
    """Only the run from 2.0 to 2.3 begins and ends under the name."""
    (tmp_path / 'script').write_text(TWO_NAMES)
    ended = run(profiler, '--perins', '--filter', 'a', '--format', 'json', '--input',
                tmp_path / 'script')
    found = json.loads(ended.stdout)
    runs = [(row.get('count', row.get('calls')), row['total'])
            for row in scripts.rows(found, table) if row.get('state', 'R') == 'R']
    assert runs == [(1, 300 * 10**6)]
    assert not any('missing' in remark for remark in found.get('remarks', []))


STATES = {'S': 'S', 'D': 'D', 'R': 'RD', 'R+': 'RD', 'I': 'I', 'T': 'T', 't': 't', 'P': 'P'}
LINE = re.compile(r'\s*(\d+)\.(\d{9}):\s+sched:(\w+):\s+(.*)$')
SWITCH = re.compile(r'prev_comm=.* prev_pid=(\d+) prev_prio=-?\d+ prev_state=(\S+) ==> '
                    r'next_comm=.* next_pid=(\d+) next_prio=')
WAKEUP = re.compile(r'.*:(\d+) \[-?\d+\]|comm=.* pid=(\d+) prio=')


def times_of(text):
    """Compute count and total of each state by thread from the lines of perf script."""
    state, found = {}, {}

    def change(tid, to, time_ns):
        before = state.get(tid)
        if before and before[0] != to:
            count, total = found.get((tid, before[0]), (0, 0))
            found[tid, before[0]] = count + 1, total + time_ns - before[1]
        if not before or before[0] != to:
            state[tid] = to, time_ns

    for line in text.splitlines():
        m = LINE.match(line)
        assert m, line
        now = int(m[1]) * 10**9 + int(m[2])
        if m[3] == 'sched_switch':
            prev, how, following = SWITCH.match(m[4]).groups()
            # without the switch to it, or from it, the time before is unknown
            if state.get(prev, ('R',))[0] != 'R':
                del state[prev]
            if state.get(following, ('',))[0] == 'R':
                del state[following]
            if prev != '0':
                if how in ('X', 'Z'):
                    change(prev, 'end', now)
                    del state[prev]
                else:
                    change(prev, STATES[how.split('|')[0]], now)
            if following != '0':
                change(following, 'R', now)
        else:
            w = WAKEUP.match(m[4])
            tid = w[1] or w[2]
            if tid != '0' and state.get(tid, ('',))[0] not in ('R', 'RD'):
                change(tid, 'RD', now)
    return found


@pytest.mark.quick
def test_missing_switches(script):
    """
    Task 2 sleeps from 1 to 2, but its switch-in is missing; its next switch-out, at 3, shows that
    it ran. Task 3 runs from 5, its switch-out is missing; it is switched in again at 7.
    """
    def switch(second, before, state, after):
        return (f'{second}.0 0 {before}/{before} t sched:sched_switch prev_comm=t '
                f'prev_pid={before} prev_prio=120 prev_state={state} next_comm=t '
                f'next_pid={after} next_prio=120\n')

    found = report('--perins', '--input', script(
        '# attar script\n'
        'event sched:sched_switch prev_comm:char[16] prev_pid:pid_t prev_prio:int prev_state:s64 '
        'next_comm:char[16] next_pid:pid_t next_prio:int\n'
        'event sched:sched_wakeup comm:char[16] pid:pid_t prio:int target_cpu:int\n'
        'event sched:sched_wakeup_new comm:char[16] pid:pid_t prio:int target_cpu:int\n'
        + switch(1, 2, 1, 4) + switch(3, 2, 1, 4) + switch(4, 4, 1, 2)
        + switch(5, 2, 1, 3) + switch(7, 4, 1, 3) + switch(8, 3, 1, 4)))
    times = {(r['tid'], r['state']): (r['count'], r['total'] // 10**9) for r in rows(found)}
    assert times[2, 'S'] == (1, 1) and times[2, 'R'] == (1, 1)
    assert times[3, 'R'] == (1, 1) and (3, 'S') not in times
    assert any(re.search('left out because an event during them was not delivered: [2-9]', remark)
               for remark in found['remarks'])
    assert not any('events were lost' in remark for remark in found['remarks'])


RENAMED = """# attar script
event sched:sched_switch prev_comm:char[16] prev_pid:pid_t prev_state:long next_comm:char[16] \
next_pid:pid_t
event sched:sched_wakeup comm:char[16] pid:pid_t
event sched:sched_wakeup_new comm:char[16] pid:pid_t
1.000 0 0/0 swapper sched:sched_switch next_comm=sh next_pid=42
1.010 0 42/42 sh sched:sched_switch prev_comm=sh prev_pid=42 prev_state=1
1.030 0 0/0 swapper sched:sched_wakeup comm=sh pid=42
1.031 0 0/0 swapper sched:sched_switch next_comm=sh next_pid=42
1.032 0 42/42 program exec
1.036 0 42/42 program sched:sched_switch prev_comm=program prev_pid=42 prev_state=2
1.039 0 0/0 swapper sched:sched_wakeup comm=program pid=42
1.040 0 0/0 swapper sched:sched_switch next_comm=program next_pid=42
""".replace('\\\n', '')


@pytest.mark.quick
@pytest.mark.parametrize('option', ['--perins', '--per-comm'])
def test_thread_has_rows_for_each_name(tmp_path, option):
    """A segment counts with the name at its end; that of the exec, 1.031 to 1.036, with the new."""
    script = tmp_path / 'test.script'
    script.write_text(RENAMED)
    found = rows(report(option, '--input', script))
    assert {(r['comm'], r['state']): r['total'] // 10**6 for r in found} == {
        ('sh', 'R'): 10, ('sh', 'S'): 20, ('sh', 'RD'): 1,
        ('program', 'R'): 5, ('program', 'D'): 3, ('program', 'RD'): 1}
    assert option != '--perins' or {r['tid'] for r in found} == {42}


@pytest.mark.quick
def test_recordings_without_some_switches(script):
    """
    On CPU 1, the 3 switches from the idle task are missing. Of a recording of one task, which does
    not say so, most switches seem to be missing: there is no remark.
    """
    def switch(second, cpu, before, after):
        return (f'{second}.0 {cpu} {before}/{before} t sched:sched_switch prev_pid={before} '
                f'prev_state=1 next_pid={after}\n')

    def remarks(text):
        found = report('--input', script(
            '# attar script\n'
            'event sched:sched_switch prev_comm:char[16] prev_pid:pid_t prev_state:s64 '
            'next_comm:char[16] next_pid:pid_t\n'
            'event sched:sched_wakeup comm:char[16] pid:pid_t\n'
            'event sched:sched_wakeup_new comm:char[16] pid:pid_t\n' + text))
        return [r for r in found.get('remarks', []) if 'between tasks' in r]

    first = ''.join(switch(2 * i, 0, 0, 2) + switch(2 * i + 1, 0, 2, 0) for i in range(1, 9))
    second = ''.join(switch(20 + i, 1, 3, 0) for i in range(4))
    assert remarks(first) == []
    assert remarks(first + second) == [
        'the recording lacks at least 3 switches between tasks (CPU 1), which the kernel did not '
        'deliver or which were filtered: times that begin or end with them are wrong']
    assert remarks(second) == []
    # thread 8 executes a program, and has the tid of its process then
    before, after = '1.0 1 7/7 t fork 7/8\n' + switch(2, 1, 0, 8), switch(4, 1, 7, 0)
    assert len(remarks(first + before + after)) == 1
    assert remarks(first + before + '3.0 1 7/7 t exec\n' + after) == []


@pytest.mark.quick
def test_recording_lacks_an_event(script):
    done = run('task-state', '--input', script(
        '# attar script\n'
        'event sched:sched_switch prev_comm:char[16] prev_pid:pid_t prev_prio:int prev_state:s64 '
        'next_comm:char[16] next_pid:pid_t next_prio:int\n'
        'event sched:sched_wakeup comm:char[16] pid:pid_t prio:int target_cpu:int\n'
        '1.0 0 1/1 a sched:sched_wakeup comm=b pid=2\n'))
    assert (done.returncode, done.stdout) == (1, '')
    assert done.stderr == (
        "attar: the recording has no event 'sched:sched_wakeup_new', which 'task-state' needs: "
        'record it, too: attar record -a -e '
        'sched:sched_switch,sched:sched_wakeup,sched:sched_wakeup_new\n')


@pytest.mark.parametrize('profiler', ['task-state', 'wall', 'oncpu'])
@pytest.mark.parametrize('words, is_wrong', [(['-a'], False), ([], True)])
def test_recording_of_single_tasks_says_so(tmp_path, profiler, words, is_wrong):
    """It has the switches from its tasks, but not those to them, which happen in other tasks."""
    data = tmp_path / 'x.data'
    done = run('record', '-q', *words, '-o', data, '-e',
               'cpu-clock,sched:sched_switch,sched:sched_wakeup,sched:sched_wakeup_new', *COMMAND)
    assert done.returncode == 0, done.stderr
    done = run(profiler, '--input', data, '--format', 'json')
    assert done.returncode == 0, done.stderr
    remark = ('the recording lacks switches from other tasks to those that were recorded: times of '
              'running and waiting are wrong; record all tasks with -a')
    assert (remark in json.loads(done.stdout.splitlines()[-1]).get('remarks', [])) == is_wrong


@pytest.mark.usefixtures('needs_perf')
def test_recording_equals_perf_script(tmp_path):
    """Count and total of each state of each thread, computed from perf script independently."""
    data = tmp_path / 'perf.data'
    subprocess.run(['perf', 'record', '-q', '-a', '-m', '8M', '-o', data, '-e',
                    'sched:sched_switch,sched:sched_wakeup,sched:sched_wakeup_new', *COMMAND],
                   check=True, capture_output=True)
    theirs = times_of(perf('script', '--ns', '-i', data, '-F', 'time,event,trace'))
    ours = {}
    for r in rows(report('--perins', '--input', data)):
        count, total = ours.get((str(r['tid']), r['state']), (0, 0))
        ours[str(r['tid']), r['state']] = count + r['count'], total + r['total']
    assert len(ours) > 5
    assert ours == theirs


def test_stacks_of_sleeps(tmp_path):
    folded = tmp_path / 'off.folded'
    ended = run('task-state', '-S', '--flame-graph', folded, *COMMAND)
    assert ended.returncode == 0, ended.stderr
    asleep = sum(int(line.rpartition(' ')[2]) for line in folded.read_text().splitlines()
                 if 'nanosleep' in line)
    assert SLEEPS * MS * 10**6 <= asleep < 2 * SLEEPS * MS * 10**6


@pytest.mark.parametrize('args, sentence', [
    (['--perins', '--per-comm'], 'mutually exclusive'),
    (['-S', '--no-interruptible'], 'mutually exclusive'),
    (['-p', 'x'], '--pids'),
])
def test_refusals(args, sentence):
    ended = run('task-state', *args, '-d', '1ms')
    assert ended.returncode == 2, ended.stderr
    assert sentence in ended.stderr


@pytest.mark.parametrize('option, kernel, user', [
    ('--user-callchain', True, True), ('--no-kernel-callchain', False, True),
    ('--no-user-callchain', True, False)])
def test_parts_of_stacks(option, kernel, user):
    """Each sleep is in do_nanosleep(), which the C library has called."""
    ended = run_delivered('task-state', '-S', '--than', '1ms', '-g', option, '--format', 'json',
                          '--', 'taskset', '-c', CPU, workload('sleeps'), 3, 5)
    assert ended.returncode == 0, ended.stderr
    details = [' '.join(detail) for detail, in perf_prof_machine.rows_of(
        ended.stdout, 'segments', 'detail')]
    assert details
    assert all(('do_nanosleep+0x' in text) == kernel for text in details), details
    assert all(('libc.so.6)' in text) == user for text in details), details
