# SPDX-License-Identifier: MIT
"""A guest that runs the commands of several tests in one boot, through tests/vm/serve."""
import contextlib
import shlex
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

VM = Path(__file__).resolve().parents[1] / 'vm'
NOT_HERE = 77
LONGEST_BOOT_S = 2 * 3600


def text(path):
    return path.read_text(errors='surrogateescape') if path.exists() else ''


class Server:
    """A guest that runs the commands of several tests in one boot (tests/vm/serve)."""

    def __init__(self, name, folder):
        self.name, self.connected = name, False
        self.folder = Path(tempfile.mkdtemp(prefix=f'guest-{name}-', dir=folder))
        self.port = socket.socket(socket.AF_UNIX)
        self.console = tempfile.TemporaryFile('w+', errors='replace')
        self.process = subprocess.Popen(
            ['setpriv', '--pdeathsig', 'TERM', VM / 'run', name, '--timeout', str(LONGEST_BOOT_S),
             '--share', folder, '--port', self.folder / 'port', '--', VM / 'serve', self.folder],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.console)

    def runs(self, name):
        return self.name == name and self.process.poll() is None

    def connect(self):
        """Wait for QEMU's socket; return False if the guest has ended."""
        while self.process.poll() is None:
            with contextlib.suppress(FileNotFoundError, ConnectionRefusedError):
                self.port.connect(str(self.folder / 'port'))
                return True
            time.sleep(0.05)
        return False

    def ask(self, case, timeout):
        """Return whether the command has ended in time, or None if the guest has ended."""
        try:
            if not self.connected and not self.connect():
                return None
            self.connected = True
            self.port.settimeout(timeout)
            self.port.sendall(f'{case.name}\n'.encode())
            answer = b''
            while not answer.endswith(b'\n'):
                answer += self.port.recv(100) or b'the guest has ended\n'
        except TimeoutError:
            return False
        except (BrokenPipeError, ConnectionResetError):
            return None
        return True if answer == f'{case.name}\n'.encode() else None

    def run(self, command, timeout, cwd):
        case = Path(tempfile.mkdtemp(dir=self.folder))
        (case / 'command').write_text(f'cd {shlex.quote(str(cwd))} || exit 125\n'
                                      f'exec {shlex.join(command)}\n', errors='surrogateescape')
        ended = self.ask(case, timeout)
        if ended:
            return subprocess.CompletedProcess(
                command, int((case / 'status').read_text()), text(case / 'stdout'),
                text(case / 'stderr'))
        status, why = (125, self.died()) if ended is None else (
            124, f'the command in the {self.name} guest was not finished after {timeout} s')
        self.stop()
        return subprocess.CompletedProcess(command, status, text(case / 'stdout'),
                                           text(case / 'stderr') + why)

    def died(self):
        """Return the messages of a guest that has ended; skip the test if it is unavailable."""
        status = self.process.wait(60)
        self.console.seek(0)
        messages = self.console.read()
        if status == NOT_HERE:
            pytest.skip(messages.strip().removeprefix('vm: '))
        return messages

    def stop(self):
        self.process.terminate()
        self.process.wait()

    def end(self):
        self.stop()
        self.port.close()
        self.console.close()
