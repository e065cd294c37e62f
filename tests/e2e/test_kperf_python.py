# SPDX-License-Identifier: MIT
"""The Python packages kperf and ksym, on the built library: counts, samples, errors, life cycle."""
import ctypes
import gc
import inspect
import mmap
import os
import re
import subprocess
import sys
import threading
from collections import Counter, defaultdict

import pytest

import kperf_readme
from command import (BUILD, ROOT, comm_of, compiler, cpu_seconds, has, run, wait_until,
                     workload)
from faults import sanitized

PAGE = mmap.PAGESIZE
FAULTS = 1000


@pytest.fixture(scope='module', name='kperf')
def fixture_kperf():
    """The package, in this process: the library is the built one, because it is loaded first."""
    if sanitized():
        pytest.skip('the library needs the sanitizers of its program')
    ctypes.CDLL(str(BUILD / 'kperf/libkperf.so'))
    sys.path.insert(0, str(BUILD / 'python'))
    import kperf
    yield kperf
    sys.path.remove(str(BUILD / 'python'))


@pytest.fixture(name='ksym')
def fixture_ksym(kperf):
    import ksym
    assert kperf
    yield ksym
    ksym.destroy()


def fault(n):
    area = mmap.mmap(-1, n * PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    area.madvise(mmap.MADV_NOHUGEPAGE)
    for at in range(0, n * PAGE, PAGE):
        area[at] = 1
    area.close()


def opened(kperf, kind, **attributes):
    pd = kperf.open(kind, kperf.PmuAttr(**attributes))
    assert pd > 0, kperf.error()
    return pd


def counting(kperf, **attributes):
    return opened(kperf, kperf.PmuTaskType.COUNTING, evtList=['page-faults'],
                  pidList=[os.getpid()], **attributes)


def own_count(data):
    """The count of the calling thread."""
    return sum(d.count for d in data.iter if d.tid == threading.get_native_id())


def data_of(kperf, kind, command, **attributes):
    """The data of a command from its exec to its end."""
    with subprocess.Popen([sys.executable, '-c', 'import os, sys; sys.stdin.read(1); '
                           'os.execv(sys.argv[1], sys.argv[1:])', *command],
                          stdin=subprocess.PIPE) as process:
        pd = opened(kperf, kind, pidList=[process.pid], enableOnExec=True, **attributes)
        process.stdin.write(b'x')
        process.stdin.close()
        process.wait()
    data = kperf.read(pd)
    kperf.close(pd)
    return data


def sampled(kperf, command, **attributes):
    return data_of(kperf, kperf.PmuTaskType.SAMPLING, command, **attributes)


# ---- counts ----

# The example of libkperf's README, with work of known faults in place of its sleep.
COUNT = '''
import mmap
import os
from collections import Counter, defaultdict

import kperf

def work(n):
    area = mmap.mmap(-1, n * mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    area.madvise(mmap.MADV_NOHUGEPAGE)
    for at in range(0, n * mmap.PAGESIZE, mmap.PAGESIZE):
        area[at] = 1

def Counting():
    pmu_attr = kperf.PmuAttr(evtList=["page-faults", "minor-faults"], pidList=[os.getpid()])
    pd = kperf.open(kperf.PmuTaskType.COUNTING, pmu_attr)
    if pd == -1:
        print(kperf.errorno())
        print(kperf.error())
    for turn in range(4):
        kperf.enable(pd)
        work(1000)
        kperf.disable(pd)
        evtMap = defaultdict(int)
        for data in kperf.read(pd):
            evtMap[data.evt] += data.count
        for evt, count in evtMap.items():
            if turn > 0:  # the interpreter has its memory
                print(f"event: {evt} count: {count}")
    kperf.close(pd)

Counting()
'''


@pytest.mark.usefixtures('kperf')
def test_the_example_counts_exactly():
    done = subprocess.run([sys.executable, '-c', COUNT], capture_output=True, text=True, check=True,
                          env={**os.environ, 'PYTHONPATH': str(BUILD / 'python')})
    assert done.stdout == 'event: page-faults count: 1000\nevent: minor-faults count: 1000\n' * 3


def test_the_readme_runs_unmodified(kperf):
    """Without a cycle counter it prints the reason, and continues without rows."""
    done = subprocess.run([sys.executable, '-c', kperf_readme.PYTHON], capture_output=True,
                          text=True, check=True,
                          env={**os.environ, 'PYTHONPATH': str(BUILD / 'python')})
    rows = re.findall(r'^event: (r11|cycles) count: \d+$', done.stdout, re.M)
    listed = set(re.findall(r'^event: (\S+)$', done.stdout, re.M))
    assert done.stderr == '' and 'page-faults' in listed
    assert listed == set(kperf.event_list(kperf.PmuEventType.CORE_EVENT))
    if 'cpu-cycles' in listed:
        assert rows == ['r11', 'cycles'] * 3
    else:
        assert rows == [] and re.match(r"1007\n.*'?cycles", done.stdout)


def test_each_read_has_the_faults_since_the_last(kperf):
    pd = counting(kperf)
    fault(10)
    assert kperf.enable(pd) == 0
    for _ in range(3):
        fault(FAULTS)
        data = kperf.read(pd)
        assert FAULTS <= own_count(data) < FAULTS + 100  # the interpreter's own ones
        assert len(data) == data.len >= 1
        assert data[0].comm == comm_of(os.getpid()) and data[0].cpuTopo.coreId == -1
    assert kperf.disable(pd) == 0
    kperf.read(pd)
    fault(FAULTS)
    assert own_count(kperf.read(pd)) == 0
    kperf.close(pd)
    assert kperf.errorno() == 0 and kperf.error() == ''


@pytest.mark.usefixtures('needs_perf')
def test_agrees_with_perf_stat(kperf):
    command = [workload('faults1000')]
    done = subprocess.run(['perf', 'stat', '-x,', '-e', 'page-faults', '--', *command],
                          capture_output=True, text=True, check=True)
    theirs = int(done.stderr.split(',')[0])
    assert theirs >= FAULTS
    ours = sum(d.count for d in data_of(kperf, kperf.PmuTaskType.COUNTING, command,
                                        evtList=['page-faults']))
    assert abs(ours - theirs) <= 20  # where the loader puts the libraries


def test_groups_and_attributes_of_events(kperf):
    pd = kperf.open(kperf.PmuTaskType.COUNTING, kperf.PmuAttr(
        evtList=['page-faults', 'minor-faults', 'context-switches'], pidList=[os.getpid()],
        evtAttr=[1, kperf.EvtAttr(groupId=1), -1]))
    assert pd > 0, kperf.error()
    kperf.enable(pd)
    fault(FAULTS)
    kperf.disable(pd)
    counts = {(d.groupId, d.evt): d.count for d in kperf.read(pd).iter
              if d.tid == threading.get_native_id()}
    assert counts[1, 'page-faults'] == counts[1, 'minor-faults'] >= FAULTS
    assert (-1, 'context-switches') in counts
    kperf.close(pd)


def test_names_of_events(kperf):
    events = list(kperf.event_list(kperf.PmuEventType.CORE_EVENT))
    assert 'page-faults' in events and 'cpu-clock' in events
    assert {'read', 'write', 'openat'} <= set(kperf.sys_call_func_list())
    assert 'read' in kperf.sys_call_func_list(kperf.PmuTraceType.TRACE_SYS_CALL)


def test_cpus(kperf):
    assert 0 in kperf.get_numa_core(0) and 0 in kperf.get_cluster_core(0)
    assert kperf.get_numa_core(99999) == [] and kperf.errorno() == 1009
    if kperf.get_cpu_freq(0) == -1:
        assert kperf.errorno() == 1062
        return
    assert kperf.open_cpu_freq_sampling(5) == 0
    details = kperf.read_cpu_freq_detail()
    kperf.close_cpu_freq_sampling()
    assert len(details) == details.len == os.sysconf('SC_NPROCESSORS_CONF')
    assert [detail.cpuId for detail in details.iter] == list(range(len(details)))
    assert isinstance(details, kperf.CpuFreqDetail)
    assert 1e8 < details[0].minFreq <= details[0].avgFreq <= details[0].maxFreq


# ---- samples ----

def test_samples_have_lines_and_inlined_functions(kperf):
    source = (ROOT / 'tests/workloads/inlines.c').read_text().splitlines()
    hot, cold = (1 + next(i for i, text in enumerate(source) if f'the {name} call' in text)
                 for name in ('hot', 'cold'))
    data = sampled(kperf, [workload('inlines'), '1000'], evtList=['cpu-clock'], sampleRate=1000,
                   useFreq=True, excludeKernel=True, callStack=True,
                   symbolMode=kperf.SymbolMode.RESOLVE_ELF_DWARF)
    lines = defaultdict(int)
    for d in data.iter:
        work = next((s for s in d.stack if s.symbolName == 'work'), None)
        if work:
            assert work.fileName.endswith('inlines.c')
            assert work.module == workload('inlines')
            lines[work.lineNum] += 1
            inlined = next(iter(d.stack))
            assert inlined.symbolName in ('turns', 'hot', 'cold', 'work')
    assert sum(lines.values()) > 0.9 * len(data) > 50
    share = lines[hot] / (lines[hot] + lines[cold])
    assert abs(share - 0.7) < 4.5 * (0.7 * 0.3 / len(data)) ** 0.5 + 0.01


def test_the_caller_of_a_function_that_does_not_return(kperf):
    """The call is the last instruction of stopping(); following() begins at the return address."""
    data = sampled(kperf, [workload('noreturn'), '1000'], evtList=['cpu-clock'], sampleRate=1000,
                   useFreq=True, excludeKernel=True, callStack=True,
                   symbolMode=kperf.SymbolMode.RESOLVE_ELF)
    stacks = [[s.symbolName for s in d.stack] for d in data.iter if d.stack]
    callers = Counter(stack[stack.index('finish') + 1] for stack in stacks
                      if 'finish' in stack[:-1])
    assert len(stacks) > 50 and 'following' not in callers
    assert callers['stopping'] > 0.9 * len(stacks)


def test_names_after_the_read(kperf):
    data = sampled(kperf, [workload('split7030')], evtList=['cpu-clock'], sampleRate=500,
                   useFreq=True, excludeKernel=True,
                   symbolMode=kperf.SymbolMode.RESOLVE_DELAY_ELF)
    assert data[0].stack is None
    assert kperf.resolvePmuDataSymbol(data) == 0
    names = {d.stack.symbol.symbolName for d in data}
    assert {'heavy', 'light'} <= names
    assert all(d.stack.next is None for d in data)


@pytest.mark.usefixtures('root')
def test_fields_of_tracepoints(kperf):
    pd = opened(kperf, kperf.PmuTaskType.SAMPLING, evtList=['sched:sched_process_exec'],
                pidList=[os.getpid()])
    kperf.enable(pd)
    subprocess.run(['/bin/true'], check=True)
    kperf.disable(pd)
    data = kperf.read(pd)
    kperf.close(pd)
    found = []
    for d in data.iter:
        name, pid = ctypes.create_string_buffer(128), ctypes.c_uint(0)
        assert kperf.get_field(d, 'filename', name) == 0
        assert kperf.get_field(d, 'pid', ctypes.pointer(pid)) == 0
        found.append((name.value.decode(), pid.value == d.pid))
        field = kperf.get_field_exp(d, 'pid')
        assert (field.field_name, field.fieldName, field.size) == ('pid', 'pid', 4)
        assert field.field_str == field.fieldStr and field.field_str.endswith(' pid')
        assert field.is_signed == field.isSigned == 1
        assert kperf.get_field(d, 'filename', ctypes.c_uint8()) == 1033
        assert kperf.get_field(d, 'no_such_field', pid) == 1034
        assert kperf.get_field_exp(d, 'no_such_field') is None
    assert ('/bin/true', True) in found
    with pytest.raises(TypeError, match='ctypes'):
        kperf.get_field(data[0], 'pid', bytearray(4))


@pytest.mark.usefixtures('root')
def test_system_calls(kperf):
    pd = kperf.trace_open(kperf.PmuTraceType.TRACE_SYS_CALL,
                          kperf.PmuTraceAttr(funcs=['getppid'], pidList=[os.getpid()]))
    assert pd > 0, kperf.error()
    kperf.trace_enable(pd)
    for _ in range(300):
        os.getppid()
    kperf.trace_disable(pd)
    data = kperf.trace_read(pd)
    kperf.trace_close(pd)
    own = [d for d in data.iter if d.tid == threading.get_native_id()]
    assert len(own) == 300 and {d.funcs for d in own} == {'getppid'}
    assert all(0 < d.elapsedTime < 1000 and d.pid == os.getpid() for d in own)
    assert [d.startTs for d in own] == sorted(d.startTs for d in own)


@pytest.mark.usefixtures('root')
def test_functions_of_programs(kperf):
    libc = next(line.split()[-1] for line in open('/proc/self/maps') if 'libc.so' in line)
    pd = kperf.u_trace_open(kperf.UTraceAttr(
        symSrc=[(libc, 'getppid')], pidList=[0]))  # this process
    assert pd > 0, kperf.error()
    kperf.u_trace_enable(pd)
    for _ in range(50):
        os.getppid()
    kperf.u_trace_disable(pd)
    data = kperf.u_trace_read(pd)
    kperf.u_trace_close(pd)
    assert isinstance(data, kperf.UTraceDataList) and data.len == 100
    assert all(isinstance(d, kperf.UTraceData) for d in data.iter)
    assert sum(d.isRet for d in data) == 50 and len(data) == 100
    assert {(d.func, d.module) for d in data} == {('getppid', libc)}


# grow() needs more stack than a goroutine begins with: its stack moves between call and return.
GO = '''
package main

import "fmt"

//go:noinline
func grow(n int) int {
	var a [256]int
	if n == 0 {
		return a[0]
	}
	a[n%256] = n
	return grow(n-1) + a[n%256]
}

func main() {
	var line string
	fmt.Println("ready")
	fmt.Scanln(&line)
	done := make(chan int)
	go func() { done <- grow(1000) }()
	fmt.Println(<-done)
}
'''
# Three goroutines at the same time, each calls a method ten times and prints its runtime.g.
GOROUTINES = {'main.go': '''
package main

import "fmt"

type shop struct{ n int }

//go:noinline
func (s *shop) Order(n int) int {
	s.n += n
	return s.n
}

func getg() uintptr

func order(done chan uintptr, end chan bool) {
	s := new(shop)
	for i := 0; i < 10; i++ {
		s.Order(i)
	}
	done <- getg()
	<-end
}

func main() {
	var line string
	fmt.Println("ready")
	fmt.Scanln(&line)
	done, end := make(chan uintptr), make(chan bool)
	for i := 0; i < 3; i++ {
		go order(done, end)
	}
	for i := 0; i < 3; i++ {
		fmt.Println(<-done)
	}
	close(end)
}
''', 'g_amd64.s': '''
#include "textflag.h"
TEXT ·getg(SB), NOSPLIT, $0-8
	MOVQ (TLS), AX
	MOVQ AX, ret+0(FP)
	RET
''', 'g_arm64.s': '''
#include "textflag.h"
TEXT ·getg(SB), NOSPLIT, $0-8
	MOVD g, R0
	MOVD R0, ret+0(FP)
	RET
'''}
CPP = '''
#include <cstdio>
namespace shop { __attribute__((noinline)) int order(int n) { return std::printf("%d\\n", n); } }
int main() { std::puts("ready"); std::fflush(stdout); std::getchar();
             for (int i = 0; i < 20; i++) shop::order(i); }
'''


def built_by_go(folder, sources):
    if not has('go') or not has('objdump'):
        pytest.skip('go (package golang-go) or objdump (package binutils) is not installed')
    for name, text in sources.items():
        (folder / name).write_text(text)
    subprocess.run(['go', 'build', '-o', 'program', '.'], cwd=folder, check=True,
                   env={**os.environ, 'CGO_ENABLED': '0', 'GO111MODULE': 'off', 'GOFLAGS': '',
                        'GOCACHE': str(folder / 'cache')})
    return folder / 'program'


def traced(kperf, program, function, **attributes):
    """The calls and returns of a function in a program, and what it prints."""
    with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as process:
        assert process.stdout.readline() == 'ready\n'
        pd = kperf.u_trace_open(kperf.UTraceAttr(
            symSrc=[kperf.SymbolSource(str(program), function)], pidList=[process.pid],
            **attributes))
        assert pd > 0, kperf.error()
        assert kperf.get_warn() == 0, kperf.get_warn_msg()
        kperf.u_trace_enable(pd)
        out, _ = process.communicate('\n', timeout=60)
        assert process.returncode == 0
    data = list(kperf.u_trace_read(pd))
    kperf.u_trace_close(pd)
    return data, out


@pytest.mark.usefixtures('root')
def test_functions_of_go_programs(kperf, tmp_path):
    """Their returns too, without damage to the stack that moves meanwhile."""
    data, out = traced(kperf, built_by_go(tmp_path, {'grow.go': GO}), 'main.grow')
    assert out == f'{sum(range(1001))}\n'
    assert [d.isRet for d in data].count(1) == 1001
    # a function begins again after its stack has moved
    assert [d.isRet for d in data].count(0) >= 1001
    assert data[0].isRet == 0 and data[-1].isRet == 1
    assert {d.func for d in data} == {'main.grow'} and {d.gPtr for d in data} == {0}


@pytest.mark.usefixtures('root')
def test_methods_and_goroutines_of_go_programs(kperf, tmp_path):
    """Each call has the goroutine that made it, as the goroutines themselves know it."""
    program = built_by_go(tmp_path, GOROUTINES)
    data, out = traced(kperf, program, 'main.(*shop).Order', fetchG=True)
    goroutines = [int(word) for word in out.split()]
    assert len(set(goroutines)) == 3 and min(goroutines) > 0
    found = [(d.gPtr, d.isRet) for d in data]
    assert {g for g, _ in found} == set(goroutines)
    for g in goroutines:
        assert found.count((g, 1)) == 10 and found.count((g, 0)) >= 10
    assert {d.func for d in data} == {'main.(*shop).Order'}


@pytest.mark.usefixtures('root')
def test_functions_of_cpp_programs(kperf, tmp_path):
    compile_with, *more = compiler()
    compile_with = compile_with.replace('gcc', 'g++').replace('clang', 'clang++')
    if not has(compile_with):
        pytest.skip(f'{compile_with} is not installed')
    (tmp_path / 'shop.cc').write_text(CPP)
    subprocess.run([compile_with, *more, '-o', tmp_path / 'shop', tmp_path / 'shop.cc'], check=True)
    data, out = traced(kperf, tmp_path / 'shop', '_ZN4shop5orderEi')
    assert out.split() == [str(i) for i in range(20)]
    assert [d.isRet for d in data] == [0, 1] * 20


def test_recordings(kperf, tmp_path):
    attributes = {'evtList': ['cpu-clock'], 'sampleRate': 1000, 'useFreq': True, 'callStack': True,
                  'excludeKernel': True}
    path = str(tmp_path / 'x.data')
    with subprocess.Popen([workload('split7030'), '1000000']) as process:
        pd = opened(kperf, kperf.PmuTaskType.SAMPLING, pidList=[process.pid], **attributes)
        kperf.enable(pd)
        wait_until(lambda: cpu_seconds(process.pid) > 0.2, 'it uses the CPU')
        data = kperf.read(pd)
        write(kperf, path, data, attributes)
        process.kill()
    kperf.close(pd)
    report = run('profile', '--input', path, '-o', tmp_path / 'x.csv')
    assert report.returncode == 0 and 'heavy' in (tmp_path / 'x.csv').read_text(), report.stderr
    assert kperf.dump(data, str(tmp_path / 'x.txt'), 1) == 0
    assert len(re.findall(r'^split7030 \d+', (tmp_path / 'x.txt').read_text(), re.M)) == len(data)
    assert kperf.dump(data, '/no/such/folder/x', 0) == -1 and kperf.errorno() == 1031


def write(kperf, path, data, attributes):
    file = kperf.begin_write(path, kperf.PmuAttr(**attributes))
    assert file, kperf.error()
    assert kperf.write_data(file, data) == 0
    kperf.end_write(file)
    assert kperf.write_data(file, data) == 1071
    kperf.end_write(file)
    assert kperf.errorno() == 1071
    assert kperf.begin_write('/no/such/folder/x', kperf.PmuAttr(**attributes)) is None


# ---- symbols ----

def test_symbols_of_a_process(ksym):
    libc = ctypes.CDLL(None)
    address = ctypes.cast(libc.getppid, ctypes.c_void_p).value
    assert ksym.get_symbol(os.getpid(), address) is None
    assert ksym.record_module(os.getpid(), dwarf=False) == 0
    symbol = ksym.get_symbol(os.getpid(), address + 1)
    stack = list(ksym.get_stack(os.getpid(), [address + 1, address + 2]))
    ksym.free_module(os.getpid())
    ksym.destroy()
    gc.collect()
    # Both stay valid.
    assert symbol.symbolName.endswith('getppid') and symbol.offset == 1
    assert 'libc' in symbol.module and symbol.addr == address + 1
    assert len(stack) == 2 and stack[0].next.symbol.offset == 2 and stack[1].next is None
    assert stack[0].symbol.module == stack[1].prev.symbol.module == symbol.module
    assert ksym.record_module(-1) == 107 and ksym.record_module(0) == 0
    assert not list(ksym.get_stack(os.getpid(), []))


def test_lines_of_a_file(ksym, tmp_path):
    """ksym resolves addresses of another process to lines that are known."""
    source = tmp_path / 'known.c'
    source.write_text('#include <stdio.h>\n\nvoid known(void)\n{\n}\n\nint main(void)\n{\n'
                      'printf("%p\\n", (void *)known);\nfflush(stdout);\ngetchar();\n}\n')
    subprocess.run([*compiler(), '-g', '-o', tmp_path / 'known', source], check=True)
    with subprocess.Popen([tmp_path / 'known'], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as process:
        address = int(process.stdout.readline(), 16)
        assert ksym.record_module(process.pid) == 0
        symbol = ksym.get_symbol(process.pid, address)
        process.stdin.close()
    assert (symbol.symbolName, symbol.lineNum) == ('known', 4)
    assert symbol.fileName == str(source)


# ---- life cycle ----

def test_data_outlives_its_task_and_its_array(kperf):
    pd = counting(kperf)
    kperf.enable(pd)
    fault(FAULTS)
    data = kperf.read(pd)
    kperf.close(pd)
    assert own_count(data) >= FAULTS
    row = data[0]
    assert len(list(data.iter())) == len(list(data.iter)) == len(data)
    data.free()
    data.free()
    assert len(data) == 0 and list(data.iter) == []
    with pytest.raises(IndexError):
        data[0]
    del data
    gc.collect()
    assert row.evt == 'page-faults' and row.tid > 0
    row.period += 5  # elements can be changed
    assert row.period == 5


def test_closed_tasks_are_errors(kperf):
    pd = counting(kperf)
    kperf.close(pd)
    assert kperf.errorno() == 0
    for call in (kperf.enable, kperf.disable):
        assert call(pd) == 1006
    for call in (kperf.close, kperf.stop, kperf.exit, kperf.trace_close, kperf.u_trace_close):
        call(pd)
        assert kperf.errorno() == 1006
    for call in (kperf.read, kperf.trace_read, kperf.u_trace_read):
        data = call(pd)
        assert data == -1 and len(data) == 0 and list(data.iter) == []
        assert kperf.errorno() == 1006 and f'no open task {pd}' in kperf.error()


def test_freeing_keeps_the_error(kperf):
    pd = counting(kperf)
    kperf.enable(pd)
    data = kperf.read(pd)
    kperf.enable(-1)
    del data
    gc.collect()
    assert kperf.errorno() == 1006
    kperf.close(pd)


@pytest.mark.parametrize('attributes, error, words', [
    ({'evtList': 'cycles'}, TypeError, 'evtList: a list'),
    ({'evtList': [None]}, None, 1007),
    ({'evtList': [5]}, TypeError, 'evtList: a str'),
    ({'evtList': ['a\0b']}, ValueError, 'NUL'),
    ({'evtList': []}, None, 1005),
    ({'evtList': ['no-such-event']}, None, 1007),
    ({'pidList': ['1']}, TypeError, 'pidList: an integer'),
    ({'pidList': [1 << 40]}, ValueError, 'pidList: 1099511627776 is out of range'),
    ({'pidList': [-3]}, None, 1004),
    ({'cpuList': [100000]}, None, 1003),
    ({'cpuList': 3}, TypeError, 'cpuList: a list'),
    ({'evtAttr': ['x']}, TypeError, 'evtAttr: an integer'),
    ({'evtAttr': [1, 2, 3]}, None, 1073),
    ({'sampleRate': -1}, ValueError, 'sampleRate'),
    ({'sampleRate': 1.5}, TypeError, 'sampleRate'),
    ({'symbolMode': 'x'}, TypeError, 'symbolMode'),
    ({'branchSampleFilter': 1}, None, 1043),
    ({'cgroupNameList': ['no-such-cgroup']}, None, 1069),
    ({'enableHwMetric': True}, None, 1083),
])
def test_bad_attributes(kperf, attributes, error, words):
    attr = kperf.PmuAttr(**{'evtList': ['page-faults'], **attributes})
    if error:
        with pytest.raises(error, match=words):
            kperf.open(kperf.PmuTaskType.COUNTING, attr)
        return
    assert kperf.open(kperf.PmuTaskType.COUNTING, attr) == -1
    assert kperf.errorno() == words and len(kperf.error()) > 10


def test_bad_arguments(kperf):
    attr = kperf.PmuAttr(evtList=['page-faults'])
    assert kperf.open(99, attr) == -1 and kperf.errorno() == 1019
    assert kperf.open(kperf.PmuTaskType.COUNTING, None) == -1 and kperf.errorno() == 1081
    assert kperf.trace_open(7, kperf.PmuTraceAttr()) == -1 and kperf.errorno() == 1038
    assert kperf.trace_open(0, kperf.PmuTraceAttr(funcs=['nosuch'])) == -1
    assert kperf.errorno() == 1039
    assert kperf.u_trace_open(kperf.UTraceAttr()) == -1 and kperf.errorno() == 1081
    assert kperf.device_open([]) == -1 and kperf.errorno() == 1060
    assert list(kperf.device_bdf_list(5)) == [] and kperf.errorno() == 1064
    assert list(kperf.event_list(9)) == [] and kperf.errorno() == 1029
    assert kperf.pmu_open_with_hw_metric(kperf.PmuHwMetricAttr()) == -1
    assert kperf.errorno() == 1084
    for call, wrong in ((kperf.open, ['COUNTING', attr]), (kperf.open, [0, {}]),
                        (kperf.dump, [attr, 'x', 0]), (kperf.get_field, [attr, 'x', None]),
                        (kperf.write_data, [None, None]), (kperf.enable, ['1'])):
        with pytest.raises((TypeError, ctypes.ArgumentError)):
            call(*wrong)
    with pytest.raises(TypeError, match='pd: an integer is needed, not str'):
        kperf.enable('x')
    with pytest.raises(TypeError):
        kperf.PmuAttr(noSuchAttribute=1)


def test_errors_belong_to_a_thread(kperf):
    kperf.enable(-1)
    found = []
    thread = threading.Thread(target=lambda: found.append((kperf.errorno(), kperf.error())))
    thread.start()
    thread.join()
    assert found == [(0, '')] and kperf.errorno() == 1006


def test_a_thousand_tasks_leave_nothing(kperf):
    def cycle():
        pd = counting(kperf)
        kperf.enable(pd)
        list(kperf.read(pd).iter)
        kperf.close(pd)

    cycle()
    gc.collect()
    files, objects = len(os.listdir('/proc/self/fd')), len(gc.get_objects())
    for _ in range(1000):
        cycle()
    gc.collect()
    assert len(os.listdir('/proc/self/fd')) == files
    assert len(gc.get_objects()) < objects + 50


# ---- the library ----

def test_structs_are_those_of_the_headers(kperf, tmp_path):
    """The size and the last member of each struct, as a C compiler has them."""
    from kperf import attributes, data
    import ksym
    pairs = {'PmuAttr': attributes._CPmuAttr, 'EvtAttr': attributes._CEvtAttr,
             'PmuTraceAttr': attributes._CPmuTraceAttr, 'UTraceAttr': attributes._CUTraceAttr,
             'SymbolSource': attributes._CSymbolSource, 'PmuDeviceAttr': attributes._CPmuDeviceAttr,
             'PmuHwMetricAttr': attributes._CPmuHwMetricAttr, 'PmuData': data.ImplPmuData,
             'PmuTraceData': data.ImplPmuTraceData, 'UTraceData': data.UTraceData,
             'PmuDeviceData': data.ImplPmuDeviceData, 'PmuCpuFreqDetail': data.PmuCpuFreqDetail,
             'CpuTopology': data.CpuTopology, 'SampleRawField': data.SampleRawField,
             'PmuDataExt': data.PmuDataExt, 'BranchSampleRecord': data.ImplBranchRecord,
             'Symbol': ksym.Symbol, 'Stack': ksym.Stack}
    source = tmp_path / 'sizes.c'
    source.write_text('#include <stdio.h>\n#include "pmu.h"\n#include "symbol.h"\nint main(void)\n{'
                      + ''.join(f'printf("{name} %zu\\n", sizeof(struct {name}));'
                                for name in pairs) + '}')
    subprocess.run([*compiler(), '-o', tmp_path / 'sizes', source, f'-I{ROOT}/kperf'], check=True)
    out = subprocess.run([tmp_path / 'sizes'], capture_output=True, text=True, check=True).stdout
    assert out.split() == [word for name, kind in pairs.items()
                           for word in (name, str(ctypes.sizeof(kind)))]
    assert kperf.PmuData


def test_constants_are_those_of_the_headers(kperf):
    text = re.sub(r'/\*.*?\*/', '', (ROOT / 'kperf/pmu.h').read_text(), flags=re.S)
    names = {'SPE_EVENTS': 'SpeEvent', 'HIP_DATA_SOURCE': 'HitDataSource'}
    for name, body in re.findall(r'enum (\w+) \{(.*?)\}', text, re.S):
        ours = getattr(kperf, names.get(name, name))
        value, known = -1, {}
        for member, number in re.findall(r'(\w+)(?:\s*=\s*([^,]+))?', body):
            if member.isdigit() or (number == '' and member in known):
                continue
            number = re.sub(r'\b(0x[0-9a-f]+|\d+)UL?\b', r'\1', number)
            value = eval(f'({number})', dict(known)) if number else value + 1
            known[member] = value
        assert {m.name: m.value for m in ours.__members__.values()} == known, name


def test_codes_are_those_of_the_header(kperf):
    text = (ROOT / 'kperf/pcerrc.h').read_text()
    codes = dict(re.findall(r'#define (\w+)\s+(\d+|LIBSYM_ERR_BASE)\b', text))
    codes = {name: int(codes.get(value, value)) for name, value in codes.items()}
    assert len(codes) > 130
    assert {name: value for name, value in vars(kperf.Error).items()
            if not name.startswith('_')} == codes


# The public names of libkperf's packages: arguments with their defaults, and attributes.
CONSTANTS = """PmuTaskType PmuEventType PmuTraceType SpeFilter SpeEventFilter SpeEvent HitDataSource
    SymbolMode PmuDeviceMetric PmuBdfType PmuMetricMode BranchSampleFilter PmuHwMetric Error"""
ATTRIBUTES = {
    'PmuAttr': """evtList pidList cpuList evtAttr sampleRate=0 useFreq=False excludeUser=False
        excludeKernel=False symbolMode=0 callStack=False blockedSample=False dataFilter=0
        evFilter=0 minLatency=0 includeNewFork=False branchSampleFilter=0 cgroupNameList
        enableUserAccess=False enableBpf=False enableOnExec=False perThread=False""",
    'EvtAttr': 'groupId=0 period=0 excludeUser=False excludeKernel=False',
    'PmuTraceAttr': 'funcs pidList cpuList callStack=False symbolMode=0',
    'UTraceAttr': 'symSrc pidList fetchG=False',
    'PmuDeviceAttr': 'metric=0 bdf=None port=None',
    'PmuHwMetricAttr': 'metric=0 basePeriodList=None thresholdList=None pid=0',
}
LENGTHS = {'PmuAttr': 'numEvt numPid numCpu numEvtAttr numCgroup',
           'PmuTraceAttr': 'numFuncs numPid numCpu', 'UTraceAttr': 'numSym numPid'}
DATA = {
    'CpuTopology': 'coreId numaId socketId', 'SampleRawField': 'field_name field_str size offset '
    'is_signed', 'PmuDataExt': 'pa va event lat source branchRecords',
    'ImplPmuData': 'stack evt ts pid tid cpu groupId cpuTopo comm period count countPercent ext '
    'rawData cgroupName', 'PmuData': 'len iter free pointer __len__ __iter__',
    'ImplPmuTraceData': 'funcs startTs elapsedTime pid tid cpu comm stack',
    'PmuTraceData': 'len iter free', 'PmuDeviceData': 'len iter free __len__ __getitem__',
    'ImplPmuDeviceData': 'metric count mode coreId numaId clusterId bdf port channelId ddrNumaId '
    'socketId', 'CpuFreqDetail': 'len iter', 'UTraceDataList': 'len iter free',
    'UTraceData': 'addr comm tid cpu timestamp gPtr module func isRet',
}
FUNCTIONS = """open(collect_type, pmu_attr) event_list(event_type) enable(pd) disable(pd) read(pd)
    resolvePmuDataSymbol(pmuData) stop(pd) close(pd) exit(pd) dump(pmuData, filepath, dump_dwf)
    get_field(pmu_data, field_name, value) get_field_exp(pmu_data, field_name)
    device_bdf_list(bdf_type) device_open(device_attr) get_device_metric(pmu_data, device_attr)
    get_cpu_freq(core) get_cluster_core(clusterId) get_numa_core(numaId)
    trace_open(trace_type, pmu_trace_attr) trace_enable(pd) trace_disable(pd) trace_read(pd)
    trace_close(pd) sys_call_func_list() open_cpu_freq_sampling(period) close_cpu_freq_sampling()
    read_cpu_freq_detail() begin_write(path, pattr, addIdHdr) write_data(file, data)
    end_write(file) pmu_open_with_hw_metric(pmu_hw_metric_attr) u_trace_open(trace_attr)
    u_trace_enable(pd) u_trace_disable(pd) u_trace_read(pd) u_trace_close(pd) errorno() error()
    get_warn() get_warn_msg()"""
POINTERS = {'NetNetifRx': 'net:netif_rx', 'NetApiGroReceiveEntry': 'net:napi_gro_receive_entry',
            'SkebSkbCopyDatagramIovec': 'skb:skb_copy_datagram_iovec'}
# Missing: the ctypes structs (c_pmu_attr, from_c_pmu_data, ...), arguments and setters of data,
# which only the library makes, and SampleRawData.data, which ends at the first zero byte.
# Different: enumerations are IntEnum and IntFlag.


def test_names_of_libkperf(kperf):
    classes = {*CONSTANTS.split(), *ATTRIBUTES, *DATA, 'PointerEvt'}
    functions = dict(re.findall(r'(\w+)\((.*?)\)', FUNCTIONS))
    assert classes | set(functions) <= set(kperf.__all__)
    for name, arguments in functions.items():
        call = getattr(kperf, name)
        if arguments or not isinstance(call, ctypes._CFuncPtr):
            needed = [word for word in arguments.split(', ') if word]
            found = inspect.signature(call).parameters
            assert list(found)[:len(needed)] == needed, name
            assert all(other.default is not other.empty
                       for other in list(found.values())[len(needed):]), name


def test_attributes_of_libkperf(kperf):
    for name, arguments in ATTRIBUTES.items():
        words = dict(word.partition('=')[::2] for word in arguments.split())
        made = getattr(kperf, name)()
        for word, default in words.items():
            assert repr(getattr(made, word)) == (default or '[]'), (name, word)
            setattr(made, word, getattr(made, word))
        order = list(inspect.signature(getattr(kperf, name)).parameters)
        assert [word for word in order if word in words] == list(words), name
        for length in LENGTHS.get(name, '').split():
            assert getattr(made, length) == 0, (name, length)
    assert kperf.PmuAttr(evtList=['a', 'b'], evtAttr=[1]).numEvt == 2
    assert kperf.UTraceAttr([('module', 'function')]).symSrc == [('module', 'function')]
    for name, words in DATA.items():
        assert [word for word in words.split() if not hasattr(getattr(kperf, name), word)] == []
    for name, event in POINTERS.items():
        fields = getattr(kperf.PointerEvt, name)
        assert fields.event_name == event and fields.common_pid == 'common_pid'
        assert fields.skbaddr == 'skbaddr' and fields.len == 'len'


def test_identifiers_of_metrics(kperf):
    """An element has the identifier of its mode; others are 0 or empty."""
    modes = kperf.PmuMetricMode
    found = kperf.ImplPmuDeviceData(_mode=modes.PMU_METRIC_NUMA)
    found._id.number = 3
    assert (found.numaId, found.coreId, found.clusterId, found.channelId) == (3, 0, 0, 0)
    assert (found.bdf, found.port) == ('', '') and found.mode == modes.PMU_METRIC_NUMA
    found = kperf.ImplPmuDeviceData(_mode=modes.PMU_METRIC_CHANNEL)
    found._id.ddr.channelId, found._id.ddr.ddrNumaId, found._id.ddr.socketId = 1, 2, 4
    assert (found.channelId, found.ddrNumaId, found.socketId, found.coreId) == (1, 2, 4, 0)


def test_without_the_library(tmp_path):
    (tmp_path / 'ksym').symlink_to(ROOT / 'python/ksym')
    done = subprocess.run([sys.executable, '-B', '-c', 'import ksym'], capture_output=True,
                          text=True, check=False,
                          env={'PATH': os.environ['PATH'], 'PYTHONPATH': str(tmp_path)})
    if done.returncode == 0:
        pytest.skip('libkperf is installed on this machine')
    assert done.stderr.splitlines()[-1].startswith('ImportError: libkperf.so: cannot open')
    assert 'LD_LIBRARY_PATH' in done.stderr
