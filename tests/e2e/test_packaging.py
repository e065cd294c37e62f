# SPDX-License-Identifier: MIT
"""The systemd unit, the Debian packages and the static program."""
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from command import ATTAR, BUILD, ROOT, has, run

pytestmark = pytest.mark.parallel


@pytest.fixture
def unit(tmp_path):
    """The unit as it is installed, with the tested command."""
    if not has('systemd-analyze'):
        pytest.skip('systemd-analyze (package systemd) is not installed')
    text = (BUILD / 'packaging/attar-agent.service').read_text()
    path = tmp_path / 'attar-agent.service'
    path.write_text(re.sub(r'/\S+/bin/attar ', f'{ATTAR} ', text))
    return path


def test_unit_is_valid(unit):
    done = subprocess.run(['systemd-analyze', 'verify', '--man=no', unit], capture_output=True,
                          text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert not [line for line in done.stderr.splitlines() if 'attar-agent' in line], done.stderr


def test_unit_is_hardened(unit):
    """The exposure that systemd computes is at most 3.1 of 10: the rest is what profilers need."""
    done = subprocess.run(['systemd-analyze', 'security', '--offline=yes', '--threshold=31', unit],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr


def test_example_configuration_is_valid():
    done = run('agent', '--check', '-c', ROOT / 'packaging/agent.conf')
    assert done.returncode == 0, done.stderr
