# SPDX-License-Identifier: MIT
"""Findings about one service of the whole system, and about one thread of a pool."""
import contextlib
import os
import pathlib
import re
import shutil
import subprocess

import pytest

from command import run, wait_until, workload
from scripts import of_script, report, rows
from test_overview import EVENTS, MS, found_in

# Thread 50 waits for a lock for 0.9 of its 1 s, while two threads of a build run and others wait
# for a CPU all the time: of the system, the lock is 10 %.
SERVICE = EVENTS + '''\
1.000 0 0/0 swapper ksymbol register 0xffffffffc0000000 64 mutex_lock
1.000 0 1/1 init fork 50/50
1.000 0 1/1 init fork 201/201
1.000 0 1/1 init fork 202/202
1.000 0 1/1 init fork 203/203
1.000 0 1/1 init fork 204/204
1.000 0 1/1 init fork 205/205
1.000 0 1/1 init fork 206/206
1.000 0 1/1 init fork 207/207
1.000 0 0/0 swapper sched:sched_switch next_comm=server next_pid=50
1.000 1 0/0 swapper sched:sched_switch next_comm=cc1 next_pid=201
1.001 1 201/201 cc1 sched:sched_wakeup comm=cc1 pid=203
1.001 1 201/201 cc1 sched:sched_wakeup comm=cc1 pid=204
1.001 1 201/201 cc1 sched:sched_wakeup comm=cc1 pid=205
1.001 1 201/201 cc1 sched:sched_wakeup comm=cc1 pid=206
1.001 1 201/201 cc1 sched:sched_wakeup comm=cc1 pid=207
1.100 0 50/50 server sched:sched_switch stack=0xffffffffc0000010 prev_comm=server prev_pid=50 \
prev_state=2 next_comm=cc1 next_pid=202
1.999 0 202/202 cc1 sched:sched_wakeup comm=server pid=50
2.000 1 201/201 cc1 sched:sched_switch prev_comm=cc1 prev_pid=201 prev_state=1 next_pid=0
'''


def test_a_blocked_service_beside_a_busy_build(tmp_path):
    found = of_script(tmp_path, SERVICE, 'overview')
    times = {r['time spent']: r for r in rows(found, 'time')}
    assert times['lock']['time'] == pytest.approx(899 * MS, abs=MS)
    assert times['lock']['share'] < 20
    finding, = (r for r in rows(found, 'findings') if r['finding'] == 'lock of a service')
    assert finding['values']['value'] == pytest.approx(90, abs=1)
    assert finding['values']['evidence'].startswith(
        'server (pid 50, 1 thread) waits for locks for 90 % of the time')
    names = found_in(found)
    assert names.index('lock of a service') < names.index('CPU, too few samples')
    # the build waits for CPUs, as the finding about the system says
    assert 'run queue' in names and 'run queue of a service' not in names


@pytest.mark.parametrize('change', [('prev_state=2', 'prev_state=1'), ('1.999 0', '1.200 0')],
                         ids=['other', 'short'])
def test_a_service_that_is_not_blocked(tmp_path, change):
    """The wait is no longer one for a lock, or only lasts for a tenth of the time."""
    text = SERVICE.replace(*change)
    if change[0] == 'prev_state=2':
        text = text.replace('mutex_lock', 'do_something')
    found = of_script(tmp_path, text, 'overview')
    assert not [name for name in found_in(found) if name.endswith(' of a service')], found


def test_the_only_service_that_waits_is_named_once(tmp_path):
    """Without the build, the lock is most of the time of the system."""
    text = '\n'.join(line for line in SERVICE.splitlines() if 'sched_wakeup comm=cc1' not in line)
    names = found_in(of_script(tmp_path, text, 'overview'))
    assert 'lock' in names and 'lock of a service' not in names


@contextlib.contextmanager
def unit(name):
    """The list of processes of a control group with this name; it is removed at the end."""
    for parent in 'systemd', 'unified', '':
        folder = pathlib.Path('/sys/fs/cgroup', parent, name)
        with contextlib.suppress(OSError):
            folder.mkdir()
            if (folder / 'cgroup.procs').exists():
                break
            folder.rmdir()
    else:
        pytest.skip('no control groups')
    try:
        yield folder / 'cgroup.procs'
    finally:
        wait_until(lambda: not (folder / 'cgroup.procs').read_text(), 'its processes to end')
        folder.rmdir()


@pytest.mark.exclusive
@pytest.mark.usefixtures('root')
def test_a_live_service_beside_a_busy_system():
    """One of four threads holds a lock; the others wait for it in 15 % of the time of all."""
    name = f'attar-{os.getpid()}.service'
    spin = ['/usr/bin/python3', '-I', '-S', '-c', 'while True: pass']
    busy = [subprocess.Popen(spin) for _ in range(8 * (os.cpu_count() or 1))]
    try:
        with unit(name) as tasks, \
             subprocess.Popen([workload('queues'), '4', '1', '100000'], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE) as program:
            assert program.stdout.readline() == b'ready\n'
            tasks.write_text(str(program.pid))
            for _ in range(5):
                found = report('overview', '-d', '2s', '-m', 4096)
                evidence = [r['values']['evidence'] for r in rows(found, 'findings')
                            if r['finding'] == 'lock of a service']
                if any(text.startswith(f'{name}: queues') for text in evidence):
                    break
            program.stdin.close()
    finally:
        for process in busy:
            process.kill()
            process.wait()
    text, = (text for text in evidence if text.startswith(f'{name}: '))
    assert text.startswith(f'{name}: queues (pid {program.pid}, 4 threads) waits for locks in ')


@pytest.mark.exclusive
@pytest.mark.usefixtures('root')
def test_a_service_of_several_programs(tmp_path):
    """None of five programs has half of the waits for locks; all of them are of one service."""
    name = f'attar-{os.getpid()}.service'
    said = re.compile(rf'{name} \(5 processes, \d+ threads\) waits for locks in ')
    programs = []
    with unit(name) as tasks, contextlib.ExitStack() as stack:
        for i in range(5):
            path = shutil.copy(workload('queues'), tmp_path / f'program{i}')
            programs.append(stack.enter_context(subprocess.Popen(
                [path, '4', '1', '100000'], stdin=subprocess.PIPE, stdout=subprocess.PIPE)))
            assert programs[-1].stdout.readline() == b'ready\n'
            tasks.write_text(str(programs[-1].pid))
        for _ in range(5):
            found = report('overview', '-d', '2s', '-m', 4096)
            evidence = [r['values']['evidence'] for r in rows(found, 'findings')
                        if r['finding'] == 'lock']
            if any(said.match(text) for text in evidence):
                break
        command, = (r['values']['command'] for r in rows(found, 'findings')
                    if r['finding'] == 'lock')
        answer = run(*command.split()[1:], '-m', 4096, '-d', '500ms')
        for program in programs:
            program.stdin.close()
    assert said.match(*evidence), evidence
    assert command == 'attar locks' and 'program' in answer.stdout, answer
    assert 'lock of a service' not in found_in(found), found


def pool(times, main):
    """Threads of a second that run for these times, ms: the first one on a CPU of its own."""
    tids = [100 if main else 101] + [101 + i for i in range(1, len(times))]
    text = EVENTS + ''.join(f'1.000 0 100/100 worker fork 100/{tid}\n' for tid in tids)
    at = [1000, 1000]
    lines = []
    for i, (tid, ms) in enumerate(zip(tids, times)):
        cpu = 0 if i == 0 else 1
        lines.append((at[cpu], f'{cpu} 0/0 swapper sched:sched_switch next_comm=worker '
                               f'next_pid={tid}'))
        at[cpu] += ms
        lines.append((at[cpu], f'{cpu} 100/{tid} worker sched:sched_switch prev_comm=worker '
                               f'prev_pid={tid} prev_state=1 next_pid=0'))
    lines.append((2000, '1 9/9 other page-faults'))
    return text + ''.join(f'{ms // 1000}.{ms % 1000:03} {line}\n'
                          for ms, line in sorted(lines, key=lambda line: line[0]))


def test_one_thread_does_the_work_of_a_pool(tmp_path):
    found = of_script(tmp_path, pool([850] + 7 * [20], False), 'overview', '-p', 100)
    finding, = (r for r in rows(found, 'findings') if r['finding'] == 'uneven threads')
    assert finding['values']['value'] == pytest.approx(100 * 850 / 990)
    assert finding['values']['evidence'].startswith(
        'worker (101) does this share of the work of 8 threads with its name in process 100')


@pytest.mark.parametrize('times, main', [
    (8 * [120], False), ([850] + 7 * [20], True), ([850] + 7 * [0], False),
    ([400] + 7 * [20], False), ([850, 20, 20], False)],
    ids=['even', 'main', 'helpers', 'idle', 'few'])
def test_threads_that_are_no_uneven_pool(tmp_path, times, main):
    found = of_script(tmp_path, pool(times, main), 'overview', '-p', 100)
    assert 'uneven threads' not in found_in(found), found


@pytest.mark.parametrize('name, is_found', [
    ('qemu-system-x86', False), ('qemu-kvm', False), ('VBoxHeadless', False),
    ('qemu-aarch64', True)])
def test_cpus_of_a_virtual_machine(tmp_path, name, is_found):
    """The guest has work for one of them; an emulated program is a program as any other."""
    text = pool([850] + 7 * [20], False).replace('worker', name)
    found = of_script(tmp_path, text, 'overview', '-p', 100)
    assert ('uneven threads' in found_in(found)) == is_found, found


def sleepers(period):
    """A thread that runs for 3 s, and five that look for work for 0.1 ms again and again, ms."""
    text = EVENTS + '1.000 0 0/0 swapper ksymbol register 0xffffffffc0000000 64 do_nanosleep\n'
    text += ''.join(f'1.000 0 100/100 worker fork 100/{tid}\n' for tid in range(101, 107))
    lines = [(1.0, '0 0/0 swapper sched:sched_switch next_comm=worker next_pid=101'),
             (4.0, '0 100/101 worker sched:sched_switch prev_comm=worker prev_pid=101 '
                   'prev_state=1 next_pid=0'), (4.0, '1 9/9 other page-faults')]
    for tid in range(102, 107):
        at = 1 + tid / 1e4
        while at < 4:
            lines.append((at, f'1 0/0 swapper sched:sched_wakeup comm=worker pid={tid}'))
            lines.append((at, '1 0/0 swapper sched:sched_switch next_comm=worker '
                              f'next_pid={tid}'))
            lines.append((at + 0.0001, f'1 100/{tid} worker sched:sched_switch '
                          f'stack=0xffffffffc0000010 prev_comm=worker prev_pid={tid} prev_state=1 '
                          'next_pid=0'))
            at += period / 1e3
    return text + ''.join(f'{at:.6f} {line}\n' for at, line in sorted(lines))


@pytest.mark.parametrize('period, is_found', [(100, True), (1200, False)])
def test_threads_that_look_for_work(tmp_path, period, is_found):
    """Their sleeps hide neither the thread that does all the work nor what it does."""
    found = of_script(tmp_path, sleepers(period), 'overview', '-p', 100)
    assert ('uneven threads' in found_in(found)) == is_found, found
    assert found_in(found)[0] == 'CPU, too few samples'
    if is_found:
        first = rows(found, 'findings')[0]['values']
        assert first['value'] > 99 and 'the share of the time without sleep' in first['evidence']
