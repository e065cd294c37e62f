# SPDX-License-Identifier: MIT
"""Programs written for libkperf, built with its headers and linked with its library."""
import csv
import os
import re
import subprocess

import pytest

import kperf_readme
from command import BUILD, ROOT, compiler, has, perf, run, workload
from faults import sanitized

HEADERS = ('pmu.h', 'symbol.h', 'pcerrc.h', 'proc_data_types.h')
LIBRARY = BUILD / 'kperf/libkperf.so'

# The example of libkperf's README, with work of known faults in place of its sleep.
COUNT = '''
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "pmu.h"
#include "pcerrc.h"
#include "symbol.h"

static void work(size_t n)
{
    char *area = (char *)mmap(NULL, n * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                              -1, 0);
    madvise(area, n * 4096, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < n; i++)
        area[i * 4096] = 1;
    munmap(area, n * 4096);
}

int main(void)
{
    int pidList[1];
    pidList[0] = getpid();
    char *evtList[1];
    char name[] = "page-faults";
    evtList[0] = name;
    PmuAttr attr = {0};
    attr.evtList = evtList;
    attr.numEvt = 1;
    attr.pidList = pidList;
    attr.numPid = 1;
    int pd = PmuOpen(COUNTING, &attr);
    if (pd == -1) {
        printf("%d %s\\n", Perrorno(), Perror());
        return 1;
    }
    PmuEnable(pd);
    PmuDisable(pd);
    PmuEnable(pd);
    work(1000);
    PmuDisable(pd);
    PmuData *data = NULL;
    int len = PmuRead(pd, &data);
    for (int i = 0; i < len; ++i)
        printf("%s %llu\\n", data[i].evt, (unsigned long long)data[i].count);
    PmuDataFree(data);
    PmuClose(pd);
    return 0;
}
'''

# Samples of its own function, written to a file.
WRITE = '''
#include <stdio.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>
#include "pmu.h"
#include "pcerrc.h"

__attribute__((noinline)) void burn_here(void)
{
    clock_t end = clock() + CLOCKS_PER_SEC / 4;
    while (clock() < end)
        for (volatile int i = 0; i < 1000000; i++)
            ;
}

int main(int argc, char **argv)
{
    char event[] = "cpu-clock", *events[] = {event};
    int pids[] = {getpid()};
    struct PmuAttr attr = {0};
    attr.evtList = events;
    attr.numEvt = 1;
    attr.pidList = pids;
    attr.numPid = 1;
    attr.useFreq = 1;
    attr.freq = 1000;
    attr.callStack = 1;
    attr.excludeKernel = 1;
    int pd = PmuOpen(SAMPLING, &attr);
    PmuEnable(pd);
    burn_here();
    prctl(PR_SET_NAME, "renamed");
    burn_here();
    PmuDisable(pd);
    struct PmuData *data;
    int n = PmuRead(pd, &data);
    PmuFile file = PmuBeginWrite(argv[1], &attr, 0);
    if (!file || PmuWriteData(file, data, n) != SUCCESS) {
        printf("%s\\n", Perror());
        return 1;
    }
    PmuEndWrite(file);
    printf("%d\\n", n);
    PmuDataFree(data);
    PmuClose(pd);
    return 0;
}
'''


# The page faults of a command from its exec on.
COMMAND = '''
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "pmu.h"
#include "pcerrc.h"

int main(int argc, char **argv)
{
    char event[] = "page-faults", *events[] = {event}, byte;
    int go[2], pids[1];
    PmuAttr attr;
    PmuData *data = NULL;

    if (argc < 2 || pipe(go) != 0)
        return 1;
    pids[0] = fork();
    if (pids[0] == 0) {
        if (read(go[0], &byte, 1) == 1)
            execv(argv[1], argv + 1);
        _exit(1);
    }
    memset(&attr, 0, sizeof(attr));
    attr.evtList = events;
    attr.numEvt = 1;
    attr.pidList = pids;
    attr.numPid = 1;
    attr.enableOnExec = 1;
    int pd = PmuOpen(COUNTING, &attr);
    if (pd == -1 || write(go[1], "x", 1) != 1) {
        printf("%s\\n", Perror());
        return 1;
    }
    waitpid(pids[0], NULL, 0);
    for (int i = 0, len = PmuRead(pd, &data); i < len; ++i)
        printf("%llu\\n", (unsigned long long)data[i].count);
    PmuDataFree(data);
    PmuClose(pd);
    return 0;
}
'''


# Tasks of each kind, of two threads at the same time, and 100 tasks; what they return is freed.
KINDS = '''
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "pmu.h"
#include "pcerrc.h"
#include "symbol.h"

static PmuAttr attributes(char **events, int *pids)
{
    PmuAttr attr = {0};
    attr.evtList = events;
    attr.numEvt = 1;
    attr.pidList = pids;
    attr.numPid = 1;
    return attr;
}

static void must(int is_true, const char *what)
{
    if (is_true)
        return;
    printf("%s: %d %s\\n", what, Perrorno(), Perror());
    exit(1);
}

static void calls(void)
{
    for (int i = 0; i < 50; i++)
        getppid();
}

static void sample(enum SymbolMode mode, const char *path)
{
    char *events[] = {"syscalls:sys_enter_getppid"};
    int pids[] = {getpid()};
    PmuAttr attr = attributes(events, pids);
    PmuData *data, *all = NULL;

    attr.symbolMode = mode;
    attr.callStack = 1;
    int pd = PmuOpen(SAMPLING, &attr);
    must(pd > 0 && PmuEnable(pd) == 0, "sample");
    calls();
    int n = PmuRead(pd, &data);
    must(n >= 50 && PmuAppendData(data, &all) == n && PmuAppendData(data, &all) == 2 * n, "append");
    PmuDataFree(data);
    must(ResolvePmuDataSymbol(all) == 0 && all[n].stack, "resolve");
    must(PmuGetFieldExp(all[0].rawData, "__syscall_nr") != NULL, "field");
    PmuFile file = PmuBeginWrite(path, &attr, 0);
    must(file && PmuWriteData(file, all, 2 * n) == 0, "write");
    PmuEndWrite(file);
    PmuClose(pd);
    PmuDataFree(all);
}

static void trace(void)
{
    const char *funcs[] = {"getppid"};
    int pids[] = {getpid()};
    PmuTraceAttr attr = {.funcs = funcs, .numFuncs = 1, .pidList = pids, .numPid = 1};
    PmuTraceData *data;
    int pd = PmuTraceOpen(TRACE_SYS_CALL, &attr);
    must(pd > 0 && PmuTraceEnable(pd) == 0, "trace");
    calls();
    must(PmuTraceRead(pd, &data) == 50, "calls");
    PmuTraceClose(pd);
    PmuTraceDataFree(data);
}

static void resolve(void)
{
    char *id = NULL;
    must(SymResolverRecordModule(getpid()) == 0, "module");
    struct Symbol *symbol = SymResolverMapAddr(getpid(), (unsigned long)calls);
    must(symbol != NULL, "symbol");
    FreeSymbolPtr(symbol);
    if (SymGetBuildId("/proc/self/exe", &id) == 0)
        free(id);
    SymResolverDestroy();
}

static void *count(void *arg)
{
    char *events[] = {"page-faults"};
    int pids[] = {getpid()}, pds[50];
    PmuAttr attr = attributes(events, pids);
    PmuData *data;

    attr.includeNewFork = arg != NULL;
    for (int i = 0; i < 50; i++) {
        pds[i] = PmuOpen(COUNTING, &attr);
        must(pds[i] > 0 && PmuEnable(pds[i]) == 0, "count");
        attr.includeNewFork = 0;
    }
    for (int i = 0; i < 50; i++) {
        must(PmuRead(pds[i], &data) > 0, "read");
        PmuClose(pds[i]);
        PmuDataFree(data);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    struct ProcData *files;
    pthread_t thread;
    unsigned n;

    must(pthread_create(&thread, NULL, count, NULL) == 0, "thread");
    count(argv);
    pthread_join(thread, NULL);
    if (geteuid() == 0) {
        sample(NO_SYMBOL_RESOLVE, argv[1]);
        sample(RESOLVE_ELF_DWARF, argv[1]);
        trace();
    }
    resolve();
    must(ProcDataRead(getpid(), &files, &n) == 0, "files");
    ProcDataFree(files, n);
    must(PmuOpen(COUNTING, NULL) == -1 && *Perror(), "error");
    return 0;
}
'''


def build(folder, text, language='c', flags=(), libraries=('-lkperf', '-lsym')):
    """Compile a program against the built library, which has both of its names."""
    if sanitized():
        pytest.skip('the library needs the sanitizers of its program')
    name, *more = compiler()
    if language == 'c++':
        name = name.replace('gcc', 'g++').replace('clang', 'clang++')
    if not has(name):
        pytest.skip(f'{name} is not installed')
    for link in ('libkperf.so', 'libsym.so'):
        (folder / link).exists() or (folder / link).symlink_to(LIBRARY)
    source = folder / ('program.cc' if language == 'c++' else 'program.c')
    source.write_text(text)
    program = folder / f'program-{language}'
    subprocess.run([name, *more, '-g', '-O1', '-fno-omit-frame-pointer', *flags, '-o', program,
                    source, f'-I{ROOT}/kperf', f'-L{folder}', *libraries,
                    f'-Wl,-rpath,{BUILD}/kperf', f'-Wl,-rpath-link,{BUILD}/src'],
                   check=True)
    return program


@pytest.mark.parametrize('language', ['c', 'c++'])
def test_the_example_counts_exactly(tmp_path, language):
    program = build(tmp_path, COUNT, language, ['-Wall', '-Wextra', '-Werror',
                                                '-Wno-missing-field-initializers'])
    done = subprocess.run([program], capture_output=True, text=True, check=True)
    assert done.stdout == 'page-faults 1000\n'


@pytest.mark.parametrize('language', ['c', 'c++'])
def test_the_readme_runs_unmodified(tmp_path, language):
    """Its counts are compared in test_hardware.py; without a cycle counter no call crashes."""
    program = build(tmp_path, kperf_readme.c_program(), language, ['-Wno-write-strings'])
    done = subprocess.run([program, str(os.getpid())], capture_output=True, text=True, check=True)
    *rows, length = done.stdout.splitlines()
    assert len(rows) == max(int(length), 0) and done.stderr == ''
    assert all(row.split()[:2] == ['cycles', str(os.getpid())] for row in rows)


# Samples of tracepoints and of page faults in a file; prints the fields of the tracepoints.
WRITE_TRACEPOINTS = '''
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "pmu.h"
#include "pcerrc.h"

static void must(int is_true, const char *what)
{
    if (is_true)
        return;
    printf("%s: %d %s\\n", what, Perrorno(), Perror());
    exit(1);
}

int main(int argc, char **argv)
{
    char *events[] = {"syscalls:sys_enter_lseek", "syscalls:sys_exit_lseek", "page-faults"};
    int pids[] = {getpid()};
    PmuAttr attr = {0};
    PmuData *data;

    attr.evtList = events;
    attr.numEvt = 3;
    attr.pidList = pids;
    attr.numPid = 1;
    attr.period = 1;
    attr.callStack = argc > 2;
    int pd = PmuOpen(SAMPLING, &attr);
    must(pd > 0 && PmuEnable(pd) == 0, "sample");
    for (long i = 0; i < 20; i++)
        syscall(SYS_lseek, -1, 1000 + i, 2);
    char *pages = mmap(NULL, 30 * 4096, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    must(pages != MAP_FAILED && madvise(pages, 30 * 4096, MADV_NOHUGEPAGE) == 0, "map");
    for (int i = 0; i < 30; i++)
        pages[i * 4096] = 1;
    must(PmuDisable(pd) == 0, "disable");
    int n = PmuRead(pd, &data);
    PmuFile file = PmuBeginWrite(argv[1], &attr, 0);
    must(n > 0 && file && PmuWriteData(file, data, n) == 0, "write");
    PmuEndWrite(file);
    must(Perrorno() == 0, "end");
    for (int i = 0; i < n; i++) {
        long offset = 0;
        if (data[i].rawData && PmuGetField(data[i].rawData, "offset", &offset, 8) == 0)
            printf("%s offset: 0x%08lx\\n", data[i].evt, offset);
        else if (data[i].rawData &&
                 PmuGetField(data[i].rawData, "ret", &offset, 8) == 0)
            printf("%s 0x%lx\\n", data[i].evt, offset);
        else
            printf("%s\\n", data[i].evt);
    }
    return 0;
}
'''


@pytest.mark.parametrize('stacks', [[], ['stacks']], ids=['plain', 'stacks'])
def test_perf_and_attar_read_tracepoints_of_a_written_file(root, needs_perf, tmp_path, stacks):
    """Their fields are those that the program has; samples of other events are readable, too."""
    program, data = build(tmp_path, WRITE_TRACEPOINTS), tmp_path / 'x.data'
    done = subprocess.run([program, data, *stacks], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    rows = done.stdout.splitlines()
    entries = [f'offset: 0x{1000 + i:08x}' for i in range(20)]
    of_enter = [row for row in rows if row.startswith('syscalls:sys_enter_lseek')]
    assert of_enter == [f'syscalls:sys_enter_lseek {entry}' for entry in entries]
    assert sum(row.startswith('syscalls:sys_exit_lseek 0xff') for row in rows) == 20
    faults = rows.count('page-faults')
    assert faults >= 30 and len(rows) == faults + 40

    lines = perf('script', '-i', data, '-F', 'event,trace').splitlines()
    assert re.findall(r'offset: 0x\w+', '\n'.join(lines)) == entries
    returned = [row.split()[1] for row in rows if 'sys_exit' in row]
    assert [line.split()[1] for line in lines if 'sys_exit_lseek' in line] == returned
    assert sum('page-faults' in line for line in lines) == faults
    names = [line.removesuffix(':HG') for line in perf('evlist', '-i', data).splitlines()[:3]]
    assert names == ['syscalls:sys_enter_lseek', 'syscalls:sys_exit_lseek', 'page-faults']
    shown = run('trace', '--input', data, '--format', 'csv')
    assert shown.returncode == 0, shown.stderr
    assert re.findall(r'offset: 0x\w+', shown.stdout) == entries


# Samples of a command, which has ended when they are written to a file.
WRITE_COMMAND = '''
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
#include "pmu.h"
#include "pcerrc.h"

int main(int argc, char **argv)
{
    char *events[] = {"cpu-clock"}, byte;
    int go[2], pids[1];
    PmuAttr attr = {0};
    PmuData *data;

    if (argc < 3 || pipe(go) != 0)
        return 1;
    pids[0] = fork();
    if (pids[0] == 0) {
        if (read(go[0], &byte, 1) == 1)
            execv(argv[2], argv + 2);
        _exit(1);
    }
    attr.evtList = events;
    attr.numEvt = 1;
    attr.pidList = pids;
    attr.numPid = 1;
    attr.period = 1000000;
    attr.enableOnExec = 1;
    int pd = PmuOpen(SAMPLING, &attr);
    if (pd < 0 || write(go[1], "x", 1) != 1)
        return 1;
    waitpid(pids[0], NULL, 0);
    int n = PmuRead(pd, &data);
    PmuFile file = PmuBeginWrite(argv[1], &attr, 0);
    if (!file || PmuWriteData(file, data, n) != SUCCESS) {
        printf("%s\\n", Perror());
        return 1;
    }
    PmuEndWrite(file);
    printf("%d\\n", n);
    return 0;
}
'''


def test_code_of_an_ended_process_in_a_written_file(needs_perf, tmp_path):
    program, data = build(tmp_path, WRITE_COMMAND), tmp_path / 'x.data'
    done = subprocess.run([program, data, workload('split7030'), '400'], capture_output=True,
                          text=True, check=True)
    lines = perf('script', '-i', data, '-F', 'ip,sym').splitlines()
    assert len(lines) == int(done.stdout)
    heavy, light = (sum(line.endswith(name) for line in lines) for name in ('heavy', 'light'))
    assert heavy + light > 0.9 * len(lines) > 100
    assert 0.6 < heavy / (heavy + light) < 0.8


def test_pattern_of_tracepoints_in_a_written_file(root, needs_perf, tmp_path):
    """Each event of the pattern has its own format and name."""
    source = WRITE_TRACEPOINTS.replace(
        '"syscalls:sys_enter_lseek", "syscalls:sys_exit_lseek"', '"syscalls:sys_*_lseek"')
    program, data = build(tmp_path, source.replace('numEvt = 3', 'numEvt = 2')), tmp_path / 'x.data'
    subprocess.run([program, data], capture_output=True, check=True)
    lines = perf('script', '-i', data, '-F', 'event,trace').splitlines()
    offsets = re.findall(r'sys_enter_lseek:.* offset: 0x(\w+)', '\n'.join(lines))
    assert [int(offset, 16) for offset in offsets] == list(range(1000, 1020))
    assert sum('sys_exit_lseek: 0xff' in line for line in lines) == 20
    attrs = perf('evlist', '-v', '-i', data)
    assert len(re.findall(r'sample_period.*?: 1,', attrs)) == 3



def exported():
    out = subprocess.run(['nm', '-D', '--defined-only', LIBRARY], capture_output=True, text=True,
                         check=True).stdout
    return {line.split()[-1] for line in out.splitlines()}


def test_a_program_linked_with_libkperf(tmp_path):
    """It needs two libraries with the names of libkperf's; both are the built one."""
    if sanitized():
        pytest.skip('the library needs the sanitizers of its program')
    (tmp_path / 'theirs').mkdir()
    (tmp_path / 'ours').mkdir()
    (tmp_path / 'theirs.c').write_text(''.join(f'void {name}(void) {{}}\n' for name in exported()))
    for name in ('libkperf.so', 'libsym.so'):
        subprocess.run([*compiler(), '-shared', '-fPIC', '-o', tmp_path / 'theirs' / name,
                        f'-Wl,-soname,{name}', tmp_path / 'theirs.c'], check=True)
        (tmp_path / 'ours' / name).symlink_to(LIBRARY)
    (tmp_path / 'count.c').write_text(COUNT)
    subprocess.run([*compiler(), '-o', tmp_path / 'count', tmp_path / 'count.c', f'-I{ROOT}/kperf',
                    f'-L{tmp_path}/theirs', '-Wl,--no-as-needed', '-lkperf', '-lsym'], check=True)
    needed = subprocess.run(['objdump', '-p', tmp_path / 'count'], capture_output=True, text=True,
                            check=True).stdout
    assert {'libkperf.so', 'libsym.so'} <= set(re.findall(r'NEEDED +(\S+)', needed))
    done = subprocess.run([tmp_path / 'count'], capture_output=True, text=True, check=True,
                          env={**os.environ, 'LD_LIBRARY_PATH': f'{tmp_path}/ours:{BUILD}/src'})
    assert done.stdout == 'page-faults 1000\n'


@pytest.mark.usefixtures('needs_perf')
@pytest.mark.parametrize('language', ['c', 'c++'])
def test_a_command_agrees_with_perf_stat(tmp_path, language):
    program = build(tmp_path, COMMAND, language)
    command = [workload('faults1000')]
    done = subprocess.run(['perf', 'stat', '-x,', '-e', 'page-faults', '--', *command],
                          capture_output=True, text=True, check=True)
    theirs = int(done.stderr.split(',')[0])
    done = subprocess.run([program, *command], capture_output=True, text=True, check=True)
    assert theirs >= 1000
    assert abs(int(done.stdout) - theirs) <= 20  # where the loader puts the libraries


@pytest.mark.parametrize('standard', ['c11', 'gnu17', 'c++11', 'c++20'])
def test_each_header_compiles_alone(standard):
    language = 'c++' if '+' in standard else 'c'
    for header in HEADERS:
        done = subprocess.run(['g++' if language == 'c++' else 'gcc', '-x', language,
                               f'-std={standard}', '-Wall', '-Wextra', '-Werror', '-fsyntax-only',
                               f'-I{ROOT}/kperf', '-'], input=f'#include "{header}"\n',
                              capture_output=True, text=True, check=False)
        assert done.returncode == 0, (header, done.stderr)


def test_the_layout_is_that_of_arm64():
    """kperf/layout.c states it; it is compiled with the library on x86-64."""
    if not has('aarch64-linux-gnu-gcc'):
        pytest.skip('aarch64-linux-gnu-gcc is not installed')
    subprocess.run(['aarch64-linux-gnu-gcc', '-std=gnu17', '-fsyntax-only', f'-I{ROOT}/kperf',
                    ROOT / 'kperf/layout.c'], check=True)


# The bits of each struct in the order of libkperf's headers, with the byte of the first one.
BITS = {
    'EvtAttr': {8: ['excludeUser', 'excludeKernel']},
    'PmuAttr': {64: ['useFreq', 'excludeUser', 'excludeKernel', 'excludeGuest', 'excludeHost'],
                72: ['callStack', 'blockedSample'],
                104: ['includeNewFork'],
                132: ['enableUserAccess', 'enableBpf', 'enableHwMetric', 'enableOnExec',
                      'perThread']},
}


def test_the_layout_of_each_member_is_stated():
    """Each member of each struct of pmu.h and symbol.h is in kperf/layout.c, or in BITS."""
    layout = (ROOT / 'kperf/layout.c').read_text()
    stated = set(re.findall(r'SIZE\((\w+),', layout))
    for struct, members in re.findall(r'AT\d?\((\w+),([^)]*)\)', layout):
        stated.update((struct, name) for name in re.findall(r'([A-Za-z_]\w*)', members))
    structs = {}
    for header in ('pmu.h', 'symbol.h'):
        text = re.sub(r'/\*.*?\*/', '', (ROOT / 'kperf' / header).read_text(), flags=re.S)
        for struct, body in re.findall(r'^struct (\w+) \{\n(.*?)^\}', text, re.M | re.S):
            bits = {name for names in BITS.get(struct, {}).values() for name in names}
            found = re.findall(r'(\w+)( : 1)?(?:;|,(?= \w+(?:;|,)))', body)
            assert bits == {name for name, bit in found if bit}, struct
            structs[struct] = {name for name, bit in found if not bit}
    assert len(structs) == 21
    for struct, members in structs.items():
        assert struct in stated
        assert [name for name in members if (struct, name) not in stated] == [], struct


@pytest.mark.parametrize('prefix', ['', 'aarch64-linux-gnu-'])
def test_bits_of_structs(tmp_path, prefix):
    """The bytes of a struct with one bit set, as the compiler of the architecture writes them."""
    if not has(f'{prefix}gcc') or not has(f'{prefix}objcopy'):
        pytest.skip(f'{prefix}gcc or {prefix}objcopy is not installed')
    bits = [(struct, name, 8 * byte + at) for struct, bytes_ in BITS.items()
            for byte, names in bytes_.items() for at, name in enumerate(names)]
    text = ''.join(f'const struct {struct} {struct}_{name} '
                   f'__attribute__((section("s.{struct}.{name}"))) = {{.{name} = 1}};\n'
                   for struct, name, _ in bits)
    (tmp_path / 'bits.c').write_text(f'#include "pmu.h"\n{text}')
    subprocess.run([f'{prefix}gcc', '-c', '-o', tmp_path / 'bits.o', tmp_path / 'bits.c',
                    f'-I{ROOT}/kperf'], check=True)
    for struct, name, bit in bits:
        subprocess.run([f'{prefix}objcopy', '-O', 'binary', '-j', f's.{struct}.{name}',
                        tmp_path / 'bits.o', tmp_path / 'bits.bin'], check=True)
        found = int.from_bytes((tmp_path / 'bits.bin').read_bytes(), 'little')
        assert found == 1 << bit, (struct, name)


def test_exports_what_headers_declare_and_nothing_else():
    text = ''.join((ROOT / 'kperf' / header).read_text() for header in HEADERS)
    text = re.sub(r'/\*.*?\*/', '', text, flags=re.S)
    declared = set(re.findall(r'^[\w *]+?[ *](\w+)\([^;{]*\);', text, re.M))
    assert len(declared) > 60
    assert exported() == declared


def codes_never_returned():
    """Those of docs/kperf.md: errors, and warnings."""
    text = (ROOT / 'docs/kperf.md').read_text().split('## Codes that are never returned')[1]
    errors, warnings = set(), set()
    for row in re.findall(r'^\| ([^|]*\d[^|]*) \|', text.split('\n## ')[0], re.M):
        for kind, part in zip((errors, warnings), row.partition('warning')[::2]):
            for first, last in re.findall(r'(\d+)(?: to (\d+))?', part):
                kind.update(range(int(first), int(last or first) + 1))
    return errors, warnings


def test_each_code_is_returned_and_tested_or_explained():
    header = (ROOT / 'kperf/pcerrc.h').read_text()
    code, tests = (''.join(path.read_text() for path in (ROOT / 'kperf').glob(pattern))
                   for pattern in ('*.c', 'tests/*.c'))
    for kind, explained in zip(('ERR', 'WARN'), codes_never_returned()):
        names = dict(re.findall(rf'#define (\w+_{kind}_\w+)\s+(\d+|LIBSYM_ERR_BASE)', header))
        base = names.pop('LIBSYM_ERR_BASE', None)
        numbers = {name: int(base if value == 'LIBSYM_ERR_BASE' else value)
                   for name, value in names.items()}
        returned = {name for name in numbers if re.search(rf'\b{name}\b', code)}
        assert {n for name, n in numbers.items() if name not in returned} == explained
        assert [name for name in returned if not re.search(rf'\b{name}\b', tests)] == []


def test_includes_public_headers_only():
    own = {path.name for path in (ROOT / 'kperf').glob('*.h')} | {'syscall_list.inc'}
    for path in (ROOT / 'kperf').glob('*.[ch]'):
        for header in re.findall(r'#include "([^"]+)"', path.read_text()):
            assert header in own or (ROOT / 'include' / header).exists(), (path.name, header)


@pytest.mark.parametrize('text', [COUNT, KINDS], ids=['count', 'kinds'])
def test_no_memory_is_lost_or_misused(tmp_path, text):
    if not has('valgrind'):
        pytest.skip('valgrind is not installed')
    program = build(tmp_path, text, flags=['-pthread'])
    done = subprocess.run(['valgrind', '-q', '--leak-check=full', '--error-exitcode=99', program,
                           tmp_path / 'x.data'], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr + done.stdout


def test_a_written_file_is_a_recording(tmp_path):
    """attar reads it; almost all samples are in the function that used the CPU."""
    program = build(tmp_path, WRITE)
    file = tmp_path / 'x.data'
    done = subprocess.run([program, file], capture_output=True, text=True, check=True)
    written = int(done.stdout)
    assert written > 100
    report = run('profile', '--input', file, '-o', tmp_path / 'x.csv', '-g')
    assert report.returncode == 0, report.stderr
    functions = (tmp_path / 'x.csv').read_text().split('\n\n')[0].splitlines()
    rows = [(row['symbol'], int(row['samples'])) for row in csv.DictReader(functions[1:])]
    assert sum(samples for _, samples in rows) == written
    assert sum(samples for symbol, samples in rows if symbol == 'burn_here') > 0.9 * written
    if has('perf'):
        out = subprocess.run(['perf', 'script', '-i', file, '-F', 'comm,pid,period,ip,sym'],
                             capture_output=True, text=True, check=False,
                             env={**os.environ, 'PERF_CONFIG': '/dev/null'}).stdout
        first, renamed = (len(re.findall(rf'^{name} ', out, re.M))
                          for name in ('program-c', 'renamed'))
        assert first + renamed == written and 0.4 < first / written < 0.6


# The example of counting, from Go.
GO = '''
package main

/*
#include <stdlib.h>
#include <sys/mman.h>
#include "pmu.h"
#include "pcerrc.h"

static void work(size_t n)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS;
	char *area = mmap(NULL, n * 4096, PROT_READ | PROT_WRITE, flags, -1, 0);
	madvise(area, n * 4096, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < n; i++)
		area[i * 4096] = 1;
	munmap(area, n * 4096);
}
*/
import "C"
import (
	"fmt"
	"runtime"
	"syscall"
	"unsafe"
)

func main() {
	runtime.LockOSThread()
	names := (*[1]*C.char)(C.malloc(8))
	names[0] = C.CString("page-faults")
	pids := (*[1]C.int)(C.malloc(4))
	pids[0] = C.int(syscall.Getpid())
	attr := C.struct_PmuAttr{evtList: &names[0], numEvt: 1, pidList: &pids[0], numPid: 1}
	pd := C.PmuOpen(C.COUNTING, &attr)
	if pd == -1 {
		panic(C.GoString(C.Perror()))
	}
	C.work(10)
	C.PmuEnable(pd)
	C.work(1000)
	C.PmuDisable(pd)
	var data *C.struct_PmuData
	n := int(C.PmuRead(pd, &data))
	for _, row := range unsafe.Slice(data, n) {
		if int(row.tid) == syscall.Gettid() {
			fmt.Println(C.GoString(row.evt), row.count)
		}
	}
	C.PmuDataFree(data)
	C.PmuClose(pd)
	C.PmuEnable(pd)
	fmt.Println(C.Perrorno() == C.LIBPERF_ERR_INVALID_PD)
}
'''


def go_program(tmp_path, text):
    """Build a program that uses the library through cgo."""
    if sanitized():
        pytest.skip('the library needs the sanitizers of its program')
    if not has('go'):
        pytest.skip('go (package golang-go) is not installed')
    for name in ('libkperf.so', 'libsym.so'):
        (tmp_path / name).symlink_to(LIBRARY)
    (tmp_path / 'main.go').write_text(text)
    subprocess.run(['go', 'build', '-o', 'main', 'main.go'], cwd=tmp_path, check=True,
                   env={**os.environ, 'CC': 'gcc', 'CGO_ENABLED': '1', 'GO111MODULE': 'off',
                        'GOFLAGS': '', 'GOCACHE': str(tmp_path / 'cache'),
                        'CGO_CFLAGS': f'-O1 -g -fno-omit-frame-pointer -I{ROOT}/kperf',
                        'CGO_LDFLAGS': f'-L{tmp_path} -lkperf -lsym -Wl,-rpath,{BUILD}/kperf '
                                       f'-Wl,-rpath-link,{BUILD}/src'})
    return tmp_path / 'main'


def test_go(tmp_path):
    """cgo: the thread that counts makes 1,000 faults, and few of its run time."""
    done = subprocess.run([go_program(tmp_path, GO)], capture_output=True, text=True, check=True)
    name, count, is_error = done.stdout.split()
    assert (name, is_error) == ('page-faults', 'true')
    assert 1000 <= int(count) < 1100


# Each member that a binding sets or reads without a C function: cgo has neither bits nor members of
# unnamed unions. Programs of the interface assign C.uint32_t and C.uint to the same members.
GO_MEMBERS = '''
package main

/*
#include <stdlib.h>
#include <unistd.h>
#include <sys/syscall.h>
#include "pmu.h"
#include "symbol.h"
#include "pcerrc.h"

static void set_call_stack(struct PmuAttr *attr) { attr->callStack = 1; }
static void set_period(struct PmuAttr *attr, unsigned period) { attr->period = period; }
static void exclude_kernel(struct EvtAttr *attr) { attr->excludeKernel = 1; }

// libc's function has no frame pointer: its caller is missing in the stack.
__attribute__((noinline)) static void call_libc(void)
{
	syscall(SYS_getppid);
	__asm__ volatile("");
}

__attribute__((noinline)) void call_me(int n)
{
	for (int i = 0; i < n; i++)
		call_libc();
}

static unsigned core_of(struct PmuDeviceData *data) { return data->coreId; }
static unsigned long pa_of(struct PmuDataExt *ext) { return ext->pa; }
*/
import "C"
import (
	"fmt"
	"os"
	"runtime"
	"unsafe"
)

func check(code C.int) {
	if code != C.SUCCESS {
		panic(C.GoString(C.Perror()))
	}
}

func opened(pd C.int) C.int {
	if pd == -1 {
		panic(C.GoString(C.Perror()))
	}
	return pd
}

func strings(texts ...string) (**C.char, C.uint32_t) {
	size := C.size_t(len(texts)) * C.size_t(unsafe.Sizeof(uintptr(0)))
	list := (**C.char)(C.malloc(size))
	for i, text := range texts {
		unsafe.Slice(list, len(texts))[i] = C.CString(text)
	}
	return list, C.uint32_t(len(texts))
}

func processes() (*C.int, C.uint32_t) {
	pids := (*C.int)(C.malloc(4))
	*pids = C.int(os.Getpid())
	return pids, 1
}

func symbols(stack *C.struct_Stack) (names []string) {
	for ; stack != nil; stack = stack.next {
		symbol := stack.symbol
		names = append(names, C.GoString(symbol.symbolName))
		_, _, _ = uint32(symbol.firstLine), C.GoString(symbol.mntPoint), symbol.codeMapAddr
	}
	return names
}

func has(names []string, wanted string) bool {
	for _, name := range names {
		if name == wanted {
			return true
		}
	}
	return false
}

func count() {
	attr := (*C.struct_PmuAttr)(C.calloc(1, C.sizeof_struct_PmuAttr))
	attr.evtList, attr.numEvt = strings("page-faults", "context-switches")
	attr.pidList, attr.numPid = processes()
	attr.evtAttr = (*C.struct_EvtAttr)(C.calloc(2, C.sizeof_struct_EvtAttr))
	attr.numEvtAttr = C.uint32_t(2)
	for i := range unsafe.Slice(attr.evtAttr, 2) {
		unsafe.Slice(attr.evtAttr, 2)[i].groupId = 7
	}
	pd := opened(C.PmuOpen(C.COUNTING, attr))
	check(C.PmuEnable(pd))
	var data *C.struct_PmuData
	n := int(C.PmuRead(pd, &data))
	row := unsafe.Slice(data, n)[0]
	fmt.Println("group", int(row.groupId), int(row.cpuTopo.numaId) >= -1, row.cgroupName == nil)
	C.PmuDataFree(data)
	C.PmuClose(pd)
}

func sample() {
	attr := (*C.struct_PmuAttr)(C.calloc(1, C.sizeof_struct_PmuAttr))
	attr.evtList, attr.numEvt = strings("raw_syscalls:sys_enter/id==110/")
	attr.pidList, attr.numPid = processes()
	attr.symbolMode = C.RESOLVE_ELF
	attr.dataFilter, attr.evFilter = C.SPE_FILTER_NONE, C.SPE_EVENT_NONE
	attr.minLatency, attr.branchSampleFilter = C.ulong(0), C.ulong(0)
	attr.evtAttr = (*C.struct_EvtAttr)(C.calloc(1, C.sizeof_struct_EvtAttr))
	attr.numEvtAttr = C.uint(1)
	attr.evtAttr.groupId, attr.evtAttr.period = -1, C.uint32_t(1)
	C.set_call_stack(attr)
	C.set_period(attr, 1)
	pd := opened(C.PmuOpen(C.SAMPLING, attr))
	check(C.PmuEnable(pd))
	C.call_me(5)
	check(C.PmuDisable(pd))
	var data *C.struct_PmuData
	n, found := int(C.PmuRead(pd, &data)), 0
	for _, row := range unsafe.Slice(data, n) {
		if has(symbols(row.stack), "call_me") {
			found++
		}
	}
	fmt.Println("samples", found)
	C.PmuDataFree(data)
	C.PmuClose(pd)
}

func trace() {
	attr := (*C.struct_PmuTraceAttr)(C.calloc(1, C.sizeof_struct_PmuTraceAttr))
	attr.funcs, attr.numFuncs = strings("getppid")
	attr.pidList, attr.numPid = processes()
	attr.callStack = C.uint(1)
	attr.symbolMode = C.RESOLVE_ELF
	pd := opened(C.PmuTraceOpen(C.TRACE_SYS_CALL, attr))
	check(C.PmuTraceEnable(pd))
	C.call_me(6)
	check(C.PmuTraceDisable(pd))
	var data *C.struct_PmuTraceData
	n, found := int(C.PmuTraceRead(pd, &data)), 0
	for _, row := range unsafe.Slice(data, n) {
		if has(symbols(row.stack), "call_me") && row.startTs > 0 && row.elapsedTime > 0 {
			found++
		}
	}
	fmt.Println("calls", found)
	C.PmuTraceDataFree(data)
	C.PmuTraceClose(pd)
}

func functions() {
	path, _ := os.Executable()
	attr := (*C.struct_UTraceAttr)(C.calloc(1, C.sizeof_struct_UTraceAttr))
	attr.symSrc = (*C.struct_SymbolSource)(C.calloc(1, C.sizeof_struct_SymbolSource))
	attr.symSrc.moduleName, attr.symSrc.symbolName = C.CString(path), C.CString("call_me")
	attr.numSym = C.uint(1)
	attr.pidList, attr.numPid = processes()
	attr.fetchG = C.uint(1)
	pd := opened(C.UTraceOpen(attr))
	check(C.UTraceEnable(pd))
	C.call_me(0)
	check(C.UTraceDisable(pd))
	var data *C.struct_UTraceData
	n := int(C.UTraceRead(pd, &data))
	for _, row := range unsafe.Slice(data, n) {
		fmt.Println(C.GoString(row._func), row.isRet != 0, C.GoString(row.module) == path,
			row.gPtr == 0 || row.gPtr != 0, int64(row.timestamp) > 0)
	}
	C.UTraceDataFree(data)
	C.UTraceClose(pd)
	fmt.Println("size", C.sizeof_struct_UTraceAttr, C.sizeof_struct_PmuTraceAttr)
}

func main() {
	runtime.LockOSThread()
	count()
	sample()
	trace()
	functions()
	device := C.struct_PmuDeviceData{metric: C.PMU_L3_MISS, mode: C.PMU_METRIC_CORE}
	metric := C.struct_PmuHwMetricAttr{metric: C.PMU_HWM_CPI, pid: 1}
	attr := C.struct_PmuDeviceAttr{metric: C.PMU_L3_LAT, bdf: nil, port: nil}
	branch := C.struct_BranchSampleRecord{misPred: 1, predicted: 0}
	fmt.Println(C.core_of(&device), metric.thresholdList == nil, attr.port == nil,
		branch.misPred, C.pa_of(&C.struct_PmuDataExt{}), C.LIBSYM_ERR_ASM_RESOLVE_FAILED)
}
'''


@pytest.mark.usefixtures('root', 'needs_perf')
def test_go_reaches_each_member(tmp_path):
    number = 110 if os.uname().machine == 'x86_64' else 173  # of getppid
    program = go_program(tmp_path, GO_MEMBERS.replace('id==110', f'id=={number}'))
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        'group 7 true true', 'samples 5', 'calls 6', 'call_me false true true true',
        'call_me true true true true', 'size 32 56', '0 true true 1 0 119']
