# SPDX-License-Identifier: MIT
"""
Presets compared with the tools of bpftrace of the same name, which run the same program at the
same time: `attar TOOL -- bpftrace -c PROGRAM TOOL.bt`.
"""
import re
import shutil
from collections import Counter

import pytest

import bpftrace
import guest
from bpftrace import TOOLS, histogram, lost, sections
from command import ATTAR

pytestmark = pytest.mark.usefixtures('root')



def both(tmp_path, name, program, *args, tool=None):
    """Run attar's preset around the tool; return what bpftrace.both() returns."""
    path = TOOLS / f'{tool or name}.bt'
    if not path.exists():
        pytest.skip(f'{path} (package bpftrace) is not installed')
    # the header needs others, which kernels with BTF provide; preempted tasks have another bit
    script = path.read_text().replace('#include <linux/sched.h>', '').replace(
        'args->prev_state == TASK_RUNNING', '(args->prev_state & 0xff) == 0').replace(
            'if ($ns)', 'if ($ns && args->next_comm == "wakeup-test")')
    return bpftrace.both(tmp_path, name, program, script, *args)


def words(lines, pid):
    """The words of the tool's lines that begin with this pid."""
    return [w for w in map(str.split, lines) if w[:1] == [str(pid)]]


OPENS = '''
for i in range(50):
    try:
        os.close(os.open('/nonexistent' if i % 10 == 0 else '/dev/null', os.O_RDONLY))
    except OSError:
        pass
'''


def test_opensnoop(tmp_path):
    """Each file that the program and its interpreter open: the descriptor and the error."""
    found, lines, pid = both(tmp_path, 'opensnoop', OPENS)
    theirs = [(int(fd), int(error)) for _, _, fd, error, *_ in words(lines, pid)]
    names = {0: '', 2: 'ENOENT', 25: 'ENOTTY', 20: 'ENOTDIR', 13: 'EACCES'}
    assert len(theirs) > 50 and {error for _, error in theirs} >= {0, 2}
    assert [(r['FD'], r['ERR']) for r in found['events'] if r['tid'] == pid] == [
        (fd, names[error]) for fd, error in theirs]


# attar reads the paths when it receives the events: the program waits for that.
STATS = '''
for i in range(20):
    try: os.statvfs(b'/' if i % 4 else b'/nonexistent')
    except OSError: pass
end = time.monotonic() + 20
while open(sys.argv[1]).read().count('"/nonexistent"') < 5 and time.monotonic() < end:
    time.sleep(0.01)
'''


def test_statsnoop(tmp_path):
    """
    The tool leaves out newfstatat, which glibc uses for stat(). attar does not know all paths.
    """
    found, lines, pid = both(tmp_path, 'statsnoop', STATS)
    theirs = Counter(int(error) for _, _, error, *path in words(lines, pid)
                     if path in (['/'], ['/nonexistent']))
    assert theirs == {0: 15, 2: 5}
    ours = [r for r in found['events']
            if r['tid'] == pid and r['PATH'] in ('/', '/nonexistent', '[unknown]')]
    failed = [r for r in ours if r['ERR'] == 'ENOENT']
    assert len(ours) - len(failed) >= 15 and len(failed) >= 5
    known = [r for r in ours if r['PATH'] != '[unknown]']
    assert len(known) <= 20
    assert all((r['PATH'] == '/nonexistent') == (r['ERR'] == 'ENOENT') for r in known)


EXECS = '''
import subprocess
for i in range(20):
    subprocess.run(['/bin/echo', f'attar-test-{i}'], stdout=subprocess.DEVNULL)
'''


def test_execsnoop(tmp_path):
    """
    The tool shows attempts: none fails here. Arguments are unknown if attar cannot read them in
    time. The tool prints a pid and its arguments separately, so the lines of programs on two CPUs
    can be mixed.
    """
    found, lines, _ = both(tmp_path, 'execsnoop', EXECS)
    text = '\n'.join(lines)
    theirs = re.findall(r'/bin/echo (attar-test-\d+)', text)
    ours = [r for r in next(iter(found.values())) if r['file'] == '/bin/echo']
    assert sorted(theirs) == sorted(f'attar-test-{i}' for i in range(20))
    assert {str(r['pid']) for r in ours} <= set(re.findall(r'\b\d+ +(\d+) ', text))
    assert [r['result'] for r in ours] == ['ok'] * 20
    for i, row in enumerate(ours):
        assert row['arguments'] in ('[unknown]', f'attar-test-{i}')


SIGNALS = '''
import signal
signal.signal(signal.SIGUSR1, lambda *a: None)
for _ in range(20): os.kill(os.getpid(), signal.SIGUSR1)
'''


def test_signals(tmp_path):
    found, lines, pid = both(tmp_path, 'signals', SIGNALS, tool='killsnoop')
    theirs = [(int(w[4]), int(w[5])) for w in map(str.split, lines)
              if len(w) == 6 and w[1] == str(pid) and w[3] == '10']
    assert theirs == [(pid, 0)] * 20
    assert [(r['TPID'], r['RESULT']) for r in found['events']
            if r['tid'] == pid and r['SIGNAL'] == 'SIGUSR1'] == theirs


CALLS = 'for _ in range(123456): os.getppid()\n'


def test_syscount(tmp_path):
    """The tool shows the ten most frequent ones, and those of other programs, which are few."""
    found, lines, _ = both(tmp_path, 'syscount', CALLS)
    theirs, = [int(line.split()[1]) for line in lines if line.startswith('@syscall[110]:')]
    ours, = [r['count'] for r in found['syscount'] if r['syscall'] == 'getppid']
    assert 123456 <= ours < 123456 + 10  # bpftrace itself calls it, too
    assert theirs >= 123456


WAKEUPS = "open('/proc/self/comm', 'w').write('wakeup-test')" + bpftrace.turns(
    3000, "open(sys.argv[2] + '.child', 'w').write(str(os.getpid()))")


def test_runqlat(tmp_path):
    """
    Two processes that wake each other up, by name in the tool, and by pid in attar. The numbers of
    the tool are microseconds in buckets of powers of two. Either may miss events.
    """
    found, lines, pid = both(tmp_path, 'runqlat', WAKEUPS, '--perins')
    theirs = histogram(lines)
    pids = pid, int((tmp_path / 'pid.child').read_text())
    rows = [r for r in found['pairs'] if r['pid'] in pids]
    calls, total = sum(r['calls'] for r in rows), sum(theirs.values())
    assert total >= 5900
    assert calls <= 6100
    if not lost(tmp_path / 'attar.json'):
        assert calls >= total - 20
    most = max(rows, key=lambda r: r['calls'])
    assert sum(n for at, n in theirs.items() if 2 * at <= most['p50'] / 1000) < 0.8 * total
    assert sum(n for at, n in theirs.items() if at <= most['p50'] / 1000) > 0.2 * total


def test_bitesize(tmp_path, loop):
    program = f'''
import mmap
fd = os.open({loop!r}, os.O_WRONLY | os.O_DIRECT)
page = mmap.mmap(-1, 65536)
for size, n in ((4096, 100), (65536, 10)):
    for _ in range(n): os.write(fd, memoryview(page)[:size])
'''
    found, lines, _ = both(tmp_path, 'bitesize', program, '-d', loop)
    at = next(i for i, line in enumerate(lines) if line.startswith('@[python'))
    theirs = histogram(lines[at:next((i for i in range(at + 1, len(lines))
                                      if lines[i].startswith('@')), len(lines))])
    ours = {r['low']: r['count'] for name, rows in found.items() if name.startswith('python')
            for r in rows if r['count']}
    assert ours == {4096: 100, 65536: 10}
    assert theirs[4096] >= 100 and theirs[65536] >= 10


# ---- tools that need kprobes ----

CONNECTIONS = '''
import os, socket
server = socket.socket()
server.bind(('127.0.0.1', 7000))
server.listen(20)
if not os.fork():
    open('/proc/self/comm', 'w').write('server')
    for _ in range(10):
        connection = server.accept()[0]
        connection.recv(1)
        connection.close()
    os._exit(0)
for _ in range(10): socket.create_connection(('127.0.0.1', 7000)).close()
os.wait()
'''

IN_GUEST = ('tcpconnect', 'tcplife')


def joined(tools):
    """
    Return the script of several tools: one start of bpftrace takes an emulated guest 20 seconds.
    Directives must precede the probes; BEGIN, of which there may be one, prints headings.
    """
    text = ''.join((TOOLS / f'{name}.bt').read_text() for name in tools)
    text = re.sub(r'^(#![^\n]*|BEGIN\n\{.*?^\})$', '', text, flags=re.M | re.S)
    directive = re.compile(r'^#.*\n', re.M)
    return ''.join(directive.findall(text)) + directive.sub('', text)


@pytest.mark.guest('debian')
class TestInAGuest:
    @pytest.fixture(scope='class')
    def out(self, tmp_path_factory):
        """out(name) returns the rows of attar by section, and the lines of both tools."""
        if not shutil.which('bpftrace'):
            pytest.skip('bpftrace is not installed')
        folder = tmp_path_factory.mktemp('tools')
        (folder / 'program.py').write_text(CONNECTIONS)
        (folder / 'tools.bt').write_text(joined(IN_GUEST))
        watched = ' '.join(f'{ATTAR} {name} -q -m 1024 -o {folder}/{name}.json --'
                           for name in IN_GUEST)
        ended = guest.run('debian', 'sh', '-ec', f"""ip link set lo up
            {watched} bpftrace -c '{guest.PYTHON} {folder}/program.py' {folder}/tools.bt""")
        assert ended.returncode == 0, ended.stderr
        lines = ended.stdout.splitlines()
        return lambda name: (sections(folder / f'{name}.json'), lines)

    def test_tcpconnect(self, out):
        found, lines = out('tcpconnect')
        theirs = [(int(w[1]), w[5], int(w[6])) for w in map(str.split, lines)
                  if len(w) == 7 and w[2].startswith('python')]
        assert len(theirs) == 10
        assert [(r['tid'], r['DADDR'], r['DPORT']) for r in found['events']] == theirs

    def test_tcplife(self, out):
        """
        The process, the ports and the duration of both ends of each connection. The program of the
        tool runs before attar's event, and an emulated guest may switch tasks between the two.
        """
        found, lines = out('tcplife')
        theirs = {(int(w[3]), int(w[5])): (w[1], int(w[0]), int(w[8]))
                  for w in map(str.split, lines) if len(w) == 9 and '7000' in (w[3], w[5])}
        ours = {(r['LPORT'], r['RPORT']): (r['comm'], r['tid'], r['duration'] / 10**6)
                for r in found['events'] if 7000 in (r['LPORT'], r['RPORT'])}
        assert len(theirs) == 20 and ours.keys() == theirs.keys()
        assert {key: line[:2] for key, line in ours.items()} == {
            key: line[:2] for key, line in theirs.items()}
        apart = sorted(abs(ours[key][2] - theirs[key][2]) for key in theirs)
        assert apart[len(apart) // 2] < 5
