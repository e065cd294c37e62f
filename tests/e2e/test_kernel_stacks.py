# SPDX-License-Identifier: MIT
"""--unwind kernel: user stacks walked in the kernel, compared with known call trees and copies."""
import json
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

import guest
from command import ATTAR, BUILD, as_nobody, is_waiting, run, wait_until, workload
from test_unwind import check, folded

COMPARE = BUILD / 'tests/e2e/stacks_compare'
SAID = re.compile(r'user stacks by call frame information: (\d+) walked in the kernel, (\d+) '
                  r'copied and unwound by attar, (\d+) lost')

pytestmark = pytest.mark.skipif(os.uname().machine != 'x86_64', reason='it is for x86-64')


@pytest.fixture(autouse=True)
def can_walk(root):
    """The build has the program, and the system accepts it."""
    done = run('profile', '-g', '--unwind', 'kernel', '-d', '10ms')
    assert done.returncode == 0, done.stderr
    if 'stacks are copied instead' in done.stderr:
        pytest.skip(done.stderr)


def profile(command, *args):
    """Return the stacks of a command with their numbers, and what was said of them."""
    done = run('profile', '-F', '997', '-g', '--unwind', 'kernel', '--exclude-kernel', *args,
               '--format', 'folded', '--', *command)
    assert done.returncode == 0, done.stderr
    lines = (line.rsplit(' ', 1) for line in done.stdout.splitlines())
    return [(stack.split(';'), int(n)) for stack, n in lines], SAID.search(done.stderr)


def test_the_whole_tree(tmp_path):
    out = tmp_path / 'nofp.folded'
    done = run('profile', '-F', '997', '--call-graph=kernel', '--flame-graph', out, '--',
               workload('nofp'), '700')
    assert done.returncode == 0, done.stderr
    check(folded(out))
    walked, copied, lost = map(int, SAID.search(done.stdout).groups())
    assert walked > copied and lost == 0


CHAINS = {
    'leaf': ['main', 'calls_leaf', 'leaf'],
    'in_room': ['main', 'allocates', 'in_room'],
    'at_bottom': ['main'] + 300 * ['recurses'] + ['at_bottom'],
    'in_handler': ['main', 'is_interrupted', '__restore_rt', 'handler', 'in_handler'],
    'on_other_stack': ['main', 'is_interrupted', '__restore_rt', 'other_handler',
                       'on_other_stack'],
    'is_aligned': ['main', 'realigns', 'is_aligned'],
    'in_thread': ['thread', 'in_thread'],
}


def chain_of(frames):
    """The frames from main or thread on, without the C library's in raise()."""
    begin = next((i for i, frame in enumerate(frames) if frame in ('main', 'thread')), 0)
    return [frame for frame in frames[begin:] if not re.search('raise|gsignal|thread_kill', frame)]


def test_known_chains():
    """Each function of the workload has its chain, also after exec and on another stack."""
    stacks, said = profile((workload('unwinds'), '800'))
    assert int(said[3]) == 0 and int(said[1]) > int(said[2])
    for function, chain in CHAINS.items():
        of_function = [(frames, n) for frames, n in stacks if frames[-1] == function]
        whole = sum(n for _, n in of_function)
        wrong = [(frames, n) for frames, n in of_function if chain_of(frames) != chain]
        assert whole > 20, function
        # a copied stack of a handler ends where the other stack begins
        assert sum(n for _, n in wrong) <= max(0.01 * whole, int(said[2])), (function, wrong[:2])


PYTHON = '''
import json, re
def deep(n):
    return deep(n - 1) if n else sum(len(json.dumps([i, re.sub('a', 'b', 'banana')]))
                                     for i in range(100))
for _ in range(2000):
    deep(12)
'''
PROGRAMS = {
    'python': ['/usr/bin/python3', '-c', PYTHON],
    'sqlite': ['sqlite3', ':memory:', 'with recursive n(i) as (select 1 union all select i + 1 '
               'from n where i < 900000) select count(*), sum(i % 7) from n where i % 3 = 1'],
    'perl': ['perl', '-e', 'my %h; for (1..2500000) { $h{$_ % 1000} .= "x"; s/a/b/ } '
             'print length join("", sort values %h), "\\n"'],
    'gcc': ['gcc', '-O2', '-c', '-o', '/dev/null', 'many.c'],
    'unwinds': [workload('unwinds'), '300'],
    'noreturn': [workload('noreturn')],
    'dlopens': [workload('dlopens'), workload('plugin.so'), '2000'],
}
# For gcc.
MANY = ''.join(f'int f{i}(int *a, int n) {{ int s = 0; for (int i = 0; i < n; i++) '
               f's += a[i] * {i} % (n + {i}) ? a[i] << i % 7 : s / (i + 1); return s; }}\n'
               for i in range(200))


def compare(command):
    done = subprocess.run([COMPARE, *command], capture_output=True, text=True, timeout=120,
                          check=False)
    if done.returncode == 77:
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1]), done.stderr


@pytest.mark.parametrize('name', PROGRAMS)
def test_same_stacks_as_from_copies(name, tmp_path, monkeypatch):
    """The same samples, walked in the kernel and unwound from a copy: the stacks are equal."""
    monkeypatch.chdir(tmp_path)
    Path('many.c').write_text(MANY)
    found, said = compare(PROGRAMS[name])
    assert found['walked'] > 50, found
    assert found['lost'] == found['missing'] == 0
    # the kernel reads what was not copied; a signal handler can have a stack of its own
    assert found['other'] + found['shorter'] <= 0.001 * found['walked'], said
    assert found['complete'] >= 0.99 * found['walked'], found


def test_code_at_the_address_of_other_code():
    """Two plugins in turn, mostly at the same address: each sample has its own."""
    command = (workload('dlcloses'), workload('plugin.so'), workload('plugin_b.so'), '150')
    found, said = compare(command)
    assert found['samples'] > 300 and found['other'] + found['shorter'] == 0, said


def test_exec_at_the_same_addresses():
    """Another program is where the first one was, in the same process."""
    found, said = compare(('setarch', '-R', workload('unwinds'), '300', workload('nofp')))
    assert found['walked'] > 200 and found['other'] + found['shorter'] == 0, said
    assert found['longer'] < found['walked'] / 4


def test_auto_does_not_copy():
    """auto walks where it copied, also by -p; the callers are counted together."""
    done = run('profile', '-v', '-F', '997', '--call-graph', 'auto', '--', workload('nofp'), '500')
    walked, copied, _ = map(int, SAID.search(done.stdout).groups())
    callers = re.search(r'callers in user code: (\d+) by call frame', done.stdout)
    assert walked > copied and int(callers[1]) > 3 * walked


def test_tracepoints_are_copied():
    """The program is for sampled events; a note says what is done instead."""
    done = run('trace', '-N', '3', '-g', '--unwind', 'kernel', '-e', 'sched:sched_switch', '--',
               workload('sleeps'), '20', '1')
    assert done.returncode == 0, done.stderr
    assert "stacks of 'sched:sched_switch' are copied, as by --unwind dwarf" in done.stderr


def cpu_time(pid):
    return int(Path(f'/proc/{pid}/stat').read_text().rsplit(')', 1)[1].split()[11])


def test_no_sample_has_the_stack_of_another(spawn):
    """While attar is stopped, the rings fill up: the lost stacks are counted, the others right."""
    process = spawn(workload('unwinds'), '100000')
    attar = spawn(ATTAR, 'profile', '-F', '8000', '-g', '--unwind', 'kernel', '--exclude-kernel',
                  '-m', '4096', '--format', 'folded', '-p', process.pid, stdout=subprocess.PIPE,
                  stderr=subprocess.PIPE, text=True)
    wait_until(lambda: is_waiting(attar), 'attar waits')
    begin = cpu_time(process.pid)
    wait_until(lambda: cpu_time(process.pid) > begin + 50, 'the program runs')
    attar.send_signal(signal.SIGSTOP)
    wait_until(lambda: cpu_time(process.pid) > begin + 280, 'the rings fill up', 120)
    attar.send_signal(signal.SIGCONT)
    wait_until(lambda: cpu_time(process.pid) > begin + 300, 'attar reads them')
    attar.send_signal(signal.SIGINT)
    out, err = attar.communicate(timeout=60)
    lost = int(SAID.search(err)[3])
    whole = alone = wrong = 0
    for line in out.splitlines():
        stack, n = line.rsplit(' ', 1)
        frames = stack.split(';')[1:]
        if frames[-1] not in CHAINS:
            continue
        whole += int(n)
        if len(frames) == 1:
            alone += int(n)
        else:  # a copied stack can be cut
            chain = chain_of(frames)
            wrong += int(n) * (CHAINS[frames[-1]][-len(chain):] != chain)
    assert lost > 100 and whole > lost, err
    assert abs(alone - lost) <= 0.02 * lost + 5 and wrong == 0, (alone, lost, wrong)


def test_hostile_stacks():
    """They cost a bounded time, and their samples are all there."""
    stacks, said = profile((workload('wildstacks'), '500'))
    whole = sum(n for _, n in stacks)
    assert whole > 100
    assert max(len(frames) for frames, _ in stacks) <= 513 + 1
    assert sum(map(int, said.groups()[:2])) >= 0.99 * whole


def programs():
    """Return the ids of the BPF programs that perf events have, by processes."""
    infos = []
    for path in Path('/proc').glob('[0-9]*/fdinfo/*'):
        try:
            text = path.read_text()
        except OSError:
            continue
        infos += [line.split()[1] for line in text.splitlines() if line.startswith('prog_id')]
    return set(infos)


def test_nothing_is_left_after_sigkill(spawn):
    process = spawn(ATTAR, 'profile', '-q', '-g', '--unwind', 'kernel')
    wait_until(lambda: is_waiting(process), 'attar waits')
    own = {line.split()[1] for path in Path(f'/proc/{process.pid}/fdinfo').iterdir()
           for line in path.read_text().splitlines() if line.startswith('prog_id')}
    assert own
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    wait_until(lambda: not own & programs(), 'the kernel has removed the programs')


def test_without_rights():
    """Stacks are copied, as a note says."""
    done = as_nobody(ATTAR, 'profile', '-g', '--unwind', 'kernel', '--', workload('nofp'), '100')
    assert 'stacks are copied instead, as by --unwind dwarf' in done.stderr
    assert 'CAP_BPF' in done.stderr or 'permi' in done.stderr.lower()


def test_little_memory():
    """What does not fit is said, and its stacks are copied."""
    done = run('profile', '-F', '997', '-g', '--unwind', 'kernel', '--unwind-memory', '1K', '-v',
               '--', workload('nofp'), '300')
    assert done.returncode == 0, done.stderr
    assert 'exceeds the' in done.stdout and '--unwind-memory' in done.stdout
    walked, copied, _ = map(int, SAID.search(done.stdout).groups())
    assert copied > walked


def test_tables_make_room(tmp_path):
    """There is room for the tables of one program: the tables of the other one leave."""
    sizes = [compare(PROGRAMS[name])[0]['bytes'] for name in ('python', 'perl')]
    script = tmp_path / 'both.sh'
    long = PROGRAMS['perl'][2].replace('2500000', '20000000')
    python = PYTHON.replace("'", '"')
    script.write_text(f"/usr/bin/python3 -c '{python}'\nperl -e '{long}'\n")
    done = run('profile', '-F', '997', '-g', '--unwind', 'kernel', '--unwind-memory',
               max(sizes) * 21 // 20, '-v', '--', 'sh', script, timeout=180)
    assert done.returncode == 0, done.stderr
    left = re.search(r'information of (\d+) binar\w+ made room for other', done.stdout)
    walked, copied, _ = map(int, SAID.search(done.stdout).groups())
    assert int(left[1]) >= 1 and walked > copied


@pytest.mark.guest('debian7')
def test_a_later_kernel(guests):
    done = guest.run('debian7', ATTAR, 'profile', '-v', '-g', '--unwind', 'kernel', '--format',
                     'folded', '--', workload('nofp'), '60')
    assert done.returncode == 0, done.stderr
    walked, _, lost = map(int, SAID.search(done.stderr).groups())
    assert walked > 20 and lost == 0
    assert any(';main;outer;middle;inner;work' in line for line in done.stdout.splitlines())


@pytest.mark.guest('debian')
def test_an_earlier_kernel(guests):
    done = guest.run('debian', ATTAR, 'profile', '-g', '--unwind', 'kernel', '--format', 'folded',
                     '--', workload('nofp'), '30')
    assert done.returncode == 0, done.stderr
    assert 'stacks are copied instead' in done.stderr and 'needs Linux 6.3' in done.stderr
    assert any(';main;outer;middle;inner;work' in line for line in done.stdout.splitlines())
