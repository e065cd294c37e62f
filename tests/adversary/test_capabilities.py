# SPDX-License-Identifier: MIT
"""attar with file capabilities, as 'attar doctor' suggests, reads no file that its user cannot."""
import json
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from adversary import UID, directory
from command import ATTAR, has, is_waiting, run, wait_until, workload

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
    'pushed events': ['top', '-e', 'context-switches', '-d', '100ms', '--pull', 'SECRET'],
    'copied program': ['fleet', '-H', 'host', '--ssh', 'cat', '--copy', 'SECRET', 'top', '-d',
                       '100ms'],
    'memory dump': ['kcore', '--file', 'SECRET', '0'],
    'list of probes': ['list', 'usdt:SECRET'],
    'probes': ['stat', '-a', '-e', 'usdt:SECRET:a:b', '-d', '100ms'],
    'function': ['stat', '-a', '-e', 'uprobe:f@SECRET', '-d', '100ms'],
    'offset': ['stat', '-a', '-e', 'uprobe:0@SECRET', '-d', '100ms'],
    'variable': ['breakpoint', '-p', '1', '-d', '100ms', 'v@SECRET'],
    'permanent probe': ['usdt', 'add', 'a:b@SECRET'],
    'password': ['stat', '-o', 'clickhouse://127.0.0.1:1/db?password_file=SECRET', '--', 'true'],
}


@pytest.mark.parametrize('kind', WORDS)
def test_no_file_of_root_is_read(kind, program, hidden, nobody):
    words = [word.replace('SECRET', str(hidden)) for word in WORDS[kind]]
    done = run(*nobody.command(program, *words)[1:], program='setpriv', timeout=30)
    assert done.returncode in (1, 2, 3), done.stdout
    assert 'TOPSECRET' not in done.stdout + done.stderr
    assert 'Permission denied' in done.stderr


OPEN = {
    'report': ('stat', '-a', '-e', 'context-switches', '-d', '100ms', '-o', 'OPEN'),
    'lines': ('trace', '-a', '-e', 'context-switches', '-d', '100ms', '-o', 'OPEN'),
    'recording': ('record', '-a', '-e', 'context-switches', '-d', '100ms', '-o', 'OPEN'),
    'pushed events': ('top', '-e', 'context-switches', '-d', '100ms', '--push', 'OPEN'),
    'database': ('sql', '-e', 'context-switches', '-d', '100ms', '--output2', 'OPEN'),
}


@pytest.mark.parametrize('kind', OPEN)
def test_no_file_in_a_directory_of_root_is_written(kind, program, secret, nobody):
    """Everybody could write the file, but nobody can reach it."""
    reachable = secret.with_name('open')
    reachable.touch()
    reachable.chmod(0o666)
    words = [word.replace('OPEN', str(reachable)) for word in OPEN[kind]]
    done = run(*nobody.command(program, *words)[1:], program='setpriv', timeout=30)
    assert done.returncode in (1, 3) and 'Permission denied' in done.stderr
    assert not reachable.stat().st_size
    assert {path.name for path in secret.parent.iterdir()} == {'open', 'secret'}


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


SECRETS = {
    'peer key': ('top', '-q', '-e', 'context-switches', '-d', '100ms', '--pull', '127.0.0.1:1',
                 '--peer-psk', 'FILE'),
    'TLS key': ('stat', '-i', '1s', '--listen', '0', '--listen-cert', 'CERT', '--listen-key',
                'FILE', '--', 'true'),
    'private key': ('top', '-q', '-e', 'context-switches', '-d', '100ms', '--pull', '127.0.0.1:1',
                    '--peer-cert', 'CERT', '--peer-key', 'FILE', '--peer-ca', 'CERT'),
    'password': ('stat', '-q', '-o', 'clickhouse://127.0.0.1:1/db?password_file=FILE', '--',
                 'true'),
}


@pytest.mark.parametrize('mode, refused', [(0o600, False), (0o644, True), (0o660, True)])
@pytest.mark.parametrize('name', SECRETS)
def test_all_secrets_that_others_can_read_are_refused(name, mode, refused, tmp_path):
    if 'CERT' in SECRETS[name]:
        if not has('openssl'):
            pytest.skip('openssl is not installed')
        subprocess.run(['openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '1',
                        '-subj', '/CN=localhost', '-keyout', tmp_path / 'FILE', '-out',
                        tmp_path / 'CERT'], check=True, capture_output=True)
    else:
        (tmp_path / 'FILE').write_text('0123456789abcdef' * 4 + '\n')
    (tmp_path / 'FILE').chmod(mode)
    words = [word.replace('FILE', str(tmp_path / 'FILE')).replace('CERT', str(tmp_path / 'CERT'))
             for word in SECRETS[name]]
    done = run(*words, timeout=30)
    assert ('other users can' in done.stderr) == refused, done.stderr
    assert done.returncode or not refused


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


def test_a_fifo_of_another_user_is_no_configuration(theirs, nobody):
    text = '[cpu]\nrun = stat -e context-switches -i 1s -o /dev/null/x.json\n'
    nobody.run('mkfifo', theirs / 'agent.conf')
    nobody.start('sh', '-c', f'echo "{text}" > {theirs}/agent.conf')
    done = run('agent', '--check', '-c', theirs / 'agent.conf')
    assert 'other users can change' in done.stderr
    done = subprocess.run(['bash', '-c', f'{ATTAR} agent --check -c <(sleep .1; echo "{text}")'],
                          capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert ':2: run: ' in done.stderr, done.stderr  # it was read


@pytest.mark.parametrize('has_rights', [False, True])
def test_presets_of_the_environment_are_ignored_with_file_capabilities(
        has_rights, program, theirs, nobody):
    (theirs / 'mine.preset').write_text('name: mine\nsummary: all CPUs\n'
                                        'run: stat -e context-switches\n')
    os.chown(theirs / 'mine.preset', UID, UID)
    if not has_rights:
        subprocess.run(['setcap', '-r', program], check=True)
    words = ['env', f'ATTAR_PRESETS={theirs}', f'XDG_CONFIG_HOME={theirs}', f'HOME={theirs}',
             program, 'mine', '-h']
    done = run(*nobody.command(*words)[1:], program='setpriv')
    assert (done.returncode == 0) == (not has_rights), done.stdout + done.stderr


# ---- rights that are given up ----

NAMES = Path('/usr/include/linux/capability.h')
NEVER = ('SYS_MODULE', 'SYS_BOOT', 'SYS_RAWIO', 'SYS_TIME', 'SYS_CHROOT', 'NET_ADMIN', 'NET_RAW',
         'MKNOD', 'SETFCAP', 'SETPCAP', 'MAC_ADMIN', 'MAC_OVERRIDE', 'SETUID', 'SETGID')
FOR_READERS = ('SETUID', 'SETGID')  # not in effect in attar itself
KEPT = ('PERFMON', 'SYS_PTRACE', 'SYSLOG', 'DAC_READ_SEARCH', 'IPC_LOCK')


def number(name):
    return int(re.search(rf'^#define CAP_{name}\s+(\d+)', NAMES.read_text(), re.M)[1])


def rights_of(pid, kind='Prm'):
    """The capabilities of all threads together, and whether programs can gain some."""
    sets, gains = 0, False
    for task in Path(f'/proc/{pid}/task').iterdir():
        text = (task / 'status').read_text()
        sets |= int(re.search(rf'^Cap{kind}:\s+(\w+)', text, re.M)[1], 16)
        gains |= 'NoNewPrivs:\t0' in text
    return sets, gains


def are_set(rights, names):
    return [name for name in names if rights >> number(name) & 1]


@pytest.fixture
def needs_names():
    if not NAMES.exists():
        pytest.skip('there is no linux/capability.h (package linux-libc-dev)')


def running(*words, **kwargs):
    """attar, when it has opened its events."""
    process = subprocess.Popen([ATTAR, *map(str, words)], stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                               **kwargs)
    wait_until(lambda: is_waiting(process), 'attar waits for events')
    return process


@pytest.mark.parametrize('words, less, more, gains', [
    (('top', '-a', '-e', 'sched:sched_switch'), (*NEVER, 'SYS_ADMIN'), KEPT, False),
    (('stat', '-i', '10s', '-o', 'x.json', '--', 'sleep', '60'), (*NEVER, 'SYS_ADMIN'),
     (*KEPT, 'KILL'), True),
    (('trace', '-a', '-e', 'user_events:nobody_has_this'), NEVER, (*KEPT, 'SYS_ADMIN'), False),
    (('annotate', '-a'), ('SYS_MODULE', 'SYS_ADMIN'), (*KEPT, 'SYS_RAWIO', 'SETUID', 'SETGID'),
     False),
    (('wall', '-a'), NEVER, (*KEPT, 'SYS_ADMIN'), False),
    (('offcpu', '-a'), (*NEVER, 'SYS_ADMIN'), KEPT, False),
    (('top', '-a', '-e', 'sched:sched_switch', '--keep-rights'), (), (*KEPT, *NEVER, 'SYS_ADMIN'),
     True)])
def test_rights_are_given_up(words, less, more, gains, needs_names, tmp_path):
    process = running(*words, cwd=tmp_path)
    try:
        wait_until(lambda: not are_set(rights_of(process.pid, 'Eff')[0], less),
                   'rights are given up')
        for kind in ('Prm', 'Eff'):
            rights, can_gain = rights_of(process.pid, kind)
            assert are_set(rights, less) == [name for name in less
                                             if name in FOR_READERS and kind == 'Prm']
            assert are_set(rights, more) == [name for name in more
                                             if are_set(rights_of(os.getpid())[0], [name])]
        assert can_gain == gains
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(30) in (0, 130)


@pytest.mark.parametrize('base, right', [('overview', 'SYS_ADMIN'), ('annotate', 'SETUID')])
def test_a_preset_keeps_the_rights_of_its_profiler(base, right, needs_names, tmp_path):
    presets = directory(tmp_path / 'presets', 0o755)
    (presets / 'mine.preset').write_text(f'name: mine\nsummary: all CPUs\nrun: {base} -a\n')
    process = running('mine', env=os.environ | {'ATTAR_PRESETS': str(presets)})
    try:
        wait_until(lambda: not are_set(rights_of(process.pid)[0], ['SYS_BOOT']),
                   'rights are given up')
        assert are_set(rights_of(process.pid)[0], [right]) == [right]
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(30) in (0, 130)


def test_rights_of_a_run_that_executes_programs(needs_names):
    """They could be had again, for the programs, but are not used."""
    process = running('trace', '-a', '-e', 'sched:sched_switch', '--allow-exec')
    try:
        wait_until(lambda: not are_set(rights_of(process.pid, 'Eff')[0], (*NEVER, 'SYS_ADMIN')),
                   'rights are given up')
        assert rights_of(process.pid, 'Prm') == rights_of(os.getpid(), 'Prm')
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0


@pytest.mark.parametrize('repeat', [(), ('-r', '2')])
def test_events_of_a_command_continue_after_it_is_executed(repeat):
    """For a program that gains capabilities, the kernel disables them."""
    done = run('stat', *repeat, '-e', 'page-faults:u', '--format', 'json', '--', 'python3', '-c',
               '')
    assert done.returncode == 0, done.stderr
    table = next(s for s in json.loads(done.stdout)['sections'] if s['name'] == 'counts')
    value = table['rows'][0][[c['name'] for c in table['columns']].index('value')]
    assert value > 300  # of fork and exec alone: about 50


STATUS = ('grep', '-E', '^(Cap|NoNewPrivs|Uid|Gid|Groups)', '/proc/self/status')


@pytest.mark.parametrize('prefix', [
    (), ('setpriv', '--reuid=1234', '--regid=1234', '--clear-groups'),
    ('setpriv', '--reuid=1234', '--regid=1234', '--clear-groups',
     '--inh-caps=+sys_module,+perfmon,+sys_admin',
     '--ambient-caps=+sys_module,+perfmon,+sys_admin'),
    ('setpriv', '--securebits=+noroot,+no_setuid_fixup'),
    ('setpriv', '--no-new-privs'), ('setpriv', '--bounding-set=-sys_boot')])
def test_a_command_has_the_rights_of_the_caller(prefix, tmp_path):
    """Also the command of the second run."""
    alone = subprocess.run([*prefix, *STATUS], capture_output=True, text=True, check=True).stdout
    for words in (('stat', '-e', 'task-clock:u'), ('stat', '-r', '2', '-e', 'task-clock:u')):
        done = subprocess.run([*prefix, ATTAR, *words, '--', *STATUS], capture_output=True,
                              text=True, timeout=60)
        assert done.stdout.count(alone) == (2 if '-r' in words else 1), done.stdout + done.stderr


def test_a_setuid_command_works(tmp_path):
    """As another user, under attar, a program of root that is setuid."""
    folder = directory(tmp_path / 'bin', 0o755)
    shutil.copy('/bin/id', folder / 'id')
    (folder / 'id').chmod(0o4755)
    done = run('--reuid=1234', '--regid=1234', '--clear-groups', ATTAR, 'stat', '-e',
               'task-clock:u', '--', folder / 'id', '-u', program='setpriv')
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith('0\n'), done.stdout


def test_symbols_of_others_are_found_without_the_rights_that_are_given_up(nobody, tmp_path):
    """The files of another user, in a directory that only this user can read."""
    folder = directory(tmp_path / 'private', 0o700, 65534)
    shutil.copy(workload('split7030'), folder / 'prog')
    shutil.chown(folder / 'prog', 65534, 65534)
    program = nobody.start(folder / 'prog', '100000')
    done = run('profile', '-F', '997', '-d', '1s', '-p', program.pid, '-o', tmp_path / 'x.folded',
               '-g')
    assert done.returncode == 0, done.stderr
    assert 'heavy' in (tmp_path / 'x.folded').read_text()
