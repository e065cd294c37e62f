# SPDX-License-Identifier: MIT
"""Each public header compiles alone, with all supported compilers and standards."""
import re
import subprocess

import pytest

import builds
from command import ROOT, has

HEADERS = sorted(f'attar/{p.name}' for p in (ROOT / 'include/attar').glob('*.h')) + ['perfume.h']
STANDARDS = {
    'gcc': ['c11', 'c17', 'c2x', 'gnu11', 'gnu17'],
    'clang': ['c11', 'c17', 'c2x', 'gnu11', 'gnu17'],
    'g++': ['c++11', 'c++14', 'c++17', 'c++20'],
    'clang++': ['c++11', 'c++14', 'c++17', 'c++20'],
}
MODES = [(compiler, standard) for compiler,
         standards in STANDARDS.items() for standard in standards]
WARNINGS = ['-Wall', '-Wextra', '-Wpedantic', '-Wshadow', '-Werror']

# The macros of attar/run.h and perfume.h as a program uses them.
MACROS = '''
#include <attar/attar-run.h>
#include <perfume.h>

PERFUME_EVENT(order_placed, (u64, id), (f64, price), (str, symbol))
PERFUME_HEADER_EVENT(Shop, 4, 2a, order_closed, (u64, id), (str, symbol))

struct state {
	bool each;
	int kernel;
	uint64_t count;
	const char *text;
};

static const struct attar_option options[] = {
	ATTAR_FLAG(struct state, each, 'x', "each", "each by itself"),
	ATTAR_SWITCH(struct state, kernel, "kernel", "the kernel too"),
	ATTAR_COUNT(struct state, count, 'n', "count", "N", "how many", ATTAR_MIN(1), ATTAR_MAX(7)),
	ATTAR_TIME(struct state, count, 0, "time", "TIME", "how long", ATTAR_BARE(1000000)),
	ATTAR_TEXT(struct state, text, 't', "text", "TEXT", "what", ATTAR_COMPLETE("file"),
		ATTAR_IMPLIED("stdin")),
	ATTAR_JOINED(struct state, text, 'j', "joined", "TEXT", "what"),
};

void use(void);
void use(void)
{
	perfume_order_placed(options[0].offset, 2.5, options[1].name);
}
'''


def compiled(compiler, standard, text, *flags, folder=None):
    """
    Return the finished compiler process. With a folder, the text is compiled there, through ccache;
    else its syntax is checked.
    """
    if not has(compiler):
        pytest.skip(f'{compiler} is not installed')
    is_cxx = '++' in compiler
    cast = ['-Wold-style-cast'] if is_cxx else []
    words = [f'-std={standard}', *WARNINGS, *cast, *flags, f'-I{ROOT}/include', f'-I{ROOT}/perfume']
    if folder:
        name = 'text.cc' if is_cxx else 'text.c'
        (folder / name).write_text(text)
        return subprocess.run([*builds.cached(compiler), *words, '-c', name, '-o', 'text.o'],
                              cwd=folder, env=builds.environment(), capture_output=True, text=True,
                              check=False)
    return subprocess.run([compiler, '-x', 'c++' if is_cxx else 'c', *words, '-fsyntax-only', '-'],
                          input=text, capture_output=True, text=True, check=False)


@pytest.mark.parametrize('compiler, standard', MODES)
def test_each_header_compiles_alone(compiler, standard, tmp_path):
    failures = {header: done.stderr for header in HEADERS
                if (done := compiled(compiler, standard, f'#include <{header}>\n',
                                     folder=tmp_path)).returncode}
    assert not failures


@pytest.mark.parametrize('compiler, standard', MODES)
def test_macros_of_the_headers_compile(compiler, standard, tmp_path):
    done = compiled(compiler, standard, MACROS, folder=tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize('compiler, standard', MODES)
def test_option_for_a_member_of_another_type_does_not_compile(compiler, standard):
    done = compiled(compiler, standard, MACROS.replace('bool each', 'int each'))
    assert done.returncode != 0


# In C++ the members are set by functions, in C by designated initializers.
VALUES = '''
#include <stdio.h>

int main(void)
{
	const struct attar_option *end = options + sizeof(options) / sizeof(*options);

	for (const struct attar_option *o = options; o < end; o++)
		printf("%d %s %s %s %d %zu %llu %llu %llu %s %s\\n", o->letter, o->name,
			o->value ? o->value : "-", o->help, o->type, o->offset,
			(unsigned long long)o->bare, (unsigned long long)o->min,
			(unsigned long long)o->max, o->complete ? o->complete : "-",
			o->implied ? o->implied : "-");
	return 0;
}
'''


@pytest.mark.parametrize('compiler, standard', [('gcc', 'gnu17'), ('clang', 'c11'),
                                                ('g++', 'c++11'), ('g++', 'c++20'),
                                                ('clang++', 'c++11'), ('clang++', 'c++20')])
def test_macros_set_the_same_members_in_c_and_cxx(compiler, standard, tmp_path):
    if not has(compiler):
        pytest.skip(f'{compiler} is not installed')
    language = 'c++' if '++' in compiler else 'c'
    program = tmp_path / 'values'
    text = MACROS.partition('void use(void);')[0].replace('#include <perfume.h>', '')
    text = re.sub(r'^PERFUME.*$', '', text, flags=re.M) + VALUES
    subprocess.run([compiler, '-x', language, f'-std={standard}', f'-I{ROOT}/include',
                    '-o', program, '-'], input=text, text=True, check=True)
    out = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    assert out.splitlines() == [
        '120 each - each by itself 0 0 0 0 0 - -',
        '0 kernel - the kernel too 1 4 0 0 0 - -',
        '110 count N how many 2 8 0 1 7 - -',
        '0 time TIME how long 3 8 1000000 0 0 - -',
        '116 text TEXT what 6 16 0 0 0 file stdin',
        '106 joined TEXT what 8 16 0 0 0 - -']


def test_no_type_and_function_share_a_name():
    """In C++ such a type could only be named with its keyword."""
    text = re.sub(r'/\*.*?\*/', '',
                  ''.join((ROOT / 'include' / h).read_text() for h in HEADERS[:-1]), flags=re.S)
    types = set(re.findall(r'\b(?:struct|union|enum) (attar_\w+)', text))
    functions = set(re.findall(r'\b(attar_\w+)\(', text))
    assert types and functions and not types & functions
