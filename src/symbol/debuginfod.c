/* SPDX-License-Identifier: MIT */
#include "symbol/debuginfod.h"

#include <dlfcn.h>

#include "base/log.h"

enum { REPORT_SECONDS = 2 };

static const uint64_t second = 1000000000; /* ns */

/* The functions of libdebuginfod that are only needed to create a client. */
struct setup {
	struct debuginfod_client *(*begin)(void);
	void (*progress)(struct debuginfod_client *client,
		int (*fn)(struct debuginfod_client *client, long done, long all));
	void (*set_data)(struct debuginfod_client *client, void *data);
};

static const char soname[] = "libdebuginfod.so.1";

/* The object of a client; the library is loaded. */
static struct debuginfod *object_of(struct debuginfod_client *client)
{
	void *library = dlopen(soname, RTLD_NOW | RTLD_NOLOAD), *(*get)(struct debuginfod_client *);

	if (!library)
		return NULL;
	*(void **)&get = dlsym(library, "debuginfod_get_user_data");
	dlclose(library);
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

static bool load(struct debuginfod *d)
{
	/* Never closed: another part of the program may use it too. */
	void *library = dlopen(soname, RTLD_NOW | RTLD_NODELETE);
	struct setup setup;

	if (!library) {
		log_note("DEBUGINFOD_URLS is set, but libdebuginfod is not installed (on Debian: "
			 "libdebuginfod1): debug files are not downloaded");
		return false;
	}
	*(void **)&setup.begin = dlsym(library, "debuginfod_begin");
	*(void **)&setup.progress = dlsym(library, "debuginfod_set_progressfn");
	*(void **)&setup.set_data = dlsym(library, "debuginfod_set_user_data");
	*(void **)&d->find = dlsym(library, "debuginfod_find_debuginfo");
	*(void **)&d->end = dlsym(library, "debuginfod_end");
	if (!setup.begin || !setup.progress || !setup.set_data || !d->find || !d->end)
		return false;
	d->client = setup.begin();
	if (!d->client)
		return false;
	setup.set_data(d->client, d);
	setup.progress(d->client, on_progress);
	d->left = DEBUGINFOD_SECONDS * second;
	return true;
}

static bool is_ready(struct debuginfod *d)
{
	const char *urls = secure_getenv("DEBUGINFOD_URLS");

	if (d->is_off || !urls || !*urls)
		return false;
	if (!d->is_loaded)
		d->is_off = !load(d);
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
	fd = d->find(d->client, id, (int)id_size, NULL);
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
		d->end(d->client);
	*d = (struct debuginfod){0};
}
