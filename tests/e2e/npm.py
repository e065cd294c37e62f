# SPDX-License-Identifier: MIT
"""Packages of npm that tests need: installed once into the build directory."""
import fcntl
import subprocess

import pytest

from command import BUILD, has


def install(package, version):
    """Return the folder of the package. Skips the test if it cannot be installed."""
    folder = BUILD / 'npm' / f'{package.replace("/", "-")}-{version}'
    if not has('npm'):
        pytest.skip('npm is not installed')
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / 'lock', 'w') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / 'done').exists():
            try:
                done = subprocess.run(['npm', 'install', '--prefix', folder, '--no-audit',
                                       '--no-fund', f'{package}@{version}'], capture_output=True,
                                      text=True, timeout=300, stdin=subprocess.DEVNULL)
            except subprocess.TimeoutExpired:
                pytest.skip(f'cannot install {package} {version} within 300 s')
            if done.returncode:
                pytest.skip(f'cannot install {package} {version}: {done.stderr[-200:]}')
            (folder / 'done').touch()
    return folder / 'node_modules' / package
