# SPDX-License-Identifier: MIT
"""Files of results that root writes where another user can create files and links."""
import os
import time

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


@pytest.mark.parametrize('extension', EXTENSIONS)
def test_a_directory_is_not_reached_by_a_link_of_another_user(
        extension, shared, tmp_path, nobody):
    """Neither below /tmp, nor in a directory of this user; links of root are followed."""
    target = directory(tmp_path / 'target', 0o755)
    theirs = directory(tmp_path / 'theirs', 0o755, UID)
    for folder in shared, theirs:
        nobody.run('ln', '-s', target, folder / 'link')
        done = run(*STAT, '-o', folder / f'link/out.{extension}', *TRUE)
        assert done.returncode == 1 and REFUSED in done.stderr
    assert not list(target.iterdir())
    (tmp_path / 'mine').symlink_to('target')
    done = run(*STAT, '-o', tmp_path / f'mine/../mine//./out.{extension}', *TRUE)
    assert done.returncode == 0, done.stderr
    assert [path.name for path in target.iterdir()] == [f'out.{extension}']


def test_a_fifo_in_a_directory_of_another_user_is_refused(tmp_path, nobody):
    folder = directory(tmp_path / 'theirs', 0o755, UID)
    nobody.run('mkfifo', folder / 'out.txt')
    done = run(*STAT, '-o', folder / 'out.txt', *TRUE)
    assert done.returncode == 1 and REFUSED in done.stderr


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


# Removes the name and puts there, in turn, a link and an own file that everybody can write.
PLANT = '''
import os, sys
out, secret = sys.argv[1:]
os.umask(0)
print(flush=True)
while True:
    for plant in (lambda: os.symlink(secret, out),
                  lambda: os.close(os.open(out, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666))):
        try:
            os.unlink(out)
        except OSError:
            pass
        try:
            plant()
        except OSError:
            pass
'''


def test_a_race_for_the_name_of_a_recording(tmp_path, secret, nobody):
    """attar removes a former file and makes a new one: nobody else gets what it writes."""
    folder = directory(tmp_path / 'theirs', 0o777, UID)
    out = folder / 'out.data'
    theirs = []
    nobody.python(PLANT, out, secret)
    for _ in range(15):
        run('record', '-q', '-e', 'context-switches', '-o', out, *TRUE)
        assert is_untouched(secret)
        for path in folder.iterdir():
            try:
                theirs.append(path.stat().st_size if path.stat().st_uid == UID else 0)
            except OSError:
                pass  # it was replaced
    assert not any(theirs)
    assert [path.name for path in secret.parent.iterdir()] == [secret.name]


def test_a_race_of_two_directories_for_a_recording(tmp_path, secret, nobody):
    folder = directory(tmp_path / 'theirs', 0o777, UID)
    nobody.run('mkdir', folder / 'x')
    nobody.run('ln', '-s', secret.parent, folder / 'y')
    nobody.python(EXCHANGE, folder / 'x', folder / 'y')
    for number in range(8):
        run('record', '-q', '-e', 'context-switches', '-o', folder / f'x/{number}.data', *TRUE)
        run('record', '-q', '-e', 'context-switches', '-o', folder / f'x/{secret.name}', *TRUE)
        assert is_untouched(secret)
    assert [path.name for path in secret.parent.iterdir()] == [secret.name]


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


# Options with which a file is kept, and its name.
IN_PLACE = {
    'append': ((*STAT, '--append'), 'out.json'),
    'append text': ((*STAT, '--append'), 'out.txt'),
    'push': (('record', '-q', '-e', 'context-switches', '--push'), 'out.push'),
    'output2': (('sql', '-q', '-e', 'context-switches', '--output2'), 'out.db'),
}


@pytest.mark.parametrize('folder_owner, mode', [(UID + 1, 0o777), (0, 0o777), (0, 0o775)])
@pytest.mark.parametrize('name', IN_PLACE)
def test_a_file_of_a_third_user_is_not_kept(name, folder_owner, mode, tmp_path):
    words, name = IN_PLACE[name]
    out = directory(tmp_path / 'folder', mode, folder_owner) / name
    out.touch()
    os.chown(out, UID, UID)
    out.chmod(0o666)
    words = [*words, out] if words[-1].startswith('--') and words[-1] != '--append' else \
        [*words, '-o', out]
    done = run(*words, *TRUE)
    assert done.returncode in (1, 3) and REFUSED in done.stderr
    assert out.stat().st_uid == UID and not out.stat().st_size


@pytest.mark.parametrize('words, name', [
    (('record', '-q', '-e', 'context-switches', '-o'), 'out.data'),
    (('profile', '-q', '-g', '--flame-graph'), 'out.html'),
    (('trace', '-q', '-e', 'context-switches', '-o'), 'out.txt'),
    ((*STAT, '-i', '10ms', '-o'), 'out.json'),
    ((*STAT, '-o'), 'out.db')])
@pytest.mark.parametrize('folder_owner, mode', [(UID + 1, 0o777), (0, 0o777), (0, 0o775)])
def test_results_replace_a_file_of_a_third_user(words, name, folder_owner, mode, tmp_path):
    out = directory(tmp_path / 'folder', mode, folder_owner) / name
    out.touch()
    os.chown(out, UID, UID)
    out.chmod(0o666)
    assert run(*words, out, *TRUE).returncode == 0
    assert (out.stat().st_uid, out.stat().st_mode & 0o777) == (0, 0o600)


@pytest.mark.parametrize('folder_owner, mode', [(UID, 0o755), (0, 0o1777), (0, 0o775)])
@pytest.mark.parametrize('name', [f'out.{extension}' for extension in (*EXTENSIONS, 'txt')])
def test_a_file_of_root_is_not_reached_by_a_hard_link(name, folder_owner, mode, tmp_path, secret):
    """Where fs.protected_hardlinks is 0, another user can make it."""
    out = directory(tmp_path / 'folder', mode, folder_owner) / name
    secret.chmod(0o644)
    out.hardlink_to(secret)
    done = run(*STAT, '--append', '-o', out, *TRUE)
    assert secret.read_text() == 'root only\n'
    assert not done.returncode or REFUSED in done.stderr
    assert run(*STAT, '-o', out, *TRUE).returncode == 0
    assert secret.read_text() == 'root only\n' and secret.stat().st_nlink == 1
    assert out.stat().st_size and out.stat().st_mode & 0o777 == 0o600


def test_rotated_files_are_not_made_where_a_link_leads(tmp_path):
    for days in range(2):
        day = time.strftime('%Y%m%d', time.gmtime(time.time() + days * 86400))
        (tmp_path / f'{day}.json').symlink_to(tmp_path / 'target')
    done = run(*STAT, '-i', '10ms', '--rotate-every', '24h', '-o', tmp_path / '%Y%m%d.json', *TRUE)
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / 'target').exists()
    assert [path.name.split('.', 1)[1] for path in tmp_path.iterdir() if not path.is_symlink()] \
        == ['1.json']


def test_rotated_files_are_not_made_in_a_directory_of_root(tmp_path, secret, nobody):
    """The other user exchanges the directory with a link to one of root."""
    folder = directory(tmp_path / 'theirs', 0o777, UID)
    nobody.run('mkdir', folder / 'x')
    nobody.run('ln', '-s', secret.parent, folder / 'y')
    nobody.python(EXCHANGE, folder / 'x', folder / 'y')
    for number in range(25):
        run(*STAT, '-i', '10ms', '--rotate-every', '1s', '--rotate-keep', '1K', '-o',
            folder / f'x/{number}-%Y%m%d-%H%M%S.json', *TRUE)
    assert [path.name for path in secret.parent.iterdir()] == [secret.name]


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


# ---- files that are kept ----

SCRIPT = '# attar script\nevent a:b n:u32\n1.0 0 1/1 c a:b n=23\n'
EXITS = ('# attar script\n'
         'event kvm:kvm_exit exit_reason:u32 guest_rip:u64 isa:u32\n'
         'event kvm:kvm_entry vcpu_id:u32\n'
         'event sched:sched_switch prev_pid:s32 prev_state:s64 next_pid:s32\n'
         'event sched:sched_wakeup pid:s32\n'
         '1.0 0 7/7 kvm kvm:kvm_exit exit_reason=1 isa=1\n'
         '1.1 0 7/7 kvm sched:sched_switch prev_pid=7 prev_state=1 next_pid=9\n'
         '1.2 0 9/9 x sched:sched_wakeup pid=7\n'
         '1.3 0 9/9 x sched:sched_switch prev_pid=9 prev_state=0 next_pid=7\n'
         '1.5 0 7/7 kvm kvm:kvm_entry\n')
KEPT = {
    'sql': ('sql', '-q', '--input', 'INPUT', '-e', 'a:b', '--output2', 'OUT'),
    'kvm': ('bpf:kvm_exit', '-q', '--input', 'INPUT', '--perins', '--output2', 'OUT'),
    'push': ('record', '-q', '-e', 'context-switches', '--push', 'OUT', '--', 'true'),
}


@pytest.fixture(params=KEPT)
def keep(request, tmp_path):
    """Runs attar, which writes to the path without replacing the file."""
    script = tmp_path / 'input.script'
    script.write_text(EXITS if request.param == 'kvm' else SCRIPT)

    def runs(path):
        words = [str({'INPUT': script, 'OUT': path}.get(word, word))
                 for word in KEPT[request.param]]
        return run(*words)
    return runs


def test_kept_files_are_written(keep, tmp_path):
    for folder, owner in ((tmp_path / 'own', 0), (tmp_path / 'theirs', UID)):
        out = directory(folder, 0o755, owner) / 'out'
        done = keep(out)
        assert done.returncode == 0, done.stderr
        assert out.stat().st_size and out.stat().st_mode & 0o777 == 0o600
        assert [path.name for path in folder.iterdir()] == ['out']


def test_kept_files_do_not_follow_links_of_another_user(keep, shared, tmp_path, secret, nobody):
    theirs = directory(tmp_path / 'theirs', 0o755, UID)
    for out in (shared / 'out', theirs / 'out'):
        nobody.run('ln', '-s', secret, out)
        done = keep(out)
        assert done.returncode in (1, 3) and REFUSED in done.stderr
        assert is_untouched(secret)


def test_kept_files_of_another_user_are_refused(keep, shared, nobody):
    nobody.run('sh', '-c', f'umask 0; : >{shared}/out')
    done = keep(shared / 'out')
    assert done.returncode in (1, 3) and REFUSED in done.stderr
    assert not (shared / 'out').stat().st_size


def test_kept_files_and_a_race(keep, tmp_path, secret, nobody):
    """The other user exchanges the directory with a link to one of root."""
    folder = directory(tmp_path / 'theirs', 0o777, UID)
    nobody.run('mkdir', folder / 'x')
    nobody.run('ln', '-s', secret.parent, folder / 'y')
    nobody.run('touch', folder / f'x/{secret.name}')
    secret.parent.chmod(0o755)
    nobody.python(EXCHANGE, folder / 'x', folder / 'y')
    for _ in range(25):
        keep(folder / 'x' / 'new')
    assert is_untouched(secret)


def test_journals_of_another_user_are_not_used(shared, nobody, tmp_path):
    nobody.run('sh', '-c', f'umask 0; : >{shared}/x.db-journal')
    (tmp_path / 'input.script').write_text(SCRIPT)
    done = run('sql', '-q', '--input', tmp_path / 'input.script', '-e', 'a:b', '--output2',
               shared / 'x.db')
    assert done.returncode in (1, 3), done.stderr
    assert not (shared / 'x.db-journal').stat().st_size
