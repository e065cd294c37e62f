# SPDX-License-Identifier: MIT
"""
Events are enabled and disabled one after the other, and are reported while all of them are enabled:
two events that come in pairs begin and end together.
"""
import json
import sys

import pytest

from faults import with_fault

ENABLE_MS = 100
DISABLE_MS = 50
RING_PAGES = 8192  # nothing is read while events are disabled

# Two processes of one CPU that wake each other in turns.
TURNS = '''
import os
os.sched_setaffinity(0, {0})
here, there = os.pipe(), os.pipe()
pid = os.fork()
os.write(here[1], b'x')
while os.read(here[0] if pid else there[0], 1):
    os.write(there[1] if pid else here[1], b'x')
'''

# A process that wakes up rarely: its events fit in the ring while events are disabled.
SLEEPS = '''
import os, time
os.sched_setaffinity(0, {0})
while True:
    time.sleep(0.001)
'''


def times(output, cpu):
    """Return the times of each event on a CPU, from the JSON lines of trace."""
    found = {}
    for line in output.splitlines():
        for section in json.loads(line)['sections']:
            for time, _, _, at, event, *_ in section['rows']:
                if at == cpu:
                    found.setdefault(event, []).append(time)
    return found


def test_switches_begin_with_other_events(spawn):
    """
    attar makes switches that the kernel does not deliver from other records, which are enabled
    first; the event that is named first is enabled last.
    """
    spawn(sys.executable, '-c', TURNS)
    done = with_fault('kernel', 'trace', '-q', '-e', 'sched:sched_waking,sched:sched_switch', '-d',
                      '1s', '--format', 'json', enable=ENABLE_MS)
    assert done.returncode == 0, done.stderr
    found = times(done.stdout, cpu=0)
    assert set(found) == {'sched:sched_waking', 'sched:sched_switch'}
    before = found['sched:sched_waking'][0] - found['sched:sched_switch'][0]
    assert before < ENABLE_MS / 2 * 1e6


@pytest.mark.parametrize('events', [
    'sched:sched_waking,sched:sched_switch', 'sched:sched_switch,sched:sched_waking'])
@pytest.mark.parametrize('interval', [(), ('-i', '100ms')])
def test_events_end_together(spawn, events, interval):
    spawn(sys.executable, '-c', SLEEPS)
    done = with_fault('kernel', 'trace', '-q', '-m', str(RING_PAGES), '-e', events, '-d',
                      '500ms', *interval, '--format', 'json', disable=DISABLE_MS)
    assert done.returncode == 0, done.stderr
    found = times(done.stdout, cpu=0)
    assert set(found) == {'sched:sched_waking', 'sched:sched_switch'}
    after = found['sched:sched_waking'][-1] - found['sched:sched_switch'][-1]
    assert abs(after) < DISABLE_MS / 2 * 1e6
