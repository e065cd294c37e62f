# SPDX-License-Identifier: MIT
"""
Memory of another user of which a read never ends: the pages are of a file whose server, a program
of this user, does not answer. Only SIGKILL ends such a read, or not even that.
"""
import select
import subprocess
import time

import pytest

import adversary
from command import ATTAR

SECONDS = 4  # of a run of one second, on a busy machine; a stalled read takes 0.1 s

# A thread waits in a call whose argument is exchanged meanwhile: by readahead, or without it, when
# the read cannot be ended. Otherwise, the memory is the argument of a call, or the stack.
PROGRAM = r'''
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGE = 4096 };

static struct pollfd *polled;
static volatile pid_t waiter;

static void *wait_for_pipe(void *unused)
{
	waiter = gettid();
	poll(polled, 1, -1);
	return unused;
}

static int is_asleep(void)
{
	char path[64], text[256] = "", *end;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", waiter);
	file = fopen(path, "r");
	if (!file)
		return 0;
	fgets(text, sizeof(text), file);
	fclose(file);
	end = strrchr(text, ')');
	return end && end[2] == 'S';
}

static void ready(void)
{
	puts("ready");
	fflush(stdout);
}

static void replace(void *address, int fd, int advice)
{
	mmap(address, PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0);
	madvise(address, PAGE, advice);
}

int main(int argc, char **argv)
{
	int file = open(argv[1], O_RDONLY), pipes[2];
	pthread_t thread;
	char byte;

	polled = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (argc != 3 || file < 0 || pipe(pipes) < 0)
		return 1;
	if (!strcmp(argv[2], "open")) {
		replace(polled, file, MADV_RANDOM);
		ready();
		read(0, &byte, 1);
		syscall(SYS_openat, AT_FDCWD, polled, O_RDONLY);
		return 0;
	}
	polled->fd = pipes[0];
	polled->events = POLLIN;
	pthread_create(&thread, NULL, wait_for_pipe, NULL);
	while (!waiter || !is_asleep())
		;
	replace(polled, file, strcmp(argv[2], "random") ? MADV_NORMAL : MADV_RANDOM);
	ready();
	pause();
}
'''


# Executes itself with arguments that do not fit in a copy of its stack. One thread reads the file
# through /proc, for which the kernel locks the memory, and another one waits for the lock to change
# the memory: all who read it wait, too.
EXECUTES = r'''
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { FILE_FD = 7 };

static char longest[100000];

static void *change(void *unused)
{
	usleep(200);
	mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	void *page;
	char byte;

	if (argc == 2) {
		dup2(open(argv[1], O_RDONLY), FILE_FD);
		memset(longest, 'x', sizeof(longest) - 1);
		puts("ready");
		fflush(stdout);
		for (int i = 0; i < 40; i++) {
			usleep(25000);
			if (fork() == 0) {
				prctl(PR_SET_PDEATHSIG, SIGKILL);
				execl(argv[0], argv[0], argv[1], longest, "stalled", NULL);
				_exit(1);
			}
		}
		pause();
	}
	page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, FILE_FD, 0);
	pthread_create(&thread, NULL, change, NULL);
	pread(open("/proc/self/mem", O_RDONLY), &byte, 1, (uintptr_t)page);
	pause();
}
'''


@pytest.fixture
def stall(nobody, silent, tmp_path):
    """Starts the program."""
    path = adversary.compile_c(tmp_path / 'stall', PROGRAM, '-pthread', '-w')

    def start(kind):
        program = nobody.start(path, silent, kind, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        # The page of the file is locked while another program, such as an attar, waits for it.
        if not select.select([program.stdout], [], [], 20)[0]:
            pytest.skip('another program reads the file')
        assert program.stdout.readline() == 'ready\n'
        return program
    return start


def seconds_of(*words, during=lambda: None):
    """The time of a run, which ends by itself. One that hangs ends after its server only."""
    began = time.monotonic()
    attar = subprocess.Popen([ATTAR, *map(str, words)], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
    during()
    try:
        out, err = attar.communicate(timeout=5 * SECONDS)
    except subprocess.TimeoutExpired:
        attar.kill()
        pytest.fail(f'{words[0]} hangs')
    assert attar.returncode == 0, err
    return time.monotonic() - began, out


@pytest.mark.parametrize('kind', ['readahead', 'random'])
@pytest.mark.parametrize('words', [('overview', '-a', '-d', '1s'), ('offcpu', '-a', '-d', '1s'),
                                   ('locks', '-a', '-d', '1s'), ('task-state', '-a', '-d', '1s')])
def test_memory_that_a_thread_waits_with(kind, words, stall):
    stall(kind)
    seconds, _ = seconds_of(*words)
    assert seconds < SECONDS


@pytest.mark.parametrize('kind', ['readahead', 'random'])
def test_threads_of_the_program(kind, stall):
    """What the thread waits for is unknown, which all files are that it might wait for."""
    program = stall(kind)
    seconds, out = seconds_of('stack', '-p', program.pid)
    assert 'waits for an event of several files' in out
    assert seconds < SECONDS


def test_memory_of_many_programs(stall):
    """After a few, no more memory is read for a while."""
    for _ in range(20):
        stall('readahead')
    seconds, _ = seconds_of('task-state', '-a', '-d', '1s')
    assert seconds < SECONDS


def test_memory_that_is_an_argument(stall):
    program = stall('open')
    seconds, _ = seconds_of('opensnoop', '-p', program.pid, '-d', '2s',
                            during=lambda: (time.sleep(1), program.stdin.close()))
    assert seconds < SECONDS


def test_memory_that_has_the_arguments(nobody, silent, tmp_path):
    path = adversary.compile_c(tmp_path / 'executes', EXECUTES, '-w', '-static', '-O1', '-pthread')
    program = nobody.start(path, silent, stdout=subprocess.PIPE)
    assert program.stdout.readline() == 'ready\n'
    seconds, out = seconds_of('execsnoop', '-d', '2s')
    assert seconds < SECONDS
    assert 'executes' in out
