# SPDX-License-Identifier: MIT
"""attar percpu-stat: its counts are those of /proc, which are read before and after it."""
import json
import sys
from pathlib import Path

import pytest

from command import ATTAR, run
from scripts import rows as table

pytestmark = pytest.mark.usefixtures('root')

FORKS = 20
PROGRAM = f'''
import os
from pathlib import Path
def show():
    for name in ("stat", "softirqs", "vmstat"): print(Path("/proc", name).read_text())
    print("----")
show()
for _ in range({FORKS}):
    if os.fork() == 0: os._exit(0)
    os.wait()
show()
'''


def values(text):
    """The kernel's counts: totals, and soft interrupts by CPU."""
    found = {}
    for line in text.splitlines():
        words = line.split()
        if words and words[0] in ('ctxt', 'processes', 'pgmajfault'):
            found[words[0]] = int(words[1])
        if words and words[0].endswith(':'):
            for cpu, value in enumerate(words[1:]):
                found[words[0][:-1], cpu] = int(value)
    return found


def proc():
    return values(''.join(Path('/proc', n).read_text() for n in ('stat', 'softirqs', 'vmstat')))


def test_counts_of_proc(tmp_path):
    """More than between the command's reads, and less than between the test's reads."""
    out = tmp_path / 'stat.json'
    first = proc()
    ended = run('percpu-stat', '--syscalls', '-o', out, '--', sys.executable, '-c', PROGRAM)
    last = proc()
    assert ended.returncode == 0, ended.stderr
    before, after = (values(text) for text in ended.stdout.split('----')[:2])
    report = json.loads(out.read_text())
    total = table(report, 'total')[0]
    for column, name in (('switches', 'ctxt'), ('forks', 'processes'), ('majflt', 'pgmajfault')):
        assert after[name] - before[name] <= total[column] <= last[name] - first[name], name
    assert after['processes'] - before['processes'] >= FORKS
    cpus = table(report, 'cpus')
    for kind in ('TIMER', 'NET_RX', 'BLOCK', 'SCHED', 'RCU'):
        for row in cpus:
            key = kind, row['cpu']
            assert after[key] - before[key] <= row[kind] <= last[key] - first[key], key
    for column, value in total.items():
        assert value == sum(row[column] for row in cpus), column
    assert len(total) >= 20
    assert total['syscalls'] >= 2 * FORKS


def test_columns_of_memory(tmp_path):
    """Compaction on request moves pages: the counts are those of attar stat at the same time."""
    events = {'compact': 'compaction:mm_compaction_migratepages',
              'migrate': 'migrate:mm_migrate_pages',
              'reclaim': 'vmscan:mm_vmscan_direct_reclaim_begin'}
    out, inner = tmp_path / 'stat.json', tmp_path / 'inner.json'
    ended = run('percpu-stat', '-o', out, '--', ATTAR, 'stat', '-a', '-q', '-o', inner, '-e',
                ','.join(events.values()), '--', 'sh', '-c',
                'for i in 1 2 3; do echo 1 >/proc/sys/vm/compact_memory; done')
    assert ended.returncode == 0, ended.stderr
    total = table(json.loads(out.read_text()), 'total')[0]
    counted = {row['event']: row['value'] for row in table(json.loads(inner.read_text()), 'counts')}
    assert counted[events['compact']] > 0
    for column, event in events.items():
        assert total[column] >= counted[event], column
    assert {'gro', 'kvm-exits'} <= set(total)


def test_system_calls_are_counted_on_request():
    ended = run('percpu-stat', '--format', 'json', '-C', '0', '-d', '50ms')
    report = json.loads(ended.stdout)
    assert 'syscalls' not in table(report, 'total')[0]
    assert [row['cpu'] for row in table(report, 'cpus')] == [0]


def test_tasks_are_refused():
    ended = run('percpu-stat', '-p', '1', '-d', '1ms')
    assert ended.returncode == 2
    assert '--cpus' in ended.stderr
