# SPDX-License-Identifier: MIT
"""--inline and --lines: inlined functions and source lines in profiles and stacks."""
import re
import shutil
import subprocess

import pytest

from command import ENOUGH, ROOT, profile, run, share_is, workload

SOURCE = ROOT / 'tests/workloads/inlines.c'


def line_of(comment):
    return 1 + next(i for i, line in enumerate(SOURCE.read_text().splitlines()) if comment in line)


def within(found, function):
    """The samples with this function in their stack."""
    return sum(n for stack, n in found.stacks().items() if function in stack)


def test_inlined_functions_have_their_share():
    found = profile('--exclude-kernel', '--inline', command=[workload('inlines')])
    share_is(within(found, 'hot (inlined)'), found.samples, 0.7)
    share_is(within(found, 'cold (inlined)'), found.samples, 0.3)
    for stack in found.stacks():
        if 'hot (inlined)' in stack:
            assert stack[-1] in ('hot (inlined)', 'turns (inlined)')
            assert stack[stack.index('hot (inlined)') - 1] == 'work'
            assert stack[stack.index('work') - 1] == 'main'


@pytest.mark.parametrize('recorded', [False, True])
def test_functions_in_a_missing_dwz_file(recorded, tmp_path):
    """Inlined functions whose names are missing do not have the name of their caller."""
    if not shutil.which('dwz'):
        pytest.skip('dwz is not installed')
    programs = [shutil.copy(workload('inlines'), tmp_path / name) for name in 'ab']
    subprocess.run(['dwz', '-m', tmp_path / 'common', *programs], check=True, timeout=60)
    (tmp_path / 'common').unlink()
    args, command = ['--exclude-kernel', '--inline'], [programs[0], 500]
    if recorded:
        done = run('record', '-q', '-g', '--portable', '--exclude-kernel', '-o',
                   tmp_path / 'data', '--', *command)
        assert done.returncode == 0, done.stderr
        args, command = ['--input', tmp_path / 'data', '--inline'], None
    found = profile(*args, command=command)
    share_is(within(found, '[unknown] (inlined)'), found.samples, 1)
    share_is(within(found, 'work'), found.samples, 1)
    assert not within(found, 'work (inlined)')


def test_without_the_option():
    found = profile('--exclude-kernel', command=[workload('inlines'), 500])
    assert not [s for stack in found.stacks() for s in stack if 'inlined)' in s or '.c:' in s]
    share_is(found.own('work'), found.samples, 1)


def test_lines():
    """A function and a line are one row: callers have the line of the call."""
    found = profile('--exclude-kernel', '--inline', '--lines', command=[workload('inlines')])
    hot, cold = line_of('the hot call'), line_of('the cold call')
    share_is(within(found, f'work inlines.c:{hot}'), found.samples, 0.7)
    share_is(within(found, f'work inlines.c:{cold}'), found.samples, 0.3)
    share_is(within(found, f'main inlines.c:{line_of("the work")}'), found.samples, 1)
    inner = f'hot inlines.c:{line_of("the hot line")} (inlined)'
    share_is(within(found, inner), found.samples, 0.7)


def test_lines_alone():
    """Without --inline the function is the one that has the code, the line the innermost."""
    found = profile('--exclude-kernel', '--lines', command=[workload('inlines'), 500])
    own = [f['symbol'] for f in found.functions if f['symbol'].startswith('work')]
    assert own and all(re.fullmatch(r'work (inlines\.c|workload\.h):\d+', s) for s in own)


@pytest.mark.parametrize('kind', ['folded', 'html', 'txt', 'csv'])
def test_outputs(kind, tmp_path):
    out = tmp_path / f'out.{kind}'
    done = run('profile', '-q', '-g', '--inline', '--exclude-kernel', '-o', out, '--',
               workload('inlines'), 500)
    assert done.returncode == 0, done.stderr
    assert 'hot (inlined)' in out.read_text()


@pytest.mark.usefixtures('root')
def test_stacks_of_lines():
    """attar trace: a row for each inlined function, before the function that it is in."""
    done = run('trace', '-e', 'cpu-clock:u//stack/', *ENOUGH, '--inline', '--lines', '--',
               workload('inlines'), 500)
    hot = re.findall(r'hot \(inlined\) at \S+/(\S+):(\d+)\n +\w+ work\+0x\w+ at \S+/(\S+):(\d+) ',
                     done.stdout)
    assert set(hot) == {('inlines.c', str(line_of('the hot line')), 'inlines.c',
                         str(line_of('the hot call')))}, done.stderr
