# SPDX-License-Identifier: MIT
"""A user without rights, who attacks attar: used by tests/adversary."""
import os
import subprocess
import sys

import pytest

from command import ATTAR, has

UID = 65534


def need_root():
    if os.geteuid():
        pytest.skip('needs root')
    if not has('setpriv'):
        pytest.skip('setpriv (package util-linux) is not installed')


def directory(path, mode, owner=0):
    """Creates a directory that the other user can reach."""
    path.mkdir()
    path.chmod(mode)
    os.chown(path, owner, -1)
    for parent in path.parents:
        if parent.stat().st_mode & 0o005 != 0o005 and parent.stat().st_uid == os.geteuid():
            parent.chmod(parent.stat().st_mode | 0o005)
    return path


def compile_c(path, text, *words, owner=UID):
    path.with_suffix('.c').write_text(text)
    subprocess.run(['gcc', *words, '-o', path, path.with_suffix('.c')], check=True)
    os.chown(path, owner, owner)
    return path


# Of a small process, because the kernel counts the memory before execve(2), too.
MEASURE = '''
import os, sys
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, usage = os.wait4(pid, 0)
print(usage.ru_maxrss, usage.ru_utime + usage.ru_stime, file=sys.stderr)
sys.exit(os.waitstatus_to_exitcode(status) != 0)
'''


def measure(*words):
    """The memory of attar in KiB, its CPU time in s, and what it prints on stdout and stderr."""
    done = subprocess.run([sys.executable, '-I', '-S', '-c', MEASURE, ATTAR, *map(str, words)],
                          capture_output=True, text=True, check=False)
    memory, seconds = done.stderr.splitlines()[-1].split()
    return int(memory), float(seconds), done.stdout, done.stderr


# Connects, sends some bytes and closes as fast as it can, in four processes.
HAMMER = '''
import os, signal, socket, struct, sys
signal.signal(signal.SIGALRM, signal.SIG_DFL)
print('begins', flush=True)
for _ in range(3):
    if not os.fork():
        break
signal.alarm(60)
kept = []
while True:
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
    s.setblocking(False)
    s.connect_ex(('127.0.0.1', int(sys.argv[1])))
    try:
        s.send(b'GET / HTTP/1.0')
    except OSError:
        pass
    kept.append(s)
    if len(kept) == 8:
        kept.pop(0).close()
'''


def cpu_time(pid):
    with open(f'/proc/{pid}/stat', encoding='ascii') as stat:
        return sum(map(int, stat.read().rsplit(')', 1)[1].split()[11:13])) / 100


class Nobody:
    """Programs of this user."""

    def __init__(self):
        self.programs = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for program in self.programs:
            program.kill()
            program.wait()

    @staticmethod
    def command(*words):
        return ['setpriv', f'--reuid={UID}', f'--regid={UID}', '--clear-groups', '--inh-caps=-all',
                *map(str, words)]

    def start(self, *words, **kwargs):
        self.programs.append(subprocess.Popen(self.command(*words), text=True, **kwargs))
        return self.programs[-1]

    def run(self, *words):
        return subprocess.run(self.command(*words), check=True, capture_output=True, text=True)

    def python(self, text, *words):
        """Starts a Python program, and waits until it has printed a line."""
        program = self.start(sys.executable, '-c', text, *words, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE)
        program.stdout.readline()
        return program
