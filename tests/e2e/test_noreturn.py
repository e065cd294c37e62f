# SPDX-License-Identifier: MIT
"""Callers whose last instruction is the call: they have the name of the call's function."""
import re
import subprocess

import pytest

from command import ROOT, has, perf, run, workload

PROGRAM = workload('noreturn')
STACK = ['main', 'stopping', 'finish']


def functions(program):
    """Return {name: (address, size)}; assembly can have no size."""
    listed = subprocess.check_output(['nm', '-S', program], text=True)
    return {name: (int(at, 16), int(size or '0', 16))
            for at, size, name in re.findall(r'^(\w+)(?: (\w+))? [tT] (\w+)$', listed, re.M)}


@pytest.fixture(scope='module', autouse=True, name='start')
def fixture_start():
    """The address in the file to which finish() would return: another function begins there."""
    found = functions(PROGRAM)
    start = found['following'][0]
    assert start == sum(found['stopping'])
    return start


def check(stacks):
    """All stacks, outermost first, are main > stopping > finish, but for those of the start."""
    found = [stack[stack.index('main'):][:3] for stack in stacks if 'main' in stack]
    assert len(found) > 100 and 'following' not in {name for stack in stacks for name in stack}
    # at the first instructions of a function, its caller is missing
    assert found.count(STACK) >= 0.98 * len(found), found[:5]


def folded(path):
    lines = (line.rsplit(' ', 1) for line in path.read_text().splitlines())
    return [stack.split(';') for stack, n in lines for _ in range(int(n))]


def test_folded_stacks_of_a_command(tmp_path):
    out = tmp_path / 'x.folded'
    ended = run('profile', '-q', '-g', '-F', 997, '--flame-graph', out, '--', PROGRAM, 3000)
    assert ended.returncode == 0, ended.stderr
    check(folded(out))


@pytest.mark.parametrize('recorder', ['attar', 'perf'])
def test_folded_stacks_of_a_recording(request, tmp_path, recorder):
    data, out = tmp_path / 'x.data', tmp_path / 'x.folded'
    args = ('record', '-q', '-g', '-F', 997, '-o', data, '--', PROGRAM, 3000)
    if recorder == 'perf':
        request.getfixturevalue('needs_perf')
        perf(*args)
    else:
        assert run(*args).returncode == 0
    ended = run('profile', '-q', '-g', '--input', data, '--flame-graph', out)
    assert ended.returncode == 0, ended.stderr
    check(folded(out))


def test_the_call_tree_as_text():
    ended = run('profile', '-g', '-F', 997, '--', PROGRAM, 3000)
    names = re.findall(r'^[ %.\d|+-]+ (\w+)', ended.stdout.partition('\nstacks,')[2], re.M)
    assert names[names.index('main'):][:3] == STACK, ended.stdout


def test_lines_of_stacks(start):
    """The address is that of the return, as in perf script; the function is that of the call."""
    ended = run('trace', '-e', 'cpu-clock:u', '-g', '--', PROGRAM, 1000)
    assert ended.returncode == 0, ended.stderr
    callers = re.findall(r'^ +(\w+) ((?:stopping|following)\S*) ', ended.stdout, re.M)
    assert len(callers) > 50
    assert {(int(address, 16), name.partition('+')[0]) for address, name in callers} == {
        (start, 'stopping')}


def test_source_lines():
    """They are those of the calls."""
    source = (ROOT / 'tests/workloads/noreturn.c').read_text().splitlines()
    truth = {(name, 1 + source.index(f'\t{call};'))
             for name, call in (('main', 'stopping()'), ('stopping', 'finish(cycles)'))}
    ended = run('trace', '-e', 'cpu-clock:u', '-g', '--lines', '--', PROGRAM, 500)
    assert ended.returncode == 0, ended.stderr
    found = re.findall(r'^ +\w+ (\w+)\+\S+ at \S+/noreturn\.c:(\d+) ', ended.stdout, re.M)
    assert {(name, int(line)) for name, line in found if name in ('main', 'stopping')} == truth


@pytest.mark.skipif(not has('go'), reason='go (package golang-go) is not installed')
def test_pprof(tmp_path):
    path = tmp_path / 'x.pb.gz'
    ended = run('profile', '-q', '-g', '-F', 997, '-o', path, '--', PROGRAM, 3000)
    assert ended.returncode == 0, ended.stderr
    shown = subprocess.run(['go', 'tool', 'pprof', '-traces', path], capture_output=True,
                           text=True, check=True, timeout=120).stdout
    assert re.search(r'finish\n +stopping\n +main\n', shown) and 'following' not in shown


SCRIPT = '''# attar script
event sched:sched_switch stack prev_pid:pid_t
0.5 0 7/7 prog mmap 0x400000 0x100000 0 r-xp {program}
1.0 0 7/7 prog sched:sched_switch stack={stack}
'''


@pytest.mark.parametrize('before', [[], [0xffffffff81000000, 0xffffffff81000100]],
                         ids=['user', 'kernel'])
def test_the_innermost_address_is_exact(script, start, before):
    """The first address in user code, also below the kernel's, is that of an instruction."""
    stack = ','.join(map(hex, [*before, 0x400000 + start, 0x400000 + start]))
    data = script(SCRIPT.format(program=PROGRAM, stack=stack))
    ended = run('trace', '--input', data, '-g')
    assert ended.returncode == 0, ended.stderr
    found = re.findall(r'^ +\w+ ((?:following|stopping)\S*) ', ended.stdout, re.M)
    assert [name.partition('+')[0] for name in found] == ['following', 'stopping'], ended.stdout


def test_the_trampoline_of_signals(script):
    """A handler returns to its start, without a call."""
    program = workload('demo')  # static
    found = functions(program)
    if '__restore_rt' not in found:
        pytest.skip('signals return by code of the vDSO on this architecture')
    start = found['__restore_rt'][0]
    stack = f'{0x400000 + found["main"][0]:#x},{0x400000 + start:#x}'
    data = script(SCRIPT.format(program=program, stack=stack))
    shown = run('trace', '--input', data, '-g').stdout
    assert re.search(rf'^ +{start:x} __restore_rt\+0x0 ', shown, re.M), shown
