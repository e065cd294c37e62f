# SPDX-License-Identifier: MIT
"""Expressions and attributes that cannot be evaluated: one sentence, the place, exit status 2."""
import pytest

from command import run

pytestmark = [pytest.mark.quick, pytest.mark.usefixtures('root')]

EVENT = 'raw_syscalls:sys_enter'
ARRAY_KEY = ('key: an array or struct cannot be a key: use an element, as in a[0], or its bytes as '
             'a number, as in *(int *)a')
ARRAY = 'the value must be a number, but this is an array: use an element, as in a[0]'
TEXT_AND_NUMBER = ('one side is text and the other a number: both must be of the same kind, and '
                   'only text is in double quotes')


@pytest.mark.parametrize('profiler, attributes, place, sentence', [
    ('top', '/key=args/', 'args', ARRAY_KEY),
    ('top', '/key={id,args}/', 'args', ARRAY_KEY),
    ('top', '/key={}/', '}', 'key: expected an operand'),
    ('top', '/key=1.5/', '1.5',
     'key: a floating-point number cannot be the value: cast it, as in (long)'),
    ('top', '/top-by=args/', 'args', f'top-by: {ARRAY}'),
    ('num-dist', '/num=args/', 'args', f'num: {ARRAY}'),
    ('top', '/key=nope/', 'nope', "key: no such field or variable 'nope'; the fields are id, args"),
    ('trace', '/key=nope/', 'nope',
     "key: no such field or variable 'nope'; the fields are id, args"),
    ('trace', '/top-by=ids:nope/', 'nope',
     "top-by: no such field or variable 'nope'; the fields are id, args"),
    ('trace', '/index=nope/', 'nope',
     "index: no such field or variable 'nope'; the fields are id, args"),
    ('stat', '/num=nope/', 'nope',
     "num: no such field or variable 'nope'; the fields are id, args"),
    ('trace', '/printkey=id/', 'id',
     "printkey: no such field or variable 'id'; the variables are key"),
    ('trace', '/keyy=id/', 'keyy', "no attribute 'keyy': did you mean 'key'?"),
    ('trace', 'id/0==0/', '0==0', "'0==0' is not an attribute such as stack or alias=x: a filter "
     "with a '/' needs parentheses, as in EVENT/(a/b)>1/"),
    ('trace', 'comm~"s*" && id%8==0/', 'comm', "no such field or variable 'comm', which exists "
     "only in the kernel's filter language: use _comm"),
    ('trace', '/key="x/', '"', 'missing closing quote for this "'),
    ('trace', '/key=(id/', '(', 'missing closing ) for this ('),
    ('trace', 'id=="x"/', '==', TEXT_AND_NUMBER),
    ('trace', 'id==18446744073709551616/', '18446744073709551616',
     'the number does not fit in 64 bits'),
    ('trace', 'id==1 || foo(id)/', 'foo',
     "no such function 'foo'; docs/expressions.md lists the functions"),
    ('trace', 'id==1 || ksymbl(id)=="x"/', 'ksymbl',
     "no such function 'ksymbl': did you mean 'ksymbol'?"),
])
def test_refused_with_the_place(profiler, attributes, place, sentence):
    event = f'{EVENT}/{attributes}'
    done = run(profiler, '-e', event, '-d', '10s')
    assert (done.returncode, done.stdout) == (2, ''), done.stderr
    first, text, caret = done.stderr.splitlines()
    assert first.startswith('attar: ') and first.endswith(sentence)
    assert text == f'    {event}'
    assert caret == ' ' * (4 + event.rindex(place)) + '^'


@pytest.mark.parametrize('event, first', [
    ('t:ev//stak/', "--event: no attribute 'stak': did you mean 'stack'?"),
    ('t:ev:z', "--event: 'z' is not a modifier: "), ('', '--event: expected an event at the end'),
    ('t:ev/nope==1/', "filter: no such field or variable 'nope'; the fields are a"),
    ('t:eb', "x.script: no tracepoint 't:eb': did you mean 't:ev'?"),
])
def test_errors_name_the_recording_only_if_it_lacks_the_event(event, first, tmp_path):
    (tmp_path / 'x.script').write_text(
        '# attar script\nevent t:ev a:int\n1 0 1/1 x t:ev a=1\n')
    done = run('top', '-e', event, '--input', 'x.script', cwd=tmp_path)
    assert done.returncode in (1, 2)
    assert done.stderr.startswith('attar: ' + first), done.stderr
