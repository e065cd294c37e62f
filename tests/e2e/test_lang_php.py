# SPDX-License-Identifier: MIT
"""Functions of PHP in attar stack, compared with what the program itself says."""
import contextlib
import json
import subprocess
from pathlib import Path

import pytest

from command import run, wait_until
from interpreted import check_shares, interpreted, repeated, stacks

PHP = '/usr/bin/php8.2'
TITLE = 'PHP 8.2'
pytestmark = [pytest.mark.usefixtures('root'), pytest.mark.skipif(
    not Path(PHP).exists(), reason='php8.2-cli is not installed')]

# Each function named block_* is executed in a process of its own. It prints the frames as it sees
# them itself, with the line at which it waits then.
PROGRAM = r'''<?php
function block($result = 0) {
    $frames = debug_backtrace(DEBUG_BACKTRACE_IGNORE_ARGS);
    echo json_encode([getmypid(), __LINE__ + 1, $frames]), "\n";
    fgets(STDIN);
    return $result;
}

class Outer {
    static function singleton($value = null) {
        return block();
    }
    function __get($name) {
        return (fn() => self::singleton())();
    }
    function __call($name, $arguments) {
        return block();
    }
    function __toString() {
        block();
        return '';
    }
    function __destruct() {
        if ($this->waits ?? false)
            block();
    }
    function __invoke($a, $b) {
        return block();
    }
}
trait Common {
    function shared() {
        block();
    }
}
class User extends ArrayObject {
    use Common;
    function offsetGet($key): mixed {
        $this->shared();
        return 1;
    }
}

function block_magic() { (new Outer)->attribute; }
function block_call() { (new Outer)->nothing(1); }
function block_string() { return 'a' . new Outer; }
function block_invoke() { $a = [2, 1]; usort($a, new Outer); }
function block_callbacks() {
    array_map(function ($v) {
        return array_reduce([1, 2], fn($a, $b) =>
            Outer::singleton($b));
    }, [1,
        2]);
}
function block_array_access() { $a = new User; return $a[1]; }
function block_regular_expression() { preg_replace_callback('/a/', fn($m) => block(''), 'bab'); }
function deep($n) {
    if ($n)
        return deep($n - 1);
    return block();
}
function block_recursion() { deep(500); }
function generator() {
    yield block();
}
function block_generator() {
    foreach (generator() as $value);
}
function block_generator_object() {
    $generator = generator();
    $generator->current();
}
function block_exception() {
    try {
        throw new Exception;
    } catch (Exception $e) {
        try {
            return 1;
        } finally {
            block();
        }
    }
}
function block_eval() {
    eval("\n\n block();");
}
function block_include() {
    $path = __DIR__ . '/ 文件.php';
    file_put_contents($path, "<?php\nfunction included() {\n block(); }\nincluded();\n");
    include $path;
}
function block_anonymous() {
    (new class { function inner() { block(); } })->inner();
}
function block_static() {
    call_user_func([Outer::class, 'singleton'], 1);
}
function naïve() { block(); }
function 函数() { naïve(); }
function 𐌰𐌱() { 函数(); }
function block_names() { 𐌰𐌱(); }
function block_long_name() {
    $name = str_repeat('long', 200);
    eval("function $name() { block(); }");
    $name();
}
function block_autoload() {
    spl_autoload_register(function ($name) { block(); });
    class_exists('Nothing');
}
function block_output() {
    ob_start(function ($text) { file_put_contents('php://stderr', ''); return $text; });
    ob_end_clean();
    block();
}
function block_long() {
    eval(str_repeat("\n\$x = 1;", 70000) . "\nblock();");
}

set_error_handler(function () { block(); });
function block_error() { echo $undefined; }

$argv[1]();
'''


def names_of(frame):
    name = frame['function']
    if name in ('include', 'eval') and 'class' not in frame:
        return '<main>'
    kind = frame.get('class', '').split('\0')[0]
    name = f'{kind}::{name}' if kind else name
    return name if len(name) <= 512 else name[:512] + '...'


def expected_of(script, line, frames):
    """The frames of debug_backtrace() have the place of the call, not the one in the function."""
    places = [[str(script), line]]
    places += [[f.get('file', ''), f.get('line', 0)] for f in frames]
    names = [names_of(frame) for frame in frames] + ['<main>']
    return [['fgets', '', 0]] + [[name, *place] for name, place in zip(names, places)]


@pytest.fixture(name='script', scope='module')
def fixture_script(tmp_path_factory):
    path = tmp_path_factory.mktemp('php') / 'program.php'
    path.write_text(PROGRAM)
    return path


@contextlib.contextmanager
def started(*args):
    with subprocess.Popen([PHP, '-d', 'ffi.enable=1', *args], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True, encoding='utf-8') as process:
        try:
            yield process
        finally:
            process.kill()


def wait_for_frames(pid, expected):
    found = []

    def are_there():
        found[:] = [[name, file or '', line or 0]
                    for name, file, line in interpreted(stacks(pid)[pid], TITLE)]
        return found[:1] == expected[:1]

    wait_until(are_there, 'it waits')
    assert found == expected


@pytest.mark.parametrize('function', [
    line.split()[1].split('(')[0] for line in PROGRAM.splitlines()
    if line.startswith('function block_')])
def test_frames_are_those_of_the_program(script, function):
    with started(script, function) as process:
        line = process.stdout.readline()
        pid, at, frames = json.loads(line)
        wait_for_frames(pid, expected_of(script, at, frames))


FIBER = '''<?php
function inner() { Fiber::suspend(1); echo "1\\n"; fgets(STDIN); }
$fiber = new Fiber(function () { inner(); });
$fiber->start();
$fiber->resume();
'''


def test_fiber(tmp_path):
    """The native stack of the fiber ends there, the frames of PHP go on with its caller."""
    script = tmp_path / 'fiber.php'
    script.write_text(FIBER)
    with started(script) as process:
        assert process.stdout.readline() == '1\n'
        wait_for_frames(process.pid, [['fgets', '', 0], ['inner', str(script), 2],
                                      ['{closure}', str(script), 3],
                                      ['Fiber::resume', '', 0], ['<main>', str(script), 5]])


NATIVE = '''<?php
$libc = FFI::cdef('void qsort(void *, size_t, size_t, int (*)(const void *, const void *));');
function compare() { echo "1\\n"; fgets(STDIN); return 0; }
function sorts($libc) {
    $libc->qsort(FFI::new('char[2]'), 2, 1, function ($a, $b) { return compare(); });
}
sorts($libc);
'''


def test_native_code_between_frames(tmp_path):
    """qsort() of the C library, libffi and the extension are between two functions."""
    script = tmp_path / 'native.php'
    script.write_text(NATIVE)
    with started(script) as process:
        if not process.stdout.readline():
            pytest.skip('PHP has no extension FFI')
        wait_until(lambda: 'fgets' in run('stack', '-p', process.pid).stdout, 'it waits')
        text = run('stack', '-p', process.pid).stdout
        _, functions = repeated(process.pid, '--repeat', 3, '--waiting')
    assert functions['fgets (PHP 8.2)']['total'] == functions['sorts (native.php)']['total'] == 100
    at = 0
    for part in ('fgets (', 'compare at ', '{closure} at ', '/ffi.so', '/libffi.so', '/ffi.so',
                 'sorts at ', '<main> at '):
        assert part in text[at:], text
        at = text.index(part, at) + len(part)
    assert 'bin/php' not in text
    assert 'native frames of PHP 8.2 are not shown: ' in text.splitlines()[-1]


HOT = '''<?php
function heavy() { for ($i = 0; $i < 700000; $i++); }
function light() { for ($i = 0; $i < 300000; $i++); }
function caller() { while (true) { heavy(); light(); } }
echo "1\\n";
caller();
'''


def test_shares(tmp_path):
    script = tmp_path / 'hot.php'
    script.write_text(HOT)
    with started(script) as process:
        process.stdout.readline()
        check_shares(process.pid, 'heavy (hot.php)', 'light (hot.php)', 'caller (hot.php)')


def test_code_of_the_jit_compiler(tmp_path):
    """The native stack ends in such code, which has no call frame information."""
    script = tmp_path / 'hot.php'
    script.write_text(HOT)
    options = ['-d', 'opcache.enable_cli=1', '-d', 'opcache.jit=tracing', '-d',
               'opcache.jit_buffer_size=16M', '-d', 'opcache.file_update_protection=0']
    with started(*options, script) as process:
        process.stdout.readline()

        def runs():
            rows = stacks(process.pid)[process.pid]
            return rows[0]['dso'] == '[anon]' and [row[0] for row in interpreted(rows, TITLE)] in (
                ['heavy', 'caller', '<main>'], ['light', 'caller', '<main>'])

        if 'enabled' not in subprocess.run(
                [PHP, *options, '-r', "echo opcache_get_status()['jit']['on'] ? 'enabled' : '';"],
                capture_output=True, text=True, check=False).stdout:
            pytest.skip('this PHP has no JIT compiler')
        wait_until(runs, 'it runs')
        _, functions = repeated(process.pid, '--repeat', 50)
    assert functions['caller (hot.php)']['total'] > 90, functions


SOURCE = r'''
#include <unistd.h>
void *module_registry[4096], *executor_globals[4096];
static unsigned module[4] = {0, %d, %d << 8};
int main(void)
{
    static void *bucket[4] = {module};
    char c;
    for (int i = 0; i < 4096; i++)
        executor_globals[i] = executor_globals + i %% 7;
    module_registry[2] = bucket;
    write(1, "x", 1);
    return (int)read(0, &c, 1);
}
'''


def of_false_php(folder, api, zts=0):
    program = folder / 'php-x'
    (folder / 'x.c').write_text(SOURCE % (api, zts))
    subprocess.run(['cc', '-rdynamic', '-o', program, folder / 'x.c'], check=True)
    with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.read(1) == b'x'
        done = run('stack', '-p', process.pid, timeout=20)
        process.stdin.close()
    assert done.returncode == 0 and 'main' in done.stdout
    return done.stderr


@pytest.mark.parametrize('api, zts, name', [
    (20300101, 0, '20300101'), (20220829, 1, '20220829 and ZTS')])
def test_unknown_version(tmp_path, api, zts, name):
    assert of_false_php(tmp_path, api, zts) == \
        f'attar: functions of PHP with the API {name} are not shown: only PHP 8.2 ' \
        '(API 20220829) without ZTS is known\n'


def test_hostile_runtime(tmp_path):
    """A list without an end, and objects at addresses that are none."""
    of_false_php(tmp_path, 20220829)
