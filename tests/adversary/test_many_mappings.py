# SPDX-License-Identifier: MIT
"""Processes of another user with as many mappings as the kernel allows."""
import subprocess
import time
from pathlib import Path

import pytest

from adversary import UID, compile_c, measure
from command import run, wait_until, workload

pytestmark = pytest.mark.exclusive

# N children with 65,000 mappings each, which then wait, or spin; "code": of code.
PROGRAM = r'''
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>
static int protection = PROT_READ;
static void map_pages(void)
{
    for (long i = 0; i < 65000; i++)
        if (mmap((void *)(0x100000000000 + i * 8192), 4096, protection,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
            return;
}
static int spin(void)
{
    for (volatile long n = 0;; n++)
        ;
}
int main(int argc, char **argv)
{
    int n = atoi(argv[1]), i, ends[2], go[2];
    char byte;
    if (argc > 2 && *argv[2] == 'c')
        protection |= PROT_EXEC;
    if (pipe(ends) || pipe(go))
        return 1;
    for (i = 0; i < n; i++)
        if (!fork()) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            close(go[1]);
            map_pages();
            if (write(ends[1], "", 1) == 1 && read(go[0], &byte, 1) == 0)
                argc > 2 && *argv[2] == 's' ? spin() : pause();
            _exit(1);
        }
    for (i = 0; i < n; i++)
        if (read(ends[0], &byte, 1) != 1)
            return 1;
    close(go[1]);
    puts("ready");
    fflush(stdout);
    pause();
}
'''


def is_one_left():
    """Whether a program of this file has not ended, except for its entry in the process table."""
    return run('-u', UID, '-r', 'R,S,D', '-x', 'maps|faults', program='pgrep').returncode == 0


@pytest.fixture(autouse=True)
def ended():
    """The kernel takes seconds to end the programs, which would slow down the next test."""
    yield
    wait_until(lambda: not is_one_left(), 'the end of the programs', 60)


def profile_all():
    """The CPU time in s of attar, its functions, and its messages."""
    busy = subprocess.Popen([workload('split7030'), '1000000'], stdout=subprocess.DEVNULL)
    try:
        return measure('profile', '-a', '-F', '99', '-d', '1s')[1:]
    finally:
        busy.kill()
        busy.wait()


def test_many_mappings_take_little_time(nobody, theirs):
    calm, _, _ = profile_all()
    program = nobody.start(compile_c(theirs / 'maps', PROGRAM, '-O1'), '30',
                           stdout=subprocess.PIPE)
    assert program.stdout.readline() == 'ready\n'
    used, out, err = profile_all()
    assert used < calm + 0.2
    assert ' heavy' in out
    assert 'processes of the user with uid 65534 takes long' in err


@pytest.mark.parametrize('transport', ['', '/transport=usdt/'])
def test_many_mappings_do_not_delay_the_search_for_probes(transport, nobody, theirs):
    program = nobody.start(compile_c(theirs / 'maps', PROGRAM, '-O1'), '60',
                           stdout=subprocess.PIPE)
    assert program.stdout.readline() == 'ready\n'
    _, seconds, _, err = measure('trace', '-a', '-d', '1s', '-e', f'user_events:zzq{transport}')
    assert 'reading the files of the processes of the user with uid 65534 takes long' in err
    assert seconds < 0.8


def test_many_mappings_do_not_fill_recordings(nobody, theirs, tmp_path):
    program = nobody.start(compile_c(theirs / 'maps', PROGRAM, '-O1'), '30', 'code',
                           stdout=subprocess.PIPE)
    assert program.stdout.readline() == 'ready\n'
    memory, seconds, _, err = measure(
        'record', '-a', '-e', 'context-switches', '-d', '1s', '-o', tmp_path / 'data')
    assert 'of the user with uid 65534 has more than 4096 mappings' in err
    assert memory < 100 << 10  # KiB
    assert seconds < 1.5
    assert (tmp_path / 'data').stat().st_size < 60 << 20


# 40 children with 60,000 mappings each, in which they have page faults, and in new ones.
FAULTS = r'''
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>
enum { WRITABLE = PROT_READ | PROT_WRITE, ANONYMOUS = MAP_PRIVATE | MAP_ANONYMOUS };
int main(void)
{
    for (long i = 0; i < 60000; i++)
        if (mmap((void *)(0x100000000000 + i * 8192), 4096, WRITABLE, ANONYMOUS | MAP_FIXED, -1,
                0) == MAP_FAILED)
            return 1;
    for (int i = 0; i < 40; i++)
        if (!fork()) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            for (;;) {
                for (int page = 0; page < 50; page++)
                    *(volatile char *)(0x100000000000 + (rand() % 60000) * 8192L) = 1;
                char *more = mmap(0, 1 << 16, WRITABLE, ANONYMOUS, -1, 0);
                for (int page = 0; page < 16; page++)
                    more[page << 12] = 1;
                munmap(more, 1 << 16);
                usleep(20000);
            }
        }
    puts("ready");
    fflush(stdout);
    pause();
}
'''


def test_page_faults_in_many_mappings_take_little_time(nobody, theirs):
    program = nobody.start(compile_c(theirs / 'faults', FAULTS, '-O1'), stdout=subprocess.PIPE)
    assert program.stdout.readline() == 'ready\n'
    _, seconds, out, err = measure('page-faults', '-a', '-d', '2s')
    assert 'faults' in out
    assert seconds < 4
    assert 'files and mappings of the processes of the user with uid 65534 takes long' in err


def test_spinning_processes_with_many_mappings_do_not_delay_the_report(nobody, theirs):
    """As of each user, their session is another one, which gets half of the CPU time at most."""
    enabled = Path('/proc/sys/kernel/sched_autogroup_enabled')
    if not enabled.exists() or enabled.read_text() != '1\n':
        pytest.skip('the kernel does not divide CPU time between sessions')
    program = nobody.start(compile_c(theirs / 'maps', PROGRAM, '-O1'), '20', 'spin',
                           stdout=subprocess.PIPE, start_new_session=True)
    assert program.stdout.readline() == 'ready\n'
    begin = time.monotonic()
    done = run('profile', '-a', '-F', '99', '-d', '4s')
    assert time.monotonic() - begin < 5
    assert done.returncode == 0, done.stderr
    assert ' maps ' in done.stdout
    assert 'processes of the user with uid 65534 takes long' in done.stderr
