/* SPDX-License-Identifier: MIT */
/*
 * Names of tasks: paths of control groups, and the files about containers. The first byte selects
 * the parser.
 */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "names/container_json.h"
#include "names/group_names.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_part(const char *text, size_t n, const struct path_part *part)
{
	if (part->n && (part->at < text || part->at + part->n > text + n))
		abort();
}

static void check_path(const char *text, size_t n)
{
	struct group_names groups = {.root = "/nonexistent"};
	struct group_path parts;
	uint32_t group;

	group_path_parse(text, n, &parts);
	check_part(text, n, &parts.container);
	check_part(text, n, &parts.pod);
	check_part(text, n, &parts.unit);
	if ((parts.kind != CONTAINER_NONE) != (parts.container.n > 0))
		abort();
	group = group_names_of_path(&groups, text, n);
	if (group != group_names_of_path(&groups, text, n))
		abort();
	group_names_of_text(&groups, text);
	group_names_resolve(&groups);
	for (int kind = 0; kind < GROUP_KINDS; kind++)
		group_names_text(&groups, kind, group_names_get(&groups, kind, group));
	group_names_done(&groups);
}

static void check_json(uint8_t which, const char *text, size_t n)
{
	struct buf paths _cleanup_(buf_done) = {0};
	struct container_names names = {0};
	bool is_found = which == 1   ? container_json_docker(text, n, &names)
			: which == 2 ? container_json_bundle(text, n, &names)
			: which == 3 ? container_json_storage(text, n, "ab", &names)
				     : container_json_groups(text, n, &paths) && *names.name;

	if (is_found != (*names.name != '\0'))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	if (!text)
		abort();
	memcpy(text, data, size);
	text[size] = '\0';
	if (size && data[0] % 5)
		check_json(data[0] % 5, text + 1, size - 1);
	else if (size)
		check_path(text + 1, size - 1);
	attar_error_clear();
	free(text);
	return 0;
}
