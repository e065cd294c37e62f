# SPDX-License-Identifier: MIT
"""Profilers as events, exec= and trigger: what the run does with the events of any profiler."""
import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from command import ATTAR, is_waiting, run, share_is, wait_until, workload
from perf_data import Recording

EVENTS = '''# attar script
event sched:sched_wakeup comm:char[16] pid:pid_t
event sched:sched_switch prev_comm:char[16] prev_pid:pid_t next_comm:char[16] next_pid:pid_t
event cpu-clock stack
wall 1700000000
1.000000000 0 100/100 worker sched:sched_wakeup comm=worker pid=100
1.000000500 0 200/200 other cpu-clock stack=0xffffffff81000000 period=2000000
1.000001000 0 100/100 worker sched:sched_switch next_comm=worker next_pid=100
1.000003000 1 100/100 worker sched:sched_wakeup comm=worker pid=100
1.000003500 1 300/300 third cpu-clock stack=0xffffffff82000000 period=2000000
1.000004000 1 100/100 worker sched:sched_switch next_comm=worker next_pid=100
'''
PROFILE = 'profile/-F 500 -g/'


@pytest.fixture(name='script')
def fixture_script(tmp_path):
    path = tmp_path / 'test.script'
    path.write_text(EVENTS)
    return path


def reports(*args, **kwargs):
    done = run(args[0], '--format', 'json', *args[1:], **kwargs)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def rows(found, name):
    """Return the rows of all sections with this name, in order, as dictionaries."""
    found = [s for report in found for s in report['sections'] if s['name'] == name]
    return [dict(zip([c['name'] for c in s['columns']], row)) for s in found for row in s['rows']]


def lines(*args):
    done = run(*args)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


# ---- profilers as events, on scripts ----

@pytest.mark.quick
def test_samples_are_in_order_with_events(script):
    found = rows(reports('trace', '-e', f'sched:sched_switch,{PROFILE}untraced/',
                         '--input', script), 'events')
    assert [(r['time'], r['comm'], r['tid'], r['cpu'], r['event']) for r in found] == [
        (1700000001_000000500, 'other', 200, 0, 'profile'),
        (1700000001_000001000, 'worker', 100, 0, 'sched:sched_switch'),
        (1700000001_000003500, 'third', 300, 1, 'profile'),
        (1700000001_000004000, 'worker', 100, 1, 'sched:sched_switch')]
    assert [r['values']['ip'] for r in found if r['event'] == 'profile'] == [
        0xffffffff81000000, 0xffffffff82000000]


@pytest.mark.quick
@pytest.mark.parametrize('event, stacks', [(PROFILE, 2), ('profile/-F 500/', 0),
                                           ('profile/-F 500/stack/', 2), ('profile', 0)])
def test_samples_have_stacks_on_request(script, event, stacks):
    found = lines('trace', '-e', event, '--input', script)
    assert sum(line.startswith(' ' * 8) and 'ffffffff8' in line for line in found) == stacks
    assert sum('  profile  ' in line for line in found) == 2


@pytest.mark.quick
def test_attributes_of_profilers(script):
    found = rows(reports('trace', '-e', 'profile//alias=busy/cpus=1/', '--input', script),
                 'events')
    assert [(r['event'], r['cpu'], r['comm']) for r in found] == [('busy', 1, 'third')]


@pytest.mark.quick
def test_untraced_samples_are_between_start_and_end(script):
    found = rows(reports(
        'multi-trace', '-e', 'sched:sched_wakeup//key=pid/',
        '-e', f'sched:sched_switch//key=next_pid/,{PROFILE}untraced/', '--detail=samecpu',
        '--input', script), 'detail')
    assert [(r['pair'], r['part'], r['offset'], r['comm'], r['event']) for r in found] == [
        (1, 'start', 0, 'worker', 'sched:sched_wakeup'),
        (1, 'between', 500, 'other', 'profile'),
        (1, 'end', 1000, 'worker', 'sched:sched_switch'),
        (2, 'start', 0, 'worker', 'sched:sched_wakeup'),
        (2, 'between', 500, 'third', 'profile'),
        (2, 'end', 1000, 'worker', 'sched:sched_switch')]
    assert [r['fields'].split()[0] for r in found if r['event'] == 'profile'] == [
        'ip=0xffffffff81000000', 'ip=0xffffffff82000000']


@pytest.mark.quick
def test_samples_are_events_of_top(script):
    found = rows(reports('top', '-e', 'profile//key=_tid/top-by=_period/', '--input', script),
                 'top')
    assert sorted((r['_tid'], r['_period']) for r in found) == [(200, 2000000), (300, 2000000)]


@pytest.mark.quick
def test_samples_of_a_timer_with_a_condition(tmp_path):
    """hrtimer's events are those samples for which its condition is true."""
    path = tmp_path / 'timer.script'
    path.write_text('''# attar script
event a:b n:u8
event cpu-clock counts=a:b
1.000 0 1/1 x cpu-clock counts=0
1.010 0 1/1 x cpu-clock counts=3
1.015 0 1/1 x a:b n=7
1.020 0 1/1 x cpu-clock counts=3
1.030 1 2/2 y cpu-clock counts=1
''')
    found = rows(reports('trace', '-e', "a:b,hrtimer/-e a:b --period 10ms 'b==0'/", '--input',
                         path), 'events')
    assert [(r['time'], r['cpu'], r['event']) for r in found] == [
        (1_000_000_000, 0, 'hrtimer'), (1_015_000_000, 0, 'a:b'), (1_020_000_000, 0, 'hrtimer')]


@pytest.mark.quick
def test_slow_loads(tmp_path):
    """ldlat-loads' events are the loads that it would print."""
    path = tmp_path / 'loads.script'
    path.write_text('''# attar script
event a:b n:u8
event cpu/mem-loads/ sampled
1.0 0 7/7 a cpu/mem-loads/ weight=4 data_src=322 addr=0x1000
1.1 0 7/7 a a:b
1.2 0 7/7 a cpu/mem-loads/ weight=400 data_src=322 addr=0x2000
1.3 0 7/7 a cpu/mem-loads/ weight=400 data_src=1 addr=0x3000
''')
    found = rows(reports('trace', '-e', 'a:b,ldlat-loads/--than 100/', '--input', path), 'events')
    assert [(r['event'], r['values'].get('addr')) for r in found] == [
        ('a:b', None), ('ldlat-loads', 0x2000)]


@pytest.mark.quick
def test_late_timers(tmp_path):
    """irq-off's events are the late samples; after a loss it is not known which are late."""
    path = tmp_path / 'timer.script'
    path.write_text('''# attar script
event a:b n:u8
event cpu-clock
1.000 0 1/1 x cpu-clock
1.010 0 1/1 x cpu-clock
1.025 0 1/1 x cpu-clock
1.030 0 1/1 x cpu-clock
1.035 0 2/2 y a:b n=7
1.045 1 2/2 y cpu-clock
1.050 0 1/1 x lost 1
1.060 0 1/1 x cpu-clock
1.070 0 1/1 x cpu-clock
1.083 0 3/3 z cpu-clock
''')
    found = rows(reports('trace', '-e', 'a:b,irq-off/--period 10ms --than 2ms/', '--input', path),
                 'events')
    assert [(r['time'], r['comm'], r['event']) for r in found] == [
        (1_025_000_000, 'x', 'irq-off'), (1_035_000_000, 'y', 'a:b'),
        (1_083_000_000, 'z', 'irq-off')]


@pytest.mark.quick
def test_own_events_are_for_the_emitter_only(tmp_path):
    """The timer is not late while attar itself runs. Its own samples are not shown, late or not."""
    data = Recording()
    data.recorder(50)
    for time, pid in ((1_000, 100), (1_010, 50), (1_020, 100), (1_035, 50), (1_040, 100),
                      (1_063, 100)):
        data.sample(time * 1_000_000, pid=pid, tid=pid)
    path = data.write(tmp_path / 'x.data')
    found = rows(reports('trace', '-e', 'cpu-clock,irq-off/--period 10ms --than 2ms/', '--input',
                         path), 'events')
    assert [(r['time'] // 1_000_000, r['event']) for r in found] == [
        (1_000, 'cpu-clock'), (1_020, 'cpu-clock'), (1_040, 'cpu-clock'), (1_063, 'cpu-clock'),
        (1_063, 'irq-off')]


STATES = '''# attar script
event sched:sched_switch prev_comm:char[16] prev_pid:pid_t prev_state:s64 next_comm:char[16] \
 next_pid:pid_t
event sched:sched_wakeup comm:char[16] pid:pid_t
event sched:sched_wakeup_new comm:char[16] pid:pid_t
1.000 0 0/0 swapper sched:sched_switch next_comm=a next_pid=100
1.006 0 100/100 a sched:sched_switch prev_comm=a prev_pid=100 prev_state=1
1.014 1 7/7 waker sched:sched_wakeup comm=a pid=100
1.021 0 0/0 swapper sched:sched_switch next_comm=a next_pid=100
1.022 0 100/100 a sched:sched_switch prev_comm=a prev_pid=100 prev_state=2
1.027 1 7/7 waker sched:sched_wakeup comm=a pid=100
1.028 0 0/0 swapper sched:sched_switch next_comm=a next_pid=100
1.029 0 100/100 a sched:sched_switch prev_comm=a prev_pid=100 prev_state=1
1.030 0 0/0 swapper lost 1
1.040 1 7/7 waker sched:sched_wakeup comm=a pid=100
1.041 0 0/0 swapper sched:sched_switch next_comm=a next_pid=100 prev_comm=b prev_pid=8
1.050 0 100/100 a sched:sched_switch prev_comm=a prev_pid=100 prev_state=16
'''.replace('\\\n', '')


LONG = {1_006: ('R', 6), 1_014: ('S', 8), 1_021: ('RD', 7), 1_027: ('D', 5), 1_050: ('R', 9)}


@pytest.mark.quick
@pytest.mark.parametrize('options, times', [
    ('--than 5ms', [1_006, 1_014, 1_021, 1_050]), ('-S --than 5ms', [1_014]),
    ('-S --than 8ms', []), ('-D', [1_027]), ('--than 5ms --filter b', [])])
def test_long_states(tmp_path, options, times):
    """The event has the state, at its end: 5 ms in D, and a loss, are not longer than 5 ms."""
    path = tmp_path / 'states.script'
    path.write_text(STATES)
    found = rows(reports('trace', '-e', f'task-state/{options}/', '--input', path), 'events')
    assert [(r['time'] // 1_000_000, r['event']) for r in found] == [
        (time, 'task-state') for time in times]
    assert [r['values'] for r in found] == [
        {'tid': 100, 'comm': 'a', 'state': LONG[time][0], 'duration': LONG[time][1] * 1_000_000}
        for time in times]


@pytest.mark.quick
def test_fields_of_states(tmp_path):
    """As keys, numbers and conditions. A switch ends a state of each of its two tasks."""
    path = tmp_path / 'states.script'
    path.write_text(STATES + '''\
1.060 0 0/0 swapper sched:sched_switch next_comm=c next_pid=101
1.061 1 7/7 waker sched:sched_wakeup comm=d pid=102
1.065 0 101/101 c sched:sched_switch prev_comm=c prev_pid=101 prev_state=1 next_comm=d next_pid=102
''')
    source = 'task-state/--filter c,d'
    found = rows(reports('trace', '-e', f'{source}/', '--input', path), 'events')
    assert [(r['time'], *r['values'].values()) for r in found] == [
        (1_065_000_000, 101, 'c', 'R', 5_000_000), (1_065_000_000, 102, 'd', 'RD', 4_000_000)]
    found = reports('top', '-e', f'{source}/key=comm/top-by=duration/', '--input', path)[-1:]
    assert [(r['comm'], r['duration']) for r in rows(found, 'top')] == [
        ('c', 5_000_000), ('d', 4_000_000)]
    found = reports('trace', '-e', 'task-state', '--dump-when', 'state=="RD" && duration>6000000',
                    '--input', path)
    assert [(r['values']['state'], r['values']['duration']) for r in rows(found, 'events')] == [
        ('R', 6_000_000), ('S', 8_000_000), ('RD', 7_000_000)]


def test_known_sleeps():
    """
    Ten times 20 ms; if it is preempted before it sleeps, a sleep can be shorter or missing. Sleeps
    before and after a loss are left out: the rings are large.
    """
    # some virtual machines do not deliver switches from the idle tasks of other CPUs
    cpu = str(min(os.sched_getaffinity(0)))
    found = rows(reports('trace', '-m', 4096, '-a', '-e',
                         'task-state/-S --than 15ms --filter sleeps/', '--', 'taskset', '-c', cpu,
                         workload('sleeps'), '10', '20'), 'events')
    assert 5 <= len(found) <= 10
    assert {(r['event'], r['values']['comm'], r['values']['state']) for r in found} == {
        ('task-state', 'sleeps', 'S')}
    assert all(r['values']['duration'] > 15_000_000 for r in found)


@pytest.mark.quick
@pytest.mark.parametrize('option, tid, states', [
    ('-p', 100, 8), ('-t', 100, 8), ('-p', 101, 0), ('-t', 8, 0)])
@pytest.mark.parametrize('is_own', [False, True])
def test_states_of_tasks(tmp_path, option, tid, states, is_own):
    """Those of the tasks that the command or the event selects; other events are of these, too."""
    path = tmp_path / 'states.script'
    path.write_text(STATES)
    own, words = (f'{option} {tid}', []) if is_own else ('', [option, tid])
    found = rows(reports('trace', '-e', f'task-state/{own}/,sched:sched_switch', '--input', path,
                         *words), 'events')
    assert {r['values']['tid'] for r in found if r['event'] == 'task-state'} == (
        {tid} if states else set())
    assert sum(r['event'] == 'task-state' for r in found) == states
    switches = {r['tid'] for r in found if r['event'] == 'sched:sched_switch'}
    assert switches == ({0, 100} if is_own else {tid} & {100})


@pytest.mark.parametrize('option', ['-p', '-t'])
def test_states_of_a_running_task(root, option):
    """A process that sleeps 20 ms each time; system calls are those of the process only."""
    with subprocess.Popen([workload('sleeps'), '500', '20']) as sleeper:
        found = rows(reports('trace', '-m', 1024, '-e', 'task-state/-S --than 15ms/,'
                             'raw_syscalls:sys_enter', option, sleeper.pid, '-d', '1s'), 'events')
        sleeper.kill()
    states = [r['values'] for r in found if r['event'] == 'task-state']
    assert len(states) > 10 and {(s['tid'], s['state']) for s in states} == {(sleeper.pid, 'S')}
    calls = [r['tid'] for r in found if r['event'] == 'raw_syscalls:sys_enter']
    assert len(calls) > 10 and set(calls) == {sleeper.pid}


def test_states_of_a_command(root):
    """Events of the process before its exec are not those of the command."""
    found = rows(reports('trace', '-m', 1024, '-e', 'task-state,page-faults/-N 10/,'
                         'raw_syscalls:sys_enter', '--', workload('sleeps'), '5', '20'), 'events')
    kinds = {r['event'] for r in found}
    assert kinds == {'task-state', 'page-faults', 'raw_syscalls:sys_enter'}
    assert sum(r['event'] == 'page-faults' for r in found) == 10
    assert {r['comm'] for r in found if r['event'] != 'task-state'} == {'sleeps'}
    sleeps = [r for r in found if r['event'] == 'task-state' and r['values']['state'] == 'S']
    assert {s['values']['comm'] for s in sleeps} <= {'sleeps'}


# ---- options of a profiler that is an event ----

@pytest.mark.quick
@pytest.mark.parametrize('limit', [1, 2, 4])
def test_own_number_of_events(tmp_path, limit):
    """-N of the event ends its events only; if there are no others, the run."""
    path = tmp_path / 'states.script'
    path.write_text(STATES)
    event = f'task-state/-N {limit} --than 5ms/'
    found = reports('trace', '-e', f'{event},sched:sched_switch', '--input', path)
    names = [r['event'] for r in rows(found, 'events')]
    assert names.count('task-state') == limit
    assert names.count('sched:sched_switch') == STATES.count('sched:sched_switch ') - 1
    found = reports('trace', '-e', event, '--input', path)
    assert [r['event'] for r in rows(found, 'events')] == ['task-state'] * limit


@pytest.mark.quick
def test_number_of_events_of_the_command(tmp_path):
    """What the profiler does not emit does not count."""
    path = tmp_path / 'states.script'
    path.write_text(STATES)
    found = rows(reports('trace', '-e', 'task-state/--than 5ms/', '-N', 2, '--input', path),
                 'events')
    assert [r['values']['state'] for r in found] == ['R', 'S']


def test_own_number_of_live_events(root):
    found = reports('trace', '-e', 'page-faults/-N 7/', '-d', '30s', '--', workload('faults1000'))
    assert len(rows(found, 'events')) == 7
    assert found[-1]['notes']['seen'] == 7 and not found[-1]['notes'].get('missing')


def test_own_cpus(root):
    """-C applies to the event."""
    last = max(os.sched_getaffinity(0))
    words = ['-e', f'profile/-F 997 -C {last} -m 64 --watermark 10 -i 1000/,sched:sched_switch',
             '-d', '500ms']
    found = rows(reports('trace', '-m', '16', *words), 'events')
    assert {r['cpu'] for r in found if r['event'] == 'profile'} == {last}
    if os.cpu_count() > 1:
        assert len({r['cpu'] for r in found if r['event'] == 'sched:sched_switch'}) > 1


@pytest.mark.parametrize('own, command', [(64, 16), (16, 64)])
def test_largest_ring(root, own, command):
    words = ['-e', f'profile/-F 997 -m {own}/,sched:sched_switch', '-m', str(command)]
    with subprocess.Popen([ATTAR, 'trace', '-q', *words, '-d', '500ms']) as process:
        wait_until(lambda: is_waiting(process), 'attar waits')
        maps = Path(f'/proc/{process.pid}/maps').read_text()
    first, last = re.search(r'(\w+)-(\w+) .*perf_event', maps).groups()
    assert (int(last, 16) - int(first, 16)) == (64 + 1) * 4096


def test_own_filters_of_samples(root):
    """A process that the event excludes is watched by other events."""
    with subprocess.Popen([workload('split7030'), '100000']) as busy:
        found = rows(reports('trace', '-m', 1024, '-e', f'profile/-F 997 --exclude_pid {busy.pid}/,'
                             f'profile/-F 997 -p {busy.pid}/alias=own/', '-d', '500ms'), 'events')
        busy.kill()
    own = {r['tid'] for r in found if r['event'] == 'own'}
    others = {r['tid'] for r in found if r['event'] == 'profile'}
    assert own == {busy.pid} and busy.pid not in others


@pytest.mark.quick
@pytest.mark.parametrize('event, name', [
    ('page-faults/-g/', 'page-faults'), ('page-faults//stack/', 'page-faults'),
    ('page-faults', 'page-faults')])
def test_an_event_with_the_name_of_a_profiler(root, event, name):
    """Options make it the profiler; the stacks are those of its -g, or of the attribute."""
    found = run('trace', '-e', event, '-N', 5, '--', workload('faults1000')).stdout
    assert len(re.findall(rf'^\S+  faults1000 .* {name} ', found, re.M)) == 5
    assert ('([kernel.kallsyms])' in found) == (event != 'page-faults')


def test_switches_of_oncpu(root):
    """The switches to threads of the name, which the field next_comm has."""
    found = rows(reports('trace', '-m', 1024, '-a', '-e', 'oncpu/--filter sleeps/', '--',
                         workload('sleeps'), '10', '20'), 'events')
    assert found and {r['values']['next_comm'] for r in found} == {'sleeps'}


@pytest.mark.quick
def test_soft_lockups(tmp_path):
    """watchdog's events are the samples that it would show: after 2 s, and after twice that."""
    path = tmp_path / 'timer.script'
    path.write_text('# attar script\nevent context-switches\n'
                    'event cpu-clock stack counts=context-switches\n' + ''.join(
        f'{i} 0 7/7 x cpu-clock counts=5 stack=0xffffffff81000000\n' for i in range(1, 12)))
    found = rows(reports('trace', '-e', 'watchdog/-F 1 --than 2s/', '--input', path), 'events')
    assert [(r['time'], r['event']) for r in found] == [
        (4_000_000_000, 'watchdog'), (7_000_000_000, 'watchdog')]


@pytest.mark.quick
def test_split_locks(tmp_path):
    path = tmp_path / 'locks.script'
    path.write_text('''# attar script
event a:b n:u8
event sq_misc.split_lock sampled
1.0 0 7/7 a sq_misc.split_lock period=1000
1.1 0 8/8 b a:b
1.2 0 7/7 a sq_misc.split_lock period=1000
''')
    found = rows(reports('trace', '-e', 'a:b,split-lock/-e sq_misc.split_lock/', '--input', path),
                 'events')
    assert [(r['event'], r['comm']) for r in found] == [
        ('split-lock', 'a'), ('a:b', 'b'), ('split-lock', 'a')]


@pytest.mark.quick
@pytest.mark.parametrize('event, times', [
    ('kvm-exit', [20, 60, 2015, 2021, 4000]), ('kvm-exit/--than 10us/', [60, 4000]),
    ("kvm-exit/--than 10us --filter 'vcpu_id==1'/", []),
    ('bpf:kvm_exit/--threshold 30us/', [60, 4000]), ('bpf:kvm_exit//', [4000])])
def test_long_exits_of_guests(tmp_path, event, times):
    """The event is the entry after the exit, with its fields. A thread that exits has none."""
    path = tmp_path / 'kvm.script'
    path.write_text('''# attar script
event kvm:kvm_exit exit_reason:u32 guest_rip:u64 isa:u32 vcpu_id:u32
event kvm:kvm_entry vcpu_id:u32
0.000010 0 100/101 CPU0 kvm:kvm_exit isa=1 exit_reason=30
0.000015 1 100/102 CPU1 kvm:kvm_exit isa=1 exit_reason=12 vcpu_id=1
0.000020 0 100/101 CPU0 kvm:kvm_entry
0.000030 0 100/101 CPU0 kvm:kvm_exit isa=1 exit_reason=30
0.000060 0 100/101 CPU0 kvm:kvm_entry vcpu_id=7
0.002015 1 100/102 CPU1 kvm:kvm_entry vcpu_id=1
0.002020 1 100/102 CPU1 kvm:kvm_exit isa=2 exit_reason=0x7b vcpu_id=1
0.002021 1 100/102 CPU1 kvm:kvm_entry vcpu_id=1
0.002030 1 100/102 CPU1 kvm:kvm_exit isa=1 exit_reason=30
0.002040 1 100/102 CPU1 exit
0.002100 0 100/101 CPU0 kvm:kvm_exit isa=1 exit_reason=30
0.003100 1 100/102 CPU1 kvm:kvm_entry vcpu_id=1
0.004000 0 100/101 CPU0 kvm:kvm_entry
''')
    found = rows(reports('trace', '-e', event, '--input', path), 'events')
    assert [r['time'] for r in found] == [1000 * time for time in times]
    assert {r['event'] for r in found} <= {event.partition('/')[0]}
    assert [r['values']['vcpu_id'] for r in found if r['time'] == 60_000] == [7] * (60 in times)


@pytest.mark.quick
@pytest.mark.parametrize('event, status, sentence', [
    ('profile/-d 3/', 2, '--duration is not an option of an event, but of the whole command'),
    ('profile/-F 0/', 2, 'profile: -F: 0 is too small'),
    ('profile/-X/', 2, 'profile: no such option -X'),
    ('profile/word/', 2, "'word' is not an option"),
    ('top/-e sched:sched_switch/', 4, "the profiler 'top' does not emit events; those that do "
     'are: blktrace, bpf:kvm_exit, breakpoint, hrtimer, irq-off, kvm-exit, ldlat-loads, '
     'ldlat-stores, oncpu, page-faults, profile, split-lock, task-state, watchdog'),
])
def test_refused_profilers(script, event, status, sentence):
    done = run('trace', '-e', f'sched:sched_switch,{event}', '--input', script)
    assert done.returncode == status
    assert sentence in done.stderr
    text, caret = done.stderr.rstrip('\n').splitlines()[-2:]
    assert text.strip() == f'sched:sched_switch,{event}'
    assert caret.index('^') >= text.index(event.split('/')[0])


@pytest.mark.quick
@pytest.mark.parametrize('profiler', ['stat', 'profile', 'record'])
def test_profilers_that_take_no_profilers(profiler, tmp_path):
    done = run(profiler, '-e', PROFILE, *(['-o', tmp_path / 'x'] if profiler == 'record' else []))
    assert done.returncode == 4
    assert f"{profiler}: the profiler 'profile' cannot be an event here" in done.stderr


# ---- profilers as events, live ----

def test_samples_of_a_command(root):
    """70 % of the time is heavy()'s; each sample has its stack."""
    found = rows(reports('trace', '-m', 1024, '-e', f'sched:sched_process_exec,{PROFILE}', '--',
                         workload('split7030'), 3000), 'events')
    assert [r['comm'] for r in found if r['event'] == 'sched:sched_process_exec'] == ['split7030']
    symbols = [r['values']['symbol'] for r in found if r['event'] == 'profile']
    own = [s for s in symbols if s in ('heavy', 'light')]
    assert len(own) > 0.9 * len(symbols)
    share_is(own.count('heavy'), len(own), 0.7)


def test_profiler_options_select_samples(root):
    """--exclude-user of the event's own options: no sample is in user code."""
    found = rows(reports('trace', '-e', 'profile/-F 997 --exclude-user/', '--',
                         workload('split7030'), 500), 'events')
    assert not {r['values']['symbol'] for r in found} & {'heavy', 'light'}


def test_timers_of_each_cpu(root):
    """
    One in each period, but for those that interrupt attar itself. On a busy machine, attar runs for
    longer than -d, and a timer expires late: at most one period, as the kernel skips the others.
    """
    found = rows(reports('trace', '-m', 64, '-d', '1s', '-e', 'hrtimer/--period 10ms/'), 'events')
    times = {cpu: [r['time'] for r in found if r['cpu'] == cpu] for cpu in range(os.cpu_count())}
    for own in times.values():
        assert 0 < len(own) <= (max(own) - min(own)) / 10_000_000 + 2
    done = run('trace', '-e', 'irq-off/--than 10ms/', '--', 'true')
    assert done.returncode == 2
    assert 'irq-off watches CPUs, not tasks: add --all-cpus' in done.stderr


def test_timers_that_interrupt_tasks(root):
    """A program that uses CPU time only, 70% of it in heavy(); other events are its own, too."""
    with subprocess.Popen([workload('split7030'), '100000']) as busy:
        found = rows(reports('trace', '-m', 64, '-d', '1s', '-e',
                             'hrtimer/--period 2ms/,sched:sched_process_exit', '-p', busy.pid),
                     'events')
        busy.kill()
    names = [r['values']['symbol'] for r in found]
    assert {r['tid'] for r in found} == {busy.pid} and len(found) > 20
    assert {r['event'] for r in found} == {'hrtimer'}
    user = [name for name in names if name in ('heavy', 'light')]
    share_is(user.count('heavy'), len(user), 0.7)


@pytest.mark.parametrize('words', [['-p', 100], ['-t', 100], ['-p', 7], []])
def test_timers_of_tasks(tmp_path, words):
    """Events of the CPU since its previous sample are counted, whichever task that interrupted."""
    path = tmp_path / 'timer.script'
    path.write_text('''# attar script
event a:b n:u8
event cpu-clock counts=a:b
1.000 0 100/100 x cpu-clock counts=1
1.010 0 7/7 y cpu-clock counts=4
1.020 0 100/100 x cpu-clock counts=6
1.030 0 100/100 x cpu-clock counts=6
''')
    counts = {7: [3], 100: [1, 2, 0]}[words[1]] if words else [1, 3, 2, 0]
    alone = reports('hrtimer', '-e', 'a:b', '--input', path, *words)
    assert [r['values']['b'] for r in rows(alone, 'samples')] == counts
    assert rows(alone[-1:], 'timers') == [{'cpu': 0, 'samples': len(counts), 'true': len(counts)}]
    event = reports('trace', '-e', "hrtimer/-e a:b 'b==2 || b==3'/", '--input', path, *words)
    assert len(rows(event, 'events')) == sum(n in (2, 3) for n in counts)


# ---- exec= ----

@pytest.mark.quick
def test_printed_text_is_between_the_lines(script):
    found = lines('trace', '-e', r'sched:sched_switch//exec=printf("cpu %d\n", _cpu)/',
                  '--input', script)
    found = found[:found.index('')]
    assert [line if line.startswith('cpu') else line.split()[4] for line in found[1:]] == [
        'sched:sched_switch', 'cpu 0', 'sched:sched_switch', 'cpu 1']


@pytest.mark.quick
def test_lines_end_with_a_newline(script):
    """Text without an end of line is continued by the next event, also of another kind."""
    found = lines('top', '-e', r'sched:sched_wakeup//key=pid/exec=printf("%d ", pid)/,'
                  r'sched:sched_switch//key=next_pid/exec=printf("-> %d\n", next_pid)/',
                  '--input', script)
    assert found[:2] == ['100 -> 100', '100 -> 100']
    found = lines('top', '-e', r'sched:sched_wakeup//exec=printf("%d.", pid)/', '--input', script)
    assert found[0] == '100.100.'


@pytest.mark.quick
def test_printed_text_in_json(script):
    found = rows(reports('trace', '-e', r'sched:sched_switch//exec=printf("%s\n", next_comm)/',
                         '--input', script), 'printed')
    assert found == [
        {'time': 1700000001_000001000, 'event': 'sched:sched_switch', 'text': 'worker'},
        {'time': 1700000001_000004000, 'event': 'sched:sched_switch', 'text': 'worker'}]


@pytest.mark.quick
def test_printed_text_is_escaped(script):
    script.write_text(EVENTS.replace('next_comm=worker', 'next_comm="\x1b[2J"'))
    found = lines('trace', '-e', r'sched:sched_switch//exec=printf("%s\n", next_comm)/',
                  '--input', script)
    assert all('\x1b' not in line for line in found)


@pytest.mark.quick
def test_commands_need_a_permission(script, tmp_path):
    out = tmp_path / 'ran'
    event = f'sched:sched_switch//exec=system("echo %d >>{out}", next_pid)/'
    done = run('trace', '-e', event, '--input', script)
    assert done.returncode == 3
    assert '--allow-exec' in done.stderr
    assert not out.exists()
    assert run('trace', '-e', event, '--allow-exec', '--input', script).returncode == 0
    assert out.read_text() == '100\n100\n'


@pytest.mark.parametrize('profiler', ['trace', 'top'])
def test_each_event_is_executed_once(root, profiler):
    found = lines(profiler, '-m', 1024, '-e',
                  r'syscalls:sys_enter_getppid//exec=printf("ppid of %d\n", _pid)/', '--',
                  workload('flood'), 1000)
    found = [line for line in found if line.startswith('ppid of')]
    assert len(found) == 1000
    assert len(set(found)) == 1


# ---- trigger ----

@pytest.mark.quick
def test_trigger_reports_up_to_its_event(script):
    found = reports('top', '-e', 'sched:sched_wakeup//key=pid/,'
                    'sched:sched_switch//key=next_pid/trigger/', '--input', script)
    tables = [rows([report], 'top') for report in found]
    columns = 'sched:sched_wakeup', 'sched:sched_switch'
    assert [[row[c] for row in table for c in columns] for table in tables] == [[1, 1], [1, 1], []]
    assert [report['time'] for report in found] == [
        1700000001_000001000, 1700000001_000004000, 1700000001_000004000]
    assert [report['interval_ns'] for report in found] == [1000, 3000, 0]


def test_trigger_live(root):
    found = reports('top', '-e', 'syscalls:sys_enter_getppid//key=_pid/trigger/', '--',
                    workload('flood'), 5)
    counts = [[row['syscalls:sys_enter_getppid'] for row in rows([report], 'top')]
              for report in found]
    assert counts == [[1]] * 5 + [[]]


# ---- errors in attributes ----

@pytest.mark.quick
@pytest.mark.parametrize('profiler, attribute, wrong', [
    ('trace', 'exec=printf("%d", nextpid)', 'nextpid'),
    ('top', 'key={prev_pid,nextpid}', 'nextpid'),
    ('top', 'top-by=next_pid+', None),
    ('top', "key='nextpid'", 'nextpid'),
    ('multi-trace', 'role=nextpid', 'nextpid'),
])
def test_errors_show_the_event(script, profiler, attribute, wrong):
    event = f'sched:sched_switch//alias=x/{attribute}/'
    done = run(profiler, '-e', event, '-e', 'sched:sched_wakeup', '--input', script)
    assert done.returncode == 2
    text, caret = done.stderr.rstrip('\n').splitlines()[-2:]
    assert text.strip() == event
    at = text.index(wrong) if wrong else text.index(attribute) + len(attribute)
    assert caret == ' ' * at + '^'


@pytest.mark.quick
def test_events_in_another_order_than_in_the_recording(script):
    """The number of an event in the run is not that in the recording."""
    found = rows(reports('trace', '-e', 'cpu-clock,sched:sched_switch,sched:sched_wakeup',
                         '--input', script), 'events')
    assert [r['event'].rpartition('_')[2] for r in found] == ['wakeup', 'cpu-clock', 'switch'] * 2


def test_events_with_the_name_of_a_profiler(root):
    """page-faults is both."""
    done = run('trace', '-q', '-e', 'page-faults,page-faults//stack/,page-faults/period=10/',
               '--', 'true')
    assert done.returncode == 0, done.stderr


@pytest.mark.quick
@pytest.mark.parametrize('than, remarks', [('1ms', []), ('9s', [
    "none of 2 samples became an event of 'kvm-exit': 'attar kvm-exit' with the same options may "
    'say why'])])
def test_a_profiler_that_makes_no_event_of_its_samples(tmp_path, than, remarks):
    path = tmp_path / 'x.script'
    path.write_text('''# attar script
event kvm:kvm_exit exit_reason:u32 guest_rip:u64 isa:u32 vcpu_id:u32
event kvm:kvm_entry vcpu_id:u32
1.000 0 7/7 CPU0 kvm:kvm_exit isa=1 exit_reason=30
1.005 0 7/7 CPU0 kvm:kvm_entry vcpu_id=0
''')
    found = reports('trace', '-e', f'kvm-exit/--than {than}/', '--input', path)
    assert found[-1].get('remarks', []) == remarks
    assert found[-1]['notes']['seen'] == (not remarks)
