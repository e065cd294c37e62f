# SPDX-License-Identifier: MIT
"""The manual pages of section 3: nothing public is missing, and they can be formatted."""
import os
import re
import subprocess

import pytest

from command import BUILD, ROOT, compiler, has

HEADERS = sorted((ROOT / 'include/attar').glob('*.h')) + [ROOT / 'perfume/perfume.h']
# Macros that declarations are written with.
INTERNAL = {'ATTAR_API', 'ATTAR_PRINTF', 'ATTAR_CAST', 'ATTAR_VALUE', 'PERFUME_API'}


def pages_of(folder):
    """Write the page of each header, and return their paths."""
    names = [header.stem if header.stem in ('attar', 'attar-run', 'perfume')
             else f'attar_{header.stem}' for header in HEADERS]
    paths = [folder / f'{name}.3' for name in names]
    subprocess.run([ROOT / 'tools/api-pages', *HEADERS, '--to', *paths], cwd=ROOT, check=True)
    return dict(zip(HEADERS, paths))


def code_of(header):
    """The header without comments, inline bodies, and code under #ifdef __cplusplus."""
    lines = subprocess.run(['unifdef', '-U__cplusplus', header], capture_output=True,
                           text=True).stdout if has('unifdef') else header.read_text()
    text = re.sub(r'/\*.*?\*/', lambda m: '\n' * m[0].count('\n'), lines, flags=re.S)
    text = re.sub(r'#ifdef __cplusplus\n.*?#(else|endif)[^\n]*', '', text, flags=re.S)
    return re.sub(r'(static inline [^{;]*)\{.*?^\}', r'\1;', text, flags=re.S | re.M)


@pytest.fixture(scope='module')
def page_of(tmp_path_factory):
    """page_of(header) returns the page of a header, as text without roff."""
    paths = pages_of(tmp_path_factory.mktemp('headers'))

    def page(header):
        text = re.sub(r'\\f[BRI]|\\&', '', paths[header].read_text())
        return text.replace('\\-', '-').replace('\\e', '\\')
    return page


@pytest.fixture(scope='module')
def pages(tmp_path_factory):
    """The folder with the pages of all functions."""
    folder = tmp_path_factory.mktemp('man3')
    subprocess.run([ROOT / 'tools/api-pages', '--names', folder, *HEADERS], cwd=ROOT, check=True)
    pages_of(folder)
    return folder


@pytest.mark.parametrize(
    'header', [h for h in HEADERS if h.stem not in ('attar', 'attar-run', 'perfume')],
    ids=lambda h: h.stem)
def test_page_of_a_header_has_every_name(page_of, header):
    """Types, their members, constants, functions, and macros with a comment."""
    page = page_of(header)
    code = re.sub(r'^\s*#.*?(?<!\\)$', '', code_of(header), flags=re.M | re.S)
    names = set(re.findall(r'\b(?:attar|ATTAR)_\w+', code)) - INTERNAL
    assert len(names) > 2
    assert not {name for name in names if not re.search(rf'\b{name}\b', page)}
    members = set(re.findall(r'^\t[a-z][^;(#]*?\b(\w+)(?:\[\w+\])?;', code, re.M))
    assert not {name for name in members if not re.search(rf'\b{name}\b', page)}
    defines = re.findall(r'\*/\n#define (\w+)', header.read_text())
    assert not {name for name in defines if name not in INTERNAL and name not in page}


def test_page_of_libperfume_has_every_name(page_of):
    public = (ROOT / 'perfume/perfume.h').read_text().partition('internal ----')[0]
    page = page_of(ROOT / 'perfume/perfume.h')
    names = set(re.findall(r'PERFUME_API [^;]*?\b(perfume_\w+)\)?\(', public))
    names |= set(re.findall(r'^\t(PERFUME_\w+)', public, re.M))
    names |= set(re.findall(r'\*/\n#define (\w+)', public))
    names |= set(re.findall(r'^struct (\w+) \{', public, re.M))
    names = {name for name in names - INTERNAL if not name.endswith('_')}
    assert {'perfume_write', 'PERFUME_EVENT', 'PERFUME_OPCODE_STOP', 'perfume_activity'} <= names
    assert not {name for name in names if not re.search(rf'\b{name}\b', page)}


def exported(library):
    done = subprocess.run(['nm', '-D', '--defined-only', next(BUILD.glob(f'*/lib{library}.so'))],
                          capture_output=True, text=True, check=True)
    return {line.split()[-1].split('@')[0] for line in done.stdout.splitlines()
            if line.split()[-1].startswith(f'{library}_')}


def test_every_function_has_a_page(pages):
    """A page, or a reference to the page of the functions that share its comment."""
    names = exported('attar')
    assert len(names) > 200
    for name in names:
        text = (pages / f'{name}.3').read_text()
        if text.startswith('.so '):
            text = (pages / text.split('/')[1].strip()).read_text()
        assert re.search(rf'^\.SH NAME\n.*\b{name}\b.* \\- \S', text, re.M), name
        assert re.search(rf'\b{name}\(', text), name


def test_man_3_attar_and_perfume(pages):
    """The overview refers to each header; both are formatted by man."""
    if not has('man'):
        pytest.skip('man (package man-db) is not installed')
    for name, words in [('attar', ['attar_stream(3)', 'attar_format(3)', 'attar_run_go(3)']),
                        ('perfume', ['PERFUME_EVENT', 'perfume_register', '-lperfume'])]:
        done = subprocess.run(['man', '-l', pages / f'{name}.3'], capture_output=True, text=True,
                              env={**os.environ, 'LC_ALL': 'C.UTF-8'}, check=True)
        assert not done.stderr
        assert not [word for word in words if word not in done.stdout]


def test_pages_are_formatted_without_warnings(pages):
    lint = (['mandoc', '-Tlint', '-Wwarning'] if has('mandoc')
            else ['groff', '-ww', '-man', '-Tutf8', '-z'])
    if not has(lint[0]):
        pytest.skip('neither mandoc nor groff is installed')
    full = [page for page in pages.iterdir() if not page.read_text().startswith('.so ')]
    assert len(full) > 200
    done = subprocess.run([*lint, *full], capture_output=True, text=True, check=False)
    assert done.stdout + done.stderr == ''


@pytest.mark.parametrize('name', ['attar', 'attar-run'])
def test_the_program_of_the_first_page_runs(page_of, name, tmp_path):
    """It is built and run as shown."""
    page = page_of(ROOT / f'include/attar/{name}.h')
    lines = re.search(r'^\.EX\n( *#include.*?)^\.EE', page, re.M | re.S)[1]
    source = tmp_path / 'program.c'
    source.write_text(lines)
    subprocess.run([*compiler(), '-Wall', f'-I{ROOT}/include', '-o', tmp_path / 'program', source,
                    f'-L{BUILD}/src', f'-l{name}',
                    '-lattar'], check=True)
    done = subprocess.run([tmp_path / 'program'], capture_output=True, text=True,
                          env={**os.environ, 'LD_LIBRARY_PATH': str(BUILD / 'src')}, check=False)
    assert done.returncode == 0, done.stderr
    if name == 'attar':
        assert int(done.stdout) > 0
    else:
        assert 'functions' in done.stdout
