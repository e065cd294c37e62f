# SPDX-License-Identifier: MIT
"""Tables with rows of threads: a row for each name, also of threads with the same number."""
import os

import pytest

from command import workload
from scripts import of_script, report_until, rows

DECLARED = '''event sched:sched_switch stack prev_comm:char[16] prev_pid:pid_t prev_prio:int \
prev_state:s64 next_comm:char[16] next_pid:pid_t next_prio:int
event sched:sched_waking stack comm:char[16] pid:pid_t prio:int target_cpu:int
event sched:sched_wakeup comm:char[16] pid:pid_t prio:int target_cpu:int
event sched:sched_wakeup_new comm:char[16] pid:pid_t prio:int target_cpu:int
event sched:sched_migrate_task comm:char[16] pid:pid_t orig_cpu:int dest_cpu:int
event raw_syscalls:sys_enter id:s64
event raw_syscalls:sys_exit id:s64 ret:s64
event a:number n:u32
event kvm:kvm_exit exit_reason:u32 guest_rip:u64 isa:u32 vcpu_id:u32
event kvm:kvm_entry vcpu_id:u32
event cpu/mem-loads/ sampled
'''
NAMES = {'one': 1, 'two': 2, 'three': 3}
MS = 10**6


def life(name, k, start):
    """A thread waits k ms for a CPU, runs for k ms, and blocks for k ms, twice."""
    def at(ms, event):
        return f'{start + ms / 1000:.3f} 0 {event}\n'

    ends = f'prev_comm={name} prev_pid=42 prev_state=1'
    text = at(0, f'9/9 x sched:sched_wakeup comm={name} pid=42 target_cpu=0')
    text += at(k, f'0/0 swapper sched:sched_switch next_comm={name} next_pid=42')
    for event in ('raw_syscalls:sys_enter id=39', 'raw_syscalls:sys_exit id=39', 'a:number n=5',
                  'kvm:kvm_exit isa=1 exit_reason=30', 'kvm:kvm_entry',
                  'cpu/mem-loads/ weight=40 data_src=0x142',
                  f'sched:sched_migrate_task comm={name} pid=42 dest_cpu=1'):
        text += at(k, f'42/42 {name} {event}')
    text += at(2 * k, f'42/42 {name} sched:sched_switch {ends}')
    text += at(3 * k, f'9/9 x sched:sched_waking comm={name} pid=42')
    text += at(3 * k, f'9/9 x sched:sched_wakeup comm={name} pid=42 target_cpu=0')
    text += at(4 * k, f'0/0 swapper sched:sched_switch next_comm={name} next_pid=42')
    return text + at(5 * k, f'42/42 {name} sched:sched_switch {ends}6')  # 16: it exits


SCRIPT = (DECLARED.replace('\\\n', '') + '0.5 0 9/9 x fork 42/42\n'
          + life('one', 1, 1) + life('two', 2, 2)
          + '2.5 0 42/42 two exit\n2.6 0 9/9 x fork 42/42\n' + life('three', 3, 3))


CASES = pytest.mark.parametrize('words, table, value, of', [
    (['offcpu'], 'threads', 'total', lambda k: k * MS),
    (['rundelay', '--perins'], 'pairs', 'total', lambda k: 2 * k * MS),
    (['runqlat', '--perins'], 'pairs', 'total', lambda k: 2 * k * MS),
    (['cpudist', '--perins'], 'pairs', 'total', lambda k: 2 * k * MS),
    (['task-state', '--perins', '-S'], 'task-state', 'total', lambda k: k * MS),
    (['oncpu', '-t', '42'], 'threads', 'time', lambda k: 2 * k * MS),
    (['sched-migrate'], 'tasks', 'migrations', lambda k: 1),
    (['syscalls', '--perins'], 'system calls', 'calls', lambda k: 1),
    (['num-dist', '-e', 'a:number//num=n/', '-t', '42', '--perins'], 'numbers', 'count',
     lambda k: 1),
    (['multi-trace', '-t', '42', '-e', 'raw_syscalls:sys_enter', '-e', 'raw_syscalls:sys_exit',
      '--perins'], 'pairs', 'calls', lambda k: 1),
    (['kvm-exit', '--perins'], 'exits', 'calls', lambda k: 1),
    (['ldlat-loads', '--perins', '-t', '42'], 'accesses', 'samples', lambda k: 1),
], ids=lambda v: v[0] if isinstance(v, list) else None)


@pytest.mark.quick
@CASES
def test_names_and_reused_numbers(tmp_path, words, table, value, of):
    found = of_script(tmp_path, SCRIPT, *words)
    shown = [(row['comm'], row[value]) for row in rows(found, table) if row['comm'] != 'x']
    assert sorted(shown) == sorted((name, of(k)) for name, k in NAMES.items())


@pytest.mark.quick
@CASES
def test_one_name_and_a_reused_number(tmp_path, words, table, value, of):
    """The second process has the name that the first one had at first."""
    found = of_script(tmp_path, SCRIPT.replace('three', 'one'), *words)
    shown = [(row['comm'], row[value]) for row in rows(found, table) if row['comm'] != 'x']
    assert sorted(shown) == sorted([('one', of(1)), ('two', of(2)), ('one', of(3))])


# Programs that have one process ID, one after the other. Others may take it at any time.
REUSE = '''
import os, sys
pid, programs = int(sys.argv[1]), sys.argv[2:]
while programs:
    with open('/proc/sys/kernel/ns_last_pid', 'w') as last:
        last.write(str(pid - 1))
    child = os.fork()
    if child == 0:
        if os.getpid() != pid:
            os._exit(0)
        os.execv(programs[0], [programs[0], '5', '2'])
    os.waitpid(child, 0)
    programs = programs[child == pid:]
'''


def free_number():
    """Return a process ID that will not be used by others soon."""
    with open('/proc/sys/kernel/pid_max', encoding='ascii') as file:
        most = int(file.read())
    return next(pid for pid in range((os.getpid() + most // 2) % most or 1000, most)
                if not os.path.exists(f'/proc/{pid}'))


@pytest.mark.exclusive
@pytest.mark.usefixtures('root', 'busy_cpus')
@pytest.mark.parametrize('words, table', [(['offcpu'], 'threads'),
                                          (['rundelay', '--perins'], 'pairs'),
                                          (['cpudist', '--perins'], 'pairs')],
                         ids=lambda v: v[0] if isinstance(v, list) else None)
def test_a_number_that_is_used_three_times(tmp_path, words, table):
    pid = free_number()
    names = ['ra', 'rb', 'rc']
    for name in names:
        (tmp_path / name).symlink_to(workload('sleeps'))
    programs = [tmp_path / name for name in names]

    def names_of(found):
        rows_of_pid = [row for row in rows(found, table) if pid in row.values()]
        return sorted({row['comm'] for row in rows_of_pid} & set(names))

    found = report_until(lambda found: names_of(found) == names, *words, '--',
                         '/usr/bin/python3', '-I', '-S', '-c', REUSE, pid, *programs)
    assert names_of(found) == names


@pytest.mark.quick
@pytest.mark.parametrize('words, table', [
    (['task-state', '--per-process', '-S'], 'task-state'),
    (['overview', '--all'], 'processes'),
    (['top', '-e', 'raw_syscalls:sys_enter', '--by', 'process'], 'top'),
], ids=lambda v: v[0] if isinstance(v, list) else None)
def test_processes_with_one_number_have_rows_of_their_own(tmp_path, words, table):
    """`two` is the same process as `one`, and `three` is another."""
    script = '\n'.join(line for line in SCRIPT.splitlines()
                       if table == 'top' or 'raw_syscalls' not in line)
    found = rows(of_script(tmp_path, script + '\n', *words), table)
    of_42 = [row for row in found if row['pid'] == 42]
    if table == 'top':
        assert [(row['comm'], row['raw_syscalls:sys_enter']) for row in of_42] == [
            ('two', 2), ('three', 1)]
        return
    if table == 'task-state':
        assert sorted(row['total'] for row in of_42) == [3 * MS, 3 * MS]
        return
    assert {row['comm']: (row['threads'], row['on CPU'], row['run queue']) for row in of_42} == {
        'two': (1, 6 * MS, 6 * MS), 'three': (1, 6 * MS, 6 * MS)}
