# SPDX-License-Identifier: MIT
"""Functions of JavaScript in attar stack: node --perf-basic-prof, which writes a perf map."""
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from command import run, wait_until
from interpreted import repeated

NODE = shutil.which('node', path='/usr/local/bin:/usr/bin')
pytestmark = [pytest.mark.usefixtures('root'),
              pytest.mark.skipif(not NODE, reason='node is not installed')]
OPTIONS = ['--perf-basic-prof', '--interpreted-frames-native-stack', '--no-turbo-inlining']

# A callback of C++ code is in the middle.
HOT = '''
function heavy() { let x = 0; for (let i = 0; i < 7e6; i++) x += i % 7; return x; }
function light() { let x = 0; for (let i = 0; i < 3e6; i++) x += i % 7; return x; }
class Worker { both(text) { heavy(); light(); return text; } }
const worker = new Worker;
function outermost() {
    for (;;)
        JSON.parse('[1]', (key, value) => worker.both(value));
}
outermost();
'''


@pytest.fixture(name='process')
def fixture_process(tmp_path):
    script = tmp_path / 'hot.js'
    script.write_text(HOT)
    with subprocess.Popen([NODE, *OPTIONS, script], cwd=tmp_path) as process:
        try:
            yield process
        finally:
            process.kill()
            Path(f'/tmp/perf-{process.pid}.map').unlink(missing_ok=True)


def functions_in(text):
    """The functions of the script, innermost first."""
    return re.findall(r'JS:[^A-Za-z ]*([\w.]*) \S+/hot\.js:\d+', text)


def test_functions_of_javascript(process):
    found = []

    def runs():
        found[:] = [functions_in(run('stack', '-t', process.pid).stdout)]
        return found[0][:1] in (['heavy'], ['light']) and found[0][-2:] == ['outermost', '']

    wait_until(runs, 'it runs')
    assert found[0][1:] == ['both', '', 'outermost', '']


def test_shares(process):
    wait_until(lambda: 'outermost' in run('stack', '-t', process.pid).stdout, 'it runs')
    _, functions = repeated(process.pid, '--repeat', 300, '--every', '3ms')
    samples = {'heavy': 0, 'light': 0}
    for row in functions.values():
        for name in functions_in(row['symbol'] or ''):
            if name in samples:
                samples[name] += row['samples']
    n = sum(samples.values())
    assert n > 60, functions
    assert abs(samples['heavy'] / n - 0.7) < 4.5 * (0.7 * 0.3 / n) ** 0.5, samples
