# SPDX-License-Identifier: MIT
"""Findings of attar overview say who causes them: programs that use the CPUs, and their code."""
import contextlib
import os
import pathlib
import re
import shutil
import signal
import subprocess

import pytest

from command import run
from scripts import of_script, report, rows
from test_overview import EVENTS, MS

SPIN = 'while True: pass'
PYTHON = ['/usr/bin/python3', '-I', '-S', '-c']

# serve() calls three functions, none of which has most of the time.
SERVE = '''
#define PART(name) \\
    __attribute__((noinline)) void name(void) { for (volatile int i = 0; i < 100000; i++) ; }
PART(one) PART(two) PART(three)
__attribute__((noinline)) void serve(void) { one(); two(); three(); }
__attribute__((noinline)) void work(void) { for (;;) serve(); }
int main(void) { work(); }
'''


@contextlib.contextmanager
def started(*commands, group=None):
    processes = [subprocess.Popen(words, start_new_session=True) for words in commands]
    try:
        for process in processes if group else ():
            (group / 'cgroup.procs').write_text(str(process.pid))
        yield processes
    finally:
        for process in processes:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@pytest.fixture(name='cpu_group')
def _cpu_group(root):  # pylint: disable=unused-argument
    group = pathlib.Path(f'/sys/fs/cgroup/cpu/attar-hogs-{os.getpid()}')
    if not group.parent.is_dir():
        pytest.skip('the controller cpu is not in a hierarchy of version 1')
    group.mkdir()
    (group / 'cpu.shares').write_text('65536')
    try:
        yield group
    finally:
        group.rmdir()


def evidence_of(found, name):
    return [r['values']['evidence'] for r in rows(found, 'findings') if r['finding'] == name]


@pytest.mark.exclusive
def test_processes_of_a_group_that_use_the_cpus(cpu_group):
    """Each of them uses a part of a CPU only."""
    n = 8 * os.cpu_count()
    with started(*[PYTHON + [SPIN]] * n, group=cpu_group), \
         started(PYTHON + [SPIN]) as [victim]:
        found = report('overview', '-p', victim.pid, '-d', '3s')
    text, = evidence_of(found, 'run queue')
    users = re.search(rf'(\d+) processes python3 \(control group /{cpu_group.name}\) use '
                      r'(\d+) % of a CPU', text)
    assert users and int(users[1]) == n, text
    assert 20 <= int(users[2]) <= 100 * os.cpu_count() + 10, text
    assert f'python3 (pid {victim.pid}, 1 thread) waits for a CPU' in text


@pytest.mark.exclusive
@pytest.mark.usefixtures('root')
def test_children_that_end_use_the_cpus():
    """None of them is there at both readings."""
    loop = 'while :; do /usr/bin/python3 -I -S -c "sum(range(3000000))"; done'
    with started(*[['sh', '-c', loop]] * 4 * os.cpu_count()), \
         started(PYTHON + [SPIN]) as [victim]:
        found = report('overview', '-p', victim.pid, '-d', '4s')
    texts = evidence_of(found, 'run queue')
    assert texts, found
    assert 'threads of its own' not in texts[0], texts  # it has one
    users = re.search(r'ended children of \d+ processes sh use (\d+) % of a CPU', texts[0])
    assert users and 20 <= int(users[1]) <= 100 * os.cpu_count() + 10, texts


# A thread with a priority of real time runs for 60 % of the time of CPU 0, the main one otherwise.
PRIORITY = '''
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>
static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}
static void *run(void *arg)
{
    struct sched_param param = {10};
    sched_setscheduler(0, SCHED_FIFO, &param);
    for (;;) {
        for (double end = now() + 0.03; now() < end;) ;
        usleep(20000);
    }
    return arg;
}
int main(void)
{
    cpu_set_t cpus;
    pthread_t thread;
    CPU_ZERO(&cpus);
    CPU_SET(0, &cpus);
    sched_setaffinity(0, sizeof(cpus), &cpus);
    pthread_create(&thread, NULL, run, NULL);
    for (;;) ;
}
'''


@pytest.mark.exclusive
@pytest.mark.usefixtures('root')
@pytest.mark.skipif({0, 1} - os.sched_getaffinity(0), reason='needs CPUs 0 and 1')
def test_threads_of_the_process_itself_use_the_cpu(tmp_path):
    """Others have the other CPUs, but the process cannot run there."""
    (tmp_path / 'priority.c').write_text(PRIORITY)
    subprocess.run(['cc', '-o', tmp_path / 'priority', tmp_path / 'priority.c'], check=True)
    other = ['taskset', '-c', '1-31', *PYTHON, SPIN]
    with started(*[other] * 2 * os.cpu_count(), ['taskset', '-c', '0', *PYTHON, SPIN]), \
         started([tmp_path / 'priority']) as [process]:
        found = report('overview', '-p', process.pid, '-d', '3s')
    text, = evidence_of(found, 'run queue')
    own = re.search(r'; meanwhile threads of its own use (\d+) % of a CPU', text)
    assert own and 40 <= int(own[1]) <= 105, text


@pytest.mark.exclusive
@pytest.mark.usefixtures('root')
def test_the_caller_of_hot_functions(tmp_path):
    (tmp_path / 'serve.c').write_text(SERVE)
    subprocess.run(['cc', '-O1', '-fno-omit-frame-pointer', '-o', tmp_path / 'serve',
                    tmp_path / 'serve.c'], check=True)
    with started([tmp_path / 'serve']) as [process]:
        found = report('overview', '-p', process.pid, '-d', '2s', '-F', 999)
    text, = evidence_of(found, 'user code')
    share = re.search(r', (\d+) % in serve with what it calls', text)
    assert share and int(share[1]) >= 95, text


@pytest.mark.exclusive
@pytest.mark.usefixtures('root')
@pytest.mark.parametrize('command, title, name', [
    (PYTHON + ['x = 0\nwhile True: x = x * 31 % 1000003'], 'Python', '<module> (<string>)'),
    (['ruby3.1', '-e', 'x = 0\nx = x * 31 % 1000003 while true'], 'Ruby 3.1', '<main> (-e)'),
    (['php8.2', '-r', '$x = 0; while (true) $x = $x * 31 % 1000003;'], 'PHP 8.2',
     '<main> (Command line code)'),
    (['perl', '-e', 'my $x = 0; $x = $x * 31 % 1000003 while 1'], 'Perl 5.36', '<main> (-e)'),
])
def test_names_of_a_language(command, title, name):
    if not shutil.which(command[0]):
        pytest.skip(f'{command[0]} is not installed')
    with started(command) as [process]:
        found = report('overview', '-p', process.pid, '-d', '1s', '-F', 999)
        command, = (row['values']['command'] for row in rows(found, 'findings')
                    if row['finding'] == 'user code')
        done = run(*command.split()[1:])
    text, = evidence_of(found, 'user code')
    assert f'the functions of {title}' in text
    assert command == f'attar stack --repeat 300 -p {process.pid}'
    assert name in done.stdout


# score_items() calls rank(), which takes a tenth of the time; handle() does nothing itself.
SCORE = '''
def rank(n): return sum(range(n))
def score_items():
    x = 0
    for i in range(10000): x = x * 31 % 1000003
    return x + rank(10000)
def handle(): return score_items()
while True: handle()
'''


@pytest.mark.exclusive
@pytest.mark.usefixtures('root')
@pytest.mark.parametrize('n', [0, 6], ids=['alone', 'starved'])
def test_the_function_of_python_comes_first(tmp_path, n):
    """Whoever has the CPUs: beside others, the first finding names them, and the function."""
    (tmp_path / 'score.py').write_text(SCORE)
    with started(*[PYTHON + [SPIN]] * (os.cpu_count() * n)), \
         started(['/usr/bin/python3', '-I', '-S', tmp_path / 'score.py']) as [process]:
        for _ in range(5):
            found = report('overview', '-p', process.pid, '-d', '5s')
            first, = rows(found, 'findings')[:1] or [{'finding': None, 'values': {'evidence': ''}}]
            text = first['values']['evidence']
            if 'score_items' in text:
                break
    looks = re.search(r'(\d+) of (\d+) times when attar looked, it was in the function '
                      r'score_items \(score.py\)', text)
    assert looks and 0.9 * int(looks[2]) <= int(looks[1]) <= int(looks[2]), found
    assert 'mostly in what it calls' not in text, text
    assert 20 <= int(looks[2]) <= found['interval_ns'] / 100 / MS + 5, found
    assert first['finding'] in (['run queue'] if n else ['user code', 'run queue']), found
    if n:
        assert re.search(r'\d+ processes python3 use \d+ % of a CPU', text), text
        assert '; on a CPU, it mostly runs its own code, ' in text, text


REPORT = '''
const big = JSON.stringify(Array.from({length: 300}, (_, i) => ({id: i, name: "n" + i})));
function renderReport() { return JSON.stringify(JSON.parse(big)); }
function serve() { for (let i = 0; i < 50; i++) renderReport(); setImmediate(serve); }
serve();
'''


@pytest.mark.exclusive
@pytest.mark.usefixtures('root')
@pytest.mark.skipif(not shutil.which('node'), reason='node is not installed')
@pytest.mark.parametrize('words, expected', [
    ([], r', \d+ % in v8::internal::.*; functions of JavaScript have names with node '
         '--perf-basic-prof'),
    (['--perf-basic-prof'], r', \d+ % in \S+ \S+/report.js:\S+ with what it calls')])
def test_functions_of_javascript(tmp_path, words, expected):
    """Most of the time passes in the engine: its caller is named, or how to have names."""
    (tmp_path / 'report.js').write_text(REPORT)
    # node writes a log where it is started
    start = ['sh', '-c', 'cd "$0" && exec node "$@"', tmp_path, *words, 'report.js']
    with started(start) as [process]:
        try:
            for _ in range(5):
                found = report('overview', '-p', process.pid, '-d', '3s')
                text = ' '.join(evidence_of(found, 'user code'))
                if re.search(expected, text):
                    break
        finally:
            pathlib.Path(f'/tmp/perf-{process.pid}.map').unlink(missing_ok=True)
    assert re.search(expected, text), found
    assert not words or 'perf-basic-prof' not in text, text


@pytest.mark.parametrize('ready, disk, starves', [(750, 0, True), (450, 300, False)])
def test_what_a_starved_process_runs(tmp_path, ready, disk, starves):
    """It runs for 250 ms, in the kernel, waits for a CPU, and then for a disk."""
    text = EVENTS + '1.0 0 0/0 swapper ksymbol register 0xffffffffc0000000 64 busy\n' \
        '1.0 0 100/100 worker fork 100/101\n1.0 0 0/0 swapper sched:sched_switch next_pid=100\n'
    text += ''.join(f'1.{i} 0 100/100 worker cpu-clock stack=0xffffffffc0000010\n'
                    for i in range(100, 125))
    text += '1.249 0 100/100 worker sched:sched_switch prev_pid=100 prev_state=0 next_pid=7\n'
    end = 1249 + ready
    text += f'{end / 1000} 0 7/7 other sched:sched_switch prev_pid=7 prev_state=1 next_pid=100\n' \
        f'{(end + 1) / 1000} 0 100/100 worker sched:sched_switch prev_pid=100 prev_state=2\n'
    if disk:
        text += f'{(end + disk) / 1000} 0 0/0 swapper sched:sched_wakeup pid=100\n' \
            f'{(end + disk) / 1000} 0 0/0 swapper sched:sched_switch next_pid=100\n'
    found = of_script(tmp_path, text, 'overview', '-p', 100)
    values = {r['finding']: r['values'] for r in rows(found, 'findings')}
    busy = 'runs kernel code, in system calls, 100 % of it in busy ([kernel.kallsyms])'
    assert (f'; on a CPU, it mostly {busy}' in values['run queue']['evidence']) == starves
    assert values['kernel']['value'] == pytest.approx(100 if starves else 25, abs=1)
    assert values['kernel']['evidence'].endswith(
        '; the value is the share of the time without waits for a CPU') == starves
    assert [r['finding'] for r in rows(found, 'findings')][:1] == ['run queue'], found


@pytest.mark.exclusive
@pytest.mark.parametrize('n, is_found', [(50, False), (400, True)])
def test_many_threads(tmp_path, n, is_found):
    """All of them wait for a CPU, which has one second for them."""
    text = EVENTS + '1.0 0 1/1 init fork 100/100\n'
    text += ''.join(f'1.0 0 100/100 many fork 100/{i}\n' for i in range(101, 100 + n))
    text += ''.join(f'1.001 0 100/100 many sched:sched_wakeup comm=many pid={i}\n'
                    for i in range(101, 100 + n))
    text += ''.join(f'2.{i:06} 0 100/{i - 1} many sched:sched_switch prev_comm=many '
                    f'prev_pid={i - 1} prev_state=1 next_comm=many next_pid={i}\n'
                    for i in range(101, 100 + n))
    found = evidence_of(of_script(tmp_path, text, 'overview'), 'many threads')
    assert bool(found) == is_found, found
