/* SPDX-License-Identifier: MIT */
/*
 * unwind_compare FILE [FOLDER [all]]: unwinds the user stack of each sample of a recording that has
 * registers and a copy of the stack by attar and by libdw, from the same bytes. Prints JSON: the
 * number of stacks and frames, and of those that differ; on stderr the first stacks of each kind
 * that differ.
 *
 * Kinds: "shorter" and "longer" are stacks of attar that end earlier or later than libdw's and are
 * equal to there; "other" have a different caller.
 *
 * FOLDER receives a core file of each sample that differs, or of all, and their stacks by attar and
 * libdw in "stacks": a line of JSON for each. A sample in an epilogue is stored as of after the
 * return: there, a function's call frame information says that registers are saved below the stack
 * pointer, which is not copied, although they have been restored.
 */
#include <stdio.h>

#include "attar/private/symbol.h"
#include "core_file.h"
#include "perfdata/recording.h"
#include "stream/stream.h"
#include "symbol/address_space.h"
#include "symbol/dso.h"
#include "symbol/symbols.h"
#include "unwinding.h"

enum { DEPTH_MAX = 1024, SHOWN_MAX = 20 };

enum kind { EQUAL, SHORTER, LONGER, OTHER, KINDS };

static const char *const kinds[KINDS] = {"equal", "shorter", "longer", "other"};
static const char *const ends[] = {"complete", "truncated", "limit", "lost", "other stack"};

struct stack {
	attar_location ours[DEPTH_MAX];
	uint64_t theirs[DEPTH_MAX];
	size_t n_ours, n_theirs, n_equal;
	enum attar_unwind_end end;
};

struct result {
	const char *folder; /* NULL: none */
	FILE *list;
	bool all;
	uint64_t cores;
	uint64_t stacks[KINDS], ends[KINDS][ARRAY_SIZE(ends)], frames, equal_frames;
};

/* libdw's stacks may end with an address that is not code; the frames before it. */
static size_t frames_in_code(struct attar_address_space *space, const uint64_t *addresses, size_t n)
{
	size_t i = 0;

	while (i < n && (!i || attar_location_dso(attar_address_space_locate(
				       space, addresses[i])) != ATTAR_DSO_UNKNOWN))
		i++;
	return i;
}

/* Our locations of callers are in the call: libdw's addresses are those after it. */
static bool is_same(struct attar_address_space *space, attar_location ours, uint64_t theirs)
{
	return ours == attar_address_space_locate(space, theirs) ||
	       ours == attar_address_space_locate(space, theirs) - 1;
}

static enum kind kind_of(const struct stack *s)
{
	if (s->n_equal < s->n_ours && s->n_equal < s->n_theirs)
		return OTHER;
	return s->n_ours == s->n_theirs ? EQUAL : s->n_ours < s->n_theirs ? SHORTER : LONGER;
}

static void show_frame(struct attar_symbols *symbols, attar_location location)
{
	struct attar_symbol symbol;

	if (attar_symbols_resolve(symbols, location, &symbol) < 0)
		symbol.name = "?";
	fprintf(stderr, " %s+0x%llx(%s)", symbol.name, (unsigned long long)symbol.offset,
		symbol.dso);
}

static void show(const struct stack *s, struct attar_address_space *space,
	struct attar_symbols *symbols, enum kind kind)
{
	fprintf(stderr, "%s: %zu frames (%s), libdw %zu, equal %zu\n  attar:", kinds[kind],
		s->n_ours, ends[s->end], s->n_theirs, s->n_equal);
	for (size_t i = s->n_equal ? s->n_equal - 1 : 0; i < s->n_ours && i < s->n_equal + 4; i++)
		show_frame(symbols, s->ours[i]);
	fprintf(stderr, "\n  libdw:");
	for (size_t i = s->n_equal ? s->n_equal - 1 : 0; i < s->n_theirs && i < s->n_equal + 4; i++)
		show_frame(symbols, attar_address_space_locate(space, s->theirs[i]));
	fprintf(stderr, "\n");
}

/* ---- core files ---- */

static bool pop(struct attar_unwind_input *input, struct unwind_frame *frame, uint64_t *to)
{
	if (input->stack_size < 8)
		return false;
	memcpy(to, input->stack, 8);
	frame->reg[frame->machine->sp] += 8;
	input->stack = (const char *)input->stack + 8;
	input->stack_size -= 8;
	return true;
}

/* The register that an instruction of x86-64 pops, by its DWARF number; -1: another instruction. */
static int popped_register(const uint8_t *code)
{
	static const int8_t numbers[] = {
		0, 2, 1, 3, -1, 6, 4, 5}; /* rax rcx rdx rbx - rbp rsi rdi */

	if (code[0] == 0x41 && code[1] >= 0x58 && code[1] <= 0x5f)
		return code[1] - 0x58 + 8;
	return code[0] >= 0x58 && code[0] <= 0x5f ? numbers[code[0] - 0x58] : -1;
}

/*
 * Executes the epilogue that the sample is in: restores registers, and returns when the top of the
 * stack is the return address that both have found. The input and frame are undefined on failure.
 */
static bool leave_function(const struct stack *s, struct attar_symbols *symbols,
	struct attar_unwind_input *input, struct unwind_frame *frame)
{
	attar_location location = s->ours[0];
	uint8_t code[2];
	int number;

	if (s->n_equal < 2)
		return false;
	while (input->stack_size >= 8 && memcmp(input->stack, &s->theirs[1], 8) != 0) {
		if (symbols_code(symbols, location, code, sizeof(code), NULL) < 0)
			return false;
		number = popped_register(code);
		if (number < 0 || !pop(input, frame, &frame->reg[number]))
			return false;
		location += number < 8 ? 1 : 2;
	}
	return pop(input, frame, &frame->pc);
}

/* The address of a location, which is in a mapping of the process. */
static uint64_t address_of(const struct attar_address_space *space, attar_location location)
{
	uint64_t place = location & PLACE_OFFSET;

	for (size_t i = 0; space->ranges && i < space->ranges->n; i++) {
		const struct range *range = &space->ranges->at[i];

		if (range->dso == attar_location_dso(location) && place >= range->pgoff &&
			place - range->pgoff < range->len)
			return place - range->pgoff + range->start;
	}
	return place;
}

static void list_modules(FILE *list, const struct attar_address_space *space)
{
	const char *between = "";

	for (size_t i = 0; space->ranges && i < space->ranges->n; i++) {
		const struct range *range = &space->ranges->at[i];
		const struct dso *dso = dsos_get(&space->symbols->dsos, range->dso);

		if (dso->key.kind != ATTAR_DSO_IS_FILE && dso->key.kind != ATTAR_DSO_IS_VDSO)
			continue;
		fprintf(list, "%s[\"%s\", %llu, %llu]", between, dso->key.path,
			(unsigned long long)range->start, (unsigned long long)range->pgoff);
		between = ", ";
	}
}

static void list_addresses(FILE *list, const char *name, const uint64_t *addresses, size_t n)
{
	fprintf(list, "\"%s\": [", name);
	for (size_t i = 0; i < n; i++)
		fprintf(list, "%s%llu", i ? ", " : "", (unsigned long long)addresses[i]);
	fprintf(list, "], ");
}

static void write_core(struct result *result, const struct stack *s, enum kind kind,
	struct attar_address_space *space, struct attar_unwind_input input)
{
	struct attar_unwind_input caller_input = input;
	struct unwind_sampled sampled = {0};
	struct unwind_frame frame, caller;
	uint64_t ours[DEPTH_MAX];
	char path[4096];
	bool left;

	if (!s->n_ours || !unwind_frame_init(&frame, &input.regs, &sampled))
		return;
	caller = frame;
	left = leave_function(s, space->symbols, &caller_input, &caller);
	snprintf(path, sizeof(path), "%s/%llu.core", result->folder,
		(unsigned long long)result->cores++);
	if (core_file_write(path, space, left ? &caller_input : &input, left ? &caller : &frame) <
		0) {
		fprintf(stderr, "unwind_compare: cannot write %s\n", path);
		return;
	}
	for (size_t i = 0; i < s->n_ours; i++)
		ours[i] = address_of(space, s->ours[i]);
	fprintf(result->list, "{\"core\": \"%s\", \"kind\": \"%s\", \"left\": %d, \"equal\": %zu, ",
		path, kinds[kind], left, s->n_equal);
	list_addresses(result->list, "attar", ours, s->n_ours);
	list_addresses(result->list, "libdw", s->theirs, s->n_theirs);
	fprintf(result->list, "\"modules\": [");
	list_modules(result->list, space);
	fprintf(result->list, "]}\n");
}

/* ---- comparison ---- */

static void compare(
	struct result *result, const struct attar_event *ev, struct attar_symbols *symbols)
{
	const struct attar_sample *sample = &ev->record->sample;
	const struct attar_unwind_input input = {.regs = sample->regs_user,
		.stack = sample->stack,
		.stack_size = sample->stack_size};
	struct attar_address_space *space = ev->thread->process->space;
	static struct stack s;
	enum kind kind;

	s.n_ours = attar_unwind(space, &input, s.ours, DEPTH_MAX, &s.end);
	s.n_theirs =
		frames_in_code(space, s.theirs, libdw_unwind(space, &input, s.theirs, DEPTH_MAX));
	s.n_equal = 0;
	while (s.n_equal < s.n_ours && s.n_equal < s.n_theirs &&
		is_same(space, s.ours[s.n_equal], s.theirs[s.n_equal]))
		s.n_equal++;
	kind = kind_of(&s);
	if (kind != EQUAL && result->stacks[kind] < SHOWN_MAX)
		show(&s, space, symbols, kind);
	if (result->folder && (kind != EQUAL || result->all))
		write_core(result, &s, kind, space, input);
	result->stacks[kind]++;
	result->ends[kind][s.end]++;
	result->frames += s.n_ours;
	result->equal_frames += s.n_equal;
}

static void print(const struct result *result)
{
	printf("{\"frames\": %llu, \"equal_frames\": %llu", (unsigned long long)result->frames,
		(unsigned long long)result->equal_frames);
	for (int kind = 0; kind < KINDS; kind++) {
		printf(", \"%s\": {\"stacks\": %llu", kinds[kind],
			(unsigned long long)result->stacks[kind]);
		for (int end = 0; end < (int)ARRAY_SIZE(ends); end++)
			printf(", \"%s\": %llu", ends[end],
				(unsigned long long)result->ends[kind][end]);
		printf("}");
	}
	printf("}\n");
}

static bool open_folder(struct result *result, const char *folder, bool all)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/stacks", folder);
	result->folder = folder;
	result->all = all;
	result->list = fopen(path, "w");
	if (!result->list)
		perror(path);
	return result->list;
}

int main(int argc, char **argv)
{
	struct attar_symbols *symbols = NULL;
	struct attar_stream *stream = NULL;
	struct recording *recording = NULL;
	struct result result = {0};
	struct attar_event ev;

	if (argc < 2 || (argc > 2 && !open_folder(&result, argv[2], argc > 3)))
		return 1;
	if (recording_open(argv[1], &recording) < 0 || attar_symbols_new(NULL, &symbols) < 0 ||
		stream_replay(recording, symbols, &stream) < 0 || attar_stream_start(stream) < 0) {
		fprintf(stderr, "unwind_compare: %s\n", attar_error());
		return 1;
	}
	while (!stream_drained(stream))
		while (attar_stream_next(stream, &ev) > 0)
			if (ev.record->type == PERF_RECORD_SAMPLE && ev.record->sample.regs_user.nr)
				compare(&result, &ev, symbols);
	print(&result);
	if (result.list)
		fclose(result.list);
	attar_stream_free(stream);
	attar_symbols_free(symbols);
	recording_close(recording);
	return 0;
}
