# SPDX-License-Identifier: MIT
"""Every event is seen, lost or missing: their sum is what the kernel counted."""
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from command import ATTAR, comm_of, is_sampling, is_waiting, perf, run, wait_until, workload
from faults import with_fault
from perf_data import COMM_RECORDS, CPU_CLOCK, PAGE_FAULTS, Recording

pytestmark = pytest.mark.usefixtures('root')

CALLS = 100000
GETPPID = 'syscalls:sys_enter_getppid'
ACCT = 'syscalls:sys_enter_acct'  # not called by the workloads


def notes_of(path):
    """Return the notes of the last report, which follows the lines of single events."""
    with open(path, encoding='utf-8') as f:
        return json.loads(f.readlines()[-1])['notes']


def trace(tmp_path, *args):
    out = tmp_path / 'x.json'
    done = run('trace', '-q', '-o', out, *args, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert done.returncode == 0, done.stderr
    return notes_of(out)


def while_stopped(spawn, out, *args, command, stdout=subprocess.DEVNULL):
    """Run attar, stopped while its command does all its work; it writes to `out`. Return stderr."""
    gate = out.with_name('gate')
    os.mkfifo(gate)
    script = f'read line <{gate}; exec {" ".join(map(str, command))}'
    process = spawn(ATTAR, *args, '-o', out if stdout == subprocess.DEVNULL else '-', '--', 'sh',
                    '-c', script, stdout=stdout, stderr=subprocess.PIPE, text=True)
    wait_until(lambda: is_sampling(process), 'it samples')
    child = int(Path(f'/proc/{process.pid}/task/{process.pid}/children').read_text())
    wait_until(lambda: comm_of(child) == 'sh', 'the shell runs')
    process.send_signal(signal.SIGSTOP)
    gate.write_text('\n')
    wait_until(lambda: ') Z ' in Path(f'/proc/{child}/stat').read_text(), 'the command has ended')
    process.send_signal(signal.SIGCONT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 0, errors
    return errors


def test_more_lost_than_seen_is_a_warning(spawn, tmp_path):
    """A file or a pipeline may hide the last line of the report."""
    out = tmp_path / 'x.json'
    errors = while_stopped(spawn, out, 'trace', '-q', '-m', 1, '-e', GETPPID,
                           command=(workload('flood'), CALLS))
    notes = notes_of(out)
    whole = notes['lost'] + notes['seen']
    assert notes['lost'] > notes['seen'] and whole >= CALLS
    assert errors == (f"attar: {notes['lost']} of {whole} events were lost, because the ring "
                      'buffers were full: use a filter, fewer events, or larger buffers (-m)\n')


def test_overview_names_what_is_estimated(spawn, tmp_path):
    """Most failing calls are lost: their sum is counted, and divided as those that were seen."""
    out = tmp_path / 'x.json'
    while_stopped(spawn, out, 'overview', '-q', '-m', 1, command=(workload('failing'), 2000))
    report = json.loads(out.read_text().splitlines()[-1])
    sections = {section['name']: section['rows'] for section in report['sections']}
    count, = (row[1] for row in sections['counts'] if row[0] == 'failing calls')
    remarks = '\n'.join(report['remarks'])
    lost, = re.findall(r'^events were lost: (\d+); .*; a larger -m loses fewer$', remarks, re.M)
    unseen, = re.findall(r'^(\d+) failing calls were counted.* estimates, and their sum is exact$',
                         remarks, re.M)
    assert int(lost) == report['notes']['lost'] > 0
    assert count >= 2000 and int(unseen) > 0


@pytest.mark.parametrize('words, read, how', [
    ('profile -o x.json', None, 'exec'), ('profile --push ./x.data -o x.json', '--pull', 'exec'),
    ('record -o x.data', '--input', 'exec'), ('record -z -o x.data', '--input', 'exec'),
    ('record --push ./x.data', '--pull', 'exec'), ('record -o x.data', '--input', 'child'),
    ('record --push ./x.data', '--pull', 'child'), ('record -o x.data', '--input', 'command'),
    ('record -a -o x.data', '--input', 'all')])
def test_names_after_a_loss(spawn, tmp_path, words, read, how):
    """The records of a program and its mappings are lost: both are read again."""
    gate, out, started = tmp_path / 'gate', tmp_path / 'x.json', tmp_path / 'started'
    os.mkfifo(gate)
    start = f'{workload("split7030")} 4000 & echo $! >x; mv x started; wait' if how != 'exec' else \
        f'echo $$ >started; exec {workload("split7030")} 4000'
    script = ['sh', '-c', f'read line <gate; for i in $(seq 300); do /bin/true; done; {start}']
    target = ['--', *script]
    if how != 'command':
        shell = spawn(*script, cwd=tmp_path)
        target = [] if how == 'all' else ['-p', shell.pid]
    attar = spawn(ATTAR, *words.split(), '-q', '-m', 1, '-F', 499, *target, cwd=tmp_path)
    wait_until(lambda: is_waiting(attar), 'its events are enabled')
    if how == 'command':
        children = Path(f'/proc/{attar.pid}/task/{attar.pid}/children')
        wait_until(lambda: 'sh' in map(comm_of, children.read_text().split()), 'the shell runs')
    attar.send_signal(signal.SIGSTOP)
    gate.write_text('\n')
    wait_until(lambda: started.exists() and comm_of(int(started.read_text())) == 'split7030',
               'the program runs')
    attar.send_signal(signal.SIGCONT)
    if how == 'all':
        assert shell.wait(60) == 0
        attar.send_signal(signal.SIGINT)
    assert attar.wait(60) == 0
    if read:
        done = run('profile', '-q', read, tmp_path / 'x.data', '-o', out)
        assert done.returncode == 0, done.stderr
    report = json.loads(out.read_text().splitlines()[-1])
    assert read or report['notes']['lost_side_band'] > 0
    functions = next(s for s in report['sections'] if s['name'] == 'functions')
    names = [column['name'] for column in functions['columns']]
    found = {(row['comm'], row['symbol']) for row in (
        dict(zip(names, row)) for row in functions['rows'])}
    assert {('split7030', 'heavy'), ('split7030', 'light')} <= found


def losses_of(data, event=GETPPID, option='--input'):
    """Return the notes of a report on a recording's events."""
    done = run('top', '--format', 'json', option, data, '-e', event)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)['notes']


@pytest.mark.parametrize('how', ['file', 'pipe', 'compressed'])
def test_recording_has_what_was_lost_after_its_last_record(spawn, tmp_path, how):
    """No record follows in which the kernel could report the loss."""
    data = tmp_path / 'x.data'
    with data.open('wb') as file:
        errors = while_stopped(spawn, data, 'record', '-q', '-m', 1, '-e', GETPPID,
                               *(['-z'] if how == 'compressed' else []),
                               command=(workload('flood'), CALLS),
                               stdout=file if how == 'pipe' else subprocess.DEVNULL)
    lost, whole = map(int, re.search(r'(\d+) of (\d+) events were lost', errors).groups())
    notes = losses_of(data)
    assert CALLS <= whole <= CALLS + 1 # the shell may call it, too
    assert (notes['lost'], notes['seen']) == (lost, whole - lost)


def test_loss_after_the_last_record_is_pushed(spawn, tmp_path):
    """By a profiler, which has delivered the loss itself, without a record of the kernel."""
    out = tmp_path / 'x.json'
    while_stopped(spawn, out, 'top', '-q', '-m', 1, '-e', GETPPID, '--push', tmp_path / 'x.data',
                  command=(workload('flood'), CALLS))
    here, there = notes_of(out), losses_of(tmp_path / 'x.data', option='--pull')
    assert CALLS <= here['lost'] + here['seen'] <= CALLS + 1 # the shell may call it, too
    assert [there[name] for name in ('lost', 'seen')] == [here[name] for name in ('lost', 'seen')]


def test_perf_counts_the_loss_of_a_recording(spawn, tmp_path, needs_perf):
    data = tmp_path / 'x.data'
    while_stopped(spawn, data, 'record', '-q', '-m', 1, '-e', GETPPID,
                  command=(workload('flood'), CALLS))
    of_event = perf('report', '--stats', '-i', data).partition(f'{GETPPID} stats:')[2]
    if 'LOST_SAMPLES' not in of_event:
        pytest.skip('this perf does not count LOST_SAMPLES records by event')
    lost = re.search(r'LOST_SAMPLES events: +(\d+)', of_event)[1]
    assert int(lost) == losses_of(data)['lost']


def test_losses_of_events_that_are_not_read_do_not_count(spawn, tmp_path):
    data = tmp_path / 'x.data'
    while_stopped(spawn, data, 'record', '-q', '-m', 1, '-e', GETPPID, '-e',
                  'syscalls:sys_exit_getppid', command=(workload('flood'), CALLS))
    notes = losses_of(data)
    assert notes['lost'] > 0
    assert CALLS <= notes['lost'] + notes['seen'] <= CALLS + 1 # the shell may call it, too


def test_files_of_a_rotated_recording_have_their_own_losses(tmp_path):
    data = tmp_path / 'x.data'
    done = run('record', '-q', '-m', 8, '-e', GETPPID, '--max-size', '64K', '--rotate', 999,
               '-o', data, '--', workload('flood'), CALLS)
    assert done.returncode == 0, done.stderr
    notes = [losses_of(file) for file in tmp_path.glob('x.data*')]
    assert len(notes) > 1
    assert sum(n['seen'] + n['lost'] for n in notes) == CALLS


def test_a_count_is_reached_before_the_first_loss(spawn, tmp_path):
    """The rings hold more samples than that, then some are lost."""
    data = tmp_path / 'x.data'
    while_stopped(spawn, data, 'record', '-m', 8, '-N', 50, '-e', GETPPID,
                  command=(workload('flood'), CALLS))
    notes = losses_of(data)
    assert (notes['seen'], notes['lost']) == (50, 0)


@pytest.mark.parametrize('options', [[], ['-z'], ['--max-size', '64K', '--rotate', 999]],
                         ids=['plain', 'compressed', 'rotated'])
def test_losses_after_the_last_sample_of_a_count_do_not_count(tmp_path, options):
    """The last sample is of the call whose number is that of all samples and losses before it."""
    data, event = tmp_path / 'x.data', 'syscalls:sys_enter_lseek/offset>=1000000&&whence==0/'
    calls = 'import os\nwith open("/dev/zero") as f:\n' \
        ' for i in range(200000): os.lseek(f.fileno(), 1000001 + i, os.SEEK_SET)'
    done = run('record', '-m', 8, '-N', 3000, '-e', event, '--format', 'json', '-o', data,
               *options, '--', 'taskset', '-c', 0, sys.executable, '-c', calls)
    assert done.returncode == 0, done.stderr
    notes = json.loads(done.stdout)['notes']
    offset = max(int(number, 16) for path in tmp_path.glob('x.data*') for number in re.findall(
        r'offset: (\w+)', run('trace', '--input', path, '-e', event.partition('/')[0],
                              '--format', 'csv').stdout))  # the newest file may be empty
    assert notes['seen'] == 3000
    assert notes['seen'] + notes['lost'] == offset - 1000000
    files = [losses_of(path, event.partition('/')[0]) for path in tmp_path.glob('x.data*')]
    assert sum(file['seen'] for file in files) == 3000
    if not options or options == ['-z']:
        assert files[0]['lost'] == notes['lost']


@pytest.mark.parametrize('counted, lost', [(None, 40), (0, 0), (3, 3)])
def test_counts_at_the_end_replace_records_of_losses(tmp_path, counted, lost):
    """The first LOST record of a rotated file may report what the file before it has counted."""
    recording = Recording()
    recording.lost(1000, 40)
    recording.sample(1000)
    if counted is not None:
        recording.lost_samples(counted)
    recording.round()
    notes = losses_of(recording.write(tmp_path / 'x.data'), 'cpu-clock')
    assert (notes['seen'], notes['lost']) == (1, lost)


@pytest.mark.parametrize('side_band, lost, remarked', [
    (0, 5, False), (COMM_RECORDS, 0, False), (COMM_RECORDS, 5, True)])
def test_losses_of_perf_include_side_band(tmp_path, side_band, lost, remarked):
    """The event that samples writes these records, too; attar record has a dummy event for them."""
    recording = Recording(events=())
    recording.attr(CPU_CLOCK, 7, excluded=side_band)
    recording.sample(1000)
    recording.lost_samples(lost)
    recording.round()
    data = recording.write(tmp_path / 'x.data')
    assert losses_of(data, 'cpu-clock')['lost'] == lost
    found = json.loads(run('top', '--format', 'json', '--input', data, '-e', 'cpu-clock').stdout)
    assert any(f'the {lost} lost records can include' in r for r in found['remarks']) == remarked


@pytest.mark.parametrize('counted', [False, True])
def test_losses_of_other_events_are_remarked(tmp_path, counted):
    """LOST records do not tell whose records were lost, the counts at the end do: 3 of 40."""
    recording = Recording(events=((CPU_CLOCK, 7), (PAGE_FAULTS, 8)))
    recording.sample(1000, number=8)
    recording.lost(1001, 40, number=8)
    recording.sample(1001)
    if counted:
        recording.lost_samples(3)
        recording.lost_samples(37, number=8)
    recording.round()
    data = recording.write(tmp_path / 'x.data')
    text = 'lost records can include events that this profiler does not use'
    found = json.loads(run('top', '--format', 'json', '--input', data, '-e', 'cpu-clock').stdout)
    assert (found['notes']['seen'], found['notes']['lost']) == (1, 3 if counted else 40)
    assert any(f'the 40 {text}' in r for r in found.get('remarks', [])) == (not counted)
    both = json.loads(run('top', '--format', 'json', '--input', data, '-e',
                          'cpu-clock,page-faults').stdout)
    assert both['notes']['lost'] == 40
    assert not any(text in r for r in both.get('remarks', []))


def test_seen_and_lost_add_up_to_all_calls(tmp_path):
    lost = 0
    for _ in range(10):
        notes = trace(tmp_path, '-m', 8, '-e', GETPPID, '--', workload('flood'), CALLS)
        assert notes['seen'] + notes['lost'] == CALLS, notes
        assert notes['missing'] == 0
        lost += notes['lost']
    assert lost > 0


def test_lost_forks_are_not_lost_samples(spawn, tmp_path):
    out = tmp_path / 'x.json'
    while_stopped(spawn, out, 'trace', '-m', 8, '-e', ACCT, command=[workload('forks'), 3000])
    notes = notes_of(out)
    assert (notes['seen'], notes['lost'], notes['missing']) == (0, 0, 0)
    assert notes['lost_side_band'] > 1000


def test_profile_counts_lost_side_band_separately(spawn, tmp_path):
    out = tmp_path / 'x.json'
    while_stopped(spawn, out, 'profile', '-F', 97, '-m', 8, command=[workload('forks'), 3000])
    notes = notes_of(out)
    assert notes['lost_side_band'] > 1000
    assert notes['lost'] < notes['lost_side_band'] / 10


def test_text_shows_both_kinds_of_losses(spawn, tmp_path):
    out = tmp_path / 'x.txt'
    while_stopped(spawn, out, 'trace', '-m', 8, '-e', ACCT, command=[workload('forks'), 3000])
    foot = r'^0 samples seen, 0 lost, 0 throttled, [\d,]+ side-band records lost; '
    assert re.search(foot, out.read_text(), re.M)


def test_before_linux_6_0_undelivered_events_count_as_lost(tmp_path):
    """These kernels do not count losses, and losses at the very end have no record."""
    out = tmp_path / 'x.json'
    done = with_fault('kernel', 'trace', '-q', '-m', 8, '-e', GETPPID, '-o', out, '--',
                      workload('flood'), CALLS, kernel='5.10', stdout=subprocess.DEVNULL,
                      stderr=subprocess.PIPE)
    assert done.returncode == 0, done.stderr
    notes = notes_of(out)
    assert notes['seen'] + notes['lost'] == CALLS, notes
    assert notes['missing'] == 0


def test_events_counted_but_not_delivered_are_missing(tmp_path):
    """Only the second event has no ring: each of its occurrences is missing."""
    out = tmp_path / 'x.txt'
    done = with_fault('kernel', 'trace', '-m', 1024, '-e', GETPPID,
                      '-e', 'syscalls:sys_exit_getppid', '-o', out, '-o', tmp_path / 'x.json',
                      '--', workload('flood'), 1000, output=1, stdout=subprocess.DEVNULL,
                      stderr=subprocess.PIPE)
    assert done.returncode == 0, done.stderr
    notes = notes_of(tmp_path / 'x.json')
    assert (notes['seen'], notes['lost'], notes['missing']) == (1000, 0, 1000)
    assert sum(one['missing'] for one in notes['missing_by_cpu']) == 1000
    assert all(one['cpu'] in os.sched_getaffinity(0) for one in notes['missing_by_cpu'])
    text = out.read_text()
    assert 'note: 1000 events are missing: the kernel counted them, but ' in text
    assert '1,000 samples seen, 0 lost, 0 throttled, 1,000 missing; ' in text


def test_recordings_say_what_was_not_delivered(tmp_path):
    """In the report of record, and in those made from the recording, by CPU."""
    data = tmp_path / 'x.data'
    done = with_fault('kernel', 'record', '-m', 1024, '-e', GETPPID, '-e',
                      'syscalls:sys_exit_getppid', '-o', data, '--format', 'json',
                      '--', workload('flood'), 1000, output=1, capture_output=True)
    assert done.returncode == 0, done.stderr
    recorded = json.loads(done.stdout)
    assert (recorded['notes']['seen'], recorded['notes']['missing']) == (1000, 1000)
    ended = run('trace', '-q', '-e', GETPPID, '--input', data, '-o', tmp_path / 'x.json')
    assert ended.returncode == 0, ended.stderr
    notes = notes_of(tmp_path / 'x.json')
    assert (notes['seen'], notes['missing']) == (1000, 1000)
    assert notes['missing_by_cpu'] == recorded['notes']['missing_by_cpu']
    assert ('note: the recording lacks 1000 events that the kernel counted but did not deliver, '
            'including events that this profiler does not use: '
            ) in run('trace', '-e', GETPPID, '--input', data).stdout


@pytest.mark.parametrize('events', [
    'page-faults,context-switches,migrations', 'page-faults/period=7/',
    'raw_syscalls:sys_enter,raw_syscalls:sys_exit', 'sched:sched_switch,cpu-clock'])
@pytest.mark.parametrize('pages', [8, 1024])
def test_normal_recordings_miss_nothing(tmp_path, events, pages):
    data = tmp_path / 'x.data'
    done = run('record', '-m', pages, '-e', events, '-o', data, '--format', 'json', '--',
               workload('forkstorm'), 'exec', 50)
    assert done.returncode == 0, done.stderr
    notes = json.loads(done.stdout)['notes']
    assert (notes['missing'], notes['missing_by_cpu']) == (0, []), notes


@pytest.mark.parametrize('events', [
    'page-faults,context-switches,migrations',
    'sched:sched_switch,sched:sched_wakeup,sched:sched_waking', 'sched:sched_stat_runtime',
    'raw_syscalls:sys_enter,raw_syscalls:sys_exit', 'task:*', 'page-faults/period=7/',
    'raw_syscalls:sys_enter/id==110/', 'page-faults/freq=1000/', 'cpu-clock/period=1000000/'])
@pytest.mark.parametrize('pages', [8, 1024])
def test_normal_runs_miss_nothing(tmp_path, events, pages):
    notes = trace(tmp_path, '-m', pages, '-e', events, '--', workload('forkstorm'), 'exec', 50)
    assert (notes['missing'], notes['missing_by_cpu']) == (0, []), notes


def test_running_process_misses_nothing(spawn, tmp_path):
    """It causes events from the moment its counter is opened, also while the rings are mapped."""
    process = spawn('sh', '-c', 'while :; do :; done & while :; do /bin/true; done')
    for _ in range(5):
        notes = trace(tmp_path, '-e', 'raw_syscalls:sys_enter,page-faults', '-d', '200ms',
                      '-p', process.pid)
        assert notes['seen'] > 0
        assert notes['missing'] == 0, notes


def test_run_ended_by_its_event_count_misses_nothing(tmp_path):
    notes = trace(tmp_path, '-N', 10, '-e', GETPPID, '--', workload('flood'), CALLS)
    assert (notes['seen'], notes['missing']) == (10, 0)


def test_wakeups_on_another_cpu_are_all_accounted_for(root):
    """
    500 timers wake up a sleeper on CPU 1: printed, lost and missing ones add up. attar runs on CPU
    0, because what happens in its own threads is left out.
    """
    if os.cpu_count() < 2:
        pytest.skip('needs two CPUs')
    sleeper = """import ctypes, os, time
os.sched_setaffinity(0, [1])
ctypes.CDLL(None).prctl(15, b'sleeper500')
for _ in range(500):
    time.sleep(0.0005)
"""
    event = 'sched:sched_wakeup/comm=="sleeper500"/'
    done = run('-c', 0, ATTAR, 'trace', '-a', '-e', event, '--format', 'json', '--',
               'python3', '-S', '-c', sleeper, program='taskset')
    assert done.returncode == 0, done.stderr
    reports = [json.loads(line) for line in done.stdout.splitlines()]
    notes = reports[-1]['notes']
    rows = sum(len(s['rows']) for r in reports for s in r['sections'] if s['kind'] == 'events')
    assert rows == notes['seen']
    assert 500 <= rows + notes['lost'] + notes['missing'] <= 505
