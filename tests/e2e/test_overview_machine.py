# SPDX-License-Identifier: MIT
"""Findings of attar overview about the machine: file systems, resets, processes that are killed."""
import contextlib
import os
import pathlib
import re
import shlex
import subprocess
import tempfile

import pytest

from command import ATTAR, run, wait_until
from scripts import report, rows

pytestmark = [pytest.mark.exclusive, pytest.mark.usefixtures('root')]

PYTHON = ['/usr/bin/python3', '-I', '-S', '-c']
REFUSED = ('import socket, time\nwhile True:\n'
           ' try: socket.create_connection(("127.0.0.1", 1))\n except OSError: pass\n'
           ' time.sleep(0.002)')


def findings_of(found):
    return {r['finding']: r['values'] for r in rows(found, 'findings')}


@pytest.mark.parametrize('what, option, fill', [
    ('space', 'size=1m', 'dd if=/dev/zero of={0}/x bs=1000 count=1030 2>/dev/null'),
    ('inodes', 'nr_inodes=100', 'for i in $(seq 97); do : >{0}/$i; done'),
    (None, 'size=1m', 'dd if=/dev/zero of={0}/x bs=1000 count=900 2>/dev/null')])
def test_full_file_system(tmp_path, what, option, fill):
    """In a mount namespace of its own."""
    folder, out = tmp_path / 'full', tmp_path / 'out.txt'
    folder.mkdir()
    script = (f'mount -t tmpfs -o {option} none {folder} || exit 77; {fill.format(folder)}; '
              f'{ATTAR} overview --all -d 1s >{out} && du -x -d 2 {folder}')
    done = subprocess.run(['unshare', '-m', 'sh', '-c', script], capture_output=True, text=True)
    if done.returncode == 77:
        pytest.skip('a file system cannot be mounted')
    assert done.returncode == 0, done
    text = out.read_text()
    if not what:
        assert str(folder) not in text
        return
    assert f'of the {what} of {folder} are used' in ' '.join(text.split()), text
    inodes = ' --inodes' if what == 'inodes' else ''
    assert f'next: du -x -d 2{inodes} {folder} | sort -n | tail' in text, text


def test_resets():
    """Of connections to a port at which nothing listens, in a network namespace of its own."""
    command = ['unshare', '-n', 'sh', '-c',
               f'ip link set lo up && exec /usr/bin/python3 -I -S -c {shlex.quote(REFUSED)}']
    with subprocess.Popen(command, stderr=subprocess.PIPE) as process:
        try:
            for _ in range(5):
                found = findings_of(report('overview', '-d', '3s'))
                if 'TCP resets' in found:
                    break
            words = shlex.split(found['TCP resets']['command'])
            done = run(*words[1:], '-d', '300ms')
        finally:
            process.kill()
    assert found['TCP resets']['value'] > 100, found
    assert words == ['attar', 'trace', '-e', 'tcp:tcp_send_reset']
    assert done.returncode == 0 and 'tcp_send_reset' in done.stdout, done


def test_the_process_that_was_killed():
    """The kernel's log names it."""
    group = pathlib.Path(f'/sys/fs/cgroup/memory/attar-oom-{os.getpid()}')
    if not group.parent.is_dir():
        pytest.skip('the controller memory is not in a hierarchy of version 1')
    group.mkdir()
    program = (f'echo $$ >{group}/cgroup.procs; /usr/bin/python3 -c "x = bytearray(99 << 20)"; '
               'sleep 1')
    try:
        (group / 'memory.limit_in_bytes').write_text(str(20 << 20))
        found = findings_of(report('overview', '--', 'sh', '-c', program))
    finally:
        group.rmdir()
    assert 'the last one was process ' in found['OOM kill']['evidence'], found
    assert '(python3)' in found['OOM kill']['evidence'], found


THRASH = ('import mmap, os, sys\nf = os.open(sys.argv[1], os.O_RDONLY)\n'
          'm = mmap.mmap(f, 0, prot=mmap.PROT_READ)\n'
          'while True:\n for i in range(0, len(m), 4096): m[i]')


@contextlib.contextmanager
def small_groups(limit):
    """The lists of processes of a group with little memory, and of one with its pressure."""
    root, name = pathlib.Path('/sys/fs/cgroup'), f'attar-thrash-{os.getpid()}'
    is_v1 = (root / 'memory').is_dir()
    groups = [root / parent / name for parent in (('memory', 'unified') if is_v1 else ('',))]
    made = []
    try:
        try:
            for group in groups:
                group.mkdir()
                made.append(group)
            (groups[0] / ('memory.limit_in_bytes' if is_v1 else 'memory.max')).write_text(
                str(limit))
        except OSError as error:
            pytest.skip(f'no control group: {error}')
        if not (groups[-1] / 'memory.pressure').exists():
            pytest.skip('no memory.pressure of control groups')
        yield [group / 'cgroup.procs' for group in groups]
    finally:
        for group in made:
            wait_until(lambda group=group: not (group / 'cgroup.procs').read_text(),
                       'its processes to end')
            group.rmdir()


@pytest.mark.parametrize('size, is_found', [(64, True), (8, False)])
def test_memory_pressure_of_a_group(size, is_found):
    """A file of 64 MiB is read again and again in a group with 24 MiB; one of 8 MiB fits."""
    with tempfile.NamedTemporaryFile(dir='/var/tmp') as file, small_groups(24 << 20) as lists:
        for _ in range(size):
            file.write(os.urandom(1 << 20))
        file.flush()
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)  # it is of the group then
        start = ''.join(f'echo $$ >{path}; ' for path in lists)
        with subprocess.Popen(['sh', '-c', start + 'exec "$@"', 'sh', *PYTHON, THRASH,
                               file.name]) as process:
            try:
                for _ in range(5):
                    found = report('overview', '-p', process.pid, '-d', '3s')
                    findings = [r['values'] for r in rows(found, 'findings')
                                if r['finding'] == 'memory pressure'
                                and lists[-1].parent.name in r['values']['evidence']]
                    if bool(findings) == is_found:
                        break
                if findings:
                    shown = run(*findings[0]['command'].split()[1:], '-d', '1s').stdout
            finally:
                process.kill()
    assert bool(findings) == is_found, found
    if is_found:
        assert findings[0]['evidence'].startswith(
            f'tasks of control group /{lists[-1].parent.name}, such as python3 ({process.pid}), '
            'wait until memory is reclaimed or read back'), findings
        assert findings[0]['command'] == f'attar drsnoop -p {process.pid}'
        assert re.search(r' python3 +\d+ +group ', shown), shown
