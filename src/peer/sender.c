/* SPDX-License-Identifier: MIT */
#include "peer/sender.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <termios.h>

#include "base/place.h"
#include "base/vec.h"
#include "peer/accept_filter.h"
#include "peer/frame.h"
#include "peer/link.h"
#include "record/uapi.h"

enum {
	START_NS_10 = 1000000000, /* a tenth of the time that a receiver has until START */
	IDLE_NS = 1000000000,     /* times SENDER_SILENT_S, or HURRY_S */
	HURRY_S = 5, /* that peer_sender_finish() waits for progress if the user ends the run */
	FINISH_TURN_MS = 100,
	DATA_MAX = 256 << 10, /* bytes of a DATA frame */
	INPUT_MAX = 4096,   /* bytes that a receiver may send ahead, or leave unread before START */
	READ_BYTES = 16384, /* a whole TLS record, so that none is left in GnuTLS */
	READS_MAX = 16,     /* of a receiver in a turn */
	REFUSED_NS = 1000000000, /* that a refused connection has to read why, and to close */
	PAUSE_NS = 1000000000, /* after which connections are accepted again without a descriptor */
	HOST_MAX = 256,
};

/* REFUSED: until it has sent HELLO, and has read why and closed, for REFUSED_NS at most. */
enum client_state { CLIENT_NEW, CLIENT_STARTED, CLIENT_ENDING, CLIENT_REFUSED, CLIENT_OVER };

struct peer_sender_client {
	struct link link;
	enum client_state state;
	bool is_taken; /* by peer_sender_take_new() */
	bool is_file;  /* epoll does not support regular files: they are always writable */
	uint64_t deadline;
	uint64_t origin;  /* see address_origin() */
	struct sockaddr_storage name;
	uint64_t heard;   /* when a frame of it was read, or nothing was to be confirmed */
	uint64_t written; /* when it took some bytes, or had none to take */
	char why[FRAME_REASON_MAX + 1]; /* it was refused */
	struct buf in, out, round;
	size_t out_at; /* bytes of out that were sent */
	uint64_t in_sequence, out_sequence;
	uint64_t samples, acknowledged;
	uint64_t lost;     /* samples that the next LOST record will report */
	uint64_t all_lost; /* these, and those that earlier ones have reported */
	struct peer_sender_round lost_round;
	uint32_t events; /* epoll's */
	void *object;
};

/* A connection that was refused, until the other side closes it. */
struct refused {
	struct link link;
	uint64_t deadline;
};

struct sender {
	struct peer_sender_opts opts;
	struct address address;
	struct tls_keys *keys; /* NULL: no TLS */
	int listener;          /* -1: a file or device */
	int epoll;
	uint64_t paused_until; /* 0: the listener is watched */
	struct accept_filter filter;
	VEC(struct peer_sender_client *) clients;
	VEC(struct refused) refused; /* at most SENDER_CLIENTS */
	struct peer_sender_stats stats;
};

/* ---- the listener ---- */

/* A connection that cannot be accepted would wake the caller up again at once. */
static void stop_listening(struct sender *s)
{
	epoll_ctl(s->epoll, EPOLL_CTL_DEL, s->listener, NULL);
	s->paused_until = base_now() + PAUSE_NS;
}

static int listen_again(struct sender *s)
{
	struct epoll_event event = {.events = EPOLLIN};

	s->paused_until = 0;
	if (epoll_ctl(s->epoll, EPOLL_CTL_ADD, s->listener, &event) < 0)
		return attar_fail(-errno, "cannot poll: %s", strerror(errno));
	return 0;
}

/* ---- receivers ---- */

static void watch(struct sender *s, struct peer_sender_client *c)
{
	struct epoll_event event = {.data.ptr = c};

	if (c->is_file || c->link.fd < 0)
		return;
	event.events = (uint32_t)link_events(&c->link, c->out.len > c->out_at);
	if (event.events == c->events)
		return;
	epoll_ctl(s->epoll, c->events ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, c->link.fd, &event);
	c->events = event.events;
}

static void put(struct peer_sender_client *c, uint8_t type, const void *payload, size_t len)
{
	struct frame frame = {.type = type,
		.sequence = c->out_sequence++,
		.samples = c->samples,
		.payload = payload,
		.len = len};

	if (c->out_at == c->out.len) {
		buf_reset(&c->out);
		c->out_at = 0;
	}
	frame_put(&c->out, &frame);
}

static void put_hello(struct peer_sender_client *c)
{
	char host[HOST_MAX] = "";
	struct buf payload _cleanup_(buf_done) = {0};

	gethostname(host, sizeof(host) - 1);
	frame_put_u64(&payload, c->link.is_socket ? HELLO_PONGS : HELLO_ONE_WAY);
	frame_put_u64(&payload, base_now());
	frame_put_u64(&payload, base_realtime());
	buf_str(&payload, host);
	if (!buf_failed(&payload))
		put(c, FRAME_HELLO, payload.data, payload.len);
}

static void count_refused(struct sender *s, const struct peer_sender_client *c)
{
	struct network network;

	s->stats.refused++;
	if (s->address.kind == ADDRESS_TCP && c->origin &&
		accept_filter_network((const struct sockaddr *)&c->name, &network))
		accept_filter_refused(&s->filter, &network,
			address_is_of_user(c->origin) || network_is_loopback(&network), base_now());
}

static void end(struct sender *s, struct peer_sender_client *c)
{
	if (c->state == CLIENT_OVER)
		return;
	if (c->state == CLIENT_NEW)
		count_refused(s, c);
	else if (c->link.is_socket && c->state == CLIENT_STARTED)
		s->stats.cut++;
	s->stats.unacknowledged += c->samples - c->acknowledged;
	s->stats.lost += c->lost; /* no record can report them any more */
	c->lost = 0;
	c->state = CLIENT_OVER;
	link_close(&c->link);
	c->events = 0;
}

static void remove_refused(struct sender *s, size_t i)
{
	link_close(&s->refused.at[i].link);
	s->refused.n--;
	for (; i < s->refused.n; i++)
		s->refused.at[i] = s->refused.at[i + 1];
}

/* Like end(), for a receiver that must read why: the alert of TLS. See link_end(). */
static void end_later(struct sender *s, struct peer_sender_client *c)
{
	struct refused refused = {.link = c->link, .deadline = base_now() + REFUSED_NS};
	struct epoll_event event = {.events = EPOLLIN};

	if (s->refused.n == SENDER_CLIENTS)
		remove_refused(s, 0);
	if (c->state != CLIENT_OVER && c->link.tls && vec_push(&s->refused, refused) == 0) {
		c->link.fd = -1; /* the entry owns it */
		c->link.tls = NULL;
		link_end(&s->refused.at[s->refused.n - 1].link);
		epoll_ctl(s->epoll, c->events ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, refused.link.fd,
			&event);
	}
	end(s, c);
}

static void drain_refused(struct sender *s)
{
	for (size_t i = s->refused.n; i-- > 0;)
		if (link_drain(&s->refused.at[i].link) || base_now() > s->refused.at[i].deadline)
			remove_refused(s, i);
}

static void note_refusal(struct sender *s, const char *why)
{
	if (!*s->stats.refusal) {
		log_note("%s: a connection to %s was closed: %s", s->opts.option,
			CLIP(s->opts.address), why);
		snprintf(s->stats.refusal, sizeof(s->stats.refusal), "%s", why);
	}
}

static void refuse(struct sender *s, struct peer_sender_client *c, const char *why)
{
	note_refusal(s, why);
	end_later(s, c);
}

/* Those that are not refused; if of is set, only of this origin. */
static size_t count_clients(const struct sender *s, const uint64_t *of)
{
	size_t n = 0;

	vec_each (&s->clients, c)
		n += (*c)->state != CLIENT_REFUSED && (*c)->state != CLIENT_OVER &&
		     (!of || (*c)->origin == *of);
	return n;
}

/* The oldest of those that were refused makes room. */
static void limit_refused(struct sender *s)
{
	struct peer_sender_client *oldest = NULL;
	size_t n = 0;

	vec_each (&s->clients, c) {
		if ((*c)->state != CLIENT_REFUSED)
			continue;
		oldest = oldest ?: *c;
		n++;
	}
	if (n >= SENDER_CLIENTS)
		end(s, oldest);
}

/* The connection is over when the other side has read why. */
static void refuse_kindly(struct sender *s, struct peer_sender_client *c, const char *why)
{
	note_refusal(s, why);
	limit_refused(s);
	count_refused(s, c);
	c->state = CLIENT_REFUSED;
	c->deadline = base_now() + REFUSED_NS;
	snprintf(c->why, sizeof(c->why), "%s", why);
}

static struct peer_sender_client *add(struct sender *s, int fd, bool is_socket)
{
	struct peer_sender_client *c = calloc(1, sizeof(*c));

	if (!c || vec_push(&s->clients, c) < 0) {
		free(c);
		close(fd);
		base_oom();
		return NULL;
	}
	c->link = (struct link){.fd = fd, .is_socket = is_socket};
	c->heard = c->written = base_now();
	c->deadline = c->heard + 10 * (uint64_t)START_NS_10;
	return c;
}

static void check_new(struct sender *s, struct peer_sender_client *c)
{
	uint64_t others = count_clients(s, NULL) - 1;

	if (!s->keys && c->origin && address_check_owner(&s->address, c->link.fd, true) < 0)
		refuse_kindly(s, c, attar_error());
	else if (others >= SENDER_CLIENTS)
		refuse_kindly(s, c, "16 receivers are connected, which is the maximum");
	else if (c->origin && count_clients(s, &c->origin) > SENDER_CLIENTS_OF_ORIGIN)
		refuse_kindly(s, c,
			"4 receivers of this user or address are connected, which is the maximum");
	attar_error_clear();
}

static int accept_one(struct sender *s)
{
	struct sockaddr_storage name = {0};
	socklen_t size = sizeof(name);
	int fd = accept4(
		s->listener, (struct sockaddr *)&name, &size, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct peer_sender_client *c;

	if (fd < 0) {
		if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
			stop_listening(s);
		return 0;
	}
	c = add(s, fd, true);
	if (!c)
		return -ENOMEM;
	c->name = name;
	c->origin = address_origin(&s->address, fd);
	accept_filter_accepted(&s->filter, fd);
	address_keep_alive(&s->address, fd);
	if (s->keys && tls_new(s->keys, fd, NULL, &c->link.tls) < 0)
		refuse(s, c, attar_error());
	else
		check_new(s, c);
	return 1;
}

/* ---- what receivers send ---- */

/* After START, a PONG that has to wait for data would measure nothing. */
static void pong(struct peer_sender_client *c, const struct frame *frame)
{
	struct buf payload _cleanup_(buf_done) = {0};

	if (c->state == CLIENT_STARTED && c->out.len - c->out_at > INPUT_MAX)
		return;
	buf_add(&payload, frame->payload, 8);
	frame_put_u64(&payload, base_now());
	if (!buf_failed(&payload))
		put(c, FRAME_PONG, payload.data, payload.len);
}

static void start(struct sender *s, struct peer_sender_client *c)
{
	c->state = CLIENT_STARTED;
	s->stats.clients++;
}

/* The receiver does not accept this side. */
static int take_refusal(const struct frame *frame)
{
	char reason[FRAME_REASON_MAX + 1];

	frame_reason(frame, reason);
	return attar_fail(-EBADMSG, "%s", reason);
}

/* 0, or -EBADMSG for what a receiver does not send. */
static int take_frame(struct sender *s, struct peer_sender_client *c, const struct frame *frame)
{
	if (frame->sequence == 0 && frame->type != FRAME_HELLO)
		return attar_fail(-EBADMSG, "its first frame is not a HELLO");
	if (c->state == CLIENT_REFUSED) {
		if (frame->sequence == 0)
			put(c, FRAME_REFUSED, c->why, strlen(c->why));
		return 0;
	}
	c->heard = base_now();
	if (frame->type == FRAME_REFUSED && c->state == CLIENT_NEW)
		return take_refusal(frame);
	if (frame->type == FRAME_HELLO && frame->sequence == 0)
		put_hello(c);
	else if (frame->type == FRAME_PING && frame->len == 8)
		pong(c, frame);
	else if (frame->type == FRAME_START && c->state == CLIENT_NEW)
		start(s, c);
	else if (frame->type == FRAME_START && c->state == CLIENT_ENDING)
		return 0; /* it crosses END */
	else if (frame->type == FRAME_ACK && frame->samples <= c->samples)
		c->acknowledged = MAX(c->acknowledged, frame->samples);
	else if (frame->type == FRAME_END && c->state == CLIENT_ENDING &&
		 frame->samples == c->samples)
		c->acknowledged = c->samples, end(s, c);
	else if (frame->type <= FRAME_SYMBOLS)
		return attar_fail(-EBADMSG, "it sent an unexpected frame");
	return 0;
}

static int take_frames(struct sender *s, struct peer_sender_client *c)
{
	size_t used = 0;
	struct frame frame;
	ssize_t n;
	int r = 0;

	if (!c->link.tls && !c->in_sequence && tls_is_spoken(buf_text(&c->in), c->in.len))
		return tls_only_there();
	while (r == 0 && (n = frame_get(buf_text(&c->in) + used, c->in.len - used, c->in_sequence,
				  &frame)) > 0) {
		c->in_sequence++;
		used += (size_t)n;
		r = take_frame(s, c, &frame);
	}
	if (r == 0 && n < 0)
		r = (int)n;
	if (used)
		memmove(c->in.data, c->in.data + used, c->in.len -= used);
	return r;
}

/* An error of a connection is not an error of the caller. */
static void failed(struct sender *s, struct peer_sender_client *c)
{
	if (c->state == CLIENT_REFUSED)
		end(s, c);
	else if (c->state == CLIENT_NEW)
		refuse(s, c, *attar_error() ? attar_error() : "the other side closed it");
	else
		end_later(s, c);
	attar_error_clear();
}

static void read_client(struct sender *s, struct peer_sender_client *c)
{
	char bytes[READ_BYTES];
	ssize_t n;

	for (int i = 0; i < READS_MAX && c->state != CLIENT_OVER && c->link.is_socket; i++) {
		n = link_read(&c->link, bytes, sizeof(bytes));
		if (n == -EAGAIN)
			return;
		if (n > 0)
			buf_add(&c->in, bytes, (size_t)n);
		if (n <= 0 || buf_failed(&c->in) || take_frames(s, c) < 0 ||
			c->in.len > INPUT_MAX ||
			(c->state == CLIENT_NEW && c->out.len - c->out_at > INPUT_MAX)) {
			failed(s, c);
			return;
		}
	}
}

static void write_client(struct sender *s, struct peer_sender_client *c)
{
	while (c->state != CLIENT_OVER && c->out_at < c->out.len) {
		ssize_t n = link_write(&c->link, c->out.data + c->out_at,
			MIN(c->out.len - c->out_at, (size_t)DATA_MAX));

		if (n == -EAGAIN)
			break;
		if (n <= 0) {
			if (!c->link.is_socket)
				log_note("%s: cannot write %s: %s", s->opts.option,
					CLIP(s->opts.address), strerror((int)-n));
			failed(s, c);
			return;
		}
		c->out_at += (size_t)n;
		c->written = base_now();
		if (!c->link.is_socket && c->out_at == c->out.len)
			c->acknowledged = c->samples;
	}
	if (c->out_at > (size_t)DATA_MAX * 4 && c->out_at > c->out.len / 2) {
		memmove(c->out.data, c->out.data + c->out_at, c->out.len - c->out_at);
		c->out.len -= c->out_at;
		c->out_at = 0;
	}
}

/*
 * A receiver takes bytes when there are some, and answers while samples are to be confirmed: it
 * confirms them, or measures the clock twice a second.
 */
static bool is_silent(struct peer_sender_client *c, uint64_t now)
{
	if (c->out_at == c->out.len)
		c->written = now;
	if (c->acknowledged == c->samples)
		c->heard = now;
	return c->state == CLIENT_STARTED && c->link.is_socket &&
	       now - MIN(c->written, c->heard) > SENDER_SILENT_S * (uint64_t)IDLE_NS;
}

/* The kernel drops what was not read. */
static void end_silent(struct sender *s, struct peer_sender_client *c)
{
	const struct linger none = {.l_onoff = 1};

	if (!s->stats.silent++)
		log_note("%s: a receiver at %s was disconnected: it has read nothing for %d "
			 "seconds",
			s->opts.option, CLIP(s->opts.address), SENDER_SILENT_S);
	s->stats.cut--; /* as end() counts it */
	setsockopt(c->link.fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
	end(s, c);
}

static void check_time(struct sender *s, struct peer_sender_client *c)
{
	uint64_t now = base_now();

	if (c->state == CLIENT_NEW && now > c->deadline)
		refuse(s, c, "it did not send HELLO and START within 10 seconds");
	if (c->state == CLIENT_REFUSED && now > c->deadline)
		end(s, c);
	if (is_silent(c, now))
		end_silent(s, c);
}

int peer_sender_turn(struct sender *s)
{
	int r = 0;

	drain_refused(s);
	accept_filter_turn(&s->filter, base_now());
	if (s->paused_until && base_now() > s->paused_until)
		r = listen_again(s);
	for (int i = 0; s->listener >= 0 && !s->paused_until && r >= 0 && i < SENDER_CLIENTS; i++) {
		r = accept_one(s);
		if (r == 0)
			break;
	}
	vec_each (&s->clients, it) {
		struct peer_sender_client *c = *it;

		read_client(s, c);
		write_client(s, c);
		check_time(s, c);
		watch(s, c);
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
	end(s, client);
	buf_done(&client->in);
	buf_done(&client->out);
	buf_done(&client->round);
	free(client);
	if (s->paused_until) /* a descriptor is free now */
		s->paused_until = 1;
}

void peer_sender_write(struct peer_sender_client *c, const void *bytes, size_t n)
{
	if (c->state == CLIENT_STARTED)
		buf_add(&c->round, bytes, n);
}

/* Queues the round; the samples count with its last frame. */
static int queue(struct sender *s, struct peer_sender_client *c, uint64_t samples)
{
	for (size_t at = 0; at < c->round.len; at += DATA_MAX) {
		size_t n = MIN(c->round.len - at, (size_t)DATA_MAX);

		if (at + n == c->round.len)
			c->samples += samples;
		put(c, FRAME_DATA, c->round.data + at, n);
	}
	buf_reset(&c->round);
	if (buf_failed(&c->round) || buf_failed(&c->out))
		return base_oom();
	write_client(s, c);
	watch(s, c);
	return 0;
}

int peer_sender_end_preamble(struct sender *s, struct peer_sender_client *c)
{
	return c->state == CLIENT_STARTED ? queue(s, c, 0) : 0;
}

int peer_sender_send_symbols(struct peer_sender_client *c, const void *symbols, size_t n)
{
	for (size_t at = 0; c->state == CLIENT_STARTED && at < n; at += DATA_MAX)
		put(c, FRAME_SYMBOLS, (const char *)symbols + at, MIN(n - at, (size_t)DATA_MAX));
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
static void put_loss(struct sender *s, struct peer_sender_client *c, struct buf *to)
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
static void keep_side_band(struct buf *round)
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
static int drop(
	struct sender *s, struct peer_sender_client *c, const struct peer_sender_round *round)
{
	c->lost += round->samples;
	c->all_lost += round->samples;
	c->lost_round = *round;
	keep_side_band(&c->round);
	if (c->out.len - c->out_at + c->round.len <= 2 * s->opts.queue_bytes)
		return queue(s, c, 0);
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
		return drop(s, c, round);
	if (c->lost) {
		put_loss(s, c, &loss);
		buf_add(&loss, c->round.data, c->round.len);
		if (buf_failed(&loss))
			return base_oom();
		buf_reset(&c->round);
		buf_add(&c->round, loss.data, loss.len);
	}
	return queue(s, c, round->samples);
}

int peer_sender_send_time(struct sender *s, struct peer_sender_client *c, uint64_t time)
{
	struct buf payload _cleanup_(buf_done) = {0};

	if (c->state != CLIENT_STARTED || c->is_file || c->out_at < c->out.len)
		return 0;
	frame_put_u64(&payload, time);
	if (!buf_failed(&payload))
		put(c, FRAME_TIME, payload.data, payload.len);
	if (buf_failed(&payload) || buf_failed(&c->out))
		return base_oom();
	write_client(s, c);
	watch(s, c);
	return 0;
}

/* ---- the end ---- */

/* A connection that has not started receives an END, too: it was not refused. */
static void end_data(struct sender *s, struct peer_sender_client *c)
{
	if (c->state != CLIENT_STARTED && c->state != CLIENT_NEW)
		return;
	if (c->lost)
		put_loss(s, c, &c->round);
	queue(s, c, 0);
	put(c, FRAME_END, NULL, 0);
	c->state = CLIENT_ENDING;
	write_client(s, c);
	watch(s, c);
}

static void end_all_data(struct sender *s)
{
	vec_each (&s->clients, c)
		end_data(s, *c);
}

/* Whether a receiver still has something to read, or to confirm, or has to close. */
static bool is_busy(struct sender *s, uint64_t *ret_sum)
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
	const uint64_t patience = (stop < 0 ? HURRY_S : SENDER_SILENT_S) * (uint64_t)IDLE_NS;
	uint64_t last = 0, sum, deadline = base_now() + patience;
	bool is_stopped = stop < 0;
	int r = peer_sender_turn(s);

	end_all_data(s);
	while (r == 0 && is_busy(s, &sum) && base_now() < deadline) {
		if (sum != last)
			deadline = base_now() + patience;
		last = sum;
		if (poll(fds, ARRAY_SIZE(fds), FINISH_TURN_MS) > 0 && fds[1].revents) {
			is_stopped = true;
			break;
		}
		r = peer_sender_turn(s);
		end_all_data(s);
	}
	vec_each (&s->clients, c)
		if ((*c)->state == CLIENT_ENDING) {
			s->stats.silent += r == 0 && !is_stopped && (*c)->link.is_socket;
			end(s, *c);
		}
	return r;
}

/* ---- opening ---- */

static int check_file(const char *option, const char *path, int fd)
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

static int open_path(struct sender *s)
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
	r = check_file(s->opts.option, path, fd);
	if (r < 0)
		return r;
	if (tcgetattr(fd, &tty) == 0) {
		cfmakeraw(&tty);
		tcsetattr(fd, TCSANOW, &tty);
	}
	c = add(s, TAKE_FD(fd), false);
	if (!c)
		return -ENOMEM;
	c->is_file = S_ISREG(st.st_mode);
	put_hello(c);
	start(s, c);
	watch(s, c);
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

static int open_listener(struct sender *s)
{
	if (tls_is_wanted(&s->opts.tls)) {
		int r = tls_keys_new(&s->opts.tls, true, &s->keys);

		if (r < 0)
			return r;
	}
	s->listener = address_listen(s->opts.option, &s->address);
	if (s->listener < 0)
		return s->listener;
	s->filter.listener = s->listener;
	return listen_again(s);
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
		r = s->address.kind == ADDRESS_PATH ? open_path(s) : open_listener(s);
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
		remove_refused(s, s->refused.n - 1);
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
