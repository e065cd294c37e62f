# SPDX-License-Identifier: MIT
"""attar profile on workloads with a known profile, stated in the first comment of
tests/workloads/*.c."""
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import bpf_program
from command import ENOUGH, Profile, profile, run, share_is, workload
from faults import sanitized


def test_split_70_30():
    found = profile('--exclude-kernel', command=[workload('split7030'), 5000])
    share_is(found.own('heavy'), found.samples, 0.7)
    share_is(found.own('light'), found.samples, 0.3)
    assert {f['dso'] for f in found.pick('heavy')} == {workload('split7030')}


def test_number_of_samples_is_time_times_frequency():
    found = profile('--exclude-kernel', command=['bash', '-c', f'time {workload("split7030")}'])
    user = re.search(r'user\s+(\d+)m([\d.]+)s', found.stderr)
    seconds = 60 * int(user[1]) + float(user[2])
    assert abs(found.own(comm='split7030') - 997 * seconds) < 0.05 * 997 * seconds


def test_chain_of_five():
    found = profile('--exclude-kernel', command=[workload('chain5')])
    chain = ('main', 'one', 'two', 'three', 'four', 'five')
    whole = sum(n for stack, n in found.stacks().items() if stack[-6:] == chain)
    share_is(whole, found.samples, 1, slack=0.01)
    share_is(found.own('five'), found.samples, 1, slack=0.01)
    for name in chain:
        assert found.total(name) > 99, name


@pytest.mark.parametrize('depth', [50, 1000])
def test_deep_recursion_counts_once(depth):
    found = profile('--exclude-kernel', command=[workload('recurse'), depth, 75])
    share_is(found.own('bottom'), found.samples, 1, slack=0.01)
    assert 98 < found.total('dive') <= 100
    deepest = max(found.stacks(), key=len)
    frames = sum(name == 'dive' for name in deepest)
    assert frames == depth if depth < 100 else frames > 100, frames


def test_two_threads_by_weight():
    found = profile('--exclude-kernel', command=[workload('threads2'), 4000])
    share_is(found.own('spin', comm='three'), found.samples, 0.75, slack=0.01)
    share_is(found.own('spin', comm='one'), found.samples, 0.25, slack=0.01)
    tasks = {stack[0].split()[0] for stack in found.stacks()}
    assert {'three', 'one'} <= tasks


@pytest.mark.parametrize('kind, comm, name', [
    ('fork', 'storm-fork', 'brief_fork'), ('exec', 'forkstorm', 'brief_exec')])
def test_2000_short_processes_have_names(kind, comm, name):
    """
    All have names after they exited; each lived for about 2 ms, so most were sampled. The share of
    main(), the C library and the loader depends on how long the machine takes for fork and exec.
    """
    found = profile('--exclude-kernel', command=[workload('forkstorm'), kind, 2000])
    library = re.compile(r'.*/(libc|ld-linux)[^/]*')
    starting = found.own(dso=library) + found.own('main')
    share_is(found.own(name, comm=comm), found.samples - starting, 1, slack=0.04)
    assert found.own(name, comm=comm) > 750
    # The C library and its loader are stripped unless libc6-dbg is installed.
    nameless = [row for row in found.pick('[unknown]')
                if not re.search(r'/(libc|ld-linux)[^/]*$', row['dso'])]
    assert sum(row['samples'] for row in nameless) < 0.001 * found.samples, nameless
    assert found.notes['lost'] == 0
    assert sanitized() or found.notes['self_rss'] < 40e6


def test_short_threads_are_sampled():
    found = profile('--exclude-kernel', command=[workload('threadstorm'), 1000])
    share_is(found.own('brief', comm='storm'), found.samples, 1, slack=0.02)


def test_mangled_names_are_demangled():
    found = profile('--exclude-kernel', command=[workload('mangled')])
    for name in (re.compile(r'shop::Cart<16>::total(\(int\) const)?'), 'core::ptr::drop_in_place',
                 'mycrate::example', '_ZNotMangledAtAll'):
        share_is(found.own(name), found.samples, 0.25)


def test_static_pie_has_names():
    found = profile('--exclude-kernel', command=[workload('staticpie')])
    share_is(found.own('heavy'), found.samples, 0.7)
    share_is(found.own('light'), found.samples, 0.3)


def test_jit_code_is_named_by_perf_map():
    found = profile('--exclude-kernel', command=[workload('jit')])
    share_is(found.own('jit_heavy'), found.samples, 0.7, slack=0.01)
    share_is(found.own('jit_light'), found.samples, 0.3, slack=0.01)


def test_library_loaded_later_has_names():
    found = profile('--exclude-kernel', command=[workload('dlopens'), workload('plugin.so')])
    share_is(found.own('plugin_hot', dso='plugin.so'), found.samples, 1, slack=0.01)


def test_libraries_that_are_unloaded_have_names():
    """Two libraries take turns at the same address."""
    found = profile('--exclude-kernel', command=[workload('dlcloses'), workload('plugin.so'),
                                                 workload('plugin_b.so')])
    assert int(found.stdout) > 50, 'the libraries were loaded to different addresses'
    share_is(found.own('plugin_hot', dso='plugin.so'), found.samples, 0.7, slack=0.01)
    share_is(found.own('plugin_hot', dso='plugin_b.so'), found.samples, 0.3, slack=0.01)


def test_a_child_that_executes_nothing_has_names():
    """It has the mappings of its parent, for which the kernel writes no records."""
    found = profile('--exclude-kernel', command=[workload('forked')])
    share_is(found.own('child_heavy'), found.samples, 0.7, slack=0.01)
    share_is(found.own('child_light'), found.samples, 0.3, slack=0.01)


@pytest.mark.parametrize('how', ['started', 'running', 'recorded'])
def test_code_in_huge_pages_has_names(how, spawn, tmp_path):
    """The program has replaced a part of its code by a copy in anonymous memory."""
    program, args = workload('hugetext'), ['--exclude-kernel']
    if how == 'running':
        process = spawn(program, 1000000, stdout=subprocess.PIPE)
        assert process.stdout.readline() == b'ready\n'
        found = profile(*args, '-p', process.pid, *ENOUGH)
    elif how == 'recorded':
        data = tmp_path / 'x.data'
        done = run('record', '-q', '-F', 997, *args, '-o', data, '--', program)
        assert done.returncode == 0, done.stderr
        found = profile('--input', data)
    else:
        found = profile(*args, command=[program])
    share_is(found.own('inside', dso='hugetext'), found.samples, 0.7, slack=0.01)
    share_is(found.own('outside', dso='hugetext'), found.samples, 0.3, slack=0.01)


def test_equal_names_in_two_files_stay_separate():
    command = ['sh', '-c', f'{workload("twin_a")} 4500 & {workload("twin_b")} 1500; wait']
    found = profile('--exclude-kernel', command=command)
    share_is(found.own('twin', dso='twin_a'), found.samples, 0.75, slack=0.01)
    share_is(found.own('twin', dso='twin_b'), found.samples, 0.25, slack=0.01)


CLOCK = Path('/sys/devices/system/clocksource/clocksource0/current_clocksource')


def test_vdso_has_names():
    found = profile('--exclude-kernel', command=[workload('vdso'), 50000])
    # the functions that read the clock of a virtual machine have no symbols
    names = r'.*clock_gettime.*' + (r'|\[vdso\]\+0x.*' if CLOCK.read_text() != 'tsc\n' else '')
    inside = found.own(re.compile(names), dso='[vdso]')
    assert inside > 0.8 * found.samples
    assert found.own(re.compile(r'.*clock_gettime.*'), dso='[vdso]') > 0.05 * found.samples


def test_kernel_functions_are_named():
    found = profile('--exclude-user', command=[workload('flood'), 3000000])
    assert found.notes['unresolved'] < 0.01
    names = {f['symbol'] for f in found.functions}
    assert any('getppid' in n for n in names), names


@pytest.mark.usefixtures('root')
@pytest.mark.parametrize('how', ['started', 'running'])
def test_bpf_programs_are_named(how, spawn):
    """One that is loaded during the run by its KSYMBOL record, one before by /proc/kallsyms."""
    program = bpf_program.load()
    if program < 0:
        pytest.skip(f'no BPF programs here: {os.strerror(-program)}')
    os.close(program)
    if Path('/proc/sys/net/core/bpf_jit_enable').read_text().strip() == '0':
        pytest.skip('BPF programs are interpreted here')
    command = [sys.executable, bpf_program.__file__]
    if how == 'running':
        process = spawn(*command, stdout=subprocess.PIPE)
        assert process.stdout.readline() == b'ready\n'
        found = profile('--exclude-user', '-p', process.pid, *ENOUGH)
    else:
        found = profile('--exclude-user', *ENOUGH, command=command)
    inside = found.own(re.compile('bpf_prog_[0-9a-f]+_attar_test'), dso=re.compile(r'\[bpf\]'))
    assert inside > 0.8 * found.samples


def test_intervals_add_up():
    """Each of the 1,500 samples that end the run is in exactly one interval."""
    done = run('profile', '-q', '-F', 997, '--exclude-kernel', '-i', 300, '-N', 1500,
               '--format', 'json', '--', workload('split7030'), 1000000)
    assert done.returncode == 0
    found = Profile(done.stdout)
    intervals = [Profile(json.dumps(report)) for report in found.reports]
    assert len(intervals) >= 5
    for one in intervals:
        assert one.samples == one.notes['seen']
    assert sum(one.samples for one in intervals) == 1500
    heavy = sum(one.own('heavy') for one in intervals)
    share_is(heavy, 1500, 0.7)


def test_each_prints_every_sample():
    done = run('profile', '-F', 997, '--exclude-kernel', '--print-samples', '--',
               workload('split7030'), 1000)
    assert done.returncode == 0
    assert 'heavy+0x' in done.stdout and 'light+0x' in done.stdout
    heavy, light = done.stdout.count('heavy+0x'), done.stdout.count('light+0x')
    share_is(heavy, heavy + light, 0.7)


def test_count_ends_the_run():
    found = profile('-N', 200, command=[workload('split7030')])
    assert found.samples == 200


def test_exit_status_is_that_of_the_command():
    assert run('profile', '-q', '--', 'sh', '-c', 'exit 7').returncode == 7
