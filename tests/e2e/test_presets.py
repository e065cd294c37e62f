# SPDX-License-Identifier: MIT
"""Presets: profilers that are options of others, in text files of the user."""
import json
import os
import re
import shlex

import pytest

from command import ROOT, run, run_delivered, workload
from scripts import rows_of

pytestmark = pytest.mark.usefixtures('root')

CALLS = 300
OPENS = '''# a comment
name: getppids
group: System calls
summary: count getppid calls by program
run: top -e 'syscalls:sys_enter_getppid//alias=my calls/'
  --only-comm
example: getppids -i 1s | each second
'''


@pytest.fixture(name='presets')
def fixture_presets(tmp_path):
    (tmp_path / 'getppids.preset').write_text(OPENS)
    return tmp_path


def attar(presets, *args):
    return run(*args, env=os.environ | {'ATTAR_PRESETS': str(presets)})


def rows(ended):
    assert ended.returncode == 0, ended.stderr
    report = json.loads(ended.stdout)
    table = report['sections'][0]
    return report, rows_of(table)


def test_runs_the_profiler_with_its_options(presets):
    report, found = rows(attar(presets, 'getppids', '--format', 'json', '--', workload('flood'),
                               str(CALLS)))
    assert report['profiler'] == 'getppids'
    assert found == [{'comm': 'flood', 'my calls': CALLS}]


def test_options_of_the_command_line_replace_those_of_the_preset(presets):
    _, found = rows(attar(presets, 'getppids', '-e', 'syscalls:sys_exit_getppid', '--format',
                          'json', '--', workload('flood'), str(CALLS)))
    assert found == [{'comm': 'flood', 'syscalls:sys_exit_getppid': CALLS}]


def test_is_listed_helped_and_completed(presets):
    assert 'getppids       count getppid calls by program' in attar(presets, '-h').stdout
    assert 'count getppid calls' in attar(presets, 'getppids', '-h').stdout
    assert 'getppids' in attar(presets, 'completion', 'bash').stdout


def test_users_directory(presets):
    home = presets / '.config/attar/presets'
    home.mkdir(parents=True)
    (home / 'mine.preset').write_text('name: mine\nsummary: x\nrun: stat\n')
    environ = {k: v for k, v in os.environ.items() if k not in ('ATTAR_PRESETS', 'XDG_CONFIG_HOME')}
    assert '\n  mine ' in run('-h', env=environ | {'HOME': str(presets)}).stdout


@pytest.mark.parametrize('text, sentence', [
    ('name: a\nsummary: x\nrun: a -e x\n', "'a' runs itself"),
    ('name: a\nsummary: x\nrun: nothing\n', "no such profiler 'nothing'"),
    ('name: a\nsummary: x\nrun: syscalls\n',
     "'syscalls' is a preset: use the profiler that it runs"),
    ('name: top\nsummary: x\nrun: stat\n', "profiler 'top' already exists"),
    ('name: A B\nsummary: x\nrun: stat\n', 'use lower-case letters'),
    ('summary: x\nrun: stat\n', 'use lower-case letters'),
    ('name: a\nrun: stat\n', "no 'summary'"),
    ('name: a\nsummary: x\n', "no 'run'"),
    ('name: a\nsummary: x\nrun: stat -e "x\n', 'missing "'),
    ('name: a\nsummary: x\nrun: stat\nfoo: bar\n', "no such key 'foo'"),
    ('name: a\nsummary: x\nrun: stat\nwithout: foo\n', "'stat' has no option 'foo'"),
    ('hello\n', 'KEY: VALUE'),
    ('name: a\nsummary: x\nrun: stat\nexample: a -i 1s\n', 'COMMAND | WHAT IT SHOWS'),
])
def test_invalid_presets_are_left_out(tmp_path, text, sentence):
    (tmp_path / 'bad.preset').write_text(text)
    ended = attar(tmp_path, '-h')
    assert ended.returncode == 0
    assert f'{tmp_path}/bad.preset: ' in ended.stderr and sentence in ended.stderr
    assert ended.stderr.count('\n') == 1


def test_a_preset_that_names_itself(tmp_path):
    (tmp_path / 'own.preset').write_text('name: own\nsummary: x\nrun: own -i 1s\n')
    ended = attar(tmp_path, 'own')
    assert (ended.returncode, ended.stdout) == (2, '')
    note, error = ended.stderr.splitlines()
    assert note.startswith(f"attar: {tmp_path}/own.preset: ") and "'own' runs itself" in note
    assert error.startswith("attar: unknown profiler or command 'own'")


def test_options_that_are_not_offered(tmp_path):
    (tmp_path / 'mine.preset').write_text(
        'name: mine\nsummary: x\nrun: multi-trace --impl pair\nwithout: key impl\n')
    text = attar(tmp_path, 'mine', '-h').stdout
    assert '--than' in text and '--impl' not in text and '--key' not in text
    ended = attar(tmp_path, 'mine', '-k', 'id')
    assert (ended.returncode, ended.stdout, ended.stderr) == (
        2, '', 'attar: mine does not support -k, --key, an option of multi-trace, which it runs: '
        "leave it out, or use 'attar multi-trace'\n")
    ended = run('syscalls', '--detail')
    assert (ended.returncode, ended.stdout, ended.stderr) == (
        2, '', 'attar: syscalls does not support --detail, an option of multi-trace, which it '
        "runs: leave it out, or use 'attar multi-trace'\n")


ATTARS = {path.stem: path.read_text() for path in sorted((ROOT / 'presets').glob('*.preset'))}
NOT_FOR = {  # what cannot be read from the events
    'memleak': {'alloc', 'free'},  # --heap has events
    'loopblock': {'tasks'},  # its key is the thread
    'slowest': {'fails'},  # a program that does not start has no time
    'netqtop': {'only-comm'},  # a queue has no name of a thread
    'syscalls': {'detail', 'hist', 'tasks', 'filter', 'kernel-filter'},  # --impl syscalls has none
}


def options_of(name):
    """The options that the profiler has itself, by their long names: whether they are flags."""
    text = re.search(r'(?ms)^Options$(.*?)^$', run(name, '-h', 'all').stdout)[1]
    found = re.findall(r'(?m)^  (?:-., |    )--([\w-]+)(\S*)( [A-Z]+)?(?:  |$)', text)
    return {option: not implied and not value for option, implied, value in found}


def senseless(name, base, given):
    """Options of the base that have no effect on its events, or make the preset another one."""
    events = [value for option, value in given if option in ('-e', '--event')]
    set_here = {option[2:] for option, _ in given if option.startswith('--')}
    flags = {option[2:] for option, value in given if option.startswith('--')
             and (not value or value.startswith('-'))}
    no = {option for option, is_flag in options_of(base).items() if is_flag and option in flags}
    no |= NOT_FOR.get(name, set())
    parts = [part for event in events for part in re.split(r',(?=\w+:\w)', event)]
    if 'key' in set_here or all('key=' in part for part in parts):
        no.add('key')
    if base == 'top' and 'key' in no:  # --by is a key, too
        no.add('by')
    if base == 'multi-trace':
        no |= {'impl', 'cycle', 'counted'}
        if any('_cpu' in part for part in parts):
            no |= {'by', 'tasks', 'filter', 'kernel-filter'}
    if base == 'snoop':
        no |= {'key', 'tasks', 'owners'}
        no |= {'than'} if len(events) == 1 else set()
        no |= {'failed'} if 'sys_exit' not in events[-1] else set()
        no |= {'files'} if 'fd_name(' not in events[0] else set()
    return no


@pytest.mark.quick
@pytest.mark.parametrize('name', ATTARS)
def test_offers_the_options_that_have_an_effect(name):
    """Of a preset of attar; all others of its profiler are in `without:`."""
    text = re.search(r'(?m)^run: (.*(?:\n[ \t].*)*)', ATTARS[name])[1]
    base, *words = shlex.split(text)
    given = list(zip(words, [*words[1:], '']))
    expected = set(options_of(base)) - senseless(name, base, given)
    assert set(options_of(name)) == expected


def hidden_options(name):
    """The names in `without:` of a preset of attar."""
    return re.findall(r'(?m)^without: (.*)', ATTARS[name])[0].split()


@pytest.mark.quick
@pytest.mark.parametrize('name', [name for name, text in ATTARS.items() if '\nwithout:' in text])
def test_options_that_are_not_offered_are_refused(name):
    base = re.search(r'(?m)^run: (\S+)', ATTARS[name])[1]
    flags = options_of(base)
    for option in hidden_options(name):
        ended = run(name, f'--{option}' if flags[option] else f'--{option}=1', '-d', '1ms')
        assert (ended.returncode, ended.stdout) == (2, '')
        assert ended.stderr == (
            f'attar: {name} does not support --{option}, an option of {base}, which it runs: '
            f"leave it out, or use 'attar {base}'\n")


@pytest.mark.parametrize('name', ['signals', 'oomkill', 'drsnoop', 'tcpaccept', 'tcpconnect',
                                  'tcpconnlat', 'tcplife', 'tcpretrans', 'tcpstates'])
def test_what_is_no_system_call_does_not_fail(name):
    ended = run(name, '-x', '-d', '1ms')
    assert ended.returncode == 2
    assert f'{name} does not support -x, --failed, an option of snoop' in ended.stderr


def test_option_that_the_profiler_lacks(tmp_path):
    (tmp_path / 'bad.preset').write_text('name: bad\nsummary: x\nrun: stat --nonsense\n')
    ended = attar(tmp_path, 'bad')
    assert ended.returncode == 2
    assert 'preset bad' in ended.stderr and 'nonsense' in ended.stderr


def test_option_that_a_preset_of_attar_lacks():
    ended = run('opensnoop', '--nonsense')
    assert ended.returncode == 2
    assert 'opensnoop' in ended.stderr and '--nonsense' in ended.stderr


@pytest.mark.parametrize('name, pages', [('opensnoop', 32), ('snoop', 128)])
def test_help_shows_the_default_of_the_preset(name, pages):
    text = ' '.join(run(name, '-h', 'all').stdout.split())
    assert f'in pages of 4 KiB (default {pages}' in text


def test_syscalls():
    """A preset of attar: 10,000 calls of a known system call."""
    _, found = rows(run('syscalls', '-m', '1024', '--format', 'json', '--', workload('flood'),
                         '10000'))
    assert [r['calls'] for r in found if r['syscall'].startswith('getppid(')] == [10000]


def test_rundelay():
    ended = run('rundelay', '--format', 'json', '-d', '300ms')
    _, found = rows(ended)
    assert {'start', 'end', 'calls', 'p99'} <= set(found[0])


def test_delays_of_a_command(busy_cpus):
    """Timers wake it up 20 times, in other tasks."""
    _, found = rows(run_delivered('rundelay', '-m', '2048', '--format', 'json', '--',
                                  workload('sleeps'), '20', '5'))
    assert sum(r['calls'] for r in found if r['start'] == 'sched:sched_wakeup') >= 20


def test_keys_that_are_no_threads():
    ended = run('multi-trace', '--tasks', '-p', os.getpid(), '-e', 'sched:sched_wakeup//key=comm/',
                '-e', 'sched:sched_switch//key=next_comm/')
    assert ended.returncode == 2
    assert "--tasks: the key of 'sched:sched_wakeup' is not a thread ID" in ended.stderr
