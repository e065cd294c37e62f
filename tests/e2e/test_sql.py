# SPDX-License-Identifier: MIT
"""attar sql: exact answers about a script, sums compared with other profilers, refused queries."""
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from command import ATTAR, BUILD, cpu_seconds, run, wait_until, workload

SCRIPT = '''# attar script
event sched:sched_wakeup comm:char[16] pid:pid_t prio:s32
event app:order price:s64 lots:u32 name:string
wall 1700000000
1.000000100 0 100/101 waker sched:sched_wakeup comm=sleeper pid=42 prio=-1
1.000000200 1 100/102 other sched:sched_wakeup comm=sleeper pid=42 prio=5
1.000000300 0 100/101 waker sched:sched_wakeup comm=worker pid=43 prio=7
2.5         0 200/200 shop app:order price=-12 lots=3 name="it's"
2.6         1 200/201 shop app:order price=30 lots=4 name=b
'''

AF_INET, AF_INET6 = (int(n).to_bytes(2, sys.byteorder).hex()
                     for n in (socket.AF_INET, socket.AF_INET6))

LOOPBACK = int.from_bytes(bytes([127, 0, 0, 1]), sys.byteorder)

# Received by the softirq NET_RX.
DATAGRAMS = '''
import socket
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
    one.bind(('127.0.0.1', 0))
    for _ in range(100):
        one.sendto(b'x', one.getsockname())
        one.recv(1)
'''

pytestmark = pytest.mark.skipif(
    'sql_db.c' not in (BUILD / 'build.ninja').read_text(), reason='attar is built without SQLite')


@pytest.fixture
def script(tmp_path):
    path = tmp_path / 'events.script'
    path.write_text(SCRIPT)
    return path


def report(*args):
    ended = run('sql', '--format', 'json', *args)
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout.splitlines()[-1])


def answers(*args):
    """The rows of each query."""
    return [section['rows'] for section in report(*args)['sections']]


def query(script, text, *args):
    return answers('--input', script, '--query', text, '--verify', *args)


def test_first_value_decides_the_unit_of_a_column(script):
    text = ('SELECT NULL AS a, 1 AS b, NULL AS c UNION ALL SELECT 5, 2, NULL '
            'UNION ALL SELECT 7.5, 3, 0')
    table, = report('--input', script, '--query', text)['sections']
    assert [c['unit'] for c in table['columns']] == ['count', 'count', 'count']
    assert table['rows'] == [[None, 1, None], [5, 2, None], [7.5, 3, 0]]


def test_numbers_in_a_column_that_begins_with_text(script):
    text = "SELECT 'x' AS a UNION ALL SELECT 5 UNION ALL SELECT 7.5 UNION ALL SELECT '5'"
    assert query(script, text) == [[['x'], [5], [7.5], ['5']]]


def test_fields_and_common_columns(script):
    """A field has its name; the common column of that name begins with '_'."""
    assert query(script, 'SELECT time - 1700000000000000000, cpu, _pid, tid, _comm, comm, pid,'
                         ' prio FROM sched_wakeup') == [[
        [1000000100, 0, 100, 101, 'waker', 'sleeper', 42, -1],
        [1000000200, 1, 100, 102, 'other', 'sleeper', 42, 5],
        [1000000300, 0, 100, 101, 'waker', 'worker', 43, 7]]]
    assert query(script, 'SELECT cpu, pid, tid, comm, price, lots, name FROM "order"') == [[
        [0, 200, 200, 'shop', -12, 3, "it's"], [1, 200, 201, 'shop', 30, 4, 'b']]]


def test_aggregates_joins_and_several_statements(script):
    assert query(script, 'SELECT comm, count(*), sum(prio) FROM sched_wakeup GROUP BY 1 ORDER BY 1'
                         ';'
                         'SELECT count(*) FROM sched_wakeup w, "order" o WHERE w.cpu = o.cpu;'
                         'WITH RECURSIVE c(x) AS'
                         ' (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 9)'
                         ' SELECT sum(x) FROM c;') == [
        [['sleeper', 2, 4], ['worker', 1, 7]], [[3]], [[45]]]


@pytest.mark.parametrize('columns, is_grouped', [
    ('comm', True), ('prio, comm', True), ('_comm', True), ('cpu, tid, pid', True),
    ('time', False), ('stack', False), ('comm, tid, pid, prio, cpu', False), ('prio / 2', False)])
def test_groups_without_sorting(script, columns, is_grouped):
    """The order of the groups is that of ordinary tables, with which --verify compares."""
    text = f'SELECT {columns}, count(*), sum(prio), max(_pid) FROM sched_wakeup GROUP BY {columns}'
    query(script, text)
    plan, = query(script, f'EXPLAIN QUERY PLAN {text}')
    assert ('in groups of ' in plan[0][3]) is is_grouped
    assert ('in order of time; ' in plan[0][3]) is (columns == 'time')
    assert ('USE TEMP B-TREE FOR GROUP BY' in str(plan)) is not (is_grouped or columns == 'time')


def test_many_groups_with_null_and_empty_values(tmp_path):
    path = tmp_path / 'groups.script'
    path.write_text('# attar script\nevent a:b n:s64 s:string\n' + ''.join(
        f'1.{i:09d} 0 {i % 7}/{i % 11} c{i % 3} a:b n={i * 7919 % 5003 - 2500}'
        f' s={"" if i % 5 else "x" * (i % 23)}\n' for i in range(20000)))
    for columns in 'n', 's', 's, n', 'comm, pid, tid, s':
        query(path, f'SELECT {columns}, count(*), sum(n), min(time) FROM b GROUP BY {columns}')
    assert query(path, 'SELECT max(c) FROM (SELECT count(*) c FROM b GROUP BY n)') == [[[4]]]


def test_row_numbers_are_those_of_time(script):
    rows, = query(script, 'SELECT comm, max(rowid) FROM sched_wakeup GROUP BY comm')
    assert rows == [['sleeper', 2], ['worker', 3]]


def test_no_rows(script):
    assert query(script, 'SELECT tid FROM sched_wakeup WHERE prio > 99') == [[]]


def test_functions(script):
    number = {'x86_64': 39, 'aarch64': 172}[os.uname().machine]
    assert query(script, f'SELECT syscall_name({number}), syscall_name(NULL)') == [
        [['getpid', None]]]


@pytest.mark.parametrize('call, text', [
    ("ipv4_str('{127,0,0,1}')", '127.0.0.1'), ("ipv4_str(x'0a000001')", '10.0.0.1'),
    (f'ipv4_str({LOOPBACK})', '127.0.0.1'),
    (f"ipv4_hstr(x'{(0x0a000001).to_bytes(4, sys.byteorder).hex()}')", '10.0.0.1'),
    (f"ipv6_str(x'{'00' * 15}01')", '::1'), ("mac_str('{1,2,255,4,5,6}')", '01:02:ff:04:05:06'),
    (f"ipsa_str(x'{AF_INET}0050c0a80001{'00' * 8}')", '192.168.0.1:80'),
    (f"ipsa_str(x'{AF_INET6}1f90{'00' * 19}01{'00' * 4}')", '[::1]:8080'),
    ("uuid_str(x'00112233445566778899aabbccddeeff')", '00112233-4455-6677-8899-aabbccddeeff'),
    ("guid_str(x'00112233445566778899aabbccddeeff')", '33221100-5544-7766-8899-aabbccddeeff'),
    ("ipv4_str('127.0.0.1')", None), ("ipv4_str('{1,2}')", None), ("mac_str(x'')", None),
    ('ipv4_str(NULL)', None), ("ipsa_str('{1,2}')", None),
    ('error_name(2)', 'ENOENT'), ('error_name(-2)', 'ENOENT'), ('error_name(0)', ''),
    ('error_name(-300000)', '-300000'), ('error_name(300000)', '300000'),
    ('signal_name(15)', 'SIGTERM'), ('tcp_state(1)', 'ESTABLISHED'),
    ('usymbol(NULL, 1)', None), ('usymbol(4096, 1)', '0x1000')])
def test_names_and_addresses(script, call, text):
    assert query(script, f'SELECT {call}') == [[[text]]]


@pytest.mark.usefixtures('root')
def test_symbolic_names_of_the_kernel(tmp_path):
    """The same names as in the text of the event, of each softirq that happened."""
    path = tmp_path / 'softirq.data'
    ended = run('record', '-q', '-o', path, '-a', '-e', 'irq:softirq_entry,irq:softirq_exit', '--',
                sys.executable, '-c', DATAGRAMS)
    assert ended.returncode == 0, ended.stderr
    rows, = answers('--input', path, '-e', 'irq:softirq_entry', '--query', """
        SELECT symbolic('vec', vec), symbolic('Softirq_Entry.vec', vec), text FROM softirq_entry;
        """)
    assert 'NET_RX' in {name for name, _, _ in rows}
    for name, same, text in rows:
        assert name == same and f'[action={name}]' in text
    assert answers('--input', path, '-e', '*:*', '--query', "SELECT symbolic('vec', 1), "
                   "symbolic('vec', 99), symbolic('vec', NULL)") == [[['TIMER', '0x63', None]]]


@pytest.mark.usefixtures('root')
def test_symbolic_names_of_flags():
    rows, = answers('-e', 'sched:sched_switch', '-d', '10ms', '--query',
                    "SELECT symbolic('prev_state', 1), symbolic('prev_state', 2),"
                    " symbolic('prev_state', 0), symbolic('prev_state', 256)")
    assert rows == [['S', 'D', 'R', 'R+']]


@pytest.mark.usefixtures('root')
def test_symbolic_names_of_states():
    """The same as in the text of each switch, in which runnable threads have no flags."""
    rows, = answers('-a', '-e', 'sched:sched_switch', '--query',
                    'SELECT DISTINCT symbolic(prev_state), prev_state, text FROM sched_switch',
                    '--', sys.executable, '-c', DATAGRAMS)
    assert 'R' in {name for name, _, _ in rows}
    assert all(f' prev_state={name} ==> ' in text for name, _, text in rows)


@pytest.mark.usefixtures('root')
def test_symbolic_names_without_flags():
    """The print format has (REC->gfp_flags) ? __print_flags(...) : "none"."""
    rows, = answers('-e', 'kmem:kmalloc', '-d', '10ms', '--query',
                    "SELECT symbolic('gfp_flags', 0)")
    assert rows == [['none']]


@pytest.mark.usefixtures('root')
def test_functions_of_the_kernel():
    """Named as in /proc/kallsyms, at any address of their code; SQL has no unsigned numbers."""
    with open('/proc/kallsyms', encoding='utf-8') as lines:
        start = next(int(at, 16) for at, _, name, *_ in map(str.split, lines) if name == 'schedule')
    rows, = answers('-e', 'sched:sched_switch', '-d', '10ms', '--query',
                    f'SELECT ksymbol({start - 2 ** 64}), ksymbol({start + 4 - 2 ** 64}),'
                    ' ksymbol(4096), ksymbol(NULL)')
    assert rows == [['schedule', 'schedule', '0x1000', None]]


def test_symbolic_of_an_unknown_field(script):
    ended = run('sql', '--input', script, '--query', "SELECT symbolic('prio', 3)")
    assert ended.returncode == 2
    assert "symbolic(): the kernel has no names for the values of 'prio'" in ended.stderr


def test_hidden_columns(script, tmp_path):
    """'*' does not include them; a stack has its outermost frame first."""
    rows, = query(script, 'SELECT text, stack FROM sched_wakeup WHERE prio = 5')
    assert rows == [['comm=sleeper pid=42 prio=5', None]]
    path = tmp_path / 'stacks.script'
    path.write_text('# attar script\nevent a:b n:u8 stack text:u8\n'
                    '1 0 1/1 x a:b n=1 text=7 stack=0x1000,0x2000\n')
    assert query(path, 'SELECT stack, text, n FROM b; SELECT * FROM b WHERE stack IS NULL') == [
        [['[unknown]', 7, 1]], []]


def test_alias_and_second_table_of_a_name(script):
    events = 'sched:sched_wakeup,sched:sched_wakeup/prio > 0/,app:order//alias=sales/'
    assert answers('--input', script, '-e', events, '--query',
                   'SELECT count(*) FROM sched_wakeup; SELECT count(*) FROM sales') == [
        [[3]], [[2]]]


def test_explain_lists_the_columns_that_are_read(script):
    plan, = query(script, 'EXPLAIN QUERY PLAN SELECT sum(lots) FROM "order" WHERE price > 0')
    assert plan[0][3].endswith('reads price, lots')


def kept(*args):
    """By table: whether the kernel or attar filters, and which events are kept."""
    section = [s for s in report('--explain', *args)['sections'] if s['name'] == 'events']
    return {row[0]: tuple(row[1:]) for row in section[0]['rows']}


@pytest.mark.parametrize('text, wakeups', [
    ('SELECT 1 FROM sched_wakeup', None),
    ("SELECT 1 FROM sched_wakeup WHERE comm = 'sleeper'", '(comm == "sleeper")'),
    ('SELECT 1 FROM sched_wakeup WHERE prio BETWEEN -1 AND 5', '(prio >= -1 && prio <= 5)'),
    # each statement is one alternative
    ('SELECT 1 FROM sched_wakeup WHERE prio = 5; SELECT 1 FROM sched_wakeup WHERE prio < 0',
     '(prio == 5) || (prio < 0)'),
    ('SELECT 1 FROM sched_wakeup WHERE prio = 5; SELECT count(*) FROM sched_wakeup', None),
    # a join needs all rows of one of its tables
    ('SELECT 1 FROM sched_wakeup a, sched_wakeup b WHERE b.prio = 5 AND a.pid = b.pid', None),
    ('SELECT 1 FROM sched_wakeup a JOIN "order" ON a.prio = 5', '(prio == 5)'),
    ('SELECT 1 FROM sched_wakeup a LEFT JOIN "order" ON a.prio = 5', None),
    ('SELECT 1 FROM "order" LEFT JOIN sched_wakeup ON prio = 5', '(prio == 5)'),
    ('SELECT (SELECT count(*) FROM sched_wakeup WHERE prio = 5), (SELECT count(*) FROM'
     ' sched_wakeup WHERE pid = 43)', '(prio == 5) || (pid == 43)'),
    # what the filter language cannot express, or not as SQLite does
    ("SELECT 1 FROM sched_wakeup WHERE comm LIKE 'sl_ep%'", None),
    ("SELECT 1 FROM sched_wakeup WHERE comm NOT LIKE 'sleep%'", None),
    ("SELECT 1 FROM sched_wakeup WHERE comm LIKE 'sleep%' ESCAPE 'l'", None),
    ("SELECT 1 FROM sched_wakeup WHERE comm = 'SLEEPER' COLLATE NOCASE", None),
    ("""SELECT 1 FROM sched_wakeup WHERE comm = 'quote"d'""", None),
    ("SELECT 1 FROM sched_wakeup WHERE prio > 'text'", None),
    ('SELECT 1 FROM sched_wakeup WHERE prio < 3000000000', None),
    ('SELECT 1 FROM sched_wakeup WHERE prio + 1 = 6', None),
    ('SELECT 1 FROM sched_wakeup WHERE prio = 5 OR tid = 102', None),
    ('SELECT 1 FROM sched_wakeup WHERE prio = 5 OR prio + 1 = 6', None),
    ('SELECT 1 FROM sched_wakeup WHERE NOT (prio = 5 AND tid = 102)', None),
    ('SELECT 1 FROM sched_wakeup WHERE prio BETWEEN 1 AND 3 + 4', '(prio >= 1)'),
    ('SELECT 1 FROM sched_wakeup WHERE prio = 5 = 1', None),
    ('SELECT 1 FROM sched_wakeup WHERE prio IN (5, pid)', None),
    # lists, patterns, alternatives
    ('SELECT 1 FROM sched_wakeup WHERE prio IN (5, 7, -3)',
     '(prio == 5 || prio == 7 || prio == -3)'),
    ('SELECT 1 FROM sched_wakeup WHERE prio NOT IN (5, 7)', '(prio != 5 && prio != 7)'),
    ("SELECT 1 FROM sched_wakeup WHERE comm IN ('worker', 'x')",
     '(comm == "worker" || comm == "x")'),
    ("SELECT 1 FROM sched_wakeup WHERE comm LIKE '%EP%'", '(comm ~ "*[eE][pP]*")'),
    ("SELECT 1 FROM sched_wakeup WHERE comm GLOB 'sl*r'", '(comm ~ "sl*r")'),
    # longer than the field
    ("SELECT 1 FROM sched_wakeup WHERE comm = '0123456789abcdef'", None),
    ("SELECT 1 FROM sched_wakeup WHERE comm != '0123456789abcdef' AND prio = 5", '(prio == 5)'),
    ("SELECT 1 FROM sched_wakeup WHERE comm LIKE '%0123456789abcdef'", None),
    ("SELECT 1 FROM sched_wakeup WHERE comm GLOB '*0123456789abcde'",
     '(comm ~ "*0123456789abcde")'),
    ('SELECT 1 FROM sched_wakeup WHERE prio = 5 OR pid = 43', '(prio == 5 || pid == 43)'),
    ('SELECT 1 FROM sched_wakeup WHERE NOT (prio = 5 OR pid = 43)', '(prio != 5 && pid != 43)'),
    ('SELECT 1 FROM sched_wakeup WHERE NOT (prio > 4 AND pid = 43)', '(prio <= 4 || pid != 43)'),
    ('SELECT 1 FROM sched_wakeup WHERE (prio = 5 OR prio = 7) AND tid > 0 AND pid != 1',
     '((prio == 5 || prio == 7) && pid != 1)'),
    ('SELECT 1 FROM sched_wakeup WHERE prio NOT BETWEEN 0 AND 6 AND pid < 0x2b',
     '((prio < 0 || prio > 6) && pid < 43)'),
    ('SELECT 1 FROM sched_wakeup WHERE tid BETWEEN 1 AND 9 OR prio = 5', None),
    # the number of a row depends on the rows before it
    ('SELECT rowid FROM sched_wakeup WHERE prio = 5', None),
    ('EXPLAIN QUERY PLAN SELECT 1 FROM sched_wakeup WHERE prio = 5', '(prio == 5)')])
def test_events_that_no_query_needs_are_dropped(script, text, wakeups):
    """The results stay the same: --verify compares with tables of all events."""
    args = ('--input', script, '-e', '*:*', '--query', text)
    assert kept(*args)['sched_wakeup'] == (('attar', wakeups) if wakeups else ('-', 'all'))
    assert answers(*args) == answers(*args, '--verify')


def is_computed_early(*args):
    """Whether attar computes the groups while events arrive."""
    plan, = [s['rows'] for s in report('--explain', *args)['sections']
             if s['name'] == 'plan of query 1']
    return any('computed while events arrive' in row[0] for row in plan)


@pytest.mark.parametrize('text', [
    'SELECT count(*) FROM sched_wakeup',
    'SELECT count(*), sum(prio), min(prio), max(prio), avg(prio), total(prio) FROM sched_wakeup',
    'SELECT count(comm), count(*) AS n FROM sched_wakeup WHERE prio < -5',
    'SELECT sum(prio), avg(prio), total(prio), max(prio) FROM sched_wakeup WHERE prio < -5',
    'SELECT comm, count(*) FROM sched_wakeup WHERE prio < -5 GROUP BY comm',
    'SELECT comm, COUNT ( * ), Max(prio) - 1 FROM sched_wakeup GROUP BY comm',
    'SELECT comm AS c, sum(pid) s FROM sched_wakeup GROUP BY c ORDER BY s DESC, 1',
    'SELECT upper(comm), _comm FROM sched_wakeup GROUP BY 2, comm LIMIT 2 OFFSET 1',
    'SELECT tid, count(*) FROM sched_wakeup GROUP BY tid HAVING count(*) > 1 ORDER BY tid',
    'SELECT tid, count(*) FROM sched_wakeup GROUP BY tid HAVING count(*) > 1.5e-1',
    'SELECT cpu, printf(\'%d of %d\', min(pid), max(pid)) FROM sched_wakeup GROUP BY cpu',
    'SELECT CASE WHEN count(*) > 1 THEN comm ELSE max(pid) END FROM sched_wakeup GROUP BY comm',
    "SELECT comm, count(*) FROM sched_wakeup WHERE comm LIKE 'S%' OR prio IN (7, 8) GROUP BY 1",
    'SELECT comm /* names */, 2 * count(*) -- twice\n FROM sched_wakeup GROUP BY comm;',
    'SELECT min(cpu), max(tid), sum(period) FROM sched_wakeup; SELECT sum(prio) FROM sched_wakeup'
    ' WHERE prio > 5; SELECT comm FROM sched_wakeup'])
def test_groups_that_are_computed_while_events_arrive(script, text):
    """--verify compares each with the result of an ordinary table."""
    args = ('--input', script, '-e', 'sched:*', '--query', text)
    assert is_computed_early(*args)
    assert answers(*args) == answers(*args, '--verify')


@pytest.mark.parametrize('text', [
    'SELECT comm, prio, count(*) FROM sched_wakeup GROUP BY comm',
    'SELECT max(prio), comm FROM sched_wakeup',
    'SELECT comm, count(*) FROM sched_wakeup GROUP BY upper(comm)',
    'SELECT count(DISTINCT comm) FROM sched_wakeup',
    'SELECT DISTINCT comm, count(*) FROM sched_wakeup GROUP BY pid',
    'SELECT group_concat(comm) FROM sched_wakeup GROUP BY comm',
    'SELECT max(prio, pid), count(*) FROM sched_wakeup GROUP BY prio, pid',
    'SELECT sum(prio + 1) FROM sched_wakeup',
    'SELECT max(comm) FROM sched_wakeup',
    'SELECT count(*) FILTER (WHERE prio > 0) FROM sched_wakeup',
    'SELECT comm, count(*) OVER () FROM sched_wakeup GROUP BY comm',
    'SELECT count(*) FROM sched_wakeup WHERE tid = 101',
    'SELECT count(*) FROM sched_wakeup WHERE prio + 1 = 6 AND pid = 42',
    'SELECT count(*) FROM sched_wakeup w WHERE w.prio = 5',
    'SELECT count(*) FROM sched_wakeup a, sched_wakeup b',
    'SELECT rowid, count(*) FROM sched_wakeup GROUP BY comm',
    'SELECT comm FROM sched_wakeup',
    'SELECT count(*) FROM sched_wakeup HAVING count(*) > 9',
    'SELECT count(*) FROM sched_wakeup WHERE prio > (SELECT min(prio) FROM sched_wakeup)',
    'SELECT count(*) FROM sched_wakeup UNION ALL SELECT 1',
    'SELECT "comm", count(*) FROM sched_wakeup GROUP BY prio'])
def test_queries_that_sqlite_computes(script, text):
    args = ('--input', script, '-e', 'sched:*', '--query', text)
    assert not is_computed_early(*args)
    assert answers(*args) == answers(*args, '--verify')


def test_groups_have_the_names_and_types_of_the_query(script):
    section, = report('--input', script, '--query', 'SELECT comm, COUNT(*), sum(prio)/2 AS half,'
                      ' max( pid )+1 FROM sched_wakeup GROUP BY comm')['sections']
    assert [c['name'] for c in section['columns']] == ['comm', 'COUNT(*)', 'half', 'max( pid )+1']
    assert [c['unit'] for c in section['columns']] == ['text', 'count', 'count', 'count']


def test_a_sum_that_is_too_large(tmp_path):
    path = tmp_path / 'large.script'
    path.write_text('# attar script\nevent app:big n:s64\n'
                    + f'1 0 1/1 a app:big n={2 ** 63 - 1}\n' * 2)
    ended = run('sql', '--input', path, '--query', 'SELECT sum(n) FROM big')
    assert ended.returncode == 2 and 'integer overflow' in ended.stderr
    assert query(path, 'SELECT max(n), count(n) FROM big') == [[[2 ** 63 - 1, 2]]]


def test_many_groups_are_limited_by_the_window(tmp_path):
    path = tmp_path / 'many.script'
    path.write_text('# attar script\nevent app:big n:s64\n' + ''.join(
        f'{1 + i // 1000}.{i % 1000:03d} 0 1/1 a app:big n={i}\n' for i in range(30000)))
    text = 'SELECT n, count(*) FROM big GROUP BY n'
    (found,) = answers('--input', path, '--query', text)
    assert found == [[i, 1] for i in range(30000)]
    ended = run('sql', '--input', path, '--window', '1M', '--query', text)
    assert ended.returncode == 1
    assert ('groups in statement 1: their memory is limited by --window, which is 1048576 bytes'
            in ended.stderr)


def test_groups_of_each_interval(tmp_path):
    path = tmp_path / 'two.script'
    path.write_text('# attar script\nevent app:big n:s64\n' + ''.join(
        f'{second}.5 0 1/1 a app:big n={second}\n' * second for second in (1, 2, 3)))
    ended = run('sql', '--format', 'json', '--input', path, '-i', '1s', '--query',
                'SELECT n, count(*) FROM big GROUP BY n')
    assert ended.returncode == 0, ended.stderr
    found = [s['rows'] for line in ended.stdout.splitlines()
             for s in json.loads(line)['sections'] if s['name'] == 'query 1']
    assert [rows for rows in found if rows] == [[[1, 1]], [[2, 2]], [[3, 3]]]


def test_largest_unsigned_numbers_are_negative_in_sql(tmp_path):
    path = tmp_path / 'large.script'
    path.write_text('# attar script\nevent app:big n:u64\n1 0 1/1 a app:big n=5\n'
                    f'2 0 1/1 a app:big n={2 ** 64 - 1}\n')
    for where, n in [('n < 9', 2), ('n > 4', 1), ('n = -1', 1), ('n != -1', 1), ('n >= -1', 2)]:
        assert query(path, f'SELECT count(*) FROM big WHERE {where}') == [[[n]]]


NAMES = '''# attar script
event t:e a:u64 n:s64
1.1 0 100/100 5 t:e a=5 n=-9223372036854775808
1.2 0 100/100 5 t:e a=5 n=2
1.3 0 100/100 5 t:e a=5 n=3
1.4 0 101/102 y t:e a=0xffffffffffffffff n=4
1.5 0 101/102 y t:e a=0xffffffffffffffff n=5
'''


@pytest.mark.parametrize('where, n', [
    ('a = 0xffffffffffffffff', 2), ('a = 0x0ffffffffffffffff', 2), ('a = -1', 2), ('a = -0x1', 2),
    ('a IN (0xffffffffffffffff, 3)', 2), ('a != 0xffffffffffffffff', 3),
    ('a = 18446744073709551615', 0), ('a = 00000000000000000000005', 3),
    ('n >= -9223372036854775808', 5), ('n = 0x8000000000000000', 1), ('n < 9223372036854775808', 5),
    ('n BETWEEN 0x8000000000000000 AND 2', 2), ('n > 0xfffffffffffffffe', 4)])
def test_numbers_are_read_as_by_sqlite(tmp_path, where, n):
    path = tmp_path / 'names.script'
    path.write_text(NAMES)
    assert query(path, f'SELECT count(*) FROM e WHERE {where}') == [[[n]]]
    rows, = query(path, f'SELECT n FROM e WHERE {where}')
    assert len(rows) == n


@pytest.mark.parametrize('text, rows', [
    ('SELECT pid, sum(a) a FROM e GROUP BY pid HAVING a > 4', [[100, 15]]),
    ('SELECT pid, max(a) AS tid FROM e GROUP BY pid HAVING tid > 100', [[101, -1]]),
    ('SELECT pid, -count(*) AS a FROM e GROUP BY pid ORDER BY -a', [[100, -3], [101, -2]]),
    ('SELECT pid, -count(*) AS a FROM e GROUP BY pid ORDER BY coalesce(NULL, a, 1)',
     [[101, -2], [100, -3]]),
    ('SELECT tid, count(*) AS comm FROM e GROUP BY tid HAVING comm = 3', []),
    ('SELECT tid ISNULL, count(*) FROM e GROUP BY 1', [[0, 5]]),
    ('SELECT tid, count(*) FROM e GROUP BY 1.5', [[100, 5]]),
    ('SELECT pid, count(*) FROM e WHERE a >= -1 GROUP BY pid ORDER BY pid DESC',
     [[101, 2], [100, 3]])])
def test_names_and_order_are_those_of_sqlite(tmp_path, text, rows):
    """Where a name is that of a column and of an item, among others."""
    path = tmp_path / 'names.script'
    path.write_text(NAMES)
    assert query(path, text) == [rows]
    assert not is_computed_early('--input', path, '--query', text)


def test_names_of_items_that_are_columns_are_computed_early(tmp_path):
    """As a term of ORDER BY, such a name is that of the item."""
    path = tmp_path / 'names.script'
    path.write_text(NAMES)
    text = 'SELECT pid, sum(a) AS a, count(n) n FROM e GROUP BY pid ORDER BY a, n DESC LIMIT 5'
    assert is_computed_early('--input', path, '--query', text)
    assert query(path, text) == [[[101, -2, 2], [100, 15, 3]]]


def test_functions_have_no_affinity(tmp_path):
    """The text of the column is compared with the number as a text."""
    path = tmp_path / 'names.script'
    path.write_text(NAMES)
    text = 'SELECT comm, max(a) FROM e GROUP BY comm HAVING comm = max(a)'
    assert is_computed_early('--input', path, '--query', text)
    assert query(path, text) == [[['5', 5]]]


def test_aggregate_with_a_condition_beside_other_statements(script):
    """Its condition is not that of the table, which has all events."""
    others = ' UNION ALL '.join(
        f'SELECT count(*) FROM sched_wakeup WHERE prio = {i}' for i in range(70))
    one, more = answers('--input', script, '--query',
                        f'SELECT count(*) FROM sched_wakeup WHERE prio > 5; {others}')
    assert one == [[1]] and sum(n for n, in more) == 2


@pytest.fixture
def ties(tmp_path):
    path = tmp_path / 'ties.script'
    path.write_text('# attar script\nevent t:e n:s32\n' + ''.join(
        f'1.{i:06d} {i % 2} {c}/{c} c{c:02d} t:e n={i * 7 % 5}\n'
        for i in range(150) for c in [100 + i * i % 31]))
    return path


@pytest.mark.parametrize('text', [
    'SELECT comm, count(*) AS count FROM e GROUP BY comm ORDER BY count DESC',
    'SELECT comm, count(*) FROM e GROUP BY comm ORDER BY count(*) DESC LIMIT 5 OFFSET 1',
    'SELECT comm, count(*) FROM e GROUP BY comm ORDER BY 2, max(n) LIMIT 1, 5',
    'SELECT n, count(*) FROM e GROUP BY n ORDER BY count(*) % 2 DESC',
    'SELECT a.n, b.n, a.comm FROM e a JOIN e b ON a.n = b.n + 1 WHERE b.cpu = 1',
    'SELECT a.n, b.n, a.comm FROM e a JOIN e b ON a.n = b.n + 1 WHERE b.cpu = 1 LIMIT 7',
    'SELECT a.n, b.n, b.comm FROM e a, e b WHERE b.cpu = 1 ORDER BY a.n LIMIT 9 OFFSET 9000',
    'SELECT a.n, b.n, b.comm FROM e a, e b WHERE b.cpu = 1 ORDER BY a.n LIMIT 9000, 9',
    'SELECT a.n, a.comm x FROM e a JOIN e b ON a.n = b.n + 1 WHERE b.cpu = 1 ORDER BY b.comm, x',
    'SELECT a.n x FROM e a, e b WHERE a.n > b.n AND b.cpu = 1 UNION ALL SELECT 1 ORDER BY x'])
def test_rows_with_equal_keys_are_verified_as_a_set(ties, text):
    """Their order is not defined, and differs between the tables."""
    found = report('--input', ties, '--verify', '--query', text)
    assert 'verified: the results equal those of ordinary tables"' in json.dumps(found)


def test_an_order_that_is_not_compared(ties):
    """The key has the name of an item: the rows are compared as a set, and the report says so."""
    found = report('--input', ties, '--verify', '--query', 'SELECT 1; SELECT a.n AS x, b.n, a.comm '
                   'FROM e a JOIN e b ON a.n = b.n + 1 WHERE b.cpu = 1 ORDER BY -x')
    assert 'but the order of the rows of query 2 was not compared' in json.dumps(found)


def test_verified_sets_have_each_row_as_often(ties):
    """150 numbers below 8: all of them are in both results, but hardly ever as often."""
    ended = run('sql', '--input', ties, '--verify', '--query', 'SELECT abs(random()) % 8 FROM e')
    assert ended.returncode == 1 and '--verify: row 1 of the result differs' in ended.stderr


def test_metadata_of_stacks(script, tmp_path):
    """A recording has them or not, whatever the options ask for."""
    text = 'SELECT has_stack FROM event_metadata'
    assert query(script, f"{text} WHERE table_name = 'sched_wakeup'") == [[[0]]]
    assert answers('--input', script, '-g', '--query', text) == [[[0], [0]]]
    path, db = tmp_path / 'x.script', tmp_path / 'x.db'
    path.write_text('# attar script\nevent a:b stack n:int\nevent a:c n:int\n'
                    '1.0 0 1/1 a a:b n=1 stack=0xffffffff81000010\n1.1 0 1/1 a a:c n=1\n')
    for options in ([], ['-g'], ['-e', 'a:b//stack/,a:c//stack/'], ['--output2', db]):
        assert answers('--input', path, *options, '--query', text) == [[[1], [0]]], options
    with sqlite3.connect(db) as stored:
        assert stored.execute(text).fetchall() == [(1,), (0,)]


@pytest.mark.parametrize('text, row', [
    ('SELECT random()', 1), ('SELECT prio, random() FROM sched_wakeup ORDER BY prio DESC', 1),
    ('SELECT prio, iif(prio = 7, random(), 0) FROM sched_wakeup ORDER BY prio', 3)])
def test_verify_finds_what_differs(script, text, row):
    ended = run('sql', '--input', script, '--verify', '--query', text)
    assert ended.returncode == 1
    assert ended.stderr == (f'attar: --verify: row {row} of the result differs from the result of '
                            'ordinary tables\n')


def test_verify_finds_another_order(ties):
    ended = run('sql', '--input', ties, '--verify', '--query', 'SELECT n FROM e ORDER BY random()')
    assert ended.returncode == 1 and '--verify: row ' in ended.stderr


def test_verify_counts_rows(script):
    """Both executions have another limit."""
    ended = run('sql', '--input', script, '--verify', '--query', 'WITH RECURSIVE c(x) AS (SELECT 1 '
                'UNION ALL SELECT x + 1 FROM c WHERE x < 100000) SELECT 1 FROM c '
                'LIMIT abs(random() % 100000)')
    assert ended.returncode == 1 and '--verify: row ' in ended.stderr


def test_verify_is_off_with_output2(script, tmp_path):
    for query_text in [], ['--query', 'SELECT random() FROM sched_wakeup']:
        found = report('--input', script, '--verify', '--output2', tmp_path / 'x.db', *query_text)
        assert 'not verified: with --output2, SQLite alone computes' in json.dumps(found)


# ---- the names of perf-prof ----

def test_system_columns(tmp_path):
    """They exist in every table; '*' has each value once; fields keep their names."""
    path = tmp_path / 'names.script'
    path.write_text("""# attar script
event t:plain n:u8
event t:own pid:u8 comm:string cpu:u8 Time:u8
event t:odd _pid:u8 a:u8 A:u8
1.5 1 100/101 sh t:plain period=7 n=1
1.5 1 100/101 sh t:own period=7 pid=9 comm=field cpu=3 Time=4
1.5 1 100/101 sh t:odd _pid=5 a=6 A=7
""")
    system = [100, 101, 1500000000, 1, 7, 'sh']
    names = '_pid, _tid, _time, _cpu, _period, _comm'
    assert query(path, f'SELECT {names} FROM plain; SELECT {names} FROM own') == [[system]] * 2
    assert query(path, 'SELECT pid, comm, cpu, Time FROM own') == [[[9, 'field', 3, 4]]]
    assert query(path, 'SELECT * FROM plain; SELECT * FROM own; SELECT * FROM odd') == [
        [[1500000000, 1, 100, 101, 'sh', 7, 0, 0, 1]],
        [[1500000000, 1, 100, 101, 'sh', 7, 0, 0, 9, 'field', 3, 4]],
        [[1500000000, 1, 100, 101, 'sh', 1, 0, 0, 5, 6, 7]]]
    assert query(path, 'SELECT _pid, pid, _pid_2, a, A_2 FROM odd') == [[[100, 100, 5, 6, 7]]]
    text = 'SELECT _comm, _cpu, count(*) FROM plain WHERE n = 1 GROUP BY _comm, _cpu'
    assert query(path, text) == [[['sh', 1, 1]]]
    assert is_computed_early('--input', path, '-e', 't:plain', '--query', text)
    assert query(path, 'SELECT count(*) FROM plain a JOIN own b ON a._pid = b._pid AND a._time = '
                 'b._time; SELECT count(*) FROM plain NATURAL JOIN own') == [[[1]], [[0]]]


def test_stored_system_columns_take_no_space(script, tmp_path):
    answers('--input', script, '-e', '*:*', '--output2', tmp_path / 'x.db')
    with sqlite3.connect(tmp_path / 'x.db') as db:
        assert db.execute('SELECT _pid, _tid, _time - time, _cpu, _period, _comm FROM "order"'
                          ).fetchall() == [(200, 200, 0, 0, 1, 'shop'), (200, 201, 0, 1, 1, 'shop')]
        assert db.execute('SELECT _pid, pid FROM sched_wakeup WHERE prio = 7').fetchall() == [
            (100, 43)]
        generated = {row[1] for row in db.execute('PRAGMA table_xinfo("order")') if row[6]}
    assert generated == {'_pid', '_tid', '_time', '_cpu', '_period', '_comm'}


METADATA = ['table_name', 'event_system', 'event_name', 'event_id', 'filter_expression',
            'has_stack', 'max_stack', 'field_count', 'created_time', 'sample_count',
            'first_sample_time', 'last_sample_time', 'function_list']


def test_event_metadata(script, tmp_path):
    """Counts are those of all events, also if queries need only some of them."""
    start = 1700000000 * 10 ** 9
    known = ', '.join(set(METADATA) - {'event_id', 'created_time'})
    args = ['--input', script, '-e', 'sched:sched_wakeup/prio > 0/alias=high/,app:order,sched:*']
    found = report(*args, '--output2', tmp_path / 'x.db', '--query', 'SELECT * FROM event_metadata')
    table, = found['sections']
    assert [c['name'] for c in table['columns']] == METADATA
    rows = [dict(zip(METADATA, row)) for row in table['rows']]
    assert [(r['table_name'], r['event_system'], r['event_name'], r['filter_expression'],
             r['has_stack'], r['field_count'], r['sample_count'], r['first_sample_time'],
             r['last_sample_time'], r['function_list']) for r in rows] == [
        ('high', 'sched', 'sched_wakeup', 'prio > 0', 0, 3, 2, start + 1000000200,
         start + 1000000300, None),
        ('order', 'app', 'order', None, 0, 3, 2, start + 2500000000, start + 2600000000, None),
        ('sched_wakeup', 'sched', 'sched_wakeup', None, 0, 3, 3, start + 1000000100,
         start + 1000000300, None)]
    with sqlite3.connect(tmp_path / 'x.db') as db:
        stored = db.execute(f'SELECT {known} FROM event_metadata').fetchall()
        assert [list(r) for r in stored] == answers(*args, '--query',
                                                    f'SELECT {known} FROM event_metadata')[0]
    read = answers('--input', tmp_path / 'x.db', '--query',
                   'SELECT table_name, sample_count FROM event_metadata')
    assert read == [[['high', 2], ['order', 2], ['sched_wakeup', 3]]]
    assert query(script, 'SELECT sample_count, count(*) FROM event_metadata, sched_wakeup WHERE '
                 "table_name = 'sched_wakeup' AND prio = 7;"
                 'SELECT count(*) FROM sched_wakeup WHERE prio = 7') == [[[3, 1]], [[1]]]
    assert answers('--input', script, '--query', 'SELECT sum(sample_count) FROM event_metadata;'
                   'SELECT count(*) FROM sched_wakeup WHERE prio = 7') == [[[5]], [[1]]]


@pytest.mark.usefixtures('root')
def test_depth_of_stacks_in_metadata(tmp_path):
    """As requested, or the limit of the kernel, which a recording does not have."""
    limit = int(Path('/proc/sys/kernel/perf_event_max_stack').read_text())
    events = ','.join(f'task:task_rename/{attributes}' for attributes in (
        '/alias=a/', '/alias=b/stack/', '/alias=c/max-stack=5/', '/alias=d/stack/max-stack=7/'))
    text = 'SELECT table_name, has_stack, max_stack FROM event_metadata'
    command = ['--', 'true']
    assert answers('-e', events, '--query', text, *command)[0] == [
        ['a', 0, None], ['b', 1, limit], ['c', 1, 5], ['d', 1, 7]]
    assert answers('-g', '-e', events, '--query', text, *command)[0] == [
        ['a', 1, limit], ['b', 1, limit], ['c', 1, 5], ['d', 1, 7]]
    path = tmp_path / 'x.script'
    path.write_text('# attar script\nevent task:task_rename stack pid:int\n')
    assert answers('--input', path, '-e', events, '--query', text)[0] == [
        ['a', 1, None], ['b', 1, None], ['c', 1, 5], ['d', 1, 7]]


def test_metadata_of_intervals_and_a_table_of_the_same_name(tmp_path):
    path = tmp_path / 'two.script'
    path.write_text('# attar script\nevent a:event_metadata n:u8\n' + ''.join(
        f'{second}.5 0 1/1 a a:event_metadata n=1\n' * second for second in (1, 2)))
    ended = run('sql', '--format', 'json', '--input', path, '-i', '1s', '--query',
                'SELECT table_name, sample_count, last_sample_time FROM event_metadata')
    assert ended.returncode == 0, ended.stderr
    found = [s['rows'] for line in ended.stdout.splitlines()
             for s in json.loads(line)['sections']]
    assert found == [[['event_metadata_2', 1, 1500000000]], [['event_metadata_2', 2, 2500000000]]]


@pytest.mark.usefixtures('root')
def test_functions_and_names_of_columns():
    """symbolic() knows the field of a column; event_metadata lists the functions of each event."""
    events = ['-e', 'irq:softirq_entry,timer:hrtimer_start,migrate:mm_migrate_pages,tcp:tcp_probe']
    command = ['--', sys.executable, '-c', DATAGRAMS]
    lists, vec, quoted = answers(*events, '-a', '--query', """
        SELECT table_name, function_list FROM event_metadata WHERE table_name != 'mm_migrate_pages';
        SELECT symbolic(vec), symbolic(softirq_entry.vec), symbolic('vec', vec),
            symbolic('softirq_entry.vec', vec), count(*) FROM softirq_entry GROUP BY vec;
        SELECT symbolic(e."vec") AS name, symbolic(vec) = symbolic("vec", vec)
            FROM softirq_entry AS e""", *command)
    lists = dict(lists)
    assert lists['softirq_entry'] == "symbolic('softirq_entry.vec', vec)"
    assert lists['tcp_probe'] == ("symbolic('tcp_probe.family', family), ipsa_str(saddr), "
                                  "ipsa_str(daddr)")
    assert lists['hrtimer_start'] == "symbolic('hrtimer_start.mode', mode), ksymbol(function)"
    assert 'NET_RX' in {row[0] for row in vec}
    assert all(row[0] == row[1] == row[2] == row[3] for row in vec)
    assert 'NET_RX' in {name for name, _ in quoted} and {same for _, same in quoted} == {1}
    section, = report(*events, '-d', '10ms', '--verify', '--query',
                      'SELECT symbolic(vec), symbolic("vec", vec), count(*) FROM softirq_entry '
                      'GROUP BY vec')['sections']
    assert [column['name'] for column in section['columns'][:2]] == [
        'symbolic(vec)', 'symbolic("vec", vec)']


@pytest.mark.usefixtures('root')
@pytest.mark.parametrize('text, words', [
    ('SELECT symbolic(mode) FROM hrtimer_start UNION SELECT symbolic(mode) FROM mm_migrate_pages',
     "symbolic(mode): 'hrtimer_start' and 'mm_migrate_pages' have different names for the values "
     "of this column: symbolic('mm_migrate_pages.mode', mode)\n"),
    ('SELECT symbolic(now) FROM hrtimer_start',
     'no such column: now'),
    ('SELECT symbolic(expires) FROM hrtimer_start',
     'symbolic(expires): the kernel has no names for the values of this column: write the name')])
def test_symbolic_of_a_column_that_does_not_decide(text, words):
    ended = run('sql', '-e', 'timer:hrtimer_start,migrate:mm_migrate_pages', '-d', '10ms',
                '--query', text)
    assert ended.returncode == 2 and words in ended.stderr, ended.stderr


def test_verify_fails_if_results_differ(script):
    ended = run('sql', '--input', script, '--verify', '--query', 'SELECT random()')
    assert ended.returncode == 1
    assert ended.stderr == ('attar: --verify: row 1 of the result differs from the result of '
                            'ordinary tables\n')


def test_all_columns_with_others(script):
    """'*' has the same columns in ordinary tables, and the values of groups are the same."""
    assert query(script, 'SELECT *, count(*) FROM sched_wakeup GROUP BY comm') == [[
        [1700000001000000100, 0, 100, 101, 'waker', 1, 0, 0, 'sleeper', 42, -1, 2],
        [1700000001000000300, 0, 100, 101, 'waker', 1, 0, 0, 'worker', 43, 7, 1]]]
    assert query(script, 'SELECT w.*, o.price FROM sched_wakeup w, "order" o LIMIT 1') == [[
        [1700000001000000100, 0, 100, 101, 'waker', 1, 0, 0, 'sleeper', 42, -1, -12]]]
    assert query(script, "SELECT text, *, 'x' AS text, text AS _tid FROM sched_wakeup LIMIT 1; "
                         'SELECT _tid FROM sched_wakeup LIMIT 1') == [[
        ['comm=sleeper pid=42 prio=-1', 1700000001000000100, 0, 100, 101, 'waker', 1, 0, 0,
         'sleeper', 42, -1, 'x', 'comm=sleeper pid=42 prio=-1']], [[101]]]
    text = 'comm=sleeper pid=42 prio=-1'
    [[row]] = query(script, 'SELECT text, *, text, 7 AS seven FROM sched_wakeup LIMIT 1')
    assert row[0] == text and row[-2:] == [text, 7] and len(row) == 14


def test_explain_shows_the_plan_of_each_query(script):
    sections = report('--input', script, '--explain', '--query',
                      'SELECT sum(lots) FROM "order" WHERE price > 0;'
                      'SELECT count(*) FROM sched_wakeup')['sections']
    plans = {s['name']: s['rows'] for s in sections if s['name'].startswith('plan')}
    first, second = plans['plan of query 1'], plans['plan of query 2']
    assert first[0][0].endswith('order: only price > 0; reads price, lots')
    assert second[0][0].endswith('sched_wakeup: computed while events arrive')


def test_stored_tables(script, tmp_path):
    """Another program reads the same numbers; a second run replaces the tables."""
    path = tmp_path / 'events.db'
    for _ in range(2):
        answers('--input', script, '-e', '*:*', '--output2', path)
    with sqlite3.connect(path) as db:
        assert db.execute('SELECT sum(lots), min(price) FROM "order"').fetchall() == [(7, -12)]
        assert db.execute('SELECT count(*) FROM sched_wakeup').fetchall() == [(3,)]


@pytest.mark.parametrize('text, words', [
    ('SELEC', 'syntax error\n    SELEC\n    ^'),
    ('SELECT missing FROM sched_wakeup', 'no such column: missing; the tables are sched_wakeup('),
    ('SELECT 1 FROM orders', 'no such table: orders; the tables are sched_wakeup('),
    ('SELECT 1 FROM sched_wakeup a JOIN sched_wakeup b USING (prios)',
     'column not present in both tables; the tables are sched_wakeup('),
    ('SELECT absent(prio) FROM sched_wakeup', 'no such function: absent\n'),
    ('SELECT abs(-9223372036854775808) FROM sched_wakeup', 'integer overflow\n'),
    ('DELETE FROM sched_wakeup', 'DELETE is not allowed: queries are read-only'),
    ('UPDATE sched_wakeup SET prio = 1', 'UPDATE is not allowed: queries are read-only'),
    ('INSERT INTO sched_wakeup(prio) VALUES (1)', 'INSERT is not allowed: queries are read-only'),
    ('CREATE TABLE t(a)', 'is not allowed: queries are read-only'),
    ('DROP TABLE sched_wakeup', ': a change of the schema is not allowed'),
    ("ATTACH '/tmp/attar-sql-test.db' AS other", 'ATTACH is not allowed'),
    ('PRAGMA user_version = 3', 'PRAGMA is not allowed'),
    ("SELECT load_extension('x')", 'not authorized'),
    ('SELECT length(zeroblob(100000000)) FROM sched_wakeup', 'too big'),
    ('  -- nothing', 'there is no statement')])
def test_refused_queries(script, text, words):
    ended = run('sql', '--input', script, '-e', '*:*', '--query', text)
    assert (ended.returncode, ended.stdout) == (2, '')
    assert ended.stderr.startswith('attar: --query: ') and words in ended.stderr
    assert not os.path.exists('/tmp/attar-sql-test.db')


def prompt(tmp_path, script, text, *args):
    path = tmp_path / 'queries'
    path.write_text(text)
    with path.open() as queries:
        return run('sql', '--input', script, '--prompt', *args, stdin=queries)


def test_prompt(script, tmp_path):
    """Statements of several lines, dot commands, and a last statement without a semicolon."""
    ended = prompt(tmp_path, script, 'SELECT count(*)\n  FROM sched_wakeup;\n\n.tables\n.schema\n'
                   'SELECT max(prio) FROM sched_wakeup', '--format', 'json', '-e', '*:*')
    assert (ended.returncode, ended.stderr) == (0, '')
    _, count, tables, schema, last = [
        [section['rows'] for section in json.loads(line)['sections']]
        for line in ended.stdout.splitlines()]
    assert (count, last) == ([[[3]]], [[[7]]])
    assert tables == [[['sched_wakeup', 'sched:sched_wakeup'], ['order', 'app:order'],
                       ['event_metadata', None]]]
    assert ['order', 'price', 'INTEGER'] in schema[0]
    assert ['order', '_pid', 'INTEGER HIDDEN'] in schema[0]
    assert ['event_metadata', 'sample_count', 'INTEGER'] in schema[0]


@pytest.mark.parametrize('text, words', [
    ('SELEC 1;\nSELECT 1;\n', 'attar: query: near "SELEC": syntax error\n    SELEC 1;\n    ^\n'),
    ('DELETE FROM sched_wakeup;', 'attar: query: DELETE is not allowed'),
    ('.schema order\n',
     "attar: '.schema order': .schema takes no argument and shows all tables: .schema\n"),
    ('.foo\n', "attar: unknown command '.foo': the commands are .tables, .schema and .quit\n")])
def test_the_first_error_ends_a_prompt_without_terminal(script, tmp_path, text, words):
    ended = prompt(tmp_path, script, text)
    assert ended.returncode == 2
    assert words in ended.stderr and ended.stdout.count('query 1') == 0
    ended = prompt(tmp_path, script, '.quit\n' + text)
    assert (ended.returncode, ended.stderr) == (0, '')


def test_prompt_on_a_terminal(script):
    """It needs no option; an error does not end it, the end of the input does."""
    ours, theirs = os.openpty()
    with subprocess.Popen([ATTAR, 'sql', '--input', script], stdin=theirs, stdout=theirs,
                          stderr=theirs) as process:
        os.close(theirs)
        os.write(ours, b'selec;\nselect 100 +\n prio from sched_wakeup\n where prio = 7;\n\x04')
        shown = b''
        try:
            while more := os.read(ours, 4096):
                shown += more
        except OSError:  # the other end was closed
            pass
        assert process.wait(timeout=30) == 0
    os.close(ours)
    assert b'syntax error' in shown and b'107' in shown and b'attar> ' in shown


@pytest.mark.parametrize('args', [['-e', 'sched:sched_wakeup'], ['--query', 'SELECT 1']])
def test_prompt_needs_a_recording_and_no_query(script, args):
    ended = run('sql', '--prompt', *args, *(['--input', script] if '--query' in args else []))
    assert ended.returncode == 2
    assert ended.stderr == ('attar: --prompt needs a recording and no --query: '
                            'give --input FILE without --query\n')


ENDLESS = 'WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT %s FROM c'


@pytest.mark.parametrize('text, words', [
    (ENDLESS % 'count(*)', 'interrupted after 0.5 s, the limit of --timeout: '
     'use a longer --timeout, or check that the query ends'),
    (ENDLESS % 'x', 'add a LIMIT')])
def test_endless_queries_are_ended(script, text, words):
    limit = '0.5s' if 'count' in text else '1m'
    ended = run('sql', '--input', script, '-e', '*:*', '--timeout', limit, '--query', text)
    assert (ended.returncode, ended.stdout) == (1, '')
    assert words in ended.stderr


def test_a_signal_interrupts_a_query(script):
    with subprocess.Popen([ATTAR, 'sql', '--input', script, '--timeout', '5m', '--query',
                           ENDLESS % 'count(*)'], stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True) as process:
        wait_until(lambda: cpu_seconds(process.pid) > 0.3, 'the query runs')
        process.send_signal(signal.SIGINT)
        assert process.stderr.read() == 'attar: --query: interrupted by a signal\n'
        assert process.wait() == 1


def test_a_query_that_soon_ends_is_not_interrupted(script):
    """It takes 0.4 s of a CPU, and the signal comes after more than half of them."""
    query = (ENDLESS % 'count(*)').replace(' FROM c)', ' FROM c LIMIT {})')
    began = time.process_time()
    assert sqlite3.connect(':memory:').execute(query.format(500000)).fetchall() == [(500000,)]
    n = int(500000 * .4 / (time.process_time() - began))
    ends = []
    for _ in range(5):  # on a busy machine, the rest can take more than a second
        with subprocess.Popen([ATTAR, 'sql', '--input', script, '--query', query.format(n)],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) as process:
            wait_until(lambda: cpu_seconds(process.pid) > 0.25, 'the query runs')
            process.send_signal(signal.SIGINT)
            out, err = process.communicate()
            ends.append((process.returncode, err, f'{n:,}' in out))
        if not process.returncode:
            break
    assert ends[-1] == (0, '', True), ends


@pytest.mark.parametrize('args, words', [
    (['-e', '*:*'], 'sql needs a query'),
    (['-e', '*:*', '--output2', '/nonexistent/x.db'], "open the database '/nonexistent/x.db'")])
def test_refused_options(script, args, words):
    ended = run('sql', '--input', script, *args)
    assert ended.returncode in (1, 2)
    assert words in ended.stderr


def test_live_query_needs_an_event():
    ended = run('sql', '--query', 'SELECT 1')
    assert ended.returncode == 2
    assert 'sql needs an event, such as -e' in ended.stderr


def test_window_drops_the_oldest_events(tmp_path):
    """Of 20,000 events of more than 100 bytes, those in the last mebibyte are left."""
    path = tmp_path / 'many.script'
    lines = [f'1.{i:09d} 0 7/7 loop app:tick i={i}' for i in range(20000)]
    path.write_text('\n'.join(['# attar script', 'event app:tick i:u64', *lines]) + '\n')
    args = ['--input', path, '-e', '*:*', '--query',
            'SELECT count(*), min(i + 0), max(i + 0) FROM tick']
    assert answers(*args) == [[[20000, 0, 19999]]]
    cut = report(*args, '--window', '1M')
    (n, first, last), = cut['sections'][0]['rows']
    assert 0 < n < 20000 and (first, last) == (20000 - n, 19999)
    assert f'{20000 - n} of the oldest events were dropped' in json.dumps(cut)


@pytest.mark.usefixtures('root')
def test_sums_of_a_recording_equal_those_of_top(tmp_path):
    path = tmp_path / 'perf.data'
    done = run('record', '-q', '-o', path, '-e', 'raw_syscalls:sys_enter', '--',
               workload('threadcalls'), 7, 100)
    assert done.returncode == 0, done.stderr
    rows, = answers('--input', path, '-e', '*:*', '--verify', '--query',
                    'SELECT id, count(*) FROM sys_enter GROUP BY id')
    top = run('top', '--format', 'json', '--input', path, '-e', 'raw_syscalls:sys_enter//key=id/')
    table = json.loads(top.stdout.splitlines()[-1])['sections'][0]
    names = [column['name'] for column in table['columns']]
    key, count = names.index('id'), names.index('raw_syscalls:sys_enter')
    assert {row[key]: row[count] for row in table['rows']} == dict(map(tuple, rows))
    calls, = answers('--input', path, '-e', '*:*', '--query', 'SELECT count(*) FROM sys_enter '
                     "WHERE syscall_name(id) = 'getppid'")
    assert calls == [[700]]


@pytest.mark.usefixtures('root')
def test_live_events_of_a_command():
    number = {'x86_64': 110, 'aarch64': 173}[os.uname().machine]
    rows, = answers('-e', f'raw_syscalls:sys_enter/id=={number}/', '--query',
                    'SELECT count(*), count(DISTINCT tid), min(comm) FROM sys_enter', '--',
                    workload('threadcalls'), 7, 100)
    assert rows == [[700, 7, 'threadcalls']]


@pytest.mark.usefixtures('root', 'needs_perf')
def test_sums_equal_those_of_perf_stat(tmp_path):
    """perf counts the same run of a program that seeks to 1, 2 ... 2000."""
    seeks, faults = 'syscalls:sys_enter_lseek', 'page-faults'
    counts, out = tmp_path / 'perf.csv', tmp_path / 'sql.json'
    program = ('import os\nzero = os.open("/dev/zero", os.O_RDONLY)\n'
               'for i in range(1, 2001): os.lseek(zero, i, i % 2)')
    queries = ("SELECT sum(period), count(*) FROM sys_enter_lseek WHERE comm LIKE 'python%';"
               "SELECT sum(period) FROM page_faults WHERE comm LIKE 'python%'")
    events = ('-e', f'{seeks},{faults}')
    done = run('sql', '-q', '-m', 1024, '-o', out, *events, '--query', queries, '--', 'perf',
               'stat', '-x', ';', '-o', counts, *events, '--', sys.executable, '-S', '-c', program)
    assert done.returncode == 0, done.stderr
    found = [s['rows'][0] for s in json.loads(out.read_text())['sections']]
    theirs = {line.split(';')[2]: int(line.split(';')[0])
              for line in counts.read_text().splitlines() if ';' in line}
    assert found[0] == [theirs[seeks], theirs[seeks]]
    assert found[0][0] >= 2000 and found[1] == [theirs[faults]]


@pytest.mark.usefixtures('root')
def test_the_kernel_drops_what_the_query_does_not_need():
    """Only the 700 calls of getppid reach attar, as many as stat counts, of all system calls."""
    number = {'x86_64': 110, 'aarch64': 173}[os.uname().machine]
    command = ('--', workload('threadcalls'), 7, 100)
    event = ('-e', 'raw_syscalls:sys_enter')
    text = f'SELECT count(*), count(DISTINCT tid) FROM sys_enter WHERE id = {number}'
    pushed = report(*event, '--explain', '--query', text, *command)
    assert pushed['sections'][0]['rows'] == [[700, 7]]
    assert pushed['sections'][1]['rows'] == [['sys_enter', 'kernel', f'(id == {number})']]
    assert pushed['notes']['seen'] == 700
    everything = report(*event, '--query', text, '--verify', *command)
    assert everything['sections'][0]['rows'] == [[700, 7]]
    assert everything['notes']['seen'] > 700
    stat = run('stat', '--format', 'json', '-e', f'raw_syscalls:sys_enter/id=={number}/', *command)
    assert '700' in stat.stdout


@pytest.mark.usefixtures('root')
def test_the_kernel_drops_nothing_that_is_counted():
    """event_metadata has the number of all events."""
    number = {'x86_64': 110, 'aarch64': 173}[os.uname().machine]
    (count,), (samples,) = [rows[0] for rows in answers(
        '-e', 'raw_syscalls:sys_enter', '--query', f'SELECT count(*) FROM sys_enter WHERE id = '
        f'{number}; SELECT sample_count FROM event_metadata', '--', workload('threadcalls'), 7,
        100)]
    assert count == 700 and samples > 700


@pytest.mark.usefixtures('root')
def test_pushed_down_text_and_own_filter():
    """The kernel applies the filter of -e as well."""
    done = report('-e', 'sched:sched_process_exec/pid > 0/', '--explain', '--query',
                  "SELECT count(*) FROM sched_process_exec WHERE filename = '/bin/true'", '--',
                  'sh', '-c', 'for i in 1 2 3; do /bin/true; done; /bin/echo no > /dev/null')
    assert done['sections'][0]['rows'] == [[3]]
    assert done['sections'][1]['rows'] == [
        ['sched_process_exec', 'kernel', '(filename == "/bin/true")']]
    assert done['notes']['seen'] == 3


@pytest.mark.usefixtures('root')
def test_stacks_and_user_symbols():
    """All calls come from the C library's syscall()."""
    rows, symbols = answers('-e', 'syscalls:sys_enter_getppid', '--verify', '--query',
                            'SELECT stack, count(*) FROM sys_enter_getppid GROUP BY stack;'
                            'SELECT usymbol(ip, tid), count(*) FROM sys_enter_getppid GROUP BY 1',
                            '--', workload('threadcalls'), 7, 100)
    assert sum(n for _, n in rows) == 700
    assert all(stack.split(';')[-1] == 'syscall' for stack, _ in rows)
    assert symbols == [['syscall', 700]]


@pytest.mark.usefixtures('root')
def test_intervals_add_up():
    """Each event is in one interval."""
    ended = run('sql', '--format', 'json', '-i', '50ms', '-e', 'syscalls:sys_enter_getppid',
                '--query', "SELECT count(*) FROM sys_enter_getppid WHERE comm = 'flood'", '--',
                'sh', '-c', f'for i in 1 2 3; do {workload("flood")} 1234; sleep 0.1; done')
    assert ended.returncode == 0, ended.stderr
    reports = [json.loads(line) for line in ended.stdout.splitlines()]
    counts = [r['sections'][0]['rows'][0][0] for r in reports if r['sections']]
    assert len(counts) > 2 and sum(counts) == 3 * 1234


@pytest.mark.xdist_group('test_user_events')  # -a there enables events of these programs, too
def test_events_that_a_program_registers():
    """Through shared memory if the kernel has no user_events: the fields come with the program."""
    found = answers('-e', 'user_events:e2e_order', '--verify', '--query',
                    'SELECT count(*), sum(id), min(change) FROM e2e_order',
                    '--', workload('emit'), 'once', 1000)
    assert found == [[[1000, 499500, -999]]]


@pytest.mark.xdist_group('test_user_events')  # -a there enables events of these programs, too
@pytest.mark.parametrize('event, table', [
    ('user_events:e2e_order', 'e2e_order'),
    ('user_events:e2e_order/transport=shm/', 'e2e_order'),
    ('user_events:e2e_order//alias=orders/', 'orders'),
    ('user_events:e2e_or*', 'e2e_order')])
def test_events_of_a_running_program(spawn, event, table):
    """The program has registered them already: there is one table, with the fields."""
    program = spawn(workload('emit'), 'once', 1000, stdout=subprocess.PIPE)
    assert program.stdout.readline().startswith(b'ready')
    found = answers('-p', program.pid, '-e', event, '--verify', '--query',
                    f'SELECT count(*), sum(id), min(change) FROM {table};'
                    'SELECT table_name, sample_count FROM event_metadata')
    assert found == [[[1000, 499500, -999]], [[table, 1000]]]


def test_pattern_of_unregistered_events():
    assert answers('-q', '-d', '100ms', '-e', 'user_events:e2e_nobody_*', '--query',
                   'SELECT count(*) FROM event_metadata') == [[[0]]]


def test_fields_of_an_unregistered_event():
    ended = run('sql', '-q', '-d', '100ms', '-e', 'user_events:e2e_nobody', '--query',
                'SELECT sum(id) FROM e2e_nobody')
    assert ended.returncode == 2
    assert 'no such column: id' in ended.stderr
