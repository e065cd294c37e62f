/* SPDX-License-Identifier: MIT */
/*
 * Messages between attar and a reader (symbol/reader.h), which are the same program: packets of a
 * SOCK_SEQPACKET socket. An answer may have several packets, before which
 * the reader may send MESSAGE_OPEN, which is answered with MESSAGE_OPENED, MESSAGE_MISSING and
 * MESSAGE_LOG.
 *
 * A packet of a reader begins with texts, each of which ends with a NUL. A reader numbers its texts
 * from 1 on; numbers refer to texts of the same packet or of earlier ones, 0 is no text.
 */
#ifndef SYMBOL_READER_MESSAGE_H
#define SYMBOL_READER_MESSAGE_H

#include "elf/elf.h"

enum {
	MESSAGE_MAX = 64 << 10, /* bytes of a packet, without its head */
	MESSAGE_FDS = 2,
	MESSAGE_TEXT_MAX = 16 << 10,  /* bytes of a text; longer ones are cut */
	MESSAGE_FRAMES_MAX = 128,     /* frames of a place */
	MESSAGE_PLACES_MAX = 1 << 20, /* places of a request */
};

enum message_type {
	/* requests */
	MESSAGE_BEGIN = 1, /* struct message_begin, path; no answer */
	MESSAGE_LOAD, /* struct message_load, path, path of the open file; fds: file, debug file */
	MESSAGE_JIT,  /* struct message_jit; fds: perf map, jitdump; no answer */
	MESSAGE_SYMBOLS, /* uint64_t offsets[], in their order */
	MESSAGE_PLACES, /* uint64_t offsets[], which the next MESSAGE_FRAMES continues; no answer */
	MESSAGE_FRAMES, /* uint64_t offsets[] */
	MESSAGE_OPENED, /* status; path; fds: file */
	/* answers */
	MESSAGE_READY,   /* status */
	MESSAGE_LOADED,  /* status; struct message_loaded, struct elf_segment[] */
	MESSAGE_ARE,     /* struct message_symbol[] */
	MESSAGE_PART,    /* symbols, or places as below; more follow */
	MESSAGE_END,     /* status; struct message_stats. Of MESSAGE_FRAMES */
	MESSAGE_OPEN,    /* struct message_open, path */
	MESSAGE_MISSING, /* struct message_missing */
	MESSAGE_LOG,     /* a debug message, with a NUL */
};

/* Padding would be sent as it was in memory: these have none. */
#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wpadded"

struct message {
	uint32_t type, dso;
	int32_t status;
	uint32_t texts; /* bytes of texts in front */
};

struct message_begin {
	uint64_t max_symbol_bytes, max_source_bytes;
	uint32_t max_open_files;
	bool mangled, is_logged;
	uint8_t unused[2];
};

struct message_load {
	uint32_t path; /* bytes, with the NUL */
	uint8_t build_id_size, build_id[ELF_MAX_BUILD_ID];
	bool has_debug, is_vdso;
	bool is_foreign; /* look for the debug file in the root directory of its process */
};

struct message_jit {
	bool has_map, has_dump;
	uint16_t dumps;
};

struct message_loaded {
	uint64_t placed, file_size;
	uint32_t unfit, unfit_reason; /* texts */
	uint8_t build_id_size, build_id[ELF_MAX_BUILD_ID];
	bool is_twin; /* another file has the same contents */
	uint8_t unused[2];
};

/* Offsets with the same symbol as the one before, up to its `after`, are left out. */
struct message_symbol {
	uint64_t at; /* the offset that was asked for */
	uint64_t start, size, offset;
	uint64_t after; /* bytes after the place that have the same symbol; 0: unknown */
	uint32_t name, mangled;
	bool in_dump; /* of JIT code: the jitdump has it */
	uint8_t unused[7];
};

/* Followed by n frames. */
struct message_place {
	uint32_t index, n;
	uint64_t offset;
	uint32_t in_dump, unused;
};

struct message_frame {
	uint32_t name, mangled, file, line;
	uint32_t column : 31, inlined : 1;
};

struct message_stats {
	uint64_t sources_read, sources_dropped;
};

enum message_what { MESSAGE_AGAIN, MESSAGE_OTHER, MESSAGE_DOWNLOAD };

struct message_open {
	uint8_t what, in_root, id_size, id[ELF_MAX_BUILD_ID];
};

struct message_missing {
	uint32_t part, path, reason;
};

#pragma GCC diagnostic pop

struct packet {
	struct message head;
	uint8_t bytes[MESSAGE_MAX + 1];
	size_t n; /* bytes, with the texts in front */
	int fds[MESSAGE_FDS];
	unsigned n_fds;
};

/* Two pieces of a packet; either may be empty. */
struct message_pieces {
	const void *a, *b;
	size_t a_size, b_size;
	int fds[MESSAGE_FDS];
	unsigned n_fds;
};

/* Returns 0 or a negative errno. */
int message_send(int fd, const struct message *head, const struct message_pieces *pieces);

/*
 * Receives a packet, of which the caller owns the descriptors. Returns 1; 0 at the end; a negative
 * errno, among them -EAGAIN.
 */
int message_receive(int fd, struct packet *packet);

/* Closes descriptors that were not taken. */
void packet_close(struct packet *packet);

static inline int packet_take_fd(struct packet *packet, unsigned i)
{
	return i < packet->n_fds ? TAKE_FD(packet->fds[i]) : -1;
}

#endif
