# SPDX-License-Identifier: MIT
"""make check: builds, then runs static checks, unit tests and quick end-to-end tests; make test."""
import importlib.machinery
import importlib.util
import re

import pytest

from command import BUILD, ROOT
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


@pytest.fixture
def tests(monkeypatch):
    """tests/run as a module."""
    loader = importlib.machinery.SourceFileLoader('tests_run', str(ROOT / 'tests/run'))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader('tests_run', loader))
    monkeypatch.setattr('sys.dont_write_bytecode', True)
    loader.exec_module(module)
    return module


# It passes when it has failed so often.
FAILS = """
import pathlib, pytest
@pytest.mark.xdist_group('a group')
@pytest.mark.parametrize('times', [0, 1, 2, 3])
def test_it(times):
    count = pathlib.Path(__file__).with_name(f'failed{times}')
    failed = int(count.read_text()) if count.exists() else 0
    count.write_text(str(failed + 1))
    assert failed >= times
"""


def test_failed_tests_are_repeated_twice(tests, tmp_path, monkeypatch):
    """Only the tests that failed the last time, also if their names have a group."""
    (tmp_path / 'cases').mkdir()
    (tmp_path / 'cases/test_fails.py').write_text(FAILS)
    monkeypatch.setattr(tests, 'ROOT', tmp_path)
    monkeypatch.setattr(tests, 'TESTS', ['cases'])
    counts = tests.Counts()
    tests.run_pytest(counts, BUILD, None, False)
    assert [name for name, _ in counts.failed] == ['test_fails: test_it[3]']
    assert [name for name, _ in counts.repeated] == ['test_fails: test_it[1]',
                                                     'test_fails: test_it[2]']
    assert counts.passed == 3
    assert [(tmp_path / f'cases/failed{times}').read_text() for times in range(4)] == [
        '1', '2', '3', '3']


def test_all_tests_say_how_long_they_take_and_which_run(tests, tmp_path, monkeypatch, capsys):
    """With nothing in place of the tests."""
    for name in ('run_programs', 'run_pytest', 'run_guests'):
        monkeypatch.setattr(tests, name, lambda *args, **kwargs: None)
    monkeypatch.setattr(tests, 'compile_tests', lambda build: tests.threading.Thread())
    monkeypatch.setattr(tests.threading.Thread, 'wait', lambda thread: 0, raising=False)
    monkeypatch.setattr(tests.subprocess, 'Popen', lambda *args, **kwargs: None)
    (tmp_path / 'meson-logs').mkdir()
    for first in (True, False):
        monkeypatch.setattr(tests, 'START', tests.time.monotonic() - 720)
        tests.run_all(tests.Counts(), tmp_path)
        lines = capsys.readouterr().out.splitlines()
        assert ('about 25 minutes' if first else 'the last run took 12 minutes') in lines[0]
        assert [re.sub(r'.*\((\d) of 3\)', r'\1', line) for line in lines[1:]] == ['1', '2', '3']
        assert all(line.startswith(' 12 min: ') for line in lines)
