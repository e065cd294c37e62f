# SPDX-License-Identifier: MIT
"""Functions of other versions of Python in attar stack, compared with what programs say."""
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from command import run, wait_until
from interpreted import check_shares, interpreted, stacks
from test_lang import HOT, PROGRAM

pytestmark = pytest.mark.usefixtures('root')
VERSIONS = [f'3.{minor}' for minor in (8, 9, 10, 12, 13)]


def python_of(version):
    """A Python of this version: of the system, or of pyenv."""
    pyenv = Path(os.environ.get('PYENV_ROOT', Path.home() / '.pyenv'))
    found = [*map(str, sorted(pyenv.glob(f'versions/{version}.*/bin/python{version}'))),
             shutil.which(f'python{version}', path='/usr/local/bin:/usr/bin')]
    if not found[0]:
        pytest.skip(f'Python {version} is not installed')
    return found[0]


@pytest.mark.parametrize('version', VERSIONS)
def test_frames_are_those_of_the_program(version, tmp_path):
    """Before 3.11, code objects have no qualified names."""
    script = tmp_path / 'program.py'
    name = 'co_name' if version in ('3.8', '3.9', '3.10') else 'co_qualname'
    script.write_text(PROGRAM.replace('co_qualname', name))
    with subprocess.Popen([python_of(version), script], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as process:
        try:
            pid, expected = json.loads(process.stdout.readline())
            found = stacks(pid)
            text = run('stack', '-p', pid).stdout
        finally:
            process.kill()
    assert len(expected) == 16
    checked = False
    for tid, frames in expected.items():
        rows = found[int(tid)]
        assert interpreted(rows, f'Python {version}') == frames
        assert not [row for row in rows if row['symbol'] == '_PyEval_EvalFrameDefault']
        names = [row['symbol'] for row in rows]
        if frames[-4][0] == 'block_ctypes':  # which calls its lambda by native code
            order = [names.index(name) for name in ('block', 'ffi_call', 'block_ctypes')]
            assert order == sorted(order), names
            checked = True
    assert checked
    assert f'native frames of Python {version} are not shown: ' in text.splitlines()[-1]


@pytest.mark.parametrize('version', ['3.9', '3.13'])
def test_shares(version, tmp_path):
    script = tmp_path / 'hot.py'
    script.write_text(HOT)
    with subprocess.Popen([python_of(version), script], stdout=subprocess.PIPE) as process:
        try:
            process.stdout.readline()
            check_shares(process.pid, 'heavy (hot.py)', 'light (hot.py)', 'caller (hot.py)',
                         turns=200)
        finally:
            process.kill()


@pytest.mark.parametrize('version', VERSIONS)
def test_forked_process(version):
    """The thread of a child has another number than the one of the parent."""
    code = 'import os\ndef child(): os.read(0, 1)\npid = os.fork()\nif not pid: child()\n' \
           'print(pid, flush=True)\nos.wait()'
    with subprocess.Popen([python_of(version), '-c', code], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as process:
        child = int(process.stdout.readline())
        wait_until(lambda: interpreted(stacks(child)[child], f'Python {version}') ==
                   [['child', '<string>', 2], ['<module>', '<string>', 4]], 'it waits')
        process.stdin.close()
