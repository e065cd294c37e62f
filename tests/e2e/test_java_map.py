# SPDX-License-Identifier: MIT
"""--java-map: names of the methods of a Java virtual machine, which is asked for them."""
import contextlib
import os
import re
import shutil
import socket
import subprocess
from pathlib import Path

import pytest

from command import Profile, cpu_seconds, run, wait_until

pytestmark = [pytest.mark.usefixtures('root'), pytest.mark.skipif(
    not shutil.which('javac'), reason='no Java compiler is installed')]

HOT = '''
public class Hot {
    static volatile long sum;
    static void heavy() { for (int i = 0; i < 700000; i++) sum += i; }
    static void light() { for (int i = 0; i < 300000; i++) sum += i; }
    public static void main(String[] a) { for (;;) { heavy(); light(); } }
}
'''


@pytest.fixture(scope='module', name='classes')
def fixture_classes(tmp_path_factory):
    folder = tmp_path_factory.mktemp('java')
    (folder / 'Hot.java').write_text(HOT)
    subprocess.run(['javac', 'Hot.java'], cwd=folder, check=True)
    return folder


@contextlib.contextmanager
def java(classes, *options, before=()):
    """A JVM that has compiled its loops; its files in /tmp are removed."""
    words = [*before, 'java', '-Xmx64m', '-XX:+UseSerialGC', *options, '-cp', classes, 'Hot']
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            wait_until(lambda: cpu_seconds(process.pid if not before else child_of(process)) > 1,
                       'it has compiled its loops', 60)
            yield process
        finally:
            process.kill()
    for path in (f'/tmp/perf-{process.pid}.map', f'/tmp/.java_pid{process.pid}',
                 f'/tmp/.attach_pid{process.pid}'):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)


def child_of(process):
    children = Path(f'/proc/{process.pid}/task/{process.pid}/children').read_text().split()
    return int(children[0]) if children else process.pid


def profile(pid, *options):
    done = run('profile', '--java-map', '-p', pid, '-d', '2s', '--format', 'json', *options)
    assert done.returncode == 0, done.stderr
    return Profile(done.stdout, done)


def loops(found):
    return [found.own(re.compile(rf'.*Hot\.{name}\(.*')) for name in ('heavy', 'light')]


def test_methods_have_names(classes):
    """They have the shares of the loops."""
    with java(classes) as process:
        heavy, light = loops(profile(process.pid))
        assert not Path(f'/tmp/.attach_pid{process.pid}').exists()
        n = heavy + light
        assert n > 200
        assert abs(heavy / n - 0.7) < 4.5 * (0.7 * 0.3 / n) ** 0.5
        # It listens now, and is asked without a signal.
        assert sum(loops(profile(process.pid))) > 200
        done = run('stack', '--java-map', '-p', process.pid)
        assert 'Hot.heavy' in done.stdout or 'Hot.light' in done.stdout


def test_without_the_option_nothing_is_asked(classes):
    with java(classes) as process:
        done = run('profile', '-p', process.pid, '-d', '1s')
        assert not Path(f'/tmp/.java_pid{process.pid}').exists()
        assert '--java-map' in done.stdout


def test_other_root_directory_and_pid_namespace(classes, tmp_path):
    inner = 'mount -t tmpfs none /tmp && exec "$@"'
    before = ['unshare', '--pid', '--fork', '--kill-child', '--mount', 'sh', '-c', inner, 'sh']
    assert not str(classes).startswith('/tmp/') or shutil.copytree(
        classes, Path.home() / f'attar-java-{os.getpid()}')
    folder = Path.home() / f'attar-java-{os.getpid()}'
    try:
        with java(folder if folder.exists() else classes, before=before) as process:
            assert sum(loops(profile(child_of(process)))) > 200
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.parametrize('option, error', [
    ('-Xrs', ''), # SIGQUIT would end it
    ('-XX:+DisableAttachMechanism', 'does not listen for commands')])
def test_machines_that_do_not_answer(classes, option, error):
    with java(classes, option) as process:
        found = profile(process.pid)
        assert process.poll() is None
        assert loops(found) == [0, 0] and error in found.stderr
        assert not Path(f'/tmp/.attach_pid{process.pid}').exists()


# It has a library of this name and catches SIGQUIT, but is no JVM. The code that it runs has no
# file.
FAKE = r'''
import ctypes, mmap, os, signal, socket, sys, time
ctypes.CDLL(sys.argv[1] + '/libjvm.so')
signal.signal(signal.SIGQUIT, lambda *_: None)
path = f'/tmp/.java_pid{os.getpid()}'
if sys.argv[2] == 'link':
    os.symlink(sys.argv[3], path)
else:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
code.write(bytes([0xeb, 0xfe]) if os.uname().machine == 'x86_64' else bytes([0, 0, 0, 0x14]))
print('ready', flush=True)
ctypes.CFUNCTYPE(None)(ctypes.addressof(ctypes.c_char.from_buffer(code)))()
'''


@pytest.mark.parametrize('kind', ['link', 'silent'])
def test_programs_that_pretend_to_be_one(tmp_path, kind):
    """A link does not lead to a socket of another user; silence ends after five seconds."""
    tmp_path.chmod(0o755)
    subprocess.run(['cc', '-shared', '-x', 'c', '-o', tmp_path / 'libjvm.so', '/dev/null'],
                   check=True)
    other = socket.socket(socket.AF_UNIX)
    other.bind(str(tmp_path / 'other'))
    other.listen()
    other.setblocking(False)
    with subprocess.Popen(['/usr/bin/python3', '-c', FAKE, tmp_path, kind, tmp_path / 'other'],
                          stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout.readline() == b'ready\n'
            found = profile(process.pid)
        finally:
            process.kill()
            Path(f'/tmp/.java_pid{process.pid}').unlink()
    assert found.samples > 100
    assert ('is no socket of its user' if kind == 'link' else 'no answer') in found.stderr
    with pytest.raises(BlockingIOError):
        other.accept()
