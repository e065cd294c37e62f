# SPDX-License-Identifier: MIT
"""Real OpenSSH servers on loopback, one for each host, with their own keys and configuration."""
import contextlib
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
ListenAddress {address}
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
  HostName {address}
  Port {port}
'''

CLIENT_ALL = '''\
Host *
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
    """
    The hosts one and two, and three, whose port has no listener: on loopback, or in the
    namespaces of a network.
    """

    def __init__(self, folder, network=None):
        self.network = network
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
            ''.join(CLIENT.format(name=n, port=p, address=self.address(n))
                    for n, p in self.ports.items())
            + CLIENT_ALL.format(folder=folder))

    def address(self, name):
        return self.network.addresses.get(name, '192.0.2.3') if self.network else '127.0.0.1'

    def answers(self, name):
        return self.network.answers(name, self.ports[name]) if self.network \
            else answers(self.ports[name])

    def listen(self, name):
        path = self.folder / f'sshd-{name}'
        path.write_text(SERVER.format(port=self.ports[name], folder=self.folder, name=name,
                                      address=self.address(name)))
        command = [SSHD, '-D', '-e', '-f', path]
        log = open(self.folder / f'log-{name}', 'w')
        with log:
            self.processes.append(subprocess.Popen(
                self.network.on(name, *command) if self.network else command,
                stdin=subprocess.DEVNULL, stderr=log))
        wait_until(lambda: self.answers(name), f'sshd listens for {name}')

    def ssh(self):
        return f'ssh -F {self.config}'

    def fleet(self, hosts, *args, **kwargs):
        return run('fleet', '-H', hosts, '--ssh', self.ssh(), *args, **kwargs)

    def end(self):
        for process in self.processes:
            process.terminate()
            process.wait()


@contextlib.contextmanager
def serve(folder, network=None):
    """The hosts, until the end of the context."""
    if os.geteuid():
        pytest.skip('needs root: sshd starts sessions')
    if not SSHD or not shutil.which('ssh'):
        pytest.skip('openssh-server or openssh-client is not installed')
    made = not Path('/run/sshd').exists()
    Path('/run/sshd').mkdir(exist_ok=True)  # sshd refuses to start without it
    all_hosts = None
    try:
        all_hosts = Hosts(folder, network)
        yield all_hosts
    finally:
        if all_hosts:
            all_hosts.end()
        if made:
            Path('/run/sshd').rmdir()


@pytest.fixture(scope='module')
def hosts(tmp_path_factory):
    with serve(tmp_path_factory.mktemp('fleet')) as all_hosts:
        yield all_hosts
