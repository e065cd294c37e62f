# SPDX-License-Identifier: MIT
"""Help on a screen, help for programs, and the skill for assistants: each line of them works."""
import json
import re
import shlex

import pytest

from command import ROOT, run, workload

SCREEN = 40
SKILL = (ROOT / 'packaging/skills/attar/SKILL.md').read_text()
LINES = re.findall(r'^\| `attar (.*?)` \|', SKILL, re.M)
NAMES = [line.split()[0] for line in LINES]

ALL = json.loads(run('help', '--json', env={'ATTAR_PRESETS': ''}).stdout)
EXAMPLES = [example['command'] for kind in ('profilers', 'commands') for entry in ALL[kind]
            for example in entry['examples']]


@pytest.mark.quick
@pytest.mark.parametrize('name', [entry['name'] for entry in ALL['profilers']])
def test_help_fits_a_screen(name):
    done = run(name, '-h')
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and len(lines) <= SCREEN
    assert not [line for line in lines if len(line) > 100 and not line.startswith('  attar ')]
    assert lines.index('Examples') < lines.index('Options')
    assert f"'attar {name} -h all' lists all options" in lines[-1]
    shown = set(re.findall(r'--(?:\[no-\])?([\w-]+)', done.stdout.split('\nOptions\n')[1]))
    own = {option['name'] for option in json.loads(
        run('help', '--json', name).stdout)['options'] if option['group'] == 'Options'}
    assert own <= shown and {'pids', 'duration', 'output'} <= shown


@pytest.mark.quick
def test_texts_end_after_a_clause():
    """Not within parentheses, and not in the middle of a word."""
    for entry in ALL['profilers']:
        full = ' '.join(run(entry['name'], '-h', 'all').stdout.split())
        part = run(entry['name'], '-h').stdout.split('\nOptions\n')[1].split('\n\n')[0]
        for text in re.findall(r'^  (?:-\w, |    )--.{28}(.*(?:\n {34}.*)*)', part, re.M):
            words = ' '.join(text.split())
            end = full[full.index(words) + len(words):][:1]
            assert end in ' ;:,' and words.count('(') == words.count(')'), text


@pytest.mark.quick
def test_json_has_what_help_has():
    assert ALL['version'] in run('--version').stdout
    names = [entry['name'] for kind in ('profilers', 'commands') for entry in ALL[kind]]
    shown = re.findall(r'^  (\S+) +\S', run('-h', env={'ATTAR_PRESETS': ''}).stdout, re.M)
    assert names == shown
    one = json.loads(run('help', '--json', 'profile').stdout)
    assert one['page'].startswith('# attar profile')
    assert {'name': 'freq', 'letter': 'F', 'group': 'Sampling', 'type': 'count', 'value': 'HZ',
            'help': 'samples per second on each CPU (default 997)'} in one['options']
    listed = json.loads(run('help', '--json', 'list').stdout)
    assert listed['usage'] == '[PATTERN | profilers]' and listed['operands'][0]['name'] == 'PATTERN'
    assert 'names' in [option['name'] for option in listed['options']]


@pytest.mark.quick
@pytest.mark.parametrize('example', EXAMPLES)
def test_options_of_an_example_are_valid(example):
    """Before -h, all words are parsed."""
    words = shlex.split(example)[1:]
    end = words.index('--') if '--' in words else len(words)
    if words[0] in ('python', 'fleet'):  # other programs parse the rest
        end = 1
    done = run(*words[:end], '-h')
    assert done.returncode == 0, done.stderr


def test_the_skill_has_each_profiler():
    assert NAMES == [entry['name'] for entry in ALL['profilers']]
    assert SKILL.startswith('---\nname: attar\ndescription: ')


@pytest.mark.parametrize('line', LINES, ids=NAMES)
def test_a_line_of_the_skill_runs(root, line, spawn, tmp_path):
    """Except for what this system does not have: then it says so."""
    program = workload('split7030')
    line = line.replace('1234', str(spawn(program, 1000000).pid))
    line = line.replace('./program', f'{program} 50').replace('make -j4', 'true')
    line = re.sub(r'(-d|--duration) \d+s', '-d 100ms', line.replace('-- make', '-- true'))
    line = line.replace('-i 1s', '-i 50ms').replace('-C 0-3', '-C 0')
    line = line.replace('breakpoint counter', 'breakpoint main')
    done = run(*shlex.split(line), cwd=tmp_path, timeout=60)
    if '/dev/sda' in line and 'no block device' in done.stderr:
        return
    assert done.returncode in (0, 4), done.stderr
    assert done.returncode == 0 or re.search(r'support| needs ', done.stderr)
