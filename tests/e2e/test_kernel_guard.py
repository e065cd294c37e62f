# SPDX-License-Identifier: MIT
"""Known defects of kernels are avoided or named (docs/kernels.md)."""
import ctypes
import json
import os
import struct
import subprocess
import sys

import pytest

from breakpoints import breakpoints_are_hit
from command import BUILD, run, workload
from faults import environment, with_fault

pytestmark = pytest.mark.skipif(os.uname().machine != 'x86_64', reason='defects of x86-64')

PANIC = 'can panic when user stacks are sampled while uprobes are in use'
KILLS = 'kills programs under a seccomp filter when a function with a return probe'
STACKS = ['trace', '-g', '-N', '1', '-d', '2s']
ENTRY = ['-e', f'uprobe:main@{workload("faults1000")}']
RETURN = ['-e', f'uretprobe:main@{workload("faults1000")}']
COMMAND = ['--', workload('faults1000'), '10']

# A program under a filter that allows all calls; it maps the file of its argument, if any.
FILTERED = '''
import ctypes, mmap, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
allow = ctypes.create_string_buffer(struct.pack('HBBI', 0x06, 0, 0, 0x7fff0000))
program = ctypes.create_string_buffer(struct.pack('HxxxxxxP', 1, ctypes.addressof(allow)))
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program) == 0
mapped = [mmap.mmap(os.open(path, os.O_RDONLY), 0, prot=mmap.PROT_READ) for path in sys.argv[1:]]
print('ready', flush=True)
sys.stdin.read()
'''


@pytest.fixture
def filtered():
    """Starts a program under a seccomp filter."""
    programs = []

    def start(*files):
        program = subprocess.Popen([sys.executable, '-c', FILTERED, *map(str, files)],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        programs.append(program)
        assert program.stdout.readline() == 'ready\n'
        return program.pid
    yield start
    for program in programs:
        program.communicate(timeout=20)


@pytest.mark.parametrize('kernel, options, warned', [
    ('6.12', ENTRY, True), ('6.12', [*ENTRY, '--no-user-callchain'], False),
    ('6.12', ['-e', 'page-faults'], False), ('6.13', ENTRY, False)])
def test_stacks_beside_uprobes(root, kernel, options, warned):
    done = with_fault('kernel', *STACKS, *options, *COMMAND, kernel=kernel)
    assert done.returncode == 0, done.stderr
    assert (PANIC in done.stderr) == warned
    assert done.stderr.count('--no-user-callchain avoids it') == warned


def test_clock_that_ends_by_itself():
    """The library refuses what would stop the machine."""
    test = BUILD / 'tests/live/live_perf_control'
    done = subprocess.run([test], env=environment('kernel', kernel='6.17'), text=True, timeout=60,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0, done.stdout
    assert 'test_refresh_of_a_clock' in done.stdout


def test_return_probe_of_a_filtered_process(root, filtered):
    pid = filtered()
    done = with_fault('kernel', 'trace', *RETURN, '-p', pid, '-d', '100ms', kernel='6.11')
    assert done.returncode == 4
    assert KILLS in done.stderr and f'as process {pid} is' in done.stderr
    entry = with_fault('kernel', 'trace', *ENTRY, '-p', pid, '-d', '10ms', kernel='6.11')
    assert KILLS not in entry.stderr


def test_return_probe_of_other_processes(root, filtered):
    """In the whole system, the processes that have mapped the file count."""
    filtered()
    assert with_fault('kernel', 'trace', *RETURN, '-a', '-d', '10ms', kernel='6.13').returncode == 0
    pid = filtered(workload('faults1000'))
    done = with_fault('kernel', 'trace', *RETURN, '-a', '-d', '100ms', kernel='6.13')
    assert done.returncode == 4
    assert f'as process {pid} is' in done.stderr
    assert with_fault('kernel', 'trace', *RETURN, *COMMAND, kernel='6.13').returncode == 0
    assert run('trace', *RETURN, '-a', '-d', '10ms').returncode == 0


def put_under_filter():
    libc = ctypes.CDLL(None)
    allow = ctypes.create_string_buffer(struct.pack('HBBI', 0x06, 0, 0, 0x7fff0000))
    program = ctypes.create_string_buffer(struct.pack('HxxxxxxP', 1, ctypes.addressof(allow)))
    assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program) == 0


def test_command_has_the_filter_of_its_parent(root):
    done = with_fault('kernel', 'trace', *RETURN, *COMMAND, kernel='6.12',
                      preexec_fn=put_under_filter)
    assert done.returncode == 4
    assert KILLS in done.stderr


def test_counters_that_a_virtual_machine_has():
    """Events are refused until guests are left out."""
    done = with_fault('kernel', 'stat', '-e', 'page-faults', *COMMAND, guests=1, type=1)
    assert done.returncode == 0, done.stderr
    assert 'page-faults: guests are left out' in done.stderr
    always = with_fault('kernel', 'stat', '-e', 'page-faults', *COMMAND, open='95@1+', type=1)
    assert always.returncode == 4
    assert 'guests are left out' not in always.stderr


def test_breakpoints_without_effect(tmp_path):
    """As in some virtual machines, which is told from a breakpoint that nothing hits."""
    says = 'hardware breakpoints have no effect on this machine'
    watch = ['breakpoint', '-q', '--format', 'json', '0x1000/8:w', '--', 'true']
    done = with_fault('kernel', *watch, hits=0)
    assert done.returncode == 0 and done.stderr.count(says) == 1
    assert any(says in r for r in json.loads(done.stdout)['remarks'])
    doctor = with_fault('kernel', 'doctor', hits=0).stdout
    assert 'they can be set, but are not hit' in doctor
    done = run(*watch)
    assert (says in done.stderr) == (not breakpoints_are_hit())
    assert ('a test breakpoint was hit' in run('doctor').stdout) == breakpoints_are_hit()


def test_doctor_names_them(root):
    def line(kernel):
        done = with_fault('kernel', 'doctor', kernel=kernel)
        at = done.stdout.index('kernel defects')
        return ' '.join(done.stdout[at:at + 900].split())
    assert 'none that perf events trigger is known' in line('6.5')
    assert 'can panic when user stacks are sampled' in line('6.11')
    assert 'kills programs under a seccomp filter' in line('6.11')
    assert 'can hang when a clock' in line('6.16')
    assert 'can panic' not in line('6.16')
