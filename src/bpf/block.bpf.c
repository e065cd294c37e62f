/* SPDX-License-Identifier: MIT */
/*
 * The times of requests of block devices, from the issue to the driver to the completion, by device
 * and type. A request is known by its address, from which a start is kept until the completion.
 */
#define START_KEY __u64
#define KEY_BYTES SUMS_BLOCK_KEY
#define ROWS      SUMS_BLOCK_ROWS
#define PAGES     SUMS_BLOCK_PAGES
#include "bpf/program.h"

enum {
	SECTOR_SHIFT = 9,
	MINOR_BITS = 20,
	OPERATION = 0xff, /* of the flags of a request */
	OP_WRITE = 1,
	OP_FLUSH = 2,
	OP_DISCARD = 3,
};

#define NO_SECTOR   (~0ull)
#define IS_REQUEUED (1ull << 31) /* of the row of a start: it will be issued again */

enum mq_rq_state { MQ_RQ_IDLE };

struct gendisk {
	int major, first_minor;
} KERNEL_STRUCT;

struct request_queue {
	struct gendisk *disk;
} KERNEL_STRUCT;

struct request {
	struct request_queue *q;
	unsigned int cmd_flags;
	unsigned int __data_len;
	__u64 __sector;
	enum mq_rq_state state;
} KERNEL_STRUCT;

/* Before Linux 5.17. */
struct request___before_5_17 {
	struct gendisk *rq_disk;
} KERNEL_STRUCT;

/* The bits of the flags, whose numbers the kernel's type information has. */
enum req_flag_bits {
	__REQ_SYNC = 11,
	__REQ_META = 12,
	__REQ_FUA = 17,
	__REQ_PREFLUSH = 18,
	__REQ_RAHEAD = 19,
	__REQ_ATOMIC = 24,
};

#define HAS_FLAG(flags, bit)                                                                       \
	(bpf_core_enum_value_exists(enum req_flag_bits, bit) &&                                    \
		(flags) >> bpf_core_enum_value(enum req_flag_bits, bit) & 1)

static __always_inline __u32 type_of(const struct request *rq)
{
	__u32 flags = rq->cmd_flags, type = flags & OPERATION;

	if (HAS_FLAG(flags, __REQ_PREFLUSH))
		type |= COUNTING_PREFLUSH;
	if (HAS_FLAG(flags, __REQ_FUA))
		type |= COUNTING_FUA;
	if (HAS_FLAG(flags, __REQ_RAHEAD))
		type |= COUNTING_RAHEAD;
	if (HAS_FLAG(flags, __REQ_SYNC))
		type |= COUNTING_SYNC;
	if (HAS_FLAG(flags, __REQ_META))
		type |= COUNTING_META;
	if (HAS_FLAG(flags, __REQ_ATOMIC))
		type |= COUNTING_ATOMIC;
	return type;
}

static __always_inline __u32 device_of(struct request *rq)
{
	struct request___before_5_17 *old = (void *)rq;
	struct gendisk *disk;

	if (bpf_core_field_exists(old->rq_disk)) {
		disk = BPF_CORE_READ(old, rq_disk);
		return disk ? (__u32)BPF_CORE_READ(disk, major) << MINOR_BITS |
				       (__u32)BPF_CORE_READ(disk, first_minor)
			    : 0;
	}
	disk = rq->q->disk;
	return disk ? (__u32)disk->major << MINOR_BITS | (__u32)disk->first_minor : 0;
}

/* Flushes and commands of drivers have no sector. */
static __always_inline __u64 sector_of(const struct request *rq)
{
	__u64 sector = rq->__sector;

	return (rq->cmd_flags & OPERATION) == OP_FLUSH || sector == NO_SECTOR ? 0 : sector;
}

static __always_inline bool is_device_selected(__u32 dev, __u64 sector)
{
	if (!settings.n_devices)
		return true;
	for (__u32 i = 0; i < SUMS_DEVICES_MAX; i++) {
		const volatile struct sums_device *d = &settings.devices[i];

		if (i < settings.n_devices && d->dev == dev &&
			(!d->last || (sector >= d->first && sector <= d->last)))
			return true;
	}
	return false;
}

/* A write without data, or the end of one that asked for a flush. The flush is a request. */
static __always_inline bool only_asks(const struct request *rq, __u32 bytes)
{
	return (rq->cmd_flags & OPERATION) == OP_WRITE && !(bytes >> SECTOR_SHIFT);
}

/* Whether a completion leaves the rest of the request. */
static __always_inline bool is_part(const struct request *rq, __u32 bytes)
{
	__u32 operation = rq->cmd_flags & OPERATION;

	return operation != OP_FLUSH && operation != OP_DISCARD && rq->__sector != NO_SECTOR &&
	       bytes < rq->__data_len;
}

static __always_inline struct request *request_of(__u64 *args)
{
	return (void *)(settings.has_queue ? args[1] : args[0]);
}

SEC("tp_btf/block_rq_issue")
int on_issue(__u64 *args)
{
	struct request *rq = request_of(args);
	struct sums_start *start;
	__u32 generation, dev;
	struct sums *s = sums_now(&generation);
	__u64 key = (__u64)rq;

	if (!s || only_asks(rq, rq->__data_len))
		return 0;
	dev = device_of(rq);
	if (!is_device_selected(dev, sector_of(rq)))
		return 0;
	s->head.events++;
	start = bpf_map_lookup_elem(&starts, &key);
	if (start && start->time && start->row & IS_REQUEUED) {
		start->row &= ~IS_REQUEUED;
		return 0;
	}
	start_time(s, key, bpf_ktime_get_ns(), (__u64)dev << 32 | type_of(rq));
	return 0;
}

SEC("tp_btf/block_rq_requeue")
int on_requeue(__u64 *args)
{
	__u64 key = (__u64)request_of(args);
	struct sums_start *start = bpf_map_lookup_elem(&starts, &key);

	if (start && start->time)
		start->row |= IS_REQUEUED;
	return 0;
}

SEC("tp_btf/block_rq_complete")
int on_complete(__u64 *args)
{
	__u64 now = bpf_ktime_get_ns();
	struct request *rq = (void *)args[0];
	__u32 bytes = args[2], generation;
	struct sums *s = sums_now(&generation);
	__u64 key = (__u64)rq, kind;
	struct sums_start *start;
	struct sums_key row;

	if (!s || only_asks(rq, bytes))
		return 0;
	start = bpf_map_lookup_elem(&starts, &key);
	if (!start || !start->time) {
		if (rq->state != MQ_RQ_IDLE && is_device_selected(device_of(rq), sector_of(rq)))
			s->head.no_start++;
		return 0;
	}
	s->head.events++;
	if (is_part(rq, bytes))
		return 0;
	kind = start->row & ~IS_REQUEUED;
	if (!settings.by_device)
		kind = (__u32)kind;
	if (!settings.by_type)
		kind &= ~0ull << 32;
	row.words[0] = kind;
	if (now >= start->time)
		sums_add_by(s, &row, now - start->time, generation);
	start->time = 0;
	bpf_map_delete_elem(&starts, &key);
	return 0;
}
