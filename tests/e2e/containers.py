# SPDX-License-Identifier: MIT
"""Containers of runc, and control groups with names as other programs give them."""
import contextlib
import json
import os
import shutil
import subprocess
from pathlib import Path

import hierarchy

BUSYBOX = '/bin/busybox'
APPLETS = ['sh', 'sleep', 'true']


def accounting():
    """Return the mount point whose groups count CPU time, and the file with it and its unit."""
    for line in Path('/proc/mounts').read_text().splitlines():
        _, where, kind, options = line.split()[:4]
        if kind == 'cgroup' and 'cpuacct' in options.split(','):
            return Path(where), 'cpuacct.usage', 1
    return hierarchy.hierarchies()['v2'], 'cpu.stat', 1000


class Container:
    """A container that has been created, and runs from start() on."""

    def __init__(self, name, folder, group, script):
        self.name, self.group = name, group
        root = folder / 'rootfs/bin'
        root.mkdir(parents=True)
        shutil.copy(BUSYBOX, root / 'busybox')
        for applet in APPLETS:
            (root / applet).symlink_to('busybox')
        subprocess.run(['runc', 'spec', '-b', folder], check=True)
        config = json.loads((folder / 'config.json').read_text())
        config['process'] |= {'terminal': False, 'args': ['sh', '-c', script]}
        config['root']['path'] = str(folder / 'rootfs')
        config['linux']['cgroupsPath'] = group
        (folder / 'config.json').write_text(json.dumps(config))
        self.folder = folder

    def create(self):
        subprocess.run(['runc', 'create', '-b', self.folder, self.name], check=True,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, timeout=30)
        return self

    def start(self):
        subprocess.run(['runc', 'start', self.name], check=True, timeout=30)

    def run(self):
        """From its creation to its end."""
        subprocess.run(['runc', 'run', '-b', self.folder, self.name], check=False,
                       stdin=subprocess.DEVNULL, timeout=30)

    def state(self):
        found = subprocess.run(['runc', 'state', self.name], capture_output=True, check=False)
        return json.loads(found.stdout) if found.returncode == 0 else {'status': 'none'}

    def cpu_ns(self):
        where, file, unit = accounting()
        text = (where / self.group.strip('/') / file).read_text().split()
        return int(text[text.index('usage_usec') + 1 if 'usage_usec' in text else 0]) * unit

    def delete(self):
        subprocess.run(['runc', 'delete', '--force', self.name], check=False,
                       capture_output=True, timeout=30)


@contextlib.contextmanager
def control_group(path):
    """A group of version 2 with this path, whose directories are removed afterwards."""
    root = hierarchy.hierarchies()['v2']
    made, group = [], root
    for name in path.strip('/').split('/'):
        group /= name
        if not group.exists():
            group.mkdir()
            made.append(group)
    try:
        yield group
    finally:
        for group in reversed(made):
            hierarchy.remove(group)


def enter(group):
    """For preexec_fn: the process moves itself."""
    (group / 'cgroup.procs').write_text(str(os.getpid()))
