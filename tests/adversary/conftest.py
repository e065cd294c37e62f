# SPDX-License-Identifier: MIT
"""
Tests in which another user, without rights, attacks attar while root runs it. The helpers and
fixtures are those of the end-to-end tests.
"""
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'e2e'))
import adversary  # noqa: E402


def pytest_configure(config):
    for mark in ('exclusive', 'quick'):  # see tests/e2e/conftest.py
        config.addinivalue_line('markers', mark)


@pytest.fixture(autouse=True)
def needs_root():
    adversary.need_root()


@pytest.fixture
def nobody():
    """Starts programs as a user without rights; they are ended with the test."""
    with adversary.Nobody() as user:
        yield user


@pytest.fixture
def hammer(nobody):
    """Starts to connect to a port all the time; the processes end with the test."""
    groups = []

    def start_(port):
        program = nobody.start(sys.executable, '-c', adversary.HAMMER, port,
                               stdout=subprocess.PIPE, start_new_session=True)
        program.stdout.readline()
        groups.append(program.pid)
    yield start_
    for group in groups:
        os.killpg(group, signal.SIGKILL)


@pytest.fixture
def theirs(tmp_path):
    """A directory of the other user."""
    return adversary.directory(tmp_path / 'theirs', 0o755, adversary.UID)


@pytest.fixture
def start(nobody):
    """Starts a program as the other user or as root, and waits until it is ready."""
    own, maps = [], []

    def start_(path, *words, user=adversary.UID):
        if user:
            process = nobody.start(path, *words, stdout=subprocess.PIPE)
        else:
            process = subprocess.Popen([path, *words], stdout=subprocess.PIPE, text=True)
            own.append(process)
        maps.append(Path(f'/tmp/perf-{process.pid}.map'))
        assert process.stdout.readline() == 'ready\n'
        return process
    yield start_
    for process in own:
        process.kill()
        process.wait()
    for path in maps:
        path.unlink(missing_ok=True)


@pytest.fixture
def shared(tmp_path):
    """A directory such as /tmp, in which all users can create files."""
    return adversary.directory(tmp_path / 'shared', 0o1777)


@pytest.fixture
def secret(tmp_path):
    """A file of root in a directory that only root can read."""
    path = adversary.directory(tmp_path / 'root', 0o700) / 'secret'
    path.write_text('root only\n')
    path.chmod(0o600)
    return path


@pytest.fixture
def silent(theirs):
    """A file of which no read ends before its server is killed."""
    if not Path('/dev/fuse').exists():
        pytest.skip('the kernel has no FUSE')
    server = Path(adversary.__file__).with_name('silent_fuse.py')
    with subprocess.Popen([sys.executable, server, theirs, str(adversary.UID)],
                          stdout=subprocess.PIPE, text=True) as program:
        try:
            assert program.stdout.readline() == 'ready\n'
            yield theirs / 'file'
        finally:
            program.kill()
            program.wait()
            subprocess.run(['umount', '-l', theirs], check=True)
