# SPDX-License-Identifier: MIT
"""
Command lines as perf-prof documents them, under its name, on a recording whose events are known
(perf_prof_machine.py): their answers are what follows from these. Times in ms. The profilers that
need other records are in test_perf_prof_others.py.
"""
import subprocess

import pytest

import perf_prof_machine
from command import ATTAR
from perf_prof_machine import MS, rows_of

WAKE, SWITCH, NEW = 'sched:sched_wakeup', 'sched:sched_switch', 'sched:sched_wakeup_new'
SOFTIRQ = 'irq:softirq_entry'
RUNDELAY = 'rundelay -e sched:sched_wakeup*,sched:sched_switch  -e sched:sched_switch'
SYSCALLS = 'syscalls -e raw_syscalls:sys_enter -e raw_syscalls:sys_exit'
ALLOCATED = 'kmem:kmalloc//ptr=ptr/size=bytes_alloc/'

# Of each line: a section, its columns, and its rows in any order. Columns with an m at the end are
# in ms.
TABLE = [
    # blktrace: the requests of python3
    ('blktrace -d 254:0 -i 1000 --than 10ms', 'requests', 'type reqs maxm than',
     [('R', 2, 15, 1), ('W', 1, 4, 0)]),
    ('blktrace -d 254:0 -i 1000', 'stages', 'start end reqs totalm',
     [('getrq', 'issue', 3, .3), ('issue', 'complete', 3, 19.7)]),
    # allocations
    ('kmemleak --alloc "kmem:kmalloc//ptr=ptr/size=bytes_alloc/stack/"  --free '
     '"kmem:kfree//ptr=ptr/" --order -m 128 -g', 'leaks', 'bytes objects',
     [(4096, 2), (64, 1)]),
    ("kmemleak --alloc 'kmem:kmalloc/bytes_alloc>1024/ptr=ptr/size=bytes_alloc/'  "
     '--free kmem:kfree//ptr=ptr/ --order -g', 'leaks', 'bytes objects', [(4096, 2)]),
    (f'kmemleak --alloc {ALLOCATED}  --free kmem:kfree//ptr=ptr/ -p 1234 --order -g -i 5000',
     'allocations', 'state objects bytes',
     [('allocated', 3, 6144), ('freed', 1, 2048), ('leaked', 2, 4096)]),
    (f'kmemleak --alloc {ALLOCATED}stack/,kmem:kmalloc_node//ptr=ptr/size=bytes_alloc/stack/  '
     '--free kmem:kfree//ptr=ptr/ --order -m 128 -g', 'allocations', 'state objects bytes',
     [('allocated', 5, 6272), ('freed', 2, 2112), ('leaked', 3, 4160)]),
    (f'kmemleak --alloc {ALLOCATED}  --free kmem:kfree//ptr=ptr/ --order -g --than 1s',
     'leaks', 'bytes objects', []),
    ("kmemprof -e 'kmem:kmalloc//size=bytes_alloc/stack/' -e kmem:kfree  -m 128 --order -k ptr",
     'stacks', 'bytes|objects|freed|max agem', [(6144, 3, 1, 10), (128, 2, 1, 10)]),
    ("kmemprof  -e 'kmem:kmalloc/bytes_alloc>1024/size=bytes_alloc/stack/'  -e kmem:kfree  -m 128 "
     '--order -k ptr', 'allocations', 'bytes objects freed', [(6144, 3, 1)]),
    ("kmemprof  -e 'kmem:kmalloc//size=bytes_alloc/stack/,kmem:kmalloc_node//size=bytes_alloc/"
     "stack/'  -e kmem:kfree  --order -k ptr", 'allocations', 'bytes objects', [(6272, 5)]),
    # guests
    ('kvm-exit -p 900 -i 1000', 'exits', 'exit_reason calls totalm maxm',
     [('HLT', 1, 30, 30), ('EPT_VIOLATION', 2, 4, 3)]),
    ('kvm-exit -C 1-4 --perins -i 1000', 'exits', 'tid exit_reason calls',
     [(901, 'HLT', 1), (901, 'EPT_VIOLATION', 2)]),
    # relations
    ("multi-trace  -e 'kmem:kmalloc//key=ptr/alias=alloc/stack/'  "
     "-e 'kmem:kfree//key=ptr/alias=free/'  -k ptr --impl pair --order", 'pairs',
     'start end pairs', [('alloc', 'free', 2)]),
    ("multi-trace  -e 'sched:sched_wakeup,sched:sched_wakeup_new,sched:sched_switch/"
     "prev_state==0&&prev_pid>0/key=prev_pid/'  -e 'sched:sched_switch//key=next_pid/'  -k pid "
     '--order -i 1000', 'pairs', 'start calls totalm maxm', [(SWITCH, 3, 28, 14), (WAKE, 3, 8, 5)]),
    ("multi-trace -e 'raw_syscalls:sys_enter/id==0/stack/' -e 'raw_syscalls:sys_exit/id==0/stack/'"
     '  -k common_pid --than 1ms --detail --order', 'detail', 'pair part offsetm tid',
     [(1, 'start', 0, 1234), (1, 'end', 12, 1234), (2, 'start', 0, 1234), (2, 'end', 3, 1234)]),
    ('multi-trace -e irq:softirq_entry -e irq:softirq_exit -i 1000', 'pairs',
     'calls totalm minm maxm', [(5, 6.25, .05, 3)]),
    ('multi-trace -e irq:softirq_entry -e irq:softirq_exit -C 0 -i 1000', 'pairs', 'calls totalm',
     [(3, 6)]),
    ('multi-trace -e irq:softirq_entry -e irq:softirq_exit -i 1000 --perins', 'pairs',
     'cpu calls totalm', [(0, 3, 6), (1, 2, .25)]),
    ('multi-trace -e irq:softirq_entry/vec==1/ -e irq:softirq_exit/vec==1/ -i 1000 --impl pair',
     'pairs', 'pairs', [(3,)]),
    ('multi-trace -e irq:softirq_entry/vec==1/ -e irq:softirq_exit/vec==1/ -i 1000 --than 100us',
     'pairs', 'calls than', [(3, 3)]),
    ('multi-trace -e sched:sched_switch//role="(next_pid?1:0)|(prev_pid?2:0)"/ --cycle -i 1000',
     'pairs', 'calls totalm', [(6, 71)]),
    ('nested-trace -e irq:softirq_entry,irq:softirq_exit -i 1000', 'calls', 'call count totalm',
     [(SOFTIRQ, 5, 6.25)]),
    (f'{RUNDELAY} -i 1000', 'pairs', 'start calls totalm', [(SWITCH, 3, 28), (WAKE, 3, 8)]),
    (f'{RUNDELAY} --filter "java,pyth*" -i 1000', 'pairs', 'start calls totalm',
     [(WAKE, 3, 8), (SWITCH, 1, 6)]),
    (f'{RUNDELAY} -p 1234 -i 1000 --than 4ms', 'pairs', 'start calls totalm than',
     [(SWITCH, 1, 6, 1), (WAKE, 2, 3, 0)]),
    (f'{RUNDELAY} -i 1000 --perins', 'pairs', 'pid comm start calls totalm',
     [(77, 'busy', SWITCH, 2, 22), (1234, 'java', SWITCH, 1, 6), (2347, 'python3', WAKE, 1, 5),
      (1234, 'java', WAKE, 2, 3)]),
    (f'{RUNDELAY},sched:sched_migrate_task//untraced/stack/   --filter python3 -i 1000 '
     '--than 4ms --detail=samekey', 'detail', 'part offsetm event',
     [('start', 0, WAKE), ('between', 3, 'sched:sched_migrate_task'), ('end', 5, SWITCH)]),
    ('rundelay -e sched:sched_wakeup,sched:sched_wakeup_new,sched:sched_switch//key=prev_pid/  '
     '-e sched:sched_switch//key=next_pid/ -k pid --order -i 1000 --than 1ms', 'pairs',
     'start calls totalm than', [(SWITCH, 3, 28, 3), (WAKE, 3, 8, 2)]),
    # numbers
    ("num-dist -e 'sched:sched_stat_runtime//num=(runtime/1000)/alias=runtime(us)/'", 'numbers',
     'event count total min max', [('runtime(us)', 3, 9500, 500, 7000)]),
    # CPUs and tasks
    ('oncpu -p 2347 -i 1000', 'oncpu', 'tid cpu timem', [(2347, 0, 20)]),
    ('oncpu -C 0-3 --only-comm -i 1000', 'oncpu', 'cpu comm timem',
     [(0, 'busy', 29), (0, 'java', 24), (0, 'python3', 20)]),
    ('oncpu -C 0 --detail -i 1000', 'oncpu', 'tid count maxm',
     [(77, 3, 21), (1234, 3, 14), (2347, 1, 20)]),
    ('task-state -p 2347 -i 1000', 'task-state', 'state count totalm',
     [('R', 1, 20), ('RD', 1, 5)]),
    ('task-state -D -i 1000', 'task-state', 'state count totalm', [('D', 1, 20)]),
    ('task-state -D --than 10ms', 'segments', 'comm tid state durationm',
     [('java', 1234, 'D', 20)]),
    ("task-state --filter 'java*,python*' -D", 'task-state', 'state count', [('D', 1)]),
    ("task-state --filter 'mysql*' -D", 'task-state', 'state count', []),
    ('task-state -t 2347,2348 -i 1000', 'task-state', 'state count', [('R', 1), ('RD', 1)]),
    ('sched-migrate --detail', 'migrations', 'migrations', [(1,)]),
    # samples
    ('profile -F 997 -g', 'samples', 'comm cpu',
     [('java', i % 2) if i < 7 else ('python3', i % 2) for i in range(10)]),
    ('profile -p 2347 -F 997 -g', 'samples', 'tid', 3 * [(2347,)]),
    ('page-faults -g', 'faults', 'tid fault', 4 * [(2347, 'minor')]),
    # SQL
    ("sql -e 'sched:sched_wakeup//index=comm/' -i 1000  --query \"SELECT comm, COUNT(*) FROM "
     "sched_wakeup WHERE comm GLOB 'sys*' GROUP BY comm\"", 'query 1', 'comm COUNT(*)',
     [('systemd', 3)]),
    ("sql -e 'sched:sched_wakeup/prio<10/' -i 1000  --query 'SELECT comm, COUNT(*) FROM "
     "sched_wakeup GROUP BY comm'", 'query 1', 'comm COUNT(*)', [('java', 2)]),
    ("sql -e sched:sched_stat_runtime -i 1000  --query 'SELECT comm, AVG(runtime)/1000 as avg_us "
     "FROM sched_stat_runtime GROUP BY comm'", 'query 1', 'comm avg_us',
     [('java', 1250), ('python3', 7000)]),
    ("sql -e sched:sched_wakeup -i 1000  --query 'SELECT comm, COUNT(*) FROM sched_wakeup GROUP BY "
     "comm; SELECT AVG(prio) FROM sched_wakeup'", 'query 2', 'AVG(prio)', [(490 / 6,)]),
    ("sql -e timer:hrtimer_expire_entry -i 1000  --query 'SELECT ksymbol(function) as func, "
     "COUNT(*) FROM hrtimer_expire_entry GROUP BY function'", 'query 1', 'func COUNT(*)',
     [('my_timer', 4)]),
    # system calls
    (f'{SYSCALLS} -i 1000', 'system calls', 'syscall calls totalm avgm errors',
     [('futex(202)', 1, 20, 20, 0), ('read(0)', 2, 15, 7.5, 0), ('close(3)', 1, 2, 2, 1),
      ('write(1)', 1, 1, 1, 0)]),
    ("syscalls -e 'raw_syscalls:sys_enter/id>=0&&id<=3/'  "
     "-e 'raw_syscalls:sys_exit/id>=0&&id<=3/' -i 1000", 'system calls', 'syscall calls',
     [('read(0)', 2), ('close(3)', 1), ('write(1)', 1)]),
    ("syscalls -e 'raw_syscalls:sys_enter/id!=0&&id!=1/'  "
     "-e 'raw_syscalls:sys_exit/id!=0&&id!=1/' -i 1000", 'system calls', 'syscall calls',
     [('futex(202)', 1), ('close(3)', 1)]),
    (f'{SYSCALLS} -p 1234 -i 1000', 'system calls', 'syscall maxm',
     [('read(0)', 12), ('write(1)', 1)]),
    (f'{SYSCALLS}  -p 1234 -i 1000 --perins --than 1ms', 'system calls', 'tid syscall than',
     [(1234, 'read(0)', 2), (1234, 'write(1)', 0)]),
    # top
    ("top -e 'kmem:kmalloc//key=call_site/printkey=printf(\"%lx\",key)/' -i 1000", 'top',
     'key kmem:kmalloc', [('ffffffffc0001010', 3), ('ffffffffc0002010', 2)]),
    ("top -e 'sched:sched_process_exec//key=pid/alias=num/comm=filename/' --only-comm", 'top',
     'comm num', [('/bin/sh', 1), ('/bin/ls', 1), ('/usr/bin/python3', 1)]),
    ("top -e 'sched:sched_stat_runtime//key=pid/comm=comm/top-by=\"runtime/1000\"/alias=run(us)/' "
     '-i 1000', 'top', 'pid run(us) comm', [(2347, 7000, 'python3'), (1234, 2500, 'java')]),
    ("top -e 'sched:sched_switch/_cpu<4/key=prev_pid/comm=prev_comm/' -i 1000", 'top',
     f'prev_pid {SWITCH} comm',
     [(77, 3, 'busy'), (1234, 3, 'java'), (0, 1, 'swapper'), (2347, 1, 'python3')]),
    ("top -e 'sched:sched_wakeup//comm=comm/' --only-comm -i 1000", 'top', f'comm {WAKE}',
     [('systemd', 3), ('java', 2), ('python3', 1)]),
    ("top -e 'sched:sched_wakeup//key=(prio<10?pid*1000:pid)/'", 'top', WAKE, [(3,), (2,), (1,)]),
    ("top -e 'skb:kfree_skb//key=protocol/comm=ksymbol(location)/' -m 32", 'top',
     'protocol skb:kfree_skb comm', [(8, 2, 'cold_alloc'), (0x86dd, 1, 'cold_alloc')]),
    ("top -e 'workqueue:workqueue_execute_start//comm=ksymbol(function)/'", 'top', 'tid comm',
     [(9, 'my_timer')]),
    ('top -e block:block_rq_complete//key=rwbs/ -i 1000', 'top', 'rwbs block:block_rq_complete',
     [('R', 2), ('W', 1)]),
    ("top -e 'block:block_rq_issue/rwbs==\"W\"&&nr_sector<4/top-by=nr_sector/comm=comm/' "
     '--only-comm -i 1000', 'top', 'comm nr_sector', [('python3', 2)]),
    ('top -e irq:irq_handler_entry//key=irq/comm=name/', 'top', 'irq irq:irq_handler_entry comm',
     [(24, 2, 'virtio0-input.0'), (1, 1, 'i8042')]),
    ('top -e kvm:kvm_exit//key=exit_reason/ -i 1000', 'top', 'exit_reason kvm:kvm_exit',
     [(48, 2), (12, 1)]),
    ('top -e sched:sched_stat_runtime//key=pid/top-by=runtime/,sched:sched_switch//key=prev_pid/'
     'comm=prev_comm/', 'top', f'pid runtimem {SWITCH}',
     [(2347, 7, 1), (1234, 2.5, 3), (0, 0, 1), (77, 0, 3)]),
    # events
    ('trace -e "sched:sched_wakeup/pid>1000 && prio<10/"', 'events', 'timem event',
     [(1010, WAKE), (1060, WAKE)]),
    ("trace -e 'kmem:kmalloc/bytes_alloc>1024/stack/' -m 128", 'events', 'timem comm',
     [(1300, 'java'), (1301, 'java'), (1302, 'java')]),
    ("trace -e 'sched:sched_stat_runtime//exec=printf(\"runtime: %llu us\\n\", runtime/1000)/' "
     '-C 0', 'printed', 'text',
     [('runtime: 2000 us',), ('runtime: 500 us',), ('runtime: 7000 us',)]),
    ("trace -e 'sched:sched_stat_runtime/runtime>1000000/'", 'events', 'tid', [(1234,), (2347,)]),
    ("trace -e 'sched:sched_wakeup,sched:sched_switch' -C 0 -N 100", 'events', 'event',
     8 * [(SWITCH,)]),
    ("trace -e 'sched:sched_wakeup/comm~\"pyth*\"/'", 'events', 'timem', [(1100,)]),
    ('trace -e sched:sched_wakeup --clock-offset 0x1af3075cc -N 1', 'events', 'timem',
     [(1010 + 0x1af3075cc / MS,)]),
    ("trace -e 'task-state,page-faults/-N 2/' --order", 'events', 'event',
     13 * [('task-state',)] + 2 * [('page-faults',)]),
    ("trace -e 'task-state/--than 10ms/,profile/-F 5000/' --order -p 1234", 'events', 'event tid',
     7 * [('profile', 1234)] + [('task-state', 1234), ('task-state', 77)]),
    # expressions
    ("expr -e sched:sched_process_exec 'filename != \"/bin/sh\"'", 'events', 'value',
     [('0',), ('1',), ('1',)]),
    ("expr -e sched:sched_process_exec 'printf(\"%s \", filename)'", 'events', 'value printed',
     [('8', '/bin/sh '), ('8', '/bin/ls '), ('17', '/usr/bin/python3 ')]),
    ("expr -e workqueue:workqueue_execute_start 'ksymbol(function) ~ \"*timer*\"'", 'events',
     'value', [('1',)]),
]


@pytest.fixture(name='perf_prof', scope='module')
def link(tmp_path_factory):
    """Return a function that runs a command line of perf-prof on the recording."""
    folder = tmp_path_factory.mktemp('perf-prof')
    script = perf_prof_machine.write(folder / 'machine.script')
    (folder / 'perf-prof').symlink_to(ATTAR)

    def start(line, *words):
        profiler, _, rest = line.partition(' ')
        words = ' '.join(('--input', str(script), *words))
        return subprocess.run(['sh', '-c', f'{folder}/perf-prof {profiler} {words} {rest}'],
                              capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              timeout=60)
    return start


@pytest.mark.quick
@pytest.mark.parametrize('line, section, columns, expected', TABLE,
                         ids=[line for line, *_ in TABLE])
def test_answers(perf_prof, line, section, columns, expected):
    ended = perf_prof(line, '--format json')
    assert (ended.returncode, ended.stderr) == (0, '')
    assert section in ended.stdout or not expected
    found = rows_of(ended.stdout, section, columns)
    assert sorted(found, key=str) == sorted(expected, key=str)


@pytest.mark.quick
def test_documented_lines_of_most_profilers():
    """At least 60 lines, of the profilers that read recordings."""
    lines = [line for line, *_ in TABLE]
    assert len(set(lines)) == len(lines) >= 60
    assert {line.split()[0] for line in lines} == set(
        'blktrace expr kmemleak kmemprof kvm-exit multi-trace nested-trace num-dist oncpu '
        'page-faults profile rundelay sched-migrate sql syscalls task-state top trace'.split())
