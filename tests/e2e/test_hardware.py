# SPDX-License-Identifier: MIT
"""Hardware counters in a guest where every instruction is one cycle and is counted exactly."""
import json

import pytest

import guest
from command import Profile

pytestmark = [pytest.mark.guest('arm64'), pytest.mark.xdist_group('hardware')]  # one boot for all

LOOPS = [1, 1000001, 10000001]
PERIOD = 1000003


def rows(path, name='counts'):
    report = json.loads(path.read_text())
    section = next(s for s in report['sections'] if s['name'] == name)
    return [dict(zip([c['name'] for c in section['columns']], row)) for row in section['rows']]


@pytest.fixture(scope='module')
def out(tmp_path_factory):
    """The folder with the reports; one boot for all tests."""
    folder = tmp_path_factory.mktemp('arm64')
    build = guest.cross_build()
    attar, turns = build / 'src/cli/attar', build / 'tests/workloads/turns'
    many = ','.join(['instructions:u', 'cycles:u'] * 6)
    lines = ['set -e']
    for n in LOOPS:
        lines += [f"{attar} stat -q -o {folder}/{n}.json -e instructions:u,cycles:u -- {turns} {n}",
                  f"{attar} stat -q -o {folder}/group{n}.json -e "
                  f"'{{instructions:u,page-faults,cycles:u}}' "
                  f"-- {turns} {n}"]
    lines += [f'{attar} stat -q -o {folder}/many.json -e {many} -- {turns} 200000000',
              f"{attar} profile -q -o {folder}/profile.json -e cycles/period={PERIOD}/u -- {turns} "
              "50000000"]
    lines += [f'{turns} 1000000000000 & spinner=$!',
              *(f'{attar} hwstat -q -o {folder}/hwstat{n}.json -- {turns} {n}' for n in LOOPS),
              'kill $spinner']
    ended = guest.run('arm64', 'sh', '-c', '\n'.join(lines))
    assert ended.returncode == 0, ended.stderr
    return folder


def test_loops_are_counted_exactly(out):
    """
    A longer loop has two more instructions per iteration; start and end differ by a few branches.
    """
    short, *longer = ({row['event']: row for row in rows(out / f'{n}.json')} for n in LOOPS)
    for n, found in zip(LOOPS[1:], longer):
        for event in ('instructions:u', 'cycles:u'):
            assert found[event]['quality'] == 'exact'
            more = found[event]['value'] - short[event]['value']
            assert abs(more - 2 * (n - LOOPS[0])) < 2000, (event, n)
        assert found['cycles:u']['value'] == pytest.approx(found['instructions:u']['value'],
                                                           abs=2000)
        assert found['instructions:u']['ratio'] == pytest.approx(1, abs=0.01) # per cycle


def test_siblings_of_another_pmu_count(out):
    for n in LOOPS:
        instructions, faults, cycles = rows(out / f'group{n}.json')
        assert {row['quality'] for row in (instructions, faults, cycles)} == {'exact'}
        # on the CPU at the same time, so their counts are equal
        assert instructions['value'] == cycles['value']
        assert 2 * n < instructions['value'] < 2 * n + 200000
        assert 20 < faults['value'] < 200


def test_more_events_than_counters_are_scaled(out):
    found = rows(out / 'many.json')
    assert len(found) == 12
    for row in found:
        assert row['quality'] == 'scaled'
        assert row['counted'] < 90
        assert row['value'] == pytest.approx(400000000, rel=0.03)


def test_sampled_at_the_exact_period(out):
    found = Profile((out / 'profile.json').read_text())
    assert abs(found.notes['seen'] - 100000000 // PERIOD) <= 1
    assert found.own('main') >= found.samples - 1
    assert found.notes['lost'] == 0


def test_cycles_of_a_cpu(out):
    """A CPU that is never idle: each instruction is a cycle, and each cycle a nanosecond."""
    for n in LOOPS:
        (found,) = rows(out / f'hwstat{n}.json', 'cpus')
        time = json.loads((out / f'hwstat{n}.json').read_text())['interval_ns']
        assert found['cpu'] == 0 and found['counted'] == 100
        assert found['cycles'] == found['instructions'] and found['IPC'] == 1
        assert 0.99 * time < found['cycles'] <= time
        assert found['cycles'] > 2 * n
        assert rows(out / f'hwstat{n}.json', 'total')[0]['cycles'] == found['cycles']
