# SPDX-License-Identifier: MIT
"""Two network namespaces that act as two hosts, connected by a veth pair."""
import contextlib
import os
import shutil
import subprocess

import pytest

NAMES = ('one', 'two')


def ip(*args, check=True):
    return subprocess.run(['ip', *map(str, args)], check=check, capture_output=True, text=True,
                          timeout=30)


class Network:
    """The hosts one and two, which reach each other at their addresses."""

    def __init__(self):
        self.addresses = {'one': '192.0.2.1', 'two': '192.0.2.2'}  # reserved by RFC 5737
        self.spaces = {name: f'attar-{os.getpid()}-{name}' for name in NAMES}

    def on(self, name, *command):
        """The command line that runs a command on a host, under the host's name."""
        return ['ip', 'netns', 'exec', self.spaces[name], 'unshare', '--uts', 'sh', '-c',
                'hostname "$0" && exec "$@"', name, *map(str, command)]

    def cable(self, state):
        """Set the link of host one 'up' or 'down'."""
        ip('-n', self.spaces['one'], 'link', 'set', 'cable', state)

    def answers(self, name, port):
        """Whether a process on a host listens at a port."""
        listening = subprocess.run(['ss', '-N', self.spaces[name], '-Hltn', f'sport = :{port}'],
                                   check=True, capture_output=True, timeout=30)
        return bool(listening.stdout)

    def create(self):
        for name in NAMES:
            ip('netns', 'add', self.spaces[name])
            ip('-n', self.spaces[name], 'link', 'set', 'lo', 'up')
        ip('-n', self.spaces['one'], 'link', 'add', 'cable', 'type', 'veth', 'peer', 'name',
           'cable', 'netns', self.spaces['two'])
        for name in NAMES:
            ip('-n', self.spaces[name], 'address', 'add', f'{self.addresses[name]}/24', 'dev',
               'cable')
            ip('-n', self.spaces[name], 'link', 'set', 'cable', 'up')

    def remove(self):
        """Delete the link immediately; the namespaces end with the last process in them."""
        ip('-n', self.spaces['one'], 'link', 'delete', 'cable', check=False)
        for name in NAMES:
            ip('netns', 'delete', self.spaces[name], check=False)


@contextlib.contextmanager
def two_hosts():
    """Create the network, and remove it, also if that or the test fails."""
    network = Network()
    try:
        network.create()
        yield network
    finally:
        network.remove()


@pytest.fixture
def network(root):
    if not shutil.which('ip'):
        pytest.skip('iproute2 is not installed')
    try:
        context = two_hosts()
        made = context.__enter__()
    except subprocess.CalledProcessError as refused:
        pytest.skip(f'no network namespaces: {refused.stderr.strip()}')
    yield made
    context.__exit__(None, None, None)
