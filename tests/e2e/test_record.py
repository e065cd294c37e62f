# SPDX-License-Identifier: MIT
"""attar record: files that perf and attar read, with every event exactly once."""
import csv
import json
import os
import re
import shutil
import signal
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from command import ATTAR, comm_of, is_sampling, is_waiting, perf, run, wait_until, workload
from faults import environment, with_fault

pytestmark = pytest.mark.usefixtures('root', 'needs_perf')

CALLS = 5000
GETPPID = 'raw_syscalls:sys_enter/id==110/'
OPENAT = 257


def record(path, *args, command=None, status=0):
    done = run('record', '-o', path, *args, *(['--', *map(str, command)] if command else []))
    assert done.returncode == status, done.stderr
    return done


def script(path, fields):
    return perf('script', '--ns', '-i', path, '-F', fields).splitlines()


def flood(path, *args):
    return record(path, '-m', 1024, '-e', GETPPID, *args, command=[workload('flood'), CALLS])


@pytest.mark.parametrize('options', [[], ['-z'], ['-g']], ids=['plain', 'compressed', 'stacks'])
def test_each_event_is_recorded_once(tmp_path, options):
    data = tmp_path / 'x.data'
    done = flood(data, *options)
    assert f'{CALLS:,}  ' in done.stdout
    assert ' 0 lost' in done.stdout
    lines = [line for line in script(data, 'comm,event') if line.strip()]
    assert Counter(line.split()[0] for line in lines) == {'flood': CALLS}
    assert all(line.split()[1] == 'raw_syscalls:sys_enter:' for line in lines)
    found = run('trace', '--format', 'csv', '--input', data, '-e', 'raw_syscalls:sys_enter')
    assert sum(',flood,' in line for line in found.stdout.splitlines()) == CALLS


def test_samples_with_the_id_of_another_program(tmp_path):
    """
    A second attar samples the faults of the task: some kernels give the samples of both the id of
    its event, and perf stops at an id that a file does not describe.
    """
    data, to_pipe = tmp_path / 'x.data', tmp_path / 'pipe.data'

    def command(inner):
        return [ATTAR, 'top', '-e', 'page-faults', '-o', inner, '--', workload('faults1000'), 5000]

    # A run of the program has a few faults more or less: each recording has a count of its own.
    record(data, '-m', 1024, '-a', '-e', 'page-faults', '-e', GETPPID,
           command=command(tmp_path / 'x.data.json'))
    with to_pipe.open('wb') as out:
        subprocess.run([ATTAR, 'record', '-m', '1024', '-a', '-e', 'page-faults', '-e', GETPPID,
                        '-o', '-', '--', *map(str, command(tmp_path / 'pipe.data.json'))],
                       stdout=out, check=True)
    for path in data, to_pipe:
        inner = json.loads((tmp_path / f'{path.name}.json').read_text())
        (row,) = inner['sections'][0]['rows']
        faults = row[1]
        assert faults >= 5000
        assert sum(line.split()[:2] == ['faults1000', 'page-faults:']
                   for line in script(path, 'comm,event') if line.strip()) >= faults
        found = run('top', '--only-comm', '-e', 'page-faults', '--format', 'json', '--input', path)
        report = json.loads(found.stdout)
        assert not any('could not be parsed' in it for it in report.get('remarks', []))
        assert dict(report['sections'][0]['rows'])['faults1000'] >= faults


@pytest.mark.parametrize('options', [[], ['-z'], ['-a']], ids=['plain', 'compressed', 'system'])
def test_count_is_exact(tmp_path, options):
    """The rings hold more samples than that. The last of them still has the names of tasks."""
    data = tmp_path / 'x.data'
    done = flood(data, '-N', 50, *options)
    assert '50  ' in done.stdout
    names = [line.split()[0] for line in script(data, 'comm,event') if line.strip()]
    assert len(names) == 50
    assert options == ['-a'] or set(names) == {'flood'}


LAST = 'raw_syscalls:sys_enter/id==231/'  # exit_group(), which is called once


def counts(path, *args):
    """The columns of `attar top`: name and number of events."""
    done = run('top', '--format', 'json', '--only-comm', '--input', path, *args)
    assert done.returncode == 0, done.stderr
    table = json.loads(done.stdout)['sections'][0]
    return [(c['name'], cell) for c, cell in zip(table['columns'], table['rows'][0])
            if c['name'] != 'comm']


def test_an_alias_is_the_name_in_the_file(tmp_path):
    """Of events of one tracepoint, too; all of them have the name of the tracepoint."""
    data = tmp_path / 'x.data'
    record(data, '-m', 1024, '-e', f'{GETPPID}alias=call/,{LAST}alias=call 2/', command=[
        workload('flood'), CALLS])
    assert Counter(line.strip() for line in script(data, 'event') if line.strip()) == {
        'call:': CALLS, 'call 2:': 1}
    assert perf('evlist', '-i', data).splitlines()[:2] == ['call', 'call 2']
    assert counts(data) == [('call', CALLS), ('call 2', 1)]
    assert counts(data, '-e', 'call 2,call//alias=x/') == [('call 2', 1), ('x', CALLS)]
    assert counts(data, '-e', 'raw_syscalls:sys_enter') == [('raw_syscalls:sys_enter', CALLS + 1)]
    listed = json.loads(run('list', '--json', '--input', data).stdout)['sections'][0]['rows']
    assert [row[:3] for row in listed] == [['call', 'tracepoint', CALLS],
                                           ['call 2', 'tracepoint', 1]]


@pytest.mark.parametrize('first, second', [
    ('alias=x/', 'alias=x/'), ('alias=raw_syscalls:sys_exit/', ''), ('alias=cycles/', ''),
    ('alias="a,b"/', '')], ids=['twice', 'tracepoint', 'event', 'syntax'])
def test_an_alias_that_can_mean_another_event_is_not_in_the_file(tmp_path, first, second):
    data = tmp_path / 'x.data'
    record(data, '-m', 1024, '-e', f'{GETPPID}{first},raw_syscalls:sys_exit/id==110/{second}',
           command=[workload('flood'), CALLS])
    names = ['raw_syscalls:sys_enter', 'raw_syscalls:sys_exit']
    assert perf('evlist', '-i', data).splitlines()[:2] == names
    assert counts(data) == [(name, CALLS) for name in names]


def test_a_name_of_several_events_means_all(tmp_path):
    data = tmp_path / 'x.data'
    record(data, '-m', 1024, '-e', f'{GETPPID},{LAST}', command=[workload('flood'), CALLS])
    assert counts(data) == [('raw_syscalls:sys_enter', CALLS + 1)]


def test_perf_reads_the_header(tmp_path):
    data = tmp_path / 'x.data'
    flood(data)
    header = perf('report', '--header-only', '-i', data)
    names = os.uname()
    assert f'hostname : {names.nodename}\n' in header
    assert f'os release : {names.release}\n' in header
    assert f'arch : {names.machine}\n' in header
    assert f'nrcpus online : {os.sysconf("SC_NPROCESSORS_ONLN")}\n' in header
    assert re.search(r'cmdline : .*attar record -o ', header)
    assert 'clockid: monotonic (1)' in header
    assert 'raw_syscalls:sys_enter: type: 2' in perf('evlist', '-v', '-i', data)
    notes = subprocess.run(['readelf', '-n', workload('flood')], text=True, stdout=subprocess.PIPE,
                           check=True).stdout
    build_id = re.search(r'Build ID: ([0-9a-f]+)', notes)
    if build_id:
        assert f'{build_id[1]} {workload("flood")}' in perf('buildid-list', '-i', data)


def test_samples_have_the_names_of_functions(tmp_path):
    data = tmp_path / 'x.data'
    record(data, '-F', 997, '-g', command=[workload('split7030')])
    report = perf('report', '--stdio', '--no-children', '-g', 'none', '-F', 'symbol', '-i', data)
    assert re.search(r'\[\.\] heavy', report)
    assert 'heavy' in run('profile', '--input', data).stdout


def callers_by_perf(path):
    """The stacks that perf unwinds: the number of samples, and of those with main."""
    samples = perf('script', '-i', path, '-F', 'comm,ip,sym').split('\n\n')
    found = [sample for sample in samples if sample.startswith('flood')]
    return len(found), sum(re.search(r' main$', sample, re.M) is not None for sample in found)


def test_perf_unwinds_copies_of_stacks(tmp_path):
    """It reads the call frame information through mappings of data, which attar's own do not."""
    data, by_perf = tmp_path / 'x.data', tmp_path / 'perf.data'
    flood(data, '--call-graph', 'dwarf,512', '-N', 200)
    perf('record', '-q', '--call-graph', 'dwarf,512', '-e', 'raw_syscalls:sys_enter', '--filter',
         'id==110', '-o', by_perf, workload('flood'), 200)
    assert callers_by_perf(by_perf) == (200, 200)
    assert callers_by_perf(data) == (200, 200)
    folded = run('profile', '--call-graph', 'dwarf', '-e', 'raw_syscalls:sys_enter', '--input',
                 data, '--format', 'folded').stdout.splitlines()
    assert sum(int(line.split()[-1]) for line in folded if ';main;' in line) == 200


@pytest.mark.parametrize('options', [['-p'], ['-a'], ['-p', '--max-size', '256K', '--rotate', '1']],
                         ids=['process', 'system', 'rotated'])
def test_perf_unwinds_stacks_of_existing_processes(spawn, tmp_path, options):
    data = tmp_path / 'x.data'
    started = spawn(workload('flood'), 1000000000)
    wait_until(lambda: comm_of(started.pid) == 'flood', 'the program runs')
    options = [*options[:1], started.pid, *options[1:]] if '-p' in options else options
    record(data, *options, '-e', GETPPID, '--call-graph', 'dwarf,512', '-N', 2000)
    found = [callers_by_perf(path) for path in tmp_path.iterdir()]
    assert all(samples == with_main for samples, with_main in found)
    assert sum(samples for samples, _ in found) > 0
    maps = perf('script', '--show-mmap-events', '-i', data)
    here = [line for line in maps.splitlines() if f'MMAP2 {started.pid}/' in line]
    assert any(re.search(r' rw-p .*/flood$', line) for line in here)
    assert not any('//anon' in line for line in here)


def test_existing_processes_have_names(tmp_path):
    data = tmp_path / 'x.data'
    record(data, '-a', '-e', 'sched:sched_switch', '-N', 10)
    names = perf('script', '--show-task-events', '-i', data)
    assert f'PERF_RECORD_COMM: {comm_of(os.getpid())}:{os.getpid()}/{os.getpid()}' in names


def test_names_are_read_before_events_are_enabled(tmp_path):
    """
    Rings would fill up meanwhile. The files that attar opens to read them are not recorded, only
    the control group of each process that executes a program, and names of containers.
    """
    data = tmp_path / 'x.data'
    started = sampling(data, '-a', '-m', '1024', '-e', f'raw_syscalls:sys_enter/id=={OPENAT}/'
                       ',sched:sched_process_exec', '-d', '300ms')
    assert started.communicate(timeout=30) == ('', '')
    found = [line.split() for line in script(data, 'pid,event')]
    opened = sum(int(pid) == started.pid for pid, event in found if 'sys_enter' in event)
    executed = sum('exec' in event for _, event in found)
    assert opened < sum(name.isdigit() for name in os.listdir('/proc')) + 3 * executed


def events_of(*words):
    found = run('trace', '--format', 'csv', *words).stdout.splitlines()
    return Counter(row['event'] for row in csv.DictReader(found))


@pytest.mark.skipif(not Path('/sys/kernel/tracing/uprobe_events').exists(),
                    reason='this kernel has no uprobes')
def test_probes_have_the_names_that_were_given(tmp_path):
    """Two with one name, which differ in their arguments, have those of tracefs."""
    data, command = tmp_path / 'x.data', ['--', workload('nested'), 100]
    inner, outer, middle = (f'uprobe:{name}@"{workload("nested")}"'
                            for name in ('inner', 'outer', 'middle'))
    events = f'{inner},{outer}//args=(n=$arg1)/,sched:sched_process_exit'
    truth = {inner: 700, outer: 100, 'sched:sched_process_exit': 1}
    assert events_of('-e', events, *command) == truth
    events += f',{middle},{middle}//args=(n=$arg1)/'
    record(data, '-e', events, command=command[1:])
    assert Counter(line.strip()[:-1] for line in script(data, 'event')).items() >= truth.items()
    found = events_of('--input', data)
    made_up = [name for name in found if re.match(r'attar_\w+:middle_0x', name)]
    assert found == truth | dict.fromkeys(made_up, 300) and len(made_up) == 2
    assert events_of('--input', data, '-e', f'{outer},{inner}') == {inner: 700, outer: 100}


def test_pipe_to_perf(tmp_path):
    line = (f'{ATTAR} record -o - -m 1024 -e {GETPPID} -- {workload("flood")} {CALLS} '
            f'| perf script -i - -F comm')
    done = subprocess.run(line, shell=True, text=True, capture_output=True, timeout=60, check=True)
    assert Counter(done.stdout.split()) == {'flood': CALLS}, done.stderr


def test_pipe_to_perf_report(tmp_path):
    line = (f'{ATTAR} record -o - -m 1024 -e {GETPPID} -- {workload("flood")} {CALLS} '
            f'| perf report --stdio -n -F sample,comm -i -')
    done = subprocess.run(line, shell=True, text=True, capture_output=True, timeout=60)
    assert done.returncode == 0 and 'failed' not in done.stderr, done.stderr
    assert re.search(rf'^ +{CALLS} +flood', done.stdout, re.M), done.stdout


def sampling(path, *args):
    started = subprocess.Popen([ATTAR, 'record', '-q', '-o', path, *args],
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    wait_until(lambda: is_sampling(started), 'the rings are mapped')
    return started


def await_records(started, data):
    """Until the file has more than what exists when the recording begins."""
    wait_until(lambda: is_waiting(started), 'the recording to begin')
    size = data.stat().st_size
    wait_until(lambda: data.stat().st_size > size + 50000, 'records are written')


def test_interrupt_completes_the_file(tmp_path):
    data = tmp_path / 'x.data'
    started = sampling(data, '-a', '-e', 'sched:sched_switch')
    await_records(started, data)
    started.send_signal(signal.SIGINT)
    assert started.communicate(timeout=30) == ('', '')
    assert script(data, 'time')
    assert 'hostname' in perf('report', '--header-only', '-i', data)


def test_killed(tmp_path):
    data = tmp_path / 'x.data'
    started = sampling(data, '-a', '-e', 'sched:sched_switch')
    wait_until(lambda: 'prev_comm=' in run('trace', '--input', data, '-e', 'sched:sched_switch',
                                           '-N', 1).stdout, 'an event is in the file')
    started.kill()
    started.wait()
    done = run('trace', '--input', data, '-e', 'sched:sched_switch')
    assert done.returncode == 0, done.stderr
    assert 'prev_comm=' in done.stdout
    assert 'it was not finished: the tool that recorded it was killed or crashed' in (
        done.stdout + done.stderr)


def test_max_size_and_rotation(tmp_path):
    data = tmp_path / 'x.data'
    done = record(data, '-e', 'raw_syscalls:sys_enter', '--max-size', '256K', command=[
        workload('flood'), 200000])
    assert 'reached --max-size' in done.stdout
    assert 256 << 10 <= data.stat().st_size < 16 << 20
    record(data, '-m', 1024, '-e', GETPPID, '--max-size', '256K', '--rotate', 2, command=[
        workload('flood'), 100000])
    assert sorted(p.name for p in tmp_path.iterdir()) == ['x.data', 'x.data.1', 'x.data.2']
    for path in tmp_path.iterdir():
        perf('script', '-i', path, '-F', 'time')


def names_and_functions(path):
    """How many samples have the name, and how many of these have main() or what calls it."""
    samples, functions = Counter(), Counter()
    for line in script(path, 'comm,ip,sym'):
        words = line.split()
        if len(words) == 1:
            name, = words
            samples[name] += 1
        elif words and 'main' in words[1]:
            functions[name] += 1
    return samples, functions


@pytest.mark.parametrize('options', [[], ['-z'], ['-a']], ids=['plain', 'compressed', 'system'])
def test_each_rotated_file_names_all_tasks(tmp_path, options):
    """Also tasks that the command started while an earlier file was written."""
    data, names = tmp_path / 'x.data', ['one', 'two', 'three']
    for name in names:
        shutil.copy(workload('flood'), tmp_path / name)
    calls = ' '.join(f'{tmp_path / name} 20000 &' for name in names)
    record(data, '-g', '-m', 1024, '-e', GETPPID, '--max-size',
           '64K' if '-z' in options else '512K', '--rotate', 999, *options,
           command=['sh', '-c', f'{calls} wait'])
    files = list(tmp_path.glob('x.data*'))
    assert len(files) > 2
    all_samples = Counter()
    for path in files:
        samples, functions = names_and_functions(path)
        assert not any(name.startswith(':') for name in samples), path  # unknown
        samples = Counter({name: samples[name] for name in names if name in samples})
        assert {name: functions[name] for name in samples} == samples, path
        rows = run('trace', '--format', 'csv', '--input', path, '-e', 'raw_syscalls:sys_enter')
        assert {name: rows.stdout.count(f',{name},') for name in samples} == samples, path
        all_samples += samples
    assert all_samples == dict.fromkeys(names, 20000)


def test_disk_full(tmp_path):
    """The error names the file and the reason; what was written before can be read."""
    tmpfs = tmp_path / 'small'
    tmpfs.mkdir()
    subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', tmpfs], check=True)
    try:
        data = tmpfs / 'x.data'
        done = record(data, '-m', 1024, '-e', GETPPID, command=[workload('flood'), 100000],
                      status=1)
        assert re.search(rf'cannot write {data} after \d+ bytes: No space left on device',
                         done.stderr)
        found = run('trace', '--format', 'csv', '--input', data, '-e', 'raw_syscalls:sys_enter')
        assert found.returncode == 0, found.stderr
        assert sum('NR 110 (' in line for line in found.stdout.splitlines()) > 5000
    finally:
        subprocess.run(['umount', tmpfs], check=True)


def calls_in(*paths):
    """Return the calls of the task that made the most: the shell that runs it calls, too."""
    done = [run('trace', '--format', 'csv', '--input', path, '-e', GETPPID) for path in paths]
    assert not any(one.returncode for one in done), [one.stderr for one in done]
    tasks = Counter(row['tid'] for one in done for row in csv.DictReader(one.stdout.splitlines()))
    return tasks.most_common(1)[0][1]


def calls_by_perf(*paths):
    return Counter(line for path in paths for line in script(path, 'tid')).most_common(1)[0][1]


STALLED = 400000    # calls, of which a ring holds a third


def stalled(out, over):
    """Return the words of a recording of STALLED calls, after which the file `over` exists."""
    return ['record', '-m', 4096, '--buffer', '256M', '-e', GETPPID, '-o', out, '--', 'sh', '-c',
            f'{workload("flood")} {STALLED} >/dev/null; : >{over}']


@pytest.mark.parametrize('compress', [[], ['-z']], ids=['plain', 'compressed'])
@pytest.mark.parametrize('end', ['itself', 'SIGTERM'])
def test_a_reader_that_stalls(spawn, tmp_path, end, compress):
    """The pipe is not read before all calls were made: what waits for it is complete at the end,
    also after SIGTERM."""
    fifo, go, data, over = (tmp_path / name for name in ('fifo', 'go', 'x.data', 'over'))
    os.mkfifo(fifo)
    os.mkfifo(go)
    reader = spawn('sh', '-c', f'exec 3<{fifo}; read _ <{go}; exec cat <&3 >{data}')
    words = stalled(fifo, over)
    if end == 'SIGTERM':
        words[-1] += '; exec sleep 1000'
    started = spawn(ATTAR, *words[:1], *compress, *words[1:], stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE, text=True)
    wait_until(over.exists, 'the program has made all calls, and nothing was read')
    if end == 'SIGTERM':
        started.send_signal(signal.SIGTERM)
    go.write_text('go\n')
    output, errors = started.communicate(timeout=60)
    assert (started.returncode, errors) == (143 if end == 'SIGTERM' else 0, ''), output
    assert ' 0 lost' in output
    assert reader.wait(60) == 0
    assert calls_in(data) == STALLED == calls_by_perf(data)


@pytest.mark.parametrize('rotate', [[], ['--max-size', '4M', '--rotate', '100']],
                         ids=['one', 'rotated'])
def test_a_disk_that_stalls(tmp_path, rotate):
    """Also files that follow each other wait, and are complete."""
    data, go, over = (tmp_path / name for name in ('x.data', 'go', 'over'))
    os.mkfifo(go)
    words = stalled(data, over)
    with subprocess.Popen([ATTAR, *map(str, words[:1] + rotate + words[1:])],
                          env=environment('calls', disk=go), stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as started:
        wait_until(over.exists, 'the program has made all calls, and nothing was written')
        assert data.stat().st_size == 0
        go.write_text('go\n')
        output, errors = started.communicate(timeout=60)
    assert (started.returncode, errors) == (0, ''), output
    assert ' 0 lost' in output
    files = list(tmp_path.glob('x.data*'))
    assert len(files) > 4 if rotate else files == [data]
    assert calls_in(*files) == STALLED == calls_by_perf(*files)
    assert all('hostname' in perf('report', '--header-only', '-i', path) for path in files)


def test_disk_full_during_rotation(tmp_path):
    """The last file that has records can be read, and no empty one follows."""
    tmpfs = tmp_path / 'small'
    tmpfs.mkdir()
    subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', tmpfs], check=True)
    try:
        data = tmpfs / 'x.data'
        done = record(data, '-m', 64, '-e', GETPPID, '--max-size', '700K', '--rotate', 100,
                      command=[workload('flood'), 100000], status=1)
        assert re.search(r'cannot write \S+ after \d+ bytes: No space left on device',
                         done.stderr)  # a long path is shortened
        files = sorted(tmpfs.iterdir())
        assert len(files) > 1 and all(path.stat().st_size for path in files)
        assert calls_in(*files) > 5000
    finally:
        subprocess.run(['umount', tmpfs], check=True)


@pytest.mark.parametrize('args, status, message', [
    (['-o', '/nowhere/x.data'], 1, 'cannot create /nowhere/x.data: No such file or directory'),
    (['-o', '/tmp'], 1, 'cannot create /tmp: Is a directory'),
    (['-o', '/dev/full'], 1, 'cannot write /dev/full after 0 bytes: No space left on device'),
    (['--rotate', '2'], 2,
     '--rotate requires --max-size, the size at which a new file begins: add --max-size'),
], ids=lambda v: v[-1] if isinstance(v, list) else '')
def test_refused(tmp_path, args, status, message):
    done = run('record', '-e', 'page-faults', '-o', tmp_path / 'x.data', *args, '--', 'true')
    assert done.returncode in (status, 2), done.stderr
    assert message in done.stderr
    assert Path('/dev/full').is_char_device()


def switches(path):
    """Return the switches as (pid, cpu, from, to), in order of time."""
    lines = perf('script', '--ns', '-i', path, '-F', 'pid,cpu,event,trace').splitlines()
    pattern = re.compile(r'^ *(-?\d+) +\[(\d+)\].* prev_pid=(\d+) .* next_pid=(\d+) ')
    return [tuple(map(int, found.groups())) for found in map(pattern.search, lines) if found]


@pytest.fixture(scope='module')
def all_switches(tmp_path_factory):
    """A recording of all CPUs, and the process that made it."""
    data = tmp_path_factory.mktemp('switches') / 'x.data'
    started = sampling(data, '-a', '-m', '1024', '-e', 'sched:sched_switch',
                       '--no-switch-events')
    await_records(started, data)
    started.send_signal(signal.SIGINT)
    assert started.communicate(timeout=30) == ('', '')
    assert started.returncode == 0
    return data, started.pid


def test_switches_of_the_recorder_are_recorded(all_switches):
    """A switch to it is followed by the switch from it to another thread, on the same CPU."""
    data, pid = all_switches
    running = {}
    for _, cpu, before, after in switches(data):
        assert running.get(cpu) != pid or before == pid
        running[cpu] = after
    assert pid in [before for _, _, before, _ in switches(data)]


def seen(*args):
    ended = run(*args, '--format', 'json')
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)['notes']['seen']


def test_readers_leave_out_the_recorder(all_switches):
    """As live: top counts no events in attar's threads unless it is told to, oncpu needs them."""
    data, pid = all_switches
    all_of_them = switches(data)
    own = sum(process == pid for process, *_ in all_of_them)
    top = ['top', '--input', data, '-e', 'sched:sched_switch']
    assert own and seen(*top) == len(all_of_them) - own
    assert seen(*top, '-p', pid) == own
    assert seen('oncpu', '--input', data) == len(all_of_them)


@pytest.mark.parametrize('options', [[], ['-z']], ids=['plain', 'compressed'])
def test_a_damaged_ring_loses_only_its_own_records(tmp_path, options):
    """The file has those from before the damage, and all records of other rings."""
    data = tmp_path / 'x.data'
    script = ';'.join(f'taskset -c {cpu} {workload("flood")} {CALLS}' for cpu in (0, 1))
    done = with_fault('ring', 'record', '-m', 1024, '-e', GETPPID, *options, '-o', data, '--', 'sh',
                      '-c', script, ring=0, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert 'the ring of CPU 0 has a record with an invalid size' in done.stderr
    found = run('trace', '--format', 'csv', '--input', data, '-e', 'raw_syscalls:sys_enter')
    assert found.returncode == 0 and 'damaged' not in found.stderr, found.stderr
    by_cpu = Counter(row['cpu'] for row in csv.DictReader(found.stdout.splitlines())
                     if row['comm'] == 'flood')
    assert by_cpu['1'] == CALLS and by_cpu['0'] < CALLS
