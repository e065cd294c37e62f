# SPDX-License-Identifier: MIT
"""multi-trace --detail=LIST: which events around a pair are printed, on a script."""
import json

import pytest

from command import run

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
    names = [column['name'] for column in sections[0]['columns']]
    found = [dict(zip(names, row)) for row in sections[0]['rows']]
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


@pytest.mark.parametrize('words, sentence', [
    ('3,samecpu', "'3' is not one of -TIME, +TIME, 1, 2, samecpu"),
    ('-1min', "'-1min' is not one of -TIME"), ('hide<', "'hide<' is not one of"),
    ('1', '1 and 2 only select the event of the pair that others are compared with: add samecpu'),
    ('2,samekey', '1 and 2 only select the event of the pair'),
])
def test_refused(tmp_path, words, sentence):
    ended = detail(tmp_path, words)
    assert (ended.returncode, ended.stdout) == (2, '')
    assert sentence in ended.stderr
