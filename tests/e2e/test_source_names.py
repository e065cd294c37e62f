# SPDX-License-Identifier: MIT
"""Probes of C++ functions by their names in the source."""
import subprocess

import pytest

import scripts
from command import run

pytestmark = pytest.mark.usefixtures('root')

# The names in the symbol table are those that a C++ compiler makes.
PROGRAM = '''
__attribute__((noinline)) int f_int(int i) __asm__("_ZN2ns1fEi");
__attribute__((noinline)) int f_long(long l) __asm__("_ZN2ns1fEl");
__attribute__((noinline)) int g(void) __asm__("_ZN2ns1gEv");
static volatile int sink;

int f_int(int i) { return sink += i; }
int f_long(long l) { return sink -= (int)l; }
int g(void) { return sink++; }

int main(void)
{
    for (int i = 0; i < 37; i++)
        f_int(i);
    for (int i = 0; i < 11; i++)
        f_long(i);
    for (int i = 0; i < 5; i++)
        g();
    return 0;
}
'''


@pytest.fixture
def program(tmp_path):
    (tmp_path / 'names.c').write_text(PROGRAM)
    subprocess.run(['gcc', '-O1', '-o', 'names', 'names.c'], cwd=tmp_path, check=True)
    return tmp_path / 'names'


@pytest.mark.parametrize('function,calls', [
    ('"ns::f(int)"', 37),
    ('"ns::f(long)"', 11),
    ('ns::g', 5),
    ('"ns::g()"', 5),
    ('_ZN2ns1gEv', 5),
])
def test_calls_are_counted(program, function, calls):
    found = scripts.report('stat', '-e', f'uprobe:{function}@{program}', '--', program)
    row, = scripts.rows(found, 'counts')
    assert row['value'] == calls


@pytest.mark.parametrize('function,reason', [
    ('ns::f', "several functions in {} are named 'ns::f'; use the name in the symbol table, "
              "such as '_ZN2ns1f"),
    ('ns::h', "no function 'ns::h' in {}: did you mean 'ns::f'?"),
    ('"ns::f(short)"', "no function 'ns::f(short)' in the symbol tables of {}"),
])
def test_wrong_names(program, function, reason):
    done = run('stat', '-e', f'uprobe:{function}@{program}', '--', program)
    assert done.returncode == 2
    assert reason.format(program) in done.stderr.replace(': use', '; use')
