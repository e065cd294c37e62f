# SPDX-License-Identifier: MIT
"""
Builds that tests make in folders next to the tested one. If ccache is installed, only changed files
are compiled, also in a new folder.
"""
import os
import subprocess
from pathlib import Path

from command import ROOT, has

LOW_PRIORITY = ['nice', '-n', '10']
CACHE = Path(os.environ.get('XDG_CACHE_HOME') or Path.home() / '.cache') / 'attar'


def environment(**more):
    """
    The caller's environment with the cache of compiled files. meson finds ccache by itself. Files
    are the same in every folder, except for the folder that debug information names. None: unset.
    """
    found = {'CCACHE_DIR': str(CACHE / 'ccache'), 'CCACHE_MAXSIZE': '1G', 'CCACHE_NOHASHDIR': '1',
             **os.environ, **more}
    return {name: value for name, value in found.items() if value is not None}


def cached(compiler):
    """The compiler command with ccache: meson does not look for ccache if the compiler is given."""
    return ['ccache', compiler] if has('ccache') else [compiler]


def run(*command, **more):
    """
    Return the finished command, with both outputs in `stdout`. Builds leave the CPUs to the tests
    that measure.
    """
    return subprocess.run([*LOW_PRIORITY, *command], cwd=ROOT, env=environment(**more),
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)


def setup(build, *options, **more):
    """Set up the folder if it is new; return the messages of meson if it fails."""
    if (build / 'build.ninja').exists():
        return None
    done = run('meson', 'setup', build, ROOT, *options, **more)
    return done.stdout if done.returncode else None
