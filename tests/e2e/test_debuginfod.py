# SPDX-License-Identifier: MIT
"""Debug files from a debuginfod server on this machine."""
import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import threading
import urllib.error
import urllib.request

import pytest

from command import ATTAR, run, wait_until, workload


def need(*programs):
    for program in programs:
        if not shutil.which(program):
            pytest.skip(f'{program} is not installed')


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


@pytest.fixture
def stripped(tmp_path):
    """A program with a new build ID and without symbols; its debug file is in another folder."""
    need('gcc', 'objcopy')
    served = tmp_path / 'served'
    served.mkdir()
    whole, program = tmp_path / 'whole', tmp_path / 'program'
    source = tmp_path / 'program.c'
    source.write_text(f'/* {tmp_path} */\n'
                      'static int __attribute__((noinline)) deep(int n) { return n * 3; }\n'
                      f'const char path[] = "{tmp_path}";\n'
                      'int main(int argc, char **argv)\n{\n\treturn deep(argc);\n}\n')
    subprocess.run(['gcc', '-O1', '-g', '-Wl,--build-id=sha1', source, '-o', whole], check=True)
    subprocess.run(['objcopy', '--only-keep-debug', whole, served / 'program.debug'], check=True)
    subprocess.run(['objcopy', '--strip-all', whole, program], check=True)
    return whole, program, served


def build_id(program):
    notes = subprocess.run(['readelf', '-n', program], capture_output=True, text=True,
                           check=True).stdout
    return re.search(r'Build ID: (\w+)', notes)[1]


def has(url):
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return answer.status == 200
    except (urllib.error.URLError, OSError):
        return False


@pytest.fixture
def server(stripped, tmp_path):
    """The server's address, when it has the file."""
    need('debuginfod')
    _, program, served = stripped
    port = free_port()
    with subprocess.Popen(['debuginfod', '-F', '-d', ':memory:', '-p', str(port), served],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          env={**os.environ, 'DEBUGINFOD_URLS': ''}) as process:
        url = f'http://127.0.0.1:{port}'
        try:
            wait_until(lambda: has(f'{url}/buildid/{build_id(program)}/debuginfo'),
                       'the server has the file', 60)
            yield url
        finally:
            process.terminate()


def addresses(whole):
    names = subprocess.run(['nm', whole], capture_output=True, text=True, check=True).stdout
    return [re.search(rf'^(\w+) \w {name}$', names, re.M)[1] for name in ('deep', 'main')]


def symbols(program, whole, tmp_path, **variables):
    env = {k: v for k, v in os.environ.items() if not k.startswith('DEBUGINFOD')}
    env['DEBUGINFOD_CACHE_PATH'] = str(tmp_path / 'cache')
    done = run('symbols', program, *addresses(whole), env={**env, **variables})
    assert done.returncode == 0, done.stderr
    return done


def test_names_and_lines(stripped, server, tmp_path):
    whole, program, _ = stripped
    expected = symbols(whole, whole, tmp_path).stdout
    assert 'deep+0x0 at ' in expected and 'program.c:2' in expected
    assert symbols(program, whole, tmp_path, DEBUGINFOD_URLS=server).stdout == expected
    # now from the cache of libdebuginfod
    assert symbols(program, whole, tmp_path, DEBUGINFOD_URLS=server).stdout == expected


def test_only_if_requested(stripped, server, tmp_path):
    whole, program, _ = stripped
    for variables in ({}, {'DEBUGINFOD_URLS': ''}):
        done = symbols(program, whole, tmp_path, **variables)
        assert 'deep' not in done.stdout and done.stderr == ''
    assert not (tmp_path / 'cache').exists()


def test_unknown_to_the_server(server, tmp_path):
    """A file that the server does not have causes neither an error nor a message."""
    other = tmp_path / 'other'
    subprocess.run(['objcopy', '--strip-all', workload('lines8020'), other], check=True)
    env = {'DEBUGINFOD_URLS': server, 'DEBUGINFOD_CACHE_PATH': str(tmp_path / 'cache')}
    done = run('symbols', other, '1000', env={**os.environ, **env})
    assert (done.returncode, done.stderr) == (0, '')


def test_no_answer(stripped, tmp_path):
    """A server that does not respond: one message, and the result without it."""
    need('debuginfod')
    whole, program, _ = stripped
    with socket.socket() as silent:
        silent.bind(('127.0.0.1', 0))
        silent.listen()
        url = f'http://127.0.0.1:{silent.getsockname()[1]}'
        done = symbols(program, whole, tmp_path, DEBUGINFOD_URLS=url, DEBUGINFOD_TIMEOUT='1')
    assert done.stdout.count('\n') == 2
    assert f'no answer from DEBUGINFOD_URLS={url}' in done.stderr
    assert done.stderr.count('\n') == 1


def trickle(listener, ends):
    """Answer every request with a large file, of which a byte comes every 20 ms."""
    with contextlib.suppress(OSError):
        while True:
            connection = listener.accept()[0]
            connection.recv(4096)
            connection.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n')
            while not ends.wait(0.02):
                connection.sendall(b'x')
            connection.close()


@pytest.fixture
def slow_server():
    ends = threading.Event()
    with socket.create_server(('127.0.0.1', 0)) as listener:
        thread = threading.Thread(target=trickle, args=(listener, ends), daemon=True)
        thread.start()
        yield f'http://127.0.0.1:{listener.getsockname()[1]}'
        ends.set()


@pytest.mark.parametrize('words, status, expected', [
    (['symbols', 'PROGRAM', '1000'], -signal.SIGINT, ''),
    (['profile', '-F', '997', '--exclude-kernel', '--', 'PROGRAM', '300'], 130, 'samples seen'),
    (['record', '--portable', '-o', 'FILE', '-F', '997', '--', 'PROGRAM', '300'], 130, ''),
])
def test_a_signal_during_a_download(slow_server, tmp_path, words, status, expected):
    """attar ends without the file, and the cache has no part of it."""
    need('debuginfod', 'objcopy')
    program, cache = tmp_path / 'program', tmp_path / 'cache'
    subprocess.run(['objcopy', '--strip-all', workload('split7030'), program], check=True)
    places = {'PROGRAM': str(program), 'FILE': str(tmp_path / 'x.data')}
    words = [places.get(word, word) for word in words]
    env = {**os.environ, 'DEBUGINFOD_URLS': slow_server, 'DEBUGINFOD_CACHE_PATH': str(cache),
           'DEBUGINFOD_TIMEOUT': '600'}
    with subprocess.Popen([ATTAR, *words], env=env, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as process:
        wait_until(lambda: parts_of(cache), 'a download begins', 60)
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=60)
    assert process.returncode == status, errors
    assert 'was interrupted' in errors and expected in out
    assert not parts_of(cache)


def parts_of(cache):
    """The files of downloads that are not complete: libdebuginfod renames those that are."""
    return [file for file in cache.rglob('debuginfo.*') if file.stat().st_size]
