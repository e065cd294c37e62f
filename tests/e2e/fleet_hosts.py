# SPDX-License-Identifier: MIT
"""Real OpenSSH servers on loopback, one for each host, with their own keys and configuration."""
import os
import shutil
import socket
import subprocess
from pathlib import Path

import pytest

from command import run, wait_until

SSHD = shutil.which('sshd', path='/usr/sbin:/usr/local/sbin')

SERVER = '''\
Port {port}
ListenAddress 127.0.0.1
HostKey {folder}/host
PidFile none
AuthorizedKeysFile {folder}/client.pub
StrictModes no
UsePAM no
PasswordAuthentication no
MaxStartups 100
SetEnv FLEET_HOST={name}
'''

CLIENT = '''\
Host {name}
  Port {port}
'''

CLIENT_ALL = '''\
Host *
  HostName 127.0.0.1
  User root
  IdentityFile {folder}/client
  IdentitiesOnly yes
  UserKnownHostsFile {folder}/known
  GlobalKnownHostsFile none
  StrictHostKeyChecking accept-new
  LogLevel ERROR
'''


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


def answers(port):
    with socket.socket() as s:
        return s.connect_ex(('127.0.0.1', port)) == 0


class Hosts:
    """The hosts one and two, and three, at whose port nobody listens."""

    def __init__(self, folder):
        self.folder, self.processes, self.ports = Path(folder), [], {}
        for name in ('host', 'client'):
            subprocess.run(['ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-f', folder / name],
                           check=True)
        self.config = folder / 'config'
        for name in ('one', 'two', 'three'):
            self.ports[name] = free_port()
            if name != 'three':
                self.listen(name)
        self.config.write_text(
            ''.join(CLIENT.format(name=n, port=p) for n, p in self.ports.items())
            + CLIENT_ALL.format(folder=folder))

    def listen(self, name):
        path = self.folder / f'sshd-{name}'
        path.write_text(SERVER.format(port=self.ports[name], folder=self.folder, name=name))
        log = open(self.folder / f'log-{name}', 'w')
        with log:
            self.processes.append(subprocess.Popen(
                [SSHD, '-D', '-e', '-f', path], stdin=subprocess.DEVNULL, stderr=log))
        wait_until(lambda: answers(self.ports[name]), f'sshd listens for {name}')

    def ssh(self):
        return f'ssh -F {self.config}'

    def fleet(self, hosts, *args, **kwargs):
        return run('fleet', '-H', hosts, '--ssh', self.ssh(), *args, **kwargs)

    def end(self):
        for process in self.processes:
            process.terminate()
            process.wait()


@pytest.fixture(scope='module')
def hosts(tmp_path_factory):
    if os.geteuid():
        pytest.skip('needs root: sshd starts sessions')
    if not SSHD or not shutil.which('ssh'):
        pytest.skip('openssh-server or openssh-client is not installed')
    made = not Path('/run/sshd').exists()
    Path('/run/sshd').mkdir(exist_ok=True)  # sshd refuses to start without it
    all_hosts = Hosts(tmp_path_factory.mktemp('fleet'))
    yield all_hosts
    all_hosts.end()
    if made:
        Path('/run/sshd').rmdir()
