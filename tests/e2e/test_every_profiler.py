# SPDX-License-Identifier: MIT
"""What every profiler and preset has: a page, help, a manual page, completion, valid reports."""
import json
import re

import pytest

from command import ATTAR, ROOT, has, run

NAMES = sorted(page.name.removesuffix('.md') for page in (ROOT / 'docs/profilers').glob('*.md'))
SHOWS_OPTION = re.compile(r'^ {2,6}(?:-\w, )?--((?:\[no-\])?[\w-]+)', re.M)


def listed():
    return run('list', '--names', 'profilers').stdout.split()


def options_of(name):
    """The long options that the help of a profiler shows."""
    ended = run(name, '-h', 'all')
    assert ended.returncode == 0, ended.stderr
    return {word.removeprefix('[no-]') for word in SHOWS_OPTION.findall(ended.stdout)} - {'help'}


def test_each_has_a_page():
    assert sorted(listed()) == NAMES


def test_each_is_in_the_table_of_commands():
    table = (ROOT / 'docs/commands.md').read_text()
    assert not [name for name in NAMES if f'| [{name}](profilers/{name}.md) |' not in table]


def check_roff(manual):
    """No Markdown is left, and groff has no warning, also on the tables."""
    text = re.sub(r'(?s)\.EX\n.*?\.EE\n', '', manual)
    assert not re.search(r'(?m)\]\(|^#|^\*\w|[ (]\*\w+\*', text)
    if has('groff'):
        lint = run('-t', '-ww', '-man', '-Tutf8', '-rLL=78n', '-z', program='groff', input=manual,
                   stdin=None)
        assert lint.stdout + lint.stderr == ''


@pytest.mark.parametrize('name', ['agent', 'fleet'])
def test_manual_page_of_a_command(name):
    manual = run('help', '--man', name)
    assert manual.returncode == 0 and manual.stderr == ''
    check_roff(manual.stdout)


@pytest.mark.parametrize('name', NAMES)
def test_help_and_manual_page(name):
    """The page of the sources, the summary, and every option of the help."""
    summary = re.search(rf'(?m)^  {re.escape(name)} +(\S.*)$', run('list', 'profilers').stdout)[1]
    page, manual = run('help', name), run('help', '--man', name)
    assert page.returncode == manual.returncode == 0
    assert page.stderr == manual.stderr == ''
    text = re.sub(r'\\f[BRI]|\\&', '', manual.stdout).replace('\\-', '-')
    assert re.search(rf"(?m)^\.TH ATTAR-{name.upper()} 1 ", text) and summary in text
    for heading in ('.SH NAME', '.SH SYNOPSIS', '.SH DESCRIPTION', '.SH EXAMPLES'):
        assert heading in text
    options = options_of(name)
    assert len(options) > 5
    assert not [o for o in options if f'--{o}' not in text and f'--[no-]{o}' not in text]
    check_roff(manual.stdout)


def test_options_are_completed():
    """One shell asks for the options of each."""
    script = f'PATH={ATTAR.parent}:$PATH; source <({ATTAR} completion bash)\n' + '\n'.join(
        f"COMP_LINE='attar {name} --' COMP_POINT={len(name) + 9} COMP_WORDS=(attar {name} --) "
        f'COMP_CWORD=2; _attar; echo "{name} ${{COMPREPLY[*]}}"' for name in NAMES)
    ended = run('-c', script, program='bash')
    assert ended.returncode == 0 and not ended.stderr
    found = {line.split()[0]: set(line.split()[1:]) for line in ended.stdout.splitlines()}
    for name in NAMES:
        assert not [o for o in options_of(name) if f'--{o}' not in found[name]], name


SWITCH = ['-e', 'sched:sched_switch']
# Words without which these do not run; all others run without.
NEEDED = {
    'breakpoint': ['0x1000/8'],
    'event-care': SWITCH,
    'expr': [*SWITCH, 'next_pid > 1'],
    'heap': ['--sample', '1', '--', '/bin/true'],
    'hrcount': SWITCH,
    'hrtimer': [*SWITCH, 'sched_switch > 0'],
    'kmemleak': ['--alloc', 'kmem:kmalloc', '--free', 'kmem:kfree'],
    'kmemprof': ['--alloc', 'kmem:kmalloc', '--free', 'kmem:kfree'],
    'memleak': ['--', '/bin/true'],
    'multi-trace': ['-e', 'irq:softirq_entry', '-e', 'irq:softirq_exit'],
    'nested-trace': ['-e', 'irq:softirq_entry,irq:softirq_exit'],
    'num-dist': ['-e', 'sched:sched_switch//num=next_pid/'],
    'snoop': ['-e', 'sched:sched_switch//column=next_pid/'],
    'sql': [*SWITCH, '--query', 'SELECT comm, count(*) FROM sched_switch GROUP BY comm'],
    'top': SWITCH,
    'trace': SWITCH,
}


def calls(*names, fields):
    """The events of system calls, and one call of the first that takes 0.1 s."""
    return ''.join(f'event syscalls:sys_enter_{name} {fields}\n'
                   f'event syscalls:sys_exit_{name} ret:long\n' for name in names) + (
        f'1.0 0 5/5 a syscalls:sys_enter_{names[0]}\n'
        f'1.1 0 5/5 a syscalls:sys_exit_{names[0]} ret=0\n')


SOCKETS = ('event sock:inet_sock_set_state skaddr:u64 oldstate:int newstate:int sport:u16 '
           'dport:u16 family:u16 protocol:u16 saddr_v6:char[16] daddr_v6:char[16]\n'
           '1.0 0 5/5 a sock:inet_sock_set_state skaddr=1 newstate=2 protocol=6 family=2\n'
           '1.1 0 5/5 a sock:inet_sock_set_state skaddr=1 oldstate=2 newstate=7 protocol=6 '
           'family=2\n'
           '1.2 0 5/5 a sock:inet_sock_set_state skaddr=2 oldstate=3 newstate=1 protocol=6\n')
# What those read that need hardware, KVM or kprobes, which this machine may not have.
COUNTS = 'event {0} counted\nevent {1} counted\n1.0 0 0/0 - count {0}=2000 {1}=500\n'
MEMORY = 'event cpu/mem-loads/ sampled\n1.0 0 7/7 a cpu/mem-loads/ weight={} data_src={} addr=16\n'
EXITS = ('event kvm:kvm_exit exit_reason:u32 isa:u32 vcpu_id:u32 guest_rip:u64\n'
         'event kvm:kvm_entry vcpu_id:u32\n'
         'event sched:sched_switch prev_pid:pid_t prev_state:s64 next_pid:pid_t\n'
         'event sched:sched_wakeup pid:pid_t\n'
         '1.0 0 7/7 vm kvm:kvm_exit exit_reason=30 isa=1\n1.5 0 7/7 vm kvm:kvm_entry\n')
PROBES = ('folio_mark_accessed', 'filemap_add_folio', 'mark_buffer_dirty')
SCRIPTS = {
    'hwstat': COUNTS.format('cycles', 'instructions'),
    'llcstat': COUNTS.format('LLC-loads', 'LLC-load-misses'),
    'tlbstat': COUNTS.format('dTLB-loads', 'dTLB-load-misses'),
    'split-lock': 'event sq_misc.split_lock sampled\n1.0 0 7/7 a sq_misc.split_lock period=9\n',
    'ldlat-loads': MEMORY.format(7, 2 | 8 << 5),
    'ldlat-stores': MEMORY.format(0, 4 | 8 << 5),
    'kvm-exit': EXITS,
    'bpf:kvm_exit': EXITS,
    'kvmmmu': 'event kvmmmu:kvm_mmu_get_page gfn:u64 role:u32 created:u8\n'
              'event kvmmmu:kvm_mmu_prepare_zap_page gfn:u64 role:u32\n'
              '1.0 0 7/7 vm kvmmmu:kvm_mmu_get_page role=0x3784 created=1\n',
    'cachestat': ''.join(f'event probe:{name} counted\n' for name in PROBES)
                 + 'event writeback:writeback_dirty_folio counted\n1 0 0/0 - count '
                 + ' '.join(f'probe:{name}=9' for name in PROBES)
                 + ' writeback:writeback_dirty_folio=1\n',
    'swapin': 'event probe:swap_read_folio\n1.0 0 7/7 a probe:swap_read_folio\n',
    # these print a line for each event, and may have none meanwhile
    'oomkill': 'event oom:mark_victim pid:int\n1.0 0 5/5 a oom:mark_victim pid=5\n',
    'drsnoop': 'event vmscan:mm_vmscan_direct_reclaim_begin order:int\n'
               'event vmscan:mm_vmscan_direct_reclaim_end nr_reclaimed:u64\n'
               '1.0 0 5/5 a vmscan:mm_vmscan_direct_reclaim_begin order=3\n'
               '1.1 0 5/5 a vmscan:mm_vmscan_direct_reclaim_end nr_reclaimed=64\n',
    'fsyncslow': calls('fsync', 'fdatasync', 'syncfs', 'sync', fields='fd:u64'),
    'syncsnoop': calls('fsync', 'fdatasync', 'syncfs', 'sync', 'msync', fields='fd:u64'),
    'fileslower': calls('read', 'write', 'pread64', 'pwrite64', fields='fd:u64'),
    'mountsnoop': calls('mount', 'umount',
                        fields='dev_name:u64 dir_name:u64 type:u64 name:u64 flags:u64'),
    'tcpaccept': SOCKETS,
    'tcpconnect': SOCKETS,
    'tcpconnlat': SOCKETS,
    'tcplife': SOCKETS,
    'tcpstates': SOCKETS,
    'tcpretrans': 'event tcp:tcp_retransmit_skb skaddr:u64 state:int sport:u16 dport:u16 '
                  'saddr_v6:char[16] daddr_v6:char[16]\n'
                  '1.0 0 5/5 a tcp:tcp_retransmit_skb state=1 sport=7\n',
}
NEEDED['swapin'] = ['-e', 'probe:swap_read_folio']
# These have a line for each event, of which an idle machine may have none.
LINES = {'calls', 'execsnoop', 'exitsnoop', 'opensnoop', 'signals', 'statsnoop'}
# Of lines, too, of which a command may cause none.
MAY_BE_EMPTY = {'bashreadline', 'biosnoop', 'dnslat'}
# They write a file instead of a report, or need a program that may not be installed.
LEFT_OUT = {'record', 'query', 'gc'}


# The user names all events of these; these show any event, or count without events.
NAMED = {'breakpoint', 'expr', 'kmemleak', 'kmemprof', 'multi-trace', 'nested-trace', 'num-dist',
         'snoop', 'sql'}
ANY = {'event-care', 'ldlat-loads', 'ldlat-stores', 'misc', 'split-lock', 'top', 'trace'}
COUNTING = {'cachestat', 'hwstat', 'llcstat', 'percpu-stat', 'stat', 'tlbstat'}
OTHER = '# attar script\nevent a:b\n1 0 1/1 x a:b\n'


def read(name, tmp_path, *words):
    path = tmp_path / 'other.script'
    path.write_text(OTHER)
    return run(name, '--input', path, *words)


@pytest.mark.parametrize('name', sorted(
    {*NAMES} - NAMED - ANY - COUNTING - LEFT_OUT - {'cpu-util', 'fds', 'tcptop'}))
def test_a_recording_without_the_events_of_a_profiler(tmp_path, name):
    """This is no error in the command line, as status 2 is."""
    words = {'hrcount': ['-e', 'a:b'], 'hrtimer': ['-e', 'a:b', 'b > 0']}.get(name, [])
    ended = read(name, tmp_path, *words)
    assert ended.returncode == 1, ended.stderr
    assert re.match(r'attar: (the recording|\S+) has no ', ended.stderr), ended.stderr


@pytest.mark.parametrize('name', sorted(NAMED | COUNTING))
def test_a_recording_without_the_events_of_an_option(tmp_path, name):
    """An unknown name is an error in the command line; no recording of samples has counts."""
    ended = read(name, tmp_path, *NEEDED.get(name, []))
    assert ended.returncode == (2 if name in NAMED else 4), ended.stderr


@pytest.mark.usefixtures('root')
@pytest.mark.parametrize('name', [name for name in NAMES if name not in LEFT_OUT])
def test_reports_are_valid(tmp_path, name):
    """Each line is what docs/report.schema.json says; the last one is the report."""
    jsonschema = pytest.importorskip('jsonschema')
    schema = json.loads((ROOT / 'docs/report.schema.json').read_text())
    words = ['-d', '20ms'] if name not in ('blktrace', 'biosnoop', 'biolatency', 'bitesize') else [
        '--duration', '20ms']
    if name in LINES:
        words = ['--', 'sh', '-c', 'kill -CONT $$; cat /dev/null']
    elif name in SCRIPTS:
        path = tmp_path / 'test.script'
        path.write_text('# attar script\n' + SCRIPTS[name])
        words = ['--input', path]
    ended = run(name, '--format', 'json', '-q', *words,
                *NEEDED.get(name, []))
    assert ended.returncode == 0, ended.stderr
    reports = [json.loads(line) for line in ended.stdout.splitlines()]
    assert reports and reports[-1]['profiler'] == name
    for report in reports:
        jsonschema.Draft202012Validator(schema).validate(report)
    assert any(report['sections'] for report in reports) or name in MAY_BE_EMPTY
