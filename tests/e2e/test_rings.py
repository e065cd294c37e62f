# SPDX-License-Identifier: MIT
"""Losses are counted to the last record; reaching a system limit is reported."""
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from command import ATTAR, Profile, comm_of, has, is_sampling, run, wait_until, workload

pytestmark = pytest.mark.usefixtures('root')

CALLS = 300000
COUNT = ['profile', '-e', 'raw_syscalls:sys_enter', '--no-user-callchain', '--no-kernel-callchain',
         '-q']


@pytest.fixture(scope='module')
def produced(tmp_path_factory):
    """Return the number of system calls of the flood, counted by the kernel for perf."""
    if not has('perf'):
        pytest.skip('perf (package linux-perf) is not installed')
    out = tmp_path_factory.mktemp('perf') / 'stat'
    subprocess.run(['perf', 'stat', '-x,', '-o', out, '-e', 'raw_syscalls:sys_enter',
                    workload('flood'), str(CALLS)],
                   check=True, capture_output=True)
    return int(re.search(r'^(\d+),', out.read_text(), re.M)[1])


def test_ring_of_4_mib_loses_nothing(produced, tmp_path):
    out = tmp_path / 'x.json'
    done = run(*COUNT, '-m', 1024, '-o', out, '--', workload('flood'), CALLS)
    assert done.returncode == 0, done.stderr
    notes = Profile(out.read_text()).notes
    assert (notes['seen'], notes['lost']) == (produced, 0)


def overrun(spawn, tmp_path, finish_first):
    """Stop the reader of small rings: return the events that it got and lost."""
    out = tmp_path / 'x.json'
    gate = tmp_path / 'gate'
    os.mkfifo(gate)
    script = f'read line <{gate}; exec {workload("flood")} {CALLS}'
    process = spawn(ATTAR, *COUNT, '-m', 8, '-o', out, '--', 'sh', '-c', script,
                    stderr=subprocess.PIPE, text=True)
    wait_until(lambda: is_sampling(process), 'it samples')
    child = int(Path(f'/proc/{process.pid}/task/{process.pid}/children').read_text())
    wait_until(lambda: comm_of(child) == 'sh', 'the shell runs')
    process.send_signal(signal.SIGSTOP)
    gate.write_text('\n')
    if finish_first:  # its stopped parent cannot reap it yet
        wait_until(lambda: ') Z ' in Path(f'/proc/{child}/stat').read_text(), 'the flood has ended')
    else:
        wait_until(lambda: comm_of(child) == 'flood', 'the flood has begun')
    process.send_signal(signal.SIGCONT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 0, errors
    return Profile(out.read_text()).notes


@pytest.fixture(scope='module')
def produced_by_shell(tmp_path_factory, produced):
    """The same flood in a shell that waits for a line; perf counts both."""
    folder = tmp_path_factory.mktemp('gate')
    gate, out = folder / 'gate', folder / 'stat'
    os.mkfifo(gate)
    script = f'read line <{gate}; exec {workload("flood")} {CALLS}'
    process = subprocess.Popen(['perf', 'stat', '-x,', '-o', out, '-e', 'raw_syscalls:sys_enter',
                                'sh', '-c', script],
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    gate.write_text('\n')
    process.wait(60)
    return int(re.search(r'^(\d+),', out.read_text(), re.M)[1])


@pytest.mark.parametrize('finish_first', [False, True],
                         ids=['reader slow', 'reader stopped to the end'])
def test_seen_and_lost_add_up_to_all_calls(spawn, tmp_path, produced_by_shell, finish_first):
    """
    Exact, also if the last record is lost, so that no later record reports it, and if the record of
    the process' end is lost, which is a side-band record.
    """
    notes = overrun(spawn, tmp_path, finish_first)
    assert notes['seen'] + notes['lost'] == produced_by_shell, notes
    if finish_first:
        assert notes['lost'] > CALLS / 2


def test_calls_of_attar_are_not_watched(spawn, tmp_path):
    """System-wide with each event printed: attar causes no events; a shell that forks does."""
    out = tmp_path / 'each'
    spawn('sh', '-c', 'while :; do sleep 0.01; done')
    with open(out, 'w', encoding='utf-8') as f:
        attar = spawn(ATTAR, 'profile', '-e', 'raw_syscalls:sys_enter', '--print-samples', '-d',
                      '500ms', stdout=f,
                      stderr=subprocess.DEVNULL)
        assert attar.wait(30) == 0
    lines = out.read_text().splitlines()
    assert len(lines) > 10
    assert not [line for line in lines if re.search(rf'\battar +{attar.pid}\b', line)]


@pytest.mark.parametrize('limit', [64, 12])
def test_few_file_descriptors_suffice(limit):
    """One ring per CPU needs few descriptors; files of symbols are opened one at a time."""
    done = run(f'--nofile={limit}:{limit}', ATTAR, 'profile', '-q', '-d', '200ms',
               program='prlimit')
    assert done.returncode == 0, done.stderr
    if os.cpu_count() > 2 and limit < 20:
        pytest.skip('more CPUs than descriptors')


def test_too_few_file_descriptors_are_reported():
    done = run('--nofile=6:6', ATTAR, 'profile', '-d', '200ms', program='prlimit')
    assert done.returncode == 1
    assert re.search(
        r"attar: '[\w-]+' exceeds the limit of 6 open files: .* run ulimit -n \d+, or monitor "
        r"fewer "
        r'CPUs \(-C\) or threads \(-t\)', done.stderr)


def test_rings_larger_than_a_quarter_of_the_memory():
    """Of the machine's memory; the message names the largest size that is possible."""
    most = os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGESIZE') // 4096 // 4 // os.cpu_count()
    if most >= 65536:
        pytest.skip('the largest rings fit into the memory of this machine')
    done = run('trace', '-e', 'page-faults', '-m', 65536, '-d', '100ms')
    assert (done.returncode, done.stdout) == (2, '')
    assert done.stderr == (f'attar: --mmap-pages: {os.cpu_count()} rings of 65536 pages exceed a '
                           f"quarter of this machine's memory: use at most {most} pages\n")


def ring_sizes(pid):
    """The sizes of a process' rings in bytes, without the page that precedes each."""
    mapped = re.findall(r'(?m)^(\w+)-(\w+) .*\[perf_event\]', Path(f'/proc/{pid}/maps').read_text())
    return {int(end, 16) - int(start, 16) - os.sysconf('SC_PAGESIZE') for start, end in mapped}


@pytest.mark.parametrize('options, pages', [
    (('-g',), 128), (('--call-graph', 'dwarf'), 2048), (('--call-graph', 'dwarf', '-m', '64'), 64)],
    ids=['frame pointers', 'copies of stacks', 'as requested'])
def test_rings_are_larger_for_copies_of_stacks(spawn, options, pages):
    process = spawn(ATTAR, 'profile', '-q', '-C', '0', *options, stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL)
    wait_until(lambda: is_sampling(process), 'it samples')
    if os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGESIZE') // 4096 < 4 * 2048:
        pytest.skip('larger rings exceed a quarter of the memory')
    assert ring_sizes(process.pid) == {pages * 4096}


LIMITED = {
    'trace': ('-e', 'page-faults', '-d', '100ms'),
    'profile': ('-e', 'cpu-clock', '-d', '100ms'),
    'stat': ('-e', 'page-faults,context-switches,cpu-migrations', '-d', '100ms'),
    'stat of a command': ('-e', 'page-faults,context-switches', '--', 'true'),
    'stat by thread': ('--per-thread', '-e', 'page-faults,context-switches', '--', 'true'),
    'trace of a command': ('-e', 'page-faults,context-switches', '--', 'true'),
}


@pytest.mark.parametrize('case', LIMITED)
def test_needed_files_are_enough_and_not_many_more(case):
    """
    At each limit that is too low for the events, the message says how many files are needed:
    exactly, if only counters are opened. Otherwise they include some that a run can do without
    (the detection of set-user-ID programs) or that are closed again (while a command starts).
    """
    def limited(limit):
        return run(f'--nofile={limit}:{limit}', ATTAR, case.split()[0], *LIMITED[case],
                   program='prlimit')

    limits = range(7, 1000)
    least = next(limit for limit in limits if limited(limit).returncode == 0)
    advice = re.compile(r'files need up to (\d+) in total: run ulimit -n (\d+)')
    said = [advice.search(limited(limit).stderr) for limit in range(7, least)]
    needed = {int(n) for found in said if found for n in found.groups()}
    more = 0 if case == 'stat' else os.cpu_count() + 3
    assert needed and least <= min(needed) and max(needed) <= least + more


def test_many_threads_need_many_descriptors(spawn):
    """A limit that the threads of a process exceed is reported, not silently halved."""
    import threading
    over = threading.Event()
    threads = [threading.Thread(target=over.wait, daemon=True) for _ in range(100)]
    for t in threads:
        t.start()
    try:
        done = run('--nofile=64:64', ATTAR, 'profile', '-d', '200ms', '-p', os.getpid(),
                   program='prlimit')
    finally:
        over.set()
    assert done.returncode == 1
    assert 'exceeds the limit of 64 open files' in done.stderr


def test_wakeups_are_few():
    """
    Below its watermark a ring wakes no reader: attar sleeps 100 ms, not until the next sample.
    """
    process = subprocess.Popen([ATTAR, 'profile', '-q', '-F', '5000', '-d', '2s', '--',
                                workload('split7030')],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    most = 0
    while process.poll() is None:
        try:
            text = Path(f'/proc/{process.pid}/status').read_text()
        except FileNotFoundError:
            break
        if found := re.search(r'^voluntary_ctxt_switches:\t(\d+)', text, re.M):
            most = max(most, int(found[1]))
        time.sleep(0.05)
    assert 0 < most < 200
