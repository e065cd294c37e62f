# SPDX-License-Identifier: MIT
"""attar kmemleak and kmemprof: allocations of scripts, of a known program and of the kernel."""
import json
import signal
import subprocess

import pytest

from command import ATTAR, run, wait_until, is_sampling, workload
from scripts import of_script, report, rows, wait_until_running

DECLARED = '''event kmem:kmalloc ptr:u64 bytes_req:u64 bytes_alloc:u64 stack
event kmem:kfree ptr:u64
'''
EVENTS = ['--alloc', 'kmem:kmalloc', '--free', 'kmem:kfree']
KEEPS, USES = 'stack=0xffffffff81000010', 'stack=0xffffffff81000020'


def line(number, event, fields, comm='worker'):
    return f'{1 + number // 1000}.{number % 1000:03} 0 7/7 {comm} kmem:{event} {fields}\n'


def alloc(number, ptr, size=64, stack=KEEPS, **kwargs):
    return line(number, 'kmalloc', f'ptr={ptr} bytes_req={size - 8} bytes_alloc={size} {stack}',
                **kwargs)


def free(number, ptr):
    return line(number, 'kfree', f'ptr={ptr}')


def leaky():
    """500 allocations at 100 addresses, of which 37 leak."""
    text = DECLARED
    for i in range(500):
        if i % 13 == 0 and i // 13 < 37:
            text += alloc(2 * i, 0x10000 + i)
        else:
            text += alloc(2 * i, 0x100 + i % 100, 32, USES) + free(2 * i + 1, 0x100 + i % 100)
    return text


def totals(found):
    return {r['state']: (r['objects'], r['bytes']) for r in rows(found, 'allocations')}


@pytest.mark.quick
def test_leaks_are_those_of_their_stack(tmp_path):
    found = of_script(tmp_path, leaky(), 'kmemleak', *EVENTS, '-g')
    assert totals(found) == {'allocated': (500, 37 * 64 + 463 * 32), 'freed': (463, 463 * 32),
                             'leaked': (37, 37 * 64)}
    leak, = rows(found, 'leaks')
    assert (leak['objects'], leak['bytes'], leak['event']) == (37, 37 * 64, 'kmem:kmalloc')
    assert 'ffffffff81000010' in leak['detail'][0]


@pytest.mark.quick
def test_freed_twice(tmp_path):
    """The second free of an address is counted, and no other allocation disappears."""
    text = DECLARED + alloc(1, 1) + alloc(2, 2) + free(3, 1) + free(4, 1) + alloc(5, 1)
    found = of_script(tmp_path, text, 'kmemleak', *EVENTS)
    assert totals(found)['leaked'] == (2, 128)
    assert any(r.startswith('1 free of addresses') for r in found['remarks'])


@pytest.mark.quick
def test_allocated_twice(tmp_path):
    found = of_script(tmp_path, DECLARED + alloc(1, 1) + alloc(2, 1), 'kmemleak', *EVENTS)
    assert totals(found)['leaked'] == (1, 64)
    assert '1 address was allocated again without a free' in found['remarks']


@pytest.mark.quick
def test_an_hour_without_free_is_bounded(tmp_path):
    text = DECLARED + ''.join(alloc(i * 360, i + 1) for i in range(10000))
    found = of_script(tmp_path, text, 'kmemleak', *EVENTS, '--allocations', 1000)
    assert totals(found) == {'allocated': (10000, 640000), 'freed': (0, 0),
                             'leaked': (1000, 64000)}
    assert any(r.startswith('9000 of the oldest allocations were dropped')
               for r in found['remarks'])
    leak, = rows(found, 'leaks')
    assert leak['oldest'] == 999 * 360_000_000


@pytest.mark.quick
def test_lost_frees_are_not_leaks(tmp_path):
    text = DECLARED + alloc(1, 1) + alloc(2, 2) + '1.003 0 7/7 worker lost 3\n' + alloc(4, 3)
    found = of_script(tmp_path, text, 'kmemleak', *EVENTS)
    assert totals(found)['leaked'] == (1, 64)
    assert any('allocations were dropped, because the free may be among the lost' in r
               for r in found['remarks'])


@pytest.mark.quick
def test_frees_after_a_loss(tmp_path):
    """Their allocations were dropped: they are neither freed twice nor from before the start."""
    text = (DECLARED + alloc(1, 1) + alloc(2, 2) + '1.003 0 7/7 worker lost 3\n' + free(4, 1)
            + free(5, 2))
    found = of_script(tmp_path, text, 'kmemleak', *EVENTS)
    assert ('2 frees after lost events, whose allocations may be among these, or were dropped '
            'because of them') in found['remarks']
    assert not any('freed twice' in r for r in found['remarks'])


@pytest.mark.quick
def test_older_and_by_comm(tmp_path):
    text = DECLARED + alloc(1, 1) + alloc(2, 2, comm='other') + alloc(3, 3) + alloc(500, 4)
    found = of_script(tmp_path, text, 'kmemleak', *EVENTS, '--comm', '--than', '400ms')
    assert {(r['comm'], r['objects']) for r in rows(found, 'leaks')} == {('worker', 2),
                                                                       ('other', 1)}


@pytest.mark.quick
def test_ages_are_those_at_the_end_of_the_interval(tmp_path):
    """The report of two seconds is made when the event after it is known."""
    text = DECLARED + alloc(0, 1) + alloc(600, 2) + free(2900, 2) + alloc(2950, 3)
    path = tmp_path / 'test.script'
    path.write_text('# attar script\n' + text)
    done = run('kmemleak', '--input', path, *EVENTS, '-i', '1s', '--than', '500ms', '--format',
               'json')
    assert done.returncode == 0, done.stderr
    reports = [json.loads(each) for each in done.stdout.splitlines()]
    assert [[(r['objects'], r['oldest']) for r in rows(each, 'leaks')] for each in reports] == [
        [(2, 2_000_000_000)], [(1, 2_950_000_000)]]


@pytest.mark.quick
def test_expressions_and_failed_allocations(tmp_path):
    text = 'event a:get page:u64 order:u32\nevent a:put page:u64\n' \
        '1.1 0 7/7 w a:get page=5 order=1\n1.2 0 7/7 w a:get page=6 order=0\n' \
        '1.3 0 7/7 w a:get page=0 order=9\n1.4 0 7/7 w a:put page=6\n'
    found = of_script(tmp_path, text, 'kmemleak', '--alloc', 'a:get//ptr=page/size=4096<<order/',
                      '--free', 'a:put//ptr=page/')
    assert totals(found) == {'allocated': (2, 12288), 'freed': (1, 4096), 'leaked': (1, 8192)}


@pytest.mark.quick
def test_a_call_and_its_return_are_one_allocation(tmp_path):
    text = 'event a:call n:u64\nevent a:return ptr:u64\nevent a:free ptr:u64\n' \
        '1.1 0 7/7 w a:call n=10\n1.2 1 7/8 v a:call n=20\n' \
        '1.3 0 7/7 w a:return ptr=1\n1.4 1 7/8 v a:return ptr=2\n1.5 0 7/7 w a:free ptr=2\n'
    found = of_script(tmp_path, text, 'kmemleak', '--alloc', 'a:call//size=n/,a:return',
                      '--free', 'a:free')
    assert totals(found) == {'allocated': (2, 30), 'freed': (1, 20), 'leaked': (1, 10)}


@pytest.mark.quick
@pytest.mark.parametrize('profiler', ['kmemleak', 'kmemprof'])
def test_calls_without_a_return(tmp_path, profiler):
    """Frees of what they allocated are no reason to look for an earlier allocation."""
    text = 'event a:call n:u64\nevent a:more n:u64\nevent a:return ptr:u64\n' \
        'event a:free ptr:u64\n' \
        '1.1 0 7/7 w a:call n=10\n1.2 0 7/7 w a:call n=20\n1.3 0 7/7 w a:free ptr=2\n'
    events = ['--alloc', 'a:call//size=n/', '--free', 'a:free']
    found = of_script(tmp_path, text, profiler, *events)
    remark, = (r for r in found['remarks'] if 'address' in r)
    assert remark.startswith("2 allocations by 'a:call' are not counted: its events have a size "
                             'but no address')
    assert 'uretprobe:FUNCTION@FILE//args=(ptr=$retval)/' in remark
    found = of_script(tmp_path, text + '1.4 0 7/8 v a:call n=1\n1.5 0 7/8 v a:return ptr=3\n'
                      '1.6 0 7/7 w a:more n=30\n', profiler, *events, '--alloc',
                      'a:return,a:more//size=n/')
    first, second = (r for r in found['remarks'] if 'address' in r)
    assert first.startswith("1 allocation by 'a:more' is not counted: ")
    assert second.startswith('1 free of addresses that were allocated before the start')


CALL, RETURN, FREE = (f'attar_e_20_30:{name}' for name in ('malloc_0x5a_0', 'malloc_0x5a_1',
                                                           'free_0x5a_2'))
PROBES = f'''event {CALL} __probe_ip:u64 n:u64
event {RETURN} __probe_func:u64 __probe_ret_ip:u64 ptr:u64
event {FREE} __probe_ip:u64 ptr:u64
'''
PROBED = f'''
1.1 0 7/7 w {CALL} n=10
1.2 1 7/8 v {CALL} n=20
1.3 0 7/7 w {RETURN} ptr=1
1.4 1 7/8 v {RETURN} ptr=2
1.5 0 7/7 w {FREE} ptr=2
'''
LIBRARY = '"/no/such/library.so"'


@pytest.mark.quick
def test_probes_of_a_recording(tmp_path):
    """The options that are used live; the probed file need not exist."""
    found = of_script(tmp_path, PROBES + PROBED, 'kmemleak',
                      '--alloc', f'uprobe:malloc@{LIBRARY}//args=(n=$arg1)/size=n/',
                      '--alloc', f'uretprobe:malloc@{LIBRARY}//args=(ptr=$retval)/',
                      '--free', f'uprobe:free@{LIBRARY}//args=(ptr=$arg1)/')
    assert totals(found) == {'allocated': (2, 30), 'freed': (1, 20), 'leaked': (1, 10)}
    assert rows(found, 'leaks')[0]['event'] == f'uretprobe:malloc@{LIBRARY}'


@pytest.mark.quick
@pytest.mark.parametrize('event, text, why', [
    ('uprobe:calloc@/bin/sh//args=(n=$arg1)/', '', f'no such probe; it has {CALL}, {RETURN}'),
    ('uretprobe:free@/bin/sh', '', f"no event 'uretprobe:free@/bin/sh'; it has {CALL}, {RETURN}"),
    ('uprobe:malloc@/bin/sh', f'event {CALL[:-1]}7 __probe_ip:u64\n',
     f"the recording has 2 probes of 'malloc': name one, such as {CALL[:-1]}7")],
    ids=['arguments', 'return', 'two'])
def test_probes_that_a_recording_lacks(tmp_path, event, text, why):
    path = tmp_path / 'test.script'
    path.write_text('# attar script\n' + PROBES + text + PROBED)
    done = run('trace', '--input', path, '-e', event)
    assert done.returncode != 0
    assert why in done.stderr


@pytest.mark.quick
def test_flame_graph(tmp_path):
    of_script(tmp_path, leaky(), 'kmemleak', *EVENTS, '-g', '--flame-graph', tmp_path / 'x.folded')
    stack, _, weight = (tmp_path / 'x.folded').read_text().strip().rpartition(' ')
    assert stack.startswith('worker;') and int(weight) == 37 * 64


@pytest.mark.quick
@pytest.mark.parametrize('profiler, n', [('kmemleak', {KEEPS: 3, USES: 1}),
                                         ('kmemprof', {KEEPS: 3, USES: 5})])
def test_events_without_sizes_are_counted(tmp_path, profiler, n):
    """Their bytes are unknown, and stacks and the flame graph have the number of objects."""
    text = 'event a:get ptr:u64 stack\nevent a:put ptr:u64\n' + ''.join(
        f'1.{i} 0 7/7 worker a:get ptr={i} {stack}\n' for i, stack in
        enumerate([USES] * 5 + [KEEPS] * 3, 1)) + ''.join(
        f'2.{i} 0 7/7 worker a:put ptr={i}\n' for i in range(1, 5))
    found = of_script(tmp_path, text, profiler, '--alloc', 'a:get', '--free', 'a:put', '-g',
                      '--flame-graph', tmp_path / 'x.folded')
    table = rows(found, 'leaks' if profiler == 'kmemleak' else 'stacks')
    stacks = {KEEPS: 'ffffffff81000010', USES: 'ffffffff81000020'}
    assert [(r['bytes'], r['objects']) for r in table] == \
        [(None, count) for count in sorted(n.values(), reverse=True)]
    for stack, count in n.items():
        row, = [r for r in table if stacks[stack] in r['detail'][0]]
        assert row['objects'] == count
    folded = (tmp_path / 'x.folded').read_text().splitlines()
    assert sum(int(line.rpartition(' ')[2]) for line in folded) == sum(n.values())
    assert all(r['bytes'] is None for r in rows(found, 'allocations'))


@pytest.mark.quick
@pytest.mark.parametrize('events', [['-e', 'kmem:kmalloc', '-e', 'kmem:kfree'], EVENTS])
def test_hot_spots(tmp_path, events):
    found = of_script(tmp_path, leaky(), 'kmemprof', *events, '-g')
    total, = rows(found, 'allocations')
    assert (total['objects'], total['freed'], total['freed bytes']) == (500, 463, 463 * 32)
    uses, keeps = rows(found, 'stacks')
    assert (uses['bytes'], uses['objects'], uses['freed']) == (463 * 32, 463, 463)
    assert (uses['p50 age'], uses['max age']) == (pytest.approx(1e6, rel=1 / 128), 1_000_000)
    assert (keeps['bytes'], keeps['objects'], keeps['freed']) == (37 * 64, 37, 0)
    assert uses['of objects'] == pytest.approx(92.6)


@pytest.mark.quick
@pytest.mark.parametrize('words, drop', [
    (['-k', 'page', '-e', 'a:get//size=4096<<order/'], 'a:put,a:drop//ptr=at/'),
    (['-k', 'page', '-e', 'a:get//size=4096<<order/'], 'a:put,a:drop//key=at/'),
    (['-e', 'a:get//size=(4096<<order)/key=page/'], 'a:put//key=page/,a:drop//ptr=at/key=at+1/'),
])
def test_the_address_is_the_key_of_events_without_one(tmp_path, words, drop):
    text = 'event a:get page:u64 order:u32\nevent a:put page:u64\nevent a:drop at:u64\n' \
        '1.1 0 7/7 w a:get page=5 order=1\n1.2 0 7/7 w a:get page=6 order=0\n' \
        '1.3 0 7/7 w a:put page=6\n1.4 0 7/7 w a:drop at=5\n'
    found = of_script(tmp_path, text, 'kmemprof', *words, '-e', drop)
    total, = rows(found, 'allocations')
    assert (total['bytes'], total['freed bytes'], total['freed']) == (12288, 12288, 2)


def uprobes(program):
    at = f'@"{program}"'
    return ['--alloc', f'uprobe:take{at}//args=(n=$arg1)/size=n/',
            '--alloc', f'uretprobe:take{at}//args=(ptr=$retval)/stack/alias=take/',
            '--free', f'uprobe:give{at}//args=(ptr=$arg1)/']


@pytest.mark.usefixtures('root')
def test_a_program_leaks_37_of_500():
    program = workload('leaks')
    found = report('kmemleak', *uprobes(program), '--comm', '--', program)
    assert totals(found) == {'allocated': (500, 32000), 'freed': (463, 463 * 64),
                             'leaked': (37, 37 * 64)}
    assert not [r for r in found.get('remarks', []) if 'may have been freed' in r]
    leak, = rows(found, 'leaks')
    assert (leak['comm'], leak['event'], leak['objects']) == ('leaks', 'take', 37)
    details = leak['detail']
    assert ' keep+0x' in details[0] and ' main+0x' in details[1]


@pytest.mark.usefixtures('root')
@pytest.mark.parametrize('words, is_said', [([], True), (['-a'], False)])
def test_frees_of_the_kernel_by_others_are_remarked_on(words, is_said):
    """No free passes the filter, so all allocations are open."""
    found = report('kmemleak', *words, '--alloc', 'kmem:kmalloc', '--free', 'kmem:kfree/ptr==1/',
                   '--', 'ls', '/')
    assert totals(found)['leaked'][0] > 0
    said = [r for r in found.get('remarks', []) if r.startswith('some of this memory may have')]
    assert len(said) == is_said


@pytest.mark.usefixtures('root')
def test_ages_are_those_at_the_end_of_the_program():
    """10 objects, and 30 ms at least without an event until the end."""
    program = workload('keeps10')
    found = report('kmemleak', *uprobes(program), '--than', '20ms', '--', program)
    assert totals(found) == {'allocated': (10, 1000), 'freed': (0, 0), 'leaked': (10, 1000)}
    leak, = rows(found, 'leaks')
    assert leak['oldest'] >= 30_000_000


@pytest.mark.usefixtures('root')
def test_ages_are_those_at_the_last_event():
    """With -N: the second event is the return of the first allocation."""
    program = workload('keeps10')
    found = report('kmemleak', *uprobes(program), '-N', 2, '--', program)
    leak, = rows(found, 'leaks')
    assert (leak['objects'], leak['oldest']) == (1, 0)


@pytest.mark.usefixtures('root')
def test_hot_spots_of_a_program():
    program = workload('leaks')
    found = report('kmemprof', *uprobes(program), '--', program)
    assert [(r['objects'], r['freed']) for r in rows(found, 'stacks')] == [(463, 463), (37, 0)]


@pytest.mark.usefixtures('root')
def test_kernel_allocations_are_matched():
    """
    An eventfd has a separate object, which is freed when its last descriptor is closed; new
    kernels end the events of a task before they close its files.
    """
    code = 'import os\nfor i in range(300): os.close(os.eventfd(0))\n' \
        'for i in range(50): os.eventfd(0)'
    found = report('kmemprof', '-e', 'kmem:kmalloc', '-e', 'kmem:kfree', '-m', 2048, '-g', '--',
                   '/usr/bin/python3', '-S', '-c', code)
    assert found['notes']['lost'] == 0
    made = [r for r in rows(found, 'stacks') if any('do_eventfd' in f for f in r['detail'][:2])]
    assert sum(r['objects'] for r in made) == 350
    assert sum(r['freed'] for r in made) in (300, 350)


KEEPS_37 = """
import os, sys
print(flush=True)
sys.stdin.readline()
for i in range(500):
    fd = os.eventfd(0)
    if i % 13 or i >= 37 * 13: os.close(fd)
print(flush=True)
sys.stdin.readline()
"""


@pytest.mark.usefixtures('root')
def test_the_kernel_leaks_37_of_500(spawn):
    """With the options of perf-prof's README. The program keeps 37 of 500 eventfds."""
    program = spawn('/usr/bin/python3', '-S', '-c', KEEPS_37, stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE)
    program.stdout.readline()
    attar = spawn(ATTAR, 'kmemleak', '--alloc', 'kmem:kmalloc//ptr=ptr/size=bytes_alloc/stack/',
                  '--free', 'kmem:kfree//ptr=ptr/', '--order', '-m', 128, '-g', '--format', 'json',
                  '-p', program.pid, stdout=subprocess.PIPE, text=True)
    wait_until_running(attar)
    program.stdin.write(b'\n')
    program.stdin.flush()
    program.stdout.readline()
    attar.send_signal(signal.SIGINT)
    found = json.loads(attar.communicate(timeout=60)[0].splitlines()[-1])
    assert found['notes']['lost'] == 0
    leak, = (r for r in rows(found, 'leaks') if any('do_eventfd' in f for f in r['detail'][:2]))
    assert (leak['objects'], leak['bytes'] % 37, leak['event']) == (37, 0, 'kmem:kmalloc')


@pytest.mark.usefixtures('root')
def test_a_signal_reports_and_the_run_continues(tmp_path):
    out = tmp_path / 'out'
    with out.open('w') as stdout, subprocess.Popen(
            [ATTAR, 'kmemleak', '--format', 'json', *EVENTS, '-m', '256'], stdout=stdout,
            stdin=subprocess.DEVNULL) as process:
        wait_until(lambda: is_sampling(process), 'events are open')
        process.send_signal(signal.SIGUSR1)
        wait_until(lambda: out.read_text().count('\n') == 1, 'a report')
        process.send_signal(signal.SIGINT)
        assert process.wait() == 0
    assert out.read_text().count('"leaks"') == 2


@pytest.mark.usefixtures('root')
@pytest.mark.parametrize('args, sentence', [
    ([], 'events of allocations and of frees are required'),
    (['--alloc', 'kmem:kmalloc'], 'events of allocations and of frees are required'),
    (['--alloc', 'sched:sched_switch', '--free', 'kmem:kfree'],
     "'sched:sched_switch' has neither an address nor a size: add ptr=EXPRESSION"),
    (['--alloc', 'uretprobe:malloc@libc.so.6', '--free', 'kmem:kfree'],
     "'uretprobe:malloc@libc.so.6' has neither an address nor a size: give an option --alloc for "
     'each: uprobe:FUNCTION@FILE//args=(n=$arg1)/size=n/ and '
     'uretprobe:FUNCTION@FILE//args=(ptr=$retval)/'),
    (['--alloc', 'kmem:kmalloc', '--free', 'sched:sched_switch'],
     "'sched:sched_switch' has no field 'ptr'"),
    (['--alloc', 'uprobe:malloc@libc.so.6//args=(n=$arg9)/', '--free', 'kmem:kfree'],
     '$arg1 to $arg'),
    (['--alloc', 'uprobe:malloc@libc.so.6//args=(n=%nothing)/', '--free', 'kmem:kfree'],
     'the kernel refuses to probe'),
])
def test_refusals(args, sentence):
    ended = run('kmemleak', *args, '--', 'true')
    assert ended.returncode == 2, ended.stderr
    assert sentence in ended.stderr


@pytest.mark.usefixtures('root')
def test_help_describes_the_events():
    ended = run('kmemleak', *EVENTS, 'help')
    assert ended.returncode == 0, ended.stderr
    assert 'bytes_alloc' in ended.stdout and 'kmem:kfree' in ended.stdout
