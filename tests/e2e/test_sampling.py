# SPDX-License-Identifier: MIT
"""Sampling by the library's own examples, each against a truth."""
import os
import re
import subprocess

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


def test_aux_data_or_the_reason():
    """Without Intel PT the kernel's refusal is told; with it there is data."""
    done = subprocess.run([BUILD / 'examples/09-aux'], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert 'Intel PT, Arm SPE and CoreSight do' in done.stderr or re.search(r'[1-9]\d* bytes in', done.stdout)


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


@pytest.mark.parametrize('kernel', ['x86', 'debian', 'debian7'])
def test_cpus_come_and_go(kernel):
    """CPU 1 is switched off and on under counters, groups and streams."""
    program = BUILD / 'tests/live/live_hotplug'
    if not program.exists():
        pytest.skip('no unit tests here (package libcmocka-dev)')
    done = guest.run(kernel, 'env', 'ATTAR_TEST_HOTPLUG=1', program)
    assert done.returncode == 0, done.stdout + done.stderr
    assert 'SKIPPED' not in done.stdout + done.stderr
