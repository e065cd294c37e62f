# SPDX-License-Identifier: MIT
"""Programs of another user that have very many files open, which are read for the ends of pipes."""
import os
import subprocess
import sys
from pathlib import Path

import pytest

import adversary
from command import ATTAR, wait_until

# The waiting process is the last one, and has a name with control characters.
PROGRAM = r'''
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int processes = atoi(argv[1]), files = atoi(argv[2]), file = open(argv[3], O_RDWR);
	struct rlimit limit = {files + 16, files + 16};
	int pipes[2], n = 0;
	pid_t pid = 0;
	char byte;

	setrlimit(RLIMIT_NOFILE, &limit);
	if (file < 0 || pipe(pipes) < 0)
		return 1;
	while (n < files && dup(file) >= 0)
		n++;
	for (int i = 0; i < processes; i++) {
		pid = fork();
		if (pid == 0) {
			prctl(PR_SET_PDEATHSIG, 9);
			prctl(PR_SET_NAME, "a\033[31m\nb\r");
			read(pipes[0], &byte, 1);
			return 0;
		}
	}
	printf("%d\n", pid);
	fflush(stdout);
	pause();
}
'''


@pytest.fixture
def many(nobody, tmp_path):
    """Starts processes; returns the one that waits for a pipe."""
    path = adversary.compile_c(tmp_path / 'many', PROGRAM, '-w')

    def start(processes, files, path_of_file):
        program = nobody.start(path, processes, files, path_of_file, stdout=subprocess.PIPE)
        return int(program.stdout.readline())
    return start


# Of a small process, because the kernel counts the memory before execve(2), too.
MEASURE = '''
import os, sys
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, usage = os.wait4(pid, 0)
print(usage.ru_maxrss, usage.ru_utime + usage.ru_stime, file=sys.stderr)
sys.exit(os.waitstatus_to_exitcode(status) != 0)
'''


def cpu_of(*words):
    """Seconds of CPU time, and what attar prints."""
    done = subprocess.run([sys.executable, '-I', '-S', '-c', MEASURE, ATTAR, *map(str, words)],
                          capture_output=True, text=True, check=True)
    memory, seconds = done.stderr.splitlines()[-1].split()
    assert int(memory) < 200 << 10  # KiB
    return float(seconds), done.stdout


def test_files_that_are_no_pipes(many):
    """1,500,000 links, of which none can be the other end."""
    seconds, text = cpu_of('stack', '-p', many(400, 3800, '/dev/null'))
    assert 'waits for data of pipe:' in text
    assert seconds < 1.5


def test_names_have_no_control_characters(many):
    _, text = cpu_of('stack', '-p', many(3, 10, '/dev/null'))
    assert r'written by a\x1b[31m\x0ab' in text
    assert not [c for c in text if c != '\n' and not c.isprintable()]


LOCKS = '''
import fcntl, struct, sys, time
file = open(sys.argv[1], 'w')
for i in range(20000):
    fcntl.fcntl(file, fcntl.F_SETLK, struct.pack('hhqqi', fcntl.F_WRLCK, 0, 2 * i, 1, 0))
print(flush=True)
time.sleep(1000)
'''

WAITERS = '''
import fcntl, sys, threading
files = [open(sys.argv[1], 'w') for _ in range(51)]
fcntl.flock(files[0], fcntl.LOCK_EX)
for file in files[1:]:
    threading.Thread(target=fcntl.flock, args=(file, fcntl.LOCK_EX), daemon=True).start()
print(flush=True)
sys.stdin.read()
'''


def test_locks_of_files(nobody, theirs, tmp_path):
    """A table of 20,000 locks is read once for 50 threads of root that wait for one of a file."""
    nobody.python(LOCKS, theirs / 'locked')
    with subprocess.Popen([sys.executable, '-c', WAITERS, tmp_path / 'wanted'],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
        program.stdout.readline()
        wait_until(lambda: Path('/proc/locks').read_text().count(f'WRITE {program.pid} ') == 51,
                   'all threads to wait')
        seconds, text = cpu_of('stack', '-p', program.pid)
        program.kill()
    waiting = text.count('waits for the lock of file ')
    assert text.count(', held by ') == text.count(f'({program.pid})') == waiting > 40
    assert seconds < 1
