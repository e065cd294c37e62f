# SPDX-License-Identifier: MIT
"""A guest pushes its events to a virtio-serial port, whose other end is on the host, or a file."""
import json
import subprocess
import threading
from pathlib import Path

import pytest

import guest
from command import ATTAR, BUILD, wait_until, workload
from scripts import rows_of
from test_push import counts, pull

CALLS = 1000
GETPPID = 'raw_syscalls:sys_enter/id==110/'


def connections(path):
    """The sockets of this path: QEMU's listener, and one for each connection."""
    return sum(line.endswith(f' {path}')
               for line in Path('/proc/net/unix').read_text().splitlines())


class Pushing:
    """A boot of the guest in which attar record pushes the events of a program to a serial port."""

    def __init__(self, tmp_path, events, call, after=':'):
        self.port, self.go, self.ended = tmp_path / 'port', tmp_path / 'go', []
        script = (f'{ATTAR} record {events} --push "$(echo /dev/vport*p3)" -- sh -c '
                  f"'touch {tmp_path}/ready; until [ -e {self.go} ]; do sleep 0.1; done; "
                  f"exec {call}'; {after}")

        def boot():
            self.ended.append(guest.boot('x86', 'sh', '-c', script, share=[tmp_path],
                                         port=self.port, timeout=120))
        self.thread = threading.Thread(target=boot, daemon=True)
        self.thread.start()
        wait_until(lambda: (tmp_path / 'ready').exists() or self.ended, 'the command in the guest',
                   110)
        assert not self.ended, self.ended

    def pull(self, spawn, *args):
        """Return the output of a profiler on the host; the program begins when it is connected."""
        pulling = spawn(ATTAR, *args, '--pull', f'unix:{self.port}', stdout=subprocess.PIPE,
                        stderr=subprocess.PIPE, text=True)
        wait_until(lambda: connections(self.port) > 1 or pulling.poll() is not None,
                   'a connection')
        self.go.touch()
        out, err = pulling.communicate(timeout=110)
        assert pulling.returncode == 0, err
        return out

    def end(self):
        """Return what the guest printed."""
        self.thread.join(60)
        done, = self.ended
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.mark.guest('x86')
def test_the_host_pulls_from_a_guest(spawn, tmp_path):
    """The program in the guest makes its calls when the host is connected."""
    pushing = Pushing(tmp_path, f'-e "{GETPPID}"', f'{workload("flood")} {CALLS}')
    out = pushing.pull(spawn, 'trace', '-q', '--format', 'json', '-e', 'raw_syscalls:sys_enter')
    reports = [json.loads(line) for line in out.splitlines()]
    rows = [row for report in reports for s in report['sections'] for row in s['rows']]
    comms = [row[1] for row in rows]
    assert comms.count('flood') == CALLS
    assert reports[-1]['notes']['lost'] == 0
    printed = pushing.end()
    assert f'{len(rows)} samples were pushed to 1 receiver' in printed
    assert 'not acknowledged' not in printed


@pytest.mark.parametrize('kernel, getppid', [
    pytest.param('debian', 110, marks=pytest.mark.guest('debian')),
    pytest.param('arm64', 173, marks=pytest.mark.guest('arm64'))])
def test_a_file_of_a_guest(tmp_path, kernel, getppid):
    """Of another kernel, also of another architecture: names and fields are those of the guest."""
    build = guest.cross_build() if kernel == 'arm64' else BUILD
    done = guest.run(kernel, build / 'src/cli/attar', 'record', '-m', '1024', '-e',
                     f'raw_syscalls:sys_enter/id=={getppid}/', '--push', tmp_path / 'events', '--',
                     build / 'tests/workloads/flood', CALLS, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert f'{CALLS} samples were pushed to 1 receiver' in done.stdout + done.stderr
    assert counts(pull(tmp_path / 'events')) == (CALLS, 0, {'flood': CALLS})


@pytest.mark.guest('x86')
def test_the_names_of_the_guests_kernel(spawn, tmp_path):
    """It is another kernel than that of the host: its functions are elsewhere."""
    listed = tmp_path / 'kallsyms'
    pushing = Pushing(tmp_path, f'-g -e "{GETPPID}"', f'{workload("flood")} {CALLS}',
                      f'cat /proc/kallsyms >{listed}')
    out = pushing.pull(spawn, 'profile', '-q', '-g', '--format', 'json', '-e',
                       'raw_syscalls:sys_enter')
    pushing.end()

    def starts(path):
        return {words[2]: int(words[0], 16)
                for words in map(str.split, path.read_text().splitlines())}
    there, here = starts(listed), starts(Path('/proc/kallsyms'))
    assert there['do_syscall_64'] != here.get('do_syscall_64')
    tree = next(s for s in json.loads(out.splitlines()[-1])['sections'] if s['kind'] == 'tree')
    nodes = rows_of(tree)
    kernel = [n for n in nodes if n['kind'] == 'kernel']
    assert kernel and all(n['name'] in there for n in kernel), kernel
    assert sum(n['total'] for n in kernel if n['name'] == 'do_syscall_64') >= CALLS
