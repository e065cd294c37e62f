# SPDX-License-Identifier: MIT
"""Programs of another user that have very many files open, which are read for the ends of pipes."""
import subprocess
import sys
from pathlib import Path

import pytest

import adversary
from command import wait_until, workload

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
	int processes = atoi(argv[1]), files = atoi(argv[2]), file;
	struct rlimit limit = {files + 16, files + 16};
	int pipes[2], n = 0;
	pid_t pid = 0;
	char byte;

	setrlimit(RLIMIT_NOFILE, &limit);
	if (pipe(pipes) < 0)
		return 1;
	file = argc > 3 ? open(argv[3], O_RDWR) : pipes[0];
	if (file < 0)
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

    def start(processes, files, *path_of_file):
        program = nobody.start(path, processes, files, *path_of_file, stdout=subprocess.PIPE)
        return int(program.stdout.readline())
    return start


def cpu_of(*words):
    """Seconds of CPU time, and what attar prints on stdout and stderr."""
    memory, seconds, out, err = adversary.measure(*words)
    assert memory < 200 << 10  # KiB
    return seconds, out, err


def test_files_that_are_no_pipes(many):
    """1,500,000 links, of which none can be the other end."""
    seconds, text, _ = cpu_of('stack', '-p', many(400, 3800, '/dev/null'))
    assert 'waits for data of pipe:' in text
    assert seconds < 0.5


def test_pipes_of_many_processes(many, tmp_path):
    """A recording reads who is at the other ends at its begin and at its end."""
    record = 'record', '-a', '-e', 'context-switches', '-d', '1s', '-o', tmp_path / 'data'
    calm, _, _ = cpu_of(*record)
    many(200, 2000)
    seconds, _, said = cpu_of(*record)
    assert 'open files and mounts of the processes of the user with uid 65534 takes long' in said
    assert seconds < calm + 0.4


def test_files_of_root_for_each_eventfd(tmp_path):
    """Processes of root have no budget: all searches together have one, not each."""
    path = adversary.compile_c(tmp_path / 'many', PROGRAM, '-w')
    waiting = [subprocess.Popen([workload('ends'), 'eventfd'], stdout=subprocess.PIPE)
               for _ in range(8)]
    with subprocess.Popen([path, '40', '4000', '/dev/null'], stdout=subprocess.PIPE) as many:
        try:
            for program in (*waiting, many):
                program.stdout.readline()
            seconds, text, _ = cpu_of('offcpu', '-d', '100ms', '-p',
                                      ','.join(str(program.pid) for program in waiting))
        finally:
            for program in (*waiting, many):
                program.kill()
                program.wait()
    assert 'signalled by other end' in text
    assert seconds < 1


SERVER = 'import socket, sys; s = socket.create_server(("127.0.0.1", 0)); ' \
    'print(s.getsockname()[1], flush=True); sys.stdin.read()'


def test_descriptors_do_not_delay_the_search_for_servers(many):
    """1,500,000 files of processes of which none listens to the port, and a server of root."""
    many(400, 3800)
    with subprocess.Popen([sys.executable, '-c', SERVER], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as server:
        seconds, text, said = cpu_of('top', '-e', 'context-switches', '-d', '100ms', '--port',
                                     server.stdout.readline().strip())
        server.stdin.close()
    assert 'seen' in text
    assert 'open files and connections of the processes of the user with uid 65534' in said
    assert seconds < 0.6


def test_descriptors_do_not_delay_the_search_for_guests(many):
    many(400, 3800)
    seconds, _, said = cpu_of('trace', '-e', 'sched:sched_switch//pull=1/vm=0-1-2/', '-d', '100ms')
    assert 'no process runs a KVM guest with -uuid 0-1-2' in said
    assert 'open files of the processes of the user with uid 65534' in said
    assert seconds < 0.6


# Connects to itself, without a place in the queue, so that the kernel sends SYN again: after a
# second, and after three.
RETRANSMIT = '''
import socket, time
listener = socket.socket()
listener.bind(('127.0.0.1', 0))
listener.listen(0)
kept = []
while len(kept) < 200:
    if len(kept) == 20:
        print(flush=True)
    kept.append(socket.socket())
    kept[-1].setblocking(False)
    kept[-1].connect_ex(listener.getsockname())
    time.sleep(.1)
'''


def test_descriptors_do_not_delay_the_search_for_connections(many, nobody):
    many(400, 15000, '/dev/null')
    nobody.python(RETRANSMIT)
    seconds, text, said = cpu_of('tcpretrans', '-a', '-d', '2s')
    assert '127.0.0.1' in text
    assert 'open files and mappings of the processes of the user with uid 65534 takes long' in said
    assert seconds < 1


def test_names_have_no_control_characters(many):
    _, text, _ = cpu_of('stack', '-p', many(3, 10, '/dev/null'))
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
        seconds, text, _ = cpu_of('stack', '-p', program.pid)
        program.kill()
    waiting = text.count('waits for the lock of file ')
    assert text.count(', held by ') == text.count(f'({program.pid})') == waiting > 40
    assert seconds < 1
