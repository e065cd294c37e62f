# SPDX-License-Identifier: MIT
"""attar snoop and its presets, and other presets of system calls and the network."""
import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import guest
from command import ATTAR, is_waiting, run, wait_until
from scripts import rows_of, wait_until_running
from test_loss import while_stopped
from test_screen import text_of

SCRIPT = '''# attar script
event syscalls:sys_enter_openat dfd:u64 filename:u64 __filename_val:string
event syscalls:sys_exit_openat ret:long
event a:b n:u32 s:string
1.000000000 0 5/5 prog syscalls:sys_enter_openat filename=4096 __filename_val=/etc/passwd
1.000000500 1 6/6 other syscalls:sys_enter_openat filename=4096 __filename_val=/none
1.000001000 0 5/5 prog syscalls:sys_exit_openat ret=3
1.000002500 1 6/6 other syscalls:sys_exit_openat ret=-2
1.5 0 5/5 prog a:b n=7 s=x
'''
PAIR = ('-e', 'syscalls:sys_enter_openat//column=PATH:ustring(filename)/', '-e',
        'syscalls:sys_exit_openat//column=FD:ret/column=ERR:error_name(ret<0?ret:0)/')


@pytest.fixture(name='opens')
def fixture_opens(script):
    """Two calls that open files, of which one fails, and another event."""
    return script(SCRIPT)


def lines_of(text, name='events'):
    """The rows of this section in JSON output."""
    found = []
    for line in text.splitlines():
        if not line.startswith('{'):
            continue
        for section in json.loads(line)['sections']:
            if section['name'] == name:
                found += rows_of(section)
    return found


def lines(ended, name='events'):
    assert ended.returncode == 0, ended.stderr
    return lines_of(ended.stdout, name)


def of_preset(name, *args):
    return lines(run(name, '--format', 'json', *args))


def snoop(*args):
    return of_preset('snoop', *args)


@pytest.mark.parametrize('names, count', [
    ('prog', 1), ('other', 1), ('prog,other', 2), ('*o*', 2), ('p*', 1), ('pro?,none', 1),
    ('pro', 0), ('Prog', 0)])
def test_lines_of_threads_by_name(opens, names, count):
    """Of pairs, of a preset, and of single events, whose only one is of "prog"."""
    pairs = snoop(*PAIR, '-n', names, '--input', opens)
    assert len(pairs) == count
    assert pairs == [line for line in snoop(*PAIR, '--input', opens) if line in pairs]
    named = of_preset('opensnoop', '-n', names, '--input', opens)
    assert [line['comm'] for line in named] == [line['comm'] for line in pairs]
    events = snoop('-e', 'a:b//column=N:n/', '--name', names, '--input', opens)
    assert [line['comm'] for line in events] == ['prog'] * ('prog' in [p['comm'] for p in pairs])


def test_names_after_a_change_of_thread(script):
    """The thread of a pair is that of an event with role=0, if there is one."""
    path = script('# attar script\nevent a:b n:u32\nevent a:c n:u32\n'
                  '1 0 5/5 first a:b n=1\n2 0 6/6 second a:b n=2\n3 0 6/6 second a:c n=0\n')
    words = ('-e', 'a:b//key=7/role=n==1/column=N:n/', '-e', 'a:c//key=7/', '--input', path)
    assert len(snoop(*words, '-n', 'second')) == 1
    assert not snoop(*words, '-n', 'first')


@pytest.mark.quick
def test_columns_of_an_event(opens):
    found = snoop('-e', 'a:b//column=N:n*2/column=s/', '--input', opens)
    assert [(r['comm'], r['tid'], r['N'], r['s']) for r in found] == [('prog', 5, 14, 'x')]


@pytest.mark.quick
def test_pairs_by_thread_with_the_kernels_copy_of_a_path(opens):
    found = snoop(*PAIR, '--input', opens)
    assert [(r['comm'], r['tid'], r['PATH'], r['FD'], r['ERR'], r['duration']) for r in found] == [
        ('prog', 5, '/etc/passwd', 3, '', 1000), ('other', 6, '/none', -2, 'ENOENT', 2000)]


@pytest.mark.quick
def test_selections(opens):
    assert [r['tid'] for r in snoop(*PAIR, '-x', '--input', opens)] == [6]
    assert [r['tid'] for r in snoop(*PAIR, '--than', '2us', '--input', opens)] == [6]
    assert [r['tid'] for r in snoop(*PAIR, '-p', '5', '--input', opens)] == [5]


@pytest.mark.quick
def test_column_with_the_name_of_the_thread(opens):
    found = snoop('-e', 'syscalls:sys_enter_openat//column=WHO:_comm/', '--input', opens)
    assert [r['WHO'] for r in found] == ['prog', 'other']


@pytest.mark.quick
def test_thread_of_another_event(script):
    """An event with role=0 neither starts nor ends a pair, and has no effect without one."""
    path = script('''# attar script
event a:change n:u32 state:u32 what:string
1.0 0 5/5 idle a:change n=1 state=1 what=first
1.1 0 6/6 idle a:change n=2 state=1 what=second
1.2 1 7/7 owner a:change n=2 state=2
1.3 1 8/8 nobody a:change n=3 state=2
1.4 0 9/9 idle a:change n=1 state=3
1.5 0 9/9 idle a:change n=2 state=3
1.6 0 9/9 idle a:change n=3 state=3
''')
    found = snoop('-e', 'a:change/state==1/column=what/,a:change/state==2/role=0/column=what/',
                  '-e', 'a:change/state==3/column=n/', '-k', 'n', '--input', path)
    assert [(r['comm'], r['tid'], r['what'], r['n'], r['duration']) for r in found] == [
        ('idle', 5, 'first', 1, 400_000_000), ('owner', 7, 'second', 2, 400_000_000)]


@pytest.mark.quick
def test_columns_of_another_event(script):
    """With role=2, the first event in a pair replaces what would be read from the program."""
    path = script('''# attar script
event a:open path:u64
event a:name name:string
event a:close n:u32
1.0 0 5/5 prog a:open path=4096
1.1 1 6/6 other a:name name=of_no_pair
1.2 0 5/5 prog a:name name=first
1.3 0 5/5 prog a:name name=second
1.4 0 5/5 prog a:close n=1
1.5 0 5/5 prog a:open path=4097
1.6 0 5/5 prog a:close n=2
''')
    found = snoop('-e', 'a:open//column=PATH:ustring(path)/,a:name//role=2/column=PATH:name/',
                  '-e', 'a:close//column=n/', '--input', path)
    assert [(r['PATH'], r['n'], r['duration']) for r in found] == [
        ('first', 1, 400_000_000), ('0x1001', 2, 100_000_000)]


@pytest.mark.quick
def test_values_of_the_sample(script):
    """_comm and others in columns, filters, keys and printf(), as in SQL."""
    path = script('''# attar script
event a:b n:u32
1.0 2 5/6 first a:b n=1
1.5 3 7/7 second a:b n=2 period=4
1.7 3 5/6 third a:b n=3
''')
    names = ('_comm', '_pid', '_tid', '_cpu', '_time', '_period')
    found = snoop('-e', 'a:b//' + ''.join(f'column={n}/' for n in names), '--input', path)
    values = [[r[n] for n in names] for r in found]
    assert values == [['first', 5, 6, 2, 10**9, 1], ['second', 7, 7, 3, 1_500_000_000, 4],
                      ['third', 5, 6, 3, 1_700_000_000, 1]]
    assert values[1] == json.loads(run('sql', '-e', 'a:b', '--query', 'SELECT _comm, _pid, _tid, '
                                       '_cpu, _time, _period FROM b WHERE n = 2', '--format',
                                       'json', '--input', path).stdout
                                   )['sections'][0]['rows'][0]
    for text in ('_comm == "second"', '_comm ~ "sec*"', 'n == 2 && _comm == "second"'):
        assert [r['n'] for r in snoop('-e', f'a:b/{text}/column=n/', '--input', path)] == [2], text
    done = run('top', '-e', 'a:b//key=_comm/', '--format', 'json', '--input', path)
    assert {r[0] for r in json.loads(done.stdout)['sections'][0]['rows']} == {
        'first', 'second', 'third'}
    found = snoop('-e', 'a:b/n==1/column=x:n/', '-e', 'a:b/n==3/column=_comm/', '-k', '_tid',
                  '--input', path)
    assert [(r['x'], r['_comm'], r['duration']) for r in found] == [(1, 'third', 700_000_000)]
    done = run('trace', '-e', 'a:b//exec=printf("<%s %d>", _comm, _cpu)/', '--input', path)
    assert re.findall('<.*?>', done.stdout) == ['<first 2>', '<second 3>', '<third 3>']


@pytest.mark.quick
def test_optional_probes():
    """Of functions that no kernel has, also without kprobes."""
    ended = run('stat', '-e', 'page-faults,kprobe:no_such_function//optional/', '--', 'true')
    assert ended.returncode == 0, ended.stderr
    ended = run('stat', '-e', 'page-faults,kprobe:no_such_function', '--', 'true')
    assert ended.returncode != 0


@pytest.mark.quick
def test_pairs_that_end_in_other_tasks(script):
    """--tasks selects by the thread of the start; without it, the ends are those of other tasks."""
    path = script('''# attar script
event a:open n:u32
event a:close n:u32
1.0 0 5/5 opener a:open n=1
1.1 0 6/6 other a:open n=2
1.2 1 0/0 idle a:close n=1
1.3 1 0/0 idle a:close n=2
''')
    pair = ('-e', 'a:open', '-e', 'a:close//column=n/', '-k', 'n', '--input', path)
    assert [(r['comm'], r['n']) for r in snoop(*pair, '--tasks', '-p', 5)] == [('opener', 1)]
    assert [r['n'] for r in snoop(*pair, '--tasks')] == [1, 2]
    assert snoop(*pair, '-p', 5) == []
    ended = run('snoop', '-e', 'a:open', '--tasks', '--input', path)
    assert ended.returncode == 2 and '--tasks requires pairs' in ended.stderr


@pytest.mark.quick
def test_losses_drop_starts(script):
    path = script(SCRIPT.replace('1.000001000 0', '1.000000900 0 5/5 prog lost 1\n1.000001000 0'))
    assert snoop(*PAIR, '--input', path) == []


@pytest.mark.quick
def test_optional_events(opens):
    found = snoop('-e', 'a:b//column=n/,a:missing//optional/column=n/', '--input', opens)
    assert [r['n'] for r in found] == [7]
    ended = run('snoop', '-e', 'a:missing//optional/column=n/', '--input', opens)
    assert ended.returncode != 0 and 'none of the events' in ended.stderr


@pytest.mark.quick
@pytest.mark.parametrize('main, shown', [('', 'FIRST'), ('main=THIRD/', 'THIRD')])
def test_main_column_on_a_narrow_terminal(opens, main, shown):
    event = f'a:b//{main}column=FIRST:"a"/column=SECOND:s/column=THIRD:"c"/'
    text = text_of('snoop', '-e', event, '--input', opens, columns=12)
    heading = re.search(r'hidden:[^)]*\)\n(.*)\n', text)
    assert heading and heading[1].split() == [shown], text


@pytest.mark.parametrize('args, sentence', [
    ([], 'snoop requires events: give one -e option'),
    (['-e', 'a:b//column={n,s}/'], 'a column must be a single value'),
    (['-e', 'a:b//column=nn/'], "no such field"),
    (['-e', 'a:b//main=m/column=N:n/'], 'main=m: the event has no column of this name'),
    (['-e', 'a:b//column=n/,syscalls:sys_exit_openat/'], 'differ in the number or types'),
])
def test_bad_input(opens, args, sentence):
    ended = run('snoop', *args, '--input', opens)
    assert ended.returncode in (1, 2) and sentence in ended.stderr


# ---- presets, live ----

OPENS, FAILED = 50, 5
PROGRAM = f'''
    import os
    for i in range({OPENS}):
        try:
            os.close(os.open('/nonexistent' if i < {FAILED} else '/dev/null', os.O_RDONLY))
        except OSError:
            pass
'''


def python(text):
    return ['--', sys.executable, '-I', '-S', '-c', textwrap.dedent(text)]


@pytest.mark.usefixtures('root')
def test_opensnoop():
    """
    The program opens what its interpreter needs, then 50 files, of which 5 fail.
    """
    baseline = of_preset('opensnoop', *python('import os'))
    found = of_preset('opensnoop', *python(PROGRAM))
    assert len(found) - len(baseline) == OPENS
    assert sum(r['ERR'] == 'ENOENT' for r in found) - sum(
        r['ERR'] == 'ENOENT' for r in baseline) == FAILED
    assert all(r['FD'] == -1 for r in found if r['ERR'])
    failed = of_preset('opensnoop', '-x', *python(PROGRAM))
    assert len(failed) == sum(r['FD'] < 0 for r in found)


def unknown_remark(count, remarks):
    """Whether a remark counts this number of unknown lines, and says what helps."""
    text = f"{count} line{' has' if count == 1 else 's have'} '[unknown]': "
    return any(r.startswith(text) and 'CONFIG_KPROBE_EVENTS' in r for r in remarks)


@pytest.mark.usefixtures('root')
def test_paths_of_calls_that_have_returned():
    """Kernels before 6.19 do not copy the paths: they are right, or unknown and counted."""
    program = "import os\nfor i in range(300):\n  try: os.stat(f'{i}', dir_fd=0)\n" \
              "  except OSError: pass\n  try: os.open(f'/nonexistent/{i}', 0)\n" \
              "  except OSError: pass\n"
    for profiler, prefix in (('opensnoop', '/nonexistent/'), ('statsnoop', '')):
        done = run(profiler, '-x', '--in-kernel', 'no', '--format', 'json', *python(program))
        found = lines_of(done.stdout)
        remarks = json.loads(done.stdout.splitlines()[-1]).get('remarks', [])
        names = [r['PATH'] for r in found if r['comm'] == 'python3']
        paths = {f'{prefix}{i}' for i in range(300)}
        if copies_names():
            assert [n for n in names if n in paths] == [f'{prefix}{i}' for i in range(300)]
        else:
            known = [n for n in names if n != '[unknown]']
            assert len(names) >= 300 and len(set(known)) == len(known)
            assert unknown_remark(sum(r['PATH'] == '[unknown]' for r in found), remarks)


@pytest.mark.usefixtures('root')
def test_strings_of_single_events_are_unknown():
    """It is not known whether the call has returned."""
    if '__filename_val' in run('list', 'syscalls:sys_enter_openat').stdout:
        pytest.skip('this kernel copies the paths')
    done = run('top', '-e', 'syscalls:sys_enter_openat//key=ustring(filename)/', '--in-kernel',
               'no', '--format', 'json', *python('import os'))
    report = json.loads(done.stdout)
    keys = {r[0] for r in report['sections'][0]['rows']}
    assert keys == {'[unknown]'}
    assert any('strings of ustring() are unknown' in r for r in report['remarks'])


@pytest.mark.usefixtures('root')
def test_paths_that_are_not_in_a_recording_are_remarked(tmp_path):
    if '__filename_val' in run('list', 'syscalls:sys_enter_openat').stdout:
        pytest.skip('this kernel copies the paths')
    data, out = tmp_path / 'x.data', tmp_path / 'x.json'
    assert run('record', '-q', '-o', data, '-e',
               'syscalls:sys_enter_openat,syscalls:sys_exit_openat', '--',
               '/bin/true').returncode == 0
    assert run('opensnoop', '-q', '-o', out, '--input', data).returncode == 0
    text = out.read_text()
    addresses = re.findall(r'"(0x[0-9a-f]+)"', text)
    remark, = json.loads(text.splitlines()[-1])['remarks']
    assert remark.startswith(f'{len(addresses)} strings of ustring() and fd_name() are not in the '
                             'recording') and addresses


ONE_BUFFER = r'''
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	static char path[64];
	char c;
	read(0, &c, 1);
	for (int i = 0; i < 8; i++) {
		snprintf(path, sizeof(path), i < 5 ? "file%d" : "none%d", i < 5 ? i : i - 5);
		open(path, argc > 1 ? O_RDWR | O_CREAT : O_RDONLY);
	}
	write(1, "x", 1);
	return read(0, &c, 1) < 0;
}
'''


@pytest.fixture(name='one_buffer')
def fixture_one_buffer(tmp_path):
    """A program that opens file0 to file4, then none0 to none2, all by names in one buffer."""
    (tmp_path / 'opens.c').write_text(ONE_BUFFER)
    program = tmp_path / 'opens'
    subprocess.run(['gcc', '-w', '-o', program, tmp_path / 'opens.c'], check=True)
    for i in range(5):
        (tmp_path / f'file{i}').touch()
    return program


def copies_names():
    """Whether the kernel has the names: since Linux 6.19, or with kprobes."""
    return os.path.exists('/sys/kernel/tracing/kprobe_events') or (
        '__filename_val' in run('list', 'syscalls:sys_enter_openat').stdout)


class Watched:
    """
    A program that waits for a line, and opensnoop, which has its events open and reads the memory
    of the program.
    """

    def __init__(self, spawn, *program, **where):
        self.target = spawn(*program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                            **where)
        self.attar = spawn(ATTAR, 'opensnoop', '-p', self.target.pid, '--format', 'json',
                           '--in-kernel', 'no',
                           stdout=subprocess.PIPE, text=True)
        self.text = wait_until_running(self.attar)

    def go_on(self):
        self.target.stdin.write('\n')
        self.target.stdin.flush()

    def report_now(self):
        """All events until now have been read then."""
        self.attar.send_signal(signal.SIGUSR1)
        self.text += self.attar.stdout.readline()

    def end(self):
        """Return the lines of opensnoop, and the remarks."""
        self.attar.send_signal(signal.SIGINT)
        self.attar.send_signal(signal.SIGCONT)
        self.text += self.attar.communicate()[0]
        assert self.attar.returncode == 0
        return lines_of(self.text), json.loads(self.text.splitlines()[-1]).get('remarks', [])


@pytest.fixture(name='watched')
def fixture_watched(root, spawn):
    return lambda *program, **where: Watched(spawn, *program, **where)


def test_names_of_later_calls_are_not_printed(watched, one_buffer, tmp_path):
    """attar is stopped until all 8 calls have returned: the buffer then has the last name."""
    if copies_names():
        pytest.skip('this kernel copies the paths')
    scene = watched(one_buffer, cwd=tmp_path)
    scene.attar.send_signal(signal.SIGSTOP)
    scene.go_on()
    assert scene.target.stdout.read(1) == 'x'
    found, remarks = scene.end()
    assert [(r['PATH'], r['ERR']) for r in found] == [
        *[('[unknown]', '')] * 5, *[('[unknown]', 'ENOENT')] * 3]
    assert unknown_remark(8, remarks)


GUESTS = [pytest.param(name, marks=pytest.mark.guest(name))
          for name in ('x86', 'debian', 'debian5')]


@pytest.mark.parametrize('name', GUESTS)
def test_names_that_the_kernel_copies(name, one_buffer, tmp_path):
    """By kprobes, which are removed at the end."""
    ended = guest.run(name, 'sh', '-ec', f'''
        cd {tmp_path}
        {ATTAR} opensnoop -q -o opens.json -- {one_buffer} </dev/null
        {ATTAR} statsnoop -q -o stats.json -- sh -c 'test -e none0; test -e file1; test -e none2; :'
        {ATTAR} execsnoop -q -o execs.json -- sh -c \\
            '/bin/true a b; /bin/echo hello; ls file0; expr 1 + 2; /bin/true "" "c d"'
        cat /sys/kernel/tracing/kprobe_events >probes''')
    assert ended.returncode == 0, ended.stderr

    def rows(file, section='events'):
        return lines_of((tmp_path / file).read_text(), section)
    assert [(r['PATH'], r['ERR']) for r in rows('opens.json') if '/' not in r['PATH']
            ] == [*[(f'file{i}', '') for i in range(5)],
                  *[(f'none{i}', 'ENOENT') for i in range(3)]]
    assert [(r['PATH'], r['ERR']) for r in rows('stats.json') if r['PATH'][:4] in
            ('none', 'file')] == [('none0', 'ENOENT'), ('file1', ''), ('none2', 'ENOENT')]
    assert [(r['comm'], r['arguments']) for r in rows('execs.json', 'programs')[1:]] == [
        ('true', 'a b'), ('echo', 'hello'), ('ls', 'file0'), ('expr', '1 + 2'), ('true', ' c d')]
    assert (tmp_path / 'probes').read_text() == ''


def test_name_that_is_read_during_the_call(watched, tmp_path):
    """The call waits for a writer of the FIFO until attar has read the events of its begin."""
    fifo = tmp_path / 'fifo'
    os.mkfifo(fifo)
    scene = watched('sh', '-c', f'read line; read line <{fifo}; echo opened; read line')
    scene.go_on()
    wait_until(lambda: 'ffff9c' in Path(f'/proc/{scene.target.pid}/syscall').read_text(),
               'it opens the FIFO: the first argument is AT_FDCWD')
    scene.report_now()
    fifo.write_text('\n')
    assert scene.target.stdout.readline() == 'opened\n'
    found, _ = scene.end()
    assert [r['PATH'] for r in found].count(str(fifo)) == 1


# The path is overwritten while the call that got it waits for a writer.
OVERWRITES = r'''
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>
static char path[] = "fifo", c;
static int told;
static void *overwrite(void *unused) {
	read(told, &c, 1);
	strcpy(path, "else");
	write(1, "x", 1);
	pause();
	return unused;
}
int main(void) {
	pthread_t thread;
	told = open("told", O_RDWR);
	pthread_create(&thread, NULL, overwrite, NULL);
	read(0, &c, 1);
	open(path, O_RDONLY);
	write(1, "o", 1);
	read(0, &c, 1);
	return 0;
}
'''


def test_name_that_another_thread_changes(watched, tmp_path):
    """attar cannot know, so it says that the name may be wrong."""
    if copies_names():
        pytest.skip('this kernel copies the paths')
    (tmp_path / 'opens.c').write_text(OVERWRITES)
    subprocess.run(['gcc', '-w', '-pthread', '-o', tmp_path / 'opens', tmp_path / 'opens.c'],
                   check=True)
    for name in ('fifo', 'told'):
        os.mkfifo(tmp_path / name)
    scene = watched(tmp_path / 'opens', cwd=tmp_path)
    scene.attar.send_signal(signal.SIGSTOP)
    scene.go_on()
    wait_until(lambda: 'ffff9c' in Path(f'/proc/{scene.target.pid}/syscall').read_text(),
               'it opens the FIFO: the first argument is AT_FDCWD')
    (tmp_path / 'told').write_text('x')
    assert scene.target.stdout.read(1) == 'x'
    scene.attar.send_signal(signal.SIGCONT)
    scene.report_now()
    (tmp_path / 'fifo').write_text('x')
    assert scene.target.stdout.read(1) == 'o'
    found, remarks = scene.end()
    assert [r['PATH'] for r in found] == ['else?']
    assert any(remark.startswith("1 line has a text with '?' at its end") for remark in remarks)


@pytest.mark.usefixtures('root')
def test_statsnoop():
    program = 'import os\nfor _ in range(7):\n  try: os.stat("/nonexistent")\n' \
              '  except OSError: pass\n'
    baseline = of_preset('statsnoop', '-x', *python('import os'))
    assert len(of_preset('statsnoop', '-x', *python(program))) - len(baseline) == 7


@pytest.mark.usefixtures('root')
def test_signals():
    program = '''
    import os, signal
    signal.signal(signal.SIGUSR1, lambda *a: None)
    for _ in range(20):
        os.kill(os.getpid(), signal.SIGUSR1)
    '''
    found = [r for r in of_preset('signals', *python(program)) if r['SIGNAL'] == 'SIGUSR1']
    assert len(found) == 20
    assert all(r['TPID'] == r['tid'] and r['RESULT'] == 0 for r in found)


@pytest.mark.usefixtures('root')
def test_exiting_threads_have_their_tid():
    """The last switch of a thread is from itself; its sample has the tid -1."""
    program = '''
    import threading
    for _ in range(20):
        thread = threading.Thread()
        thread.start()
        thread.join()
    '''
    found = snoop('-a', '-m', 1024, '-e', 'sched:sched_switch/prev_pid!=0/column=PREV:prev_pid/',
                  *python(program))
    assert sum(r['comm'] == '[exiting]' for r in found) >= 20
    assert all(r['tid'] == r['PREV'] for r in found)


CONNECT = '''
    import socket
    server = socket.socket()
    server.bind(('127.0.0.1', 0))
    server.listen(20)
    for _ in range(10):
        client = socket.create_connection(server.getsockname())
        server.accept()[0].close()
        client.close()
    '''


@pytest.mark.usefixtures('root')
def test_tcpconnect():
    found = of_preset('tcpconnect', *python(CONNECT))
    assert len(found) == 10
    assert {(r['IP'], r['DADDR']) for r in found} == {(4, '127.0.0.1')}
    assert len({r['DPORT'] for r in found}) == 1


@pytest.mark.usefixtures('root')
def test_tcplife():
    """Ten connections: the side that closes last ends immediately; the other may wait a minute."""
    found = of_preset('tcplife', *python(CONNECT))
    assert len(found) >= 10
    assert {r['LADDR'] for r in found} == {r['RADDR'] for r in found} == {'127.0.0.1'}
    assert all(r['duration'] > 0 for r in found)


@pytest.mark.usefixtures('root')
def test_tcplife_of_connections_that_fail():
    """Five are refused, one is reset by its program, and one is closed."""
    program = '''
    import socket, struct
    server, refuses = socket.socket(), socket.socket()
    server.bind(('127.0.0.1', 0)), refuses.bind(('127.0.0.1', 0))
    server.listen()
    for _ in range(5):
        socket.socket().connect_ex(refuses.getsockname())
    for linger in (1, 0), (0, 0):
        with socket.create_connection(server.getsockname()) as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', *linger))
            accepted = server.accept()[0]
        accepted.close()
    print(server.getsockname()[1])
    '''
    found = of_preset('tcplife', *python(program))
    states = [r['STATE'] for r in found]
    assert states.count('SYN_SENT') == 5
    assert states.count('ESTABLISHED') == 2  # both ends of the one that is reset
    assert 'LAST_ACK' in states


SERVED = '''
    import os, socket
    server = socket.socket()
    server.bind(('127.0.0.1', 0))
    server.listen(20)
    if not os.fork():
        open('/proc/self/comm', 'w').write('server')
        for _ in range(10):
            connection = server.accept()[0]
            connection.recv(1)
            connection.close()
        os._exit(0)
    for _ in range(10):
        socket.create_connection(server.getsockname()).close()
    os.wait()
    print(server.getsockname()[1], flush=True)
    '''


@pytest.mark.usefixtures('root')
def test_tcplife_of_accepted_connections(tmp_path):
    """They are of the process that closes them, though the handshake ended in the other one."""
    out = tmp_path / 'life.json'
    ended = run('tcplife', '-q', '-o', out, *python(SERVED))
    assert ended.returncode == 0, ended.stderr
    port = int(ended.stdout)
    found = lines_of(out.read_text())
    accepted = [r['comm'] for r in found if r['LPORT'] == port and r['RPORT']]
    assert accepted == ['server'] * 10
    assert 'server' not in {r['comm'] for r in found if r['RPORT'] == port}


@pytest.mark.usefixtures('root')
def test_netqtop():
    program = '''
    import socket
    to = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    to.bind(('127.0.0.1', 0))
    for _ in range(30):
        to.sendto(bytes(100), to.getsockname())
    '''
    found = lines(run('netqtop', '--format', 'json', *python(program)), 'netqtop')
    lo = next(r for r in found if r['name'] == 'lo')
    assert lo['tx_packets'] == 30 and lo['tx_bytes'] == 30 * (100 + 8 + 20 + 14)
    assert lo['rx_packets'] == 30


@pytest.mark.usefixtures('root')
def test_fileslower(tmp_path):
    """A read from a FIFO, which has a name, among reads from a pipe and a socket."""
    program = f'''
    import os, socket, time
    r, w = os.pipe()
    os.mkfifo("{tmp_path}/fifo")
    fifo = os.open("{tmp_path}/fifo", os.O_RDWR)
    mine, other = socket.socketpair()
    if not os.fork():
        for to in w, fifo, other.fileno():
            time.sleep(0.2)
            os.write(to, b'x' * 7)
        os._exit(0)
    for fd in r, fifo, mine.fileno():
        os.read(fd, 100)
    '''
    found = of_preset('fileslower', '--than', '100ms', *python(program))
    assert [(r['CALL'], r['FILE'], r['BYTES']) for r in found] == [
        ('read', f'{tmp_path}/fifo', 7)]
    assert found[0]['duration'] >= 10**8


@pytest.mark.usefixtures('root')
@pytest.mark.parametrize('than', ['0', '1us'])
def test_files_of_all_calls(tmp_path, than):
    """Reads of about 8 ms; on a busy machine, attar comes too late to some."""
    program = f'''
    import os, time
    os.mkfifo("{tmp_path}/fifo")
    fifo = os.open("{tmp_path}/fifo", os.O_RDWR)
    if not os.fork():
        for _ in range(50):
            time.sleep(0.008)
            os.write(fifo, b'x' * 7)
        os._exit(0)
    for _ in range(50):
        os.read(fifo, 7)
    '''
    found = of_preset('fileslower', '--than', than, *python(program))
    files = [r['FILE'] for r in found if r['CALL'] == 'read' and r['duration'] > 5_000_000]
    assert files.count(f'{tmp_path}/fifo') > 25, files


def test_slow_fsyncs(loop, tmp_path):
    """Each call that took long by the program's own clock is printed."""
    program = f'''
    import json, os, sys, time
    fd, times = os.open("{loop}", os.O_RDWR), []
    for i in range(20):
        os.pwrite(fd, bytes(4 << 20), 0)
        since = time.monotonic()
        (os.fdatasync if i % 2 else os.fsync)(fd)
        times.append(time.monotonic() - since)
    with open("{tmp_path}/times", "w") as out:
        json.dump(times, out)
    '''
    done = run('fileslower', '--than', '1ms', '--format', 'json', *python(program))
    times = json.loads((tmp_path / 'times').read_text())
    calls = [r for r in lines_of(done.stdout) if r['CALL'] in ('fsync', 'fdatasync')]
    long = [('fdatasync' if i % 2 else 'fsync') for i, t in enumerate(times) if t > 0.0015]
    if not long:
        pytest.skip('no call took longer than 1.5 ms')
    for call in set(long):
        assert sum(r['CALL'] == call for r in calls) >= long.count(call)
    assert {r['FILE'] for r in calls} <= {loop, '[unknown]'}
    assert max(calls, key=lambda r: r['duration'])['FILE'] == loop


@pytest.mark.usefixtures('root')
def test_syscount():
    program = 'import os\nfor _ in range(300): os.getppid()\n'
    found = lines(run('syscount', '--format', 'json', *python(program)), 'syscount')
    assert next(r for r in found if r['syscall'] == 'getppid')['count'] == 300


@pytest.mark.usefixtures('root')
@pytest.mark.parametrize('preset', ['oomkill', 'drsnoop', 'tcpretrans'])
def test_presets_open_their_events(preset):
    ended = run(preset, '-d', '100ms')
    assert ended.returncode == 0, ended.stderr


@pytest.mark.usefixtures('root')
def test_mountsnoop(tmp_path):
    """
    Five file systems are mounted and unmounted; a sixth has no such type. First, unshare makes the
    mounts private.
    """
    program = f'''
    import ctypes
    libc = ctypes.CDLL(None)
    where = {str(tmp_path).encode()}
    for _ in range(5):
        assert libc.mount(b'attar-test', where, b'tmpfs', 0, 0) == 0
        assert libc.umount2(where, 0) == 0
    libc.mount(b'attar-test', where, b'nosuchtype', 0, 0)
    '''
    found = of_preset('mountsnoop', '--', 'unshare', '-m', *python(program)[1:])[1:]
    assert [(r['CALL'], r['ERR']) for r in found] == [
        ('mount', ''), ('umount', '')] * 5 + [('mount', 'ENODEV')]


@pytest.mark.guest('debian')
def test_a_process_that_the_kernel_kills(tmp_path):
    """It uses more memory than its control group has."""
    program = 'print(flush=True)\nparts = []\nwhile True: parts.append(bytearray(b"x") * (4 << 20))'
    ended = guest.run('debian', 'sh', '-c', f'''
        mkdir /tmp/groups && mount -t cgroup2 none /tmp/groups &&
            echo +memory >/tmp/groups/cgroup.subtree_control && mkdir /tmp/groups/small &&
            echo 64M >/tmp/groups/small/memory.max || exit 99
        {ATTAR} oomkill -q -o {tmp_path}/x.json -- \\
            sh -c 'echo $$ >/tmp/groups/small/cgroup.procs; echo $$; exec "$@"' sh \\
            {sys.executable} -I -S -c {shlex.quote(program)}
        echo $?
        rmdir /tmp/groups/small; umount /tmp/groups''')
    victim, status = map(int, ended.stdout.split())
    assert status == 128 + signal.SIGKILL, ended.stderr
    found = lines_of((tmp_path / 'x.json').read_text())
    assert [(r['VICTIM'], r['NAME'][:6], r['tid']) for r in found] == [(victim, 'python', victim)]


# At the end nothing is lost any more: when all is acknowledged, nothing is sent again.
RETRANSMITS = '''
import fcntl, socket, subprocess, termios, time
server = socket.socket()
server.bind(('127.0.0.1', 7000))
server.listen(1)
client = socket.create_connection(('127.0.0.1', 7000))
accepted = server.accept()[0]
client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
subprocess.run('tc qdisc add dev lo root netem loss 20% seed 1 || '
               'tc qdisc add dev lo root netem loss 20%', shell=True, check=True)
def retransmitted():
    head, values = [l.split() for l in open('/proc/net/snmp') if l.startswith('Tcp:')]
    return int(values[head.index('RetransSegs')])
before = retransmitted()
for _ in range(100):
    client.send(b'x')
    accepted.recv(1)
subprocess.run('tc qdisc del dev lo root', shell=True, check=True)
while any(fcntl.ioctl(client, termios.TIOCOUTQ, bytes(4))):
    time.sleep(0.01)
print(retransmitted() - before, flush=True)
'''


@pytest.mark.guest('debian')
def test_tcpretrans_of_a_network_with_losses(tmp_path):
    """As many as the kernel counts, of 100 segments of a byte, of which a fifth is lost."""
    (tmp_path / 'program.py').write_text(RETRANSMITS)
    ended = guest.run('debian', 'sh', '-ec', f'''
        {guest.VM}/load sch_netem
        ip link set lo up
        {ATTAR} tcpretrans -a -q -o {tmp_path}/x.json -- \\
            {sys.executable} -I -S {tmp_path}/program.py''')
    assert ended.returncode == 0, ended.stderr
    found = lines_of((tmp_path / 'x.json').read_text())
    assert int(ended.stdout) > 5
    assert len(found) == int(ended.stdout)
    assert {(r['SADDR'], r['DADDR'], r['STATE']) for r in found} == {
        ('127.0.0.1', '127.0.0.1', 'ESTABLISHED')}
    assert all(7000 in (r['SPORT'], r['DPORT']) for r in found)


@pytest.mark.usefixtures('root')
def test_events_of_tcp_that_interrupt_attar(spawn):
    """
    attar writes its lines to a connection, which it watches: the packet with a line is received
    while attar sends it, in a soft interrupt of its thread.
    """
    with socket.create_server(('127.0.0.1', 0)) as server, socket.create_connection(
            server.getsockname()) as theirs, server.accept()[0] as ours:
        port = theirs.getsockname()[1]
        attar = spawn(ATTAR, 'snoop', '-q', '-a', '--format', 'csv', '-e',
                      f'tcp:tcp_probe/sport=={port}||dport=={port}/column=sport/', stdout=theirs)
        wait_until(lambda: is_waiting(attar), 'its events are enabled')
        text = b''
        ours.settimeout(30)
        ours.send(b'x')  # the first event, in this thread
        while b',attar,' not in text:
            part = ours.recv(65536)
            assert part, text
            text += part


@pytest.mark.quick
def test_scripted_oomkill_and_drsnoop(script):
    path = script('''# attar script
event oom:mark_victim pid:int
event vmscan:mm_vmscan_direct_reclaim_begin order:int
event vmscan:mm_vmscan_direct_reclaim_end nr_reclaimed:u64
1.0 0 5/5 greedy vmscan:mm_vmscan_direct_reclaim_begin order=3
1.001 0 5/5 greedy vmscan:mm_vmscan_direct_reclaim_end nr_reclaimed=64
1.002 0 5/5 greedy oom:mark_victim pid=5
''')
    found = of_preset('oomkill', '--input', path)
    assert [(r['comm'], r['VICTIM'], r['NAME']) for r in found] == [('greedy', 5, 'greedy')]
    found = of_preset('drsnoop', '--input', path)
    assert [(r['ORDER'], r['PAGES'], r['duration']) for r in found] == [(3, 64, 1_000_000)]
