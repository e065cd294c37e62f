/* SPDX-License-Identifier: MIT */
/*
 * unwind_compare FILE: unwinds the user stack of each sample of a recording that has registers and
 * a copy of the stack by attar and by libdw, from the same bytes. Prints JSON: the number of stacks
 * and frames, and of those that differ; on stderr the first stacks of each kind that differ.
 *
 * Kinds: "shorter" and "longer" are stacks of attar that end earlier or later than libdw's and are
 * equal to there. "omitted" have one frame that libdw omits, all others are equal, and the code
 * says that attar is right: the return address of that frame follows a direct call of the function
 * below it, or of one that jumps to it, or an indirect call. "other" have a different caller.
 */
#include <elf.h>
#include <stdio.h>

#include "recording/recording.h"
#include "stream/stream.h"
#include "unwinding.h"

enum { DEPTH_MAX = 1024, SHOWN_MAX = 20, CODE_MAX = 16 << 10 };

enum kind { EQUAL, SHORTER, LONGER, OMITTED, OTHER, KINDS };

static const char *const kinds[KINDS] = {"equal", "shorter", "longer", "omitted", "other"};
static const char *const ends[] = {"complete", "truncated", "limit", "lost", "other stack"};

struct stack {
	attar_location ours[DEPTH_MAX];
	uint64_t theirs[DEPTH_MAX];
	size_t n_ours, n_theirs, n_equal;
	enum attar_unwind_end end;
};

struct result {
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

/* The location behind n bytes of an instruction of x86-64 that end with a distance from there. */
static attar_location target_of(attar_location start, const uint8_t *code, size_t n)
{
	int32_t distance;

	memcpy(&distance, code + n - sizeof(distance), sizeof(distance));
	return start + n + (attar_location)(int64_t)distance;
}

/* Whether the function that begins at a location has a jump to another one. */
static bool has_jump(struct attar_symbols *symbols, attar_location from, attar_location to)
{
	static uint8_t code[CODE_MAX];
	struct attar_symbol symbol;
	size_t n;

	if (attar_symbols_resolve(symbols, from, &symbol) < 0 || symbol.offset)
		return false;
	n = MIN(symbol.size, (uint64_t)CODE_MAX);
	if (attar_symbols_code(symbols, from, code, n, NULL) < 0)
		return false;
	for (size_t at = 0; at + 6 <= n; at++) {
		size_t bytes = code[at] == 0xe9                                    ? 5
			       : code[at] == 0x0f && (code[at + 1] & 0xf0) == 0x80 ? 6
										   : 0;

		if (bytes && target_of(from + at, code + at, bytes) == to)
			return true;
	}
	return false;
}

/* Whether a frame, of which the location of the last byte of the call is known, called another. */
static bool has_called(struct attar_symbols *symbols, attar_location frame, attar_location below)
{
	attar_location first = frame - 6, called;
	struct attar_symbol symbol;
	uint16_t machine;
	uint8_t code[7];

	if (attar_symbols_code(symbols, first, code, sizeof(code), &machine) < 0 ||
		machine != EM_X86_64 || attar_symbols_resolve(symbols, below, &symbol) < 0)
		return false;
	below -= symbol.offset;
	called = target_of(first + 2, code + 2, 5);
	if (code[2] == 0xe8 && (called == below || has_jump(symbols, called, below)))
		return true;
	for (int at = 0; at < 6; at++) /* call *%rax; call *8(%rax); call *0x100(%rip) */
		if (code[at] == 0xff && (code[at + 1] >> 3 & 7) == 2)
			return true;
	return false;
}

static bool omits_frame(
	const struct stack *s, struct attar_address_space *space, struct attar_symbols *symbols)
{
	size_t n = s->n_equal;

	if (!n || s->n_ours != s->n_theirs + 1)
		return false;
	for (size_t i = n; i < s->n_theirs; i++)
		if (!is_same(space, s->ours[i + 1], s->theirs[i]))
			return false;
	return has_called(symbols, s->ours[n], s->ours[n - 1]);
}

static enum kind kind_of(
	const struct stack *s, struct attar_address_space *space, struct attar_symbols *symbols)
{
	if (omits_frame(s, space, symbols))
		return OMITTED;
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
	kind = kind_of(&s, space, symbols);
	if (kind != EQUAL && result->stacks[kind] < SHOWN_MAX)
		show(&s, space, symbols, kind);
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

int main(int argc, char **argv)
{
	struct attar_symbols *symbols = NULL;
	struct attar_stream *stream = NULL;
	struct recording *recording = NULL;
	struct result result = {0};
	struct attar_event ev;

	if (argc != 2 || recording_open(argv[1], &recording) < 0 ||
		attar_symbols_new(NULL, &symbols) < 0 ||
		stream_replay(recording, symbols, &stream) < 0 || attar_stream_start(stream) < 0) {
		fprintf(stderr, "unwind_compare: %s\n", attar_error());
		return 1;
	}
	while (!stream_drained(stream))
		while (attar_stream_next(stream, &ev) > 0)
			if (ev.record->type == PERF_RECORD_SAMPLE && ev.record->sample.regs_user.nr)
				compare(&result, &ev, symbols);
	print(&result);
	attar_stream_free(stream);
	attar_symbols_free(symbols);
	recording_close(recording);
	return 0;
}
