# SPDX-License-Identifier: MIT
"""Which unit tests and live tests are repeated on other kernels and for arm64."""
SHARE = 'ATTAR_TEST_SHARE=10'  # of the rounds with random input: emulation is slow
LIVE = ('live_aux', 'live_deferred', 'live_overwrite', 'live_perf', 'live_stream')  # prefixes
READ_THE_KERNEL = {'unit_event_format', 'unit_event_probe', 'unit_kallsyms', 'unit_procs',
                   'unit_symbol_process'}
# User-mode emulation has no perf events, and does not emulate /proc and signal frames exactly.
NEED_A_GUEST = READ_THE_KERNEL | {'unit_maps', 'unit_proc', 'unit_proc_memory',
                                  'unit_recording_writer', 'unit_symtab', 'unit_task_name',
                                  'unit_unwind'}
# Nor seccomp and the limits of processes, of which readers and messages make use, nor filters of
# sockets, nor what /proc says of the system call of a thread.
NOT_EMULATED = {'unit_accept_filter', 'unit_accept_gate', 'unit_err', 'unit_reader',
                'unit_replay_run', 'unit_wait_lock'}
# attach_threads: its creator of threads must not be preempted for a time slice between the creation
# and the record of it, which happens on one slow CPU. debugfile runs objcopy, which knows the
# machine's own architecture only. event_print compares lines with those of the kernel's own trace,
# which fall out of step in a slow guest.
NOT_ON_ARM64 = {'live_attach_threads', 'unit_debugfile', 'unit_event_print'}


def found(build, pattern):
    return sorted(path for path in (build / 'tests').glob(pattern) if path.is_file())


def for_guest(build, kernel):
    """Return those that test the kernel; for arm64 also those that cannot be emulated."""
    names, prefixes = (NEED_A_GUEST, 'live_') if kernel == 'arm64' else (READ_THE_KERNEL, LIVE)
    return [path for path in found(build, 'unit/unit_*') + found(build, 'live/live_*')
            if (path.name in names or path.name.startswith(prefixes)) and
            not (kernel == 'arm64' and path.name in NOT_ON_ARM64)]


def for_emulation(build):
    """Return those that user-mode emulation of arm64 runs."""
    return [path for path in found(build, 'unit/unit_*')
            if path.name not in NEED_A_GUEST | NOT_ON_ARM64 | NOT_EMULATED and
            not path.name.endswith('_apart')]
