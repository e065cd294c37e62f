# SPDX-License-Identifier: MIT
"""Data shared by threads, under ThreadSanitizer: rings and their writers, parallel streams and
runs, libperfume, files that the command writes."""
import os
import re
import subprocess

import pytest

import builds
from command import BUILD, workload

TESTS = ['live_threads', 'live_stream_run', 'unit_ring', 'unit_procs', 'unit_file_writer',
         'unit_recording_writer', 'perfume_probe', 'perfume_event', 'perfume_plugin']


def folder(test):
    kind = test.partition('_')[0]
    return 'perfume/tests' if kind == 'perfume' else f'tests/{kind}'


@pytest.fixture(scope='module')
def built():
    """Build with the sanitizer in a folder next to the tested build."""
    build = BUILD.parent / f'{BUILD.name}-thread'
    failed = builds.setup(build, '-Db_sanitize=thread', '-Db_lundef=false')
    assert not failed, failed
    done = builds.run('ninja', '-C', build, 'perfume/tests/libplugin.so',
                      'src/cli/attar', *(f'{folder(test)}/{test}' for test in TESTS))
    if 'cannot find -ltsan' in done.stdout or 'libtsan' in done.stdout:
        pytest.skip('the compiler has no ThreadSanitizer')
    assert done.returncode == 0, done.stdout
    return build


def sanitized(built, program, *args):
    """Run the program without reports of thread leaks."""
    # The child of a fork cannot join threads of its parent, which would be reported as leaks.
    env = {**os.environ, 'TSAN_OPTIONS': 'halt_on_error=0:exitcode=66:report_thread_leaks=0',
           'CMOCKA_MESSAGE_OUTPUT': 'TAP',
           'PLUGIN': str(built / 'perfume/tests/libplugin.so'),
           'LD_LIBRARY_PATH': f'{built / "perfume"}:{built / "perfume/tests"}'}
    return subprocess.run([str(program), *map(str, args)], env=env, capture_output=True,
                          text=True, timeout=300, check=False)


@pytest.mark.parametrize('test', TESTS)
def test_no_data_races(built, test):
    done = sanitized(built, built / folder(test) / test)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[:6000]
    assert re.search(r'^ok 1', done.stdout, re.M)


@pytest.mark.parametrize('words, names', [
    (['trace', '-o', 'x.csv'], ['x.csv']),
    (['trace', '-o', 'x-%Y%m%d%H%M%S.csv', '--rotate-every', '1s', '-i', '1s',
      '--rotate-keep', '1G'], None),
    (['record', '-o', 'x.data'], ['x.data']),
    (['record', '-o', 'x.data', '--max-size', '256K', '--rotate', '100'], None),
], ids=['lines', 'rotated lines', 'recording', 'rotated recording'])
def test_no_data_races_of_written_files(root, built, tmp_path, words, names):
    """The command reads rings while a thread writes; all events are in the files."""
    words = [word if 'x' not in word[:1] else tmp_path / word for word in words]
    flood = f'for n in $(seq 15); do {workload("flood")} 2000; sleep 0.1; done'
    done = sanitized(built, built / 'src/cli/attar', *words, '-q', '-m', 1024, '-e',
                     'syscalls:sys_enter_getppid/comm=="flood"/', '--', 'sh', '-c', flood)
    assert done.returncode == 0 and 'ThreadSanitizer' not in done.stderr, done.stderr[:6000]
    files = list(tmp_path.iterdir())
    assert [path.name for path in files] == names if names else len(files) > 1
    found = [subprocess.run([BUILD / 'src/cli/attar', 'trace', '--format', 'csv', '--input', path],
                            capture_output=True, text=True, check=True).stdout
             if words[0] == 'record' else path.read_text() for path in files]
    assert sum(text.count(',flood,') for text in found) == 30000


def test_a_data_race_is_detected(built, tmp_path):
    source = tmp_path / 'race.c'
    source.write_text('''#include <pthread.h>
        static int shared; static void *bump(void *p) { shared++; return p; }
        int main(void)
        { pthread_t t; pthread_create(&t, 0, bump, 0); shared++; return pthread_join(t, 0); }''')
    subprocess.run(['cc', '-fsanitize=thread', '-o', tmp_path / 'race', source], check=True)
    assert sanitized(built, tmp_path / 'race').returncode == 66
