# SPDX-License-Identifier: MIT
"""attar split-lock on scripts, and live with another event in place of the missing hardware's."""
import json
import os
import platform
from pathlib import Path

import pytest

from command import run
from scripts import of_script, rows

# CPU 0 has 2,500 split locks, of which each 1,000th is sampled; CPU 1 has 700.
SCRIPT = '''event sq_misc.split_lock counted
event sq_misc.split_lock sampled stack
1.0 0 0/0 - count sq_misc.split_lock=0
1.0 1 0/0 - count sq_misc.split_lock=0
1.1 0 7/8 worker sq_misc.split_lock period=1000 stack=0x1000,0x2000
1.2 0 9/9 other sq_misc.split_lock period=1000 stack=0x3000
1.4 0 0/0 - count sq_misc.split_lock=2500
1.4 1 0/0 - count sq_misc.split_lock=700
'''
EVENT = ('-e', 'sq_misc.split_lock')


def values(found, name):
    return [tuple(row.values()) for row in rows(found, name)]


@pytest.mark.quick
class TestScripts:
    def test_counts(self, tmp_path):
        found = of_script(tmp_path, SCRIPT, 'split-lock', *EVENT)
        assert values(found, 'counts') == [(3200,)]
        assert values(found, 'tasks') == [('worker', 8, 1, 1000), ('other', 9, 1, 1000)]

    def test_counts_of_cpus(self, tmp_path):
        found = of_script(tmp_path, SCRIPT, 'split-lock', *EVENT, '--perins')
        assert values(found, 'counts') == [(0, 2500), (1, 700)]

    def test_lines_and_stacks(self, tmp_path):
        path = tmp_path / 'test.script'
        path.write_text('# attar script\nwall 1000\n' + SCRIPT)
        ended = run('split-lock', *EVENT, '-g', '--input', path, '--format', 'json')
        reports = [json.loads(line) for line in ended.stdout.splitlines()]
        lines = [row for r in reports[:-1] for row in rows(r, 'split locks')]
        assert [(r['time'], r['comm'], r['pid'], r['tid'], r['cpu'], r['split locks'])
                for r in lines] == [(1001100000000, 'worker', 7, 8, 0, 1000),
                                    (1001200000000, 'other', 9, 9, 0, 1000)]
        assert sum(r['split locks'] for r in rows(reports[-1], 'functions')) == 2000

    def test_samples_only(self, tmp_path):
        script = '\n'.join(line for line in SCRIPT.splitlines() if ' count' not in line)
        found = of_script(tmp_path, script, 'split-lock')
        assert [s['name'] for s in found['sections']][0] == 'tasks'
        assert sum(row[3] for row in values(found, 'tasks')) == 2000


def lockers():
    """Return the processes that make split locks."""
    found = []
    for path in Path('/proc').glob('[0-9]*/comm'):
        try:
            if path.read_text() == 'split-lock-test\n':
                found.append(int(path.parent.name))
        except OSError:
            pass
    return found


PERIOD = 5


@pytest.mark.usefixtures('root', 'busy_cpus')
@pytest.mark.skipif(platform.machine() != 'x86_64', reason='--test needs an x86 CPU')
def test_every_nth_is_sampled(tmp_path):
    """Context switches are counted instead: less than a period of each CPU is not sampled."""
    out, before = tmp_path / 'out.json', lockers()
    ended = run('split-lock', '--test', '-e', 'context-switches', '-T', PERIOD, '-d', '1s',
                '-m', 512, '-o', out)
    assert ended.returncode == 0, ended.stderr
    assert set(lockers()) <= set(before)
    found = json.loads(out.read_text().splitlines()[-1])
    assert found['notes']['lost'] == 0
    sampled = sum(row[3] for row in values(found, 'tasks')) + PERIOD * found['notes']['missing']
    # The samples and the counts do not begin and end at exactly the same time.
    assert values(found, 'counts')[0][0] == pytest.approx(
        sampled, abs=PERIOD * os.cpu_count() + 100, rel=0.2)
    assert 'split-lock-test' in {row[0] for row in values(found, 'tasks')}


def test_without_a_pmu(root):
    ended = run('split-lock', '-d', '10ms')
    if ended.returncode == 0:
        pytest.skip('this machine has a PMU')
    assert ended.returncode == 4
    assert 'hardware counters (a PMU)' in ended.stderr or 'Intel or AMD' in ended.stderr


def test_several_events_are_refused():
    ended = run('split-lock', '-e', 'page-faults,context-switches', '-d', '1ms')
    assert ended.returncode == 2 and 'matches 2 events' in ended.stderr
