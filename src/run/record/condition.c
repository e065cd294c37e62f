/* SPDX-License-Identifier: MIT */
#include "run/record/condition.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>

#include "base/base.h"
#include "base/log.h"
#include "base/parse.h"

enum { RING_BYTES = 64 << 10, LOOK_MAX = 10000 };

#define PSI_PREFIX "psi:"

/* ---- pressure ---- */

/* Parses "200ms/1s" to microseconds. */
static int parse_share(const char *text, uint64_t *ret_stall, uint64_t *ret_window)
{
	char stall[32], window[32];
	int end = 0, r;

	if (sscanf(text, "%31[^/ ]/%31s%n", stall, window, &end) != 2 || text[end])
		return attar_fail(-EINVAL,
			"'%s' is not a time in a window" ATTAR_FIX "write for example 200ms/1s",
			CLIP(text));
	r = parse_time(stall, 1000000000, ret_stall);
	if (r == 0)
		r = parse_time(window, 1000000000, ret_window);
	*ret_stall /= 1000;
	*ret_window /= 1000;
	return r;
}

static int psi_failed(int error, const char *path, const char *trigger)
{
	if (error == EOPNOTSUPP)
		return attar_fail(-EOPNOTSUPP,
			"the kernel does not measure pressure" ATTAR_FIX "boot it with psi=1");
	if (error == EINVAL)
		return attar_fail(-EINVAL,
			"the kernel refuses '%s' (us): a window has 500ms to 10s, without "
			"CAP_SYS_RESOURCE a multiple of 2s, and is longer than the time in it",
			trigger);
	return attar_fail(-error, "cannot watch %s: %s", CLIP(path), strerror(error));
}

/* "cpu some 200ms/1s", or with the path of a file of a control group. */
static int open_psi(struct condition *c, const char *text)
{
	char resource[512], kind[8], share[72], path[600], trigger[80];
	uint64_t stall = 0, window = 0;
	int r;

	if (sscanf(text, "%511s %7s %71s", resource, kind, share) != 3 ||
		(strcmp(kind, "some") != 0 && strcmp(kind, "full") != 0))
		return attar_fail(-EINVAL,
			"'%s' is not a condition of pressure" ATTAR_FIX
			"write for example psi:cpu some 200ms/1s",
			CLIP(c->text));
	r = parse_share(share, &stall, &window);
	if (r < 0)
		return r;
	snprintf(path, sizeof(path), "%s%s", *resource == '/' ? "" : "/proc/pressure/", resource);
	snprintf(trigger, sizeof(trigger), "%s %llu %llu", kind, (unsigned long long)stall,
		(unsigned long long)window);
	c->fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (c->fd < 0)
		return psi_failed(errno, path, trigger);
	if (write(c->fd, trigger, strlen(trigger) + 1) < 0)
		return psi_failed(errno, path, trigger);
	return 0;
}

/* ---- events ---- */

static int open_event(
	struct condition *c, struct attar_target *target, struct attar_catalog *catalog)
{
	const struct attar_stream_events_opts opts = {
		.size = sizeof(opts), .ring_bytes = RING_BYTES, .catalog = catalog};

	return attar_stream_events(target, c->text, 0, &opts, &c->stream);
}

/* The first sample since the last look. */
static int look_at_events(struct condition *c, uint64_t *ret_time)
{
	struct attar_event event;
	int r = 0, found = 0;

	for (int i = 0; i < LOOK_MAX && (r = attar_stream_next(c->stream, &event)) > 0; i++) {
		if (event.record->type != PERF_RECORD_SAMPLE)
			continue;
		if (!found)
			*ret_time = event.time;
		found = 1;
	}
	return r < 0 ? r : found;
}

/* ---- conditions ---- */

int condition_open(struct condition *c, const char *text, struct attar_target *target,
	struct attar_catalog *catalog)
{
	static const size_t prefix = sizeof(PSI_PREFIX) - 1;
	bool is_psi = !strncmp(text, PSI_PREFIX, prefix);
	int r;

	*c = (struct condition){.text = text, .fd = -1};
	r = is_psi ? open_psi(c, text + prefix) : open_event(c, target, catalog);
	return r < 0 ? attar_context(r, "--dump-when '%s'", CLIP(text)) : 0;
}

int condition_look(struct condition *c, uint64_t *ret_time)
{
	struct pollfd pressure = {.fd = c->fd, .events = POLLPRI};
	int r = 0;

	if (c->stream)
		r = look_at_events(c, ret_time);
	else if (c->fd >= 0 && poll(&pressure, 1, 0) > 0 && pressure.revents & POLLERR)
		r = attar_fail(-ENODEV, "the control group was removed");
	else if (pressure.revents & POLLPRI) {
		*ret_time = base_now();
		r = 1;
	}
	c->times += r > 0;
	return r < 0 ? attar_context(r, "--dump-when '%s'", CLIP(c->text)) : r;
}

void condition_done(struct condition *c)
{
	attar_stream_free(c->stream);
	if (c->fd >= 0)
		close(c->fd);
	*c = (struct condition){.fd = -1};
}
