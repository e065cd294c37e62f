# SPDX-License-Identifier: MIT
"""attar's answers to wrong arguments, and its help."""
import json
import os
import re
import shlex
from pathlib import Path

import pytest

from command import ATTAR, ROOT, has, run, workload

pytestmark = pytest.mark.quick

USAGE, FAILED = 2, 1

ELSEWHERE = re.findall(r'\{"([\w-]+)", "(attar [^"]+)"\}',
                       (ROOT / 'src/cli/commands.c').read_text())


def test_names_of_other_tools_suggest_commands_that_exist():
    """Each name is none of attar's, and what is suggested is one."""
    text = run('list', 'profilers').stdout + run('-h').stdout
    names = set(re.findall(r'(?m)^  ([\w:-]+)  ', text))
    assert len(ELSEWHERE) > 40 and {'top', 'stack', 'record'} <= names
    for name, ours in ELSEWHERE:
        assert name not in names and ours.split()[1] in names, (name, ours)
    for name in ('dns', 'iostat', 'lsof', 'netstat', 'ps', 'strace', 'top10', 'vmstat'):
        ended = run(name)
        assert ended.returncode == USAGE
        assert ended.stderr == (f"attar: unknown profiler or command '{name}': use "
                                f"'{dict(ELSEWHERE)[name]}'\n")


# arguments: status, and the message on stderr (a pattern for all of it)
MISTAKES = [
    (['profle'], USAGE, r"attar: unknown profiler or command 'profle': did you mean 'profile'\?"),
    (['lst'], USAGE, r"attar: unknown profiler or command 'lst': did you mean 'list'\?"),
    (['help', 'docter'], USAGE,
     r"attar: unknown profiler or command 'docter': did you mean 'doctor'\?"),
    (['report', '-i', 'x.data'], USAGE,
     "attar: unknown profiler or command 'report': use 'attar profile --input FILE'"),
    (['zzzzzz'], USAGE, r"attar: unknown profiler or command 'zzzzzz': 'attar -h' lists them"),
    (['profile', '--flam-graph', 'x'], USAGE,
     r"attar: no such option --flam-graph: did you mean --flame-graph\?"),
    (['wall', '--call-graph'], USAGE,
     r'attar: --call-graph needs a value: --call-graph METHOD'),
    (['top', '--call-graph', 'dwarf'], USAGE,
     r"attar: no such option --call-graph: 'attar top -h all' lists them"),
    (['profile', '--zzzzzzzz'], USAGE,
     r"attar: no such option --zzzzzzzz: 'attar profile -h all' lists them"),
    (['profile', '-Z'], USAGE, r"attar: no such option -Z: 'attar profile -h all' lists them"),
    (['trace', '--python-callchain'], USAGE,
     r'attar: no such option --python-callchain; functions of Python 3\.12 and later are in the '
     r'user stacks \(-g\) of a program that runs with python3 -X perf'),
    (['stat', '--no-perins'], USAGE,
     r'attar: no such option --no-perins; leave it out: --perins is off by default'),
    (['oncpu', '-p', '-i', '1000'], USAGE,
     r"attar: -p needs a value, but '-i' follows: -p LIST \(pidof\(1\) found no process\?\)"),
    (['oncpu', '-t', '--perins'], USAGE,
     r"attar: -t needs a value, but '--perins' follows: -t LIST .*"),
    (['oncpu', '--cpus', '-i', '1000'], USAGE,
     r"attar: --cpus needs a value, but '-i' follows: --cpus LIST"),
    (['multi-trace', '-e', 'cpu-clock', '--impl', 'call'], USAGE,
     r'attar: --impl call is of calls within calls: use the profiler nested-trace with '
     r'--impl call'),
    (['multi-trace', '-e', 'cpu-clock', '--impl', 'kmemprof'], USAGE,
     r'attar: --impl kmemprof is another profiler: use kmemprof, with the events of allocations '
     r'and of frees in two -e options'),
    (['multi-trace', '--impl', 'all'], USAGE,
     r"attar: --impl: 'all' is not one of delay, pair, syscalls"),
    (['nested-trace', '-e', 'irq:softirq_entry,irq:softirq_exit', '--impl', 'pair'], USAGE,
     r"attar: --impl: 'pair' is not one of delay, call, call-delay; multi-trace has it"),
    (['rundelay', '-e', 'sched:sched_wakeup'], USAGE,
     r'attar: rundelay: events for the start and the end of delays are needed: give two -e '
     r'options, or none for the usual events of the scheduler'),
    (['trace', 'help'], USAGE,
     r"attar: 'help' shows the events of -e, which is missing; 'attar help trace' shows the "
     r"manual page"),
    (['trace', '-e', 'sched_wakeup'], USAGE,
     r"attar: --event: no event 'sched_wakeup': did you mean 'sched:sched_wakeup'\?"),
    (['trace', '-e', 'uprobes:malloc'], USAGE,
     r"attar: --event: no tracepoint 'uprobes:malloc': no tool has created this probe: attar "
     r"creates it for uprobe:malloc@FILE"),
    (['trace', '-e', 'kprobes:wakeup'], USAGE,
     r"attar: --event: no tracepoint 'kprobes:wakeup': no tool has created this probe: attar "
     r"creates it for kprobe:wakeup"),
    (['trace', '-e', 'libc:malloc'], USAGE,
     r"attar: --event: no tracepoint 'libc:malloc': this kernel has no system 'libc'; a group of "
     r"probes exists after a tool has created it, attar itself creates uprobe:NAME@FILE and "
     r"kprobe:NAME"),
    (['stat', '-e', 'sched:sched_wakeup/pid<prio/'], USAGE,
     r"attar: events are counted in the kernel, which cannot apply this filter: the kernel's "
     r"filters can only compare a field with a constant; 'attar top' counts by such a filter"),
    (['trace', '-e', 'kmem:kmalloc/call_site.function==no_such_function/'], USAGE,
     r"attar: the kernel rejected the filter 'call_site.function==no_such_function' of "
     r"'kmem:kmalloc': '.function' needs a function that /proc/kallsyms has \(Linux 6.2\), not "
     r"one of a program"),
    (['trace', '-e', 'kmem:kmalloc/call_site==__kmalloc_cache_noprof/'], USAGE,
     r"attar: filter: no such field or variable '__kmalloc_cache_noprof'; text is in double "
     r"quotes, and FIELD.function == NAME compares with a kernel function"),
    (['expr', '-e', 'sched:sched_wakeup', 'comm == java'], USAGE,
     r"attar: sched:sched_wakeup: expression: no such field or variable 'java'; text is in double "
     r"quotes"),
    (['expr', '-e', 'sched:sched_wakeup', "comm == 'java'"], USAGE,
     r'attar: sched:sched_wakeup: expression: a character is in single quotes, and text in double '
     r'quotes'),
    *((['expr', '-e', 'sched:sched_wakeup', f'printf("%{conversion}", pid)'], USAGE,
       r'attar: sched:sched_wakeup: expression: the format has more arguments than conversions: '
       r'the conversions are %d %i %u %x %X %o %c %s %p, without positions as in %1\$d')
      for conversion in ('q', '5$d', '%')),
    (['hrtimer', '-e', f'uprobe:main@"{workload("lines8020")}"', 'main > 0'], USAGE,
     r"attar: cpu-clock: condition: no such field or variable 'main'; give the event 'main@\S+' a "
     r"name with alias=main"),
    (['sql', '-e', 'sched:sched_wakeup', '--query', 'CREATE TABLE x AS SELECT * FROM y'], USAGE,
     r'attar: --query: a change of the schema is not allowed: queries are read-only \(SELECT, '
     r'WITH, EXPLAIN\)'),
    (['profile', '-F', '0'], USAGE, r'attar: -F: 0 is too small: the minimum is 1'),
    (['trace', '-e', 'sched:sched_switch', '-N', '0'], USAGE,
     r'attar: -N: 0 is too small: the minimum is 1'),
    (['trace', '-e', 'sched:sched_switch', '--exit-N=0'], USAGE,
     r'attar: --exit-N: 0 is too small: the minimum is 1'),
    (['profile', '-N'], USAGE, r'attar: -N needs a value: -N N'),
    (['profile', '-F', '10000000'], USAGE,
     r'attar: --freq: 10000000 is more than the \d+ samples per second that the kernel allows '
     r'\(kernel.perf_event_max_sample_rate\): use fewer, or raise the limit as root with sysctl'),
    (['profile', '-F', 'fast'], USAGE, r"attar: -F: 'fast' is not a number"),
    (['profile', '-F'], USAGE, r'attar: -F needs a value: -F HZ'),
    (['profile', '-C', '9999'], USAGE, r'attar: no such CPU: 9999 \(this system has CPUs 0-\d+\)'),
    (['profile', '-C', 'x-y'], USAGE, r"attar: the CPU list: 'x-y' is not a list such as 0-3,8"),
    (['profile', '-C', '1-0'], USAGE, r"attar: the CPU list: the range 1-0 in '1-0' is reversed"),
    (['profile', '-p', '999999999'], USAGE,
     r"attar: no such processes: '999999999' has an id above 4194304, the largest that Linux has"),
    (['profile', '-p', '4194304'], FAILED, r'attar: no such process: 4194304'),
    (['profile', '-t', '4194304'], FAILED, r'attar: no such thread: 4194304'),
    (['profile', '-p', '0'], USAGE, r'attar: invalid list of processes: 0 is not a valid id'),
    (['profile', '-t', '999999999'], USAGE,
     r"attar: no such threads: '999999999' has an id above 4194304, the largest that Linux has"),
    (['profile', '-p', 'init'], USAGE, r"attar: 'init' is not a list of processes such as 123,456"),
    (['profile', '--cgroups', 'no/such/group'], FAILED,
     r"attar: no control group 'no/such/group' below /sys/fs/cgroup\S*"),
    (['profile', '-e', 'sched:sched_swich'], USAGE,
     r"attar: --event: no tracepoint 'sched:sched_swich': did you mean "
     r"'sched:sched_switch'\?"),
    (['profile', '-e', 'cycels'], USAGE,
     r"attar: --event: no event 'cycels': did you mean 'cycles'\?"),
    (['profile', '-d', '0'], USAGE, r'attar: -d: 0 is too short: the minimum is 1ms'),
    (['profile', '-d', 'soon'], USAGE,
     r"attar: -d: 'soon' is not a time such as 250ms or 5s"),
    (['profile', '-i', '0'], USAGE, r'attar: -i: 0 is too short: the minimum is 1ms'),
    (['profile', '-m', '0'], USAGE, r'attar: -m: 0 is not between 1 and 65536'),
    (['profile', '-m', '99999999999'], USAGE,
     r'attar: -m: 99999999999 is not between 1 and 65536'),
    (['profile', '--min-busy', '101'], USAGE,
     r"attar: --min-busy: '101' is not a percentage between 0 and 100"),
    (['profile', '--watermark', '-1'], USAGE,
     r"attar: --watermark: '-1' is not a percentage between 1 and 100"),
    (['profile', '--exclude-user', '--exclude-kernel'], USAGE,
     r'attar: --exclude-user and --exclude-kernel are mutually exclusive: '
     r'nothing would be sampled'),
    (['top', '-e', 'page-faults', '-p', '99999999999'], USAGE,
     r"attar: no such processes: '99999999999' has an id above \d+, the largest that Linux has"),
    (['trace', '-e', 'uprobe:main@/etc/passwd'], USAGE,
     r'attar: --event: /etc/passwd is not an ELF file'),
    (['trace', '-e', 'uprobe:0x99999999@/bin/true'], USAGE,
     r'attar: --event: the offset 0x99999999 is outside of \S+, which has 0x[0-9a-f]+ bytes'),
    (['trace', '-e', f'sched:sched_switch/prev_comm=="{"x" * 5000}"/'], USAGE,
     r'attar: filter: the names of threads have at most 15 characters, and this text has more: '
     r'use the first 15 characters'),
    (['profile', 'sleep', '1'], USAGE,
     r"attar: 'sleep' is not an option; put a command to run after --: -- sleep \.\.\."),
    (['profile', '--'], USAGE, r'attar: expected a command after --'),
    (['expr', '-e', 'cpu-clock', '-5/2'], USAGE,
     r"attar: no such option -5/2: put a space before an expression that begins with a minus: "
     r"' -5/2'"),
    *((['expr', '-e', 'cpu-clock', text], USAGE,
       rf"attar: no such option {re.escape(text)}: put a space before an expression that begins "
       rf"with a minus: ' {re.escape(text)}'") for text in ("-(u32)1", "-'a'", '- -3', '-~1')),
    *((['stat', '--no-children', *where], USAGE,
       r'attar: --no-children requires --pids or a command: children are watched only with their '
       r'parents') for where in ((), ('-t', '1'), ('-a',), ('--input', 'FILE'))),
    *(([profiler, '--no-children', *where, '--', 'true'], USAGE,
       rf'attar: --no-children conflicts with {option}, which selects what is watched: the command '
       r'only determines the duration')
      for profiler, option, *where in (
          ('stat', '--all-cpus', '-a'), ('overview', '--all-cpus', '-a'),
          ('stat', '--cpus', '-C', '0'), ('stat', '--tids', '-t', '1'),
          ('profile', '--cgroups', '--cgroups', '/'))),
    (['biolatency', '--device', '3s'], USAGE,
     r"attar: --device: no block device '3s' \(No such file or directory\): "
     r"the option of a time is --duration"),
    (['biolatency', '-d', 'sdzz'], USAGE,
     r"attar: --device: no block device 'sdzz' \(No such file or directory\): "
     r"'lsblk' lists the devices"),
    (['biolatency', '-d3x'], USAGE, r"attar: -d: '3x' is not a time such as 250ms or 5s"),
    (['user-events', '-d', 'abc'], USAGE,
     r"attar: -d: 'abc' is not a time such as 250ms or 5s"),
    (['breakpoint', '0x400000:q', '-d', '1'], USAGE,
     r"attar: '0x400000:q': unknown access 'q': use r, w, rw or x"),
    (['split-lock', '--event', 'cpu-clock,page-faults'], USAGE,
     r"attar: --event: 'cpu-clock,page-faults' matches 2 events: exactly one is required"),
    (['fleet', '-H', 'a b', 'profile'], USAGE,
     r"attar: --hosts: 'a b' contains a space or a control character: separate hosts with commas"),
    (['profile', '-o', '-', '-d', '1s'], USAGE,
     r"attar: --output: '-' is not a file: use --format NAME for results on stdout"),
    (['profile', '--append'], USAGE, r'attar: --append requires files: add -o FILE'),
    (['expr', '-e', 'sched:sched_wakeup', 'pid[0]'], USAGE,
     r'attar: sched:sched_wakeup: expression: this has no elements: only arrays, text and '
     r'addresses of fields have elements'),
    (['expr', '-e', 'sched:sched_wakeup', 'cpu == 0'], USAGE,
     r"attar: sched:sched_wakeup: expression: no such field or variable 'cpu', which exists only "
     r"in the kernel's filter language: use --cpus"),
    (['snoop', '-e', 'sched:sched_wakeup//column=a:pid/,sched:sched_switch//column=b:prev_comm/'],
     USAGE, r'attar: the events of one -e option differ in the number or types of column= and '
     r'key=: give all events the same columns and key'),
    (['breakpoint', 'main@' + str(workload('lines8020'))], USAGE,
     r"attar: the address of 'main' is only known while \S+ runs: use -p PID, or build it with "
     r'-no-pie'),
    (['trace', '-e', 'sched:sched_switch//push=127.0.0.1:1/,sched:sched_wakeup//push=127.0.0.1:2/'],
     USAGE, r"attar: events can be pushed to only one address, but '127\.0\.0\.1:1' and "
     r"'127\.0\.0\.1:2' were given"),
    (['hrcount', '-e', 'cpu-clock', '-i', '1h', '--period', '1ms'], USAGE,
     r'attar: --interval must be less than 1048576 times --period'),
    (['multi-trace', *(17 * ['-e', 'sched:sched_switch'])], FAILED,
     r'attar: more than 16 -e options: use commas'),
    (['profile', '-g=3'], USAGE, r"attar: no such option -=: 'attar profile -h all' lists them"),
    (['profile', '--print-samples=fp'], USAGE, r'attar: --print-samples takes no value'),
    (['profile', '-o', 'x.jsn', '-d', '1'], USAGE,
     r"attar: --output: no format has the extension \.jsn: did you mean \.json\?"),
    (['profile', '--format', 'jsn', '-d', '1'], USAGE,
     r"attar: no format 'jsn': did you mean 'json'\?"),
    (['profile', '--format', 'xyzzy', '-d', '1'], USAGE,
     r"attar: no format 'xyzzy': the formats are text, json, csv, folded, html, pprof, "
     r"speedscope, firefox, chrome, sqlite, prometheus and openmetrics"),
    (['profile', '--', '/no/such/command'], FAILED,
     r"attar: cannot run '/no/such/command': no such file, or its interpreter "
     r"is missing"),
    (['profile', '--', 'no-such-command'], FAILED,
     r"attar: cannot run 'no-such-command': no such command in PATH"),
    (['profile', '--', '/etc/passwd'], FAILED,
     r"attar: cannot run '/etc/passwd': the file is not executable"),
    (['profile', '--', '/tmp'], FAILED, r"attar: cannot run '/tmp': it is a directory"),
    (['profile', '-o', '/no/such/folder/x.json', '-d', '1'], FAILED,
     r"attar: cannot write '/no/such/folder/x.json': No such file or directory"),
]


@pytest.mark.parametrize('args, status, sentence', MISTAKES,
                         ids=lambda v: ' '.join(v) if isinstance(v, list) else '')
def test_wrong_arguments_are_refused(args, status, sentence):
    done = run(*args, timeout=20)
    error = done.stderr.strip()
    last = [line for line in error.splitlines() if not line.startswith('    ')][-1]
    assert re.fullmatch(sentence, last), error
    assert done.returncode == status, (done.returncode, error)
    assert done.stdout == ''
    # A message names the object; it never ends with a bare number of the kernel.
    assert not re.search(r'errno|error -?\d+', error, re.I)


def test_event_errors_show_the_place():
    events = 'page-faults,sched:sched_switch//stak/,cs'
    done = run('trace', '-e', events, timeout=20)
    assert done.returncode == USAGE
    assert done.stderr.splitlines() == [
        "attar: --event: no attribute 'stak': did you mean 'stack'?",
        f'    {events}',
        f'    {" " * events.index("stak")}^']


@pytest.mark.parametrize('profiler', ['trace', 'stat', 'multi-trace'])
@pytest.mark.parametrize('events, reason', [
    ('page-faults,sched:sched_switch/prev_comm=="x/,cs', 'missing closing quote for this "'),
    ("cs,sched:sched_switch//alias='x/stack/", "missing closing quote for this '"),
    ('sched:sched_switch//key=(prev_pid/2/', 'missing closing ) for this ('),
    ('sched:sched_switch//key={prev_pid,prev_prio/', 'missing closing } for this {')])
def test_what_is_not_closed_in_a_list_of_events(profiler, events, reason):
    done = run(profiler, '-e', events, '--', 'true', timeout=20)
    assert done.returncode == USAGE and done.stdout == ''
    assert done.stderr.splitlines() == [
        f'attar: --event: {reason}', f'    {events}', f'    {" " * events.index(reason[-1])}^']


def test_no_arguments_shows_where_to_begin():
    """Eight questions, as the README has them."""
    done = run()
    assert done.returncode == USAGE and done.stderr == ''
    asked = re.findall(r'^  (\S.*\?) +attar (\S+)', done.stdout, re.M)
    readme = (ROOT / 'README.md').read_text()
    assert asked == re.findall(r'^\| (.*\?) \| `attar ([\w-]+)', readme, re.M) and len(asked) == 8


@pytest.mark.parametrize('args', [['-V'], ['--version'], ['trace', '-V'], ['stat', '--version']])
def test_version(args):
    done = run(*args)
    assert re.fullmatch(r'attar \d+\.\d+\.\d+\n', done.stdout)
    assert done.returncode == 0


def test_the_manual_names_each_variable_of_the_environment():
    """Except those that systemd and the shell set for every program."""
    sources = ' '.join(path.read_text() for path in (ROOT / 'src').rglob('*.c'))
    names = set(re.findall(r'getenv\("(\w+)"\)', sources)) - {'HOME', 'PATH'}
    names = {name for name in names
             if not name.startswith(('NOTIFY_', 'RUNTIME_', 'WATCHDOG_'))}
    section = run('help', '--man').stdout.split('.SH ENVIRONMENT')[1]
    assert len(names) > 8
    assert not [name for name in names if name not in section]


@pytest.mark.parametrize('args', [['-h'], ['--help'], ['help']])
def test_help_has_an_overview(args):
    done = run(*args)
    assert done.returncode == 0 and done.stderr == ''
    assert re.search(r'^\s+profile\s+where CPU time is spent', done.stdout, re.M)


@pytest.mark.parametrize('name', ['list', 'doctor', 'user-events', 'help', 'completion'])
def test_help_describes_a_command(name):
    done = run(name, '-h')
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f'attar {name} - ')
    assert f'Usage: attar {name}' in done.stdout
    assert run(name, '--help').stdout == done.stdout == run('help', name).stdout
    assert f'\n  {name} ' in run('-h').stdout


def test_help_of_user_events_has_all_its_options():
    options = run('user-events', '-h').stdout
    assert all(re.search(rf'^ +{spelling} ', options, re.M) for spelling in
               ('PART', '-d, --duration TIME', '--json', 'watch NAME')), options
    assert {'-d', '--duration', '--json'} <= set(run('completion', 'bash').stdout.split())


@pytest.mark.parametrize('args', [['profile', '-h', 'all'], ['profile', '--help', 'all'],
                                  ['help', 'profile']])
def test_help_describes_a_profiler(args):
    done = run(*args)
    assert done.returncode == 0 and done.stderr == ''
    for option in ('-F', '-g', '-C', '-p', '-t', '--cgroups', '-i', '-d', '-N', '-m', '--watermark',
                   '--exclude-user',
                   '--exclude-kernel', 'user-callchain', 'kernel-callchain', '--min-busy',
                   '--print-samples', '--flame-graph',
                   '-o', '-v', '-q'):
        assert option in done.stdout, option


@pytest.mark.parametrize('old', ['--each', '--than'])
def test_old_option_names_are_accepted_but_not_listed(old):
    value = ['20'] if old == '--than' else []
    done = run('profile', old, *value, '-F', 997, '--', workload('split7030'), 50)
    assert done.returncode == 0, done.stderr
    pages = [['profile', '-h', 'all'], ['help', '--man', 'profile']]
    if old != '--than':  # an option of other profilers
        pages += [['completion', 'bash'], ['completion', 'fish']]
    for args in pages:
        words = run(*args).stdout.replace('\\-', '-').replace('-l ', '--').split()
        assert old not in words, args
    assert f'did you mean {old}?' not in run('profile', f'{old}e').stderr


def test_list_has_events_of_each_kind(root):
    done = run('list')
    assert done.returncode == 0
    names = {line.split()[0] for line in done.stdout.splitlines() if line.strip()}
    assert {'sched:sched_switch', 'cpu-clock', 'page-faults', 'software', 'tracepoint'} <= names


def test_list_shows_every_tracepoint(root):
    done = run('list', '--names', '*:*')
    lines = Path('/sys/kernel/tracing/available_events').read_text().split()
    assert set(lines) <= set(done.stdout.split())


def test_list_takes_a_pattern(root):
    done = run('list', '--json', 'sched:sched_sw*')
    rows = json.loads(done.stdout)['sections'][0]['rows']
    assert 'sched:sched_switch' in [row[0] for row in rows]
    assert all(row[0].startswith('sched:sched_sw') for row in rows)


def test_list_takes_a_kind(root):
    sections = {section['name']: section['rows']
                for section in json.loads(run('list', '--json', 'software').stdout)['sections']}
    assert len(sections['software']) >= \
        12 and 'page-faults' in [row[0] for row in sections['software']]
    sections = json.loads(run('list', '--json', 'tracepoint').stdout)['sections']
    assert len(next(s['rows'] for s in sections if s['name'] == 'tracepoint')) > 500


def test_list_has_raw_events(root):
    """With the events of another CPU, which LIBPFM_FORCE_PMU selects."""
    done = run('list', '-v', '--json', 'raw', env={**os.environ, 'LIBPFM_FORCE_PMU': 'skl'})
    sections = {section['name']: section['rows'] for section in json.loads(done.stdout)['sections']}
    if 'raw' not in sections:
        pytest.skip('libpfm4, which has the names of raw events, is not installed')
    about = {row[0]: row[-1] for row in sections['raw']}
    assert about['BR_INST_RETIRED'] == \
        'Branch instructions retired (Precise Event)' and len(about) > 50


def test_list_finds_aliases(root):
    for alias, name in (('cs', 'context-switches'), ('migrations', 'cpu-migrations'),
                        ('faults', 'page-faults')):
        rows = json.loads(run('list', '--json', alias).stdout)['sections'][0]['rows']
        assert [row[1] for row in rows if row[0] == name][0].endswith(f'; also: {alias}')
    rows = json.loads(run('list', '-v', '--json', 'branches').stdout)['sections'][0]['rows']
    assert [row[0] for row in rows] == ['branch-instructions']


def test_list_reports_an_unknown_name(root):
    done = run('list', 'zzz')
    assert done.returncode == 1
    assert done.stderr == \
        ("attar: no event matches 'zzz'; 'attar list -v' also shows events that this "
         'system does not support\n')


def test_version_is_printed():
    done = run('--version')
    assert done.returncode == 0
    assert re.fullmatch(r'attar \d+\.\d+\.\d+\n', done.stdout)


@pytest.mark.parametrize('shell', ['bash', 'zsh', 'fish'])
def test_completion_is_printed_for_each_shell(shell):
    done = run('completion', shell)
    assert done.returncode == 0 and done.stderr == ''
    assert 'profile' in done.stdout and 'exclude-kernel' in done.stdout


@pytest.mark.parametrize('shell', ['bash', 'zsh', 'fish'])
def test_completion_is_valid(shell):
    if not has(shell):
        pytest.skip(f'{shell} (package {shell}) is not installed')
    done = run('-n', '/dev/stdin', program=shell, input=run('completion', shell).stdout, stdin=None)
    assert done.returncode == 0, done.stderr


# What is typed, and candidates that completion must offer, as whole words.
TYPED = [
    ('attar pro', {'profile'}),
    ('attar ', {'profile', 'stat', 'trace', 'list', 'doctor', 'help'}),
    ('attar profile --exclude-', {'--exclude-user', '--exclude-kernel'}),
    ('attar profile --no-user', {'--no-user-callchain'}),
    ('attar profile -g --format js', {'json'}),
    ('attar profile -e sched:sched_swit', {'sched:sched_switch'}),
    ('attar profile -e cpu-clock,sched:sched_swit', {'cpu-clock,sched:sched_switch'}),
    ('attar list --na', {'--names'}),
    ('attar diff --format js', {'json'}),
    ('attar stack --', {'--pid', '--no-demangle'}),
    ('attar stack -p 1', {'1'}),
    ('attar agent --config /etc/pass', {'/etc/passwd'}),
    ('attar list sched:sched_swit', {'sched:sched_switch'}),
    ('attar help doc', {'doctor'}),
    ('attar doctor runql', {'runqlat', 'runqlen'}),
    ('attar completion z', {'zsh'}),
    ('attar profile -- sle', {'sleep'}),
    ('attar bpf:kv', {'bpf:kvm_exit'}),
    ('attar bpf:kvm_exit --thr', {'--threshold'}),
]


@pytest.mark.parametrize('typed, wanted', TYPED)
def test_bash_completes_words(root, typed, wanted):
    """As called by readline: words are split at = and : too, and only their rest is inserted."""
    words = [w for word in typed.split(' ')[1:] for w in re.split('([:=])', word) if w or not word]
    script = f"""
        PATH={ATTAR.parent}:$PATH; source <({ATTAR} completion bash)
        COMP_LINE={shlex.quote(typed)} COMP_POINT=${{#COMP_LINE}}
        COMP_WORDS=(attar {shlex.join(words)})
        COMP_CWORD={len(words)}; _attar; printf '%s\\n' "${{COMPREPLY[@]}}" """
    done = run('-c', script, program='bash')
    assert done.returncode == 0 and not done.stderr, done.stderr
    last = typed.split(' ')[-1]
    found = {last[:last.rfind(':') + 1] + line for line in done.stdout.splitlines()}
    assert wanted <= found and all(line.startswith(last) for line in found), found


@pytest.mark.parametrize('typed, wanted', TYPED)
def test_fish_completes_words(root, typed, wanted):
    if not has('fish'):
        pytest.skip('fish (package fish) is not installed')
    script = f'set PATH {ATTAR.parent} $PATH; {ATTAR} completion fish | source; ' \
             f'complete -C {shlex.quote(typed)}'
    done = run('-c', script, program='fish')
    assert wanted <= {line.split('\t')[0] for line in done.stdout.splitlines()}, \
        done.stdout + done.stderr


# Command lines that must keep working, each within a time limit.
LINES = [
    'profile -F 997 -g -d 300ms',
    'profile -F 997 -g --flame-graph cpu.folded -d 300ms',
    'profile -F 997 -C 0-1 --exclude-kernel --than 30 -d 300ms',
]


@pytest.mark.parametrize('line', LINES)
def test_command_lines_work(tmp_path, line):
    if '-C 0-1' in line and os.cpu_count() < 2:
        pytest.skip('needs two CPUs')
    done = run(*line.split(), cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_notes_are_the_last_line():
    done = run('profile', '-d', '200ms')
    assert done.returncode == 0
    last = done.stdout.strip().splitlines()[-1]
    assert re.fullmatch(
        r'[\d,]+ samples seen, \d+ lost, \d+ throttled; [\d.]+% of samples in code without a name; '
        r'attar itself: [\d.]+% of a CPU, [\d.]+ MiB peak', last), last


LONG = 'x' * 100000


@pytest.mark.parametrize('args', [
    ['profile', '-e', LONG], ['trace', '-e', f'sched:{LONG}'],
    ['trace', '-e', f'sched:sched_switch/{LONG}==1/'],
    ['trace', '-e', 'sched:sched_switch/' + '||'.join(['prev_pid==1'] * 8000) + '/', '-d', '10ms'],
    ['trace', '-e', f'cpu-clock/period={LONG}/'], ['trace', '-e', f'uprobe:{LONG}@"/bin/ls"'],
    ['trace', '-e', f'uprobe:foo@"/{LONG}"'], ['trace', '-e', 'mem:0x' + '1' * 100000],
    ['profile', '-p', LONG],
    ['profile', '-C', LONG], ['profile', '--cgroups', LONG], ['profile', '-d', LONG],
    ['profile', '-F', '9' * 100000],
    ['profile', '-o', f'{LONG}.html'], ['profile', '-o', LONG], ['profile', f'--{LONG}'],
    ['profile', LONG], [LONG],
    ['profile', '--', LONG], ['list', LONG], ['list', 'a', LONG], ['doctor', LONG],
    ['user-events', LONG]],
    ids=lambda args: ' '.join(arg[:24] for arg in args))
def test_long_arguments_are_shortened_in_messages(args, root):
    done = run(*args)
    lines = (done.stdout + done.stderr).splitlines()
    assert done.returncode in (0, 1, 2, 4), done.returncode
    assert any('...' in line for line in lines), lines
    assert max(map(len, lines)) < 500, max(lines, key=len)
