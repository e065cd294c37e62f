/* SPDX-License-Identifier: MIT */
#include "run/input/recorded_names.h"

#include "attar/private/symbol.h"
#include "peer/receiver.h"
#include "peer/symbol_list.h"
#include "perfdata/portable_names.h"
#include "perfdata/running_kernel.h"
#include "run/input/hosts.h"
#include "run/input/pull.h"
#include "run/input/replay.h"
#include "run/run.h"
#include "symbol/symbols.h"

#define KERNEL_TEXT "[kernel.kallsyms]_" /* and the symbol at pgoff: _text or _stext */

/* A run of several hosts has the names of each kernel. */
static int take_names(struct attar_run *run, const char *text, size_t n)
{
	uint16_t *kernel = &run->replay->names.kernel;

	if (hosts_of(run)->reads_for)
		return symbols_add_kernel(run->symbols, text, n, kernel);
	*kernel = ATTAR_DSO_KERNEL;
	return symbols_set_kernel(run->symbols, text, n);
}

/* The names that a sender has of its kernel. */
static int take_sent(struct attar_run *run)
{
	struct buf text _cleanup_(buf_done) = {0};
	size_t n = 0;
	const char *packed =
		pull_of(run)->receiver ? receiver_symbols(pull_of(run)->receiver, &n) : NULL;
	int r;

	if (!n)
		return 0;
	r = symbol_list_unpack(packed, n, &text);
	if (r == 0)
		r = take_names(run, buf_text(&text), text.len);
	return r < 0 ? attar_context(r, "%s", CLIP(run->opts.input)) : 0;
}

int recorded_names_open(struct attar_run *run)
{
	struct recorded_names *names = &run->replay->names;
	struct stored *stored;
	int r = take_sent(run);

	if (r == 0)
		r = portable_names_read(run->replay->recording, &stored);

	if (r < 0)
		return r;
	if (r > 0 && hosts_of(run)->reads_for) { /* the names of this machine are used, too */
		stored_free(stored);
		return 0;
	}
	if (r > 0) { /* also of the kernel: its own would differ on another machine */
		symbols_set_stored(run->symbols, stored);
		return 0;
	}
	names->same_build = running_kernel_is_recorded(run->replay->recording, &names->why);
	if (pull_of(run)->receiver && !names->same_build)
		names->why = "is of another kernel, and sends none: it cannot read its "
			     "/proc/kallsyms";
	if (names->same_build)
		names->why = "does not say where the code of the kernel was";
	return 0;
}

/*
 * The kernel's code is at another address after each boot. If the running kernel hides its
 * addresses, the symbol cache says so when it reads them.
 */
static bool is_at(const char *symbol, uint64_t address)
{
	uint64_t here = running_kernel_address(symbol);

	return !here || here == address;
}

void recorded_names_see(struct attar_run *run, const struct attar_record *rec)
{
	struct recorded_names *names = &run->replay->names;

	if ((rec->type != PERF_RECORD_MMAP && rec->type != PERF_RECORD_MMAP2) ||
		rec->mmap.pid != UINT32_MAX || !names->same_build || names->same_boot ||
		strncmp(rec->mmap.filename, KERNEL_TEXT, strlen(KERNEL_TEXT)) != 0)
		return;
	names->same_boot = is_at(rec->mmap.filename + strlen(KERNEL_TEXT) - 1, rec->mmap.pgoff);
	names->why = names->same_boot ? NULL : "was recorded before this machine was booted";
	if (names->same_boot)
		symbols_allow_kernel(run->symbols);
}

static void remark_replaced(const struct dso *dso, uint64_t files, struct attar_report *report)
{
	attar_report_remark(report, "%llu file%s recorded, such as %s: the functions have no names",
		(unsigned long long)files,
		files == 1 ? " is not the one that was" : "s are not those that were",
		dso->key.path);
}

static void remark_unreadable(const struct attar_run *run, const struct dso *dso, uint64_t files,
	struct attar_report *report)
{
	attar_report_remark(report,
		"%llu file%s of %s cannot be read, such as %s (%s): the functions have no names; "
		"copy the binary to this path%s",
		(unsigned long long)files, PLURAL_S(files), run->opts.input, dso->key.path,
		dso_lost_reason(dso),
		pull_of(run)->receiver ? "" : ", or use attar record --portable");
}

void recorded_names_remark(const struct attar_run *run, struct attar_report *report)
{
	const struct recorded_names *names = &run->replay->names;
	const struct dso *replaced = symbols_lost_file(run->symbols, true);
	const struct dso *unreadable = symbols_lost_file(run->symbols, false);
	struct attar_symbols_stats stats;

	if (names->why && run->symbols->kernel.refused)
		attar_report_remark(report, "kernel addresses have no names: %s %s",
			run->opts.input, names->why);
	symbols_get_stats(run->symbols, &stats);
	if (replaced)
		remark_replaced(replaced, stats.files_replaced, report);
	if (unreadable)
		remark_unreadable(run, unreadable, stats.files_unreadable, report);
}
