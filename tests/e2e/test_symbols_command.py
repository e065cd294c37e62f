# SPDX-License-Identifier: MIT
"""attar symbols compared with llvm-symbolizer, on programs with several kinds of debug information.
"""
import json
import os
import random
import re
import shutil
import struct
import subprocess
import time
from pathlib import Path

import pytest

import builds
from command import ATTAR, ROOT, run, wait_until
from scripts import rows_of
from faults import sanitized

SOURCE = ROOT / 'tests/workloads/shapes.cc'

def need(*programs):
    for program in programs:
        if not shutil.which(program):
            pytest.skip(f'{program} is not installed')


def do(*command, cwd=None):
    # An object of the cache may name another folder, in which there may be no .dwo file, or an old
    # one; the compiler in PATH can be ccache.
    more = {'CCACHE_DISABLE': '1'} if '-gsplit-dwarf' in command else {}
    subprocess.run([str(c) for c in command], check=True, cwd=cwd, timeout=120,
                   stdin=subprocess.DEVNULL, env=builds.environment(**more))


def build(folder, compiler, *flags, name='shapes'):
    """Compile shapes.cc in a separate folder and return the program."""
    need(compiler)
    folder.mkdir(exist_ok=True)
    do(*builds.cached(compiler), '-O2', *flags, '-c', SOURCE, '-o', f'{name}.o', cwd=folder)
    do(compiler, f'{name}.o', '-o', name, cwd=folder)
    return folder / name


def addresses(program, most=4000):
    """Addresses of .text, the same in each run."""
    text = subprocess.run(['readelf', '-SW', program], capture_output=True, text=True).stdout
    found = re.search(r' \.text +PROGBITS +(\w+) \w+ (\w+)', text)
    start, size = int(found[1], 16), int(found[2], 16)
    chosen = random.Random(1)
    offsets = range(size) if size <= most else sorted(chosen.sample(range(size), most))
    return [start + o for o in offsets]


def symbols(program, wanted, *args):
    done = run('symbols', *args, program, stdin=None,
               input=''.join(f'0x{a:x}\n' for a in wanted))
    assert done.returncode == 0, done.stderr
    return done.stdout


def answers(text):
    return [tuple(a.splitlines()) for a in text.split('\n\n')[:-1]]


def llvm(program, wanted):
    need('llvm-symbolizer')
    done = subprocess.run(['llvm-symbolizer', '--no-demangle', f'--obj={program}'],
                          input=''.join(f'0x{a:x}\n' for a in wanted), capture_output=True,
                          text=True, check=True, timeout=120)
    return answers(done.stdout)


def aliases(program):
    """One name for all symbols of an address, because tools choose different ones."""
    at = {}
    for line in subprocess.run(['nm', program], capture_output=True,
                               text=True).stdout.splitlines():
        words = line.split()
        if len(words) == 3:
            at.setdefault(words[0], []).append(words[2])
    return {name: min(names) for names in at.values() for name in names}


def plain(answer, names):
    """Without the differences that docs/symbols.md explains."""
    lines = [names.get(line, line) for line in answer]
    # llvm-symbolizer takes the file of a function without lines from the symbol table.
    lines[-1] = re.sub(r'^.*:0:0$', '??:0:0', lines[-1])
    return lines


def compare(program, most=4000):
    """Every answer equals that of llvm-symbolizer; return the longest chain of inlined functions.
    """
    wanted = addresses(program, most)
    ours = answers(symbols(program, wanted, '--style=llvm', '--no-demangle'))
    names = aliases(program)
    assert len(ours) == len(wanted)
    for address, mine, theirs in zip(wanted, ours, llvm(program, wanted)):
        assert plain(mine, names) == plain(theirs, names), hex(address)
    return max(len(a) for a in ours) / 2


KINDS = {
    'gcc-dwarf5': ('g++', '-gdwarf-5'),
    'gcc-dwarf4': ('g++', '-gdwarf-4'),
    'gcc-dwarf3': ('g++', '-gdwarf-3', '-gstrict-dwarf'),
    'gcc-dwarf2': ('g++', '-gdwarf-2', '-gstrict-dwarf'),
    'gcc-sections': ('g++', '-g', '-ffunction-sections'),
    'gcc-zlib': ('g++', '-g', '-gz=zlib'),
    'gcc-split5': ('g++', '-gdwarf-5', '-gsplit-dwarf'),
    'gcc-split4': ('g++', '-gdwarf-4', '-gsplit-dwarf'),
    'gcc-no-lines': ('g++',),
    'clang-dwarf5': ('clang++', '-gdwarf-5'),
    'clang-dwarf4': ('clang++', '-gdwarf-4'),
    'clang-split5': ('clang++', '-gdwarf-5', '-gsplit-dwarf'),
    'clang-split4': ('clang++', '-gdwarf-4', '-gsplit-dwarf'),
}


@pytest.mark.parametrize('kind', KINDS)
def test_equal_to_llvm(kind, tmp_path):
    longest = compare(build(tmp_path / kind, *KINDS[kind]))
    assert longest > 5 or kind == 'gcc-no-lines'


def test_units_without_ranges(tmp_path):
    """clang writes no DW_AT_ranges in strict DWARF 2: lines are those of DWARF 3."""
    programs = [build(tmp_path / f'dwarf{n}', 'clang++', f'-gdwarf-{n}', '-gstrict-dwarf')
                for n in (2, 3)]
    wanted = addresses(programs[0])
    assert wanted == addresses(programs[1])
    lines, expected = ([answer[1] for answer in answers(symbols(program, wanted, '--style=llvm'))
                        if answer[-2] != '??']  # padding between functions
                       for program in programs)
    assert lines == expected
    assert len(lines) > 0.95 * len(wanted)


@pytest.mark.parametrize('compiler,version', [('g++', 4), ('clang++', 4), ('clang++', 5)])
def test_package(compiler, version, tmp_path):
    """The .dwo files are in a .dwp package: the answers stay the same."""
    need('llvm-dwp')
    program = build(tmp_path / 'split', compiler, f'-gdwarf-{version}', '-gsplit-dwarf')
    before = symbols(program, addresses(program), '--style=llvm')
    do('llvm-dwp', '-e', program, '-o', f'{program}.dwp')
    for dwo in program.parent.glob('*.dwo'):
        dwo.unlink()
    assert symbols(program, addresses(program), '--style=llvm') == before
    os.unlink(f'{program}.dwp')
    assert symbols(program, addresses(program), '--style=llvm') != before


def test_dwo_of_another_build(tmp_path):
    program = build(tmp_path / 'split', 'g++', '-g', '-gsplit-dwarf')
    other = build(tmp_path / 'other', 'g++', '-g', '-gsplit-dwarf', '-DOTHER')
    shutil.copy(other.parent / 'shapes.dwo', program.parent / 'shapes.dwo')
    wanted = addresses(program, 100)
    ours = answers(symbols(program, wanted, '--style=llvm'))
    assert all(len(a) == 2 for a in ours)  # lines are known, inlined functions are not
    assert any('shapes.cc:' in a[1] for a in ours)
    dwo = program.parent / 'shapes.dwo'
    said = f'1 debug file cannot be used, such as {dwo} (it is '
    assert said + 'from another build): functions that are inlined' in symbols_say(program)
    dwo.write_bytes(dwo.read_bytes()[:200])
    assert said + 'malformed): functions that are inlined' in symbols_say(program)


def symbols_say(program):
    return run('symbols', program, *(hex(a) for a in addresses(program, 100))).stderr


@pytest.mark.parametrize('strip', ['--strip-all', '--strip-debug'])
def test_debug_file_of_another_build(tmp_path, strip):
    """The CRC of a debug link, and a build ID: one note names the file and the reason."""
    source = ROOT / 'tests/workloads/inlines.c'
    for build_id, reason in (('none', 'its CRC differs from that in the binary'),
                             ('sha1', 'it is from another build')):
        program, debug = tmp_path / build_id, tmp_path / f'{build_id}.debug'
        do('gcc', '-O2', '-g', f'-Wl,--build-id={build_id}', source, '-o', program)
        do('objcopy', '--only-keep-debug', program, debug)
        do('objcopy', strip, f'--add-gnu-debuglink={debug}', program)
        done = run('profile', '-g', '--lines', '--', program, 200)
        assert 'debug file' not in done.stdout and 'inlines.c:' in done.stdout
        do('gcc', '-O1', '-g', f'-Wl,--build-id={build_id}', source, '-o', debug)
        said = (f'1 debug file cannot be used, such as {debug} ({reason}): functions or source '
                'lines of its binary are unknown')
        assert said in run('profile', '-g', '--lines', '--', program, 200).stdout
        assert said in symbols_say_at(program)


def symbols_say_at(program):
    """What is said about an address in the code of a binary without symbols."""
    headers = subprocess.run(['readelf', '-hW', program], capture_output=True, text=True,
                             check=True).stdout
    return run('symbols', program, re.search(r'Entry point address: +(\S+)', headers)[1]).stderr


def test_missing_dwo(tmp_path):
    source = ROOT / 'tests/workloads/inlines.c'
    do('gcc', '-O2', '-g', '-gsplit-dwarf', '-c', source, cwd=tmp_path)
    do('gcc', 'inlines.o', '-o', 'inlines', cwd=tmp_path)
    os.unlink(tmp_path / 'inlines.dwo')
    done = run('profile', '-v', '-g', '--inline', '--', tmp_path / 'inlines', 200)
    assert (f'cannot use the .dwo file {tmp_path}/inlines.dwo of a unit: No such file or directory'
            in done.stderr)
    said = (f'1 debug file cannot be used, such as {tmp_path}/inlines.dwo (No such file or '
            'directory): functions that are inlined in its code are unknown')
    assert said in done.stdout
    program = tmp_path / 'inlines'
    done = run('symbols', program, *(hex(address) for address in addresses(program, 100)))
    assert said in done.stderr
    done = run('record', '-g', '--portable', '-o', tmp_path / 'x.data', '--', program, 200)
    assert said in done.stderr


@pytest.mark.parametrize('flags', [('-gdwarf-4',), ('-gdwarf-5',)])
def test_dwz(flags, tmp_path):
    """Debug information that dwz moves to another place or file is found there."""
    need('dwz')
    programs = [build(tmp_path / n, 'g++', *flags) for n in 'abc']
    before = symbols(programs[0], addresses(programs[0]), '--style=llvm')
    do('dwz', programs[2])
    assert symbols(programs[2], addresses(programs[2]), '--style=llvm').replace(
        str(programs[2].parent), str(programs[0].parent)) == before
    do('dwz', '-m', tmp_path / 'a/common.debug', '-M', 'common.debug', *programs[:2])
    text = subprocess.run(['readelf', '-SW', programs[0]], capture_output=True, text=True).stdout
    assert 'gnu_debugaltlink' in text
    assert 'debug file' not in symbols_say(programs[0])
    assert symbols(programs[0], addresses(programs[0]), '--style=llvm') == before


def test_missing_dwz_file(tmp_path):
    """An inlined function whose name is in that file has no name, not that of its caller."""
    need('dwz')
    programs = [build(tmp_path / n, 'g++', '-g') for n in 'ab']
    wanted = addresses(programs[0])
    known = answers(symbols(programs[0], wanted, '--style=llvm'))
    do('dwz', '-m', tmp_path / 'common.debug', *programs)
    os.unlink(tmp_path / 'common.debug')
    without = answers(symbols(programs[0], wanted, '--style=llvm'))
    assert [len(a) for a in without] == [len(a) for a in known]
    pairs = [(a[i], b[i]) for a, b in zip(known, without) for i in range(0, len(a) - 2, 2)]
    assert ('area', '??') in {(re.sub(r'.*::|\(.*', '', a), b) for a, b in pairs}
    assert all(b in (a, '??') for a, b in pairs)
    assert [a[-2] for a in without] == [a[-2] for a in known]  # the symbol table has these
    at = next(a for a, answer in zip(wanted, without) if answer[0] == '??' and len(answer) > 2)
    lines = symbols(programs[0], [at]).splitlines()
    assert lines[0].startswith(f'0x{at:x} [unknown] at ')
    assert ' inlined into ' in lines[1]
    assert (f'1 debug file cannot be used, such as {tmp_path}/common.debug (No such file or '
            'directory): names and functions that dwz moved there are unknown'
            in symbols_say(programs[0]))
    shutil.copy(programs[1], tmp_path / 'common.debug')
    assert f'{tmp_path}/common.debug (it is from another build)' in symbols_say(programs[0])


def test_separate_debug_file(tmp_path):
    program = build(tmp_path / 'a', 'g++', '-g')
    before = symbols(program, addresses(program), '--style=llvm')
    do('objcopy', '--only-keep-debug', program, f'{program}.debug')
    do('objcopy', '--strip-debug', f'--add-gnu-debuglink={program}.debug', program)
    assert symbols(program, addresses(program), '--style=llvm') == before
    # The debug file alone answers, too.
    assert symbols(f'{program}.debug', addresses(program), '--style=llvm') == before
    os.unlink(f'{program}.debug')
    assert symbols(program, addresses(program), '--style=llvm') != before


@pytest.mark.parametrize('compiler', ['g++', 'clang++'])
def test_code_that_several_units_have(compiler, tmp_path):
    """The linker keeps the first copy of a function, and lets both units describe it."""
    need(compiler)
    for unit, line in (('a', 100), ('b', 200)):
        (tmp_path / f'{unit}.cc').write_text(
            f'# {line} "shared.h"\n'
            'template <int N> __attribute__((noinline)) int shared(volatile int *p)'
            '{ return *p * N; }\n'
            f'int {unit}(volatile int *p) {{ return shared<3>(p); }}\n')
        do(compiler, '-O2', '-g', '-c', f'{unit}.cc', cwd=tmp_path)
    (tmp_path / 'main.cc').write_text('int a(volatile int *), b(volatile int *);\n'
                                      'int main(int n, char **) { return a(&n) + b(&n); }\n')
    for first, second, line in (('a', 'b', 100), ('b', 'a', 200)):
        do(compiler, 'main.cc', f'{first}.o', f'{second}.o', '-o', 'both', cwd=tmp_path)
        nm = subprocess.run(['nm', tmp_path / 'both'], capture_output=True, text=True).stdout
        start = int(re.search(r'(\w+) W _Z6sharedILi3E', nm)[1], 16)
        for wanted in ([start], [start] * 9):  # a few addresses are looked up otherwise
            for answer in answers(symbols(tmp_path / 'both', wanted, '--style=llvm')):
                assert re.search(rf'/shared.h:{line}:', answer[1])


def test_code_far_above_another_segment(tmp_path):
    """As in vmlinux: variables of each CPU at 0, code at the end of the address space."""
    need('gcc')
    source, script, program = (tmp_path / name for name in ('x.c', 'x.ld', 'x'))
    source.write_text('__attribute__((section(".each"))) int each = 1;\n'
                      'int f(int x) { return x * 3; }\nint g(int x) { return x * 5; }\n')
    script.write_text('ENTRY(f) SECTIONS { . = 0xffffffff81000000; .text : { *(.text*) }\n'
                      '.each 0 : { *(.each) } }')
    do('gcc', '-O2', '-mcmodel=kernel', '-fno-pie', '-no-pie', '-static', '-nostdlib', '-T', script,
       '-o', program, source)
    names = subprocess.run(['nm', program], capture_output=True, text=True, check=True).stdout
    for name in 'fg':
        address = re.search(rf'^(\w+) T {name}$', names, re.M)[1]
        assert run('symbols', program, address).stdout.split()[1].startswith(f'{name}+0x0')


OBJECTS = {
    'gcc': ('gcc', '-g', '-ffunction-sections'),
    'gcc-dwarf3': ('gcc', '-gdwarf-3', '-gstrict-dwarf'),
    'gcc-zlib': ('gcc', '-gdwarf-4', '-gz=zlib'),
    'gcc-split': ('gcc', '-g', '-gsplit-dwarf'),
    'clang': ('clang', '-g'),
    'g++': ('g++', '-g'),
    'g++-types': ('g++', '-gdwarf-5', '-fdebug-types-section'),
    'arm64': ('aarch64-linux-gnu-gcc', '-g'),
}


def code_of(relocatable):
    """Where attar symbols has functions: .text at 0, then the other sections with code."""
    text = subprocess.run(['readelf', '-SW', relocatable], capture_output=True, text=True).stdout
    code = [(m[2] != '.text', int(m[1]), int(m[3], 16), int(m[4])) for m in re.finditer(
        r'\[ *(\d+)\] (\S+) +PROGBITS +\w+ \w+ (\w+) \w+ +\S*X\S* +\d+ +\d+ +(\d+)', text)]
    at, end = {}, 0
    for _, number, size, align in sorted(code):
        at[number] = -(-end // align) * align
        end = at[number] + size
    names = subprocess.run(['readelf', '-sW', relocatable], capture_output=True, text=True).stdout
    return {m[4]: (at[int(m[3])] + int(m[1], 16), int(m[2])) for m in re.finditer(
        r': (\w+) +(\d+) FUNC +\S+ +\S+ +(\d+) (\S+)', names)}


@pytest.mark.parametrize('kind', OBJECTS)
def test_relocatable_file(kind, tmp_path):
    """Before and after a program is linked, the code of each function has the same lines."""
    compiler, *flags = OBJECTS[kind]
    need(compiler)
    source = SOURCE if compiler == 'g++' else ROOT / 'tests/workloads/inlines.c'
    part, program = tmp_path / 'part.o', tmp_path / 'program'
    do(compiler, '-O2', *flags, '-c', source, '-o', part, cwd=tmp_path)
    do(compiler, '-nostdlib', '-static', '-Wl,--unresolved-symbols=ignore-all,-e,0', part, '-o',
       program, cwd=tmp_path)
    before = code_of(part)
    names = subprocess.run(['readelf', '-sW', program], capture_output=True, text=True).stdout
    after = {m[2]: int(m[1], 16) for m in re.finditer(
        r': (\w+) +\d+ FUNC +\S+ +\S+ +\d+ (\S+)', names)}
    ours, theirs = [], []
    for name, (start, size) in before.items():
        ours += range(start, start + size)
        theirs += range(after[name], after[name] + size)
    found = answers(symbols(part, ours, '--style=llvm', '--no-demangle'))
    assert len(found) == len(ours) > 100 and max(len(a) for a in found) >= 6
    names = aliases(program)
    for at, mine, linked in zip(ours, found, llvm(program, theirs)):
        assert plain(mine, names) == plain(linked, names), hex(at)


@pytest.mark.quick
def test_large_program():
    """attar itself."""
    assert compare(ATTAR, 2000) > 3


def test_legacy_names_of_rust(tmp_path):
    names = ['_ZN4core3fmt9Formatter3pad17h05af221e174051e9E',
             '_ZN4core3ptr42drop_in_place$LT$alloc..string..String$GT$17hff7697b598cdd8cfE',
             '_ZN47_$LT$u32$u20$as$u20$core..iter..range..Step$GT$7forward17hb47b557d961f8ca5E']
    source = tmp_path / 'names.s'
    source.write_text('.text\n' + ''.join(f'.globl "{name}"\n.type "{name}", @function\n"{name}":'
                                         f'\n.fill 16\n.size "{name}", 16\n' for name in names))
    program = tmp_path / 'names'
    do('cc', '-shared', '-nostdlib', '-Wl,-Ttext=0x1000', '-o', program, source)
    need('llvm-symbolizer')
    wanted = [hex(0x1000 + 16 * i) for i in range(3)]
    theirs = subprocess.run(['llvm-symbolizer', f'--obj={program}', *wanted], check=True,
                            capture_output=True, text=True).stdout
    assert '$GT$::forward::hb47b557d961f8ca5' in theirs
    assert run('symbols', '--style=llvm', program, *wanted).stdout == theirs


def alone(program, address):
    """The answer to an address of which only the part of its file around it is read."""
    return answers(run('symbols', '--style=llvm', program, f'{address:#x}').stdout)


@pytest.mark.parametrize('kind', ['gcc-dwarf5', 'gcc-dwarf2', 'gcc-sections', 'gcc-split5',
                                  'clang-dwarf5'])
def test_single_addresses(kind, tmp_path):
    compiler, *flags = KINDS[kind]
    program = build(tmp_path / kind, compiler, *flags)
    wanted = random.Random(2).sample(addresses(program), 60)
    for address, answer in zip(wanted, answers(symbols(program, wanted, '--style=llvm'))):
        assert alone(program, address) == [answer], hex(address)


NESTED = """static inline __attribute__((always_inline)) int leaf(int n) { return n * n; }
int outer(int n)
{
	int inner(int m) { return leaf(m) + 1; }
	return inner(n);
}

int main(int argc, char **argv) { return outer(argc); }
"""


@pytest.mark.quick
def test_function_inside_another(tmp_path):
    """gcc defines it in the entry of the other one, whose code does not contain it."""
    need('gcc')
    (tmp_path / 'nested.c').write_text(NESTED)
    do('gcc', '-O0', '-gdwarf-5', '-o', 'nested', 'nested.c', cwd=tmp_path)
    program = tmp_path / 'nested'
    wanted = addresses(program)
    inlined = [address for address, answer in
               zip(wanted, answers(symbols(program, wanted, '--style=llvm')))
               if answer[0] == 'leaf']
    assert inlined
    (function, first, caller, second), = alone(program, inlined[0])
    assert function == 'leaf' and first.partition('/nested.c:')[2].startswith('1:')
    assert caller.partition('.')[0] == 'inner'
    assert second.partition('/nested.c:')[2].startswith('4:')


def line_of(text):
    return 1 + SOURCE.read_text().splitlines().index(text)


def known(tmp_path):
    """A program, and an address whose functions and lines are known."""
    program = build(tmp_path / 'known', 'g++', '-gdwarf-5')
    where = line_of('\treturn Box<int>{n}.area() * 2;')
    wanted = addresses(program)
    for address, answer in zip(wanted, answers(symbols(program, wanted, '--style=llvm'))):
        if (len(answer) == 8 and f'shapes.cc:{where}:' in answer[5] and 'bias' in answer[0]
                and 'measure' in answer[6]):
            return program, address
    raise AssertionError('no such address')


@pytest.mark.quick
def test_known_lines(tmp_path):
    program, address = known(tmp_path)
    lines = run('symbols', program, f'{address:x}').stdout.splitlines()
    at = [re.fullmatch(r'(?:0x\w+| +inlined into) (\S+) at (\S+):(\d+):\d+', l) for l in lines]
    assert [m[1].partition('+')[0] for m in at] == [
        'shapes::Box<int>::bias', 'shapes::Box<int>::area', 'twice', 'shapes::measure']
    assert {m[2] for m in at} == {str(SOURCE)}
    assert [int(m[3]) for m in at[1:3]] == [
        line_of('\t__attribute__((always_inline)) T area() const { return side * side + bias(); }'),
        line_of('\treturn Box<int>{n}.area() * 2;')]
    assert int(at[3][3]) in (
        line_of('\tint sum = twice(n);'),
        line_of('\t\tsum += twice(i) + static_cast<int>(Box<double>{0.5 * i}.area());'))
    assert re.search(r'shapes::measure\+0x[1-9a-f]\w* at', lines[3])


@pytest.mark.quick
def test_options(tmp_path):
    program, address = known(tmp_path)
    whole = run('symbols', '--no-inlines', program, hex(address)).stdout
    assert re.fullmatch(rf'0x{address:x} shapes::measure\+0x\w+ at {SOURCE}:\d+:\d+\n', whole)
    mangled = run('symbols', '--no-demangle', program, hex(address)).stdout
    assert '_ZN6shapes7measureEi' in mangled
    parameters = run('symbols', '--style=llvm', program, hex(address)).stdout
    assert 'shapes::measure(int)\n' in parameters
    report = json.loads(run('symbols', '--json', program, hex(address)).stdout)
    section = report['sections'][0]
    rows = rows_of(section)
    assert [r['inlined'] for r in rows] == ['yes', 'yes', 'yes', 'no']
    assert rows[3]['symbol'] == 'shapes::measure' and rows[3]['file'] == str(SOURCE)
    assert {r['address'] for r in rows} == {address}


@pytest.mark.quick
def test_process():
    """The functions at addresses of a running process are those of its file."""
    with subprocess.Popen(['sleep', '60']) as process:
        maps = Path(f'/proc/{process.pid}/maps')
        code = re.compile(r'^(\w+)-\w+ r-xp (\w+) .* (\S+/libc\.so\.6)$', re.M)
        try:
            wait_until(lambda: code.search(maps.read_text()), 'libc is mapped')
            libc = code.search(maps.read_text())
            text = run('symbols', '-p', process.pid, libc[1], '1').stdout.splitlines()
        finally:
            process.kill()
    assert text[0].endswith(f'({libc[3]})')
    assert text[1] == '0x1 [unknown] ([unknown])'


@pytest.mark.quick
@pytest.mark.parametrize('args,status,said', [
    ((), 2, 'symbols requires a file or -p: '),
    (('/nonexistent', '1'), 1, 'cannot open /nonexistent'),
    (('/dev/null', '1'), 1, 'is not an ELF file'),
    ((SOURCE, '1'), 1, 'is not an ELF file'),
    (('--style=x', ATTAR), 2, "no such style 'x'"),
    (('--nothing', ATTAR), 2, 'no such option --nothing'),
    (('-p', '0', '1'), 2, '-p: 0 is not between 1 and 2147483647'),
    (('-p', '999999999', '1'), 1, '999999999'),
])
def test_bad_input(args, status, said):
    done = run('symbols', *args)
    assert done.returncode == status
    assert done.stdout == ''
    assert len(done.stderr.splitlines()) == 1 and said in done.stderr, done.stderr


@pytest.mark.quick
def test_repeated_lines_are_whole_as_those_of_llvm(tmp_path):
    need('llvm-symbolizer')
    program = build(tmp_path, 'g++', '-g')
    [address] = addresses(program)[:1]
    lines = (f'Error in request 7\n  {address:#x} and more\nCODE {address:#x}\ncode {address:#x}\n'
             f'CODE x\nCODE \n\n   indented, twice\r\nCODE  {address:#x}\n')
    theirs = subprocess.run(['llvm-symbolizer', f'--obj={program}'], input=lines, check=True,
                            capture_output=True, text=True).stdout
    ours = run('symbols', '--style=llvm', program, stdin=None, input=lines)
    assert (ours.returncode, ours.stderr) == (0, '')
    assert ours.stdout == theirs and theirs.startswith('Error in request 7\n')
    ours = run('symbols', program, stdin=None, input=f'Error in request 7\n\n{address:x}\n')
    assert ours.stdout.startswith(f'Error in request 7\n{address:#x} '), ours
    assert ours.stderr == (
        "attar: the line 'Error in request 7' is not a hexadecimal address\n")


DATA = '''
namespace ns { struct pair { static int member; int a, b; }; int pair::member = 3; pair many[10]; }
static long local[4] = {1};
extern "C" const char text[] = "hello";
thread_local int each = 4;
int main(int argc, char **) {
    static int inside;
    return inside + ns::pair::member + ns::many[argc].a + (int)local[argc] + text[argc] + each;
}
'''


@pytest.mark.quick
@pytest.mark.parametrize('kind', ['whole', 'no-demangle', 'stripped'])
def test_data_as_llvm(tmp_path, kind):
    """Variables of all kinds, code, and addresses in and between them."""
    need('g++', 'nm', 'llvm-symbolizer')
    source, program = tmp_path / 'data.cc', tmp_path / 'data'
    source.write_text(DATA)
    do('g++', '-O1', '-g', '-rdynamic', source, '-o', program)
    listed = subprocess.check_output(['nm', '--defined-only', program], text=True).splitlines()
    places = {line.split()[2]: int(line.split()[0], 16) for line in listed}
    if kind == 'stripped':
        do('strip', program)
    wanted = [at + i for at in places.values() for i in (0, 1, 4, 39, 40)] + [0, 1 << 40]
    lines = ''.join(f'DATA {at:#x}\n' for at in sorted(wanted)) + (
        f'DATA x\nDATA\nDATA \n DATA  {places["main"]:#x} more\nCODE {places["main"]:#x}\n'
        f' CODE {places["main"]:#x}\ndata 1\nDATA {places["text"]}\n')
    options = ['--no-demangle'] if kind == 'no-demangle' else []
    theirs = subprocess.run(['llvm-symbolizer', *options, f'--obj={program}'], input=lines,
                            check=True, capture_output=True, text=True).stdout
    ours = run('symbols', '--style=llvm', *options, program, stdin=None, input=lines)
    assert (ours.returncode, ours.stderr) == (0, '')
    # newer versions of llvm-symbolizer add the place of the declaration
    assert ours.stdout == re.sub(r'(?m)^(\d+ \d+)\n.+\n', r'\1\n', theirs)
    if kind == 'whole':  # as code, a variable has no name: docs/symbols.md
        where = f'CODE {places["text"]:#x}'
        assert run('symbols', '--style=llvm', program, where).stdout == '??\n??:0:0\n\n'
    member = places['_ZN2ns4pair6memberE']
    name = '_ZN2ns4pair6memberE' if kind == 'no-demangle' else 'ns::pair::member'
    assert run('symbols', '--style=llvm', *options, program, f'DATA {member + 1:#x}',
               'DATA 0xffffffffff').stdout.startswith(f'{name}\n{member} 4\n\n')


def test_lines_that_are_not_addresses_are_repeated(tmp_path):
    """As llvm-symbolizer does; the others are answered."""
    program, address = known(tmp_path)
    alone = run('symbols', program, f'{address:x}').stdout
    done = run('symbols', program, stdin=None, input=f'{address:x}\nfoo\n{address:x}\nbar\n')
    assert done.stdout == f'{alone}foo\n{alone}bar\n'
    assert done.returncode == 1
    assert done.stderr == "attar: 2 lines are not hexadecimal addresses; the first is 'foo'\n"
    done = run('symbols', '--json', program, stdin=None, input=f'foo\n{address:x}\n')
    assert len(json.loads(done.stdout)['sections'][0]['rows']) == 4
    assert done.returncode == 1 and "the line 'foo'" in done.stderr


def test_arguments_that_are_not_addresses_are_repeated(tmp_path):
    """As lines of the input; the others are answered, as addr2line and llvm-symbolizer do."""
    program, address = known(tmp_path)
    alone = run('symbols', program, f'{address:x}').stdout
    too_long = 17 * '1'
    done = run('symbols', program, f'{address:x}', 'main', f'{address:#x}', too_long)
    assert done.stdout == f'{alone}main\n{alone}{too_long}\n'
    assert done.returncode == 2
    assert done.stderr == (
        "attar: 2 arguments are not hexadecimal addresses; the first is 'main'\n")
    done = run('symbols', '--json', program, 'main', f'{address:x}')
    assert len(json.loads(done.stdout)['sections'][0]['rows']) == 4
    assert done.returncode == 2 and "the argument 'main'" in done.stderr


def test_lines_are_answered_when_they_are_read(tmp_path):
    """A program that waits for an answer gets it while the input is open."""
    program, address = known(tmp_path)
    alone = run('symbols', program, f'{address:x}').stdout
    with subprocess.Popen([ATTAR, 'symbols', program], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as process:
        for _ in range(3):
            process.stdin.write(f'{address:x}\n')
            process.stdin.flush()
            assert ''.join(process.stdout.readline() for _ in alone.splitlines()) == alone
        process.stdin.close()
        assert process.stdout.read() == ''
    assert process.returncode == 0


def test_lines_are_answered_before_an_error(tmp_path):
    program, address = known(tmp_path)
    alone = run('symbols', program, f'{address:x}').stdout
    done = run('symbols', program, stdin=None, input=20000 * f'{address:x}\n' + (2 << 20) * 'x')
    assert done.stdout == 20000 * alone
    assert done.returncode == 2
    assert done.stderr == 'attar: a line of standard input is too long\n'


@pytest.mark.quick
def test_end_of_options(tmp_path):
    program, address = known(tmp_path)
    assert (run('symbols', program, '--', f'{address:x}').stdout
            == run('symbols', program, f'{address:x}').stdout != '')


@pytest.mark.quick
def test_truncated_file(tmp_path):
    whole = ATTAR.read_bytes()
    end = int.from_bytes(whole[40:48], 'little') + 64 * int.from_bytes(whole[60:62], 'little')
    path = tmp_path / 'short'
    path.write_bytes(whole[:3000])
    done = run('symbols', path, '1000')
    assert (done.returncode, done.stdout) == (1, '')
    assert done.stderr == (f'attar: cannot read {path}: it is truncated: its section headers would '
                           f'end at byte {end}, but it has only 3000 bytes\n')


@pytest.mark.quick
def test_unknown_lines_are_null_in_json():
    done = run('symbols', '--json', ATTAR, '0')
    report = json.loads(done.stdout)
    [row] = rows_of(report['sections'][0])
    assert [row[n] for n in ('file', 'line', 'column')] == [None] * 3
    assert abs(report['time'] / 1e9 - time.time()) < 60


def test_d_like_cxxfilt():
    """Functions of D's library, named as by c++filt."""
    need('nm', 'c++filt')
    library = next(iter(sorted(Path('/usr/lib').glob('*/libgphobos.so.*'))), None)
    if not library:
        pytest.skip('libgphobos3 is not installed')
    at = {}
    for line in subprocess.run(['nm', '-D', '--defined-only', library], capture_output=True,
                               text=True, check=True).stdout.splitlines():
        address, kind, name = line.split()
        if kind in 'TW':
            at.setdefault(int(address, 16), []).append(name.split('@')[0])
    alone = sorted((a, names[0]) for a, names in at.items() if len(names) == 1)
    wanted = random.Random(1).sample([(a, n) for a, n in alone if n.startswith('_D')], 1000)
    theirs = subprocess.run(['c++filt', '-s', 'dlang'], input='\n'.join(n for _, n in wanted),
                            capture_output=True, text=True, check=True).stdout.splitlines()
    ours = [a[0] for a in answers(symbols(library, [a for a, _ in wanted], '--style=llvm'))]
    # c++filt of binutils 2.40 does not know attributes of later versions of D.
    compared = [(mine, name) for (_, mangled), mine, name in zip(wanted, ours, theirs)
                if name != mangled and '__postblit' not in mangled]
    assert len(compared) > 800
    assert [mine for mine, _ in compared] == [name for _, name in compared]
    assert sum(mine.startswith('_D') for mine in ours) < 50


# f() has two inlined calls: of the function "deep", and of one whose origins are a circle.
CIRCULAR = '''
	.text
	.globl f
	.type f, @function
f:	nop
1:	nop
2:	ret
3:	.size f, .-f
	.section .note.GNU-stack,"",@progbits
	.section .debug_abbrev,"",@progbits
abbrev:	.byte 1,0x11,1, 0x11,1, 0x12,7, 0,0        /* compile unit: low_pc, high_pc */
	.byte 2,0x2e,1, 0x31,0x13, 0x11,1, 0x12,7, 0,0  /* subprogram: origin, low_pc, high_pc */
	.byte 3,0x1d,0, 0x31,0x13, 0x11,1, 0x12,7, 0,0  /* inlined: origin, low_pc, high_pc */
	.byte 4,0x2e,0, 0x31,0x13, 0,0                  /* subprogram: origin */
	.byte 5,0x2e,0, 3,8, 0,0                        /* subprogram: name */
	.byte 6,0x13,1, 1,0x13, 0,0                     /* struct: sibling */
	.byte 7,0x0d,0, 3,0x16, 0,0                     /* member: name of an indirect form */
	.byte 0
	.section .debug_info,"",@progbits
info:	.long end - start
start:	.short 4
	.long abbrev
	.byte 8
	.byte 1; .quad f, 3b - f
type:	.byte 6; .long SIBLING - info
	.byte 7, FORM
	.string "member"
	.byte 0
next:
a:	.byte 4; .long b - info
b:	.byte 4; .long a - info
deep:	.byte 5; .string "deep"
	.byte 2; .long a - info; .quad f, 3b - f
	.byte 3; .long a - info; .quad f, 1b - f
	.byte 3; .long deep - info; .quad 1b, 1
	.byte 0, 0
end:
'''


def with_code(folder, text, *flags):
    (folder / 'part.S').write_text(text)
    do('gcc', '-nostdlib', '-static', *flags, '-Wl,-e,f', '-o', 'program', 'part.S', cwd=folder)
    names = subprocess.run(['nm', folder / 'program'], capture_output=True, text=True, check=True)
    return folder / 'program', int(re.search(r'^(\w+) T f$', names.stdout, re.M)[1], 16)


@pytest.mark.quick
@pytest.mark.skipif(os.uname().machine != 'x86_64', reason='the code is that of x86-64')
@pytest.mark.parametrize('sibling, form, is_read', [
    ('next', '8', True), ('type', '8', True), ('info', '8', True),
    ('next', '0x16, 0x16, 8', False), ('type', '0x16, 0x16, 8', False)])
def test_circular_debug_information(sibling, form, is_read, tmp_path):
    """Entries that refer to each other, or to themselves, end; a malformed unit is left out."""
    need('gcc', 'nm')
    text = CIRCULAR.replace('SIBLING', sibling).replace('FORM', form)
    program, start = with_code(tmp_path, text)
    lines = run('symbols', program, *(f'{start + n:x}' for n in range(3)), timeout=20).stdout
    inlined = (['[unknown]', '         inlined into f+0x0'],
               ['deep', '         inlined into f+0x1'],
               ['f+0x2'])
    found = inlined if is_read else ([f'f+0x{n}'] for n in range(3))
    assert lines.splitlines() == [line for n, chain in enumerate(found)
                                  for line in (f'0x{start + n:x} {chain[0]}', *chain[1:])]


HUGE = 8 << 30


@pytest.mark.quick
@pytest.mark.parametrize('section', ['.debug_info', '.debug_abbrev', '.debug_line', '.debug_str',
                                     '.debug_aranges', '.symtab', '.strtab', '.eh_frame'])
def test_sections_of_8_gib(section, tmp_path):
    """A sparse file: it is not read as a whole, and the memory for it is limited."""
    need('gcc', 'prlimit')
    if sanitized():
        pytest.skip('sanitizers reserve more address space than the limit')
    program = tmp_path / 'huge'
    do('gcc', '-g', ROOT / 'tests/workloads/inlines.c', '-o', program)
    wanted = addresses(program, 20)
    image = bytearray(program.read_bytes())
    table, = struct.unpack_from('<Q', image, 40)
    n, names = struct.unpack_from('<HH', image, 60)
    names, = struct.unpack_from('<Q', image, table + 64 * names + 24)
    for header in range(table, table + 64 * n, 64):
        name = names + struct.unpack_from('<I', image, header)[0]
        if image[name:image.index(0, name)].decode() == section:
            struct.pack_into('<QQ', image, header + 24, 1 << 20, HUGE)
    program.write_bytes(image)
    os.truncate(program, (1 << 20) + HUGE)
    done = run('--as=2147483648', '--cpu=2', ATTAR, 'symbols', program,
               *(f'{a:x}' for a in wanted), program='prlimit')
    assert done.returncode == 0, done.stderr
    answered = re.findall(r'^0x(\w+) ', done.stdout, re.M)
    assert [int(a, 16) for a in answered] == wanted
