# SPDX-License-Identifier: MIT
"""The Python package: counts and events are compared with known numbers."""
import json
import re
import signal
import subprocess
import sys
import textwrap

import pytest

from command import ROOT, is_sampling, run, share_is, wait_until, workload
from faults import sanitized
from python_package import execute, needs_package, start, value_of

pytestmark = needs_package
CALLS = [sys.executable, '-c', 'import os\nfor i in range(5000): os.getppid()']

SCRIPT = '''# attar script
event sched:sched_wakeup stack comm:char[16] pid:pid_t prio:s32 target_cpu:s32
event test:text number:u64 name:string
wall 1700000000
1.000000100 0 100/101 waker sched:sched_wakeup comm=sleeper pid=42 prio=-5 target_cpu=1
1.000000200 1 100/102 other test:text number=18446744073709551615 name="a longer text"
1.000000300 1 100/102 other lost 3
1.000000400 0 100/101 waker test:text number=7 name=b
1.000000500 0 100/101 waker sched:sched_wakeup comm=sleeper pid=43 prio=120
'''


@pytest.fixture
def script(tmp_path):
    path = tmp_path / 'test.script'
    path.write_text(SCRIPT)
    return path


# ---- truth ----

@pytest.mark.parametrize('loop', [
    'n = sum(1 for event in events)',
    'n = sum(len(batch) for batch in events.batches())',
    'n = len(list(iter(lambda: next(events, None), None)))',
    '''
async def read():
    return sum([1 async for event in events])
import asyncio
n = asyncio.run(read())
'''])
def test_each_event_is_delivered_once(loop):
    found = value_of(f'''
events = attar.events('syscalls:sys_enter_getppid', command={CALLS})
with events:
{'    '.join(['', *loop.strip().splitlines(True)])}
    print(json.dumps([n, events.notes['seen'], events.notes['lost'], events.command_status]))
''')
    assert found == [5000, 5000, 0, 0]


@pytest.mark.parametrize('end', ['list(events)', 'events.stop(); events.drain()'])
def test_periods_of_losses_have_all_lost_events(end):
    """The ring is read when the program has ended, whose side-band records it lost, too."""
    seen, lost, periods = value_of(f'''
        import subprocess
        code = 'import os; input(); [os.getppid() for _ in range(5000)]'
        program = subprocess.Popen([sys.executable, '-c', code], stdin=subprocess.PIPE)
        name = 'syscalls:sys_enter_getppid'
        with attar.events(name, pids=[program.pid], mmap_pages=2) as events:
            program.communicate(b'go')
            {end}
            print(json.dumps([events.notes['seen'], events.notes['lost'], events.losses()]))
    ''')
    assert sum(number for _, _, number, _ in periods) == lost > 0
    assert seen + lost == 5000
    assert all(0 < begin <= end for begin, end, _, _ in periods)


def test_page_faults_of_a_block_are_counted():
    if sanitized():
        pytest.skip('the shadow memory of the sanitizer faults too')
    found = value_of('''
        import ctypes, mmap
        memset = ctypes.CDLL(None).memset

        def touch(pages):
            area = mmap.mmap(-1, pages * mmap.PAGESIZE,
                             flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
            area.madvise(mmap.MADV_NOHUGEPAGE)
            start = ctypes.addressof(ctypes.c_char.from_buffer(area))
            memset(ctypes.c_void_p(start), 1, pages * mmap.PAGESIZE)

        def faults(pages):
            with attar.count('page-faults:u') as c:
                touch(pages)
            return c.value

        faults(1)
        print(json.dumps([faults(10), faults(1010)]))
    ''')
    few, many = found
    assert many - few == 1000


def test_counts_are_kept_and_read_meanwhile():
    found = value_of('''
        with attar.count('context-switches', 'page-faults', thread=True) as c:
            before = c['context-switches']
            os.sched_yield()
            bytearray(1 << 24)
            middle = c['page-faults']
        print(json.dumps([list(c.values), middle <= c['page-faults'], middle,
                          c.items()[1][1].quality]))
    ''')
    assert found[0] == ['context-switches', 'page-faults']
    assert found[1] and found[2] >= 1 and found[3] == 'exact'


def test_filters_of_counted_events():
    found = value_of(f'''
        def counted(events):
            with attar.count(events, thread=True) as c:
                for fd in (7, 8, 8):
                    try:
                        os.fsync(fd + 1000)
                    except OSError:
                        pass
            return c.values

        name = 'syscalls:sys_enter_fsync'
        print(json.dumps([counted(name), counted(f'{{name}}/fd==1008/'),
                          counted(f'{{{{{{name}}/fd==1008/,page-faults}}}}'),
                          counted(f'{{{{page-faults,{{name}}/fd==1007/}}}}')]))
    ''')
    assert [one['syscalls:sys_enter_fsync'] for one in found] == [3, 2, 2, 1]


def test_shares_of_a_profile_are_those_of_the_program():
    """Of its user time: interrupts of a busy disk can take a tenth of its CPU time."""
    found = value_of(f'''
        with attar.profile(freq=997, stacks=True, exclude_kernel=True,
                           command=[{workload('split7030')!r}]) as run:
            for report in run:
                print(json.dumps([report['functions'].dicts(), report['stacks'].dicts(),
                                  report.notes]))
    ''')
    functions, nodes, notes = found
    own = {f['symbol']: f['samples'] for f in functions if f['comm'] == 'split7030'}
    whole = sum(f['samples'] for f in functions)
    print(*functions, sep='\n')  # shown if the test fails
    share_is(own['heavy'], whole, 0.7)
    share_is(own['light'], whole, 0.3)
    assert notes['seen'] == whole == sum(node['self'] for node in nodes)
    assert 0 <= notes['unresolved'] < 0.5


def test_notes_without_samples_have_no_share_of_names():
    assert value_of("""
        with attar.syscalls(duration=0.1) as run:
            for report in run:
                print(json.dumps(report.notes['unresolved']))
    """) is None


def test_a_recording_has_the_same_report_as_from_the_command(tmp_path):
    path = tmp_path / 'x.data'
    assert run('record', '-q', '-g', '--output', path, '--', workload('split7030')) \
        .returncode == 0
    expected = json.loads(run('profile', '-g', '--input', path, '--format', 'json').stdout)
    found = value_of('''
        report = attar.open(sys.argv[1]).profile(stacks=True).report()
        sections = {s.name: [s.columns, s.rows()] for s in report}
        print(json.dumps([report.to_dict(), sections]))
    ''', path)
    assert found[0]['sections'] == expected['sections'] != []
    assert found[0]['notes']['seen'] == expected['notes']['seen']
    functions = next(s for s in expected['sections'] if s['name'] == 'functions')
    assert found[1]['functions'] == [[c['name'] for c in functions['columns']],
                                     functions['rows']]


@pytest.mark.quick
def test_formats_that_are_not_text_are_bytes(script):
    found = value_of('''
        import gzip
        report = attar.open(sys.argv[1]).profile(event='sched:sched_wakeup', stacks=True).report()
        packed = report.render('pprof')
        print(json.dumps([isinstance(packed, bytes), b'sleeper' in gzip.decompress(packed),
                          b'waker' in gzip.decompress(packed),
                          [type(report.render(sink)).__name__ for sink in ('json', 'html')]]))
    ''', script)
    assert found == [True, False, True, ['str', 'str']]


@pytest.mark.quick
def test_an_event_as_text(script):
    found = value_of('print(json.dumps([[repr(e), str(e)] for e in '
                     'attar.open(sys.argv[1]).events()]))', script)
    assert found[0][0] == '<PerfEvent sched:sched_wakeup cpu=0 pid=100 time=1000000100>'
    assert found[0][1].endswith("'_event': 'sched:sched_wakeup', 'comm': 'sleeper', 'pid': 42, "
                                "'prio': -5, 'target_cpu': 1}")


@pytest.mark.quick
def test_fields_of_a_script(script):
    found = value_of('''
        events = attar.open(sys.argv[1]).events()
        rows = [[e._name, e._time, e._realtime, e._cpu, e._pid, e._tid, e._comm, e._asdict()]
                for e in events]
        losses = events.losses()
        print(json.dumps([rows, losses]))
    ''', script)
    rows, losses = found
    wall = 1700000000 * 10 ** 9
    assert rows == [
        ['sched:sched_wakeup', 1000000100, wall + 1000000100, 0, 100, 101, 'waker',
         {'comm': 'sleeper', 'pid': 42, 'prio': -5, 'target_cpu': 1}],
        ['test:text', 1000000200, wall + 1000000200, 1, 100, 102, 'other',
         {'number': 2 ** 64 - 1, 'name': 'a longer text'}],
        ['test:text', 1000000400, wall + 1000000400, 0, 100, 101, 'waker',
         {'number': 7, 'name': 'b'}],
        ['sched:sched_wakeup', 1000000500, wall + 1000000500, 0, 100, 101, 'waker',
         {'comm': 'sleeper', 'pid': 43, 'prio': 120, 'target_cpu': 0}]]
    assert [(n, cpu) for _, _, n, cpu in losses] == [(3, 1)]


def test_batches_are_structured_arrays(script):
    pytest.importorskip('numpy')
    found = value_of('''
        arrays = {}
        for batch in attar.open(sys.argv[1]).events().batches():
            for name in ('sched:sched_wakeup', 'test:text'):
                array = batch.array(name)
                arrays[name] = [list(array.dtype.names), array['_time'].tolist(),
                                array[array.dtype.names[-1]].tolist()[-1:]]
                if name == 'test:text':
                    arrays['numbers'] = array['number'].tolist()
                    arrays['texts'] = [text.decode() for text in array['name'].tolist()]
                    arrays[name].pop()
        print(json.dumps(arrays))
    ''', script)
    assert found['sched:sched_wakeup'] == [
        ['_time', '_period', '_ip', '_addr', '_cpu', '_pid', '_tid', '_comm', 'comm', 'pid',
         'prio', 'target_cpu'], [1000000100, 1000000500], [0]]
    assert found['numbers'] == [2 ** 64 - 1, 7]
    assert found['texts'] == ['a longer text', 'b']


def test_an_array_of_equal_rows_is_not_copied(tmp_path):
    pytest.importorskip('numpy')
    path = tmp_path / 'test.script'
    path.write_text('# attar script\nevent test:a number:u32\n'
                    + ''.join(f'{i}.0 0 1/1 c test:a number={i}\n' for i in range(1, 101)))
    found = value_of('''
        batches = list(attar.open(sys.argv[1]).events().batches())
        gathered = [batch._gather(0) for batch in batches]
        again = [batch._gather(0) for batch in batches]
        print(json.dumps([all(a[0] is b[0] for a, b in zip(gathered, again)),
                          sum(int(batch.array()['number'].sum()) for batch in batches)]))
    ''', path)
    assert found == [True, 5050]


def test_a_program_gets_its_own_events_if_it_names_itself():
    own, pids = value_of('''
        import os, threading

        stop = threading.Event()
        def call():
            while not stop.wait(0.001):
                os.getppid()

        thread = threading.Thread(target=call)
        thread.start()
        events = attar.events('raw_syscalls:sys_enter', pids=[os.getpid()], duration=30)
        pids = sorted({event._pid for _, event in zip(range(20), events)})
        stop.set()
        thread.join()
        print(json.dumps([os.getpid(), pids]))
    ''')
    assert pids == [own]


@pytest.mark.parametrize('mode', ['iterate', 'arrays'])
def test_events_of_a_python_program_arrive(mode):
    emitter = '''
import attar
placed = attar.Event('py_order', id='u64', price='f64', urgent='bool', symbol='str', data='bytes')
n = sum(placed(i, i / 2, urgent=i % 2 == 1, symbol='s' * i, data=bytes([i])) for i in range(200))
assert n == 200, n
'''
    found = value_of(f'''
        command = [sys.executable, '-c', {emitter!r}]
        events = attar.events('user_events:py_order', command=command)
        rows = [[e.id, e.price, e.urgent, e.symbol, list(e.data)] for e in events]
        events.close()
        print(json.dumps([rows, events.command_status]))
    ''')
    assert found == [[[i, i / 2, i % 2, 's' * i, [i]] for i in range(200)], 0]


def test_events_of_programs_are_recorded_from_the_begin_of_a_block():
    during, numbers, after = value_of('''
        event = attar.Event('py_block', number='u64')
        with attar.events('user_events:py_block', pids=[os.getpid()]) as events:
            during = [event.enabled, sum(event(number=i) for i in range(100))]
            events.stop()
            numbers = [one.number for one in events]
        after = [event.enabled, event(number=100)]
        print(json.dumps([during, numbers, after]))
    ''')
    assert during == [True, 100] and numbers == [*range(100)]
    assert after == [False, False]


def blocks_of_code(path):
    """The indented blocks of a page, in order."""
    blocks, lines = [], []
    for line in [*path.read_text().splitlines(), 'end']:
        if line.startswith('    ') or not line and lines:
            lines.append(line)
        elif lines:
            blocks.append(textwrap.dedent('\n'.join(lines)).strip())
            lines = []
    return blocks


def test_the_examples_of_the_manual_run(tmp_path):
    pytest.importorskip('numpy')
    assert run('record', '-q', '-g', '-e', 'cpu-clock,sched:sched_switch', '--output',
               tmp_path / 'perf.data', '--', workload('split7030')).returncode == 0
    code = '\n'.join(blocks_of_code(ROOT / 'docs/python.md'))
    done = execute(f'import os\nos.chdir({str(tmp_path)!r})\n{code}')
    assert done.returncode == 0, done.stderr
    assert re.search(r"'page-faults:u': \d+, 'context-switches': \d+", done.stdout)
    assert 'heavy' in done.stdout and re.search(r'^\d+ \d+ \[', done.stdout, re.M)


def test_notebooks_show_graphs_and_tables(tmp_path):
    pytest.importorskip('pandas')
    found = value_of(f'''
        with attar.profile(freq=997, stacks=True, command=[{workload('split7030')!r}]) as run:
            report = run.report()
        frame = report.to_pandas('functions')
        table = report['functions']
        print(json.dumps([report._repr_html_(), table._repr_html_(), list(frame.columns),
                          int(frame['samples'].sum()), sum(table.column('samples')), str(report),
                          table.columns]))
    ''')
    graph, table, columns, whole, total, text, names = found
    assert graph.startswith('<iframe srcdoc="&lt;!doctype html&gt;') and 'heavy' in graph
    assert '<th>symbol</th>' in table and '<td>heavy</td>' in table
    assert columns == names and whole == total > 0
    assert 'heavy' in text and 'samples seen' in text


def test_intervals_are_separate_reports():
    found = value_of(f'''
        with attar.top('syscalls:sys_enter_getppid', interval=0.005, command={CALLS}) as run:
            reports = [sum(sum(v for k, v in row.items() if 'getppid' in k.lower())
                           for row in report.sections[0].dicts()) for report in run]
        print(json.dumps(reports))
    ''')
    assert len(found) >= 2 and sum(found) == 5000


def test_reason_and_fix_of_an_error_are_separate(script):
    found = value_of('''
        import pickle
        found = []
        for path in sys.argv[1], '/etc/passwd':
            try:
                attar.open(path).profile(duration=1).report()
            except attar.Error as e:
                again = pickle.loads(pickle.dumps(e))
                found.append([e.text, again.reason, again.fix])
        print(json.dumps(found))
    ''', script)
    (text, reason, fix), other = found
    # a long path is shortened
    assert str(script)[:40] in reason and reason.endswith(' has no samples of CPU time')
    assert fix == ('choose one of its events with --event, whose samples then count as CPU '
                   'time')
    assert text == f'{reason}: {fix}'
    assert other[0] == other[1] and other[2] == '' and '/etc/passwd' in other[0]


def test_refused_options_have_a_fix():
    found = value_of('''
        import resource
        found = []
        def fail(call):
            try:
                found.append(call())
            except attar.Error as e:
                found.append([str(e), e.reason, e.fix])
        fail(lambda: attar.stat(line=True).report())
        fail(lambda: attar.record(rotate=2).report())
        fail(lambda: attar.snoop().report())
        fail(lambda: attar.multi_trace('sched:sched_switch').report())
        fail(lambda: list(attar.events('sched:sched_wakeup/priu<3/')))
        resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir('/proc/self/fd')) - 1, 4096))
        fail(lambda: list(attar.events('sched:sched_wakeup')))
        print(json.dumps(found))
    ''')
    assert [fix for _, _, fix in found[:-1]] == [
        'add --interval', 'add --max-size',
        'give one -e option, or two for the start and the end of pairs',
        'give two -e options, or one and --cycle', "did you mean 'prio'?"]
    assert found[-1][2] == 'run ulimit -n 1024'
    for text, reason, fix in found:
        assert text.startswith(f'{reason}: {fix}') and '\x1f' not in text


# ---- life ----

def test_closed_objects_are_reported(script):
    found = value_of('''
        def error(f):
            try:
                return f'no error: {f()}'
            except attar.Error as e:
                return str(e)
        path, texts = sys.argv[1], []
        with attar.events(input=path) as events:
            kept = list(events)
        texts.append(error(lambda: next(events)))
        texts.append(error(events.losses))
        texts.append(error(events.__enter__))
        texts.append(error(lambda: kept[0]._stack))
        with attar.trace(input=path) as run:
            pass
        texts.append(error(run.report))
        texts.append(error(run.__enter__))
        texts.append(error(run.stop))
        counters = attar.count('page-faults', thread=True)
        with counters:
            pass
        texts.append(error(counters.enable))
        event = attar.Event('closed_event')
        event.close()
        texts.append(error(event))
        run.close()
        print(json.dumps([texts, kept[0].pid, kept[1].name]))
    ''', script)
    assert found == [['the run was closed'] * 7
                     + ['the counters were closed', 'the event was closed'], 42, 'a longer text']


def test_a_loop_may_close_its_run(script):
    """What was read is delivered, then the loop fails; after stop() it ends."""
    found = value_of('''
        import asyncio
        def loop(things, end):
            seen = []
            try:
                for thing in things:
                    seen.append(type(thing).__name__)
                    end()
            except attar.Error as e:
                seen.append(str(e))
            return seen

        async def read(events):
            return [events.close() async for event in events]

        path, found = sys.argv[1], []
        events = attar.events(input=path)
        found.append(loop(events, events.close))
        events = attar.events(input=path)
        found.append(loop(events.batches(), events.close))
        run = attar.trace(input=path)
        found.append(loop(run, run.close))
        events = attar.events('sched:sched_switch')
        found.append(len(loop(events, events.stop)) > 0)
        events.close()
        try:
            asyncio.run(read(attar.events(input=path)))
        except attar.Error as e:
            found.append(str(e))
        print(json.dumps(found))
    ''', script)
    closed = 'the run was closed'
    assert found == [['TraceEvent'] * 4 + [closed], ['Batch', closed], ['Report', closed], True,
                     closed]


def test_ctrl_c_ends_a_wait():
    process = start('''
        import attar
        with attar.events('sched:sched_process_exec/pid==-1/') as events:
            try:
                print('ready', flush=True)
                next(events)
            except KeyboardInterrupt:
                print('interrupted')
        print(events.closed)
    ''', stdout=subprocess.PIPE)
    assert process.stdout.readline() == 'ready\n'
    wait_until(lambda: is_sampling(process), 'rings are mapped')
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=60)[0] == 'interrupted\nTrue\n'


def test_other_threads_run_while_one_waits():
    """The waiting thread never ends unless another one can call stop()."""
    found = value_of('''
        import threading
        events = attar.events('sched:sched_process_exec/pid==-1/')
        with events:
            stopper = threading.Thread(target=lambda: [i for i in range(10000)] and events.stop())
            waiter = threading.Thread(target=lambda: list(events))
            waiter.start()
            stopper.start()
            waiter.join()
        print(json.dumps(events.notes['seen'] if not events.closed else 'closed'))
    ''')
    assert found == 'closed'


def test_a_run_is_read_by_one_thread():
    """close() is refused while another thread waits, which then ends with stop()."""
    found = value_of('''
        import threading
        events = attar.events('sched:sched_process_exec/pid==-1/')
        events.__enter__()
        found = []
        waiter = threading.Thread(target=lambda: found.append(list(events)))
        waiter.start()
        while not found:
            try:
                events.notes
            except attar.Error as e:
                found.append([e.reason, e.fix])
        try:
            events.close()
        except attar.Error as e:
            found.append(e.errno)
        events.stop()
        waiter.join()
        events.close()
        print(json.dumps(found))
    ''')
    assert found == [['the run is in use by another thread', 'let one thread read it'], 16, []]


def test_a_task_that_waits_for_events_can_be_cancelled():
    """Also in each turn of the event loop after the rings became readable."""
    found = value_of('''
        import asyncio

        async def read(events):
            async for event in events:
                pass

        async def cancel_after(turns):
            with attar.events('sched:sched_process_exec/pid==-1/') as events:
                task = asyncio.ensure_future(read(events))
                await asyncio.sleep(0)
                events.stop()
                for _ in range(turns):
                    await asyncio.sleep(0)
                asked = task.cancel()
                await asyncio.wait({task})
                return asked, task.cancelled()

        print(json.dumps([asyncio.run(cancel_after(turns)) for turns in range(10)]))
    ''')
    assert found[0] == [True, True] and found[-1] == [False, False]
    assert all(asked == cancelled for asked, cancelled in found), found


def test_other_tasks_run_while_each_reading_finds_events(script):
    """The batch of the recording is returned 100 times."""
    turns, seen = value_of('''
        import asyncio

        async def count(turns):
            while True:
                turns.append(1)
                await asyncio.sleep(0)

        async def main():
            turns, events = [], attar.open(sys.argv[1]).events()
            batches = 100 * [next(events.batches())]
            events._next_batch = lambda milliseconds: batches.pop() if batches else None
            events._over = True
            counter = asyncio.ensure_future(count(turns))
            seen = len([1 async for event in events])
            counter.cancel()
            return len(turns), seen

        print(json.dumps(asyncio.run(main())))
    ''', script)
    assert seen == 400 and turns >= 99


def test_an_exception_in_the_loop_closes_everything():
    found = value_of('''
        def rings():
            return [os.readlink(f'/proc/self/fd/{fd}') for fd in os.listdir('/proc/self/fd')
                    if fd.isdigit() and os.path.islink(f'/proc/self/fd/{fd}')
                    ].count('anon_inode:[perf_event]')
        try:
            with attar.events('sched:sched_switch') as events:
                opened = rings()
                for event in events:
                    raise ZeroDivisionError
        except ZeroDivisionError:
            print(json.dumps([opened > 0, rings(), events.closed]))
    ''')
    assert found == [True, 0, True]


def test_nothing_leaks_in_1000_runs(script):
    found = value_of('''
        import gc
        def once(path):
            with attar.events(input=path, stacks=True) as events:
                for event in events:
                    event._asdict(), event._stack, event._text, repr(event)
            with attar.trace(input=path) as run:
                for report in run:
                    [section.dicts() for section in report], report.to_dict()
            try:
                attar.events('no:such', input=path).__enter__()
            except attar.Error:
                pass
            try:
                event.nothing
            except AttributeError:
                pass
        def blocks(times):
            for _ in range(times):
                once(sys.argv[1])
            gc.collect()
            return sys.getallocatedblocks()
        blocks(100)
        before = blocks(10)
        after = blocks(1000)
        print(json.dumps([after - before, len(os.listdir('/proc/self/fd'))]))
    ''', script)
    assert found[0] < 500, f'{found[0]} more blocks after 1000 runs'
    assert found[1] < 20


# ---- bad input ----

@pytest.mark.quick
@pytest.mark.parametrize('code, message', [
    ("attar.profile(frequ=1)", "TypeError: profile() has no option 'frequ': did you mean 'freq'?"),
    ("attar.profile(freq='often')",
     "TypeError: profile(): freq must be an integer of 0 or more, not 'often'"),
    ("attar.profile(freq=True)", "freq must be an integer of 0 or more, not True"),
    ("attar.profile(freq=0)", "attar._error.Error: freq"),
    ("attar.profile(duration=[])", "duration must be seconds, a timedelta, or text with a unit"),
    ("attar.profile(duration='5x')", "attar._error.Error: duration: "),
    ("attar.profile(duration='abc')", "attar._error.Error: duration: 'abc' is not a time"),
    ("attar.events(duration=1)", "TypeError: events(): name an event, such as"),
    ("attar.count('page-faults', pid=1)",
     "TypeError: count() has no option 'pid': did you mean 'pids'?"),
    ("attar.open('x', pth=1)", "TypeError: open() has no option 'pth': did you mean 'path'?"),
    ("r = attar.profile(duration=0.01); r.report(); r.close(); list(r)", "the run was closed"),
    ("r = attar.profile(duration=0.01); list(r); r.close(); list(r)", "the run was closed"),
    ("attar.profile(stacks=1)", "profile(): stacks must be True or False, not 1"),
    ("attar.profile(command=[])", "command is an empty list"),
    ("attar.profile(pids={1: object()}.values())", "pids must be text, or a list of texts"),
    ("attar.profil()", "attar has no profiler 'profil': did you mean 'profile'?"),
    ("attar.count()", "name an event, such as 'page-faults:u'"),
    ("attar.count('page-falts')", "did you mean 'page-faults'?"),
    ("attar.count('page-faults', pids=1, thread=True)", "specify one of pids, tids, system"),
    ("attar.count('page-faults', pids=999999999)", "attar._error.Error: "),
    ("attar.open('/nowhere')", "No such file or directory: '/nowhere'"),
    ("attar.open('/etc/passwd').profile().report()", "attar._error.Error: "),
    ("attar.Event('x', id='u63')", "Event(): id has no type 'u63': did you mean 'u6"),
    ("attar.Event('a b')", "attar._error.Error: "),
    ("attar.Event(5)", "TypeError: Event(): the name must be str, not 5"),
    ("attar.Event('x', common_pid='u32')",
     "ValueError: Event(): common_pid is a field of each event already: rename it"),
    ("attar.Event('x', text='str')._pack(['a\\0b'])",
     "ValueError: x: text has a null character, where a str ends: use a field of the type bytes"),
    ("attar.Event('a', x='u8', n='s8')._pack([3, 300])", "TypeError: a: n must be s8, not 300"),
    ("attar.events('sched:sched_wakeup', duratoin=1)", "did you mean 'duration'?"),
    ("list(attar.events('x\\0y'))", "ValueError: embedded null byte"),
    ("attar.Batch()", "objects of this type are made by attar only"),
])
def test_bad_input_is_explained(code, message):
    done = execute(f'import attar\n{code}')
    assert done.returncode == 1
    assert message in done.stderr.splitlines()[-1] or message in done.stderr, done.stderr
