# SPDX-License-Identifier: MIT
"""Expressions of users: random ones have the values that a C compiler computes."""
import os
import random
import subprocess

from command import BUILD, compiler

FIELDS = [('byte', 'u8', 1), ('small', 's8', 1), ('half', 's16', 2), ('word16', 'u16', 2),
          ('number', 'int', 4), ('word', 'u32', 4), ('wide', 's64', 8), ('big', 'u64', 8)]
ARRAYS = [('args', 'u32', 4, 4), ('longs', 'long', 8, 2), ('comm', 'char', 1, 16)]
TYPES = ['u8', 's8', 'u16', 's16', 'u32', 's32', 'u64', 's64', 'char', 'unsigned char', 'short',
         'unsigned short', 'int', 'unsigned int', 'long', 'unsigned long', 'unsigned', 'long long',
         'size_t']
CONSTANTS = ['0', '1', '2', '7', '127', '128', '255', '32768', '65535', '2147483647', '2147483648',
             '4294967295', '4294967296', '0x7fffffff', '0x80000000', '0xffffffff', '017', '5u',
             '9l', '0xffffffffffffffff', '9223372036854775807', '3ul', '1ull',
             "'a'", r"'\n'", r"'\xff'", r"'\0'"]
EXPRESSIONS, RECORDS = 300, 40

PROGRAM = r'''
#include <attar/expr.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint8_t u8; typedef uint16_t u16; typedef uint32_t u32; typedef uint64_t u64;
typedef int8_t s8; typedef int16_t s16; typedef int32_t s32; typedef int64_t s64;

struct record {
%(members)s
};
%(functions)s
static const struct { const char *text; u64 (*value)(const struct record *r); } all[] = {
%(table)s
};

int main(void)
{
	static const char format_text[] = %(format)s;
	struct attar_format *format;
	struct record records[%(records)d];
	int wrong = 0;

	srand(%(seed)d);
	for (size_t i = 0; i < sizeof(records); i++)
		((unsigned char *)records)[i] = rand() %% 4 ? rand() >> 8 : rand() %% 2 ? 0 : 255;
	if (attar_format_parse("sys", format_text, strlen(format_text), &format) < 0)
		return puts(attar_error()), 1;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct attar_expr *e;

		if (attar_expr_new(all[i].text, format, NULL, &e) < 0)
			return puts(attar_error()), 1;
		for (int r = 0; r < %(records)d; r++) {
			struct attar_expr_record record = {
				.raw = &records[r], .raw_size = sizeof(records[r])};
			u64 expected = all[i].value(&records[r]);
			u64 number = attar_expr_number(e, &record);

			if (number == expected && attar_expr_is_true(e, &record) == (expected != 0))
				continue;
			wrong++;
			printf("%%s: %%lld, expected %%lld\n", all[i].text, (long long)number,
				(long long)expected);
			break;
		}
		attar_expr_free(e);
	}
	attar_format_free(format);
	return wrong != 0;
}
'''


def operand(rng):
    kind = rng.random()
    if kind < 0.6:
        return rng.choice(FIELDS)[0]
    if kind < 0.75:
        name, _, _, n = rng.choice(ARRAYS)
        return f'{name}[{rng.choice(FIELDS)[0]} & {n - 1}]' if rng.random() < 0.7 else f'*{name}'
    if kind < 0.8:
        return f'sizeof({rng.choice(TYPES + [f[0] for f in FIELDS + ARRAYS])})'
    return rng.choice(CONSTANTS)


def expression(rng, depth):
    """A random expression without undefined behavior; -fwrapv defines overflow."""
    def inner():
        return expression(rng, depth - 1)

    if depth == 0 or rng.random() < 0.1:
        return operand(rng)
    kind = rng.choice(['infix', 'infix', 'infix', 'compare', 'logic', 'shift', 'divide', 'prefix',
                       'cast', 'choose', 'comma', 'plain'])
    if kind == 'infix':
        return f"({inner()} {rng.choice('+-*&|^')} {inner()})"
    if kind == 'plain':  # by the ranks of the operators
        ops = ['+', '-', '*', '&', '|', '^', '==', '!=', '<', '<=', '>', '>=', '&&', '||']
        return '(' + ''.join(f'{operand(rng)} {rng.choice(ops)} ' for _ in range(4)) + \
            f'{operand(rng)})'
    if kind == 'compare':
        return f"({inner()} {rng.choice(['==', '!=', '<', '<=', '>', '>='])} {inner()})"
    if kind == 'logic':
        return f"({inner()} {rng.choice(['&&', '||'])} {inner()})"
    if kind == 'shift':
        return f"({inner()} {rng.choice(['<<', '>>'])} ({inner()} & {rng.choice([7, 15, 31])}))"
    if kind == 'divide':  # by -1 overflows in C
        divisor = rng.choice([f'({inner()} & 127 | 1)', '-7', '1000', '3u', '-12345678901'])
        return f"({inner()} {rng.choice('/%')} {divisor})"
    if kind == 'prefix':
        return f"{rng.choice(['- ', '~', '!', '+ '])}{inner()}"
    if kind == 'cast':
        return f'({rng.choice(TYPES)}){inner()}'
    if kind == 'choose':
        return f'({inner()} ? {inner()} : {inner()})'
    return f'({inner()}, {inner()})'


def format_text():
    lines, offset, members = ['name: all', 'ID: 1', 'format:'], 0, []
    for name, type_, size, *count in FIELDS + ARRAYS:
        offset = -(-offset // size) * size
        dims, total = (f'[{count[0]}]', size * count[0]) if count else ('', size)
        signed = int(type_ in ('s8', 's16', 'int', 's64', 'long'))  # the kernel's char is unsigned
        lines.append(f'\tfield:{type_} {name}{dims};\toffset:{offset};\tsize:{total};'
                     f'\tsigned:{signed};')
        members.append(f'\t{type_} {name}{dims};')
        offset += total
    return '\n'.join(lines) + '\n', '\n'.join(members)


def quoted(text):
    escaped = text.replace('\\', '\\\\').replace('"', '\\"').replace('\n', '\\n')
    return f'"{escaped}"'


def test_random_expressions_equal_a_compiler(tmp_path):
    seed = random.randrange(2 ** 31)
    rng = random.Random(seed)
    texts = [expression(rng, rng.randrange(1, 6)) for _ in range(EXPRESSIONS)]
    load = ''.join(f'{t} {n} = r->{n}; (void){n};' for n, t, _ in FIELDS) + \
        ''.join(f'const {t} *{n} = r->{n}; (void){n};' for n, t, *_ in ARRAYS)
    for name, type_, size, n in ARRAYS:  # sizeof a parameter is that of a pointer
        texts = [t.replace(f'sizeof({name})', f'sizeof({type_}[{n}])') for t in texts]
    functions = ''.join(f'static u64 f{i}(const struct record *r) {{ {load} '
                        f'return (u64)({text}); }}\n' for i, text in enumerate(texts))
    shown = texts
    for name, type_, size, n in ARRAYS:
        shown = [t.replace(f'sizeof({type_}[{n}])', f'sizeof({name})') for t in shown]
    fields, members = format_text()
    (tmp_path / 'expressions.c').write_text(PROGRAM % {
        'members': members, 'functions': functions, 'seed': seed, 'records': RECORDS,
        'table': ''.join(f'{{{quoted(text)}, f{i}}},\n' for i, text in enumerate(shown)),
        'format': quoted(fields)})
    environment = {**os.environ, 'PKG_CONFIG_PATH': str(BUILD / 'meson-uninstalled')}
    flags = subprocess.run(['pkg-config', '--cflags', '--libs', 'attar-uninstalled'],
                           env=environment, capture_output=True, text=True, check=True).stdout
    subprocess.run([*compiler(), '-w', '-O1', '-fwrapv', '-fsigned-char', '-o', 'expressions',
                    'expressions.c', *flags.split()], cwd=tmp_path, check=True)
    done = subprocess.run(['./expressions'], cwd=tmp_path, capture_output=True, text=True,
                          env={**environment, 'LD_LIBRARY_PATH': str(BUILD / 'src')}, check=False)
    assert (done.returncode, done.stdout) == (0, ''), f'seed {seed}:\n{done.stdout}{done.stderr}'
