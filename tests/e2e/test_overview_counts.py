# SPDX-License-Identifier: MIT
"""Findings say when their times differ from the kernel's counts."""
import os
import re
import subprocess
import sys

import pytest

import lost_samples
from scripts import report, rows

pytestmark = [pytest.mark.exclusive, pytest.mark.usefixtures('root')]

SAID = re.compile(r'uncertain: the kernel counted ([\d.]+) to ([\d.]+) s on a CPU, '
                  r'the events show ([\d.]+) s')


def take_precedence():
    os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))


@pytest.fixture(name='recorded', scope='module')
def _recorded():
    """A recording, and the number of a program that runs for half of the time, before others."""
    with subprocess.Popen([sys.executable, '-I', '-S', '-c', lost_samples.PROGRAM, '0.005', '0.005',
                           '-1'], preexec_fn=take_precedence) as program:
        try:
            return lost_samples.record(2, '--no-switch-events', '-e', 'cpu-clock'), program.pid
        finally:
            program.kill()


def said_of(path, tid):
    """What the findings say of the time on a CPU: least, most, by the events; the true one."""
    found = report('overview', '-p', tid, '--input', path)
    texts = [row['values']['evidence'] for row in rows(found, 'findings')]
    said = [tuple(map(float, SAID.search(text).groups())) for text in texts if SAID.search(text)]
    process, = rows(found, 'processes')
    return said, process['on CPU'] / 1e9


def test_a_recording_that_lacks_samples(recorded, tmp_path):
    """Half of them; the kernel counts in the whole recording."""
    pipe, tid = recorded
    path = tmp_path / 'x.data'
    path.write_bytes(pipe.without_any(0, 0))
    said, whole = said_of(path, tid)
    if said:
        pytest.skip('the kernel did not deliver all switches of the program')
    differing = 0
    for seed in range(10):
        path.write_bytes(pipe.without_any(0.5, seed))
        for least, most, seen in said_of(path, tid)[0]:
            differing += 1
            assert least - 0.1 <= whole <= most + 0.1
            assert abs(seen - whole) > 0.05 * 2
    assert differing
