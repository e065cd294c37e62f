# SPDX-License-Identifier: MIT
"""
A FUSE file system of another user that answers no read: silent_fuse.py DIRECTORY UID. The directory
has one file, whatever its name. As fusermount(1) does, root mounts it, for the user only.
"""
import contextlib
import ctypes
import os
import struct
import sys

LOOKUP, FORGET, GETATTR, OPEN, READ, INIT, OPENDIR, INTERRUPT, BATCH_FORGET = (
    1, 2, 3, 14, 15, 26, 27, 36, 42)
ROOT, FILE, VALID_SECONDS, ENOSYS = 1, 2, 1000, 38


def attributes(node):
    mode = 0o40755 if node == ROOT else 0o100644
    return struct.pack('<6Q10I', node, 4096, 8, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)


def answer_to(call, node):
    """None: the caller waits."""
    if call == INIT:
        return struct.pack('<IIIIHHIIHHI28x', 7, 31, 65536, 0, 10, 7, 65536, 1, 0, 0, 0)
    if call == LOOKUP:
        return struct.pack('<4QII', FILE, 0, VALID_SECONDS, VALID_SECONDS, 0, 0) + attributes(FILE)
    if call == GETATTR:
        return struct.pack('<QII', VALID_SECONDS, 0, 0) + attributes(node)
    if call in (OPEN, OPENDIR):
        return struct.pack('<QII', 1, 0, 0)
    return None


def serve(fd):
    while True:
        _, call, unique, node = struct.unpack_from('<IIQQ', os.read(fd, 1 << 20))
        answer = answer_to(call, node)
        if answer is not None:
            os.write(fd, struct.pack('<IiQ', 16 + len(answer), 0, unique) + answer)
        elif call not in (READ, FORGET, INTERRUPT, BATCH_FORGET):
            os.write(fd, struct.pack('<IiQ', 16, -ENOSYS, unique))


def main(directory, user):
    libc = ctypes.CDLL(None, use_errno=True)
    fd = os.open('/dev/fuse', os.O_RDWR)
    options = f'fd={fd},rootmode=40000,user_id={user},group_id={user}'
    if libc.mount(b'silent', directory.encode(), b'fuse', 0, options.encode()):
        sys.exit(f'mount: {os.strerror(ctypes.get_errno())}')
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    print('ready', flush=True)
    with contextlib.suppress(OSError):  # it was unmounted
        serve(fd)


if __name__ == '__main__':
    main(sys.argv[1], int(sys.argv[2]))
