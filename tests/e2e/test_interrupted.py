# SPDX-License-Identifier: MIT
"""Signals at any time, and system calls that transfer less than requested: results are complete."""
import re

import pytest

from command import Profile, run, share_is, workload
from faults import counted, with_fault

FAULTS = [{'storm': 1000}, *({'calls': seed} for seed in range(1, 6))]
pytestmark = pytest.mark.parametrize('fault', FAULTS,
                                     ids=lambda f: ' '.join(f'{k} {v}' for k, v in f.items()))


def test_profile(fault, root):
    done = with_fault('calls', 'profile', '-F', 997, '-g', '--exclude-kernel', '--format', 'json',
                      '--',
                      workload('split7030'), 1000, **fault)
    assert done.returncode == 0, done.stderr
    found = Profile(done.stdout)
    share_is(found.own('heavy'), found.samples, 0.7, slack=0.01)
    assert found.notes['lost'] == 0 and found.samples > 300


def test_trace(fault, root):
    """Each of the program's 1000 faults has a line."""
    done = with_fault('calls', 'trace', '-e', 'page-faults', '--', workload('faults1000'), **fault)
    assert done.returncode == 0, done.stderr
    assert 1000 <= sum('faults1000' in line for line in done.stdout.splitlines()) < 1200


def test_stat(fault, root):
    """The calls of the command are counted to its end, as without faults."""
    args = ['stat', '-e', 'sched:sched_process_exit', '--format', 'json', '--',
            workload('forkstorm'), 'fork', 40]
    done, calm = with_fault('calls', *args, **fault), run(*args)
    assert done.returncode == 0, done.stderr
    assert counted(done.stdout, 'sched:sched_process_exit') == \
        counted(calm.stdout, 'sched:sched_process_exit') >= 40


def without_delivery(text):
    """Remove the checks of events, whose results depend on other processes."""
    return re.sub(r'^\S+ +(?:delivery|tasks|breakpoints) .*\n(?: +.*\n)*', '', text, flags=re.M)


@pytest.mark.parametrize('command', ['list', 'doctor'])
def test_list_and_doctor(fault, root, command):
    done = with_fault('calls', command, **fault)
    assert done.returncode == 0 and done.stderr == ''
    assert without_delivery(done.stdout) == without_delivery(run(command).stdout)


@pytest.mark.parametrize('form', ['json', 'csv', 'html', 'folded', 'txt'])
def test_files(fault, root, tmp_path, form):
    """Two files with the same samples, written through two descriptors, are equal."""
    one, other = tmp_path / f'one.{form}', tmp_path / f'other.{form}'
    done = with_fault('calls', 'profile', '-g', '-q', '-o', one, '-o', other, '--',
                      workload('split7030'), 200, **fault)
    assert done.returncode == 0, done.stderr
    assert one.read_bytes() == other.read_bytes() != b''
