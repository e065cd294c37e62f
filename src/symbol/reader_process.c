/* SPDX-License-Identifier: MIT */
/* What a reader does: see symbol/reader.h. Its cache of symbols has no more than these files. */
#include <sys/stat.h>
#include <sys/syscall.h>

#include "attar/private/symbol.h"
#include "symbol/file_opener.h"
#include "symbol/reader_call.h"
#include "symbol/reader_sandbox.h"
#include "symbol/symbols.h"

enum { RECENT = 4096, IMAGE_MAX = 1 << 20 };

struct reading {
	int socket;
	struct attar_symbols *symbols;
	struct file_opener opener;
	struct map numbers; /* number of a DSO of attar to its number in this cache */
	struct map texts;   /* address of a text to its number */
	struct map paths;   /* identity of an open file to its path, in sources.strings */
	struct {
		const char *text;
		uint32_t number;
	} recent[RECENT]; /* the same by the low bits of the address */
	uint32_t last_text, loads;
	struct buf strings, answer; /* of the next packet */
	uint32_t dso;               /* of attar, in the current request */
	VEC(attar_location) places;
	uint64_t faults; /* allocations that had failed before the current request */
	struct packet request, opened;
};

/* Ends the process if nobody listens any more. */
static void send_packet(struct reading *r, uint32_t type, int status)
{
	const struct message head = {
		.type = type, .dso = r->dso, .status = status, .texts = (uint32_t)r->strings.len};

	if (buf_failed(&r->strings) || buf_failed(&r->answer) ||
		message_send(r->socket, &head,
			&(struct message_pieces){.a = r->strings.data,
				.a_size = r->strings.len,
				.b = r->answer.data,
				.b_size = r->answer.len}) < 0)
		_exit(EXIT_FAILURE);
	buf_reset(&r->strings);
	buf_reset(&r->answer);
}

/* An allocation has failed: the answer may lack something. */
static bool is_out_of_memory(const struct reading *r)
{
	return base_oom_count() != r->faults;
}

static void send_answer(struct reading *r, uint32_t type, int status)
{
	send_packet(r, type, is_out_of_memory(r) ? -ENOMEM : status);
}

/* Sends what there is, if there is no room for more. */
static void make_room(struct reading *r, size_t more)
{
	if (r->strings.len + r->answer.len + more > MESSAGE_MAX)
		send_packet(r, MESSAGE_PART, 0);
}

/* The number of a text, which is sent if it is new. Texts are valid as long as the cache. */
static uint32_t number_of(struct reading *r, const char *text)
{
	size_t i = ((uintptr_t)text >> 3) % RECENT, n;
	const uint64_t *known;

	if (!text)
		return 0;
	if (r->recent[i].text == text)
		return r->recent[i].number;
	known = map_get(&r->texts, (uintptr_t)text);
	r->recent[i].text = text;
	if (known)
		return r->recent[i].number = (uint32_t)*known;
	n = strnlen(text, MESSAGE_TEXT_MAX);
	make_room(r, n + 1);
	buf_add(&r->strings, text, n);
	buf_char(&r->strings, '\0');
	(void)map_put(&r->texts, (uintptr_t)text, ++r->last_text);
	return r->recent[i].number = r->last_text;
}

/* ---- other files ---- */

static uint64_t identity_of(int fd)
{
	struct stat st;

	return syscall(SYS_fstat, fd, &st) < 0 ? 0
					       : base_hash64(st.st_ino ^ base_hash64(st.st_dev));
}

static void add_path(struct reading *r, int fd, const char *path)
{
	const char *copy = fd < 0 ? NULL : intern_text(&r->symbols->sources.strings, path);

	if (copy)
		(void)map_put(&r->paths, identity_of(fd), (uintptr_t)copy);
}

static const char *path_of(void *ctx, int fd)
{
	const struct reading *r = ctx;
	const uint64_t *path = map_get(&r->paths, identity_of(fd));

	return path ? (const char *)(uintptr_t)*path : "";
}

static int ask(struct reading *r, const struct message_open *open, const char *path)
{
	const struct message head = {.type = MESSAGE_OPEN, .dso = r->dso};
	int fd;

	if (strlen(path) >= MESSAGE_TEXT_MAX)
		return -ENAMETOOLONG;
	if (message_send(r->socket, &head,
		    &(struct message_pieces){.a = open,
			    .a_size = sizeof(*open),
			    .b = path,
			    .b_size = strlen(path) + 1}) < 0 ||
		message_receive(r->socket, &r->opened) <= 0 ||
		r->opened.head.type != MESSAGE_OPENED)
		_exit(EXIT_FAILURE);
	fd = packet_take_fd(&r->opened, 0);
	packet_close(&r->opened);
	add_path(r, fd, (const char *)r->opened.bytes);
	return r->opened.head.status < 0 || fd < 0 ? MIN(r->opened.head.status, -ENOENT) : fd;
}

static int open_again(void *ctx, const struct dso_key *key)
{
	return ask(ctx, &(struct message_open){.what = MESSAGE_AGAIN}, "");
}

static int open_other(void *ctx, int root, const char *path)
{
	return ask(ctx,
		&(struct message_open){.what = MESSAGE_OTHER, .in_root = root == FILE_OPENER_ROOT},
		path);
}

static int download(void *ctx, const char *path, const uint8_t *id, size_t id_size)
{
	struct message_open open = {.what = MESSAGE_DOWNLOAD, .id_size = (uint8_t)id_size};

	memcpy(open.id, id, MIN(id_size, sizeof(open.id)));
	return ask(ctx, &open, path);
}

static void send_missing(void *ctx, enum source_part part, const char *path, const char *reason)
{
	struct reading *r = ctx;
	const struct message_missing missing = {
		.part = part, .path = number_of(r, path), .reason = number_of(r, reason)};

	make_room(r, MESSAGE_MAX); /* places of the answer come first */
	buf_add(&r->answer, &missing, sizeof(missing));
	send_packet(r, MESSAGE_MISSING, 0);
}

/* Before the texts and places of the answer, which stay for its packet. */
static void send_log(void *ctx, enum attar_level level, const char *text)
{
	struct reading *r = ctx;
	const struct message head = {.type = MESSAGE_LOG, .dso = r->dso};

	if (message_send(r->socket, &head,
		    &(struct message_pieces){.a = text, .a_size = strlen(text) + 1}) < 0)
		_exit(EXIT_FAILURE);
}

/* ---- requests ---- */

static const char *text_at(const struct packet *request, size_t at)
{
	return at > request->n ? "" : (const char *)request->bytes + at;
}

static int reader_process_begin(struct reading *r)
{
	struct message_begin begin;
	struct attar_symbols_opts opts = {.size = sizeof(opts), .no_kernel = true};

	if (r->symbols || r->request.n < sizeof(begin))
		return -EINVAL;
	memcpy(&begin, r->request.bytes, sizeof(begin));
	opts.debug_path = text_at(&r->request, sizeof(begin));
	opts.max_open_files = begin.max_open_files;
	opts.max_symbol_bytes = begin.max_symbol_bytes;
	opts.max_source_bytes = begin.max_source_bytes;
	opts.mangled = begin.mangled;
	if (begin.is_logged)
		attar_log_set(send_log, r);
	if (attar_symbols_new(&opts, &r->symbols) < 0)
		return -ENOMEM;
	r->symbols->dsos.opener = &r->opener;
	r->symbols->sources.say_missing = send_missing;
	r->symbols->sources.say_ctx = r;
	return 0;
}

/* A new DSO for the number of attar's. */
static struct dso *add_dso(struct reading *r, struct dso_key *key)
{
	uint16_t number;

	key->owner = ++r->loads;
	number = dsos_intern(&r->symbols->dsos, key);
	if (number < DSO_FIXED || map_put(&r->numbers, r->request.head.dso, number) < 0)
		return NULL;
	return dsos_get(&r->symbols->dsos, number);
}

static struct dso *find_dso(const struct reading *r)
{
	const uint64_t *number = map_get(&r->numbers, r->request.head.dso);

	return number ? dsos_get(&r->symbols->dsos, (unsigned)*number) : NULL;
}

static int read_image(struct dso *dso)
{
	struct byte_source source;
	int r = byte_source_file(dso->fd, &source);

	if (r == 0 && (!source.size || source.size > IMAGE_MAX))
		r = -EINVAL;
	dso->image = r < 0 ? NULL : malloc(source.size);
	if (r == 0 && !dso->image)
		r = base_oom();
	if (r == 0)
		r = byte_source_read(&source, 0, dso->image, source.size);
	dso->image_size = source.size;
	close(TAKE_FD(dso->fd));
	return r;
}

static void answer_load(struct reading *r, struct dso *dso)
{
	struct message_loaded loaded = {.placed = dso->placed,
		.file_size = dso->file_size,
		.build_id_size = dso->build_id_size,
		.is_twin = dso->twin};
	const struct dso *tables = dso_tables(dso);

	memcpy(loaded.build_id, dso->build_id, sizeof(loaded.build_id));
	if (dso->unfit_debug) {
		loaded.unfit =
			number_of(r, intern_text(&r->symbols->sources.strings, dso->unfit_debug));
		loaded.unfit_reason = number_of(r, dso->unfit_reason);
	}
	buf_add(&r->answer, &loaded, sizeof(loaded));
	buf_add(&r->answer, tables->segments.at,
		MIN(tables->segments.n, (size_t)ELF_MAX_SEGMENTS / 4) *
			sizeof(*tables->segments.at));
	send_answer(r, MESSAGE_LOADED, dso->state == DSO_LOADED ? 0 : MIN(dso->error, -1));
}

static void reader_process_load(struct reading *r)
{
	struct message_load load;
	struct dso_key key = {.kind = ATTAR_DSO_IS_FILE};
	struct dso *dso;

	if (r->request.n < sizeof(load)) {
		send_answer(r, MESSAGE_LOADED, -EINVAL);
		return;
	}
	memcpy(&load, r->request.bytes, sizeof(load));
	key.kind = load.is_vdso ? ATTAR_DSO_IS_VDSO : ATTAR_DSO_IS_FILE;
	key.path = text_at(&r->request, sizeof(load));
	key.build_id_size = MIN(load.build_id_size, (uint8_t)ELF_MAX_BUILD_ID);
	memcpy(key.build_id, load.build_id, sizeof(key.build_id));
	dso = add_dso(r, &key);
	if (!dso || !r->request.n_fds) {
		send_answer(r, MESSAGE_LOADED, -EMFILE);
		return;
	}
	dso->fd = packet_take_fd(&r->request, 0);
	dso->debug_fd = packet_take_fd(&r->request, 1);
	add_path(r, dso->fd, text_at(&r->request, sizeof(load) + load.path));
	dso->kept = true;
	dso->state = DSO_OPEN;
	if (load.is_vdso && read_image(dso) < 0)
		dso->state = DSO_LOST;
	if (dso->state == DSO_OPEN)
		symbols_load_open(r->symbols, dso, load.is_foreign);
	answer_load(r, dso);
}

static int set_jit(struct reading *r)
{
	struct dso_key key = {.kind = ATTAR_DSO_IS_JIT, .path = "[anon]"};
	struct dso *dso = find_dso(r);
	struct message_jit jit;
	unsigned i = 0;

	if (r->request.n < sizeof(jit))
		return -EINVAL;
	memcpy(&jit, r->request.bytes, sizeof(jit));
	if (!dso)
		dso = add_dso(r, &key);
	if (!dso)
		return 0;
	if (jit.has_map) {
		base_close_p(&dso->jit.fd);
		dso->jit.fd = packet_take_fd(&r->request, i++);
		memcpy(dso->jit.path, "map", sizeof("map"));
	}
	if (jit.has_dump) {
		base_close_p(&dso->jit.dump_fd);
		dso->jit.dump_fd = packet_take_fd(&r->request, i);
		if (jit.dumps != dso->jit.dumps)
			jitdump_done(&dso->jit.dump);
		dso->jit.dumps = jit.dumps;
		dso->jit.dump_path = "dump";
	}
	dso->kept = true;
	return 0;
}

static attar_location location_of(const struct dso *dso, uint64_t offset)
{
	return (uint64_t)dso->number << 48 | (offset & PLACE_OFFSET);
}

/* Returns where the next symbol may begin. */
static uint64_t find_symbol(struct reading *r, const struct dso *dso, uint64_t offset)
{
	attar_location location = location_of(dso, offset), end;
	struct message_symbol is = {.at = offset};
	struct attar_symbol symbol;

	if (attar_symbols_resolve(r->symbols, location, &symbol) < 0)
		attar_error_clear();
	end = symbols_end(r->symbols, location);
	is.start = symbol.start;
	is.size = symbol.size;
	is.offset = symbol.offset;
	is.after = end > location ? end - location : 0;
	is.in_dump = symbol.dso == dso->jit.dump_path;
	is.name = number_of(r, symbol.name);
	is.mangled = number_of(r, symbol.mangled);
	make_room(r, sizeof(is));
	buf_add(&r->answer, &is, sizeof(is));
	return offset + MAX(is.after, (uint64_t)1);
}

static void find_symbols(struct reading *r)
{
	const struct dso *dso = find_dso(r);
	size_t n = r->request.n / sizeof(uint64_t);
	uint64_t offset, next = 0;

	for (size_t i = 0; dso && i < n; i++) {
		memcpy(&offset, r->request.bytes + i * sizeof(offset), sizeof(offset));
		if (offset >= next || !i)
			next = find_symbol(r, dso, offset);
	}
	send_answer(r, MESSAGE_ARE, dso ? 0 : -EINVAL);
}

static void add_frames(void *ctx, size_t index, const struct attar_frame *frames, size_t n)
{
	enum {
		SIZE_MAX_PLACE = sizeof(struct message_place) +
				 MESSAGE_FRAMES_MAX * sizeof(struct message_frame)
	};
	struct reading *r = ctx;
	struct message_frame all[MESSAGE_FRAMES_MAX];
	const struct message_place place = {.index = (uint32_t)index,
		.n = (uint32_t)MIN(n, (size_t)MESSAGE_FRAMES_MAX),
		.offset = frames->offset,
		.in_dump = frames->kind == ATTAR_DSO_IS_JIT && !strcmp(frames->module, "dump")};

	for (size_t i = 0; i < place.n; i++)
		all[i] = (struct message_frame){.name = number_of(r, frames[i].name),
			.mangled = number_of(r, frames[i].mangled),
			.file = number_of(r, frames[i].file),
			.line = frames[i].line,
			.column = frames[i].column & INT32_MAX,
			.inlined = frames[i].inlined};
	make_room(r, SIZE_MAX_PLACE);
	buf_add(&r->answer, &place, sizeof(place));
	buf_add(&r->answer, all, place.n * sizeof(*all));
}

static int add_places(struct reading *r)
{
	const struct dso *dso = find_dso(r);
	size_t n = r->request.n / sizeof(uint64_t);
	uint64_t offset;

	if (!dso || r->places.n + n > MESSAGE_PLACES_MAX)
		return -EINVAL;
	for (size_t i = 0; i < n; i++) {
		memcpy(&offset, r->request.bytes + i * sizeof(offset), sizeof(offset));
		if (vec_push(&r->places, location_of(dso, offset)) < 0)
			return -ENOMEM;
	}
	return 0;
}

static void find_frames(struct reading *r)
{
	struct attar_symbols_stats stats;
	struct message_stats sent;
	int found = add_places(r);

	if (found == 0)
		found = symbols_frames_batch(r->symbols, r->places.at, r->places.n, add_frames, r);
	vec_done(&r->places);
	make_room(r, MESSAGE_MAX);
	symbols_get_stats(r->symbols, &stats);
	sent = (struct message_stats){stats.sources_read, stats.sources_dropped};
	buf_add(&r->answer, &sent, sizeof(sent));
	send_answer(r, MESSAGE_END, found);
}

static int answer(struct reading *r)
{
	uint32_t type = r->request.head.type;

	r->faults = base_oom_count();
	r->dso = r->request.head.dso;
	if (type == MESSAGE_BEGIN)
		return reader_process_begin(r);
	if (!r->symbols)
		return -EINVAL;
	switch (type) {
	case MESSAGE_LOAD:
		reader_process_load(r);
		return 0;
	case MESSAGE_JIT:
		return set_jit(r);
	case MESSAGE_SYMBOLS:
		find_symbols(r);
		return 0;
	case MESSAGE_PLACES:
		return add_places(r);
	case MESSAGE_FRAMES:
		find_frames(r);
		return 0;
	default:
		return -EINVAL;
	}
}

static void __attribute__((noreturn)) serve(int socket)
{
	static struct reading r;
	int status = reader_sandbox_enter(socket);

	r.socket = socket;
	r.opener = (struct file_opener){.again = open_again,
		.other = open_other,
		.download = download,
		.path = path_of,
		.ctx = &r};
	send_packet(&r, MESSAGE_READY, status);
	while (status == 0 && message_receive(socket, &r.request) > 0) {
		status = answer(&r);
		packet_close(&r.request);
		attar_error_clear();
	}
	_exit(EXIT_SUCCESS);
}

void attar_reader_main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], READER_WORD))
		serve(READER_SOCKET);
}
