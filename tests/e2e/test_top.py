# SPDX-License-Identifier: MIT
"""attar top: counts by key, compared with known workloads and with perf script."""
import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter

import pytest

import reused_pid
import scripts
from command import perf, run, workload
from perf_data import PAGE_FAULTS, Recording
from scripts import of_script, report, rows_of

pytestmark = pytest.mark.usefixtures('root')

CALLS = 1234
FLOOD = ['--', workload('flood'), str(CALLS)]


def top(*args, **kwargs):
    """Return the rows of the last report, as dictionaries, and its notes."""
    ended = run('top', '--format', 'json', *args, **kwargs)
    assert ended.returncode == 0, ended.stderr
    report = json.loads(ended.stdout.splitlines()[-1])
    table = report['sections'][0]
    return rows_of(table), report['notes']


def test_counts_by_thread():
    rows, notes = top('-e', 'syscalls:sys_enter_getppid', *FLOOD)
    assert [(r['syscalls:sys_enter_getppid'], r['comm']) for r in rows] == [(CALLS, 'flood')]
    assert notes['seen'] == CALLS


@pytest.mark.parametrize('pattern', ['9ood', '9*', '*od', '[9]*d'])
def test_filter_by_thread_name(pattern, tmp_path):
    """The kernel does not match the second and third; a recording is not filtered by the kernel."""
    program, data = tmp_path / '9ood', tmp_path / 'calls.data'
    shutil.copy(workload('flood'), program)
    event = 'syscalls:sys_enter_getppid'
    rows, _ = top('-e', f'{event}/comm ~ "{pattern}"/', '--', program, CALLS)
    assert [(r[event], r['comm']) for r in rows] == [(CALLS, '9ood')]
    rows, _ = top('-e', f'{event}/comm ~ "!{pattern}"/', '--', program, CALLS)
    assert rows == []
    run('record', '-q', '-o', data, '-e', event, '--', program, CALLS)
    rows, _ = top('-e', f'{event}/comm ~ "{pattern}"/', '--input', data)
    assert [(r[event], r['comm']) for r in rows] == [(CALLS, '9ood')]


@pytest.mark.parametrize('key', ['', '//key=id/'])
def test_equal_samples(key):
    """Most are delivered together; the rest of a round, an interval or --count are not exceeded."""
    event = f'raw_syscalls:sys_enter{key}'
    rows, notes = top('-m', '1024', '-e', event, '--', workload('flood'), '100000')
    assert max(r['raw_syscalls:sys_enter'] for r in rows) >= 100000
    assert sum(r['raw_syscalls:sys_enter'] for r in rows) == notes['seen'] < 100500
    rows, notes = top('-m', '1024', '-N', '1001', '-e', event, '--', workload('flood'), '100000')
    assert sum(r['raw_syscalls:sys_enter'] for r in rows) == notes['seen'] == 1001


def test_equal_samples_with_an_action():
    """Each of them is given to the action, too."""
    done = run('top', '-e', r'syscalls:sys_enter_getppid//exec=printf("seen\n")/', *FLOOD)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines().count('seen') == CALLS


def test_exiting_threads():
    """Their last switch has no valid tid: perf shows -1, too."""
    code = 'import threading as t\nfor i in range(20): x = t.Thread(); x.start(); x.join()'
    rows, _ = top('-a', '-e', 'sched:sched_switch', '--rows', '0', '--', '/usr/bin/python3', '-S',
                  '-c', code)
    exiting, = [r for r in rows if r['comm'] == '[exiting]']
    assert exiting['tid'] == -1 and exiting['sched:sched_switch'] >= 20


def test_exiting_threads_are_one_row(tmp_path):
    """Their processes differ, and are known or not."""
    lines = ''.join(f'1.{i} 0 {task} x a:b a=1\n'
                    for i, task in enumerate(['7/-1', '-1/-1', '8/-1', '7/-1', '8/8']))
    found = of_script(tmp_path, f'event a:b a:u8\n{lines}', 'top', '-e', 'a:b')
    assert [(r['tid'], r['a:b']) for r in scripts.rows(found, 'top')] == [(-1, 4), (8, 1)]


@pytest.mark.parametrize('fields', ['a:s8', 'a:s32', 'a:s64'])
def test_order_of_signed_keys(tmp_path, fields):
    """Keys with the same number of events are in the order of their values."""
    lines = ''.join(f'1.0 0 1/1 x a:b a={a}\n' for a in (0, 127, -128, 3, 3, -1, -3, -3, 1))
    found = of_script(tmp_path, f'event a:b {fields}\n{lines}', 'top', '-e', 'a:b//key=a/')
    assert [(r['a'], r['a:b']) for r in scripts.rows(found, 'top')] == [
        (-3, 2), (3, 2), (-128, 1), (-1, 1), (0, 1), (1, 1), (127, 1)]


def test_order_of_unsigned_keys(tmp_path):
    lines = ''.join(f'1.0 0 1/1 x a:b a={a}\n' for a in (2**64 - 1, 2**63, 1, 0))
    found = of_script(tmp_path, f'event a:b a:u64\n{lines}', 'top', '-e', 'a:b//key=a/')
    assert [r['a'] for r in scripts.rows(found, 'top')] == [0, 1, 2**63, 2**64 - 1]


def test_programs_with_the_same_tid(tmp_path):
    found = reused_pid.report(tmp_path, 'top', '-e', 'syscalls:sys_enter_getppid')
    assert {(r['tid'], r['comm'], r['syscalls:sys_enter_getppid'])
            for r in scripts.rows(found, 'top')} == {
        (reused_pid.PID, name, calls) for name, calls in reused_pid.CALLS.items()}


@pytest.mark.quick
@pytest.mark.parametrize('attribute', ['', '//top-by=n:2*(n>0)/'])
def test_recorded_programs_with_the_same_tid(tmp_path, attribute):
    """A program that executes another one is the same thread, and has its newest name."""
    found = of_script(tmp_path, '''event a:b n:int
1.0 0 100/100 shell fork 100/101
1.1 0 101/101 first a:b n=1
1.2 0 101/101 first a:b n=1
1.3 0 101/101 first exit
1.4 0 100/100 shell fork 100/101
1.5 1 101/101 shell a:b n=1
1.6 1 101/101 second exec
1.7 1 101/101 second a:b n=1
1.8 1 101/101 second a:b n=1
1.9 0 100/100 shell a:b n=1
''', 'top', '-e', f'a:b{attribute}')
    times = 2 if attribute else 1
    name = 'n' if attribute else 'a:b'
    assert [(r['tid'], r['comm'], r[name]) for r in scripts.rows(found, 'top')] == [
        (101, 'second', 3 * times), (101, 'first', 2 * times), (100, 'shell', times)]


def test_key_of_an_option():
    rows, _ = top('-e', 'raw_syscalls:sys_enter', '-k', 'id', *FLOOD)
    assert rows[0]['raw_syscalls:sys_enter'] == CALLS
    assert 'comm' not in rows[0]


def test_names_of_keys():
    rows, _ = top('-e', 'raw_syscalls:sys_enter//key=id/printkey=syscall_name(key)/', *FLOOD)
    assert rows[0] == {'key': 'getppid', 'raw_syscalls:sys_enter': CALLS}


def test_heading_of_keys():
    rows, _ = top('-e', 'raw_syscalls:sys_enter//key=id/printkey=call:syscall_name(key)/', *FLOOD)
    assert rows[0] == {'call': 'getppid', 'raw_syscalls:sys_enter': CALLS}


def test_heading_of_numbers():
    """`printkey=NAME:key` only names the column, which has numbers."""
    rows, _ = top('-e', 'raw_syscalls:sys_enter//key=id/printkey=call:key/', *FLOOD)
    number = {'x86_64': 110, 'aarch64': 173}[os.uname().machine]
    assert rows[0] == {'call': number, 'raw_syscalls:sys_enter': CALLS}


def test_printf_of_keys():
    rows, _ = top('-e', 'raw_syscalls:sys_enter//key=id/printkey=printf("<%d>",key)/', *FLOOD)
    assert re.fullmatch(r'<\d+>', rows[0]['key'])


def test_sums():
    rows, _ = top('-e', 'syscalls:sys_enter_getppid//top-add=3/top-by=(_cpu>=0)*7/', *FLOOD)
    assert rows[0]['3'] == 3 * CALLS
    assert rows[0]['(_cpu>=0)*7'] == 7 * CALLS


def test_alias_of_sums():
    """It names the first sum of the event, unless that has a name of its own."""
    event = 'syscalls:sys_enter_getppid//alias=sum/'
    rows, _ = top('-e', f'{event}top-add=3/top-by=7/', *FLOOD)
    assert rows[0] == {'tid': rows[0]['tid'], 'sum': 3 * CALLS, '7': 7 * CALLS, 'comm': 'flood'}
    rows, _ = top('-e', f'{event}top-add=own:3/top-by=7/', *FLOOD)
    assert (rows[0]['own'], rows[0]['7']) == (3 * CALLS, 7 * CALLS) and 'sum' not in rows[0]


def test_negative_sums():
    """5 - number: the sums of higher numbers are negative, and are last."""
    rows, _ = top('-e', 'raw_syscalls:sys_enter//key=id/top-by=5-id/top-add=1/', *FLOOD)
    assert all(r['5-id'] == (5 - r['id']) * r['1'] for r in rows)
    values = [r['5-id'] for r in rows]
    assert values == sorted(values, reverse=True)
    assert values[0] > 0 > values[-1]


@pytest.mark.quick
@pytest.mark.parametrize('fields, sums, is_beyond', [
    ('n:u64', (2**63 - 1, 2**63 - 1), False),
    ('n:u64', (2**63 - 1, 2**63 - 1, 2**63 - 1), True),
    ('n:s64', (2**62, 2**62 - 2), False),
    ('n:s64', (2**62, 2**62, -1), True),
    ('n:s64', (-2**62, -2**62, -1, 5), True),
    ('n:u64', (2**64 - 1,), False),
    ('n:u64', (2**64 - 1, 1), True),
    ('n:s64', (-2**63, 5, 7), False),
    ('n:s64', (2**32, 2**62, -2**63), False),
    ('n:s64', (-2**63, -1, 5), True),
])
def test_sums_beyond_64_bits(tmp_path, fields, sums, is_beyond):
    """They stay at the limit that they reach first."""
    lines = ''.join(f'{i + 1} 0 1/1 x a:b n={n}\n' for i, n in enumerate(sums))
    found = of_script(tmp_path, f'event a:b {fields}\n{lines}', 'top', '-e', 'a:b//top-by=n/')
    least, most = (0, 2**64 - 1) if 'u64' in fields else (-2**63, 2**63 - 1)
    until = 2 if sums[:2] == (-2**63, -1) else 3  # where it leaves 64 bits
    assert scripts.rows(found, 'top')[0]['n'] == max(least, min(most, sum(sums[:until])))
    assert is_beyond == any('do not fit into 64 bits' in r for r in found.get('remarks', []))


@pytest.mark.quick
def test_names_of_columns_differ(tmp_path):
    """A sum of the key's field, and sums of one field of two events."""
    text = 'event a:b n:u64\nevent a:c n:u64\n1 0 1/1 x a:b n=3\n2 0 1/1 x a:b n=3\n' \
        '3 0 1/1 x a:c n=3\n'
    found = of_script(tmp_path, text, 'top', '-e', 'a:b//key=n/top-by=n/')
    assert scripts.rows(found, 'top') == [{'n': 3, 'sum(n)': 6}]
    found = of_script(tmp_path, text, 'top', '-e', 'a:b//top-by=n/', '-e', 'a:c//top-by=n/')
    row, = scripts.rows(found, 'top')
    assert (row['n'], row['n (a:c)']) == (6, 3)


def test_sorted_by_top_by():
    rows, _ = top('-e', 'raw_syscalls:sys_enter//key=id/top-add=1/top-by=1000000-id/', *FLOOD)
    values = [r['1000000-id'] for r in rows]
    assert values == sorted(values, reverse=True)


def test_several_events_share_rows():
    rows, _ = top('-e', 'syscalls:sys_enter_getppid//alias=enter/',
                  '-e', 'syscalls:sys_exit_getppid//alias=exit/', *FLOOD)
    assert [(r['enter'], r['exit'], r['comm']) for r in rows] == [(CALLS, CALLS, 'flood')]


def test_composite_key():
    rows, _ = top('-e', 'raw_syscalls:sys_enter//key={common_pid,id}/', *FLOOD)
    assert rows[0]['raw_syscalls:sys_enter'] == CALLS
    assert set(rows[0]) == {'common_pid', 'id', 'raw_syscalls:sys_enter'}


def test_only_comm():
    rows, _ = top('-e', 'syscalls:sys_enter_getppid', '--only-comm', *FLOOD)
    assert rows == [{'comm': 'flood', 'syscalls:sys_enter_getppid': CALLS}]


def test_text_key():
    rows, _ = top('-e', 'sched:sched_process_exec', '-k', 'filename', *FLOOD)
    assert [r['filename'] for r in rows] == [workload('flood')]


def test_intervals_add_up():
    ended = run('top', '--format', 'json', '-i', '20ms', '-e', 'syscalls:sys_enter_getppid', *FLOOD)
    reports = [json.loads(line) for line in ended.stdout.splitlines()]
    assert sum(row[1] for r in reports for row in r['sections'][0]['rows']) == CALLS


@pytest.mark.usefixtures('needs_perf')
def test_equals_perf_script(tmp_path):
    """By key, the counts of a recording are those of perf script and awk."""
    data = tmp_path / 'perf.data'
    subprocess.run(['perf', 'record', '-q', '-o', data, '-a', '-m', '8M', '-e',
                    'raw_syscalls:sys_enter', '--', workload('flood'), '300'],
                   check=True, capture_output=True)
    theirs = Counter(int(m[1]) for m in re.finditer(r'NR (-?\d+) \(', perf('script', '-i', data)))
    rows, _ = top('--input', data, '-e', 'raw_syscalls:sys_enter', '-k', 'id')
    assert {r['id']: r['raw_syscalls:sys_enter'] for r in rows} == dict(theirs)


def test_many_keys_are_bounded():
    """A key for each event: keys beyond the bound are one row, so that the total stays exact."""
    options = ['-e', 'syscalls:sys_enter_getppid', '-k', '_time', '-m', '4096', '--',
               workload('flood'), '200000']
    rows, notes = top(*options, timeout=120)
    assert rows[-1]['_time'] is None and rows[-1]['syscalls:sys_enter_getppid'] > 100000
    assert sum(r['syscalls:sys_enter_getppid'] for r in rows) == notes['seen']
    ended = run('top', *options, timeout=120)
    assert ended.returncode == 0, ended.stderr
    assert 'the table of keys is full' in ended.stdout


@pytest.mark.parametrize('args, sentence', [
    ([], 'top needs an event'),
    (['-e', 'sched:sched_switch', '-k', 'foo'], "no such field or variable 'foo'"),
    (['-e', 'sched:sched_switch//key=prev_pid+/'], 'key'),
    (['-e', 'sched:sched_switch//top-by=prev_comm/'], 'top-by'),
    (['-e', 'sched:sched_switch//key=prev_comm/printkey=key/'], 'set key= to one number'),
    (['-e', 'sched:sched_switch//key=prev_pid/,sched:sched_wakeup//key=comm/'],
     'have different types: let all be numbers, or all be text'),
    (['-e', 'sched:sched_switch//key=prev_pid/,sched:sched_wakeup'],
     "'sched:sched_switch' has a key, and 'sched:sched_wakeup' has none: set key= of each event"),
    (['-e', 'sched:sched_switch,sched:sched_wakeup//key=pid/'],
     "'sched:sched_wakeup' has a key, and 'sched:sched_switch' has none"),
])
def test_refusals(args, sentence):
    ended = run('top', *args, '--', 'true')
    assert ended.returncode == 2, ended.stderr
    assert sentence in ended.stderr


@pytest.mark.parametrize('freq, count, remark', [
    (0, 3, None),
    (997, 42, "'page-faults' was sampled by frequency: its counts are estimates from the periods "
              'of the samples; period=1 counts each event'),
])
def test_samples_that_stand_for_several_events(tmp_path, freq, count, remark):
    """The periods of a frequency are numbers of events; each sample of period 1 is one."""
    data = Recording(events=())
    data.attr(PAGE_FAULTS, 7, freq=freq)
    data.comm(1, 'task')
    for time, period in enumerate([10, 12, 20]):
        data.sample(3 + time, period=period)
    path = data.write(tmp_path / 'x.data')
    found = report('top', '--input', path)
    row, = scripts.rows(found, 'top')
    assert row['page-faults'] == count
    assert (remark in found['remarks']) == bool(remark)


@pytest.mark.parametrize('attributes, count, sum_of_samples', [
    ('period=10', 2000, None), ('period=10/top-by=n:1', None, 200)])
def test_each_tenth_call_counts_as_ten(attributes, count, sum_of_samples):
    """Sums count each sample once, as a remark says."""
    found = report('top', '-e', f'syscalls:sys_enter_getppid//{attributes}/', '--',
                   workload('flood'), 2000)
    row, = scripts.rows(found, 'top')
    assert row.get('syscalls:sys_enter_getppid') == count and row.get('n') == sum_of_samples
    first = "'syscalls:sys_enter_getppid': each sample counts as 10 events, its period"
    second = 'sums of expressions count each sample once, though it stands for several events'
    assert first in found['remarks'] and (second in found['remarks']) == bool(sum_of_samples)


@pytest.mark.parametrize('name', [
    'uprobe:touch@"{}":u//alias=n/', 'uprobe:touch@{}:u//alias=n/',
    'uprobe:touch@"{}":u/common_pid>0/alias=n/', 'uprobe:touch@"{}"//alias=n/:u'])
def test_modifiers_of_a_probe_before_or_after_its_attributes(name, tmp_path):
    path = tmp_path / 'perf.data'
    event = name.format(workload('faults1000'))
    rows, _ = top('-e', event, '--', workload('faults1000'), '70')
    assert [row['n'] for row in rows] == [70]
    ended = run('record', '-o', path, '-e', event, '--', workload('faults1000'), '70')
    assert ended.returncode == 0, ended.stderr
    rows, _ = top('-e', event, '--input', path)
    assert [row['n'] for row in rows] == [70]


def test_calls_that_are_read_late_are_in_their_interval():
    """attar is stopped for several intervals, in which a call is made every 5 ms."""
    script = 'import os, time\n' \
        'os.kill(os.getppid(), 19)\n' \
        'for i in range(100):\n time.sleep(0.005)\n os.getpgid(0)\n' \
        'os.kill(os.getppid(), 18)\n'
    done = run('top', '--format', 'json', '-m', 64, '-i', '100ms', '-e',
               'syscalls:sys_enter_getpgid', '--', sys.executable, '-c', script)
    assert done.returncode == 0, done.stderr
    counts = [json.loads(line)['notes']['seen'] for line in done.stdout.splitlines()]
    assert sum(counts) == 100
    assert max(counts) <= 25 # 20, if nothing delays the calls


NAPPER = '''
import ctypes, threading, time
def nap():
    ctypes.CDLL(None).prctl(15, b"napper")
    print(threading.get_native_id(), flush=True)
    while True: time.sleep(0.005)
threading.Thread(target=nap).start()
'''


def test_name_of_a_thread_without_events(spawn):
    """It is woken up by interrupts, and none of its own events is traced: /proc has its name."""
    program = spawn(sys.executable, '-c', NAPPER, stdout=subprocess.PIPE, text=True)
    tid = int(program.stdout.readline())
    found = report('top', '-a', '-e', f'sched:sched_wakeup/pid=={tid}/key=comm_get(pid)/', '-N',
                   20, '-d', '20s')
    assert [row['comm_get(pid)'] for row in scripts.rows(found, 'top')] == ['napper']
