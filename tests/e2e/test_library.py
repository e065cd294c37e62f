# SPDX-License-Identifier: MIT
"""libattar as seen by a program: declarations, symbols, pkg-config."""
import ctypes
import fnmatch
import os
import re
import subprocess
from pathlib import Path

import pytest

from breakpoints import breakpoints_are_hit
from command import BUILD, ROOT, compiler, has, wait_until, workload
from faults import sanitized

HEADERS = sorted(p.name for p in (ROOT / 'include/attar').glob('*.h'))
LIBRARIES = {name: BUILD / f'src/{name}.so.1' for name in ('libattar', 'libattar-run')}
LAYERS = [line.split() for line in (ROOT / 'src/LAYERS').read_text().splitlines()]


def exported(*libraries):
    """The functions of libraries, by default of both."""
    out = subprocess.run(['nm', '-D', '--defined-only',
                          *(LIBRARIES[name] for name in libraries or LIBRARIES)],
                         capture_output=True, text=True, check=True).stdout
    return set(re.findall(r' T (attar_\w+)', out))


def headers_of(library):
    """The headers whose functions are in the library, by its layers."""
    layers = next(words[1:] for words in LAYERS if words[0] == f'{library}:')
    return [words[0].removeprefix('attar/') for words in LAYERS if words[1] in layers and
            (ROOT / 'include' / words[0]).exists()]


def declared(headers=HEADERS):
    names = set()
    for header in headers:
        text = (ROOT / 'include/attar' / header).read_text()
        names |= set(re.findall(r'ATTAR_API[^;(]*?\b(attar_\w+)\(', text))
    return names


@pytest.mark.parametrize('library', LIBRARIES)
def test_exports_what_its_headers_declare_and_nothing_else(library):
    assert exported(library) == declared(headers_of(library))


@pytest.mark.parametrize('library, umbrella', [
    ('libattar', ['attar.h']), ('libattar-run', ['attar.h', 'attar-run.h'])])
def test_one_header_includes_all_of_a_library(library, umbrella):
    included = {name for header in umbrella for name in re.findall(
        r'^#include "attar/(.*)"', (ROOT / 'include/attar' / header).read_text(), re.M)}
    assert set(headers_of(library)) <= included | set(umbrella)
    assert library == 'libattar-run' or included <= set(headers_of(library))


def test_comments_and_docs_name_existing_functions():
    headers = [ROOT / 'include/attar' / header for header in HEADERS]
    inline = {name for header in headers for name in
              re.findall(r'static inline[^;(]*?\b(attar_\w+)\(', header.read_text())}
    comments = ' '.join(comment for header in headers
                        for comment in re.findall(r'/\*.*?\*/', header.read_text(), re.S))
    texts = [path.read_text() for path in [ROOT / 'README.md', *ROOT.glob('docs/**/*.md')]]
    named = set(re.findall(r'\b(attar_\w+)\(', ' '.join([comments, *texts])))
    assert len(named) > 100
    assert named <= declared() | inline


def unchecked():
    """Return the functions that attar/base.h documents as not checking their arguments."""
    text = (ROOT / 'include/attar/base.h').read_text().replace('\n *', '')
    listed = re.search('do not check their arguments: (.*?) and inline functions', text)[1]
    patterns = re.findall(r'attar_\w+\*?(?=\(\))', listed)
    assert len(patterns) > 20
    return {name for name in exported() for pattern in patterns if fnmatch.fnmatch(name, pattern)}


def ends_normally(call):
    """Return whether a child process survives the call."""
    child = os.fork()
    if not child:
        call()
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0


def test_no_other_function_crashes_without_arguments():
    """Each pointer is NULL and each number 0; a returned struct is written to a buffer."""
    if sanitized():
        pytest.skip('the library needs the sanitizers of its program')
    ctypes.CDLL(str(LIBRARIES['libattar']), ctypes.RTLD_GLOBAL)
    library = ctypes.CDLL(str(LIBRARIES['libattar-run']))
    headers = ''.join((ROOT / 'include/attar' / header).read_text() for header in HEADERS)
    structs = set(re.findall(r'ATTAR_API struct attar_\w+ (attar_\w+)\(', headers))
    room = ctypes.create_string_buffer(4096)
    crashing = [name for name in sorted(exported() - unchecked())
                if not ends_normally(lambda name=name: getattr(library, name)(
                    *([room] if name in structs else []), *[None] * 6))]
    assert not crashing


EXAMPLES = sorted(p.name for p in (ROOT / 'examples').glob('*.c'))


@pytest.mark.parametrize('example', EXAMPLES)
def test_examples_build_by_pkg_config_and_run(example, tmp_path):
    environment = {**os.environ, 'PKG_CONFIG_PATH': str(BUILD / 'meson-uninstalled')}
    flags = subprocess.run(['pkg-config', '--cflags', '--libs', 'attar-run-uninstalled'],
                           env=environment,
                           capture_output=True, text=True, check=True).stdout.split()
    program = tmp_path / 'example'
    subprocess.run([*compiler(), '-o', str(program), str(ROOT / 'examples' / example), *flags],
                   check=True)
    done = subprocess.run([str(program)],
                          env={**environment, 'LD_LIBRARY_PATH': str(BUILD / 'src')},
                          capture_output=True, text=True, check=False)
    skips = example == '04-breakpoint.c' and not breakpoints_are_hit()
    assert done.returncode == (77 if skips else 0), done.stderr


CXX = ['-Wall', '-Wextra', '-Wpedantic', '-Wshadow', '-Wold-style-cast', '-Werror']


@pytest.mark.parametrize('standard', ['c++11', 'c++14', 'c++17', 'c++20'])
@pytest.mark.parametrize('cxx', ['g++', 'clang++'])
def test_profiler_in_cxx_reports_what_the_one_in_c_does(cxx, standard, tmp_path):
    if not has(cxx):
        pytest.skip(f'{cxx} is not installed')
    if sanitized() and ('clang' in cxx) != ('clang' in compiler()[0]):
        pytest.skip('the library needs the sanitizers of its compiler')
    program = tmp_path / 'example'
    subprocess.run([cxx, f'-std={standard}', *CXX, *compiler()[1:], f'-I{ROOT}/include',
                    '-o', program, ROOT / 'examples/26-own-profiler.cc', f'-L{BUILD}/src',
                    '-lattar-run', '-lattar'], check=True)
    environment = {**os.environ, 'LD_LIBRARY_PATH': str(BUILD / 'src')}
    sent = {}
    for words in [[program], [BUILD / 'examples/20-own-profiler'], [program, '--least', '24']]:
        done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        sent[len(sent)] = re.findall(r'^ *(User defined signal 1) +(\d+)$', done.stdout, re.M)
    assert sent == {0: [('User defined signal 1', '23')], 1: [('User defined signal 1', '23')],
                    2: []}
    done = subprocess.run([program, '--least', '0'], env=environment, capture_output=True,
                          text=True, check=False)
    assert done.returncode == 1 and '--least' in done.stderr


def stream_counts(events, *command):
    """The counts by name that the example of attar_stream_events() prints for a command."""
    done = subprocess.run([BUILD / 'examples/25-stream-events', events, *map(str, command)],
                          capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return {name: int(n) for name, n in re.findall(r'^(\S+): (\d+)$', done.stdout, re.M)}


GETPPID = {'x86_64': 110, 'aarch64': 173}[os.uname().machine]


@pytest.mark.parametrize('filter', [f'id=={GETPPID}', f'id*2=={GETPPID * 2}'])
def test_streams_by_name_count_system_calls(filter):
    """The filter runs in the kernel or in attar."""
    counts = stream_counts(f'raw_syscalls:sys_enter/{filter}/alias=calls/,page-faults',
                           workload('threadcalls'), 7, 100)
    assert counts['calls'] == 700
    assert counts['page-faults'] > 0
    assert counts['lost'] == 0


@pytest.mark.xdist_group('test_user_events')  # -a there enables events of these programs, too
@pytest.mark.parametrize('events', [
    'user_events:e2e_order', 'user_events:e2e_*', 'user_events:e2e_order/id%2 || !(id%2)/',
    'user_events:e2e_order/transport=usdt/'])
def test_streams_by_name_count_events_of_programs(events):
    counts = stream_counts(events, workload('emit'), 'once', 50)
    assert counts['user_events:e2e_order'] == 50
    assert counts['lost'] == 0


@pytest.mark.xdist_group('test_user_events')  # -a there enables events of these programs, too
def test_streams_by_name_filter_events_of_programs():
    counts = stream_counts('user_events:e2e_order/id>=10 && id<17/', workload('emit'), 'once', 50)
    assert counts['user_events:e2e_order'] == 7


CHILDREN = r"""
#include <attar/attar.h>

int main(int argc, char **argv)
{
	struct attar_target_opts opts = {
		.size = sizeof(opts), .pids = argv[1], .descendants = argc > 3};
	struct attar_target *target;
	struct attar_stream *stream;
	struct attar_event ev;
	unsigned n = 0;

	if (attar_target_new(&opts, &target) < 0 ||
		attar_stream_events(target, argv[2], 0, NULL, &stream) < 0)
		return fprintf(stderr, "%s\n", attar_error()), 1;
	puts("ready");
	fflush(stdout);
	while (attar_stream_read(stream, 1000, &ev) >= 0)
		n += ev.record && ev.record->type == PERF_RECORD_SAMPLE;
	printf("%u\n", n);
	attar_stream_free(stream);
	attar_target_free(target);
}
"""


@pytest.mark.usefixtures('root')
@pytest.mark.parametrize('event, descendants', [
    ('usdt:shop:order', False), ('usdt:shop:order', True), ('user_events:e2e_order', True)])
def test_streams_look_for_events_of_programs_in_children(event, descendants, sdt, spawn, tmp_path):
    """Of a shell whose child emits 20 events, and was there before."""
    (tmp_path / 'children.c').write_text(CHILDREN)
    program, go = tmp_path / 'children', tmp_path / 'go'
    subprocess.run([*compiler(), '-include', 'stdio.h', f'-I{ROOT}/include', '-o', program,
                    tmp_path / 'children.c', f'-L{BUILD}/src', '-lattar'], check=True)
    child = [sdt, 10, go] if event.startswith('usdt') else [workload('emit'), 'once', 20]
    shell = spawn('sh', '-c', f'{" ".join(map(str, child))}; true')
    children = Path(f'/proc/{shell.pid}/task/{shell.pid}/children')
    wait_until(lambda: children.read_text() and
               Path(f'/proc/{children.read_text().split()[0]}/exe').resolve() == Path(child[0]),
               'the child runs the program')
    reader = spawn(program, shell.pid, event, *['descendants'] * descendants,
                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                   env={**os.environ, 'LD_LIBRARY_PATH': f'{BUILD}/src'})
    ready = reader.stdout.readline()
    go.touch()
    shell.wait(20)
    output, errors = reader.communicate(timeout=20)
    if not descendants:
        assert not ready and "no USDT probe 'shop:order'" in errors
    else:
        assert (ready, output) == ('ready\n', '20\n'), errors


@pytest.mark.parametrize('name', ['attar', 'attar-run', 'perfume', 'kperf'])
def test_abi_equals_the_recorded_one(name):
    if not has('abidiff'):
        pytest.skip('abidiff (package abigail-tools) is not installed')
    if os.uname().machine != 'x86_64' or 'clang' in compiler()[0]:
        pytest.skip(
            'the recorded ABI is that of gcc on x86-64: other compilers name types differently')
    library = next(BUILD.glob(f'*/lib{name}.so'))
    if '.debug_info' not in subprocess.run(['readelf', '-SW', library], capture_output=True,
                                           text=True).stdout:
        pytest.skip('the build has no debug information, which abidiff needs')
    done = subprocess.run([ROOT / 'tools/abi', '--check', name, BUILD], capture_output=True,
                          text=True, check=False)
    assert done.returncode == 0, \
        f'{done.stdout}{done.stderr}\nif this change is intended, record it: tools/abi'


@pytest.mark.parametrize('words, message', [
    (['no-such-folder'], 'no no-such-folder/src/libattar.so: name a build directory'),
    (['--wrong'], 'no --wrong/src/libattar.so: name a build directory'),
    (['--check', 'vax'], "no library 'vax': attar, attar-run, perfume or kperf"),
    (['--check'], "no library ''")])
def test_abi_with_wrong_arguments_changes_no_record(words, message):
    def records():
        return {path.name: path.read_bytes() for path in (ROOT / 'tests/abi').iterdir()}

    before = records()
    done = subprocess.run([ROOT / 'tools/abi', *words], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith(f'abi: {message}')
    assert records() == before
