# SPDX-License-Identifier: MIT
"""A user who may make control groups: their names, their number, and processes that move."""
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import containers
import hierarchy
from adversary import UID, Nobody, measure
from command import run
from test_hostile_names import CHECKS, HOSTILE, NAMES

# Makes the groups, and moves four processes between them all the time.
PROGRAM = '''
import ctypes, os, signal, sys
root, names = os.fsencode(sys.argv[1]), eval(sys.argv[2])
for name in names:
    os.makedirs(root + b'/' + name, exist_ok=True)
print(flush=True)
for first in range(4):
    if not os.fork():
        break
ctypes.CDLL(None).prctl(1, signal.SIGKILL)
while True:
    for name in names[first::4]:
        with open(root + b'/' + name + b'/cgroup.procs', 'w') as file:
            file.write('0')
        os.sched_yield()
'''


@pytest.fixture
def groups():
    """Starts the program, as another user who may change the groups below one."""
    with containers.control_group(f'/attar-test-{os.getpid()}') as root, \
            contextlib.ExitStack() as end:
        for path in root, root / 'cgroup.procs':
            os.chown(path, UID, UID)

        def start(names):
            program = subprocess.Popen(
                Nobody.command(sys.executable, '-c', PROGRAM, root, repr(names)),
                stdout=subprocess.PIPE, preexec_fn=lambda: containers.enter(root))
            end.callback(remove, root)
            end.callback(program.wait)
            end.callback(program.send_signal, signal.SIGKILL)
            program.stdout.readline()
        yield start


def remove(root):
    for group, _, _ in os.walk(root, topdown=False):
        if Path(group) != root:
            hierarchy.remove(Path(group))


GROUP_NAMES = [name.encode().replace(b'/', b'_').replace(b'\n', b'_') for name in NAMES] + [
    b'\xff\xfe', b'..a', b'x (deleted)', b'a' * 255, b'$(id)', b"'; id #", b'docker-%b.scope' %
    (b'a' * 64), b'kubepods-pod%b.slice' % (b'a' * 32), b'machine-\x1b[2J.scope',
    b'lxc.payload.\x1b]0;x\x07', b'\x1b[31m.service']


@pytest.mark.parametrize('kind', ['cgroup', 'container', 'pod', 'unit'])
def test_names_do_not_leave_their_places(groups, kind, tmp_path):
    groups(GROUP_NAMES)
    outputs = [word for extension in CHECKS for word in ('-o', tmp_path / f'out.{extension}')]
    done = run('top', '-a', '-e', 'context-switches', '--by', kind, '-d', '1s', *outputs)
    assert done.returncode == 0, done.stderr
    assert not HOSTILE.search(done.stdout + done.stderr)
    for extension, check in CHECKS.items():
        path = tmp_path / f'out.{extension}'
        check(path)
        assert extension == 'db' or not HOSTILE.search(path.read_text('utf-8')), path


@pytest.fixture
def states():
    """The files of 50 containers of runc, which have ended."""
    folder, made = Path('/run/runc'), []
    folder.mkdir(exist_ok=True)
    for i in range(50):
        made.append(folder / f'attar-test-{os.getpid()}-{i}')
        made[-1].mkdir()
        (made[-1] / 'state.json').write_text(json.dumps({
            'config': {'mounts': [{'source': 'x' * 100, 'number': k} for k in range(150)]},
            'cgroup_paths': {'cpu': f'/sys/fs/cgroup/cpu/attar-test/{i}'}}))
    yield
    for path in made:
        shutil.rmtree(path)
    with contextlib.suppress(OSError):
        folder.rmdir()


@pytest.mark.usefixtures('states')
def test_many_groups_do_not_delay_a_report(groups):
    groups([b'%d' % i + b'/b' * 60 for i in range(300)])
    _, seconds, _, _ = measure('top', '-a', '-e', 'context-switches', '--by', 'container', '-d',
                               '1s')
    assert seconds < 1
