# SPDX-License-Identifier: MIT
"""Two programs that have the same process ID, one after the other, in a PID namespace."""
import json
import subprocess

import pytest

from command import ATTAR, workload

PID = 500
CALLS = {'first': 1000, 'second': 2000}

PROGRAM = f'''
import os, sys
for path, calls in zip(sys.argv[1::2], sys.argv[2::2]):
    with open('/proc/sys/kernel/ns_last_pid', 'w') as last:
        last.write('{PID - 1}')
    output = [(os.POSIX_SPAWN_OPEN, 1, '/dev/null', os.O_WRONLY, 0)]
    pid = os.posix_spawn(path, [path, calls], {{}}, file_actions=output)
    assert pid == {PID} and os.waitpid(pid, 0)[1] == 0, pid
'''


def report(tmp_path, *args):
    """Return the report of attar on the programs of CALLS; each makes that many getppid(2)."""
    inside = ['unshare', '--pid', '--fork', '--mount-proc']
    if subprocess.run([*inside, 'true'], capture_output=True, check=False).returncode:
        pytest.skip('PID namespaces are not permitted')
    command = ['/usr/bin/python3', '-I', '-S', '-c', PROGRAM]
    for name, calls in CALLS.items():
        (tmp_path / name).symlink_to(workload('flood'))
        command += [str(tmp_path / name), str(calls)]
    ended = subprocess.run([*inside, ATTAR, *args, '--format', 'json', '--', *command],
                           capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout.splitlines()[-1])
