# SPDX-License-Identifier: MIT
"""attar python: the functions of a script are called for its events."""
import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest

from command import ATTAR, is_sampling, run, wait_until, workload
from faults import environment as faulty
from python_package import PACKAGE, PYTHON, environment, needs_package

pytestmark = needs_package
CALLS = [sys.executable, '-c', 'import os\nfor i in range(3000): os.getppid()']

SCRIPT = '''# attar script
event sched:sched_wakeup comm:char[16] pid:pid_t prio:s32
event test:text number:u64 name:string
wall 1700000000
1.000 0 100/101 waker sched:sched_wakeup comm=sleeper pid=42 prio=-5
1.001 1 100/102 other test:text number=7 name="a b"
1.002 1 100/102 other lost 3
1.015 0 100/101 waker sched:sched_wakeup comm=sleeper pid=43 prio=120
1.031 0 100/101 waker sched:sched_wakeup comm=sleeper pid=44 prio=120
'''

ALL = '''
import json, sys
calls = []
def __init__(): calls.append(['init', sys.argv[1:]])
def __exit__(): print(json.dumps(calls + [['exit']]))
def __interval__(): calls.append(['interval'])
def __lost__(start, end): calls.append(['lost', start <= end])
def __sample__(event): calls.append([event._name, event._asdict()])
def sched__sched_wakeup(event): calls.append(['wakeup', event.pid, event._comm, event.prio])
'''


def python(tmp_path, text, *words, options=(), **kwargs):
    """Run attar python with a script of this text."""
    path = tmp_path / 'script.py'
    path.write_text(text)
    return run('python', *options, path, *words,
               env=environment() | {'ATTAR_PYTHON': PYTHON}, **kwargs)


def of_script(tmp_path, text, *words, options=()):
    data = tmp_path / 'test.script'
    data.write_text(SCRIPT)
    return python(tmp_path, text, *words, options=('--input', data, *options))


@pytest.mark.quick
def test_each_function_is_called_in_order(tmp_path):
    done = of_script(tmp_path, ALL, '-x', 'argument', options=('-i', '10'))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [
        ['init', ['-x', 'argument']],
        ['wakeup', 42, 'waker', -5],
        ['test:text', {'number': 7, 'name': 'a b'}],
        ['lost', True],
        ['interval'],
        ['wakeup', 43, 'waker', 120],
        ['interval'],
        ['wakeup', 44, 'waker', 120],
        ['exit']]
    assert done.stderr == 'attar: 4 events were seen, 3 lost\n'


def test_live_events_of_a_command_are_all_delivered(tmp_path):
    done = python(tmp_path, '''
n = 0
def syscalls__sys_enter_getppid(event):
    global n
    n += 1
def __exit__():
    print(n)
''', '--', *CALLS, options=('-e', 'syscalls:sys_enter_getppid'))
    assert (done.returncode, done.stdout, done.stderr) == (0, '3000\n', '')


def test_the_exit_status_is_that_of_the_command(tmp_path):
    done = python(tmp_path, 'def __sample__(event): pass', '--', 'sh', '-c', 'exit 7',
                  options=('-e', 'syscalls:sys_enter_getppid'))
    assert done.returncode == 7, done.stderr


def test_an_error_of_the_script_ends_it_with_its_traceback(tmp_path):
    done = of_script(tmp_path, '''
def helper(event):
    return 1 / (event.pid - 42)
def sched__sched_wakeup(event):
    helper(event)
''')
    assert done.returncode == 1
    lines = done.stderr.splitlines()
    assert lines[0] == 'attar: 4 events were seen, 3 lost'
    assert lines[1] == 'Traceback (most recent call last):'
    assert lines[-1] == 'ZeroDivisionError: division by zero'
    files = re.findall(r'File "([^"]*)"', done.stderr)
    assert files == [str(tmp_path / 'script.py')] * 2, 'only frames of the script'


def test_events_lost_after_an_error_are_counted(tmp_path):
    """The command continues after the failure, until its events no longer fit."""
    os.mkfifo(tmp_path / 'fifo')
    calls = ('import os, sys\nfor i in range(20000): os.getppid()\n'
             'open(sys.argv[1], "w").write("x")')
    done = python(tmp_path, '''
import sys
def __sample__(event):
    with open(sys.argv[1]) as fifo:
        fifo.read(1)
    raise ValueError('enough')
''', tmp_path / 'fifo', '--', sys.executable, '-c', calls, tmp_path / 'fifo',
                  options=('-m', '4', '-e', 'syscalls:sys_enter_getppid'))
    assert done.returncode == 1
    seen, lost = map(int, re.search(r'(\d+) events were seen, (\d+) lost', done.stderr).groups())
    assert seen + lost == 20000 and lost > 10000, done.stderr
    assert done.stderr.splitlines()[-1] == 'ValueError: enough'


def test_missing_events_are_not_among_the_lost_ones(tmp_path):
    """The second event has no ring: the kernel counts its events, and delivers none."""
    path = tmp_path / 'script.py'
    path.write_text('''
n = 0
def __sample__(event):
    global n
    n += 1
def __lost__(start, end): print('lost')
def __exit__(): print(n)
''')
    done = subprocess.run(
        [PYTHON, '-m', 'attar.script', '-e', 'syscalls:sys_enter_getppid',
         '-e', 'syscalls:sys_exit_getppid', '-m', '1024', path, '--', workload('flood'), '1000'],
        env=faulty('kernel', output=1) | {'PYTHONPATH': str(PACKAGE), 'ATTAR_PRESETS': ''},
        stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == '1000' and 'lost' not in done.stdout
    assert done.stderr == ('attar: 1000 events were seen, 0 lost, 1000 missing: the kernel '
                           'counted them, but attar did not receive them\n')


def test_signals_end_it_and_call_print_stat(tmp_path):
    path = tmp_path / 'script.py'
    path.write_text('''
def __init__(): print('ready', flush=True)
def __print_stat__(indent): print('state', indent, flush=True)
def __sample__(event): pass
def __exit__(): print('exit', flush=True)
''')
    process = subprocess.Popen(
        [ATTAR, 'python', '-e', 'sched:sched_process_exec/pid==-1/', path], text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=environment() | {'ATTAR_PYTHON': PYTHON})
    assert process.stdout.readline() == 'ready\n'
    wait_until(lambda: is_sampling(process), 'rings are mapped')
    wait_until(lambda: handles(process.pid, signal.SIGUSR2), 'SIGUSR2 is handled')
    process.send_signal(signal.SIGUSR2)
    assert process.stdout.readline() == 'state 0\n'
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (0, 'exit\n', '')


PHASES = '''
count = 0
def __init__(): print('ready', flush=True)
def __sample__(event):
    global count
    count += 1
def __interval__(): print('interval', flush=True)
def __exit__(): print('exit', flush=True)
'''


@pytest.fixture(name='phases')
def fixture_phases(tmp_path):
    """Return a function that starts a script with __interval__(), whose rings are mapped."""
    def start(*options, ready=None, program=ATTAR, after=(), exits='', **kwargs):
        path = tmp_path / 'phases.py'
        path.write_text(PHASES.replace("print('exit', flush=True)", exits) if exits else PHASES)
        process = subprocess.Popen(
            [program, 'python', '-e', 'sched:sched_process_exec/pid==-1/', *options, path, *after],
            text=True, stderr=subprocess.PIPE, env=environment() | {'ATTAR_PYTHON': PYTHON},
            **{'stdin': subprocess.DEVNULL, 'stdout': subprocess.PIPE} | kwargs)
        if ready:
            wait_until(ready, 'the script is ready')
        else:
            assert process.stdout.readline() == 'ready\n'
        wait_until(lambda: is_sampling(process), 'rings are mapped')
        wait_until(lambda: handles(process.pid, signal.SIGUSR2), 'SIGUSR2 is handled')
        return process
    return start


@pytest.mark.parametrize('number', [signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM, signal.SIGINT])
def test_signals_end_an_interval_or_the_run(phases, number):
    process = phases()
    for _ in range(2):
        process.send_signal(signal.SIGUSR1)
        assert process.stdout.readline() == 'interval\n'
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (0, 'exit\n', '')


@pytest.mark.parametrize('number', [signal.SIGTERM, signal.SIGINT])
def test_a_signal_to_the_process_and_its_group(phases, number):
    """As timeout(1) and Ctrl-C with a supervisor send it: one request, and __exit__() is called."""
    process = phases(start_new_session=True,
                     exits='import time; time.sleep(.3); print("exit", flush=True)')
    process.send_signal(number)
    wait_until(lambda: not is_pending(process.pid, number), 'the first signal is taken')
    os.killpg(process.pid, number)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (0, 'exit\n', '')


@pytest.mark.parametrize('number', [signal.SIGTERM, signal.SIGINT])
def test_a_signal_while_the_interpreter_starts(tmp_path, number):
    """It ends the process without a traceback, also if it was ignored, as in background jobs."""
    started = tmp_path / 'started'
    (tmp_path / 'sitecustomize.py').write_text(
        f'import time\nopen({str(started)!r}, "w").close()\ntime.sleep(.5)\n')
    (tmp_path / 'script.py').write_text('def __sample__(event): pass')
    folders = f'{tmp_path}:{environment().get("PYTHONPATH", "")}'
    process = subprocess.Popen(
        [ATTAR, 'python', '-e', 'sched:sched_process_exec/pid==-1/', tmp_path / 'script.py'],
        text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=environment() | {'ATTAR_PYTHON': PYTHON, 'PYTHONPATH': folders},
        preexec_fn=lambda: signal.signal(number, signal.SIG_IGN))
    wait_until(started.exists, 'the interpreter is started')
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (-number, '', '')


def test_a_later_signal_ends_the_process(phases):
    """The script's __exit__() does not end by itself."""
    process = phases(exits='import time; print("exit", flush=True); time.sleep(600)')
    process.send_signal(signal.SIGTERM)
    assert process.stdout.readline() == 'exit\n'
    time.sleep(.6)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGINT


def test_an_ignored_hangup_stays_ignored(phases):
    process = phases(preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    process.send_signal(signal.SIGHUP)
    process.send_signal(signal.SIGUSR1)
    assert process.stdout.readline() == 'interval\n'
    process.send_signal(signal.SIGTERM)
    assert process.communicate(timeout=60)[0] == 'exit\n'


def test_lines_of_standard_input_end_intervals(phases):
    process = phases('-i', '600000', stdin=subprocess.PIPE)
    for text, shown in (('phase1', 'phase1'), ('\x1b[2J', '\\x1b[2J')):
        process.stdin.write(f'{text}\n')
        process.stdin.flush()
        assert process.stdout.readline() == f'marker: {shown}\n'
        assert process.stdout.readline() == 'interval\n'
    process.stdin.close()
    process.send_signal(signal.SIGTERM)
    process.stdin = None
    assert process.communicate(timeout=60) == ('exit\n', '')


@pytest.mark.parametrize('perf_prof', [False, True])
def test_output_is_a_file_that_is_opened_again(phases, tmp_path, perf_prof):
    """-o FILE, under the name perf-prof also after the script; SIGUSR1 reopens what was moved."""
    out, moved = tmp_path / 'out', tmp_path / 'out.1'
    program = tmp_path / 'perf-prof'
    program.symlink_to(ATTAR)
    words = {'program': program, 'after': ('-o', out)} if perf_prof else {}
    process = phases(*(() if perf_prof else ('-o', out)), **words,
                     ready=lambda: out.exists() and out.read_text() == 'ready\n')
    out.rename(moved)
    process.send_signal(signal.SIGUSR1)
    wait_until(lambda: out.exists() and out.read_text() == 'interval\n', 'an interval')
    process.send_signal(signal.SIGTERM)
    assert process.communicate(timeout=60) == ('', '')
    assert (process.returncode, moved.read_text(), out.read_text()) == (
        0, 'ready\n', 'interval\nexit\n')


@pytest.mark.parametrize('make, said', [
    (lambda path: path.symlink_to('kept'), 'cannot write to'),
    (lambda path: (path.write_text('x'), os.chown(path, 12345, 12345)), 'belongs to another user'),
    (lambda path: path.mkdir(), 'Is a directory')])
def test_output_files_that_are_refused(tmp_path, make, said):
    path, kept = tmp_path / 'out', tmp_path / 'kept'
    kept.write_text('kept')
    make(path)
    done = of_script(tmp_path, ALL, options=('-o', path))
    assert done.returncode == 2 and said in done.stderr, done.stderr
    assert kept.read_text() == 'kept'


def test_members_of_events_cannot_be_assigned(tmp_path):
    done = of_script(tmp_path, 'def sched__sched_wakeup(event): event.pid = 3\n')
    assert done.returncode == 1
    assert ("AttributeError: 'pid': members of events cannot be assigned; use a variable\n"
            in done.stderr)


def test_quiet_leaves_out_the_lost_events(tmp_path):
    for words, said in (((), 'attar: 4 events were seen, 3 lost\n'), (('-q',), '')):
        done = of_script(tmp_path, ALL, options=words)
        assert (done.returncode, done.stderr) == (0, said)


def test_an_interrupt_before_the_script_prints_no_traceback(tmp_path):
    """While modules are imported: the first one of the package stops the process by itself."""
    (tmp_path / 'attar').mkdir()
    (tmp_path / 'attar/__init__.py').write_text('import os\nos.kill(os.getpid(), 2)\n')
    script = tmp_path / 'script.py'
    script.write_text(ALL)
    done = run('python', '-e', 'page-faults', script,
               env={'PYTHONPATH': str(tmp_path), 'ATTAR_PYTHON': PYTHON})
    assert (done.returncode, done.stderr) == (-signal.SIGINT, '')


@pytest.mark.parametrize('name', ['USR1', 'USR2'])
def test_request_signals_before_the_interpreter_is_ready(tmp_path, name):
    """They request nothing yet, and do not end the command."""
    interpreter = tmp_path / 'interpreter'
    interpreter.write_text(f'#!/bin/sh\nkill -{name} $$\nexec {PYTHON} "$@"\n')
    interpreter.chmod(0o755)
    script = tmp_path / 'script.py'
    script.write_text("def __init__(): print('ready')\n")
    done = run('python', '-e', 'page-faults', '-d', '10ms', script,
               env=environment() | {'ATTAR_PYTHON': str(interpreter)})
    assert (done.returncode, done.stdout) == (0, 'ready\n'), done.stderr


def handles(pid, number):
    with open(f'/proc/{pid}/status', encoding='ascii') as status:
        caught = next(line for line in status if line.startswith('SigCgt:'))
    return int(caught.split()[1], 16) >> (number - 1) & 1


def is_pending(pid, number):
    with open(f'/proc/{pid}/status', encoding='ascii') as status:
        pending = [line.split()[1] for line in status if line.startswith(('SigPnd:', 'ShdPnd:'))]
    return any(int(mask, 16) >> (number - 1) & 1 for mask in pending)


def test_help_on_profilers_as_events(tmp_path):
    """A profiler's name is an event without slashes, too; each has a function, which is called."""
    words = ['-e', 'sched:sched_process_exec,profile,page-faults/-g/']
    done = run('python', *words, 'help', env=environment() | {'ATTAR_PYTHON': PYTHON})
    assert done.returncode == 0, done.stderr
    functions = re.findall(r'^def ([a-z]\w+)\(event\)', done.stdout, re.MULTILINE)
    assert functions == ['sched__sched_process_exec', 'profile', 'page_faults']
    path = tmp_path / 'script.py'
    path.write_text(re.sub(r'^    event.print\(\)$', '    print(event._event)', done.stdout,
                           flags=re.MULTILINE))
    done = run('python', *words, path, '--', workload('split7030'),
               env=environment() | {'ATTAR_PYTHON': PYTHON})
    assert done.returncode == 0, done.stderr
    assert {'sched:sched_process_exec', 'profile', 'page-faults'} <= set(done.stdout.split())


def test_help_prints_a_script_that_runs(tmp_path):
    words = ('-e', 'sched:sched_wakeup,syscalls:sys_enter_getppid')
    done = run('python', *words, 'help', env=environment() | {'ATTAR_PYTHON': PYTHON})
    assert done.returncode == 0, done.stderr
    for wanted in ('def sched__sched_wakeup(event):', '    event.target_cpu  # int',
                   '    event.common_pid  # int', 'def syscalls__sys_enter_getppid(event):',
                   'def __sample__(event):', 'def __print_stat__(indent):'):
        assert wanted in done.stdout.splitlines(), wanted
    ended = python(tmp_path, done.stdout, '--', *CALLS, options=('-N', '5', *words))
    assert ended.returncode == 0, ended.stderr
    assert len(re.findall(r'sched:sched_wakeup|sys_enter_getppid', ended.stdout)) == 5


def test_a_script_with_an_interpreter_line(tmp_path):
    data, script = tmp_path / 'test.script', tmp_path / 'tool'
    data.write_text(SCRIPT)
    script.write_text(f'#!/usr/bin/env -S {ATTAR} python --input {data} --\n'
                      'import sys\ndef __exit__(): print(sys.argv)\n')
    script.chmod(0o755)
    done = subprocess.run([script, 'a', '-b'], text=True, capture_output=True, timeout=60,
                          env=environment() | {'ATTAR_PYTHON': PYTHON}, check=True)
    assert done.stdout == f"['{script}', 'a', '-b']\n"


@pytest.mark.quick
@pytest.mark.parametrize('words, status, message', [
    ([], 2, 'name a script'),
    (['-e', 'sched:sched_wakeup'], 2, 'name a script'),
    (['--evnt', 'x', 's.py'], 2, 'no such option --evnt: did you mean --event?'),
    (['--zzzz', 's.py'], 2, "no such option --zzzz: 'attar python -h all' lists them"),
    (['good.py'], 2, 'python needs an event, such as -e sched:sched_switch'),
    (['-o'], 2, '-o needs the name of a file'),
    (['help'], 2, 'specify the events with -e'),
    (['--input', 'test.script', '/nowhere.py'], 2, "there is no script or module '/nowhere.py'"),
    (['--input', 'test.script', 'nowhere'], 2, "there is no script or module 'nowhere'"),
    (['--input', '/nowhere', 'good.py'], 1, '/nowhere'),
    (['--input', 'test.script', 'good.py', '--'], 2, "expected a command after '--'"),
    (['--input', 'test.script', 'empty.py'], 2,
     'the script has no function for the events: define'),
    (['--input', 'test.script', 'typo.py'], 0,
     "no event calls sched__sched_wakup(): did you mean 'sched__sched_wakeup'?"),
    (['--input', 'test.script', 'syntax.py'], 1, 'SyntaxError'),
    (['--input', 'test.script', 'exit.py'], 5, ''),
])
def test_bad_input_is_explained(tmp_path, words, status, message):
    (tmp_path / 'test.script').write_text(SCRIPT)
    (tmp_path / 'good.py').write_text('def __sample__(event): pass\n')
    (tmp_path / 'empty.py').write_text('x = 1\n')
    (tmp_path / 'typo.py').write_text(
        'def sched__sched_wakup(event): pass\ndef __sample__(event): pass\n')
    (tmp_path / 'syntax.py').write_text('def f(:\n')
    (tmp_path / 'exit.py').write_text('import sys\ndef __sample__(event): sys.exit(5)\n')
    done = run('python', *words, cwd=tmp_path, env=environment() | {'ATTAR_PYTHON': PYTHON})
    assert done.returncode == status, done.stderr
    assert message in done.stderr, done.stderr


def test_without_python(tmp_path):
    done = run('python', 'x.py', env={**os.environ, 'ATTAR_PYTHON': '/nowhere/python3'})
    assert done.returncode == 4
    assert done.stderr == ("attar: python: cannot run '/nowhere/python3': No such file or "
                           'directory: install Python 3.9 or later, or set ATTAR_PYTHON to its '
                           'path\n')
