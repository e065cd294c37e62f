# SPDX-License-Identifier: MIT
"""--cgroups of profilers that select tasks from the events of the whole system."""
import json
import os
import signal
import subprocess
import sys

import pytest

import hierarchy
from command import ATTAR, run
from scripts import lacks_events, report, report_until, rows, wait_until_running

pytestmark = pytest.mark.usefixtures('root', 'busy_cpus')

NAPS, MS = 3, 20
CPU = str(min(os.sched_getaffinity(0)))
# Lines with the name of a task and its tid. All but "left" and "outside" are members in the end.
TASKS = r"""
import ctypes, os, sys, threading, time
group, outer = sys.argv[1:]

def nap():
    for _ in range(NAPS):
        time.sleep(MS / 1000)

def say(name, tid):
    os.write(1, f'{name} {tid}\n'.encode())

def move(where, file='cgroup.procs'):
    with open(f'{where}/{file}', 'w') as f:
        f.write(str(threading.get_native_id()))

def child(*steps):
    pid = os.fork()
    if not pid:
        for step in steps:
            step()
        os._exit(0)
    os.waitpid(pid, 0)
    return pid

def clone_into(where):
    '''The child, which lives until the end of the test: its group is only in /proc.'''
    fd = os.open(where, os.O_RDONLY)
    args = (ctypes.c_uint64 * 11)(0x200000000, 0, 0, 0, 17, 0, 0, 0, 0, 0, fd)
    pid = ctypes.CDLL(None).syscall(435, args, 88)
    if not pid:
        nap()
        say('cloned', os.getpid())
        say('end', 0)
        os.read(0, 1)
        os._exit(0)

def member():
    move(group + '/below')
    say('member', os.getpid())
    os.read(pipe[0], 1)
    nap()
    say('child', child(nap))
    say('left', child(nap, lambda: move(outer), nap))
    thread = threading.Thread(target=lambda: (say('thread', threading.get_native_id()), nap()))
    thread.start()
    thread.join()
    os._exit(0)

pipe = os.pipe()
inside = os.fork()
if not inside:
    member()
sys.stdin.readline()
os.write(pipe[1], b'g')
os.waitpid(inside, 0)
say('outside', child(nap))
say('entered', child(nap, lambda: move(group), nap))
if os.path.exists(group + '/tasks'):
    def alone():
        nap()
        move(group, 'tasks')
        say('moved_thread', threading.get_native_id())
        nap()
    thread = threading.Thread(target=alone)
    thread.start()
    thread.join()
    say('end', 0)
else:
    clone_into(group)
sys.stdin.readline()
""".replace('NAPS', str(NAPS)).replace('MS', str(MS))


@pytest.fixture(name='below')
def fixture_below(cgroup):
    group = cgroup / 'below'
    group.mkdir()
    yield group
    hierarchy.remove(group)


def tasks_of(process):
    """Return the tids of tasks by name, up to the last line."""
    found = {}
    while 'end' not in found:
        name, tid = process.stdout.readline().split()
        found[name] = int(tid)
    del found['end']
    return found


def measure(spawn, cgroup, *words, program=TASKS, where=''):
    """Run attar while the tasks do what they do; return its report and the tasks."""
    process = spawn('taskset', '-c', CPU, sys.executable, '-c', program,
                    cgroup, cgroup.parent, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        name, tid = process.stdout.readline().split()
        attar = spawn(ATTAR, *words, '--format', 'json', '-m', 1024, '--cgroups',
                      cgroup.name + where, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                      text=True)
        wait_until_running(attar)
        process.stdin.write('\n')
        process.stdin.flush()
        tasks = {name: int(tid), **tasks_of(process), 'outer': process.pid}
        attar.send_signal(signal.SIGINT)
        out, _ = attar.communicate(timeout=30)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()  # until then, its groups cannot be freed
    return json.loads(out.splitlines()[-1]), tasks


MEMBERS = {'member', 'child', 'left', 'thread', 'entered', 'moved_thread', 'cloned'}


@pytest.mark.parametrize('words, table, column', [
    (['task-state', '--perins'], 'task-state', 'tid'), (['oncpu'], 'threads', 'tid'),
    (['wall'], 'threads', 'tid'), (['offcpu'], 'threads', 'tid'),
    (['rundelay', '--perins'], 'pairs', 'pid'), (['blame'], 'blame', 'tid'),
    (['cpudist', '--perins'], 'pairs', 'next_pid'),
    (['multi-trace', '--perins', '-e', 'syscalls:sys_enter_clock_nanosleep',
      '-e', 'syscalls:sys_exit_clock_nanosleep'], 'pairs', 'tid'),
    (['overview'], 'processes', 'pid'),
], ids=lambda words: words[0] if isinstance(words, list) else '')
def test_members_are_selected(words, table, column, below, cgroup, spawn):
    """Those at the start, children and threads, tasks that are moved, and no others."""
    for _ in range(5):  # overview does not watch all of the time
        found, tasks = measure(spawn, cgroup, *words)
        seen = {row[column] for row in rows(found, table)}
        if table != 'processes' or seen >= {tasks[name] for name in tasks
                                            if name in {'member', 'child', 'entered', 'cloned'}}:
            break
    wanted = {name for name in tasks if name in MEMBERS}
    if table == 'processes' and 'moved_thread' in wanted:  # of a process that is no member
        wanted |= {'outer'}
    if table == 'processes':
        wanted -= {'thread', 'moved_thread'}
    names = {tid: name for name, tid in tasks.items()}
    assert below.exists() and len(tasks) == 8
    assert {names.get(tid, tid) for tid in seen} == wanted


def test_time_outside_of_the_group_does_not_count(below, cgroup, spawn):
    """"left" and "entered" sleep three times 20 ms in the group, and as long out of it."""
    for _ in range(5):
        found, tasks = measure(spawn, cgroup, 'task-state', '--perins', '-S')
        slept = {row['tid']: row['total'] for row in rows(found, 'task-state')}
        shares = {name: slept[tasks[name]] / (NAPS * MS * 10**6)
                  for name in ('left', 'entered', 'child')}
        if all(0.7 < share < 1.7 for share in shares.values()) or not lacks_events(found):
            break
    assert below.exists()
    assert all(0.7 < share < 1.7 for share in shares.values()), (shares, found['remarks'])


# The main thread is moved alone from the group a to b; the other one begins to sleep after that,
# and lives until the end of the test: its group is only in /proc.
MAIN_THREAD_ALONE = TASKS[:TASKS.index('pipe = ')] + r"""
a, b = group + '/a', group + '/b'
alone = b + '/tasks' if os.path.exists(b + '/tasks') else b + '/cgroup.threads'
moved = threading.Event()

def stay():
    moved.wait()
    nap()
    say('stays', threading.get_native_id())
    say('end', 0)
    threading.Event().wait()

threading.Thread(target=stay, daemon=True).start()
move(a)
say('main', os.getpid())
sys.stdin.readline()
with open(alone, 'w') as f:
    f.write(str(os.getpid()))
moved.set()
nap()
sys.stdin.readline()
"""


@pytest.fixture(name='threaded')
def fixture_threaded(cgroup):
    """Two groups whose members can be threads of one process."""
    groups = [cgroup / 'a', cgroup / 'b']
    for group in groups:
        group.mkdir()
        if (group / 'cgroup.type').exists():  # v2
            (group / 'cgroup.type').write_text('threaded')
    yield groups
    for group in groups:
        hierarchy.remove(group)


@pytest.mark.parametrize('where, wanted', [('/a', 'stays'), ('/b', 'main')])
def test_main_thread_that_is_moved_alone(threaded, where, wanted, cgroup, spawn):
    """The other thread of its process stays where it is, and sleeps there."""
    for _ in range(5):
        found, tasks = measure(spawn, cgroup, 'task-state', '--perins', '-S',
                               program=MAIN_THREAD_ALONE, where=where)
        slept = {row['tid']: row['total'] for row in rows(found, 'task-state')}
        names = {name for name, tid in tasks.items()
                 if slept.get(tid, 0) > 0.7 * NAPS * MS * 10**6} - {'outer'}
        if names == {wanted} or not lacks_events(found):
            break
    assert len(threaded) == 2 and names == {wanted}, (slept, tasks, found.get('remarks'))


def test_process_that_leaves_has_not_exited(below, cgroup):
    move = f'echo $$ >{below}/cgroup.procs; sh -c "exit 3"; echo $$ >{cgroup.parent}/cgroup.procs'
    found = report('overview', '--cgroups', cgroup.name, '--', 'sh', '-c', move)
    assert found['remarks'][0].startswith('1 of 1 exited processes failed (exit status 3: 1);')


def test_command_only_sets_the_duration(below, cgroup):
    """It is no member before it enters the group, which it does here."""
    enter = f'sleep 0.05; echo $$ >{below}/cgroup.procs; exec sleep 0.05'
    def names(found):
        return [row['comm'] for row in rows(found, 'task-state')]

    found = report_until(lambda found: names(found) == ['sleep'],
                         'task-state', '-S', '--per-comm', '--cgroups', cgroup.name,
                         '--', 'taskset', '-c', CPU, 'sh', '-c', enter)
    assert names(found) == ['sleep']


@pytest.mark.quick
@pytest.mark.parametrize('words, sentence', [
    (['-p', os.getpid()], '--cgroups conflicts with --pids and --tids'),
    (['-a'], '--all-cpus conflicts with --pids, --tids and --cgroups'),
    (['--input', '/dev/null', '-p', 1], '--cgroups conflicts with --pids and --tids'),
])
def test_refusals(words, sentence, cgroup):
    done = run('task-state', '--cgroups', cgroup.name, '-d', '1ms', *words)
    assert done.returncode == 2 and sentence in done.stderr
