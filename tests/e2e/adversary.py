# SPDX-License-Identifier: MIT
"""A user without rights, who attacks attar: used by tests/adversary."""
import os
import subprocess
import sys

import pytest

from command import has

UID = 65534


def need_root():
    if os.geteuid():
        pytest.skip('needs root')
    if not has('setpriv'):
        pytest.skip('setpriv (package util-linux) is not installed')


def directory(path, mode, owner=0):
    """Creates a directory that the other user can reach."""
    path.mkdir()
    path.chmod(mode)
    os.chown(path, owner, -1)
    for parent in path.parents:
        if parent.stat().st_mode & 0o005 != 0o005 and parent.stat().st_uid == os.geteuid():
            parent.chmod(parent.stat().st_mode | 0o005)
    return path


def compile_c(path, text, *words, owner=UID):
    path.with_suffix('.c').write_text(text)
    subprocess.run(['gcc', *words, '-o', path, path.with_suffix('.c')], check=True)
    os.chown(path, owner, owner)
    return path


class Nobody:
    """Programs of this user."""

    def __init__(self):
        self.programs = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for program in self.programs:
            program.kill()
            program.wait()

    @staticmethod
    def command(*words):
        return ['setpriv', f'--reuid={UID}', f'--regid={UID}', '--clear-groups', '--inh-caps=-all',
                *map(str, words)]

    def start(self, *words, **kwargs):
        self.programs.append(subprocess.Popen(self.command(*words), text=True, **kwargs))
        return self.programs[-1]

    def run(self, *words):
        return subprocess.run(self.command(*words), check=True, capture_output=True, text=True)

    def python(self, text, *words):
        """Starts a Python program, and waits until it has printed a line."""
        program = self.start(sys.executable, '-c', text, *words, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE)
        program.stdout.readline()
        return program
