# SPDX-License-Identifier: MIT
"""attar wall -i: random schedules, whose intervals add up to the run without -i."""
import collections
import json
import random

import pytest

from command import run
from scripts import rows_of

pytestmark = pytest.mark.quick

HEADER = '''# attar script
event sched:sched_switch stack prev_comm:char[16] prev_pid:pid_t prev_state:s64 \
next_comm:char[16] next_pid:pid_t
event sched:sched_wakeup comm:char[16] pid:pid_t target_cpu:int
event sched:sched_wakeup_new comm:char[16] pid:pid_t target_cpu:int
event cpu-clock stack
'''.replace('\\\n', '')
CPUS = 2


class Schedule:
    """A random schedule of some threads on two CPUs, and the time of each thread in each state."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.threads = [10 + i for i in range(self.random.randint(3, 6))]
        self.running, self.ready, self.asleep = [0] * CPUS, [], list(self.threads)
        self.now, self.lines = 1.0, []
        self.state = dict.fromkeys(self.threads)  # and since when; None: no event so far
        self.times = collections.Counter()

    def event(self, cpu, what):
        tid = self.running[cpu]
        name = f't{tid}' if tid else 'swapper'
        self.lines.append(f'{self.now:.6f} {cpu} {tid}/{tid} {name} {what}\n')

    def enter(self, tid, state):
        if self.state[tid]:
            before, since = self.state[tid]
            self.times[tid, before] += self.now - since
        self.state[tid] = (state, self.now)

    def wake_up(self):
        tid = self.asleep.pop(self.random.randrange(len(self.asleep)))
        cpu = self.random.randrange(CPUS)
        self.event(cpu, f'sched:sched_wakeup comm=t{tid} pid={tid} target_cpu={cpu}')
        self.enter(tid, 'ready')
        self.ready.append(tid)

    def switch(self, cpu):
        tid, sleeps = self.running[cpu], self.random.random() < 0.6
        following = (self.ready.pop(self.random.randrange(len(self.ready))) if self.ready
                     else 0)
        if tid == following:
            return
        self.event(cpu, f'sched:sched_switch stack=0xa1 prev_comm=t{tid} prev_pid={tid} '
                        f'prev_state={int(sleeps)} next_comm=t{following} next_pid={following}')
        if tid:
            self.enter(tid, 'blocked' if sleeps else 'ready')
            (self.asleep if sleeps else self.ready).append(tid)
        if following:
            self.enter(following, 'running')
        self.running[cpu] = following

    def text(self):
        while self.now < 2:
            self.now += self.random.expovariate(40)
            if self.asleep and self.random.random() < 0.5:
                self.wake_up()
            else:
                self.switch(self.random.randrange(CPUS))
        self.now = float(self.lines[-1].split()[0])  # of the recording, too
        for tid in self.threads:
            if self.state[tid]:
                self.enter(tid, 'end')
        forks = [f'1.0 0 1/1 init fork {tid}/{tid}\n' for tid in self.threads]
        return HEADER + ''.join(forks + self.lines)


def times(path, *args):
    """Return the time of each thread in each state, ns, from all reports; and the remarks."""
    ended = run('wall', '--format', 'json', '--input', path, *args)
    assert ended.returncode == 0, ended.stderr
    found, remarks = collections.Counter(), []
    for report in map(json.loads, ended.stdout.splitlines()):
        remarks += report.get('remarks', [])
        table = report['sections'][0]
        for row in rows_of(table):
            for state in ('running', 'ready', 'blocked'):
                found[row['tid'], state] += row[state] / 100 * row['time']
    return found, remarks


@pytest.mark.parametrize('seed', range(12))
def test_intervals_add_up(tmp_path, seed):
    schedule = Schedule(seed)
    path = tmp_path / 'test.script'
    path.write_text(schedule.text())
    whole, _ = times(path)
    divided, remarks = times(path, '-i', '100ms')
    for key in sorted(whole.keys() | divided.keys()):
        assert divided[key] == pytest.approx(whole[key], abs=1000), key
    assert not [text for text in remarks if 'was not delivered' in text]
    for key in schedule.times:
        assert whole[key] == pytest.approx(schedule.times[key] * 1e9, abs=2e6), key
