# SPDX-License-Identifier: MIT
"""--from and --to: a part of a recording has the report of a recording of that part alone."""
import json
import math
import os
import struct

import pytest

from command import run
from scripts import report, rows, rows_of

# ---- times: scripts ----

START = 1700000000 # 2023-11-14 22:13:20 UTC
EVENTS = f'''# attar script
event t:ev a:u32
event t:begin id:u32
event t:end id:u32
wall {START}
1 0 1/1 x t:ev a=1
2 0 1/1 x t:ev a=2
2.5 0 1/1 x lost 3
3 0 1/1 x t:ev a=3
4.25 0 1/1 x t:ev a=4
'''


@pytest.fixture(autouse=True)
def utc(monkeypatch):
    monkeypatch.setenv('TZ', 'UTC')


@pytest.fixture
def recorded(script):
    return script(EVENTS)


def numbers(path, *args):
    """Return the values of the field a, and the length of the report."""
    done = run('trace', '-e', 't:ev', '--format', 'json', '--input', path, *args)
    assert done.returncode == 0, done.stderr
    reports = [json.loads(line) for line in done.stdout.splitlines()]
    found = [row['values']['a'] for r in reports for s in r['sections'] if s['kind'] == 'events'
             for row in rows_of(s)]
    return found, reports[-1]['interval_ns'] / 1e9


@pytest.mark.parametrize('words, found, seconds', [
    ('--from 1', [2, 3, 4], 2.25),
    ('--from=1.000000001', [3, 4], 2.249999999),
    ('--to 2', [1, 2], 2),
    ('--to 2.000000001', [1, 2, 3], 2.000000001),
    ('--from 22:13:22 --to 22:13:23.5', [2, 3], 1.5),
    ('--from 22:13', [1, 2, 3, 4], 3.25),
    ('--from 2023-11-14T22:13:23', [3, 4], 1.25),
    ('--from=-1.25s', [3, 4], 1.25),
    ('--from -2s --to -1s', [3], 1),
    ('--from 1500ms --to 1600ms', [], 0.1),
    ('--at 22:13:22 --for 1s', [2], 1),
    ('--from 1 --for 500ms', [2], 0.5),
    ('--from 1 -d 0.5', [2], 0.5),
    ('--from 1 -d 10 --to 1.5', [2], 0.5),
    ('--from 1 -N 1', [2], 0),
    ('--from 3 --for 10', [4], 0.25),
])
def test_range(recorded, words, found, seconds):
    assert numbers(recorded, *words.split()) == (found, pytest.approx(seconds, abs=1e-12))


def test_date_with_a_blank(recorded):
    assert numbers(recorded, '--from', '2023-11-14 22:13:23')[0] == [3, 4]


@pytest.mark.parametrize('words, sentence', [
    ('--from x', "--from: 'x' is not a time: use a time of day (03:12:40.5), a date (2026-11-30 "
     '03:12:40), seconds since the start of the recording (12.5) or before its end (-30s)'),
    ('--to 24:00', "--to: '24:00' is not a time"),
    ('--from 22:13:60', "'22:13:60' is not a time"),
    ('--from 22:1', "'22:1' is not a time"),
    ('--from 22:13:20.', "'22:13:20.' is not a time"),
    ('--from 2023-02-29T10:00', "'2023-02-29T10:00' is not a time"),
    ('--at 2023-11-14', "--at: '2023-11-14' is not a time"),
    ('--from 3 --to 2', '--to 2 is not after --from 3'),
    ('--from 2 --to 2', '--to 2 is not after --from 2'),
    ('--from 9', 'which has events from 2023-11-14 22:13:21.000000 to 2023-11-14 22:13:24.250000'),
    ('--from 23:00', '--from 23:00 is outside of the recording'),
    ('--to 22:13:20.9', '--to 22:13:20.9 is outside of the recording'),
    ('--at 22:13:20 --for 1s', '--at 22:13:20 is outside of the recording'),
    ('--for 1s', '--for requires --at, the time at which it begins'),
    ('--from 1 --at 1', '--from and --at are the same: give one of them'),
    ('--from 1 --to 2 --for 1', '--to and --for are mutually exclusive'),
])
def test_bad_range(recorded, words, sentence):
    done = run('trace', '--input', recorded, *words.split())
    assert done.returncode == 2 and done.stdout == ''
    assert sentence in done.stderr and done.stderr.count('\n') == 1


def test_only_of_recordings():
    done = run('trace', '--pull', '9', '--to', '1')
    assert done.returncode == 2 and '--to conflicts with --pull' in done.stderr


def test_midnight(script):
    """The day is that on which the recording has the time; otherwise the nearest one."""
    path = script('# attar script\nevent t:ev a:u32\nwall 1700005740\n' + ''.join(
        f'{60 * n + 60} 0 1/1 x t:ev a={n}\n' for n in range(30))) # 23:50 to 00:19
    assert numbers(path, '--from', '23:55', '--to', '00:10')[0] == list(range(5, 20))
    assert numbers(path, '--from', '00:10')[0] == list(range(20, 30))
    assert numbers(path, '--from', '23:40', '--to', '23:51')[0] == [0]
    assert numbers(path, '--from', '00:10', '--to', '00:30')[0] == list(range(20, 30))
    done = run('trace', '--input', path, '--from', '00:30')
    assert done.returncode == 2 and '--from 00:30 is outside' in done.stderr


def test_remarks_on_what_the_recording_lacks(recorded):
    found = report('top', '-e', 't:ev', '--input', recorded, '--from', '22:13', '--to', '22:14')
    assert '--from 22:13 is before the first event, at 2023-11-14 22:13:21.000000' in str(found)
    assert ('the recording ends before the time of --to, with an event at 2023-11-14 '
            '22:13:24.250000') in str(found)
    found = report('top', '-e', 't:ev', '--input', recorded, '--from', '1', '--to', '2')
    assert 'before' not in str(found['remarks'])


def test_pipe(recorded):
    """Its start is known with the first event, and its end is not."""
    for words, expected in (['--from', '1', '--to', '3'], [2, 3]), (['--from', '22:13:23'], [3, 4]):
        with open(recorded) as file:
            done = run('sql', '--query', 'SELECT a FROM ev', '--format', 'csv', '--input', '-',
                       *words, stdin=file)
        assert done.returncode == 0, done.stderr
        assert [int(line.split(',')[1]) for line in done.stdout.splitlines()[1:]] == expected


def test_list_shows_the_times(recorded):
    done = run('list', '--json', '--input', recorded)
    assert done.returncode == 0, done.stderr
    assert rows(json.loads(done.stdout), 'times') == [{
        'first event': (START + 1) * 10**9, 'last event': START * 10**9 + 4250000000,
        'duration': 3250000000}]
    assert '22:13:21.000000  22:13:24.250000' in run('list', '--input', recorded).stdout


@pytest.mark.parametrize('words, lost', [
    ('', 3), ('--from 1', 3), ('--from 1.25', 3), ('--from 1.75', 0), ('--to 1', 0),
    ('--from 2', 0)])
def test_losses(recorded, words, lost):
    """One that lasted beyond the beginning counts: it was from 2 s to 2.5 s."""
    notes = report('top', '-e', 't:ev', '--input', recorded, *words.split())['notes']
    assert notes['lost'] == lost
    assert notes['seen'] == len(numbers(recorded, *words.split())[0])


def test_counts_of_whole_threads_have_no_parts(script):
    path = script('# attar script\nevent cycles counted\nevent t:ev a:u32\n'
                  '1 0 1/1 x t:ev a=1\n2 0 1/1 x count cycles=7\n3 0 1/1 x t:ev a=1\n')
    assert run('stat', '-e', 'cycles', '--input', path).returncode == 0
    done = run('stat', '-e', 'cycles', '--input', path, '--from', '1')
    assert done.returncode == 2
    assert 'conflict with the counts' in done.stderr


def test_timers_count_from_the_sample_before(script):
    """The counts in samples are those since the recording began."""
    path = script('# attar script\nevent t:ev a:u32\nevent cpu-clock counts=t:ev\n' + ''.join(
        f'{n} 0 1/1 x cpu-clock counts={10 * n}\n' for n in range(1, 6)))
    words = ['hrcount', '-e', 't:ev', '--period', '1s', '--input', path]
    sums = [sum(row['t:ev'] for row in rows_of(report(*words, *more)['sections'][0]))
            for more in ([], ['--from', '2'], ['--from', '2', '--to', '3'])]
    assert sums == [50, 30, 10]


def test_records_before_the_range_are_not_counted(script):
    path = script('# attar script\nevent t:ev a:u32\n1 0 1/1 first t:ev\n'
                  '2 0 1/1 first mmap 0x1000 0x1000 0 r-xp /bin/x\n2.5 0 1/1 first fork 7/7\n'
                  '3 0 1/1 first t:ev\n4 0 1/1 first mmap 0x2000 0x1000 0 r-xp /bin/x\n'
                  '6 0 1/1 first t:ev\n')

    def counts(*words):
        found = report('misc', '--input', path, *words)
        return {row[0]: row[1] for s in found['sections'] if s['kind'] == 'table'
                for row in s['rows']}

    whole, part = counts(), counts('--from', '1.5')
    assert (whole['mmap'], part['mmap']) == (2, 1) and (whole['comm'], part['comm']) == (1, 0)


def test_mappings_from_before_the_range(script):
    path = script('# attar script\nevent page-faults sampled\n'
                  '1 0 7/7 work page-faults addr=0x9000\n'
                  '2 0 7/7 work mmap 0x1000 0x1000 0 rw-p /bin/x\n'
                  '3 0 7/7 work page-faults addr=0x1010\n')
    found = report('page-faults', '--input', path, '--from', '1.5')
    assert '/bin/x' in str(found['sections'])


def test_database_has_no_parts(recorded, tmp_path):
    assert run('top', '-q', '-e', 't:ev', '--input', recorded, '-o',
               tmp_path / 'x.db').returncode == 0
    done = run('sql', '--input', tmp_path / 'x.db', '--query', 'SELECT 1', '--to', '1')
    assert done.returncode == 2
    assert '--input of a database conflicts with --to' in done.stderr


PAIRS = EVENTS + '''1.5 0 1/1 x t:begin id=1
1.7 0 1/1 x t:end id=1
2.9 0 1/1 x t:begin id=2
3.1 0 1/1 x t:end id=2
3.2 0 1/1 x t:begin id=3
3.3 0 1/1 x t:end id=3
'''


@pytest.mark.parametrize('words, calls', [
    ('', 3), ('--from 2', 1), ('--to 2', 1), ('--from 1.8 --to 2.2', 1), ('--from 0.4 --to 2.2', 2),
])
def test_a_pair_counts_within_the_range_only(script, words, calls):
    """The second pair is open at 3 s, which is 2 s since the start."""
    found = report('multi-trace', '--perins', '-k', 'id', '-e', 't:begin', '-e', 't:end', '--input',
                   script(PAIRS), *words.split())
    table = [s for s in found['sections'] if s['kind'] == 'table']
    assert sum(row['calls'] for s in table for row in rows_of(s)) == calls


STATES = f'''# attar script
event sched:sched_switch prev_comm:char[16] prev_pid:pid_t prev_prio:int prev_state:long \
next_comm:char[16] next_pid:pid_t next_prio:int
event sched:sched_wakeup comm:char[16] pid:pid_t prio:int target_cpu:int
event sched:sched_wakeup_new comm:char[16] pid:pid_t prio:int target_cpu:int
wall {START}
0.5 0 9/9 other fork 7/7
1 0 0/0 idle sched:sched_switch prev_pid=0 next_pid=9 next_comm=other
1.5 0 9/9 other sched:sched_switch prev_pid=9 prev_state=1 prev_comm=other next_pid=0
2 0 0/0 idle sched:sched_switch prev_pid=0 next_pid=7 next_comm=work
6 0 7/7 work sched:sched_switch prev_pid=7 prev_state=1 prev_comm=work next_pid=0
8 0 0/0 idle sched:sched_wakeup pid=7 comm=work
8 0 0/0 idle sched:sched_switch prev_pid=0 next_pid=7 next_comm=work
9 0 7/7 work sched:sched_switch prev_pid=7 prev_state=1 prev_comm=work next_pid=0
'''.replace('\\\n', '')


@pytest.mark.parametrize('words, time, running', [
    ('--from 0.5 --to 4', 3, 3), ('--from 4 --to 6.5', 1.5, 0), ('--from 5.5 --to 8.5', 1, 1),
    ('--from 0.5 --to 7', 6, 4)])
def test_states_are_cut_at_the_edges(script, words, time, running):
    """Thread 7 runs from second 2 to 6 and 8 to 9. Before its first event its state is unknown."""
    found = report('wall', '--input', script(STATES), *words.split())
    row, = [row for row in rows(found, 'threads') if row['tid'] == 7]
    assert row['time'] == time * 10**9
    assert math.isclose(row['running'], 100 * running / time)


# ---- a recording, and the same without what happened before and after ----

SKIPPED = 82 # a record of perf's tools, without contents that matter
UPDATES_OF_TASKS = range(0x61740004, 0x61740007) # states at the start and at the end
SAMPLE, MAPPING, UPDATE, KERNEL = 9, 10, 78, 64
ENDS = (2, 4, 5, 13, 14, 15) # LOST, EXIT, THROTTLE, LOST_SAMPLES, SWITCH, SWITCH_CPU_WIDE


class Recorded:
    """The records of a file that attar has written: place, type, time, kind of update, size."""

    def __init__(self, path):
        self.bytes, self.records = bytearray(path.read_bytes()), []
        attrs, at, size = struct.unpack_from('<Q8xQQ', self.bytes, 24)
        fields, = struct.unpack_from('<Q', self.bytes, attrs + 24)
        assert fields & 0x10007 == 0x10007 # identifier, ip, tid, time
        end = at + size
        while at < end:
            kind, _, length = struct.unpack_from('<IHH', self.bytes, at)
            place = 8 if kind == UPDATE else 32 if kind == SAMPLE else length - 24
            number, = struct.unpack_from('<Q', self.bytes, at + place) if length > 8 else (0,)
            self.records.append((at, kind, number if kind < KERNEL else 0,
                                 number if kind == UPDATE else 0, length))
            at += length

    def without(self, path, leaves_out):
        for at, *record, _ in self.records:
            if leaves_out(at, *record):
                struct.pack_into('<I', self.bytes, at, SKIPPED)
        path.write_bytes(self.bytes)
        return path


@pytest.fixture(scope='module')
def recordings(tmp_path_factory):
    """
    Return a recording, the time of its first sample, the range of its middle third, and the
    recording without what happened outside of it.
    """
    if os.geteuid() != 0:
        pytest.skip('needs root')
    folder = tmp_path_factory.mktemp('ranges')
    whole, part = folder / 'whole.data', folder / 'part.data'
    done = run('record', '-q', '-a', '-g', '-m', 2048, '-e', ','.join((
        'sched:sched_switch', 'sched:sched_waking', 'sched:sched_wakeup',
        'sched:sched_wakeup_new', 'sched:sched_migrate_task', 'sched:sched_process_exec',
        'sched:sched_process_fork', 'sched:sched_process_exit', 'task:task_rename',
        'irq:softirq_raise', 'irq:softirq_entry', 'irq:softirq_exit', 'irq:irq_handler_entry',
        'irq:irq_handler_exit', 'page-faults', 'cpu-clock', 'syscalls:sys_enter_newfstatat',
        'syscalls:sys_exit_newfstatat')),
        '-o', whole, '--', 'sh', '-c', 'for i in 1 2 3 4 5 6; do ls / >/dev/null; sleep 0.1; done')
    assert done.returncode == 0, done.stderr
    without_states = Recorded(whole).without(
        whole, lambda at, kind, time, update: update in UPDATES_OF_TASKS)
    times = sorted(time for _, kind, time, *_ in Recorded(whole).records if kind == SAMPLE)
    start, end = times[len(times) // 3], times[2 * len(times) // 3] + 1
    cut = Recorded(whole)
    last, size = next((at, size) for at, kind, time, _, size in cut.records
                      if kind == MAPPING and time >= end)
    struct.pack_into('<Q', cut.bytes, last + size - 24, end) # the last record, of no consequence
    cut.without(part, lambda at, kind, time, update: kind < KERNEL and time and at != last and (
        time >= end or (time < start and kind in (SAMPLE, *ENDS))))
    return without_states, times[0], start, end, part


SYSCALL = 'syscalls:sys_enter_newfstatat', 'syscalls:sys_exit_newfstatat'
PROFILERS = {
    'trace': ['-e', 'sched:sched_switch,sched:sched_wakeup,page-faults'],
    'top': ['-e', 'sched:sched_switch//key=next_pid/', '--rows', 0],
    'num-dist': ['-e', 'sched:sched_switch//num=next_pid/'],
    'multi-trace': ['-k', 'common_pid', '-e', SYSCALL[0], '-e', SYSCALL[1], '--perins'],
    'nested-trace': ['-k', 'common_pid', '-e', ','.join(SYSCALL)],
    'sql': ['-e', 'sched:sched_switch', '--query',
            'SELECT prev_pid, count(*) FROM sched_switch GROUP BY prev_pid ORDER BY prev_pid'],
    'profile': ['-g', '-e', 'page-faults'], 'page-faults': ['-g'], 'task-state': [], 'wall': [],
    'rundelay': ['--by', 'thread'], 'runqlat': [], 'cpudist': [], 'oncpu': [], 'offcpu': [],
    'blame': [], 'sched-migrate': [], 'softirqs': [], 'execsnoop': [], 'hardirqs': []}


def results(path, *words):
    """Return what attar has seen, and the rows of each section of the reports together."""
    done = run(*words, '--format', 'json', '--input', path)
    assert done.returncode == 0, done.stderr
    reports = [json.loads(line) for line in done.stdout.splitlines()]
    notes, sections = reports[-1]['notes'], {}
    for section in [s for r in reports for s in r['sections']]:
        sections.setdefault(section['name'], []).extend(section['rows'])
    return [notes[name] for name in ('seen', 'lost', 'throttled')], sections


def is_alike(one, other):
    """Times and counts are equal; averages are sums of floating-point numbers."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(is_alike, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-9)
    return one == other


@pytest.mark.parametrize('profiler', PROFILERS)
def test_a_range_has_the_report_of_its_part_alone(recordings, profiler):
    whole, first, start, end, part = recordings
    words = [profiler, *PROFILERS[profiler]]
    ours = results(whole, *words, '--from', f'{(start - first) / 1e9:.9f}', '--to',
                   f'{(end - first) / 1e9:.9f}')
    theirs = results(part, *words)
    assert ours[0] == theirs[0] and ours[0][0] > 0
    assert ours[1].keys() == theirs[1].keys() and sum(map(len, ours[1].values())) > 0
    for name, rows_of_name in ours[1].items():
        others = sorted(theirs[1][name], key=str) if profiler == 'page-faults' else theirs[1][name]
        if profiler == 'page-faults':
            rows_of_name.sort(key=str)
        assert len(rows_of_name) == len(others), name
        assert [p for p in zip(rows_of_name, others) if not is_alike(*p)][:1] == [], name


@pytest.mark.parametrize('words', [
    ['top', '--rows', 0, '-e', 'sched:sched_switch//key=next_pid/'],
    ['top', '--rows', 0, '-e', f'{SYSCALL[0]}//key=common_pid/'],
    ['profile', '-e', 'page-faults']])
def test_parts_add_up_to_the_whole(recordings, words):
    path, first, start, end, _ = recordings
    edges = [f'{(time - first) / 1e9:.9f}' for time in (start, end)]
    every = ['--to', edges[0]], ['--from', edges[0], '--to', edges[1]], ['--from', edges[1]]
    parts = [report(*words, '--input', path, *part) for part in every]
    whole = report(*words, '--input', path)
    assert sum(part['notes']['seen'] for part in parts) == whole['notes']['seen'] > 0

    def counts(found):
        table = next(s for s in found['sections'] if s['kind'] == 'table')
        names = [c['name'] for c in table['columns']]
        numbers = [i for i, c in enumerate(table['columns']) if c['unit'] == 'count']
        keys = [i for i, name in enumerate(names) if name in ('comm', 'next_pid', 'common_pid')]
        sums = {}
        for row in table['rows']:
            key = tuple(str(row[i]) for i in keys)
            sums[key] = [a + row[i] for a, i in zip(sums.get(key, [0] * len(numbers)), numbers)]
        return sums

    sums = {}
    for part in parts:
        for key, values in counts(part).items():
            sums[key] = [a + b for a, b in zip(sums.get(key, [0] * len(values)), values)]
    assert sums == counts(whole)


def test_diff_of_two_parts(recordings):
    path, first, start, end, _ = recordings
    edges = [f'{(time - first) / 1e9:.9f}' for time in (start, end)]
    done = run('diff', '--format', 'json', '--from', '0', '--to', edges[0], '--from', edges[0],
               '--to', edges[1], path, path)
    assert done.returncode == 0, done.stderr
    seconds = [float(remark.split()[3]) for remark in json.loads(done.stdout)['remarks'][:2]]
    assert seconds == [pytest.approx((start - first) / 1e9, abs=0.002),
                       pytest.approx((end - start) / 1e9, abs=0.002)]


def test_diff_refuses_ranges_of_reports(recordings, tmp_path):
    result = tmp_path / 'a.json'
    assert run('profile', '-q', '--input', recordings[0], '-o', result).returncode == 0
    done = run('diff', '--from', '1', result, result)
    assert done.returncode == 2 and '--from and --to need recordings' in done.stderr
    done = run('diff', '--from', '1', '--from', '2', '--from', '3', result, result)
    assert done.returncode == 2 and 'can be given twice' in done.stderr


def test_exports_have_the_range(recordings, tmp_path):
    path, first, start, end, _ = recordings
    words = ['--input', path, '--from', f'{(start - first) / 1e9:.9f}', '--to',
             f'{(end - first) / 1e9:.9f}']
    seen = report('profile', '-e', 'page-faults', *words)['notes']['seen']
    for name in ('x.folded', 'x.db', 'x.html', 'x.csv'):
        done = run('profile', '-q', '-g', '-e', 'page-faults', *words, '-o', tmp_path / name)
        assert done.returncode == 0, done.stderr
    folded = (tmp_path / 'x.folded').read_text().splitlines()
    assert sum(int(line.rsplit(' ', 1)[1]) for line in folded) == seen > 0
