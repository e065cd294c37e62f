# SPDX-License-Identifier: MIT
"""-g alone: complete stacks, by a method that fits the target and the rights, which is said."""
import os
import re

import pytest

from command import ATTAR, as_nobody, run, workload
from test_kernel_stacks import SAID
from test_unwind import ENOUGH, check, folded

pytestmark = pytest.mark.skipif(os.uname().machine != 'x86_64', reason='it is for x86-64')

COPIED = re.compile(r'user stacks by call frame information, from copies of 8192 bytes: (.+)')
BY_FP = re.compile(r"user stacks of '(\S+)' by frame pointers(.*)")


@pytest.fixture
def can_walk(root):
    """The system accepts the program."""
    done = run('profile', '-g', '--unwind', 'kernel', '-d', '10ms')
    if 'stacks are copied instead' in done.stderr:
        pytest.skip(done.stderr)


def profile(*args):
    """Return the stacks with their numbers, and what was said of them."""
    done = run('profile', '-F', '997', '-g', '--exclude-kernel', *args)
    assert done.returncode == 0, done.stderr
    lines = (line.rsplit(' ', 1) for line in done.stdout.splitlines())
    return [(stack.split(';'), int(n)) for stack, n in lines], done.stderr


def test_a_program_that_runs_in_libc(can_walk):
    """snprintf() keeps no frame pointers: the thread's function is in its stacks, too."""
    stacks, said = profile(*ENOUGH, '--format', 'folded', '--', workload('demo'))
    whole = sum(n for _, n in stacks)
    in_libc = sum(n for stack, n in stacks if '__vfprintf_internal' in stack)
    complete = sum(n for stack, n in stacks if 'start_thread' in stack or 'main' in stack)
    called = sum(n for stack, n in stacks if '__vfprintf_internal' in stack and 'serve' in stack)
    assert whole > 200 and in_libc > 10
    assert complete >= 0.97 * whole and called >= 0.97 * in_libc
    walked, copied, lost = map(int, SAID.search(said).groups())
    assert walked > 50 and walked + copied >= whole and lost == 0
    assert not COPIED.search(said) and not BY_FP.search(said)


def test_a_process(can_walk, spawn, tmp_path):
    process, out = spawn(workload('nofp'), 100000), tmp_path / 'x.folded'
    done = run('profile', '-g', '-p', process.pid, *ENOUGH, '--flame-graph', out)
    assert done.returncode == 0, done.stderr
    check(folded(out))
    assert SAID.search(done.stdout)


def test_modules_with_frame_pointers(root, spawn):
    """Nothing is to be found by call frame information."""
    process = spawn(workload('fponly'))
    done = run('profile', '-g', '-p', process.pid, *ENOUGH)
    assert done.returncode == 0, done.stderr
    assert 'user stacks by frame pointers, which all modules of the processes keep (1)' in \
        done.stdout
    assert 'by call frame information' not in done.stdout


def test_without_rights(tmp_path):
    """The stacks of a command are copied; stacks of all processes would take too much room."""
    done = as_nobody(ATTAR, 'profile', '-g', '-F', '997', '--format', 'folded', '--',
                     workload('nofp'), '700')
    assert done.returncode == 0, done.stderr
    out = tmp_path / 'x.folded'
    out.write_text(done.stdout)
    check(folded(out))
    assert 'CAP_BPF' in COPIED.search(done.stderr)[1] and 'rings have' not in done.stderr


def test_the_whole_system_without_the_right(root):
    """Its stacks are not copied."""
    done = run('--bounding-set=-bpf,-sys_admin', '--inh-caps=-bpf,-sys_admin', ATTAR, 'profile',
               '-g', '-d', '50ms', program='setpriv')
    assert done.returncode == 0, done.stderr
    found = BY_FP.search(done.stdout)
    assert 'CAP_BPF' in found[2] and not COPIED.search(done.stdout)


def test_other_methods_are_kept(root):
    done = run('profile', '-g', '--unwind', 'fp', '--', workload('nofp'), '100')
    assert done.returncode == 0, done.stderr
    for pattern in (SAID, COPIED, BY_FP):
        assert not pattern.search(done.stdout)
    assert 'user stacks without callers' in done.stdout


def test_a_limit_of_frames(root):
    """It is a limit of the kernel's call chains."""
    for method in ((), ('--unwind', 'fp')):
        stacks, _ = profile('-e', 'cpu-clock/max-stack=2/', *method, '--format', 'folded', '--',
                            workload('chain5'), '200')
        assert stacks and max(len(frames) for frames, _ in stacks) == 1 + 2


def test_tracepoints(root):
    """Their rate has no limit: they are not copied."""
    done = run('trace', '-N', '3', '-g', '-e', 'sched:sched_switch', '--', workload('sleeps'),
               '20', '1')
    assert done.returncode == 0, done.stderr
    assert BY_FP.search(done.stdout)[1] == 'sched:sched_switch'
