/* SPDX-License-Identifier: MIT */
#include "peer/receiver.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/stat.h>
#include <termios.h>

#include "base/user_file.h"
#include "peer/frame.h"
#include "peer/link.h"
#include "peer/offset.h"
#include "peer/symbol_list.h"

enum {
	PINGS = 8,
	PINGS_LATER = 4,        /* after START, one after another, of which the best counts */
	MEASURE_NS = 500000000, /* between these */
	READ_BYTES = 256 << 10,
	GREETING_MS = 1000, /* between looks whether a sender has answered */
	REFUSED_MS = 1000,  /* that a sender has to read why it was refused, and to close */
	HELLO_NUMBERS = 24, /* bytes */
	HOST_MAX = 256,
	FRAMES_MAX = 1000, /* without data or a time, in turn */
	READS_MAX = 16,    /* of READ_BYTES in turn, without data */
	OPEN_TIMES = 6,    /* SILENT_NS, at most, for the begin of the recording */
};

/* A sender on a network says at least 10 times a second how far it has come. */
#define SILENT_NS UINT64_C(10000000000)

/* The sender's clock is ahead by this when it shows `time`, ns. */
struct measurement {
	uint64_t time, error;
	int64_t ahead;
};

struct receiver {
	struct receiver_opts opts;
	struct address address;
	struct tls_keys *keys; /* NULL: no TLS */
	struct link link;
	bool is_file;
	struct buf in, out, symbols;
	size_t in_at;
	const char *data; /* of the frame that is being read, in `in` */
	size_t data_len;
	uint64_t in_sequence, out_sequence;
	uint64_t samples, acknowledged;
	bool greeted, is_one_way, answers, started, has_data, ended;
	unsigned idle_frames; /* since the last data or time */
	unsigned reads;       /* in this turn */
	unsigned pongs;
	char host[HOST_MAX];
	struct offset offset;
	struct measurement best;    /* at the start, or the newest one */
	unsigned pongs_later;       /* of the newest measurement */
	uint64_t measured;          /* when it began */
	uint64_t since;             /* see receiver_since() */
	uint64_t heard, moved;      /* when something was read, and when `since` became later */
	uint64_t asked;             /* when it was told to start */
	uint64_t began, until;      /* see receiver_begin(); began is 0 before, until: 0: no end */
	bool is_damaged, is_closed; /* closed: by the sender */
	bool is_refused;            /* why is what the sender said */
	char why[256], damage[320];
};

static void damaged(struct receiver *r, const char *why)
{
	if (r->is_damaged)
		return;
	r->is_damaged = true;
	snprintf(r->why, sizeof(r->why), "%s", why);
	/* of an incomplete batch, the samples of some CPUs may have arrived */
	snprintf(r->damage, sizeof(r->damage), "%s: events after the first %llu are incomplete",
		r->why, (unsigned long long)r->samples);
}

/* The sender was about to end when this side connected. */
static void ended_before(struct receiver *r)
{
	r->is_damaged = true;
	snprintf(r->why, sizeof(r->why), "it has ended, and has no more events");
	snprintf(r->damage, sizeof(r->damage), "%s", r->why);
}

/* ---- to the sender ---- */

static int flush(struct receiver *r)
{
	ssize_t n = 0;
	size_t at = 0;

	while (at < r->out.len && (n = link_write(&r->link, r->out.data + at, r->out.len - at)) > 0)
		at += (size_t)n;
	if (at)
		memmove(r->out.data, r->out.data + at, r->out.len -= at);
	return n < 0 && n != -EAGAIN ? (int)n : 0;
}

static int put(struct receiver *r, uint8_t type, const void *payload, size_t len)
{
	struct frame frame = {.type = type,
		.sequence = r->out_sequence++,
		.samples = r->samples,
		.payload = payload,
		.len = len};

	frame_put(&r->out, &frame);
	return buf_failed(&r->out) ? base_oom() : flush(r);
}

static int ping(struct receiver *r)
{
	struct buf payload _cleanup_(buf_done) = {0};

	frame_put_u64(&payload, base_now());
	return buf_failed(&payload) ? base_oom() : put(r, FRAME_PING, payload.data, payload.len);
}

static void end_measurement(struct receiver *r)
{
	if (r->pongs_later)
		offset_follow(&r->offset, r->best.time, r->best.ahead, r->best.error);
	r->best.error = UINT64_MAX;
	r->pongs_later = 0;
}

static void ping_later(struct receiver *r)
{
	if (flush(r) == 0 && !r->out.len)
		ping(r);
}

/* Begins the next measurement. The one before has ended, unless answers to it are missing. */
static void measure_again(struct receiver *r)
{
	uint64_t now = base_now();

	if (!r->answers || !r->started || now - r->measured < MEASURE_NS)
		return;
	end_measurement(r);
	r->measured = now;
	ping_later(r);
}

/* What could not be sent before goes first; one confirmation covers those before it. */
static void acknowledge(struct receiver *r)
{
	if (!r->link.is_socket || r->is_one_way || r->acknowledged == r->samples)
		return;
	if (flush(r) == 0 && !r->out.len && put(r, FRAME_ACK, NULL, 0) == 0)
		r->acknowledged = r->samples;
}

/* ---- from the sender ---- */

static void take_hello(struct receiver *r, const struct frame *frame)
{
	uint64_t there, wall;
	size_t n;

	r->greeted = true;
	if (frame->len < HELLO_NUMBERS)
		return;
	r->is_one_way = frame_get_u64(frame->payload) & HELLO_ONE_WAY;
	r->answers = frame_get_u64(frame->payload) & HELLO_PONGS;
	there = frame_get_u64(frame->payload + 8);
	wall = frame_get_u64(frame->payload + 16);
	offset_start(
		&r->offset, (int64_t)((there - wall) - (base_now() - base_realtime())), UINT64_MAX);
	n = MIN(frame->len - HELLO_NUMBERS, sizeof(r->host) - 1);
	memcpy(r->host, frame->payload + HELLO_NUMBERS, n);
	for (size_t i = 0; i < n; i++) /* it is shown as a name */
		if ((unsigned char)r->host[i] <= ' ' || (unsigned char)r->host[i] > '~')
			r->host[i] = '?';
}

/* The sender's clock was read between the two times of ours. */
static void take_pong(struct receiver *r, const struct frame *frame)
{
	uint64_t now = base_now(), sent, there, error;

	r->pongs++;
	if (frame->len < 16)
		return;
	sent = frame_get_u64(frame->payload);
	there = frame_get_u64(frame->payload + 8);
	if (sent > now)
		return;
	error = (now - sent) / 2 + 1;
	if (error < r->best.error)
		r->best = (struct measurement){
			there, error, (int64_t)(there - (sent + (now - sent) / 2))};
	if (!r->started)
		return;
	if (++r->pongs_later < PINGS_LATER)
		ping_later(r);
	else
		end_measurement(r);
}

/* They are read once, with the first data. */
static void take_symbols(struct receiver *r, const struct frame *frame)
{
	if (r->has_data || r->symbols.len + frame->len > SYMBOL_LIST_MAX)
		damaged(r, "it sent too many names of kernel functions, or sent them too late");
	else
		buf_add(&r->symbols, frame->payload, frame->len);
}

static void take_refusal(struct receiver *r, const struct frame *frame)
{
	char reason[FRAME_REASON_MAX + 1];

	frame_reason(frame, reason);
	damaged(r, reason);
	r->is_refused = true;
}

static void take_frame(struct receiver *r, const struct frame *frame)
{
	r->idle_frames++;
	if (frame->type == FRAME_HELLO) {
		take_hello(r, frame);
	} else if (frame->type == FRAME_PONG) {
		take_pong(r, frame);
	} else if (!r->started && frame->type == FRAME_DATA) {
		damaged(r, "it sent data before START");
	} else if (frame->type == FRAME_DATA) {
		r->data = frame->payload;
		r->data_len = frame->len;
		r->has_data = true;
		r->idle_frames = frame->len ? 0 : r->idle_frames;
		r->samples = frame->samples;
	} else if (frame->type == FRAME_TIME && frame->len == 8) {
		if (r->since < frame_get_u64(frame->payload))
			r->moved = base_now();
		r->since = MAX(r->since, frame_get_u64(frame->payload));
		r->idle_frames = 0; /* many of them can wait for a receiver that was stopped */
	} else if (frame->type == FRAME_SYMBOLS) {
		take_symbols(r, frame);
	} else if (frame->type == FRAME_REFUSED && !r->started) {
		take_refusal(r, frame);
	} else if (frame->type == FRAME_END) {
		r->ended = true;
		if (r->link.is_socket && !r->is_one_way)
			put(r, FRAME_END, NULL, 0);
		if (r->link.is_socket && !r->has_data)
			ended_before(r);
	}
}

/* Reads what has arrived. n > 0; 0: the sender has closed the connection; -EAGAIN; -ENOMEM. */
static ssize_t fill(struct receiver *r)
{
	ssize_t n;

	if (r->in_at) {
		memmove(r->in.data, r->in.data + r->in_at, r->in.len -= r->in_at);
		r->in_at = 0;
	}
	if (!buf_reserve(&r->in, READ_BYTES))
		return base_oom();
	n = link_read(&r->link, r->in.data + r->in.len, READ_BYTES);
	if (n > 0) {
		r->in.len += (size_t)n;
		r->heard = base_now();
	}
	if (n > 0 || n == -EAGAIN)
		return n;
	r->is_closed = n == 0 || n == -ECONNRESET || n == -EPIPE;
	damaged(r, n == -EPROTO ? attar_error()
		   : n < 0      ? strerror((int)-n)
		   : r->in.len  ? "it ends in the middle of a frame"
				: "it ends early, as if the sender was killed");
	return 0;
}

static bool is_tls_unexpected(const struct receiver *r)
{
	return r->link.is_socket && !r->link.tls && !r->in_sequence &&
	       tls_is_spoken(buf_text(&r->in) + r->in_at, r->in.len - r->in_at);
}

/* Takes the next frame. 1; 0: there are no more; -EAGAIN; -ENOMEM. */
static int next_frame(struct receiver *r)
{
	struct frame frame;
	ssize_t n;

	for (;;) {
		if (is_tls_unexpected(r)) {
			tls_only_there();
			damaged(r, attar_error());
			return 0;
		}
		n = frame_get(
			buf_text(&r->in) + r->in_at, r->in.len - r->in_at, r->in_sequence, &frame);
		if (n < 0) {
			damaged(r, attar_error());
			return 0;
		}
		if (n > 0)
			break;
		n = r->reads++ < READS_MAX ? fill(r) : -EAGAIN;
		if (n <= 0)
			return (int)n;
	}
	r->in_sequence++;
	r->in_at += (size_t)n;
	take_frame(r, &frame);
	return 1;
}

static bool is_stopped(const struct receiver *r)
{
	struct pollfd stop = {.fd = r->opts.stop, .events = POLLIN};

	return poll(&stop, 1, 0) > 0;
}

/* A run ends by the sender's clock: without this, a sender could keep it from ending. */
static void check_time(struct receiver *r)
{
	uint64_t now = base_now(), longest;

	if (!r->link.is_socket || r->is_one_way)
		return;
	if (!r->began) {
		longest = r->asked + OPEN_TIMES * SILENT_NS;
		if (now > r->heard + SILENT_NS || now > longest)
			damaged(r, "it has not sent the begin of its events in time");
		return;
	}
	longest = r->until + OPEN_TIMES * (r->until - r->began + SILENT_NS);
	if (r->until && now > r->until + SILENT_NS && (now > r->moved + SILENT_NS || now > longest))
		damaged(r, "the time of its events does not go on");
}

void receiver_begin(struct receiver *r, uint64_t duration)
{
	r->began = r->moved = base_now();
	r->until = duration && duration < UINT64_MAX / OPEN_TIMES / 2 ? r->began + duration : 0;
}

ssize_t receiver_read(struct receiver *r, void *bytes, size_t room)
{
	size_t n;

	r->reads = 0;
	check_time(r);
	if (r->is_damaged)
		r->data_len = 0;
	if (!r->began && is_stopped(r))
		return -ECANCELED;
	if (!r->ended && !r->is_damaged)
		measure_again(r);
	while (!r->data_len) {
		int ret = r->ended || r->is_damaged ? 0 : next_frame(r);

		if (r->idle_frames == FRAMES_MAX)
			damaged(r, "it sends frames other than data");
		if (ret == -EAGAIN)
			acknowledge(r);
		if (ret <= 0)
			return ret;
	}
	n = MIN(room, r->data_len);
	memcpy(bytes, r->data, n);
	r->data += n;
	r->data_len -= n;
	return (ssize_t)n;
}

/* ---- opening ---- */

static int not_a_sender(const struct receiver *r)
{
	const char *option = r->opts.option, *address = r->opts.address;

	if (r->is_refused)
		return attar_fail(-EPERM, "%s: %s refuses the connection of this attar: %s", option,
			CLIP(address), r->why);
	if (r->ended || ((r->link.tls || is_tls_unexpected(r)) && !r->greeted))
		return attar_fail(-EBADMSG, "%s: %s: %s", option, CLIP(address), r->why);
	if (r->is_closed && !r->greeted)
		return attar_fail(-EBADMSG,
			"%s: %s closed the connection without a greeting" ATTAR_FIX
			"if it has not just ended, give both sides the same --peer-psk file, or "
			"none",
			option, CLIP(address));
	return attar_fail(
		-EBADMSG, "%s: %s does not push events: %s", option, CLIP(address), r->damage);
}

/* Reads frames until *counter has reached a value. */
static int wait_for(struct receiver *r, const unsigned *pongs, unsigned until)
{
	while (pongs ? *pongs < until && !r->is_one_way : !r->greeted) {
		struct pollfd fds[] = {{.fd = r->link.fd}, {.fd = r->opts.stop, .events = POLLIN}};
		uint64_t now = base_now(), deadline = r->opts.deadline;
		uint64_t left = deadline > now ? (deadline - now) / 1000000 + 1 : 0;
		int ret = next_frame(r), wait = ret == -EAGAIN ? (int)MIN(left, GREETING_MS) : 0;

		r->reads = 0;
		if (r->is_damaged)
			return not_a_sender(r);
		if (ret >= 0 || ret == -EAGAIN)
			ret = flush(r);
		if (ret < 0)
			return ret;
		if (now > deadline)
			return attar_fail(-ETIMEDOUT, "%s: %s does not respond", r->opts.option,
				CLIP(r->opts.address));
		fds[0].events = link_events(&r->link, r->out.len > 0);
		if (poll(fds, ARRAY_SIZE(fds), wait) > 0 && fds[1].revents)
			return attar_fail(
				-ECANCELED, "stopped while waiting for %s", CLIP(r->opts.address));
	}
	return 0;
}

/* Without TLS, any user can listen at a port. The sender has accepted the connection: see HELLO. */
static int check_owner(struct receiver *r)
{
	char reason[FRAME_REASON_MAX + 1];
	int ret = r->keys ? 0 : address_check_owner(&r->address, r->link.fd, false);

	if (ret == 0)
		return 0;
	snprintf(reason, sizeof(reason), "the receiver does not accept this sender: %s",
		attar_error());
	put(r, FRAME_REFUSED, reason, strlen(reason));
	return attar_context(
		ret, "%s: the sender at %s is not accepted", r->opts.option, CLIP(r->opts.address));
}

static int greet(struct receiver *r)
{
	char host[HOST_MAX] = "";
	int ret;

	gethostname(host, sizeof(host) - 1);
	ret = put(r, FRAME_HELLO, host, strlen(host));
	if (ret == 0)
		ret = wait_for(r, NULL, 0);
	if (ret == 0)
		ret = check_owner(r);
	for (unsigned i = 1; ret == 0 && !r->is_one_way && i <= PINGS; i++) {
		ret = ping(r);
		if (ret == 0)
			ret = wait_for(r, &r->pongs, i);
	}
	r->started = ret == 0;
	if (r->best.error != UINT64_MAX)
		offset_start(&r->offset, r->best.ahead, r->best.error);
	r->best.error = UINT64_MAX;
	r->measured = r->asked = base_now();
	return ret == 0 && !r->is_one_way ? put(r, FRAME_START, NULL, 0) : ret;
}

/* Names the side that refused, if that is why it failed. */
static int not_greeted(struct receiver *r, int ret)
{
	r->is_closed |= ret == -EPIPE || ret == -ECONNRESET;
	if (ret < 0 && r->is_closed && !r->is_damaged)
		return not_a_sender(r);
	if (ret >= 0 || ret == -ECANCELED || ret == -ENOMEM || ret == -EBADMSG ||
		ret == -ETIMEDOUT || ret == -EPERM)
		return ret;
	if (!*attar_error())
		attar_fail(ret, "%s", strerror(-ret));
	return attar_context(
		ret, "%s: %s refuses the connection", r->opts.option, CLIP(r->opts.address));
}

/* The sender has to read the alert of TLS, see link_end(). */
static void end_refused(struct receiver *r)
{
	uint64_t deadline = base_now() + (uint64_t)REFUSED_MS * 1000000;
	struct pollfd fds[] = {
		{.fd = r->link.fd, .events = POLLIN}, {.fd = r->opts.stop, .events = POLLIN}};

	if (!r->link.tls || r->greeted || r->is_closed)
		return;
	link_end(&r->link);
	while (!link_drain(&r->link) && base_now() < deadline && !fds[1].revents)
		poll(fds, ARRAY_SIZE(fds), REFUSED_MS / 10);
}

static int open_path(struct receiver *r)
{
	const char *path = r->opts.address;
	struct termios tty;
	struct stat st;
	int fd = user_file_open(path, O_NONBLOCK | O_NOCTTY);

	if (fd < 0 || fstat(fd, &st) < 0)
		return attar_fail(-errno, "%s: cannot open '%s': %s", r->opts.option, CLIP(path),
			strerror(errno));
	if (S_ISDIR(st.st_mode)) {
		close(fd);
		return attar_fail(-EISDIR,
			"%s: '%s' is a directory" ATTAR_FIX
			"write the path of a file or device that attar has pushed to",
			r->opts.option, CLIP(path));
	}
	if (tcgetattr(fd, &tty) == 0) {
		cfmakeraw(&tty);
		tcsetattr(fd, TCSANOW, &tty);
	}
	r->link.fd = fd;
	r->started = true;
	r->is_file = S_ISREG(st.st_mode);
	return 0;
}

static int open_socket(struct receiver *r)
{
	bool named = r->address.kind == ADDRESS_TCP;
	int ret;

	if (!tls_is_wanted(&r->opts.tls) && !r->address.is_local)
		return attar_fail(-EINVAL,
			"%s: '%s' is another machine" ATTAR_FIX
			"use TLS with --peer-psk FILE, or with "
			"--peer-cert, --peer-key and --peer-ca",
			r->opts.option, CLIP(r->opts.address));
	if (tls_is_wanted(&r->opts.tls)) {
		ret = tls_keys_new(&r->opts.tls, false, &r->keys);
		if (ret < 0)
			return ret;
	}
	ret = address_connect(r->opts.option, &r->address, r->opts.stop, r->opts.deadline);
	if (ret < 0)
		return ret;
	r->link = (struct link){.fd = ret, .is_socket = true};
	ret = r->keys ? tls_new(r->keys, r->link.fd, named ? r->address.host : NULL, &r->link.tls)
		      : 0;
	if (ret == 0)
		ret = not_greeted(r, greet(r));
	if (ret < 0)
		end_refused(r);
	return ret;
}

int receiver_new(const struct receiver_opts *opts, struct receiver **ret_receiver)
{
	struct receiver *r = calloc(1, sizeof(*r));
	int ret;

	if (!r)
		return base_oom();
	r->opts = *opts;
	r->link.fd = -1;
	r->best.error = UINT64_MAX;
	offset_start(&r->offset, 0, UINT64_MAX);
	ret = address_parse(opts->option, opts->address, &r->address);
	if (ret == 0)
		ret = r->address.kind == ADDRESS_PATH ? open_path(r) : open_socket(r);
	if (ret < 0) {
		receiver_free(r);
		return ret;
	}
	*ret_receiver = r;
	return 0;
}

struct receiver *receiver_free(struct receiver *r)
{
	if (!r)
		return NULL;
	link_close(&r->link);
	tls_keys_free(r->keys);
	buf_done(&r->in);
	buf_done(&r->out);
	buf_done(&r->symbols);
	free(r);
	return NULL;
}

int receiver_fd(const struct receiver *r)
{
	return r->is_file ? -1 : r->link.fd;
}

const char *receiver_damage(const struct receiver *r)
{
	return r->is_damaged ? r->damage : NULL;
}

uint64_t receiver_since(const struct receiver *r)
{
	return r->since;
}

const char *receiver_symbols(const struct receiver *r, size_t *ret_n)
{
	*ret_n = r->symbols.len;
	return buf_text(&r->symbols);
}

uint64_t receiver_last_received(const struct receiver *r)
{
	return r->heard;
}

const char *receiver_host(const struct receiver *r)
{
	return r->host;
}

uint64_t receiver_here(const struct receiver *r, uint64_t time)
{
	return offset_here(&r->offset, time);
}

uint64_t receiver_clock_error(const struct receiver *r)
{
	return r->offset.error;
}
