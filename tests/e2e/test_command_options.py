# SPDX-License-Identifier: MIT
"""Options of the commands that are not profilers: all are spelled and refused in the same way."""
import functools
import re

import pytest

from command import ATTAR, run

pytestmark = pytest.mark.quick

NAMES = ['list', 'doctor', 'user-events', 'kcore', 'symbols', 'python', 'stack', 'diff', 'agent',
         'fleet', 'usdt', 'help', 'completion']
UNKNOWN = '--zzzzzzzz'

# Valid values, by the name of the value in help; others are texts.
VALUES = {'N': '1', 'TIME': '1s', 'SIZE': '1M', 'PCT': '60', 'PID': '1', 'TID': '1'}


@functools.lru_cache
def options(name):
    """(letter or '', name, name of the value or None) of each option, from help."""
    found = re.findall(r'^  (?:-(\w), |    )--([a-z0-9-]+)(?: (\S+))?(?:  |$)',
                       run(name, '-h').stdout, re.M)
    assert found.pop()[:2] == ('h', 'help')
    return [(letter, long, value or None) for letter, long, value in found]


def with_value(name):
    return [option for option in options(name) if option[2]]


def flags(name):
    """Those of attar python are parsed by the script."""
    return [option for option in options(name) if not option[2] and name != 'python']


def refuses(words, sentence):
    done = run(*words, stdin=None)
    assert (done.returncode, done.stdout) == (2, ''), (words, done.stderr)
    prefix = 'attar: python: ' if words[0] == 'python' else 'attar: '
    assert done.stderr == f'{prefix}{sentence}\n', words


def test_all_commands_are_in_the_table():
    commands = run('-h').stdout.partition('Other commands\n')[2].partition('\n\n')[0]
    assert [line.split()[0] for line in commands.splitlines()] == NAMES


def test_options_are_found():
    assert len(with_value('agent')) == 13 and len(flags('kcore')) == 7
    assert ('o', 'output', 'FILE') in options('diff') and ('', 'json', None) in options('usdt')


@pytest.mark.parametrize('name', NAMES)
def test_spellings(name):
    """After each spelling of an option, the next word is the one that is refused."""
    for letter, long, kind in options(name):
        value = VALUES.get(kind, 'text')
        spelled = [[f'--{long}', value], [f'--{long}={value}']] if kind else [[f'--{long}']]
        if letter:
            spelled += [[f'-{letter}', value], [f'-{letter}{value}']] if kind else [[f'-{letter}']]
        for words in spelled:
            done = run(name, *words, UNKNOWN, stdin=None)
            assert (done.returncode, done.stdout) == (2, ''), words
            assert f'no such option {UNKNOWN}: ' in done.stderr, (words, done.stderr)


@pytest.mark.parametrize('name', NAMES)
def test_missing_values(name):
    for letter, long, value in with_value(name):
        for word in [f'--{long}', *([f'-{letter}'] if letter else [])]:
            refuses([name, word], f'{word} needs a value: {word} {value}')


@pytest.mark.parametrize('name', NAMES)
def test_values_of_flags(name):
    for _, long, _ in flags(name):
        refuses([name, f'--{long}=1'], f'--{long} takes no value')


@pytest.mark.parametrize('name', NAMES)
def test_unknown_options(name):
    for _, long, _ in options(name):
        if len(long) < 3 or (name, long) == ('python', 'verbose'):  # of the script
            continue
        refuses([name, f'--{long}{long[-1]}'],
                f'no such option --{long}{long[-1]}: did you mean --{long}?')
    if name != 'python':
        refuses([name, '-Z'], f"no such option -Z: 'attar {name} -h all' lists them")
        refuses([name, '-Z5'], f"no such option -Z: 'attar {name} -h all' lists them")


@pytest.mark.parametrize('words', [
    ['list', 'a'], ['doctor', 'profile'], ['user-events', 'a'], ['kcore', '1', '1'],
    ['stack'], ['diff', 'a', 'b'], ['agent'], ['help', 'list'], ['completion', 'bash']],
    ids=lambda words: words[0])
def test_too_many_operands(words):
    done = run(*words, '--', '--one-more')
    assert (done.returncode, done.stdout) == (2, '')
    assert done.stderr.startswith("attar: unexpected argument '--one-more'")


@pytest.mark.parametrize('name', NAMES[:5] + NAMES[6:])
def test_help_and_version_anywhere(name):
    before = [f'--{long}' for _, long, _ in flags(name)]
    shown = [run(name, *words).stdout for words in ([*before, '-h'], ['-h'], ['-h', 'all'])]
    assert shown[0] == shown[1] == shown[2] != ''
    assert run(name, *before, '--version').stdout == run('-V').stdout != ''


@pytest.mark.parametrize('words, sentence', [
    (['diff', '--confidence=49'], "--confidence: '49' is not a percentage between 50 and 100"),
    (['diff', '--fail-above', '-1'],
     "--fail-above: '-1' is not a percentage between 0 and 1000000"),
    (['fleet', '--timeout=0'], '--timeout: 0 is too short: the minimum is 1ms'),
    (['stack', '-kp0'], '-p: 0 is not between 1 and 2147483647'),
    (['stack', '--tid=4294967297'], '--tid: 4294967297 is not between 1 and 2147483647'),
    (['symbols', '--style='], '--style: the value is empty'),
    (['kcore', '-3'], "no such option -3: 'attar kcore -h all' lists them"),
    (['kcore', '-1x'], "no such option -x: 'attar kcore -h all' lists them"),
    (['diff', '-5', '--', '-6', '-7'], "unexpected argument '-7': attar diff [OPTIONS] BEFORE "
                                       'AFTER'),
    (['fleet', '-H', 'a', '-d', '1s', 'profile'],
     "no such option -d: 'attar fleet -h all' lists them"),
])
def test_values_and_operands(words, sentence):
    refuses(words, sentence)


def test_both_spellings_do_the_same(tmp_path):
    address = run('-n', ATTAR, program='nm').stdout.partition(' T main')[0].split()[-1]
    plain, *llvm = [run('symbols', *words, ATTAR, f'0x{address}').stdout
                    for words in ([], ['--style=llvm'], ['--style', 'llvm'])]
    assert llvm[0] == llvm[1] != plain and llvm[0].startswith('main\n')
    script = tmp_path / 'a.txt'
    script.write_text('# attar script\nevent a:b n:u32\n1.5 0 1/1 c a:b n=1\n')
    lists = [run('list', *words).stdout for words in (
        ['--names', f'--input={script}'], ['--input', script, '--names'])]
    assert lists == ['a:b\n', 'a:b\n']
