# SPDX-License-Identifier: MIT
"""The options that all profilers share, as they are written for perf-prof."""
import json
import os
import re
import signal
import subprocess

import pytest

import hierarchy
from command import ATTAR, as_nobody, run, workload

# Those that a run accepts; what most of them do is tested where it belongs.
ACCEPTED = [
    '-C 0', '--cpus 0', '-p 1', '--pids 1', '-t 1', '--tids 1', '--cgroups /', '--inherit',
    '--no-inherit', '--no-order',
    '-i 100', '--interval 100', '-d 1ms', '-o {tmp}/x.txt', '--output {tmp}/x.txt', '--order',
    '-m 64', '--mmap-pages 64', '--watermark 50', '-N 1', '--exit-N 1', '--monotonic',
    '--clock-offset 0x10', '--usage-self 1000', '--sampling-limit 1000000',
    '--sampling-limit 1000000 --perfeval-cpus 0', '--sampling-limit 1000000 --perfeval-pids 1',
    '-V', '--version', '-v', '-vv', '-vvv', '--verbose', '-q', '--quiet', '-h', '--help',
    '-G', '--exclude-host', '--exclude-guest', '--exclude-user', '--exclude-kernel',
    '--user-callchain', '--no-user-callchain', '--kernel-callchain', '--no-kernel-callchain',
    '--exclude_pid 1', '--order']
BY_BPF = ['--nr_running_min 1', '--nr_running_max 99', '--sched_policy 0', '--sched_policy rr',
          '--prio 120', '--prio 0-98,120', '--irqs_disabled=0']
FLAGS = ['--irqs_disabled', '--irqs_disabled=0', '--irqs_disabled=1', '--tif_need_resched',
         '--tif_need_resched=0', '--tif_need_resched=1']


def words(text, tmp_path):
    return text.format(tmp=tmp_path).split()


@pytest.mark.parametrize('profiler', ['profile', 'trace'])
@pytest.mark.parametrize('option', ACCEPTED)
def test_accepted(root, tmp_path, profiler, option):
    if '--cgroups' in option and not hierarchy.in_v2() and 'v1' not in hierarchy.hierarchies():
        pytest.skip('the perf_event controller is bound to a v1 hierarchy that is not mounted')
    event = ['-e', 'sched:sched_switch'] if profiler == 'trace' else []
    done = run(profiler, *event, '-d', '10ms', *words(option, tmp_path))
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize('option', BY_BPF)
def test_of_interrupted_tasks(root, tmp_path, option):
    """They are accepted for samples, and refused where samples do not say this."""
    done = run('profile', '-d', '10ms', *words(option, tmp_path))
    assert done.returncode == 0, done.stderr
    if option.startswith('--irqs'):
        return
    done = run('trace', '-e', 'sched:sched_switch', *words(option, tmp_path))
    assert done.returncode == 4
    assert f"{option.split()[0]}: a BPF program of 'sched:sched_switch' would also drop it" in \
        done.stderr
    script = tmp_path / 'x.script'
    script.write_text('# attar script\nevent cpu-clock\n1.0 0 1/1 x cpu-clock\n')
    done = run('profile', '--input', script, *words(option, tmp_path))
    assert done.returncode == 4
    assert 'selects by data that a recording does not have' in done.stderr


@pytest.mark.parametrize('option', FLAGS)
def test_flags_of_tracepoints(root, option):
    """They are accepted for tracepoints, and for other samples by a BPF program."""
    done = run('trace', '-e', 'sched:sched_switch', '-N', 3, '-d', '100ms', option)
    assert done.returncode == 0, done.stderr
    done = run('trace', '-e', 'cpu-clock', '-N', 1, '-d', '10ms', option)
    assert done.returncode == 0, done.stderr


def test_tasks_to_be_rescheduled(root):
    """
    Of two programs on a CPU, one is to be rescheduled when its time slice is over, until the end of
    the timer interrupt: a few samples are taken then. Each sample has the flag or has not.
    """
    cpu = min(os.sched_getaffinity(0))
    command = ['--', 'taskset', '-c', cpu, 'sh', '-c',
               f'{workload("split7030")} 1000 & {workload("split7030")} 1000; wait']
    words = ['profile', '--format', 'json', '-F', '4999', '-e', 'cpu-clock']

    def seen(*options):
        done = run(*words, *options, *command)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])['notes']['seen']
    every, with_flag = seen(), seen('--tif_need_resched')
    assert 0 < with_flag < every / 4
    assert abs(seen('--tif_need_resched=0') + with_flag - every) < every / 4


@pytest.mark.quick
@pytest.mark.parametrize('args, sentence', [
    (['--irqs_disabled=2'], "--irqs_disabled: '2' is not 0 or 1"),
    (['--exclude_pid', 'x'], '--exclude_pid: '),
    (['--prio', '140'], "--prio: 140"), (['--prio', 'x'], '--prio: '),
    (['--sched_policy', 'fifo,foo'],
     "--sched_policy: 'fifo,foo' is not a list of policies: use normal, fifo, rr"),
    (['--sched_policy', '8'], "--sched_policy: '8' is not a list of policies: "),
    (['--nr_running_min', 'x'], '--nr_running_min: '),
    (['--nr_running_max', '4294967296'], '--nr_running_max: 4294967296 exceeds the number'),
    (['--nr_running_min', '3', '--nr_running_max', '2'],
     '--nr_running_min exceeds --nr_running_max: nothing would be sampled'),
    (['--exclude-host', '--exclude-guest'], 'are mutually exclusive: nothing would be sampled')])
def test_refused(args, sentence):
    done = run('trace', '-e', 'page-faults', *args)
    assert done.returncode == 2
    assert sentence in done.stderr


@pytest.mark.quick
def test_help_names_each_policy():
    """The names that the message of a wrong one has."""
    error = run('trace', '-e', 'page-faults', '--sched_policy', 'foo').stderr
    names = re.search(r'use (normal, .*), or numbers', error)[1]
    assert f'these policies: {names}, or' in ' '.join(run('profile', '-h', 'all').stdout.split())


# ---- what they do, on a script ----

SCRIPT = '''# attar script
event a:b n:int
wall 1700000000
1.000000001 0 10/11 x a:b n=1
1.000000002 0 10/12 x a:b n=2 common_flags=1
1.000000003 1 20/20 y a:b n=3 common_flags=4
1.000000004 1 30/30 z a:b n=4 common_flags=5
1.000000005 1 40/40 w a:b n=5 common_flags=2
'''


@pytest.mark.quick
@pytest.mark.parametrize('options, kept', [
    ('', '12345'), ('--exclude_pid 10', '345'), ('--exclude_pid 10,20', '45'),
    ('--exclude_pid 10 --exclude_pid 30', '35'), ('--irqs_disabled', '24'),
    ('--irqs_disabled=1', '24'), ('--irqs_disabled=0', '135'), ('--tif_need_resched', '345'),
    ('--tif_need_resched=0', '12'), ('--irqs_disabled --tif_need_resched', '4'),
    ('--irqs_disabled=0 --tif_need_resched=0', '1'), ('-G', ''), ('--exclude-guest', '12345'),
    ('-C 1', '345'), ('-p 10', '12'), ('-t 12,20', '23'), ('-N 2', '12'),
    ('--exclude_pid 10 -N 1', '3')])
def test_kept_samples(tmp_path, options, kept):
    script, out = tmp_path / 'x.script', tmp_path / 'x.json'
    script.write_text(SCRIPT)
    done = run('trace', '-q', '-e', 'a:b', '--input', script, '-o', out, *options.split())
    assert done.returncode == 0, done.stderr
    reports = [json.loads(line) for line in out.read_text().splitlines()]
    numbers = [row[-1]['n'] for r in reports for s in r['sections'] for row in s['rows']]
    assert ''.join(map(str, numbers)) == kept
    assert reports[-1]['notes']['seen'] == len(kept)


MODES = '''# attar script
event cpu-clock stack
event a:b stack n:int
1.000000000 0 10/10 x mmap 0x400000 0x10000 0 r-xp /no/such/file
1.000000001 0 10/10 x cpu-clock stack=0xffffffff81000010,0xffffffff81000020,0x401000
1.000000002 0 10/10 x cpu-clock stack=0x402000
1.000000003 0 10/10 x a:b n=1 stack=0xffffffff81000030,0x403000
'''
K1, K2, K3 = 'ffffffff81000010', 'ffffffff81000020', 'ffffffff81000030'


@pytest.mark.quick
@pytest.mark.parametrize('options, stacks', [
    ('', [[K1, K2, '1000'], ['2000'], [K3, '3000']]),
    ('--exclude-kernel', [['2000'], ['3000']]),
    ('--exclude-user', [[K1, K2], [K3]]),
    ('--no-kernel-callchain', [['1000'], ['2000'], ['3000']]),
    ('--no-user-callchain', [[K1, K2], ['2000'], [K3]]),
    ('--exclude-kernel --exclude_pid 10', [])])
def test_code_of_recorded_samples(tmp_path, options, stacks):
    """An empty call chain has the address of the sample, as live."""
    script, out = tmp_path / 'x.script', tmp_path / 'x.json'
    script.write_text(MODES)
    done = run('trace', '-q', '-g', '-e', 'cpu-clock,a:b', '--input', script, '-o', out,
               *options.split())
    assert done.returncode == 0, done.stderr
    reports = [json.loads(line) for line in out.read_text().splitlines()]
    found = [[line.split()[0] for line in row[-1]] for r in reports for s in r['sections']
             for row in s['rows']]
    assert found == stacks
    assert reports[-1]['notes']['seen'] == len(stacks)


@pytest.mark.quick
def test_profiles_of_recorded_code(tmp_path):
    script = tmp_path / 'x.script'
    script.write_text(MODES)
    for options, seen in (('', 2), ('--exclude-kernel', 1), ('--exclude-user', 1)):
        done = run('profile', '--format', 'json', '--input', script, *options.split())
        assert json.loads(done.stdout)['notes']['seen'] == seen
    done = run('profile', '--input', script, '--exclude-kernel', '--exclude-user')
    assert done.returncode == 2
    assert 'mutually exclusive' in done.stderr


@pytest.mark.quick
@pytest.mark.parametrize('depth, full', [(126, 0), (127, 2)])
def test_stacks_of_the_limit(tmp_path, depth, full):
    script = tmp_path / 'x.script'
    kernel = ','.join(f'{0xffffffff81000000 + 16 * i:#x}' for i in range(depth))
    script.write_text(f'''# attar script
event cpu-clock stack
1.000000001 0 10/10 x cpu-clock stack={kernel}
1.000000002 0 10/10 x cpu-clock stack={kernel}
1.000000003 0 10/10 x cpu-clock stack=0xffffffff81000010
''')
    done = run('profile', '-g', '--format', 'json', '--input', script)
    assert done.returncode == 0, done.stderr
    found = [r for r in json.loads(done.stdout)['remarks'] if 'stacks of 127 frames' in r]
    assert found == (['stacks of 127 frames, the limit at which the kernel cuts stacks: 2; '
                      'sysctl kernel.perf_event_max_stack=512 raises the limit'] if full else [])


# ---- and live ----

def test_excluded_processes(root, tmp_path):
    """Of two busy processes, one is excluded."""
    script = 'while :; do :; done'
    with subprocess.Popen(['sh', '-c', script]) as one, \
            subprocess.Popen(['sh', '-c', script]) as two:
        try:
            out = tmp_path / 'x.json'
            done = run('trace', '-q', '-e', 'cpu-clock/freq=997/', '-p', f'{one.pid},{two.pid}',
                       '--exclude_pid', one.pid, '-N', 50, '-o', out)
        finally:
            one.kill()
            two.kill()
    assert done.returncode == 0, done.stderr
    tids = {row[2] for line in out.read_text().splitlines()
            for s in json.loads(line)['sections'] for row in s['rows']}
    assert tids == {two.pid}


SPIN = 'while :; do :; done'


@pytest.fixture(name='busy')
def fixture_busy(spawn):
    """busy('nice', '-n', '5') starts a shell that never sleeps; returns its pid."""
    def start(*launcher):
        return spawn(*launcher, 'sh', '-c', SPIN).pid
    return start


@pytest.mark.usefixtures('root')
@pytest.mark.parametrize('option, value, wanted', [
    ('--prio', '127', {'nice'}), ('--prio', '125-130,97', {'nice', 'rr'}),
    ('--sched_policy', 'batch', {'batch'}), ('--sched_policy', '2,3', {'batch', 'rr'})])
def test_samples_of_chosen_tasks(busy, spawn, option, value, wanted):
    """
    Real-time priority 2 is 97 in the kernel, nice 7 is 127. The run lasts until each wanted task
    has a sample, and has 30 in all: the real-time task has most of them, and beside other busy
    programs, the nice one does not run for a while.
    """
    pids = {'nice': busy('nice', '-n', 7 - os.nice(0)), 'batch': busy('chrt', '-b', '0'),
            'rr': busy('nice', 'chrt', '-r', '2')}
    attar = spawn(ATTAR, 'trace', '-e', 'cpu-clock/freq=997/', '-p',
                  ','.join(map(str, pids.values())), option, value, '-d', '60s',
                  '--format', 'json', stdout=subprocess.PIPE, text=True)
    tids, is_ended = [], False
    for line in attar.stdout:
        tids += [row[2] for s in json.loads(line)['sections'] for row in s['rows']]
        if not is_ended and len(tids) >= 30 and len(set(tids)) >= len(wanted):
            attar.send_signal(signal.SIGINT)
            is_ended = True
    assert attar.wait(20) == 0
    assert set(tids) == {pids[name] for name in wanted}


@pytest.mark.usefixtures('root')
def test_samples_by_length_of_the_queue(busy):
    """Thirty tasks run or wait on one CPU."""
    cpu = max(os.sched_getaffinity(0))
    for _ in range(30):
        busy('taskset', '-c', cpu)

    def seen(*args):
        done = run('profile', '-q', '-F', 997, '-C', cpu, '-d', '500ms', '--format', 'json', *args)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])['notes']['seen']
    assert seen('--nr_running_min', 30) > 20
    assert seen('--nr_running_min', 20, '--nr_running_max', 1000) > 20
    assert seen('--nr_running_max', 29) == 0
    assert seen('--nr_running_min', 100000) == 0


def test_programs_are_not_permitted(root, open_dir):
    """Without privileges the reason is given."""
    program = open_dir() / 'attar'
    done = as_nobody(program, 'profile', '--prio', '120', '-d', '10ms', '-p', os.getpid())
    assert done.returncode in (3, 4)
    assert '--prio: ' in done.stderr or 'not permitted' in done.stderr


def test_system_calls_are_entered_with_interrupts_enabled(root, tmp_path):
    found = {}
    for option in ('--irqs_disabled=0', '--irqs_disabled=1'):
        out = tmp_path / 'x.json'
        done = run('trace', '-q', '-e', 'syscalls:sys_enter_getppid,sched:sched_switch', option,
                   '-o', out, '--', workload('flood'), 100)
        assert done.returncode == 0, done.stderr
        found[option] = {row[4] for line in out.read_text().splitlines()
                         for s in json.loads(line)['sections'] for row in s['rows']}
    assert 'syscalls:sys_enter_getppid' in found['--irqs_disabled=0']
    assert 'syscalls:sys_enter_getppid' not in found['--irqs_disabled=1']


# Thread 8 is switched in and out, and woken up, five times as often as 7; 1 ms each.
BUSY = """# attar script
event sched:sched_switch prev_comm:char[16] prev_pid:pid_t prev_prio:int prev_state:long \
next_comm:char[16] next_pid:pid_t next_prio:int
event sched:sched_wakeup comm:char[16] pid:pid_t
event sched:sched_wakeup_new comm:char[16] pid:pid_t
event sched:sched_waking comm:char[16] pid:pid_t
event sched:sched_migrate_task comm:char[16] pid:pid_t orig_cpu:int dest_cpu:int
0 0 7/7 a exec
0 0 8/8 b exec
""" + ''.join(f"""\
1.{n:03} 1 0/0 swapper sched:sched_wakeup comm={comm} pid={tid}
1.{n:03} 1 0/0 swapper sched:sched_migrate_task comm={comm} pid={tid} orig_cpu=1 dest_cpu=0
1.{n:03} 0 0/0 swapper sched:sched_switch prev_comm=swapper next_comm={comm} next_pid={tid}
1.{n:03} 0 {tid}/{tid} {comm} sched:sched_switch prev_comm={comm} prev_pid={tid} prev_state=1 \
next_comm=swapper
""" for n in range(120) for comm, tid in [('a', 7) if n % 6 == 5 else ('b', 8)])


@pytest.mark.parametrize('words, n, seen', [
    (['task-state', '-p', 7], 9, 54), (['task-state', '--filter', 'a'], 9, 54),
    (['task-state'], 9, 9), (['oncpu', '-p', 7], 6, 36), (['oncpu'], 6, 6),
    (['sched-migrate', '-p', 7], 3, 18), (['rundelay', '-p', 7], 6, 53),
    (['offcpu', '-p', 7], 6, 36), (['offcpu'], 6, 6),
])
def test_count_is_of_the_selected_tasks(tmp_path, words, n, seen):
    """The profilers are given the events of all tasks, and use events of the selected ones only."""
    path = tmp_path / 'x.script'
    path.write_text(BUSY)
    done = run(*words, '-N', n, '--format', 'json', '--input', path)
    assert done.returncode == 0, done.stderr
    notes = json.loads(done.stdout.splitlines()[-1])['notes']
    assert notes['seen'] == seen, notes


# With each sixth n, thread 7 has a request for disk 8:0 and an exit of a guest, is switched out and
# exits; with the others, thread 8, with requests for 8:16.
SELECTED = """# attar script
event block:block_getrq dev:u32 sector:u64 nr_sector:u32 rwbs:char[8] comm:char[16]
event block:block_rq_issue dev:u32 sector:u64 nr_sector:u32 bytes:u32 rwbs:char[8] \
comm:char[16]
event block:block_rq_complete dev:u32 sector:u64 nr_sector:u32 error:s32 rwbs:char[8]
event kvm:kvm_exit exit_reason:u32 guest_rip:u64 isa:u32
event kvm:kvm_entry vcpu_id:u32
event sched:sched_process_exit comm:char[16] pid:pid_t
event sched:sched_process_fork comm:char[16] pid:pid_t child_comm:char[16] child_pid:pid_t
event syscalls:sys_enter_exit_group error_code:s64
event syscalls:sys_enter_exit error_code:s64
event sched:sched_switch prev_comm:char[16] prev_pid:pid_t prev_prio:int prev_state:long \
next_comm:char[16] next_pid:pid_t next_prio:int
event sched:sched_wakeup comm:char[16] pid:pid_t
event signal:signal_deliver sig:s32 sa_handler:u64
event signal:signal_generate sig:s32 pid:pid_t result:s32
0 0 7/7 a exec
0 0 8/8 b exec
""" + ''.join(f"""\
1.{n:03} 0 {tid}/{tid} {comm} block:block_getrq dev={dev} sector={n * 8} nr_sector=8 rwbs=R
1.{n:03} 0 {tid}/{tid} {comm} block:block_rq_issue dev={dev} sector={n * 8} nr_sector=8 rwbs=R
1.{n:03} 0 0/0 swapper block:block_rq_complete dev={dev} sector={n * 8} nr_sector=8 rwbs=R
1.{n:03} 0 {tid}/{tid} {comm} kvm:kvm_exit exit_reason=12 isa=1
1.{n:03} 0 {tid}/{tid} {comm} kvm:kvm_entry
1.{n:03} 0 {tid}/{tid} {comm} sched:sched_switch prev_pid={tid} prev_state=1 next_comm=swapper
1.{n:03} 0 {tid}/{tid} {comm} sched:sched_process_exit pid={tid}
""" for n in range(120) for comm, tid, dev in
    [('a', 7, 8 << 20) if n % 6 == 5 else ('b', 8, 8 << 20 | 16)])


@pytest.mark.parametrize('words, n, seen', [
    (['blktrace', '-d', '8:0'], 6, 2 * 5 + 6), (['blktrace', '-d', '8:0,8:16'], 6, 6),
    (['biosnoop', '-p', 7], 6, 2 * 15 + 6), (['bpf:kvm_exit', '-p', 7], 4, 5 * 3 + 3 + 5 * 3 + 2),
    (['bpf:kvm_exit'], 4, 3 + 2), (['exitsnoop', '-p', 7], 2, 2 * 5 + 2), (['exitsnoop'], 2, 2)])
def test_count_is_of_the_selected_devices(tmp_path, words, n, seen):
    path = tmp_path / 'x.script'
    path.write_text(SELECTED)
    done = run(*words, '-N', n, '--format', 'json', '--input', path)
    assert done.returncode == 0, done.stderr
    notes = json.loads(done.stdout.splitlines()[-1])['notes']
    assert notes['seen'] == seen, notes


@pytest.mark.parametrize('n, ended', [(60, 119), (61, 4000)])
def test_run_without_enough_events_of_the_selected_tasks(tmp_path, n, ended):
    """It ends with the recording, not with the last event: events of other tasks do not count."""
    path = tmp_path / 'x.script'
    path.write_text(BUSY + '5 0 0/0 x exec\n')
    done = run('task-state', '-p', 7, '-N', n, '--format', 'json', '--input', path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)['interval_ns'] == ended * 10 ** 6
