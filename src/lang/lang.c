/* SPDX-License-Identifier: MIT */
#include "attar/private/lang.h"

#include <fnmatch.h>
#include <stdio.h>
#include <unistd.h>

#include "attar/base.h"
#include "base/base.h"
#include "base/intern.h"
#include "base/log.h"
#include "base/proc.h"
#include "base/proc_memory.h"
#include "elf/function.h"
#include "lang/runtime.h"
#include "symbol/dso_open.h"
#include "symbol/maps.h"

static const struct lang_runtime *const runtimes[] = {
	&lang_python, &lang_ruby, &lang_php, &lang_perl};

enum { MODULES_MAX = 64 }; /* files that are opened to look for a runtime */

/* For one turn through all threads of a process, whose lists can be long or endless. */
#define TIME_NS  UINT64_C(3000000000)
#define AGAIN_NS UINT64_C(50000000) /* for each turn after one that took too long */

struct lang {
	const struct lang_runtime *runtime;
	void *state;
	char title[32];
	char *path; /* of its file, owned */
	struct lang_memory memory;
	struct lang_names names;
	struct intern texts;
	struct lang_place places[LANG_FRAMES_MAX];
	size_t n, next;
	uint64_t began, spent; /* ns: when reading began, and what this turn took before */
	bool is_told;          /* that it takes long */
};

struct lang *lang_free(struct lang *lang)
{
	if (!lang)
		return NULL;
	free(lang->state);
	free(lang->path);
	buf_done(&lang->names.name);
	buf_done(&lang->names.file);
	intern_done(&lang->texts);
	free(lang);
	return NULL;
}

/* ---- find the runtime ---- */

uint64_t lang_variable(const struct lang_module *module, const char *name)
{
	uint64_t vaddr;

	return elf_symbol_address(module->elf, name, &vaddr) ? vaddr + module->bias : 0;
}

struct search {
	struct lang *lang;
	const struct lang_runtime *runtime;
	char version[16];
	unsigned modules;
};

static int search_elf(struct search *s, const struct attar_mapping *mapping, int fd)
{
	struct byte_source source;
	struct elf elf = {0};
	uint64_t vaddr;
	int r = byte_source_file(fd, &source);

	if (r == 0)
		r = elf_init(&elf, &source);
	if (r < 0)
		return 0;
	if (elf_vaddr(elf.segments.at, elf.segments.n, mapping->pgoff, &vaddr)) {
		struct lang_module module = {
			.elf = &elf, .bias = mapping->start - vaddr, .path = mapping->path};

		r = s->runtime->open(s->lang->state, &module, &s->lang->memory, s->version);
	}
	elf_done(&elf);
	return r;
}

static int search_mapping(void *ctx, const struct attar_mapping *mapping, bool executable)
{
	struct search *s = ctx;
	const char *name = strrchr(mapping->path, '/');
	struct dso_key key = {.kind = ATTAR_DSO_IS_FILE};
	char *path;
	int fd, r;

	if (!executable || !name || fnmatch(s->runtime->pattern, name + 1, 0) != 0 ||
		s->modules++ >= MODULES_MAX)
		return 0;
	path = dso_key_of_file(mapping, &key);
	if (!path)
		return base_oom();
	free(s->lang->path);
	s->lang->path = path;
	fd = dso_open(&(struct dso_search){.key = &key,
		.pids = {s->lang->memory.pid},
		.start = mapping->start,
		.end = mapping->start + mapping->len});
	if (fd < 0)
		return 0;
	r = search_elf(s, mapping, fd);
	close(fd);
	return r > 0 ? -EEXIST : r; /* a negative result stops reading */
}

static int lang_search(struct lang *lang, const struct lang_runtime *runtime)
{
	struct search s = {.lang = lang, .runtime = runtime};
	int r;

	lang->state = calloc(1, runtime->state_size);
	if (!lang->state)
		return base_oom();
	proc_memory_hold();
	r = maps_read_code(lang->memory.pid, search_mapping, &s);
	proc_memory_release();
	if (r != -EEXIST) {
		free(lang->state);
		lang->state = NULL;
		return r;
	}
	lang->runtime = runtime;
	snprintf(lang->title, sizeof(lang->title), "%s %s", runtime->language, s.version);
	return 1;
}

int lang_open(pid_t pid, struct lang **ret_lang)
{
	struct lang *lang = calloc(1, sizeof(*lang));
	int r = 0;

	*ret_lang = NULL;
	if (!lang)
		return base_oom();
	lang->memory.pid = pid;
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(runtimes); i++)
		r = lang_search(lang, runtimes[i]);
	if (r <= 0) {
		lang_free(lang);
		return r;
	}
	*ret_lang = lang;
	return 0;
}

const char *lang_title(const struct lang *lang)
{
	return lang->title;
}

bool lang_is_loop(const struct lang *lang, const char *symbol)
{
	return strcmp(symbol, lang->runtime->loop) == 0;
}

bool lang_is_runtime(const struct lang *lang, const char *path)
{
	return strcmp(path, lang->path) == 0;
}

/* ---- frames ---- */

void lang_hold(void)
{
	proc_memory_hold();
}

void lang_release(void)
{
	proc_memory_release();
}

static void lang_begin(struct lang *lang)
{
	lang->began = base_now();
	lang->memory.reads = 0;
	proc_memory_hold();
}

static void lang_end(struct lang *lang)
{
	proc_memory_release();
	lang->spent += base_now() - lang->began;
}

static bool lang_has_time(struct lang *lang)
{
	if (lang->spent < TIME_NS)
		return true;
	if (!lang->is_told)
		log_note(
			"reading the functions of %s in process %d takes long: further threads are "
			"shown without them",
			lang->title, (int)lang->memory.pid);
	lang->is_told = true;
	return false;
}

void lang_begin_turn(struct lang *lang)
{
	lang->spent = lang->is_told ? TIME_NS - AGAIN_NS : 0;
}

size_t lang_take(struct lang *lang, pid_t tid)
{
	lang->n = lang->next = 0;
	if (!lang_has_time(lang))
		return 0;
	lang_begin(lang);
	lang_memory_forget(&lang->memory);
	lang->n = lang->runtime->take(lang->state, &lang->memory,
		&(struct lang_thread){.tid = tid, .inside = proc_number_inside(tid)}, lang->places,
		LANG_FRAMES_MAX);
	lang_end(lang);
	return lang->n;
}

static bool lang_name(struct lang *lang, const struct lang_place *place, struct lang_frame *frame)
{
	struct lang_names *names = &lang->names;

	buf_reset(&names->name);
	buf_reset(&names->file);
	*frame = (struct lang_frame){
		.name = "[unreadable]", .file = "", .is_entry = place->is_entry};
	if (!lang_has_time(lang) || !lang->runtime->name(lang->state, &lang->memory, place, names))
		return true;
	frame->name = intern_text(&lang->texts, buf_text(&names->name));
	frame->file = intern_text(&lang->texts, buf_text(&names->file));
	frame->line = names->line;
	return frame->name && frame->file;
}

bool lang_next(struct lang *lang, struct lang_frame *ret_frame)
{
	bool found;

	if (lang->next == lang->n)
		return false;
	lang_begin(lang);
	found = lang_name(lang, &lang->places[lang->next++], ret_frame);
	lang_end(lang);
	return found;
}
