# SPDX-License-Identifier: MIT
"""Memory of another user's program that looks like a lock held by a thread of root."""
import os
import subprocess

import pytest

import adversary
from command import run

# futex(2) without the private flag: a lock between processes, as of glibc or with a bare number.
PROGRAM = r'''
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int words[32] __attribute__((aligned(64)));

static void *say(void *unused)
{
	char path[64], text[256] = "", *end = NULL;

	snprintf(path, sizeof(path), "/proc/%d/stat", getpid());
	while (!end || end[2] != 'S') {
		FILE *file = fopen(path, "r");

		fgets(text, sizeof(text), file);
		fclose(file);
		end = strrchr(text, ')');
	}
	puts("ready");
	fflush(stdout);
	pause();
	return unused;
}

int main(int argc, char **argv)
{
	int owner = atoi(argv[2]), is_mutex = !strcmp(argv[1], "mutex");
	pthread_t thread;

	words[0] = 2;
	if (is_mutex) {
		words[2] = owner; /* __owner and __nusers of pthread_mutex_t */
		words[3] = 1;
	} else {
		words[2] = 2; /* __wrphase_futex, __cur_writer of pthread_rwlock_t */
		words[6] = owner;
	}
	pthread_create(&thread, NULL, say, NULL);
	for (;;)
		syscall(SYS_futex, is_mutex ? &words[0] : &words[2], FUTEX_WAIT, 2, NULL, NULL, 0);
}
'''


@pytest.mark.parametrize('kind', ['mutex', 'rwlock'])
@pytest.mark.parametrize('is_theirs', [False, True])
def test_holder_of_another_user(kind, is_theirs, nobody, tmp_path):
    """A program of the same user can hold the lock; one of root is not accused."""
    path = adversary.compile_c(tmp_path / 'forge', PROGRAM, '-pthread', '-w')
    owner = nobody.start('sleep', 1000).pid if is_theirs else os.getpid()
    program = nobody.start(path, kind, owner, stdout=subprocess.PIPE)
    assert program.stdout.readline() == 'ready\n'
    done = run('stack', '-t', program.pid)
    assert done.returncode == 0, done.stderr
    assert 'waits for the lock at' in done.stdout
    assert (f'({owner})' in done.stdout) == is_theirs
