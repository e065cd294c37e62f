# SPDX-License-Identifier: MIT
"""User stacks of programs without frame pointers: the whole call tree, live and recorded."""
import re
import subprocess
from pathlib import Path

import pytest

from command import ENOUGH, run, wait_until, workload

pytestmark = pytest.mark.usefixtures('root')

TREE = ['main', 'outer', 'middle', 'inner', 'work']


def folded(path):
    """Return the samples of the program: its stacks from main on, with their numbers."""
    stacks = []
    for line in path.read_text().splitlines():
        frames, count = line.rsplit(' ', 1)
        # an interrupt adds frames of the kernel
        frames = [frame for frame in frames.split(';') if not frame.endswith('_[k]')]
        if frames[0] == 'nofp' and 'work' in frames:
            stacks.append((frames, int(count)))
    return stacks


def check(stacks):
    """All stacks are complete, 70 % of them in the named tree, 30 % below qsort()."""
    whole = sum(n for _, n in stacks)
    assert whole > 300
    complete = sum(n for frames, n in stacks if '_start' in frames[1] and 'main' in frames)
    assert complete >= 0.995 * whole, stacks[:5]
    named = sum(n for frames, n in stacks if frames[frames.index('main'):][:5] == TREE)
    sorting = sum(n for frames, n in stacks
                  if frames[-2:] == ['compare', 'work'] and any('qsort' in f for f in frames))
    assert named + sorting >= 0.99 * whole
    assert 0.65 < named / whole < 0.75


def test_the_whole_tree(tmp_path):
    out = tmp_path / 'nofp.folded'
    ended = run('profile', '-F', '997', '--call-graph=dwarf', '-q', '--flame-graph', out, '--',
                workload('nofp'), '700')
    assert ended.returncode == 0, ended.stderr
    check(folded(out))


def test_recorded_and_reported(tmp_path):
    """A recording has the same stacks: made by attar, and read by attar and perf."""
    data, out = tmp_path / 'x.data', tmp_path / 'nofp.folded'
    ended = run('record', '-F', '997', '-g', '--unwind', 'dwarf,4096', '-o', data, '--',
                workload('nofp'), '700')
    assert ended.returncode == 0, ended.stderr
    ended = run('profile', '--input', data, '-g', '--flame-graph', out)
    assert ended.returncode == 0, ended.stderr
    check(folded(out))


@pytest.mark.usefixtures('needs_perf')
def test_stacks_equal_those_of_perf(tmp_path):
    """The recording of perf, unwound by both: frame by frame."""
    data = tmp_path / 'perf.data'
    subprocess.run(['perf', 'record', '-q', '-F', '997', '--call-graph', 'dwarf', '-o', data,
                    '--', workload('nofp'), '300'], check=True, capture_output=True)
    script = subprocess.run(['perf', 'script', '-i', data, '--no-inline', '-F', 'time,ip'],
                            check=True, capture_output=True, text=True).stdout
    theirs = {}
    for block in script.split('\n\n'):
        lines = block.split('\n')
        if found := re.match(r'\s*(\d+)\.(\d+):', lines[0] or (lines[1:] or [''])[0]):
            theirs[found[1] + found[2]] = [line.split()[0] for line in lines
                                           if re.match(r'\s+[0-9a-f]+\s*$', line)]
    ended = run('trace', '--input', data, '-g')
    ours, key = {}, None
    assert ended.returncode == 0, ended.stderr
    for line in run('trace', '--input', data, '-g', '--monotonic').stdout.splitlines():
        if found := re.match(r'(\d+)\.(\d{6})', line):
            key = found[1] + found[2]
            ours[key] = []
        elif key and (found := re.match(r'\s+([0-9a-f]+) \S+', line)):
            ours[key].append(found[1])
    both = set(ours) & set(theirs)
    assert len(both) > 100
    # attar shows return addresses, perf the byte before in what it unwinds itself
    in_kernel = re.compile('ffff[0-9a-f]{12}$').match
    for stack in theirs.values():
        user = next((i for i, ip in enumerate(stack) if not in_kernel(ip)), len(stack))
        stack[user + 1:] = [f'{int(ip, 16) + 1:x}' for ip in stack[user + 1:]]
    # perf ends some stacks early, where a program starts
    other = [(k, ours[k], theirs[k]) for k in both if ours[k][:len(theirs[k])] != theirs[k]]
    if len(other) > 0.01 * len(both):
        pytest.fail(f'{len(other)} of {len(both)} differ, such as\n' +
                    '\n'.join(f'{key}\n{a}\n{b}' for key, a, b in other[:5]))


def test_shallow_copies_are_reported(tmp_path):
    """64 bytes are too few: the stacks are cut, and the report says how many."""
    ended = run('profile', '-g', '--unwind', 'dwarf,64', '--', workload('nofp'), '100')
    assert ended.returncode == 0, ended.stderr
    found = re.search(r'user stacks cut because they are deeper than the copied 64 bytes: (\d+) of '
                      r'(\d+)', ended.stdout)
    assert found and int(found[1]) > 0.8 * int(found[2])


@pytest.mark.parametrize('name, alone', [('nofp', True), ('chain5', False)])
def test_stacks_without_callers_are_reported(name, alone, tmp_path):
    """By frame pointers, a program without them has stacks of one function."""
    data = tmp_path / 'x.data'
    for args, advice in ((('--', workload(name), '100'), '--call-graph dwarf'),
                         (('--input', data), 'a recording with --call-graph=dwarf')):
        if advice.startswith('a'):
            assert run('record', '-q', '-g', '-o', data, '--', workload(name), 100).returncode == 0
        ended = run('profile', '-g', '--unwind', 'fp', *args)
        assert ended.returncode == 0, ended.stderr
        found = re.search(r'user stacks without callers: (\d+) of (\d+), since the code keeps no '
                          rf'frame pointers; {advice} finds', ended.stdout)
        assert bool(found) == alone
        assert not found or int(found[1]) > 0.8 * int(found[2])


def test_a_signal_stack_is_reported():
    """The stack that a signal interrupted is not copied; frame pointers lead to it."""
    command = ('--format', 'folded', '--', workload('altstack'), '60')
    ended = run('profile', '-g', '--unwind', 'dwarf', *command)
    assert ended.returncode == 0, ended.stderr
    found = re.search(r'user stacks cut because a signal handler runs on an alternate stack .*: '
                      r'(\d+) of (\d+); --unwind fp shows the interrupted code', ended.stderr)
    assert found and int(found[1]) > 0.8 * int(found[2])
    assert 'user stacks cut because they are deeper' not in ended.stderr
    assert ';main;' not in ended.stdout
    ended = run('profile', '-g', '--unwind', 'fp', *command)
    assert re.search(r'altstack;__libc_start\w+;__restore_rt;handler \d+', ended.stdout)


@pytest.mark.parametrize('profiler', ['offcpu', 'wall'])
def test_notes_count_stacks_of_selected_processes(spawn, profiler):
    """Two processes sleep: one of them a thousand times in the run, and the other one always."""
    busy, idle = spawn(workload('sleeps'), '100000', '1'), spawn('sleep', '1000')
    wait_until(lambda: 'nanosleep' in Path(f'/proc/{idle.pid}/wchan').read_text(), 'sleep')
    for pid, is_cut in ((busy.pid, True), (idle.pid, False)):
        ended = run(profiler, '--unwind', 'dwarf,64', '-d', '0.5', '-p', pid)
        assert ended.returncode == 0, ended.stderr
        assert ('user stacks cut' in ended.stdout) == is_cut, ended.stdout


def test_the_limit_of_frames_is_reported():
    """A stack of 400 calls is whole; those of 600 have the 512 innermost frames."""
    args = ('profile', '--call-graph', 'dwarf,65528', '--format', 'folded', '--',
            workload('recurse'))
    note = r'user stacks cut because they have more than 512 frames.*: (\d+) of (\d+)'
    ended = run(*args, '400', '20')
    assert ended.returncode == 0, ended.stderr
    assert any(line.count(';dive') == 400 and ';main;' in line
               for line in ended.stdout.splitlines())
    assert not re.search(note, ended.stderr)
    ended = run(*args, '600', '20')
    assert ended.returncode == 0, ended.stderr
    cut = sum(int(line.rpartition(' ')[2]) for line in ended.stdout.splitlines()
              if line.count(';dive') >= 500 and ';main;' not in line)
    found = re.search(note, ended.stderr)
    assert cut > 10 and found and int(found[1]) == cut <= int(found[2])


@pytest.mark.parametrize('spelling', [('--call-graph', 'auto'), ('--call-graph=auto',),
                                      ('-g', '--unwind', 'auto'), ('-g', '--unwind=auto')])
def test_auto(tmp_path, spelling):
    """The whole tree, with callers by call frame information; the report counts them."""
    out = tmp_path / 'nofp.folded'
    ended = run('profile', '-F', '997', *spelling, '--flame-graph', out, '--', workload('nofp'),
                '700')
    assert ended.returncode == 0, ended.stderr
    check(folded(out))
    found = re.search(r'callers in user code: (\d+) by call frame information, (\d+) by frame',
                      ended.stdout)
    assert int(found[1]) > 1000


def test_auto_without_copies(spawn, tmp_path):
    """All modules of the process keep frame pointers: the kernel takes the stacks."""
    process, out = spawn(workload('fponly')), tmp_path / 'x.folded'
    ended = run('profile', '--exclude-kernel', '--call-graph', 'auto', '-p', process.pid, *ENOUGH,
                '--flame-graph', out)
    assert ended.returncode == 0, ended.stderr
    assert 'user stacks by frame pointers, which all modules of the processes keep (1)' in \
        ended.stdout
    assert 'by call frame information' not in ended.stdout
    lines = (line.rsplit(' ', 1) for line in out.read_text().splitlines())
    stacks = {stack: int(n) for stack, n in lines}
    # at the first instructions of a function, its caller is missing
    assert stacks['fponly;_start;work;outer;inner'] >= 0.99 * sum(stacks.values())


def test_auto_names_what_keeps_no_frame_pointers(spawn):
    process = spawn(workload('nofp'), 100000)
    ended = run('profile', '--call-graph', 'auto', '-p', process.pid, *ENOUGH)
    assert ended.returncode == 0, ended.stderr
    found = re.search(r'user stacks by call frame information: (\S+) keeps no frame pointers',
                      ended.stdout)
    assert Path(found[1]).name.startswith(('nofp', 'libc', 'ld-'))
    found = re.search(r'callers in user code: (\d+) by call frame information', ended.stdout)
    assert int(found[1]) > 1000


@pytest.mark.parametrize('spelling', [('--call-graph', 'dwarf,4096'), ('--call-graph=dwarf',)])
def test_spellings_of_dwarf(tmp_path, spelling):
    out = tmp_path / 'nofp.folded'
    ended = run('profile', '-F', '997', *spelling, '-q', '--flame-graph', out, '--',
                workload('nofp'), '700')
    assert ended.returncode == 0, ended.stderr
    check(folded(out))


@pytest.mark.parametrize('method', ['dwarf,', 'dwarf,12', 'dwarf,65536', 'dwarf,x'])
def test_unknown_methods(method):
    ended = run('profile', '-g', '--unwind', method, '-d', '1ms')
    assert ended.returncode == 2
    assert f"--unwind: '{method}' is not a method: use fp" in ended.stderr


@pytest.mark.parametrize('words', [('xyz',), ('xyz', '--', 'true')])
def test_unknown_words_after_call_graph(words):
    ended = run('profile', '--call-graph', *words)
    assert ended.returncode == 2
    assert "--unwind: 'xyz' is not a method: use fp (frame pointers), dwarf" in ended.stderr


@pytest.mark.parametrize('profiler', ['locks', 'offcpu', 'overview', 'sched-migrate', 'task-state',
                                      'wall', 'watchdog'])
def test_call_graph_in_all_profilers_with_stacks(profiler):
    """The remark on stacks without callers names this option."""
    ended = run(profiler, '--call-graph', 'xyz', '-d', '1ms')
    assert ended.returncode == 2
    assert "--unwind: 'xyz' is not a method: use fp (frame pointers), dwarf" in ended.stderr


def test_whole_stacks_of_task_state(tmp_path):
    out = tmp_path / 'x.folded'
    ended = run('task-state', '-S', '--call-graph', 'dwarf', '--flame-graph', out, '--',
                workload('sleeps'), '50', '1')
    assert ended.returncode == 0, ended.stderr
    asleep = [line for line in out.read_text().splitlines() if 'nanosleep' in line]
    assert asleep and all(';main;' in line for line in asleep), asleep
    assert 'user stacks without callers' not in ended.stdout
