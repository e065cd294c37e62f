# SPDX-License-Identifier: MIT
"""attar oncpu: pinned threads, scripts with exact times, selections and missing switches."""
import json
import os
import struct
import sys
from pathlib import Path

import pytest

from command import run, run_delivered
from scripts import rows

TICK_NS = 10**9 // os.sysconf('SC_CLK_TCK')
SCRIPT = '''# attar script
event sched:sched_switch prev_comm:char[16] prev_pid:pid_t prev_prio:int prev_state:s64 \
next_comm:char[16] next_pid:pid_t next_prio:int
0.900000000 0 1/1 init fork 100/100
0.900000000 0 1/1 init fork 200/200
0.900000000 0 200/200 init fork 200/201
1.000000000 0 0/0 swapper sched:sched_switch next_comm=a next_pid=100 next_prio=120
1.010000000 1 300/300 old sched:sched_switch prev_comm=old prev_pid=300 prev_prio=120 \
next_comm=b next_pid=200 next_prio=10
1.100000000 0 100/100 a sched:sched_switch prev_comm=a prev_pid=100 prev_prio=120 \
next_comm=b next_pid=201 next_prio=120
1.150000000 0 200/201 b sched:sched_switch prev_comm=b prev_pid=201 prev_prio=120
1.200000003 1 200/200 b sched:sched_switch prev_comm=b prev_pid=200 prev_prio=10 \
next_comm=a next_pid=100 next_prio=120
1.350000003 1 100/100 a sched:sched_switch prev_comm=a prev_pid=100 prev_prio=120
1.400000000 0 0/0 swapper sched:sched_switch next_comm=a next_pid=100 next_prio=120
1.500000000 1 0/0 swapper sched:sched_switch prev_comm=swapper
'''
MS = 10**6


def reports(*args):
    ended = run_delivered('oncpu', '--format', 'json', *args)
    assert ended.returncode == 0, ended.stderr
    return [json.loads(line) for line in ended.stdout.splitlines()]


@pytest.fixture(name='script')
def fixture_script(script):
    return lambda text=SCRIPT: script(text)


@pytest.mark.quick
class TestScripts:
    def test_tasks_of_each_cpu(self, script):
        """The first switch shows which task ran since the start; the last run ends with the report.
        """
        found = reports('--input', script())[-1]
        assert [(r['cpu'], r['tid'], r['comm'], r['time']) for r in rows(found, 'oncpu')] == [
            (0, 100, 'a', 200 * MS), (0, 201, 'b', 50 * MS), (1, 200, 'b', 190 * MS + 3),
            (1, 100, 'a', 150 * MS), (1, 300, 'old', 10 * MS)]
        assert [(r['cpu'], r['time'], r['share'], r['tasks']) for r in rows(found, 'cpus')] == [
            (0, 250 * MS, 50, 2), (1, 350 * MS + 3, pytest.approx(70), 3)]

    def test_cpus_of_each_thread(self, script):
        found = reports('--input', script(), '-p', '100,200')[-1]
        assert [(r['tid'], r['comm'], r['cpu'], r['time']) for r in rows(found, 'oncpu')] == [
            (100, 'a', 0, 200 * MS), (100, 'a', 1, 150 * MS), (200, 'b', 1, 190 * MS + 3),
            (201, 'b', 0, 50 * MS)]
        assert [(r['tid'], r['time'], r['cpus']) for r in rows(found, 'threads')] == [
            (100, 350 * MS, 2), (200, 190 * MS + 3, 1), (201, 50 * MS, 1)]

    def test_intervals_divide_runs(self, script):
        found = reports('--input', script(), '-i', '200ms')
        assert [[(r['cpu'], r['time']) for r in rows(f, 'cpus')] for f in found] == [
            [(0, 150 * MS), (1, 200 * MS)], [(1, 150 * MS + 3)], [(0, 100 * MS)]]

    def test_selections(self, script):
        path = script()
        by_name = reports('--input', path, '--only-comm', '--detail')[-1]
        assert [(r['cpu'], r['comm'], r['count'], r['max']) for r in rows(by_name, 'oncpu')] == [
            (0, 'a', 2, 100 * MS), (0, 'b', 1, 50 * MS), (1, 'b', 1, 190 * MS + 3),
            (1, 'a', 1, 150 * MS), (1, 'old', 1, 10 * MS)]
        named = reports('--input', path, '--filter', 'o*,b')[-1]
        assert {r['comm'] for r in rows(named, 'oncpu')} == {'b', 'old'}
        of_prio = reports('--input', path, '--prio', '0-98')[-1]
        assert [(r['tid'], r['time']) for r in rows(of_prio, 'oncpu')] == [(200, 190 * MS + 3)]
        assert {r['cpu'] for r in rows(reports('--input', path, '-C', 1)[-1], 'oncpu')} == {1}

    def test_name_at_the_end_of_a_run(self, script):
        """a is b when its first run ends, and c when its second one does; a third has not ended."""
        text = SCRIPT.splitlines()[0] + '\n' + SCRIPT.splitlines()[1] + '''
0.900000000 0 1/1 init fork 100/100
1.000000000 0 0/0 swapper sched:sched_switch next_comm=a next_pid=100 next_prio=120
1.100000000 0 100/100 b sched:sched_switch prev_comm=b prev_pid=100 prev_prio=120
1.200000000 0 0/0 swapper sched:sched_switch next_comm=b next_pid=100 next_prio=120
1.400000000 0 100/100 c sched:sched_switch prev_comm=c prev_pid=100 prev_prio=120
1.500000000 0 0/0 swapper sched:sched_switch next_comm=b next_pid=100 next_prio=120
1.530000000 1 300/300 x sched:sched_switch prev_comm=x prev_pid=300 prev_prio=120
'''
        for names, expected in (('b', 130), ('c', 200), ('a', None)):
            found = reports('--input', script(text), '--filter', names)[-1]
            assert [(r['comm'], r['time']) for r in rows(found, 'oncpu')] == (
                [(names, expected * MS)] if expected else [])
            assert [r['time'] for r in rows(found, 'cpus')] == ([expected * MS] if expected else [])

    def test_missing_switches_are_not_guessed(self, script):
        """
        b was switched in on CPU 1, but c is switched out: the end of b's run and the begin of c's
        are unknown. The switch from the idle task to b is missing on CPU 0.
        """
        text = SCRIPT.replace('1.200000003 1 200/200 b sched:sched_switch prev_comm=b prev_pid=200',
                              '1.200000003 1 400/400 c sched:sched_switch prev_comm=c prev_pid=400')
        text += ('1.600000000 0 100/100 a sched:sched_switch prev_comm=a prev_pid=100\n'
                 '1.700000000 0 200/201 b sched:sched_switch prev_comm=b prev_pid=201\n')
        found = reports('--input', script(text))[-1]
        assert [(r['tid'], r['time']) for r in rows(found, 'oncpu') if r['cpu'] == 1] == [
            (100, 150 * MS), (300, 10 * MS)]
        assert 'context switches are missing: 3' in found['remarks'][0]

    def test_lost_events(self, script):
        text = SCRIPT.replace('1.350000003 1', '1.300000000 1 7/7 other lost 3\n1.350000003 1')
        found = reports('--input', script(text))[-1]
        assert not [r for r in rows(found, 'oncpu') if r['cpu'] == 1 and r['tid'] == 100]
        assert any('missing' in r for r in found['remarks'])

    @pytest.mark.parametrize('value', ['0-140', '5-3', '1,', 'x', '-1'])
    def test_refused_priorities(self, script, value):
        ended = run('oncpu', '--input', script(), f'--prio={value}')
        assert ended.returncode == 2
        assert '--prio' in ended.stderr and value in ended.stderr


SPINNERS = '''
import os, sys, time
for cpu, ms in ((0, 200), (os.cpu_count() - 1, 400)):
    if os.fork() == 0:
        os.sched_setaffinity(0, {cpu})
        while time.process_time_ns() < ms * 1000000: pass
        line = f"{os.getpid()} {cpu} {open('/proc/self/schedstat').read().split()[0]}\\n"
        os.write(1, line.encode())
        os._exit(0)
while True:
    try: os.wait()
    except ChildProcessError: break
'''


def not_task_ticks():
    """The ticks of all CPUs in which interrupts or another virtual machine ran."""
    with open('/proc/stat', encoding='ascii') as file:
        values = file.readline().split()
    return sum(int(values[i]) for i in (6, 7, 8))


def run_spinners(out):
    """Return the report, the lines of the spinners, and the time that was not a task's."""
    before = not_task_ticks()
    ended = run('oncpu', '-o', out, '--', sys.executable, '-c', SPINNERS)
    assert ended.returncode == 0, ended.stderr
    other = (not_task_ticks() - before + 2) * TICK_NS
    truths = [list(map(int, line.split())) for line in ended.stdout.splitlines()
              if line[:1].isdigit() and len(line.split()) == 3]
    assert len(truths) == 2, ended.stdout
    return json.loads(out.read_text()), truths, other


@pytest.mark.usefixtures('root')
def test_sums_equal_schedstat(tmp_path):
    """
    Time between switches is the CPU time of the scheduler, plus that of interrupts and of the host.
    Some kernels omit switches of a few threads: the runs before and after them are missing, with a
    remark.
    """
    for _ in range(8):
        report, truths, other = run_spinners(tmp_path / 'oncpu.json')
        whole = True
        for tid, cpu, on_cpu in truths:
            mine = [r for r in rows(report, 'oncpu') if r['tid'] == tid]
            total = sum(r['time'] for r in mine)
            assert total <= on_cpu * 1.02 + other
            assert sum(r['time'] for r in rows(report, 'threads') if r['tid'] == tid) == total
            # Before it was pinned it may have run on the other CPU.
            pinned = sum(r['time'] for r in mine if r['cpu'] == cpu)
            if total < on_cpu * 0.97 or pinned < on_cpu * 0.8:
                whole = False
        if whole:
            return
        assert report.get('remarks'), (rows(report, 'oncpu'), truths)
    pytest.skip('context switches were missing in each of 8 runs')


@pytest.mark.parametrize('text', ['prev_prio<120 || next_prio<120', 'prev_comm=="java"'])
def test_filters_of_events_are_no_names(text):
    """perf-prof has them, and a thread with such a name would never be found."""
    ended = run('oncpu', '--filter', text, '-d', '1ms')
    assert ended.returncode == 2
    assert f"'{text}' is a filter of events, not names of threads: use --prio" in ended.stderr


def left_out(recording):
    """Return the runs whose begin is unknown."""
    ended = run('oncpu', '--format', 'json', '--input', recording)
    assert ended.returncode == 0, ended.stderr
    remarks = json.loads(ended.stdout.splitlines()[-1]).get('remarks', [])
    return sum(int(remark.split()[-1]) for remark in remarks if remark.startswith('runs left out'))


@pytest.mark.usefixtures('root')
def test_cpu_that_was_offline_when_the_recording_began(busy_cpus, tmp_path):
    """What runs there first has not run since the start, as a list of CPUs says."""
    path = tmp_path / 'x.data'
    assert run('record', '-q', '-a', '-e', 'sched:sched_switch', '-o', path, '--',
               'sleep', '0.3').returncode == 0
    whole = path.read_bytes()
    online = Path('/sys/devices/system/cpu/online').read_bytes().strip()
    update = struct.pack('<Q', 0x61740008)
    assert whole.count(update) == 1
    at = whole.index(update) + 16
    assert whole[at:].startswith(online + b'\0')
    before = left_out(path)
    path.write_bytes(whole[:at] + b'0'.ljust(len(online), b'\0') + whole[at + len(online):])
    cpus = len(os.sched_getaffinity(0))
    assert before < left_out(path) <= before + cpus - 1
    path.write_bytes(whole[:at] + b'x'.ljust(len(online), b'\0') + whole[at + len(online):])
    assert left_out(path) == before
