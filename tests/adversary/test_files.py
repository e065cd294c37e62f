# SPDX-License-Identifier: MIT
"""Files of results that root writes where another user can create files and links."""
import os

import pytest

from adversary import UID, directory
from command import run

STAT = ('stat', '-q', '-e', 'context-switches')
TRUE = ('--', 'true')
EXTENSIONS = ['prom', 'om', 'json', 'csv', 'html', 'db', 'log']
REFUSED = 'belongs to another user'

# Exchanges the two names all the time.
EXCHANGE = '''
import ctypes, sys
libc = ctypes.CDLL(None)
print(flush=True)
while True:
    libc.renameat2(-100, sys.argv[1].encode(), -100, sys.argv[2].encode(), 2)
'''


def is_untouched(secret):
    st = secret.stat()
    return secret.read_text() == 'root only\n' and (st.st_uid, st.st_mode & 0o777) == (0, 0o600)


@pytest.mark.parametrize('extension', EXTENSIONS)
def test_a_link_of_another_user_is_not_followed(extension, shared, secret, nobody):
    out = shared / f'out.{extension}'
    nobody.run('ln', '-s', secret, out)
    done = run(*STAT, '-o', out, *TRUE)
    assert done.returncode == 1 and REFUSED in done.stderr
    assert out.is_symlink() and is_untouched(secret)


def test_a_recording_does_not_follow_a_link_of_another_user(shared, secret, nobody):
    nobody.run('ln', '-s', secret, shared / 'out.data')
    done = run('record', '-q', '-e', 'context-switches', '-o', shared / 'out.data', *TRUE)
    assert done.returncode == 1 and REFUSED in done.stderr
    assert is_untouched(secret)


@pytest.mark.parametrize('extension', EXTENSIONS)
def test_a_link_in_a_directory_of_another_user_is_not_followed(
        extension, tmp_path, secret, nobody):
    folder = directory(tmp_path / 'theirs', 0o755, UID)
    nobody.run('ln', '-s', secret, folder / f'out.{extension}')
    done = run(*STAT, '-o', folder / f'out.{extension}', *TRUE)
    assert done.returncode == 1 and REFUSED in done.stderr
    assert is_untouched(secret)


@pytest.mark.parametrize('append', [(), ('--append',)])
@pytest.mark.parametrize('extension', EXTENSIONS)
def test_a_file_that_another_user_has_prepared_is_refused(extension, append, shared, nobody):
    out = shared / f'out.{extension}'
    nobody.run('sh', '-c', f'umask 0; : >{out}')
    done = run(*STAT, *append, '-o', out, *TRUE)
    assert done.returncode == 1 and REFUSED in done.stderr
    assert out.stat().st_uid == UID and not out.stat().st_size


def test_a_fifo_of_another_user_is_refused(shared, nobody):
    nobody.run('mkfifo', shared / 'out.json')
    done = run(*STAT, '-o', shared / 'out.json', *TRUE, timeout=20)
    assert done.returncode == 1 and REFUSED in done.stderr


@pytest.mark.parametrize('extension', ['prom', 'json'])
def test_a_race_between_a_file_and_a_link(extension, tmp_path, secret, nobody):
    """In a directory of the other user: nothing of root is replaced, or given away."""
    folder = directory(tmp_path / 'theirs', 0o777, UID)
    out, link = folder / f'out.{extension}', folder / 'link'
    nobody.run('sh', '-c', f'umask 0; : >{out}; ln -s {secret} {link}')
    nobody.python(EXCHANGE, out, link)
    for _ in range(3 if extension == 'prom' else 25):
        words = ('-a', '-i', '5ms', '-d', '500ms') if extension == 'prom' else TRUE
        run(*STAT, '-o', out, *words)
        assert is_untouched(secret)
    assert [path.name for path in secret.parent.iterdir()] == [secret.name]


def test_the_owner_of_a_directory_keeps_a_file(tmp_path):
    folder = directory(tmp_path / 'theirs', 0o755, UID)
    out = folder / 'out.json'
    out.write_text('former')
    os.chown(out, UID, 1234)
    out.chmod(0o4640)
    assert run(*STAT, '-o', out, *TRUE).returncode == 0
    st = out.stat()
    assert (st.st_uid, st.st_gid, st.st_mode & 0o7777) == (UID, 1234, 0o640)
    assert out.read_text().startswith('{')


@pytest.mark.parametrize('links', [1, 2])
@pytest.mark.parametrize('extension', ['prom', 'json'])
def test_a_file_of_a_third_user_becomes_one_of_root(extension, links, tmp_path):
    out = tmp_path / f'out.{extension}'
    out.write_text('former')
    os.chown(out, UID, -1)
    out.chmod(0o666)
    if links > 1:
        (tmp_path / 'second').hardlink_to(out)
    assert run(*STAT, '-o', out, *TRUE).returncode == 0
    assert (out.stat().st_uid, out.stat().st_mode & 0o777) == (0, 0o600)
    if links > 1:
        assert (tmp_path / 'second').read_text() == 'former'


@pytest.mark.parametrize('extension', EXTENSIONS)
@pytest.mark.parametrize('mode', [None, '0640', '664'])
def test_results_of_root_are_private_unless_a_mode_is_given(extension, mode, tmp_path):
    out = tmp_path / f'out.{extension}'
    words = ('--mode', mode) if mode else ()
    old = os.umask(0)
    try:
        assert run(*STAT, *words, '-o', out, *TRUE).returncode == 0
    finally:
        os.umask(old)
    assert out.stat().st_mode & 0o777 == int(mode or '0600', 8)


def test_a_wrong_mode_is_an_error(tmp_path):
    for mode in ('8', '01777', 'u=rw', '', '0'):
        done = run(*STAT, '--mode', mode, '-o', tmp_path / 'out.json', *TRUE)
        assert done.returncode == 2 and '--mode: ' in done.stderr
        assert not (tmp_path / 'out.json').exists()


def test_links_of_root_and_open_files_are_followed(tmp_path, shared):
    (shared / 'out.json').symlink_to(tmp_path / 'target.json')
    assert run(*STAT, '-o', shared / 'out.json', *TRUE).returncode == 0
    assert (tmp_path / 'target.json').read_text().startswith('{')
    for number, target in enumerate(('/dev/stdout', '/proc/self/fd/1', '/dev/fd/1')):
        (tmp_path / f'{number}.json').symlink_to(target)
        done = run(*STAT, '-o', tmp_path / f'{number}.json', *TRUE)
        assert done.returncode == 0 and 'context-switches' in done.stdout
