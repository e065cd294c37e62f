/* SPDX-License-Identifier: CC0-1.0 */
/*
 * Writing a probe: the values are copied to one buffer on the stack, after room for the write
 * index.
 */
#include "internal.h"

int perfume_probe_enabled(const struct perfume_probe *probe)
{
	return live_listeners(&probe->event) != 0;
}

int perfume_write_payload(struct perfume_probe *probe, const void *payload, size_t n)
{
	uint32_t word = listeners(&probe->event), *packet;

	if (!word)
		return 0;
	if (n > PERFUME_PAYLOAD_MAX)
		return fail(-EMSGSIZE, "the payload is longer than 4000 bytes");
	if (n < probe->event.min_size)
		return fail(-EINVAL, "the payload is shorter than the fields");
	if (n && !payload)
		return fail(-EFAULT, "the payload is NULL");
	packet = __builtin_alloca(sizeof(*packet) + n);
	if (n)
		memcpy(packet + 1, payload, n);
	return event_write(&probe->event, word, packet, n);
}

/*
 * Returns the length of the payload, or a negative errno. Only the last value may be longer than
 * its field.
 */
static int measure(const struct perfume_probe *probe, const struct iovec *pieces)
{
	size_t total = 0;
	uint32_t i;

	for (i = 0; i < probe->n_fields; i++) {
		size_t n = pieces[i].iov_len, field = probe->sizes[i];

		if (n < field || (n > field && i + 1 < probe->n_fields))
			return fail(-EINVAL, "a value does not have the size of its field");
		if (n && !pieces[i].iov_base)
			return fail(-EFAULT, "a value is a NULL pointer");
		total += n;
		if (total > PERFUME_PAYLOAD_MAX)
			return fail(-EMSGSIZE, "the payload is longer than 4000 bytes");
	}
	return (int)total;
}

static int write_pieces(struct perfume_probe *probe, uint32_t word, const struct iovec *pieces)
{
	int n = measure(probe, pieces);
	uint32_t *packet, i;
	char *end;

	if (n < 0)
		return n;
	packet = __builtin_alloca(sizeof(*packet) + (size_t)n);
	end = (char *)(packet + 1);
	for (i = 0; i < probe->n_fields; i++)
		end = mempcpy(end, pieces[i].iov_base, pieces[i].iov_len);
	return event_write(&probe->event, word, packet, (size_t)n);
}

/*
 * If the caller passes an int instead of a size_t, the upper half of the value is undefined; no
 * payload needs that half.
 */
#define TAKE_PIECES(pieces, probe, args)                                                           \
	for (uint32_t i = 0; i < (probe)->n_fields; i++) {                                         \
		(pieces)[i].iov_base = va_arg(args, void *);                                       \
		(pieces)[i].iov_len = (uint32_t)va_arg(args, size_t);                              \
	}

int perfume_write_counted(int count, struct perfume_probe *probe, ...)
{
	uint32_t word = listeners(&probe->event);
	struct iovec *pieces;
	va_list args;

	if (!word)
		return 0;
	if (count < 0 || (uint32_t)count != 2 * probe->n_fields)
		return fail(-EINVAL, "perfume_write takes a pointer and a size for each field");
	pieces = __builtin_alloca(probe->n_fields * sizeof(*pieces));
	va_start(args, probe);
	TAKE_PIECES(pieces, probe, args)
	va_end(args);
	return write_pieces(probe, word, pieces);
}

int(perfume_write)(struct perfume_probe *probe, ...)
{
	uint32_t word = listeners(&probe->event);
	struct iovec *pieces;
	va_list args;

	if (!word)
		return 0;
	pieces = __builtin_alloca(probe->n_fields * sizeof(*pieces));
	va_start(args, probe);
	TAKE_PIECES(pieces, probe, args)
	va_end(args);
	return write_pieces(probe, word, pieces);
}
