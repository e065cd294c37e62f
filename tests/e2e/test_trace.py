# SPDX-License-Identifier: MIT
"""attar trace: every event exactly once, in order, with its fields."""
import collections
import csv
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from command import ATTAR, as_nobody, is_waiting, run, wait_until, workload
from faults import with_fault
from scripts import report, rows, rows_of

pytestmark = pytest.mark.quick

TRACEFS = '/sys/kernel/tracing'


@pytest.fixture
def trace(root, tmp_path):
    """
    trace(options..., command=[...]) returns the rows as dicts, and the notes of the last report.
    """
    def go(*args, command=None, status=0):
        out = tmp_path / 'out.json'
        done = run('trace', '-q', '-o', out, *args, *(['--', *command] if command else []))
        assert done.returncode == status, done.stderr
        rows, notes = [], None
        for line in out.read_text().splitlines():
            report = json.loads(line)
            for section in report['sections']:
                rows += rows_of(section)
            notes = report['notes']
        return rows, notes
    return go


def fields(row):
    return dict(pair.split('=', 1) for pair in row['fields'].split(' ') if '=' in pair)


def test_each_system_call_is_traced_once(trace):
    rows, notes = trace('-m', 1024, '-e', 'raw_syscalls:sys_enter/id==110/',
                        command=[workload('flood'), '5000'])
    assert len(rows) == 5000
    assert notes['lost'] == 0
    assert {row['comm'] for row in rows} == {'flood'}


def test_events_are_in_the_interval_of_their_time(root, tmp_path):
    """Printing 20,000 rows takes longer than an interval, but each row is in its own interval."""
    out = tmp_path / 'out.json'
    done = run('trace', '-q', '-m', 4096, '-i', '20ms', '-e', 'page-faults', '-o', out, '--',
               workload('faults1000'), 20000)
    assert done.returncode == 0, done.stderr
    reports = [json.loads(line) for line in out.read_text().splitlines()]
    times = [row[0] for report in reports for section in report['sections']
             for row in section['rows']]
    intervals = [report for report in reports if report['notes']]
    assert len(times) >= 20000 and len(intervals) > 2
    for report in intervals:
        end, begin = report['time'], report['time'] - report['interval_ns']
        assert report['notes']['seen'] == sum(begin <= time < end for time in times)
    assert sum(report['notes']['seen'] for report in intervals) == len(times)
    assert all(report['interval_ns'] % 20000000 == 0 for report in intervals[:-1])


@pytest.mark.parametrize('size, least, most',
                         [('1M', 1 << 19, 1 << 20), ('16M', 4 << 20, 16 << 20)])
def test_events_wait_in_a_bounded_buffer(trace, size, least, most):
    """
    attar is stopped while 60,000 events occur, and then reads the rings before it prints: the
    buffer is used up to its size, less a batch of lines.
    """
    script = f'kill -STOP $PPID; {workload("flood")} 60000; kill -CONT $PPID'
    rows, notes = trace('-m', 4096, '--buffer', size, '-e', 'raw_syscalls:sys_enter/id==110/',
                        command=['sh', '-c', script])
    own = [row for row in rows if row['comm'] == 'flood']
    assert len(own) == 60000
    times = [row['time'] for row in rows]
    assert times == sorted(times)
    assert notes['lost'] == 0
    assert notes['buffer_size'] == int(size[:-1]) << 20
    assert least <= notes['buffer_peak'] <= most


def test_reports_of_intervals_follow_their_waiting_events(root, tmp_path):
    """attar is stopped over several intervals, and reads the rings before it prints."""
    out = tmp_path / 'out.json'
    script = f'kill -STOP $PPID; {workload("flood")} 40000; kill -CONT $PPID'
    done = run('trace', '-q', '-m', 4096, '-i', '1ms', '-e', 'raw_syscalls:sys_enter/id==110/',
               '-o', out, '--', 'sh', '-c', script)
    assert done.returncode == 0, done.stderr
    reports = [json.loads(line) for line in out.read_text().splitlines()]
    end = 0
    assert len([report for report in reports if report['notes']]) > 2
    for report in reports:
        if report['notes']:
            end = report['time']
        assert all(row[0] >= end for section in report['sections'] for row in section['rows'])
    rows = [row for report in reports for section in report['sections'] for row in section['rows']]
    assert len(rows) >= 40000


def test_the_size_of_the_buffer_is_checked():
    done = run('trace', '--buffer', '4K', '-e', 'sched:sched_switch')
    assert done.returncode == 2
    assert 'attar: --buffer: 4K is too small: the minimum is 1048576' in done.stderr


# sched_waking happens in the waker; sched_wakeup on the sleeper's CPU, in the waker only if that is
# the same CPU.
@pytest.mark.parametrize('event, on',
                         [('sched:sched_waking', []), ('sched:sched_wakeup', ['taskset', '-c', 0])])
def test_23_wakeups_are_traced(trace, event, on):
    rows, notes = trace('-e', event, command=[*on, workload('wakeups23')])
    woken = [row for row in rows if row['comm'] == 'waker' and fields(row)['comm'] == 'sleeper']
    assert len(woken) == 23
    assert notes['lost'] == 0


def test_1000_page_faults_are_traced(trace):
    before, _ = trace('-e', 'page-faults', '--exclude-kernel',
                      command=[workload('faults1000'), '1'])
    after, _ = trace('-e', 'page-faults', '--exclude-kernel',
                     command=[workload('faults1000'), '1001'])
    assert len(after) - len(before) == pytest.approx(1000, abs=4)


def test_period_is_that_of_counted_events(trace):
    """A tracepoint and a software event are sampled at each 10th occurrence, not at each."""
    rows, notes = trace('-e', 'raw_syscalls:sys_enter/id==110/period=10/',
                        command=[workload('flood'), '1000'])
    assert len(rows) == 100 and notes['lost'] == notes['missing'] == 0
    rows, few = (trace('-e', 'page-faults/period=10/', '--exclude-kernel',
                       command=[workload('faults1000'), count])[0] for count in ('1001', '1'))
    assert len(rows) - len(few) == pytest.approx(100, abs=1)
    assert {row['values']['period'] for row in rows} == {10}


@pytest.mark.skipif(not Path('/sys/bus/event_source/devices/uprobe').exists(),
                    reason='this kernel has no uprobes')
def test_quote_in_a_path_is_escaped(trace, tmp_path):
    for name, path in ('a"b c', r'"%s/a\"b c"'), ("a'b", r"'%s/a\'b'"), ('"', r'"%s/\""'):
        program = shutil.copy(workload('flood'), tmp_path / name)
        rows, _ = trace('-e', f'uprobe:main@{path % tmp_path}', command=[program, '3'])
        assert [row['comm'] for row in rows] == [name]


def test_clocks_are_sampled_by_frequency(trace):
    """With a period of 1 ns the interrupts alone would take all the time."""
    rows, _ = trace('-e', 'cpu-clock', '--exclude-kernel', command=[workload('split7030'), '100'])
    assert {row['values']['period'] for row in rows} == {10**9 // 997}


def test_events_of_all_cpus_are_in_time_order(trace):
    rows, notes = trace('-a', '-m', 1024, '-e', 'sched:sched_switch,sched:sched_wakeup',
                        command=[workload('threadstorm'), '200'])
    times = [row['time'] for row in rows]
    assert len(times) > 200
    assert times == sorted(times)
    assert notes['lost'] == 0


def test_attar_does_not_trace_itself(trace):
    rows, _ = trace('-d', '500ms', '-e', 'raw_syscalls:sys_enter',
                    command=[workload('flood'), '200000'])
    assert rows
    assert not [row for row in rows if row['comm'] == 'attar']


def test_exiting_threads_keep_their_tid(trace):
    """In their last switch, the kernel's samples no longer have it."""
    rows, _ = trace('-a', '-m', 1024, '-e', 'sched:sched_switch',
                    command=[workload('threadstorm'), '200'])
    ended = [row for row in rows if row['comm'] == '[exiting]']
    assert ended and all(row['tid'] == row['values']['prev_pid'] for row in rows)


@pytest.mark.parametrize('recorded', [False, True], ids=['live', 'recorded'])
def test_numbers_of_another_pid_namespace_are_no_tids(root, tmp_path, recorded):
    """Fields of tracepoints have the numbers of the first PID namespace; TIDs are small here."""
    data, storm = tmp_path / 'x.data', [workload('threadstorm'), 200]
    first = ['record', '-o', data] if recorded else ['trace', '--format', 'csv']
    done = subprocess.run(
        ['unshare', '--pid', '--fork', '--mount-proc', ATTAR, *first, '-a', '-m', '1024', '-e',
         'sched:sched_switch', '--', *map(str, storm)], capture_output=True, text=True, timeout=60,
        check=True)
    if recorded:
        done = run('trace', '--format', 'csv', '--input', data, '-e', 'sched:sched_switch')
    rows = list(csv.DictReader(line for line in done.stdout.splitlines() if ',' in line))
    ended = [row for row in rows if row['comm'] == '[exiting]']
    assert ended and {row['tid'] for row in ended} == {''}
    assert all(int(row['tid']) < 1000 for row in rows if row['tid'])


def test_events_have_stacks(trace):
    done = run('trace', '-d', '3s', '-N', 300, '-g', '-e', 'task-clock/period=1000000/', '--',
               workload('chain5'), 200)
    assert done.returncode == 0, done.stderr
    chain = r'\n'.join(rf' +[0-9a-f]+ {name}\+0x[0-9a-f]+ \(.*/chain5\)'
                      for name in ('five', 'four', 'three', 'two', 'one', 'main'))
    assert re.search(chain, done.stdout), done.stdout[-3000:]
    done = run('trace', '-N', 3, '-g', '-e', 'raw_syscalls:sys_enter/id==110/', '--',
               workload('flood'), 100)
    # Kernel code is shown by its full address, as in /proc/kallsyms.
    assert re.search(r'^ +ffff[0-9a-f]{12} \w+.*\[kernel', done.stdout, re.M), done.stdout


def test_json_has_fields_as_typed_values(trace):
    """
    Numbers are numbers, texts are texts, arrays are arrays; equal to those that the kernel prints.
    """
    rows, _ = trace('-m', 1024, '-a', '-e',
                    'sched:sched_switch,sched:sched_wakeup,raw_syscalls:sys_enter',
                    command=[workload('wakeups23')])
    assert {row['event'] for row in rows} >= {'sched:sched_switch', 'raw_syscalls:sys_enter'}
    for row in rows:
        values = row['values']
        if row['event'] == 'raw_syscalls:sys_enter':
            assert row['fields'] == \
                f'NR {values["id"]} ({", ".join(format(a, "x") for a in values["args"])})'
        elif row['event'] == 'sched:sched_wakeup':
            text = fields(row)
            assert [text['pid'], text['prio']] == [str(values['pid']), str(values['prio'])]
        else:
            assert set(values) == {'prev_comm', 'prev_pid', 'prev_prio', 'prev_state', 'next_comm',
                                   'next_pid', 'next_prio'}
            assert f'prev_comm={values["prev_comm"]} prev_pid={values["prev_pid"]} ' in \
                row['fields']
    rows, _ = trace('-N', 3, '-e', 'page-faults', command=[workload('faults1000'), '100'])
    assert len(rows) == 3
    for row in rows:
        assert list(row['values']) == ['addr', 'ip', 'symbol', 'offset', 'dso', 'period']
        assert row['values']['period'] == 1


def test_page_faults_have_address_and_code(trace):
    """The pages are adjacent and are touched in order, by one instruction of touch()."""
    rows, _ = trace('-e', 'page-faults:u', command=[workload('faults1000'), '1000'])
    ours = [row for row in rows if row['values']['symbol'] == 'touch']
    touched = [row['values']['addr'] // 4096 for row in ours][-1000:]
    assert touched == list(range(touched[0], touched[0] + 1000))
    assert len({row['values']['ip'] for row in ours[-1000:]}) == 1
    for row in ours:
        v, text = row['values'], fields(row)
        assert text == {'addr': hex(v['addr']), 'ip': hex(v['ip']),
                        'symbol': f"touch+{v['offset']:#x}", 'dso': v['dso']}
        assert v['dso'].endswith('/faults1000')


def test_events_without_data_address_have_the_code_address(trace):
    rows, _ = trace('-e', 'task-clock/period=1000000/', '--exclude-kernel',
                    command=[workload('chain5'), 200])
    assert rows and all(fields(row)['period'] == '1000000' for row in rows)
    assert not any('addr' in row['values'] for row in rows)
    assert any(re.match(r'(five|turns)\+0x', fields(row).get('symbol', '')) for row in rows)


@pytest.mark.usefixtures('needs_breakpoints')
def test_breakpoints_have_address_and_code(trace, tmp_path):
    source = tmp_path / 'watched.c'
    source.write_text('volatile long watched;'
                      'int main(void) { for (int i = 0; i < 5; i++) watched = i; return 0; }')
    program = tmp_path / 'watched'
    subprocess.run(['gcc', '-no-pie', '-fno-pie', '-O1', source, '-o', program], check=True)
    nm = subprocess.run(['nm', program], check=True, capture_output=True, text=True).stdout
    at = int(re.search(r'^(\w+) \w watched$', nm, re.M)[1], 16)
    rows, _ = trace('-e', f'mem:{at:#x}/8:w:u', command=[program])
    assert len(rows) == 5
    assert {(row['values']['addr'], row['values']['symbol']) for row in rows} == {(at, 'main')}


def test_run_ends_after_n_events(trace):
    rows, notes = trace('-N', 7, '-e', 'raw_syscalls:sys_enter/id==110/',
                        command=[workload('flood'), '1000'])
    assert len(rows) == 7


@pytest.mark.parametrize('words', [['-e', 'EVENT'], ['-eEVENT'], ['--event', 'EVENT'],
                                   ['--event=EVENT']], ids=' '.join)
def test_help_lists_the_fields(root, words):
    done = run('trace', *(word.replace('EVENT', 'sched:sched_switch') for word in words), 'help')
    assert done.returncode == 0, done.stderr
    text = open(f'{TRACEFS}/events/sched/sched_switch/format', encoding='utf-8').read()
    for line in text.splitlines():
        if line.startswith('\tfield:') and 'common_' not in line:
            declaration, offset, size = line.removeprefix('\tfield:').split(';')[:3]
            name = declaration.split()[-1].split('[')[0]
            size, offset = size.split(':')[1], offset.split(':')[1]
            assert any(words[0] == name and f' {size} byte' in row and f' at {offset}' in row
                       for row in done.stdout.splitlines() if (words := row.split())), name


@pytest.mark.parametrize('event, profilers', [
    (f'uprobe:main@"{workload("faults1000")}"', ['trace', 'stat', 'profile']),
    ('sched:sched_wakeup', ['trace', 'trace', 'stat', 'profile']),
    ('page-faults', ['stat', 'trace', 'profile'])])
def test_commands_printed_by_help_work_in_a_shell(root, event, profilers):
    """Also those of a probe, whose name has quotes."""
    lines = re.findall(r'^  (attar .*)', run('trace', '-e', event, 'help').stdout, re.M)
    assert [line.split()[1] for line in lines] == [*profilers, 'trace']
    for line in lines:
        line = line.replace('attar', str(ATTAR), 1).replace(' -i 1s', '')
        done = subprocess.run(f'{line} -d 100ms', shell=True, capture_output=True, text=True,
                              check=False)
        assert done.returncode == 0, (line, done.stderr)


@pytest.mark.parametrize('args, status, sentence', [
    ([], 2, "attar: trace needs an event, such as -e sched:sched_switch; 'attar list' shows all"),
    (['-e', 'sched:sched_swich'], 2,
     "no tracepoint 'sched:sched_swich': did you mean 'sched:sched_switch'?"),
    (['-e', 'sched:sched_wakeup/nofield==1/'], 2,
     "attar: filter: no such field or variable 'nofield'; the fields are comm, pid, prio, "
     'target_cpu\n'
     '    sched:sched_wakeup/nofield==1/\n'
     '                       ^\n'),
    (['-e', 'sched:sched_wakeup/pid = 5/'], 2, 'use == to compare'),
])
def test_wrong_arguments_are_refused(root, args, status, sentence):
    done = run('trace', '-d', '100ms', *args)
    assert done.returncode == status
    assert sentence in done.stderr


def test_help_shows_the_fields_and_the_command(root):
    done = run('trace', '-e', 'sched:sched_wakeup/prio<10/alias=w/', '-g',
               '-e', 'page-faults,profile/-F 500/', 'help')
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert re.match(r'sched:sched_wakeup \(id \d+\)', lines[0])
    assert any(re.match(r'  target_cpu +int +number +4 bytes at \d+', line) for line in lines)
    assert 'profile (events of the profiler profile)' in lines
    assert any('max-stack=FRAMES alias=NAME cpus=LIST' in line for line in lines)
    assert lines[-1] == ("  attar trace -e 'sched:sched_wakeup/prio<10/alias=w/' -g "
                         "-e 'page-faults,profile/-F 500/'")
    done = run('trace', '-e', 'sched:sched_wakeup//stak/', 'help')
    assert done.returncode == 2
    assert "did you mean 'stack'?" in done.stderr


def test_attributes_of_an_event_apply_to_it_alone(trace):
    rows, _ = trace('-e', 'raw_syscalls:sys_enter/id==110/max-stack=2/alias=deep/,'
                    'raw_syscalls:sys_exit/id==110/', command=[workload('flood'), 50])
    deep = [row['detail'] for row in rows if row['event'] == 'deep']
    plain = [row.get('detail') for row in rows if row['event'] == 'raw_syscalls:sys_exit']
    assert len(deep) == len(plain) == 50
    assert all(len(stack) == 2 for stack in deep)
    assert not any(plain)


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason='the machine has one CPU')
def test_events_are_restricted_to_their_cpus(trace):
    """300 system calls on one CPU, none on the other."""
    first, second = sorted(os.sched_getaffinity(0))[:2]
    events = [f'raw_syscalls:sys_enter/id==110/cpus={cpu}/alias=cpu{cpu}/'
              for cpu in (first, second)]
    command = ['taskset', '-c', first, workload('flood'), 300]
    rows, _ = trace('-e', ','.join(events), command=command)
    assert [(row['event'], row['cpu']) for row in rows] == [(f'cpu{first}', first)] * 300
    rows, _ = trace('-e', events[1], command=command)
    assert rows == []
    done = run('stat', '--format', 'json', '-e', ','.join(events), '--', *command)
    counts = json.loads(done.stdout)['sections'][0]
    names = [column['name'] for column in counts['columns']]
    assert {row[names.index('event')]: row[names.index('value')] for row in counts['rows']} == \
        {f'cpu{first}': 300, f'cpu{second}': 0}
    done = run('trace', '-C', first, '-a', '-e', events[1], '--', 'true')
    assert done.returncode == 2
    assert (f"attar: 'cpu{second}' is restricted to CPUs that are not watched"
            in done.stderr.splitlines())


def test_events_of_a_recording_are_restricted_to_their_cpus(trace, tmp_path):
    cpu, data = min(os.sched_getaffinity(0)), tmp_path / 'x.data'
    done = run('record', '-o', data, '-e', 'raw_syscalls:sys_enter', '--', 'taskset', '-c', cpu,
               workload('flood'), 300)
    assert done.returncode == 0, done.stderr
    for only, expected in ((cpu, 300), (cpu + 1, 0)):
        rows, _ = trace('--input', data, '-e', f'raw_syscalls:sys_enter/id==110/cpus={only}/')
        assert len(rows) == expected


def test_counts_equal_those_of_perf(trace, needs_perf, tmp_path):
    data = tmp_path / 'perf.data'
    done = run('record', '-q', '-o', data, '-e', 'raw_syscalls:sys_enter', '--filter', 'id == 110',
               '--',
               workload('flood'), '1000', program='perf')
    assert done.returncode == 0, done.stderr
    script = run('script', '-i', data, program='perf')
    rows, _ = trace('-e', 'raw_syscalls:sys_enter/id==110/', command=[workload('flood'), '1000'])
    assert len(rows) == len(script.stdout.splitlines()) == 1000


@pytest.fixture
def instance(root):
    """A tracefs instance, in which the kernel prints the same events."""
    path = Path(TRACEFS) / 'instances' / f'attar_test_{os.getpid()}'
    path.mkdir()
    yield path
    path.rmdir()


@pytest.fixture(scope='module')
def kernel_functions():
    """name -> addresses: an address may have several names, and any of them may be shown."""
    found = {}
    for line in Path('/proc/kallsyms').read_text().splitlines():
        found.setdefault(line.split()[2], set()).add(int(line.split()[0], 16))
    return found


# A datagram to a port that nobody listens to is freed; opening counters interrupts other CPUs.
DATAGRAM = ['python3', '-Sc', """import socket
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', 9))"""]
COUNTERS = [ATTAR, 'stat', '-a', '-e', 'page-faults', '-d', '1ms']


@pytest.mark.parametrize('event, field, command', [
    ('kmem/kmalloc', 'call_site', ['sleep', '0.01']),
    ('kmem/kmem_cache_free', 'call_site', ['sleep', '0.01']),
    ('timer/hrtimer_start', 'function', ['sleep', '0.01']),
    ('skb/kfree_skb', 'location', DATAGRAM),
    ('ipi/ipi_send_cpu', 'callsite', COUNTERS),
    ('ipi/ipi_send_cpu', 'callback', COUNTERS),
], ids=lambda it: it if isinstance(it, str) else '')
def test_kernel_functions_are_named_as_by_the_kernel(trace, instance, kernel_functions, event,
                                                     field, command):
    def offsets(names):
        return {'+' in name for name in names if name != '0x0'}

    def addresses(text):
        name, _, offset = text.partition('/')[0].partition('+')
        if name == '0x0':  # no function
            return {0}
        return {start + int(offset or '0', 16) for start in kernel_functions[name]}

    enable = instance / 'events' / event / 'enable'
    if event.startswith('ipi/') and (os.cpu_count() < 2 or not enable.exists()):
        pytest.skip('needs two CPUs and Linux 6.4')
    (instance / 'buffer_size_kb').write_text('16384')
    enable.write_text('1')
    rows, _ = trace('-a', '-e', event.replace('/', ':'), command=command)
    enable.write_text('0')
    shown = set(re.findall(rf' {field}=(\S+)', (instance / 'trace').read_text(errors='replace')))
    kernel = set().union(*map(addresses, shown))
    ours = {fields(row)[field] for row in rows}
    assert ours
    for name in ours:
        assert addresses(name) & kernel, name
    assert offsets(ours) <= offsets(shown)


def test_struct_page_is_shown_as_page_frame_number(trace):
    """
    The base of the kernel's array of struct page is unknown, but the page frame number is known.
    """
    rows, _ = trace('-e', 'kmem:mm_page_alloc', command=[workload('faults1000'), '100'])
    assert len(rows) >= 100
    assert all(fields(row)['page'] == f"pfn:{fields(row)['pfn']}" for row in rows)


@pytest.mark.usefixtures('root')
@pytest.mark.parametrize('kernel, args, said', [
    ('5.10', ('sched:sched_wakeup', '--', 'true'), True),
    ('5.10', ('sched:sched_stat_runtime', '-p', '1'), True),
    ('5.10', ('sched:sched_wakeup', '-a'), False),
    ('5.10', ('sched:sched_switch', '--', 'true'), False),
    ('6.1', ('sched:sched_wakeup', '--', 'true'), False),
])
def test_wakeups_that_old_kernels_deliver_twice(kernel, args, said):
    done = with_fault('kernel', 'trace', '-d', '100ms', '-e', *args, kernel=kernel)
    assert done.returncode == 0, done.stderr
    assert ('also delivers' in done.stdout) == said


def test_user_code_needs_no_names_of_the_kernel(root, open_dir, sysctl):
    sysctl('kernel.perf_event_paranoid', 2)
    done = as_nobody(open_dir('attar') / 'attar', 'trace', '-e', 'page-faults', '--', 'true')
    assert done.returncode == 0, done.stderr
    assert 'only user code is monitored' in done.stderr
    assert 'kernel functions are not resolved' not in done.stderr


NAMED_THREAD = """
import sys, threading
ready = threading.Event()
def named():
    open('/proc/thread-self/comm', 'w').write('named')
    ready.set()
    sys.stdin.readline()
threading.Thread(target=named).start()
ready.wait()
print('ready', flush=True)
"""


def test_thread_whose_first_event_is_its_exit_has_its_name(root, spawn, tmp_path):
    """It existed before the run, and /proc has it no more when its event is read."""
    out = tmp_path / 'out.json'
    program = spawn('python3', '-c', NAMED_THREAD, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                    text=True)
    program.stdout.readline()
    attar = spawn(ATTAR, 'trace', '-q', '-i', '60s', '-e', 'sched:sched_process_exit', '-p',
                  program.pid, '-o', out)
    wait_until(lambda: is_waiting(attar), 'the start of attar')
    program.communicate('\n')
    assert attar.wait(timeout=30) == 0
    rows = [dict(zip([c['name'] for c in s['columns']], row)) for line in
            out.read_text().splitlines() for s in json.loads(line)['sections'] for row in s['rows']]
    assert sorted((row['comm'], row['tid'] == program.pid) for row in rows) == \
        [('named', False), ('python3', True)]


@pytest.mark.usefixtures('root')
@pytest.mark.parametrize('function, at_least', [('dup_fd', 50), ('do_exit', 0)])
def test_filter_by_function(function, at_least):
    """The kernel looks up the function, here the one that copies the files of a new process."""
    found = rows(report('top', '-a', '-m', 512, '-e',
                        f'kmem:kmem_cache_alloc/call_site.function=={function}/key=ksymbol('
                        'call_site)/', '--', workload('forks'), 50), 'top')
    assert {row['ksymbol(call_site)'] for row in found} == ({function} if at_least else set())
    assert sum(row['kmem:kmem_cache_alloc'] for row in found) >= at_least


@pytest.mark.parametrize('n', [1, 2, 3])
@pytest.mark.parametrize('recorded', [False, True])
def test_count_of_an_event_that_is_named_twice(trace, tmp_path, n, recorded):
    """Each line counts, although both names have the samples of one counter."""
    path = tmp_path / 'x.script'
    path.write_text('# attar script\nevent raw_syscalls:sys_enter id:s64\n' + ''.join(
        f'1.00{i} 0 7/7 a raw_syscalls:sys_enter id={i}\n' for i in range(5)))
    rows, _ = trace('-e', 'raw_syscalls:sys_enter//alias=a/,raw_syscalls:sys_enter//alias=b/',
                    '-N', n, *(['--input', path] if recorded else ['--', 'true']))
    assert [r['event'] for r in rows] == ['a', 'b', 'a'][:n]
