# SPDX-License-Identifier: MIT
"""Targets: processes and threads that start, exit, or do not exist."""
import contextlib
import json
import os
import re
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

import hierarchy
from command import (ATTAR, ENOUGH, NOBODY, Profile, as_nobody, comm_of, cpu_seconds, is_sampling,
                     is_waiting, profile, run, share_is, wait_until, workload)
from scripts import rows, wait_until_running


def busy(spawn, name, *args, through=()):
    """A workload after its exec, and after that of the command which starts it."""
    process = spawn(*through, workload(name), *args)
    wait_until(lambda: comm_of(process.pid) == name, f'{name} runs')
    return process


def threads_of(process):
    """Return the thread IDs of its two busy threads by name."""
    found = {}

    def look():
        tasks = Path(f'/proc/{process.pid}/task').iterdir()
        found.update({(task / 'comm').read_text().strip(): task.name for task in tasks})
        return {'one', 'three'} <= set(found)
    wait_until(look, 'both threads have their names')
    return found


def test_process_is_watched(spawn):
    process = busy(spawn, 'split7030', 1000000)
    other = busy(spawn, 'chain5', 1000000)
    found = profile('--exclude-kernel', '-p', process.pid, *ENOUGH)
    share_is(found.own('heavy'), found.samples, 0.7, slack=0.01)
    assert not found.pick('five') and other.poll() is None


def test_two_processes_are_watched(spawn):
    pids = [busy(spawn, name, 1000000).pid for name in ('split7030', 'chain5')]
    found = profile('--exclude-kernel', '-p', ','.join(map(str, pids)), *ENOUGH)
    assert {f['comm'] for f in found.functions if f['samples']} == {'split7030', 'chain5'}


@pytest.mark.parametrize('option', ['-p', '-t', '--pids', '--tids'])
def test_repeated_target_options_accumulate(option, spawn):
    """An option that takes a list extends it each time it is given."""
    pids = [busy(spawn, name, 1000000).pid for name in ('split7030', 'chain5')]
    done = run('stat', '-q', '--format', 'json', '--per-thread', '-e', 'task-clock', '-d', '50ms',
               *(word for pid in pids for word in (option, pid)))
    section, = json.loads(done.stdout)['sections']
    tid = [column['name'] for column in section['columns']].index('tid')
    assert {row[tid] for row in section['rows']} == set(pids)


def test_repeated_cpu_options_accumulate():
    cpus = sorted(os.sched_getaffinity(0))
    done = run('stat', '-q', '--format', 'json', '--per-cpu', '-e', 'cpu-clock', '-d', '50ms',
               *(word for cpu in cpus for word in ('-C', cpu)))
    section, = json.loads(done.stdout)['sections']
    assert [row[0] for row in section['rows']] == cpus


def test_only_one_event_is_sampled():
    done = run('profile', '-e', 'page-faults', '-e', 'cpu-clock', '-d', '50ms')
    assert done.returncode == 2
    assert "'page-faults,cpu-clock' matches 2 events: exactly one can be sampled" in done.stderr


def test_all_threads_of_a_running_process_are_watched(spawn):
    process = busy(spawn, 'threads2', 1000000)
    found = profile('--exclude-kernel', '-p', process.pid, *ENOUGH)
    assert found.own('spin', comm='three') > 20 and found.own('spin', comm='one') > 20


def test_only_the_given_thread_is_watched(spawn):
    process = busy(spawn, 'threads2', 1000000)
    found = profile('--exclude-kernel', '-t', threads_of(process)['three'], *ENOUGH)
    assert {f['comm'] for f in found.functions if f['samples']} == {'three'}


def test_later_children_are_watched(spawn):
    """-p follows processes and threads that start after attar attached."""
    process = busy(spawn, 'forkstorm', 'fork', 100000)
    found = profile('--exclude-kernel', '-p', process.pid, *ENOUGH)
    share_is(found.own('brief_fork', comm='storm-fork'), found.own(comm='storm-fork'), 1,
             slack=0.05)
    assert found.own(comm='storm-fork') > 100


FORKS = """
import os, sys, time
def spin():
    pid = os.fork()
    if not pid:
        while not sys.argv[1:] or time.process_time() < 0.1: sum(range(50000))
        os._exit(0)
    return pid
print(spin(), flush=True)
sys.stdin.readline()
sys.argv.append('end')
print(later := spin(), flush=True)
os.waitpid(later, 0)
"""


@pytest.mark.parametrize('option', [[], ['--no-children']])
@pytest.mark.parametrize('profiler, table', [
    (['oncpu'], 'threads'), (['wall'], 'threads'), (['overview'], 'processes'),
    (['top', '-e', 'sched:sched_stat_runtime', '-k', '_tid'], 'top')])
def test_earlier_and_later_children_are_watched(profiler, table, option, spawn, root):
    """By profilers that select tasks from the events of the whole system, too."""
    process = spawn(sys.executable, '-c', FORKS, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                    text=True)
    earlier = int(process.stdout.readline())
    attar = spawn(ATTAR, *profiler, '--format', 'json', '-p', process.pid, '-d', '20s', *option,
                  stdout=subprocess.PIPE, text=True)
    wait_until_running(attar)
    process.stdin.write('\n')
    process.stdin.flush()
    later = int(process.stdout.readline())
    found = json.loads(attar.communicate(timeout=30)[0].splitlines()[-1])
    task = {'processes': 'pid', 'top': '_tid'}.get(table, 'tid')
    children = set() if option else {earlier, later}
    assert {row[task] for row in rows(found, table)} == {process.pid} | children


NESTED = """
import os, signal, sys
def spin():
    while True: pass
sys.stdout.flush()
if not os.fork():
    if not os.fork(): spin()
    signal.pause()
signal.pause()
"""


def test_grandchildren_of_a_recording(spawn, tmp_path, root):
    """A recording of the whole system says who was whose child."""
    process = spawn(sys.executable, '-c', NESTED)
    wait_until(lambda: cpu_seconds_below(process.pid) > 0.05, 'the grandchild runs')
    data = tmp_path / 'x.data'
    assert run('record', '-q', '-a', '-e', 'cpu-clock', '-F', 997, '-o', data, '--', 'sleep',
               '0.3').returncode == 0
    children = below(process.pid)
    lines = run('trace', '--format', 'json', '-e', 'cpu-clock', '--input', data).stdout.splitlines()
    pids = []
    for section in (s for line in lines for s in json.loads(line)['sections']):
        pid = [c['name'] for c in section['columns']].index('tid')
        pids += [row[pid] for row in section['rows']]
    assert len(children) == 2 and sum(pid in children for pid in pids) > 5
    for args, tree in (([], children | {process.pid}), (['--no-children'], {process.pid}),
                       (['--no-inherit'], {process.pid})):
        found = json.loads(run('profile', '--format', 'json', '--input', data, '-p', process.pid,
                               *args).stdout)
        assert sum(row['samples'] for row in rows(found, 'functions')) == sum(
            pid in tree for pid in pids)


def test_counts_of_grandchildren(spawn):
    process = spawn(sys.executable, '-c', NESTED)
    wait_until(lambda: cpu_seconds_below(process.pid) > 0.05, 'the grandchild runs')
    for args, tasks in (([], 3), (['--no-children'], 1)):
        done = run('stat', '--per-thread', '--format', 'json', '-e', 'task-clock', '-d', '1s',
                   '-p', process.pid, *args)
        found = rows(json.loads(done.stdout), 'counts')
        assert len(found) == tasks and process.pid in {row['tid'] for row in found}
        done = run('stat', '--format', 'json', '-e', 'task-clock', '-d', '1s', '-p',
                   process.pid, *args)
        total, = rows(json.loads(done.stdout), 'counts')
        assert (total['value'] > 2) is not bool(args)


# The threads of a child call getppid(2) 100 times each, compute for a while, and exit.
CREW = """
import os, sys, threading, time
def work(name):
    with open('/proc/thread-self/comm', 'w') as comm: comm.write(name)
    ready.release()
    go.wait()
    for i in range(100): os.getppid()
    end = time.thread_time() + float(sys.argv[1])
    while time.thread_time() < end: sum(range(5000))
if not os.fork():
    ready, go = threading.Semaphore(0), threading.Event()
    crew = [threading.Thread(target=work, args=(f'crew{i}',)) for i in range(4)]
    for thread in crew:
        thread.start()
        ready.acquire()
    print(os.getpid(), *(thread.native_id for thread in crew), flush=True)
    sys.stdin.readline()
    go.set()
    for thread in crew: thread.join()
    os._exit(0)
os.wait()
"""


def crew_watched(spawn, seconds, option, *args):
    """The report of attar on the parent, the child or its threads, which exit meanwhile."""
    process = spawn(sys.executable, '-c', CREW, str(seconds), stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE, text=True)
    child, *threads = process.stdout.readline().split()
    ids = {'parent': ['-p', process.pid], 'child': ['-p', child],
           'threads': ['-t', ','.join(threads)]}[option]
    attar = spawn(ATTAR, *args, '--format', 'json', '-d', '60s', *ids, stdout=subprocess.PIPE,
                  text=True)
    wait_until(lambda: is_waiting(attar), 'it watches')
    process.stdin.write('go\n')
    process.stdin.flush()
    return json.loads(attar.communicate(timeout=30)[0].splitlines()[-1])


@pytest.mark.parametrize('option', ['parent', 'child', 'threads'])
@pytest.mark.parametrize('profiler, calls', [
    (['top'], 'syscalls:sys_enter_getppid'), (['stat', '--per-thread'], 'value'),
    (['sql', '--query', 'SELECT comm, count(*) AS n FROM sys_enter_getppid GROUP BY comm'], 'n')])
def test_names_of_threads_that_exit(profiler, calls, option, spawn, root):
    """Those that existed before, also if they exit before their first event is read."""
    found = crew_watched(spawn, 0, option, *profiler, '-e', 'syscalls:sys_enter_getppid')
    calls_of = {row['comm']: row[calls] for section in found['sections']
                for row in rows(found, section['name'])}
    assert {name: n for name, n in calls_of.items() if n} == {f'crew{i}': 100 for i in range(4)}
    assert not any(name.startswith('[') for name in calls_of)


@pytest.mark.parametrize('option', ['parent', 'child', 'threads'])
def test_functions_of_threads_that_exit(option, spawn):
    found = crew_watched(spawn, 0.012, option, 'profile', '-g', '-F', 997, '--exclude-kernel')
    samples = Counter()
    for row in rows(found, 'functions'):
        samples[row['dso'].startswith('[')] += row['samples']
    assert samples[False] > 20 and samples[True] < 0.1 * samples[False], found


# A child of the child exits at once.
HEIRS = """
import os, sys
if not os.fork():
    with open('/proc/self/comm', 'w') as comm: comm.write('heir')
    print('ready', flush=True)
    sys.stdin.readline()
    for i in range(5):
        if not os.fork():
            for i in range(100): os.getppid()
            os._exit(0)
    for i in range(5): os.wait()
    os._exit(0)
os.wait()
"""


def test_names_inherited_from_an_earlier_child(spawn, root):
    process = spawn(sys.executable, '-c', HEIRS, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                    text=True)
    process.stdout.readline()
    attar = spawn(ATTAR, 'stat', '--per-thread', '--format', 'json', '-d', '60s', '-e',
                  'syscalls:sys_enter_getppid', '-p', process.pid, stdout=subprocess.PIPE,
                  text=True)
    wait_until(lambda: is_waiting(attar), 'it watches')
    process.stdin.write('go\n')
    process.stdin.flush()
    found = json.loads(attar.communicate(timeout=30)[0].splitlines()[-1])
    names = [row['comm'] for row in rows(found, 'counts') if row['tid'] != process.pid]
    assert names == ['heir'] * 6


def below(pid):
    children = Path(f'/proc/{pid}/task/{pid}/children').read_text().split()
    return {int(child) for child in children}.union(*map(below, children))


def cpu_seconds_below(pid):
    return sum(map(cpu_seconds, below(pid)))


# Each of 8 children starts others, one after the other, which call getppid(2) 50 times.
BREEDING = """
import os, sys
def breed():
    while True:
        pid = os.fork()
        if not pid:
            for i in range(50): os.getppid()
            os._exit(0)
        os.waitpid(pid, 0)
for i in range(8):
    if not os.fork(): breed()
print('ready', flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize('profiler', [
    ['sql', '--query', 'SELECT pid, count(*) AS calls FROM sys_enter_getppid GROUP BY pid', '-e',
     'syscalls:sys_enter_getppid'],
    ['top', '-e', 'syscalls:sys_enter_getppid', '-k', '_tid']])
def test_children_that_fork_meanwhile(profiler, spawn, root):
    """No child of a child has its calls counted twice, and few have calls that are missing."""
    process = spawn(sys.executable, '-c', BREEDING, stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE, text=True)
    process.stdout.readline()
    for _ in range(3):
        done = run(*profiler, '--format', 'json', '-p', process.pid, '-m', 1024, '-d', '300ms',
                   '--rows', 100000)
        report = json.loads(done.stdout.splitlines()[-1])
        assert report['notes']['lost'] == 0
        names = [c['name'] for c in report['sections'][0]['columns']]
        column = names.index('calls' if 'calls' in names else 'syscalls:sys_enter_getppid')
        calls = [row[column] for row in report['sections'][0]['rows']]
        assert max(calls) == 50 and len(calls) > 4
        # Those that run at the start and at the end of the watch, and of the scan.
        assert sum(n < 50 for n in calls) <= 3 * 8
    process.stdin.close()


def test_one_of_several_processes_has_ended(spawn):
    """It is a remark, as its list may come from pgrep."""
    process = busy(spawn, 'split7030', 1000000)
    ended = subprocess.Popen(['true'])
    ended.wait()
    for option, what in (('-p', 'process'), ('-t', 'thread')):
        for profiler in (['profile'], ['task-state']):
            done = run(*profiler, '--format', 'json', '-d', '100ms', option,
                       f'{process.pid},{ended.pid}')
            assert done.returncode == 0, done.stderr
            remarks = json.loads(done.stdout.splitlines()[-1])['remarks']
            name = {'-p': '--pids', '-t': '--tids'}[option]
            assert f'{name}: no such {what}: {ended.pid}' in remarks


MIXED = f"""
import os
if not os.fork():
    while True: pass
os.setgroups([]); os.setresgid({NOBODY}, {NOBODY}, {NOBODY})
os.setresuid({NOBODY}, {NOBODY}, {NOBODY})
os.execvp('sleep', ['sleep', '1000'])
"""


def test_child_of_another_user(spawn, root):
    """It is left out, with a remark: this user may not trace it, but its parent."""
    process = spawn(sys.executable, '-c', MIXED)
    wait_until(lambda: comm_of(process.pid) == 'sleep', 'its user has changed')
    done = as_nobody(ATTAR, 'stat', '--format', 'json', '-e', 'task-clock:u', '-d', '50ms', '-p',
                     process.pid)
    assert done.returncode == 0, done.stderr
    assert ('--pids: 1 thread of child processes is not watched: this user may not trace it'
            in json.loads(done.stdout.splitlines()[-1])['remarks'])


def test_later_threads_are_watched(spawn):
    """Four threads that run when attar attaches are few of all: they can lack their names."""
    process = busy(spawn, 'threadstorm', 1000000, 4)
    found = profile('--exclude-kernel', '-p', process.pid, '-N', 1500, '-d', '60s')
    share_is(found.own('brief', comm='storm'), found.samples, 1, slack=0.05)
    assert found.samples > 100


def test_only_the_given_cpu_is_watched(spawn):
    """Only what ran on that CPU."""
    if os.cpu_count() < 2:
        pytest.skip('needs two CPUs')
    on = [busy(spawn, name, 1000000, through=('taskset', '-c', cpu)) for cpu,
          name in ((0, 'split7030'), (1, 'chain5'))]
    found = profile('--exclude-kernel', '-C', 0, *ENOUGH)
    assert found.own('heavy') > 5 and not found.own('five')
    assert all(p.poll() is None for p in on)


def test_command_given_with_pid_sets_the_duration(spawn):
    """
    `-p PID -- sleep 1`: the process is watched, the command is not; the run ends with the command.
    """
    process = busy(spawn, 'split7030', 1000000)
    start = time.monotonic()
    found = profile('--exclude-kernel', '-p', process.pid,
                    command=['sh', '-c', f'{workload("chain5")} 600; exit 7'],
                    status=7, timeout=30)
    share_is(found.own('heavy'), found.samples, 0.7, slack=0.01)
    assert {f['comm'] for f in found.functions} == {'split7030'} and time.monotonic() - start < 20


def test_command_given_with_tid_sets_the_duration(spawn):
    process = busy(spawn, 'threads2', 1000000)
    found = profile('--exclude-kernel', '-t', threads_of(process)['three'],
                    command=[workload('chain5'), 600])
    assert {f['comm'] for f in found.functions} == {'three'} and found.samples > 50


@pytest.mark.usefixtures('root')
@pytest.mark.parametrize('option', ['-p', '-t'])
@pytest.mark.parametrize('profiler', [
    'oncpu', 'task-state --perins', 'rundelay --perins', 'wall', 'exitsnoop', 'syscount',
    'syscount --in-kernel no'])
def test_command_given_with_a_target_is_not_shown(profiler, option, spawn):
    """`flood`, which takes no part in it, calls getppid."""
    process = spawn('/bin/sleep', '100')
    wait_until(lambda: comm_of(process.pid) == 'sleep', 'it sleeps')
    done = run(*profiler.split(), '--format', 'json', option, process.pid, '--',
               workload('flood'), 1000)
    reports = [json.loads(line) for line in done.stdout.splitlines()]
    cells = {cell for report in reports for section in report['sections']
             for row in section['rows'] for cell in row if isinstance(cell, str)}
    assert not {'flood', 'getppid'} & cells


def test_run_ends_with_its_last_process(spawn):
    """The run ends with its last process."""
    process = busy(spawn, 'split7030', 1000000)
    attar = spawn(ATTAR, 'profile', '-q', '-p', process.pid)
    wait_until(lambda: is_sampling(attar), 'it samples')
    process.kill()
    assert attar.wait(20) == 0


def test_target_may_exit_during_open(spawn):
    """Two hundred times: a report or a message, never a crash."""
    for i in range(200):
        process = subprocess.Popen(['sleep', '0.004'])
        done = run('profile', '-q', '-d', '20ms', '-p', process.pid, timeout=10)
        process.wait()
        assert done.returncode in (0, 1), (i, done.returncode, done.stderr)
        if done.returncode:
            assert re.search(rf'(process|process or thread) {process.pid}', done.stderr), \
                done.stderr


def test_missing_target_is_reported(spawn):
    process = busy(spawn, 'split7030', 1000000)
    done = run('profile', '-d', '200ms', '-p', f'{process.pid},999999999')
    assert done.returncode in (1, 2) and '999999999' in done.stderr


# ---- control groups, v1 and v2 ----

def test_only_the_given_cgroup_is_watched(cgroup, spawn):
    inside = busy(spawn, 'split7030', 1000000,
                  through=('sh', '-c', f'echo $$ >{cgroup}/cgroup.procs; exec "$@"', 'sh'))
    outside = busy(spawn, 'chain5', 1000000)
    found = profile('--exclude-kernel', '--cgroups', cgroup.name, *ENOUGH)
    share_is(found.own('heavy'), found.samples, 0.7, slack=0.01)
    assert not found.pick('five') and outside.poll() is None
    inside.kill()
    inside.wait()


def test_process_that_enters_a_cgroup_has_its_name_and_code(cgroup):
    """It was created, named and has mapped its code before, outside the group."""
    enter = f"""
import os
with open('{cgroup}/cgroup.procs', 'w') as procs:
    procs.write(str(os.getpid()))
for _ in range(100):
    os.getppid()
"""
    done = run('trace', '-g', '-e', 'syscalls:sys_enter_getppid', '--cgroups', cgroup.name,
               '--', '/usr/bin/python3', '-c', enter)
    lines = [line.split() for line in done.stdout.splitlines()]
    events = [line for line in lines if 'syscalls:sys_enter_getppid' in line]
    assert [line[1] for line in events] == ['python3'] * 100
    assert sum(line[1].startswith('getppid+') for line in lines if len(line) > 1) == 100


def test_run_survives_the_removal_of_its_cgroup(cgroup, spawn):
    process = spawn(ATTAR, 'profile', '-q', '--cgroups', cgroup.name, '-d', '1500ms',
                    stderr=subprocess.PIPE, text=True)
    wait_until(lambda: is_sampling(process), 'it samples')
    cgroup.rmdir()
    _, errors = process.communicate(timeout=10)
    assert process.returncode == 0, errors


def has_opened(process, count):
    """Whether attar has opened that many events and waits for them."""
    assert process.poll() is None, f'attar has ended with status {process.returncode}'
    found = 0
    for fd in Path(f'/proc/{process.pid}/fd').iterdir():
        with contextlib.suppress(FileNotFoundError):
            found += 'perf_event' in os.readlink(fd)
    return found >= count


@pytest.mark.parametrize('command', [
    ['profile'], ['trace', '-e', 'page-faults'], ['stat', '-e', 'page-faults'], ['task-state'],
], ids=['profile', 'trace', 'stat', 'task-state'])
def test_run_ends_when_all_cgroups_are_removed(command, cgroup, spawn, request):
    """No task can be in them any more: the run ends, as with the last watched process."""
    inner = [cgroup / name for name in 'ab']
    for group in inner:
        group.mkdir()
        request.addfinalizer(lambda group=group: hierarchy.remove(group))
    attar = spawn(ATTAR, *command, '--cgroups', f'{cgroup.name}/a', '--cgroups', f'{cgroup.name}/b',
                  stderr=subprocess.PIPE, text=True)
    wait_until(lambda: has_opened(attar, 2 * os.cpu_count()), 'it watches both')
    inner[0].rmdir()
    said = iter(attar.stderr.readline, '')
    assert any(f"control group '{cgroup.name}/a' was removed and is no longer monitored" in line
               for line in said)
    assert attar.poll() is None
    inner[1].rmdir()
    assert any(f"control group '{cgroup.name}/b' was removed" in line for line in said)
    assert attar.wait(20) == 0


@pytest.mark.parametrize('event', ['page-faults', 'sched:sched_switch'])
def test_group_outside_the_v1_hierarchy(root, tmp_path, event):
    """v2 groups have no events while a v1 hierarchy, which is not visible here, has perf_event."""
    with hierarchy.alone():
        found = hierarchy.hierarchies()
        if 'v2' not in found or 'v1' in found:
            pytest.skip('needs a v2 hierarchy, and none of v1 with perf_event')
        group = found['v2'] / f'attar-{os.getpid()}'
        group.mkdir()
        try:
            with hierarchy.v1_hierarchy(tmp_path):
                words = f'umount {tmp_path} && exec {ATTAR} stat -e {event} -d 100ms ' \
                        f'--cgroups {group.name}'
                done = run('-m', 'sh', '-c', words, program='unshare')
        finally:
            hierarchy.remove(group)
    assert done.returncode == 4, done.stderr
    assert done.stderr.startswith(
        f"attar: '{event}' cannot be monitored in this control group: the perf_event controller is "
        'bound to a v1 hierarchy that does not contain the group')


# ---- PIDs and namespaces ----

def test_reused_pid_has_two_programs(root, tmp_path):
    """Two programs that use the same PID in turn keep their own names and functions."""
    last = Path('/proc/sys/kernel/ns_last_pid')
    if not last.exists():
        pytest.skip('this kernel has no ns_last_pid (CONFIG_CHECKPOINT_RESTORE)')
    script = tmp_path / 'twice.py'
    script.write_text(f'''
import os
def start(argv, at=None):
    for _ in range(1000):
        if at:
            open({str(last)!r}, 'w').write(str(at - 1))
        pid = os.fork()
        if not pid:
            if at and os.getpid() != at:
                os._exit(9)
            os.execv(argv[0], argv)
        if at and pid != at:
            os.waitpid(pid, 0)
            continue
        os.waitpid(pid, 0)
        return pid
    raise SystemExit(9)
pid = start([{workload("twin_a")!r}, '1500'])
assert start([{workload("twin_b")!r}, '1500'], pid) == pid
''')
    found = profile('--exclude-kernel', command=['/usr/bin/python3', script])
    a, b = found.own('twin', comm='twin_a', dso='twin_a'), found.own('twin', comm='twin_b',
                                                                     dso='twin_b')
    share_is(a, a + b, 0.5, slack=0.02)
    assert a + b == found.own('twin')


def test_attar_inside_a_pid_namespace(root):
    """attar in a PID namespace, watching processes of it."""
    script = (f'mount -t proc proc /proc; {workload("split7030")} 100000 & '
              f'{ATTAR} profile -q -F 997 --exclude-kernel -p $! {" ".join(map(str, ENOUGH))} '
              '--format json; status=$?; '
              'kill $!; exit $status')
    done = run('-mpf', 'sh', '-c', script, program='unshare')
    assert done.returncode == 0, done.stderr
    found = Profile(done.stdout)
    share_is(found.own('heavy'), found.samples, 0.7, slack=0.02)


def test_system_wide_from_inside_a_pid_namespace(root, spawn):
    """Processes outside have no PID there: attar does not crash, and they are counted."""
    busy(spawn, 'split7030', 1000000)
    done = run('-mpf', 'sh', '-c',
               f'mount -t proc proc /proc; {ATTAR} profile -q -d 500ms --format json',
               program='unshare')
    assert done.returncode == 0, done.stderr
    assert Profile(done.stdout).samples > 20


def test_process_with_60000_mappings(tmp_path, spawn, root):
    """A process whose maps file is larger than any buffer."""
    script = tmp_path / 'maps.py'
    script.write_text('''
import ctypes, time
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int,
                      ctypes.c_long]
for i in range(60000):
    if libc.mmap(None, 4096, 1 + 4 * (i % 2), 0x22, -1, 0) in (None, 2 ** 64 - 1):
        break
print('ready', flush=True)
while True:
    sum(range(1000))
''')
    process = spawn('/usr/bin/python3', script, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == 'ready\n'
    found = profile('--exclude-kernel', '-p', process.pid, *ENOUGH)
    assert found.samples > 100 and found.notes['self_cpu'] < 0.9
    assert found.own(dso=re.compile('.*python3.*|.*libpython.*')) > 0.9 * found.samples


def test_own_processes_are_found_with_hidepid(root, open_dir):
    """/proc with hidepid=2, as a user: own processes are still found."""
    folder = open_dir('split7030')
    script = (
        'mount -t proc -o hidepid=2 proc /proc && exec setpriv --reuid=65534 --regid=65534 '
        '--clear-groups '
        f'--inh-caps=-all --bounding-set=-all sh -c "{folder}/split7030 2000 & '
        f'exec {folder}/attar profile -q -F 997 {" ".join(map(str, ENOUGH))} --format json"')
    done = run('-m', 'sh', '-c', script, program='unshare')
    assert done.returncode == 0, done.stderr
    found = Profile(done.stdout)
    share_is(found.own('heavy'), found.samples, 0.7, slack=0.02)


OF_TASKS = ['task-state', 'wall', 'offcpu', 'oncpu', 'rundelay', 'sched-migrate']


@pytest.mark.usefixtures('root')
@pytest.mark.parametrize('profiler', OF_TASKS)
def test_profilers_of_tasks_end_with_them(spawn, profiler):
    """Their events are those of the whole system, which goes on."""
    process = spawn(workload('sleeps'), 100000, 20)
    attar = spawn(ATTAR, profiler, '-q', '-d', '1000s', '-p', process.pid,
                  stdout=subprocess.DEVNULL)
    wait_until(lambda: is_sampling(attar), 'events are open')
    process.kill()
    assert attar.wait(60) == 0


@pytest.mark.usefixtures('root')
@pytest.mark.parametrize('profiler', [
    ['hrcount', '-e', 'raw_syscalls:sys_enter'], ['runqlen'], ['cpu-util'], ['percpu-stat']])
def test_profilers_of_cpus_say_that_they_show_more_than_the_command(profiler):
    def remarks(*args):
        done = run(*profiler, '-q', '--format', 'json', *args)
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout.splitlines()[-1]).get('remarks', [])
        return [r for r in found if 'watches CPUs' in r]

    assert remarks('--', 'true') == [
        f'{profiler[0]} watches CPUs: it shows the whole system while the command runs, not only '
        'the command']
    assert remarks('-a', '--', 'true') == remarks('-C', '0', '--', 'true') == []
    assert remarks('-d', '20ms') == []


@pytest.mark.usefixtures('root')
def test_intervals_say_once_that_they_show_more_than_the_command():
    done = run('hrcount', '-q', '-e', 'raw_syscalls:sys_enter', '-i', '100ms', '--format', 'json',
               '--', 'sleep', '0.5')
    assert done.returncode == 0, done.stderr
    found = [any('watches CPUs' in remark for remark in json.loads(line).get('remarks', []))
             for line in done.stdout.splitlines()]
    assert len(found) > 1 and found == [True] + [False] * (len(found) - 1)


@pytest.mark.usefixtures('root')
@pytest.mark.parametrize('profiler, selects_tasks', [
    (['stat', '-e', 'page-faults'], False), (['syscalls'], False), (['oncpu'], True),
    (['runqlat'], True)])
def test_cpus_and_a_command(profiler, selects_tasks):
    """Only profilers that follow tasks show the command alone."""
    def says_so(*args):
        done = run(*profiler, '-q', '--format', 'json', *args, '--', 'true')
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout.splitlines()[-1]).get('remarks', [])
        return any(r.startswith('--cpus: all tasks on these CPUs were watched') for r in found)

    assert says_so('-C', '0') is not selects_tasks
    assert not says_so('-a', '-C', '0') and not says_so()


@pytest.mark.usefixtures('root')
@pytest.mark.parametrize('option, what', [('-p', 'process'), ('-t', 'thread')])
def test_selected_task_must_exist(option, what):
    ended = run('task-state', option, 3999999, '-d', '10s')
    assert ended.returncode == 1
    assert f'no such {what}: 3999999' in ended.stderr


@pytest.mark.usefixtures('root')
def test_group_of_a_process_that_forks(spawn):
    """
    A child that is created while the group is opened has a part of it: the kernel refused the next
    member, or the sum of the group, in a quarter of the runs.
    """
    process = spawn('/usr/bin/python3', '-I', '-S', '-c', '''
import os, signal, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
while True:
    if os.fork() == 0:
        time.sleep(0.3)
        os._exit(0)
    time.sleep(0.0003)''')
    wait_until(lambda: len(hierarchy_of(process.pid)) > 20, 'it has children')
    events = ['task-clock', 'context-switches', 'page-faults', 'cpu-migrations',
              'sched:sched_switch', 'sched:sched_wakeup']
    for _ in range(20):
        done = run('stat', '-p', process.pid, '-e', '{' + ','.join(events) + '}', '-d', '50ms',
                   '--format', 'json', '-q')
        assert done.returncode == 0, done.stderr
        counts, = [s for s in json.loads(done.stdout)['sections'] if s['name'] == 'counts']
        found = {row['event']: row for row in rows({'sections': [counts]}, 'counts')}
        assert found['page-faults']['value'] > 0 and found['task-clock']['value'] > 0, found


def hierarchy_of(pid):
    """The children of the process."""
    return Path(f'/proc/{pid}/task/{pid}/children').read_text().split()
