# SPDX-License-Identifier: MIT
"""The presets runqlat, cpudist, softirqs and hardirqs: on scripts, and compared with /proc."""
import json
import sys
from pathlib import Path

import pytest

from command import ATTAR, run
from scripts import rows_of

US = 1000


@pytest.fixture(name='attar')
def fixture_attar(tmp_path):
    path = tmp_path / 'test.script'

    def call(preset, script, *args):
        path.write_text('# attar script\n' + script)
        return report(run(preset, '--format', 'json', '--input', path, *args))
    return call


def report(ended):
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout.splitlines()[-1])
    return {s['name']: rows_of(s) for s in found['sections']}


def buckets(found):
    return {int(r['low']): r['count'] for r in found['times'] if r['count']}


SCHED = '''event sched:sched_switch prev_comm:char[16] prev_pid:pid_t prev_state:s64 \
next_comm:char[16] next_pid:pid_t
event sched:sched_wakeup comm:char[16] pid:pid_t
1.000000000 0 0/0 idle sched:sched_wakeup pid=100
1.000005000 0 0/0 idle sched:sched_switch next_pid=100
1.000105000 0 100/100 a sched:sched_switch prev_pid=100 prev_state=0 next_pid=200
1.000205000 0 200/200 b sched:sched_switch prev_pid=200 prev_state=1 next_pid=100
1.000505000 0 100/100 a sched:sched_switch prev_pid=100 prev_state=1
'''


@pytest.mark.quick
class TestScripts:
    def test_runqlat(self, attar):
        """A wakeup that waits for 5 us, and a preemption of 100 us."""
        found = attar('runqlat', SCHED)
        assert {(r['start'], r['calls'], r['total']) for r in found['pairs']} == {
            ('sched:sched_wakeup', 1, 5 * US), ('sched:sched_switch', 1, 100 * US)}
        assert buckets(found) == {4096: 1, 65536: 1}

    def test_cpudist(self, attar):
        """Two runs of 100 us, of two tasks, and one of 300 us."""
        found = attar('cpudist', SCHED)
        assert [(r['calls'], r['total'], r['max']) for r in found['pairs']] == [
            (3, 500 * US, 300 * US)]
        assert buckets(found) == {65536: 2, 262144: 1}

    def test_softirqs(self, attar):
        found = attar('softirqs', '''event irq:softirq_entry vec:u32
event irq:softirq_exit vec:u32
1.000000000 0 0/0 idle irq:softirq_entry vec=1
1.000001000 1 0/0 idle irq:softirq_entry vec=3
1.000003000 0 0/0 idle irq:softirq_exit vec=1
1.000003000 0 0/0 idle irq:softirq_entry vec=9
1.000010000 0 0/0 idle irq:softirq_exit vec=9
1.000021000 1 0/0 idle irq:softirq_exit vec=3
1.000031000 1 0/0 idle irq:softirq_entry vec=3
1.000033000 1 0/0 idle irq:softirq_exit vec=3
''')
        assert [(r['comm'], r['calls'], r['total']) for r in found['pairs']] == [
            ('net_rx', 2, 22 * US), ('rcu', 1, 7 * US), ('timer', 1, 3 * US)]

    def test_hardirqs(self, attar):
        """Handlers of one interrupt on two CPUs, and nested ones."""
        found = attar('hardirqs', '''event irq:irq_handler_entry irq:int name:string
event irq:irq_handler_exit irq:int ret:int
1.000000000 0 0/0 idle irq:irq_handler_entry irq=1 name=disk
1.000002000 1 0/0 idle irq:irq_handler_entry irq=1 name=disk
1.000003000 0 0/0 idle irq:irq_handler_entry irq=2 name="my net"
1.000004000 0 0/0 idle irq:irq_handler_exit irq=2
1.000005000 0 0/0 idle irq:irq_handler_exit irq=1
1.000009000 1 0/0 idle irq:irq_handler_exit irq=1
''', '--hist')
        assert [(r['comm'], r['calls'], r['total']) for r in found['pairs']] == [
            ('disk', 2, 12 * US), ('my net', 1, 1 * US)]
        assert sum(buckets(found).values()) == 3


KINDS = {'TIMER': 'timer', 'NET_RX': 'net_rx', 'BLOCK': 'block', 'SCHED': 'sched', 'RCU': 'rcu'}
PROGRAM = '''
import time
print(open("/proc/softirqs").read())
print("----")
time.sleep(0.3)
print(open("/proc/softirqs").read())
'''


def softirqs(text):
    found = {}
    for line in text.splitlines():
        words = line.split()
        if words and words[0][:-1] in KINDS:
            found[words[0][:-1]] = sum(map(int, words[1:]))
    return found


@pytest.mark.usefixtures('root')
def test_counts_of_proc_softirqs(tmp_path):
    out = tmp_path / 'softirqs.json'
    first = softirqs(Path('/proc/softirqs').read_text())
    ended = run('softirqs', '-a', '-m', '1024', '-o', out, '--', sys.executable, '-c', PROGRAM)
    last = softirqs(Path('/proc/softirqs').read_text())
    assert ended.returncode == 0, ended.stderr
    before, after = (softirqs(text) for text in ended.stdout.split('----')[:2])
    found = json.loads(out.read_text())
    table = next(s for s in found['sections'] if s['name'] == 'pairs')
    unseen = found['notes'].get('missing', 0) + found['notes']['lost']
    rows = rows_of(table)
    for name, comm in KINDS.items():
        calls = sum(r['calls'] for r in rows if r['comm'] == comm)
        # One of each CPU can have begun before the first event, or end after the last one.
        assert after[name] - before[name] - 2 - unseen <= calls, name
        assert calls <= last[name] - first[name] + 2, name


def hardirqs(text):
    """The interrupts of devices by the name of their handler."""
    cpus, found = text.partition(':')[0].count('CPU'), {}
    for words in map(str.split, text.splitlines()):
        if words[1:] and words[0].endswith(':') and words[0][:-1].isdigit():
            found[words[-1]] = found.get(words[-1], 0) + sum(map(int, words[1:cpus + 1]))
    return found


WRITES = '''
import os, sys
print(open("/proc/interrupts").read())
print("----")
fd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
for i in range(50):
    os.write(fd, b"x")
    os.fsync(fd)
print(open("/proc/interrupts").read())
'''


@pytest.mark.usefixtures('root')
def test_counts_of_proc_interrupts(tmp_path):
    """A disk interrupts after each of 50 writes, if it is not polled; /tmp may be memory."""
    file, out = ATTAR.parent / 'hardirqs.tmp', tmp_path / 'hardirqs.json'
    first = hardirqs(Path('/proc/interrupts').read_text())
    ended = run('hardirqs', '-a', '-m', '1024', '-o', out, '--', sys.executable, '-c', WRITES,
                file)
    file.unlink()
    last = hardirqs(Path('/proc/interrupts').read_text())
    assert ended.returncode == 0, ended.stderr
    before, after = (hardirqs(text) for text in ended.stdout.split('----')[:2])
    found = json.loads(out.read_text())
    table = next(s for s in found['sections'] if s['name'] == 'pairs')
    rows = rows_of(table)
    calls = {name: sum(r['calls'] for r in rows if r['comm'] == name) for name in last}
    unseen = found['notes'].get('missing', 0) + found['notes']['lost']
    # One of each CPU can have begun before the first event, or end after the last one.
    for name, count in calls.items():
        assert after[name] - before[name] - 2 - unseen <= count, name
        assert count <= last[name] - first[name] + 2, name
    if not any(calls.values()):
        pytest.skip('no device interrupted this machine')


@pytest.mark.usefixtures('root')
@pytest.mark.parametrize('words', [
    ['softirqs'], ['hardirqs'], ['netqtop'], ['stat', '-e', 'tcp:tcp_probe,page-faults'],
    ['stat', '-e', '{page-faults,tcp:tcp_probe}'], ['trace', '-e', 'skb:kfree_skb'], ['oomkill']],
    ids=' '.join)
def test_events_of_other_tasks(words):
    """Those of a command are also handled in tasks that they interrupt."""
    remark = ('oom:mark_victim\' occurs in the task that needs memory' if words == ['oomkill'] else
              '\' occurs in whatever task is interrupted')
    of_command, of_all = (run(*words, *options, '--', 'true') for options in ([], ['-a']))
    assert of_command.returncode == of_all.returncode == 0
    assert remark in of_command.stdout + of_command.stderr
    assert remark not in of_all.stdout + of_all.stderr
