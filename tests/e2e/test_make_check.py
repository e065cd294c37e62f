# SPDX-License-Identifier: MIT
"""make check: builds, then runs static checks, unit tests and quick end-to-end tests."""
import re

from command import BUILD
from test_install import make, prefix  # noqa: F401

# A test of each kind with this word in its name.
WORD = 'name'
STATIC, UNIT, END_TO_END = ('perfume defines no foreign names', 'task_name',
                            'test_scripts: test_trace_prints_times_fields_and_names')


def test_builds_and_runs_tests_of_each_kind(prefix):  # noqa: F811
    example = BUILD / 'examples/13-names'
    example.unlink()
    done = make('check', f'PREFIX={prefix}', f'K={WORD}')
    assert done.returncode == 0, done.stdout + done.stderr
    assert example.exists()
    passed = re.fullmatch(r'(\d+) passed, 0 failed, \d+ skipped', done.stdout.splitlines()[-1])
    ran = re.findall(r'^ *[\d.]+ s  (.*)$', done.stdout, re.M)
    assert {STATIC, UNIT, END_TO_END} <= set(ran)
    assert int(passed[1]) >= len(ran) - done.stdout.count('\nskipped ') > 5
    assert not [name for name in ran if name.startswith(('test_guests', 'perfume_user_events'))]


def test_fails_if_no_test_passes(prefix):  # noqa: F811
    done = make('check', f'PREFIX={prefix}', 'K=no-such-test')
    assert done.returncode != 0
    assert done.stdout.splitlines()[-1] == '0 passed, 0 failed, 0 skipped'
