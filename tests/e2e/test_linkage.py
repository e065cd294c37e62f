# SPDX-License-Identifier: MIT
"""The names that the libraries define, and programs that define the same names."""
import os
import re
import subprocess
from pathlib import Path

import pytest

from command import BUILD, ROOT, compiler, has

LIBRARIES = {
    BUILD / 'src/libattar.a': 'attar_',
    BUILD / 'src/libattar.so': 'attar_',
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
    for name in ('src/libattar', 'perfume/libperfume'):
        assert symbols(BUILD / f'{name}.a', '-g') == symbols(BUILD / f'{name}.so', '-g', '-D')


def inner_names():
    """Return names inside libattar.a that are shared by its files or with libiberty."""
    found = symbols(BUILD / 'src/libattar-inside.a', '-g')
    iberty = subprocess.run([*compiler(), '-print-file-name=libiberty.a'], capture_output=True,
                            text=True, check=True)
    if Path(iberty.stdout.strip()).is_file():
        found |= symbols(iberty.stdout.strip(), '-g') & symbols(BUILD / 'src/libattar.a')
    return sorted(name for name in found if not name.startswith('attar_')
                  and re.fullmatch(r'[a-z]\w*', name))


def static_flags(library):
    """Return the flags of pkg-config for a static link, with the library given by its path."""
    environment = {**os.environ, 'PKG_CONFIG_PATH': str(BUILD / 'meson-private')}
    out = subprocess.run(['pkg-config', '--static', '--libs', 'attar'], env=environment,
                         capture_output=True,
                         text=True, check=True).stdout.split()
    return [str(library),
            *(flag for flag in out if flag != '-lattar' and not flag.startswith('-L'))]


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
                           *static_flags(BUILD / 'src/libattar.a')],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
