# SPDX-License-Identifier: MIT
"""bench/run: a benchmark that fails does not lose what the others have measured."""
import json
import shutil
import subprocess

import pytest

from command import ROOT

GOOD = '''
"""A benchmark that works."""
def run(bench):
    limit = bench.limit('a value', 'ns', 5)
    for i in bench.rounds():
        limit.add(i)
'''
FAULTS = {
    'exception': ("raise ValueError('3 of 4 rows')", 'ValueError: 3 of 4 rows'),
    'command': ("import subprocess; subprocess.run(['false'], check=True)", 'CalledProcessError'),
    'import': ('import a_module_that_is_not_installed', 'ModuleNotFoundError'),
    'skip': ("bench.peer('a-peer-that-is-not-installed')",
             'a-peer-that-is-not-installed is not installed'),
    'exit': ('import sys; sys.exit(3)', 'SystemExit: 3'),
}


@pytest.mark.quick
@pytest.mark.parametrize('fault', FAULTS)
def test_a_benchmark_that_fails_is_reported_and_the_next_is_run(tmp_path, fault):
    statement, reason = FAULTS[fault]
    for name in ('run', 'harness.py'):
        shutil.copy(ROOT / 'bench' / name, tmp_path)
    for name in ('first', 'third'):
        (tmp_path / f'{name}.py').write_text(GOOD)
    (tmp_path / 'second.py').write_text(f'"""A benchmark that fails."""\ndef run(bench):\n'
                                        f"    limit = bench.limit('before', 'ns', 5)\n"
                                        f'    limit.add(1)\n    {statement}\n')
    out = tmp_path / 'out.json'
    done = subprocess.run([tmp_path / 'run', '--build', tmp_path, '--rounds', '3', '--json', out],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert 'not measured: second: ' + reason in done.stdout
    found = json.loads(out.read_text())
    assert [(r['benchmark'], r['ours']) for r in found['rows']] == [
        ('first', 1), ('second', 1), ('third', 1)]
    assert len(found['trouble']) == 1 and reason in found['trouble'][0]
    assert '3 goals met, 0 not met' in done.stdout
