# SPDX-License-Identifier: MIT
"""libattar as a program sees it: declarations, symbols, pkg-config."""
import os
import re
import subprocess

import pytest

from command import BUILD, ROOT, compiler, has

HEADERS = sorted(p.name for p in (ROOT / 'include/attar').glob('*.h'))
LIBRARY = BUILD / 'src/libattar.so.0'


def exported():
    out = subprocess.run(['nm', '-D', '--defined-only', str(LIBRARY)], capture_output=True, text=True, check=True)
    return {line.split()[-1].split('@')[0] for line in out.stdout.splitlines()} - {'ATTAR_0'}


def declared():
    names = set()
    for header in HEADERS:
        text = (ROOT / 'include/attar' / header).read_text()
        names |= set(re.findall(r'ATTAR_API[^;(]*?\b(attar_\w+)\(', text))
    return names


def test_exports_what_headers_declare_and_nothing_else():
    assert exported() == declared()


EXAMPLES = sorted(p.name for p in (ROOT / 'examples').glob('*.c'))


@pytest.mark.parametrize('example', EXAMPLES)
def test_examples_build_by_pkg_config_and_run(example, tmp_path):
    environment = {**os.environ, 'PKG_CONFIG_PATH': str(BUILD / 'meson-uninstalled')}
    flags = subprocess.run(['pkg-config', '--cflags', '--libs', 'attar-uninstalled'], env=environment,
                           capture_output=True, text=True, check=True).stdout.split()
    program = tmp_path / 'example'
    subprocess.run([*compiler(), '-o', str(program), str(ROOT / 'examples' / example), *flags], check=True)
    done = subprocess.run([str(program)], env={**environment, 'LD_LIBRARY_PATH': str(BUILD / 'src')},
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def libraries(build):
    """The targets of the shared libraries, whatever their version."""
    listed = subprocess.run(['ninja', '-C', str(build), '-t', 'targets', 'all'], capture_output=True, text=True, check=True)
    return re.findall(r'^(\S+/lib\w+\.so\.\d[\d.]*): c_LINKER', listed.stdout, re.M)


def test_abi_since_the_last_release(tmp_path):
    if not has('git'):
        pytest.skip('git, which knows the last release, is not installed')
    tag = subprocess.run(['git', 'describe', '--tags', '--abbrev=0'], cwd=ROOT, capture_output=True, text=True,
                         check=False).stdout.strip()
    if not tag:
        pytest.skip('nothing was released: there is no tag to compare with')
    if not has('abidiff'):
        pytest.skip('abidiff (package abigail-tools) is not installed')
    old = tmp_path / 'old'
    subprocess.run(['git', 'worktree', 'add', '--detach', str(old), tag], cwd=ROOT, check=True)
    try:
        subprocess.run(['meson', 'setup', str(old / 'build'), str(old)], check=True)
        subprocess.run(['ninja', '-C', str(old / 'build'), *libraries(old / 'build')], check=True)
        for library in [*BUILD.glob('src/*.so.?'), *BUILD.glob('perfume/*.so.?')]:
            # What was added breaks no program, and what no header shows is ours to change.
            headers = [word for side, tree in ((1, old), (2, ROOT)) for folder in ('include', 'perfume')
                       for word in (f'--headers-dir{side}', str(tree / folder))]
            done = subprocess.run(['abidiff', '--no-added-syms', '--drop-private-types', *headers,
                                   str(old / 'build' / library.relative_to(BUILD)), str(library)],
                                  capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stdout
    finally:
        subprocess.run(['git', 'worktree', 'remove', '--force', str(old)], cwd=ROOT, check=True)
