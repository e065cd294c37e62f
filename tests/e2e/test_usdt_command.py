# SPDX-License-Identifier: MIT
"""attar usdt: tracepoints of a program's probes that stay until they are deleted."""
import json
import shutil

import pytest

from command import run
from scripts import report, rows

pytestmark = pytest.mark.usefixtures('root')


@pytest.fixture(name='program')
def fixture_program(tmp_path, sdt):
    """A copy, so that its probes are its own; what was added is deleted."""
    path = tmp_path / 'sdt'
    shutil.copy(sdt, path)
    yield path
    for row in added():
        if str(tmp_path) in row['location']:
            run('usdt', 'del', row['name'])


def usdt(*args):
    ended = run('usdt', *args)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.split()


def added():
    ended = run('usdt', 'list', '--json')
    assert ended.returncode == 0, ended.stderr
    return rows(json.loads(ended.stdout), 'added')


def of(program):
    return [r for r in added() if r['location'].startswith(f'{program}:')]


def test_add_list_delete(program):
    assert usdt('add', program) == ['shop:done', 'shop:order', 'shop:total']
    assert [r['name'] for r in of(program)].count('shop:order') == 2
    usdt('del', 'shop:order')
    assert {r['name'] for r in of(program)} == {'shop:done', 'shop:total'}
    usdt('del', 'shop:*')
    assert of(program) == []


def test_several_probes_without_providers(program, tmp_path):
    """As perf-prof names them; a word that begins no probe is an argument of the one before."""
    other = tmp_path / 'other'
    shutil.copy(program, other)
    assert usdt('add', f'done@{program}', f'mine:b@{program}@main', 'argc=%di:s32',
                f'total@{other}') == ['shop:done', 'mine:b', 'shop:total']
    assert {r['name']: r['arguments'] for r in of(program)} == {
        'shop:done': '', 'mine:b': 'argc=%di:s32'}
    assert [r['name'] for r in of(other)] == ['shop:total']
    usdt('del', f'done@{program}', 'mine:b', 'shop:total')
    assert of(program) == of(other) == []
    found = [word for word in usdt('list', f'done@{program}', f'shop:total@{other}', str(other))
             if word.startswith('usdt:')]
    assert found == [f'usdt:{program}:shop:done'] + [
        f'usdt:{other}:shop:{name}' for name in ('total', 'done', 'order', 'total')]


def test_an_added_probe_is_a_tracepoint(program):
    usdt('add', f'shop:order@{program}')
    found = report('top', '-e', 'shop:order', '-k', 'arg1', '--', program)
    mine = rows(found, 'top')
    direct = rows(report('top', '-e', f'usdt:{program}:shop:order', '-k', 'arg1', '--', program),
                  'top')
    assert [list(r.values()) for r in mine] == [list(r.values()) for r in direct]
    assert sum(r['shop:order'] for r in mine) > 0


def test_arguments_in_both_forms(program):
    usdt('add', f'mine:a@{program}@main', '-4@%edi', '8@%rsi')
    usdt('add', f'mine:b@{program}@main+0', 'argc=%di:s32 path=+0(+0(%si)):string')
    usdt('add', f'mine:c@{program}@0x1000')
    assert {r['name']: r['arguments'] for r in of(program)} == {
        'mine:a': 'arg1=%di:s32 arg2=%si:u64',
        'mine:b': 'argc=%di:s32 path=+0(+0(%si)):string', 'mine:c': ''}
    found = report('top', '-e', 'mine:b', '-k', '{argc,path}', '--', program)
    row, = rows(found, 'top')
    assert (row['argc'], row['path']) == (1, str(program))


@pytest.mark.parametrize('args, sentence', [
    ([], 'usdt requires a command: attar usdt add, del or list'),
    (['add'], 'requires the name of a probe'),
    (['add', '/nonexistent'], '/nonexistent'),
    (['add', '/bin/true'], 'has no USDT probes'),
    (['add', '/etc/passwd'], '/etc/passwd is not an ELF file'),
    (['add', 'a:b@/bin/true@nosuchfunction'], 'nosuchfunction'),
    (['add', '/bin/true@0x10'], 'a name is required'),
    (['add', 'a:b@/bin/true@0x1000', '-4@nothing'], "cannot fetch 'nothing'"),
    (['del', 'nosuch:probe'], "no tracepoint 'nosuch:probe' was added"),
    (['del', 'nosuch'], "'nosuch' is not PROVIDER:NAME"),
])
def test_refusals(args, sentence):
    ended = run('usdt', *args)
    assert ended.returncode in (1, 2, 4), ended.stderr
    assert sentence in ended.stderr


def test_twice(program):
    usdt('add', f'shop:done@{program}')
    ended = run('usdt', 'add', f'shop:done@{program}')
    assert ended.returncode == 1
    assert "shop:done already exists: 'attar usdt del shop:done' deletes it" in ended.stderr
