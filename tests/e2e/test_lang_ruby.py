# SPDX-License-Identifier: MIT
"""Functions of Ruby in attar stack, compared with what the program itself says."""
import json
import subprocess
from pathlib import Path

import pytest

from command import run, wait_until
from interpreted import check_shares, interpreted, stacks

RUBY = '/usr/bin/ruby3.1'
TITLE = 'Ruby 3.1'
pytestmark = [pytest.mark.usefixtures('root'), pytest.mark.skipif(
    not Path(RUBY).exists(), reason='ruby3.1 is not installed')]

# Each method named block_* waits in a thread of its own. The program prints the frames of all
# threads as it sees them itself.
PROGRAM = r'''
# encoding: utf-8
require 'json'
require 'fiddle'

def block
  sleep
end

module Outer
  class Inner
    def self.singleton(_ = nil)
      block
    end

    def attribute
      -> { Inner.singleton }.call
    end

    define_method(:defined) do |x|
      again(x)
    end

    def again(x)
      self.class.singleton(x)
    end

    def method_missing(name, *args)
      block
    end

    def <=>(other)
      block
    end

    def initialize(waits = false)
      block if waits
    end
  end
end

def block_attribute
  Outer::Inner.new.attribute
end

def block_callbacks
  [2, 1].sort_by do |v|
    [v].map { |x| [x].each_with_index { |y, i|
      Outer::Inner.singleton(y)
    } }
  end
end

def block_defined
  Outer::Inner.new.defined(1)
end

def block_missing
  Outer::Inner.new.nothing
end

def block_compare
  [Outer::Inner.new, Outer::Inner.new].sort
end

def block_initialize
  Outer::Inner.new(true)
end

def block_replace
  'bab'.gsub('a') { block; '' }
end

def deep(n)
  return deep(n - 1) if n > 0
  block
end

def block_recursion
  deep(500)
end

def block_fiber
  Fiber.new {
    Fiber.new { deep(3) }.resume
  }.resume
end

def block_enumerator
  Enumerator.new { |y| block; y << 1 }.next
end

def block_lazy
  (1..3).lazy.map { |x| block }.first
end

def block_exception
  raise ArgumentError
rescue ArgumentError => error
  begin
    error.nothing
  ensure
    block
  end
end

def block_ensure
  1 + 1
ensure
  block
end

def block_class_body
  eval "class Body\n  block\nend", TOPLEVEL_BINDING
end

def block_string
  eval "def evaluated\n" + "\n" * 70000 + "  1; block\nend\nevaluated", TOPLEVEL_BINDING, 'e.rb', 9
end

def block_long
  eval "def long(x = 0)\n" + "  x += 1 if x.nil?\n" * 900 + "  block\n" + "  x -= 1\n" * 900 +
    "end\nlong"
end

def block_symbol
  [nil].each(&method(:symbol))
end

def symbol(_)
  block
end

def block_loop
  loop do
    block
  end
end

def block_tap
  1.tap { block }
end

def block_catch
  catch(:x) { send(:block) }
end

def yielder
  yield
end

def block_yield
  yielder { yielder do
    block
  end }
end

def naïve; block; end
def 函数; naïve; end
def 𐌰𐌱; 函数; end
eval "def #{'long' * 200}; block; end"

def block_names
  𐌰𐌱
end

def block_long_name
  send('long' * 200)
end

def block_file
  eval 'block', TOPLEVEL_BINDING, 'ä 文件 😀.rb'
end

def block_native_callback
  callback = Class.new(Fiddle::Closure) {
    def call(a, b)
      block
      0
    end
  }.new(Fiddle::TYPE_INT, [Fiddle::TYPE_VOIDP, Fiddle::TYPE_VOIDP])
  qsort = Fiddle::Function.new(Fiddle.dlopen(nil)['qsort'], [Fiddle::TYPE_VOIDP,
    Fiddle::TYPE_SIZE_T, Fiddle::TYPE_SIZE_T, Fiddle::TYPE_VOIDP], Fiddle::TYPE_VOID)
  qsort.call('ba', 2, 1, callback)
end


Thread.report_on_exception = true
threads = private_methods.grep(/\Ablock_(?!given)/).map { |name| Thread.new { send(name) } }
sleep 0.01 until threads.all? do |t|
  t.status == 'sleep' && t.backtrace_locations(1, 1).to_a.any? { |l| l.label == 'block' }
end
frames = threads.to_h do |t|
  [t.native_thread_id, t.backtrace_locations.map { |l| [l.label, l.path, l.lineno] }]
end
puts JSON.generate([Process.pid, frames])
STDOUT.flush
STDIN.read(1)
'''


@pytest.fixture(name='program', scope='module')
def fixture_program(tmp_path_factory):
    script = tmp_path_factory.mktemp('ruby') / 'program.rb'
    script.write_text(PROGRAM)
    with subprocess.Popen([RUBY, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True, encoding='utf-8', env={'LC_ALL': 'C.UTF-8'}) as process:
        try:
            yield json.loads(process.stdout.readline())
        finally:
            process.kill()


# The program also sees methods that are written in C, with the file and line of their caller.
IN_C = ('call catch each each_with_index eval first gsub loop map new next resume send sleep '
        'sort sort_by yield').split()


def of_ruby(frames):
    """The frames without methods that are or can be written in C, and with shortened names."""
    return [[name if len(name) <= 512 else name[:512] + '...', *place]
            for name, *place in frames if name not in IN_C]


def test_frames_are_those_of_the_program(program):
    pid, expected = program
    found = stacks(pid)
    assert len(expected) == PROGRAM.count('def block_')
    for tid, frames in expected.items():
        rows = found[int(tid)]
        assert of_ruby(interpreted(rows, TITLE)) == of_ruby(frames)
        assert not [row for row in rows if row['symbol'] == 'rb_vm_exec']


def test_native_code_between_frames(program):
    """qsort() of the C library, libffi and the extension are between two methods."""
    pid, expected = program
    tid, = (tid for tid, frames in expected.items()
            if any(name == 'block_native_callback' for name, *_ in frames))
    done = run('stack', '-t', tid)
    modules = ['call at ', '/fiddle.so', 'libffi.so', '/fiddle.so', 'block_native_callback at ']
    places = [i for i, line in enumerate(done.stdout.splitlines())
              for module in modules if module in line]
    text = '\n'.join(done.stdout.splitlines()[places[0]:])
    at = 0
    for module in modules:
        assert module in text[at:], done.stdout
        at = text.index(module, at) + len(module)
    assert 'libruby' not in done.stdout


def test_text_leaves_out_frames_of_the_interpreter(program):
    pid, expected = program
    done = run('stack', '-p', pid)
    assert done.returncode == 0 and done.stderr == ''
    assert 'native frames of Ruby 3.1 are not shown: ' in done.stdout.splitlines()[-1]
    assert done.stdout.count('block at ') >= len(expected) - 1
    rows = [row for rows in stacks(pid, '--native').values() for row in rows]
    assert not interpreted(rows, TITLE)
    assert [row for row in rows if row['symbol'] == 'rb_vm_exec']


HOT = '''
def heavy
  i = 0
  i += 1 while i < 700000
end
def light
  i = 0
  i += 1 while i < 300000
end
def caller_of_both
  loop { heavy; light }
end
Thread.new { sleep }
puts 1
STDOUT.flush
caller_of_both
'''


def test_shares(tmp_path):
    script = tmp_path / 'hot.rb'
    script.write_text(HOT)
    with subprocess.Popen([RUBY, script], stdout=subprocess.PIPE) as process:
        try:
            process.stdout.readline()
            check_shares(process.pid, 'heavy (hot.rb)', 'light (hot.rb)', 'caller_of_both (hot.rb)')
        finally:
            process.kill()


def test_forked_process(tmp_path):
    """The thread of a child has another number than the one of the parent."""
    code = "def child\n sleep\nend\npid = fork { child }\nputs pid\nSTDOUT.flush\nSTDIN.read\n" \
           "Process.kill(:KILL, pid)"
    with subprocess.Popen([RUBY, '-e', code], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as process:
        child = int(process.stdout.readline())
        wait_until(lambda: interpreted(stacks(child)[child], TITLE)[:1] == [['child', '-e', 2]],
                   'it waits')
        process.stdin.close()


def test_other_ractor():
    code = "def inside = sleep\nr = Ractor.new { inside }\nputs 1\nSTDOUT.flush\nSTDIN.read"
    with subprocess.Popen([RUBY, '-W0', '-e', code], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        wait_until(lambda: any(interpreted(rows, TITLE)[:1] == [['inside', '-e', 1]]
                               for rows in stacks(process.pid).values()), 'it waits')
        process.stdin.close()
        process.kill()


SOURCE = r'''
#include <unistd.h>
const char ruby_version[] = "%s";
void *ruby_current_vm_ptr, *memory[4096];
int main(void)
{
    char c;
    for (int i = 0; i < 4096; i++)
        memory[i] = memory + i %% 7 + %d;
    ruby_current_vm_ptr = memory;
    write(1, "x", 1);
    return (int)read(0, &c, 1);
}
'''


def of_false_ruby(folder, version, shift=0):
    program = folder / 'ruby-x'
    (folder / 'x.c').write_text(SOURCE % (version, shift))
    subprocess.run(['cc', '-rdynamic', '-o', program, folder / 'x.c'], check=True)
    with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.read(1) == b'x'
        done = run('stack', '-p', process.pid, timeout=20)
        process.stdin.close()
    assert done.returncode == 0 and 'main' in done.stdout
    return done.stderr


def test_unknown_version(tmp_path):
    assert of_false_ruby(tmp_path, '9.8.7') == 'attar: functions of Ruby 9.8.7 are not shown: ' \
        'only Ruby 3.1 on x86-64 is known\n'


@pytest.mark.parametrize('shift', [0, 100])
def test_hostile_runtime(tmp_path, shift):
    """Lists without an end, and objects at addresses that are none."""
    of_false_ruby(tmp_path, '3.1.2', shift)
