# SPDX-License-Identifier: MIT
"""attar stat: counts compared with known values and with perf stat, tables, and errors."""
import csv
import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import hierarchy
import reused_pid
from command import ATTAR, as_nobody, comm_of, run, wait_until, workload
from scripts import rows_of

pytestmark = pytest.mark.usefixtures('root')


def rows(report, section='counts'):
    for s in report['sections']:
        if s['name'] == section:
            return rows_of(s)
    raise KeyError(section)


def stat(*args, status=0, **kwargs):
    """Return all reports of attar stat, from its JSON."""
    done = run('stat', '--format', 'json', *args, **kwargs)
    assert done.returncode == status, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def counts(*args, **kwargs):
    """Return the rows of the only report by event."""
    report, = stat(*args, **kwargs)
    return {row['event']: row for row in rows(report)}


def waits(pid, events):
    """
    Whether the process has opened its events and sleeps for some time, that is, has enabled them.
    """
    def asleep():
        status = Path(f'/proc/{pid}/status').read_text()
        return re.search(r'^State:\tS', status, re.M) and re.search(
            r'^voluntary_ctxt_switches:\t(\d+)', status, re.M)[1]
    try:
        fds = [os.readlink(f) for f in Path(f'/proc/{pid}/fd').iterdir()]
        before = asleep()
        time.sleep(0.005)
        return sum('perf_event' in f for f in fds) >= events and before and asleep() == before
    except OSError:
        return False


@pytest.fixture
def held(spawn):
    """held(command...) starts a process that runs the command after go() is called."""
    def start(*command, **kwargs):
        line = 'read _; exec "$@"'
        process = spawn('sh', '-c', line, 'sh', *command, stdin=subprocess.PIPE, **kwargs)
        process.go = lambda: (process.stdin.write(b'\n'), process.stdin.close())
        return process
    return start


def both_count(held, spawn, folder, events, *command):
    """Count a command with attar and perf: both attach to the process that will execute it."""
    ours, theirs = folder / 'ours.json', folder / 'theirs.csv'
    target = held(*command)
    wait_until(lambda: comm_of(target.pid) == 'sh', 'the shell runs')
    attar = spawn(ATTAR, 'stat', '-q', '-o', ours, '-e', ','.join(events), '-p', target.pid)
    perf = spawn('perf', 'stat', '-x', ';', '-o', theirs, '-e', ','.join(events), '-p', target.pid)
    wait_until(lambda: waits(attar.pid, len(events)) and waits(perf.pid, len(events)), 'both watch')
    target.go()
    target.wait(20)  # perf waits until its parent has reaped the process
    assert attar.wait(20) == 0
    perf.wait(20)
    found = {row['event']: row['value'] for row in rows(json.loads(ours.read_text()))}
    expected = {line.split(';')[2]: float(line.split(';')[0])
                for line in theirs.read_text().splitlines() if ';' in line}
    assert set(found) == set(events)
    return found, expected


def test_counts_equal_those_of_perf_stat(needs_perf, held, spawn, tmp_path):
    """The counts are equal."""
    events = ['page-faults', 'minor-faults', 'context-switches', 'task-clock',
              'raw_syscalls:sys_enter']
    found, expected = both_count(held, spawn, tmp_path, events, workload('faults1000'), 3000)
    assert 3000 < found['page-faults'] < 3300
    assert found.pop('task-clock') == pytest.approx(expected['task-clock'], rel=0.02)
    assert found == {event: expected[event] for event in found}


def test_software_event_counts_equal_those_of_perf_stat(needs_perf, held, spawn, tmp_path):
    """Event names of both tools agree; the command moves between CPUs, sleeps and reads a disk."""
    events = ['major-faults', 'cpu-migrations', 'alignment-faults', 'emulation-faults',
              'bpf-output', 'dummy',
              'cgroup-switches', 'cpu-clock']
    line = ('for cpu in 0 1 0 1 0 1; do taskset -cp $cpu $$ >/dev/null 2>&1; done; '
            f'sleep 0.02; exec {workload("faults1000")}')
    found, expected = both_count(held, spawn, tmp_path, events, 'sh', '-c', line)
    assert found.pop('cpu-clock') == pytest.approx(expected['cpu-clock'], rel=0.02)
    assert found == {event: expected[event] for event in found}
    if os.cpu_count() > 1:
        assert found['cpu-migrations'] >= 5
    assert found['dummy'] == found['bpf-output'] == 0


def test_cgroup_switches_are_counted(needs_perf, held, spawn, cgroup, tmp_path_factory):
    """Alone in its control group, a task that sleeps 23 times switches to tasks of other groups."""
    def start(*command):
        target = held(*command)
        (cgroup / 'cgroup.procs').write_text(str(target.pid))
        return target
    events = ['context-switches', 'cgroup-switches']
    found, expected = both_count(start, spawn, tmp_path_factory.mktemp('groups'), events,
                                 'python3', '-c',
                                 'import time\nfor i in range(23): time.sleep(0.002)')
    assert 23 <= found['cgroup-switches'] <= found['context-switches']
    assert found == expected


@pytest.mark.usefixtures('needs_breakpoints')
def test_breakpoint_agrees_with_perf(needs_perf, held, spawn, tmp_path):
    """A variable written 23 times, by a thread created later; without ASLR its address is known."""
    if os.uname().machine != 'x86_64':
        pytest.skip('the address of programs without ASLR is known for x86-64 only')
    name = workload('wakeups23')
    symbols = subprocess.run(['nm', name], capture_output=True, text=True, check=True).stdout
    offset = int(re.search(r'^([0-9a-f]+) \w woken$', symbols, re.M)[1], 16)
    # the kernel writes there too, when it clears the program's data
    event = f'mem:{0x555555554000 + offset:#x}/8:w:u'
    found, expected = both_count(held, spawn, tmp_path, [event], 'setarch', '-R', name)
    assert found[event] == 23
    assert list(expected.values()) == [23]


def write_line(file, line):
    fd = os.open(file, os.O_WRONLY | os.O_APPEND)
    os.write(fd, line.encode() + b'\n')
    os.close(fd)


def test_uprobe_agrees_with_perf(needs_perf, held, spawn, tmp_path):
    """Five calls of a function, each 50 levels deep. perf counts them with a probe in tracefs."""
    name = workload('recurse')
    symbols = subprocess.run(['nm', name], capture_output=True, text=True, check=True).stdout
    offset = int(re.search(r'^([0-9a-f]+) \w dive$', symbols, re.M)[1], 16)
    probes = Path('/sys/kernel/tracing/uprobe_events')
    if not probes.exists():
        pytest.skip('this kernel has no uprobes in tracefs')
    group = f'attar_test_{os.getpid()}'
    write_line(probes, f'p:{group}/dive {name}:{offset:#x}')
    try:
        ours, theirs = tmp_path / 'ours.json', tmp_path / 'theirs.csv'
        target = held(name, 50, 5)
        attar = spawn(ATTAR, 'stat', '-q', '-o', ours, '-e',
                      f'uprobe:dive@"{name}",uretprobe:dive@"{name}"',
                      '-p', target.pid)
        perf = spawn('perf', 'stat', '-x', ';', '-o', theirs, '-e', f'{group}:dive', '-p',
                     target.pid)
        wait_until(lambda: waits(attar.pid, 2) and waits(perf.pid, 1), 'both watch')
        target.go()
        target.wait(20)
        assert attar.wait(20) == 0
        perf.wait(20)
        assert [row['value'] for row in rows(json.loads(ours.read_text()))] == [250, 250]
        assert f'250;;{group}:dive' in theirs.read_text()
    finally:
        write_line(probes, f'-:{group}/dive')


@pytest.mark.parametrize('runs, calls', [('%s', 10000), ('sh -c "%s 100 3; %s 50 1"', 350)])
def test_uprobe_counts_in_children(runs, calls):
    """
    Forked children, and commands of a shell. The kernel misses calls while other children end (perf
    stat does too), so the count may be too low, but is not 0.
    """
    name = workload('childcalls')
    command = shlex.split(runs.replace('%s', str(name)))
    row, = counts('-e', f'uprobe:counted_call@"{name}"', '--', *command).values()
    assert calls / 10 <= row['value'] <= calls
    assert row['quality'] == 'partial'


def test_uprobe_of_one_process_is_exact():
    """Without new processes, and of the whole system, no call is missed."""
    name = workload('threadcalls')
    done = run('stat', '-e', f'uprobe:main@"{name}"', '--format', 'json', '--', name)
    row, = rows(json.loads(done.stdout))
    assert (row['value'], row['quality']) == (1, 'exact')
    assert 'the kernel may miss calls' not in done.stderr
    name = workload('childcalls')
    done = run('stat', '-a', '-e', f'uprobe:counted_call@"{name}"', '--format', 'json', '--',
               name, 50, 1)
    row, = rows(json.loads(done.stdout))
    assert (row['value'], row['quality']) == (50, 'exact')


def test_missed_calls_are_remarked():
    name = workload('childcalls')
    done = run('stat', '-e', f'uprobe:counted_call@"{name}",page-faults', '--', name, 100, 3)
    assert re.search(r'the watched tasks created \d+ processes?: the kernel may miss calls of '
                     'probed functions in them; with -a, it misses none',
                     ' '.join(done.stdout.split()))
    assert re.search('page-faults .* exact$', done.stdout, re.M)


def test_missed_calls_of_samples_are_remarked():
    """With all profilers of probed functions, unless events of all tasks are requested."""
    name = workload('childcalls')
    words = ['top', '-e', f'uprobe:counted_call@"{name}"', '--format', 'json']
    found = [json.loads(run(*words, *whole, '--', name, 20, 3).stdout) for whole in ([], ['-a'])]
    remarks = [' '.join(report.get('remarks', [])) for report in found]
    assert 'the watched tasks created 3 processes: the kernel may miss calls' in remarks[0]
    assert 'may miss calls' not in remarks[1]


def test_msr_agrees_with_perf(needs_perf, held, spawn, tmp_path):
    """
    The time stamp counter while the task runs: a PMU of sysfs that does not support exclusions.
    """
    if not Path('/sys/bus/event_source/devices/msr/events/tsc').exists():
        pytest.skip('this machine has no msr PMU')
    found, expected = both_count(held, spawn, tmp_path, ['msr/tsc/'], workload('split7030'), 300)
    assert found['msr/tsc/'] > 1e6
    assert found['msr/tsc/'] == pytest.approx(expected['msr/tsc/'], rel=0.02)


def test_command_is_counted_from_exec_to_exit():
    found = counts('-e', 'page-faults,task-clock', '--', workload('faults1000'))
    assert 1000 <= found['page-faults']['value'] < 1300
    assert found['page-faults']['quality'] == 'exact'
    assert found['page-faults']['counted'] == 100
    assert found['task-clock']['unit'] == 'msec'
    assert found['task-clock']['value'] > 0


def test_children_are_counted():
    line = f'for i in 1 2 3; do {workload("faults1000")}; done'
    assert 3000 <= counts('-e', 'page-faults', '--', 'sh', '-c',
                          line)['page-faults']['value'] < 4500


def test_command_given_with_pid_sets_the_duration(spawn):
    """`-p PID -- sleep 1` counts the process, from the start of the command to its end."""
    process = spawn(workload('split7030'), 1000000)
    report, = stat('-e', 'task-clock', '-p', process.pid, '--', 'sleep', 0.5)
    clock, = rows(report)
    elapsed_ms = report['interval_ns'] / 1e6
    # on a busy machine it has a part of the time
    assert elapsed_ms >= 500 and 25 < clock['value'] < 1.05 * elapsed_ms


def test_default_events():
    found = counts('--', workload('faults1000'))
    assert list(found) == ['task-clock', 'context-switches', 'cpu-migrations', 'page-faults',
                           'cycles', 'instructions', 'branches', 'branch-misses']
    for row in found.values():
        assert row['quality'] in ('exact', 'scaled') \
            or (row['quality'] == 'not supported' and row['value'] is None)
    assert found['task-clock']['meaning'] == 'CPUs utilized'
    assert 0 < found['task-clock']['ratio'] < 1.2
    faults = found['page-faults']
    assert faults['meaning'] == 'per second of CPU time'
    assert faults['ratio'] == pytest.approx(faults['value'] / found['task-clock']['value'] * 1000,
                                            rel=1e-6)


def test_whole_system_counts_all_cpus():
    found = counts('-d', '500ms')
    assert list(found)[0] == 'cpu-clock'
    assert found['cpu-clock']['ratio'] == pytest.approx(os.cpu_count(), rel=0.1)


def test_group_members_are_counted_together():
    found = counts('-e', '{page-faults,minor-faults,major-faults,task-clock}', '--',
                   workload('faults1000'))
    faults, minor, major = (found[name]['value']
                            for name in ('page-faults', 'minor-faults', 'major-faults'))
    assert faults == minor + major
    assert minor >= 1000


def test_filter_limits_a_tracepoint():
    number = {'x86_64': 0, 'aarch64': 63}[os.uname().machine]
    every = counts('-e', 'raw_syscalls:sys_enter', '--', 'dd', 'if=/dev/zero', 'of=/dev/null',
                   'bs=1', 'count=2300')
    reads = counts('-e', f'raw_syscalls:sys_enter/id=={number}/', '--',
                   'dd', 'if=/dev/zero', 'of=/dev/null', 'bs=1', 'count=2300')
    reads, every = (next(iter(found.values()))['value'] for found in (reads, every))
    assert 2300 <= reads < 2330
    assert every >= reads + 2300 # as many writes


def test_rows_of_filtered_events_have_the_filter_in_their_name():
    """Otherwise, rows of one tracepoint with several filters look alike."""
    event = 'raw_syscalls:sys_enter'
    found = counts('-e', f'{event}/id==110/,{event}/id==111/,{event}/id==110/alias=getppid/', '--',
                   workload('flood'), 1000)
    names = [f'{event}/id==110/', f'{event}/id==111/', 'getppid']
    assert list(found) == names
    assert [found[name]['value'] for name in names] == [1000, 0, 1000]
    lines = stat('--line', '-i', '50ms', '-d', '100ms',
                 '-e', f'{event}/id==110/,{event}/id==111/')
    assert [column['name'] for column in lines[0]['sections'][0]['columns']] == \
        ['time', *names[:2]]


def test_per_cpu_has_a_row_for_each_cpu():
    cpu = max(os.sched_getaffinity(0))
    report, = stat('--per-cpu', '-e', 'page-faults', '--', 'taskset', '-c', cpu,
                   workload('faults1000'))
    found = {row['cpu']: row['value'] for row in rows(report)}
    assert set(found) == set(range(os.cpu_count()))
    assert 1000 <= found[cpu]
    assert sum(found.values()) - found[cpu] < 100  # before taskset(1) took effect


def test_per_thread_has_a_row_for_each_thread(spawn):
    target = spawn(workload('threads2'), 40000)
    wait_until(lambda: len(list(Path(f'/proc/{target.pid}/task').iterdir())) == 3,
               'its threads run')
    report, = stat('--per-thread', '-e', 'task-clock', '-p', target.pid, '-d', '200ms')
    found = {row['comm']: row['value'] for row in rows(report)}
    assert set(found) == {'threads2', 'one', 'three'}
    assert {row['tid'] for row in rows(report)} == \
        {int(f.name) for f in Path(f'/proc/{target.pid}/task').iterdir()}


def test_exited_threads_keep_their_names(spawn):
    target = spawn(workload('threads2'), 2500)
    wait_until(lambda: len(list(Path(f'/proc/{target.pid}/task').iterdir())) == 3,
               'its threads run')
    report, = stat('--per-thread', '-e', 'task-clock', '-p', target.pid)
    assert not Path(f'/proc/{target.pid}/comm').exists() or target.poll() is not None
    assert {row['comm'] for row in rows(report)} == {'threads2', 'one', 'three'}


GETPPID = f"raw_syscalls:sys_enter/id=={ {'x86_64': 110, 'aarch64': 173}[os.uname().machine]}/"


def needs_counts_of_exited_threads(report):
    if tuple(int(n) for n in os.uname().release.split('.')[:2]) < (6, 12) or \
            'this kernel does not report' in ''.join(report.get('remarks', [])):
        pytest.skip('this kernel does not report the counts of exited threads')


@pytest.mark.parametrize('pinned', [False, True], ids=['anywhere', 'one CPU'])
@pytest.mark.parametrize('events', ['{},page-faults,task-clock',
                                    '{{page-faults,{}}},context-switches'])
def test_threads_of_a_command_are_counted_separately(events, pinned):
    """Each has exactly its own calls, whoever started it and whatever ran in between."""
    flood = workload('flood')
    pin = ['taskset', '-c', min(os.sched_getaffinity(0))] if pinned else []
    report, = stat('--per-thread', '-e', events.format(GETPPID), '--', *pin, 'sh', '-c',
                   f'exec >/dev/null; {flood} 1000; {flood} 2000 & {flood} 3000 & {flood} 4000; '
                   'wait')
    needs_counts_of_exited_threads(report)
    found = [row for row in rows(report) if row['event'].startswith('raw_syscalls')]
    assert {row['comm'] for row in found} == {'flood', 'sh'}
    assert sorted(row['value'] for row in found if row['comm'] == 'flood') == \
        [1000, 2000, 3000, 4000]
    assert sum(row['value'] for row in found if row['comm'] == 'sh') < 5
    assert {row['quality'] for row in rows(report)
            if row['event'] != 'task-clock'} <= {'exact', 'idle'}


def test_programs_with_the_same_pid(tmp_path):
    found = reused_pid.report(tmp_path, 'stat', '--per-thread', '-e', GETPPID)
    needs_counts_of_exited_threads(found)
    assert sorted((row['tid'], row['comm'], row['value']) for row in rows(found)
                  if row['comm'] in reused_pid.CALLS) == [
        (reused_pid.PID, name, calls) for name, calls in reused_pid.CALLS.items()]


def test_threads_have_names_if_the_first_event_is_refused():
    report, = stat('--per-thread', '-e', 'node-prefetch-misses,page-faults', '--', 'sh', '-c',
                   f'{workload("faults1000")}; true')
    needs_counts_of_exited_threads(report)
    assert {row['comm']: row['value'] >= 1000 for row in rows(report)
            if row['event'] == 'page-faults'} == {
                'sh': False, 'faults1000': True}


def test_threads_started_later_are_counted_separately(held):
    """
    Threads that a process starts after attar attached are distinguished too; the sum is exact. The
    kernel does not report all counts of threads that exit on several CPUs at the same time: their
    rows are partial.
    """
    target = held(workload('threadstorm'), 300)
    both = 'task-clock,dummy'
    attar = subprocess.Popen([ATTAR, 'stat', '--per-thread', '-e', both, '-p', str(target.pid),
                              '--format', 'json'],
                             stdout=subprocess.PIPE, text=True)
    wait_until(lambda: waits(attar.pid, 1), 'it watches')
    target.go()
    target.wait(20)
    report, = (json.loads(line) for line in attar.communicate(timeout=20)[0].splitlines())
    needs_counts_of_exited_threads(report)
    storm = [row for row in rows(report) if row['comm'] == 'storm' and row['event'] == 'task-clock']
    assert len(storm) == len({row['tid'] for row in storm}) == 300
    assert min(row['value'] for row in storm if row['quality'] != 'partial') > 0.1
    partial = sum(row['quality'] == 'partial' for row in storm)
    assert partial < 300
    assert (partial > 0) == any('have only part of their own counts' in remark
                                for remark in report.get('remarks', []))


def watch_calls(target, *args, stderr=None):
    """Start attar to count the calls of each thread of the process."""
    attar = subprocess.Popen([ATTAR, 'stat', '--per-thread', '-e', f'{GETPPID},page-faults',
                              '-p', str(target.pid), *args],
                             stdout=subprocess.PIPE, stderr=stderr, text=True)
    wait_until(lambda: waits(attar.pid, 1), 'it watches')
    return attar


def finish(attar):
    """Return its report, and the rows of the calls."""
    report, = (json.loads(line) for line in attar.communicate(timeout=60)[0].splitlines())
    needs_counts_of_exited_threads(report)
    return report, [row for row in rows(report) if row['event'].startswith('raw_syscalls')]


def test_threads_with_lost_records_are_unassigned(held, tmp_path):
    """Their counts are in a separate row, not in that of the thread that started them."""
    target = held('taskset', '-c', min(os.sched_getaffinity(0)), workload('threadcalls'), 6000, 7)
    table, text = tmp_path / 'out.csv', tmp_path / 'out.txt'
    with open(tmp_path / 'said', 'w') as said:
        attar = watch_calls(target, '--format', 'json', '-o', table, '-o', text, stderr=said)
    attar.send_signal(signal.SIGSTOP)
    target.go()
    target.wait(60)
    attar.send_signal(signal.SIGCONT)
    report, found = finish(attar)
    assert report['notes']['lost'] > 0
    said = (tmp_path / 'said').read_text()
    assert f'{report["notes"]["lost"]} records of exited threads were lost' in said
    assert 'events' not in said and 'filter' not in said, said
    assert any('records were lost' in remark and "'[unassigned]'" in remark
               for remark in report['remarks'])
    by_tid = {row['tid']: row for row in found}
    assert len(by_tid) == len(found) < 6001
    assert (by_tid[target.pid]['value'], by_tid[target.pid]['quality']) == (0, 'exact')
    rest = by_tid[None]
    assert rest is found[0], 'a table that is cut off after 40 rows must show it'
    assert rest['comm'] == '[unassigned]' and rest['quality'] == 'partial' and rest['value'] > 0
    assert sum(row['value'] or 0 for row in found) == 7 * 6000
    assert {row['value'] for row in found if row['quality'] == 'exact'} == {0, 7}
    assert f',[unassigned],,{rest["value"]},' in table.read_text()
    assert re.search(rf'^\[unassigned\] +- +{rest["value"]:,} .* partial$', text.read_text(), re.M)


EXEC_IN_THREAD = """
import os, signal, threading
threading.Thread(target=lambda: os.execv('/bin/true', ['true'])).start()
signal.pause()
"""


def test_no_thread_is_left_by_an_exec_from_another_thread():
    """The thread takes over the ID of the main thread: none is still running."""
    done = run('stat', '--per-thread', '--format', 'json', '-e', 'page-faults', '--',
               sys.executable, '-S', '-c', EXEC_IN_THREAD)
    report = json.loads(done.stdout.splitlines()[-1])
    assert done.returncode == 0 and 'true' in {row[0] for row in report['sections'][0]['rows']}
    assert not [r for r in report.get('remarks', []) if 'still running' in r]


def test_running_threads_are_unassigned(held):
    """So are the counts of threads that have not ended: the kernel does not report them."""
    target = held(workload('threadcalls'), 3, 7, 'stay', stdout=subprocess.PIPE)
    attar = watch_calls(target, '--format', 'json')
    target.go()
    assert target.stdout.readline() == b'ready\n'
    attar.send_signal(signal.SIGINT)
    report, found = finish(attar)
    assert any('1 thread that was created during the run is still running: its counts are' in remark
               for remark in report['remarks'])
    assert sorted((row['comm'], row['value'], row['quality']) for row in found) == [
        ('[unassigned]', 7, 'partial'), ('threadcalls', 0, 'exact'),
        *[('threadcalls', 7, 'exact')] * 3]


def test_every_thread_of_the_system_has_a_row(spawn):
    target = spawn(workload('threads2'), 40000)
    wait_until(lambda: len(list(Path(f'/proc/{target.pid}/task').iterdir())) == 3,
               'its threads run')
    report, = stat('--per-thread', '-e', 'task-clock', '-d', '300ms')
    found = {row['tid']: row for row in rows(report)}
    own = [found[int(f.name)] for f in Path(f'/proc/{target.pid}/task').iterdir()]
    assert {row['comm'] for row in own} == {'threads2', 'one', 'three'}
    assert 1 in found and 2 in found and os.getpid() in found
    assert all(row['value'] > 0 for row in own if row['comm'] in ('one', 'three'))
    assert len(found) == len(rows(report))


@pytest.mark.parametrize('cpus', [[], ['-C', f'0-{os.cpu_count() - 1}']], ids=['-a', '-C'])
def test_every_thread_includes_the_command(cpus):
    """And what it starts: their calls are counted in its row."""
    flood = workload('flood')
    report, = stat('--per-thread', '-a', *cpus, '-e', GETPPID, '--', sys.executable, '-c',
                   'import os\nos.close(1)\nfor i in range(1000): os.getppid()\n'
                   f'for n in 2000, 3000: os.spawnl(os.P_NOWAIT, "{flood}", "flood", str(n))\n'
                   'os.wait(); os.wait()')
    python = Path(sys.executable).name
    assert [row['quality'] for row in rows(report)
            if (row['comm'], row['value']) == (python, 6000)] == ['exact']


def test_exited_threads_of_the_system_have_their_own_names(held, tmp_path):
    """Not the name of the command, which is another program."""
    targets = [held(workload('flood'), calls) for calls in (1001, 2002)]
    attar = subprocess.Popen([ATTAR, 'stat', '--per-thread', '-a', '-e', GETPPID, '-o',
                              tmp_path / 'x.json', '--', 'sh', '-c', 'echo ready; read x'],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert attar.stdout.readline() == 'ready\n'
    for target in targets:
        target.go()
        target.wait(20)
    attar.communicate('\n', timeout=20)
    found = {row['tid']: row for row in rows(json.loads((tmp_path / 'x.json').read_text()))}
    assert [(found[target.pid]['comm'], found[target.pid]['value']) for target in targets] == [
        ('flood', 1001), ('flood', 2002)]


def test_kernel_workers_have_the_names_in_kernel_records():
    """/proc adds a worker's current work to its name, and shows long names in full."""
    report, = stat('--per-thread', '-e', 'task-clock', '-d', '50ms')
    workers = [row['comm'] for row in rows(report) if row['comm'].startswith('kworker/')]
    own_name = re.compile(r'kworker/(R-.{1,5}|dying|u?\d+:\d+[A-Z]*)')
    assert workers and all(own_name.fullmatch(comm) for comm in workers), workers


def test_per_socket_has_a_row_for_each_socket():
    report, = stat('--per-socket', '-e', 'cpu-clock', '-d', '200ms')
    sockets = {int(f.read_text())
               for f in Path('/sys/devices/system/cpu').glob('cpu*/topology/physical_package_id')}
    assert {row['socket'] for row in rows(report)} == {max(s, 0) for s in sockets}


def test_each_cgroup_has_a_row(cgroup):
    inner = [cgroup / name for name in 'ab']
    for group in inner:
        group.mkdir()
    try:
        line = f'echo $$ >{inner[1]}/cgroup.procs; exec {workload("faults1000")}'
        report, = stat('-e', 'page-faults', '--cgroups', f'{cgroup.name}/*', '--', 'sh', '-c', line)
        found = {row['cgroup']: row['value'] for row in rows(report)}
        assert found[f'{cgroup.name}/a'] == 0
        assert 1000 <= found[f'{cgroup.name}/b'] < 1300
    finally:
        for group in inner:
            hierarchy.remove(group)


def test_intervals_add_up(held, spawn, needs_perf, tmp_path):
    """The counts of a run's intervals add up to perf's count of the whole."""
    ours, theirs = tmp_path / 'ours.json', tmp_path / 'theirs.csv'
    target = held('sh', '-c', f'for i in 1 2 3 4 5 6; do {workload("faults1000")}; sleep 0.2; done')
    attar = spawn(ATTAR, 'stat', '-q', '-o', ours, '-i', '20', '-e', 'page-faults', '-p',
                  target.pid)
    perf = spawn('perf', 'stat', '-x', ';', '-o', theirs, '-e', 'page-faults', '-p', target.pid)
    wait_until(lambda: waits(attar.pid, 1) and waits(perf.pid, 1), 'both watch')
    target.go()
    target.wait(20)  # perf waits until its parent has reaped the process
    assert attar.wait(20) == 0
    perf.wait(20)
    reports = [json.loads(line) for line in ours.read_text().splitlines()]
    values = [rows(report)[0]['value'] for report in reports]
    assert len(values) > 10
    assert values.count(0) >= 3 # while it sleeps
    expected = [line for line in theirs.read_text().splitlines() if ';' in line][0]
    assert sum(values) == int(expected.split(';')[0])


def test_duration_of_whole_intervals_has_no_short_last_interval():
    reports = stat('-e', 'cpu-clock', '-i', '200', '-d', '600ms')
    assert 1 <= len(reports) <= 3  # a busy machine merges intervals
    assert sum(report['interval_ns'] for report in reports) >= 600_000_000


def test_each_interval_has_one_line():
    done = run('stat', '-i', '20', '-d', '200ms', '--line', '-e', 'page-faults,context-switches')
    lines = done.stdout.splitlines()
    assert lines[0].split() == ['time', 'page-faults', 'context-switches']
    shown = [line for line in lines if re.match(r'\d\d:\d\d:\d\d\.\d{6} +[\d,]+ +[\d,]+$', line)]
    assert 2 <= len(shown) <= 12  # a busy machine merges intervals
    assert sum('attar itself' in line for line in lines) == 1


def test_lines_of_an_interval_have_the_same_time():
    """Lines of several CPUs can be joined by their time."""
    reports = stat('-i', '50', '-d', '200ms', '--line', '--per-cpu', '-e', 'page-faults')
    lines = [rows(report) for report in reports if report['sections']]
    assert lines
    for interval in lines:
        assert [row['cpu'] for row in interval] == list(range(os.cpu_count()))
        assert len({row['time'] for row in interval}) == 1


def test_repeat_gives_mean_and_deviation():
    report, = stat('-r', '7', '-e', 'page-faults,task-clock', '--', workload('faults1000'))
    faults, clock = rows(report)
    assert 1000 <= faults['value'] < 1300
    assert 0 <= faults['deviation'] < 5
    assert clock['deviation'] > 0
    command, = rows(report, 'command')
    assert command['runs'] == 7
    assert command['elapsed'] >= clock['value'] * 1e6 * 0.5


def test_repeat_covers_all_runs():
    """The report covers the span of all runs; it also has the mean duration of one."""
    report, = stat('-r', '5', '-e', 'page-faults', '--', 'sleep', '0.02')
    command, = rows(report, 'command')
    assert report['interval_ns'] >= 5 * command['elapsed'] >= 5 * 20e6


def test_repeat_computes_the_standard_deviation(tmp_path):
    """1000, 2000, 3000 faults: the mean is 2000, the standard deviation 1000, which is 50%."""
    count = tmp_path / 'count'
    count.write_text('0')
    line = f'n=$(($(cat {count}) + 1000)); echo $n >{count}; exec {workload("faults1000")} $n'
    report, = stat('-r', '3', '-e', 'page-faults', '--', 'sh', '-c', line)
    faults, = rows(report)
    assert 2000 <= faults['value'] < 2600
    assert 35 < faults['deviation'] < 50.5


def test_csv_has_a_row_for_each_event():
    done = run('stat', '--format', 'csv', '-e', 'page-faults', '--', workload('faults1000'))
    table = list(csv.reader(io.StringIO(done.stdout)))
    head = next(row for row in table if 'event' in row)
    row = dict(zip(head, table[table.index(head) + 1]))
    assert 1000 <= int(row['value']) < 1300
    assert row['event'] == 'page-faults'
    assert row['quality'] == 'exact'


def test_exit_status_is_that_of_the_command():
    assert run('stat', '-e', 'page-faults', '--', 'sh', '-c', 'exit 23').returncode == 23


def test_text_table():
    done = run('stat', '-e', 'page-faults', '--', workload('faults1000'))
    assert re.search(r'^value +unit +event +ratio +meaning +counted +quality$', done.stdout, re.M)
    assert re.search(r'^1,\d\d\d +page-faults +[\d,.]+ +per second +100\.00% +exact$', done.stdout,
                     re.M)
    assert re.search(r'^attar itself: ', done.stdout, re.M)
    assert 'samples' not in done.stdout


def test_unsupported_event_does_not_affect_others():
    """The missing event is reported with its reason; the others are counted."""
    done = run('stat', '--format', 'json', '-e', 'page-faults,cpu-clock,node-prefetch-misses', '--',
               'true')
    found = {row['event']: row for row in rows(json.loads(done.stdout))}
    if found['node-prefetch-misses']['quality'] != 'not supported':
        pytest.skip('this machine counts node-prefetch-misses')
    assert found['node-prefetch-misses']['value'] is None
    assert found['page-faults']['quality'] == 'exact'
    assert "'node-prefetch-misses' is not available" in done.stderr


@pytest.mark.parametrize('args, status, sentence', [
    (['-e', 'nonsense', '--', 'true'], 2, "no event 'nonsense'"),
    (['-r', '0', '--', 'true'], 2, '-r: 0 is not between 1 and 1000000'),
    (['-r', '3'], 2, '--repeat needs a command: -- COMMAND'),
    (['-r', '3', '-i', '100', '--', 'true'], 2,
     '--repeat conflicts with --interval and --duration'),
    (['--line', '--', 'true'], 2, 'add --interval'),
    (['--per-cpu', '--per-socket', '-d', '1s'], 2, 'are mutually exclusive'),
    (['--per-thread', '-r', '2', '--', 'true'], 2, '--per-thread conflicts with --repeat'),
    (['-m', '8', '--', 'true'], 2, "no such option -m: 'attar stat -h all' lists them"),
    (['-e', 'page-faults', '--', '/nonexistent'], 1,
     "cannot run '/nonexistent': no such file"),
    (['-p', '4194304'], 1, 'no such process: 4194304'),
])
def test_wrong_arguments_are_refused(args, status, sentence):
    done = run('stat', *args)
    assert sentence in done.stderr
    assert done.returncode == status


def test_users_count_only_user_code(open_dir, sysctl):
    """Events in the kernel are not reported as 0 if they are not visible."""
    sysctl('kernel.perf_event_paranoid', 2)
    where = open_dir('faults1000')
    done = as_nobody(where / 'attar', 'stat', '--format', 'json', '-e',
                     'page-faults,context-switches',
                     '--', where / 'faults1000')
    faults, switches = rows(json.loads(done.stdout))
    assert faults['event'] == 'page-faults:u'
    assert 1000 <= faults['value'] < 1300
    assert switches['value'] is None
    assert switches['quality'] == 'not permitted'
    assert done.stderr.count('only user code is monitored') == 1
    assert done.returncode == 0


def test_whole_system_needs_privilege(open_dir, sysctl):
    sysctl('kernel.perf_event_paranoid', 2)
    done = as_nobody(open_dir() / 'attar', 'stat', '-C', '0', '-d', '1s')
    assert 'kernel.perf_event_paranoid is 2' in done.stderr
    # if that user has other processes, attar watches only those and succeeds
    assert done.returncode == (0 if 'watching only your own processes' in done.stderr else 3)


@pytest.mark.parametrize('words, keys', [
    ([], set()), (['--perins', '--all-cpus'], {'cpu'}), (['--perins'], {'comm', 'tid'})])
def test_sums_of_periods(words, keys):
    """
    Each table has the sums of the lines since the previous table, the last one also of an
    incomplete interval; all lines together have the calls of the command.
    """
    event, lines, total = 'syscalls:sys_enter_getppid', {}, 0
    found = stat('-e', event, '--period', '20ms', '-i', '100ms', *words, '--', 'sh', '-c',
                 f'{workload("flood")} 3000; sleep 0.15; {workload("flood")} 2000; sleep 0.03')
    tables = 0
    for report in found[:-1]:  # the heading is that of the sums
        if [s for s in report['sections'] if s['name'] == 'sums']:
            assert 80 * 10**6 <= report['interval_ns'] < 200 * 10**6
    for report in found:
        for row in rows(report):
            key = tuple(row[k] for k in sorted(keys))
            lines[key] = lines.get(key, 0) + row[event]
        if [s for s in report['sections'] if s['name'] == 'sums']:
            tables += 1
            sums = {tuple(r[k] for k in sorted(keys)): r[event] for r in rows(report, 'sums')}
            assert {k: v for k, v in sums.items() if v} == {k: v for k, v in lines.items() if v}
            total, lines = total + sum(sums.values()), {}
            assert sums or keys
    assert set(rows(found[0])[0]) == {'time', event} | keys
    assert tables >= 2 and not lines
    assert total >= 5001 if '--all-cpus' in words else total == 5001  # one is of sh


@pytest.mark.quick
def test_period_longer_than_the_interval():
    done = run('stat', '-e', 'cpu-clock', '--period', '2s', '-i', '1s')
    assert done.returncode == 2 and '--period exceeds --interval' in done.stderr
