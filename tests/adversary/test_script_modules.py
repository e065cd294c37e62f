# SPDX-License-Identifier: MIT
"""Scripts of root in a directory in which another user has put modules."""
import os

import pytest

from adversary import UID, directory
from command import run

SCRIPT = "def __sample__(event):\n    print('script')\n"
EVENT = ('-e', 'sched:sched_process_exec', '-N', '1')
TRUE = ('--', '/bin/true')


@pytest.fixture
def theirs(tmp_path, nobody):
    folder = directory(tmp_path / 'theirs', 0o755, UID)
    code = f'open({str(tmp_path / "taken")!r}, "w").write("taken")\n'
    for name in ('attar', 'json', 'logging', 'datetime', 'importlib', 'os', 'theirs',
                 'sitecustomize', 'usercustomize', 'collections'):
        path = folder / f'{name}.py'
        path.write_text(code)
        os.chown(path, UID, -1)
    return folder


@pytest.mark.parametrize('path', [None, ':', '.', ':{own}', '{own}::', 'x:../theirs'])
@pytest.mark.parametrize('words', [
    (*EVENT, '{own}/own.py'), (*EVENT, '{own}/own'), ('-e', 'sched:sched_process_exec', 'help')])
def test_modules_of_the_current_directory_are_not_imported(theirs, tmp_path, words, path,
                                                           monkeypatch):
    monkeypatch.chdir(theirs)
    own = directory(tmp_path / 'own', 0o755)
    if path is not None:
        monkeypatch.setenv('PYTHONPATH', path.format(own=own))
    (own / 'own.py').write_text(SCRIPT)
    words = [word.format(own=own) for word in words]
    done = run('python', *words, *(() if 'help' in words else TRUE))
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / 'taken').exists()


def test_a_module_of_another_user_is_not_found(theirs, tmp_path, monkeypatch):
    monkeypatch.chdir(theirs)
    done = run('python', *EVENT, 'theirs', *TRUE)
    assert done.returncode == 2 and "'theirs' belongs to another user" in done.stderr
    assert not (tmp_path / 'taken').exists()
