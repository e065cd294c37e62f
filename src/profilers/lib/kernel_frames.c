/* SPDX-License-Identifier: MIT */
#include "lib/kernel_frames.h"

#include <stdlib.h>
#include <string.h>

enum { SLOTS = 4096, SYSCALL_BYTES = 32 };

/* What is known of a location, by its hash. A location with the same hash replaces it. */
struct slot {
	attar_location location;
	uint8_t mark; /* enum frame_mark */
	bool has_name;
	char syscall[SYSCALL_BYTES];
};

struct frames {
	struct attar_symbols *symbols;
	struct slot slots[SLOTS];
};

/* Names of functions; one that ends in * begins so. Several versions of Linux have several. */
static const struct {
	enum frame_mark mark;
	const char *names; /* separated by blanks */
} lists[] = {
	{FRAME_DISK,
		"io_schedule io_schedule_timeout bit_wait_io bit_wait_io_timeout "
		"folio_wait_bit_common wait_on_page_bit* __wait_on_buffer submit_bio_wait "
		"bio_await_chain blk_mq_get_tag blk_execute_rq blk_mq_freeze_queue* "
		"blkdev_issue_flush rq_qos_wait wbt_wait jbd2_* start_this_handle "
		"wait_transaction_locked ext4_sync_file xfs_log_* xlog_* xfs_buf_* xfs_file_fsync "
		"btrfs_* f2fs_* balance_dirty_pages* wait_sb_inodes sync_inodes_sb "
		"wb_wait_for_completion dio_await_completion nfs_* nfs4_* rpc_wait_bit_killable "
		"p9_client_rpc request_wait_answer cifs_* ceph_*"},
	{FRAME_LOCK, "mutex_lock* __mutex_lock* ww_mutex_lock* rwsem_down_* down_read* down_write* "
		     "__down* down down_interruptible rt_mutex_lock* rt_mutex_slowlock* "
		     "__rt_mutex_slowlock* rt_spin_lock* rwbase_* percpu_rwsem_wait "
		     "__percpu_down_read lock_mount* posix_lock_inode_wait flock_lock_inode_wait "
		     "locks_lock_inode_wait fcntl_setlk __break_lease do_semtimedop "
		     "__do_semtimedop"},
	{FRAME_FUTEX,
		"futex_wait __futex_wait futex_wait_queue* futex_lock_pi futex_wait_requeue_pi "
		"futex_wait_multiple"},
	{FRAME_SLEEP, "do_nanosleep hrtimer_nanosleep common_nsleep* alarm_timer_nsleep msleep "
		      "msleep_interruptible usleep_range*"},
	{FRAME_WORK,
		"ep_poll do_epoll_wait do_sys_poll do_select core_sys_select inet_csk_accept "
		"inet_accept unix_accept vsock_accept io_cqring_wait read_events do_sigtimedwait "
		"do_sigsuspend "
		"sigsuspend __do_sys_pause inotify_read fanotify_read eventfd_read timerfd_read* "
		"signalfd_dequeue signalfd_read* n_tty_read do_wait kernel_wait4 "
		"wait_for_vfork_done kernel_clone _do_fork worker_thread kthreadd rescuer_thread "
		"smpboot_thread_fn kthread_worker_fn"},
	{FRAME_PEER,
		"pipe_read pipe_write anon_pipe_read anon_pipe_write fifo_open wait_for_partner "
		"pipe_wait_readable pipe_wait_writable wait_for_space "
		"unix_stream_* unix_dgram_* unix_wait_for_peer sock_alloc_send_pskb tcp_recvmsg* "
		"tcp_sendmsg* sk_wait_data sk_stream_wait_memory inet_stream_connect "
		"inet_wait_for_connect __skb_wait_for_more_packets skb_recv_datagram "
		"__skb_recv_datagram vsock_* do_msgrcv do_msgsnd wq_sleep do_mq_timed* "
		"n_tty_write handle_userfault sk_stream_wait_close seccomp_do_user_notification "
		"fanotify_handle_event fanotify_get_response"},
	{FRAME_SPIN, "native_queued_spin_lock_slowpath queued_spin_lock_slowpath "
		     "__pv_queued_spin_lock_slowpath queued_write_lock_slowpath "
		     "queued_read_lock_slowpath osq_lock mutex_spin_on_owner "
		     "rwsem_spin_on_owner rwsem_optimistic_spin"},
	{FRAME_FAULT,
		"asm_exc_page_fault exc_page_fault page_fault async_page_fault do_user_addr_fault "
		"handle_mm_fault do_page_fault do_translation_fault do_mem_abort"},
	{FRAME_IRQ, "asm_sysvec_* asm_common_interrupt common_interrupt sysvec_* "
		    "apic_timer_interrupt __irq_exit_rcu irq_exit_rcu irq_exit do_softirq* "
		    "__do_softirq handle_softirqs el1_irq el1h_64_irq el0_irq el0t_64_irq "
		    "gic_handle_irq el1_interrupt el0_interrupt"},
	/* perf_trace_init and others are not listed: a program opens events of its own, too */
	{FRAME_PERF,
		"perf_event_init_task perf_event_free_task perf_event_exit_task* "
		"perf_event_delayed_put perf_event_fork perf_event_task perf_event_comm* "
		"perf_event_exec perf_event_namespaces* perf_event_mmap* perf_event_ksymbol* "
		"perf_event_bpf_event* perf_event_text_poke* inherit_event inherit_task_group"},
	{FRAME_KTHREAD, "kthread"},
};

/* Suffixes that the compiler adds begin with a dot. */
static bool matches(const char *names, const char *name)
{
	size_t length = strcspn(name, ".");

	while (*names) {
		size_t n = strcspn(names, " ");
		bool is_prefix = names[n - 1] == '*';

		if (!strncmp(name, names, n - is_prefix) && (is_prefix || n == length))
			return true;
		names += n + (names[n] == ' ');
	}
	return false;
}

/*
 * "__x64_sys_read", "__arm64_sys_read", "__se_sys_read", "__do_sys_read": "read"; or NULL. These
 * often end with a jump to another function, "ksys_read", and are not in the stack then.
 */
static const char *syscall_of(const char *name)
{
	static const char *const prefixes[] = {"__x64_sys_", "__arm64_sys_", "__ia32_sys_",
		"__se_sys_", "__do_sys_", "ksys_", "__sys_"};
	static const struct {
		const char *function, *syscall;
	} others[] = {{"ksys_mmap_pgoff", "mmap"}, {"ksys_fadvise64_64", "fadvise64"},
		{"do_sys_open", "openat"}, {"do_sys_openat2", "openat"}, {"do_readv", "readv"},
		{"kern_select", "select"}, {"do_pselect", "pselect6"}, {"do_writev", "writev"},
		{"do_preadv", "preadv"}, {"do_pwritev", "pwritev"},
		{"do_semtimedop", "semtimedop"}};

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (!strncmp(name, others[i].function, strcspn(name, ".")) &&
			strlen(others[i].function) == strcspn(name, "."))
			return others[i].syscall;
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
		if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
			return name + strlen(prefixes[i]);
	return NULL;
}

static enum frame_mark mark_of(const char *name)
{
	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++)
		if (matches(lists[i].names, name))
			return lists[i].mark;
	return syscall_of(name) ? FRAME_SYSCALL : FRAME_NONE;
}

/* Functions of Go's runtime that wait for a futex, and why. */
static enum frame_mark mark_of_go(const char *name)
{
	static const struct {
		enum frame_mark mark;
		const char *prefix;
	} functions[] = {{FRAME_GO_FUTEX, "futex"}, {FRAME_GO_NOTE, "notesleep"},
		{FRAME_GO_NOTE, "notetsleep"}, {FRAME_GO_STOPS, "stopTheWorld"},
		{FRAME_GO_STOPS, "forEachP"}};

	if (strncmp(name, "runtime.", strlen("runtime.")) != 0)
		return FRAME_NONE;
	name += strlen("runtime.");
	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++)
		if (!strncmp(name, functions[i].prefix, strlen(functions[i].prefix)))
			return functions[i].mark;
	return FRAME_NONE;
}

/* By the name of a function of the kernel. */
static void set_mark(struct slot *slot, const char *name)
{
	slot->mark = mark_of(name);
	if (!syscall_of(name)) /* some are functions in which threads wait, too */
		return;
	strncpy(slot->syscall, syscall_of(name), SYSCALL_BYTES - 1);
	slot->syscall[strcspn(slot->syscall, ".")] = '\0';
}

/* Also a location of frames_add_name(). */
static bool is_kernel(attar_location location)
{
	return attar_location_dso(location) == ATTAR_DSO_KERNEL ||
	       attar_location_dso(location) == ATTAR_DSO_LABEL;
}

static void kernel_frames_fill(struct frames *frames, struct slot *slot, attar_location location)
{
	struct attar_symbol symbol;

	*slot = (struct slot){.location = location};
	if (attar_symbols_resolve(frames->symbols, location, &symbol) < 0)
		return;
	slot->has_name = true;
	if (is_kernel(location))
		set_mark(slot, symbol.name);
	else
		slot->mark = mark_of_go(symbol.name);
}

static struct slot *slot_at(struct frames *frames, attar_location location)
{
	return &frames->slots[location * 0x9e3779b97f4a7c15ULL >> 52];
}

static struct slot *find_slot(struct frames *frames, attar_location location)
{
	struct slot *slot = slot_at(frames, location);

	if (slot->location != location)
		kernel_frames_fill(frames, slot, location);
	return slot;
}

/* NULL: it is not code of the kernel. */
static struct slot *slot_of(struct frames *frames, attar_location location)
{
	return attar_location_dso(location) == ATTAR_DSO_KERNEL ? find_slot(frames, location)
								: NULL;
}

const char *frames_syscall(struct frames *frames, attar_location location)
{
	return is_kernel(location) ? find_slot(frames, location)->syscall : "";
}

static void kernel_frames_take(
	struct frame_summary *summary, attar_location location, const struct slot *slot)
{
	const enum frame_mark mark = slot->mark;

	if (*slot->syscall)
		summary->syscall = location;
	if (mark >= FRAME_DISK && mark <= FRAME_PEER) {
		if (!summary->waits)
			summary->waits = mark;
	} else if (mark >= FRAME_SPIN && mark <= FRAME_IRQ) {
		if (!summary->runs)
			summary->runs = mark;
	} else if (mark == FRAME_PERF) {
		summary->is_perf = true;
	} else if (mark == FRAME_KTHREAD) {
		summary->is_kernel_thread = true;
	}
}

void frames_read(struct frames *frames, const attar_location *stack, size_t n,
	struct frame_summary *ret_summary)
{
	struct frame_summary summary = {0};

	for (size_t i = 0; i < n; i++) {
		const struct slot *slot = slot_of(frames, stack[i]);

		if (!slot)
			break;
		summary.has_names |= slot->has_name;
		kernel_frames_take(&summary, stack[i], slot);
	}
	*ret_summary = summary;
}

bool frames_are_of_perf(struct frames *frames, const attar_location *stack, size_t n)
{
	const struct slot *slot;

	for (size_t i = 0; i < n && (slot = slot_of(frames, stack[i])); i++)
		if (slot->mark == FRAME_PERF)
			return true;
	return false;
}

bool frames_are_idle_go(struct frames *frames, const attar_location *stack, size_t n)
{
	enum { CALLERS = 16 };
	size_t user = 0, i;
	bool is_note = false;

	while (user < n && attar_location_dso(stack[user]) == ATTAR_DSO_KERNEL)
		user++;
	for (i = user; i < n && i < user + CALLERS; i++) {
		enum frame_mark mark = find_slot(frames, stack[i])->mark;

		if (mark == FRAME_GO_STOPS)
			return false;
		is_note |= mark == FRAME_GO_NOTE;
	}
	/* without callers: most notes are waited for longer than any lock */
	return is_note || (i == user + 1 && find_slot(frames, stack[user])->mark == FRAME_GO_FUTEX);
}

void left_out_remark_perf(
	struct left_out *waits, struct attar_report *report, enum attar_scope scope)
{
	left_out_remark_time(waits, report, scope, "wait",
		"the kernel was working for events of attar or of another profiler");
}

void left_out_remark_go(struct left_out *waits, struct attar_report *report, enum attar_scope scope)
{
	left_out_remark_time(
		waits, report, scope, "wait", "a thread of Go had nothing to run meanwhile");
}

void left_out_remark_allocations(
	struct left_out *allocations, struct attar_report *report, enum attar_scope scope)
{
	left_out_remark_bytes(allocations, report, scope, "allocation",
		"the kernel needed the memory for events of attar or of another profiler");
}

attar_location frames_add_name(
	struct frames *frames, struct frame_summary *summary, const char *name)
{
	attar_location label = attar_symbols_label(frames->symbols, name);
	struct slot *slot = slot_at(frames, label);

	if (slot->location != label) {
		*slot = (struct slot){.location = label, .has_name = true};
		set_mark(slot, name);
	}
	summary->has_names = true;
	kernel_frames_take(summary, label, slot);
	return label;
}

struct frames *frames_new(struct attar_symbols *symbols)
{
	struct frames *frames = calloc(1, sizeof(*frames));

	if (frames)
		frames->symbols = symbols;
	return frames;
}

void frames_free(struct frames *frames)
{
	free(frames);
}
