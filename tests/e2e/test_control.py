# SPDX-License-Identifier: MIT
"""What can be requested of a run that goes on: reports, markers, its state; limits of itself."""
import json
import re
import signal
import subprocess

import pytest

from command import ATTAR, is_sampling, run, wait_until, workload

pytestmark = pytest.mark.quick


@pytest.fixture
def attar(root):
    """attar(options...) starts a run that is sampling; it is killed after the test."""
    processes = []

    def start(*args, stdin=subprocess.DEVNULL):
        process = subprocess.Popen([ATTAR, *map(str, args)], stdin=stdin, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        processes.append(process)
        wait_until(lambda: is_sampling(process), 'sampling')
        return process
    yield start
    for process in processes:
        process.kill()
        process.communicate()


def stop(process):
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode in (0, 128 + signal.SIGINT, -signal.SIGINT), err
    return out, err


def markers(report):
    """Return the remarks that are markers; a busy or idle machine causes others."""
    return [r for r in report.get('remarks', []) if r.startswith('marker: ')]


def test_sigusr1_requests_a_report(attar):
    process = attar('profile', '--format', 'json', '-e', 'cpu-clock')
    process.send_signal(signal.SIGUSR1)
    first = json.loads(process.stdout.readline())
    process.send_signal(signal.SIGUSR1)
    second = json.loads(process.stdout.readline())
    assert second['time'] > first['time']
    assert not markers(first)
    out, _ = stop(process)
    whole = json.loads(out)
    assert whole['interval_ns'] >= first['interval_ns'] + second['interval_ns']
    assert whole['notes']['seen'] >= first['notes']['seen'] + second['notes']['seen']


def test_sigusr2_prints_the_state_and_the_run_goes_on(attar):
    process = attar('profile', '--format', 'json', '-e', 'cpu-clock', '-m', 16)
    process.send_signal(signal.SIGWINCH)
    process.send_signal(signal.SIGUSR2)
    lines = []
    while not any(re.search('mappings over the limit', line) for line in lines):
        lines.append(process.stderr.readline())
        assert lines[-1], lines
    text = ''.join(lines)
    assert re.search(r'(?m)^cpu-clock +software +\d+ +\d+$', text)
    assert re.search(r'(?m)^ *\d+ +samples delivered by the stream$', text)
    assert re.search(r'(?m)^64\.0 KiB +each ring$', text)
    out, _ = stop(process)
    assert json.loads(out)['profiler'] == 'profile'


def test_a_line_of_a_pipe_is_a_marker(attar):
    process = attar('profile', '--format', 'json', '-e', 'cpu-clock', stdin=subprocess.PIPE)
    for text in ('phase one', 'phase "two"'):
        print(text, file=process.stdin, flush=True)
        assert markers(json.loads(process.stdout.readline())) == [f'marker: {text}']
    process.stdin.close()
    process.stdin = None
    process.send_signal(signal.SIGUSR1)
    assert not markers(json.loads(process.stdout.readline()))
    stop(process)


def test_standard_input_of_a_command_is_its_own(root):
    done = run('-c', f"printf 'one\\ntwo\\n' | {ATTAR} stat -q -e cpu-clock -- cat", program='sh')
    assert done.stdout == 'one\ntwo\n', done.stderr


def test_a_file_on_standard_input_is_not_read(root, tmp_path):
    """A script's loop reads its lines from there."""
    path = tmp_path / 'lines'
    path.write_text('one\ntwo\n')
    with path.open() as lines:
        done = run('-c', f'read line; {ATTAR} stat -q -e cpu-clock -d 200ms; cat', program='sh',
                   stdin=lines)
    assert done.stdout == 'two\n', done.stderr


def test_own_usage_is_printed(root):
    done = run('stat', '-e', 'cpu-clock', '-d', '500ms', '--usage-self', '50')
    usages = re.findall(r'(?m)^attar: own CPU usage: ([0-9.]+)% user, ([0-9.]+)% system in '
                        r'(\d+) ms; [0-9.]+ MiB peak$', done.stderr)
    assert usages
    assert all(int(ms) >= 50 and float(user) < 100 and float(system) < 100
               for user, system, ms in usages)


def test_the_sampling_limit_ends_the_run(root):
    args = ['trace', '-q', '-e', 'raw_syscalls:sys_enter/id==110/', '--sampling-limit']
    command = ['--', workload('flood'), 200000]
    done = run(*args, 500, *command)
    assert re.search(r'(?m)^attar: ended by --sampling-limit: \d+ samples in [0-9.]+ s, but at '
                     r'most 500 per second are allowed$', done.stderr)
    done = run(*args, 500, '--perfeval-pids', 1, *command)
    assert done.returncode == 0
    assert 'ended by' not in done.stderr
    done = run(*args[:-1], '--perfeval-cpus', 0, *command)
    assert done.returncode == 2
    assert done.stderr == ('attar: --perfeval-cpus and --perfeval-pids need --sampling-limit, '
                           'which they restrict\n')


def test_options_that_are_always_so_are_accepted(root):
    done = run('trace', '--order', '--inherit', '--monotonic', '--exit-N', 3, '-e', 'page-faults',
               '--', 'true')
    assert done.returncode == 0, done.stderr
    assert '3 samples seen' in done.stdout


@pytest.mark.parametrize('args, sentence', [
    (['--tsc'], '--tsc: times cannot be converted to this clock yet; events are timed by '
     'CLOCK_MONOTONIC and shown as wall-clock time'),
    (['--kvmclock', '1-2'], '--kvmclock: times cannot be converted to this clock yet; events are '
     'timed by CLOCK_MONOTONIC and shown as wall-clock time'),
    (['--clock-offset', '0x10'],
     '--clock-offset needs --tsc or --kvmclock, which are not supported yet')])
def test_other_clocks_are_refused(args, sentence):
    done = run('stat', '-e', 'cpu-clock', '-d', '10ms', *args)
    assert (done.returncode, done.stderr) == (4, f'attar: {sentence}\n')


@pytest.mark.parametrize('time', ['1.5ms', '0.5s', '.5s', '0.0025m'])
def test_times_have_fractions(root, time):
    done = run('stat', '-q', '-e', 'cpu-clock', '-d', '10ms', '-i', time)
    assert done.returncode == 0, done.stderr
