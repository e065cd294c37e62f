# SPDX-License-Identifier: MIT
"""Profilers on timers: irq-off, watchdog and hrcount, on scripts and on this machine."""
import json
import subprocess
import sys

import pytest

from command import QUIET, run
from scripts import rows_of

MS = 10**6
# A call that other programs do not make: the calls of all are counted.
RARE = 'syscalls:sys_enter_sched_get_priority_min'


def rare_calls(n):
    return [sys.executable, '-c',
            f'import os\nfor _ in range({n}): os.sched_get_priority_min(0)']


@pytest.fixture(name='attar')
def fixture_attar(tmp_path):
    """attar(profiler, script, ...) runs a profiler on a script."""
    path = tmp_path / 'timer.script'

    def call(profiler, script, *args):
        path.write_text('# attar script\n' + script)
        return run(profiler, '--format', 'json', '--input', path, *args)
    return call


def sections(ended):
    """All rows of each section, as dictionaries, in the order of the reports."""
    assert ended.returncode == 0, ended.stderr
    found = {}
    for line in ended.stdout.splitlines():
        for s in json.loads(line)['sections']:
            found.setdefault(s['name'], []).extend(rows_of(s))
    return found


def reports(ended, name):
    assert ended.returncode == 0, ended.stderr
    return [[tuple(row) for row in s['rows']] for line in ended.stdout.splitlines()
            for s in json.loads(line)['sections'] if s['name'] == name]


class TestIrqOff:
    # The timer of CPU 0 fires every 10 ms; 3 us late, 25 ms late, then in step again.
    SCRIPT = '''event cpu-clock stack
1.000000000 0 100/100 a cpu-clock
1.010003000 0 100/100 a cpu-clock
1.045000005 0 100/100 a cpu-clock stack=0xffffffff81000010,0x1000
1.050000000 0 100/100 a cpu-clock
1.060000000 0 100/100 a cpu-clock
1.000000000 1 100/101 b cpu-clock
1.012000000 1 100/101 b cpu-clock
1.020000000 1 100/101 b cpu-clock
'''

    def test_late_timers(self, attar):
        found = sections(attar('irq-off', self.SCRIPT, '--period', '10ms', '--than', '1ms'))
        assert [(r['cpu'], r['tid'], r['irqs off']) for r in found['late timers']] == [
            (1, 101, 2 * MS), (0, 100, 25 * MS + 5)]
        assert [(r['cpu'], r['samples'], r['count'], r['total']) for r in found['irq-off']] == [
            (0, 5, 1, 25 * MS + 5), (1, 3, 1, 2 * MS)]

    def test_threshold_and_stacks(self, attar):
        found = sections(attar('irq-off', self.SCRIPT, '--period', '10ms', '--than', '2ms', '-g'))
        assert len(found['late timers']) == 1
        assert sum(r['delay'] for r in found['functions']) == 25 * MS + 5

    def test_lost_samples_are_not_late(self, attar):
        script = self.SCRIPT.replace('1.045000005 0', '1.040000000 0 7/7 x lost 3\n1.045000005 0')
        found = sections(attar('irq-off', script, '--period', '10ms'))
        assert {r['cpu'] for r in found['late timers']} == {1}

    def test_samples_of_idle_cpus_that_are_not_delivered(self, attar):
        """The timer of CPU 0 then fires in time, 20 us late or early; that of CPU 1 does not."""
        script = '''event cpu-clock
1.000000000 0 100/100 a cpu-clock
1.010000000 0 100/100 a cpu-clock
1.040020000 0 100/100 a cpu-clock
1.079980000 0 100/100 a cpu-clock
1.089980000 0 100/100 a cpu-clock
1.112980000 0 100/100 a cpu-clock
1.000000000 1 100/101 b cpu-clock
1.040100000 1 100/101 b cpu-clock
'''
        ended = attar('irq-off', script, '--period', '10ms')
        late = sections(ended)['late timers']
        assert [(r['cpu'], r['irqs off']) for r in late] == [(1, 30.1 * MS), (0, 13 * MS)]
        assert '2 delays were left out, the longest of 30.0 ms' in ended.stdout

    @pytest.mark.usefixtures('root')
    def test_no_delay_is_a_number_of_periods(self):
        """
        Some kernels do not deliver the samples of an idle CPU. A timer that is late fires when
        interrupts are enabled, at any time: one of 50 within a fiftieth of a period.
        """
        ended = run('irq-off', '--format', 'json', '--', 'sleep', '1')
        late = [r['irqs off'] % MS for r in sections(ended).get('late timers', [])]
        assert sum(delay < MS / 50 for delay in late) <= max(1, len(late) / 10), late

    @pytest.mark.usefixtures('root', 'busy_cpus')
    def test_timers_fire(self):
        """On a machine where interrupts work, the timers fire as often as they should."""
        ended = run('irq-off', '--format', 'json', '--period', '10ms', '--than', '10s', '-d', '1s')
        for row in sections(ended)['irq-off']:
            assert 20 <= row['samples'] <= 101 and row['count'] == 0


class TestWatchdog:
    DECLARED = 'event context-switches\nevent cpu-clock stack counts=context-switches\n'
    # CPU 1 is in the kernel from 1.0 on; CPU 2 fires for the last time at 2.0.
    KERNEL = 'stack=0xffffffff81000010'

    def script(self):
        """Lines of three CPUs for six seconds."""
        lines = []
        for i in range(0, 60):
            now = 1 + i / 10
            lines.append(f'{now:.9f} 0 0/0 idle cpu-clock counts=0 {self.KERNEL}')
            lines.append(f'{now + .000000007:.9f} 1 50/50 loop cpu-clock counts=7 {self.KERNEL}')
            if now <= 2:
                lines.append(f'{now + .000000009:.9f} 2 60/60 user cpu-clock counts=9 stack=0x1')
        return self.DECLARED + '\n'.join(lines) + '\n'

    def test_both_lockups(self, attar):
        found = sections(attar('watchdog', self.script(), '--than', '1s', '-g'))
        soft = [r for r in found['lockups'] if r['lockup'] == 'soft']
        hard = [r for r in found['lockups'] if r['lockup'] == 'hard']
        assert [(r['cpu'], r['tid'], r['since']) for r in soft] == [
            (1, 50, 1100 * MS), (1, 50, 2200 * MS), (1, 50, 4400 * MS)]
        assert [(r['cpu'], r['since'] // MS) for r in hard] == [
            (2, 1099), (2, 2199), (2, 4399)]
        assert [(r['cpu'], r['longest in kernel'], r['longest without timer'])
                for r in found['cpus'] if r['cpu'] != 2] == [
                    (0, 0, 100 * MS), (1, 5900 * MS, 100 * MS - 7)]

    def test_switches_and_programs_are_alive(self, attar):
        script = self.DECLARED
        for i in range(100):
            where = 'stack=0x1' if i % 15 == 0 else self.KERNEL
            script += f'{1 + i / 10:.9f} 0 50/50 a cpu-clock counts={i // 15} {self.KERNEL}\n'
            script += f'{1 + i / 10:.9f} 1 60/60 b cpu-clock {where}\n'
        assert 'lockups' not in sections(attar('watchdog', script, '--than', '2s'))

    @pytest.mark.usefixtures('root')
    def test_a_healthy_machine(self):
        found = sections(run('watchdog', '--format', 'json', '-d', '500ms'))
        assert 'lockups' not in found
        assert len(found['cpus']) >= 1

    def test_refused_limit(self):
        ended = run('watchdog', '-F', '1', '--than', '1s', '-d', '1ms')
        assert ended.returncode == 2
        assert '--freq' in ended.stderr


class TestHrcount:
    SCRIPT = '''event sched:sched_switch prev_pid:pid_t
event irq:softirq_entry vec:u32
event cpu-clock counts=sched:sched_switch,irq:softirq_entry
1.000 0 0/0 idle cpu-clock counts=0,0
1.010 0 0/0 idle cpu-clock counts=3,0
1.020 0 0/0 idle cpu-clock counts=3,0
1.030 0 0/0 idle cpu-clock counts=10,1
1.004 1 0/0 idle cpu-clock counts=0,0
1.014 1 0/0 idle cpu-clock counts=1,5
1.024 1 0/0 idle cpu-clock counts=1,5
1.040 1 0/0 idle cpu-clock counts=101,5
'''
    EVENTS = ('-e', 'sched:sched_switch,irq:softirq_entry', '--period', '10ms')

    def test_periods(self, attar):
        """A sample belongs to the period in which most of its time is."""
        ended = attar('hrcount', self.SCRIPT, *self.EVENTS)
        assert reports(ended, 'counts') == [
            [(0, 4, 5), (10 * MS, 0, 0), (20 * MS, 7, 1), (30 * MS, 100, 0)]]

    def test_events_of_the_recording(self, attar):
        """Without -e, all of them."""
        ended = attar('hrcount', self.SCRIPT, '--period', '10ms')
        assert reports(ended, 'counts') == [
            [(0, 4, 5), (10 * MS, 0, 0), (20 * MS, 7, 1), (30 * MS, 100, 0)]]

    def test_recording_without_events(self, attar):
        ended = attar('hrcount', 'event cpu-clock\n1.0 0 0/0 idle cpu-clock\n')
        assert ended.returncode == 2
        assert 'has no events to count other than cpu-clock' in ended.stderr

    def test_cpus_and_intervals(self, attar):
        ended = attar('hrcount', self.SCRIPT, *self.EVENTS, '--perins', '-i', '20ms')
        assert reports(ended, 'counts') == [
            [(0, 0, 3, 0), (0, 1, 1, 5), (10 * MS, 0, 0, 0), (10 * MS, 1, 0, 0)],
            [(0, 0, 7, 1), (10 * MS, 1, 100, 0)]]

    def test_last_period_of_an_interval(self, attar):
        """Its sample comes soon after the end of the interval, and belongs to it."""
        script = 'event sched:sched_switch\nevent cpu-clock counts=sched:sched_switch\n' + ''.join(
            f'{2 + i * 0.01:.4f} 0 0/0 idle cpu-clock counts={7 * i}\n' for i in range(10))
        script = script.replace('2.0000 0', '1.9990 0')
        ended = attar('hrcount', script, '-e', 'sched:sched_switch', '--period', '10ms',
                      '-i', '30ms')
        assert reports(ended, 'counts') == [
            [(0, 7), (10 * MS, 7), (20 * MS, 7)]] * 3

    @pytest.mark.parametrize('args, sentence', [
        ([], 'requires an event'),
        (['-e', 'page-faults', '--period', '10ms', '-i', '5ms'],
         '--interval is shorter than --period'),
        (['-e', 'page-faults', '--period', '9us'], '--period: 9us is too short: the minimum is '
                                                   '10us'),
        (['-e', 'page-faults', '--period', '10us', '-i', '100s'], '--period')])
    def test_refusals(self, args, sentence):
        ended = run('hrcount', *args)
        assert ended.returncode == 2
        assert sentence in ended.stderr

    BURSTS, CALLS = 50, 7
    PROGRAM = f'''{QUIET}
for _ in range({BURSTS}):
    quiet(0.005)
    for _ in range({CALLS}): os.getsid(0)
quiet(0.005)
'''

    @pytest.mark.usefixtures('root')
    def test_bursts_of_calls(self):
        """Bursts are five periods apart; one is divided at most where two periods meet."""
        ended = run('hrcount', '--format', 'json', '-e', 'syscalls:sys_enter_getsid', '--period',
                    '1ms', '--', sys.executable, '-c', self.PROGRAM)
        counts = [row[1] for row in reports(ended, 'counts')[-1]]
        assert sum(counts) == self.BURSTS * self.CALLS
        assert len([n for n in counts if n]) >= self.BURSTS
        assert max(counts) <= self.CALLS


    @pytest.mark.usefixtures('root')
    @pytest.mark.parametrize('args', [
        ['--period', '30s'], ['--period', '10ms'], ['--period', '10ms', '--perins'],
        ['--period', '5ms', '-i', '20ms']])
    def test_every_event_is_counted(self, args):
        """Also those of the last, incomplete period, and of CPUs that are idle since then."""
        ended = run('hrcount', '--format', 'json', '-e', RARE, *args, '--', *rare_calls(100_000))
        counts = [row[-1] for rows in reports(ended, 'counts') for row in rows]
        assert sum(counts) == 100_000

    @pytest.mark.usefixtures('root', 'needs_perf')
    def test_recording_of_perf(self, tmp_path):
        """All but the last period of each CPU is in the recording."""
        data = tmp_path / 'perf.data'
        subprocess.run(['perf', 'record', '-q', '-a', '-c', '1000000', '-o', data, '-e',
                        f'{{cpu-clock,{RARE}}}:S', '--', *rare_calls(1_000_000)], check=True,
                       capture_output=True)
        ended = run('hrcount', '--format', 'json', '--period', '1ms', '-e', RARE, '--input', data)
        counts = [row[1] for row in reports(ended, 'counts')[-1]]
        assert 900_000 <= sum(counts) <= 1_000_000


@pytest.mark.usefixtures('root')
class TestStatPeriod:
    # The counts of a line may be older than its time; those of the next one are newer than it.
    BURSTS, CALLS = 10, 7
    PROGRAM = f'''
import json, os, sys, time
def wait_for_two_lines():
    since = time.time_ns()
    def is_newer(line): return line.endswith("\\n") and json.loads(line)["time"] > since
    while sum(map(is_newer, open(sys.argv[1]))) < 2: time.sleep(0.001)
for _ in range({BURSTS}):
    wait_for_two_lines()
    for _ in range({CALLS}): os.getsid(0)
'''

    def test_bursts_of_calls(self, tmp_path):
        """A line for each period; two follow each burst, and the last one counts, too."""
        out = tmp_path / 'x.json'
        ended = run('stat', '-q', '-o', out, '--period', '10ms', '-e', 'syscalls:sys_enter_getsid',
                    '--', sys.executable, '-c', self.PROGRAM, out)
        ended.stdout = out.read_text()
        counts = [row[1] for lines in reports(ended, 'counts') for row in lines]
        assert sum(counts) == self.BURSTS * self.CALLS
        assert len([n for n in counts if n]) >= self.BURSTS
        assert len(counts) > 2 * self.BURSTS
