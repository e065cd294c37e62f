/* SPDX-License-Identifier: MIT */
/* What is known of the code that a process runs: callers, garbage collection, missing names. */
#include <stdio.h>
#include <string.h>

#include "attar/private/lang.h"
#include "overview/findings.h"

enum {
	FUNCTIONS = 256,  /* the most frequent ones */
	COLLECTION = 10,  /* percent of the code */
	NAMELESS = 30,    /* percent of the code */
	INTERPRETER = 30, /* percent of the code */
	CALLERS = 2,      /* frames above the sampled function, on average */
	TITLE_BYTES = 32,
};

/* The begins of the names of functions that collect garbage, and a part of their binary's. */
static const struct {
	const char *dso, *name;
} collectors[] = {
	{"", "runtime.gc"},
	{"", "runtime.scan"},
	{"", "runtime.greyobject"},
	{"", "runtime.findObject"},
	{"", "runtime.markroot"},
	{"", "runtime.sweep"},
	{"", "runtime.bgsweep"},
	{"", "runtime.wbBufFlush"},
	{"", "runtime.heapBits"},
	{"", "runtime.(*gcWork)"},
	{"", "runtime.(*gcBits)"},
	{"", "runtime.(*sweepLocked)"},
	{"", "runtime.(*mspan).sweep"},
	{"", "runtime.spanOf"},
	{"", "v8::internal::Scaveng"},
	{"", "v8::internal::MarkCompact"},
	{"", "v8::internal::Sweeper"},
	{"", "v8::internal::ConcurrentMarking"},
	{"", "v8::internal::MainMarkingVisitor"},
	{"", "v8::internal::YoungGeneration"},
	{"libjvm", "G1"},
	{"libjvm", "PSPromotion"},
	{"libjvm", "PSParallel"},
	{"libjvm", "ParScan"},
	{"libjvm", "DefNew"},
	{"libjvm", "MarkSweep"},
	{"libjvm", "ZMark"},
	{"libjvm", "ZRelocate"},
	{"libjvm", "Shenandoah"},
	{"", "WKS::gc_heap"},
	{"", "SVR::gc_heap"},
	{"python", "gc_collect"},
	{"python", "visit_reachable"},
	{"python", "visit_decref"},
	{"python", "deduce_unreachable"},
	{"ruby", "gc_mark"},
	{"ruby", "gc_sweep"},
};

static bool collects_garbage(const struct overview_function *f)
{
	for (size_t i = 0; f->name && i < sizeof(collectors) / sizeof(*collectors); i++)
		if (strstr(f->dso, collectors[i].dso) &&
			!strncmp(f->name, collectors[i].name, strlen(collectors[i].name)))
			return true;
	return false;
}

/* How names of the functions of a language can be had; NULL: unknown. */
static const char *way_to_names(const char *comm)
{
	static const struct {
		const char *comm, *way;
	} ways[] = {
		{"node", "functions of JavaScript have names with node --perf-basic-prof"},
		{"java", "methods of Java have names with --java-map"},
		{"dotnet", "methods have names with DOTNET_PerfMapEnabled=1 in the environment"},
		{"ruby", "attar stack -p PID --repeat 300 shows the methods while it runs"},
		{"php", "attar stack -p PID --repeat 300 shows the functions while it runs"},
		{"perl", "attar stack -p PID --repeat 300 shows the functions while it runs"},
		{"beam", "functions have names with erl +JPperf true"},
		{"luajit", "functions have names with luajit -jp"},
	};

	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
		if (!strncmp(comm, ways[i].comm, strlen(ways[i].comm)))
			return ways[i].way;
	return NULL;
}

static bool is_python(const struct overview_function *f)
{
	return f->name && !strncmp(f->name, "_PyEval_EvalFrame", 17);
}

/* Whether the function executes functions of a language. Not all interpreters have names. */
static bool is_interpreter(const struct overview_function *f)
{
	static const char *const files[] = {"ruby", "libruby", "php", "libphp", "perl", "libperl"};
	const char *slash = strrchr(f->dso, '/'), *file = slash ? slash + 1 : f->dso;

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		if (!strncmp(file, files[i], strlen(files[i])))
			return true;
	return is_python(f);
}

/* Whether `attar stack` finds the functions that the interpreter executes. */
static bool has_names(pid_t pid, char ret_title[TITLE_BYTES])
{
	struct lang *lang = NULL;

	if (lang_open(pid, &lang) < 0)
		attar_error_clear();
	if (lang)
		snprintf(ret_title, TITLE_BYTES, "%s", lang_title(lang));
	lang_free(lang);
	return lang != NULL;
}

static bool code_is_interpreted(const struct overview_sums *sums,
	const struct overview_process *process, char ret_title[TITLE_BYTES])
{
	struct overview_function functions[FUNCTIONS];
	size_t n = process ? overview_places(sums, PART_USER, process, functions, FUNCTIONS) : 0;
	uint64_t interprets = 0;

	for (size_t i = 0; i < n; i++)
		interprets += is_interpreter(&functions[i]) ? functions[i].weight : 0;
	return n && overview_percent(interprets, functions[0].all) >= INTERPRETER &&
	       overview_can_ask(sums, process->pid) && has_names(process->pid, ret_title);
}

bool overview_is_interpreted(
	const struct overview_sums *sums, const struct overview_process *process)
{
	char title[TITLE_BYTES];

	return code_is_interpreted(sums, process, title);
}

/* Returns false if no caller is known, except functions of an engine. */
static bool say_caller(const struct overview_sums *sums, struct overview_finding *finding,
	const struct overview_process *process, const struct overview_function *leaf)
{
	struct overview_function caller;

	if (!overview_caller(sums, process, &caller))
		return false;
	if (!leaf->name || strcmp(caller.name, leaf->name) != 0)
		overview_say(finding, ", %.0f %% in %s with what it calls",
			overview_percent(caller.weight, caller.all), caller.name);
	return !overview_is_node(caller.dso);
}

static void say_language(const struct overview_sums *sums, struct overview_finding *finding,
	const struct overview_process *process)
{
	uint64_t looks;
	const struct language_function *f =
		process ? languages_caller(&sums->overview->languages, process->pid, &looks) : NULL;

	if (!f)
		return;
	overview_say(finding,
		"; %llu of %llu times when attar looked, it was in the function %s (%s)%s",
		(unsigned long long)f->all, (unsigned long long)looks, f->name, f->file,
		2 * f->inner < f->all ? ", mostly in what it calls" : "");
}

void overview_say_code(const struct overview_sums *sums, struct overview_finding *finding,
	const struct overview_process *process)
{
	struct overview_function functions[FUNCTIONS];
	size_t n = overview_places(sums, PART_USER, process, functions, FUNCTIONS);
	uint64_t collects = 0, nameless = 0, interprets = 0, native = 0, all;
	const char *way = process ? way_to_names(process->comm) : NULL;
	char title[TITLE_BYTES];
	bool has_caller;

	if (!n || functions[0].all_samples < OVERVIEW_SAMPLES_MIN)
		return;
	all = functions[0].all;
	for (size_t i = 0; i < n; i++) {
		collects += collects_garbage(&functions[i]) ? functions[i].weight : 0;
		interprets += is_python(&functions[i]) ? functions[i].weight : 0;
		nameless += functions[i].name ? 0 : functions[i].weight;
		native += overview_is_node(functions[i].dso) ? functions[i].weight : 0;
	}
	has_caller = say_caller(sums, finding, process, &functions[0]);
	if (overview_percent(collects, all) >= COLLECTION)
		overview_say(finding, "; at least %.0f %% of its code is garbage collection",
			overview_percent(collects, all));
	say_language(sums, finding, process);
	if (code_is_interpreted(sums, process, title))
		overview_say(finding, "; the next command shows the functions of %s", title);
	else if (overview_percent(interprets, all) >= INTERPRETER)
		overview_say(finding, "; functions of Python have names with python3 -X perf (3.12 "
				      "and later), or while it runs with attar stack -p "
				      "PID --repeat 300 (3.8 to 3.13)");
	else if (way && overview_percent(nameless, all) >= NAMELESS)
		overview_say(finding, "; %.0f %% of its code has no names: %s",
			overview_percent(nameless, all), way);
	else if (way && !has_caller && overview_percent(native, all) >= INTERPRETER)
		overview_say(finding, "; %s", way);
}

bool overview_lacks_callers(
	const struct overview_sums *sums, const struct overview_process *process)
{
	struct overview_function leaf;
	struct attar_keyrow *row = NULL;
	uint64_t frames = 0;

	if (!process || !overview_places(sums, PART_USER, process, &leaf, 1) ||
		leaf.all_samples < OVERVIEW_SAMPLES_MIN)
		return false;
	while ((row = attar_keytable_next(sums->overview->callers, row)))
		if (((const struct overview_place *)row->key)->pid == process->pid)
			frames += attar_keyrow_sums(row, sums->scope)->sums[CALLER_SAMPLES];
	return frames < (1 + CALLERS) * leaf.all_samples;
}
