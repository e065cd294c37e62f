# SPDX-License-Identifier: MIT
"""Paths of system calls and arguments of programs, which a program in the kernel copies."""
import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from command import ATTAR, is_waiting, run, wait_until
from scripts import rows, rows_of

needs_program = pytest.mark.skipif(
    os.geteuid() or not Path('/sys/kernel/btf/vmlinux').exists(),
    reason='programs in the kernel need root and the types of the kernel')

# Each path is overwritten as soon as the call has returned; some fail, and threads share them.
OPENS = r'''
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static char paths[2][64];
static int n;
static void *work(void *at)
{
    char *path = paths[(long)at];
    for (int i = 0; i < n; i++) {
        snprintf(path, 64, "/proc/%s/t%ld-%d", i % 2 ? "self" : "none", (long)at, i);
        open(path, O_RDONLY);
        memset(path, 'x', 63);
    }
    return NULL;
}
int main(int argc, char **argv)
{
    pthread_t other;
    n = atoi(argv[1]);
    pthread_create(&other, NULL, work, (void *)1);
    work(NULL);
    pthread_join(other, NULL);
    return 0;
}
'''

# The page with the path is not in memory when the call is made: it is mapped from a file.
MAPPED = r'''
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    for (int i = 0; i < 50; i++) {
        int fd = open(argv[1], O_RDONLY);
        char *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
        access(page, F_OK), open(page, O_RDONLY), munmap(page, 4096), close(fd);
        page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd = open(argv[1], O_RDONLY), 0);
        open(page, O_RDONLY), munmap(page, 4096), close(fd);
    }
    return 0;
}
'''


def build(tmp_path, source):
    (tmp_path / 'x.c').write_text(source)
    subprocess.run(['cc', '-O1', '-pthread', '-w', '-o', tmp_path / 'x', tmp_path / 'x.c'],
                   check=True)
    return tmp_path / 'x'


def opened(tmp_path, *command, options=()):
    out = tmp_path / 'x.json'
    done = run('opensnoop', '-q', '-m', 512, '-o', out, *options, '--', *command, timeout=60)
    assert done.returncode == 0, done.stderr
    reports = [json.loads(line) for line in out.read_text().splitlines()]
    lines = [row for report in reports if any(s['name'] == 'events' for s in report['sections'])
             for row in rows(report, 'events')]
    return [row['PATH'] for row in lines], reports[-1]


@needs_program
def test_each_path_is_exact(tmp_path):
    n = 4000
    paths, report = opened(tmp_path, build(tmp_path, OPENS), n)
    assert report['notes']['lost'] == 0
    for thread in range(2):
        expected = [f'/proc/{"self" if i % 2 else "none"}/t{thread}-{i}' for i in range(n)]
        assert [path for path in paths if f'/t{thread}-' in path] == expected
    assert not [path for path in paths if 'unknown' in path or path.endswith('?')]


@needs_program
def test_paths_that_are_not_in_memory(tmp_path):
    (tmp_path / 'page').write_bytes(b'/nonexistent/path\0'.ljust(4096, b'\0'))
    paths, _ = opened(tmp_path, build(tmp_path, MAPPED), tmp_path / 'page')
    assert paths.count('/nonexistent/path') == 100


# The first call of each turn has an address that cannot be read, which the second one can.
UNREADABLE = r'''
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
int main(void)
{
    char *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < 50; i++) {
        open(page, O_RDONLY);
        mprotect(page, 4096, PROT_READ | PROT_WRITE);
        strcpy(page, "/nonexistent/second");
        open(page, O_RDONLY);
        mprotect(page, 4096, PROT_NONE);
    }
    return 0;
}
'''


@needs_program
def test_path_of_a_later_call(tmp_path):
    """What was not copied is unknown, though a later call has a text at the same address."""
    paths, _ = opened(tmp_path, build(tmp_path, UNREADABLE))
    assert paths.count('/nonexistent/second') == 50
    assert paths.count('[unknown]') == 50


@needs_program
def test_empty_path(tmp_path):
    source = '#include <fcntl.h>\nint main(void) { return open("", O_RDONLY) != -1; }\n'
    paths, _ = opened(tmp_path, build(tmp_path, source))
    assert paths[-1] == '""'


# Tracepoints of these calls are named after functions of the kernel.
OTHER_NAMES = r'''
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
int main(void)
{
    static char path[64];
    struct stat status;
    for (int i = 0; i < 50; i++) {
        sprintf(path, "/nonexistent/%d", i);
        CALL;
        memset(path, 'x', 63);
    }
    return 0;
}
'''


@needs_program
@pytest.mark.parametrize('name, column, call', [
    ('mountsnoop', 'TARGET', 'umount2(path, 0)'), ('statsnoop', 'PATH', 'stat(path, &status)')])
def test_calls_with_other_names(tmp_path, name, column, call):
    out = tmp_path / 'x.json'
    done = run(name, '-q', '-o', out, '--', build(tmp_path, OTHER_NAMES.replace('CALL', call)))
    assert done.returncode == 0, done.stderr
    reports = [json.loads(line) for line in out.read_text().splitlines()]
    paths = [row[column] for report in reports if report['sections'][:1]
             for row in rows_of(report['sections'][0]) if column in row]
    assert [path for path in paths if 'nonexistent' in path] == [
        f'/nonexistent/{i}' for i in range(50)]


@needs_program
def test_without_the_program(tmp_path):
    """Others than the right path are not printed."""
    if Path('/sys/kernel/tracing/kprobe_events').exists():
        pytest.skip('probes copy the paths')
    paths, report = opened(tmp_path, build(tmp_path, OPENS), 200, options=['--in-kernel', 'no'])
    assert paths.count('[unknown]') > 200
    assert any('[unknown]' in remark for remark in report['remarks'])


# Executes the programs of a plan, one after the other: records of the number of strings, then the
# file and the arguments. "all": in children that share its memory; "fail": all attempts fail, and
# the strings are overwritten after each. "wait-": it waits for a line on stdin at the start, and in
# the middle, when it prints one.
EXECS = r'''
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
static char *strings[2000];
int main(int argc, char **argv)
{
    int fd = open(argv[2], O_RDONLY), is_all = !strstr(argv[1], "fail"), n = 0;
    int waits = !!strstr(argv[1], "wait-");
    struct stat about;
    fstat(fd, &about);
    char *plan = malloc(about.st_size), *at = plan, *end = plan + about.st_size;
    if (read(fd, plan, about.st_size) != about.st_size)
        return 1;
    if (waits)
        getchar();
    for (; at < end; n++) {
        if (waits && at > plan + about.st_size / 2) {
            puts("half"), fflush(stdout), getchar();
            waits = 0;
        }
        int count = atoi(at);
        char *begin = at;
        at += strlen(at) + 1;
        for (int i = 0; i < count; i++, at += strlen(at) + 1)
            strings[i] = at;
        strings[count] = NULL;
        if (is_all) {
            if (vfork() == 0) {
                execv(strings[0], strings + 1);
                _exit(127);
            }
            wait(NULL);
        } else if (n % 2) {
            syscall(SYS_execveat, AT_FDCWD, strings[0], strings + 1, environ, 0);
        } else {
            execv(strings[0], strings + 1);
        }
        memset(begin, 'x', at - begin);
    }
    return 0;
}
'''

TRUE = 'int main(void) { return 0; }'


def compiled(tmp_path, name, source, *options):
    (tmp_path / f'{name}.c').write_text(source)
    subprocess.run(['cc', '-O1', '-w', '-o', tmp_path / name, tmp_path / f'{name}.c', *options],
                   check=True)
    return tmp_path / name


def arguments(i):
    """Return the arguments of program i, the first of which is its name."""
    number = b'%d' % i
    return [[], [b'name' + number], [b'n', b'a\nb\tc' + number, b'\x1b[0m'],
            [b'n', b'\xff\xfe' + number, b'\xc3\xa4', b'\xe2\x82'],
            [b'n', b'x' * 60000 + number, b'y' * 60000 + number],
            [b'n'] + [b'%d-%d' % (i, j) for j in range(200)],
            [b'n', b'', number, b''],
            [b'n', b'z' * (1015 + i % 16), number, b'z' * (2040 + i % 16), number]][i % 8]


def shown(words):
    """Return how JSON has the arguments: bytes that are not UTF-8 are U+FFFD."""
    text = b' '.join(words[1:]).decode('utf-8', 'surrogateescape')
    return ''.join('\ufffd' if 0xdc80 <= ord(c) <= 0xdcff else c for c in text)


def write_plan(tmp_path, plan):
    (tmp_path / 'plan').write_bytes(b''.join(
        b'%d\0' % len(words) + b''.join(os.fsencode(w) + b'\0' for w in words)
        for words in plan))
    return tmp_path / 'plan'


def executed(text):
    """Return the rows of the programs, and the remarks of the last report."""
    reports = [json.loads(line) for line in text.splitlines()]
    found = [row for report in reports if any(s['name'] == 'programs' for s in report['sections'])
             for row in rows(report, 'programs')]
    return found, reports[-1].get('remarks', [])


@needs_program
def test_all_arguments_are_exact(tmp_path):
    true = compiled(tmp_path, 'true', TRUE, '-static')
    plan = [[true, *arguments(i)] for i in range(240)]
    done = run('execsnoop', '-q', '--format', 'json', '--', compiled(tmp_path, 'execs', EXECS),
               'all', write_plan(tmp_path, plan), timeout=60)
    assert done.returncode == 0, done.stderr
    found, remarks = executed(done.stdout)
    found = [row for row in found if row['file'] == str(true)]
    assert [row['arguments'] for row in found] == [shown(words[1:]) for words in plan]
    assert not [remark for remark in remarks if 'arguments' in remark or 'lost' in remark]


@needs_program
def test_more_arguments_than_are_copied(tmp_path):
    plan = [['/bin/true', 'n', *(f'{i:05}' + 'x' * 994 for i in range(200))]]
    done = run('execsnoop', '-q', '-n', 'true', '--format', 'json', '--',
               compiled(tmp_path, 'execs', EXECS), 'all', write_plan(tmp_path, plan), timeout=60)
    row, = executed(done.stdout)[0]
    text = ' '.join(plan[0][2:])
    assert row['arguments'] == text[:128 * 1024 - 2] + '...'  # without the name and its NUL


# Each program of a process executes the next one of the same process at once.
CHAIN = r'''
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    char left[16];
    snprintf(left, 16, "%d", atoi(argv[1]) - 1);
    return atoi(argv[1]) ? execl(argv[0], argv[0], left, (char *)0) : 0;
}
'''


@needs_program
def test_programs_of_one_process(tmp_path):
    chain = compiled(tmp_path, 'chain', CHAIN, '-static')
    done = run('execsnoop', '-q', '--format', 'json', '--', chain, 500, timeout=60)
    found, _ = executed(done.stdout)
    assert [row['arguments'] for row in found] == [str(500 - i) for i in range(501)]


@needs_program
def test_failed_attempts_are_exact(tmp_path):
    plan = [[f'/nonexistent/{i}' + i % 3 * 700 * 'p', *arguments(i)] for i in range(240)]
    plan = [words for i, words in enumerate(plan) if i % 8 != 4]
    done = run('execsnoop', '-q', '-x', '--format', 'json', '--',
               compiled(tmp_path, 'execs', EXECS), 'fail', write_plan(tmp_path, plan), timeout=60)
    assert done.returncode == 0, done.stderr
    found, remarks = executed(done.stdout)
    found = [row for row in found if row['result'] == 'ENOENT']
    assert [(row['file'], row['arguments']) for row in found] == [
        (words[0], shown(words[1:])) for words in plan]
    assert not [remark for remark in remarks if 'failed attempt' in remark or 'lost' in remark]


# The second argument cannot be read; the array of the second attempt cannot either.
UNREADABLE_ARGUMENTS = r'''
#include <sys/mman.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    char *page = mmap(0, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    execv("/nonexistent/1", (char *[]){"a", "b", page, "c", 0});
    execv("/nonexistent/2", (char **)page);
    return 0;
}
'''


@needs_program
def test_attempts_that_cannot_be_read(tmp_path):
    program = compiled(tmp_path, 'unreadable', UNREADABLE_ARGUMENTS)
    done = run('execsnoop', '-q', '-x', '--format', 'json', '--', program)
    found, remarks = executed(done.stdout)
    assert [(row['file'], row['arguments']) for row in found if row['result'] != 'ok'] == [
        ('/nonexistent/1', 'b [unknown] c'), ('/nonexistent/2', '')]
    assert any(remark.startswith('2 failed attempts have ') for remark in remarks)


def stopped(program, *options):
    """Run a profiler that is stopped while the program does half of its work; return the output."""
    watched = subprocess.Popen(list(map(str, program)), stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE)
    attar = subprocess.Popen([ATTAR, *map(str, options), '-q', '--format', 'json', '-m', '4096',
                              '-p', str(watched.pid)], stdout=subprocess.PIPE, text=True)
    try:
        wait_until(lambda: is_waiting(attar), 'attar waits')
        attar.send_signal(signal.SIGSTOP)
        watched.stdin.write(b'\n')
        watched.stdin.flush()
        assert watched.stdout.readline() == b'half\n'
        attar.send_signal(signal.SIGCONT)
        text = attar.stdout.readline()  # the ring was read
        watched.communicate(b'\n', timeout=60)
        text += attar.stdout.read()
        assert attar.wait(60) == 0
        return text
    finally:
        for process in attar, watched:
            process.kill()
            process.wait()


@needs_program
def test_arguments_that_the_ring_has_no_room_for(tmp_path):
    """What is not lost is exact; the rest is counted as lost."""
    plan = [['/bin/true', 'n', str(i), 'x' * 100000] for i in range(120)]
    text = stopped([compiled(tmp_path, 'execs', EXECS), 'wait-all', write_plan(tmp_path, plan)],
                   'execsnoop', '-n', 'true')
    found, remarks = executed(text)
    assert len(found) == 120
    lost = [row for row in found if row['arguments'] == '[lost]']
    assert 18 <= len(lost) < 100
    assert all(row['arguments'] in ('[lost]', shown([os.fsencode(w) for w in words[1:]]))
               for row, words in zip(found, plan, strict=True))
    assert [remark.split()[0] for remark in remarks if '[lost]' in remark] == [str(len(lost))]
    assert not [remark for remark in remarks if 'unknown' in remark]


@needs_program
def test_attempts_that_the_ring_has_no_room_for(tmp_path):
    """All of one thread: none has the arguments of a later one."""
    plan = [[f'/nonexistent/{i}', 'n', str(i), 'x' * 30000] for i in range(400)]
    text = stopped([compiled(tmp_path, 'execs', EXECS), 'wait-fail', write_plan(tmp_path, plan)],
                   'execsnoop', '-x')
    found = [row for row in executed(text)[0] if row['result'] == 'ENOENT']
    lost = [row for row in found if row['file'] == '[lost]']
    assert 60 < len(lost) < 300
    assert all((row['file'], row['arguments']) in (
        ('[lost]', '[lost]'), (words[0], shown([os.fsencode(w) for w in words[1:]])))
               for row, words in zip(found, plan, strict=True))


@needs_program
@pytest.mark.parametrize('others', [[['/nonexistent', 'n', 'x' * 30000]] * 180,
                                    [['/bin/true', 'n', 'x' * 100000]] * 60])
def test_long_arguments_and_attempts_leave_room(tmp_path, others):
    """They are copied while at most half of the ring is full; the arguments of others always."""
    plan = [*others, *([['/bin/true', 'n', f'short {i}'] for i in range(100)]), *others]
    text = stopped([compiled(tmp_path, 'execs', EXECS), 'wait-all', write_plan(tmp_path, plan)],
                   'execsnoop', '-x')
    found = [row['arguments'] for row in executed(text)[0]]
    assert '[lost]' in found
    assert [text for text in found if text.startswith('short')] == [
        f'short {i}' for i in range(100)]


# One thread, and one address for all paths.
MANY_PATHS = r'''
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
int main(void)
{
    static char path[1100];
    getchar();
    for (int i = 0; i < 12000; i++) {
        if (i == 6000)
            puts("half"), fflush(stdout), getchar();
        memset(path, 'p', 1000);
        path[sprintf(path, "/none/%d", i)] = '/';
        for (int k = 200; k < 1000; k += 200)
            path[k] = '/';
        open(path, O_RDONLY);
    }
    return 0;
}
'''


@needs_program
def test_paths_that_the_ring_has_no_room_for(tmp_path):
    text = stopped([compiled(tmp_path, 'paths', MANY_PATHS)], 'opensnoop')
    reports = [json.loads(line) for line in text.splitlines()]
    paths = [row['PATH'] for report in reports
             if any(s['name'] == 'events' for s in report['sections'])
             for row in rows(report, 'events')]
    lost = paths.count('[lost]')
    assert len(paths) == 12000 and 1000 < lost < 6000
    wrong = [(i, path[:40]) for i, path in enumerate(paths)
             if path != '[lost]' and not path.startswith(f'/none/{i}/')]
    assert not wrong, (len(wrong), wrong[:5], lost)
    remarks = reports[-1]['remarks']
    assert [remark.split()[0] for remark in remarks if '[lost]' in remark] == [str(lost)]
    assert not [remark for remark in remarks if '[unknown]' in remark]


@needs_program
def test_path_with_control_characters(tmp_path):
    (tmp_path / 'page').write_bytes(b'/nonexistent/a\nb\x01\0'.ljust(4096, b'\0'))
    paths, _ = opened(tmp_path, build(tmp_path, MAPPED), tmp_path / 'page')
    assert paths.count('/nonexistent/a\nb\x01') == 100


@needs_program
def test_arguments_without_the_program(tmp_path):
    """They are right, cut or unknown, as a remark says."""
    true = compiled(tmp_path, 'true', TRUE, '-static')
    plan = [[true, *arguments(i)] for i in range(200)]
    done = run('execsnoop', '-q', '--in-kernel', 'no', '--format', 'json', '--',
               compiled(tmp_path, 'execs', EXECS), 'all', write_plan(tmp_path, plan), timeout=60)
    found, remarks = executed(done.stdout)
    found = [row for row in found if row['file'] == str(true)]
    for row, words in zip(found, plan, strict=True):
        text = row['arguments'].removesuffix('...')
        assert text == '[unknown]' or shown(words[1:]).startswith(text)
    unknown = [row for row in found if row['arguments'] == '[unknown]']
    if unknown:
        assert any(remark.startswith(f'the arguments of {len(unknown)} program') and
                   'BTF' in remark for remark in remarks)


@needs_program
@pytest.mark.parametrize('how, shown', [('auto', ('/nonexistent/q', 'a')), ('no', (None, None))])
def test_attempt_with_and_without_the_program(how, shown):
    done = run('execsnoop', '-q', '-x', '--in-kernel', how, '--format', 'json', '--', 'sh', '-c',
               '/nonexistent/q a')
    found, remarks = executed(done.stdout)
    row, = (row for row in found if row['result'] == 'ENOENT')
    assert (row['file'], row['arguments']) == shown
    assert any('failed attempts are not known' in remark for remark in remarks) == (how == 'no')
