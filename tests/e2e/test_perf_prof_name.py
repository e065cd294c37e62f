# SPDX-License-Identifier: MIT
"""attar under the name perf-prof, see docs/from-perf-prof.md."""
import json
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from command import ATTAR, is_waiting, run, wait_until, workload

SPLIT = workload('split7030')
HEAVY = re.compile(r'^(\S+;)?split7030;(\S+;)?main;heavy (\d+)$', re.MULTILINE)
TIMED = re.compile(r'^\d{4}-\d\d-\d\d;\d\d:\d\d:\d\d;split7030;(\S+;)?\w+ \d+$')

pytestmark = pytest.mark.usefixtures('root')


@pytest.fixture(name='perf_prof', scope='module')
def link(tmp_path_factory):
    """Return a function that runs attar under the name perf-prof."""
    path = tmp_path_factory.mktemp('bin') / 'perf-prof'
    path.symlink_to(ATTAR)
    return lambda *args, **kwargs: run(*args, program=path, **kwargs)


# ---- outputs ----

@pytest.mark.parametrize('name', ['io_stat.log', 'x', 'x.d/out', 'x.out', 'x.7'])
def test_other_extensions_are_text(tmp_path, name):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    ended = run('stat', '-e', 'cpu-clock', '-d', '50ms', '-o', path)
    assert ended.returncode == 0, ended.stderr
    assert re.match(r'stat, \S+ ms, ', path.read_text())


@pytest.mark.parametrize('name, meant', [
    ('x.jsn', 'json'), ('x.hmtl', 'html'), ('x.flded', 'folded')])
def test_misspelled_extensions_are_refused(tmp_path, name, meant):
    ended = run('stat', '-d', '50ms', '-o', tmp_path / name)
    assert ended.returncode == 2 and f'did you mean .{meant}?' in ended.stderr


@pytest.mark.parametrize('name', ['x.tsv', 'x.jsn', 'x.cvs'])
def test_no_extension_is_misspelled_for_perf_prof(perf_prof, tmp_path, name):
    ended = perf_prof('stat', '-e', 'cpu-clock', '-d', '50ms', '-o', tmp_path / name)
    assert ended.returncode == 0, ended.stderr
    assert re.match(r'stat, \S+ ms, ', (tmp_path / name).read_text())


def test_text_file_is_opened_again(tmp_path):
    """As for logrotate: what follows SIGUSR1 is in the new file."""
    path, moved = tmp_path / 'io_stat.log', tmp_path / 'io_stat.log.1'
    with subprocess.Popen([ATTAR, 'stat', '-q', '-e', 'cpu-clock', '-i', '50ms', '-o', path]) as p:
        wait_until(lambda: path.exists() and path.stat().st_size, 'the first report')
        path.rename(moved)
        p.send_signal(signal.SIGUSR1)
        wait_until(lambda: path.exists() and path.stat().st_size, 'a report in the new file')
        p.send_signal(signal.SIGINT)
    assert moved.read_text().startswith('stat, ') and path.read_text().startswith('stat, ')


def samples_of(text):
    return sum(int(line.rpartition(' ')[2]) for line in text.splitlines())


@pytest.mark.parametrize('name', [None, 'x.log', 'x.folded'])
def test_flame_graph_without_a_name(tmp_path, name):
    """70% of the samples are in heavy(); the text of the output is replaced by stacks."""
    words = ['profile', '-F', '997', '-g', '--flame-graph', '', '--format', 'json']
    words = words[:-2] + (['-o', tmp_path / name] if name else [])
    ended = run(*words, '--', SPLIT)
    assert ended.returncode == 0, ended.stderr
    text = (tmp_path / name).read_text() if name else ended.stdout
    assert ('functions' in ended.stdout) == (name is not None)
    heavy = sum(int(n) for *_, n in HEAVY.findall(text))
    assert 0.6 < heavy / samples_of(text) < 0.8, text


@pytest.mark.parametrize('name, written, plain', [
    ('cpu', 'cpu.folded', 'cpu'), ('cpu.folded', 'cpu.folded', 'cpu.folded'),
    ('cpu.v2', 'cpu.v2.folded', 'cpu.v2'), ('cpu.html', 'cpu.html', 'cpu.html')])
def test_name_of_the_flame_graph(perf_prof, tmp_path, name, written, plain):
    for start, expected in ((perf_prof, written), (run, plain)):
        folder = tmp_path / start.__name__
        folder.mkdir()
        ended = start('profile', '-g', '--flame-graph', name, '--', 'true', cwd=folder)
        assert ended.returncode == 0, ended.stderr
        assert [path.name for path in folder.iterdir()] == [expected]


def test_flame_graph_of_intervals(perf_prof, tmp_path):
    """Each stack begins with the time of its interval; -o replaces standard output."""
    path = tmp_path / 'snapshots.folded'
    ended = perf_prof('profile', '-F', '997', '-g', '--exclude-kernel', '--flame-graph', '',
                      '-i', '100', '-o', path, '--', SPLIT)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, '', '')
    lines = path.read_text().splitlines()
    assert lines and all(TIMED.match(line) for line in lines), lines


# ---- what differs under the name ----

def test_no_remarks_in_successful_runs(perf_prof):
    """That cpu-clock replaces cycles is a remark of attar, and so is a merged tracepoint."""
    words = ['trace', '-e', 'kmem:kmalloc,kmem:kmalloc_node', '-N', '1', '-d', '20s']
    ended, remarks = perf_prof(*words), run(*words)
    assert ended.returncode == remarks.returncode == 0
    assert ended.stderr == ''
    assert "'kmem:kmalloc_node' is left out" in remarks.stderr
    assert remarks.stderr.count('left out') == 1
    assert 'left out' in perf_prof(*words, '-v').stderr


def test_quiet_reports(perf_prof, tmp_path):
    (tmp_path / 'x.script').write_text(
        '# attar script\nevent sched:sched_wakeup comm:char[16] pid:pid_t\n'
        '1.0 0 7/7 a sched:sched_wakeup comm=woken pid=8\n1.2 0 7/7 a lost 5\n')
    line = f'trace --input {tmp_path}/x.script'.split()
    loud, quiet = perf_prof(*line), perf_prof(*line, '-q')
    assert 'comm=woken' in quiet.stdout and 'comm=woken' in loud.stdout
    assert '1 sample seen, 5 lost' in loud.stdout
    assert 'seen' not in quiet.stdout and quiet.stderr == ''
    ended = run(*line, '-q')
    assert ended.returncode == 0 and ended.stdout == ''


def test_list_of_tracepoints(perf_prof):
    """As for: perf-prof trace -e $(perf-prof list | grep ^irq: | paste -sd,)"""
    folder = Path('/sys/kernel/tracing/events')
    ended = perf_prof('list')
    assert (ended.returncode, ended.stderr) == (0, '')
    assert sorted(ended.stdout.splitlines()) == sorted(
        f'{path.parent.parent.name}:{path.parent.name}' for path in folder.glob('*/*/id'))
    of_one = 'list', 'sched:sched_switch'
    assert perf_prof(*of_one).stdout == run(*of_one).stdout


def test_usage_is_no_remark(perf_prof):
    ended = perf_prof('stat', '-e', 'cpu-clock', '-d', '300ms', '--usage-self', '50')
    assert ended.returncode == 0
    lines = ended.stderr.splitlines()
    assert len(lines) > 1 and all(line.startswith('attar: own CPU usage: ') for line in lines)


def test_the_end_by_a_limit_is_no_remark(perf_prof):
    ended = perf_prof('trace', '-e', 'cpu-clock/period=1000000/', '--sampling-limit', '3',
                      '-d', '60s', '--', workload('split7030'), '3000')
    assert re.fullmatch(r'attar: ended by --sampling-limit: \d+ samples in \S+ s, but at most 3 '
                        r'per second are allowed\n', ended.stderr)


def test_remarks_in_runs_that_fail(perf_prof, tmp_path):
    ended = perf_prof('trace', '-e', 'kmem:kmalloc,kmem:kmalloc_node', '-N', '1', '-o',
                      tmp_path / 'no/x.txt')
    assert ended.returncode == 1
    assert re.search("cannot write '.*'", ended.stderr)


def test_merged_tracepoint_alone():
    ended = run('trace', '-e', 'kmem:kmem_cache_alloc_node', '-N', '1')
    assert ended.returncode == 2
    assert 'use kmem:kmem_cache_alloc\n' in ended.stderr


def test_system_without_an_option(perf_prof):
    """Each of three processes' execs runs the command."""
    words = ['-e', 'sched:sched_process_exec//exec=system("echo exec of %d", pid)/']
    shell = ['--', 'sh', '-c', 'for i in 1 2 3; do /bin/true; done']
    ended = perf_prof('trace', *words, *shell)
    assert ended.returncode == 0, ended.stderr
    assert len(re.findall(r'^exec of \d+$', ended.stdout, re.MULTILINE)) == 4
    refused = run('trace', *words, *shell)
    assert refused.returncode == 3 and '--allow-exec' in refused.stderr


def test_profile_prints_each_sample(perf_prof):
    """Without an interval, each sample is a line; with stacks below it."""
    ended = perf_prof('profile', '-F', '997', '-g', '--', SPLIT)
    assert ended.returncode == 0, ended.stderr
    lines = re.findall(r'^\S+  split7030 +\d+ +\d+ +[\d,]+  \S+$', ended.stdout, re.MULTILINE)
    seen = int(re.search(r'([\d,]+) samples seen', ended.stdout)[1].replace(',', ''))
    assert len(lines) == seen > 100
    assert 0.6 < len(re.findall(r'^ +\w+ heavy\+', ended.stdout, re.MULTILINE)) / seen < 0.8


def test_profile_leaves_out_idle_cpus(perf_prof, tmp_path):
    """As perf-prof in guests; other excluded processes add to them."""
    path = tmp_path / 'x.script'
    path.write_text('# attar script\nevent cpu-clock\n' + ''.join(
        f'1.00{i} 0 {tid}/{tid} t{tid} cpu-clock\n' for i, tid in enumerate((0, 7, 0, 8))))
    words = ['profile', '--print-samples', '--input', path]
    for start, more, shown in ((run, (), ['t0', 't7', 't0', 't8']), (perf_prof, (), ['t7', 't8']),
                               (perf_prof, ('--exclude_pid', '8'), ['t7'])):
        assert re.findall(r'^00:\S+  (t\d)', start(*words, *more).stdout, re.MULTILINE) == shown


def test_default_interval(perf_prof):
    """oncpu reports each second without -i."""
    with subprocess.Popen([ATTAR, 'oncpu'], executable=ATTAR, stdout=subprocess.PIPE) as attar:
        wait_until(lambda: is_waiting(attar), 'attar waits')
        attar.send_signal(signal.SIGINT)
        assert attar.communicate()[0].count(b'oncpu, ') == 1
    ended = perf_prof('oncpu', '-C', '0', '-d', '2500ms')
    assert ended.stdout.count('oncpu, ') == 3, ended.stdout


def test_symbols_of_standard_input(perf_prof):
    """As nm(1) finds them."""
    names = [line.split() for line in subprocess.run(
        ['nm', SPLIT], capture_output=True, text=True, check=True).stdout.splitlines()]
    addresses = {name: address for address, _, name in (n for n in names if len(n) == 3)}
    wanted = ['heavy', 'light', 'main']
    text = ''.join(f'{addresses[name]}\n' for name in wanted)
    for words in (['--symbols', SPLIT], [f'--symbols={SPLIT}']):
        ended = perf_prof(*words, input=text, stdin=None)
        assert [line.split()[1] for line in ended.stdout.splitlines()] == [
            f'{name}+0x0' for name in wanted]
    assert perf_prof('--symbols').returncode == 2


# ---- pairs and calls beyond limits ----

PAIRS = '''# attar script
event a:start k:int
event a:end k:int
event raw_syscalls:sys_enter id:s64
event raw_syscalls:sys_exit id:s64 ret:s64
1.000 0 7/7 one a:start k=1
1.001 0 7/7 one a:end k=1
1.002 0 7/7 one a:start k=2
1.005 0 7/7 one a:end k=2
1.006 0 7/7 one raw_syscalls:sys_enter id=110
1.009 0 7/7 one raw_syscalls:sys_exit id=110 ret=6
'''


@pytest.mark.parametrize('words, printed', [
    (['multi-trace', '-k', 'k', '-e', 'a:start', '-e', 'a:end'],
     r'start +00:00:01\.002000 .*a:start'),
    (['nested-trace', '-e', 'a:start,a:end'], r'^00:00:01\.002000 +one .*3\.00 ms .*a:start$'),
    (['syscalls'], r'^00:00:01\.006000 +one .*3\.00 ms +getppid\(110\) +6$'),
])
def test_what_takes_longer_is_printed(perf_prof, tmp_path, words, printed):
    path = tmp_path / 'x.script'
    path.write_text(PAIRS)
    for start, more, n in ((perf_prof, ['--than', '2ms'], 1), (perf_prof, [], 0),
                           (run, ['--than', '2ms'], 0)):
        ended = start(*words, *more, '--input', path)
        assert ended.returncode == 0, ended.stderr
        assert len(re.findall(printed, ended.stdout, re.MULTILINE)) == n, ended.stdout


# ---- filters of names in the kernel ----

NOISE = """import os
(r1, w1), (r2, w2) = os.pipe(), os.pipe()
if os.fork():
    while os.write(w1, b'x') and os.read(r2, 1): pass
while os.read(r1, 1) and os.write(w2, b'x'): pass
"""
SLEEPS = 20
CPU = str(min(os.sched_getaffinity(0)))  # never idle: some kernels hide switches of idle CPUs


@pytest.fixture(name='noise')
def make_switches(spawn):
    """Two processes that wake each other up."""
    return spawn('taskset', '-c', CPU, '/usr/bin/python3', '-S', '-c', NOISE)


@pytest.mark.parametrize('profiler, is_pair', [
    ('rundelay', lambda row: row['start'] == 'sched:sched_wakeup'),
    ('task-state', lambda row: row['state'] == 'S')])
@pytest.mark.parametrize('names', ['few_sleeps', 'x,*few*_*sleeps***', 'few_sleeps,a"b',
                                   'a_name_of_no_thread,few_sleep?'])
@pytest.mark.usefixtures('noise')
def test_the_kernel_applies_filters_of_names(perf_prof, tmp_path, profiler, is_pair, names):
    """Only events of threads with the names are read, and all of these."""
    (tmp_path / 'few_sleeps').symlink_to('/usr/bin/sleep')
    command = ['--', 'taskset', '-c', CPU, 'sh', '-c',
               f'for i in $(seq {SLEEPS}); do ./few_sleeps 0.005; done; sleep 0.3']
    seen = []
    for start in (perf_prof, run):
        ended = start(profiler, '--format', 'json', '-m', 1024, '--filter', names, *command,
                      cwd=tmp_path)
        assert ended.returncode == 0, ended.stderr
        found = json.loads(ended.stdout.splitlines()[-1])
        notes = found['notes']
        table = found['sections'][0]
        columns = [column['name'] for column in table['columns']]
        calls = [row['count' if 'count' in row else 'calls'] for row in
                 (dict(zip(columns, values)) for values in table['rows']) if is_pair(row)]
        if notes['lost']:  # a busy machine has too many switches to read them all
            assert start is run or '"' in names
        else:
            assert sum(calls) >= SLEEPS * 3 // 4
        seen.append(notes['seen'] + notes['lost'])
    assert seen[1] > 1000 and (seen[0] < seen[1] / 4) == ('"' not in names)


@pytest.mark.usefixtures('noise')
def test_the_kernel_does_not_filter_untraced_events(perf_prof):
    """They are shown with --detail, also events of other threads."""
    ended = perf_prof('multi-trace', '--tasks', '--filter', 'few_sleeps', '--format', 'json',
                      '-e', 'sched:sched_wakeup,sched:sched_stat_runtime//untraced/',
                      '-e', 'sched:sched_switch', '--', 'sleep', 0.3)
    assert ended.returncode == 0, ended.stderr
    notes = json.loads(ended.stdout.splitlines()[-1])['notes']
    assert notes['seen'] + notes['lost'] > 100
