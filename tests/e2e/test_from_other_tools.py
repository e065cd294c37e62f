# SPDX-License-Identifier: MIT
"""docs/from-other-tools.md: each command of the page runs, or says what the machine lacks."""
import json
import re
import shlex
import subprocess
import sys

import pytest

from command import ROOT, run

pytestmark = pytest.mark.usefixtures('root')
PAGE = (ROOT / 'docs/from-other-tools.md').read_text()
COMMANDS = sorted(set(re.findall(r'`attar ([^`]+)`', PAGE)))
# Of the rows that say so. Other commands must work on every machine with tracepoints and uprobes.
LACKING = {command for line in PAGE.splitlines() if re.search(r'\*\*[KH]\*\*', line)
           for command in re.findall(r'`attar ([^`]+)`', line)}
PROFILERS = {p['name'] for p in json.loads(run('help', '--json').stdout)['profilers']}


@pytest.fixture(scope='module', name='recording')
def fixture_recording(tmp_path_factory):
    path = tmp_path_factory.mktemp('record') / 'perf.data'
    assert run('record', '-o', path, '--', sys.executable, '-c', 'sum(range(1000000))'
               ).returncode == 0
    return path


@pytest.fixture(scope='module', name='program')
def fixture_program():
    """A process to watch, which calls malloc()."""
    code = 'import time\nprint(1, flush=True)\nwhile True:\n time.sleep(.01)\n str(bytes(70000))'
    with subprocess.Popen([sys.executable, '-c', code], stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        yield process.pid
        process.kill()


def words_of(command, tmp_path, recording, program):
    """As a reader of the page would complete it, for a short time."""
    words = shlex.split(command)
    name, has_command = words[0], '--' in words
    if has_command:
        words[words.index('--') + 1:] = ['/bin/true']
    for i, word in enumerate(words):
        if word == '1234':
            words[i] = program
        elif word == 'perf.data':
            words[i] = recording
        elif i and words[i - 1] == '-o':
            words[i] = tmp_path / word
    if name in PROFILERS and not has_command and '--input' not in words:
        words[1:1] = ['--duration', '30ms']
    return words


def without_commands_of_files():
    return [command for command in COMMANDS if 'before.json' not in command]


@pytest.mark.parametrize('command', without_commands_of_files())
def test_command_of_the_page(tmp_path, recording, program, command):
    words = words_of(command, tmp_path, recording, program)
    ended = run(*words, timeout=120, cwd=tmp_path)
    if command in LACKING and ended.returncode:
        assert ended.returncode in (1, 2, 3, 4) and ended.stderr.startswith('attar: ')
        pytest.skip(ended.stderr.splitlines()[0])
    assert ended.returncode == 0, ended.stderr


def test_tools_are_in_the_page():
    """Every profiler and command that is named exists, and no tool is there twice."""
    names = PROFILERS | {'list', 'doctor', 'user-events', 'kcore', 'symbols', 'python', 'stack',
                         'diff', 'agent', 'fleet', 'usdt', 'help', 'completion'}
    assert not {shlex.split(command)[0] for command in COMMANDS} - names
    bcc = PAGE.split('\n## bcc\n')[1].split('\n## ')[0]
    tools = [tool for line in bcc.splitlines() if line.startswith('| `')
             for tool in re.findall(r'`([^`]+)`', line.split(' | ')[0])]
    assert len(tools) > 100 and len(tools) == len(set(tools))
