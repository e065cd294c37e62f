/* SPDX-License-Identifier: MIT */
/*
 * Compiles what probes fetch, with the types of a file (of a module: and of the kernel's): each
 * line of stdin is a function, a tab and an expression. Prints what tracefs reads, or the error.
 */
#include <stdio.h>

#include "event/fetch.h"

static void dump(const struct btf *btf, char *line)
{
	char *tab = strchr(line, '\t');
	struct buf fetch _cleanup_(buf_done) = {0};
	struct fetch_names names = {.btf = btf, .function = line};
	const char *wrong;

	line[strcspn(line, "\n")] = '\0';
	if (!tab)
		return;
	*tab++ = '\0';
	names.is_return = *line == '<'; /* "<f": at its return */
	names.function += names.is_return;
	if (fetch_compile(&names, tab, strlen(tab), &fetch, &wrong) == 0)
		puts(buf_text(&fetch));
	else
		printf("error at %td: %s\n", wrong - tab, attar_error());
	attar_error_clear();
}

int main(int argc, char **argv)
{
	struct btf kernel = {0}, module = {0};
	char line[4096];
	int r = argc > 1 ? btf_read_file(&kernel, argv[1], NULL) : -1;

	if (r == 0 && argc > 2)
		r = btf_read_file(&module, argv[2], &kernel);
	while (r == 0 && fgets(line, sizeof(line), stdin))
		dump(argc > 2 ? &module : &kernel, line);
	if (r < 0)
		fprintf(stderr, "%s\n", attar_error());
	btf_done(&module);
	btf_done(&kernel);
	return r < 0;
}
