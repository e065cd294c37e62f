# SPDX-License-Identifier: MIT
"""Exits and page tables of KVM guests: exact on scripts, and of a known guest in a guest."""
import collections
import json
import re

import pytest

import guest
from command import BUILD, run, workload
from scripts import lines_of_csv, of_script, rows

US, MS = 1000, 10**6

EXITS = '''event kvm:kvm_exit exit_reason:u32 guest_rip:u64 isa:u32 vcpu_id:u32
event kvm:kvm_entry vcpu_id:u32
'''
SCHED = '''event sched:sched_switch prev_pid:pid_t prev_state:s64 next_pid:pid_t
event sched:sched_wakeup pid:pid_t
'''
# Two virtual CPUs. Of VMX, 30, 48 and 12 are IO_INSTRUCTION, EPT_VIOLATION and HLT; of SVM, 0x7b is
# io.
KERNEL = 'guest_rip=0xffffffff81000000'
TWO = EXITS + f'''wall 1700000000
1.000000000 0 100/101 CPU0 kvm:kvm_entry vcpu_id=0
1.000010000 0 100/101 CPU0 kvm:kvm_exit isa=1 exit_reason=30 {KERNEL}
1.000015000 1 100/102 CPU1 kvm:kvm_exit isa=1 exit_reason=12 vcpu_id=1 {KERNEL}
1.000020000 0 100/101 CPU0 kvm:kvm_entry
1.000030000 0 100/101 CPU0 kvm:kvm_exit isa=1 exit_reason=30 guest_rip=0x1000
1.000060000 0 100/101 CPU0 kvm:kvm_entry
1.000070000 0 100/101 CPU0 kvm:kvm_exit isa=1 exit_reason=48 {KERNEL}
1.000075000 1 100/101 CPU0 kvm:kvm_entry
1.002015000 1 100/102 CPU1 kvm:kvm_entry vcpu_id=1
1.002020000 1 100/102 CPU1 kvm:kvm_exit isa=2 exit_reason=0x7b vcpu_id=1 guest_rip=0x2000
1.002021000 1 100/102 CPU1 kvm:kvm_entry vcpu_id=1
1.002030000 0 100/101 CPU0 kvm:kvm_exit isa=1 exit_reason=30
'''


def printed(tmp_path, script, name, *args):
    """Return the lines of single events, which are separate reports."""
    path = tmp_path / 'test.script'
    path.write_text('# attar script\n' + script)
    ended = run(args[0], '--format', 'json', '--input', path, *args[1:])
    assert ended.returncode == 0, ended.stderr
    reports = [json.loads(line) for line in ended.stdout.splitlines()]
    return [row for report in reports if report['sections'][0]['name'] == name
            for row in rows(report, name)]


@pytest.mark.quick
class TestExits:
    def test_by_reason(self, tmp_path):
        found = of_script(tmp_path, TWO, 'kvm-exit')
        assert [tuple(row.values()) for row in rows(found, 'exits')] == [
            ('HLT', 1, 2 * MS, 2 * MS, 2 * MS, 2 * MS, 2 * MS, 100),
            ('IO_INSTRUCTION', 2, 40 * US, 10 * US, 20 * US, 30 * US, 30 * US, 50),
            ('EPT_VIOLATION', 1, 5 * US, 5 * US, 5 * US, 5 * US, 5 * US, 100),
            ('io', 1, US, US, US, US, US, 0)]
        assert [r for r in found['remarks'] if '1 no end until the end' in r]

    def test_by_thread(self, tmp_path):
        found = of_script(tmp_path, TWO, 'kvm-exit', '--perins')
        assert [tuple(row.values())[:6] for row in rows(found, 'exits')] == [
            (100, 102, 'CPU1', 'HLT', 1, 2 * MS),
            (100, 101, 'CPU0', 'IO_INSTRUCTION', 2, 40 * US),
            (100, 101, 'CPU0', 'EPT_VIOLATION', 1, 5 * US), (100, 102, 'CPU1', 'io', 1, US)]

    def test_long_exits(self, tmp_path):
        """HLT takes longest and is not printed."""
        (line,) = printed(tmp_path, TWO, 'slow exits', 'kvm-exit', '--than', '10us')
        assert line == {'time': 1700000001000030000, 'comm': 'CPU0', 'tid': 101, 'cpu': 0,
                        'vcpu': 0, 'exit_reason': 'IO_INSTRUCTION', 'guest_ip': 0x1000,
                        'latency': 30 * US}

    def test_filter(self, tmp_path):
        found = of_script(tmp_path, TWO, 'kvm-exit', '--filter', 'exit_reason==30 && guest_rip>9')
        assert [(r['exit_reason'], r['calls']) for r in rows(found, 'exits')] == [
            ('IO_INSTRUCTION', 2)]
        assert 'remarks' not in found or not [r for r in found['remarks'] if 'ends' in r]

    def test_filter_with_an_unknown_field(self, tmp_path):
        path = tmp_path / 'test.script'
        path.write_text('# attar script\n' + TWO)
        ended = run('kvm-exit', '--input', path, '--filter', 'exit_reasn==30')
        assert ended.returncode == 2 and 'exit_reasn' in ended.stderr

    def test_heatmap(self, tmp_path):
        of_script(tmp_path, TWO, 'kvm-exit', '--heatmap', tmp_path / 'map')
        assert (tmp_path / 'map-kvm_exit.lat').read_text() == (
            '1000010000 10000\n1000030000 30000\n1000070000 5000\n1000015000 2000000\n'
            '1002020000 1000\n')

    def test_nothing(self, tmp_path):
        """The reason is named, unless there is an exit without an entry."""
        for profiler, script in (('kvm-exit', EXITS), ('bpf:kvm_exit', EXITS + SCHED)):
            reason = 'no exits: no KVM guest ran during the recording'
            assert reason in of_script(tmp_path, script, profiler)['remarks']
            one = script + '1.0 0 7/7 CPU0 kvm:kvm_exit isa=1 exit_reason=30\n'
            assert reason not in of_script(tmp_path, one, profiler)['remarks']

    def test_lost_events(self, tmp_path):
        """An entry and an exit can be lost: the pair around the loss is not one."""
        lost = TWO.replace('1.000060000', '1.000050000 0 100/101 CPU0 lost 2\n1.000060000')
        found = of_script(tmp_path, lost, 'kvm-exit')
        assert {r['exit_reason']: r['calls'] for r in rows(found, 'exits')} == {
            'IO_INSTRUCTION': 1, 'EPT_VIOLATION': 1, 'io': 1}

    def test_arm64(self, tmp_path):
        """An exception class if the exit is a trap (2), otherwise another reason."""
        script = '''event kvm:kvm_exit ret:s32 esr_ec:u32 vcpu_pc:u64
event kvm:kvm_entry vcpu_pc:u64
1.0000 0 9/9 vcpu kvm:kvm_exit ret=2 esr_ec=0x24 vcpu_pc=0xffff800008000000
1.0001 0 9/9 vcpu kvm:kvm_entry
1.0002 0 9/9 vcpu kvm:kvm_exit ret=0
1.0004 0 9/9 vcpu kvm:kvm_entry
1.0005 0 9/9 vcpu kvm:kvm_exit ret=2 esr_ec=1
1.0009 0 9/9 vcpu kvm:kvm_entry
'''
        found = of_script(tmp_path, script, 'kvm-exit')
        assert [(r['exit_reason'], r['total'], r['%gsys']) for r in rows(found, 'exits')] == [
            ('WFx', 400 * US, 0), ('IRQ', 200 * US, 0), ('DABT_LOW', 100 * US, 100)]
        lines = printed(tmp_path, script, 'slow exits', 'kvm-exit', '--than', '150us')
        assert [(r['exit_reason'], r['vcpu']) for r in lines] == [('IRQ', None)]


# An exit of 10 ms: it waits from 2 to 5 ms and for a CPU until 6 ms, and is preempted for 1 ms. One
# by HLT of 20 ms that waits until 18 ms and gets its CPU after 1 ms. One of 1 us.
SPLIT = EXITS + SCHED + '''
1.000000 0 100/101 CPU0 kvm:kvm_exit isa=1 exit_reason=30
1.002000 0 100/101 CPU0 sched:sched_switch prev_pid=101 prev_state=1 next_pid=7
1.005000 1 8/8 disk sched:sched_wakeup pid=101
1.006000 0 7/7 other sched:sched_switch prev_pid=7 prev_state=0 next_pid=101
1.007000 0 100/101 CPU0 sched:sched_switch prev_pid=101 prev_state=0x100 next_pid=7
1.008000 2 9/9 third sched:sched_switch prev_pid=9 prev_state=1 next_pid=101
1.010000 2 100/101 CPU0 kvm:kvm_entry
1.011000 2 100/101 CPU0 sched:sched_switch prev_pid=101 prev_state=0 next_pid=7
1.012000 2 100/101 CPU0 sched:sched_switch prev_pid=7 prev_state=0 next_pid=101
1.020000 2 100/101 CPU0 kvm:kvm_exit isa=1 exit_reason=12
1.020000 2 100/101 CPU0 sched:sched_switch prev_pid=101 prev_state=1 next_pid=0
1.038000 0 0/0 idle sched:sched_wakeup pid=101
1.039000 2 0/0 idle sched:sched_switch prev_pid=0 prev_state=0 next_pid=101
1.040000 2 100/101 CPU0 kvm:kvm_entry
1.050000 2 200/201 CPU0 kvm:kvm_exit isa=1 exit_reason=48
1.050001 2 200/201 CPU0 kvm:kvm_entry
'''


@pytest.mark.quick
class TestSplit:
    def test_parts(self, tmp_path):
        found = of_script(tmp_path, SPLIT, 'bpf:kvm_exit')
        assert [(r['exit_reason'], r['calls'], r['total'], r['total wait'], r['run_delay'],
                 r['switches']) for r in rows(found, 'exits')] == [
            ('HLT', 1, 20 * MS, 18 * MS, MS, 1),
            ('IO_INSTRUCTION', 1, 10 * MS, 3 * MS, 2 * MS, 2)]

    def test_short_exits(self, tmp_path):
        found = of_script(tmp_path, SPLIT, 'bpf:kvm_exit', '--threshold', '0', '--perins')
        assert [(r['pid'], r['exit_reason'], r['total'], r['switches'])
                for r in rows(found, 'exits')] == [
            (100, 'HLT', 20 * MS, 1), (100, 'IO_INSTRUCTION', 10 * MS, 2),
            (200, 'EPT_VIOLATION', US, 0)]

    def test_lines_and_selection(self, tmp_path):
        """An exit by HLT counts with its run delay."""
        path = tmp_path / 'longest'
        args = ['bpf:kvm_exit', '--perins', '--detail', '-p', '100', '--threshold', '2us']
        assert [(r['tid'], r['exit_reason'], r['latency'], r['run_delay'], r['wait'], r['switches'])
                for r in printed(tmp_path, SPLIT, 'long exits', *args, '--than', '900us')] == [
            (101, 'IO_INSTRUCTION', 10 * MS, 2 * MS, 3 * MS, 2),
            (101, 'HLT', 20 * MS, MS, 18 * MS, 1)]
        found = of_script(tmp_path, SPLIT, *args, '--output2', path)
        assert {r['tid'] for r in rows(found, 'exits')} == {101}
        assert re.fullmatch(r'# [\d.]+\n100 10000000\n', path.read_text())

    def test_refusals(self, tmp_path):
        ended = run('bpf:kvm_exit', '--detail')
        assert ended.returncode == 2 and '--perins' in ended.stderr
        path = tmp_path / 'test.script'
        path.write_text('# attar script\n' + SPLIT)
        ended = run('bpf:kvm_exit', '--input', path, '--output2', tmp_path)
        assert ended.returncode == 1 and str(tmp_path) in ended.stderr


# role: level in the lowest bits. Two pages that follow one another, one set twice, one of 2 MiB.
MMU = '''event kvmmmu:kvm_mmu_get_page gfn:u64 role:u32 created:u8
event kvmmmu:kvm_mmu_prepare_zap_page gfn:u64 role:u32
event kvmmmu:kvm_mmu_set_spte gfn:u64 spte:u64 level:u8 r:u8 x:u8 u:s8
event kvmmmu:mark_mmio_spte gfn:u64 access:u32
event kvm:kvm_page_fault address:u64
1.0 0 7/7 vm kvmmmu:kvm_mmu_get_page role=0x3784 created=1
1.1 0 7/7 vm kvmmmu:kvm_mmu_get_page role=0x3783 created=1
1.2 0 7/7 vm kvmmmu:kvm_mmu_get_page role=0x3783
1.3 0 7/7 vm kvm:kvm_page_fault address=0x1000
1.4 0 7/7 vm kvmmmu:kvm_mmu_set_spte gfn=1 spte=7 level=1 r=1 x=1 u=-1
1.5 0 7/7 vm kvmmmu:kvm_mmu_set_spte gfn=2 spte=7 level=1 r=1 x=1 u=-1
1.6 0 7/7 vm kvmmmu:kvm_mmu_set_spte gfn=2 spte=7 level=1 r=1 x=1 u=-1
1.7 0 7/8 vm kvmmmu:kvm_mmu_set_spte gfn=3 spte=5 level=1 r=1 u=1
1.8 0 7/8 vm kvmmmu:kvm_mmu_set_spte gfn=0x200 spte=7 level=2 r=1 u=1
1.9 0 7/8 vm kvmmmu:mark_mmio_spte gfn=0xb8 access=3
2.0 0 9/9 vm2 kvmmmu:kvm_mmu_set_spte gfn=3 spte=7 level=1 r=1 x=1 u=-1
2.1 0 9/9 vm2 kvmmmu:kvm_mmu_prepare_zap_page role=0x3784
'''


@pytest.mark.quick
class TestPageTables:
    def test_tables(self, tmp_path):
        found = of_script(tmp_path, MMU, 'kvmmmu', '--spte', '--mmio')
        assert [tuple(r.values()) for r in rows(found, 'page tables')] == [
            (7, 4, 512 << 30, 1, 0, 0), (7, 3, 1 << 30, 1, 1, 0), (9, 4, 512 << 30, 0, 0, 1)]
        assert [tuple(r.values()) for r in rows(found, 'mappings')] == [
            (7, 0x1000, 0x3000, 4096, 'rwx-', 2, 3), (7, 0x3000, 0x4000, 4096, 'r--u', 1, 1),
            (7, 0x200000, 0x400000, 2 << 20, 'rw-u', 1, 1),
            (9, 0x3000, 0x4000, 4096, 'rwx-', 1, 1)]
        assert [tuple(r.values()) for r in rows(found, 'mmio')] == [
            (7, 0xb8000, 0xb9000, 4096, 'rwx-', 1, 1)]

    def test_only_what_is_requested(self, tmp_path):
        found = of_script(tmp_path, MMU, 'kvmmmu')
        assert [s['name'] for s in found['sections']] == ['page tables']
        assert found['notes']['seen'] == 4

    def test_detail(self, tmp_path):
        path = tmp_path / 'test.script'
        path.write_text('# attar script\n' + MMU)
        ended = run('kvmmmu', '--input', path, '--detail', '-e', 'kvm:kvm_page_fault', '-t', '7',
                    '--format', 'csv')
        assert [line.split(',')[4] for line in lines_of_csv(ended.stdout)[1:]] == [
            'kvmmmu:kvm_mmu_get_page'] * 3 + ['kvm:kvm_page_fault']

    def test_events_need_detail(self):
        ended = run('kvmmmu', '-e', 'kvm:kvm_page_fault')
        assert ended.returncode == 2, ended.stderr


@pytest.mark.quick
@pytest.mark.parametrize('profiler, event', [
    ('kvm-exit', 'kvm:kvm_exit'), ('bpf:kvm_exit', 'kvm:kvm_exit'),
    ('kvmmmu', 'kvmmmu:kvm_mmu_get_page')])
def test_without_kvm(tmp_path, profiler, event):
    """The sentence names the missing tracepoint."""
    path = tmp_path / 'test.script'
    path.write_text('# attar script\n' + SCHED)
    ended = run(profiler, '--input', path)
    assert ended.returncode == 1 and event in ended.stderr


IO, PAGES, MMIO, SLEEPS = 1000, 100, 10, 5
NAP = 20 * MS


@pytest.mark.guest('debian')
class TestInAGuest:
    @pytest.fixture(scope='class')
    def out(self, tmp_path_factory):
        folder = tmp_path_factory.mktemp('kvm')
        lines = [f'{guest.VM}/load kvm-amd']
        for name, args in (('exit', 'kvm-exit --perins'), ('mmu', 'kvmmmu --spte --mmio'),
                           ('all', 'kvm-exit -a')):
            lines.append(f'{BUILD}/src/cli/attar {args} -q -o {folder}/{name}.json -- '
                         f'{workload("kvmexits")} {IO} {PAGES} {MMIO}')
        lines.append(f'{BUILD}/src/cli/attar bpf:kvm_exit --threshold 20ms -q '
                     f'-o {folder}/split.json -- {workload("kvmexits")} {IO} 1 1 {SLEEPS}')
        ended = guest.run('debian', 'sh', '-ec', '\n'.join(lines))
        assert ended.returncode == 0, ended.stderr
        assert ended.stdout.count(f'io {IO} mmio {MMIO}\n') == 3
        return lambda name: json.loads((folder / f'{name}.json').read_text())

    @pytest.mark.parametrize('name', ['exit', 'all'])
    def test_exits(self, out, name):
        """Also a page of code; interrupts of the host are exits, too."""
        calls = {r['exit_reason']: r['calls'] for r in rows(out(name), 'exits')}
        assert calls.pop('io') == IO
        assert calls.pop('npf') == PAGES + MMIO + 1
        assert set(calls) <= {'interrupt', 'vintr', 'nmi'}
        assert out(name)['notes']['lost'] == 0

    def test_page_tables(self, out):
        found = out('mmu')
        assert [(r['level'], r['created']) for r in rows(found, 'page tables')][-4:] == [
            (4, 1), (3, 1), (2, 1), (1, 1)]
        assert [(r['start'], r['end'], r['entries'], r['set'])
                for r in rows(found, 'mappings')] == [
            (0x1000, 0x2000, 1, 1), (0x10000, 0x10000 + PAGES * 4096, PAGES, PAGES)]
        assert [(r['start'], r['entries'], r['set']) for r in rows(found, 'mmio')] == [
            (0xb8000, 1, 1)]

    def test_parts_of_exits(self, out):
        """The thread sleeps for most of the time of exits that take longer than its nap."""
        (io,) = [r for r in rows(out('split'), 'exits') if r['exit_reason'] == 'io']
        assert io['calls'] >= SLEEPS and io['min'] >= NAP and io['switches'] >= SLEEPS
        assert SLEEPS * NAP / 2 < io['total wait'] <= io['total'] - io['run_delay']


UUID = '8ab13543-95fc-4a78-9056-d605a03e9033'
ROUNDS, CLOCK_SECONDS = 60, 120


def readings_and_events(kernel, folder, which):
    """
    The clock of a guest at each of its readings, and the events of its thread by that clock. Each
    reading is after an entry into the guest and before an exit for I/O. `which`: how --kvmclock
    names the guest.
    """
    attar = f'{BUILD}/src/cli/attar'
    script = f'''
{guest.VM}/load kvm-amd
rm -f /run/start /run/first && mkfifo /run/start
{workload('kvmclocks')} {ROUNDS} 20 -uuid {UUID} </run/start >{folder}/readings &
vm=$!
exec 3>/run/start
(until grep -qE 'waiting|status' /run/first; do sleep 0.1; done
kill -INT $(cat /run/pid)) >/dev/null 2>&1 &
sh -c 'echo $$ >/run/pid; exec "$@"' - \\
    {attar} trace -e kvm:kvm_entry --kvmclock {which} >/run/first 2>&1 ||
        echo status $? >>/run/first
cat /run/first
timeout {CLOCK_SECONDS} {attar} trace -e kvm:kvm_entry,kvm:kvm_pio -p $vm --kvmclock {which} \\
    --format json >{folder}/events 2>{folder}/err &
attar=$!
until grep -q waiting {folder}/err || ! kill -0 $attar; do sleep 0.1; done
echo >&3
wait $vm && wait $attar
'''
    ended = guest.run(kernel, 'sh', '-ec', script)
    assert ended.returncode == 0, ended.stderr + (folder / 'err').read_text()
    assert ended.stdout.endswith('stopped while waiting for kvm:kvm_pvclock_update: nothing was '
                                 'measured\nstatus 130\n')
    reports = [json.loads(line) for line in (folder / 'events').read_text().splitlines()]
    reports = [report for report in reports if report['sections']]
    (time, *_), = {tuple(column['unit'] for column in report['sections'][0]['columns'])
                   for report in reports}
    assert time == 'clock'
    events = [row for report in reports for row in rows(report, 'events')]
    return [int(line) for line in (folder / 'readings').read_text().split()], events


def check_clock(readings, events):
    """Each reading is between the entry before and the exit after it. Returns their number."""
    first = None
    between = []
    for event in events:
        if event['event'] == 'kvm:kvm_pio':
            between.append((first, event['time']))
            first = None
        else:
            first = first or event['time']
    assert len(readings) == ROUNDS and between
    checked = list(zip(reversed(readings), reversed(between)))
    for reading, (entry, pio) in checked[:-1]:  # of the oldest, the entry may be missing
        assert entry < reading < pio
    return len(checked)


@pytest.mark.guest('debian')
@pytest.mark.parametrize('which', [UUID.upper(), '$vm'])
def test_clock_of_a_guest(tmp_path, which):
    """The host has no stable TSC: KVM sets the clock at each entry."""
    assert check_clock(*readings_and_events('debian', tmp_path, which)) > ROUNDS / 4


@pytest.mark.guest('debian7')
def test_clock_that_is_set_once(tmp_path):
    """The host has a stable TSC: the clock is known after it was set in the middle of the run."""
    assert 2 < check_clock(*readings_and_events('debian7', tmp_path, '$vm')) <= ROUNDS / 2


CALLS, EXITS_LEFT = 5, 4
# Starts a guest of one virtual CPU, which runs when a line is written to /run/start.
START = f'''
{guest.VM}/load kvm-amd
rm -f /run/start /run/begun /run/ended /run/host && mkfifo /run/start
exec 3<>/run/start
{workload('kvmclocks')} {EXITS_LEFT} 300 </run/start >/run/readings &
vm=$!
'''
# Another host: a program on CPU 1 and then one on CPU 0 make calls.
CALLER = f'''
push() {{
    unshare --uts sh -c 'hostname other && exec "$@"' - {BUILD}/src/cli/attar record -q \\
        -e 'raw_syscalls:sys_enter/id==110 && comm=="flood"/' --push unix:/run/host -- sh -c \\
        "$1; taskset 2 {workload('flood')} {CALLS}; taskset 1 {workload('flood')} {CALLS}; $2" &
    until [ -S /run/host ]; do sleep 0.1; done
}}
'''
PULL = '''-e 'raw_syscalls:sys_enter//pull="unix:/run/host"/vm='$vm'/' --format json'''


@pytest.mark.guest('debian')
def test_threads_of_virtual_cpus(tmp_path):
    """Calls on CPU 0 are those of the virtual CPU 0; there is no other."""
    ended = guest.run('debian', 'sh', '-ec', f'''{START}{CALLER}
push true true
{BUILD}/src/cli/attar trace {PULL} >{tmp_path}/events
echo $vm
echo >&3
wait''')
    assert ended.returncode == 0, ended.stderr
    reports = map(json.loads, (tmp_path / 'events').read_text().splitlines())
    events = [row for report in reports if report['sections'] for row in rows(report, 'events')]
    assert collections.Counter((e['cpu'], e['vcpu_tid'], e['comm']) for e in events) == {
        (1, None, 'flood'): CALLS, (0, int(ended.stdout.split()[-1]), 'flood'): CALLS}


@pytest.mark.guest('debian')
def test_pairs_of_a_guest_and_its_host(tmp_path):
    """The last call on virtual CPU 0, and the first exit of its thread after that."""
    ended = guest.run('debian', 'sh', '-ec', f'''{START}{CALLER}
push 'until [ -e /run/begun ]; do sleep 0.1; done' 'echo >/run/start; wait; touch /run/ended'
{BUILD}/src/cli/attar multi-trace --perins --detail=sametid {PULL} -e kvm:kvm_pio -p $vm -- sh -c '
    touch /run/begun
    until [ -e /run/ended ] && [ "$(wc -l </run/readings)" = {EXITS_LEFT} ]; do sleep 0.1; done
    ' >{tmp_path}/pairs
echo $vm
wait''')
    assert ended.returncode == 0, ended.stderr
    tid = int(ended.stdout.split()[-1])
    *lines, last = map(json.loads, (tmp_path / 'pairs').read_text().splitlines())
    (pair,) = rows(last, 'pairs')
    assert (pair['tid'], pair['comm'], pair['calls']) == (tid, 'kvmclocks', 1)
    parts = [row for report in lines if report['sections'] for row in rows(report, 'detail')]
    assert [(p['part'], p['host'], p['comm']) for p in parts] == [
        ('start', 'other', 'flood'), ('end', parts[1]['host'], 'kvmclocks')]
    assert parts[1]['host'] != 'other' and parts[1]['tid'] == tid
    assert (f'{CALLS} events of virtual CPUs whose thread is unknown were not matched'
            in last['remarks'])
