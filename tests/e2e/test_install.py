# SPDX-License-Identifier: MIT
"""What make install puts where, and that make uninstall takes it all away again."""
import os
import re
import subprocess
from pathlib import Path

import pytest

from command import BUILD, ROOT, compiler, has, run


def make(*words):
    """With the options that the build directory is set up with: others would set it up anew."""
    sanitizer = re.search(r'-Db_sanitize=(\S+)', (BUILD / '.options').read_text())
    words += (f'SANITIZE={sanitizer[1] if sanitizer else ""}',)
    return subprocess.run(['make', '-s', '-C', ROOT, f'BUILD={BUILD}', *words], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=300, env={**os.environ, 'PACKAGES': 'skip'})


@pytest.fixture(scope='module')
def prefix():
    """The prefix of the build directory."""
    options = BUILD / '.options'
    words = options.read_text().split() if options.exists() else []
    for word in words:
        if word.startswith('--prefix='):
            return word.removeprefix('--prefix=')
    pytest.skip(f'{BUILD} was not set up by make')


def files(folder):
    return {p for p in folder.rglob('*') if not p.is_dir()}


def test_install_and_uninstall(tmp_path, prefix):
    if not has('make') or not has('meson'):
        pytest.skip('make or meson is not installed')
    words = [f'DESTDIR={tmp_path}', f'PREFIX={prefix}']
    done = make('install', *words)
    assert done.returncode == 0, done.stderr
    below = tmp_path / prefix.lstrip('/')
    assert (below / 'bin/attar').exists()
    assert (below / 'share/man/man3/attar_stream_next.3').read_text() == '.so man3/attar_stream.3\n'
    assert (below / 'share/man/man3/attar_stream.3').exists()
    assert (below / 'include/attar/attar.h').exists()
    for wanted in ('**/libattar.so', '**/libattar.a', '**/attar.pc', 'share/man/man1/attar.1',
                   'share/man/man1/attar-profile.1'):
        assert list(below.glob(wanted)) or list(below.glob(wanted + '.*')), wanted
    done = run('--version', program=below / 'bin/attar')
    assert done.returncode == 0
    done = make('uninstall', *words)
    assert done.returncode == 0, done.stderr
    assert not files(tmp_path)


def test_a_program_builds_against_the_installed_library(tmp_path, prefix):
    """By pkg-config alone, from C and from C++ headers, linked both ways."""
    if not all(map(has, ('make', 'meson', 'pkg-config', 'gcc'))):
        pytest.skip('make, meson, pkg-config or gcc is not installed')
    stage = tmp_path / 'stage'
    assert make('install', f'DESTDIR={stage}', f'PREFIX={prefix}').returncode == 0
    pc = next(stage.rglob('attar.pc')).parent
    environment = {**os.environ, 'PKG_CONFIG_PATH': str(pc), 'PKG_CONFIG_SYSROOT_DIR': str(stage)}
    flags = subprocess.run(['pkg-config', '--cflags', '--libs', 'attar'], env=environment, capture_output=True,
                           text=True, check=True).stdout.split()
    source = tmp_path / 'use.c'
    source.write_text('#include <stdio.h>\n#include <attar/attar.h>\n'
                      'int main(void) { struct attar_symbols *s; int r = attar_symbols_new(NULL, &s);\n'
                      'attar_symbols_free(s); return r; }\n')
    subprocess.run([*compiler(), '-o', tmp_path / 'use', source, *flags], check=True)
    library = str(next(stage.rglob('libattar.so')).parent)
    done = subprocess.run([tmp_path / 'use'], env={**os.environ, 'LD_LIBRARY_PATH': library})
    assert done.returncode == 0


def test_exported_names():
    """The shared library shows attar_* and nothing else."""
    library = Path(BUILD / 'src/libattar.so')
    if not has('nm'):
        pytest.skip('nm (package binutils) is not installed')
    out = subprocess.run(['nm', '-D', '--defined-only', library], capture_output=True, text=True, check=True).stdout
    names = [line.split()[-1].split('@')[0] for line in out.splitlines()]
    # Names in capitals are the version nodes.
    assert names and not [n for n in names if not n.startswith('attar_') and not n.isupper() and '_' in n]
