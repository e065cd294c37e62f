# SPDX-License-Identifier: MIT
"""The unit tests on arm64, by user-mode emulation: a tenth of the time of the guest."""
import os
import shutil
import subprocess

import pytest

import builds
import guest
import unit_tests


def test_unit_tests():
    if not shutil.which('qemu-aarch64'):
        pytest.skip('qemu-aarch64 is not installed (package qemu-user)')
    programs = unit_tests.for_emulation(guest.cross_build())
    if not programs:
        pytest.skip('no unit tests were built for arm64 (package libcmocka-dev)')
    name, share = unit_tests.SHARE.split('=')
    environment = os.environ | {name: share, 'QEMU_LD_PREFIX': guest.output_of('arm64-sysroot')}
    failed = {}
    for program in programs:
        done = subprocess.run([*builds.LOW_PRIORITY, 'qemu-aarch64', program], env=environment,
                              capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              timeout=600)
        if done.returncode:
            failed[program.name] = done.stdout[-2000:] + done.stderr[-2000:]
    assert not failed, '\n'.join(f'{name}: {text}' for name, text in failed.items())
