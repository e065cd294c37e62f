# SPDX-License-Identifier: MIT
"""attar multi-trace: pairs of known workloads, and the pairing of perf script."""
import json
import os
import re
import shutil
import statistics
import subprocess

import pytest

import scripts
from command import perf, run, run_delivered, workload
from scripts import of_script, section

pytestmark = pytest.mark.usefixtures('root')


def wakeups_of(name):
    return ['-e', f'sched:sched_wakeup/comm=="{name}"/key=pid/',
            '-e', f'sched:sched_switch/next_comm=="{name}"/key=next_pid/']


WAKEUPS = wakeups_of('sleeper')
RUN_DELAY = ['-e', 'sched:sched_wakeup*//key=pid/,'
             'sched:sched_switch//key=prev_pid/alias=preempted/'
             'role=prev_pid&&(prev_state&0xff)==0/',
             '-e', 'sched:sched_switch//key=next_pid/']
RINGS = ['-m', '2048']  # holds all events, however slowly attar runs
SYSTEM = [*RINGS, '-C', ','.join(map(str, sorted(os.sched_getaffinity(0))))]


def report(*args, **kwargs):
    """Return the last report of multi-trace."""
    ended = run_delivered('multi-trace', '--format', 'json', *args, **kwargs)
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout.splitlines()[-1])


def rows(report, section='pairs'):
    """Return the rows of a section, as dictionaries."""
    return scripts.rows(report, section)


def calls(report):
    return {r['syscall'].partition('(')[0]: r for r in rows(report, 'system calls')}


@pytest.fixture(scope='module')
def recording(tmp_path_factory):
    """A recording of wakeups, switches and system calls of one CPU."""
    cpu = str(min(os.sched_getaffinity(0)))
    data = tmp_path_factory.mktemp('multi-trace') / 'perf.data'
    subprocess.run(['perf', 'record', '-q', '-o', data, '-C', cpu, '-m', '8M',
                    '-e', 'sched:sched_wakeup', '-e', 'sched:sched_switch',
                    '-e', 'raw_syscalls:sys_enter', '-e', 'raw_syscalls:sys_exit',
                    '--', 'taskset', '-c', cpu, workload('wakeups23')],
                   check=True, capture_output=True)
    return data


# ---- system calls ----

def test_counts_system_calls():
    found = report('--impl', 'syscalls', *RINGS, '--in-kernel', 'no', '--', workload('flood'),
                   '10000')
    assert calls(found)['getppid']['calls'] == 10000
    assert 'exit_group' not in calls(found)
    assert found.get('remarks', []) == []


def test_counts_errors_of_system_calls():
    found = calls(report('--impl', 'syscalls', '-e', 'raw_syscalls:sys_enter',
                         '-e', 'raw_syscalls:sys_exit', '--', workload('sleeps'), 0, 0, 100, 37))
    opens = found.get('openat') or found['open']
    assert opens['errors'] == 37
    assert opens['calls'] >= 100
    assert found['close']['errors'] == 37


def test_durations_of_system_calls():
    found = calls(report('--impl', 'syscalls', '--than', '19ms', '--', workload('sleeps'), 10, 20))
    sleep = found.get('clock_nanosleep') or found['nanosleep']
    assert sleep['calls'] == 10
    assert sleep['than'] == 10
    assert sleep['min'] >= 20e6
    assert sleep['min'] <= sleep['p50'] <= sleep['p95'] <= sleep['p99'] <= sleep['max']
    assert sleep['total'] >= 10 * sleep['min']


def test_system_calls_by_thread():
    found = rows(report('--impl', 'syscalls', '--perins', '--', workload('threadcalls')),
                 'system calls')
    assert all(r['tid'] > 0 and r['comm'] for r in found)
    assert len({r['tid'] for r in found}) > 1


def test_children_return_from_clone():
    """A child returns from a system call that its parent entered: not an end without a start."""
    found = report('--impl', 'syscalls', '--', workload('forks'))
    assert not any('no start' in remark for remark in found.get('remarks', []))


def own_part_of_calls():
    """What one run remarks, and its shortest calls with inherited events and without."""
    forks = workload('forks')
    found = report('--impl', 'syscalls', *RINGS, '--in-kernel', 'no', '--', forks, 1000)
    remark, = [r for r in found['remarks'] if 'longer than without attar' in r]
    create, total, end = map(float, re.findall(r'([\d.]+) [um]s', remark))
    assert total == pytest.approx(create, rel=0.02)  # ms of 1000 calls, us of one
    assert 0 < end < create
    alone = [r for r in rows(report('--impl', 'syscalls', '-a', '--perins', '-m', 4096, '--',
                                    forks, 1000), 'system calls') if r['comm'] == 'forks']
    return create * 1000, calls(found)['clone']['min'], min(
        r['min'] for r in alone if r['syscall'].startswith('clone'))


def test_own_part_of_calls_that_create_tasks():
    """
    The same program as one of all tasks, whose events no task inherits: the shortest clone() is
    shorter by what the remark says. The shortest ones of several runs vary least.
    """
    created, inherited, alone = zip(*[own_part_of_calls() for _ in range(4)])
    create = statistics.median(created)
    assert create / 2 < min(inherited) - min(alone) < create * 2.5, (created, inherited, alone)


@pytest.mark.parametrize('words', [['-a', '--', 'forks', 100], ['--', 'sleeps', 2, 1]])
def test_no_own_part(words):
    """If no task has inherited events, or none was created."""
    words = [workload(word) if word in ('forks', 'sleeps') else word for word in words]
    found = report('--impl', 'syscalls', *RINGS, *words)
    assert 'longer than without attar' not in str(found.get('remarks'))


def test_only_than_ignores_short_calls():
    found = calls(report('--impl', 'syscalls', '--only-than', '19ms', '--',
                         workload('sleeps'), 3, 20, 5))
    assert len(found) == 1
    assert next(iter(found.values()))['calls'] == 3


# ---- delays ----

def test_run_delays_of_wakeups():
    name = f'sleeper{os.getpid()}'  # tests that run at the same time have the usual one
    found = report(*SYSTEM, *wakeups_of(name), '--', workload('wakeups23'), 23, name)
    assert [(r['start'], r['end'], r['calls']) for r in rows(found)] == [
        ('sched:sched_wakeup', 'sched:sched_switch', 23)]


@pytest.mark.usefixtures('busy_cpus')
def test_sleeps_from_switch_to_switch(tmp_path):
    """
    For a thread that is never preempted and has a unique name. Some kernels omit one switch
    in hundreds, for perf too: the sleep before it is then replaced by the next one.
    """
    program = tmp_path / f'sleeps{os.getpid()}'
    shutil.copy(workload('sleeps'), program)
    found = report(*SYSTEM, '--than', '19ms',
                   '-e', f'sched:sched_switch/prev_comm=="{program.name}" && prev_state==1/'
                   'key=prev_pid/alias=off/',
                   '-e', f'sched:sched_switch/next_comm=="{program.name}"/key=next_pid/alias=on/',
                   '--', 'chrt', '-f', 50, program, 10, 20)
    omitted = sum(int(n) for remark in found.get('remarks', [])
                  for n in re.findall(r'^(\d+) starts? of off', remark))
    assert omitted <= 2
    assert [(r['start'], r['end'], r['than']) for r in rows(found)] == [('off', 'on', 10 - omitted)]


def test_stages_and_cycle():
    enter, leave = 'syscalls:sys_enter_', 'syscalls:sys_exit_'
    events = ['-e', f'{enter}close,{enter}openat', '-e', f'{leave}close,{leave}openat',
              '-e', f'{enter}exit_group']
    pairs = {(r['start'].split(':')[1], r['end'].split(':')[1]): r['calls']
             for r in rows(report(*events, '--cycle', '--', workload('sleeps'), 0, 0, 50))}
    opens = pairs['sys_enter_openat', 'sys_exit_openat']
    assert opens >= 50
    assert pairs['sys_enter_close', 'sys_exit_close'] == opens
    assert pairs['sys_exit_close', 'sys_enter_exit_group'] == 1
    assert len(pairs) == 3
    # without the last stage, --cycle pairs each exit with the next enter
    pairs = {(r['start'].split(':')[1], r['end'].split(':')[1]): r['calls']
             for r in rows(report(*events[:4], '--cycle', '--', workload('sleeps'), 0, 0, 50))}
    assert pairs['sys_exit_openat', 'sys_enter_close'] == opens
    assert pairs['sys_exit_close', 'sys_enter_openat'] == opens - 1


def test_one_event_in_a_cycle():
    found = rows(report('-e', 'syscalls:sys_enter_getppid', '--cycle', '--',
                        workload('flood'), 1000))
    assert [r['calls'] for r in found] == [999]


def test_role_selects_starts():
    found = rows(report('-e', 'raw_syscalls:sys_enter//role=(syscall_name(id)=="getppid")/',
                        '-e', 'raw_syscalls:sys_exit', '--', workload('flood'), 1000))
    assert [r['calls'] for r in found] == [1000]


def test_by_key():
    found = rows(report('--perins', '-k', 'id', '-e', 'raw_syscalls:sys_enter',
                        '-e', 'raw_syscalls:sys_exit', '--', workload('flood'), 1000))
    assert max(r['calls'] for r in found) == 1000
    assert len({r['id'] for r in found}) == len(found) > 3


def test_pairs_and_unpaired():
    found = report('--impl', 'pair', '-e', 'syscalls:sys_enter_getppid',
                   '-e', 'syscalls:sys_enter_exit_group', '--', workload('flood'), 1000)
    assert [r['pairs'] for r in rows(found)] == [1]
    assert [(r['event'], r['events']) for r in rows(found, 'unpaired')] == [('start', 999)]


def test_unpaired_are_reported():
    found = report('-e', 'syscalls:sys_enter_getppid', '-e', 'syscalls:sys_enter_exit_group', '--',
                   workload('flood'), 1000)
    assert any('999 starts' in remark for remark in found['remarks'])


def test_exit_drops_starts():
    """A start of an exiting thread is not paired with events of later threads."""
    found = report('--impl', 'pair', '-e', 'syscalls:sys_enter_exit',
                   '-e', 'syscalls:sys_exit_exit', '--', workload('threads2'))
    assert rows(found) == []
    assert {r['reason'] for r in rows(found, 'unpaired')} == {'thread exited before the end'}


def test_intervals_add_up():
    ended = run('multi-trace', '--format', 'json', '-i', '5ms', '--impl', 'syscalls', *RINGS,
                '--', workload('flood'), '10000')
    total = 0
    for line in ended.stdout.splitlines():
        found = calls(json.loads(line))
        total += found['getppid']['calls'] if 'getppid' in found else 0
    assert total == 10000


# ---- recordings ----

# as the format prints it, or perf's plugin for it
WAKEUP = re.compile(r'(?: pid=|:)(\d+) (?:prio=|\[)')
SWITCH = re.compile(r'(?:prev_pid=|:)(\d+) (?:prev_prio=-?\d+ prev_state=|\[-?\d+\] )(\S+) ==> '
                    r'.*(?:next_pid=|:)(\d+) (?:next_prio|\[)')
EVENT = re.compile(r'^\s*(.*?)\s+(-?\d+)\s+\[(\d+)\]\s+(\d+)\.(\d+):\s+([\w:]+):\s+(.*)$')


def events_of(data):
    """Yield (tid, time in ns, event, fields) of perf script."""
    for line in perf('script', '-i', data, '--ns', '-F', 'comm,tid,cpu,time,event,trace'
                     ).splitlines():
        m = EVENT.match(line)
        if m:
            yield int(m[2]), int(m[4]) * 10**9 + int(m[5]), m[6], m[7]


@pytest.mark.usefixtures('needs_perf')
def test_run_delays_of_a_recording(recording):
    """Keys, replaced starts and latencies are those of a script."""
    started, latencies = {}, []
    for _, time, event, fields in events_of(recording):
        if event == 'sched:sched_wakeup':
            started[int(WAKEUP.search(fields)[1])] = time
        elif event == 'sched:sched_switch':
            tid = int(SWITCH.search(fields)[3])
            if tid in started:
                latencies.append(time - started.pop(tid))
    found = rows(report('--input', recording, '-e', 'sched:sched_wakeup//key=pid/',
                        '-e', 'sched:sched_switch//key=next_pid/'))
    assert [(r['calls'], r['total'], r['min'], r['max']) for r in found] == [
        (len(latencies), sum(latencies), min(latencies), max(latencies))]
    assert len(latencies) >= 23


@pytest.mark.usefixtures('needs_perf')
def test_wakeups_of_a_recording(recording):
    found = report('--input', recording, *WAKEUPS)
    assert [r['calls'] for r in rows(found)] == [23]


@pytest.mark.usefixtures('needs_perf')
def test_system_calls_of_a_recording(recording):
    started, times, errors = {}, {}, {}
    for tid, time, event, fields in events_of(recording):
        number = int(re.search(r'NR (-?\d+)', fields)[1]) if 'raw' in event else None
        if event == 'raw_syscalls:sys_enter':
            started[tid] = number, time
        elif event == 'raw_syscalls:sys_exit' and tid in started:
            ret = int(re.search(r'= (-?\d+)', fields)[1])
            number, since = started.pop(tid)
            times.setdefault(number, []).append(time - since)
            errors[number] = errors.get(number, 0) + (-4095 <= ret < 0)
    found = rows(report('--input', recording, '--impl', 'syscalls'), 'system calls')
    assert {int(re.search(r'\((-?\d+)\)', r['syscall'])[1]):
            (r['calls'], r['total'], r['min'], r['max'], r['errors']) for r in found} == {
                number: (len(all), sum(all), min(all), max(all), errors[number])
                for number, all in times.items()}


@pytest.mark.usefixtures('needs_perf')
def test_run_delay_can_be_expressed(recording):
    """A wakeup or a preemption starts the delay, the switch to the task ends it."""
    started, delays = {}, {}
    for _, time, event, fields in events_of(recording):
        if event == 'sched:sched_wakeup':
            started[int(WAKEUP.search(fields)[1])] = event, time
        elif event == 'sched:sched_switch':
            m = SWITCH.search(fields)
            if m[2][0] == 'R' and m[1] != '0':
                started[int(m[1])] = 'preempted', time
            if int(m[3]) in started:
                name, since = started.pop(int(m[3]))
                delays.setdefault(name, []).append(time - since)
    events = [e.replace('wakeup*', 'wakeup') for e in RUN_DELAY]
    found = rows(report('--input', recording, *events))
    assert {r['start']: (r['calls'], r['total'], r['max']) for r in found} == {
        name: (len(all), sum(all), max(all)) for name, all in delays.items()}


def test_run_delay_live():
    found = rows(report(*SYSTEM, *RUN_DELAY, '--', workload('wakeups23')))
    assert sum(r['calls'] for r in found if r['start'] == 'sched:sched_wakeup') >= 23


def test_heatmap_has_each_pair(tmp_path):
    found = report('--heatmap', tmp_path / 'map', *RINGS, '-e',
                   'raw_syscalls:sys_enter//alias=enter/', '-e', 'raw_syscalls:sys_exit', '--',
                   workload('flood'), 1000)
    lines = (tmp_path / 'map-enter-raw_syscalls:sys_exit.lat').read_text().splitlines()
    times = [int(line.split()[0]) for line in lines]
    assert times == sorted(times)
    row, = rows(found)
    assert row['calls'] == len(lines)
    assert row['total'] == sum(int(line.split()[1]) for line in lines)


def test_heatmap_cannot_be_written():
    ended = run('multi-trace', '--heatmap', '/nonexistent/map', '--impl', 'syscalls', '--', 'true')
    assert ended.returncode == 1
    assert "--heatmap: cannot write '/nonexistent/map-syscalls.lat'" in ended.stderr


# ---- single pairs ----

def lines_of(data, *args):
    """Return the lines of --detail, by pair."""
    ended = run('multi-trace', '--format', 'json', '--input', data, *args)
    assert ended.returncode == 0, ended.stderr
    pairs = {}
    for line in ended.stdout.splitlines():
        found = json.loads(line)
        for row in rows(found, 'detail') if found['sections'][0]['name'] == 'detail' else []:
            pairs.setdefault(row['pair'], []).append(row)
    return list(pairs.values()), found


@pytest.mark.usefixtures('needs_perf')
def test_detail_prints_start_and_end(recording):
    pairs, found = lines_of(recording, *WAKEUPS, '--detail')
    assert [[line['part'] for line in pair] for pair in pairs] == [['start', 'end']] * 23
    assert all(pair[0]['offset'] == 0 for pair in pairs)
    assert sum(pair[1]['offset'] for pair in pairs) == rows(found)[0]['total']
    assert all('comm=sleeper' in pair[0]['fields'] for pair in pairs)


@pytest.mark.usefixtures('needs_perf')
def test_detail_prints_what_is_between(recording):
    """All events of the recording between start and end, in order of time."""
    others = ['-e', 'raw_syscalls:*//untraced/,sched:sched_switch//untraced/alias=any/']
    pairs, found = lines_of(recording, *WAKEUPS, *others, '--detail')
    times = [time for _, time, event, _ in events_of(recording) if event != 'sched:sched_wakeup']
    assert len(pairs) == 23
    for pair in pairs:
        offsets = [line['offset'] for line in pair]
        assert offsets == sorted(offsets)
        assert pair[0]['part'] == 'start' and pair[-1]['part'] in ('end', 'between')
    assert sum(r['calls'] for r in rows(found)) == 23  # untraced events are in no pair
    around, _ = lines_of(recording, *WAKEUPS, *others, '--detail=-1ms,+1ms')
    assert sum(map(len, around)) > sum(map(len, pairs))
    assert {line['part'] for pair in around for line in pair} >= {'before', 'start', 'end', 'after'}
    assert all(-1e6 <= line['offset'] <= pair[-1]['offset'] for pair in around for line in pair)
    few, _ = lines_of(recording, *WAKEUPS, *others, '--detail=-1ms,+1ms,sametid')
    assert 46 <= sum(map(len, few)) < sum(map(len, around))
    hidden, _ = lines_of(recording, *WAKEUPS, *others, '--detail=-1ms,+1ms,hide<1s')
    assert all(line['part'] in ('start', 'end', 'before') for pair in hidden for line in pair)
    assert times == sorted(times)


@pytest.mark.usefixtures('needs_perf')
def test_detail_of_long_pairs_only(recording):
    pairs, found = lines_of(recording, *WAKEUPS, '--detail', '--than', '3us', '--only-than', '2us')
    assert len(pairs) == sum(r['than'] for r in rows(found))


# ---- losses ----

CALLS, FIRST = 200000, 1 << 40
SEEKS = f'''
import os
file = os.memfd_create('x')
for i in range({FIRST}, {FIRST + CALLS}):
    os.lseek(file, i, os.SEEK_SET)
'''


def test_pairs_in_an_overrun_are_dropped():
    """
    lseek() returns its argument, so that a pair of events of two calls can be recognized: there is
    none, although most events are lost.
    """
    ended = run('multi-trace', '--format', 'json', '-m', 1, '-e', 'syscalls:sys_enter_lseek',
                '-e', 'syscalls:sys_exit_lseek', '--detail', '--', '/usr/bin/python3', '-S', '-c',
                SEEKS)
    assert ended.returncode == 0, ended.stderr
    found = [json.loads(line) for line in ended.stdout.splitlines()]
    lines = [row for part in found[:-1] for row in rows(part, 'detail')]
    offsets = {r['pair']: int(re.search('offset: (0x[0-9a-f]+)', r['fields'])[1], 16)
               for r in lines if r['part'] == 'start'}
    results = {r['pair']: int(r['fields'], 16) for r in lines if r['part'] == 'end'}
    pairs = [(offset, results[n]) for n, offset in offsets.items()
             if FIRST <= offset < FIRST + CALLS]
    notes, remarks = found[-1]['notes'], ' '.join(found[-1]['remarks'])
    assert 0 < len(pairs) < CALLS and notes['lost'] > 0
    assert [pair for pair in pairs if pair[0] != pair[1]] == []
    unpaired = sum(map(int, re.findall(r'(\d+) (?:start|end)s? of', remarks)))
    assert notes['seen'] == 2 * rows(found[-1])[0]['calls'] + unpaired
    assert re.search(r'\d+ open while events were lost', remarks)


# ---- bad options ----

@pytest.mark.parametrize('words, end, is_said', [
    ([], 'sched:sched_process_free/pid==-1/key=pid/', True),
    (['-a'], 'sched:sched_process_free/pid==-1/key=pid/', False),
    ([], 'sched:sched_process_exit//key=pid/', False)])
def test_ends_in_other_tasks_are_remarked_on(words, end, is_said):
    """If no start has an end, and only some tasks are watched."""
    found = report(*words, '-e', 'sched:sched_process_fork//key=child_pid/', '-e', end, '--',
                   'sh', '-c', '(true); true')
    said = [r for r in found.get('remarks', []) if r.startswith('no start of sched:sched_process_')]
    assert len(said) == is_said
    assert all('-a records' in r and '-k' not in r for r in said)


@pytest.mark.parametrize('words, is_said', [([], True), (['-a'], False)])
def test_starts_in_other_tasks_are_remarked_on(words, is_said):
    """A task is woken up by others, in which the wakeup happens: it sleeps 30 times."""
    found = report(*words, '-e', 'sched:sched_wakeup', '-e',
                   'sched:sched_switch/prev_state!=0/key=prev_pid/', '-k', 'pid', '--',
                   workload('sleeps'), 30, 1)
    said = [r for r in found.get('remarks', []) if 'have no start: starts may be events of' in r]
    assert [r.startswith('most ends of sched:sched_wakeup > ') for r in said] == [True] * is_said
    assert all('-a records' in r and '-k' not in r for r in said)


@pytest.mark.parametrize('profiler', [['syscalls'], ['multi-trace', '--impl', 'syscalls']])
def test_the_thread_can_be_given_as_the_key_of_system_calls(profiler):
    """As perf-prof requires it; any other key is refused."""
    words = ['-e', 'raw_syscalls:sys_enter', '-e', 'raw_syscalls:sys_exit']
    found = run_delivered(*profiler, *words, '-k', 'common_pid', *RINGS, '--format', 'json', '--',
                          workload('flood'), 1000)
    assert found.returncode == 0, found.stderr
    assert calls(json.loads(found.stdout.splitlines()[-1]))['getppid']['calls'] == 1000
    refused = run(*profiler, *words, '-k', 'id', '--', 'true')
    assert refused.returncode == 2
    assert '--key is not supported for system calls' in refused.stderr


@pytest.mark.parametrize('args, sentence', [
    ([], 'give two -e options, or one and --cycle'),
    (['-e', 'sched:sched_switch'], 'give two -e options, or one and --cycle'),
    (['-e', 'sched:sched_switch', '-e', 'sched:sched_wakeup//untraced/'],
     'give two -e options, or one and --cycle'),
    (['--impl', 'nothing', '-e', 'sched:sched_switch'], "'nothing' is not one of delay, pair"),
    (['-e', 'sched:sched_switch//key=prev_comm/', '-e', 'sched:sched_wakeup//key=pid/'],
     'have different types'),
    (['-e', 'sched:sched_switch//key=prev_pid/', '-e', 'sched:sched_wakeup'],
     'have different types'),
    (['-e', 'sched:sched_switch', '-e', 'sched:sched_wakeup', '-k', 'prev_pid'],
     "no such field or variable 'prev_pid'"),
    (['-e', 'sched:sched_switch', '-e', 'sched:sched_wakeup//role=prio+/'], 'role'),
    (['--impl', 'syscalls', '-e', 'raw_syscalls:sys_enter'], 'give no -e, or two: '),
    (['--impl', 'syscalls', '-e', 'sched:sched_switch', '-e', 'raw_syscalls:sys_exit'],
     "'sched:sched_switch' has no field"),
    (['--impl', 'syscalls', '-k', 'id'], '--key is not supported for system calls'),
    (['--impl', 'syscalls', '--detail'], '--detail is not supported for system calls'),
    (['--impl', 'syscalls', '--hist'], '--hist is not supported for system calls'),
    (['-e', 'sched:sched_switch', '-e', 'sched:sched_wakeup', '--detail=samebus'],
     "'samebus' is not one of -TIME, +TIME, 1, 2, samecpu"),
    (['--impl', 'syscalls', '--cycle'], '--cycle is not supported for system calls'),
    (['--impl', 'syscalls', '--tasks'], '--tasks is not supported for system calls'),
    (['-e', 'sched:sched_switch', '-e', 'sched:sched_wakeup', '--than', 'soon'], '--than'),
])
def test_refusals(args, sentence):
    ended = run('multi-trace', *args, '--', 'true')
    assert ended.returncode == 2, ended.stderr
    assert sentence in ended.stderr


NAMED = """event sched:sched_wakeup comm:char[16] pid:pid_t
event sched:sched_switch prev_comm:char[16] prev_pid:pid_t prev_state:long next_comm:char[16] \
next_pid:pid_t
event my:wake pid:pid_t
1.000 0 9/9 waker sched:sched_wakeup comm=old pid=42
1.002 0 0/0 swapper sched:sched_switch next_comm=old next_pid=42
1.010 0 42/42 new sched:sched_switch prev_comm=new prev_pid=42 prev_state=0 next_comm=b next_pid=43
1.013 0 43/43 b sched:sched_switch prev_comm=b prev_pid=43 prev_state=1 next_comm=new next_pid=42
1.020 0 43/43 b my:wake pid=42
1.021 0 43/43 b my:wake pid=42
1.022 0 43/43 b my:wake pid=77
1.025 0 43/43 b my:wake pid=77
""".replace('\\\n', '')


DELAYS = {('pid', 42, 'old', 'sched:sched_wakeup', 2),
          ('pid', 42, 'new', 'sched:sched_switch', 3)}
# Events of the scheduler have their keys by themselves: pid, prev_pid and next_pid.
DELAYED = ['rundelay', '-e', 'sched:sched_wakeup*,sched:sched_switch', '-e', 'sched:sched_switch']


@pytest.mark.quick
@pytest.mark.parametrize('words, expected', [
    (['rundelay'], DELAYS), (DELAYED, DELAYS), ([*DELAYED, '-k', 'pid'], DELAYS),
    ([*DELAYED, '-t', '43'], set()),
    ([*DELAYED, '-p', '42', '--detail=samekey'], {('pid', 42, 'new', 'sched:sched_switch', 3)}),
    ([*DELAYED, '--filter', 'x,ne*'], {('pid', 42, 'new', 'sched:sched_switch', 3)}),
    ([*DELAYED, '--filter', 'x,ol*'], set()),
    (['rundelay', '-e', 'sched:sched_wakeup', '-e', 'sched:sched_switch'],
     {('pid', 42, 'old', 'sched:sched_wakeup', 2)}),
    (['rundelay', '-e', 'sched:sched_wakeup,my:wake//key=pid/', '-e', 'sched:sched_switch'],
     {('pid', 42, 'old', 'sched:sched_wakeup', 2)}),
    (['cpudist'], {('next_pid', 42, 'new', 'switched in', 8),
                   ('next_pid', 43, 'b', 'switched in', 3)}),
    (['multi-trace', '--tasks', '--cycle', '-e', 'my:wake//key=pid/'],
     {('pid', 42, 'new', 'my:wake', 1), ('pid', 77, '', 'my:wake', 3)}),
], ids=lambda v: ' '.join(v) if isinstance(v, list) else '')
def test_rows_of_tasks_have_names(tmp_path, words, expected):
    """The name in the event that ends the pair, or else that of the thread, if known."""
    found = of_script(tmp_path, NAMED, *words, '--perins')
    columns = [column['name'] for column in section(found, 'pairs')['columns']]
    assert columns[1:4] == ['comm', 'start', 'end']
    assert {(columns[0], row[columns[0]], row['comm'], row['start'], row['total'] // 10**6)
            for row in rows(found)} == expected


@pytest.mark.quick
def test_mean_of_times(tmp_path):
    """2 ms and 5 ms."""
    text = NAMED + '1.030 0 9/9 waker sched:sched_wakeup comm=old pid=42\n' \
        '1.035 0 0/0 swapper sched:sched_switch next_comm=old next_pid=42\n'
    row = next(r for r in rows(of_script(tmp_path, text, 'rundelay', '--avg', '--than', '3ms'))
               if r['start'] == 'sched:sched_wakeup')
    assert (row['calls'], row['total'], row['avg'], row['than']) == (2, 7_000_000, 3_500_000, 1)
    assert 'avg' not in rows(of_script(tmp_path, text, 'rundelay'))[0]


@pytest.mark.xdist_group('calls of programs')  # -a enables and shows those of all tests
@pytest.mark.usefixtures('root')
def test_events_of_programs_without_cpu():
    """The CPU of events from shared memory is unknown: each program has 99 gaps between calls."""
    emit = f'{workload("emit")} calls 100'
    found = report('-a', '-e', 'user_events:e2e_end', '-e', 'user_events:e2e_begin',
                   '--', 'sh', '-c', f'{emit} & {emit} & wait')
    assert [row['calls'] for row in rows(found)] == [2 * 99]
    assert sum('of user_events:e2e_end > user_events:e2e_begin are not part of a pair' in remark
               for remark in found['remarks']) == 2
