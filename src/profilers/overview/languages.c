/* SPDX-License-Identifier: MIT */
#include "overview/languages.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "attar/base.h"
#include "attar/private/lang.h"
#include "overview/usage.h"

enum {
	PERIOD_MS = 100,
	THREADS_MAX = 16, /* of a process, that are looked at */
	DEPTH_MAX = 64,   /* innermost functions of a thread */
	MOST = 60,        /* percent of the looks */
	LOOKS = 20,       /* at least */
	NS_PER_MS = 1000000,
};

/* Whether a thread runs or waits for a CPU. */
static bool is_running(pid_t pid, pid_t tid)
{
	char path[64], text[256];
	const char *end;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)pid, (int)tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	end = strrchr(text, ')');
	return end && !strncmp(end, ") R", 3);
}

static struct language *language_of(struct languages *languages, pid_t pid)
{
	struct language *language;

	for (size_t i = 0; i < languages->n; i++)
		if (languages->at[i].pid == pid)
			return &languages->at[i];
	if (languages->n == LANGUAGES_MAX)
		return NULL;
	language = &languages->at[languages->n++];
	*language = (struct language){.pid = pid};
	return language;
}

/* A process may execute another program: it is searched again, ever more seldom. */
static bool has_runtime(struct language *language)
{
	if (language->lang)
		return true;
	language->searches++;
	if (language->searches & (language->searches - 1))
		return false;
	if (lang_open(language->pid, &language->lang) < 0)
		attar_error_clear();
	return language->lang;
}

/* NULL: there are too many. */
static struct language_function *function_of(
	struct language *language, const struct lang_frame *frame)
{
	const char *slash = strrchr(frame->file, '/'), *file = slash ? slash + 1 : frame->file;
	struct language_function wanted = {.looked = 0}, *function;

	snprintf(wanted.name, sizeof(wanted.name), "%s", frame->name);
	snprintf(wanted.file, sizeof(wanted.file), "%s", file);
	for (size_t i = 0; i < language->n; i++) {
		function = &language->functions[i];
		if (!strcmp(function->name, wanted.name) && !strcmp(function->file, wanted.file))
			return function;
	}
	if (language->n == LANGUAGE_FUNCTIONS_MAX)
		return NULL;
	function = &language->functions[language->n++];
	*function = wanted;
	return function;
}

static void add_frames(struct language *language)
{
	struct lang_frame frame;

	language->looks++;
	for (uint64_t depth = 0; depth < DEPTH_MAX && lang_next(language->lang, &frame); depth++) {
		struct language_function *function =
			*frame.name == '[' ? NULL : function_of(language, &frame); /* unreadable */

		if (!function || function->looked == language->looks) /* it calls itself */
			continue;
		function->looked = language->looks;
		function->inner += depth == 0;
		function->depth += depth;
		function->all++;
	}
}

static void look_at_thread(struct languages *languages, pid_t pid, pid_t tid)
{
	struct language *language;

	if (!is_running(pid, tid))
		return;
	language = language_of(languages, pid);
	if (!language || !has_runtime(language))
		return;
	if (!languages->is_held)
		lang_hold();
	languages->is_held = true;
	if (lang_take(language->lang, tid))
		add_frames(language);
}

static void look_at_threads(struct languages *languages, pid_t pid)
{
	struct dirent *entry;
	char path[64];
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	tasks = opendir(path);
	for (int n = 0; tasks && n < THREADS_MAX && (entry = readdir(tasks));)
		if (*entry->d_name != '.') {
			look_at_thread(languages, pid, (pid_t)atol(entry->d_name));
			n++;
		}
	if (tasks)
		closedir(tasks);
}

void languages_look(const struct usages *usages, struct languages *languages)
{
	size_t selected = 0;
	struct timespec ts;
	uint64_t time;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	time = (uint64_t)ts.tv_sec * 1000 * NS_PER_MS + (uint64_t)ts.tv_nsec;
	if (time - languages->time < (uint64_t)PERIOD_MS * NS_PER_MS)
		return;
	languages->time = time;
	for (size_t i = 0; i < usages->n; i++)
		selected += usages->at[i].is_selected;
	for (size_t i = 0; i < usages->n && selected <= LANGUAGES_MAX; i++) {
		const struct usage *usage = &usages->at[i];

		if (!usage->is_selected)
			continue;
		if (usage->threads > 1)
			look_at_threads(languages, usage->pid);
		else
			look_at_thread(languages, usage->pid, usage->pid);
	}
}

void languages_done(struct languages *languages)
{
	for (size_t i = 0; i < languages->n; i++)
		lang_free(languages->at[i].lang);
	if (languages->is_held)
		lang_release();
	languages->n = 0;
	languages->is_held = false;
}

static double depth_of(const struct language_function *function)
{
	return (double)function->depth / (double)function->all;
}

const struct language_function *languages_caller(
	const struct languages *languages, pid_t pid, uint64_t *ret_looks)
{
	const struct language_function *best = NULL;
	const struct language *language = NULL;

	for (size_t i = 0; i < languages->n; i++)
		if (languages->at[i].pid == pid)
			language = &languages->at[i];
	if (!language || language->looks < LOOKS)
		return NULL;
	for (size_t i = 0; i < language->n; i++) {
		const struct language_function *function = &language->functions[i];

		if (100 * function->all >= MOST * language->looks &&
			(!best || depth_of(function) < depth_of(best)))
			best = function;
	}
	*ret_looks = language->looks;
	return best;
}
