# SPDX-License-Identifier: MIT
"""The names that the libraries define, and programs that define the same names."""
import os
import re
import subprocess
from pathlib import Path

import pytest

from command import BUILD, ROOT, compiler, has, run
from faults import sanitized

LIBRARIES = {
    BUILD / 'src/libattar.a': ('attar_', 'libattar_'),
    BUILD / 'src/libattar.so': ('attar_', 'libattar_'),
    BUILD / 'src/libattar-run.a': 'attar_',
    BUILD / 'src/libattar-run.so': 'attar_',
    BUILD / 'perfume/libperfume.a': 'perfume_',
    BUILD / 'perfume/libperfume.so': 'perfume_',
}


def symbols(library, *flags):
    """Return the names that nm prints, without versions and section names."""
    out = subprocess.run(['nm', '--defined-only', *flags, str(library)], capture_output=True,
                         text=True, check=True)
    rows = (line.split() for line in out.stdout.splitlines())
    return {row[2].split('@')[0] for row in rows if len(row) == 3 and row[1] != 'A'}


@pytest.mark.parametrize('library', LIBRARIES, ids=lambda path: path.name)
def test_global_names_have_the_prefix_of_the_library(library):
    if not has('nm'):
        pytest.skip('nm (package binutils) is not installed')
    names = symbols(library, '-g', *(['-D'] if library.suffix == '.so' else []))
    assert names
    assert not [name for name in names if not name.startswith(LIBRARIES[library])]


def test_static_and_shared_library_define_the_same_names():
    if not has('nm'):
        pytest.skip('nm (package binutils) is not installed')
    for name in ('src/libattar', 'src/libattar-run', 'perfume/libperfume'):
        assert symbols(BUILD / f'{name}.a', '-g') == symbols(BUILD / f'{name}.so', '-g', '-D')


def inner_names():
    """Return names inside the libraries that are shared by their files or with libiberty."""
    found = symbols(BUILD / 'src/libattar-inside.a', '-g')
    found |= symbols(BUILD / 'src/libattar-run-inside.a', '-g')
    iberty = subprocess.run([*compiler(), '-print-file-name=libiberty.a'], capture_output=True,
                            text=True, check=True)
    if Path(iberty.stdout.strip()).is_file():
        found |= symbols(iberty.stdout.strip(), '-g') & symbols(BUILD / 'src/libattar.a')
    return sorted(name for name in found if not name.startswith('attar_')
                  and re.fullmatch(r'[a-z]\w*', name))


def static_flags():
    """Return the flags of pkg-config for a static link, with the libraries given by their paths."""
    environment = {**os.environ, 'PKG_CONFIG_PATH': str(BUILD / 'meson-private')}
    out = subprocess.run(['pkg-config', '--static', '--libs', 'attar-run'], env=environment,
                         capture_output=True,
                         text=True, check=True).stdout.split()
    ours = {f'-l{name}': str(BUILD / f'src/lib{name}.a') for name in ('attar', 'attar-run')}
    assert set(ours) <= set(out)
    return [ours.get(flag, flag) for flag in out if not flag.startswith('-L')]


@pytest.mark.parametrize('example', ['03-profile', '11-stacks', '12-report', '13-names',
                                     '14-shm-source', '16-eventheader'])
def test_program_may_define_internal_names_of_the_static_library(example, tmp_path):
    if not has('pkg-config') or not has('nm'):
        pytest.skip('pkg-config or nm is not installed')
    names = inner_names()
    assert {'vec_grow', 'buf_printf', 'map_get', 'log_warn'} <= set(names)
    traps = tmp_path / 'traps.c'
    traps.write_text(''.join(f'void {name}(void) {{ __builtin_trap(); }}\n' for name in names))
    program = tmp_path / 'program'
    done = subprocess.run([*compiler(), '-w', '-fno-builtin', f'-I{ROOT}/include', '-o',
                           str(program),
                           str(ROOT / 'examples' / f'{example}.c'), str(traps),
                           *static_flags()],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_program_may_define_internal_names_of_the_shared_libraries(tmp_path):
    """They are exported by the program, and come before symbols of the libraries."""
    names = inner_names()
    traps = tmp_path / 'traps.c'
    traps.write_text(''.join(f'void {name}(void) {{ __builtin_trap(); }}\n' for name in names))
    program = tmp_path / 'program'
    subprocess.run([*compiler(), '-w', '-fno-builtin', '-rdynamic', f'-I{ROOT}/include', '-o',
                    program, ROOT / 'examples/12-report.c', traps, f'-L{BUILD}/src',
                    '-lattar-run', '-lattar'], check=True)
    done = subprocess.run([program], capture_output=True, text=True, check=False,
                          env={**os.environ, 'LD_LIBRARY_PATH': str(BUILD / 'src')})
    assert done.returncode == 0, done.stderr


def test_libattar_has_no_profiler_and_no_database():
    """A program that counts instructions needs libattar only, which has nothing of libattar-run."""
    if sanitized():
        pytest.skip('a sanitizer is a library, too')
    loaded = {}
    for name in ('01-fib', '03-profile'):
        out = subprocess.run(['ldd', BUILD / 'examples' / name], capture_output=True, text=True,
                             check=True).stdout
        loaded[name] = set(re.findall(r'^\s*(?:/\S*/)?([\w-]+)\.so', out, re.M))
    assert 'libattar' in loaded['01-fib']
    assert loaded['01-fib'] <= {'libattar', 'libc', 'libm', 'liblzma', 'libz', 'libzstd',
                                'linux-vdso', 'ld-linux-x86-64', 'ld-linux-aarch64'}
    assert {'libattar', 'libattar-run'} <= loaded['03-profile']
    inside, run_inside = (symbols(BUILD / f'src/lib{name}.so') for name in ('attar', 'attar-run'))
    assert 'attar_counter_open' in inside
    for name in ('profiler_stat', 'html_page', 'preset_texts', 'attar_run_new', 'attar_report_new'):
        assert name in run_inside and name not in inside


def test_private_names_have_the_version_of_the_library():
    """libattar-run of another version is not loaded with this libattar."""
    out = subprocess.run(['nm', '-D', BUILD / 'src/libattar-run.so'], capture_output=True,
                         text=True, check=True).stdout
    version = run('--version').stdout.split()[1]
    needed = set(re.findall(r' U libattar_\w+@(\S+)', out))
    assert needed == {f'ATTAR_PRIVATE_{version}'}
