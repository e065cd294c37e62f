# SPDX-License-Identifier: MIT
"""Tables, histograms and time series of the HTML page in a browser."""
import re

import pytest

from browser import Page, browser, make, needs_browser  # noqa: F401
from command import run
from scripts import of_script, rows
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from test_blame import SCRIPT

pytestmark = needs_browser

# What report_demo puts into "split": counts of the histogram, values of the time series.
COUNTS = [i * (8 - i) * 1000 for i in range(8)]
SWITCHES = [100 * i for i in range(10)]
WAITS = [None if i == 5 else 250000 + 1000.5 * (i % 3) for i in range(10)]


@pytest.fixture(scope='module')
def numbers(tmp_path_factory):
    return make(tmp_path_factory.mktemp('page') / 'numbers.html', 'numbers')


@pytest.fixture(scope='module')
def split(tmp_path_factory):
    return make(tmp_path_factory.mktemp('page') / 'split.html', 'split')


@pytest.fixture
def page(browser, split):  # noqa: F811
    page = Page(browser, split)
    yield page
    page.quiet()


def column(page, i):
    return page.js('''return [...document.querySelectorAll("tbody tr")].map(
        tr => tr.children[arguments[0]].textContent)''', i)


def header(page, name):
    return page.browser.find_element(By.XPATH, f'//th/button[starts-with(text(), "{name}")]')


def order(page):
    return page.js('''return [...document.querySelectorAll("th")].map(
        th => th.getAttribute("aria-sort"))''')


def test_columns_sort_by_number_and_text(browser, numbers):  # noqa: F811
    """
    A column of durations has one unit, a small one its own; none is last in both directions; equal
    numbers keep their order.
    """
    page = Page(browser, numbers)
    names = ['beta', 'Alpha', 'gamma', 'none', 'big']
    assert column(page, 0) == names and order(page) == [None] * 3
    assert column(page, 1) == ['9.00 us', '0.100', '0.010', '-', '2.500']
    assert header(page, 'wait').text == 'wait (ms)'
    header(page, 'wait').click()
    assert column(page, 0) == ['big', 'Alpha', 'gamma', 'beta', 'none']
    assert order(page) == [None, 'descending', None]
    header(page, 'wait').click()
    assert column(page, 0) == ['beta', 'gamma', 'Alpha', 'big', 'none']
    assert order(page) == [None, 'ascending', None]
    header(page, 'change').click()
    assert column(page, 2) == ['18,446,744,073,709,551,615', '20', '3', '0', '-1,000']
    header(page, 'name').click()
    assert column(page, 0) == ['Alpha', 'beta', 'big', 'gamma', 'none']
    assert order(page) == ['ascending', None, None]
    page.quiet()


@pytest.mark.parametrize('lost', [0, 99])
def test_doubts_are_above_everything_else(browser, tmp_path, lost):  # noqa: F811
    """An overview of 100 samples, of which an own remark says that 99 others were lost."""
    script = tmp_path / 'x.script'
    script.write_text('# attar script\nevent cpu-clock stack\n'
                      'event sched:sched_switch stack prev_comm:char[16] prev_pid:pid_t '
                      'prev_prio:int prev_state:s64 next_comm:char[16] next_pid:pid_t '
                      'next_prio:int\nevent sched:sched_wakeup comm:char[16] pid:pid_t\n'
                      'event sched:sched_wakeup_new comm:char[16] pid:pid_t\n' + ''.join(
                          f'1.{i:03} 0 7/7 busy cpu-clock stack=0xa1\n' for i in range(100)) +
                      f'1.100 0 7/7 busy lost {lost}\n' * bool(lost) +
                      '1.200 0 7/7 busy cpu-clock stack=0xa1\n')
    done = run('overview', '-q', '--input', script, '-o', tmp_path / 'x.html')
    assert done.returncode == 0, done.stderr
    page = Page(browser, tmp_path / 'x.html')
    assert page['doubt'].is_displayed() == bool(lost)
    if lost:
        assert page['doubt'].text.startswith('unreliable: 49.5 % of the events were lost')
        assert page['doubt'].location['y'] < page['title'].location['y'] + 100
    assert 'unreliable' not in page['notes'].text
    assert ('events were lost: 99;' in page['notes'].text) == bool(lost)
    page.quiet()


def test_columns_sort_by_keyboard(browser, numbers):  # noqa: F811
    page = Page(browser, numbers)
    page.keys(Keys.TAB, Keys.TAB, Keys.ENTER)
    assert order(page) == [None, 'descending', None]
    page.keys(Keys.SPACE)
    assert order(page) == [None, 'ascending', None]
    assert column(page, 0)[0] == 'beta'
    page.quiet()


def boxes(page):
    return page.js('''return [...document.querySelectorAll(".box")].map(
        e => ["x", "y", "width", "height"].map(name => Number(e.getAttribute(name))))''')


def texts(page, selector):
    return [e.text for e in page.browser.find_elements(By.CSS_SELECTOR, selector)]


def test_bars_have_the_heights_of_their_counts(page):
    found = boxes(page)
    assert len(found) == len(COUNTS)
    scale = max(height for *_, height in found) / max(COUNTS)
    for (x, y, width, height), count in zip(found, COUNTS):
        assert height == pytest.approx(count * scale, abs=.1)
        assert y + height == pytest.approx(found[4][1] + found[4][3], abs=.1)
        assert width == pytest.approx(found[0][2])
    assert [x for x, *_ in found] == sorted({x for x, *_ in found})
    assert texts(page, '.summary') == ['84,000 values, min 1.50 us, mean 41.7 us, p50 16.0 us, '
                                       'p95 120 us, p99 240 us, max 255 us']


def chart(page, i):
    return page.browser.find_elements(By.CSS_SELECTOR, '.chart')[i]


def test_axes_have_units(page):
    """The ticks of the y axis are at the heights of their values."""
    ticks = texts(page, '.chart .tick')
    assert {'0', '5,000', '10,000', '15,000', '1.00 us', '128 us', '256 us'} <= set(ticks)
    assert {'0 ns', '100 us', '200 us', '22:13:20'} <= set(ticks)
    marks = page.js('''return [...document.querySelector(".chart").querySelectorAll(".tick")].map(
        e => [e.textContent, Number(e.getAttribute("y"))])''')
    at = dict(marks)
    bottom = at['0']
    tallest = max(height for *_, height in boxes(page))
    assert bottom - at['15,000'] == pytest.approx(tallest * 15 / 16, abs=.5)
    assert bottom - at['5,000'] == pytest.approx((bottom - at['15,000']) / 3, abs=.1)


def test_tooltip_follows_pointer_and_keys(page):
    box = page.browser.find_elements(By.CSS_SELECTOR, '.box')[4]
    ActionChains(page.browser, duration=0).move_to_element(box).perform()
    tip = chart(page, 0).find_element(By.CSS_SELECTOR, '.tip')
    assert tip.text.split('\n') == ['16.0 us to 32.0 us', '16,000 (19.05%)']
    assert box.get_attribute('class') == 'box on'
    ActionChains(page.browser, duration=0).move_to_element(page['title']).perform()
    assert not tip.is_displayed()
    page.js('arguments[0].focus()', chart(page, 0))
    page.keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    assert tip.text.split('\n') == ['2.00 us to 4.00 us', '7,000 (8.33%)']
    page.keys(Keys.END)
    assert tip.text.startswith('128 us to 256 us')
    page.keys(Keys.ARROW_LEFT)
    assert tip.text.startswith('64.0 us to 128 us')
    assert page.state['chosen'] is None  # the flame graph does not take the keys
    page.keys(Keys.ESCAPE)
    assert not tip.is_displayed()


def points(page, i):
    """Return the pieces of the i-th line as lists of points."""
    d = page.browser.find_elements(By.CSS_SELECTOR, '.line')[i].get_attribute('d')
    return [[tuple(map(float, p)) for p in re.findall(r'([\d.]+) ([\d.]+)', piece)]
            for piece in d.split('M')[1:]]


def test_lines_go_through_their_points(page):
    """One chart for each unit; a missing value is a gap."""
    assert texts(page, '.legend:not(#legend) li') == ['switches', 'wait']
    [line] = points(page, 0)
    first, last = line[0], line[-1]
    height = first[1] - last[1]
    for i, (x, y) in enumerate(line):
        assert x == pytest.approx(first[0] + (last[0] - first[0]) * i / 9, abs=.1)
        assert first[1] - y == pytest.approx(height * SWITCHES[i] / 900, abs=.1)
    before, after = points(page, 1)
    assert len(before) == 5 and len(after) == 4
    bottom = first[1]
    top = min(y for _, y in before + after)
    for (_, y), value in zip(before + after, [w for w in WAITS if w is not None]):
        assert bottom - y == pytest.approx((bottom - top) * value / 252001, abs=.1)


def test_tooltip_of_a_time_series(page):
    page.js('arguments[0].focus()', chart(page, 2))
    page.keys(Keys.HOME)
    tip = chart(page, 2).find_element(By.CSS_SELECTOR, '.tip')
    assert tip.text.split('\n') == ['22:13:20.000000', 'wait: 250 us']
    page.keys(*[Keys.ARROW_RIGHT] * 5)
    assert tip.text.split('\n') == ['22:13:25.000000', 'wait: -']
    assert len(chart(page, 2).find_elements(By.CSS_SELECTOR, 'circle')) == 0
    page.keys(Keys.ARROW_RIGHT)
    assert len(chart(page, 2).find_elements(By.CSS_SELECTOR, 'circle')) == 1


def test_charts_have_their_table(page):
    details = page.browser.find_elements(By.CSS_SELECTOR, 'details')
    assert len(details) == 2
    details[0].find_element(By.TAG_NAME, 'summary').click()
    rows = details[0].find_elements(By.CSS_SELECTOR, 'tbody tr')
    assert [td.text for td in rows[4].find_elements(By.TAG_NAME, 'td')] == \
        ['16.0 us', '32.0 us', '16,000']


def test_matrix_of_victims_and_culprits(browser, tmp_path):  # noqa: F811
    """The heading of a row is who waited, of a column who ran; the largest time is the darkest."""
    out = tmp_path / 'blame.html'
    found = rows(of_script(tmp_path, SCRIPT, 'blame', '-o', out), 'blame')
    page = Page(browser, out)
    cells = page.js('''const names = row => [...row.children].slice(1);
        const [matrix] = document.querySelectorAll("table.matrix");
        const culprits = names(matrix.tHead.rows[0]).map(th => th.textContent);
        return [...matrix.tBodies[0].rows].flatMap(row => names(row).flatMap((td, i) =>
            td.textContent ? [[row.children[0].textContent, culprits[i], td.textContent,
                td.style.getPropertyValue("--heat")]] : []))''')
    pairs = {(f"{r['comm']} {r['tid']}", f"{r['culprit_comm']} {r['culprit_tid'] or ''}".strip()):
             r['total'] for r in found}
    assert {(victim, culprit) for victim, culprit, _, _ in cells} == set(pairs) and len(pairs) == 5
    most = max(pairs.values())
    assert {(v, c): heat for v, c, _, heat in cells} == {
        pair: f'{round(70 * total / most)}%' for pair, total in pairs.items()}
    assert {text for v, c, text, _ in cells if pairs[v, c] == most} == {'20.0 ms'}
    page.quiet()


def test_charts_fit_a_narrow_window(browser, split):  # noqa: F811
    browser.set_window_size(420, 800)
    try:
        page = Page(browser, split)
        assert page.js('return document.documentElement.scrollWidth <= innerWidth')
        right = max(x + width for x, _, width, _ in boxes(page))
        assert 150 < right < 420
    finally:
        browser.set_window_size(1200, 900)
    page.quiet()


@pytest.mark.parametrize('kind, seeds', [('hostile', [1]), ('random', range(1, 31))])
def test_hostile_sections_are_text(browser, tmp_path, kind, seeds):  # noqa: F811
    """No script runs, no error occurs, and every number of a chart is finite."""
    for seed in seeds:
        page = Page(browser, make(tmp_path / 'x.html', kind, seed))
        assert page.js('return document.title') == 'attar profile'
        assert len(browser.find_elements(By.TAG_NAME, 'script')) == 2
        assert browser.find_elements(By.TAG_NAME, 'img') == []
        assert not page.js('''return [...document.querySelectorAll("svg *")].some(e =>
            [...e.attributes].some(a => /NaN|Infinity|undefined/.test(a.value)))''')
        for figure in browser.find_elements(By.CSS_SELECTOR, '.chart')[:3]:
            page.js('arguments[0].focus()', figure)
            page.keys(Keys.HOME, Keys.ARROW_RIGHT, Keys.END)
            page.js('arguments[0].blur()', figure)
        page.quiet()
