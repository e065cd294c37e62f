# SPDX-License-Identifier: MIT
"""Programs of another user that have very many files open, which are read for the ends of pipes."""
import os
import subprocess

import pytest

import adversary
from command import ATTAR

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


def cpu_of(*words):
    """Seconds of CPU time, and what attar prints."""
    with subprocess.Popen([ATTAR, *map(str, words)], stdout=subprocess.PIPE, text=True) as attar:
        text = attar.stdout.read()
        _, status, usage = os.wait4(attar.pid, 0)
        attar.returncode = os.waitstatus_to_exitcode(status)
    assert attar.returncode == 0
    assert usage.ru_maxrss < 200 << 10  # KiB
    return usage.ru_utime + usage.ru_stime, text


def test_files_that_are_no_pipes(many):
    """1,500,000 links, of which none can be the other end."""
    seconds, text = cpu_of('stack', '-p', many(400, 3800, '/dev/null'))
    assert 'waits for data of pipe:' in text
    assert seconds < 1.5


def test_names_have_no_control_characters(many):
    _, text = cpu_of('stack', '-p', many(3, 10, '/dev/null'))
    assert r'written by a\x1b[31m\x0ab' in text
    assert not [c for c in text if c != '\n' and not c.isprintable()]
