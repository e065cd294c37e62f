/* SPDX-License-Identifier: MIT */
#include "perfdata/running_kernel.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/utsname.h>

#include "elf/kernel_notes.h"

/* Lines are "ffffffff81000000 T _text". Of 100,000 lines only the wanted one is parsed. */
uint64_t running_kernel_address(const char *symbol)
{
	FILE *file = fopen("/proc/kallsyms", "re");
	size_t n = strlen(symbol);
	uint64_t address = 0;
	char line[512];

	while (file && !address && fgets(line, sizeof(line), file)) {
		const char *name = strchr(line, ' ');

		if (name && strnlen(name, 4) > 3 && !strncmp(name + 3, symbol, n) &&
			name[3 + n] == '\n')
			address = strtoull(line, NULL, 16);
	}
	if (file)
		fclose(file);
	return address;
}

static struct kernel_code cached;

static void find_code(void)
{
	cached.start = running_kernel_address("_text") ?: running_kernel_address("_stext");
	cached.end = running_kernel_address("_etext");
}

const struct kernel_code *running_kernel_code(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, find_code);
	return &cached;
}

static const struct recording_build_id *kernel_id(const struct recording *r)
{
	static const char kernel[] = "[kernel.kallsyms]";
	size_t n;
	const struct recording_build_id *ids = recording_build_ids(r, &n);

	for (size_t i = 0; i < n; i++)
		if (ids[i].pid == -1 && ids[i].misc == PERF_RECORD_MISC_KERNEL &&
			!strncmp(ids[i].filename, kernel, strlen(kernel)))
			return &ids[i];
	return NULL;
}

/* Build ids that are shorter than 20 bytes may be padded with zeros. */
static bool is_this_build(const struct recording_build_id *recorded)
{
	uint8_t ours[20] = {0}, theirs[20] = {0};

	memcpy(theirs, recorded->id, recorded->size);
	return kernel_notes_build_id(ours) && !memcmp(ours, theirs, sizeof(ours));
}

bool this_host_recorded(const struct recording *r)
{
	const struct recording_facts *facts = recording_get_facts(r);
	struct utsname names;

	return facts->hostname && uname(&names) == 0 && !strcmp(names.nodename, facts->hostname);
}

bool this_arch_recorded(const struct recording *r)
{
	const struct recording_facts *facts = recording_get_facts(r);
	struct utsname names;

	return !facts->arch || uname(&names) < 0 || !strcmp(names.machine, facts->arch);
}

bool running_kernel_is_recorded(const struct recording *r, const char **ret_why)
{
	const struct recording_facts *facts = recording_get_facts(r);
	const struct recording_build_id *id = kernel_id(r);
	struct utsname names;
	bool same;

	if (!id && (!facts->release || !facts->hostname || uname(&names) < 0)) {
		*ret_why = "does not say which kernel recorded it";
		return false;
	}
	same = id ? is_this_build(id)
		  : this_host_recorded(r) && !strcmp(names.release, facts->release);
	if (!same)
		*ret_why = "was recorded by another kernel";
	return same;
}
