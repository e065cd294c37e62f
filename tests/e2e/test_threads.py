# SPDX-License-Identifier: MIT
"""Data shared by threads, under ThreadSanitizer: rings and their writers, parallel streams and
runs, libperfume."""
import os
import re
import subprocess

import pytest

import builds
from command import BUILD

TESTS = ['live_threads', 'live_stream_run', 'unit_ring', 'unit_procs', 'perfume_probe',
         'perfume_event',
         'perfume_plugin']


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
                      *(f'{folder(test)}/{test}' for test in TESTS))
    if 'cannot find -ltsan' in done.stdout or 'libtsan' in done.stdout:
        pytest.skip('the compiler has no ThreadSanitizer')
    assert done.returncode == 0, done.stdout
    return build


def sanitized(built, program):
    """Run the program without reports of thread leaks."""
    # The child of a fork cannot join threads of its parent, which would be reported as leaks.
    env = {**os.environ, 'TSAN_OPTIONS': 'halt_on_error=0:exitcode=66:report_thread_leaks=0',
           'CMOCKA_MESSAGE_OUTPUT': 'TAP',
           'PLUGIN': str(built / 'perfume/tests/libplugin.so'),
           'LD_LIBRARY_PATH': f'{built / "perfume"}:{built / "perfume/tests"}'}
    return subprocess.run([str(program)], env=env, capture_output=True, text=True, timeout=300,
                          check=False)


@pytest.mark.parametrize('test', TESTS)
def test_no_data_races(built, test):
    done = sanitized(built, built / folder(test) / test)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[:6000]
    assert re.search(r'^ok 1', done.stdout, re.M)


def test_a_data_race_is_detected(built, tmp_path):
    source = tmp_path / 'race.c'
    source.write_text('''#include <pthread.h>
        static int shared; static void *bump(void *p) { shared++; return p; }
        int main(void)
        { pthread_t t; pthread_create(&t, 0, bump, 0); shared++; return pthread_join(t, 0); }''')
    subprocess.run(['cc', '-fsanitize=thread', '-o', tmp_path / 'race', source], check=True)
    assert sanitized(built, tmp_path / 'race').returncode == 66
