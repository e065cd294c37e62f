# SPDX-License-Identifier: MIT
"""Threads of Go that have nothing to run wait for a futex: it is no lock."""
import re
import subprocess

import pytest

from command import has, run, wait_until
from scripts import of_script, report, rows

KERNEL = {'futex_wait': 0xffffffff81000010, '__x64_sys_futex': 0xffffffff81001010}
RUNTIME = ('runtime.futex.abi0', 'runtime.notesleep', 'runtime.notetsleep_internal',
           'runtime.mPark', 'runtime.lock2', 'runtime.mallocgc', 'runtime.stopTheWorldWithSema')
HEADER = '''event syscalls:sys_enter_futex stack uaddr:u64 op:int val:u64
event syscalls:sys_exit_futex ret:long
event sched:sched_switch stack prev_pid:pid_t prev_state:s64 next_pid:pid_t
event sched:sched_wakeup pid:pid_t
event sched:sched_wakeup_new pid:pid_t
event cpu-clock stack
'''
MS = 10**6


@pytest.fixture(name='mapped', scope='module')
def fixture_mapped(tmp_path_factory):
    """Return the lines that map a program and name the kernel's code, and the addresses of all."""
    folder = tmp_path_factory.mktemp('go')
    source, file = folder / 'x.c', folder / 'x'
    source.write_text(''.join(f'void f{i}(void) __asm__("{name}"); void f{i}(void) {{}}\n'
                              for i, name in enumerate(RUNTIME)))
    subprocess.run(['cc', '-shared', '-fPIC', '-nostdlib', '-o', file, source], check=True)
    lines = f'1.0 0 7/7 p mmap 0x10001000 0x1000 0x1000 r-xp {file}\n' + ''.join(
        f'1.0 0 0/0 swapper ksymbol register {address - 16:#x} 0x100 {name}\n'
        for name, address in KERNEL.items())
    symbols = subprocess.check_output(['nm', file], text=True)
    return lines, KERNEL | {name: 0x10000000 + int(address, 16) + 1 for address, name in
                            re.findall(r'^(\w+) T (\S+)$', symbols, re.M)}


# Innermost first; the expected value of the futex; whether the thread is idle, and the caller.
WAITS = [
    (['runtime.futex.abi0', 'runtime.notesleep', 'runtime.mPark'], 0, True, None),
    (['runtime.futex.abi0'], 0, True, None),
    (['runtime.futex.abi0', 'runtime.lock2', 'runtime.mallocgc'], 2, False, 'runtime.mallocgc'),
    (['runtime.futex.abi0', 'runtime.lock2', 'runtime.mallocgc'], 0, False, 'runtime.mallocgc'),
    (['runtime.futex.abi0', 'runtime.notetsleep_internal', 'runtime.stopTheWorldWithSema'], 0,
     False, 'runtime.stopTheWorldWithSema'),
]


@pytest.mark.quick
@pytest.mark.parametrize('stack, value, is_idle, caller', WAITS,
                         ids=['note', 'leaf', 'lock', 'lock in Go 1.24', 'world'])
class TestScripts:
    def test_locks(self, tmp_path, mapped, stack, value, is_idle, caller):
        lines, at = mapped
        addresses = ','.join(hex(at[name]) for name in stack)
        found = of_script(tmp_path, HEADER + lines + f'''2.0 0 7/7 p syscalls:sys_enter_futex \
stack={addresses} uaddr=64 op=128 val={value}
2.3 0 7/7 p syscalls:sys_exit_futex
''', 'locks')
        assert [(row['caller'], row['total']) for row in rows(found, 'locks')] == (
            [] if is_idle else [(caller, 300 * MS)])
        remark = '1 wait of 300.0 ms is left out: a thread of Go had nothing to run meanwhile'
        assert (remark in found.get('remarks', [])) == is_idle

    def test_wall(self, tmp_path, mapped, stack, value, is_idle, caller):
        lines, at = mapped
        addresses = ','.join(hex(at[name]) for name in [*KERNEL, *stack])
        found = of_script(tmp_path, HEADER + lines + f'''1.9 0 7/7 p sched:sched_switch next_pid=7
2.0 0 7/7 p syscalls:sys_enter_futex uaddr=64 op=128 val={value}
2.0 0 7/7 p sched:sched_switch stack={addresses} prev_pid=7 prev_state=1
2.3 0 0/0 swapper sched:sched_switch next_pid=7
2.4 0 7/7 p cpu-clock
''', 'wall')
        [thread] = (row for row in rows(found, 'threads') if row['comm'] == 'p')
        state = 'work' if is_idle else 'lock'
        assert thread[state] * thread['time'] / 100 == pytest.approx(300 * MS)


PROGRAM = '''package main

import (
	"fmt"
	"os"
	"time"
)

func main() {
	in, out := make(chan int), make(chan int)
	for i := 0; i < 8; i++ {
		go func() {
			for v := range in {
				out <- v
			}
		}()
	}
	for i := 0; i < 1000; i++ {
		in <- i
		<-out
		if i%10 == 0 {
			time.Sleep(100 * time.Microsecond)
		}
	}
	fmt.Println("idle")
	if len(os.Args) > 1 {
		time.Sleep(60 * time.Second)
	}
}
'''


@pytest.fixture(name='program', scope='module')
def fixture_program(tmp_path_factory):
    if not has('go'):
        pytest.skip('go (package golang-go) is not installed')
    folder = tmp_path_factory.mktemp('program')
    (folder / 'idle.go').write_text(PROGRAM)
    subprocess.run(['go', 'build', 'idle.go'], cwd=folder, check=True, capture_output=True)
    return folder / 'idle'


@pytest.mark.usefixtures('root')
def test_threads_between_goroutines(program):
    """Each of 1000 messages lets a thread find nothing to run; short locks of the runtime stay."""
    found = report('locks', '--futex', '--', program)
    [remark] = [text for text in found['remarks'] if 'had nothing to run' in text]
    assert int(remark.split()[0]) > 50
    assert not [row for row in rows(found, 'locks')
                if row['caller'].startswith(('runtime.futex', 'runtime.note'))]
    assert 'runtime.mPark' not in str(found['sections'])


@pytest.mark.usefixtures('root')
def test_threads_that_are_idle_from_the_start(program):
    with subprocess.Popen([program, 'stay'], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == 'idle\n'
            # it interrupts the calls with a time limit, which go on as restart_syscall(2)
            assert run('stack', '-p', process.pid).returncode == 0
            ended = run('overview', '-p', process.pid, '-d', '500ms')
        finally:
            process.kill()
    assert ended.returncode == 0, ended.stderr
    assert not re.search('^lock', ended.stdout, re.M), ended.stdout


WAITER = '''
import ctypes, sys
print('waits', flush=True)
ctypes.CDLL(None).syscall(%d, ctypes.byref(ctypes.c_int(5)), 0, 5, None)
'''


@pytest.mark.usefixtures('root')
def test_function_of_a_wait_before_the_start():
    """Its name, from /proc, is that of a function of the kernel."""
    number = {'x86_64': 202}.get(subprocess.check_output(['uname', '-m'], text=True).strip(), 98)
    with subprocess.Popen(['/usr/bin/python3', '-c', WAITER % number], stdout=subprocess.PIPE,
                          text=True) as process:
        try:
            assert process.stdout.readline() == 'waits\n'
            wait_until(lambda: 'futex' in wchan(process.pid), 'it waits')
            ended = run('overview', '-p', process.pid, '-d', '200ms')
        finally:
            process.kill()
    assert re.search(r' of it in \S*futex\S* \(\[kernel.kallsyms\]\)', ended.stdout), ended.stdout
    assert '()' not in ended.stdout


def wchan(pid):
    with open(f'/proc/{pid}/wchan', encoding='ascii') as file:
        return file.read()
