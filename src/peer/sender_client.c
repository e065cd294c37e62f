/* SPDX-License-Identifier: MIT */
#include "peer/sender_client.h"

#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/socket_peer.h"

enum {
	START_NS_10 = 1000000000, /* a tenth of the time that a receiver has until START */
	INPUT_MAX = 4096,   /* bytes that a receiver may send ahead, or leave unread before START */
	READ_BYTES = 16384, /* a whole TLS record, so that none is left in GnuTLS */
	READS_MAX = 16,     /* of a receiver in a turn */
	REFUSED_NS = 1000000000, /* that a refused connection has to read why, and to close */
	HOST_MAX = 256,
};

void client_watch(struct sender *s, struct peer_sender_client *c)
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

void client_put(struct peer_sender_client *c, uint8_t type, const void *payload, size_t len)
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

void client_put_hello(struct peer_sender_client *c)
{
	char host[HOST_MAX] = "";
	struct buf payload _cleanup_(buf_done) = {0};

	gethostname(host, sizeof(host) - 1);
	frame_put_u64(&payload, c->link.is_socket ? HELLO_PONGS : HELLO_ONE_WAY);
	frame_put_u64(&payload, base_now());
	frame_put_u64(&payload, base_realtime());
	buf_str(&payload, host);
	if (!buf_failed(&payload))
		client_put(c, FRAME_HELLO, payload.data, payload.len);
}

static void client_count_refused(struct sender *s, const struct peer_sender_client *c)
{
	s->stats.refused++;
	accept_gate_count(&s->gate, base_now(), &c->name, c->origin);
}

void client_end(struct sender *s, struct peer_sender_client *c)
{
	if (c->state == CLIENT_OVER)
		return;
	if (c->state == CLIENT_NEW)
		client_count_refused(s, c);
	else if (c->link.is_socket && c->state == CLIENT_STARTED)
		s->stats.cut++;
	s->stats.unacknowledged += c->samples - c->acknowledged;
	s->stats.lost += c->lost; /* no record can report them any more */
	c->lost = 0;
	c->state = CLIENT_OVER;
	link_close(&c->link);
	c->events = 0;
}

void refused_remove(struct sender *s, size_t i)
{
	link_close(&s->refused.at[i].link);
	s->refused.n--;
	for (; i < s->refused.n; i++)
		s->refused.at[i] = s->refused.at[i + 1];
}

/* Like client_end(), for a receiver that must read why: the alert of TLS. See link_end(). */
static void client_end_later(struct sender *s, struct peer_sender_client *c)
{
	struct refused refused = {.link = c->link, .deadline = base_now() + REFUSED_NS};
	struct epoll_event event = {.events = EPOLLIN};

	if (s->refused.n == SENDER_CLIENTS)
		refused_remove(s, 0);
	if (c->state != CLIENT_OVER && c->link.tls && vec_push(&s->refused, refused) == 0) {
		c->link.fd = -1; /* the entry owns it */
		c->link.tls = NULL;
		link_end(&s->refused.at[s->refused.n - 1].link);
		epoll_ctl(s->epoll, c->events ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, refused.link.fd,
			&event);
	}
	client_end(s, c);
}

void refused_drain(struct sender *s)
{
	for (size_t i = s->refused.n; i-- > 0;)
		if (link_drain(&s->refused.at[i].link) || base_now() > s->refused.at[i].deadline)
			refused_remove(s, i);
}

static void client_note_refusal(struct sender *s, const char *why)
{
	if (!*s->stats.refusal) {
		log_note("%s: a connection to %s was closed: %s", s->opts.option,
			CLIP(s->opts.address), why);
		snprintf(s->stats.refusal, sizeof(s->stats.refusal), "%s", why);
	}
}

void client_refuse(struct sender *s, struct peer_sender_client *c, const char *why)
{
	client_note_refusal(s, why);
	client_end_later(s, c);
}

/* Those that are not refused; if of is set, only of this origin. */
static size_t clients_count(const struct sender *s, const uint64_t *of)
{
	size_t n = 0;

	vec_each (&s->clients, c)
		n += (*c)->state != CLIENT_REFUSED && (*c)->state != CLIENT_OVER &&
		     (!of || (*c)->origin == *of);
	return n;
}

/* The oldest of those that were refused makes room. */
static void refused_limit(struct sender *s)
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
		client_end(s, oldest);
}

/* The connection is over when the other side has read why. */
static void client_refuse_kindly(struct sender *s, struct peer_sender_client *c, const char *why)
{
	client_note_refusal(s, why);
	refused_limit(s);
	client_count_refused(s, c);
	c->state = CLIENT_REFUSED;
	c->deadline = base_now() + REFUSED_NS;
	snprintf(c->why, sizeof(c->why), "%s", why);
}

struct peer_sender_client *client_add(struct sender *s, int fd, bool is_socket)
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

void client_check_new(struct sender *s, struct peer_sender_client *c)
{
	uint64_t others = clients_count(s, NULL) - 1;

	if (!s->keys && c->origin && address_check_owner(&s->address, c->link.fd, true) < 0)
		client_refuse_kindly(s, c, attar_error());
	else if (others >= SENDER_CLIENTS)
		client_refuse_kindly(s, c, "16 receivers are connected, which is the maximum");
	else if (c->origin && clients_count(s, &c->origin) > SENDER_CLIENTS_OF_ORIGIN)
		client_refuse_kindly(s, c,
			"4 receivers of this user or address are connected, which is the maximum");
	attar_error_clear();
}

/* ---- what receivers send ---- */

/* After START, a PONG that has to wait for data would measure nothing. */
static void client_pong(struct peer_sender_client *c, const struct frame *frame)
{
	struct buf payload _cleanup_(buf_done) = {0};

	if (c->state == CLIENT_STARTED && c->out.len - c->out_at > INPUT_MAX)
		return;
	buf_add(&payload, frame->payload, 8);
	frame_put_u64(&payload, base_now());
	if (!buf_failed(&payload))
		client_put(c, FRAME_PONG, payload.data, payload.len);
}

void client_start(struct sender *s, struct peer_sender_client *c)
{
	c->state = CLIENT_STARTED;
	s->stats.clients++;
}

/* The receiver does not accept this side. */
static int client_take_refusal(const struct frame *frame)
{
	char reason[FRAME_REASON_MAX + 1];

	frame_reason(frame, reason);
	return attar_fail(-EBADMSG, "%s", reason);
}

/* 0, or -EBADMSG for what a receiver does not send. */
static int client_take_frame(
	struct sender *s, struct peer_sender_client *c, const struct frame *frame)
{
	if (frame->sequence == 0 && frame->type != FRAME_HELLO)
		return attar_fail(-EBADMSG, "its first frame is not a HELLO");
	if (c->state == CLIENT_REFUSED) {
		if (frame->sequence == 0)
			client_put(c, FRAME_REFUSED, c->why, strlen(c->why));
		return 0;
	}
	c->heard = base_now();
	if (frame->type == FRAME_REFUSED && c->state == CLIENT_NEW)
		return client_take_refusal(frame);
	if (frame->type == FRAME_HELLO && frame->sequence == 0)
		client_put_hello(c);
	else if (frame->type == FRAME_PING && frame->len == 8)
		client_pong(c, frame);
	else if (frame->type == FRAME_START && c->state == CLIENT_NEW)
		client_start(s, c);
	else if (frame->type == FRAME_START && c->state == CLIENT_ENDING)
		return 0; /* it crosses END */
	else if (frame->type == FRAME_ACK && frame->samples <= c->samples)
		c->acknowledged = MAX(c->acknowledged, frame->samples);
	else if (frame->type == FRAME_END && c->state == CLIENT_ENDING &&
		 frame->samples == c->samples)
		c->acknowledged = c->samples, client_end(s, c);
	else if (frame->type <= FRAME_SYMBOLS)
		return attar_fail(-EBADMSG, "it sent an unexpected frame");
	return 0;
}

static int client_take_frames(struct sender *s, struct peer_sender_client *c)
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
		r = client_take_frame(s, c, &frame);
	}
	if (r == 0 && n < 0)
		r = (int)n;
	if (used)
		memmove(c->in.data, c->in.data + used, c->in.len -= used);
	return r;
}

/* An error of a connection is not an error of the caller. */
static void client_failed(struct sender *s, struct peer_sender_client *c)
{
	if (c->state == CLIENT_REFUSED)
		client_end(s, c);
	else if (c->state == CLIENT_NEW)
		client_refuse(s, c, *attar_error() ? attar_error() : "the other side closed it");
	else
		client_end_later(s, c);
	attar_error_clear();
}

void client_read(struct sender *s, struct peer_sender_client *c)
{
	char bytes[READ_BYTES];
	ssize_t n;

	for (int i = 0; i < READS_MAX && c->state != CLIENT_OVER && c->link.is_socket; i++) {
		n = link_read(&c->link, bytes, sizeof(bytes));
		if (n == -EAGAIN)
			return;
		if (n > 0)
			buf_add(&c->in, bytes, (size_t)n);
		if (n <= 0 || buf_failed(&c->in) || client_take_frames(s, c) < 0 ||
			c->in.len > INPUT_MAX ||
			(c->state == CLIENT_NEW && c->out.len - c->out_at > INPUT_MAX)) {
			client_failed(s, c);
			return;
		}
	}
}

void client_write(struct sender *s, struct peer_sender_client *c)
{
	while (c->state != CLIENT_OVER && c->out_at < c->out.len) {
		ssize_t n = link_write(&c->link, c->out.data + c->out_at,
			MIN(c->out.len - c->out_at, (size_t)SENDER_DATA_MAX));

		if (n == -EAGAIN)
			break;
		if (n <= 0) {
			if (!c->link.is_socket)
				log_note("%s: cannot write %s: %s", s->opts.option,
					CLIP(s->opts.address), strerror((int)-n));
			client_failed(s, c);
			return;
		}
		c->out_at += (size_t)n;
		c->written = base_now();
		if (!c->link.is_socket && c->out_at == c->out.len)
			c->acknowledged = c->samples;
	}
	if (c->out_at > (size_t)SENDER_DATA_MAX * 4 && c->out_at > c->out.len / 2) {
		memmove(c->out.data, c->out.data + c->out_at, c->out.len - c->out_at);
		c->out.len -= c->out_at;
		c->out_at = 0;
	}
}

/*
 * A receiver takes bytes when there are some, and answers while samples are to be confirmed: it
 * confirms them, or measures the clock twice a second.
 */
static bool client_is_silent(struct peer_sender_client *c, uint64_t now)
{
	if (c->out_at == c->out.len)
		c->written = now;
	if (c->acknowledged == c->samples)
		c->heard = now;
	return c->state == CLIENT_STARTED && c->link.is_socket &&
	       now - MIN(c->written, c->heard) > SENDER_SILENT_S * (uint64_t)SENDER_IDLE_NS;
}

/* The kernel drops what was not read. */
static void client_end_silent(struct sender *s, struct peer_sender_client *c)
{
	const struct linger none = {.l_onoff = 1};

	if (!s->stats.silent++)
		log_note("%s: a receiver at %s was disconnected: it has read nothing for %d "
			 "seconds",
			s->opts.option, CLIP(s->opts.address), SENDER_SILENT_S);
	s->stats.cut--; /* as client_end() counts it */
	setsockopt(c->link.fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
	client_end(s, c);
}

void client_check_time(struct sender *s, struct peer_sender_client *c)
{
	uint64_t now = base_now();

	if (c->state == CLIENT_NEW && now > c->deadline)
		client_refuse(s, c, "it did not send HELLO and START within 10 seconds");
	if (c->state == CLIENT_REFUSED && now > c->deadline)
		client_end(s, c);
	if (client_is_silent(c, now))
		client_end_silent(s, c);
}
