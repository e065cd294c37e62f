# SPDX-License-Identifier: MIT
"""Processes of another user with as many mappings as the kernel allows."""
import os
import subprocess

import pytest

from adversary import compile_c
from command import ATTAR, workload

pytestmark = pytest.mark.exclusive

# N children with 65,000 mappings each.
PROGRAM = r'''
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>
static void map_pages(void)
{
    for (long i = 0; i < 65000; i++)
        if (mmap((void *)(0x100000000000 + i * 8192), 4096, PROT_READ,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
            return;
}
int main(int argc, char **argv)
{
    int n = atoi(argv[1]), i, ends[2];
    char byte;
    if (pipe(ends))
        return 1;
    for (i = 0; i < n; i++)
        if (!fork()) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            map_pages();
            while (write(ends[1], "", 1) == 1)
                pause();
        }
    for (i = 0; i < n; i++)
        if (read(ends[0], &byte, 1) != 1)
            return 1;
    puts("ready");
    fflush(stdout);
    pause();
}
'''


def profile_all():
    """The CPU time in s of attar, its functions, and its messages."""
    busy = subprocess.Popen([workload('split7030'), '1000000'], stdout=subprocess.DEVNULL)
    try:
        attar = subprocess.Popen([ATTAR, 'profile', '-a', '-F', '99', '-d', '1s'], text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        out, err = attar.stdout.read(), attar.stderr.read()
        used = os.wait4(attar.pid, 0)[2]
    finally:
        busy.kill()
        busy.wait()
    return used.ru_utime + used.ru_stime, out, err


def test_many_mappings_take_little_time(nobody, theirs):
    calm, _, _ = profile_all()
    program = nobody.start(compile_c(theirs / 'maps', PROGRAM, '-O1'), '30',
                           stdout=subprocess.PIPE)
    assert program.stdout.readline() == 'ready\n'
    used, out, err = profile_all()
    assert used < calm + 0.2
    assert ' heavy' in out
    assert 'processes of the user with uid 65534 takes long' in err
