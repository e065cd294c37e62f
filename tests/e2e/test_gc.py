# SPDX-License-Identifier: MIT
"""attar gc and query: as many collections and queries as programs make."""
import json
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from command import ATTAR, has, is_waiting, run, wait_until
from scripts import report, rows

POSTGRES = Path('/usr/lib/postgresql/15/bin/postgres')
PYTHON = '/usr/bin/python3'
PROGRAM = '''
import gc, sys
gc.disable()
print("ready", flush=True)
sys.stdin.readline()
for i in range(50):
    gc.collect()
sys.stdin.read()
'''


@pytest.mark.usefixtures('root')
def test_collections_of_a_program():
    """The run ends with the last of 100 events: 50 collections, none before or after them."""
    if 'python:gc__start' not in run('usdt', 'list', PYTHON).stdout:
        pytest.skip(f'{PYTHON} was built without USDT probes')
    with subprocess.Popen([PYTHON, '-c', PROGRAM], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as program:
        try:
            assert program.stdout.readline() == b'ready\n'
            attar = subprocess.Popen(
                [ATTAR, 'gc', '--format', 'json', '-p', str(program.pid), '-N', '100',
                 '-d', '60'], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
            wait_until(lambda: is_waiting(attar), 'attar waits for events')
            program.stdin.write(b'\n')
            program.stdin.flush()
            found = json.loads(attar.communicate(timeout=90)[0].splitlines()[-1])
        finally:
            program.kill()
    check_pairs(found, 50)


@pytest.mark.usefixtures('root')
@pytest.mark.parametrize('preset,file', [('gc', Path(PYTHON).resolve()), ('query', POSTGRES)])
def test_no_process_has_the_probes(preset, file):
    """The command uses neither program."""
    if not file.exists():
        pytest.skip(f'{file} is missing')
    found = report(preset, '--', 'true')
    assert [r for r in found['remarks'] if 'has mapped' in r] == [
        f'no watched process runs {file} or has mapped it, so its probes have no events: -e '
        "selects the probes of another file, which 'attar usdt list FILE' lists"]


@pytest.mark.usefixtures('root')
def test_processes_have_the_probes():
    """A command and a process that have mapped the file, although none of its probes is hit."""
    program = 'import gc, sys; gc.disable(); print("ready", flush=True); sys.stdin.read()'
    found = report('gc', '--than', '1h', '--', PYTHON, '-I', '-S', '-c', '')
    assert not any('has mapped' in r for r in found.get('remarks', []))
    with subprocess.Popen([PYTHON, '-c', program], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b'ready\n'
        found = report('gc', '-p', process.pid, '-d', '0.1')
        process.stdin.close()
    assert not any('has mapped' in r for r in found.get('remarks', []))


@pytest.mark.usefixtures('root')
def test_a_process_with_the_probes_ends():
    """It had mapped the file before the run: the report claims nothing about it."""
    program = 'import gc, sys; gc.disable(); print("ready", flush=True); sys.stdin.read()'
    with subprocess.Popen([PYTHON, '-c', program], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b'ready\n'
        with subprocess.Popen(
                [ATTAR, 'gc', '--than', '1h', '--format', 'json', '-p', str(process.pid)],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as attar:
            wait_until(lambda: is_waiting(attar), 'attar waits for events')
            process.kill() # at its end, Python collects garbage
            found = json.loads(attar.communicate(timeout=60)[0].splitlines()[-1])
    remarks = [r for r in found['remarks'] if 'has mapped' in r]
    assert [r.partition(':')[0] for r in remarks] == [
        f'no watched process that still runs has mapped {Path(PYTHON).resolve()}']


def check_pairs(found, calls):
    row, = rows(found, 'pairs')
    assert row['calls'] == calls
    assert 0 < row['min'] <= row['p50'] <= row['max'] and row['total'] >= calls * row['min']


@pytest.mark.usefixtures('root')
def test_collections_of_ruby():
    """With the command of the page: 50 collections, and none for the program's own needs."""
    if not has('ruby'):
        pytest.skip('ruby is not installed')
    library = re.search(r'/\S*libruby\S*', run(shutil.which('ruby'), program='ldd').stdout)
    file = library and library[0]
    if not file or 'ruby:gc__mark__begin' not in run('usdt', 'list', file).stdout:
        pytest.skip('ruby has no shared library with USDT probes')
    check_pairs(report('gc', '-e', f'usdt:{file}:ruby:gc__mark__begin', '-e',
                       f'usdt:{file}:ruby:gc__mark__end', '--', 'ruby', '--disable-gems', '-e',
                       'GC.disable; 50.times { GC.start }'), 50)


@pytest.mark.usefixtures('root')
def test_queries_of_a_server():
    """A server without network reads 30 queries from its standard input."""
    if not POSTGRES.exists() or 'query__start' not in run('usdt', 'list', POSTGRES).stdout:
        pytest.skip(f'{POSTGRES} is not installed, or has no USDT probes')
    # the server refuses to run as root, and that user may not read pytest's folders
    user = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups']
    with tempfile.TemporaryDirectory() as folder:
        os.chown(folder, 65534, 65534)
        subprocess.run([*user, POSTGRES.parent / 'initdb', '-N', '-D', f'{folder}/data'],
                       cwd='/', stdout=subprocess.DEVNULL, check=True)
        with open(f'{folder}/queries', 'w+') as queries:
            queries.write('select count(*) from pg_class;\n' * 30)
            queries.seek(0)
            found = report('query', '--', *user, POSTGRES, '--single', '-D', f'{folder}/data',
                           'postgres', cwd='/', stdin=queries)
    check_pairs(found, 30)
