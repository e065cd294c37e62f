# SPDX-License-Identifier: MIT
"""Functions of Python in stacks: python3.12 -X perf, which describes them in a perf map."""
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from command import run, wait_until

pytestmark = pytest.mark.usefixtures('root')

PROGRAM = '''
import time
def attar_inner(n):
    end = time.process_time() + n
    while time.process_time() < end:
        pass
def attar_middle(n):
    attar_inner(n)
    return n
class Outer:
    def attar_outer(self, n):
        attar_middle(n)
        return n
for i in range({turns}):
    Outer().attar_outer(0.2)
'''
CALLS = ['Outer.attar_outer', 'attar_middle', 'attar_inner']


def works(python):
    try:
        done = subprocess.run(
            [python, '-X', 'perf', '-c', 'import sys; print(sys.version_info[:2])'],
            capture_output=True, text=True, timeout=30, check=False)
    except OSError:
        return False
    return done.returncode == 0 and done.stdout.startswith('(3, ') and int(done.stdout[4:-2]) >= 12


def pythons():
    versions = [f'python3.{n}' for n in range(12, 16)]
    yield from filter(None, map(shutil.which, ['python3', *versions]))
    pyenv = Path(os.environ.get('PYENV_ROOT', Path.home() / '.pyenv'))
    for version in versions:
        yield from map(str, sorted(pyenv.glob(f'versions/*/bin/{version}')))


@pytest.fixture(name='python', scope='module')
def fixture_python():
    found = next(filter(works, pythons()), None)
    if not found:
        pytest.skip('no Python 3.12 or later is installed')
    return found


@pytest.fixture(name='maps')
def fixture_maps():
    before = set(Path('/tmp').glob('perf-*.map'))
    yield
    for path in set(Path('/tmp').glob('perf-*.map')) - before:
        path.unlink()


def calls(frames):
    """The functions of the program among frames, outermost first, by their names in the map."""
    found = (re.match(r'py::((?:Outer\.)?attar_\w+)', frame) for frame in frames)
    return [match[1] for match in found if match]


@pytest.mark.usefixtures('maps')
def test_profile(python, tmp_path):
    """Whole stacks, through the code that calls a function of Python, which has no CFI."""
    out = tmp_path / 'x.folded'
    ended = run('profile', '-F', 997, '--call-graph', 'dwarf,32K', '-q', '--flame-graph', out, '--',
                python, '-X', 'perf', '-c', PROGRAM.format(turns=5))
    assert ended.returncode == 0, ended.stderr
    whole = complete = 0
    for line in out.read_text().splitlines():
        stack, count = line.rsplit(' ', 1)
        frames = stack.split(';')
        if not any('attar_inner' in frame for frame in frames):
            continue
        whole += int(count)
        if '_start' in frames[1] and calls(frames) == CALLS:
            complete += int(count)
    assert whole > 300
    assert complete >= 0.99 * whole


@pytest.mark.usefixtures('maps')
def test_running_process(python, spawn):
    process = spawn(python, '-X', 'perf', '-c', PROGRAM.format(turns=1000))
    found = []

    def in_inner():
        done = run('stack', '-p', process.pid)
        found[:] = re.findall(r'#\d+ +(\S+)', done.stdout)
        return any('attar_inner' in frame for frame in found)

    wait_until(in_inner, 'in the innermost function')
    assert calls(reversed(found)) == CALLS
    assert any(frame.startswith('_start') for frame in found)
