# SPDX-License-Identifier: MIT
"""multi-trace --detail=LIST and --print-beyond: which pairs and events are printed."""
import json
import re

import pytest

from command import run
from scripts import rows_of

pytestmark = pytest.mark.quick

# The start is of thread 11 on CPU 0, the end of thread 41 on CPU 3.
SCRIPT = '''# attar script
event a:start k:int
event a:end k:int
event a:other k:int
0.999999950 1 10/11 one a:other k=9
1.000000000 0 10/11 one a:start k=1
1.000000100 0 20/21 two a:other k=9
1.000000200 1 10/11 one a:other k=9
1.000000300 1 10/12 one a:other k=9
1.000000400 2 30/31 three a:other k=1
1.000000500 3 40/41 four a:other k=9
1.000001000 3 40/41 four a:end k=1
1.000001100 3 40/41 four a:other k=9
'''
EVENTS = ['-k', 'k', '-e', 'a:start,a:other//untraced/', '-e', 'a:end']


def detail(tmp_path, words):
    script = tmp_path / 'x.script'
    script.write_text(SCRIPT)
    return run('multi-trace', '--format', 'json', '--input', script, *EVENTS, f'--detail={words}')


@pytest.mark.parametrize('words, offsets', [
    ('all', [100, 200, 300, 400, 500]),
    ('samecpu', [100, 500]), ('1,samecpu', [100]), ('samecpu,2', [500]),
    ('1,2,samecpu', [100, 500]),
    ('sametid', [200, 500]), ('1,sametid', [200]), ('2,sametid', [500]),
    ('samepid', [200, 300, 500]), ('1,samepid', [200, 300]), ('2,samepid', [500]),
    ('samekey', [400]), ('samecpu,sametid', [500]), ('1,samecpu,sametid', []),
    ('hide<150', [200, 400]), ('hide<0.15us', [200, 400]),
    ('-49,+99', [100, 200, 300, 400, 500]),
    ('-50,+100', [-50, 100, 200, 300, 400, 500, 1100]),
    ('-50ns,+0.1us,samecpu', [100, 500, 1100]), ('-1ms,+1ms,1,sametid', [-50, 200]),
])
def test_events_beside_start_and_end(tmp_path, words, offsets):
    ended = detail(tmp_path, words)
    assert ended.returncode == 0, ended.stderr
    sections = json.loads(ended.stdout.splitlines()[0])['sections']
    found = rows_of(sections[0])
    at = {row['part']: row['offset'] for row in found if row['part'] in ('start', 'end')}
    assert at == {'start': 0, 'end': 1000}
    assert [row['offset'] for row in found if row['part'] not in at] == offsets
    assert {row['part'] for row in found if row['offset'] < 0} <= {'before'}
    assert {row['part'] for row in found if row['offset'] > 1000} <= {'after'}


SWITCHES = '''# attar script
event sched:sched_switch prev_comm:char[16] prev_pid:pid_t prev_state:long next_pid:pid_t
event sched:sched_wakeup pid:pid_t
event sched:sched_wakeup_new pid:pid_t
1.000 0 0/0 swapper sched:sched_wakeup pid=7
1.001 1 8/8 b sched:sched_switch prev_pid=8 prev_state=1 next_pid=9
1.002 0 0/0 swapper sched:sched_switch next_pid=7
1.003 0 7/7 a sched:sched_switch prev_pid=7 next_pid=6
1.007 0 6/6 c sched:sched_switch prev_pid=6 prev_state=1 next_pid=7
'''


@pytest.mark.parametrize('words, lines', [
    (None, [(1, 'start', 0), (1, 'between', 1), (1, 'end', 2), (2, 'start', 0), (2, 'end', 4)]),
    ('-1ms,+1ms', [(1, 'start', 0), (1, 'between', 1), (1, 'end', 2), (1, 'after', 3),
                   (2, 'before', -1), (2, 'start', 0), (2, 'end', 4)]),
])
def test_a_switch_is_printed_once(tmp_path, words, lines):
    """Each is given to two events: as the end of a delay, and as the start of another one."""
    script = tmp_path / 'x.script'
    script.write_text(SWITCHES)
    ended = run('rundelay', '--format', 'json', '--input', script,
                f'--detail={words}' if words else '--detail')
    assert ended.returncode == 0, ended.stderr
    found = [row for line in ended.stdout.splitlines() for section in json.loads(line)['sections']
             if section['name'] == 'detail' for row in section['rows']]
    assert [(pair, part, offset / 1e6) for pair, part, _, offset, *_ in found] == lines


def test_start_and_end_have_the_same_key(tmp_path):
    outputs = [detail(tmp_path, words) for words in ('samekey', '1,samekey', 'samekey,2')]
    assert {ended.returncode for ended in outputs} == {0}
    sections = [json.loads(ended.stdout.splitlines()[0])['sections'] for ended in outputs]
    assert sections == 3 * sections[:1]


@pytest.mark.parametrize('words, sentence', [
    ('3,samecpu', "'3' is not one of -TIME, +TIME, 1, 2, samecpu"),
    ('-1min', "'-1min' is not one of -TIME"), ('hide<', "'hide<' is not one of"),
    ('1', '1 and 2 only select the event of the pair that others are compared with: add samecpu'),
    ('2,hide<1us', '1 and 2 only select the event of the pair'),
])
def test_refused(tmp_path, words, sentence):
    ended = detail(tmp_path, words)
    assert (ended.returncode, ended.stdout) == (2, '')
    assert sentence in ended.stderr


CALLS = """import os
for i in range(3):
    os.getppid()
"""


@pytest.mark.usefixtures('root')
def test_pairs_whose_later_events_do_not_come():
    """The program ends within --detail=+TIME of all its calls, which are printed then."""
    ended = run('multi-trace', '--format', 'json', '-e', 'syscalls:sys_enter_getppid',
                '-e', 'syscalls:sys_exit_getppid', '--detail=+10s', '--', '/usr/bin/python3', '-S',
                '-c', CALLS)
    assert ended.returncode == 0, ended.stderr
    lines = [row for line in ended.stdout.splitlines() for section in json.loads(line)['sections']
             if section['name'] == 'detail' for row in section['rows']]
    assert [(pair, part) for pair, part, *_ in lines if part in ('start', 'end')] == [
        (pair, part) for pair in (1, 2, 3) for part in ('start', 'end')]


# ---- --print-beyond ----

# Pairs of 1, 3 and 5 ms, and events of other keys between them.
BEYOND = '''# attar script
event a:start stack k:int
event a:end k:int
event a:other k:int
1.000 0 7/7 one a:start k=1 stack=0xffffffff81000010
1.001 1 8/8 two a:end k=1
1.002 0 7/7 one a:start k=2 stack=0xffffffff81000010
1.003 0 7/7 one a:start k=3 stack=0xffffffff81000010
1.004 0 9/9 three a:other k=2
1.005 1 8/8 two a:end k=2
1.008 1 8/8 two a:end k=3
'''


@pytest.mark.parametrize('limits, printed', [
    (['--than', '2ms'], [(1002, 1005), (1003, 1008)]), (['--than', '3ms'], [(1003, 1008)]),
    (['--lower', '2ms'], [(1000, 1001)]), (['--lower', '3ms'], [(1000, 1001)]),
    (['--than', '4ms', '--lower', '2ms'], [(1000, 1001), (1003, 1008)]),
    (['--only-than', '2ms'], [(1002, 1005), (1003, 1008)]),
    (['--only-than', '2ms', '--than', '4ms'], [(1003, 1008)]), ([], []),
    (['--than', '2ms', '--impl', 'pair'], []),
])
def test_pairs_beyond_limits(tmp_path, limits, printed):
    script = tmp_path / 'x.script'
    script.write_text(BEYOND)
    ended = run('multi-trace', '--format', 'json', '--input', script, '-k', 'k',
                '-e', 'a:start//stack/,a:other//untraced/', '-e', 'a:end', '--print-beyond',
                *limits)
    assert ended.returncode == 0, ended.stderr
    lines = [row for line in ended.stdout.splitlines() for section in json.loads(line)['sections']
             if section['name'] == 'detail' for row in section['rows']]
    times = [(part, time // 1000000) for _, part, time, *_ in lines]
    assert times == [line for start, end in printed for line in (('start', start), ('end', end))]


def test_other_events_do_not_displace_the_start_of_a_pair(tmp_path):
    """More than --detail keeps."""
    script = tmp_path / 'x.script'
    between = ''.join(f'1.004{n:06} 0 9/9 three a:other k=2\n' for n in range(70000))
    script.write_text(re.sub('1.004 .*\n', between, BEYOND))
    ended = run('multi-trace', '--input', script, '-k', 'k', '-e', 'a:start,a:other//untraced/',
                '-e', 'a:end', '--print-beyond', '--than', '4ms')
    assert ended.returncode == 0, ended.stderr
    assert re.findall(r'(start|end) +00:00:01\.', ended.stdout) == ['start', 'end']


def test_stacks_of_pairs_beyond_limits(tmp_path):
    script = tmp_path / 'x.script'
    script.write_text(BEYOND)
    words = ['multi-trace', '--input', script, '-k', 'k', '-e', 'a:start//stack/', '-e', 'a:end',
             '--than', '4ms']
    assert run(*words, '--print-beyond').stdout.count('ffffffff81000010') == 1
    assert 'ffffffff81000010' not in run(*words).stdout


RAW = '''# attar script
event raw_syscalls:sys_enter id:s64
event raw_syscalls:sys_exit stack id:s64 ret:s64
1.000 0 7/7 one raw_syscalls:sys_enter id=110
1.001 0 7/7 one raw_syscalls:sys_exit id=110 ret=6 stack=0xffffffff81000010
1.002 0 7/7 one raw_syscalls:sys_enter id=0
1.003 0 7/8 two raw_syscalls:sys_enter id=110
1.005 0 7/7 one raw_syscalls:sys_exit id=0 ret=-9 stack=0xffffffff81000020
1.008 0 7/8 two raw_syscalls:sys_exit id=110 ret=6 stack=0xffffffff81000030
'''


@pytest.mark.parametrize('limits, printed', [
    (['--than', '2ms'], [(1002, 'one', 3, 'read(0)', -9), (1003, 'two', 5, 'getppid(110)', 6)]),
    (['--lower', '2ms'], [(1000, 'one', 1, 'getppid(110)', 6)]), ([], []),
    (['--only-than', '4ms'], [(1003, 'two', 5, 'getppid(110)', 6)]),
])
def test_system_calls_beyond_limits(tmp_path, limits, printed):
    script = tmp_path / 'x.script'
    script.write_text(RAW)
    ended = run('syscalls', '--format', 'json', '--input', script, '--print-beyond', *limits)
    assert ended.returncode == 0, ended.stderr
    lines = [row for line in ended.stdout.splitlines() for section in json.loads(line)['sections']
             if section['kind'] == 'events' for row in section['rows']]
    assert [(time // 1000000, comm, ns // 1000000, call, ret)
            for time, comm, _, _, ns, call, ret in lines] == printed


def test_stacks_of_system_calls_beyond_limits(tmp_path):
    script = tmp_path / 'x.script'
    script.write_text(RAW)
    text = run('syscalls', '--input', script, '--print-beyond', '--than', '4ms', '-e',
               'raw_syscalls:sys_enter', '-e', 'raw_syscalls:sys_exit//stack/').stdout
    assert 'ffffffff81000030' in text and 'ffffffff81000020' not in text


# ---- printkey= ----

@pytest.mark.parametrize('events, heading, keys', [
    (['-e', 'a:start//key=k/printkey=printf("<%d>",key)/', '-e', 'a:end//key=k/'], 'key',
     ['<1>', '<2>', '<3>']),
    (['-e', 'a:start//key=k/', '-e', 'a:end//key=k/printkey=twice:key*2/'], 'twice',
     ['2', '4', '6']),
    (['-e', 'a:start//key=k/printkey=key*2/', '-e', 'a:end//key=k/printkey=key*3/'], 'key',
     ['2', '4', '6']),
    (['-e', 'a:start//key=k/printkey=key == 1 ? "one" : "more"/', '-e', 'a:end//key=k/'], 'key',
     ['more', 'more', 'one']),
    (['-e', 'a:start', '-e', 'a:end', '-k', 'k'], 'k', [1, 2, 3]),
])
def test_printed_keys(tmp_path, events, heading, keys):
    script = tmp_path / 'x.script'
    script.write_text(BEYOND)
    ended = run('multi-trace', '--format', 'json', '--input', script, *events, '--perins')
    assert ended.returncode == 0, ended.stderr
    table = json.loads(ended.stdout)['sections'][0]
    assert table['columns'][0]['name'] == heading
    assert sorted(row[0] for row in table['rows']) == keys


@pytest.mark.parametrize('key', [[], ['-k', '_comm']])
def test_printed_key_of_no_number(tmp_path, key):
    script = tmp_path / 'x.script'
    script.write_text(BEYOND)
    ended = run('multi-trace', '--input', script, '-e', 'a:start//printkey=key/', '-e', 'a:end',
                '--perins', *key)
    assert ended.returncode == 2 and "printkey= requires a key that is a number" in ended.stderr
