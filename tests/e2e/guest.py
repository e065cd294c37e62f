# SPDX-License-Identifier: MIT
"""Run commands in guests: other kernels with the machine's own files. See tests/vm/README.md."""
import fcntl
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import builds
from command import BUILD
from guest_server import NOT_HERE, VM, Server

ROOT = Path(__file__).resolve().parents[2]
# A script that chooses one, such as those of pyenv, takes seconds in a guest; so do packages.
PYTHON = f'{sys.executable} -I -S'
# To be put before a command in a guest: it has the sockets that the unit of the agent allows.
AS_AGENT = f'{PYTHON} {ROOT}/tests/e2e/families.py {BUILD}/packaging/attar-agent.service'
HANGS_AFTER_S = 900  # several guests share the machine's CPUs with other tests

# Set by conftest.py: the guest for which the running test is marked, and the folder in which pytest
# makes folders for tests.
kernel = None
folder = None
# The running guest, if any.
server = None


def output_of(script, *args):
    """Return the output of a script of tests/vm; skip the test if the script reports that it cannot
    run here.
    """
    done = subprocess.run([VM / script, *args], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL)
    if done.returncode == NOT_HERE:
        pytest.skip(done.stderr.strip().removeprefix('vm: '))
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.strip())


def kernels_are_cached(names):
    """Whether no kernel of these guests has to be downloaded or built."""
    return all(subprocess.run([VM / 'kernel', '--cached', name], stdin=subprocess.DEVNULL,
                              capture_output=True).returncode == 0 for name in names)


def old_perf():
    """
    Return a script that runs the perf of Debian 11 (5.10), with its libraries; skip the test if the
    packages cannot be fetched.
    """
    cache = builds.CACHE / 'perf-5.10'
    cache.mkdir(parents=True, exist_ok=True)
    with open(cache / '.lock', 'w') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests run in parallel
        if not (cache / 'perf').exists():
            unpack(cache, 'linux-perf-5.10', 'libopencsd0/bullseye', 'libperl5.32', 'libpython3.9')
            folders = {file.parent for file in cache.glob('root/**/*.so*')}
            script = cache / 'perf.new'
            script.write_text(f'#!/bin/sh\nLD_LIBRARY_PATH={":".join(map(str, sorted(folders)))} '
                              f'exec {cache}/root/usr/bin/perf_5.10 "$@"\n')
            script.chmod(0o755)
            script.rename(cache / 'perf')
    return cache / 'perf'


def unpack(folder, *packages):
    """Unpack packages of Debian 11 into the folder `root`."""
    debs = folder / 'debs'
    output_of('fetch', '--suite', 'bullseye', debs, *packages)
    for deb in debs.glob('*.deb'):
        done('dpkg-deb', '-x', deb, folder / 'root')
    shutil.rmtree(debs)


def cross_build():
    """Return the build directory for arm64."""
    sysroot = output_of('arm64-sysroot')
    build = ROOT / f'build-{sysroot.name}'
    build.mkdir(exist_ok=True)
    with open(build / '.lock', 'w') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests run in parallel
        make_cross_build(sysroot, build)
    return build


def make_cross_build(sysroot, build):
    for tool in ('aarch64-linux-gnu-gcc', 'meson', 'ninja'):
        if not shutil.which(tool):
            pytest.skip(f'{tool} is not installed, which is needed to build for arm64')
    compilers = build / 'compilers.ini'
    if not compilers.exists():  # meson sets up the folder again after a change
        compilers.write_text(f"[binaries]\nc = {builds.cached('aarch64-linux-gnu-gcc')}\n"
                             f"cpp = {builds.cached('aarch64-linux-gnu-g++')}\n")
    failed = builds.setup(build, *(word for file in (
        ROOT / 'cross/aarch64.ini', sysroot / 'meson.ini', compilers)
        for word in ('--cross-file', file)))
    assert not failed, failed
    done('ninja', '-j2', '-C', build)


def done(*command):
    ended = builds.run(*command)
    assert ended.returncode == 0, ended.stdout


def boot(name, *command, timeout=HANGS_AFTER_S, share=(), port=None, forward=None, **kwargs):
    """
    Boot the guest for this command only; return the finished command with its output as text.
    `share`: folders that it may write; `port`: the socket of a serial port; `forward`: a TCP port
    of this machine that is port 9100 of the guest.
    """
    check_mark(name)
    shares = [word for folder in share for word in ('--share', folder)]
    shares += ['--port', port] if port else []
    shares += ['--forward', str(forward)] if forward else []
    done = subprocess.run(
        [VM / 'run', name, '--timeout', str(timeout), *shares, '--', *map(str, command)],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, errors='surrogateescape',
        **kwargs)
    if done.returncode == NOT_HERE:
        pytest.skip(done.stderr.strip().removeprefix('vm: '))
    return done


def check_mark(name):
    assert name == kernel, f'mark the test with @pytest.mark.guest({name!r})'


def run(name, *command, timeout=HANGS_AFTER_S, cwd=None):
    """
    Return the finished command with its output as text. One boot runs the commands of several
    tests: it begins with the first one and ends with the last one of the guest's group, or when a
    command fails to end. The command may write in the folders that pytest makes for tests.
    """
    global server
    check_mark(name)
    if name == 'arm64':  # its counts are exact, so they do not depend on earlier commands
        return boot(name, *command, timeout=timeout, share=[folder], cwd=cwd)
    if server and not server.runs(name):
        end()
    server = server or Server(name, folder)
    return server.run([str(word) for word in command], timeout, cwd or Path.cwd())


def end():
    """Switch off the guest that runs."""
    global server
    if server:
        server.end()
    server = None
