# SPDX-License-Identifier: MIT
"""Counts of hardware by CPU: hwstat, llcstat and tlbstat on scripts, for machines without a PMU."""
import json

import pytest

from command import has, run
from scripts import of_script, rows

pytestmark = pytest.mark.quick


def script(*names, lines):
    """Events that are counted, and records of their counts: (time, CPU, count...)."""
    text = ''.join(f'event {name} counted\n' for name in names)
    for time, cpu, *counts in lines:
        values = ' '.join(f'{name}={n}' for name, n in zip(names, counts))
        text += f'{time} {cpu} 0/0 - count {values}\n'
    return text


CYCLES = script('cycles', 'instructions', lines=[
    (1.0, 0, 0, 0), (1.0, 1, 1000, 1000), (1.5, 0, 1000, 500), (1.9, 1, 5000, 9000),
    (2.5, 0, 4000, 6500)])


def values(found, name):
    return [tuple(row.values()) for row in rows(found, name)]


def test_hwstat(tmp_path):
    found = of_script(tmp_path, CYCLES, 'hwstat')
    assert values(found, 'cpus') == [(0, 4000, 6500, 1.625, 100), (1, 5000, 9000, 1.8, 100)]
    assert values(found, 'total') == [(9000, 15500, 15500 / 9000, 100)]


def test_hwstat_by_interval(tmp_path):
    """The second interval of CPU 1 has nothing."""
    path = tmp_path / 'test.script'
    path.write_text('# attar script\n' + CYCLES)
    ended = run('hwstat', '--format', 'json', '-i', '1s', '--input', path)
    first, second = map(json.loads, ended.stdout.splitlines())
    assert values(first, 'cpus') == [(0, 1000, 500, 0.5, 100), (1, 5000, 9000, 1.8, 100)]
    assert values(second, 'cpus')[0] == (0, 3000, 6000, 2, 100)
    assert values(second, 'cpus')[1][1:4] == (0, 0, None)


def test_hwstat_of_cpus(tmp_path):
    found = of_script(tmp_path, CYCLES, 'hwstat', '-C', '1')
    assert [row[0] for row in values(found, 'cpus')] == [1]


def test_shared_counters(tmp_path):
    """The events were on counters for half of the time: the counts are estimates."""
    text = script('cycles', 'instructions', lines=[]) + \
        '1.0 0 0/0 - count cycles=100 instructions=300 enabled=1000 running=500\n'
    found = of_script(tmp_path, text, 'hwstat')
    assert values(found, 'cpus') == [(0, 200, 600, 3, 50)]


def test_llcstat(tmp_path):
    text = script('LLC-loads', 'LLC-load-misses', 'LLC-stores', 'LLC-store-misses', lines=[
        (1.0, 0, 1000, 100, 50, 0), (1.1, 1, 10, 10, 0, 0)])
    found = of_script(tmp_path, text, 'llcstat')
    assert values(found, 'cpus') == [(0, 1000, 100, 90, 50, 0, 100), (1, 10, 10, 0, 0, 0, None)]
    assert values(found, 'total') == [
        (1010, 110, pytest.approx(100 - 11000 / 1010), 50, 0, 100)]


def test_llcstat_without_stores(tmp_path):
    """Events that the CPUs lack have no values."""
    text = script('LLC-loads', 'LLC-load-misses', lines=[(1.0, 0, 1000, 250)])
    found = of_script(tmp_path, text, 'llcstat')
    assert values(found, 'cpus') == [(0, 1000, 250, 75, None, None, None)]


def test_llcstat_of_amd(tmp_path):
    """The third event has a 16th of the cycles of the misses that the fourth counts."""
    names = [f'amd_l3/event={event}/' for event in (
        '0x04,umask=0xff', '0x04,umask=0x01', '0x90', '0x9a,umask=0x1f')]
    found = of_script(tmp_path, script(*names, lines=[(1.0, 0, 2000, 500, 1000, 160)]), 'llcstat')
    assert values(found, 'cpus') == [(0, 2000, 500, 75, 100)]


def test_tlbstat(tmp_path):
    text = script('dTLB-loads', 'dTLB-load-misses', 'dTLB-stores', 'dTLB-store-misses', lines=[
        (1.0, 0, 8000, 20, 1000, 5)])
    found = of_script(tmp_path, text, 'tlbstat')
    assert values(found, 'cpus') == [(0, 8000, 20, 0.25, 1000, 5, 0.5)]


@pytest.mark.parametrize('profiler', ['hwstat', 'llcstat', 'tlbstat'])
def test_without_a_pmu(root, profiler):
    ended = run(profiler, '-d', '10ms')
    if ended.returncode == 0:
        pytest.skip('this machine has a PMU')
    assert ended.returncode == 4
    assert 'hardware counters (a PMU)' in ended.stderr or 'LLC' in ended.stderr \
        or 'TLB' in ended.stderr


@pytest.mark.parametrize('profiler', ['hwstat', 'llcstat', 'tlbstat'])
def test_recordings_without_counts(tmp_path, profiler):
    path = tmp_path / 'test.script'
    path.write_text('# attar script\nevent cpu-clock\n1.0 0 1/1 a cpu-clock\n')
    ended = run(profiler, '--input', path)
    assert ended.returncode == 4 and 'only samples' in ended.stderr
    path.write_text('# attar script\n' + script('branches', lines=[(1.0, 0, 1)]))
    ended = run(profiler, '--input', path)
    assert ended.returncode == 2 and 'has no counts of' in ended.stderr


def test_tasks_are_refused(root):
    ended = run('hwstat', '-p', '1', '-d', '1ms')
    assert ended.returncode in (2, 4)


class TestCountsOfTasks:
    """attar stat on counts of threads, as perf record -s writes them."""
    SCRIPT = '''event page-faults counted
event cycles counted
1.0 0 100/100 main count page-faults=5 cycles=1000
1.2 1 100/101 child count page-faults=7 cycles=500
1.4 1 100/100 main count page-faults=9 cycles=3000
'''

    def test_totals(self, tmp_path):
        found = of_script(tmp_path, self.SCRIPT, 'stat', '-e', 'page-faults,cycles')
        assert {r['event']: r['value'] for r in rows(found, 'counts')} == {
            'page-faults': 16, 'cycles': 3500}

    @pytest.mark.parametrize('words', [[], ['--detail']])
    def test_events_of_the_recording(self, tmp_path, words):
        """Without -e: no others."""
        script = 'event branch-misses counted\nevent a:b x:int\n' + self.SCRIPT + \
            '1.5 0 100/100 main count branch-misses=2\n'
        found = of_script(tmp_path, script, 'stat', *words)
        assert [(r['event'], r['value']) for r in rows(found, 'counts')] == [
            ('branch-misses', 2), ('page-faults', 16), ('cycles', 3500)]

    def test_without_records_of_counts(self, tmp_path):
        events = 'event page-faults counted\nevent a:b x:int\n1.0 0 100/100 main a:b x=1\n'
        found = of_script(tmp_path, events, 'stat')
        assert rows(found, 'counts') == []
        assert any('has no records with counts: with perf record -s, the kernel writes those of '
                   'each thread that ends but one' in remark for remark in found['remarks'])
        found = of_script(tmp_path, events + '1.1 0 100/100 main count page-faults=1\n', 'stat',
                          '-p', '7')
        assert any('(1) are of other events, or of other CPUs and tasks than those selected'
                   in remark for remark in found['remarks'])

    def test_by_thread(self, tmp_path):
        found = of_script(tmp_path, self.SCRIPT, 'stat', '-e', 'page-faults', '--per-thread')
        assert [(r['comm'], r['tid'], r['value']) for r in rows(found, 'counts')] == [
            ('main', 100, 9), ('child', 101, 7)]

    def test_threads_with_the_same_tid(self, tmp_path):
        """Two rows; the sum has both."""
        script = self.SCRIPT + '''1.5 1 100/101 child exit
1.6 1 100/100 main fork 100/101
1.7 1 100/101 second count page-faults=20
1.8 1 100/101 second count page-faults=30
'''
        found = of_script(tmp_path, script, 'stat', '-e', 'page-faults', '--per-thread')
        assert [(r['comm'], r['tid'], r['value']) for r in rows(found, 'counts')] == [
            ('main', 100, 9), ('child', 101, 7), ('second', 101, 30)]
        found = of_script(tmp_path, script, 'stat', '-e', 'page-faults')
        assert [r['value'] for r in rows(found, 'counts')] == [46]

    def test_threads_that_ended_without_counts(self, tmp_path):
        """perf record -s lacks those of one thread."""
        script = self.SCRIPT + '1.5 1 100/101 child exit\n1.6 1 100/102 third exit\n'
        found = of_script(tmp_path, script, 'stat')
        assert [r for r in found['remarks'] if 'ended' in r] == [
            f'{tmp_path}/test.script has no counts of 1 of the 2 threads that ended: they are '
            'missing in the sums']

    def test_time_begins_with_the_recording(self, tmp_path):
        """Not with the first thread that ends: then a rate is of the time until the last one."""
        begin = '0.2 0 100/100 main fork 100/101\n'
        first = self.SCRIPT.index('\n1.') + 1
        script = self.SCRIPT[:first] + begin + self.SCRIPT[first:]
        found = of_script(tmp_path, script + '2.2 0 100/100 main exit\n', 'stat')
        assert found['interval_ns'] == 2 * 10**9

    @pytest.mark.parametrize('option, values', [
        (['-t', '101'], [7, 500]), (['-p', '100'], [16, 3500]), (['-p', '7'], [])])
    def test_selected_tasks(self, tmp_path, option, values):
        script = self.SCRIPT + '1.5 1 100/101 child exit\n1.6 1 100/102 third exit\n'
        found = of_script(tmp_path, script, 'stat', *option)
        assert [r['value'] for r in rows(found, 'counts')] == values
        assert any('ended' in r for r in found.get('remarks', [])) == (option == ['-p', '100'])

    def test_remarks_name_only_existing_rows(self, tmp_path):
        """A recording has no row of counts that belong to no thread."""
        found = of_script(tmp_path, self.SCRIPT + '1.5 0 100/100 main lost 3\n', 'stat', '-e',
                          'page-faults', '--per-thread')
        assert not any('[unassigned]' in remark for remark in found['remarks'])
        assert any('their counts are missing' in remark for remark in found['remarks'])

    def test_missing_events_are_not_supported(self, tmp_path):
        found = of_script(tmp_path, self.SCRIPT, 'stat', '-e', 'cycles,instructions')
        assert [(r['value'], r['quality']) for r in rows(found, 'counts')] == [
            (3500, 'exact'), (None, 'not supported')]

    def test_recording_of_perf(self, tmp_path, root):
        """An event that was opened on each CPU has a part of the count for each."""
        if not has('perf'):
            pytest.skip('perf (package linux-perf) is not installed')
        data = tmp_path / 'perf.data'
        run('record', '-q', '-s', '-e', 'page-faults', '-c', '1', '-o', data, '--', 'sh', '-c',
            'true; ls / >/dev/null', program='perf')
        shown = run('report', '-T', '-i', data, program='perf').stdout
        truth = {int(line.split()[1]): int(line.split()[2]) for line in shown.splitlines()
                 if len(line.split()) == 3 and all(w.isdigit() for w in line.split())}
        ended = run('stat', '--format', 'json', '--per-thread', '-e', 'page-faults', '--input',
                    data)
        found = json.loads(ended.stdout)
        assert truth and {r['tid']: r['value'] for r in rows(found, 'counts')} == truth


@pytest.mark.parametrize('line, sentence', [
    ('1.0 0 1/1 a count cycles=x', 'not a number'), ('1.0 0 1/1 a count branches=1', 'counted'),
    ('1.0 0 1/1 a cycles', 'has counts only')])
def test_bad_scripts(tmp_path, line, sentence):
    path = tmp_path / 'test.script'
    path.write_text(f'# attar script\nevent cycles counted\n{line}\n')
    ended = run('hwstat', '--input', path)
    assert ended.returncode == 1 and 'line 3' in ended.stderr and sentence in ended.stderr
