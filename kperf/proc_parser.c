/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "proc.h"

void proc_blocks_free(struct proc_block *block)
{
	for (struct proc_block *next; block; block = next) {
		next = block->next;
		free(block);
	}
}

void *proc_alloc(struct proc_parser *p, size_t size)
{
	struct proc_block *block = calloc(1, sizeof(*block) + size);

	if (!block) {
		p->failed = true;
		return NULL;
	}
	block->next = p->blocks;
	p->blocks = block;
	return block->bytes;
}

char *proc_text_n(struct proc_parser *p, const char *text, size_t n)
{
	char *copy = proc_alloc(p, n + 1);

	return copy ? memcpy(copy, text, n) : NULL;
}

char *proc_text(struct proc_parser *p, const char *text)
{
	return proc_text_n(p, text, strlen(text));
}

char *proc_trimmed(struct proc_parser *p, const char *text)
{
	size_t n;

	while (isspace((unsigned char)*text))
		text++;
	n = strlen(text);
	while (n > 0 && isspace((unsigned char)text[n - 1]))
		n--;
	return proc_text_n(p, text, n);
}

void *proc_add_entry(struct proc_parser *p)
{
	if (p->n == p->room) {
		unsigned room = p->room ? p->room * 2 : 8;
		void *entries = reallocarray(p->entries, room, p->entry_size);

		if (!entries) {
			p->failed = true;
			return NULL;
		}
		p->entries = entries;
		p->room = room;
	}
	return memset((char *)p->entries + p->n++ * p->entry_size, 0, p->entry_size);
}

void *proc_last_entry(struct proc_parser *p)
{
	return p->n > 0 ? (char *)p->entries + (p->n - 1) * p->entry_size : NULL;
}

void *proc_grow(struct proc_parser *p, const void *old, size_t n, size_t size)
{
	void *new;

	if (n > 0 && (n & (n - 1)) != 0)
		return (void *)old; /* there is room up to the next power of two */
	new = proc_alloc(p, (n > 0 ? n * 2 : 1) * size);
	if (new &&n > 0)
		memcpy(new, old, n * size);
	return new;
}

void proc_add_field(struct proc_parser *p, struct ProcField **fields, unsigned *n, const char *key,
	size_t key_len, const char *value)
{
	struct ProcField *array = proc_grow(p, *fields, *n, sizeof(*array));

	if (!array)
		return;
	*fields = array;
	array[*n] = (struct ProcField){
		.key = proc_text_n(p, key, key_len), .value = proc_trimmed(p, value)};
	++*n;
}

unsigned long long *proc_numbers(struct proc_parser *p, char *line, unsigned *ret_n)
{
	unsigned long long *array = NULL, value;
	char *end;

	for (*ret_n = 0; value = strtoull(line, &end, 10), end != line; line = end) {
		array = proc_grow(p, array, *ret_n, sizeof(*array));
		if (!array)
			return NULL;
		array[(*ret_n)++] = value;
	}
	return array;
}

void proc_each_line(struct proc_parser *p, FILE *file, proc_line_fn *fn)
{
	char *line = NULL;
	size_t size = 0;
	ssize_t n;

	while ((n = getline(&line, &size, file)) >= 0) {
		if (n > 0 && line[n - 1] == '\n')
			line[n - 1] = '\0';
		fn(p, line);
	}
	free(line);
}

void proc_words(struct proc_parser *p, char *line, char **const *words, size_t n)
{
	char *save = NULL;

	for (size_t i = 0; i < n; i++) {
		char *word = strtok_r(i == 0 ? line : NULL, " \t", &save);

		*words[i] = proc_text(p, word ? word : "");
	}
}

char *proc_read_all(FILE *file, size_t *ret_n)
{
	char *text = NULL, *larger;
	size_t n = 0, size = 4096, got;

	do {
		larger = realloc(text, size * 2);
		if (!larger)
			break;
		text = larger;
		size *= 2;
		got = fread(text + n, 1, size - 1 - n, file);
		n += got;
	} while (got > 0);
	if (text)
		text[n] = '\0';
	*ret_n = n;
	return text;
}

char *proc_first_line(struct proc_parser *p, const char *path)
{
	char line[4096] = "";
	FILE *file = fopen(path, "re");

	if (!file)
		return NULL;
	if (!fgets(line, sizeof(line), file))
		*line = '\0';
	fclose(file);
	return proc_trimmed(p, line);
}

void proc_each_name(struct proc_parser *p, const char *folder, proc_name_fn *fn)
{
	struct dirent *entry;
	DIR *dir = opendir(folder);

	while (dir && (entry = readdir(dir))) {
		char path[PATH_MAX];

		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		fn(p, entry->d_name, path);
	}
	if (dir)
		closedir(dir);
}
