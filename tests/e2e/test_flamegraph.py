# SPDX-License-Identifier: MIT
"""The flame graph page in a browser: clicks, zoom, search, filters and hostile names."""
import json
import subprocess
import time
from collections import Counter

import pytest

from browser import DEMO, Page, browser, make, needs_browser  # noqa: F401
from command import run, share_is, workload
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.select import Select
from selenium.webdriver.support.ui import WebDriverWait

pytestmark = needs_browser


@pytest.fixture(scope='module')
def split(tmp_path_factory):
    return make(tmp_path_factory.mktemp('page') / 'split.html', 'split')


@pytest.fixture
def page(browser, split):
    page = Page(browser, split)
    yield page
    page.quiet()


def test_page_has_title_legend_and_notes(page):
    assert page.browser.title == 'attar profile'
    assert page['title'].text == 'attar profile'
    assert page['facts'].text.split('\n')[0].startswith('attar profile -F 997 -g -- ./split')
    assert '5.00 s' in page['facts'].text and 'samples: 1,000' in page['facts'].text
    assert 'cycles are not available: cpu-clock was sampled' in page['notes'].text
    assert '1,000 samples seen, 0 lost, 0 throttled; 1.2% of samples in code without a name' in \
        page['notes'].text
    assert page['legend'].text.split('\n') == ['User 35.00%', 'Kernel 20.00%', 'Inlined 10.00%',
                                               'JIT 10.00%', 'Unknown 25.00%']


def test_frame_widths_are_shares_of_samples(page):
    width = page.rect('all')['width']
    for frame, share in [('split', .65), ('node', .35), ('split-main', .45), ('main', .45),
                         ('sys_read', .2), ('mix', .1),
                         ('cold', .2), ('0x7f0012345678', .25)]:
        assert page.rect(frame)['width'] == pytest.approx(share * width, abs=1)


def test_flip_puts_callers_above(page):
    assert page.rect('main')['y'] > page.rect('hot')['y']
    page['down'].click()
    assert page.rect('main')['y'] < page.rect('hot')['y']
    assert page['down'].get_attribute('aria-pressed') == 'true'
    page['up'].click()
    assert page.rect('main')['y'] > page.rect('hot')['y']


def test_click_zooms_in(page):
    assert not page['reset'].is_enabled()
    page.click('split-worker')
    assert page.state['zoom'] == 'split-worker'
    assert page.rect('cold')['width'] == pytest.approx(page.rect('all')['width'], abs=1)
    assert page.rect('mix') is None
    assert '20.00%, 200 (100.00% of this view)' in page['detail'].text
    page.click('cold')
    assert page.state['zoom'] == 'cold'
    assert page.rect('hot')['width'] == pytest.approx(page.rect('all')['width'] / 4, abs=1)
    page.click('split')  # a caller of the zoomed frame
    assert page.state['zoom'] == 'split'
    page['reset'].click()
    assert page.state['zoom'] == 'all'


def test_tooltip_shows_self_and_total(page):
    assert page.tip('LazyCompile:~run app.js:3') == [
        'LazyCompile:~run app.js:3', 'perf-77.map · JIT', 'Total 35.00%, 350', 'Self 10.00%, 100']
    page.click('split')
    assert page.tip('sys_read')[2:] == ['Total 20.00%, 200 (30.77% of this view)',
                                        'Self 20.00%, 200 (30.77% of this view)']


def test_search_counts_every_stack_once(page):
    """hot is called by main and by cold."""
    assert page.search('hot') == '45.00% matched'
    assert page.search('^(main|hot)$') == '50.00% matched'
    assert page.search('MAIN') == 'no match'
    assert page.search('cold|sys_read|hot') == '60.00% matched'
    assert page.search('nothing like it') == 'no match'
    # not a regular expression: searched literally
    assert page.search('run app.js:3(') == 'no match'
    page.search('hot')
    found, other = page.colour('hot'), page.colour('main')
    assert found[2] > 150 > other[2]  # magenta, orange
    page.click('split-worker')
    assert page['matched'].text == '25.00% matched'
    page['search'].send_keys(Keys.ESCAPE)
    assert page['matched'].text == '' and page['search'].get_attribute('value') == ''


def test_order_of_siblings(page):
    assert page.rect('split')['x'] < page.rect('node')['x']
    assert page.rect('sys_read')['x'] < page.rect('mix')['x']
    page['by-name'].click()
    assert page.rect('node')['x'] < page.rect('split')['x']
    assert page.rect('mix')['x'] < page.rect('sys_read')['x']
    page['by-weight'].click()
    assert page.rect('split')['x'] < page.rect('node')['x']


def test_filter_by_process_and_thread(page):
    assert page.options() == ['All processes', 'split (100) 65.00%', 'thread 100 split-main 45.00%',
                              'thread 101 split-worker 20.00%', 'node (77) 35.00%']
    choose = Select(page['task']).select_by_value

    def fills(frame):
        """Read both at once, because the page may lay itself out again in between."""
        return page.js(
            'const [a, b] = [attar.rect("all"), attar.rect(arguments[0])]; return Math.abs(a.width '
            '- b.width) < 1', frame)
    choose('77')
    assert page.state['total'] == 350
    assert fills('node') and page.rect('main') is None
    assert page.search('run app') == '100.00% matched'
    choose('100/101')
    assert page.state['total'] == 200 and page.rect('main') is None
    assert fills('cold')
    assert page['legend'].text.split('\n')[0] == 'User 100.00%'
    choose('100')
    assert page.state['total'] == 650
    choose('')
    assert page.state['total'] == 1000


def test_page_is_usable_with_the_keyboard(page):
    page['view'].click()
    page.keys(Keys.ESCAPE, Keys.HOME)
    page.keys(Keys.ARROW_UP)
    assert page.state['chosen'] == 'split'
    page.keys(Keys.ARROW_RIGHT)
    assert page.state['chosen'] == 'node'
    page.keys(Keys.ARROW_LEFT, Keys.ARROW_UP, Keys.ARROW_UP)
    assert page.state['chosen'] == 'main'
    assert 'main split, total 45.00%, 450; self 5.00%, 50' in page.js(
        'return document.getElementById("live").textContent')
    page.keys(Keys.ENTER)
    assert page.state['zoom'] == 'main'
    page.keys(Keys.BACKSPACE)
    assert page.state['zoom'] == 'split-main'
    page.keys('f')
    assert not page.state['flame']
    page.keys(Keys.ARROW_DOWN)
    assert page.state['chosen'] == 'main'
    page.keys('s')
    assert page.state['byName']
    page.keys('sf', '/')
    assert page.js('return document.activeElement.id') == 'search'
    page.keys('cold')
    assert page['matched'].text == 'no match'  # split-main is zoomed in
    page.keys(Keys.ESCAPE, Keys.ESCAPE)
    assert page.state['zoom'] == 'all' and page['matched'].text == ''
    page.js('document.activeElement.blur()')
    page.keys('?')
    assert page['keys'].is_displayed()
    page.keys(Keys.ESCAPE)
    assert not page['keys'].is_displayed()


def test_next_match_is_selected(page):
    page.search('hot')
    page['view'].click()
    page.keys('n')
    first = page.state['chosen']
    page.keys('n')
    assert (first, page.state['chosen']) == ('hot', 'hot')


def test_name_is_copied(page):
    page.click('LazyCompile:~run app.js:3')
    page.js('''window.said = [];
        const copy = document.getElementById("copy");
        const observer = new MutationObserver(() => said.push(copy.textContent));
        observer.observe(copy, {childList: true});''')
    page['copy'].click()
    WebDriverWait(page.browser, 20).until(lambda _: page.js('return said[0]') == 'Copied')
    page['search'].click()
    ActionChains(page.browser).key_down(Keys.CONTROL).send_keys('v').key_up(Keys.CONTROL).perform()
    assert page['search'].get_attribute('value') == 'LazyCompile:~run app.js:3'


def luminance(colour):
    def linear(c):
        return c / 12.92 if c <= .03928 else ((c + .055) / 1.055) ** 2.4
    return sum(w * linear(c / 255) for w, c in zip((.2126, .7152, .0722), colour))


def contrast(a, b):
    light, dark = sorted([luminance(a), luminance(b)], reverse=True)
    return (light + .05) / (dark + .05)


def rgb(text):
    return tuple(int(part) for part in text[text.index('(') + 1:-1].split(',')[:3])


@pytest.mark.parametrize('scheme,ink', [('light', (28, 26, 23)), ('dark', (245, 241, 234))])
def test_page_follows_light_and_dark_mode(page, scheme, ink):
    """The system's preference changes while the page is open; text is readable on every colour."""
    page.emulate(scheme)
    try:
        WebDriverWait(page.browser, 20).until(lambda _: (luminance(page.colour('main')) > .3)
                                              == (scheme == 'light'))
        body = page.js(
            'const s = getComputedStyle(document.body); return [s.backgroundColor, s.color]')
        assert (luminance(rgb(body[0])) > .5) == (scheme == 'light')
        assert contrast(rgb(body[0]), rgb(body[1])) > 7
        kinds = ['main', 'sys_read', 'mix', 'LazyCompile:~run app.js:3', '0x7f0012345678', 'split']
        colours = [page.colour(frame) for frame in kinds]
        assert len(set(colours)) == len(kinds)
        assert all(contrast(colour, ink) > 4.5 for colour in colours), colours
        page.search('main|sys_read')
        assert page.colour('main') == \
            page.colour('sys_read') and contrast(page.colour('main'), ink) > 4.5
    finally:
        page.browser.execute_cdp_cmd('Emulation.setEmulatedMedia', {'features': []})


def test_tables_below_the_graph(page):
    tables = page.browser.find_elements(By.TAG_NAME, 'table')
    names = [e.text for e in page.browser.find_elements(By.CSS_SELECTOR, '#tables h2')]
    assert names == ['functions', 'latency', 'activity', 'wakeups']

    def cells():
        return [[td.text for td in tr.find_elements(By.TAG_NAME, 'td')]
                for tr in tables[0].find_elements(By.CSS_SELECTOR, 'tbody tr')]
    assert cells()[0] == ['39.50%', '65.00%', 'split', 'split', 'hot']
    tables[0].find_elements(By.TAG_NAME, 'th')[1].find_element(By.TAG_NAME, 'button').click()
    assert cells()[0] == ['5.00%', '100.00%', 'split', 'split', 'main']
    assert '0xffffffff81000000' in tables[3].text \
        and 'main+0x17 (split) / _start+0x2e (split)' in tables[3].text


def test_report_without_stacks(browser, tmp_path):
    page = Page(browser, make(tmp_path / 'tables.html', 'tables'))
    assert not page['flame'].is_displayed()
    assert len(browser.find_elements(By.CSS_SELECTOR, 'tbody tr')) == 5
    assert '1,000 samples seen' in page['notes'].text
    page.quiet()


def test_report_without_samples(browser, tmp_path):
    page = Page(browser, make(tmp_path / 'empty.html', 'empty'))
    assert page['nothing'].text == 'No samples.'
    page.keys(Keys.ARROW_UP, Keys.ENTER, Keys.ESCAPE, 'n')
    page.quiet()


def test_hostile_names_are_text(browser, tmp_path):
    page = Page(browser, make(tmp_path / 'hostile.html', 'hostile'))
    assert browser.title == 'attar profile'
    assert len(browser.find_elements(By.TAG_NAME, 'script')) == 2
    assert browser.find_elements(By.TAG_NAME, 'img') == []
    stacks = {stack[-1]: weight for stack, weight in page.js('return attar.stacks()')}
    assert stacks["</script><script>document.title='PWN'</script>"] == 1
    assert stacks['\\u003c\\"\\'] == 5
    assert stacks['\\x1b]0;PWN\\x07'] == 6
    assert stacks['a\\x0ab\\x09c\\x0d'] == 7
    assert stacks['\ufffd\ufffd\ufffd bad \ufffd\ufffd\ufffd'] == 8
    assert stacks['漢字 😀 e\u0301'] == 14
    assert stacks['x' * 10000] == 1000
    assert len(stacks) == 18
    page.at('x' * 10000).perform()
    WebDriverWait(browser, 10).until(lambda _: page['tip'].is_displayed())
    assert page['tip'].size['height'] < 600
    page.click('x' * 10000)
    assert page['detail'].size['height'] < 200
    assert page.search('<img src=x') == 'no match'
    page['reset'].click()
    assert page['matched'].text.endswith('% matched')
    page.quiet()


def test_packed_data_equal_the_json_report(browser, tmp_path):
    """Random trees: every stack and weight of the page is in the JSON report and vice versa."""
    compared = 0
    for seed in range(1, 31):
        page = Page(browser, make(tmp_path / 'random.html', 'random', seed))
        text = subprocess.run([DEMO, 'random', 'json', str(seed)], capture_output=True,
                              check=True).stdout
        tree = json.loads(text)['sections'][-1]['rows']
        depths, wanted, found = [], Counter(), Counter()
        for parent, _, name, _, own, *_ in tree:
            depths.append(depths[parent] + 1 if parent >= 0 else 1)
            wanted[depths[-1], name] += own
        for stack, weight in page.js('return attar.stacks()'):
            found[len(stack), stack[-1]] += weight
        assert sum(found.values()) == sum(wanted.values())
        # Invalid text is shown as bytes in the page and replaced in JSON: compare plain names only.
        plain = {key: n for key,
                 n in wanted.items() if n and key[1].isprintable() and '\ufffd' not in key[1]}
        assert all(found[key] == n for key, n in plain.items())
        compared += len(plain)
        page.quiet()
    assert compared > 500


def test_100000_stacks_are_small_and_shown_at_once(browser, tmp_path):
    """The page is below 3 MB; a step that is quadratic in the stacks would take minutes."""
    path = make(tmp_path / 'many.html', 'many', 100000)
    assert path.stat().st_size < 3_000_000
    page = Page(browser, path)
    took = page.js('const t = performance.timing; return t.loadEventEnd - t.navigationStart')
    assert took < 15000
    assert page.state['nodes'] > 1_000_000 and page.state['drawn'] > 1000
    start = time.monotonic()
    assert page.search('BTree').endswith('% matched')
    page.click('proxy')
    page['by-name'].click()
    page['down'].click()
    assert time.monotonic() - start < 30
    page.quiet()


def test_deep_recursion_scrolls(browser, tmp_path):
    page = Page(browser, make(tmp_path / 'deep.html', 'deep', 20000))
    assert page.js(
        'const v = document.getElementById("view"); return v.scrollHeight > 300000 && '
        'v.clientHeight < 900')
    assert page.rect('all')['y'] < 900
    page.keys(Keys.HOME, *[Keys.ARROW_UP] * 100)
    assert page.state['chosen'] == 'recurse 98'
    rect = page.rect('recurse 98')
    assert 0 < rect['y'] < 900
    page.quiet()


def test_narrow_window(browser, split):
    browser.set_window_size(420, 800)
    try:
        page = Page(browser, split)
        assert page.js('return document.documentElement.scrollWidth <= innerWidth')
        page.click('split-worker')
        assert page.state['zoom'] == 'split-worker'
    finally:
        browser.set_window_size(1200, 900)
    page.quiet()


def test_page_of_a_real_run(browser, tmp_path):
    """The page of a real run: 70% of the samples of split7030 are in heavy."""
    out = tmp_path / 'real.html'
    done = run('profile', '-q', '-F', 997, '-g', '--exclude-kernel', '-o', out,
               '-o', out.with_suffix('.json'), '--', workload('split7030'))
    assert done.returncode == 0, done.stderr
    page = Page(browser, out)
    samples = json.loads(out.with_suffix('.json').read_text())['notes']['seen']
    share_is(float(page.search('^heavy$').split('%')[0]) / 100 * samples, samples, 0.7)
    assert f'-- {workload("split7030")}' in page['facts'].text
    assert page.rect('main')['width'] > 0
    page.quiet()
