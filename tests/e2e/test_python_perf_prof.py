# SPDX-License-Identifier: MIT
"""Scripts for perf-prof's python run unchanged, under both names of the command."""
import json
import platform
import re
import statistics
import subprocess
import sys
import sysconfig

import pytest

from command import ATTAR, compiler, run, workload
from python_package import PYTHON, environment, needs_package

pytestmark = [needs_package, pytest.mark.usefixtures('root')]
CALLS = [sys.executable, '-c', 'import os\nfor i in range(3000): os.getppid()']
RENAMES = [sys.executable, '-c', """
for i in range(300):
    with open('/proc/self/comm', 'w') as f:
        f.write('truth')
"""]

RECORDING = '''# attar script
event sched:sched_wakeup stack comm:char[16] pid:pid_t prio:s32 target_cpu:s32
event sched:sched_switch prev_pid:pid_t next_comm:char[16] next_pid:pid_t
wall 1700000000
1.000000 0 100/101 waker sched:sched_wakeup comm=worker pid=42 prio=-5 target_cpu=1 \
stack=ffffffff81000010,ffffffff81000020
1.000250 1 0/0 swapper sched:sched_switch prev_pid=0 next_comm=worker next_pid=42
1.004000 1 100/102 waker sched:sched_wakeup comm=worker pid=42 prio=-5 target_cpu=0
1.004750 0 0/0 swapper sched:sched_switch prev_pid=0 next_comm=worker next_pid=42
1.012000 0 100/101 waker sched:sched_wakeup comm=other pid=43 prio=120 target_cpu=0
1.013000 0 0/0 swapper sched:sched_switch prev_pid=0 next_comm=other next_pid=43
'''


@pytest.fixture(name='recording', scope='module')
def write_recording(tmp_path_factory):
    path = tmp_path_factory.mktemp('recording') / 'test.script'
    path.write_text(RECORDING)
    return path


@pytest.fixture(name='program', params=['attar', 'perf-prof'], scope='module')
def link(request, tmp_path_factory):
    path = tmp_path_factory.mktemp('bin') / request.param
    path.symlink_to(ATTAR)
    return path


@pytest.fixture(name='python')
def runner(program, tmp_path):
    """Run a script of this text; return its output."""
    def call(text, *words, options=(), status=0, stderr='', name='script.py'):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        done = run('python', *options, path, *words, program=program, cwd=tmp_path,
                   env=environment() | {'ATTAR_PYTHON': PYTHON})
        assert done.returncode == status, done.stderr
        assert stderr is None or done.stderr == stderr
        return done.stdout
    return call


# ---- scripts of the manual's kinds, with recordings ----

def test_counts_of_intervals(python, recording):
    assert python('''
count = 0
def __sample__(event):
    global count
    count += 1
def __interval__():
    global count
    print(f"Events: {count}")
    count = 0
def __exit__():
    print("rest", count, "Done")
''', options=('--input', recording, '-i', '10')) == 'Events: 4\nrest 2 Done\n'


def test_wakeups_by_task(python, recording):
    assert python('''
tasks = {}
def sched__sched_wakeup(event):
    key = (event.get('comm', '<unknown>'), event.pid)
    task = tasks.setdefault(key, {'count': 0, 'cpus': set()})
    task['count'] += 1
    task['cpus'].add(event.target_cpu)
def __exit__():
    for (comm, pid), task in sorted(tasks.items(), key=lambda item: -item[1]['count']):
        print(comm, pid, task['count'], sorted(task['cpus']))
''', options=('--input', recording)) == 'worker 42 2 [0, 1]\nother 43 1 [0]\n'


def test_latencies_from_wakeup_to_switch(python, recording):
    assert python('''
pending, latencies = {}, []
def sched__sched_wakeup(event):
    pending[event['pid']] = event._time
def sched__sched_switch(event):
    if event.next_pid in pending:
        latencies.append((event['_time'] - pending.pop(event.next_pid)) / 1000)
def __exit__():
    print(latencies)
''', options=('--input', recording)) == '[250.0, 750.0, 1000.0]\n'


def test_events_by_their_names(python, recording):
    assert python('''
from collections import Counter
events = Counter()
def __sample__(event):
    events[event._event] += 1
def __exit__():
    for name, count in sorted(events.items()):
        print(f"{name}: {count}")
''', options=('--input', recording)) == 'sched:sched_switch: 3\nsched:sched_wakeup: 3\n'


def test_functions_of_aliases(python, recording):
    """SYSTEM__ALIAS, before ALIAS; events without a function go to __sample__."""
    assert python('''
def sched__high(event): print('high', event.pid, event._event)
def high(event): print('not called')
def low(event): print('low', event.pid)
def __sample__(event): print('sample', event._event, event.next_pid)
''', options=('--input', recording, '-e', 'sched:sched_wakeup/prio<0/alias=high/,'
              'sched:sched_wakeup/prio>0/alias=low/,sched:sched_switch/next_pid==43/alias=run/')
    ) == ('high 42 sched:high\nhigh 42 sched:high\nlow 43\nsample sched:run 43\n')


def test_an_event_as_a_dict(python, recording):
    lines = python('''
import json
def sched__sched_switch(event):
    pairs = [(name, value) for name, value in event]
    print(json.dumps([
        event.keys(), len(event), pairs == event.items(),
        pairs == list(zip(event.keys(), event.values())), dict(pairs) == event.to_dict(),
        str(event) == str(event.to_dict()), repr(event), '_pid' in event, 'next_pid' in event,
        'x' in event, '_callchain' in event, event.get('x'), event.get('x', -1),
        event.get('next_comm'), event['_pid'], event['next_comm'], event.common_pid]))
    try:
        event['x']
    except KeyError as error:
        print('KeyError', error)
''', options=('--input', recording, '-e', 'sched:sched_switch/next_pid==43/')).splitlines()
    keys = ['_pid', '_tid', '_time', '_cpu', '_period', 'common_type', 'common_flags',
            'common_preempt_count', 'common_pid', '_realtime', '_event', 'prev_pid', 'next_comm',
            'next_pid']
    assert json.loads(lines[0]) == [
        keys, len(keys), True, True, True, True,
        '<PerfEvent sched:sched_switch cpu=0 pid=0 time=1013000000>', True, True, False, False,
        None, -1, 'other', 0, 'other', 0]
    assert lines[1] == "KeyError 'x'"


def test_hashes_are_of_the_contents(program, recording, tmp_path):
    """Two runs of the same recording; events differ."""
    script = tmp_path / 'script.py'
    script.write_text('def __sample__(event): print(hash(event))\n')
    outputs = [run('python', '--input', recording, script, program=program,
                   env=environment() | {'ATTAR_PYTHON': PYTHON}).stdout.split()
               for _ in range(2)]
    assert outputs[0] == outputs[1] and len(set(outputs[0])) == 6


def test_call_chains_of_a_recording(python, recording):
    found = json.loads(python('''
import json
chains = []
def sched__sched_wakeup(event):
    chains.append([event._callchain, event.get('_callchain') == event['_callchain'],
                   '_callchain' in event])
def __exit__():
    print(json.dumps(chains[0]))
''', options=('-g', '--input', recording)))
    assert found[1:] == [True, True]
    assert [(call['addr'], call['kernel']) for call in found[0]] == [
        (0xffffffff81000010, True), (0xffffffff81000020, True)]
    assert all(call['symbol'] == 'Unknown' and call['offset'] == 0 for call in found[0])


def test_print_without_time_and_stack(python, recording):
    lines = python('''
def sched__sched_wakeup(event):
    event.print()
    event.print(timestamp=False)
    event.print(callchain=False)
    event.print(False, False)
''', options=('-g', '-N', '1', '--input', recording)).splitlines()
    text = '          waker     101 [000] sched:sched_wakeup: comm=worker pid=42'
    heads = [line for line in lines if 'sched_wakeup' in line]
    assert [bool(re.match(r'\d{4}-\d\d-\d\d ', line)) for line in heads] == \
        [True, False, True, False]
    assert all(text.strip() in line for line in heads) and heads[1].startswith(text)
    frames = [(i, line.split('+')[0]) for i, line in enumerate(lines) if line.startswith('    f')]
    assert frames == [(i, f'    ffffffff810000{n}0 Unknown')
                      for i, n in ((1, 1), (2, 2), (4, 1), (5, 2))]


def test_print_of_events_without_fields(python, tmp_path):
    """Faults have an address, and samples of a clock a period; both have an instruction."""
    recording = tmp_path / 'x.script'
    recording.write_text('''# attar script
event page-faults sampled stack
event cpu-clock stack
1.000 0 7/7 a page-faults addr=0x1000 stack=0x401000
1.001 0 7/7 a cpu-clock stack=0x402000 period=1000
''')
    lines = python('''
def page_faults(event):
    event.print(False, False)
    print(event.addr == event._addr == 0x1000, 'ip' in event, len(event) == len(event.keys()))
def __sample__(event):
    event.print(False, False)
''', options=('--input', recording)).splitlines()
    assert [line.split(': ', 1)[-1] for line in lines] == [
        'addr=0x1000 ip=0x401000', 'True True True', 'ip=0x402000 period=1000']


def test_members_of_faults(python):
    """The event of the name of a profiler has the same address as the profiler's event."""
    assert python('''
found = [0, 0, 0]
def page_faults(event):
    found[0] += 1
    found[1] += 'addr' in event and 'ip' in event.keys()
    found[2] += event.ip >> 63 == 0 and event.addr != event.ip
def __exit__():
    print(found[0] == found[1] > 1000, found[2] > 1000)
''', '--', workload('faults1000'), options=('-e', 'page-faults')) == 'True True\n'


def test_parts_of_stacks(python, program):
    """perf-prof's python takes the kernel's part of stacks only, unless it is told otherwise."""
    script = '''
kernel = user = 0
def task__task_rename(event):
    global kernel, user
    kernel += any(frame['kernel'] for frame in event._callchain)
    user += any(not frame['kernel'] for frame in event._callchain)
def __exit__():
    print(kernel, user)
'''
    event = 'task:task_rename/newcomm=="truth"/'
    plain = '300 0\n' if program.name == 'perf-prof' else '300 300\n'
    for options, found in (((), plain), (('--user-callchain',), '300 300\n'),
                           (('--no-kernel-callchain',), '0 300\n'),
                           (('--user-callchain', '--no-kernel-callchain'), '0 300\n')):
        assert python(script, '--', *RENAMES, options=('-e', event, '-g', *options)) == found
        assert python(script, '--', *RENAMES, options=('-e', event + 'stack/', *options)) == found
    assert python(script, '--', *RENAMES, options=('--call-graph', '-e', event)) == plain


def test_lines_of_exec_are_printed(python, recording):
    """Each line once, and not as intervals; the last one has no end."""
    script = '''
seen = []
def sched__sched_wakeup(event): seen.append(event.pid)
def __interval__(): seen.append('interval')
def __exit__(): print(seen)
'''
    event = 'sched:sched_wakeup//exec=printf("pid %d\\n%s", pid, comm)/'
    assert python(script, options=('--input', recording, '-e', event)) == (
        'pid 42\nworkerpid 42\nworkerpid 43\nother\n[42, 42, 43]\n')


@pytest.mark.usefixtures('root')
def test_arrays_of_numbers(program, python):
    """Under its name, they are bytes as in perf-prof; lists otherwise."""
    text = python('''
import struct
def raw_syscalls__sys_enter(event):
    if isinstance(event.args, list):
        values = tuple(event.args)
    else:
        values = struct.unpack('6Q', event.args)
        assert int.from_bytes(event['args'][16:24], 'little') == values[2]
        assert event.to_dict()['args'] == event.args and len(event.args) == 48
    if values[0] == 1 and values[2] == 1234:
        print(type(event.args).__name__, values[1] > 4096)
''', '--', 'sh', '-c', 'printf %1234d 7 > /dev/null', options=('-e', 'raw_syscalls:sys_enter'),
                  stderr=None)
    assert text == f'{"bytes" if program.name == "perf-prof" else "list"} True\n'


def test_state_in_a_file(python, recording, tmp_path):
    assert python('''
import json
stats = {'total': 0, 'by_cpu': {}}
def __sample__(event):
    stats['total'] += 1
    cpu = str(event._cpu)
    stats['by_cpu'][cpu] = stats['by_cpu'].get(cpu, 0) + 1
def __exit__():
    with open('stats.json', 'w') as f:
        json.dump(stats, f)
''', options=('--input', recording)) == ''
    assert json.loads((tmp_path / 'stats.json').read_text()) == \
        {'total': 6, 'by_cpu': {'0': 4, '1': 2}}


def test_arguments_of_a_script(python, recording):
    assert python('''
import argparse, perf_prof
parser = argparse.ArgumentParser()
parser.add_argument('--foo')
parser.add_argument('-n', type=int)
args = parser.parse_args()
def __sample__(event):
    if event._cpu == args.n and isinstance(event, perf_prof.PerfEvent):
        print(args.foo, event._time)
''', '--foo', 'bar', '-n', '1', options=('--input', recording, '--')
    ) == 'bar 1000250000\nbar 1004000000\n'


# ---- with live events ----

def test_events_of_a_command_with_their_stacks(python):
    found = json.loads(python('''
import json
n, kernel, user, starts = 0, set(), set(), set()
def task__task_rename(event):
    global n
    n += 1
    for frame in event._callchain:
        if frame['symbol'] == 'do_syscall_64':
            starts.add(frame['addr'] - frame['offset'])
        (kernel if frame['kernel'] else user).add(frame['symbol'])
        assert frame['addr'] >> 63 == frame['kernel']
        assert frame['offset'] < 1 << 20 and frame['dso']
def __exit__():
    print(json.dumps([n, sorted(kernel), sorted(user), list(starts)]))
''', '--', *RENAMES, options=('-e', 'task:task_rename/newcomm=="truth"/stack/',
                                '--user-callchain')))
    assert found[0] == 300 and 'do_syscall_64' in found[1] and 'write' in found[2]
    with open('/proc/kallsyms', encoding='ascii') as symbols:
        assert found[3] == [int(line.split()[0], 16) for line in symbols
                            if line.split()[2] == 'do_syscall_64']


def test_offsets_in_functions(python):
    """The start of write() is the same with and without frames of the kernel before it."""
    assert python('''
starts, names = set(), set()
def __sample__(event):
    names.add(event._event)
    starts.update(frame['addr'] - frame['offset'] for frame in event._callchain
                  if frame['symbol'] == 'write')
def __exit__():
    print(len(starts), sorted(names))
''', '--', *RENAMES, options=('-g', '--user-callchain', '-e',
                                'task:task_rename/newcomm=="truth"/,syscalls:sys_enter_write')
    ) == "1 ['syscalls:sys_enter_write', 'task:task_rename']\n"


@pytest.mark.parametrize('option, kernel, user', [
    ('--no-kernel-callchain', False, True), ('--no-user-callchain', True, False),
    ('--user-callchain', True, True)])
def test_parts_of_call_chains(python, option, kernel, user):
    assert python('''
parts = set()
def __sample__(event):
    parts.update(frame['kernel'] for frame in event._callchain)
def __exit__():
    print(True in parts, False in parts)
''', '--', *RENAMES, options=('-e', 'task:task_rename/newcomm=="truth"/', '-g', option)
    ) == f'{kernel} {user}\n'


def test_samples_of_profile(python):
    """The functions of a program that uses seven tenths of its time in one of them."""
    found = json.loads(python('''
import json
from collections import Counter
functions, ends, members, chained = Counter(), set(), set(), 0
def profile(event):
    functions[event.get('callchain', [])[0]['symbol']] += 1
    ends.add(event._event)
    members.update(event.keys())
    assert (event.pid, event.tid, event.cpu, event.time) == \\
        (event._pid, event._tid, event._cpu, event._time)
    assert event['ip'] == event.callchain[0]['addr'] and event.period > 0
def __exit__():
    print(json.dumps([functions, sorted(ends), sorted(members)]))
''', '--', workload('split7030'), options=('-e', 'profile/-F 997 -g --exclude-kernel/')))
    counts, names, members = found
    assert names == ['profile']
    assert {'ip', 'pid', 'tid', 'time', 'cpu', 'period', 'callchain', '_pid'} <= set(members)
    assert not {'_callchain', '_period'} & set(members)
    assert 0.6 < counts['heavy'] / (counts['heavy'] + counts['light']) < 0.8


def test_profilers_and_tracepoints_together(python):
    assert python('''
from collections import Counter
counts = Counter()
def syscalls__sys_enter_getppid(event):
    counts['calls'] += 1
def cpu(event):
    counts['samples'] += 1
def page_faults(event):
    counts['faults'] += 1
    assert event.addr and event.callchain and isinstance(event.ip, int)
def __exit__():
    print(counts['calls'], counts['faults'], counts['samples'] > 0)
''', '--', *CALLS, options=('-e', 'syscalls:sys_enter_getppid,profile/-F 5000/alias=cpu/,'
                            'page-faults/-N 10 -g/')) == '3000 10 True\n'


def test_calls_of_functions_by_probes(python):
    """Probes are named without their file; time in heavy() is more than in light()."""
    file = workload('split7030')
    assert python('''
from collections import Counter
stacks, counts, times = {}, Counter(), Counter()
def __sample__(event):
    kind, _, function = event._event.partition(':')
    stack = stacks.setdefault(event._tid, [])
    if kind == 'uprobe':
        stack.append((function, event._time))
    else:
        name, start = stack.pop()
        assert (kind, name) == ('uretprobe', function)
        counts[name] += 1
        times[name] += event._time - start
def uprobe__light(event):
    __sample__(event)
def __exit__():
    print(sorted(counts.items()), times['heavy'] > times['light'], stacks.popitem()[1])
''', '--', file, '300', options=('--order', '-e', ','.join(
        f'{kind}:{name}@"{file}"' for kind in ('uprobe', 'uretprobe')
        for name in ('heavy', 'light')))
    ) == "[('heavy', 300), ('light', 300)] True []\n"


def test_registers_of_a_page_fault(python):
    found = json.loads(python('''
import json
def page_faults(event):
    print(json.dumps(event.regs_user))
''', '--', 'true', options=('-e', 'page-faults/-N 1/')))
    assert found['abi'] in (1, 2) and found['sp'] > 1 << 16
    assert len(found) > 15 and found.get('ip', found.get('pc'))


@pytest.mark.parametrize('attribute, is_prompt', [('batch=1', True), ('batch=1000', False)])
def test_events_are_delivered_when_they_occur(python, attribute, is_prompt):
    """Otherwise the rings are read each 100 ms: a program that renames itself each 70 ms."""
    renames = '''
import time
for i in range(20):
    with open('/proc/self/comm', 'w') as f:
        f.write('truth')
    time.sleep(0.07)
'''
    delays = json.loads(python('''
import json, time
delays = []
def task__task_rename(event):
    delays.append(time.monotonic_ns() - event._time)
def __exit__():
    print(json.dumps(delays))
''', '--', sys.executable, '-c', renames,
        options=('-e', f'task:task_rename/newcomm=="truth"/{attribute}/')))
    assert len(delays) == 20
    assert (statistics.median(delays) < 25_000_000) == is_prompt


# ---- loading ----

def extension(folder):
    """Build an extension module with __sample__() and __exit__()."""
    source, target = folder / 'fast.c', folder / 'fast.abi3.so'
    source.write_text('''
#define Py_LIMITED_API 0x03090000
#include <Python.h>
static long n;
static PyObject *sample(PyObject *module, PyObject *event) { n++; Py_RETURN_NONE; }
static PyObject *end(PyObject *module, PyObject *unused)
{
    PySys_WriteStdout("%ld events\\n", n);
    Py_RETURN_NONE;
}
static PyMethodDef methods[] = {
    {"__sample__", sample, METH_O, 0}, {"__exit__", end, METH_NOARGS, 0}, {0}};
static struct PyModuleDef def = {PyModuleDef_HEAD_INIT, "fast", 0, -1, methods};
PyMODINIT_FUNC PyInit_fast(void) { return PyModule_Create(&def); }
''')
    include = f"-I{sysconfig.get_path('include')}"
    subprocess.run([*compiler(), '-shared', '-fPIC', include, source, '-o', target], check=True)
    return target


COUNTER = '''
n = 0
def __sample__(event):
    global n
    n += 1
def __exit__():
    print(n, 'events')
'''


@pytest.mark.parametrize('given, file', [
    ('tool.py', 'tool.py'), ('tool', 'tool.py'), ('./tool', 'tool.py'),
    ('package', 'package/__init__.py'), ('package/', 'package/__init__.py'),
    ('package.part', 'package/part.py'), ('package/part.py', 'package/part.py'),
    ('fast', 'fast.abi3.so'), ('fast.abi3.so', 'fast.abi3.so')])
def test_modules(program, recording, tmp_path, given, file):
    (tmp_path / 'package').mkdir()
    for name in ('tool.py', 'package/__init__.py', 'package/part.py'):
        (tmp_path / name).write_text(COUNTER)
    if file.endswith('.so'):
        extension(tmp_path)
    done = run('python', '-v', '--input', recording, given, program=program, cwd=tmp_path,
               env=environment() | {'ATTAR_PYTHON': PYTHON, 'PYTHONDONTWRITEBYTECODE': '1'})
    assert (done.returncode, done.stdout) == (0, '6 events\n'), done.stderr
    path = re.fullmatch('Loaded module: (.*)\n', done.stderr)[1]
    assert (tmp_path / path).samefile(tmp_path / file)


@pytest.mark.parametrize('given', ['nothing', 'no.part', 'empty', './nothing.so'])
def test_modules_that_are_missing(program, recording, tmp_path, given):
    done = run('python', '--input', recording, given, program=program, cwd=tmp_path,
               env=environment() | {'ATTAR_PYTHON': PYTHON})
    assert done.returncode == 2
    assert f"there is no script or module '{given}'" in done.stderr


# ---- what differs under the name perf-prof ----

def test_options_after_the_script(program, python, recording):
    """perf-prof takes those that it has, unless -- is before the script."""
    text = 'import sys\nprint(sys.argv[1:])\ndef __interval__(): print("interval")\n'
    words = ('-i', '10', '--threshold', '50')
    rest, all_words = "['--threshold', '50']\n", "['-i', '10', '--threshold', '50']\n"
    is_perf_prof = program.name == 'perf-prof'
    assert python(text, *words, options=('--input', recording)) == \
        (rest + 'interval\n' if is_perf_prof else all_words)
    assert python(text, *words, options=('--input', recording, '--')) == all_words


def test_options_that_are_of_attar_only(python, recording):
    """Scripts have such options, too: perf-prof leaves them to the script."""
    words = ['--duration', '10', '-d', '1', '--comm=x', '--port', '80', '-a', '--input', 'y',
             '--prio', '--inter', '3', '-F5']
    assert python('import sys\nprint(sys.argv[1:])\ndef __sample__(event): pass\n', *words,
                  options=('--input', recording)) == f'{words}\n'


def test_exceptions_of_functions(program, python, recording):
    """Those of perf-prof are printed, and the run goes on."""
    text = '''
n = 0
def sched__sched_wakeup(event):
    global n
    n += 1
    raise ValueError(event.pid)
def __exit__():
    print(n)
'''
    is_perf_prof = program.name == 'perf-prof'
    assert python(text, options=('--input', recording), status=0 if is_perf_prof else 1,
                  stderr=None) == ('3\n' if is_perf_prof else '')


def test_closed_output_ends_the_run(program, tmp_path, recording):
    """Quietly, as of | head; a pipe of the script's own is no reason to end."""
    script, out = tmp_path / 'script.py', tmp_path / 'out'
    script.write_text('def __sample__(event): print("x" * 100000, flush=True)\n'
                      f'def __exit__(): open("{out}", "w").close()')
    env = environment() | {'ATTAR_PYTHON': PYTHON}
    done = subprocess.run(['sh', '-c', '"$@" | head -c 9', '-', program, 'python', '--input',
                           recording, script], env=env, capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ('x' * 9, '')
    assert not out.exists()
    script.write_text('import os\n'
                      'def __sample__(event):\n'
                      '    read, write = os.pipe()\n'
                      '    os.close(read)\n'
                      '    os.write(write, b"x")\n'
                      f'def __exit__(): open("{out}", "w").close()')
    done = run('python', '--input', recording, script, program=program, env=env)
    assert 'BrokenPipeError' in done.stderr
    assert out.exists() == (program.name == 'perf-prof')


# ---- help ----

def test_help_names_members_and_aliases(program, tmp_path):
    """Its script has a function for each event, and runs."""
    words = ['-e', "syscalls:sys_enter_getppid//alias=up/,profile/-F 500 -g/"]
    env = environment() | {'ATTAR_PYTHON': PYTHON}
    done = run('python', *words, 'help', program=program, env=env)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert re.findall(r'^def ([a-z]\w+)\(event\)', done.stdout, re.MULTILINE) == \
        ['syscalls__up', 'profile']
    assert lines[0].startswith(f'#!/usr/bin/env -S {program.name} python -e ')
    assert {'    event.ip', '    event.callchain', '    event.period'} <= set(lines)
    script = tmp_path / 'script.py'
    script.write_text(done.stdout)
    done = run('python', '-N', '20', *words, script, '--', *CALLS, program=program, env=env)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count('syscalls:up: ') + done.stdout.count(' profile: ') == 20


# ---- members of samples ----

MEMORY = '''# attar script
event cpu/mem-loads/ sampled registers=0,7,8
1.0 0 7/9 a cpu/mem-loads/ weight=4 data_src=322 addr=0x1000 phys=0x77000 registers=5,6,7
1.2 1 7/9 a cpu/mem-loads/ weight=400 data_src=322 addr=0x2000
'''


def test_members_of_memory_accesses(python, tmp_path):
    path = tmp_path / 'memory.script'
    path.write_text(MEMORY)
    found = [json.loads(line) for line in python('''
import json
def ldlat_loads(event):
    print(json.dumps(dict(event)))
''', options=('--input', path, '-e', 'ldlat-loads/--than 1/')).splitlines()]
    names = ('ax', 'sp', 'ip') if platform.machine() == 'x86_64' else ('x0', 'x7', 'x8')
    first = dict(zip(names, (5, 6, 7)), abi=2)
    assert [{name: event[name] for name in ('pid', 'tid', 'time', 'cpu', 'addr', 'phys_addr',
                                            'weight', 'data_src', 'regs_user', 'regs_intr')}
            for event in found] == [
        {'pid': 7, 'tid': 9, 'time': 10**9, 'cpu': 0, 'addr': 0x1000, 'phys_addr': 0x77000,
         'weight': 4, 'data_src': 322, 'regs_user': first, 'regs_intr': first},
        {'pid': 7, 'tid': 9, 'time': 1200000000, 'cpu': 1, 'addr': 0x2000, 'phys_addr': 0,
         'weight': 400, 'data_src': 322, 'regs_user': dict.fromkeys(names, 0) | {'abi': 2},
         'regs_intr': dict.fromkeys(names, 0) | {'abi': 2}}]


def test_counts_of_a_timer(python, tmp_path):
    path = tmp_path / 'timer.script'
    path.write_text('''# attar script
event a:b n:u8
event cpu-clock counts=a:b
1.000 0 7/7 x cpu-clock counts=3
1.010 0 7/7 x cpu-clock counts=7
''')
    assert python('''
def hrtimer(event):
    read = event.read
    print(sorted(read), read['nr'], [counter['value'] for counter in read['cntr']],
          len({counter['id'] for counter in read['cntr']}))
''', options=('--input', path, '-e', 'hrtimer/--period 10ms -e a:b/')) == (
        "['cntr', 'nr'] 2 [0, 3] 2\n['cntr', 'nr'] 2 [0, 7] 2\n")


def test_counts_of_a_live_timer(python):
    """Their time goes on from sample to sample of a CPU."""
    enabled = json.loads(python('''
import json
enabled = {}
def hrtimer(event):
    read = event['read']
    assert len(read['cntr']) == read['nr'] == 2 and 0 < read['time_running']
    enabled.setdefault(event.cpu, []).append(read['time_enabled'])
def __exit__():
    print(json.dumps(enabled))
''', options=('-N', '20', '-d', '10s', '-e', 'hrtimer/--period 10ms -e sched:sched_switch/')))
    for times in enabled.values():
        assert all(a < b for a, b in zip(times, times[1:]))
    assert sum(map(len, enabled.values())) == 20


def test_members_of_a_state(python, tmp_path):
    """The fields of the event replace members of the same name."""
    path = tmp_path / 'states.script'
    path.write_text("""# attar script
event sched:sched_switch prev_comm:char[16] prev_pid:pid_t prev_prio:s32 prev_state:long \
next_comm:char[16] next_pid:pid_t next_prio:s32
1.0 0 5/6 a sched:sched_switch prev_comm=a prev_pid=6 prev_state=1 next_comm=b next_pid=8
1.5 0 7/8 b sched:sched_switch prev_comm=b prev_pid=8 prev_state=1 next_comm=a next_pid=6
""")
    assert python('''
def oncpu(event):
    print(event._tid, event.tid, event.pid, event.prev_pid, type(event.raw), 'tid' in event)
''', options=('--input', path, '-e', 'oncpu')) in (
        "6 6 5 6 <class 'bytes'> True\n8 8 7 8 <class 'bytes'> True\n",)
