# SPDX-License-Identifier: MIT
"""attar hrtimer: conditions on counts, scripted and live."""
import json
import sys

import pytest

from command import QUIET, run
from scripts import rows_of

SCRIPT = '''# attar script
event sched:sched_switch prev_pid:pid_t
event irq:softirq_entry vec:u32
event cpu-clock stack counts=sched:sched_switch,irq:softirq_entry
1.000000000 0 100/100 a cpu-clock counts=1,0 stack=0xffffffff81000010,0x1000
1.010000000 0 100/100 a cpu-clock counts=1,2 stack=0x1000
1.020000000 0 100/100 a cpu-clock counts=2,3 stack=0x1000
1.030000007 0 100/100 a cpu-clock counts=2,3 stack=0x1000
1.005000000 1 100/101 b cpu-clock counts=0,3 stack=0x2000
'''
EVENTS = 'sched:sched_switch,irq:softirq_entry'
MS = 10**6


@pytest.fixture(name='attar')
def fixture_attar(tmp_path):
    path = tmp_path / 'hrtimer.script'

    def call(*args, script=SCRIPT):
        path.write_text(script)
        return run('hrtimer', '--format', 'json', '-e', EVENTS, '--input', path, *args)
    return call


def parts(ended):
    """The samples as dictionaries, and the rows of the table of timers."""
    assert ended.returncode == 0, ended.stderr
    samples, timers = [], None
    for line in ended.stdout.splitlines():
        for s in json.loads(line)['sections']:
            if s['name'] == 'samples':
                samples += rows_of(s)
            elif s['name'] == 'timers':
                timers = [tuple(row) for row in s['rows']]
    return samples, timers


@pytest.mark.quick
class TestScripts:
    def test_without_events(self, tmp_path):
        """Nothing is counted, and the condition can use the period."""
        path = tmp_path / 'hrtimer.script'
        path.write_text(SCRIPT)
        samples, timers = parts(run('hrtimer', '--format', 'json', '--input', path,
                                    'period > 10000000'))
        assert [(s['cpu'], s['period'], s['counts']) for s in samples] == [(0, 10 * MS + 7, '')]
        assert timers == [(0, 4, 1), (1, 1, 0)]

    def test_count_is_of_the_selected_tasks(self, attar):
        """The samples of other threads before the second one of the thread are not counted."""
        script = SCRIPT.replace('1.005000000 1', '1.000000005 1')
        samples, _ = parts(attar('-t', 100, '-N', 2, '1', script=script))
        assert [(s['tid'], s['time'] // MS % 1000) for s in samples] == [(100, 0), (100, 10)]

    def test_true_samples_are_printed(self, attar):
        samples, timers = parts(attar('sched_switch == 0'))
        assert [(s['cpu'], s['tid'], s['period'], s['counts']) for s in samples] == [
            (1, 101, 5 * MS, 'sched_switch=0 softirq_entry=3'),
            (0, 100, 10 * MS, 'sched_switch=0 softirq_entry=2'),
            (0, 100, 10 * MS + 7, 'sched_switch=0 softirq_entry=0')]
        assert samples[0]['values'] == {'sched_switch': 0, 'softirq_entry': 3}
        assert timers == [(0, 4, 2), (1, 1, 1)]

    def test_period_and_aliases(self, attar):
        samples, _ = parts(attar('--condition', 'period > 10000000'))
        assert [s['period'] for s in samples] == [10 * MS + 7]

    def test_stacks(self, attar):
        ended = attar('-g', 'softirq_entry == 0 && sched_switch == 1')
        found = [s for line in ended.stdout.splitlines() for s in json.loads(line)['sections']]
        functions = next(s for s in found if s['name'] == 'functions')
        assert [row[2] for row in functions['rows']] == [1]

    def test_every_third_interval(self, attar):
        lines = [f'{1 + i / 100:.9f} 0 100/100 a cpu-clock counts={i // 3},{5 * i}'
                 for i in range(300)]
        _, timers = parts(attar('sched_switch > 0', script=SCRIPT.partition('1.0')[0]
                                + '\n'.join(lines) + '\n'))
        assert timers == [(0, 300, 99)]

    def test_a_cpu_that_was_offline_counts_from_zero(self, attar):
        samples, _ = parts(attar('_cpu == 0', script=SCRIPT.replace('counts=2,3', 'counts=0,1')))
        assert [s['values']['softirq_entry'] for s in samples] == [0, 2, 1, 0]

    @pytest.mark.parametrize('args, sentence', [
        (['nonsense > 1'], "'nonsense'"), (['-e', 'page-faults'], 'does not count'),
        (['-F', '10', '--period', '1s'], 'mutually exclusive')])
    def test_refusals(self, attar, args, sentence):
        ended = attar(*args)
        assert ended.returncode == 2, ended.stdout
        assert sentence in ended.stderr


BURSTS, CALLS = 20, 7
PROGRAM = f'''{QUIET}
for _ in range({BURSTS}):
    quiet(0.006)
    for _ in range({CALLS}): os.getsid(0)
quiet(0.006)
'''


@pytest.mark.usefixtures('root')
def test_bursts_of_calls():
    """Bursts are three intervals apart: each makes the condition true, and none is lost."""
    ended = run('hrtimer', '-a', '--format', 'json', '--period', '2ms', '-e',
                'syscalls:sys_enter_getsid', 'sys_enter_getsid > 0', '--', sys.executable, '-c',
                PROGRAM)
    samples, timers = parts(ended)
    notes = ended.stdout.splitlines()[-1]
    assert sum(s['values']['sys_enter_getsid'] for s in samples) == BURSTS * CALLS, notes
    assert len(samples) >= BURSTS, notes
    assert sum(t[2] for t in timers) == len(samples)
    assert sum(t[1] for t in timers) > 2 * BURSTS
