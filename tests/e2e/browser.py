# SPDX-License-Identifier: MIT
"""A page of attar in a browser: the fixture `browser`, and the actions of its user."""
import itertools
import json
import shutil
import subprocess

import pytest

from command import BUILD

webdriver = pytest.importorskip('selenium.webdriver',
                                reason='selenium (package python3-selenium) is not installed')
from selenium.webdriver.chrome.options import Options  # noqa: E402
from selenium.webdriver.chrome.service import Service  # noqa: E402
from selenium.webdriver.common.action_chains import ActionChains  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.support.select import Select  # noqa: E402
from selenium.webdriver.support.ui import WebDriverWait  # noqa: E402

DEMO = BUILD / 'tests/e2e/report_demo'
CHROMIUM, DRIVER = shutil.which('chromium'), shutil.which('chromedriver')
FLAGS = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
         '--disable-background-networking',
         '--disable-component-update', '--disable-sync', '--disable-dev-shm-usage',
         '--window-size=1200,900']

@pytest.fixture(scope='module')
def browser(tmp_path_factory):
    options = Options()
    options.binary_location = CHROMIUM
    for flag in [*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"]:
        options.add_argument(flag)
    options.set_capability('goog:loggingPrefs', {'browser': 'ALL', 'performance': 'ALL'})
    driver = webdriver.Chrome(service=Service(DRIVER), options=options)
    driver.set_page_load_timeout(60)
    yield driver
    driver.quit()


def make(path, kind, number=1):
    with open(path, 'wb') as out:
        subprocess.run([DEMO, kind, 'html', str(number)], stdout=out, check=True, timeout=60)
    return path


class Page:
    """An open page, and the actions of its user."""

    def __init__(self, browser, path):
        self.browser, self.path = browser, path
        browser.get_log('browser'), browser.get_log('performance')
        browser.get(f'file://{path}')

    def __getitem__(self, name):
        return self.browser.find_element(By.ID, name)

    def js(self, text, *args):
        return self.browser.execute_script(text, *args)

    @property
    def state(self):
        return self.js('return attar.state()')

    def rect(self, frame):
        return self.js('return attar.rect(arguments[0])', frame)

    def at(self, frame, offset=0):
        """Move the mouse onto the frame; offset: pixels."""
        rect = self.rect(frame)
        assert rect, f'{frame} is not drawn'
        actions = ActionChains(self.browser, duration=0)
        actions.w3c_actions.pointer_action.move_to_location(
            round(rect['x'] + min(rect['width'] / 2, 40)) + offset,
            round(rect['y'] + rect['height'] / 2))
        return actions

    def click(self, frame):
        self.at(frame).click().perform()

    def tip(self, frame):
        """
        Return the lines of the frame's tooltip; the browser delivers mouse moves before it next
        draws, and drops some when it is busy.
        """
        moves = itertools.count()

        def is_shown(_):
            self.at(frame, next(moves) % 2).perform()
            return self['tip'].text.startswith(frame)

        WebDriverWait(self.browser, 10).until(is_shown)
        return self['tip'].text.split('\n')

    def keys(self, *keys):
        ActionChains(self.browser, duration=0).send_keys(*keys).perform()

    def search(self, text):
        self['search'].clear()
        self['search'].send_keys(text)
        return self['matched'].text

    def options(self):
        return [' '.join(option.text.split()) for option in Select(self['task']).options]

    def colour(self, frame):
        """Return the background colour of the frame on the canvas."""
        rect = self.rect(frame)
        return tuple(self.js('''
            const [x, y] = arguments, canvas = document.getElementById("canvas");
            const box = canvas.getBoundingClientRect();
            const ratio = canvas.width / box.width;
            const at = [(x - box.left) * ratio, (y - box.top) * ratio];
            return [...canvas.getContext("2d").getImageData(...at, 1, 1).data];
            ''', rect['x'] + rect['width'] - 4, rect['y'] + 3)[:3])

    def emulate(self, scheme):
        self.browser.execute_cdp_cmd('Emulation.setEmulatedMedia', {
            'features': [{'name': 'prefers-color-scheme', 'value': scheme}]})

    def quiet(self):
        """Fail if the console has a message or anything but the file itself was requested."""
        # Only the tests read the canvas, not the page.
        assert [e for e in self.browser.get_log('browser')
                if 'getImageData' not in e['message']] == []
        asked = [json.loads(entry['message'])['message']
                 for entry in self.browser.get_log('performance')]
        urls = {m['params']['request']['url'] for m in asked
                if m['method'] == 'Network.requestWillBeSent'}
        # chrome: is the browser's start page, data: URLs have their own content.
        assert {url for url in urls if not url.startswith(('chrome', 'data:'))} <= \
            {f'file://{self.path}'}


needs_browser = pytest.mark.skipif(not (CHROMIUM and DRIVER),
                                   reason='chromium (packages chromium, chromium-driver) is not '
                                          'installed')
