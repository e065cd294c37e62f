/* SPDX-License-Identifier: MIT */
#include "run/stop.h"

#include <sys/eventfd.h>

#include "base/check_arg.h"
#include "base/file_limit.h"
#include "run/run.h"

static int stop_create(struct attar_run *run, void *self)
{
	struct run_stop *stop = self;

	stop->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (stop->fd >= 0)
		return 0;
	return file_limit_fail(errno, "cannot open an eventfd");
}

void stop_done(struct run_stop *stop)
{
	if (stop->fd >= 0)
		close(stop->fd);
}

void attar_run_stop(struct attar_run *run)
{
	uint64_t one = 1;
	int error = errno;

	if (!run || !is_own_process(run))
		return; /* no error is set: attar_fail() is not async-signal-safe */
	__atomic_store_n(&stop_of(run)->asked, 1, __ATOMIC_RELAXED);
	if (write(stop_of(run)->fd, &one, sizeof(one)) < 0)
		errno = error; /* full: a stop has already been requested */
}

bool run_stop_asked(const struct attar_run *run)
{
	return __atomic_load_n(&stop_of(run)->asked, __ATOMIC_RELAXED);
}

static void stop_free(struct attar_run *run, void *self)
{
	stop_done(self);
}

const struct run_part part_stop = {
	.size = sizeof(struct run_stop), .create = stop_create, .free = stop_free};
