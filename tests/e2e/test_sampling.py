# SPDX-License-Identifier: MIT
"""Sampling by the library's own examples, each against a truth."""
import os
import re
import subprocess
from pathlib import Path

import pytest

import guest
from command import BUILD


def example(name):
    done = subprocess.run([BUILD / 'examples' / name], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_flight_recorder_has_what_came_last():
    """Of 701 pages that were touched one after the other, the last ones, without a gap; older ones are gone."""
    out = example('07-flight-recorder')
    pages = [int(n) for n in re.findall(r'first touch of page (\d+)', out)]
    times = [int(n) for n in re.findall(r'^(\d+) first touch', out, re.M)]
    assert 75 <= len(pages) <= 4096 // 48
    assert pages == list(range(701 - len(pages), 701))
    assert times == sorted(times)
    assert int(re.search(r'(\d+) bytes of older', out)[1]) >= (701 - 4096 // 48) * 48


def test_self_read_says_how_it_read():
    out = example('06-self-read')
    assert re.search(r'1000 loops: [1-9]\d* (instructions|task-clock) \(exact\), read by (the thread itself|system calls)', out)


def test_signals_at_each_change():
    assert example('08-signals') == '23 changes gave 23 traps, 23 more 23 signals\n'


INTEL_PT = Path('/sys/bus/event_source/devices/intel_pt').exists()


def aux_example():
    done = subprocess.run([BUILD / 'examples/09-aux'], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.skipif(INTEL_PT, reason='this CPU has Intel PT')
def test_aux_without_such_a_pmu_is_refused():
    done = aux_example()
    assert 'Intel PT, Arm SPE and CoreSight do' in done.stderr
    assert 'bytes in' not in done.stdout


@pytest.mark.skipif(not INTEL_PT, reason='this CPU has no Intel PT')
def test_aux_data():
    assert re.search(r'[1-9]\d* bytes in', aux_example().stdout)


def test_counts_of_each_cpu():
    lines = example('10-cpus').splitlines()
    assert len(lines) == 5
    for line in lines:
        assert [int(n) for n in re.findall(r'CPU (\d+): \d+ \((?:exact|idle)\)', line)] == list(range(os.cpu_count()))


def test_whole_stacks():
    """1024 pages, each a hundredth one sampled: perhaps ten more for what else the program touches."""
    out = example('11-stacks')
    assert len(re.findall(r'^fill < ', out, re.M)) >= 2
    samples = int(re.search(r'(\d+) samples, \d+ of them joined from two halves, 0 without', out)[1])
    assert 10 <= samples <= 20


@pytest.mark.guest
@pytest.mark.parametrize('kernel', ['x86', 'debian', 'debian7'])
def test_cpus_come_and_go(kernel):
    """CPU 1 is switched off and on under counters, groups and streams."""
    program = BUILD / 'tests/live/live_hotplug'
    if not program.exists():
        pytest.skip('no unit tests here (package libcmocka-dev)')
    done = guest.run(kernel, 'env', 'ATTAR_TEST_HOTPLUG=1', program)
    assert done.returncode == 0, done.stdout + done.stderr
    assert 'SKIPPED' not in done.stdout + done.stderr
