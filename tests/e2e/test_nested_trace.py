# SPDX-License-Identifier: MIT
"""attar nested-trace: call trees of scripts, and of a program with known calls."""
import json
import subprocess

import pytest

from command import run, workload
from scripts import of_script, report, rows

DECLARED = ''.join(f'event f:{f}_{what} id:u32\n' for f in 'abc' for what in ('entry', 'exit'))
EVENTS = [word for f in 'abc' for word in ('-e', f'f:{f}_entry//alias={f}/,f:{f}_exit')]
TIMES = '''1.000000000 0 7/7 w f:a_entry id=1
1.000000010 0 7/7 w f:b_entry id=1
1.000000011 0 7/7 w f:c_entry id=1
1.000000014 0 7/7 w f:c_exit id=1
1.000000020 0 7/7 w f:b_exit id=1
1.000000030 0 7/7 w f:b_entry id=1
1.000000034 0 7/7 w f:b_exit id=1
1.000000040 0 7/7 w f:c_entry id=1
1.000000045 0 7/7 w f:c_exit id=1
1.000000100 0 7/7 w f:a_exit id=1
'''


def tree(found):
    return [(r['depth'], r['call'].split('-')[-1].strip(), r['count'])
            for r in rows(found, 'calls')]


@pytest.mark.quick
def test_times_are_exact(tmp_path):
    found = of_script(tmp_path, DECLARED + TIMES, 'nested-trace', *EVENTS, '--than', '9ns')
    assert [(r['depth'], r['call'], r['count'], r['total'], r['min'], r['max'], r['self'],
             r['than']) for r in rows(found, 'calls')] == [
        (0, 'a', 1, 100, 100, 100, 81, 1), (1, '|-b', 2, 14, 4, 10, 11, 1),
        (2, '  |-c', 1, 3, 3, 3, 3, 0), (1, '|-c', 1, 5, 5, 5, 5, 0)]


@pytest.mark.quick
def test_impl_call_counts(tmp_path):
    found = of_script(tmp_path, DECLARED + TIMES, 'nested-trace', *EVENTS, '--impl', 'call')
    assert tree(found) == [(0, 'a', 1), (1, 'b', 2), (2, 'c', 1), (1, 'c', 1)]


@pytest.mark.quick
def test_impl_delay_is_by_function(tmp_path):
    found = of_script(tmp_path, DECLARED + TIMES, 'nested-trace', *EVENTS, '--impl', 'delay')
    assert {r['call']: (r['count'], r['total'], r['self']) for r in rows(found, 'calls')} == {
        'a': (1, 100, 81), 'b': (2, 14, 11), 'c': (2, 8, 8)}


@pytest.mark.quick
def test_folded(tmp_path):
    of_script(tmp_path, DECLARED + TIMES, 'nested-trace', *EVENTS, '--flame-graph',
              tmp_path / 'x.folded')
    assert sorted((tmp_path / 'x.folded').read_text().splitlines()) == [
        'a 81', 'a;b 11', 'a;b;c 3', 'a;c 5']


@pytest.mark.quick
def test_keys_are_separate(tmp_path):
    """Two requests overlap on a CPU: by id each has its own tree, by CPU they would be mixed."""
    text = DECLARED + '''1.1 0 7/7 w f:a_entry id=1
1.2 0 7/8 v f:a_entry id=2
1.3 0 7/7 w f:b_entry id=1
1.4 0 7/8 v f:a_exit id=2
1.5 0 7/7 w f:b_exit id=1
1.6 0 7/7 w f:a_exit id=1
'''
    found = of_script(tmp_path, text, 'nested-trace', *EVENTS, '-k', 'id')
    assert tree(found) == [(0, 'a', 2), (1, 'b', 1)]
    found = of_script(tmp_path, text, 'nested-trace', *EVENTS, '-k', 'id', '--perins')
    assert tree(found) == [(0, '1', None), (1, 'a', 1), (2, 'b', 1), (0, '2', None), (1, 'a', 1)]
    for expression, names in (('printf("<%d>",key)', ['<1>', '<2>']), ('key*10', ['10', '20'])):
        events = [word.replace('a_entry//', f'a_entry//printkey={expression}/') for word in EVENTS]
        found = of_script(tmp_path, text, 'nested-trace', *events, '-k', 'id', '--perins')
        assert [r[1] for r in tree(found) if r[0] == 0] == names
    found = of_script(tmp_path, text, 'nested-trace', *EVENTS, '-p', '7', '--perins')
    assert [r[1] for r in tree(found) if r[0] == 0] == ['w (7)', 'v (8)']


@pytest.mark.quick
@pytest.mark.parametrize('first, second, options, names', [
    ('/printkey=key*10/', '/printkey=key*100/', ['-k', 'id'], ['10', '20']),
    ('/untraced/printkey=key*100/', '/printkey=key*10/', ['-k', 'id'], ['10', '20']),
    ('/printkey=key == 1 ? "one" : "two"/', '', ['-k', 'id'], ['one', 'two']),
    ('/key=id/printkey=key*10/', '', ['-k', 'id'], ['10', '20']),
])
def test_printed_keys(tmp_path, first, second, options, names):
    text = DECLARED + '''1.1 0 7/7 w f:a_entry id=1
1.2 0 7/8 v f:a_entry id=2
1.4 0 7/8 v f:a_exit id=2
1.6 0 7/7 w f:a_exit id=1
'''
    events = ['-e', f'f:b_entry/{first},f:b_exit', '-e', f'f:a_entry/{second},f:a_exit']
    if 'untraced' in first:
        events[1] = f'f:b_entry/{first}'
    found = of_script(tmp_path, text, 'nested-trace', *events, *options, '--perins')
    assert [r[1] for r in tree(found) if r[0] == 0] == names


@pytest.mark.quick
@pytest.mark.parametrize('options', [[], ['-p', '7'], ['-k', '_comm'], ['-k', '{id,common_pid}']])
def test_printed_keys_are_one_number(tmp_path, options):
    path = tmp_path / 'x.script'
    path.write_text('# attar script\n' + DECLARED)
    ended = run('nested-trace', '-e', 'f:a_entry//printkey=key*10/,f:a_exit', *options, '--perins',
                '--input', path)
    assert ended.returncode == 2
    assert "'f:a_entry': printkey= requires a key that is a number: set key= to" in ended.stderr


@pytest.mark.quick
def test_missing_and_lost_events(tmp_path):
    text = DECLARED + '''1.1 0 7/7 w f:b_exit id=1
1.2 0 7/7 w f:a_entry id=1
1.3 0 7/7 w f:b_entry id=1
1.4 0 7/7 w f:a_exit id=1
1.5 0 7/7 w f:a_entry id=1
1.6 0 7/7 w lost 2
1.7 0 7/7 w f:a_exit id=1
1.8 0 7/7 w f:c_entry id=1
'''
    found = of_script(tmp_path, text, 'nested-trace', *EVENTS)
    assert tree(found) == [(0, 'a', 1)]
    assert {'1 call has not returned yet', '2 exits have no entry: it was before the start, '
            'or missed', '1 call has no exit: its caller has returned',
            '1 call was dropped, because events were lost meanwhile'} <= set(found['remarks'])


@pytest.mark.quick
def test_recursion(tmp_path):
    text = DECLARED + '''1.1 0 7/7 w f:a_entry
1.2 0 7/7 w f:a_entry
1.3 0 7/7 w f:a_exit
1.4 0 7/7 w f:a_exit
'''
    found = of_script(tmp_path, text, 'nested-trace', *EVENTS)
    assert [(r['depth'], r['total']) for r in rows(found, 'calls')] == [
        (0, 300_000_000), (1, 100_000_000)]


@pytest.mark.quick
def test_detail_and_heatmap(tmp_path):
    path = tmp_path / 'test.script'
    path.write_text('# attar script\n' + DECLARED + TIMES)
    ended = run('nested-trace', '--input', path, *EVENTS, '--detail', '--than', '5ns',
                '--heatmap', tmp_path / 'heat', '--format', 'csv')
    assert ended.returncode == 0, ended.stderr
    assert [line.split(',')[4:7] for line in ended.stdout.splitlines() if ',7,0,' in line] == [
        ['10', '1', '|-b'], ['100', '0', 'a']]
    assert (tmp_path / 'heat-c-f:c_exit.lat').read_text().split() == [
        '1000000014', '3', '1000000045', '5']


@pytest.mark.quick
@pytest.mark.parametrize('words', ['samecpu', 'sametid,samepid', 'samekey', 'all'])
def test_words_of_detail(tmp_path, words):
    """Calls are of one key, so that the words of multi-trace change nothing."""
    path = tmp_path / 'test.script'
    path.write_text('# attar script\n' + DECLARED + TIMES)
    command = ['nested-trace', '--input', path, *EVENTS, '--format', 'csv']
    assert run(*command, f'--detail={words}').stdout == run(*command, '--detail').stdout
    refused = run(*command, '--detail=samething')
    assert refused.returncode == 2
    assert "--detail: 'samething' is not one of samecpu, samepid, sametid" in refused.stderr


SAMPLES = DECLARED + '''event cpu-clock stack
event x:mark id:u32
1.000000000 0 7/7 w f:a_entry id=1
1.000000002 0 7/7 w cpu-clock stack=0x1000
1.000000003 1 7/8 v cpu-clock stack=0x1000
1.000000010 0 7/7 w f:b_entry id=1
1.000000012 0 7/7 w x:mark id=1
1.000000018 0 7/7 w cpu-clock stack=0x2000
1.000000019 0 7/7 w cpu-clock stack=0x2000
1.000000020 0 7/7 w f:b_exit id=1
1.000000030 0 7/7 w f:a_exit id=1
1.000000040 0 7/7 w cpu-clock stack=0x1000
1.000000041 0 7/7 w x:mark id=1
'''
WITHIN = ['-e', 'f:a_entry//alias=a/,f:a_exit,profile/-F 500/', '-e',
          'f:b_entry//alias=b/,f:b_exit', '-e', 'x:mark//untraced/alias=m/']


@pytest.mark.quick
def test_events_within_calls(tmp_path):
    """In the innermost call of the CPU; those outside of calls are not shown."""
    found = rows(of_script(tmp_path, SAMPLES, 'nested-trace', *WITHIN), 'calls')
    assert [(r['depth'], r['call'].strip(), r['count'], r['total'], r['self']) for r in found] == [
        (0, 'a', 1, 30, 20), (1, '|-profile', 1, None, None), (1, '|-b', 1, 10, 10),
        (2, '|-m', 1, None, None), (2, '|-profile', 2, None, None)]
    found = of_script(tmp_path, SAMPLES, 'nested-trace', *WITHIN, '--impl', 'call')
    assert tree(found) == [(0, 'a', 1), (1, 'profile', 1), (1, 'b', 1), (2, 'm', 1),
                           (2, 'profile', 2)]
    found = rows(of_script(tmp_path, SAMPLES, 'nested-trace', *WITHIN, '--impl', 'delay'), 'calls')
    assert [(r['call'], r['count']) for r in found] == [('a', 1), ('b', 1)]


@pytest.mark.quick
def test_events_within_calls_of_a_key(tmp_path):
    """By thread and by an expression; a sample without the field of -k cannot be assigned."""
    found = of_script(tmp_path, SAMPLES, 'nested-trace', *WITHIN, '-p', '7', '--perins')
    assert [r for r in tree(found) if r[1] == 'profile'] == [(2, 'profile', 1), (3, 'profile', 2)]
    marks = [word for word in WITHIN if 'mark' not in word]
    found = of_script(tmp_path, SAMPLES, 'nested-trace', '-e', 'f:b_entry,f:b_exit', *WITHIN[4:],
                      '-k', 'id')
    assert tree(found) == [(0, 'f:b_entry', 1), (1, 'm', 1)]
    path = tmp_path / 'test.script'
    path.write_text('# attar script\n' + SAMPLES)
    calls = ['-e', 'f:a_entry//alias=a/,f:a_exit', '-e', 'f:b_entry//alias=b/,f:b_exit']
    for event, sentence in (('profile//key=id/', "no such field or variable 'id'"),
                            ('x:mark//untraced/key=no/', "no such field or variable 'no'")):
        refused = run('nested-trace', '--input', path, *calls, '-e', event, '-k', 'id')
        assert refused.returncode == 2 and sentence in refused.stderr
    refused = run('nested-trace', '--input', path, *marks[:2], '-k', 'no')
    assert refused.returncode == 2 and "no such field or variable 'no'" in refused.stderr


@pytest.mark.quick
@pytest.mark.parametrize('words', [['-k', 'id'], ['-k', 'id', '-p', '7']])
@pytest.mark.parametrize('first', [False, True])
def test_events_without_the_key_are_in_the_calls_of_their_thread(tmp_path, words, first):
    """A sample of another thread on the CPU of the call is in no call."""
    text = SAMPLES.replace('1.000000003 1 7/8', '1.000000003 0 7/8')
    events = ['-e', 'f:a_entry//alias=a/,f:a_exit', '-e', 'f:b_entry//alias=b/,f:b_exit']
    profile = ['-e', 'profile/-F 500/untraced/']
    found = of_script(tmp_path, text, 'nested-trace',
                      *(profile + events if first else events + profile), *words)
    assert tree(found) == [(0, 'a', 1), (1, 'profile', 1), (1, 'b', 1), (2, 'profile', 2)]


@pytest.mark.quick
@pytest.mark.parametrize('than, expected', [
    ([], [(1, '|-profile'), (2, '  |-m'), (2, '  |-profile'), (2, '  |-profile'), (1, '|-b'),
          (0, 'a')]),
    (['--than', '9ns'], [(2, '  |-profile'), (1, '|-b'), (0, 'a')])])
def test_lines_of_events_within_calls(tmp_path, than, expected):
    """With --than, those that occur when the call has taken longer already."""
    path = tmp_path / 'test.script'
    path.write_text('# attar script\n' + SAMPLES)
    ended = run('nested-trace', '--input', path, *WITHIN, '--detail', *than, '--format', 'json')
    assert ended.returncode == 0, ended.stderr
    found = [r for line in ended.stdout.splitlines() for r in rows(json.loads(line), 'calls')
             if 'tid' in r]
    assert [(r['depth'], r['call']) for r in found] == expected


@pytest.mark.quick
def test_stacks_of_events_within_calls(tmp_path):
    path = tmp_path / 'test.script'
    path.write_text('# attar script\n' + SAMPLES)
    words = [word.replace('-F 500', '-F 500 -g') for word in WITHIN]
    plain, stacks = (
        run('nested-trace', '--input', path, *w, '--detail') for w in (WITHIN, words))
    assert [text.stdout.count(' 2000 [unknown]') for text in (plain, stacks)] == [0, 2]


@pytest.mark.quick
def test_weights_of_calls_only(tmp_path):
    """A stack has the time of the call; events within it have none."""
    of_script(tmp_path, SAMPLES, 'nested-trace', *WITHIN, '--flame-graph', tmp_path / 'x.folded')
    assert sorted((tmp_path / 'x.folded').read_text().splitlines()) == ['a 20', 'a;b 10']


@pytest.mark.usefixtures('root')
def test_hits_within_functions_of_a_program():
    """inner() is called 6 times from the 3 calls of middle(), and once from outer()."""
    program = workload('nested')
    events = [word for f in ('outer', 'middle') for word in (
        '-e', f'uprobe:{f}@"{program}"//alias={f}/,uretprobe:{f}@"{program}"')]
    events += ['-e', f'uprobe:inner@"{program}"//untraced/alias=inner/']
    found = report('nested-trace', *events, '-m', 256, '--', program, 100)
    assert tree(found) == [(0, 'outer', 100), (1, 'middle', 300), (2, 'inner', 600),
                           (1, 'inner', 100)]


@pytest.mark.usefixtures('root')
def test_three_functions_of_a_program():
    program = workload('nested')
    events = [word for f in ('outer', 'middle', 'inner') for word in (
        '-e', f'uprobe:{f}@"{program}"//alias={f}/,uretprobe:{f}@"{program}"')]
    found = report('nested-trace', *events, '-m', 256, '--', program, 100)
    assert tree(found) == [(0, 'outer', 100), (1, 'middle', 300), (2, 'inner', 600),
                           (1, 'inner', 100)]
    outer, middle, inner, direct = rows(found, 'calls')
    assert outer['self'] == outer['total'] - middle['total'] - direct['total']
    assert middle['self'] == middle['total'] - inner['total']


@pytest.mark.usefixtures('root')
@pytest.mark.parametrize('args, sentence', [
    ([], 'nested-trace needs an entry and an exit'),
    (['-e', 'profile/-F 100/'], 'nested-trace needs an entry and an exit'),
    (['-e', 'irq:softirq_entry'], 'has 1 event: give an entry and an exit'),
    (['-e', 'irq:softirq_entry,irq:softirq_entry'], 'entry and exit are the same event'),
    (['-e', 'irq:softirq_entry,irq:softirq_exit', '--impl', 'pair'],
     "'pair' is not one of delay, call, call-delay"),
    (['-e', 'irq:softirq_entry,irq:softirq_exit', '-k', 'foo'], "variable 'foo'"),
])
def test_refusals(args, sentence):
    ended = run('nested-trace', *args, '--', 'true')
    assert ended.returncode == 2, ended.stderr
    assert sentence in ended.stderr


CALLS = ['-e', 'user_events:e2e_begin,user_events:e2e_end']


def user_calls(*args):
    done = run('nested-trace', '--format', 'json', *CALLS, *args)
    assert done.returncode == 0, done.stderr
    last = json.loads(done.stdout.splitlines()[-1])
    assert not last.get('remarks')
    return rows(last, 'calls')


@pytest.mark.xdist_group('calls of programs')  # -a enables and shows those of all tests
@pytest.mark.parametrize('is_running', [True, False])
def test_events_of_a_program(spawn, is_running):
    """Each of the 20 calls lasts at least 2 ms."""
    words = [workload('emit'), 'calls', 20]
    if is_running:
        program = spawn(*words, stdout=subprocess.PIPE)
        assert program.stdout.readline().startswith(b'ready')
    found = user_calls(*(['-p', program.pid] if is_running else ['--', *words]))
    assert [(r['depth'], r['call']) for r in found] == [(0, 'user_events:e2e_begin')]
    assert found[0]['count'] == 20
    assert found[0]['min'] >= 2e6


@pytest.mark.xdist_group('calls of programs')  # -a enables and shows those of all tests
@pytest.mark.usefixtures('root')
def test_events_of_programs_without_cpu():
    """The CPU of events from shared memory is unknown: calls of programs are told by thread."""
    emit = f'{workload("emit")} calls 100'
    found = user_calls('-a', '--', 'sh', '-c', f'{emit} & {emit} & wait')
    assert [(r['depth'], r['count']) for r in found] == [(0, 200)]
    assert found[0]['min'] >= 2e6
