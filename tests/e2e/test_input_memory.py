# SPDX-License-Identifier: MIT
"""The memory that a profiler needs does not grow with the length of a recording."""
import json
import subprocess

import pytest

from command import ATTAR, compiler, workload


def analyse(events, *args):
    """Return the report of a recording with this number of events, which is never on a disk."""
    with subprocess.Popen([workload('write_recording'), str(events), 'attar'],
                          stdout=subprocess.PIPE) as writer:
        done = subprocess.run([ATTAR, *args, '--format', 'json', '--input', '-'],
                              stdin=writer.stdout, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize('args', [('top', '-e', 'cpu-clock'), ('profile',)],
                         ids=lambda args: args[0])
def test_peak_memory_is_that_of_a_tenth_of_the_events(args):
    if any('sanitize' in word for word in compiler()):
        pytest.skip('a sanitizer keeps freed memory')
    short, long = analyse(10**6, *args), analyse(10**7, *args)
    assert (short['notes']['seen'], long['notes']['seen']) == (10**6, 10**7)
    # Pages of libraries, which it shares with other programs, count if they happen to be mapped.
    assert long['notes']['self_rss'] < short['notes']['self_rss'] + (2 << 20)
    assert long['notes']['self_rss'] < 16 << 20
