# SPDX-License-Identifier: MIT
"""Where make install puts files, and that make uninstall removes them all."""
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from breakpoints import breakpoints_are_hit
from command import BUILD, ROOT, compiler, has, run


def make(*words):
    """Run make with the options of the build directory, which must not be configured again."""
    sanitizer = re.search(r'-Db_sanitize=(\S+)', (BUILD / '.options').read_text())
    words += (f'SANITIZE={sanitizer[1] if sanitizer else ""}',)
    return subprocess.run(['make', '-s', '-C', ROOT, f'BUILD={BUILD}', *words],
                          stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=300,
                          env={**os.environ, 'PACKAGES': 'skip'})


@pytest.fixture(scope='module')
def prefix():
    """Return the prefix of the build directory."""
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
    headers = {path.name for path in (ROOT / 'include/attar').glob('*.h')}
    assert {path.name for path in (below / 'include/attar').iterdir()} == headers
    stems = {name.removesuffix('.h') for name in headers} - {'attar', 'attar-run'}
    for page in ['attar', 'attar-run', 'attar_stream_next', 'perfume', 'perfume_init',
                 *(f'attar_{stem}' for stem in stems)]:
        assert (below / f'share/man/man3/{page}.3').exists(), page
    pages = {path.name for path in (ROOT / 'docs').glob('*.md')}
    assert pages <= {path.name for path in (below / 'share/doc/attar').iterdir()}
    for wanted in ('**/libattar.so', '**/libattar.a', '**/attar.pc', '**/libattar-run.so',
                   '**/libattar-run.a', '**/attar-run.pc', 'share/man/man1/attar.1',
                   'share/man/man1/attar-profile.1'):
        assert list(below.glob(wanted)) or list(below.glob(wanted + '.*')), wanted
    done = run('--version', program=below / 'bin/attar')
    assert done.returncode == 0
    for module in tmp_path.rglob('_attar*.so'):  # what Python leaves when it is run
        (module.parent / '__pycache__').mkdir()
        (module.parent / '__pycache__/_run.cpython-311.pyc').write_bytes(b'')
    done = make('uninstall', *words)
    assert done.returncode == 0, done.stderr
    assert not files(tmp_path)


@pytest.fixture(scope='module')
def stage(prefix, tmp_path_factory):
    """An installed tree, and the environment in which pkg-config finds it."""
    if not all(map(has, ('make', 'meson', 'pkg-config', 'gcc', 'g++'))):
        pytest.skip('make, meson, pkg-config, gcc or g++ is not installed')
    stage = tmp_path_factory.mktemp('stage')
    assert make('install', f'DESTDIR={stage}', f'PREFIX={prefix}').returncode == 0
    pc = next(stage.rglob('attar.pc')).parent
    library = next(stage.rglob('libattar.so')).parent
    return stage, {**os.environ, 'PKG_CONFIG_PATH': str(pc), 'PKG_CONFIG_SYSROOT_DIR': str(stage),
                   'LD_LIBRARY_PATH': str(library)}


def flags_of(stage, library='attar-run'):
    done = subprocess.run(['pkg-config', '--cflags', '--libs', library], env=stage[1],
                          capture_output=True, text=True,
                          check=True)
    return done.stdout.split()


EXAMPLES = sorted(p.name for p in (ROOT / 'examples').glob('*.c*'))


def test_all_examples_are_installed(stage):
    sources = sorted(p.name for p in [*(ROOT / 'examples').glob('[0-9]*'),
                                      ROOT / 'packaging/agent.conf'])
    assert sorted(p.name for p in stage[0].glob('**/doc/attar/examples/*')) == sources


@pytest.mark.parametrize('example', EXAMPLES)
def test_every_installed_example_builds_and_runs(stage, example, tmp_path):
    """It builds with pkg-config in a folder without the sources."""
    source = next(stage[0].glob(f'**/doc/attar/examples/{example}'))
    shutil.copy(source, tmp_path)
    name, *flags = compiler()
    if source.suffix == '.cc':
        name = name.replace('gcc', 'g++').replace('clang', 'clang++')
    subprocess.run([name, *flags, '-Wall', '-Wextra', '-Wno-unused-parameter', '-Werror', '-o',
                    'example', example,
                    *flags_of(stage)], cwd=tmp_path, check=True)
    done = subprocess.run([tmp_path / 'example'], env=stage[1], cwd=tmp_path, capture_output=True,
                          text=True, check=False)
    skips = example == '04-breakpoint.c' and not breakpoints_are_hit()
    assert done.returncode == (77 if skips else 0), done.stderr


def test_the_installed_example_of_libperfume_builds(stage, tmp_path):
    source = next(stage[0].glob('**/doc/perfume/examples/hello_world.c'))
    subprocess.run([*compiler(), '-o', tmp_path / 'hello', source, *flags_of(stage, 'perfume')],
                   check=True)
    program = subprocess.Popen([tmp_path / 'hello'], env=stage[1], stdout=subprocess.PIPE,
                               text=True)
    try:
        assert program.stdout.readline()
    finally:
        program.kill()
        program.communicate()


def test_a_cxx_program_builds_against_the_installed_library(stage, tmp_path):
    """It includes every installed header and calls into the library."""
    headers = sorted(p.name for p in stage[0].rglob('include/attar/*.h'))
    assert headers == sorted(p.name for p in (ROOT / 'include/attar').glob('*.h'))
    source = tmp_path / 'use.cc'
    source.write_text('\n'.join(f'#include <attar/{name}>' for name in headers) +
                      '\nint main() { attar_symbols *s; int r = attar_symbols_new(nullptr, &s);\n'
                      'attar_symbols_free(s); return r; }\n')
    name, *flags = compiler()
    name = name.replace('gcc', 'g++').replace('clang', 'clang++')
    subprocess.run([name, *flags, '-std=c++17', '-o', tmp_path / 'use', source, *flags_of(stage)],
                   check=True)
    assert subprocess.run([tmp_path / 'use'], env=stage[1]).returncode == 0


@pytest.mark.parametrize('name', ['libattar', 'libattar-run'])
def test_exported_names(name):
    """The shared library exports attar_* only, and names for libattar-run."""
    library = Path(BUILD / f'src/{name}.so')
    if not has('nm'):
        pytest.skip('nm (package binutils) is not installed')
    out = subprocess.run(['nm', '-D', '--defined-only', library], capture_output=True, text=True,
                         check=True).stdout
    names = [line.split()[-1].split('@')[0] for line in out.splitlines()]
    # Upper-case names are the version nodes.
    prefixes = ('attar_', 'libattar_') if name == 'libattar' else 'attar_'
    assert names and not [n for n in names if not n.startswith(prefixes) and
                          not n.startswith('ATTAR_') and '_' in n]
