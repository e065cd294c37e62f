# SPDX-License-Identifier: MIT
"""libattar as seen by a program: declarations, symbols, pkg-config."""
import os
import re
import subprocess

import pytest

from command import BUILD, ROOT, compiler, has

HEADERS = sorted(p.name for p in (ROOT / 'include/attar').glob('*.h'))
LIBRARY = BUILD / 'src/libattar.so.0'


def exported():
    out = subprocess.run(['nm', '-D', '--defined-only', str(LIBRARY)], capture_output=True,
                         text=True, check=True)
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
    flags = subprocess.run(['pkg-config', '--cflags', '--libs', 'attar-uninstalled'],
                           env=environment,
                           capture_output=True, text=True, check=True).stdout.split()
    program = tmp_path / 'example'
    subprocess.run([*compiler(), '-o', str(program), str(ROOT / 'examples' / example), *flags],
                   check=True)
    done = subprocess.run([str(program)],
                          env={**environment, 'LD_LIBRARY_PATH': str(BUILD / 'src')},
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize('name', ['attar', 'perfume'])
def test_abi_equals_the_recorded_one(name):
    if not has('abidiff'):
        pytest.skip('abidiff (package abigail-tools) is not installed')
    if os.uname().machine != 'x86_64' or 'clang' in compiler()[0]:
        pytest.skip(
            'the recorded ABI is that of gcc on x86-64: other compilers name types differently')
    library = next(BUILD.glob(f'*/lib{name}.so'))
    if '.debug_info' not in subprocess.run(['readelf', '-SW', library], capture_output=True,
                                           text=True).stdout:
        pytest.skip('the build has no debug information, which abidiff needs')
    done = subprocess.run([ROOT / 'tools/abi', '--check', name, BUILD], capture_output=True,
                          text=True, check=False)
    assert done.returncode == 0, \
        f'{done.stdout}{done.stderr}\nif this change is intended, record it: tools/abi'
