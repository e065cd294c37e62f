# SPDX-License-Identifier: MIT
"""Profilers on recordings: the same events as perf script, and clear errors."""
import json
import os
import re
import signal
import struct
import subprocess
import time
from collections import Counter

import pytest

from command import ATTAR, perf, run, workload
from scripts import rows_of

pytestmark = pytest.mark.usefixtures('root', 'needs_perf')

CALLS = 2000


def record(path, *args, command=('flood', str(CALLS))):
    subprocess.run(['perf', 'record', '-q', '-o', path, *args, '--', workload(command[0]),
                    *command[1:]],
                   check=True, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    return path


def rows(path, *args, profiler='trace', **kwargs):
    """Return the rows of single events in the JSON report."""
    ended = run(profiler, '--format', 'json', '--input', path, *args, **kwargs)
    assert ended.returncode == 0, ended.stderr
    found = []
    for line in ended.stdout.splitlines():
        for section in json.loads(line)['sections']:
            if section['kind'] == 'events':
                found += rows_of(section)
    return found


def notes(path, *args, profiler='trace'):
    ended = run(profiler, '--format', 'json', '--input', path, *args)
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout.splitlines()[-1])['notes']


def of_perf(path):
    """
    Return comm, tid, time in ns and event of each line of perf script. An exiting task has no tid
    any more: its comm is ':-1' there.
    """
    found = []
    for line in perf('script', '--ns', '-i', path, '-F', 'comm,tid,time,event').splitlines():
        m = re.match(r'\s*(.*?)\s+(-?\d+)\s+(\d+)\.(\d{9}):\s+(\S+):\s*$', line)
        assert m, line
        task = ('[exiting]', -1) if m[2] == '-1' else (m[1], int(m[2]))
        found.append((*task, int(m[3]) * 10**9 + int(m[4]), m[5]))
    return found


EVENTS = 'syscalls:sys_enter_getppid,sched:sched_process_exec,sched:sched_switch'


def without_records(data):
    """Replace the records of a recording by one without a time. Its description follows them."""
    whole = data.read_bytes()
    begin, size = struct.unpack_from('<QQ', whole, 40)
    n_features = sum(b.bit_count() for b in whole[72:104])
    table = struct.unpack_from(f'<{2 * n_features}Q', whole, begin + size)
    record = struct.pack('<IHH', 68, 0, 8) # PERF_RECORD_FINISHED_ROUND
    moved = [n if i % 2 else n - size + len(record) for i, n in enumerate(table)]
    data.write_bytes(whole[:48] + struct.pack('<Q', len(record)) + whole[56:begin] + record +
                     struct.pack(f'<{2 * n_features}Q', *moved) +
                     whole[begin + size + 16 * n_features:])


def test_recording_without_records_has_a_date(tmp_path):
    data = tmp_path / 'x.data'
    before = time.time_ns()
    ended = run('record', '-q', '-e', 'syscalls:sys_enter_acct', '-o', data, '--', 'true')
    assert ended.returncode == 0, ended.stderr
    after = time.time_ns()
    without_records(data)
    ended = run('top', '--format', 'json', '-e', 'syscalls:sys_enter_acct', '--input', data)
    assert ended.returncode == 0, ended.stderr
    assert before <= json.loads(ended.stdout)['time'] <= after


@pytest.mark.parametrize('options', [[], ['-z'], ['-a'], ['-k', 'mono'], ['-g']])
def test_events_are_those_of_perf_script(tmp_path, options):
    data = record(tmp_path / 'perf.data', *options, '-m', '4M', '-e', EVENTS)
    theirs = of_perf(data) if '-g' not in options else None
    found = rows(data, '-e', EVENTS)
    # perf prints -1 for a task that exits; attar takes the tid from the event if it can
    ours = [(r['comm'], -1 if r['tid'] is None or r['comm'] == '[exiting]' else r['tid'], r['time'],
             r['event']) for r in found]
    assert sum(r['event'] == 'syscalls:sys_enter_getppid' and r['comm'] == 'flood'
               for r in found) == CALLS
    if '-k' in options: # the recording has the wall clock: all times are shifted by the same
        shift = ours[0][2] - theirs[0][2]
        assert shift > 10**18
        theirs = [(c, t, time + shift, e) for c, t, time, e in theirs]
    if theirs:
        assert sorted(ours) == sorted(theirs)


def test_pipe(tmp_path):
    with subprocess.Popen(['perf', 'record', '-q', '-o', '-', '-e', 'syscalls:sys_enter_getppid',
                           '--', workload('flood'), str(CALLS)], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as recorder:
        found = rows('-', '-e', 'syscalls:sys_enter_getppid', stdin=recorder.stdout)
    assert len(found) == CALLS
    assert {r['comm'] for r in found} == {'flood'}


def test_profile_has_the_samples_of_perf_report(tmp_path):
    data = record(tmp_path / 'perf.data', '-F', '997', '-e', 'cpu-clock:u', command=('split7030',))
    theirs = Counter()
    for line in perf('script', '-i', data, '-F', 'ip,sym,dso').splitlines():
        if m := re.match(r'\s*[0-9a-f]+ (\S+) \((.*)\)$', line):
            theirs[m[1]] += 1
    ended = run('profile', '--format', 'json', '--input', data)
    assert ended.returncode == 0, ended.stderr
    report = json.loads(ended.stdout)
    table = next(s for s in report['sections'] if s['name'] == 'functions')
    ours = {r['symbol']: r['samples'] for r in rows_of(table)}
    assert ours['heavy'] == theirs['heavy']
    assert ours['light'] == theirs['light']
    assert sum(ours.values()) == sum(theirs.values())


def test_profile_takes_the_event_that_measures_time(tmp_path):
    """The event is used even if it is not the first one."""
    data = record(tmp_path / 'perf.data', '-F', '997', '-e', 'page-faults,task-clock:u',
                  command=('split7030',))
    sampled = Counter(perf('script', '-i', data, '-F', 'event').split())
    seen = notes(data, profiler='profile')['seen']
    assert seen == sampled['task-clock:u:'] > sampled['page-faults:'] > 0


def after_call(address, name):
    place, _, offset = name.rpartition('+0x')
    return f'{int(address, 16) + 1:x}', f'{place}+{int(offset, 16) + 1:#x}'


@pytest.mark.parametrize('graph', ['fp', 'dwarf'])
def test_lines_of_stacks_are_those_of_perf_script(tmp_path, graph):
    """Return addresses and their offsets; of unwound stacks, perf shows the byte before."""
    data = record(tmp_path / 'perf.data', '--call-graph', graph, '-e', 'sched:sched_process_exit',
                  command=('chain5', '1'))
    lines = perf('script', '--no-inline', '-i', data, '-F', 'ip,sym,symoff,dso').splitlines()
    theirs = [tuple(line.split()[:2]) for line in lines if line.strip()]
    ours = [tuple(line.split()[:2]) for row in rows(data, '-g') for line in row['detail']]
    user = next(i for i, (address, _) in enumerate(theirs) if not address.startswith('ffff'))
    if graph == 'dwarf':
        theirs[user + 1:] = [after_call(*frame) for frame in theirs[user + 1:]]
    assert user > 4 and len(ours) > user + (graph == 'dwarf')
    assert [address for address, _ in ours] == [address for address, _ in theirs][:len(ours)]
    different = [pair for pair in zip(ours, theirs) if pair[0] != pair[1]]
    assert len(different) <= 1, different  # one address can have two names


def test_same_report_each_time(tmp_path):
    data = record(tmp_path / 'perf.data', '-F', '997', '-g', '-e', 'cpu-clock',
                  command=('split7030',))
    reports = []
    for _ in range(2):
        ended = run('profile', '-g', '--format', 'json', '--input', data)
        report = json.loads(ended.stdout)
        for cost in ('self_cpu', 'self_rss'):
            report['notes'].pop(cost)
        reports.append(report)
    assert reports[0] == reports[1]


def test_targets_filter(tmp_path):
    data = record(tmp_path / 'perf.data', '-a', '-e', 'sched:sched_switch', command=('flood', '1'))
    every = rows(data, '-e', 'sched:sched_switch')
    tid, cpu = every[0]['tid'], every[0]['cpu']
    only = rows(data, '-e', 'sched:sched_switch', '-t', tid)
    assert only == [r for r in every if r['tid'] == tid]
    only = rows(data, '-e', 'sched:sched_switch', '-C', cpu)
    assert only == [r for r in every if r['cpu'] == cpu]


def test_filters(tmp_path):
    data = record(tmp_path / 'perf.data', '-a', '-e', 'sched:sched_switch', command=('flood', '1'))
    every = rows(data, '-e', 'sched:sched_switch')
    idle = rows(data, '-e', 'sched:sched_switch/next_pid == 0/')
    assert idle == [r for r in every if r['values']['next_pid'] == 0]


def test_intervals_are_those_of_the_events(tmp_path):
    data = record(tmp_path / 'perf.data', '-F', '997', '-e', 'cpu-clock:u', command=('split7030',))
    ended = run('profile', '-i', '20ms', '--format', 'json', '--input', data)
    reports = [json.loads(line) for line in ended.stdout.splitlines()]
    whole = notes(data, profiler='profile')['seen']
    assert len(reports) > 1
    assert sum(r['notes']['seen'] for r in reports) == whole
    assert all(r['interval_ns'] % 20_000_000 == 0 for r in reports[:-1])


def test_limits(tmp_path):
    data = record(tmp_path / 'perf.data', '-e', 'syscalls:sys_enter_getppid')
    every = rows(data, '-e', 'syscalls:sys_enter_getppid')
    assert rows(data, '-e', 'syscalls:sys_enter_getppid', '-N', 23) == every[:23]
    passed = (every[99]['time'] - every[0]['time']) + 1
    if passed >= 1_000_000:
        limited = rows(data, '-e', 'syscalls:sys_enter_getppid', '-d', f'{passed}ns')
        assert limited == every[:100]


@pytest.mark.parametrize('args, sentence', [
    (['-e', 'sched:sched_wakeup'], 'sched:sched_wakeup'),
    (['-e', 'cycles'], 'has no event'),
    (['-e', 'syscalls:sys_enter_getppid', '--', 'true'], '--input conflicts with a command'),
    (['-e', 'syscalls:sys_enter_getppid', '--cgroups', '/', '-t', 1],
     '--cgroups conflicts with --pids and --tids'),
])
def test_refusals(tmp_path, args, sentence):
    data = record(tmp_path / 'perf.data', '-e', 'syscalls:sys_enter_getppid')
    ended = run('trace', '--input', data, *args)
    assert ended.returncode == 2, ended.stderr
    assert sentence in ended.stderr


def test_what_is_not_a_recording(tmp_path):
    empty, text = tmp_path / 'empty', tmp_path / 'text'
    empty.write_bytes(b'')
    text.write_text('hello\n' * 100)
    for path in (empty, text, tmp_path, tmp_path / 'missing'):
        ended = run('trace', '-e', 'sched:sched_switch', '--input', path)
        assert ended.returncode == 1, ended.stderr
        assert str(path) in ended.stderr and ended.stderr.count('\n') == 1, ended.stderr


def test_cut_recording(tmp_path):
    """What can be read is reported, with a remark."""
    data = record(tmp_path / 'perf.data', '-e', 'syscalls:sys_enter_getppid')
    whole = data.read_bytes()
    cut = tmp_path / 'cut.data'
    cut.write_bytes(whole[:len(whole) // 2])
    ended = run('trace', '-e', 'syscalls:sys_enter_getppid', '--input', cut)
    assert ended.returncode in (0, 1, 2), ended.stderr
    assert str(cut) in ended.stdout + ended.stderr
    assert ATTAR.exists()


def test_requests_while_a_pipe_is_read(tmp_path, spawn):
    """A marker on standard input, then SIGUSR1: reports up to the newest event."""
    data, fifo = tmp_path / 'pipe.data', tmp_path / 'fifo'
    with data.open('wb') as out:
        subprocess.run(['perf', 'record', '-q', '-o', '-', '-e', 'syscalls:sys_enter_getppid',
                        '--', workload('flood'), str(CALLS)], stdout=out, check=True,
                       stderr=subprocess.DEVNULL)
    os.mkfifo(fifo)
    reader = spawn(ATTAR, 'top', '--format', 'json', '-e', 'syscalls:sys_enter_getppid',
                   '--input', fifo, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with fifo.open('wb') as writer:
        writer.write(data.read_bytes())
        writer.flush()
        print('here', file=reader.stdin, flush=True)
        marked = json.loads(reader.stdout.readline())
        assert 'marker: here' in marked['remarks']
        reader.send_signal(signal.SIGUSR1)
        requested = json.loads(reader.stdout.readline())
        assert 'marker: here' not in requested['remarks']
    rest = json.loads(reader.stdout.readline())
    assert reader.wait(30) == 0
    assert sum(r['notes']['seen'] for r in (marked, requested, rest)) == CALLS
