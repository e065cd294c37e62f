# SPDX-License-Identifier: MIT
"""
User stacks of programs without frame pointers compared with libdw's, from the same registers and
stacks, and with gdb's.

ATTAR_STACKS is the number of samples of each program (default 400): 2500 make the 20,000 of
docs/unwinding.md.
"""
import json
import os
import platform
import shutil
import subprocess

import pytest

import unwind_gdb
from command import BUILD, run

pytestmark = pytest.mark.usefixtures('root')

COMPARE = BUILD / 'tests/e2e/unwind_compare'
STACKS = int(os.environ.get('ATTAR_STACKS', '400'))

# Samples in the dynamic loader before it starts the program, in which libdw finds no callers.
STARTING = 8

PYTHON = '''
import json, re
def deep(n):
    return deep(n - 1) if n else sum(len(json.dumps([i, re.sub('a', 'b', 'banana')]))
                                     for i in range(100))
while True:
    deep(12)
'''
SQL = '''WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 100000000)
SELECT count(*), max(printf('%d %s', x, hex(x))) FROM c GROUP BY substr(x, -2);'''
EXCEPTIONS = '''
#include <stdexcept>
#include <string>
#include <vector>
struct Guard {
    std::string text;
    ~Guard() { sum += text.size(); }
    static volatile unsigned long sum;
};
volatile unsigned long Guard::sum;
__attribute__((noinline)) int deep(int n)
{
    Guard guard{std::string(n, 'x')};
    std::vector<int> room(n + 1, n);
    if (!n)
        throw std::runtime_error("deep");
    return deep(n - 1) + room[n / 2];
}
int main()
{
    for (volatile int turn = 0;; turn = turn + 1)
        try { deep(turn % 20); } catch (const std::exception &e) { Guard::sum += e.what()[0]; }
}
'''
SIGNALS = '''
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
static volatile unsigned long sum;
static __attribute__((noinline)) void spin(unsigned long n)
{
    for (unsigned long i = 0; i < n; i++)
        sum += i;
}
static __attribute__((noinline)) int compare(const void *a, const void *b)
{
    spin(50);
    return *(const int *)a - *(const int *)b;
}
static void sort(unsigned seed)
{
    int numbers[64];
    for (int i = 0; i < 64; i++)
        numbers[i] = rand_r(&seed);
    qsort(numbers, 64, sizeof(int), compare);
}
static void handler(int number)
{
    sort(number);
    sort(number + 1);
}
int main(void)
{
    struct itimerval every = {{0, 2000}, {0, 2000}};
    struct sigaction action = {.sa_handler = handler};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &every, NULL);
    for (unsigned seed = 0;; seed++)
        sort(seed);
}
'''
NODE = '''
function leaf(n) {
    let text = '';
    for (let i = 0; i < 50; i++)
        text += JSON.stringify({ a: i, b: [n, i] });
    return text.length;
}
function deep(n) { return n ? deep(n - 1) + 1 : leaf(n); }
const words = Array.from({ length: 200 }, (_, i) => 'w' + (i * 7919 % 1009));
for (;;) {
    deep(12);
    words.slice().sort((a, b) => a < b ? -1 : 1).map(w => w.replace(/\\d/g, 'x'));
}
'''
GO = '''package main

import ("fmt"; "sort"; "strings")

type tree struct { left, right *tree; value int }

func (t *tree) add(value int) *tree {
	if t == nil { return &tree{value: value} }
	if value < t.value { t.left = t.left.add(value) } else { t.right = t.right.add(value) }
	return t
}

func main() {
	for turn := 0; ; turn++ {
		var root *tree
		for i := 0; i < 500; i++ { root = root.add(i * 7919 % 1009) }
		words := strings.Fields(fmt.Sprint(root.value, turn, turn*3, turn*5))
		sort.Slice(words, func(i, j int) bool { return words[i] < words[j] })
	}
}
'''


def need(program):
    if not shutil.which(program):
        pytest.skip(f'{program} is not installed')


def has_gdb():
    """The core files are of x86-64."""
    return shutil.which('gdb') and platform.machine() == 'x86_64'


def compiled(folder, text, name, *command):
    need(command[0])
    source = folder / name
    source.write_text(text)
    program = folder / 'program'
    subprocess.run([*command, '-o', program, source], check=True, capture_output=True,
                   cwd=folder, env={**os.environ, 'HOME': str(folder), 'GO111MODULE': 'off'})
    return [program]


def python(folder):
    need('python3')
    return ['python3', '-c', PYTHON]


def sqlite(folder):
    need('sqlite3')
    return ['sqlite3', ':memory:', SQL]


def gcc(folder):
    """The compiler itself, again and again."""
    need('g++')
    source = folder / 'x.cc'
    source.write_text('#include <map>\n#include <regex>\n#include <string>\n'
                      'std::map<std::string, std::regex> all;\n'
                      'bool f(std::string s) { return std::regex_match(s, all[s]); }\n')
    return ['sh', '-c', f'while :; do g++ -O2 -c -o {folder}/x.o {source}; done']


def exceptions(folder):
    return compiled(folder, EXCEPTIONS, 'x.cc', 'g++', '-O2', '-fomit-frame-pointer')


def signals(folder):
    return compiled(folder, SIGNALS, 'x.c', 'gcc', '-O2', '-fomit-frame-pointer')


def static(folder):
    return compiled(folder, SIGNALS.replace('setitimer(', '(void)every; if (0) setitimer('), 'x.c',
                    'gcc', '-O2', '-fomit-frame-pointer', '-static')


def golang(folder):
    return compiled(folder, GO, 'x.go', 'go', 'build')


def node(folder):
    need('node')
    return ['node', '-e', NODE]


def recorded(folder, command, samples):
    if not COMPARE.exists():
        pytest.skip('attar was configured without libdw-dev')
    data = folder / 'x.data'
    ended = run('record', '-q', '-F', '1999', '-e', 'cpu-clock:u', '-N', str(samples), '-m', '4096',
                '--call-graph', 'dwarf,32768', '-o', data, '--', *command, timeout=600)
    assert ended.returncode == 0, ended.stderr
    return data


def compared(data, *options):
    done = subprocess.run([COMPARE, data, *options], capture_output=True, text=True, check=True)
    return json.loads(done.stdout), done.stderr


@pytest.mark.parametrize('program', [python, sqlite, gcc, exceptions, signals, static, golang,
                                     node])
def test_equal_to_libdw(tmp_path, program):
    """Frame by frame; where they differ, gdb agrees with attar. See docs/unwinding.md."""
    cores = tmp_path / 'cores'
    cores.mkdir()
    found, shown = compared(recorded(tmp_path, program(tmp_path), STACKS), cores)
    print(json.dumps(found), shown)
    whole = sum(found[kind]['stacks'] for kind in ('equal', 'shorter', 'longer', 'other'))
    assert whole >= 0.9 * STACKS
    # the longer stacks end at the start of the program: libdw has ended early
    good = found['longer']['complete'] + found['equal']['stacks']
    assert good >= 0.999 * whole - STARTING
    if found['equal']['stacks'] < whole and has_gdb():
        judged = unwind_gdb.judge(cores)
        print(json.dumps(judged))
        assert judged['libdw'] == 0
        assert judged['attar'] >= whole - found['equal']['stacks'] - 2


@pytest.mark.parametrize('program', [sqlite, exceptions, signals])
def test_equal_to_gdb(tmp_path, program):
    """Whole stacks, of samples in which attar and libdw agree, too."""
    if not has_gdb():
        pytest.skip('gdb is not installed, or the machine is not x86-64')
    cores = tmp_path / 'cores'
    cores.mkdir()
    found, shown = compared(recorded(tmp_path, program(tmp_path), 60), cores, 'all')
    stacks = sum(found[kind]['stacks'] for kind in ('equal', 'shorter', 'longer', 'other'))
    judged = unwind_gdb.judge(cores)
    print(json.dumps(found), shown, json.dumps(judged))
    assert stacks >= 50
    # the stacks of the loader's first instructions have no end; slow machines take many of them
    complete = sum(found[kind]['complete'] for kind in ('equal', 'shorter', 'longer', 'other'))
    assert complete >= 0.7 * stacks
    assert judged['whole'] >= 0.95 * complete
