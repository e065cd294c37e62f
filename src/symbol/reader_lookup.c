/* SPDX-License-Identifier: MIT */
/* What readers are asked, and the checks of what they answer. */
#include <fcntl.h>
#include <limits.h>
#include <sys/mman.h>

#include "symbol/reader_call.h"
#include "symbol/symbols.h"

enum { ASKED_MAX = MESSAGE_MAX / 2 / sizeof(uint64_t) };
enum { SYMBOLS_MAX = 1 << 20, RANGES_MAX = 1 << 20, SEGMENTS_MAX = ELF_MAX_SEGMENTS };

static struct reader_call call_of(struct attar_symbols *symbols, struct dso *dso)
{
	return (struct reader_call){.symbols = symbols,
		.readers = symbols->readers,
		.reader = dso->apart.reader,
		.dso = dso,
		.server = &symbols->debuginfod,
		.root = -1};
}

/* The payload of the packet that was received last, if it has this type and at least n bytes. */
static const uint8_t *payload(const struct reader_call *call, uint32_t type, size_t n)
{
	const struct packet *in = &call->readers->in;

	return in->head.type == type && in->n - in->head.texts >= n ? in->bytes + in->head.texts
								    : NULL;
}

static size_t payload_size(const struct reader_call *call)
{
	return call->readers->in.n - call->readers->in.head.texts;
}

/* The next packet that has more than texts. */
static int next_answer(struct reader_call *call)
{
	int r;

	do
		r = reader_next(call);
	while (r > 0 && call->readers->in.head.type == MESSAGE_PART && !payload_size(call));
	return r;
}

/* ---- loading ---- */

static int image_file(const struct dso *dso)
{
	int fd _cleanup_close_ = memfd_create("vdso", MFD_CLOEXEC);

	if (fd < 0)
		return -errno;
	return write(fd, dso->image, dso->image_size) == (ssize_t)dso->image_size ? TAKE_FD(fd)
										  : -EIO;
}

static int send_load(struct reader_call *call, int file)
{
	const struct dso *dso = call->dso;
	struct message_load load = {.path = (uint32_t)strlen(dso->key.path) + 1,
		.build_id_size = dso->key.build_id_size,
		.has_debug = dso->debug_fd >= 0,
		.is_vdso = dso->image != NULL,
		.is_foreign = call->root >= 0};
	struct message_pieces pieces = {.a_size = sizeof(load) + load.path,
		.fds = {file, dso->debug_fd},
		.n_fds = 1 + load.has_debug};
	char bytes[sizeof(load) + PATH_MAX + 1], path[PATH_MAX];

	if (load.path > PATH_MAX)
		return -ENAMETOOLONG;
	memcpy(load.build_id, dso->key.build_id, sizeof(load.build_id));
	memcpy(bytes, &load, sizeof(load));
	memcpy(bytes + sizeof(load), dso->key.path, load.path);
	reader_path_of(file, path);
	pieces.a = bytes;
	pieces.b = path;
	pieces.b_size = strlen(path) + 1;
	return reader_send(call, MESSAGE_LOAD, &pieces);
}

static int take_segments(struct dso *dso, const uint8_t *bytes, size_t n)
{
	if (n % sizeof(struct elf_segment) || n / sizeof(struct elf_segment) > SEGMENTS_MAX)
		return -EBADMSG;
	dso->segments.n = 0;
	n /= sizeof(struct elf_segment);
	if (vec_reserve(&dso->segments, n) < 0)
		return -ENOMEM;
	if (n)
		memcpy(dso->segments.at, bytes, n * sizeof(struct elf_segment));
	dso->segments.n = n;
	return 0;
}

static int take_loaded(struct reader_call *call)
{
	const uint8_t *bytes = payload(call, MESSAGE_LOADED, sizeof(struct message_loaded));
	const char *unfit, *reason;
	struct message_loaded loaded;
	struct dso *dso = call->dso;
	int r;

	if (!bytes)
		return -EBADMSG;
	memcpy(&loaded, bytes, sizeof(loaded));
	if (loaded.build_id_size > ELF_MAX_BUILD_ID ||
		reader_text(call, loaded.unfit, &unfit) < 0 ||
		reader_text(call, loaded.unfit_reason, &reason) < 0)
		return -EBADMSG;
	r = take_segments(dso, bytes + sizeof(loaded), payload_size(call) - sizeof(loaded));
	if (r < 0)
		return r;
	dso->placed = loaded.placed;
	dso->file_size = loaded.file_size;
	dso->build_id_size = loaded.build_id_size;
	memcpy(dso->build_id, loaded.build_id, sizeof(dso->build_id));
	dso->apart.is_twin = loaded.is_twin;
	if (unfit && reason)
		source_add_missing(&call->symbols->sources, SOURCE_PART_LINK, unfit, reason);
	return 0;
}

/* The file of a DSO, which may have been closed meanwhile. The caller owns the descriptor. */
static int file_of(const struct reader_call *call)
{
	const struct dso *dso = call->dso;

	if (dso->image)
		return image_file(dso);
	return dso->fd >= 0 ? fcntl(dso->fd, F_DUPFD_CLOEXEC, 0)
			    : symbols_file(call->symbols, &(struct dso_search){.key = &dso->key});
}

/*
 * Gives the file to the reader, whose process runs. Returns 0; or a negative errno, and *ret_error
 * is set if the reader has not failed, but the file.
 */
static int reader_lookup_load(struct reader_call *call, int *ret_error)
{
	int file _cleanup_close_ = file_of(call), r;

	*ret_error = MIN(file, 0);
	if (file < 0)
		return 0;
	r = send_load(call, file);
	if (r == 0)
		r = next_answer(call);
	if (r > 0)
		r = take_loaded(call);
	if (r < 0)
		return r;
	*ret_error = MIN(call->readers->in.head.status, 0);
	call->dso->apart.life = call->reader->life;
	return 0;
}

static void set_lost(struct dso *dso, int error)
{
	dso->state = DSO_LOST;
	dso->error = error;
	dso->tries = DSO_MAX_TRIES;
}

int readers_load(
	struct attar_symbols *symbols, struct dso *dso, struct debuginfod *server, int root)
{
	struct reader_call call = call_of(symbols, dso);
	int error = 0, r;

	call.server = server;
	call.root = root;
	r = reader_begin(&call);
	if (r == 0)
		r = reader_lookup_load(&call, &error);
	reader_end(&call, r);
	if (symbols->readers->is_off)
		return r;
	dso->apart.is_apart = true;
	dso->apart.ranges.n = 0;
	if (r < 0 || error < 0)
		set_lost(dso, r < 0 ? r : error);
	else
		dso->state = DSO_LOADED;
	return r < 0 ? r : error;
}

/* ---- asking ---- */

static int send_jit(struct reader_call *call)
{
	struct reader_dso *apart = &call->dso->apart;
	const struct jit *jit = &call->dso->jit;
	bool is_new = apart->life != call->reader->life;
	struct message_jit message = {.dumps = jit->dumps};
	struct message_pieces pieces = {.a = &message, .a_size = sizeof(message)};
	int r;

	message.has_map = jit->fd >= 0 && (is_new || !apart->jit_map);
	message.has_dump =
		jit->dump_fd >= 0 && (is_new || !apart->jit_dump || apart->jit_dumps != jit->dumps);
	if (message.has_map)
		pieces.fds[pieces.n_fds++] = jit->fd;
	if (message.has_dump)
		pieces.fds[pieces.n_fds++] = jit->dump_fd;
	if (!is_new && !pieces.n_fds)
		return 0;
	r = reader_send(call, MESSAGE_JIT, &pieces);
	if (r < 0)
		return r;
	apart->life = call->reader->life;
	apart->jit_map = message.has_map || (!is_new && apart->jit_map);
	apart->jit_dump = message.has_dump || (!is_new && apart->jit_dump);
	apart->jit_dumps = jit->dumps;
	return 0;
}

/*
 * Starts a request to the reader that has the DSO, which gets it again if its process is another
 * one. *ret_error: the file cannot be read any more.
 */
static int reader_lookup_begin(struct reader_call *call, int *ret_error)
{
	int r;

	*ret_error = call->dso->apart.shown ? -ENOENT : 0;
	if (*ret_error)
		return 0;
	r = reader_begin(call);
	if (r < 0)
		return r;
	if (call->dso->key.kind == ATTAR_DSO_IS_JIT)
		return send_jit(call);
	return call->dso->apart.life == call->reader->life ? 0
							   : reader_lookup_load(call, ret_error);
}

/* A failed request: the file has no names, or is read in this process if readers cannot start. */
static void reader_lookup_end(struct reader_call *call, int r, int error)
{
	struct dso *dso = call->dso;

	if (dso->apart.shown)
		return;
	reader_end(call, r);
	if (r >= 0 && error >= 0)
		return;
	if (dso->key.kind == ATTAR_DSO_IS_JIT) {
		dso->error = r;
		return;
	}
	if (!call->readers->is_off) {
		set_lost(dso, r < 0 ? r : error);
		return;
	}
	reader_dso_done(&dso->apart);
	vec_done(&dso->segments);
	dso->state = dso->fd >= 0 || dso->image ? DSO_OPEN : DSO_NEW;
}

/* ---- symbols ---- */

/* The number of a symbol, which is mostly the one that was found last. */
static uint32_t add_symbol(struct symbol_readers *readers, const struct reader_symbol *symbol)
{
	const struct reader_symbol *last =
		readers->symbols.n ? &readers->symbols.at[readers->symbols.n - 1] : NULL;

	if (last && last->name == symbol->name && last->start == symbol->start &&
		last->mangled == symbol->mangled && last->size == symbol->size)
		return (uint32_t)readers->symbols.n;
	if (readers->symbols.n >= SYMBOLS_MAX || vec_push(&readers->symbols, *symbol) < 0)
		return 0;
	return (uint32_t)readers->symbols.n;
}

/* The index of the first range that ends after an offset. */
static size_t first_after(const struct reader_dso *dso, uint64_t offset)
{
	size_t low = 0, high = dso->ranges.n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (dso->ranges.at[middle].end <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static const struct reader_range *find_range(const struct reader_dso *dso, uint64_t offset)
{
	size_t i = first_after(dso, offset);

	return i < dso->ranges.n && dso->ranges.at[i].at <= offset ? &dso->ranges.at[i] : NULL;
}

/* Adds a range, up to the next one. It begins where none is. */
static void add_range(struct reader_dso *dso, uint64_t at, uint64_t size, uint32_t symbol)
{
	struct reader_range range = {.at = at, .end = at + (size ?: 1), .symbol = symbol};
	size_t i = first_after(dso, at);

	if (range.end < at || range.end > PLACE_OFFSET)
		range.end = at + 1;
	if (dso->ranges.n >= RANGES_MAX || vec_reserve(&dso->ranges, 1) < 0)
		return;
	if (i < dso->ranges.n)
		range.end = MIN(range.end, dso->ranges.at[i].at);
	if (i < dso->ranges.n && range.end == dso->ranges.at[i].at &&
		dso->ranges.at[i].symbol == symbol) { /* the same function, further on */
		dso->ranges.at[i].at = at;
		return;
	}
	memmove(dso->ranges.at + i + 1, dso->ranges.at + i,
		(dso->ranges.n - i) * sizeof(*dso->ranges.at));
	dso->ranges.at[i] = range;
	dso->ranges.n++;
}

static const char *jit_file(const struct dso *dso, bool in_dump)
{
	return in_dump && dso->jit.dump_path ? dso->jit.dump_path : dso->jit.path;
}

/* The offset in the symbol of a place in a file, which moves with the place. */
static uint64_t offset_in(const struct dso *dso, uint64_t start, uint64_t at)
{
	uint64_t vaddr;

	return elf_vaddr(dso->segments.at, dso->segments.n, at, &vaddr) ? vaddr - start : 0;
}

/* A symbol of an answer. *ret_number: 0 if the place has none. */
static int take_symbol(
	struct reader_call *call, const struct message_symbol *is, uint32_t *ret_number)
{
	struct reader_symbol symbol = {.start = is->start, .size = is->size};
	struct dso *dso = call->dso;

	*ret_number = 0;
	if (reader_text(call, is->name, &symbol.name) < 0 ||
		reader_text(call, is->mangled, &symbol.mangled) < 0)
		return -EBADMSG;
	if (symbol.name && symbol.mangled)
		*ret_number = add_symbol(call->readers, &symbol);
	/* the byte before a trampoline has its name, see resolve_file() in symbol/symbols.c */
	if (dso->key.kind != ATTAR_DSO_IS_JIT &&
		(!*ret_number || is->offset == offset_in(dso, symbol.start, is->at)))
		add_range(&dso->apart, is->at, *ret_number ? is->after : 0, *ret_number);
	return 0;
}

/* The symbols of a packet, at most n. Returns their number; the last one is kept. */
static ssize_t take_symbols(
	struct reader_call *call, size_t n, uint32_t *ret_number, struct message_symbol *ret_is)
{
	const struct packet *in = &call->readers->in;
	const uint8_t *bytes = in->bytes + in->head.texts;
	size_t size = payload_size(call), i;

	if ((in->head.type != MESSAGE_ARE && in->head.type != MESSAGE_PART) ||
		size % sizeof(*ret_is) || size / sizeof(*ret_is) > n)
		return -EBADMSG;
	for (i = 0; i < size / sizeof(*ret_is); i++) {
		memcpy(ret_is, bytes + i * sizeof(*ret_is), sizeof(*ret_is));
		if (take_symbol(call, ret_is, ret_number) < 0)
			return -EBADMSG;
	}
	return (ssize_t)i;
}

/* Asks for the symbols of n offsets, at most ASKED_MAX; of one, *ret_number and *ret_is tell. */
static int ask_symbols(struct reader_call *call, const uint64_t *offsets, size_t n,
	uint32_t *ret_number, struct message_symbol *ret_is)
{
	size_t left = n;
	ssize_t taken;
	int r = reader_send(call, MESSAGE_SYMBOLS,
		&(struct message_pieces){.a = offsets, .a_size = n * sizeof(*offsets)});

	do {
		if (r == 0)
			r = reader_next(call);
		taken = r < 0 ? r : take_symbols(call, left, ret_number, ret_is);
		if (taken < 0)
			return (int)taken;
		left -= (size_t)taken;
		r = 0;
	} while (call->readers->in.head.type == MESSAGE_PART);
	return left == n ? -EBADMSG : 0;
}

/* Returns 0 if the place has a name, of the number *ret_number. */
static int look_up(struct reader_call *call, uint64_t offset, uint32_t *ret_number,
	struct message_symbol *ret_is)
{
	int error, r = reader_lookup_begin(call, &error);

	*ret_number = 0;
	if (r == 0 && error == 0)
		r = ask_symbols(call, &offset, 1, ret_number, ret_is);
	reader_lookup_end(call, r, error);
	return r < 0 || error < 0 || !*ret_number ? -ENOENT : 0;
}

static int set_symbol(const struct symbol_readers *readers, uint32_t number, uint64_t into,
	struct attar_symbol *symbol)
{
	const struct reader_symbol *found;

	if (!number)
		return -ENOENT;
	found = &readers->symbols.at[number - 1];
	symbol->name = found->name;
	symbol->mangled = found->mangled;
	symbol->start = found->start;
	symbol->size = found->size;
	symbol->offset = into;
	return 0;
}

static int resolve_file(struct attar_symbols *symbols, struct dso *dso, struct attar_symbol *symbol)
{
	struct symbol_readers *readers = symbols->readers;
	const struct reader_range *range = find_range(&dso->apart, symbol->offset);
	struct reader_call call = call_of(symbols, dso);
	uint64_t at = symbol->offset, into = 0;
	struct message_symbol is = {0};
	uint32_t number = 0;

	if (range) {
		if (range->symbol)
			into = offset_in(dso, readers->symbols.at[range->symbol - 1].start, at);
		return set_symbol(readers, range->symbol, into, symbol);
	}
	if (look_up(&call, at, &number, &is) < 0)
		return -ENOENT;
	return set_symbol(readers, number, is.offset, symbol);
}

static int resolve_jit(struct attar_symbols *symbols, struct dso *dso, struct attar_symbol *symbol)
{
	struct reader_call call = call_of(symbols, dso);
	struct message_symbol is = {0};
	uint32_t number;

	if (look_up(&call, symbol->offset, &number, &is) < 0)
		return -ENOENT;
	symbol->dso = jit_file(dso, is.in_dump);
	return set_symbol(symbols->readers, number, is.offset, symbol);
}

int readers_resolve(struct attar_symbols *symbols, struct dso *dso, struct attar_symbol *symbol)
{
	return dso->key.kind == ATTAR_DSO_IS_JIT ? resolve_jit(symbols, dso, symbol)
						 : resolve_file(symbols, dso, symbol);
}

void readers_prefetch(
	struct attar_symbols *symbols, struct dso *dso, const uint64_t *offsets, size_t n)
{
	struct reader_call call = call_of(symbols, dso);
	struct message_symbol is;
	uint32_t number;
	int error, r = reader_lookup_begin(&call, &error);

	for (size_t at = 0; r == 0 && error == 0 && at < n; at += ASKED_MAX)
		r = ask_symbols(&call, offsets + at, MIN(n - at, (size_t)ASKED_MAX), &number, &is);
	reader_lookup_end(&call, r, error);
}

bool readers_know(const struct dso *dso, uint64_t offset)
{
	return find_range(&dso->apart, offset);
}

/* ---- frames ---- */

static int send_places(struct reader_call *call, const attar_location *locations, size_t n)
{
	enum { PACKET = MESSAGE_MAX / 2 / sizeof(uint64_t) };
	uint64_t offsets[PACKET];
	int r = 0;

	for (size_t at = 0, part; r == 0 && at < n; at += part) {
		part = MIN(n - at, (size_t)PACKET);
		for (size_t i = 0; i < part; i++)
			offsets[i] = locations[at + i] & PLACE_OFFSET;
		r = reader_send(call, at + part < n ? MESSAGE_PLACES : MESSAGE_FRAMES,
			&(struct message_pieces){.a = offsets, .a_size = part * sizeof(*offsets)});
	}
	return r;
}

struct frames_wanted {
	struct reader_call *call;
	const struct readers_places *places;
	size_t first, n; /* of them, in this request */
	bool *answered;  /* n */
};

/* The text of a number that was checked. */
static const char *text_of(const struct reader_call *call, uint32_t number)
{
	return number ? call->reader->texts.at[number - 1] : NULL;
}

static int take_frame(
	const struct reader_call *call, const struct message_frame *from, struct attar_frame *to)
{
	size_t n = call->reader->texts.n;

	if (from->name > n || from->mangled > n || from->file > n)
		return -EBADMSG;
	to->name = text_of(call, from->name);
	to->mangled = text_of(call, from->mangled);
	to->file = text_of(call, from->file);
	if (!to->name || !to->mangled)
		to->name = to->mangled = NULL;
	to->line = from->line;
	to->column = from->column;
	to->inlined = from->inlined;
	return 0;
}

/* One place. Returns its bytes, or a negative errno. */
static ssize_t take_place(struct frames_wanted *w, const uint8_t *bytes, size_t n)
{
	const struct dso *dso = w->call->dso;
	struct attar_frame frames[MESSAGE_FRAMES_MAX];
	struct message_place place;
	struct message_frame frame;
	size_t size;

	if (n < sizeof(place))
		return -EBADMSG;
	memcpy(&place, bytes, sizeof(place));
	size = sizeof(place) + (size_t)place.n * sizeof(frame);
	if (!place.n || place.n > MESSAGE_FRAMES_MAX || size > n || place.index >= w->n ||
		w->answered[place.index])
		return -EBADMSG;
	w->answered[place.index] = true;
	for (uint32_t i = 0; i < place.n; i++) {
		memcpy(&frame, bytes + sizeof(place) + i * sizeof(frame), sizeof(frame));
		frames[i] = w->places->common;
		frames[i].offset = place.offset;
		if (take_frame(w->call, &frame, &frames[i]) < 0)
			return -EBADMSG;
		if (dso->key.kind == ATTAR_DSO_IS_JIT && frames[i].name)
			frames[i].module = jit_file(dso, place.in_dump);
	}
	w->places->fn(w->places->ctx, w->first + place.index, frames, place.n);
	return (ssize_t)size;
}

static int take_places(struct frames_wanted *w)
{
	const uint8_t *bytes = payload(w->call, MESSAGE_PART, 0);
	size_t n = payload_size(w->call);
	ssize_t used;

	for (; bytes && n; bytes += used, n -= (size_t)used) {
		used = take_place(w, bytes, n);
		if (used < 0)
			return (int)used;
	}
	return bytes ? 0 : -EBADMSG;
}

static int take_stats(struct reader_call *call)
{
	const uint8_t *bytes = payload(call, MESSAGE_END, sizeof(struct message_stats));
	struct reader *reader = call->reader;
	struct message_stats now;

	if (!bytes)
		return -EBADMSG;
	memcpy(&now, bytes, sizeof(now));
	reader->sources_read += now.sources_read - reader->stats.sources_read;
	reader->sources_dropped += now.sources_dropped - reader->stats.sources_dropped;
	reader->stats = now;
	return 0;
}

static int ask_frames(struct frames_wanted *w)
{
	struct reader_call *call = w->call;
	int r = send_places(call, w->places->at + w->first, w->n);

	if (r < 0)
		return r;
	while ((r = reader_next(call)) > 0 && call->readers->in.head.type == MESSAGE_PART) {
		r = take_places(w);
		if (r < 0)
			return r;
	}
	return r < 0 ? r : take_stats(call);
}

static int frames_of_part(struct attar_symbols *symbols, struct dso *dso,
	const struct readers_places *places, size_t first, size_t n)
{
	struct reader_call call = call_of(symbols, dso);
	bool *answered _cleanup_free_ = calloc(n, sizeof(*answered));
	struct frames_wanted w = {
		.call = &call, .places = places, .first = first, .n = n, .answered = answered};
	int error, r;

	if (!answered)
		return base_oom();
	r = reader_lookup_begin(&call, &error);
	if (r == 0 && error == 0)
		r = ask_frames(&w);
	reader_lookup_end(&call, r, error);
	return r < 0 ? r : error;
}

int readers_frames(
	struct attar_symbols *symbols, struct dso *dso, const struct readers_places *places)
{
	int r = 0;

	for (size_t at = 0; r == 0 && at < places->n; at += MESSAGE_PLACES_MAX)
		r = frames_of_part(
			symbols, dso, places, at, MIN(places->n - at, (size_t)MESSAGE_PLACES_MAX));
	return r;
}
