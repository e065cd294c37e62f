# SPDX-License-Identifier: MIT
"""A program of another user that looks like an interpreter, whose lists never end."""
import subprocess

import adversary

# What attar looks for in CPython 3.11: the threads are a ring over 64 pages, without the number of
# any thread that exists.
PROGRAM = r'''
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
uint64_t Py_Version = 0x030b00f0, PyCode_Type[8], _PyRuntime[8];
static uint64_t interpreter[8];
static void *wait_for_ever(void *_) { pause(); return _; }
int main(void)
{
    uint64_t *pages = mmap(NULL, 64 * 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_t thread;
    for (int i = 0; i < 64; i++)
        pages[512 * i + 1] = (uint64_t)(pages + 512 * ((i + 1) % 64));
    _PyRuntime[5] = (uint64_t)interpreter;
    interpreter[0] = (uint64_t)interpreter;
    interpreter[2] = (uint64_t)pages;
    for (int i = 0; i < 100; i++)
        pthread_create(&thread, NULL, wait_for_ever, NULL);
    puts("ready");
    fflush(stdout);
    pause();
}
'''


def test_endless_lists_of_threads(theirs, nobody):
    path = adversary.compile_c(theirs / 'python3-x', PROGRAM, '-rdynamic', '-pthread', '-w')
    process = nobody.start(path, stdout=subprocess.PIPE)
    process.stdout.readline()
    _, seconds, text, said = adversary.measure('stack', '-p', process.pid)
    assert text.count('python3-x') > 100
    assert 'takes long: further threads are shown without them' in said
    assert seconds < 4


def test_endless_lists_again_and_again(theirs, nobody):
    """Only the first turn gets three seconds."""
    path = adversary.compile_c(theirs / 'python3-x', PROGRAM, '-rdynamic', '-pthread', '-w')
    process = nobody.start(path, stdout=subprocess.PIPE)
    process.stdout.readline()
    _, seconds, text, said = adversary.measure('stack', '-p', process.pid, '--repeat', '4',
                                               '--waiting')
    assert 'functions' in text
    assert said.count('takes long: further threads are shown without them') == 1
    assert seconds < 8
