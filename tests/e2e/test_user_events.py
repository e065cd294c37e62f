# SPDX-License-Identifier: MIT
"""Events of programs through shared memory, USDT probes and the kernel: exact, and with equal text.
"""
import json
import os
import re
import signal
import threading
import time

import pytest

import guest
import scripts
from command import ATTAR, BUILD, as_nobody, has, run, wait_until, workload

pytestmark = pytest.mark.exclusive('events')

HELLO = BUILD / 'perfume/examples/hello_world'
EMIT = workload('emit')


def native_user_events():
    return os.path.exists('/sys/kernel/tracing/user_events_data')


def order(i):
    return f'id={i} price={i}.25 symbol=S{i} change={-i} lots={{{i},{i + 1}}} last={i % 2}'


def rows_in(report):
    for section in report['sections']:
        yield from scripts.rows_of(section)


def rows_of(path):
    """Return the event lines of a JSON file as dicts, and the notes of the last report."""
    reports = [json.loads(line) for line in path.read_text().splitlines()]
    return [row for report in reports for row in rows_in(report)], reports[-1]['notes']


@pytest.fixture
def no_kernel(root):
    if native_user_events():
        pytest.skip('this kernel has user_events')


@pytest.fixture
def trace(no_kernel, tmp_path):
    """trace(options..., command=[...]) returns rows, notes and stderr."""
    def go(*args, command=None, status=0, **kwargs):
        out = tmp_path / 'out.json'
        done = run('trace', '-o', out, *args, *(['--', *command] if command else []), **kwargs)
        assert done.returncode == status, done.stderr
        return (*rows_of(out), done)
    return go


@pytest.fixture
def emitter(spawn):
    """emitter(mode, n...) starts an emitter and waits for its first line."""
    def go(*words, **kwargs):
        process = spawn(EMIT, *words, stdout=-1, text=True, **kwargs)
        assert process.stdout.readline() == f'ready {process.pid}\n'
        return process
    return go


def ended(process):
    out = process.stdout.read()
    assert process.wait(60) == 0
    return int(re.search(r'^written (\d+)$', out, re.M)[1])


def check_orders(rows, n, transport='shm'):
    assert [row['fields'] for row in rows] == [order(i) for i in range(n)]
    assert [row['values'] for row in rows] == [
        {'id': i, 'price': i + 0.25, 'symbol': f'S{i}', 'change': -i, 'lots': [i, i + 1],
         'last': i % 2}
        for i in range(n)]
    assert {row['transport'] for row in rows} == {transport}
    times = [row['time'] for row in rows]
    assert times == sorted(times)
    assert {row['event'] for row in rows} == {'user_events:e2e_order'}


# ---- shared memory ----

@pytest.mark.parametrize('mode', ['once', 'blind'])
def test_command_is_traced_from_its_first_event(trace, mode):
    """The mode blind never checks for listeners: the events are enabled when main() begins."""
    rows, notes, done = trace('-e', 'user_events:e2e_order', command=[EMIT, mode, '5000'])
    check_orders(rows, 5000)
    assert notes['seen'] == 5000 and notes['lost'] == 0
    assert {row['comm'] for row in rows} == {'emit'}
    assert {row['cpu'] for row in rows} == {None}
    assert len(re.findall('user_events:e2e_order is received through shared memory',
                          done.stderr)) == 1


def test_program_that_has_exited_is_named(no_kernel, trace):
    """attar is stopped while the program runs; it has sent its memory, but /proc has no name."""
    script = f'kill -STOP $PPID; {EMIT} blind 100; kill -CONT $PPID'
    rows, _, done = trace('-e', 'user_events:e2e_order', command=['sh', '-c', script])
    assert [row['comm'] for row in rows] == ['emit'] * 100
    assert re.search(r'is received through shared memory \(emit, pid \d+\)$', done.stderr, re.M)


def test_a_large_ring_is_read_to_its_end(no_kernel):
    """attar is stopped while the program fills 45 MB of its ring, and the command ends then."""
    n = 700000
    script = f'kill -STOP $PPID; {EMIT} blind {n}; kill -CONT $PPID'
    done = run('top', '--format', 'json', '-e', 'user_events:e2e_order', '--', 'sh', '-c', script,
               env=dict(os.environ, PERFUME_RING_KB='65536'))
    notes = json.loads(done.stdout.splitlines()[-1])['notes']
    assert notes['seen'] == n and notes['lost'] == 0


def test_events_of_programs_have_no_stack(no_kernel, trace):
    done = run('trace', '-g', '-e', 'user_events:e2e_order', '--', EMIT, 'once', '2')
    lines = [line for line in done.stdout.splitlines() if 'id=' in line or '[unknown]' in line]
    assert len(lines) == 2 and all('user_events:e2e_order' in line for line in lines)


def test_running_program_is_traced(trace, emitter):
    program = emitter('once', '2000')
    rows, notes, _ = trace('-p', program.pid, '-e', 'user_events:e2e_order', '-N', 2000)
    check_orders(rows, 2000)
    assert {row['tid'] for row in rows} == {program.pid}
    assert ended(program) == 2000


def test_later_program_is_traced(no_kernel, spawn, emitter, tmp_path):
    out = tmp_path / 'out.json'
    attar = spawn(ATTAR, 'trace', '-o', out, '-e', 'user_events:e2e_order', '-N', 300, '-d', '60s',
                  stderr=-1,
                  text=True)
    assert attar.stderr.readline().startswith(
        "attar: no program has registered the event 'e2e_order' yet; waiting. "
        'Looked in the kernel, which has no user_events, and in the shared')
    program = emitter('once', '300')
    assert attar.wait(60) == 0
    check_orders(rows_of(out)[0], 300)
    assert ended(program) == 300


def test_similar_name_is_suggested(no_kernel, spawn, emitter):
    emitter('once', '1')
    attar = spawn(ATTAR, 'trace', '-q', '-e', 'user_events:e2e_ordr', '-d', '200ms')
    assert attar.wait(60) == 0
    done = run('trace', '-e', 'user_events:e2e_ordr', '-d', '200ms')
    assert "'e2e_ordr' yet (did you mean 'e2e_order'?); waiting" in done.stderr


def test_event_of_a_program_that_is_not_watched(no_kernel, spawn, emitter):
    """The other program has registered the event: the note is about the tasks of -p and -t
    only."""
    emitter('forever')
    other = spawn('sleep', 100)
    for option in '-p', '-t':
        done = run('trace', '-e', 'user_events:e2e_tick', option, other.pid, '-d', '200ms')
        assert done.returncode == 0
        assert "no watched process has registered the event 'e2e_tick' yet; waiting" in done.stderr
        assert 'memory of watched processes that use libperfume (found no events' in done.stderr


def test_program_and_kernel_events_are_in_time_order(trace):
    rows, notes, _ = trace('-m', 1024, '-e',
                           'sched:sched_process_exit,user_events:e2e_*,raw_syscalls:sys_enter/id==1/',
                           command=[EMIT, 'once', '100'])
    times = [row['time'] for row in rows]
    assert times == sorted(times)
    mine = [row for row in rows if row['event'] == 'user_events:e2e_order']
    check_orders(mine, 100)
    # write(2) of "ready" precedes all of them; that of "written" and the exit follow
    kinds = [row['event'].split(':')[0] for row in rows]
    assert kinds[0] == 'raw_syscalls' and kinds[-1] == 'sched'
    assert 'raw_syscalls' in kinds[kinds.index('user_events') + 100:]


def test_seen_and_lost_add_up_to_all_events(trace):
    """Two writers at full speed: events written are events read plus events lost."""
    rows, notes, done = trace('-e', 'user_events:e2e_tick', command=[EMIT, 'flood', '1000000'])
    assert notes['seen'] == len(rows)
    assert notes['seen'] + notes['lost'] == 2000000
    times = [row['time'] for row in rows]
    assert times == sorted(times)


def test_fields_that_an_event_describes_are_in_json(trace):
    rows, _, _ = trace('-e', 'user_events:e2e_L4K2a', command=[EMIT, 'described'])
    assert [row['fields'] for row in rows] == \
        ['described level=information keyword=0x2a: id=77 symbol=ATTAR']
    values = rows[0]['values']
    assert values['level'] == 4
    assert values['name'] == 'described'
    assert values['payload'] == {'id': 77, 'symbol': 'ATTAR'}


def test_events_of_threads_without_a_ring_are_lost(trace):
    """Of 300 threads, 256 have a ring."""
    rows, notes, _ = trace('-e', 'user_events:e2e_tick', command=[EMIT, 'crowd', '10'])
    assert notes['seen'] == len(rows) == 2560
    assert notes['lost'] == 440


def test_tid_option_selects_events_of_a_thread(root, trace, emitter):
    program = emitter('forever')
    rows, _, _ = trace('-t', program.pid, '-e', 'user_events:e2e_tick', '-N', 20, '-d', '30s')
    assert {row['tid'] for row in rows} == {program.pid} and len(rows) == 20
    pair = emitter('pair')
    rows, _, _ = trace('-p', pair.pid, '-e', 'user_events:e2e_tick', '-N', 400, '-d', '30s')
    threads = {row['tid'] for row in rows}
    assert len(threads) == 2 and pair.pid in threads
    for thread in threads:
        rows, _, _ = trace('-t', thread, '-e', 'user_events:e2e_tick', '-N', 20, '-d', '30s')
        assert {row['tid'] for row in rows} == {thread} and len(rows) == 20
    rows, _, _ = trace('-t', pair.pid, '-p', program.pid, '-e', 'user_events:e2e_tick', '-N', 400,
                       '-d', '30s')
    assert {row['tid'] for row in rows} == {pair.pid, program.pid}
    other = emitter('forever')
    rows, _, _ = trace('-p', other.pid, '-e', 'user_events:e2e_tick', '-N', 20, '-d', '30s')
    assert {row['tid'] for row in rows} == {other.pid}


def test_threads_of_another_pid_namespace_are_not_confused(root, trace):
    """A program that is PID 1 in a container is not shown as the host's PID 1."""
    rows, _, _ = trace('-a', '-e', 'user_events:e2e_order',
                       command=['unshare', '--pid', '--fork', EMIT, 'once', '50'])
    check_orders(rows, 50)
    assert {row['comm'] for row in rows} == {'emit'}
    assert {row['tid'] for row in rows} != {1}


def test_killed_writer_leaves_whole_records(root, trace, emitter):
    program = emitter('forever')

    def kill():
        wait_until(lambda: listeners(program.pid), 'attar listens')
        time.sleep(0.2)  # some hundred events
        program.kill()
    killer = threading.Thread(target=kill)
    killer.start()
    rows, _, _ = trace('-p', program.pid, '-e', 'user_events:e2e_tick')
    killer.join()
    numbers = [int(row['fields'].removeprefix('i=')) for row in rows]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers))) and len(numbers) > 10


def listeners(pid):
    done = run('user-events', 'e2e_tick', '--json')
    assert done.returncode == 0, done.stderr
    return next(row['listeners'] for row in rows_in(json.loads(done.stdout)) if row['pid'] == pid)


def test_killed_collector_leaves_no_event_enabled(root, spawn, emitter, trace):
    program = emitter('forever')
    attar = spawn(ATTAR, 'trace', '-q', '-p', program.pid, '-e', 'user_events:e2e_tick')
    wait_until(lambda: f'(pid {attar.pid})' in (listeners(program.pid) or ''), 'attar listens')
    attar.send_signal(signal.SIGKILL)
    attar.wait()
    assert listeners(program.pid) in ('exited or in another network namespace', None, '')
    wait_until(lambda: not listeners(program.pid), 'the event is off')
    rows, _, _ = trace('-p', program.pid, '-e', 'user_events:e2e_tick', '-N', 20, '-d', '30s')
    assert len(rows) == 20


def test_two_listeners_see_the_same_events(no_kernel, spawn, emitter, tmp_path):
    program = emitter('once', '400')
    os.kill(program.pid, signal.SIGSTOP)
    attars = [spawn(ATTAR, 'trace', '-q', '-o', tmp_path / f'{i}.json', '-p', program.pid, '-e',
                    'user_events:e2e_order', '-N', 400, '-d', '60s') for i in range(2)]
    for attar in attars:
        wait_until(lambda: f'(pid {attar.pid})' in run('user-events', 'e2e_order').stdout,
                   'each listens')
    os.kill(program.pid, signal.SIGCONT)
    assert [attar.wait(60) for attar in attars] == [0, 0]
    for i in range(2):
        check_orders(rows_of(tmp_path / f'{i}.json')[0], 400)


def test_ninth_listener_is_refused(no_kernel, spawn, emitter):
    program = emitter('forever')
    attars = [spawn(ATTAR, 'trace', '-q', '-p', program.pid, '-e', 'user_events:e2e_tick',
                    stdout=-3) for _ in range(8)]
    for attar in attars:
        wait_until(lambda: f'(pid {attar.pid})' in (listeners(program.pid) or ''), 'each listens')
    done = run('trace', '-p', program.pid, '-e', 'user_events:e2e_tick', '-d', '1s')
    assert 'events of programs may be missing: a program already has eight listeners' in done.stderr
    attars[0].terminate()
    attars[0].wait()
    done = run('trace', '-p', program.pid, '-e', 'user_events:e2e_tick', '-N', 5, '-d', '30s')
    assert done.stdout.count('e2e_tick') == 5 and 'missing' not in done.stderr


def test_stopped_listener_reports_missed_programs(no_kernel, spawn, emitter):
    program = emitter('forever')
    attar = spawn(ATTAR, 'trace', '-p', program.pid, '-e', 'user_events:e2e_tick', '-d', '10s',
                  stdout=-3, stderr=-1, text=True)
    wait_until(lambda: f'(pid {attar.pid})' in (listeners(program.pid) or ''), 'attar listens')
    attar.send_signal(signal.SIGSTOP)
    wait_until(lambda: not listeners(program.pid), 'the event is off')
    time.sleep(1)  # The program checks five times per second.
    attar.send_signal(signal.SIGCONT)
    messages = [line for line in attar.stderr if 'events of programs may be missing' in line]
    assert len(messages) == 1 and 'attar was stopped' in messages[0]


def test_own_programs_are_traced_without_privileges(no_kernel, open_dir):
    """Users see the events of their own programs: no tracefs and no perf events are needed."""
    if not has('setpriv'):
        pytest.skip('setpriv (package util-linux) is not installed')
    folder = open_dir('emit')
    done = as_nobody(folder / 'attar', 'trace', '--format', 'json', '-e', 'user_events:e2e_order',
                     '--',
                     folder / 'emit', 'blind', 50)
    assert done.returncode == 0, done.stderr
    reports = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{')]
    rows = [row for report in reports for row in rows_in(report)]
    check_orders(rows, 50)
    assert 'kernel' not in done.stderr


@pytest.mark.parametrize('spec, name', [
    ('user_events:e2e_order', 'user_events:e2e_order'),
    ('user_events:e2e_orde?', 'user_events:e2e_order'),
    ('user_events:e2e_order/transport=usdt/', 'user_events:e2e_order'),
    ('user_events:e2e_order//alias=orders/', 'orders')])
def test_top_has_one_column_for_an_event(uprobes, no_kernel, tmp_path, spec, name):
    out = tmp_path / 'out.json'
    done = run('top', '-q', '-o', out, '-e', spec, '--', EMIT, 'blind', '100')
    assert done.returncode == 0, done.stderr
    table = json.loads(out.read_text().splitlines()[-1])['sections'][0]
    assert [column['name'] for column in table['columns']] == ['tid', name, 'comm']
    assert [row[1:] for row in table['rows']] == [[100, 'emit']]


def test_top_with_switches_of_whole_cpus(no_kernel, tmp_path):
    """Events of programs that start later, beside an event that attar completes."""
    out = tmp_path / 'x.json'
    done = run('top', '-q', '-a', '-o', out, '-e',
               'user_events:e2e_order//key=_pid/,sched:sched_switch//key=prev_pid/', '--',
               EMIT, 'late', '100')
    assert done.returncode == 0, done.stderr
    found = scripts.rows(json.loads(out.read_text()), 'top')
    assert sum(row['user_events:e2e_order'] or 0 for row in found) == 100


def test_top_by_a_field_of_a_running_program(no_kernel, emitter, tmp_path):
    """The sum of a field has one column, too."""
    out = tmp_path / 'out.json'
    program = emitter('once', '100')
    done = run('top', '-q', '-o', out, '-p', program.pid, '-e',
               'user_events:e2e_order//top-by=last/')
    assert done.returncode == 0, done.stderr
    table = json.loads(out.read_text().splitlines()[-1])['sections'][0]
    assert [column['name'] for column in table['columns']] == ['tid', 'last', 'comm']
    assert [row[1:] for row in table['rows']] == [[50, 'emit']]


@pytest.mark.parametrize('command', [
    ['top', '-e', 'user_events:e2e_order//top-by=id/'],
    ['num-dist', '-e', 'user_events:e2e_order//num=id/'],
    ['snoop', '-e', 'user_events:e2e_order//column=n:id/']], ids=lambda words: words[0])
def test_expression_on_an_event_that_is_not_registered_yet(no_kernel, command):
    done = run(*command, '--', EMIT, 'once', '10')
    assert done.returncode == 2, done.stderr
    assert "no program has registered the event 'user_events:e2e_order' yet" in done.stderr
    assert 'start the program before attar' in done.stderr


# ---- USDT probes ----

@pytest.fixture
def uprobes(no_kernel):
    if not os.path.exists('/sys/bus/event_source/devices/uprobe') or \
            not os.path.exists('/sys/kernel/tracing/uprobe_events'):
        pytest.skip('this kernel has no uprobes')


USDT = 'user_events:e2e_order/transport=usdt/'


def test_usdt_traces_a_command(uprobes, trace):
    rows, notes, done = trace('-m', 1024, '-e', USDT, command=[EMIT, 'once', '500'])
    check_orders(rows, 500, 'usdt')
    assert notes['seen'] == 500 and notes['lost'] == 0
    assert done.stderr.count('user_events:e2e_order is received through USDT probes') == 1


def test_usdt_traces_a_running_program(uprobes, trace, emitter):
    """
    The semaphore is incremented with the first CPU's probe: events before the last CPU's probe are
    missed, all others are seen.
    """
    program, other = emitter('late', '3000'), emitter('late', '3000')
    rows, _, _ = trace('-m', 1024, '-p', program.pid, '-e', USDT)
    assert [row['fields'] for row in rows] == \
        [order(i) for i in range(3000)][-len(rows):] and len(rows) > 100
    assert {row['tid'] for row in rows} == {program.pid}
    assert ended(program) == 3000 and other.poll() is None


def test_usdt_is_used_without_shared_memory(uprobes, trace, emitter):
    """
    No transport is given: one program shares its memory, the other cannot. No event is shown twice.
    """
    shared = emitter('forever')
    unshared = emitter('forever', env={**os.environ, 'PERFUME_RING': '0'})
    rows, notes, done = trace('-p', f'{shared.pid},{unshared.pid}', '-e', 'user_events:e2e_tick',
                              '-N', 400, '-d', '60s')
    for pid, transport in (shared.pid, 'shm'), (unshared.pid, 'usdt'):
        mine = [row for row in rows if row['tid'] == pid]
        numbers = [row['values']['i'] for row in mine]
        assert numbers == list(range(numbers[0], numbers[0] + len(mine))) and len(mine) > 50
        assert {row['transport'] for row in mine} == {transport}
    assert 'is received through shared memory' in done.stderr \
        and 'is received through USDT probes' in done.stderr


def test_usdt_leaves_nothing_in_tracefs(uprobes, spawn, emitter, trace):
    """A killed run leaves a disabled probe, which the next start removes."""
    program = emitter('forever')
    with open('/sys/kernel/tracing/uprobe_events', encoding='ascii') as file:
        before = file.read()
    words = ['-p', program.pid, '-e', 'user_events:e2e_tick/transport=usdt/']
    attar = spawn(ATTAR, 'trace', '-q', *words)
    wait_until(lambda: listeners(program.pid) == '1 through USDT', 'the semaphore is raised')
    attar.send_signal(signal.SIGKILL)
    attar.wait()
    wait_until(lambda: not listeners(program.pid), 'the semaphore is down')
    rows, _, _ = trace(*words, '-N', 20, '-d', '30s')
    assert len(rows) == 20
    with open('/sys/kernel/tracing/uprobe_events', encoding='ascii') as file:
        left = set(file.read().splitlines()) - set(before.splitlines())
    assert not [line for line in left if EMIT in line]


def test_usdt_without_probe_is_refused(uprobes):
    done = run('trace', '-e', USDT, '--', 'true')
    assert done.returncode == 1
    assert "true has no USDT probe 'perfume:e2e_order'" in done.stderr


# ---- listing, watching, and errors ----

def test_user_events_lists_and_counts(no_kernel, emitter):
    program = emitter('forever')
    begin = time.monotonic()
    done = run('user-events', 'e2e_', '-d', '500ms', '--json')
    elapsed_ms = 1000 * (time.monotonic() - begin)
    assert done.returncode == 0, done.stderr
    rows = {row['name']: row for row in rows_in(json.loads(done.stdout))
            if row['pid'] == program.pid}
    assert rows['e2e_order']['fields'] == \
        ('u64 id; struct f64 price 8; __rel_loc char[] symbol; s32 change; '
         '__rel_loc u32[] lots; u8 last')
    assert rows['e2e_tick']['transport'] == 'shm' and rows['e2e_tick']['program'] == 'emit'
    assert rows['e2e_order']['count'] == 0
    assert 0 < rows['e2e_tick']['count'] <= elapsed_ms  # at most one per millisecond


def test_overwritten_events_are_remarked(no_kernel, emitter, spawn):
    """attar stops while a program writes more events than its memory holds."""
    program = emitter('flood', 10000000)
    attar = spawn(ATTAR, 'user-events', 'e2e_tick', '-d', '5s', stdout=-1, text=True)
    wait_until(lambda: listeners(program.pid), 'attar listens')
    attar.send_signal(signal.SIGSTOP)
    written = ended(program)
    attar.send_signal(signal.SIGCONT)
    text = attar.communicate(timeout=30)[0]
    count = re.search(rf'^user_events:e2e_tick +shm +emit +{program.pid} +([\d,]+)|'
                      rf'^e2e_tick +shm +emit +{program.pid} +([\d,]+)', text, re.M)
    lost = re.search(r'^note: (\d+) events? of programs w(?:as|ere) overwritten before being '
                     'counted$', text, re.M)
    assert count and lost, text
    assert int((count[1] or count[2]).replace(',', '')) + int(lost[1]) == written


def test_watch_needs_a_name(root):
    for words in (['watch'], ['watch', '-h']):
        done = run('user-events', *words)
        assert (done.returncode, done.stderr) == (
            2, 'attar: user-events watch requires the name of an event: attar user-events watch '
               'NAME\n')


def test_options_of_watch_follow_its_name():
    """They would have no effect."""
    for option in (['--json'], ['-d', '1s']):
        done = run('user-events', *option, 'watch', 'e2e_tick')
        assert (done.returncode, done.stderr) == (
            2, 'attar: options of user-events watch follow the name: attar user-events watch NAME '
               '[OPTIONS]\n')


def test_watch_prints_each_event(no_kernel, emitter):
    program = emitter('once', '3')
    done = run('user-events', 'watch', 'e2e_order', '-p', program.pid, '-N', 3)
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stdout.splitlines() if order(2) in line]


FILTERS = {'id>=90': range(90, 100), 'price > 3.5 && price < 6': [4, 5],
           'symbol == "S7" || change == -8': [7, 8],
           'symbol ~ "S1*" && !(last == 1)': [10, 12, 14, 16, 18], 'id & 0x40': range(64, 100),
           'symbol!=S5 && id<7 && id>3': [4, 6]}


@pytest.mark.parametrize('transport', ['', 'transport=usdt/'], ids=['shm', 'usdt'])
def test_filters_select_events(uprobes, trace, transport):
    """attar applies filters that the kernel cannot, in the kernel's language."""
    for words, numbers in FILTERS.items():
        rows, notes, _ = trace('-m', 512, '-e', f'user_events:e2e_order/{words}/{transport}',
                               command=[EMIT, 'blind' if not transport else 'once', '100'])
        assert [row['values']['id'] for row in rows] == list(numbers), words
        assert notes['seen'] == len(rows)


def test_filter_with_unknown_field_is_refused(no_kernel, emitter):
    emitter('forever')
    done = run('trace', '-d', '100ms', '-e', 'user_events:e2e_order/no>5/')
    assert done.returncode == 2
    assert (
        "filter: no such field or variable 'no'; the fields are id, price, symbol, change, "
        'lots, last') in done.stderr


@pytest.mark.parametrize('words, seen', [
    ('comm ~ "*mit"', 5), ('comm_get(_tid) == "emit"', 5), ('comm ~ "!e*"', 0)])
def test_filter_by_name_of_a_running_program(no_kernel, emitter, words, seen):
    emitter('forever')
    done = run('trace', '--format', 'json', '-N', 5, '-d', '30s' if seen else '200ms', '-e',
               f'user_events:e2e_tick/{words}/')
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1])['notes']['seen'] == seen


def test_event_skipped_for_its_filter_is_not_called_missing(no_kernel):
    done = run('trace', '-e', 'user_events:e2e_order/no>5/', '--', EMIT, 'blind', '100')
    assert done.returncode == 2, 'nothing could be received, because of the arguments'
    assert done.stderr.endswith("attar: 'user_events:e2e_order' was not received: its filter is "
                                'not valid for the fields of any event of this name that a program '
                                'has registered\n')
    assert '0 samples seen' in done.stdout
    assert re.search(r"skipped user_events:e2e_order of process \d+( \(\w+\))?: "
                     'filter: no such field ', done.stderr)
    assert 'emitted no event' not in done.stderr


@pytest.mark.parametrize('args, status, sentence', [
    (['-e', 'user_events:e2e_order/transport=kernel/'], 4,
     "'user_events:e2e_order': transport=kernel requires Linux 6.4 or newer with "
     "CONFIG_USER_EVENTS=y; "
     'transport=shm and transport=usdt do not'),
    (['-e', 'user_events:e2e_order/transport=pigeon/'], 2,
     "'pigeon' is not a transport: use kernel, shm or usdt"),
    (['-e', 'user_events:e2e_order/id>5,cs'], 2, "missing closing '/'"),
])
def test_wrong_arguments_are_refused(no_kernel, args, status, sentence):
    done = run('trace', '-d', '100ms', *args)
    assert done.returncode == status, done.stderr
    assert sentence in done.stderr


@pytest.mark.parametrize('command', [('stat', '-e', 'user_events:e2e_tick'),
                                     ('profile', '-e', 'user_events:e2e_tick')])
def test_stat_and_profile_refuse_program_events(no_kernel, command):
    """Counting or sampling an event that never happens would give a wrong result."""
    done = run(*command, '-d', '100ms')
    assert done.returncode == 4
    assert (
        "'user_events:e2e_tick' is not registered with the kernel: 'attar trace' shows it, and "
        "'attar user-events -d "
        "1s' counts it") in done.stderr


def test_help_lists_the_fields_of_a_program_event(no_kernel, emitter):
    emitter('forever')
    done = run('trace', '-e', 'user_events:e2e_order', 'help')
    assert done.returncode == 0
    assert [line.split()[0] for line in done.stdout.splitlines() if ' at ' in line
            or 'of varying length' in line] == [
                'id', 'price', 'symbol', 'change', 'lots', 'last']
    assert 'attar profile' not in done.stdout \
        and 'attar trace -e user_events:e2e_order\n' in done.stdout


def test_command_without_the_event_is_reported(no_kernel):
    done = run('trace', '-e', 'user_events:e2e_order', '--', 'true')
    assert done.returncode == 0
    assert "attar: true emitted no event 'e2e_order'\n" in done.stderr


# ---- the kernel, in a guest that has user_events ----

@pytest.mark.guest('x86')
def test_hello_world_is_listed_and_traced(root):
    script = f'''
        {HELLO} >/dev/null 2>&1 & hello=$!
        until {ATTAR} user-events hello_world_event | grep -q hello_world_event; do :; done
        {ATTAR} user-events watch hello_world_event -q -o /tmp/seen.json -p $hello &
        wait $hello; wait
        {ATTAR} user-events --json
        cat /tmp/seen.json'''
    done = guest.run('x86', 'sh', '-c', script)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{')]
    rows = [row for report in lines if report['profiler'] == 'trace' for s in report['sections']
            for row in s['rows']]
    assert len(rows) == 1
    assert 'hellostr=23' in rows[0]


def lines_of(text, mark):
    """Return what the guest printed between two marks: reports as JSON, the rest as text."""
    part = text.split(f'== {mark}\n', 1)[1].split('\n== ', 1)[0].splitlines()
    rows = [row for line in part if line.startswith('{') for row in rows_in(json.loads(line))]
    return rows, [line for line in part if not line.startswith('{')]


@pytest.mark.guest('x86')
def test_all_transports_show_the_same_events(root):
    """
    On a kernel with user_events, for a command from its first event; the default is the kernel's.
    """
    asked = {'kernel': '/transport=kernel/', 'shm': '/transport=shm/', 'usdt': '/transport=usdt/',
             'any': ''}
    runs = ''.join(f"""
        echo; echo '== {name}'
        {ATTAR} trace -q -m 512 -o /tmp/{name}.json -e user_events:e2e_order{words} -- {EMIT} once 100 >/dev/null
        cat /tmp/{name}.json""" for name, words in asked.items())
    script = f"""
        {EMIT} forever >/dev/null & other=$!
        until grep -q e2e_order /sys/kernel/tracing/user_events_status; do :; done
        {runs}
        echo '== list'
        {ATTAR} user-events e2e_ -d 1s --json
        kill $other"""
    done = guest.run('x86', 'sh', '-c', script)
    assert done.returncode == 0, done.stderr
    for name in asked:
        rows, _ = lines_of(done.stdout, name)
        check_orders(rows, 100, 'kernel' if name == 'any' else name)
    rows = {row['name']: row for row in lines_of(done.stdout, 'list')[0]}
    assert rows['e2e_tick']['transport'] == 'kernel' and rows['e2e_tick']['count'] > 100
    assert rows['e2e_order']['fields'].startswith(
        'u64 id; struct f64 price; __rel_loc char[] symbol; s32 change')


@pytest.mark.guest('x86')
def test_attar_may_start_before_the_kernel_has_the_event(root):
    """
    In time order with other events; also for a command whose event the kernel does not know yet.
    """
    script = f"""
        {ATTAR} trace -o /tmp/late.json -e 'user_events:e2e_tic*,sched:sched_process_exec' -N 100 >/tmp/out 2>/tmp/err & a=$!
        until grep -q 'yet; waiting' /tmp/err; do :; done
        {EMIT} forever >/dev/null & pid=$!
        wait $a; kill $pid; wait $pid
        echo '== late'; cat /tmp/err /tmp/late.json
        echo '== blind'
        {ATTAR} trace -q -o /tmp/blind.json -e user_events:e2e_order -- {EMIT} blind 100 >/dev/null
        cat /tmp/blind.json
        echo '== end'"""
    done = guest.run('x86', 'sh', '-c', script)
    assert done.returncode == 0, done.stderr
    rows, text = lines_of(done.stdout, 'late')
    assert "no program has registered the event 'e2e_tic*' yet; waiting. " \
           "Looked in the kernel's user_events" in text[0]
    assert "attar: user_events:e2e_tick is received through the kernel's user_events" in text
    numbers = [row['values']['i'] for row in rows if row['transport'] == 'kernel']
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers))) and len(numbers) > 90
    times = [row['time'] for row in rows]
    assert times == sorted(times)
    check_orders(lines_of(done.stdout, 'blind')[0], 100, 'shm')


def last_times(path, pids):
    """Return the time in s of each program's last event in a file that is being written, or 0."""
    times = dict.fromkeys(pids, 0)
    for line in path.read_text().splitlines(True):
        for row in rows_in(json.loads(line)) if line.endswith('\n') else ():
            times[row['tid']] = row['time'] / 1e9
    return [times[pid] for pid in pids]


def test_program_that_changes_its_control_group_is_followed(no_kernel, cgroup, emitter, spawn,
                                                            tmp_path_factory):
    """One program stays in the group; the other one enters and leaves it."""
    stays, moves = emitter('forever'), emitter('forever')
    out = tmp_path_factory.mktemp('out') / 'out.json'  # v1: tmp_path is the hierarchy

    def move(program, group):
        (group / 'cgroup.procs').write_text(str(program.pid))

    def times():
        return last_times(out, [stays.pid, moves.pid]) if out.exists() else (0, 0)

    move(stays, cgroup)
    spawn(ATTAR, 'trace', '-q', '-o', out, '--cgroups', cgroup.name, '-d', '60s', '-e',
          'user_events:e2e_tick/transport=shm/')
    wait_until(lambda: times()[0], 'the program in the group is shown')
    assert not times()[1]
    move(moves, cgroup)
    wait_until(lambda: times()[1], 'the program that enters the group is shown')
    move(moves, cgroup.parent)
    wait_until(lambda: times()[0] > times()[1] + 1, 'the program that leaves it is not shown')


@pytest.mark.guest('x86')
def test_cgroup_option_selects_programs(root):
    """
    Of two programs that share their memory, only the one in the group is shown. In a boot of its
    own, because a kernel keeps a hierarchy that has groups.
    """
    script = f"""
        mkdir /tmp/groups && mount -t cgroup -o perf_event none /tmp/groups && mkdir /tmp/groups/inside || exit 1
        export PERFUME_RING=1
        {EMIT} forever >/dev/null & inside=$!
        {EMIT} forever >/dev/null & outside=$!
        echo $inside > /tmp/groups/inside/cgroup.procs
        {ATTAR} trace -q -o /tmp/c.json --cgroups inside -N 50 -e user_events:e2e_tick/transport=shm/
        kill $inside $outside
        echo "== $inside"; cat /tmp/c.json"""
    done = guest.boot('x86', 'sh', '-c', script)
    assert done.returncode == 0, done.stderr
    inside = re.search(r'^== (\d+)$', done.stdout, re.M)[1]
    rows, _ = lines_of(done.stdout, inside)
    assert len(rows) == 50 and {row['tid'] for row in rows} == {int(inside)}
