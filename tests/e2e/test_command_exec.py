# SPDX-License-Identifier: MIT
"""What profilers that follow tasks show of a command begins with its exec."""
import json
import os

import pytest

from command import ATTAR, run_delivered
from scripts import rows

pytestmark = pytest.mark.usefixtures('root', 'busy_cpus')

# Some virtual machines do not deliver switches from the idle tasks of other CPUs.
COMMAND = ['--', 'taskset', '-c', min(os.sched_getaffinity(0)), 'sh', '-c', 'echo $$ >&2']


@pytest.mark.parametrize('words, table', [
    (['task-state', '--perins'], 'task-state'), (['oncpu'], 'threads'), (['wall'], 'threads'),
], ids=['task-state', 'oncpu', 'wall'])
def test_first_run_is_that_of_the_exec(words, table):
    """No switch is the begin of it: before the exec it was attar's, which waits for the start."""
    done = run_delivered(*words, '--format', 'json', *COMMAND)
    pid = next(int(line) for line in done.stderr.splitlines() if line.isdigit())
    mine = [row for row in rows(json.loads(done.stdout), table) if row['tid'] == pid]
    assert mine and {row['comm'] for row in mine} <= {'taskset', 'sh'}
    ran = [row for row in mine if row.get('state', 'R') == 'R']
    assert sum(row['total' if table == 'task-state' else 'time'] for row in ran) > 10000


def test_wait_for_the_start_is_no_delay():
    """attar wakes the process up, which is still called "attar"."""
    done = run_delivered('rundelay', '--detail', *COMMAND)
    pid = next(line for line in done.stderr.splitlines() if line.isdigit())
    assert f'comm=attar pid={pid} ' not in done.stdout


def test_attar_as_the_command():
    """Its name does not change with the exec: the record of the exec counts."""
    inner = [ATTAR, '--version']
    done = run_delivered('task-state', '--format', 'json', '--per-comm', '--', *inner)
    report = next(line for line in done.stdout.splitlines() if line.startswith('{'))
    states = {row['state']: row for row in rows(json.loads(report), 'task-state')
              if row['comm'] == 'attar'}
    assert states['R']['total'] > 10000
