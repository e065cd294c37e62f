/* SPDX-License-Identifier: MIT */
#include "peer/sender.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <termios.h>

#include "base/place.h"
#include "peer/frame.h"
#include "peer/sender_client.h"

enum {
	HURRY_S = 5, /* that peer_sender_finish() waits for progress if the user ends the run */
	FINISH_TURN_MS = 100,
	REFUSED_OF_ORIGIN = 8, /* in a second */
};

/* ---- the listener ---- */

static int sender_watch_listener(struct sender *s)
{
	const bool is_watched = !accept_gate_pause(&s->gate, base_now());
	struct epoll_event event = {.events = EPOLLIN};

	if (s->listener < 0 || is_watched == s->is_watched)
		return 0;
	s->is_watched = is_watched;
	if (epoll_ctl(s->epoll, is_watched ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, s->listener, &event) <
		0)
		return attar_fail(-errno, "cannot poll: %s", strerror(errno));
	return 0;
}

static int sender_accept_one(struct sender *s)
{
	struct sockaddr_storage name;
	uint64_t origin;
	int fd = accept_gate_next(&s->gate, base_now(), &name, &origin);
	struct peer_sender_client *c;

	if (fd < 0)
		return 0;
	c = client_add(s, fd, true);
	if (!c)
		return -ENOMEM;
	c->name = name;
	c->origin = origin;
	address_keep_alive(&s->address, fd);
	if (s->keys && tls_new(s->keys, fd, NULL, &c->link.tls) < 0)
		client_refuse(s, c, attar_error());
	else
		client_check_new(s, c);
	return 1;
}

int peer_sender_turn(struct sender *s)
{
	int r = 0;

	refused_drain(s);
	for (int i = 0; s->listener >= 0 && r >= 0 && i < SENDER_CLIENTS; i++) {
		r = sender_accept_one(s);
		if (r == 0)
			break;
	}
	if (r >= 0)
		r = sender_watch_listener(s);
	vec_each (&s->clients, it) {
		struct peer_sender_client *c = *it;

		client_read(s, c);
		client_write(s, c);
		client_check_time(s, c);
		client_watch(s, c);
	}
	/* connections that never started are owned by the sender alone */
	for (size_t i = s->clients.n; i-- > 0;)
		if (s->clients.at[i]->state == CLIENT_OVER && !s->clients.at[i]->is_taken)
			peer_sender_drop_client(s, s->clients.at[i]);
	return r;
}

/* ---- rounds ---- */

struct peer_sender_client *peer_sender_take_new(struct sender *s)
{
	vec_each (&s->clients, c)
		if ((*c)->state == CLIENT_STARTED && !(*c)->is_taken) {
			(*c)->is_taken = true;
			return *c;
		}
	return NULL;
}

struct peer_sender_client *peer_sender_client(struct sender *s, size_t i)
{
	vec_each (&s->clients, c)
		if ((*c)->is_taken && i-- == 0)
			return *c;
	return NULL;
}

void peer_sender_client_set(struct peer_sender_client *c, void *object)
{
	c->object = object;
}

void *peer_sender_client_get(const struct peer_sender_client *c)
{
	return c->object;
}

uint64_t peer_sender_client_lost(const struct peer_sender_client *c)
{
	return c->all_lost;
}

bool peer_sender_client_is_over(const struct peer_sender_client *c)
{
	return c->state == CLIENT_OVER;
}

void peer_sender_drop_client(struct sender *s, struct peer_sender_client *client)
{
	size_t n = 0;

	vec_each (&s->clients, c)
		if (*c != client)
			s->clients.at[n++] = *c;
	s->clients.n = n;
	client_end(s, client);
	buf_done(&client->in);
	buf_done(&client->out);
	buf_done(&client->round);
	free(client);
}

void peer_sender_write(struct peer_sender_client *c, const void *bytes, size_t n)
{
	if (c->state == CLIENT_STARTED)
		buf_add(&c->round, bytes, n);
}

/* Queues the round; the samples count with its last frame. */
static int sender_queue(struct sender *s, struct peer_sender_client *c, uint64_t samples)
{
	for (size_t at = 0; at < c->round.len; at += SENDER_DATA_MAX) {
		size_t n = MIN(c->round.len - at, (size_t)SENDER_DATA_MAX);

		if (at + n == c->round.len)
			c->samples += samples;
		client_put(c, FRAME_DATA, c->round.data + at, n);
	}
	buf_reset(&c->round);
	if (buf_failed(&c->round) || buf_failed(&c->out))
		return base_oom();
	client_write(s, c);
	client_watch(s, c);
	return 0;
}

int peer_sender_end_preamble(struct sender *s, struct peer_sender_client *c)
{
	return c->state == CLIENT_STARTED ? sender_queue(s, c, 0) : 0;
}

int peer_sender_send_symbols(struct peer_sender_client *c, const void *symbols, size_t n)
{
	for (size_t at = 0; c->state == CLIENT_STARTED && at < n; at += SENDER_DATA_MAX)
		client_put(c, FRAME_SYMBOLS, (const char *)symbols + at,
			MIN(n - at, (size_t)SENDER_DATA_MAX));
	return buf_failed(&c->out) ? base_oom() : 0;
}

void peer_sender_put_sample_id(struct buf *to, const struct peer_sender_round *round)
{
	const struct {
		uint64_t bit, value;
	} fields[] = {
		{PERF_SAMPLE_TID, UINT64_MAX},
		{PERF_SAMPLE_TIME, round->time},
		{PERF_SAMPLE_ID, round->id},
		{PERF_SAMPLE_STREAM_ID, round->id},
		{PERF_SAMPLE_CPU, 0},
		{PERF_SAMPLE_IDENTIFIER, round->id},
	};

	for (size_t i = 0; round->attr->sample_id_all && i < ARRAY_SIZE(fields); i++)
		if (round->attr->sample_type & fields[i].bit)
			buf_add(to, &fields[i].value, sizeof(fields[i].value));
}

/* A LOST record, which has the byte order of this machine like all records. */
static void sender_put_loss(struct sender *s, struct peer_sender_client *c, struct buf *to)
{
	struct buf tail _cleanup_(buf_done) = {0};
	struct perf_event_header header = {.type = PERF_RECORD_LOST};

	peer_sender_put_sample_id(&tail, &c->lost_round);
	header.size = (uint16_t)(sizeof(header) + 16 + tail.len);
	buf_add(to, &header, sizeof(header));
	buf_add(to, &c->lost_round.id, 8);
	buf_add(to, &c->lost, 8);
	buf_add(to, tail.data, tail.len);
	s->stats.lost += c->lost;
	c->lost = 0;
}

/* Removes the samples of a round. Names and mappings are few, and are needed later. */
static void sender_keep_side_band(struct buf *round)
{
	size_t to = 0;

	for (size_t at = 0; at + sizeof(struct perf_event_header) <= round->len;) {
		struct perf_event_header header;

		memcpy(&header, round->data + at, sizeof(header));
		if (header.size < sizeof(header) || header.size > round->len - at)
			break;
		if (header.type != PERF_RECORD_SAMPLE) {
			memmove(round->data + to, round->data + at, header.size);
			to += header.size;
		}
		at += header.size;
	}
	round->len = to;
}

/* The round does not fit. */
static int sender_drop(
	struct sender *s, struct peer_sender_client *c, const struct peer_sender_round *round)
{
	c->lost += round->samples;
	c->all_lost += round->samples;
	c->lost_round = *round;
	sender_keep_side_band(&c->round);
	if (c->out.len - c->out_at + c->round.len <= 2 * s->opts.queue_bytes)
		return sender_queue(s, c, 0);
	s->stats.lost_records++;
	buf_reset(&c->round);
	return 0;
}

int peer_sender_end_round(
	struct sender *s, struct peer_sender_client *c, const struct peer_sender_round *round)
{
	struct buf loss _cleanup_(buf_done) = {0};
	size_t waits = c->out.len - c->out_at; /* a round of any size is sent to an idle receiver */

	if (c->state != CLIENT_STARTED) {
		buf_reset(&c->round);
		return 0;
	}
	s->stats.samples += round->samples;
	if (waits && waits + c->round.len > s->opts.queue_bytes)
		return sender_drop(s, c, round);
	if (c->lost) {
		sender_put_loss(s, c, &loss);
		buf_add(&loss, c->round.data, c->round.len);
		if (buf_failed(&loss))
			return base_oom();
		buf_reset(&c->round);
		buf_add(&c->round, loss.data, loss.len);
	}
	return sender_queue(s, c, round->samples);
}

int peer_sender_send_time(struct sender *s, struct peer_sender_client *c, uint64_t time)
{
	struct buf payload _cleanup_(buf_done) = {0};

	if (c->state != CLIENT_STARTED || c->is_file || c->out_at < c->out.len)
		return 0;
	frame_put_u64(&payload, time);
	if (!buf_failed(&payload))
		client_put(c, FRAME_TIME, payload.data, payload.len);
	if (buf_failed(&payload) || buf_failed(&c->out))
		return base_oom();
	client_write(s, c);
	client_watch(s, c);
	return 0;
}

/* ---- the end ---- */

/* A connection that has not started receives an END, too: it was not refused. */
static void sender_end_data(struct sender *s, struct peer_sender_client *c)
{
	if (c->state != CLIENT_STARTED && c->state != CLIENT_NEW)
		return;
	if (c->lost)
		sender_put_loss(s, c, &c->round);
	sender_queue(s, c, 0);
	client_put(c, FRAME_END, NULL, 0);
	c->state = CLIENT_ENDING;
	client_write(s, c);
	client_watch(s, c);
}

static void sender_end_all_data(struct sender *s)
{
	vec_each (&s->clients, c)
		sender_end_data(s, *c);
}

/* Whether a receiver still has something to read, or to confirm, or has to close. */
static bool sender_is_busy(struct sender *s, uint64_t *ret_sum)
{
	bool busy = s->refused.n > 0;

	*ret_sum = 0;
	vec_each (&s->clients, c) {
		bool waits = (*c)->out_at < (*c)->out.len || (*c)->link.is_socket;

		if ((*c)->state != CLIENT_ENDING)
			continue;
		busy |= waits;
		*ret_sum += (*c)->out.len - (*c)->out_at + (*c)->acknowledged;
	}
	return busy;
}

int peer_sender_finish(struct sender *s, int stop)
{
	struct pollfd fds[] = {{.fd = s->epoll, .events = POLLIN}, {.fd = stop, .events = POLLIN}};
	const uint64_t patience = (stop < 0 ? HURRY_S : SENDER_SILENT_S) * (uint64_t)SENDER_IDLE_NS;
	uint64_t last = 0, sum, deadline = base_now() + patience;
	bool is_stopped = stop < 0;
	int r = peer_sender_turn(s);

	sender_end_all_data(s);
	while (r == 0 && sender_is_busy(s, &sum) && base_now() < deadline) {
		if (sum != last)
			deadline = base_now() + patience;
		last = sum;
		if (poll(fds, ARRAY_SIZE(fds), FINISH_TURN_MS) > 0 && fds[1].revents) {
			is_stopped = true;
			break;
		}
		r = peer_sender_turn(s);
		sender_end_all_data(s);
	}
	vec_each (&s->clients, c)
		if ((*c)->state == CLIENT_ENDING) {
			s->stats.silent += r == 0 && !is_stopped && (*c)->link.is_socket;
			client_end(s, *c);
		}
	return r;
}

/* ---- opening ---- */

static int sender_check_file(const char *option, const char *path, int fd)
{
	char magic[4];
	struct stat st;
	ssize_t n;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || !st.st_size)
		return 0;
	n = pread(fd, magic, sizeof(magic), 0);
	if (n == (ssize_t)sizeof(magic) && !memcmp(magic, "ATFR", sizeof(magic)))
		return ftruncate(fd, 0) < 0 ? -errno : 0;
	return attar_fail(-EEXIST,
		"%s: '%s' exists and was not written by %s" ATTAR_FIX
		"choose another name, or delete it",
		option, CLIP(path), option);
}

static int sender_open_path(struct sender *s)
{
	const char *path = s->opts.address;
	int fd _cleanup_close_ = place_open_path(path, O_RDWR | O_CREAT | O_NONBLOCK, 0600);
	struct peer_sender_client *c;
	struct termios tty;
	struct stat st;
	int r;

	r = fd < 0 ? fd : fstat(fd, &st) < 0 ? -errno : 0;
	if (r < 0)
		return attar_fail(
			r, "%s: cannot open '%s': %s", s->opts.option, CLIP(path), place_error(-r));
	r = sender_check_file(s->opts.option, path, fd);
	if (r < 0)
		return r;
	if (tcgetattr(fd, &tty) == 0) {
		cfmakeraw(&tty);
		tcsetattr(fd, TCSANOW, &tty);
	}
	c = client_add(s, TAKE_FD(fd), false);
	if (!c)
		return -ENOMEM;
	c->is_file = S_ISREG(st.st_mode);
	client_put_hello(c);
	client_start(s, c);
	client_watch(s, c);
	return 0;
}

int peer_sender_check(const struct peer_sender_opts *opts, struct address *ret_address)
{
	int r = address_parse(opts->option, opts->address, ret_address);

	if (r < 0 || ret_address->kind == ADDRESS_PATH || tls_is_wanted(&opts->tls) ||
		ret_address->is_local)
		return r;
	return attar_fail(-EINVAL,
		"%s: '%s' can be reached from other machines" ATTAR_FIX
		"use TLS with --peer-psk FILE, "
		"or with --peer-cert, --peer-key and --peer-ca",
		opts->option, CLIP(opts->address));
}

static int sender_open_listener(struct sender *s)
{
	if (tls_is_wanted(&s->opts.tls)) {
		int r = tls_keys_new(&s->opts.tls, true, &s->keys);

		if (r < 0)
			return r;
	}
	s->listener = address_listen(s->opts.option, &s->address);
	if (s->listener < 0)
		return s->listener;
	s->gate = (struct accept_gate){.listener = s->listener,
		.limit = REFUSED_OF_ORIGIN,
		.is_for_root = true,
		.is_local = !s->keys};
	return sender_watch_listener(s);
}

int peer_sender_new(const struct peer_sender_opts *opts, struct sender **ret_sender)
{
	struct sender *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return base_oom();
	s->opts = *opts;
	s->listener = -1;
	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	r = s->epoll < 0 ? attar_fail(-errno, "cannot poll: %s", strerror(errno)) : 0;
	if (r == 0)
		r = peer_sender_check(opts, &s->address);
	if (r == 0)
		r = s->address.kind == ADDRESS_PATH ? sender_open_path(s) : sender_open_listener(s);
	if (r < 0) {
		peer_sender_free(s);
		return r;
	}
	*ret_sender = s;
	return 0;
}

struct sender *peer_sender_free(struct sender *s)
{
	if (!s)
		return NULL;
	while (s->clients.n)
		peer_sender_drop_client(s, s->clients.at[s->clients.n - 1]);
	vec_done(&s->clients);
	while (s->refused.n)
		refused_remove(s, s->refused.n - 1);
	vec_done(&s->refused);
	if (s->listener >= 0)
		close(s->listener);
	if (s->listener >= 0 && s->address.kind == ADDRESS_UNIX)
		place_unlink_path(s->address.path);
	if (s->epoll >= 0)
		close(s->epoll);
	tls_keys_free(s->keys);
	free(s);
	return NULL;
}

int peer_sender_fd(const struct sender *s)
{
	return s->epoll;
}

void peer_sender_get_stats(const struct sender *s, struct peer_sender_stats *ret_stats)
{
	*ret_stats = s->stats;
	vec_each (&s->clients, c) {
		ret_stats->lost += (*c)->lost;
		if ((*c)->state != CLIENT_OVER)
			ret_stats->unacknowledged += (*c)->samples - (*c)->acknowledged;
	}
}
