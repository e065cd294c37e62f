/* SPDX-License-Identifier: MIT */
/* The functions and source lines at locations. */
#include <fcntl.h>

#include "attar/private/symbol.h"
#include "base/check_arg.h"
#include "base/radix.h"
#include "elf/demangle.h"
#include "symbol/reader.h"
#include "symbol/symbols.h"

enum { BATCH_FRAMES = 128, AHEAD = 16 };

/* What all frames of a location have in common. */
static struct attar_frame frame_of_symbol(
	struct attar_symbols *symbols, attar_location location, const struct attar_symbol *symbol)
{
	struct attar_frame frame = {
		.module = symbol->dso,
		.kind = symbol->kind,
		.name = symbol->name,
		.mangled = symbol->mangled,
		.offset = symbol->offset,
	};

	frame.build_id_size = symbols_build_id(symbols, location, &frame.build_id);
	if (!frame.build_id_size)
		frame.build_id = NULL;
	return frame;
}

static void add_source(
	struct attar_symbols *symbols, struct attar_frame *frame, const struct debug_frame *source)
{
	frame->file = source->file;
	frame->line = source->line;
	frame->column = source->column;
	frame->inlined = source->inlined;
	/* The symbol table names the function that was not inlined, as everywhere else. */
	if (!source->inlined && (frame->name || !source->function))
		return;
	frame->mangled = source->function;
	frame->name = source->function ? symbols_plain_name(symbols, source->function) : NULL;
}

/* ---- of readers ---- */

/* A place whose frames are asked of a reader. */
struct place_apart {
	struct attar_frame *frames;
	size_t max, n;
};

static void keep_frames(void *ctx, size_t index, const struct attar_frame *frames, size_t n)
{
	struct place_apart *place = ctx;

	place->n = n;
	memcpy(place->frames, frames, MIN(n, place->max) * sizeof(*frames));
}

/* Returns the number of all; 0: the reader has failed. */
static size_t frames_apart(struct attar_symbols *symbols, struct dso *dso, attar_location location,
	const struct attar_frame *common, struct attar_frame *frames, size_t max)
{
	struct place_apart place = {.frames = frames, .max = max};
	struct readers_places places = {
		.at = &location, .n = 1, .common = *common, .fn = keep_frames, .ctx = &place};

	(void)readers_frames(symbols, dso, &places);
	return place.n;
}

/* The DSO that a reader has for a location; NULL: it is read here. */
static struct dso *find_apart(struct attar_symbols *symbols, attar_location location)
{
	struct dso *dso = dsos_get(&symbols->dsos, attar_location_dso(location));

	if (!symbols->readers || stored_find(dso->stored, location & PLACE_OFFSET))
		return NULL;
	if (dso->key.kind == ATTAR_DSO_IS_JIT)
		return symbols_open_jit(symbols, &dso->jit) == 0 && readers_want(symbols, dso)
			       ? dso
			       : NULL;
	if (dso->key.kind != ATTAR_DSO_IS_FILE)
		return NULL;
	dso = symbols_load(symbols, dso);
	return dso->apart.is_apart && dso->state == DSO_LOADED ? dso : NULL;
}

/* Code of the kernel has no offset in its file. */
static size_t vaddr_frames_apart(
	struct attar_symbols *symbols, struct dso *dso, uint64_t vaddr, struct debug_frame *frames)
{
	const struct attar_frame none = {0};
	struct attar_frame found[BATCH_FRAMES];
	attar_location location = (uint64_t)dso->number << 48;
	size_t n = 0;

	if (symbols_vaddr(symbols, location, vaddr - dso->placed, &location) == 0)
		n = MIN(frames_apart(symbols, dso, location, &none, found, BATCH_FRAMES),
			(size_t)BATCH_FRAMES);
	for (size_t i = 0; i < n; i++)
		frames[i] = (struct debug_frame){.function = found[i].mangled,
			.file = found[i].file,
			.line = found[i].line,
			.column = found[i].column,
			.inlined = found[i].inlined};
	return n;
}

/* ---- of this process ---- */

/* The line of an address in code of a JIT compiler, whose jitdump has lines. */
static size_t jit_frame(struct attar_symbols *symbols, struct dso *dso, uint64_t address,
	struct debug_frame *ret_frame)
{
	struct buf file _cleanup_(buf_done) = {0};
	struct jit_code code;
	bool kept = jit_is_open(&dso->jit);
	size_t n = 0;

	*ret_frame = (struct debug_frame){0};
	if (readers_want(symbols, dso)) /* it has failed */
		return 0;
	if (symbols_open_jit(symbols, &dso->jit) == 0 && jit_find(&dso->jit, address, &code) &&
		jit_line(&dso->jit, &code, address, &file, &ret_frame->line) == 0) {
		ret_frame->file = intern_text(&symbols->sources.strings, buf_text(&file));
		n = ret_frame->file != NULL;
	}
	if (!kept)
		jit_close(&dso->jit);
	return n;
}

/* The functions at a virtual address of a file. */
static size_t file_frames(
	struct attar_symbols *symbols, struct dso *dso, uint64_t vaddr, struct debug_frame *frames)
{
	struct debug_info *info = source_of(symbols, dso);
	size_t n = info ? debug_info_find(info, vaddr + dso->source_bias, frames, BATCH_FRAMES) : 0;

	if (n)
		source_limit(symbols, dso);
	return n;
}

/* Those at an address of the kernel itself or of a module. */
static size_t kernel_frames(struct attar_symbols *symbols, const struct attar_symbol *symbol,
	struct debug_frame *frames)
{
	uint64_t address = symbol->start + symbol->offset, slide = 0;
	struct dso *dso;

	if (!symbol->name)
		return 0;
	if (strcmp(symbol->dso, "[kernel.kallsyms]") == 0) {
		dso = vmlinux_of(symbols, &slide);
		address -= slide;
	} else {
		dso = kernel_module_of(symbols, symbol->dso, &address);
	}
	if (!dso)
		return 0;
	return dso->apart.is_apart ? vaddr_frames_apart(symbols, dso, address, frames)
				   : file_frames(symbols, dso, address, frames);
}

static size_t stored_frames(
	const struct dso *dso, const struct stored_place *place, struct debug_frame *frames)
{
	size_t n = MIN((size_t)place->n_frames, (size_t)BATCH_FRAMES);

	for (size_t i = 0; i < n; i++)
		frames[i] = dso->stored->frames.at[place->frame + i];
	return n;
}

/* Those at a location. At most BATCH_FRAMES are stored. Returns the number of all. */
static size_t source_frames(struct attar_symbols *symbols, attar_location location,
	const struct attar_symbol *symbol, struct debug_frame *frames)
{
	struct dso *dso = dsos_get(&symbols->dsos, attar_location_dso(location));
	uint64_t offset = location & PLACE_OFFSET, vaddr;
	const struct stored_place *place = stored_find(dso->stored, offset);

	if (place)
		return stored_frames(dso, place, frames);
	if (symbol->kind == ATTAR_DSO_IS_JIT && symbol->name)
		return jit_frame(symbols, dso, offset, frames);
	if (symbol->kind == ATTAR_DSO_IS_KERNEL && dso->kernel)
		return 0; /* the files of this machine are not the files of another host */
	if (symbol->kind == ATTAR_DSO_IS_KERNEL)
		return kernel_frames(symbols, symbol, frames);
	dso = dso_tables(dso);
	if (symbol->kind != ATTAR_DSO_IS_FILE ||
		!elf_vaddr(dso->segments.at, dso->segments.n, offset, &vaddr))
		return 0;
	return file_frames(symbols, dso, vaddr, frames);
}

static size_t make_frames(struct attar_symbols *symbols, const struct attar_frame *common,
	const struct debug_frame *sources, size_t n, struct attar_frame *ret_frames)
{
	for (size_t i = 0; i < n; i++) {
		ret_frames[i] = *common;
		add_source(symbols, &ret_frames[i], &sources[i]);
	}
	return n;
}

int attar_symbols_frames(struct attar_symbols *symbols, attar_location location,
	struct attar_frame *ret_frames, size_t max)
{
	CHECK_ARG(symbols, "symbols");
	CHECK_ARG(ret_frames, "ret_frames");

	struct debug_frame sources[BATCH_FRAMES];
	struct attar_symbol symbol;
	struct attar_frame common;
	struct dso *apart;
	size_t n;

	if (attar_symbols_resolve(symbols, location, &symbol) < 0)
		attar_error_clear();
	common = frame_of_symbol(symbols, location, &symbol);
	apart = find_apart(symbols, location);
	n = apart ? frames_apart(symbols, apart, location, &common, ret_frames, max) : 0;
	if (n)
		return (int)n;
	n = MIN(source_frames(symbols, location, &symbol, sources), (size_t)BATCH_FRAMES);
	make_frames(symbols, &common, sources, MIN(n, max), ret_frames);
	if (!n && max)
		ret_frames[0] = common;
	return n ? (int)n : 1;
}

/* What was found at a place. Code up to symbol_end has the same symbol, up to end the frames. */
struct found {
	attar_location location, symbol_end, end; /* an end of 0: it is not known */
	struct dso *dso;                          /* of code with a symbol_end */
	uint64_t vaddr;
	struct attar_symbol symbol;
	struct attar_frame common, frames[BATCH_FRAMES];
	size_t n;
};

/* Code of a binary up to where the symbol that was just resolved ends. */
static void find_symbol_end(const struct attar_symbols *symbols, struct found *f)
{
	struct dso *own = dsos_get(&symbols->dsos, attar_location_dso(f->location));
	struct dso *dso = dso_tables(own);
	uint64_t offset = f->location & PLACE_OFFSET, end, last;

	f->symbol_end = 0;
	if (own->apart.is_apart || dso->key.kind != ATTAR_DSO_IS_FILE || own->stored ||
		symbols->last_key >> 48 != dso->number || symbols->last_location != f->location ||
		!elf_vaddr(dso->segments.at, dso->segments.n, offset, &f->vaddr))
		return;
	end = symtab_end(&dso->table, symbols->last_index, f->vaddr);
	if (end <= f->vaddr ||
		!elf_vaddr(
			dso->segments.at, dso->segments.n, offset + (end - f->vaddr) - 1, &last) ||
		last != end - 1)
		return;
	f->dso = dso;
	f->symbol_end = f->location + (end - f->vaddr);
}

attar_location symbols_end(const struct attar_symbols *symbols, attar_location location)
{
	struct found f;

	f.location = location;
	find_symbol_end(symbols, &f);
	return f.symbol_end;
}

/* Goes on to a location with the same symbol. */
static void move_to(struct found *f, attar_location location)
{
	uint64_t distance = location - f->location;

	f->location = location;
	f->vaddr += distance;
	f->symbol.offset += distance;
	f->common.offset += distance;
	for (size_t i = 0; i < f->n; i++)
		f->frames[i].offset += distance;
}

static void find_symbol(struct attar_symbols *symbols, struct found *f, attar_location location)
{
	f->n = 0;
	if (location < f->symbol_end) {
		move_to(f, location);
		return;
	}
	f->location = location;
	if (attar_symbols_resolve(symbols, location, &f->symbol) < 0)
		attar_error_clear();
	f->common = frame_of_symbol(symbols, location, &f->symbol);
	find_symbol_end(symbols, f);
}

/* After the frames were found. */
static void find_end(struct found *f)
{
	uint64_t end;

	f->end = 0;
	if (!f->symbol_end || !f->dso->source)
		return;
	end = debug_info_end(f->dso->source);
	if (end > f->dso->source_bias && end - f->dso->source_bias > f->vaddr)
		f->end = MIN(f->symbol_end, f->location + (end - f->dso->source_bias - f->vaddr));
}

/* Finds the frames of a location, which is not lower than the one before. */
static void frames_find(struct attar_symbols *symbols, struct found *f, attar_location location)
{
	struct debug_frame sources[BATCH_FRAMES];
	size_t n;

	find_symbol(symbols, f, location);
	n = f->symbol_end ? file_frames(symbols, f->dso, f->vaddr, sources)
			  : source_frames(symbols, location, &f->symbol, sources);
	f->n = make_frames(symbols, &f->common, sources, MIN(n, (size_t)BATCH_FRAMES), f->frames);
	if (!f->n)
		f->frames[f->n++] = f->common;
	find_end(f);
}

/* Places one after another whose code is in the same unit of debug information. */
struct run {
	uint64_t unit; /* of debug_info_unit() */
	size_t first, n;
};

struct batch {
	struct attar_symbols *symbols;
	const attar_location *locations;
	uint32_t *places;     /* indexes of the locations, in the order of these */
	VEC(struct run) runs; /* of one binary */
	attar_frames_fn *fn;
	void *ctx;
};

static attar_location location_at(const struct batch *b, size_t place)
{
	return b->locations[b->places[place]];
}

static struct dso *dso_at(const struct batch *b, size_t place)
{
	return dsos_get(&b->symbols->dsos, attar_location_dso(location_at(b, place)));
}

/* Calls fn for places in the order of their locations. */
static void answer(const struct batch *b, size_t first, size_t n)
{
	struct found f;

	f.n = f.vaddr = f.location = f.symbol_end = f.end = 0;
	for (size_t i = first; i < first + n; i++) {
		attar_location location = location_at(b, i);

		__builtin_prefetch(&b->locations[b->places[MIN(i + AHEAD, first + n - 1)]]);
		if (f.n && (location == f.location || location < f.end))
			move_to(&f, location);
		else
			frames_find(b->symbols, &f, location);
		b->fn(b->ctx, b->places[i], f.frames, f.n);
	}
}

static int add_place(struct batch *b, size_t index, uint64_t unit)
{
	struct run *last = b->runs.n ? &b->runs.at[b->runs.n - 1] : NULL;

	if (!last || last->unit != unit)
		return vec_push(&b->runs, (struct run){.unit = unit, .first = index, .n = 1});
	last->n++;
	return 0;
}

/* Finds the runs of places in one binary. */
static int find_runs(struct batch *b, size_t first, size_t n)
{
	struct dso *dso = dso_at(b, first);
	uint64_t unit = UINT64_MAX, end = 0, vaddr;
	struct debug_info *info = NULL;
	int r = 0;

	if (dso->key.kind == ATTAR_DSO_IS_FILE && !dso->stored) {
		dso = symbols_load(b->symbols, dso);
		info = source_of(b->symbols, dso);
	}
	b->runs.n = 0;
	for (size_t i = first; r == 0 && i < first + n; i++) {
		uint64_t offset = location_at(b, i) & PLACE_OFFSET;

		if (!info || !elf_vaddr(dso->segments.at, dso->segments.n, offset, &vaddr))
			unit = UINT64_MAX;
		else if (vaddr + dso->source_bias >= end)
			unit = debug_info_unit(info, vaddr + dso->source_bias, &end);
		r = add_place(b, i, unit);
	}
	return r;
}

static int by_unit(const void *a, const void *b)
{
	const struct run *x = a, *y = b;

	if (x->unit != y->unit)
		return x->unit < y->unit ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

/* The places in runs of the same unit from this one on. */
static size_t places_of_unit(const struct batch *b, const struct run *first)
{
	size_t n = 0;

	for (const struct run *run = first; run < b->runs.at + b->runs.n; run++) {
		if (run->unit != first->unit)
			break;
		n += run->n;
	}
	return n;
}

/* Places of which a reader finds the frames. */
struct batch_apart {
	const struct batch *batch;
	size_t first;
	bool *done;
};

static void answer_place(void *ctx, size_t index, const struct attar_frame *frames, size_t n)
{
	const struct batch_apart *a = ctx;

	a->done[index] = true;
	a->batch->fn(a->batch->ctx, a->batch->places[a->first + index], frames, n);
}

/* Those that it has not found are answered without a symbol. */
static int answer_apart(struct batch *b, struct dso *dso, size_t first, size_t n)
{
	attar_location *locations _cleanup_free_ = malloc(n * sizeof(*locations));
	bool *done _cleanup_free_ = calloc(n, sizeof(*done));
	struct batch_apart a = {.batch = b, .first = first, .done = done};
	struct readers_places places = {.at = locations, .n = n, .fn = answer_place, .ctx = &a};
	struct attar_symbol none = {0};

	if (!locations || !done)
		return base_oom();
	for (size_t i = 0; i < n; i++)
		locations[i] = location_at(b, first + i);
	none.dso = attar_symbols_dso(b->symbols, locations[0], &none.kind);
	places.common = frame_of_symbol(b->symbols, locations[0], &none);
	(void)readers_frames(b->symbols, dso, &places);
	for (size_t i = 0; i < n; i++)
		if (!done[i])
			answer(b, first + i, 1);
	return 0;
}

/* Places of which some are in a recording. */
static void answer_singly(struct batch *b, size_t first, size_t n)
{
	struct attar_frame frames[BATCH_FRAMES];

	for (size_t i = first; i < first + n; i++) {
		int found =
			attar_symbols_frames(b->symbols, location_at(b, i), frames, BATCH_FRAMES);

		b->fn(b->ctx, b->places[i], frames, MIN((size_t)found, (size_t)BATCH_FRAMES));
	}
}

/* Answers the places in one binary, unit by unit. */
static int answer_binary(struct batch *b, size_t first, size_t n)
{
	struct dso *dso = dso_at(b, first), *apart;
	int r;

	if (b->symbols->readers && dso->stored) {
		answer_singly(b, first, n);
		return 0;
	}
	apart = find_apart(b->symbols, location_at(b, first));
	if (apart)
		return answer_apart(b, apart, first, n);
	r = find_runs(b, first, n);
	if (r < 0)
		return r;
	qsort(b->runs.at, b->runs.n, sizeof(*b->runs.at), by_unit);
	vec_each (&b->runs, run) {
		if (dso->source && (run == b->runs.at || run->unit != run[-1].unit))
			debug_info_expect(dso->source, places_of_unit(b, run));
		answer(b, run->first, run->n);
	}
	if (dso->source)
		debug_info_expect(dso->source, 0);
	return 0;
}

int symbols_frames_batch(struct attar_symbols *symbols, const attar_location *locations, size_t n,
	attar_frames_fn *fn, void *ctx)
{
	CHECK_ARG(symbols, "symbols");
	CHECK_ARG(locations || !n, "locations");
	CHECK_ARG(fn, "fn");

	struct batch b = {.symbols = symbols, .locations = locations, .fn = fn, .ctx = ctx};
	int r = 0;

	if (n > UINT32_MAX)
		return attar_fail(
			-E2BIG, "%zu locations are too many" ATTAR_FIX "at most %u", n, UINT32_MAX);
	b.places = radix_order(locations, n);
	if (!b.places)
		return base_oom();
	for (size_t i = 0, end; r == 0 && i < n; i = end) {
		uint16_t dso = attar_location_dso(location_at(&b, i));

		for (end = i + 1; end < n; end++)
			if (attar_location_dso(location_at(&b, end)) != dso)
				break;
		r = answer_binary(&b, i, end - i);
	}
	free(b.places);
	vec_done(&b.runs);
	return r;
}

ssize_t symbol_demangle(const char *mangled, char *name, size_t size)
{
	CHECK_ARG(mangled, "mangled");
	CHECK_ARG(name, "name");

	struct buf whole _cleanup_(buf_done) = {0};
	size_t n;

	if (!demangle_whole(mangled, &whole))
		return buf_failed(&whole) ? base_oom() : -ENOENT;
	n = size ? MIN(whole.len, size - 1) : 0;
	memcpy(name, whole.data, n);
	if (size)
		name[n] = '\0';
	return (ssize_t)whole.len;
}

/* ---- files ---- */

int symbols_vaddr(struct attar_symbols *symbols, attar_location file, uint64_t vaddr,
	attar_location *ret_location)
{
	CHECK_ARG(symbols, "symbols");
	CHECK_ARG(ret_location, "ret_location");

	struct dso *dso = symbols_load(symbols, dsos_get(&symbols->dsos, attar_location_dso(file)));

	vaddr += dso->placed;
	vec_each (&dso->segments, segment) {
		uint64_t place = segment->offset + (vaddr - segment->vaddr);

		if (vaddr < segment->vaddr || vaddr - segment->vaddr >= segment->filesz ||
			place > PLACE_OFFSET)
			continue;
		*ret_location = (file & ~PLACE_OFFSET) | place;
		return 0;
	}
	return -ENOENT;
}

/* Code of a relocatable file is found where it was placed, and has the addresses of the file. */
int symbols_data(struct attar_symbols *symbols, attar_location file, uint64_t vaddr,
	struct attar_symbol *ret_symbol)
{
	CHECK_ARG(symbols, "symbols");
	CHECK_ARG(ret_symbol, "ret_symbol");

	struct dso *dso = dsos_get(&symbols->dsos, attar_location_dso(file));
	const struct data_symbol *found;
	const char *name;
	int r = 0;

	if (symbols->data.dso != dso->number)
		r = data_symbols_read(&symbols->data, dso, symbols->debug_path);
	if (r < 0)
		return r;
	found = data_symbols_find(&symbols->data, vaddr + dso->placed, &name);
	if (!found || found->start < dso->placed)
		return -ENOENT;
	*ret_symbol = (struct attar_symbol){.name = name,
		.mangled = name,
		.offset = vaddr + dso->placed - found->start,
		.start = found->start - dso->placed,
		.size = found->size,
		.dso = dso->key.path,
		.kind = ATTAR_DSO_IS_FILE};
	return 0;
}
