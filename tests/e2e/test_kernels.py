# SPDX-License-Identifier: MIT
"""The same tree on other kernels: from Debian 12's own to the newest, and on arm64 with a CPU PMU."""
import os

import pytest

import guest
from command import BUILD, Profile, share_is

KERNELS = ['debian', 'debian7', 'arm64']
# Under emulation a second is a minute: on x86-64 only what asks the kernel is run once more, and on arm64 all
# but what takes seconds on a bare machine.
ASK_THE_KERNEL = ('aux', 'defer', 'event', 'kallsyms', 'overwrite', 'perf', 'procs', 'ring', 'sample', 'stream', 'symbol')
TAKE_LONG = ('debugfile', 'space')
# Pairs its lines with those of the kernel's own trace one by one, which a slow guest does not keep in step.
IN_STEP = ('event_print',)


def build_for(kernel):
    """The build directory whose programs run there."""
    return guest.cross_build() if kernel == 'arm64' else BUILD


def is_for(kernel, name):
    if kernel == 'arm64':
        return not name.startswith(TAKE_LONG + IN_STEP)
    return name.startswith(ASK_THE_KERNEL) and not name.startswith(IN_STEP)


@pytest.mark.parametrize('kernel', KERNELS)
def test_unit_tests(kernel):
    build = build_for(kernel)
    found = sorted(path for path in (build / 'tests/unit').glob('unit_*') if path.is_file())
    if not found:
        pytest.skip(f'no unit tests in {build} (package libcmocka-dev)')
    chosen = [path for path in found if is_for(kernel, path.name.removeprefix('unit_'))]
    # counts under -icount are exact: tests of the CPU's counters take no other then
    exact = {'ATTAR_ICOUNT': '1'} if kernel == 'arm64' else {}
    ended = guest.run(kernel, guest.VM / 'units', *chosen, timeout=600, env={**os.environ, **exact})
    assert ended.stdout.splitlines() == [f'ok - {path.name}' for path in chosen], ended.stdout + ended.stderr
    assert ended.returncode == 0, ended.stderr


@pytest.mark.parametrize('kernel', KERNELS)
def test_profile_of_known_truth(kernel, tmp_path):
    """70 % of the time is heavy()'s: by cpu-clock, and on arm64, where there is a PMU, by cycles."""
    build = build_for(kernel)
    ended = guest.run(kernel, build / 'src/cli/attar', 'profile', '-F', 997, '-g', '--exclude-kernel',
                      '-o', tmp_path / 'out.json', '--', build / 'tests/workloads/split7030', 2000, share=[tmp_path])
    assert ended.returncode == 0, ended.stderr
    assert ('sampling cpu-clock instead' in ended.stderr) == (kernel != 'arm64'), ended.stderr
    found = Profile((tmp_path / 'out.json').read_text())
    share_is(found.own('heavy'), found.samples, 0.7, slack=0.03)
    share_is(found.own('light'), found.samples, 0.3, slack=0.03)
