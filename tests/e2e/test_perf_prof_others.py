# SPDX-License-Identifier: MIT
"""
Command lines in perf-prof's syntax, of the profilers that the recording of
test_perf_prof_commands.py has no events for: their answers are what follows from small recordings,
from programs, or from the machine. Times in ms.
"""
import json
import os
import re
import subprocess
from pathlib import Path

import pytest

import guest
import test_perf_prof_commands
from command import ATTAR, BUILD
from perf_prof_machine import rows_of

COUNTED = '''event cycles counted
event instructions counted
event LLC-loads counted
event LLC-load-misses counted
event dTLB-loads counted
event dTLB-load-misses counted
event page-faults counted
1.0 0 0/0 - count cycles=0 instructions=0 LLC-loads=0 LLC-load-misses=0 dTLB-loads=0 \
dTLB-load-misses=0 page-faults=0
1.5 0 0/0 - count cycles=4000 instructions=10000 LLC-loads=500 LLC-load-misses=50 \
dTLB-loads=8000 dTLB-load-misses=20 page-faults=12
'''
TIMERS = '''event sched:sched_switch prev_pid:pid_t
event sched:sched_wakeup pid:pid_t
event cpu-clock stack counts=sched:sched_switch,sched:sched_wakeup
1.000 0 0/0 idle cpu-clock counts=0,0 stack=0xffffffff81000010
1.010 0 7/7 a cpu-clock counts=3,2 stack=0xffffffff81000010
1.020 0 7/7 a cpu-clock counts=3,2 stack=0xffffffff81000010
1.045 0 7/7 a cpu-clock counts=8,3 stack=0xffffffff81000010
1.050 0 7/7 a cpu-clock counts=8,3 stack=0xffffffff81000010
'''
STUCK = 'event context-switches\nevent cpu-clock stack counts=context-switches\n' + ''.join(
    f'{1 + i / 10:.1f} 0 50/50 loop cpu-clock counts=7 stack=0xffffffff81000010\n'
    for i in range(250))
LOADS = '''event cpu/mem-loads/ sampled
1.0 0 7/7 a cpu/mem-loads/ weight=40 data_src=322 addr=0x1000
1.1 0 7/8 b cpu/mem-loads/ weight=200 data_src=322 addr=0x1008
1.2 1 7/8 b cpu/mem-loads/ weight=20 data_src=322 addr=0x2000
'''
STORES = '''event cpu/mem-stores/ sampled
1.0 0 7/7 a cpu/mem-stores/ data_src=324 addr=0x1000 period=1000
1.1 1 7/8 b cpu/mem-stores/ data_src=324 addr=0x1008 period=1000
'''
LOCKS = '''event sq_misc.split_lock counted
event sq_misc.split_lock sampled stack
1.0 0 0/0 - count sq_misc.split_lock=0
1.1 0 7/8 worker sq_misc.split_lock period=1000 stack=0x1000
1.4 0 0/0 - count sq_misc.split_lock=2500
'''
GUEST = '''event kvm:kvm_exit exit_reason:u32 guest_rip:u64 isa:u32 vcpu_id:u32
event kvm:kvm_entry vcpu_id:u32
event sched:sched_switch prev_pid:pid_t prev_state:s64 next_pid:pid_t
event sched:sched_wakeup pid:pid_t
1.000 0 100/101 CPU0 kvm:kvm_exit isa=1 exit_reason=30
1.002 0 100/101 CPU0 sched:sched_switch prev_pid=101 prev_state=1 next_pid=7
1.005 1 8/8 disk sched:sched_wakeup pid=101
1.006 0 7/7 other sched:sched_switch prev_pid=7 prev_state=0 next_pid=101
1.010 0 100/101 CPU0 kvm:kvm_entry
1.020 0 100/101 CPU0 kvm:kvm_exit isa=1 exit_reason=48
1.0205 0 100/101 CPU0 kvm:kvm_entry
'''
PAGES = '''event kvmmmu:kvm_mmu_get_page gfn:u64 role:u32 created:u8
event kvmmmu:kvm_mmu_prepare_zap_page gfn:u64 role:u32
event kvmmmu:kvm_mmu_set_spte gfn:u64 spte:u64 level:u8 r:u8 x:u8 u:s8
1.0 0 7/7 vm kvmmmu:kvm_mmu_get_page role=0x3784 created=1
1.4 0 7/7 vm kvmmmu:kvm_mmu_set_spte gfn=1 spte=7 level=1 r=1 x=1 u=-1
1.5 0 7/7 vm kvmmmu:kvm_mmu_set_spte gfn=2 spte=7 level=1 r=1 x=1 u=-1
1.8 0 7/7 vm kvmmmu:kvm_mmu_set_spte gfn=0x200 spte=7 level=2 r=1 u=1
'''
LOSSES = '''event sched:sched_switch prev_pid:pid_t
1.0 0 7/7 a sched:sched_switch prev_pid=7
1.1 1 8/8 b sched:sched_switch prev_pid=8
1.2 0 7/7 a lost 5
1.3 0 7/7 a sched:sched_switch prev_pid=7
'''
NAMES = '''event cpu-clock
1.0 0 7/7 a exec
1.2 0 7/7 a ksymbol register 0xffffffffc0001000 64 bpf_prog_x
1.3 0 7/7 a cpu-clock
'''
HITS = '''event 0x1000/4:w sampled stack
1.0 0 7/7 a 0x1000/4:w addr=0x1000 stack=0x5000
1.1 1 7/8 b 0x1000/4:w addr=0x1000 stack=0x5000
'''

# Of each line: its recording, a section, its columns, and its rows in any order. Columns with an m
# at the end are in ms.
TABLE = [
    ('hwstat -i 1000', COUNTED, 'cpus', 'cpu cycles instructions', [(0, 4000, 10000)]),
    ('llcstat -C 0 -i 1000', COUNTED, 'cpus', 'loads|load misses', [(500, 50)]),
    ('tlbstat -i 1000', COUNTED, 'cpus', 'loads|load misses', [(8000, 20)]),
    ('stat -e page-faults,cycles -i 1000', COUNTED, 'counts', 'event value',
     [('page-faults', 12), ('cycles', 4000)]),
    ("hrtimer -e sched:sched_switch --period 10ms -g 'sched_switch==0'", TIMERS, 'timers',
     'samples true', [(5, 3)]),
    ("hrtimer -e sched:sched_switch,sched:sched_wakeup//alias=up/ -F 100 'up && sched_switch>2'",
     TIMERS, 'samples', 'tid periodm', [(7, 10), (7, 25)]),
    ('hrcount -e sched:sched_switch,sched:sched_wakeup -C 0 --period 10ms -i 1000', TIMERS,
     'counts', 'sched:sched_switch|sched:sched_wakeup', [(3, 2), (0, 0), (5, 1)]),
    ('irq-off --period 10ms --than 10ms', TIMERS, 'late timers', 'cpu tid', [(0, 7)]),
    ('irq-off --period 10ms --than 10ms', TIMERS, 'irq-off', 'samples count totalm', [(5, 1, 15)]),
    ('watchdog -F 1 -g', STUCK, 'cpus', 'cpu|longest in kernelm', [(0, 24900)]),
    ('ldlat-loads --ldlat 30 --than 100', LOADS, 'slow accesses', 'tid cycles', [(8, 200)]),
    ('ldlat-loads --ldlat 30', LOADS, 'accesses', 'samples total', [(2, 240)]),
    ('ldlat-stores -T 1000', STORES, 'accesses', 'source samples', [('store, L1 hit', 2)]),
    ('split-lock -T 1000', LOCKS, 'tasks', 'tid|samples|split locks', [(8, 1, 1000)]),
    ('bpf:kvm_exit --than 1ms --threshold 1ms', GUEST, 'exits',
     'exit_reason|calls|totalm|total waitm|run_delaym|switches',
     [('IO_INSTRUCTION', 1, 10, 3, 1, 1)]),
    ('kvmmmu --spte', PAGES, 'mappings', 'start|entries of|set',
     [(4096, 4096, 2), (2 << 20, 2 << 20, 1)]),
    ('event-care -e sched:sched_switch -m 4', LOSSES, 'events', 'cpu events', [(0, 2), (1, 1)]),
    ('event-care -e sched:sched_switch -m 4', LOSSES, 'losses', 'cpu lost', [(0, 5)]),
    ('misc --records ksymbol', NAMES, 'records', 'record tid', [('ksymbol', 7)]),
    ('breakpoint 0x1000/4:w -g', HITS, 'hits', 'tid cpu', [(7, 0), (8, 1)]),
]


@pytest.fixture(name='perf_prof')
def link(tmp_path):
    """Return a function that runs a command line of perf-prof in its folder."""
    (tmp_path / 'perf-prof').symlink_to(ATTAR)

    def start(line):
        ended = subprocess.run(
            ['sh', '-c', f'./perf-prof {line}'], cwd=tmp_path, capture_output=True, text=True,
            stdin=subprocess.DEVNULL, timeout=60,
            env={**os.environ, 'WORKLOADS': f'{BUILD}/tests/workloads',
                 'PYTHONPATH': f'{BUILD}/python', 'ATTAR_PYTHON': '/usr/bin/python3'})
        assert ended.returncode == 0, ended.stderr
        return ended.stdout
    return start


@pytest.mark.quick
@pytest.mark.parametrize('line, script, section, columns, expected', TABLE,
                         ids=[f'{line}: {section}' for line, _, section, *_ in TABLE])
def test_answers(perf_prof, tmp_path, line, script, section, columns, expected):
    (tmp_path / 'x.script').write_text('# attar script\n' + script)
    text = perf_prof(line.replace(' ', ' --format json --input x.script ', 1))
    assert sorted(rows_of(text, section, columns), key=str) == sorted(expected, key=str), text


def test_answers_of_every_profiler():
    """The lines of both tables, and the functions below, which are named after them."""
    compared = {line.split()[0] for line, *_ in TABLE + test_perf_prof_commands.TABLE}
    compared |= {name.removeprefix('test_').replace('_', '-') for name in globals()}
    assert compared >= set("""
        blktrace bpf:kvm_exit breakpoint cpu-util event-care expr help hrcount hrtimer hwstat
        irq-off kcore kmemleak kmemprof kvm-exit kvmmmu ldlat-loads ldlat-stores list llcstat misc
        multi-trace nested-trace num-dist oncpu page-faults percpu-stat profile python rundelay
        sched-migrate split-lock sql stat syscalls task-state tlbstat top trace usdt
        watchdog""".split())


@pytest.mark.quick
def test_python(perf_prof, tmp_path):
    (tmp_path / 'x.script').write_text('# attar script\n' + LOSSES)
    (tmp_path / 'counter.py').write_text('''import collections
seen, lost = collections.Counter(), []
def sched__sched_switch(event): seen[event._pid, event['prev_pid']] += 1
def __lost__(start, end): lost.append((start, end))
def __exit__(): print(sorted(seen.items()), [10**9 < a < b <= 1.3 * 10**9 for a, b in lost])
''')
    text = perf_prof('python --input x.script -e sched:sched_switch -i 1000 counter.py')
    assert text.splitlines()[-1] == '[((7, 7), 2), ((8, 8), 1)] [True]'


# ---- on this machine ----

@pytest.mark.usefixtures('root')
def test_list(perf_prof):
    """The tracepoints of a system are the folders of tracefs."""
    listed = perf_prof("list | grep '^irq:'").split('\n')
    names = {line.split()[0] for line in listed if line}
    folder = Path('/sys/kernel/tracing/events/irq')
    assert names == {f'irq:{path.name}' for path in folder.iterdir() if path.is_dir()}


@pytest.mark.usefixtures('root')
def test_help(perf_prof):
    """The fields of an event are the fields of its format."""
    text = perf_prof('trace -e sched:sched_process_exec help')
    form = Path('/sys/kernel/tracing/events/sched/sched_process_exec/format').read_text()
    fields = re.findall(r'field:.*?(\w+)(?:\[\d+\])?;', form)
    assert 'filename' in fields
    assert all(re.search(rf'\b{name}\b', text) for name in fields), text


@pytest.mark.usefixtures('root')
def test_stat(perf_prof):
    """The program writes 1000 bytes to 1000 pages of its own."""
    text = perf_prof('stat -e page-faults:u -i 60000 --format json -- $WORKLOADS/faults1000 1000')
    (event, value), = rows_of(text, 'counts', 'event value')
    assert event == 'page-faults:u' and 1000 <= value < 1300


@pytest.mark.usefixtures('root')
def test_percpu_stat(perf_prof):
    """The shell forks twenty times."""
    text = perf_prof("percpu-stat --syscalls -i 60000 --format json -- sh -c "
                     "'i=0; while [ $i -lt 20 ]; do /bin/true; i=$((i+1)); done'")
    (forks, calls), = rows_of(text, 'total', 'forks syscalls')
    assert 20 <= forks < 2000 and calls > 20 * 10


@pytest.mark.usefixtures('root')
def test_cpu_util(perf_prof):
    """A program that calculates for a while: a share of its CPU is in user mode."""
    text = perf_prof('cpu-util -i 60000 --format json -- $WORKLOADS/split7030 300')
    (user, idle), = rows_of(text, 'total', 'user idle')
    assert user >= 20 and 0 <= idle <= 80


@pytest.mark.usefixtures('root')
def test_usdt(perf_prof, sdt, tmp_path):
    """The program has three probes."""
    program = tmp_path / 'program'
    program.write_bytes(Path(sdt).read_bytes())
    program.chmod(0o755)
    assert set(re.findall(r'shop:\w+', perf_prof(f'usdt list {program}'))) == {
        'shop:done', 'shop:order', 'shop:total'}
    try:
        perf_prof(f'usdt add shop:total@{program} -v')
        text = perf_prof(f'top -e shop:total//key=_pid/ --format json -i 60000 -- {program}')
        assert len(rows_of(text, 'top', 'shop:total')) == 1
    finally:
        perf_prof('usdt del shop:total')


@pytest.fixture(name='probes', scope='module')
def create_probes():
    """Probes of another tool, in tracefs: take(size), its return, and give(ptr) of a program."""
    file = Path('/sys/kernel/tracing/uprobe_events')
    program = Path(f'{BUILD}/tests/workloads/leaks')
    if os.getuid() or not file.exists() or os.uname().machine != 'x86_64':
        pytest.skip('needs root, uprobes and the registers of x86-64')
    symbols = subprocess.run(['nm', program], capture_output=True, text=True, check=True).stdout
    take, give = (re.search(rf'^(\w+) \w {name}$', symbols, re.MULTILINE)[1]
                  for name in ('take', 'give'))
    names = [f'attar{os.getpid()}_{name}' for name in ('take', 'ret', 'give')]
    out = os.open(file, os.O_WRONLY | os.O_APPEND)
    try:
        for line in (f'p:{names[0]} {program}:0x{take} size=%di:u64',
                     f'r:{names[1]} {program}:0x{take} ptr=$retval:x64',
                     f'p:{names[2]} {program}:0x{give} ptr=%di:x64'):
            os.write(out, line.encode() + b'\n')
        yield [f'uprobes:{name}' for name in names]
    finally:
        for name in names:
            if name in file.read_text():
                os.write(out, f'-:{name}\n'.encode())
        os.close(out)


@pytest.mark.parametrize('line, section, columns, expected', [
    ("trace -e '{0}/size>63/'", 'events', 'event', 500 * [('{0}',)]),
    ("trace -e '{0}/size>64/'", 'events', 'event', []),
    ("top -e '{0}//key=size/'", 'top', 'size {0}', [(64, 500)]),
    ('multi-trace -e {0} -e {1} -i 60000', 'pairs', 'start end calls', [('{0}', '{1}', 500)]),
    ('kmemleak --alloc {1}//stack/ --free {2} -g', 'leaks', 'objects', [(37,)]),
    ("kmemprof -e '{0}//key=_tid/size=size/' -e '{2}//key=_tid/' --order", 'allocations',
     'bytes objects', [(32000, 500)]),
    ("num-dist -e '{0}//num=size/'", 'numbers', 'count total', [(500, 32000)]),
    ("sql -e '{1}//alias=got/,{2}//alias=gave/' --query 'SELECT COUNT(DISTINCT got.ptr), "
     "(SELECT COUNT(*) FROM gave) AS n FROM got'", 'query 1', 'n', [(463,)])])
def test_probes_of_other_tools(perf_prof, probes, line, section, columns, expected):
    """The program takes 64 bytes 500 times, and gives all but 37 back."""
    text = perf_prof(f'{line.format(*probes)} --format json -- $WORKLOADS/leaks')
    found = rows_of(text, section, columns.format(*probes))
    assert found == [tuple(str(cell).format(*probes) if isinstance(cell, str) else cell
                           for cell in row) for row in expected]


@pytest.mark.usefixtures('root')
def test_misc_of_a_command(perf_prof):
    """Programs that a shell runs, by name."""
    text = perf_prof("misc --records comm --format json -- sh -c '/bin/false; /bin/true; :'")
    names = [re.search(r'comm=(\S+)', fields)[1] if 'comm=' in fields else fields
             for fields, in rows_of(text, 'records', 'fields')]
    assert {'true', 'false'} <= {word for name in names for word in name.split()}


@pytest.mark.usefixtures('root')
def test_records_that_misc_shows(perf_prof):
    """perf-prof has no records of names and mappings, except if they are named; -N counts them."""
    text = perf_prof('misc --format json -- true')
    assert {kind for kind, in rows_of(text, 'records', 'record')} == {
        'ksymbol', 'bpf', 'cgroup', 'text-poke'}
    text = perf_prof("misc --records comm -N 2 --format json -- sh -c '/bin/true; /bin/true; :'")
    first = json.loads(text.splitlines()[0])['sections'][0]
    assert len(first['rows']) == 2


@pytest.mark.guest('x86')
def test_kcore():
    """The banner of the kernel, and seconds in two reads of its clock."""
    script = (f'ln -s {ATTAR} /tmp/perf-prof; /tmp/perf-prof kcore --string linux_banner; '
              'cat /proc/version; /tmp/perf-prof kcore -8 jiffies; sleep 1; '
              '/tmp/perf-prof kcore -8 jiffies')
    ended = guest.run('x86', 'sh', '-c', script)
    assert ended.returncode == 0, ended.stderr
    banner, version, *reads = [
        line for line in ended.stdout.splitlines() if '0x' in line or 'Linux' in line]
    assert version in banner
    first, second = (int(line.split()[-1]) for line in reads)
    assert second - first >= 100
