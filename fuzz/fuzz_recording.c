/* SPDX-License-Identifier: MIT */
/*
 * A recording of arbitrary bytes: file and pipe format, either byte order, compressed or not. Reads
 * everything that the reader lends, and parses each record with the layout of its event.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "perfdata/portable_names.h"
#include "perfdata/recording.h"

/* Keeps the reads from being optimized away. */
static void use(uint64_t value)
{
	__asm__ volatile("" : : "r"(value));
}

static void read_bytes(const void *bytes, size_t len)
{
	const unsigned char *at = bytes;
	uint64_t sum = 0;

	for (size_t i = 0; i < len; i++)
		sum += at[i];
	use(sum);
}

static void read_text(const char *text)
{
	if (text)
		use(strlen(text));
}

static void parse_part(const struct recording *r, const struct recording_part *part)
{
	for (size_t at = 0; at < part->len;) {
		const void *bytes = (const char *)part->bytes + at;
		const struct perf_event_header *header = bytes;
		int index = recording_event_of(r, header);
		struct attar_layout layout;
		struct attar_record rec;

		if (header->size < 8 || header->size % 8 || header->size > part->len - at)
			abort();
		if (index >= (int)recording_n_events(r))
			abort();
		read_bytes(bytes, header->size);
		at += header->size;
		if (index < 0)
			continue;
		attar_layout_init(&layout, &recording_get_event(r, (size_t)index)->attr);
		if (attar_record_parse(&layout, bytes, header->size, &rec) == 0)
			use(rec.time);
	}
}

static void read_facts(const struct recording *r)
{
	const struct recording_facts *facts = recording_get_facts(r);
	const struct recording_build_id *ids;
	size_t n;

	read_text(facts->hostname);
	read_text(facts->cmdline);
	read_bytes(facts->kallsyms.at, facts->kallsyms.len);
	read_bytes(facts->printk_formats.at, facts->printk_formats.len);
	read_bytes(facts->saved_cmdlines.at, facts->saved_cmdlines.len);
	for (size_t i = 0; i < recording_n_events(r); i++) {
		const struct recording_event *event = recording_get_event(r, i);

		read_text(event->name);
		read_bytes(event->format_text, event->format_len);
		read_bytes(event->ids, event->n_ids * 8);
	}
	ids = recording_build_ids(r, &n);
	for (size_t i = 0; i < n; i++)
		read_text(ids[i].filename);
}

static void read_waits(const struct recording *r)
{
	for (int moment = 0; moment < RECORDING_MOMENTS; moment++) {
		const struct recording_waits *waits = recording_get_waits(r, moment);

		vec_each (recording_get_scheds(r, moment), sched)
			read_bytes((const char *)sched, sizeof(*sched));
		vec_each (&waits->threads, thread) {
			char text[ATTAR_WAIT_TEXT_BYTES];

			read_text(thread->comm);
			for (size_t i = 0; i < thread->n; i++)
				read_text(attar_wait_text(&thread->chain[i], text));
		}
	}
}

/* What was stored is looked up, as for a location of a sample. */
static void read_names(struct recording *r)
{
	struct stored *stored;

	if (portable_names_read(r, &stored) <= 0)
		return;
	vec_each (&stored->modules, it) {
		const struct stored_module *module = *it;
		const struct cfi_rules *rules = cfi_table_find(&module->cfi, 0x1000);

		read_text(module->key.path);
		use(rules ? rules->n : 0);
		vec_each (&module->places, place) {
			read_text(place->name);
			for (uint32_t i = 0; i < place->n_frames; i++)
				read_text(module->frames.at[place->frame + i].function);
		}
	}
	stored_free(stored);
}

static void read_recording(const char *path)
{
	struct recording_part held = {0}, part;
	struct recording_stats stats;
	struct recording *r;

	if (recording_open(path, &r) < 0)
		return;
	/* Holds each part until after the next one was read. */
	while (recording_next(r, &part) > 0) {
		parse_part(r, &part);
		recording_release(r, &held);
		held = part;
	}
	recording_release(r, &held);
	read_facts(r);
	read_waits(r);
	read_names(r);
	recording_get_stats(r, &stats);
	read_text(stats.damage);
	recording_close(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	static char path[64];

	if (fd < 0) {
		fd = memfd_create("recording", 0);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	}
	if (fd < 0 || ftruncate(fd, 0) < 0 || pwrite(fd, data, size, 0) != (ssize_t)size)
		abort();
	read_recording(path);
	return 0;
}
