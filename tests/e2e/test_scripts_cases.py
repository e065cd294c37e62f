# SPDX-License-Identifier: MIT
"""Rare cases of real traces as scripts and recordings, with exact results."""
import json
import subprocess

import pytest

from command import ATTAR, run
from perf_data import CPU_CLOCK, SWITCHES, Recording

pytestmark = pytest.mark.quick

EVENTS = '''# attar script
event a:begin id:u32
event a:end id:u32
'''
PAIRS = ['-e', 'a:begin//key=id/', '-e', 'a:end//key=id/']
MS = 1_000_000


def reports(profiler, path, *args):
    ended = run(profiler, '--format', 'json', '--input', path, *args)
    assert ended.returncode == 0, ended.stderr
    return [json.loads(line) for line in ended.stdout.splitlines()]


def through_pipe(profiler, path, *args):
    """As reports(). Small rounds of a file are read together, those of a pipe are not."""
    with subprocess.Popen(['cat', path], stdout=subprocess.PIPE) as cat:
        ended = run(profiler, '--format', 'json', '--input', '-', *args, stdin=cat.stdout)
    assert ended.returncode == 0, ended.stderr
    return [json.loads(line) for line in ended.stdout.splitlines()]


def rows(report, name=None):
    tables = [s for s in report['sections'] if name in (None, s['name'])]
    return [dict(zip([c['name'] for c in table['columns']], row))
            for table in tables for row in table['rows']]


def durations(path, *args, read=reports):
    """Return number, sum, minimum and maximum of the pairs; the remarks; the notes."""
    report = read('multi-trace', path, *args)[-1]
    found = rows(report, 'pairs')
    pair = tuple(found[0][n] for n in ('calls', 'total', 'min', 'max')) if found else None
    return pair, report.get('remarks', []), report['notes']


# ---- losses ----

def test_pairs_in_a_loss_are_dropped_and_counted(script):
    path = script(EVENTS + '''
1.000 0 1/1 x a:begin id=1
1.100 0 1/1 x a:end id=1
2.000 0 1/1 x a:begin id=2
2.500 1 7/7 y lost 3
3.000 0 1/1 x a:end id=2
4.000 0 1/1 x a:begin id=3
4.250 0 1/1 x a:end id=3
''')
    pair, remarks, notes = durations(path, *PAIRS)
    assert pair == (2, 350 * MS, 100 * MS, 250 * MS)
    assert notes['lost'] == 3
    assert ('1 start of a:begin > a:end is not part of a pair: 1 open while events were lost'
            in remarks)
    assert ('1 end of a:begin > a:end is not part of a pair: 1 no start, after events were lost'
            in remarks)


def lossy(*, early):
    """A pair on CPU 1 from 5 to 15; CPU 0 lost events after 1, which it says at 20."""
    data = Recording(events=((CPU_CLOCK, 7), (SWITCHES, 8)))
    data.sample(1, pid=9, tid=9, cpu=0)
    data.round()
    if early:
        data.sample(2, pid=9, tid=9, cpu=0)
        data.lost(20, 2, cpu=0)
        data.sample(21, pid=9, tid=9, cpu=0)
    data.sample(5, cpu=1, number=7)
    data.sample(15, cpu=1, number=8)
    data.round()
    if not early:
        data.lost(20, 2, cpu=0)
        data.sample(21, pid=9, tid=9, cpu=0)
    data.sample(30, cpu=1, number=7)
    data.sample(37, cpu=1, number=8)
    data.round()
    return data


@pytest.mark.parametrize('early', [True, False], ids=['same round', 'next round'])
def test_a_loss_concerns_pairs_that_ended_before_it_was_reported(tmp_path, early):
    path = lossy(early=early).write(tmp_path / 'x.data')
    pair, _, notes = durations(path, '-e', 'cpu-clock', '-e', 'context-switches', '-t', 100)
    assert pair == (1, 7, 7, 7)
    assert notes['lost'] == 2


def test_a_loss_of_one_cpu_with_the_cpu_as_key(script):
    """Pairs of another CPU cannot have lost events."""
    path = script(EVENTS + '''
1.000 0 1/1 x a:begin
1.000 1 2/2 y a:begin
2.000 1 2/2 y lost 1
3.000 0 1/1 x a:end
3.000 1 2/2 y a:end
''')
    pair, _, _ = durations(path, '-e', 'a:begin', '-e', 'a:end')
    assert pair == (1, 2000 * MS, 2000 * MS, 2000 * MS)


# ---- order ----

def test_records_of_an_nmi_are_late(tmp_path):
    """An NMI interrupts the writing of a record: its own, older record follows a newer one."""
    data = Recording()
    for time in (100, 300, 200, 250, 400, 399):
        data.sample(time)
    data.round()
    found = [r for report in reports('trace', data.write(tmp_path / 'x.data'), '-e', 'cpu-clock')
             for r in rows(report)]
    assert [r['time'] for r in found] == [100, 200, 250, 300, 399, 400]


def test_a_record_that_is_later_than_its_round(tmp_path):
    """A virtual CPU was stopped while it wrote: up to four rounds are waited for."""
    data = Recording()
    for start in range(0, 600, 100):
        if start == 300:
            data.sample(50, cpu=1)
        data.sample(start)
        data.round()
    found = [r for report in reports('trace', data.write(tmp_path / 'x.data'), '-e', 'cpu-clock')
             for r in rows(report)]
    assert [r['time'] for r in found] == [0, 50, 100, 200, 300, 400, 500] or \
        [r['time'] for r in found] == [50, 100, 200, 300, 400, 500]


def test_a_loss_that_is_later_than_all_rounds(tmp_path):
    """Pairs of another CPU that ended before it was read have been counted; a remark says so."""
    data = Recording(events=((CPU_CLOCK, 7), (SWITCHES, 8)))
    data.sample(1, pid=9, tid=9, cpu=0)
    data.round()
    data.sample(5, cpu=1, number=7)
    data.sample(15, cpu=1, number=8)
    for start in range(100, 800, 100):
        data.sample(start, pid=9, tid=9, cpu=1)
        data.round()
    data.lost(20, 2, cpu=0)
    data.sample(21, pid=9, tid=9, cpu=0)
    data.round()
    pair, remarks, notes = durations(data.write(tmp_path / 'x.data'), '-e', 'cpu-clock', '-e',
                                     'context-switches', '-t', 100, read=through_pipe)
    assert pair == (1, 10, 10, 10)
    assert notes['lost'] == 2
    assert any(r.startswith('1 loss was reported late: ') for r in remarks)
    assert any(r.startswith('1 record arrived after newer ones') for r in remarks)


def test_events_out_of_order_are_counted(tmp_path):
    """Two events of CPU 1, of 10 and 310 ns, are read when all up to 400 ns is delivered."""
    data = Recording()
    for start in range(0, 1000, 100):
        data.sample(start, cpu=0)
        if start == 900:
            data.sample(10, cpu=1)
            data.sample(310, cpu=1)
        data.round()
    report = through_pipe('event-care', data.write(tmp_path / 'x.data'), '-e', 'cpu-clock')[-1]
    assert [(r['cpu'], r['events'], r['out of order']) for r in rows(report, 'events')] == [
        (0, 10, 0), (1, 2, 2)]
    assert {'the maximum delay of an event that was out of order was 0.390 us',
            '2 records arrived after newer ones had been delivered, and were given the newest '
            'time'} <= set(report['remarks'])


# ---- clocks ----

def test_the_clock_steps_forward(script):
    """A step of an hour, as after a suspend: empty intervals are one report."""
    path = script('# attar script\nevent a:b n:u8\n'
                  '1.0 0 1/1 x a:b\n1.5 0 1/1 x a:b\n3601.75 0 1/1 x a:b\n3602.0 0 1/1 x a:b\n')
    found = reports('top', path, '-e', 'a:b', '-i', '1s')
    assert [r['notes']['seen'] for r in found] == [2, 2] or \
        [r['notes']['seen'] for r in found if r['notes']['seen']] == [2, 1, 1]
    assert sum(r['interval_ns'] for r in found) == 3601 * 1000 * MS


def test_the_clock_steps_back(script):
    """Times of one CPU that go back are sorted; nothing is negative or lost."""
    path = script(EVENTS + '''
5.000 0 1/1 x a:begin id=1
4.000 0 1/1 x a:end id=1
4.500 0 1/1 x a:begin id=2
6.000 0 1/1 x a:end id=2
''')
    pair, _, notes = durations(path, *PAIRS)
    assert pair == (1, 1500 * MS, 1500 * MS, 1500 * MS)
    assert notes['seen'] == 4


def test_a_step_beyond_all_rounds(tmp_path):
    """Events that are older than the horizon are delivered with the newest time."""
    data = Recording()
    for i in range(8):
        data.sample(1000 + i)
        data.round()
    for i in range(8):
        data.sample(10 + i)
        data.round()
    report = through_pipe('top', data.write(tmp_path / 'x.data'), '-e', 'cpu-clock')[-1]
    assert report['notes']['seen'] == 16
    assert report['interval_ns'] < 10_000
    assert any(r.startswith('8 records arrived after newer ones') for r in report['remarks'])


def test_times_of_a_recording_without_a_date(tmp_path):
    """perf without -k does not say when a recording was made: not in 1970."""
    data = Recording()
    data.sample(8231_000_000_007)
    data.round()
    path = data.write(tmp_path / 'x.data')
    assert run('top', '-e', 'cpu-clock', '--input', path).stdout.startswith(
        'top, 8231.000000007 s\n')
    assert '\n8231.000000007,' in run('top', '-e', 'cpu-clock', '--input', path, '--format',
                                      'csv').stdout
    lines = run('trace', '-e', 'cpu-clock', '--input', path).stdout.splitlines()
    assert [line.split()[0] for line in lines if 'cpu-clock' in line] == ['8231.000000007']
    with path.open('rb') as file:
        piped = subprocess.run([ATTAR, 'top', '-e', 'cpu-clock', '--input', '-'], stdin=file,
                               capture_output=True, text=True, check=True)
    assert 'standard input does not say when it was made' in piped.stdout


# ---- tasks and CPUs ----

def test_events_before_the_name_of_their_thread(tmp_path):
    data = Recording()
    data.sample(1)
    data.comm(2, 'late')
    data.sample(3)
    data.round()
    found = [r for report in reports('trace', data.write(tmp_path / 'x.data'), '-e', 'cpu-clock')
             for r in rows(report)]
    assert [(r['time'], r['comm']) for r in found] == [(1, '[unknown]'), (3, 'late')]


@pytest.mark.parametrize('words, remarks', [
    (['-p', '1', '-t', '2'], []), (['-p', '7,1'], ['--pids: the recording has no process 7']),
    (['-t', '4000000,9'], ['--tids: the recording has no threads 9,4000000']), (['-p', '3'], []),
    (['-p', '5'], []),
])
def test_selected_tasks_that_the_recording_lacks(script, words, remarks):
    """Process 3 has no events but a fork, process 5 exits."""
    path = script('''# attar script
event a:b
1 0 1/1 x a:b
2 0 1/2 x a:b
3 0 1/2 x fork 3/3
4 0 5/5 y a:b
5 0 5/5 y exit
''')
    found = reports('top', path, '-e', 'a:b', *words)[-1]
    assert [r for r in found.get('remarks', []) if 'the recording has no' in r] == remarks


def test_a_cpu_goes_offline_and_online(script):
    """CPU 5 has events only from 2 s to 3 s; its number is that of its events."""
    lines = [f'{1 + i / 4} 0 1/1 x a:b' for i in range(12)]
    lines += [f'{2 + i / 4} 5 2/2 y a:b' for i in range(4)]
    path = script('# attar script\nevent a:b n:u8\n' + '\n'.join(lines) + '\n')
    found = reports('top', path, '-e', 'a:b', '-k', 'common_pid', '-i', '1s', '-C', '5')
    assert [r['notes']['seen'] for r in found if r['notes']['seen']] == [4]
    found = [r for report in reports('trace', path, '-e', 'a:b') for r in rows(report)]
    assert sorted({r['cpu'] for r in found}) == [0, 5]
    assert sum(r['cpu'] == 5 for r in found) == 4
    for cpus, absent in (('4', '4'), ('0,4-6', '4,6'), ('5', None)):
        found = reports('top', path, '-e', 'a:b', '-k', 'common_pid', '-C', cpus)[-1]
        assert [r for r in found.get('remarks', []) if '--cpus' in r] == ([
            f'--cpus: the recording has no events of CPU {absent}; its events are of CPU 0,5']
            if absent else [])


def test_a_reused_pid_is_another_process(script):
    path = script(EVENTS + '''
1.000 0 50/50 first a:begin id=1
1.100 0 50/50 first exit
1.200 1 1/1 init fork 50/50
1.300 0 50/50 second a:begin id=2
1.400 0 50/50 second a:end id=2
''')
    found = [r for report in reports('trace', path, '-e', 'a:*') for r in rows(report)]
    assert [(r['comm'], r['tid']) for r in found] == [('first', 50), ('second', 50),
                                                      ('second', 50)]
    pair, _, _ = durations(path, '-e', 'a:begin', '-e', 'a:end', '-t', 50)
    assert pair == (1, 100 * MS, 100 * MS, 100 * MS)


# ---- switches ----

SWITCHES_OF_A_CPU = '''# attar script
event sched:sched_wakeup comm:char[16] pid:pid_t
event sched:sched_wakeup_new comm:char[16] pid:pid_t
event sched:sched_switch prev_comm:char[16] prev_pid:pid_t prev_prio:int prev_state:s64 \
next_comm:char[16] next_pid:pid_t next_prio:int
'''.replace('\\\n', '')


def switch(ms, before, after, state=1):
    return (f'1.{ms:03} 0 {before}/{before} t sched:sched_switch prev_pid={before} '
            f'prev_state={state} next_pid={after}\n')


@pytest.mark.parametrize('profiler', [
    ['cpudist'], ['oncpu'], ['rundelay'], ['top', '-e', 'sched:sched_switch'],
    ['trace', '-e', 'sched:sched_switch'],
    ['sql', '-e', 'sched:sched_switch', '--query', 'SELECT count(*) FROM sched_switch']])
def test_missing_switches_from_the_idle_task(script, profiler):
    """Of 20 rounds 100 > idle > 100 > 101 > 100, 5 lack the switch from the idle task."""
    lines = ''
    for i in range(20):
        lines += switch(8 * i, 100, 0)
        lines += switch(8 * i + 2, 0, 100) if i % 4 else ''
        lines += switch(8 * i + 4, 100, 101) + switch(8 * i + 6, 101, 100)
    found = reports(profiler[0], script(SWITCHES_OF_A_CPU + lines), *profiler[1:])
    assert [r for r in found[-1]['remarks'] if 'lacks' in r] == [
        'the recording lacks at least 5 switches between tasks (CPU 0), which the kernel did not '
        'deliver or which were filtered: times that begin or end with them are wrong']


@pytest.mark.parametrize('profiler, calls, total', [
    ('rundelay', 10, 10 * MS), ('runqlat', 10, 10 * MS), ('cpudist', 10, 20 * MS)])
def test_switches_of_idle_tasks_are_not_part_of_a_pair(script, profiler, calls, total):
    """Each end that has no start is one of a task: of a complete recording, there is none."""
    lines = ''.join(f'1.{5 * i:03} 0 0/0 swapper/0 sched:sched_wakeup pid=100\n' +
                    switch(5 * i + 1, 0, 100) + switch(5 * i + 3, 100, 0) for i in range(10))
    path = script(SWITCHES_OF_A_CPU + lines)
    report, = reports(profiler, path)
    pairs, = rows(report, 'pairs')
    assert (pairs['calls'], pairs['total']) == (calls, total)
    assert not report.get('remarks')
    path = script(SWITCHES_OF_A_CPU + lines + switch(51, 0, 101) + switch(52, 101, 0) +
                  switch(53, 102, 0))
    ends = [r for r in reports(profiler, path)[0]['remarks'] if 'no start' in r]
    assert len(ends) == 1 and 'part of a pair: 1 no start' in ends[0]


# ---- switches that are missing ----

@pytest.mark.parametrize('events, missing', [
    ('1.1 0 7/7 b sched:sched_switch prev_pid=7 next_pid=5\n', 1),
    ('1.1 0 0/0 swapper sched:sched_switch prev_pid=0 next_pid=7\n', 0)], ids=['one', 'none'])
def test_a_switch_from_the_idle_task_is_missing(script, events, missing):
    """The idle task has process 0, as an unknown recorder, whose own switches are left out."""
    path = script('''# attar script
event sched:sched_switch prev_pid:pid_t next_pid:pid_t
1.00 1 0/0 swapper sched:sched_switch prev_pid=0 next_pid=9
1.05 0 5/5 a sched:sched_switch prev_pid=5 next_pid=0
''' + events)
    said = [text for text in reports('top', path, '-e', 'sched:sched_switch')[-1].get('remarks', [])
            if 'lacks at least' in text]
    assert [text.split()[5] for text in said] == [str(missing)][:missing]
