# SPDX-License-Identifier: MIT
"""attar with file capabilities, as 'attar doctor' suggests, reads no file that its user cannot."""
import shutil
import subprocess

import pytest

from adversary import directory
from command import ATTAR, has, run

CAPABILITIES = 'cap_perfmon,cap_sys_ptrace,cap_syslog,cap_dac_read_search,cap_bpf,cap_sys_admin=ep'
SECRET = 'root:$6$TOPSECRET$hash:19000:0:99999:7:::\n'


@pytest.fixture
def program(tmp_path):
    if not has('setcap'):
        pytest.skip('setcap (package libcap2-bin) is not installed')
    path = directory(tmp_path / 'bin', 0o755) / 'attar'
    shutil.copy(ATTAR, path)
    subprocess.run(['setcap', CAPABILITIES, path], check=True)
    return path


@pytest.fixture
def hidden(secret):
    secret.write_text(SECRET)
    return secret


WORDS = {
    'configuration': ['agent', '--check', '-c', 'SECRET'],
    'recording': ['top', '--input', 'SECRET'],
    'script': ['trace', '--input', 'SECRET'],
    'result': ['diff', 'SECRET', 'SECRET'],
    'token': ['stat', '-i', '1s', '--listen', '0', '--listen-token-file', 'SECRET'],
    'key': ['record', '-e', 'context-switches', '--push', '0', '--peer-psk', 'SECRET'],
    'symbols': ['symbols', 'SECRET', '0'],
    'password': ['stat', '-o', 'clickhouse://127.0.0.1:1/db?password_file=SECRET', '--', 'true'],
}


@pytest.mark.parametrize('kind', WORDS)
def test_no_file_of_root_is_read(kind, program, hidden, nobody):
    words = [word.replace('SECRET', str(hidden)) for word in WORDS[kind]]
    done = run(*nobody.command(program, *words)[1:], program='setpriv', timeout=30)
    assert done.returncode in (1, 2, 3), done.stdout
    assert 'TOPSECRET' not in done.stdout + done.stderr
    assert 'Permission denied' in done.stderr


def test_events_can_still_be_read(program, nobody):
    done = run(*nobody.command(program, 'top', '-a', '-e', 'sched:sched_switch', '-d', '100ms',
                               '--format', 'json')[1:], program='setpriv')
    assert done.returncode == 0, done.stderr
    assert '"swapper' in done.stdout or '"comm"' in done.stdout


@pytest.mark.parametrize('mode, owner, group, status', [
    (0o600, 0, 0, None), (0o640, 0, 0, None), (0o644, 0, 0, 1), (0o604, 0, 0, 1), (0o660, 0, 0, 1)])
def test_secrets_that_others_can_read_are_refused(mode, owner, group, status, tmp_path):
    token = tmp_path / 'token'
    token.write_text('0123456789abcdef0123456789abcdef\n')
    token.chmod(mode)
    done = run('stat', '-a', '-e', 'context-switches', '-i', '50ms', '-d', '200ms', '--listen', '0',
               '--listen-token-file', token)
    assert done.returncode == (status or 0), done.stderr
    assert ('other users can read it' in done.stderr) == bool(status)


@pytest.mark.parametrize('mode, owner, accepted', [
    (0o644, 0, True), (0o600, 0, True), (0o664, 0, False), (0o646, 0, False),
    (0o644, 65534, False)])
def test_configurations_that_others_can_change_are_refused(mode, owner, accepted, tmp_path):
    config = tmp_path / 'agent.conf'
    config.write_text('[cpu]\nrun = stat -e context-switches -i 1s -o /dev/null/x.json\n')
    config.chmod(mode)
    shutil.chown(config, owner)
    done = run('agent', '--check', '-c', config)
    assert ('other users can change' in done.stderr) == (not accepted), done.stderr
    presets = directory(tmp_path / 'presets', 0o755)
    (presets / 'mine.preset').write_text('# mine: count\nstat -e context-switches\n')
    (presets / 'mine.preset').chmod(mode)
    shutil.chown(presets / 'mine.preset', owner)
    done = run('mine', '-h', env={'ATTAR_PRESETS': str(presets), 'PATH': '/usr/bin:/bin'})
    if not accepted:
        assert done.returncode == 2 and 'other users can change' in done.stderr
