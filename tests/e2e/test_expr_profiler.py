# SPDX-License-Identifier: MIT
"""attar expr and event-care: on scripts whose values and losses are known, and live."""
import csv

import pytest

from command import run, workload
from scripts import of_script, report, rows

DECLARED = 'event demo:tick n:s32 name:char[16] big:u64\n'
TICKS = DECLARED + ''.join(
    f'1.{i} {i % 2} 7/7 w demo:tick n={i - 2} name=tick{i} big=18446744073709551615\n'
    for i in range(1, 9))


def values(tmp_path, expression, *args, column='value'):
    path = tmp_path / 'test.script'
    path.write_text('# attar script\n' + TICKS)
    ended = run('expr', '--input', path, '--format', 'csv', '-e', 'demo:tick', expression, *args)
    assert ended.returncode == 0, ended.stderr
    lines = ended.stdout.split('\n\n')[0].splitlines()
    head = next(i for i, line in enumerate(lines) if line.startswith('time,'))
    return [r[column] for r in csv.DictReader(lines[head:]) if r['event'] == 'demo:tick']


@pytest.mark.quick
def test_five_values(tmp_path):
    assert values(tmp_path, 'n * 2 + 1') == ['-1', '1', '3', '5', '7']
    assert values(tmp_path, 'name', '-N', 2) == ['tick1', 'tick2']
    assert values(tmp_path, 'big', '-N', 1) == ['18446744073709551615']
    assert values(tmp_path, 'n > 1 && name ~ "*4"') == ['0', '0', '0', '1', '0']


@pytest.mark.quick
def test_printf(tmp_path):
    assert values(tmp_path, 'printf("<%d>", n)', '-N', 2, column='printed') == ['<-1>', '<0>']
    assert values(tmp_path, r'printf("<%d>\n\n", n)', '-N', 1, column='printed') == [
        r'<-1>\x0a']


@pytest.mark.quick
def test_compiled_form(tmp_path):
    found = of_script(tmp_path, TICKS, 'expr', '-e', 'demo:tick', 'n < 4 * 5')
    parts = [r['part'].split(': ')[1] for r in rows(found, 'compiled')]
    assert parts[0] == 's32 field n' and parts[-1] == 's32 0 < 20'


@pytest.mark.quick
def test_faults_are_remarked(tmp_path):
    found = of_script(tmp_path, TICKS, 'expr', '-e', 'demo:tick', '10 / (n + 1)')
    assert any('1 division by zero' in r for r in found['remarks'])


@pytest.mark.quick
@pytest.mark.parametrize('args, sentence', [
    ([], 'expr needs an event and an expression'),
    (['-e', 'demo:tick'], 'expr needs an event and an expression'),
    (['-e', 'demo:tick', 'm + 1'], "no such field or variable 'm'"),
    (['-e', 'demo:tick', 'n +'], 'expression'),
])
def test_refusals(tmp_path, args, sentence):
    path = tmp_path / 'test.script'
    path.write_text('# attar script\n' + TICKS)
    ended = run('expr', '--input', path, *args)
    assert ended.returncode == 2
    assert sentence in ended.stderr


@pytest.mark.quick
def test_known_losses(tmp_path):
    text = TICKS + '1.91 0 7/7 w lost 30\n1.92 1 7/7 w lost 4\n1.93 0 7/7 w lost 5\n'
    found = of_script(tmp_path, text, 'event-care', '-e', 'demo:tick')
    assert [(r['cpu'], r['events'], r['out of order']) for r in rows(found, 'events')] == [
        (0, 4, 0), (1, 4, 0)]
    assert [(r['cpu'], r['lost'], r['periods']) for r in rows(found, 'losses')] == [
        (0, 35, 2), (1, 4, 1)]
    assert found['notes']['lost'] == 39


@pytest.mark.usefixtures('root')
def test_live_events_are_complete():
    found = report('event-care', '-e', 'syscalls:sys_enter_getppid', '-m', 256, '--',
                   workload('flood'), 5000)
    assert sum(r['events'] for r in rows(found, 'events')) == 5000
    assert sum(r['out of order'] for r in rows(found, 'events')) == 0
    assert rows(found, 'losses') == []
