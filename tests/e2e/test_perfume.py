# SPDX-License-Identifier: MIT
"""libperfume's events in other tools, self-describing events, and the library's sources built into
a program."""
import os
import re
import shutil
import subprocess

import pytest

import guest
from command import ATTAR, BUILD, ROOT, run

PERFUME = ROOT / 'perfume'
HELLO = BUILD / 'perfume/examples/hello_world'
SHOP = '''
#include "perfume.h"
#include <unistd.h>
PERFUME_HEADER_EVENT(Shop, 4, 2a, order_placed, (u64, id), (str, symbol), (f64s, prices))
PERFUME_HEADER_EVENT(Shop, 2, 1Gshops, failed)
int main(void)
{
	struct perfume_activity activity = {.id = "0123456789abcde", .opcode = PERFUME_OPCODE_START};
	double prices[] = {0.5, 2};

	for (int ms = 0; !perfume_order_placed_enabled() && ms < 60000; ms++)
		usleep(1000);
	/* An event may be enabled a moment before it is recorded. */
	for (int i = 0; i < 200; i++) {
		perfume_order_placed(77, "ATTAR", prices, 2);
		perfume_order_placed_in(&activity, 78, "", prices, 0);
		perfume_failed();
		usleep(10000);
	}
	return 0;
}
'''


def compiler(name):
    if not shutil.which(name):
        pytest.skip(f'{name} is not installed')
    return name


@pytest.fixture
def shop(tmp_path):
    return build(tmp_path, 'shop', SHOP)


def test_documented_commands_build_the_first_program(tmp_path):
    for file in ('perfume.c', 'perfume.h', 'examples/hello_world.c'):
        shutil.copy(PERFUME / file, tmp_path)
    done = subprocess.run(f'{compiler("gcc")} -o hello_world hello_world.c perfume.c -I.',
                          shell=True, cwd=tmp_path,
                          capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, '')
    done = subprocess.run('./hello_world', cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, 'Successfully wrote to probe\n')


@pytest.mark.guest('x86')
def test_perf_and_ftrace_record_the_first_program():
    script = f'''
        cd /tmp; tracefs=/sys/kernel/tracing
        {HELLO} >/dev/null 2>&1 & hello=$!
        until [ -e $tracefs/events/user_events/hello_world_event ]; do :; done
        echo 1 >$tracefs/events/user_events/hello_world_event/enable
        timeout 60 cat $tracefs/trace_pipe >pipe & pipe=$!
        perf record -q -a -e user_events:hello_world_event -o perf.data -- tail --pid=$hello -f /dev/null || exit 3
        echo perf: $(perf script -i perf.data)
        until grep -q hellostr pipe; do :; done
        kill $pipe; echo pipe: $(cat pipe)
        {HELLO} >/dev/null 2>&1
        echo trace: $(grep hello_world_event: $tracefs/trace)'''
    done = guest.run('x86', 'sh', '-c', script)
    assert done.returncode == 0, done.stderr
    for tool in ('perf', 'pipe', 'trace'):
        # ftrace prints 0x17 (23) since about 6.15.
        assert re.search(rf'^{tool}: .*hello_world_event: hellostr=(23|0x17 \(23\))', done.stdout,
                         re.M), done.stdout


EARLY = '''
#include "perfume.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
PERFUME_EVENT(early_event, (u32, number), (str, text))
static void listen(const char *on)
{
	FILE *file = fopen("/sys/kernel/tracing/events/user_events/early_event/enable", "w");

	if (!file || fputs(on, file) < 0 || fclose(file))
		exit(1);
}
int main(void)
{
	struct perfume_ctx *ctx = perfume_init(0);
	struct perfume_probe *probe = perfume_register(ctx, "early_probe", "u32 a", NULL);

	printf("%s\\n", perfume_interface_str(perfume_interface()));
	printf("registered %d %d\\n", PERFUME_EVENT_ERROR(early_event), probe != NULL);
	printf("off %d %d\\n", perfume_early_event(1, "off"), perfume_early_event_enabled());
	listen("1");
	printf("on %d %d\\n", perfume_early_event(2, "on"), perfume_early_event_enabled() != 0);
	printf("other %d\\n", perfume_probe_enabled(probe));
	if (!fork())
		_exit(perfume_early_event(3, "child") == 14 ? 0 : 1);
	sleep(1);
	listen("0");
	printf("off %d %d\\n", perfume_early_event(4, "off"), perfume_early_event_enabled());
	perfume_free(ctx);
	return 0;
}
'''


def build(folder, name, source):
    """Build a program with the two source files of the library."""
    (folder / f'{name}.c').write_text(source)
    done = subprocess.run([compiler('gcc'), '-Wall', '-Werror', '-o', name, f'{name}.c',
                           PERFUME / 'perfume.c', '-I', PERFUME],
                          cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder / name


@pytest.mark.guest('statuspage')
def test_events_on_kernels_with_a_status_page(tmp_path):
    """These kernels print the payload of user events as hexadecimal digits."""
    early = build(tmp_path, 'early', EARLY)
    done = guest.run('statuspage', 'sh', '-c', f'{early}; cat /sys/kernel/tracing/trace')
    assert done.returncode == 0, (done.stdout, done.stderr)
    lines = done.stdout.splitlines()
    assert lines[:6] == ['status page of bits (Linux 6.0 to 6.3)', 'registered 0 1', 'off 0 0',
                         'on 11 1', 'other 0',
                         'off 0 0']
    seen = bytes.fromhex(
        ''.join(re.findall(r'^[0-9a-f]{8}: ((?:[0-9a-f]{2} )+)', done.stdout, re.M)))
    assert re.findall(rb'[\2\3]\0\0\0\0\0[\3\6]\0(?:on|child)\0', seen) == [b'\2\0\0\0\0\0\3\0on\0',
                                                                              b'\3\0\0\0\0\0\6\0child\0']


ORDERS = ['order_placed level=information keyword=0x2a: id=77 symbol=ATTAR prices=[0.5,2]',
          'order_placed level=information keyword=0x2a opcode=start '
          'activity=30313233-3435-3637-3839-616263646500: '
          'id=78 symbol= prices=[]',
          'failed level=error keyword=0x1']


def test_self_describing_events_are_decoded(root, shop):
    done = run('trace', '-e', 'user_events:Shop_*', '--', shop)
    assert done.returncode == 0, done.stderr
    for line in ORDERS:
        assert line in done.stdout


@pytest.mark.guest('x86')
def test_self_describing_events_are_decoded_in_the_guest(shop):
    script = f'''
        {shop} & shop=$!
        until [ -e /sys/kernel/tracing/events/user_events/Shop_L4K2a ]; do :; done
        {ATTAR} trace -e user_events:Shop_L2K1Gshops,user_events:Shop_L4K2a -p $shop'''
    done = guest.run('x86', 'sh', '-c', script)
    assert done.returncode == 0, done.stderr
    for line in ORDERS:
        assert line in done.stdout, (done.stdout, done.stderr)


LATE = '''
#include "perfume.h"
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static struct perfume_probe *probe;
static uint32_t a;
__attribute__((destructor(101))) static void late(void)
{
	perfume_write(probe, &a, sizeof(a));
}
int main(void)
{
	struct perfume_ctx *ctx = perfume_init(0);
	int status = -1;

	probe = perfume_register(ctx, "late_event", "u32 a", NULL);
	perfume_write(probe, &a, sizeof(a));
	if (!fork())
		exit(0);
	wait(&status);
	return status ? 3 : 0;
}
'''


def test_child_writes_after_the_library_is_finished(root, tmp_path):
    """The child has not written before: it has only its parent's shared memory."""
    done = run('trace', '-e', 'user_events:late_event', '--', build(tmp_path, 'late', LATE))
    assert (done.returncode, done.stdout.count('a=0')) == (0, 1), (done.stdout, done.stderr)


FRUGAL = '''
#include "perfume.h"
#include <stdio.h>
extern void *__libc_malloc(size_t n);
static int allocations;
void *malloc(size_t n)
{
	allocations++;
	return __libc_malloc(n);
}
PERFUME_EVENT(frugal_event, (u64, id), (str, text))
PERFUME_HEADER_EVENT(Frugal, 4, 1, frugal_header, (u64, id))
int main(void)
{
	int before = allocations;

	perfume_frugal_event(1, "x");
	return printf("%d %d %d\\n", PERFUME_EVENT_ERROR(frugal_event), before, allocations) < 0;
}
'''


def test_declared_events_are_registered_without_allocation(root, tmp_path):
    program = build(tmp_path, 'frugal', FRUGAL)
    for ring in ('0', '1'):
        done = subprocess.run(program, env=dict(os.environ, PERFUME_RING=ring), capture_output=True,
                              text=True)
        assert done.stdout == '0 0 0\n'


@pytest.mark.parametrize('command', ['gcc', 'clang'])
@pytest.mark.parametrize('standard', ['c99', 'gnu11', 'gnu17'])
def test_sources_compile_without_warnings(tmp_path, command, standard):
    done = subprocess.run([compiler(command), f'-std={standard}', '-O2', '-Wall', '-Wextra',
                           '-Wconversion', '-Wshadow', '-Werror',
                           '-c', PERFUME / 'perfume.c', '-o', tmp_path / 'perfume.o'],
                          capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, '')


@pytest.mark.parametrize('test', ['event', 'header', 'name', 'plugin', 'probe'])
def test_library_is_clean_under_valgrind(test, tmp_path):
    """Without line numbers: valgrind 3.19 cannot read those of clang 14."""
    program = BUILD / f'perfume/tests/perfume_{test}'
    if not shutil.which('valgrind'):
        pytest.skip('valgrind is not installed')
    if b'__asan_init' in program.read_bytes():
        pytest.skip('built with the address sanitizer, which valgrind does not support')
    plain = tmp_path / program.name
    subprocess.run(['strip', '--strip-debug', '-o', plain, program], check=True)
    done = subprocess.run(['valgrind', '-q', '--error-exitcode=9', '--leak-check=full',
                           '--child-silent-after-fork=yes', plain],
                          env=dict(os.environ, PLUGIN=str(BUILD / 'perfume/tests/libplugin.so'),
                                   PERFUME_RING='1',
                                   LD_LIBRARY_PATH=str(BUILD / 'perfume')),
                          capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
