# SPDX-License-Identifier: MIT
"""The Firefox Profiler's own command line program, for tests of files that it opens."""
import json
import os
import subprocess

import pytest

import npm
from command import wait_until


@pytest.fixture
def load(tmp_path):
    """
    load(path) starts a session; load.ask(words...) returns what profiler-cli prints,
    load.markers(name) its markers.
    """
    if not os.access('/usr/bin/node', os.X_OK):
        pytest.skip('node is not installed')
    program = npm.install('@firefox-devtools/profiler-cli', '0.10.0') / 'dist/profiler-cli.js'
    sessions = tmp_path / 'sessions'
    environ = {**os.environ, 'PROFILER_CLI_SESSION_DIR': str(sessions)}

    def ask(*words):
        done = subprocess.run(['node', program, *words], capture_output=True, text=True,
                              env=environ, timeout=120)
        return done.stdout + done.stderr

    def start(path):
        text = ask('load', path)
        # It reports a daemon that needs longer than half a second to start as an error.
        wait_until(lambda: 't-0' in ask('thread', 'list'), f'the profile is loaded: {text}', 90)

    def markers(name, thread='t-0'):
        """Return (start, duration) in ms of up to 1,000 markers with this name, in order."""
        found = json.loads(ask('thread', 'markers', '--thread', thread, '--search', name,
                               '--top-n', '1000', '--json'))
        return sorted((marker['start'], marker['duration']) for kind in found['byType']
                      if kind['markerName'] == name for marker in kind['topMarkers'])

    start.ask, start.markers = ask, markers
    yield start
    ask('stop', '--all')
