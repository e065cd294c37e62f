# SPDX-License-Identifier: MIT
"""Functions of Perl in attar stack, compared with what the program itself says."""
import json
import subprocess
from pathlib import Path

import pytest

from command import run, wait_until
from interpreted import check_shares, interpreted, stacks

PERL = '/usr/bin/perl'
TITLE = 'Perl 5.36'


def has_perl():
    try:
        done = subprocess.run(
            [PERL, '-MConfig', '-Mthreads', '-MList::Util', '-e',
             'print "$]$Config{useithreads}"'], capture_output=True, text=True, check=False)
    except OSError:
        return False
    return done.stdout.startswith('5.036') and done.stdout.endswith('define')


pytestmark = [pytest.mark.usefixtures('root'), pytest.mark.skipif(
    not has_perl(), reason='no Perl 5.36 with threads is installed')]

# Each function named block_* waits in a thread of its own. It notes before what caller() says.
PROGRAM = r'''
use strict; use warnings; use utf8; no warnings 'once';
use feature 'try'; no warnings 'experimental';
use threads; use threads::shared; use List::Util 'first';
my %seen :shared;
my $number = `uname -m` =~ /aarch64/ ? 178 : 186;
pipe my $r, my $w;

sub block {
    my @frames = ('main::block', __FILE__, __LINE__ + 6);
    for (my $i = 0; my @c = caller $i; $i++) {
        push @frames, $c[1], $c[2];
        splice @frames, -2, 0, (caller $i + 1)[3] // '';
    }
    { lock %seen; $seen{syscall $number} = join "\0", @frames; cond_signal %seen; }
    sysread $r, my $byte, 1;
}

package Outer {
    sub new { bless {}, shift }
    sub method { my $self = shift; $self->inner(@_) }
    sub inner { main::block() }
    sub AUTOLOAD { our $AUTOLOAD; return if $AUTOLOAD =~ /DESTROY/; main::block() }
    use overload '""' => sub { main::block(); '' }, '<=>' => \&compare;
    sub compare { main::block(); 0 }
}
package Tied { sub TIESCALAR { bless {}, shift } sub FETCH { main::block() } }
package Ends { our $waits; sub DESTROY { main::block() if $waits } }
package Outer::With::A::Long::Name {
    sub method {
        main::block(
            1,
            2);
    }
}

sub block_method { Outer->new->method }
sub block_autoload { Outer->new->nothing }
sub block_overload { my $text = 'a' . Outer->new }
sub block_sort { my @sorted = sort { block(); 0 } 2, 1 }
sub by_name { block(); 0 }
sub block_sort_function { my @sorted = sort by_name 2, 1 }
sub block_sort_overload { my @sorted = sort { $a <=> $b } Outer->new, Outer->new }
sub block_first { first { block(); 1 } 1, 2 }
sub block_map { map { my $x = $_; grep { block() } $x } 1 }
sub block_tie { tie my $x, 'Tied'; my $y = $x + 1 }
sub block_destroy { my $x = bless {}, 'Ends'; local $Ends::waits = 1; undef $x; 1 }
{ no warnings 'recursion'; sub deep { my $n = shift; return deep($n - 1) if $n; block() } }
sub block_recursion { deep(500) }
sub block_anonymous { my $f = sub { block() }; $f->() }
sub block_closure { my $x = 1; sub { $x++; sub { $x++; block() }->() }->() }
sub block_eval { eval { die 1 }; eval { block(); 1 } or die }
sub block_string { eval "\n" x 70000 . ' sub { block() }->()' ; die $@ if $@ }
sub block_line { eval qq{#line 7 "odd file.pl"\n block(); 1} or die $@ }
sub block_try { try { block() } catch ($e) { } }
sub block_eval_in_callback { first { eval { block(); 1 } } 1, 2 }
sub block_goto { @_ = (3); goto &deep }
sub block_regular_expression { 'a' =~ /a(?{ block() })/ }
sub block_replace { my $x = 'bab'; $x =~ s/a/block()/e }
sub block_loops { for my $x (1) { while (1) { unless (0) { block(); last } } } }
sub block_local { my sub lexical { block() } lexical() }
sub block_local_signal { local $SIG{__WARN__} = sub { block() }; warn 'x' }
sub naïve { block() } sub 函数 { naïve() } sub 𐌰𐌱 { 函数() }
sub block_names { 𐌰𐌱() }
{ no strict 'refs'; *{'renamed'} = \&Outer::With::A::Long::Name::method; }
sub block_renamed { renamed() }
BEGIN { *aliased = *Original::glob }
sub aliased { block() }
sub block_aliased { aliased() }
BEGIN { eval 'sub ' . 'n' x 250 . ' { block() }' }
sub block_long { no strict 'refs'; &{'n' x 250}() }

my @names = sort grep { /^block_/ && defined &$_ } keys %main::;
threads->create({stack_size => 1 << 20}, \&{$main::{$_}})->detach for @names;
{ lock %seen; cond_wait %seen until keys %seen == @names; }
$| = 1;
my $ready = 0;
until ($ready) {
    $ready = 1;
    for (keys %seen) {
        open my $f, '<', "/proc/self/task/$_/syscall"; my $line = <$f>;
        $ready = 0 unless $line =~ /^(0|63) 0x/;
    }
    select undef, undef, undef, 0.01;
}
binmode STDOUT, ':utf8';
print join("\1", $$, map { "$_\0$seen{$_}" } keys %seen), "\n";
sub waits { my $line = <STDIN> }
waits();
'''


@pytest.fixture(name='program', scope='module')
def fixture_program(tmp_path_factory):
    script = tmp_path_factory.mktemp('perl') / 'program.pl'
    script.write_text(PROGRAM)
    with subprocess.Popen([PERL, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True, encoding='utf-8') as process:
        try:
            pid, *threads = process.stdout.readline()[:-1].split('\1')
            yield int(pid), dict(frames_of(thread.split('\0')) for thread in threads)
        finally:
            process.kill()


def frames_of(words):
    """Without the evals of native code, which calls DESTROY and begins the thread in one."""
    tid, *words = words
    frames = [[name, file, int(line)]
              for name, file, line in zip(words[::3], words[1::3], words[2::3])]
    while frames and frames[-1][0] in ('', '(eval)'):
        frames.pop()
    return int(tid), [frame for frame, before in zip(frames, [None, *frames])
                      if before is None or before[0] != 'Ends::DESTROY' or frame[0] != '(eval)']


def test_frames_are_those_of_the_program(program):
    pid, expected = program
    found = stacks(pid)
    assert len(expected) == PROGRAM.count('\nsub block_')
    for tid, frames in expected.items():
        assert interpreted(found[tid], TITLE) == frames
    assert [name for name, *_ in interpreted(found[pid], TITLE)] == ['main::waits', '<main>']
    assert 'Perl_runops_standard' not in run('stack', '-p', pid).stdout


def test_native_code_between_frames(program):
    """first() of List::Util is in a shared library."""
    pid, expected = program
    tid, = (tid for tid, frames in expected.items() if frames[-1][0] == 'main::block_first')
    text = run('stack', '-t', tid).stdout
    at = 0
    for part in ('read+', 'main::block at ', 'main::__ANON__ at ', '/Util.so', 'block_first at '):
        assert part in text[at:], text
        at = text.index(part, at) + len(part)
    assert 'bin/perl' not in text
    assert 'native frames of Perl 5.36 are not shown: ' in text.splitlines()[-1]


HOT = '''
sub heavy { my $i = 0; $i++ while $i < 700000 }
sub light { my $i = 0; $i++ while $i < 300000 }
sub caller_of_both { while (1) { heavy(); light() } }
$| = 1;
print "1\\n";
caller_of_both();
'''


def test_shares(tmp_path):
    script = tmp_path / 'hot.pl'
    script.write_text(HOT)
    with subprocess.Popen([PERL, script], stdout=subprocess.PIPE) as process:
        try:
            process.stdout.readline()
            check_shares(process.pid, 'main::heavy (hot.pl)', 'main::light (hot.pl)',
                         'main::caller_of_both (hot.pl)')
        finally:
            process.kill()


def test_forked_process():
    code = 'sub child { sleep 1 while 1 }\nmy $pid = fork or child();\n' \
           '$| = 1; print "$pid\n"; <STDIN>; kill 9, $pid'
    with subprocess.Popen([PERL, '-e', code], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as process:
        child = int(process.stdout.readline())
        wait_until(lambda: interpreted(stacks(child)[child], TITLE) ==
                   [['main::child', '-e', 1], ['<main>', '-e', 2]], 'it waits')
        process.stdin.close()


def test_code_at_compile_time():
    """Nothing is in the main program yet."""
    code = 'sub waits { $| = 1; print "1\n"; <STDIN> }\nBEGIN { waits() }'
    with subprocess.Popen([PERL, '-e', code], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        assert interpreted(stacks(process.pid)[process.pid], TITLE) == [
            ['main::waits', '-e', 2], ['main::BEGIN', '-e', 3]]
        process.stdin.close()


SOURCE = r'''
#include <pthread.h>
#include <unistd.h>
const unsigned char PL_version = %d;
void *PL_curinterp, *memory[4096];
int PL_thr_key;
void perl_run(void) { }
int main(void)
{
    char c;
    for (int i = 0; i < 4096; i++)
        memory[i] = memory + i %% 7;
    pthread_key_create((unsigned *)&PL_thr_key, NULL);
    pthread_setspecific(PL_thr_key, memory);
    write(1, "x", 1);
    return (int)read(0, &c, 1);
}
'''


def of_false_perl(folder, version):
    program = folder / 'perl-x'
    (folder / 'x.c').write_text(SOURCE % version)
    subprocess.run(['cc', '-rdynamic', '-o', program, folder / 'x.c'], check=True)
    with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.read(1) == b'x'
        done = run('stack', '-p', process.pid, timeout=20)
        process.stdin.close()
    assert done.returncode == 0 and 'main' in done.stdout
    return done.stderr


def test_unknown_version(tmp_path):
    assert of_false_perl(tmp_path, 99) == 'attar: functions of Perl 5.99 are not shown: only ' \
        'Perl 5.36 with threads is known\n'


def test_hostile_runtime(tmp_path):
    """Lists without an end, and objects at addresses that are none."""
    of_false_perl(tmp_path, 36)
