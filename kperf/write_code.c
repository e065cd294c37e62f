/* SPDX-License-Identifier: MIT */
#include "write_code.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "elf_file.h"
#include "error.h"

#define OFFSET_MASK UINT64_C(0xffffffffffff) /* of attar_location */

static bool was_seen(struct kp_code *code, const struct kp_code_page *page)
{
	uint64_t hash = (page->page ^ (uint64_t)page->pid << 20 ^ (uint64_t)page->dso << 44) *
			UINT64_C(0x9e3779b97f4a7c15);
	struct kp_code_page *recent = &code->recent[hash >> 52];

	if (recent->pid == page->pid && recent->dso == page->dso && recent->page == page->page)
		return true;
	*recent = *page;
	return false;
}

/* Extends the mapping to the segment that the offset is in. */
static void extend(struct kp_code_mapping *mapping, uint64_t page_size)
{
	struct elf_file file;

	if (elf_file_read(mapping->path, &file) != SUCCESS)
		return;
	for (unsigned i = 0; i < file.n; i++) {
		const struct elf_segment *segment = &file.segments[i];
		uint64_t first = segment->offset & ~(page_size - 1);

		if (!segment->executable || mapping->offset < first ||
			mapping->offset >= segment->offset + segment->size)
			continue;
		mapping->start -= mapping->offset - first;
		mapping->size = (segment->offset + segment->size - first + page_size - 1) &
				~(page_size - 1);
		mapping->offset = first;
		break;
	}
	elf_file_done(&file);
}

bool kp_code_needs(struct kp_code *code, int pid, const struct kp_frames *frames,
	const struct kp_frame *frame, struct kp_code_mapping *ret)
{
	uint64_t page_size = (uint64_t)sysconf(_SC_PAGESIZE), address = frame->ip - frame->caller;
	struct kp_code_page page = {pid, attar_location_dso(frame->location), address / page_size};
	enum attar_dso_kind kind;
	const char *path;

	if (frame->kernel || page.dso == ATTAR_DSO_UNKNOWN || was_seen(code, &page))
		return false;
	pthread_mutex_lock(&frames->origin->lock);
	path = attar_symbols_dso(frames->origin->symbols, frame->location, &kind);
	snprintf(ret->path, sizeof(ret->path), "%s", path ? path : "");
	pthread_mutex_unlock(&frames->origin->lock);
	if (kind != ATTAR_DSO_IS_FILE)
		return false;
	ret->start = page.page * page_size;
	ret->size = page_size;
	ret->offset = (frame->location & OFFSET_MASK) & ~(page_size - 1);
	extend(ret, page_size);
	page.page = ~(ret->start / page_size); /* the offset of the mapping, not of the code */
	return !was_seen(code, &page);
}

uint64_t kp_code_kernel_text(void)
{
	FILE *file = fopen("/proc/kallsyms", "re");
	char line[512], name[16];
	unsigned long address, found = 0;

	while (file && found == 0 && fgets(line, sizeof(line), file))
		if (sscanf(line, "%lx %*c %15s", &address, name) == 2 && strcmp(name, "_text") == 0)
			found = address;
	if (file)
		fclose(file);
	return found;
}
