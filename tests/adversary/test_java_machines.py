# SPDX-License-Identifier: MIT
"""Processes of another user that look like Java virtual machines, which root asks for names."""
import os
import shutil
import subprocess
import time

import pytest

import adversary
from command import run

# Code without a name in an endless loop, a mapping of a file libjvm.so, and a handler of SIGQUIT.
# With a second argument, a socket that accepts connections and never answers.
PROGRAM = r'''
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
static void quit(int number) { }
int main(int argc, char **argv)
{
    unsigned char *code = mmap(NULL, 1 << 16, 7, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int n = argc > 2 ? 8 : 1, fd = socket(AF_UNIX, SOCK_STREAM, 0);
    mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, open(argv[1], O_RDONLY), 0);
    signal(SIGQUIT, quit);
    memcpy(code, "\xeb\xfe", 2);
    for (int i = 0; i < n; i++)
        if (fork() == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            snprintf(at.sun_path, sizeof(at.sun_path), "/tmp/.java_pid%d", getpid());
            if (argc > 2)
                bind(fd = socket(AF_UNIX, SOCK_STREAM, 0), (void *)&at, sizeof(at)), listen(fd, 8);
            __asm__ volatile("jmp *%0" :: "r"(code));
        }
    puts("ready");
    fflush(stdout);
    pause();
}
'''


@pytest.fixture
def program(theirs):
    shutil.copy('/bin/true', theirs / 'libjvm.so')
    os.chmod(theirs / 'libjvm.so', 0o755)
    return adversary.compile_c(theirs / 'program', PROGRAM, '-w')


def children(process):
    path = f'/proc/{process.pid}/task/{process.pid}/children'
    with open(path, encoding='ascii') as file:
        return file.read().split()


def test_no_file_is_created_in_a_directory_of_root(program, theirs, tmp_path, nobody):
    """The other user has mounted it on /tmp, in a namespace of its own."""
    folder = adversary.directory(tmp_path / 'folder', 0o755)
    words = ['unshare', '-Urm', 'sh', '-c',
             f'exec 8<{program} 9<{theirs}/libjvm.so; mount --bind {folder} /tmp && '
             'exec /proc/self/fd/8 /proc/self/fd/9']
    process = nobody.start(*words, stdout=subprocess.PIPE)
    if process.stdout.readline() != 'ready\n':
        pytest.skip('users cannot make namespaces')
    before = folder.stat().st_mtime_ns
    done = run('profile', '-p', process.pid, '-d', '200ms', '--java-map')
    assert done.returncode == 0, done.stderr
    assert 'cannot create files in its /tmp' in done.stderr
    assert folder.stat().st_mtime_ns == before


def test_many_that_do_not_answer(program, theirs, nobody):
    process = nobody.start(program, theirs / 'libjvm.so', 'listen', stdout=subprocess.PIPE)
    process.stdout.readline()
    pids = children(process)
    try:
        begin = time.monotonic()
        done = run('profile', '-p', ','.join(pids), '-d', '1s', '--java-map')
        assert done.returncode == 0, done.stderr
        assert time.monotonic() - begin < 20
    finally:
        for pid in pids:
            os.unlink(f'/tmp/.java_pid{pid}')
    assert done.stderr.count('no answer') == 1
    assert 'answers of Java virtual machines of the processes of the user' in done.stderr
