# SPDX-License-Identifier: MIT
"""attar record: files that perf and attar read, with every event exactly once."""
import json
import os
import re
import signal
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from command import ATTAR, comm_of, is_sampling, perf, run, wait_until, workload

pytestmark = pytest.mark.usefixtures('root', 'needs_perf')

CALLS = 5000
GETPPID = 'raw_syscalls:sys_enter/id==110/'


def record(path, *args, command=None, status=0):
    done = run('record', '-o', path, *args, *(['--', *map(str, command)] if command else []))
    assert done.returncode == status, done.stderr
    return done


def script(path, fields):
    return perf('script', '--ns', '-i', path, '-F', fields).splitlines()


def flood(path, *args):
    return record(path, '-m', 1024, '-e', GETPPID, *args, command=[workload('flood'), CALLS])


@pytest.mark.parametrize('options', [[], ['-z'], ['-g']], ids=['plain', 'compressed', 'stacks'])
def test_each_event_is_recorded_once(tmp_path, options):
    data = tmp_path / 'x.data'
    done = flood(data, *options)
    assert f'{CALLS:,}  ' in done.stdout
    assert ' 0 lost' in done.stdout
    lines = [line for line in script(data, 'comm,event') if line.strip()]
    assert Counter(line.split()[0] for line in lines) == {'flood': CALLS}
    assert all(line.split()[1] == 'raw_syscalls:sys_enter:' for line in lines)
    found = run('trace', '--format', 'csv', '--input', data, '-e', 'raw_syscalls:sys_enter')
    assert sum(',flood,' in line for line in found.stdout.splitlines()) == CALLS


def test_perf_reads_the_header(tmp_path):
    data = tmp_path / 'x.data'
    flood(data)
    header = perf('report', '--header-only', '-i', data)
    names = os.uname()
    assert f'hostname : {names.nodename}\n' in header
    assert f'os release : {names.release}\n' in header
    assert f'arch : {names.machine}\n' in header
    assert f'nrcpus online : {os.sysconf("SC_NPROCESSORS_ONLN")}\n' in header
    assert re.search(r'cmdline : .*attar record -o ', header)
    assert 'clockid: monotonic (1)' in header
    assert 'raw_syscalls:sys_enter: type: 2' in perf('evlist', '-v', '-i', data)
    notes = subprocess.run(['readelf', '-n', workload('flood')], text=True, stdout=subprocess.PIPE,
                           check=True).stdout
    build_id = re.search(r'Build ID: ([0-9a-f]+)', notes)
    if build_id:
        assert f'{build_id[1]} {workload("flood")}' in perf('buildid-list', '-i', data)


def test_samples_have_the_names_of_functions(tmp_path):
    data = tmp_path / 'x.data'
    record(data, '-F', 997, '-g', command=[workload('split7030')])
    report = perf('report', '--stdio', '--no-children', '-g', 'none', '-F', 'symbol', '-i', data)
    assert re.search(r'\[\.\] heavy', report)
    assert 'heavy' in run('profile', '--input', data).stdout


def test_existing_processes_have_names(tmp_path):
    data = tmp_path / 'x.data'
    record(data, '-a', '-e', 'sched:sched_switch', '-N', 10)
    names = perf('script', '--show-task-events', '-i', data)
    assert f'PERF_RECORD_COMM: {comm_of(os.getpid())}:{os.getpid()}/{os.getpid()}' in names


def test_pipe_to_perf(tmp_path):
    line = (f'{ATTAR} record -o - -m 1024 -e {GETPPID} -- {workload("flood")} {CALLS} '
            f'| perf script -i - -F comm')
    done = subprocess.run(line, shell=True, text=True, capture_output=True, timeout=60, check=True)
    assert Counter(done.stdout.split()) == {'flood': CALLS}, done.stderr


def test_pipe_to_perf_report(tmp_path):
    line = (f'{ATTAR} record -o - -m 1024 -e {GETPPID} -- {workload("flood")} {CALLS} '
            f'| perf report --stdio -n -F sample,comm -i -')
    done = subprocess.run(line, shell=True, text=True, capture_output=True, timeout=60)
    assert done.returncode == 0 and 'failed' not in done.stderr, done.stderr
    assert re.search(rf'^ +{CALLS} +flood', done.stdout, re.M), done.stdout


def sampling(path, *args):
    started = subprocess.Popen([ATTAR, 'record', '-q', '-o', path, *args],
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    wait_until(lambda: is_sampling(started), 'the rings are mapped')
    return started


def test_interrupt_completes_the_file(tmp_path):
    data = tmp_path / 'x.data'
    started = sampling(data, '-a', '-e', 'sched:sched_switch')
    wait_until(lambda: data.exists() and data.stat().st_size > 100000, 'records are written')
    started.send_signal(signal.SIGINT)
    assert started.communicate(timeout=30) == ('', '')
    assert script(data, 'time')
    assert 'hostname' in perf('report', '--header-only', '-i', data)


def test_killed(tmp_path):
    data = tmp_path / 'x.data'
    started = sampling(data, '-a', '-e', 'sched:sched_switch')
    wait_until(lambda: 'prev_comm=' in run('trace', '--input', data, '-e', 'sched:sched_switch',
                                           '-N', 1).stdout, 'an event is in the file')
    started.kill()
    started.wait()
    done = run('trace', '--input', data, '-e', 'sched:sched_switch')
    assert done.returncode == 0, done.stderr
    assert 'prev_comm=' in done.stdout
    assert 'it was not finished: the tool that recorded it was killed or crashed' in (
        done.stdout + done.stderr)


def test_max_size_and_rotation(tmp_path):
    data = tmp_path / 'x.data'
    done = record(data, '-e', 'raw_syscalls:sys_enter', '--max-size', '256K', command=[
        workload('flood'), 200000])
    assert 'reached --max-size' in done.stdout
    assert 256 << 10 <= data.stat().st_size < 16 << 20
    record(data, '-m', 1024, '-e', GETPPID, '--max-size', '256K', '--rotate', 2, command=[
        workload('flood'), 100000])
    assert sorted(p.name for p in tmp_path.iterdir()) == ['x.data', 'x.data.1', 'x.data.2']
    for path in tmp_path.iterdir():
        perf('script', '-i', path, '-F', 'time')


def test_disk_full(tmp_path):
    """The error names the file and the reason; what was written before can be read."""
    tmpfs = tmp_path / 'small'
    tmpfs.mkdir()
    subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', tmpfs], check=True)
    try:
        data = tmpfs / 'x.data'
        done = record(data, '-m', 1024, '-e', GETPPID, command=[workload('flood'), 100000],
                      status=1)
        assert re.search(rf'cannot write {data} after \d+ bytes: No space left on device',
                         done.stderr)
        found = run('trace', '--format', 'csv', '--input', data, '-e', 'raw_syscalls:sys_enter')
        assert found.returncode == 0, found.stderr
        assert sum('NR 110 (' in line for line in found.stdout.splitlines()) > 5000
    finally:
        subprocess.run(['umount', tmpfs], check=True)


@pytest.mark.parametrize('args, status, message', [
    (['-o', '/nowhere/x.data'], 1, 'cannot create /nowhere/x.data: No such file or directory'),
    (['-o', '/tmp'], 1, 'cannot create /tmp: Is a directory'),
    (['-o', '/dev/full'], 1, 'cannot write /dev/full after 0 bytes: No space left on device'),
    (['--rotate', '2'], 2,
     '--rotate begins a new file at a size, and there is none: add --max-size'),
], ids=lambda v: v[-1] if isinstance(v, list) else '')
def test_refused(tmp_path, args, status, message):
    done = run('record', '-e', 'page-faults', '-o', tmp_path / 'x.data', *args, '--', 'true')
    assert done.returncode in (status, 2), done.stderr
    assert message in done.stderr
    assert Path('/dev/full').is_char_device()


def switches(path):
    """Return the switches as (pid, cpu, from, to), in order of time."""
    lines = perf('script', '--ns', '-i', path, '-F', 'pid,cpu,event,trace').splitlines()
    pattern = re.compile(r'^ *(-?\d+) +\[(\d+)\].* prev_pid=(\d+) .* next_pid=(\d+) ')
    return [tuple(map(int, found.groups())) for found in map(pattern.search, lines) if found]


@pytest.fixture(scope='module')
def all_switches(tmp_path_factory):
    """A recording of all CPUs, and the process that made it."""
    data = tmp_path_factory.mktemp('switches') / 'x.data'
    started = sampling(data, '-a', '-m', '1024', '-e', 'sched:sched_switch')
    wait_until(lambda: data.exists() and data.stat().st_size > 100000, 'records are written')
    started.send_signal(signal.SIGINT)
    assert started.communicate(timeout=30) == ('', '')
    assert started.returncode == 0
    return data, started.pid


def test_switches_of_the_recorder_are_recorded(all_switches):
    """A switch to it is followed by the switch from it to another thread, on the same CPU."""
    data, pid = all_switches
    running = {}
    for _, cpu, before, after in switches(data):
        assert running.get(cpu) != pid or before == pid
        running[cpu] = after
    assert pid in [before for _, _, before, _ in switches(data)]


def seen(*args):
    ended = run(*args, '--format', 'json')
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)['notes']['seen']


def test_readers_leave_out_the_recorder(all_switches):
    """As live: top counts no events in attar's threads unless it is told to, oncpu needs them."""
    data, pid = all_switches
    all_of_them = switches(data)
    own = sum(process == pid for process, *_ in all_of_them)
    top = ['top', '--input', data, '-e', 'sched:sched_switch']
    assert own and seen(*top) == len(all_of_them) - own
    assert seen(*top, '-p', pid) == own
    assert seen('oncpu', '--input', data) == len(all_of_them)
