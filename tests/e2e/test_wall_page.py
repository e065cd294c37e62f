# SPDX-License-Identifier: MIT
"""The time line of attar wall: the states in the page, and how the page shows them."""
import json

import pytest

from browser import Page, browser, needs_browser  # noqa: F401
from command import run
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait
from test_wall import SCRIPT

MS = 1_000_000
DIGITS = ("!#$%&'()*+,-./0123456789:;=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[]^_"
          '`abcdefghijklmnopqrstuvwxyz{|}~')
HEAD = SCRIPT[:SCRIPT.index('1.000')] + 'event sched:sched_waking stack comm:char[16] pid:pid_t\n'
KNOWN = '0.900 0 100/100 worker fork 100/101\n'  # threads need an event to be known
WAKING = '1.049 1 200/201 server sched:sched_waking stack=0xc1 pid=100\n'
BODY = SCRIPT[SCRIPT.index('1.000'):].replace('1.050 0', WAKING + '1.050 0')


def page_of(tmp_path, text, *options):
    script, page = tmp_path / 'test.script', tmp_path / 'wall.html'
    script.write_text(text)
    ended = run('wall', *options, '-o', page, '--input', script)
    assert ended.returncode == 0, ended.stderr
    return page


def data_of(page):
    text = page.read_text()
    begin = text.index('>', text.index('id="data"')) + 1
    return json.loads(text[begin:text.index('</script>', begin)])


def numbers(text):
    value, place = 0, 1
    for digit in map(DIGITS.index, text):
        if digit < 64:
            yield value + digit * place
            value, place = 0, 1
        else:
            value += (digit - 64) * place
            place *= 27


def lanes(page):
    """
    Return of each thread (begin, length, state, CPU, waker) for one state, and (begin, length,
    number, {state: ns}) for several.
    """
    states, = data_of(page)['states']
    following = numbers(states['pieces'])
    found = {}
    for pid, tid, _, count in states['threads']:
        pieces, end = found.setdefault((pid, tid), []), 0
        for _ in range(count):
            begin = end + next(following)
            length, head = next(following), next(following)
            end = begin + length
            if head % 2:
                cpu, _, waker = next(following) - 1, next(following), next(following)
                pieces.append((begin, length, states['names'][head // 2], cpu,
                               states['wakers'][waker - 1] if waker else None))
            else:
                count_of_states = next(following)
                parts = {states['names'][next(following)]: next(following)
                         for _ in range(head // 2)}
                pieces.append((begin, length, count_of_states, parts))
    assert next(following, None) is None
    return found


@pytest.mark.quick
def test_states_and_waker(tmp_path):
    """Exact to the nanosecond; each block has the waker that ended it."""
    waker = ['server', 200, 201, '[unknown]+0xc1']
    assert lanes(page_of(tmp_path, HEAD + BODY)) == {
        (100, 100): [(0, 30 * MS, 'running', 0, None), (30 * MS, 20 * MS, 'blocked', -1, waker),
                     (50 * MS, 10 * MS, 'ready', -1, None), (60 * MS, 10 * MS, 'running', 0, None),
                     (70 * MS, 10 * MS, 'ready', -1, None), (80 * MS, 10 * MS, 'running', 0, None)],
        (100, 101): [(70 * MS, 10 * MS, 'running', 0, None)]}
    page = page_of(tmp_path, HEAD + BODY, '--no-waker')
    assert data_of(page)['states'][0]['wakers'] == []
    assert [piece[4] for piece in lanes(page)[100, 100]] == [None] * 6


@pytest.mark.quick
def test_waker_before_the_switch(tmp_path):
    """A thread may be woken up while it is being switched out. Interrupts are not threads."""
    begin = '1.000 0 0/0 swapper sched:sched_switch next_pid=100\n'
    text = '''1.020 1 200/201 server sched:sched_waking stack=0xc1 pid=100
1.030 0 100/100 worker sched:sched_switch stack=0xb1 prev_pid=100 prev_state=1
1.050 0 0/0 swapper sched:sched_wakeup pid=100
1.060 0 0/0 swapper sched:sched_switch next_pid=100
1.070 0 100/100 worker sched:sched_switch stack=0xb1 prev_pid=100 prev_state=1
1.090 0 0/0 swapper sched:sched_wakeup pid=100
1.100 0 0/0 swapper sched:sched_switch next_pid=100
'''
    def blocks(text):
        pieces = lanes(page_of(tmp_path, HEAD + KNOWN + text))[100, 100]
        return [piece[4] and piece[4][0] for piece in pieces if piece[2] == 'blocked']
    assert blocks(begin + text) == ['server', None]
    # This waking is of an earlier block, which ended before the thread ran.
    waking, _, rest = text.partition('\n')
    assert blocks(f'{begin}{waking.replace("1.020", "1.010")}\n'
                  f'{begin.replace("1.000", "1.015")}{rest}') == [None, None]


@pytest.mark.quick
def test_trace_and_limit(tmp_path):
    """Chrome traces have the waker too; --spans 0 leaves the time line out."""
    trace = tmp_path / 'x.trace.json'
    page = page_of(tmp_path, HEAD + BODY, '-o', trace)
    blocked, = (e for e in json.loads(trace.read_text())['traceEvents'] if e['name'] == 'blocked')
    assert [blocked['args'][name] for name in ('waker', 'waker_tid', 'waker_stack')] == [
        'server', 201, '[unknown]+0xc1']
    page = page_of(tmp_path, HEAD + BODY, '--spans', '2')
    assert sum(len(pieces) for pieces in lanes(page).values()) == 1  # two parts of one state
    assert data_of(page_of(tmp_path, HEAD + BODY, '--spans', '0'))['states'] == []


def cycles(count, step):
    """A thread that runs, sleeps and is woken up `count` times, each state `step` us long."""
    lines, at = [], 1_000_000
    for _ in range(count):
        for who, event in (('0/0 swapper', 'sched:sched_switch next_pid=100'),
                           ('100/100 w', 'sched:sched_switch prev_pid=100 prev_state=1'),
                           ('0/0 swapper', 'sched:sched_wakeup pid=100')):
            lines.append(f'{at // 10**6}.{at % 10**6:06} 0 {who} {event}\n')
            at += step
    return ''.join(lines)


def test_short_states_are_drawn_together(tmp_path):
    """More states than a page has: none is lost, and the times add up."""
    count = 20_000
    page = page_of(tmp_path, HEAD + KNOWN + cycles(count, 10))
    pieces, = lanes(page).values()
    states, = data_of(page)['states']
    assert len(pieces) <= 50_000 and states['resolution'] > 0
    merged = [piece for piece in pieces if len(piece) == 4]
    assert states['merged'] == sum(piece[2] for piece in merged) > 0
    assert len(pieces) - len(merged) + states['merged'] == 3 * count - 1
    sums = {name: sum(p[3].get(name, 0) if len(p) == 4 else p[1] * (p[2] == name) for p in pieces)
            for name in states['names']}
    assert sums == {'running': 10_000 * count, 'blocked': 10_000 * count,
                    'ready': 10_000 * (count - 1)}


@pytest.mark.quick
def test_threads_with_fewest_states_are_left_out(tmp_path):
    """Thread 1000 + i has two states if i is divisible by 6, else one."""
    text = ''.join(f'0.{i:03} 0 999/999 t fork 999/{1000 + i}\n' for i in range(600)) + ''.join(
        f'1.{i:03}0 0 0/0 swapper sched:sched_switch next_pid={1000 + i}\n'
        f'1.{i:03}1 0 {1000 + i}/{1000 + i} t sched:sched_switch prev_pid={1000 + i} '
        f'prev_state={1 if i % 6 == 0 else 16}\n' for i in range(600))
    page = page_of(tmp_path, HEAD + text)
    states, = data_of(page)['states']
    shown = {tid for _, tid, _, _ in states['threads']}
    assert len(shown) == 500 and shown >= {1000 + i for i in range(0, 600, 6)}
    assert (states['threadsLeftOut'], states['statesLeftOut']) == (100, 100)


# ---- in a browser ----

@pytest.fixture
def page(browser, tmp_path):  # noqa: F811
    page = Page(browser, page_of(tmp_path, HEAD + BODY))
    yield page
    page.quiet()


def pointer_at(page, lane, piece):
    rect = page.js('document.getElementById("lanes").scrollIntoView();'
                   'return attar.states.piece(...arguments)', lane, piece)
    actions = ActionChains(page.browser, duration=0)
    actions.w3c_actions.pointer_action.move_to_location(
        round(rect['x'] + rect['width'] / 2), round(rect['y'] + rect['height'] / 2))
    return actions


@needs_browser
def test_click_shows_the_waker(page):
    pointer_at(page, 0, 1).click().perform()
    lines = page['state'].text.split('\n')
    assert lines[0] == 'blocked 20.0 ms worker 100, at 30.0 ms'
    assert lines[1:3] == ['Woken up by server, thread 201 of process 200', '[unknown]+0xc1']
    assert lines[3] == 'Stack'
    pointer_at(page, 1, 0).click().perform()
    assert page['state'].text.startswith('running 10.0 ms worker 101, at 70.0 ms, CPU 0')
    assert 'Woken' not in page['state'].text


@needs_browser
def test_hover_shows_the_waker(page):
    pointer_at(page, 0, 1).perform()
    WebDriverWait(page.browser, 10).until(lambda _: 'Woken up by server' in page['tip'].text)


@needs_browser
def test_keys_go_from_state_to_state(page):
    def title():
        return page['state'].text.split('\n')[0]
    page.js('document.getElementById("lanes").focus()')
    page.keys(Keys.ARROW_RIGHT)  # the first key chooses the first state
    assert title().startswith('running 30.0 ms worker 100')
    page.keys(Keys.ARROW_RIGHT)
    assert 'server, thread 201' in page['state'].text
    page.keys(Keys.END)
    assert title() == 'running 10.0 ms worker 100, at 80.0 ms, CPU 0'
    page.keys(Keys.ARROW_LEFT)
    assert title() == 'ready 10.0 ms worker 100, at 70.0 ms'
    page.keys(Keys.ARROW_DOWN)
    assert title() == 'running 10.0 ms worker 101, at 70.0 ms, CPU 0'
    page.keys(Keys.ENTER)
    view = page.js('return attar.states.view()')
    assert (round(view['from']), round(view['to'])) == (69 * MS, 81 * MS)
    page.keys(Keys.ESCAPE)
    assert page.js('return attar.states.view().to - attar.states.view().from') == 90 * MS
    page.keys('+')
    assert page.js('return attar.states.view().to - attar.states.view().from') == 45 * MS
