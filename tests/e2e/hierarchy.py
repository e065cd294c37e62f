# SPDX-License-Identifier: MIT
"""The cgroup hierarchies that perf can use, of v1 and v2."""
import contextlib
import fcntl
import os
import re
import subprocess
import tempfile
import time
from pathlib import Path

import pytest


def hierarchies():
    """Return the mount points that perf can use: perf_event of v1, and v2."""
    found = {}
    for line in Path('/proc/mounts').read_text().splitlines():
        _, where, kind, options = line.split()[:4]
        if kind == 'cgroup' and 'perf_event' in options.split(','):
            found['v1'] = Path(where)
        if kind == 'cgroup2':
            found['v2'] = Path(where)
    return found


@contextlib.contextmanager
def alone():
    """
    The perf_event controller is in one hierarchy of the machine: tests in other processes wait,
    which would see a v1 hierarchy of this one, or have none of v2 meanwhile.
    """
    with open(Path(tempfile.gettempdir()) / 'attar-tests-hierarchy.lock', 'w') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def mount_at(where):
    """The command that mounts the v1 hierarchy."""
    return ['mount', '-t', 'cgroup', '-o', 'perf_event', 'none', where]


def in_v2():
    """
    Whether v2 has the perf_event controller: v1 keeps it until its last group is removed.
    """
    return re.search(r'^perf_event\t0\t', Path('/proc/cgroups').read_text(), re.M)


def remove(group):
    end = time.monotonic() + 5
    while group.exists():
        try:
            group.rmdir()
        except OSError:
            assert time.monotonic() < end, 'the control group stays busy'
            time.sleep(0.02)


@contextlib.contextmanager
def v1_hierarchy(where):
    """Mount it for one test; retry the unmount until the kernel gives the controller back."""
    mount = mount_at(where)
    done = subprocess.run(mount, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f'cannot mount the v1 perf_event hierarchy: {done.stderr.strip()}')
    try:
        yield
    finally:
        give_back(mount, where)


def unmount(where):
    """Another test may look at the files of all hierarchies: the kernel says EBUSY meanwhile."""
    end = time.monotonic() + 10
    while subprocess.run(['umount', where], check=False).returncode:
        assert time.monotonic() < end, f'{where} stays busy'
        time.sleep(0.05)


def give_back(mount, where):
    for _ in range(60):
        unmount(where)
        for _ in range(20):  # after the second unmount, the kernel releases it with a delay
            if in_v2():
                return
            time.sleep(0.01)
        subprocess.run(mount, check=True)
    unmount(where)


def repair():
    """Remove the groups of tests that were killed: they keep the controller from v2."""
    if os.geteuid() or in_v2() or 'v1' in hierarchies():
        return
    with alone(), tempfile.TemporaryDirectory() as where:
        mount = mount_at(where)
        if subprocess.run(mount, stderr=subprocess.DEVNULL, check=False).returncode:
            return
        for group in Path(where).glob('attar-test-*'):
            if not Path('/proc', group.name.rpartition('-')[2]).exists():
                remove(group)
        give_back(mount, where)
