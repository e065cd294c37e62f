/* SPDX-License-Identifier: MIT */
#include "perfdata/waits.h"

#include <stdlib.h>
#include <string.h>

#include "perfdata/cursor.h"

enum { PID_LIMIT = 1 << 22, FLAG_SYSTEM = 1, FLAG_WRITES = 1, FLAG_CONNECTS = 2, ALIGN = 8 };

/* ---- life ---- */

int recording_waits_add(struct recording_waits *waits, const struct attar_thread_wait *thread)
{
	struct attar_thread_wait copy = *thread;
	struct attar_wait *chain = calloc(thread->n, sizeof(*chain));

	if (!chain || vec_push(&waits->threads, copy) < 0) {
		free(chain);
		return base_oom();
	}
	memcpy(chain, thread->chain, thread->n * sizeof(*chain));
	waits->threads.at[waits->threads.n - 1].chain = chain;
	return 0;
}

void recording_waits_done(struct recording_waits *waits)
{
	vec_each (&waits->threads, thread)
		free((void *)(uintptr_t)thread->chain);
	vec_done(&waits->threads);
	*waits = (struct recording_waits){0};
}

/* ---- writing ---- */

static void put_number(struct buf *b, uint64_t value)
{
	buf_add(b, &value, sizeof(value));
}

static void put_half(struct buf *b, uint32_t value)
{
	buf_add(b, &value, sizeof(value));
}

/* With a NUL, padded with zeros. */
static void put_text(struct buf *b, const char *text)
{
	static const char zeros[ALIGN];
	const size_t len = strlen(text);

	buf_add(b, text, len);
	buf_add(b, zeros, ALIGN - len % ALIGN);
}

static void put_wait(struct buf *b, const struct attar_wait *wait)
{
	const uint32_t flags =
		(wait->writes ? FLAG_WRITES : 0) | (wait->connects ? FLAG_CONNECTS : 0);

	put_half(b, wait->kind);
	put_half(b, flags);
	put_half(b, (uint8_t)wait->state);
	put_half(b, (uint8_t)wait->other_state);
	put_number(b, (uint64_t)wait->call);
	put_half(b, (uint32_t)wait->fd);
	put_half(b, wait->others);
	put_half(b, (uint32_t)wait->pid);
	put_half(b, (uint32_t)wait->tid);
	put_number(b, wait->address);
	put_number(b, wait->ip);
	put_number(b, wait->sp);
	put_text(b, wait->comm);
	put_text(b, wait->object);
}

void recording_waits_put(
	const struct recording_waits *waits, enum recording_moment moment, struct buf *b)
{
	put_number(b, moment);
	put_number(b, waits->time);
	put_number(b, waits->is_system ? FLAG_SYSTEM : 0);
	put_number(b, waits->unread);
}

void recording_waits_put_thread(
	const struct attar_thread_wait *thread, enum recording_moment moment, struct buf *b)
{
	put_number(b, moment);
	put_half(b, (uint32_t)thread->pid);
	put_half(b, (uint32_t)thread->tid);
	put_number(b, thread->since);
	put_text(b, thread->comm);
	put_number(b, thread->n);
	for (size_t i = 0; i < thread->n; i++)
		put_wait(b, &thread->chain[i]);
}

/* ---- reading: the recording may be forged ---- */

/* What is too long is cut. Control characters, which the writer never writes, become '?'. */
static void read_text(struct cursor *c, char *ret_text, size_t size, bool is_plain)
{
	const char *text = cursor_text(c);
	const size_t len = text ? strlen(text) : 0;

	cursor_bytes(c, ALIGN - len % ALIGN - 1);
	if (c->failed)
		return;
	for (size_t i = 0; i < size - 1 && i < len; i++) {
		const unsigned char byte = (unsigned char)text[i];

		ret_text[i] = is_plain && (byte < ' ' || byte == 0x7f) ? '?' : text[i];
	}
}

static pid_t read_pid(struct cursor *c)
{
	const uint32_t pid = cursor_u32(c);

	c->failed |= pid > PID_LIMIT;
	return (pid_t)pid;
}

static char read_state(struct cursor *c)
{
	const uint32_t letter = cursor_u32(c);

	c->failed |= letter && (letter < 'A' || letter > 'z');
	return (char)letter;
}

static void read_wait(struct cursor *c, struct attar_wait *ret_wait)
{
	struct attar_wait wait = {.size = sizeof(wait)};
	const uint32_t kind = cursor_u32(c), flags = cursor_u32(c);

	c->failed |= kind > ATTAR_WAIT_KERNEL;
	wait.kind = kind;
	wait.writes = flags & FLAG_WRITES;
	wait.connects = flags & FLAG_CONNECTS;
	wait.state = read_state(c);
	wait.other_state = read_state(c);
	wait.call = (long)cursor_u64(c);
	wait.fd = (int)cursor_u32(c);
	wait.others = cursor_u32(c);
	wait.pid = read_pid(c);
	wait.tid = read_pid(c);
	wait.address = cursor_u64(c);
	wait.ip = cursor_u64(c);
	wait.sp = cursor_u64(c);
	read_text(c, wait.comm, sizeof(wait.comm), true);
	read_text(c, wait.object, sizeof(wait.object), true);
	*ret_wait = wait;
}

/* The first reading of a moment counts. */
int recording_waits_read(struct recording_waits *waits, struct cursor *c)
{
	const uint64_t moment = cursor_u64(c), time = cursor_u64(c), flags = cursor_u64(c),
		       unread = cursor_u64(c);

	if (c->failed || moment >= RECORDING_MOMENTS || waits[moment].time)
		return 0;
	waits[moment].time = time;
	waits[moment].is_system = flags & FLAG_SYSTEM;
	waits[moment].unread = unread;
	return 0;
}

int recording_waits_read_thread(struct recording_waits *waits, struct cursor *c)
{
	struct attar_wait chain[RECORDING_WAITS_CHAIN_MAX];
	const uint64_t moment = cursor_u64(c);
	struct attar_thread_wait thread = {.chain = chain};

	thread.pid = read_pid(c);
	thread.tid = read_pid(c);
	thread.since = cursor_u64(c);
	read_text(c, thread.comm, sizeof(thread.comm), false);
	thread.n = cursor_u64(c);
	if (c->failed || moment >= RECORDING_MOMENTS || !thread.tid || !thread.n ||
		thread.n > RECORDING_WAITS_CHAIN_MAX ||
		waits[moment].threads.n == RECORDING_WAITS_MAX)
		return 0;
	for (size_t i = 0; i < thread.n; i++)
		read_wait(c, &chain[i]);
	return c->failed ? 0 : recording_waits_add(&waits[moment], &thread);
}
