# SPDX-License-Identifier: MIT
"""attar in a PID namespace: fields of events have the numbers of the first one."""
import json
import subprocess

import pytest

from command import ATTAR, run

REMARK = 'attar is in another PID namespace than the first one'
INSIDE = ['unshare', '--pid', '--fork', '--mount-proc']


def remarks(*args, inside):
    if subprocess.run([*INSIDE, 'true'], capture_output=True, check=False).returncode:
        pytest.skip('PID namespaces are not permitted')
    done = run(*(INSIDE[1:] + [ATTAR] if inside else []), *args, '--format', 'json', '--', 'true',
               program=INSIDE[0] if inside else ATTAR)
    assert done.returncode == 0, done.stderr
    return [remark for remark in json.loads(done.stdout.splitlines()[-1]).get('remarks', [])
            if REMARK in remark]


@pytest.mark.usefixtures('root')
@pytest.mark.parametrize('profiler, event', [
    ('offcpu', 'sched:sched_switch'), ('wall', 'sched:sched_switch'),
    ('signals', 'signal:signal_generate'), ('execsnoop', 'sched:sched_process_exec'),
    ('forks', 'task:task_newtask')])
def test_numbers_of_the_first_namespace(profiler, event):
    remark, = remarks(profiler, inside=True)
    assert event in remark
    assert not remarks(profiler, inside=False)


@pytest.mark.usefixtures('root')
def test_events_without_numbers_of_tasks():
    assert not remarks('syscount', inside=True)
