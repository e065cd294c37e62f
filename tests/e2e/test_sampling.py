# SPDX-License-Identifier: MIT
"""Sampling in the library's examples, compared with known results."""
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import guest
from command import BUILD, profile, run, workload
from scripts import rows_of


def example(name):
    done = subprocess.run([BUILD / 'examples' / name], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_flight_recorder_has_the_last_events():
    """The last of 701 pages that are touched in order, without a gap; older ones are lost."""
    out = example('07-flight-recorder')
    pages = [int(n) for n in re.findall(r'first touch of page (\d+)', out)]
    times = [int(n) for n in re.findall(r'^(\d+) first touch', out, re.M)]
    assert 75 <= len(pages) <= 4096 // 48
    assert pages == list(range(701 - len(pages), 701))
    assert times == sorted(times)
    assert int(re.search(r'(\d+) bytes of older', out)[1]) >= 701 * 48 - 4096


def test_self_read_reports_how_it_read():
    out = example('06-self-read')
    assert re.search(
        r'1000 loops: [1-9]\d* (instructions|task-clock) \(exact\), read by (the thread '
        r'itself|system calls)', out)


@pytest.mark.usefixtures('needs_breakpoints')
def test_each_change_gives_a_signal():
    assert example('08-signals') == '23 changes gave 23 traps, 23 more 23 signals\n'


INTEL_PT = Path('/sys/bus/event_source/devices/intel_pt').exists()


def aux_example():
    done = subprocess.run([BUILD / 'examples/09-aux'], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.skipif(INTEL_PT, reason='this CPU has Intel PT')
def test_aux_without_a_tracing_pmu_is_refused():
    done = aux_example()
    assert 'Intel PT, Arm SPE, CoreSight' in done.stderr
    assert 'bytes in' not in done.stdout


@pytest.mark.skipif(not INTEL_PT, reason='this CPU has no Intel PT')
def test_aux_data_are_read():
    assert re.search(r'[1-9]\d* bytes in', aux_example().stdout)


def test_each_cpu_has_a_count():
    lines = example('10-cpus').splitlines()
    assert len(lines) == 5
    for line in lines:
        assert [int(n) for n in re.findall(r'CPU (\d+): \d+ \((?:exact|idle)\)', line)] == \
            list(range(os.cpu_count()))


def test_stacks_are_complete():
    """
    1024 pages, every hundredth sampled: up to ten more samples for other pages of the program.
    """
    out = example('11-stacks')
    assert len(re.findall(r'^fill < ', out, re.M)) >= 2
    samples = int(re.search(r'(\d+) samples, \d+ joined with a deferred user stack, 0 without',
                            out)[1])
    assert 10 <= samples <= 20


@pytest.mark.guest
@pytest.mark.parametrize('kernel', ['x86', 'debian', 'debian7'])
def test_cpus_go_offline_and_online(kernel):
    """CPU 1 is switched off and on under counters, groups and streams."""
    program = BUILD / 'tests/live/live_hotplug'
    if not program.exists():
        pytest.skip('the unit tests are not built (package libcmocka-dev)')
    done = guest.run(kernel, 'env', 'ATTAR_TEST_HOTPLUG=1', program)
    assert done.returncode == 0, done.stdout + done.stderr
    assert 'SKIPPED' not in done.stdout + done.stderr


@pytest.mark.parametrize('event', [(), ('-e', 'cpu-clock')], ids=['default', 'named'])
def test_excluded_code(root, event):
    """split7030 runs in user code: without it there are no samples of its functions."""
    found = profile('--exclude-user', *event, command=[workload('split7030'), 300])
    assert not found.pick('heavy') and not found.pick('light')
    found = profile('--exclude-kernel', *event, command=[workload('split7030'), 300])
    assert found.own('heavy') > 10 and not found.pick(dso='[kernel.kallsyms]')


def test_nothing_left_after_exclusion():
    done = run('profile', '--exclude-user', '-e', 'cpu-clock:u', '--', 'true')
    assert done.returncode == 2
    assert done.stderr == ("attar: 'cpu-clock:u' with --exclude-user: "
                           'nothing would be sampled\n')


def test_software_events_are_sampled_each_time():
    found = profile('-e', 'page-faults', '--exclude-kernel', command=[workload('faults1000'), 5000])
    assert sum(f['samples'] for f in found.functions if f['symbol'] == 'touch') == 5000


def test_samples_of_varying_period_count_as_many_events(tmp_path):
    """
    To reach the frequency, the kernel changes the period: the shares of samples are other ones. The
    first period of a program is that of its parent, and the last one does not end: they can be
    60,000, so that these programs take more page faults.
    """
    few = shutil.copy(workload('faults1000'), tmp_path / 'few')
    done = run('profile', '-e', 'page-faults//freq=997/', '--exclude-kernel', '--format', 'json',
               '--', 'sh', '-c', f'{workload("faults1000")} 400000; {few} 200000')
    assert done.returncode == 0, done.stderr
    table = json.loads(done.stdout)['sections'][0]
    rows = rows_of(table)
    events = {row['comm']: row['events'] for row in rows if row['symbol'] == 'touch'}
    samples = json.loads(done.stdout)['notes']['seen']
    assert abs(events['faults1000'] - 400000) < 100000, events
    assert abs(events['few'] - 200000) < 100000, events
    assert min(events.values()) > 10 * samples, (samples, events)
