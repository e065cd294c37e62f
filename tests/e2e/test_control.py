# SPDX-License-Identifier: MIT
"""Requests to a running attar: reports, markers, its state; options that limit attar itself."""
import csv
import json
import os
import platform
import re
import signal
import subprocess

import pytest

from command import ATTAR, is_sampling, is_waiting, run, wait_until, workload

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
    assert json.loads(out)['time'] > second['time']


def test_requested_reports_divide_the_run(attar, tmp_path):
    """Each call is in one report of stdout and of the table; the page has the whole run."""
    calls, event = (300, 20, 1), 'syscalls:sys_enter_getppid'
    table, page = tmp_path / 'x.csv', tmp_path / 'x.html'
    code = ('import os, sys\n'
            'for line in sys.stdin: print([os.getppid() for _ in range(int(line))], flush=True)')
    with subprocess.Popen(['/usr/bin/python3', '-S', '-c', code], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as program:
        process = attar('top', '--format', 'json', '-e', event, '-p', program.pid, '-o', table,
                        '-o', page)
        wait_until(lambda: is_waiting(process), 'the events are enabled')
        found = []
        for n in calls:
            print(n, file=program.stdin, flush=True)
            program.stdout.readline()
            process.send_signal(signal.SIGINT if n == 1 else signal.SIGUSR1)
            found.append(json.loads(process.stdout.readline()))
        process.wait(30)
        program.stdin.close()
    assert tuple(r['notes']['seen'] for r in found) == calls
    with table.open() as file:
        assert tuple(int(row[event]) for row in csv.DictReader(file)) == calls
    assert f'{sum(calls)} samples seen' in page.read_text()


def reports_in(*paths):
    lines = [line for path in paths for line in path.read_text().splitlines()]
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize('profiler', ['profile', 'trace'])
def test_sigusr1_creates_a_moved_file_again(attar, tmp_path, profiler):
    """Each report is in one of the files, which are whole; the last one is in the new file."""
    path, moved = tmp_path / 'x.json', tmp_path / 'x.json.1'
    process = attar(profiler, '-q', '-e', 'cpu-clock', '-o', path)
    process.send_signal(signal.SIGUSR1)
    wait_until(lambda: path.stat().st_size, 'the first report')
    path.rename(moved)
    process.send_signal(signal.SIGUSR1)
    wait_until(path.exists, 'the new file')
    process.send_signal(signal.SIGUSR1)
    wait_until(lambda: path.stat().st_size, 'a report in the new file')
    stop(process)
    found = reports_in(moved, path)
    if profiler == 'trace':
        seen = sum(r['notes']['seen'] for r in found if r['notes'])
        assert sum(len(s['rows']) for r in found for s in r['sections']) == seen > 0
    else:
        assert len(reports_in(moved)) >= 1


def test_sigusr1_with_a_folder_in_place_of_the_file(attar, tmp_path):
    path = tmp_path / 'x.json'
    process = attar('profile', '-q', '-e', 'cpu-clock', '-o', path)
    path.unlink()
    path.mkdir()
    process.send_signal(signal.SIGUSR1)
    _, errors = process.communicate(timeout=30)
    assert (process.returncode, errors) == (
        1, f"attar: cannot write '{path}': Is a directory\n")


def test_sigusr2_prints_the_state_and_the_run_continues(attar):
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


def test_standard_input_of_a_command_is_not_read(root):
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
    here, other = sorted(os.sched_getaffinity(0))[0], os.cpu_count() - 1
    pinned = ['--', 'taskset', '-c', here, *command[1:]]
    done = run(*args, 500, '--perfeval-cpus', here, *pinned)
    assert 'ended by --sampling-limit' in done.stderr
    if other != here:
        done = run(*args, 500, '--perfeval-cpus', other, *pinned)
        assert (done.returncode, 'ended by' in done.stderr) == (0, False)


@pytest.mark.parametrize('names, share', [
    (['cpus'], 1), (['pids'], 0), (['cpus', 'pids'], 0)])
def test_rate_of_samples(root, names, share):
    """Without a limit, the last report says how many samples there were."""
    here = sorted(os.sched_getaffinity(0))[0]
    words = [f'--perfeval-{name}={here if name == "cpus" else 1}' for name in names]
    done = run('trace', '-m', 4096, '-e', 'raw_syscalls:sys_enter/id==110/', '--format', 'json',
               *words, '--', 'taskset', '-c', here, workload('flood'), 5000)
    remarks = json.loads(done.stdout.splitlines()[-1])['remarks']
    option = ' and '.join(f'--perfeval-{name}' for name in names)
    found = [re.fullmatch(rf'samples of {option}: (\d+), ([0-9.]+) per second', r)
             for r in remarks]
    number, rate = next(match.groups() for match in found if match)
    assert int(number) == 5000 * share and (float(rate) > 0) == bool(share)


def test_options_that_are_always_so_are_accepted(root):
    done = run('trace', '--order', '--inherit', '--monotonic', '--exit-N', 3, '-e', 'page-faults',
               '--', 'true')
    assert done.returncode == 0, done.stderr
    assert '3 samples seen' in done.stdout


@pytest.mark.parametrize('args, status, sentence', [
    (['--kvmclock', '1-2'], 1, '--kvmclock: no process runs a KVM guest with -uuid 1-2: give the '),
    (['--kvmclock', '1'], 2, '--kvmclock: process 1 runs no KVM guest'),
    (['--kvmclock', '99999999'], 1, '--kvmclock: there is no process 99999999'),
    (['--kvmclock', '1', '--input', '/dev/null'], 2, '--kvmclock conflicts with --input'),
    (['--clock-offset', 'soon'], 2, "--clock-offset: 'soon' is not a number"),
    (['--clock-offset', '-'], 2, '--clock-offset: '),
    (['--tsc', '--monotonic'], 2, '--tsc, --monotonic and --kvmclock are mutually exclusive'),
    (['--tsc', '--input', '/dev/null'], 2, '--tsc conflicts with --input')])
def test_refused_clocks(args, status, sentence):
    done = run('trace', '-e', 'page-faults', '-d', '10ms', *args)
    assert done.returncode == status
    assert done.stderr.startswith(f'attar: {sentence}')


SCRIPT = """# attar script
event a:b c:int
wall 1700000000
1.000000005 0 1/1 x a:b c=1
"""


@pytest.mark.parametrize('args, number, unit, text, csv', [
    ([], 1700000001_000000005, 'time', None, '2023-11-14T22:13:21.000000005Z'),
    (['--monotonic'], 1_000000005, 'clock', '1.000000005', '1.000000005'),
    (['--monotonic', '--clock-offset', 0x10], 1_000000021, 'clock', '1.000000021', '1.000000021'),
    (['--monotonic', '--clock-offset', '-5'], 1_000000000, 'clock', '1.000000000', '1.000000000'),
    (['--clock-offset', '0x10'], 1700000001_000000021, 'time', None,
     '2023-11-14T22:13:21.000000021Z')])
def test_clocks_of_times(tmp_path, args, number, unit, text, csv):
    script = tmp_path / 'x.script'
    script.write_text(SCRIPT)
    outputs = tmp_path / 'x.json', tmp_path / 'x.csv'
    done = run('trace', '-e', 'a:b', '--input', script, *args, '-o', outputs[0], '-o', outputs[1])
    assert done.returncode == 0, done.stderr
    events = json.loads(outputs[0].read_text().splitlines()[0])
    assert events['sections'][0]['columns'][0] == {'name': 'time', 'unit': unit}
    assert events['sections'][0]['rows'][0][0] == number
    assert outputs[1].read_text().splitlines()[1].split(',')[0] == csv
    assert text is None or done.stdout.splitlines()[1].split()[0] == text
    assert events['time'] // 10**9 == 1700000001


# Reads a clock, makes a system call and reads the clock again, ten times.
READS = r"""
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

static unsigned long long now(int tsc)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return tsc ? __rdtsc() : t.tv_sec * 1000000000ULL + t.tv_nsec;
}

int main(int argc, char **argv)
{
	for (int i = 0; i < 10; i++) {
		unsigned long long from = now(argc > 1), to;

		usleep(20);
		syscall(SYS_getppid);
		usleep(20);
		to = now(argc > 1);
		fprintf(stderr, "%llu %llu\n", from, to);
		usleep(30000);
	}
}
"""


@pytest.mark.skipif(platform.machine() != 'x86_64', reason='the TSC is a clock of x86')
@pytest.mark.parametrize('clock', ['--tsc', '--monotonic'])
def test_times_are_those_that_the_program_reads(root, tmp_path, clock):
    """Each event is between the two readings of the clock around it."""
    (tmp_path / 'reads.c').write_text(READS)
    # Without sanitizers: the leak sanitizer calls getppid() too.
    subprocess.run(['cc', '-o', tmp_path / 'reads', tmp_path / 'reads.c'], check=True)
    done = run('trace', '-q', clock, '-e', 'syscalls:sys_enter_getppid', '-o', tmp_path / 'x.json',
               '--', tmp_path / 'reads', *(['tsc'] if clock == '--tsc' else []))
    if done.returncode == 4:
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stderr
    rows = [row for line in (tmp_path / 'x.json').read_text().splitlines()
            for s in json.loads(line)['sections'] for row in s['rows']]
    read = [tuple(map(int, line.split())) for line in done.stderr.splitlines()
            if re.fullmatch(r'\d+ \d+', line)]
    assert len(rows) == len(read) == 10
    for row, (before, after) in zip(rows, read):
        assert before < row[0] < after


@pytest.mark.parametrize('time', ['1.5ms', '0.5s', '.5s', '0.0025m'])
def test_times_have_fractions(root, time):
    done = run('stat', '-q', '-e', 'cpu-clock', '-d', '10ms', '-i', time)
    assert done.returncode == 0, done.stderr
