# SPDX-License-Identifier: MIT
"""
--call-graph lbr: stacks from the last branch records of Intel's CPUs. Recordings as perf record
--call-graph lbr writes them are read; on machines without such records, attar refuses to make one.
"""
import re
import subprocess
from pathlib import Path

import pytest

from command import run, workload
from perf_data import (BRANCH_HW_INDEX, CYCLES, HARDWARE, SAMPLE_BRANCHES, SAMPLE_CALLCHAIN,
                       SAMPLE_TYPE, Recording)

# PERF_SAMPLE_BRANCH_USER, CALL_STACK, NO_FLAGS, NO_CYCLES
CALLS = 1 | 1 << 11 | 1 << 14 | 1 << 15
MARKER_KERNEL, MARKER_USER = 2**64 - 128, 2**64 - 512
KERNEL = 0xffffffff81000000
PLACE = 0x555555554000
HAS_LBR = Path('/sys/bus/event_source/devices/cpu/caps/branches').exists()


class Program:
    """Addresses of the functions of a program that is mapped at PLACE."""

    def __init__(self, path):
        self.path = Path(path).resolve()
        self.start = {}
        for line in subprocess.run(['nm', path], capture_output=True, text=True,
                                   check=True).stdout.splitlines():
            words = line.split()
            if len(words) == 3:
                self.start[words[2]] = int(words[0], 16)
        segments = subprocess.run(['readelf', '-lW', path], capture_output=True, text=True,
                                  check=True).stdout
        found = re.search(r'LOAD +(\w+) (\w+) \w+ (\w+) \w+ R E', segments)
        self.offset, self.vaddr, self.size = (int(x, 16) for x in found.groups())

    def at(self, name, offset=0):
        return PLACE + self.start[name] + offset

    def map_into(self, recording):
        recording.mmap(1, self.path, PLACE + self.vaddr, self.size, self.offset)


@pytest.fixture(name='program', scope='module')
def fixture_program():
    return Program(workload('nofp'))


def recording_of(program, samples, order='<'):
    """Of samples (chain, branches); branches None: the CPU has recorded none."""
    recording = Recording(order, ())
    recording.attr(CYCLES, 7, kind=HARDWARE, branches=CALLS | BRANCH_HW_INDEX,
                   fields=SAMPLE_TYPE | SAMPLE_CALLCHAIN | SAMPLE_BRANCHES)
    recording.comm(1, 'nofp')
    program.map_into(recording)
    for i, (chain, branches) in enumerate(samples):
        ip = next(address for address in chain if address < MARKER_USER)
        recording.sample(10 + i, ip=ip, chain=chain, branches=branches, hw_index=3)
    recording.round()
    return recording


def folded(data, tmp_path, *args):
    out = tmp_path / 'x.folded'
    ended = run('profile', '--input', data, '-g', '--flame-graph', out, *args)
    assert ended.returncode == 0, ended.stderr
    lines = (line.rsplit(' ', 1) for line in out.read_text().splitlines())
    return {stack: int(count) for stack, count in lines}, ended.stdout


def calls(program, *names):
    """Branches, the newest first: each function was called by the next one."""
    return [(program.at(caller, 9), program.at(called))
            for called, caller in zip(names, names[1:])]


TREE = ('work', 'inner', 'middle', 'outer', 'main', '_start')


@pytest.mark.parametrize('order', '<>')
def test_stacks_of_a_recording(program, tmp_path, order):
    """
    The sampled function, then that of each call: although the frame pointers of the call chain
    lead elsewhere. A call is where it is: the first instruction of a function is in it.
    """
    wrong = [MARKER_USER, program.at('work', 5), program.at('compare', 3)]
    first = [(program.at('middle'), program.at('inner')),
             (program.at('main', 9), program.at('middle'))]
    samples = ([(wrong, calls(program, *TREE))] * 5 +
               [(wrong, calls(program, 'work', 'compare', 'main'))] * 3 +
               [([MARKER_USER, program.at('inner', 1)], first)] * 2)
    data = recording_of(program, samples, order).write(tmp_path / 'x.data')
    found, report = folded(data, tmp_path)
    assert found == {'nofp;_start;main;outer;middle;inner;work': 5, 'nofp;main;compare;work': 3,
                     'nofp;main;middle;inner': 2}
    assert 'user stacks from last branch records: 10, with up to 5 callers' in report


def test_the_kernel_part_comes_first(program, tmp_path):
    """The user part begins where the thread entered the kernel."""
    chain = [MARKER_KERNEL, KERNEL, KERNEL + 16, MARKER_USER, program.at('work', 5)]
    data = recording_of(program, [(chain, calls(program, 'work', 'main', '_start'))])
    found, _ = folded(data.write(tmp_path / 'x.data'), tmp_path)
    (stack, count), = found.items()
    assert stack.startswith('nofp;_start;main;work;') and count == 1
    assert stack.count(';') == 5


def test_without_an_address_in_user_code(program, tmp_path):
    """The newest call says in which function the thread is."""
    chain = [MARKER_KERNEL, KERNEL]
    data = recording_of(program, [(chain, calls(program, 'work', 'main', '_start'))])
    found, _ = folded(data.write(tmp_path / 'x.data'), tmp_path)
    (stack, _), = found.items()
    assert stack.startswith('nofp;_start;main;work;')


def test_without_branches(program, tmp_path):
    """The CPU has recorded nothing: the stack is that of the frame pointers."""
    chain = [MARKER_USER, program.at('work', 5), program.at('compare', 3)]
    found, report = folded(recording_of(program, [(chain, [])] * 2).write(tmp_path / 'x.data'),
                           tmp_path)
    assert found == {'nofp;compare;work': 2}
    assert 'last branch records' not in report


def test_a_call_outside_all_code(program, tmp_path):
    """The stack ends there."""
    branches = calls(program, 'work', 'main') + [(0x1000, program.at('main')),
                                                 (program.at('_start', 9), 0x1000)]
    data = recording_of(program, [([MARKER_USER, program.at('work', 5)], branches)])
    assert folded(data.write(tmp_path / 'x.data'), tmp_path)[0] == {'nofp;main;work': 1}


def test_as_many_callers_as_records(program, tmp_path):
    """Such stacks may be cut, which the report says."""
    deep = calls(program, *['work'] * 16, 'main')
    samples = [([MARKER_USER, program.at('work', 5)], branches)
               for branches in (deep, deep, calls(program, 'work', 'main'))]
    found, report = folded(recording_of(program, samples).write(tmp_path / 'x.data'), tmp_path)
    assert found['nofp;main' + ';work' * 16] == 2
    assert 'user stacks from last branch records: 3, of which 2 have 16 callers' in report


@pytest.mark.usefixtures('needs_perf')
def test_as_perf(program, tmp_path):
    """
    perf shows the same callers. As the sampled function, perf shows the target of the newest call,
    attar the sampled address.
    """
    samples = [([MARKER_USER, program.at(names[0], 7)], calls(program, *names))
               for names in (TREE, TREE[1:], TREE[2:], ('work', 'compare', 'main', '_start'))]
    data = recording_of(program, samples).write(tmp_path / 'x.data')
    script = subprocess.run(['perf', 'script', '-i', data, '-F', 'ip'], check=True,
                            capture_output=True, text=True).stdout
    theirs = [[int(ip, 16) for ip in re.findall(r'^\s+([0-9a-f]+)\b', block, re.M)]
              for block in script.split('\n\n') if block.strip()]
    ours = []
    for line in run('trace', '--input', data, '-g').stdout.splitlines():
        if found := re.match(r'\s+([0-9a-f]+) \S+', line):
            ours[-1].append(int(found[1], 16))
        elif re.search(r'\bcycles\b', line):
            ours.append([])
    assert [stack[1:] for stack in ours] == [stack[1:] for stack in theirs]
    # both print addresses of the file
    assert [stack[0] for stack in ours] == [chain[1] - PLACE for chain, _ in samples]
    assert [stack[0] for stack in theirs] == [branches[0][1] - PLACE for _, branches in samples]


@pytest.mark.usefixtures('root')
@pytest.mark.parametrize('event', ['cpu-clock', 'sched:sched_switch'])
def test_events_without_branches(event):
    ended = run('trace', '-e', event, '--call-graph', 'lbr', '-d', '1ms')
    assert ended.returncode == 4
    assert f"'{event}' has no stacks from last branch records (--unwind lbr)" in ended.stderr
    assert 'use --unwind dwarf' in ended.stderr


@pytest.mark.usefixtures('root')
@pytest.mark.parametrize('profiler', ['profile', 'record'])
@pytest.mark.skipif(HAS_LBR, reason='this CPU has last branch records')
def test_machines_without_branches(profiler):
    """Not replaced by cpu-clock, which has no such stacks either."""
    ended = run(profiler, '--call-graph', 'lbr', '-d', '1ms')
    assert ended.returncode == 4
    assert "'cycles' has no stacks from last branch records" in ended.stderr
    assert 'cpu-clock' not in ended.stderr


@pytest.mark.usefixtures('root')
@pytest.mark.skipif(not HAS_LBR, reason='this CPU has no last branch records')
def test_live(tmp_path):
    out = tmp_path / 'x.folded'
    ended = run('profile', '-F', '997', '--call-graph', 'lbr', '-q', '--flame-graph', out, '--',
                workload('nofp'), '700')
    assert ended.returncode == 0, ended.stderr
    stacks = [line.rsplit(' ', 1) for line in out.read_text().splitlines()]
    whole = sum(int(n) for stack, n in stacks if ';work' in stack)
    tree = sum(int(n) for stack, n in stacks if ';main;outer;middle;inner;work' in stack)
    assert 0.65 < tree / whole < 0.75
