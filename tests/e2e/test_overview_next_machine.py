# SPDX-License-Identifier: MIT
"""The command after `next:` answers on incidents of the machine: limits, errors and devices."""
import contextlib
import os
import pathlib
import re
import shlex
import signal
import subprocess

import pytest

from command import run, wait_until
from scripts import report, rows
from test_overview_services import unit
from test_pgslow import BIN, fixture_server  # noqa: F401 pylint: disable=unused-import

pytestmark = [pytest.mark.exclusive, pytest.mark.usefixtures('root')]

PYTHON = ['/usr/bin/python3', '-I', '-S', '-c']
SPIN = 'while True: pass'
FILL = 'while True: x = bytearray(b"x") * (64 << 20)'
# Each program that is killed for its memory is started again.
KILLED = ('import os, subprocess, sys, time\nwhile True:\n'
          f' subprocess.run([sys.executable, "-I", "-S", "-c", {FILL!r}]); time.sleep(0.2)')
SWITCH = ('import os\nr, w = os.pipe()\nr2, w2 = os.pipe()\nif os.fork():\n'
          ' while True:\n  os.write(w, b"x")\n  os.read(r2, 1)\n'
          'while True:\n os.read(r, 1)\n os.write(w2, b"x")')
WRITE = ('import mmap, os, sys\nf = os.open(sys.argv[1], os.O_RDWR | os.O_DIRECT)\n'
         'm = mmap.mmap(-1, 65536)\nwhile True: os.pwrite(f, m, 0)')
READ = ('import mmap, os, sys, time\nf = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)\n'
        'm = mmap.mmap(-1, 4096)\nwhile True:\n try: os.preadv(f, [m], 1 << 20)\n'
        ' except OSError: time.sleep(0.1)')


@contextlib.contextmanager
def running(words, *groups):
    """A process group, in these control groups from its start."""
    start = ''.join(f'echo $$ >{group}/cgroup.procs && ' for group in groups)
    with subprocess.Popen(['sh', '-c', start + 'exec "$@"', 'sh', *words],
                          start_new_session=True) as process:
        try:
            yield process.pid
        finally:
            os.killpg(process.pid, signal.SIGKILL)


@contextlib.contextmanager
def group_of(controller, **files):
    """A control group of version 1."""
    group = pathlib.Path(f'/sys/fs/cgroup/{controller}/attar-next-{os.getpid()}')
    if not group.parent.is_dir():
        pytest.skip(f'the controller {controller} is not in a hierarchy of version 1')
    group.mkdir()
    try:
        for name, text in files.items():
            (group / name.replace('__', '.')).write_text(text)
        yield group
    finally:
        wait_until(lambda: not (group / 'cgroup.procs').read_text(), 'its processes to end')
        group.rmdir()


@contextlib.contextmanager
def loop_device(path, *options):
    made = subprocess.run(['losetup', '--find', '--show', *options, path], capture_output=True,
                          text=True, check=False)
    if made.returncode:
        pytest.skip('no loop devices')
    try:
        yield made.stdout.strip()
    finally:
        subprocess.run(['losetup', '--detach', made.stdout.strip()], check=True)


def limited_writes(path):
    """A control group that may write to the device of this file a few times a second only."""
    number = os.stat(path).st_dev
    return group_of('blkio', blkio__throttle__write_iops_device=(
        f'{os.major(number)}:{os.minor(number)} 10'))


def answer_to(name, *options):
    """The words of the command after the finding with this name, and what it prints."""
    for _ in range(5):
        found = report('overview', '-d', '2s', *options)
        for row in rows(found, 'findings'):
            if row['finding'] == name:
                command = row['values']['command']
                if not command.startswith('attar '):
                    return command, subprocess.run(['sh', '-c', command], capture_output=True,
                                                   text=True, check=True).stdout
                done = run(*shlex.split(command)[1:], '-d', '1s')
                assert done.returncode == 0, done
                return command, done.stdout
    raise AssertionError(found)


def test_limit_of_the_cpu_time():
    with group_of('cpu', cpu__cfs_quota_us='20000') as group, \
         running([*PYTHON, SPIN], group) as pid:
        command, shown = answer_to('CPU limit', '-p', pid)
    assert command == f'attar profile -g -p {pid}'
    assert '_PyEval_EvalFrameDefault' in shown, shown


def test_processes_that_are_killed():
    with group_of('memory', memory__limit_in_bytes=str(24 << 20)) as group, \
         running([*PYTHON, KILLED], group):
        command, shown = answer_to('OOM kill')
    assert command == 'attar oomkill' and 'python3' in shown, shown


def test_errors_of_a_device(tmp_path):
    """Its file is cut while it is used."""
    file = tmp_path / 'device.img'
    file.write_bytes(bytes(4 << 20))
    with loop_device(file) as device:
        os.truncate(file, 4096)
        with running([*PYTHON, READ, device]):
            command, shown = answer_to('kernel log')
    assert command.startswith('dmesg ')
    assert f'I/O error, dev {device.removeprefix("/dev/")}' in shown, shown


def test_slow_requests(tmp_path):
    """The file of a loop device is on a device that the group may use a little only."""
    file = tmp_path / 'slow.img'
    file.write_bytes(os.urandom(4 << 20))
    with loop_device(file, '--direct-io=on') as device, limited_writes(file) as group, \
         running([*PYTHON, WRITE, device], group) as pid:
        command, shown = answer_to('block latency', '-p', pid)
    assert command == 'attar biolatency -D'
    assert device.removeprefix('/dev/') in shown, shown


def test_events_that_are_lost():
    with running([*PYTHON, SWITCH]) as pid:
        command, shown = answer_to('unreliable', '-p', pid, '-m', 1)
    assert command == f'attar overview -m 4096 -p {pid}'
    assert 'python3' in shown, shown


def test_disk_of_a_service(tmp_path):
    """Beside threads that wait for CPUs, its time is a small part of all."""
    file = tmp_path / 'file'
    file.write_bytes(os.urandom(4 << 20))
    with contextlib.ExitStack() as stack:
        for _ in range(4 * os.cpu_count()):
            stack.enter_context(running(['nice', '-n', '19', *PYTHON, SPIN]))
        tasks = stack.enter_context(unit(f'attar-next-{os.getpid()}.service'))
        group = stack.enter_context(limited_writes(file))
        pid = stack.enter_context(running([*PYTHON, WRITE, file], tasks.parent, group))
        command, shown = answer_to('disk of a service', '-m', 4096)
    assert command == f'attar offcpu -D -p {pid}' and 'pwrite' in shown, shown


@pytest.mark.skipif(not BIN, reason='needs PostgreSQL (postgresql)')
def test_lock_of_a_database(server):
    """Three transactions update the row that another one has updated."""
    server.psql('insert into t values (2, 0) on conflict do nothing')
    update = 'begin; update t set n = n + 1 where id = 2;\n'
    with contextlib.ExitStack() as stack:
        for _ in range(4):
            session = stack.enter_context(server.session())
            stack.callback(session.kill)
            session.stdin.write(update)
            session.stdin.flush()
        wait_until(lambda: server.psql("select count(*) from pg_stat_activity where "
                                       "wait_event_type = 'Lock'") == '3', 'the locks')
        postmaster = (server.place / 'data/postmaster.pid').read_text().split()[0]
        found = report('overview', '-p', postmaster, '-d', '3s')
        row = rows(found, 'findings')[0]
        shown = subprocess.run(
            ['sh', '-c', row['values']['command']], capture_output=True, text=True, check=True,
            env={**os.environ, 'PGHOST': str(server.place), 'PGUSER': 'postgres'}).stdout
    assert row['finding'] == 'database lock', found
    assert len(re.findall(r'pg_blocking_pids \| {\d+', shown)) == 3, shown
    assert shown.count('update t set n') == 4, shown
