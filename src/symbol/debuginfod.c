/* SPDX-License-Identifier: MIT */
#include "symbol/debuginfod.h"

#include "base/library.h"
#include "base/log.h"

enum { REPORT_SECONDS = 2 };

static const uint64_t second = 1000000000; /* ns */

static const char soname[] = "libdebuginfod.so.1";

/* The object of a client; the library is loaded. */
static struct debuginfod *object_of(struct debuginfod_client *client)
{
	void *(*get)(struct debuginfod_client *);

	*(void **)&get = library_function(soname, "debuginfod_get_user_data");
	return get ? get(client) : NULL;
}

static bool is_cancelled(const struct debuginfod *d)
{
	return __atomic_load_n(&d->is_cancelled, __ATOMIC_RELAXED);
}

bool debuginfod_cancel(struct debuginfod *d)
{
	if (!__atomic_load_n(&d->is_running, __ATOMIC_RELAXED))
		return false;
	__atomic_store_n(&d->is_cancelled, true, __ATOMIC_RELAXED);
	return true;
}

/* Called during a transfer, also before the first byte. Non-zero ends it. */
static int on_progress(struct debuginfod_client *client, long done, long all)
{
	struct debuginfod *d = object_of(client);
	uint64_t t = base_now();

	if (!d || t - d->began > d->left || is_cancelled(d))
		return 1;
	if (t - d->reported < REPORT_SECONDS * second || all <= 0)
		return 0;
	d->reported = t;
	log_note("downloading the debug file of %s: %ld of %ld KiB", d->binary, done >> 10,
		all >> 10);
	return 0;
}

static bool debuginfod_load(struct debuginfod *d)
{
	static const char *const names[] = {"debuginfod_begin", "debuginfod_set_progressfn",
		"debuginfod_set_user_data", "debuginfod_find_debuginfo", "debuginfod_end"};
	int r = library_load(soname, names, ARRAY_SIZE(names), &d->lib);

	if (r == -ENOENT)
		log_note("DEBUGINFOD_URLS is set, but libdebuginfod is not installed (on Debian: "
			 "libdebuginfod1): debug files are not downloaded");
	d->client = r == 0 ? d->lib.begin() : NULL;
	if (!d->client)
		return false;
	d->lib.set_data(d->client, d);
	d->lib.progress(d->client, on_progress);
	d->left = DEBUGINFOD_SECONDS * second;
	return true;
}

static bool is_ready(struct debuginfod *d)
{
	const char *urls = secure_getenv("DEBUGINFOD_URLS");

	if (d->is_off || !urls || !*urls)
		return false;
	if (!d->is_loaded)
		d->is_off = !debuginfod_load(d);
	d->is_loaded = true;
	return !d->is_off;
}

/* Other errors than "no server has it" would be waited for again with each file. */
static void give_up(struct debuginfod *d, int error)
{
	d->is_off = true;
	if (is_cancelled(d))
		log_note("no more debug files are downloaded: the download for %s was interrupted",
			d->binary);
	else if (!d->left)
		log_note("no more debug files are downloaded: the downloads have taken %d seconds",
			DEBUGINFOD_SECONDS);
	else
		log_note("debug files are not downloaded: no answer from DEBUGINFOD_URLS=%s (%s)",
			secure_getenv("DEBUGINFOD_URLS") ?: "", strerror(error));
}

int debuginfod_open(struct debuginfod *d, const char *binary, const uint8_t *id, size_t id_size)
{
	uint64_t spent;
	int fd;

	if (!id_size || !is_ready(d))
		return -ENOENT;
	d->binary = binary;
	d->began = d->reported = base_now();
	__atomic_store_n(&d->is_running, true, __ATOMIC_RELAXED);
	fd = d->lib.find(d->client, id, (int)id_size, NULL);
	__atomic_store_n(&d->is_running, false, __ATOMIC_RELAXED);
	spent = base_now() - d->began;
	d->left -= MIN(spent, d->left);
	if (fd < 0 && (fd != -ENOENT || is_cancelled(d)))
		give_up(d, -fd);
	else if (!d->left)
		give_up(d, ETIME);
	return fd < 0 ? -ENOENT : fd;
}

void debuginfod_done(struct debuginfod *d)
{
	if (d->client)
		d->lib.end(d->client);
	*d = (struct debuginfod){0};
}
