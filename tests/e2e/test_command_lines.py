# SPDX-License-Identifier: MIT
"""
The command lines of perf-prof's documentation run with "attar" instead of "perf-prof". Those that
watch the system for as long as one likes are ended by -d.
"""
import os
import re
import shlex

import pytest

from command import run

FOR_A_WHILE = '-d 200ms'
# The README of perf-prof, from top to bottom.
README = r'''
-h
list
profile -F 997 -g
profile -F 997 -g --flame-graph cpu.folded
profile -F 997 -C 0-3 --exclude-kernel --than 30
kmemleak --alloc "kmem:kmalloc//ptr=ptr/size=bytes_alloc/stack/" --free "kmem:kfree//ptr=ptr/" \
    --order -m 128 -g
task-state -i 1000
rundelay --than 4ms -i 1000
trace -e sched:sched_wakeup,sched:sched_switch -i 1000
trace -e "sched:sched_wakeup/prio<10/" -i 1000
trace -e sched:sched_wakeup help
trace -e sched:sched_wakeup,sched:sched_switch help
trace -e "sched:sched_wakeup/pid>1000/"
trace -e "sched:sched_wakeup/prio<10/"
trace -e 'sched:sched_wakeup/comm=="java"/'
trace -e 'sched:sched_wakeup/comm~"pyth*"/'
trace -e "sched:sched_wakeup/pid>1000 && prio<10/"
trace -h
task-state -h
kmemleak --alloc kmem:kmalloc --free kmem:kfree help
'''
# Its pages on single profilers, options and events.
PAGES = r'''
profile -F 997
profile -F 99 -g -i 1000 --flame-graph cpu.folded
profile -F 997 --exclude-user -g --no-kernel-callchain
profile -F 997 --exclude-kernel --user-callchain -C 0
profile -F 500 --usage-self 100 -m 64 --watermark 50
trace -e sched:sched_switch -i 1000
trace -e sched:sched_switch --watermark 50 -m 64
trace -e sched:sched_wakeup -g
trace -e 'sched:sched_switch//stack/' --flame-graph switch.folded
trace -e 'sched:sched_switch//max-stack=8/alias=off/'
trace -e 'sched:sched_switch//cpus=0/' --order
trace -e sched:sched_switch --overwrite
trace -e 'sched:sched_switch,profile/-F 500 -g/untraced/'
trace -e 'sched:sched_wakeup/pid<prio/'
trace -e 'sched:sched_wakeup/common_pid+1>10/'
trace -e 'timer:hrtimer_start/ksymbol(function)~"tick_*"/'
trace -e 'sched:sched_wakeup//exec=printf("%s\n",comm)/'
trace -e 'sched:sched_wakeup,sched:sched_process_exit//trigger/' -N 100
trace -e 'uprobe:malloc@"libc.so.6"' -p 1
top -e 'sched:sched_wakeup//comm=comm/' -i 1000
top -e 'sched:sched_wakeup//key=pid/comm=comm/' -i 1000
top -e 'raw_syscalls:sys_enter//key=id/printkey=syscall_name(key)/' -i 1000
top -e 'sched:sched_stat_runtime//top-by=runtime/' --only-comm -i 1000
top -e 'kmem:kmalloc//key=common_pid/top-by=bytes_alloc/top-add=bytes_req/'
top -e sched:sched_wakeup -k pid --order -m 64
multi-trace -e irq:softirq_entry -e irq:softirq_exit -i 1000
multi-trace -e 'irq:softirq_entry//key=vec/' -e 'irq:softirq_exit//key=vec/' --impl pair
multi-trace -e irq:softirq_entry -e irq:softirq_exit -k vec --perins
multi-trace -e sched:sched_wakeup,sched:sched_wakeup_new -e sched:sched_switch -k 'common_pid' \
    --cycle
multi-trace -e 'sched:sched_wakeup//key=pid/' -e 'sched:sched_switch//key=next_pid/' --than 3ms \
    --detail=samecpu
multi-trace -e 'sched:sched_wakeup//key=pid/' -e 'sched:sched_switch//key=next_pid/,profile/-F \
    500 -g/untraced/' --than 3ms --detail=-1ms,+1ms,samecpu
multi-trace -e 'sched:sched_wakeup//key=pid/' -e \
    'sched:sched_switch//key=prev_pid/role=prev_state?2:3/,sched:sched_switch//key=next_pid/' \
    --only-than 1ms --lower 2ms
multi-trace -e irq:softirq_entry -e irq:softirq_exit --heatmap softirq
syscalls -e raw_syscalls:sys_enter -e raw_syscalls:sys_exit -i 1000
syscalls -e raw_syscalls:sys_enter -e raw_syscalls:sys_exit -p 1 --perins --than 1ms
syscalls -e raw_syscalls:sys_enter -e raw_syscalls:sys_exit --heatmap syscalls
rundelay -e sched:sched_wakeup*,sched:sched_switch -e sched:sched_switch -i 1000
rundelay -e sched:sched_wakeup,sched:sched_wakeup_new,sched:sched_switch -e sched:sched_switch \
    --detail=samecpu --than 10ms
rundelay -e sched:sched_wakeup*//key=pid/,sched:sched_switch//key=prev_pid/role=prev_state==0/ \
    -e sched:sched_switch//key=next_pid/ --perins
task-state -S -D --than 10ms -g
task-state -p 1 -i 1000
task-state --filter 'java,python*' --perins
task-state -D -g --flame-graph state.folded
task-state --no-interruptible
'''
# Lines that cannot run everywhere, with the reason that attar gives.
REASONS = {
    'uprobe:malloc': r'uprobe|libc',
    '-C 0-3': r'CPU',
}


def lines(text):
    """Return the lines; a backslash at the end of one continues it."""
    return [line for line in text.replace('\\\n    ', '').splitlines() if line]


def ends_by_itself(words):
    return words[-1] in ('help', '-h', 'list')


def reason_of(line):
    return next((reason for part, reason in REASONS.items() if part in line), None)


@pytest.mark.parametrize('line', lines(README) + lines(PAGES))
def test_runs(root, tmp_path, line):
    words = shlex.split(line)
    if not ends_by_itself(words):
        words += FOR_A_WHILE.split()
    done = run(*words, cwd=tmp_path)
    if done.returncode and reason_of(line):
        assert re.search(reason_of(line), done.stderr)
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stderr
    assert done.stdout
    for word in words:
        if word.endswith('.folded'):
            assert os.path.exists(tmp_path / word)
