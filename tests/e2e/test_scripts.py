# SPDX-License-Identifier: MIT
"""Profilers on scripts: exact to the nanosecond, without privileges."""
import json

import pytest

from command import ATTAR, run
from scripts import rows

pytestmark = pytest.mark.quick

SCHED = '''# attar script
event sched:sched_switch prev_comm:char[16] prev_pid:pid_t prev_prio:int prev_state:s64 \
next_comm:char[16] next_pid:pid_t next_prio:int
event sched:sched_wakeup comm:char[16] pid:pid_t prio:int target_cpu:int
event sched:sched_wakeup_new comm:char[16] pid:pid_t prio:int target_cpu:int
wall 1700000000
'''
SLEEPER = '''
1.000000000 0 100/100 worker sched:sched_switch prev_comm=worker prev_pid=100 prev_state=1
1.020000023 0 0/0 swapper sched:sched_wakeup comm=worker pid=100
1.020000030 0 0/0 swapper sched:sched_switch next_comm=worker next_pid=100
1.050000000 0 100/100 worker sched:sched_switch prev_comm=worker prev_pid=100 prev_state=2
1.070000000 0 0/0 swapper sched:sched_wakeup comm=worker pid=100
'''


def report(profiler, path, *args):
    ended = run(profiler, '--format', 'json', '--input', path, *args)
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout.splitlines()[-1])


def states(path, *args):
    found = report('task-state', path, '--perins', *args)
    return {(r['tid'], r['state']): (r['count'], r['total'])
            for r in rows(found, 'task-state')}, found


def test_states_to_the_nanosecond(script):
    found, _ = states(script(SCHED + SLEEPER))
    assert found == {(100, 'S'): (1, 20_000_023), (100, 'RD'): (1, 7), (100, 'R'): (1, 29_999_970),
                     (100, 'D'): (1, 20_000_000)}


def test_lost_events_drop_what_they_may_have_changed(script):
    lost = SLEEPER.replace('1.070000000', '1.060000000 1 7/7 other lost 3\n1.070000000')
    found, whole = states(script(SCHED + lost))
    assert (100, 'D') not in found
    assert found[100, 'S'] == (1, 20_000_023)
    assert whole['notes']['lost'] == 3
    assert any('events were lost' in r for r in whole['remarks'])


TWO_TASKS = '''
1.000000000 0 100/100 worker sched:sched_switch prev_pid=100 prev_state=1
1.000000001 0 200/200 python3 sched:sched_switch prev_pid=200 prev_state=1
1.000000010 0 9/9 waker sched:sched_wakeup pid=100
1.000000020 0 9/9 waker sched:sched_wakeup pid=200
1.000000035 0 9/9 waker sched:sched_switch prev_pid=9 prev_state=1 next_pid=100
1.000000060 1 8/8 other sched:sched_switch prev_pid=8 prev_state=1 next_pid=200
'''


@pytest.mark.parametrize('names, calls, total', [
    ([], 2, 65), (['--filter', 'worker'], 1, 25), (['--filter', 'java,pyth*'], 1, 40),
    (['--filter', 'p*', '--filter', 'w*'], 2, 65), (['--filter', 'nothing'], 0, 0),
    (['--filter', 'p*', '-p', '100'], 0, 0)])
def test_delays_of_named_tasks(script, names, calls, total):
    found = rows(report('rundelay', script(SCHED + TWO_TASKS), *names), 'pairs')
    assert (sum(r['calls'] for r in found), sum(r['total'] for r in found)) == (calls, total)


def wakings(text):
    """The text with sched_waking instead of sched_wakeup, as perf sched records it."""
    return (SCHED + text).replace('sched:sched_wakeup ', 'sched:sched_waking ')


def test_wakings_are_wakeups(script):
    """perf sched record has no sched_wakeup."""
    found = report('rundelay', script(wakings(TWO_TASKS)))
    assert [(r['start'], r['calls'], r['total']) for r in rows(found, 'pairs')] == [
        ('sched:sched_wakeup', 2, 65)]
    assert sum('has sched:sched_waking, not sched:sched_wakeup: waits for a CPU begin slightly' in r
               for r in found['remarks']) == 1
    assert states(script(wakings(SLEEPER)))[0] == states(script(SCHED + SLEEPER))[0]


def test_wakings_beside_wakeups_are_ignored(script):
    both = SCHED + 'event sched:sched_waking pid:pid_t\n' + TWO_TASKS + \
        '1.000000005 0 9/9 waker sched:sched_waking pid=100\n'
    found = report('rundelay', script(both))
    assert [(r['calls'], r['total']) for r in rows(found, 'pairs')] == [(2, 65)]
    assert not any('sched_waking' in r for r in found.get('remarks', []))


@pytest.mark.parametrize('profiler, args', [
    ('runqlen', []), ('trace', ['-e', 'sched:sched_wakeup'])])
def test_wakings_are_not_wakeups_on_a_cpu(script, profiler, args):
    """The CPU of sched_waking is not the one that the task is put on."""
    done = run(profiler, *args, '--input', script(wakings(TWO_TASKS)))
    assert done.returncode != 0
    assert "sched:sched_wakeup'" in done.stderr


def test_each_waking_is_one_event_of_a_pattern(script):
    found = report('multi-trace', script(wakings(TWO_TASKS)), '--tasks',
                   '-e', 'sched:sched_wak*//key=pid/', '-e', 'sched:sched_switch//key=next_pid/')
    assert [(r['start'], r['calls']) for r in rows(found, 'pairs')] == [('sched:sched_waking', 2)]


SWITCH, WAKEUP, NEW, WAKING = (f'sched:sched_{name}' for name in (
    'switch', 'wakeup', 'wakeup_new', 'waking'))
GC = [f'usdt:/usr/bin/python3:python:gc__{name}' for name in ('start', 'done')]


@pytest.mark.parametrize('profiler, has, lacks, words', [
    ('rundelay', [], [WAKEUP, SWITCH], f'-a -e {WAKEUP},{SWITCH}'),
    ('runqlat', [SWITCH], [WAKEUP], f'-a -e {WAKEUP},{SWITCH}'),
    ('signals', [], ['signal:signal_generate'], '-e signal:signal_generate'),
    ('gc', [], GC, f'-e {",".join(GC)}'),
    ('task-state', [], [SWITCH, WAKEUP, NEW], f'-a -e {SWITCH},{WAKEUP},{NEW}'),
    ('wall', [WAKEUP, 'cpu-clock'], [SWITCH, NEW],
     f'-a -g -e {SWITCH},{WAKEUP},{NEW},cpu-clock'),
    ('overview', [], [SWITCH, WAKEUP, NEW, 'cpu-clock'],
     f'-a -g -e {SWITCH},{WAKEUP},{NEW},cpu-clock'),
    ('offcpu', [], [SWITCH, WAKING], f'-a -g -e {SWITCH},{WAKING}'),
    ('syscalls', [], ['raw_syscalls:sys_enter', 'raw_syscalls:sys_exit'],
     '-e raw_syscalls:sys_enter,raw_syscalls:sys_exit'),
])
def test_message_names_all_missing_events(script, profiler, has, lacks, words):
    """And the command that records those and the others that the profiler needs."""
    fields = ' pid:pid_t prev_pid:pid_t prev_state:s64 prev_comm:char[16] next_pid:pid_t'
    text = '# attar script\nevent a:b x:int\n' + ''.join(
        f'event {event}{fields if ":" in event else ""}\n' for event in has) + \
        '1 0 1/1 a a:b x=1\n'
    done = run(profiler, '--input', script(text))
    assert (done.returncode, done.stdout) == (1, '')
    names = ', '.join(f"'{event}'" for event in lacks)
    assert done.stderr == (
        f"attar: the recording has no event{'s'[:len(lacks) - 1]} {names}, which '{profiler}' "
        f'needs: record {"it" if len(lacks) == 1 else "them"}, too: attar record {words}\n')


@pytest.mark.parametrize('words', [['percpu-stat', '--syscalls'], ['cachestat'], ['stat']])
def test_counts_are_not_in_recordings_of_samples(script, words):
    """That is the reason, not the lack of an event whose name the user has not typed."""
    done = run(*words, '--input', script('# attar script\nevent a:b x:int\n1 0 1/1 a a:b x=1\n'))
    assert (done.returncode, done.stdout) == (4, '')
    assert done.stderr.startswith(f'attar: {words[0]} needs counts, and this recording has only '
                                  'samples: use perf record -s')


def test_a_usdt_probe_that_was_not_recorded(script):
    """Whether this machine has it does not matter."""
    text = '# attar script\nevent a:b x:int\n1 0 1/1 a a:b x=1\n'
    done = run('trace', '-e', 'usdt:/usr/bin/python3:python:gc__start', '--input', script(text))
    assert (done.returncode, done.stdout) == (2, '')
    assert 'the recording has no such probe; it has a:b\n' in done.stderr
    assert len(done.stderr.splitlines()) == 3


def test_folded_stacks_of_threads_are_merged(script, tmp_path):
    """Of all threads and processes with this name; tools such as diff(1) need single lines."""
    folded = tmp_path / 'x.folded'
    text = '''# attar script
event cpu-clock sampled stack
0.5 0 7/7 prog mmap 0x400000 0x1000 0 r-xp /bin/none
0.6 0 9/9 prog mmap 0x400000 0x1000 0 r-xp /bin/none
1.0 0 7/7 prog cpu-clock stack=0x400010,0x400020
1.1 0 7/8 prog cpu-clock stack=0x400010,0x400020
1.2 0 7/8 prog cpu-clock stack=0x400010
1.3 0 9/9 prog cpu-clock stack=0x400010,0x400020
1.4 0 7/7 other cpu-clock stack=0x400010,0x400020
'''
    done = run('profile', '-q', '-g', '--input', script(text), '-o', folded)
    assert done.returncode == 0, done.stderr
    lines = [line.rsplit(' ', 1) for line in folded.read_text().splitlines()]
    assert sorted((path.count(';'), path.partition(';')[0], int(n)) for path, n in lines) == [
        (1, 'prog', 1), (2, 'other', 1), (2, 'prog', 3)]


def test_threads_are_merged_in_the_text_of_a_tree(script):
    """As in folded stacks. A branch that only one of them has is one of the node."""
    text = '''# attar script
event cpu-clock sampled stack
0.5 0 7/7 prog mmap 0x400000 0x1000 0 r-xp /bin/none
1.0 0 7/7 prog cpu-clock stack=0x400010,0x400020
1.1 0 7/8 prog cpu-clock stack=0x400010,0x400020
1.2 0 7/9 prog cpu-clock stack=0x400030,0x400020
1.3 0 7/9 other cpu-clock stack=0x400010,0x400020
'''
    shown = run('profile', '-g', '--input', script(text)).stdout
    tree = shown.partition('\nstacks')[2].partition('\n\n')[0].splitlines()[1:]
    assert [line.strip() for line in tree if line.strip()] == [
        '75.00%  prog (3 threads)', 'none+0x1f (none)', '50.00%  +- none+0x10',
        '25.00%  +- none+0x30', '25.00%  other', 'none+0x1f (none)', 'none+0x10']


CHILDREN = '''# attar script
event a:b x:int
0 0 10/10 sh fork 20/20
1.0 0 10/10 sh a:b x=10
1.0 0 10/10 sh fork 10/11
1.1 0 20/20 old a:b x=20
1.2 0 10/11 sh a:b x=11
1.2 0 10/11 sh fork 30/30
1.3 0 30/30 new a:b x=30
1.3 0 30/30 new fork 40/40
1.4 0 30/30 new exit
1.5 0 40/40 newer a:b x=40
1.6 0 9/9 other fork 50/50
1.6 0 50/50 other a:b x=50
'''


@pytest.mark.parametrize('selection, expected', [
    (['-p', '10'], [10, 20, 11, 30, 40]), (['-p', '30'], [30, 40]), (['-t', '10'], [10]),
    (['-t', '11'], [11]), (['-p', '30', '-t', '50'], [30, 40, 50]), (['-p', '99'], []),
    ([], [10, 20, 11, 30, 40, 50])])
def test_processes_with_their_new_children(script, selection, expected):
    """As live: -p selects the tree below the process."""
    path = script(CHILDREN)
    found = run('trace', '--format', 'json', '--input', path, '-e', 'a:b', *selection)
    lines = [json.loads(line) for line in found.stdout.splitlines()[:-1]]
    shown = [row[-1]['x'] for part in lines
             for row in part['sections'][0]['rows']]
    assert shown == expected
    table = rows(report('top', path, '-e', 'a:b//top-by=x/', *selection), 'top')
    assert sum(r['x'] for r in table) == sum(expected)


def test_names_need_keys_that_are_threads():
    done = run('multi-trace', '-e', 'a:b', '-e', 'a:c', '--filter', 'x')
    assert done.returncode == 2
    assert '--filter requires keys that are thread IDs: add --tasks' in done.stderr


def test_lines_out_of_order_are_sorted(script):
    """Like the rings of two CPUs, and an NMI whose record is late."""
    lines = SLEEPER.strip().splitlines()
    shuffled = [lines[2], lines[0], lines[4], lines[1], lines[3]]
    assert states(script(SCHED + '\n'.join(shuffled)))[0] == states(script(SCHED + SLEEPER))[0]


def test_a_reused_tid_is_another_task(script):
    text = SLEEPER + '''
1.080000000 0 0/0 swapper sched:sched_switch next_comm=worker next_pid=100
1.090000000 0 100/100 worker sched:sched_switch prev_comm=worker prev_pid=100 prev_state=32
1.090000001 0 100/100 worker exit
5.000000000 0 1/1 init fork 100/100
5.000000000 0 1/1 init sched:sched_wakeup_new comm=other pid=100
5.000000005 0 0/0 swapper sched:sched_switch next_comm=other next_pid=100
'''
    found, whole = states(script(SCHED + text))
    assert found[100, 'RD'][1] in (5, 10_000_007)  # per name below
    by_name = {(r['comm'], r['state']): r['total'] for r in rows(whole, 'task-state')}
    assert by_name['other', 'RD'] == 5
    assert by_name['worker', 'RD'] == 10_000_007
    assert ('other', 'S') not in by_name


def test_trace_prints_times_fields_and_names(script):
    found = report('trace', script(SCHED + SLEEPER), '-e', 'sched:sched_wakeup')
    ended = run('trace', '--format', 'json', '-e', 'sched:sched_wakeup', '--input',
                script(SCHED + SLEEPER))
    first = rows(json.loads(ended.stdout.splitlines()[0]), 'events')[0]
    assert first['time'] == 1_700_000_001_020_000_023
    assert (first['comm'], first['tid'], first['cpu']) == ('swapper', 0, 0)
    assert first['values']['pid'] == 100
    assert found['notes']['seen'] == 2


def test_top_by_field(script):
    text = '# attar script\nevent a:b n:u8 s:string\n' + ''.join(
        f'{i + 1} {i % 2} 1/1 x a:b n={i % 3} s="name {i % 3}"\n' for i in range(9))
    found = report('top', script(text), '-e', 'a:b//key=s/top-by=n/')
    assert rows(found, 'top') == [{'s': 'name 2', 'n': 6}, {'s': 'name 1', 'n': 3}]


def test_profile_of_stacks(script, tmp_path):
    text = '# attar script\nevent cpu-clock stack\n' + ''.join(
        f'{i + 1} 0 1/1 x cpu-clock stack=0x1000,0x2000\n' for i in range(7))
    folded = tmp_path / 'out.folded'
    assert run('profile', '-g', '--input', script(text), '-o', folded).returncode == 0
    assert sum(int(line.rpartition(' ')[2]) for line in folded.read_text().splitlines()) == 7


def test_intervals(script):
    text = '# attar script\nevent a:b n:u8\n' + ''.join(
        f'{i / 10 + 1} 0 1/1 x a:b\n' for i in range(10))
    ended = run('top', '-e', 'a:b', '-i', '200ms', '--format', 'json', '--input', script(text))
    seen = [json.loads(line)['notes']['seen'] for line in ended.stdout.splitlines()]
    assert seen == [2, 2, 2, 2, 2]


@pytest.mark.parametrize('text, sentence', [
    ('event a\n', 'line 2: an event is SYSTEM:NAME or cpu-clock'),
    ('event a:b n\n', 'line 2: the syntax of a field is NAME:TYPE'),
    ('event a:b n:foo\n', 'line 2: types are u8'),
    ('event a:b n:char\n', 'line 2: types are u8'),
    ('1 0 1/1 x a:b\n', 'line 2: no event has been declared'),
    ('event a:b\n1 0 1/1 x a:c\n', "line 3: no event 'a:c' has been declared"),
    ('event a:b\nx 0 1/1 x a:b\n', "line 3: 'x' is not a time"),
    ('event a:b\n1 x 1/1 x a:b\n', "line 3: 'x' is not the number of a CPU"),
    ('event a:b\n1 0 1 x a:b\n', 'line 3: \'1\': the syntax of a task is PID/TID'),
    ('event a:b\n1 0 1/1 x a:b n=1\n', "line 3: 'n=1': the event has no such field"),
    ('event a:b n:u8\n1 0 1/1 x a:b n=x\n', 'the value is not a number'),
    ('event a:b n:u8\n1 0 1/1 x a:b n=256\n', "line 3: 'n=256': the value does not fit"),
    ('event a:b n:u32\n1 0 1/1 x a:b n=-1\n', "line 3: 'n=-1': the value does not fit"),
    ('event a:b n:s8\n1 0 1/1 x a:b n=128\n', "line 3: 'n=128': the value does not fit"),
    ('event a:b n:s8\n1 0 1/1 x a:b n=-129\n', "line 3: 'n=-129': the value does not fit"),
    ('event a:b n:s8\n1 0 1/1 x a:b n=0x100\n', "line 3: 'n=0x100': the value does not fit"),
    ('event a:b n:u64\n1 0 1/1 x a:b n=18446744073709551616\n', 'the value does not fit'),
    ('event a:b n:u8 m:u8\n1 0 1/1 x a:b n=1 m=2 n=1\n', "'n=1': the value is given twice"),
    ('event a:b\n1 -1 1/1 x a:b\n', "line 3: '-1' is not the number of a CPU"),
    ('event a:b\n1 2147483648 1/1 x a:b\n', 'is not the number of a CPU'),
    ('event a:b\n-1.0 0 1/1 x a:b\n', "line 3: '-1.0' is not a time"),
    ('event a:b\n18446744074 0 1/1 x a:b\n', "line 3: the time '18446744074' is too large"),
    ('event a:b\n1 0 1/1 "x a:b\n', 'line 3: missing "'),
    ('event a:b\n1 0 1/1 x a:b stack=1\n', "'a:b' was declared without stack"),
    ('event a:b\n1 0 1/1 x lost\n', 'lost needs the number of events'),
    ('event a:b\n1 0 1/1 x fork\n', 'fork needs the new task'),
])
def test_invalid_scripts(script, text, sentence):
    path = script('# attar script\n' + text)
    ended = run('trace', '-e', 'a:b', '--input', path)
    assert ended.returncode == 1, ended.stderr
    assert str(path) in ended.stderr and sentence in ended.stderr


def test_the_limits_of_types(script):
    text = ('event a:b a:u8 b:s8 c:s8 d:s8 e:u64 f:s64 g:s64 h:long\n'
            '1 0 1/1 x a:b a=255 b=-128 c=127 d=0xff e=18446744073709551615 '
            'f=-9223372036854775808 g=9223372036854775807 h=0xfffffffffffffff2\n')
    found = [run('trace', '-e', 'a:b', '--input', script('# attar script\n' + form)).stdout
             for form in (text, text.replace('\n', '\r\n'))]
    assert ('a=255 b=-128 c=127 d=-1 e=18446744073709551615 f=-9223372036854775808 '
            'g=9223372036854775807 h=-14\n') in found[0]
    assert [line for line in found[1].splitlines() if 'a:b' in line] == [
        line for line in found[0].splitlines() if 'a:b' in line]


def test_without_an_event_all_of_the_recording_are_used(script):
    top = rows(report('top', script(SCHED + SLEEPER)), 'top')
    assert sum(r['sched:sched_switch'] for r in top) == 3
    assert sum(r['sched:sched_wakeup'] for r in top) == 2


# ---- profilers of single records ----

def test_page_faults_by_process(script):
    found = report('page-faults', script('''# attar script
event minor-faults sampled
event major-faults sampled
event mappings sampled
1.0 0 7/7 a minor-faults addr=0x1000
1.1 0 7/7 a minor-faults addr=0x2fff
1.2 1 8/8 b major-faults addr=0x9000
1.3 0 7/9 a major-faults addr=0x2000
'''))
    assert [(r['comm'], r['pid'], r['faults'], r['major'], r['from'], r['to'])
            for r in rows(found, 'page faults')] == [
        ('a', 7, 3, 1, 0x1000, 0x2fff), ('b', 8, 1, 1, 0x9000, 0x9000)]


def test_hits_of_breakpoints(script):
    """The registers are not in a script: neither is the value that is written."""
    path = script('''# attar script
event 0x1000/8:w sampled
event 0x2000/4:rw sampled
1.000000001 0 7/7 a 0x1000/8:w addr=0x1000
1.000000023 1 7/8 b 0x2000/4:rw addr=0x2000
2.000000000 0 7/7 a 0x1000/8:w addr=0x1000
''')
    ended = run('breakpoint', '0x1000/8:w', '0x2000/4:rw', '--format', 'json', '--input', path)
    found = [json.loads(line) for line in ended.stdout.splitlines()]
    hits = [hit for part in found[:-1] for hit in rows(part, 'hits')]
    assert [(h['time'], h['comm'], h['tid'], h['cpu'], h['breakpoint'], h['new'])
            for h in hits] == [
        (1_000_000_001, 'a', 7, 0, '0x1000/8:w', None),
        (1_000_000_023, 'b', 8, 1, '0x2000/4:rw', None),
        (2_000_000_000, 'a', 7, 0, '0x1000/8:w', None)]
    assert [(r['address'], r['hits']) for r in rows(found[-1], 'breakpoints')] == [
        (0x1000, 2), (0x2000, 1)]
    assert '3 hits is unknown: the recording has no registers' in ' '.join(found[-1]['remarks'])


def test_names_of_misc(script):
    path = script('''# attar script
event records sampled
1.000000001 0 7/7 a records
1.000000002 1 7/7 a fork 7/8
1.000000003 1 7/8 second records
1.000000004 1 7/8 third records
''')
    ended = run('misc', '--records', 'comm', '--format', 'json', '--input', path)
    found = [json.loads(line) for line in ended.stdout.splitlines()]
    assert [(r['time'], r['cpu'], r['fields'])
            for part in found[:-1] for r in rows(part, 'records')] == [
        (1_000_000_001, 0, 'rename pid=7 tid=7 comm=a'),
        (1_000_000_003, 1, 'rename pid=7 tid=8 comm=second'),
        (1_000_000_004, 1, 'rename pid=7 tid=8 comm=third')]
    assert rows(found[-1], 'records') == [{'record': 'comm', 'count': 3}]


@pytest.mark.parametrize('events', [[], ['-e', 'a:b,cpu/mem-loads,ldlat=30/'],
                                    ['-e', 'cpu/mem-loads,ldlat=30/,a:b']])
def test_events_of_an_unknown_pmu_beside_tracepoints(script, events):
    """A recording of a machine with another PMU can be read."""
    path = script('''# attar script
event a:b n:u8
event cpu/mem-loads,ldlat=30/ sampled
1.000000001 0 7/7 a a:b n=5
1.000000002 0 7/7 a cpu/mem-loads,ldlat=30/ addr=0x1000
''')
    ended = run('trace', *events, '--format', 'json', '--input', path)
    assert ended.returncode == 0, ended.stderr
    found = rows(json.loads(ended.stdout.splitlines()[0]), 'events')
    assert [(r['time'], r['event']) for r in found] == [
        (1_000_000_001, 'a:b'), (1_000_000_002, 'cpu/mem-loads,ldlat=30/')]
    assert found[0]['values']['n'] == 5


RECORDED = '''# attar script
event sched:sched_switch old:u8 new:char[4]
event t:ev a:int
event cpu-clock
1 0 1/1 x sched:sched_switch old=7 new=abc
2 0 1/1 x t:ev a=1
3 0 1/1 x t:ev a=2
'''


@pytest.fixture
def recorded(tmp_path):
    path = tmp_path / 'x.script'
    path.write_text(RECORDED)
    return path


@pytest.mark.parametrize('pattern, expected', [
    ([], [['sched:sched_switch', 'tracepoint', 1, 'old new'], ['t:ev', 'tracepoint', 2, 'a'],
          ['cpu-clock', 'software', 0, '']]),
    (['ev'], [['t:ev', 'tracepoint', 2, 'a']]), (['software'], [['cpu-clock', 'software', 0, '']]),
    (['*_switch'], [['sched:sched_switch', 'tracepoint', 1, 'old new']]),
])
def test_list_of_a_recording(recorded, pattern, expected):
    done = run('list', '--json', '--input', recorded, *pattern)
    assert done.returncode == 0, done.stderr
    table, *times = json.loads(done.stdout)['sections']
    assert table['rows'] == expected
    assert [s['name'] for s in times] == ([] if pattern else ['times'])
    done = run('list', f'--input={recorded}', '--names', *pattern)
    assert done.stdout.splitlines() == [row[0] for row in expected]


@pytest.mark.parametrize('words', [['list', 'sched:sched_switch'],
                                   ['trace', '-e', 'sched:sched_switch', 'help']])
def test_help_on_an_event_is_of_the_recording(recorded, words):
    """This kernel's event of the same name has other fields."""
    done = run(*words, '--input', recorded)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith('sched:sched_switch (id ')
    assert [line.split()[:3] for line in lines[1:3]] == [
        ['old', 'unsigned', 'char'], ['new', 'char[4]', 'text']]
    assert 'prev_pid' not in done.stdout


@pytest.mark.parametrize('words, status, sentence', [
    (['list', 'foo'], 1, "the recording has no event that matches 'foo'"),
    (['trace', '-e', 'foo', 'help'], 2, "no event 'foo': see 'attar list --input FILE'"),
    (['trace', '-e', 'foo:bar'], 2,
     "the recording has no tracepoint 'foo:bar': see 'attar list --input FILE'"),
])
def test_events_that_a_recording_lacks(recorded, words, status, sentence):
    done = run(*words, '--input', recorded)
    assert (done.returncode, done.stdout) == (status, '')
    assert sentence in done.stderr


@pytest.mark.parametrize('how', ['- <{}', '- < <(cat {})', '/dev/stdin < <(cat {})', '<(cat {})',
                                 '- <<<"$(cat {})"'])
def test_scripts_from_pipes_and_standard_input(recorded, how):
    done = run('-c', f'exec {ATTAR} list --names --input {how.format(recorded)}',
               program='/bin/bash')
    assert (done.returncode, done.stdout) == (0, 'sched:sched_switch\nt:ev\ncpu-clock\n'), \
        done.stderr
    recorded.write_text(RECORDED + 'nonsense\n')
    done = run('-c', f'exec {ATTAR} top --input {how.format(recorded)}', program='/bin/bash')
    assert done.returncode == 1
    assert ', line 8: ' in done.stderr
