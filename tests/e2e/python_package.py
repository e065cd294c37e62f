# SPDX-License-Identifier: MIT
"""Run programs in Python that use the built package."""
import json
import os
import subprocess
import textwrap

import pytest

from command import BUILD, compiler
from faults import sanitized

PACKAGE = BUILD / 'python'
PYTHON = '/usr/bin/python3'

needs_package = pytest.mark.skipif(not list(PACKAGE.glob('attar/_attar*.so')),
                                   reason='the Python package is not built: no python3-dev')


def environment(**more):
    """Of a program that imports the package; a sanitizer has to be loaded before Python."""
    env = os.environ | {'PYTHONPATH': str(PACKAGE), 'ATTAR_PRESETS': ''}
    if sanitized():
        library = subprocess.check_output([*compiler(), '-print-file-name=libasan.so'], text=True)
        env |= {'LD_PRELOAD': library.strip(), 'ASAN_OPTIONS': 'detect_leaks=0'}
    return env | more


def start(code, *args, **kwargs):
    return subprocess.Popen([PYTHON, '-c', textwrap.dedent(code), *map(str, args)],
                            env=environment(), stdin=subprocess.DEVNULL, text=True, **kwargs)


def execute(code, *args, timeout=120):
    """Run the program to its end."""
    return subprocess.run([PYTHON, '-c', textwrap.dedent(code), *map(str, args)],
                          env=environment(), stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=timeout)


def value_of(code, *args):
    """Return what the program prints last, as JSON."""
    done = execute('import attar, json, os, sys\n' + textwrap.dedent(code), *args)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])
