# SPDX-License-Identifier: MIT
"""A guest pushes its events to a virtio-serial port; the host pulls them from its other end."""
import json
import subprocess
import threading
from pathlib import Path

import pytest

import guest
from command import ATTAR, wait_until, workload

CALLS = 1000


def connections(path):
    """The sockets of this path: QEMU's listener, and one for each connection."""
    return sum(line.endswith(f' {path}')
               for line in Path('/proc/net/unix').read_text().splitlines())


@pytest.mark.guest('x86')
def test_the_host_pulls_from_a_guest(spawn, tmp_path):
    """The program in the guest makes its calls when the host is connected."""
    port, go, ended = tmp_path / 'port', tmp_path / 'go', []
    script = (f'mkfifo /tmp/wait; {ATTAR} record -e "raw_syscalls:sys_enter/id==110/" '
              f'--push "$(echo /dev/vport*p3)" -- sh -c \'touch {tmp_path}/ready; '
              f'until [ -e {go} ]; do sleep 0.1; done; exec {workload("flood")} {CALLS}\'')

    def boot():
        ended.append(guest.boot('x86', 'sh', '-c', script, share=[tmp_path], port=port,
                               timeout=120))
    thread = threading.Thread(target=boot, daemon=True)
    thread.start()
    wait_until(lambda: (tmp_path / 'ready').exists() or ended, 'the command in the guest', 110)
    assert not ended, ended
    pulling = spawn(ATTAR, 'trace', '-q', '--format', 'json', '-e', 'raw_syscalls:sys_enter',
                    '--pull', f'unix:{port}', stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                    text=True)
    wait_until(lambda: connections(port) > 1 or pulling.poll() is not None, 'a connection')
    go.touch()
    out, err = pulling.communicate(timeout=110)
    thread.join(60)
    assert pulling.returncode == 0, err
    done, = ended
    assert done.returncode == 0, done.stderr
    reports = [json.loads(line) for line in out.splitlines()]
    rows = [row for report in reports for s in report['sections'] for row in s['rows']]
    comms = [row[1] for row in rows]
    assert comms.count('flood') == CALLS
    assert reports[-1]['notes']['lost'] == 0
    assert f'{len(rows)} samples were pushed to 1 peer' in done.stdout
    assert 'not acknowledged' not in done.stdout
