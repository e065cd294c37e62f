/* SPDX-License-Identifier: MIT */
/*
 * Packets of Arm's Statistical Profiling Extension. A packet is a header of one byte, or of two
 * (an extended header, which only adds bits to the index), and a payload of 1, 2, 4 or 8 bytes,
 * little-endian, whose size is in bits 4 and 5 of the last byte of the header. A sample ends with
 * an End or a Timestamp packet.
 */
#include "attar/spe.h"

#include "base/check_arg.h"

enum kind { BAD, PADDING, END, TIMESTAMP, EVENTS, SOURCE, CONTEXT, OPERATION, ADDRESS, COUNTER };

struct packet {
	enum kind kind;
	unsigned index; /* the low bits of the header: which address, which counter, which class */
	uint64_t payload;
};

/* Headers under a mask. */
static const struct {
	uint8_t mask, value;
	enum kind kind;
} headers[] = {
	{0xff, 0x00, PADDING},
	{0xff, 0x01, END},
	{0xff, 0x71, TIMESTAMP},
	{0xcf, 0x42, EVENTS},
	{0xcf, 0x43, SOURCE},
	{0xfc, 0x64, CONTEXT},
	{0xfc, 0x48, OPERATION},
	{0xf8, 0xb0, ADDRESS},
	{0xf8, 0x98, COUNTER},
};

enum { EXTENDED_MASK = 0xfc, EXTENDED = 0x20 };

void attar_spe_init(struct attar_spe *spe, const void *first, size_t first_size, const void *second,
	size_t second_size, uint64_t offset)
{
	CHECK_ARG_OR(spe, "spe", );

	*spe = (struct attar_spe){
		.parts = {first, second}, .sizes = {first_size, second_size}, .offset = offset};
}

static size_t left(const struct attar_spe *spe)
{
	return spe->sizes[0] - MIN(spe->at, spe->sizes[0]) + spe->sizes[1] -
	       (spe->at > spe->sizes[0] ? spe->at - spe->sizes[0] : 0);
}

/* The byte i after the position, which is inside the data. */
static uint8_t byte(const struct attar_spe *spe, size_t i)
{
	size_t at = spe->at + i;

	return at < spe->sizes[0] ? spe->parts[0][at] : spe->parts[1][at - spe->sizes[0]];
}

static enum kind kind_of(uint8_t header)
{
	for (size_t i = 0; i < ARRAY_SIZE(headers); i++)
		if ((header & headers[i].mask) == headers[i].value)
			return headers[i].kind;
	return BAD;
}

/* The bytes up to the next multiple of the alignment that the packet names, at least its own. */
static size_t align(const struct attar_spe *spe)
{
	uint64_t to = UINT64_C(2) << (byte(spe, 0) & 3), at = spe->offset + spe->at;
	size_t n = (size_t)(((at + 2 + to - 1) & -to) - at);

	return MIN(n, left(spe));
}

/* The packet at the position and its size in bytes; 0: it is cut off. */
static size_t read_packet(const struct attar_spe *spe, struct packet *ret)
{
	size_t n = left(spe), head = 1, size;
	uint8_t header = byte(spe, 0);

	*ret = (struct packet){.index = header & 7};
	if ((header & EXTENDED_MASK) == EXTENDED) {
		if (n < 2)
			return 0;
		if (byte(spe, 1) == 0)
			return ret->kind = PADDING, align(spe);
		ret->index = (header & 3U) << 3 | (byte(spe, 1) & 7);
		header = byte(spe, 1);
		head = 2;
	}
	ret->kind = kind_of(header);
	if (head == 2 && ret->kind != ADDRESS && ret->kind != COUNTER)
		ret->kind = BAD;
	if (ret->kind == BAD || ret->kind == PADDING || ret->kind == END)
		return head;
	size = (size_t)1 << (header >> 4 & 3);
	if (n < head + size)
		return 0;
	for (size_t i = 0; i < size; i++)
		ret->payload |= (uint64_t)byte(spe, head + i) << (8 * i);
	return head + size;
}

/* Bits 0 to 55 are the address; bit 55 selects the half of the address space. */
static uint64_t address(uint64_t payload)
{
	return (uint64_t)((int64_t)(payload << 8) >> 8);
}

static void set_address(struct attar_spe_sample *s, const struct packet *p)
{
	uint64_t *const members[] = {&s->pc, &s->target, &s->va, &s->pa, &s->previous_target};

	if (p->index >= ARRAY_SIZE(members))
		return;
	*members[p->index] = p->index == 3 ? p->payload & (UINT64_MAX >> 8) : address(p->payload);
	if (p->index == 0)
		s->level = p->payload >> 61 & 3;
	s->has |= (uint32_t)ATTAR_SPE_PC << p->index;
}

static void set_counter(struct attar_spe_sample *s, const struct packet *p)
{
	uint16_t *const members[] = {&s->latency, &s->issue, &s->translation};

	if (p->index >= ARRAY_SIZE(members))
		return;
	*members[p->index] = (uint16_t)p->payload;
	s->has |= (uint32_t)ATTAR_SPE_LATENCY << p->index;
}

/*
 * Bit 0 of a load or store: it is a store; bits 2 to 4 have more if bit 1 is set and bits 5 to 7
 * are clear.
 */
static void set_operation(struct attar_spe_sample *s, const struct packet *p)
{
	uint8_t bits = (uint8_t)p->payload;

	s->op_class = p->index & 3;
	s->operation = bits;
	s->access = 0;
	s->has |= ATTAR_SPE_OPERATION;
	if (s->op_class != ATTAR_SPE_LOAD_STORE)
		return;
	s->access = bits & 1 ? ATTAR_SPE_STORE : ATTAR_SPE_LOAD;
	if ((bits & 0xe2) == 0x02)
		s->access |=
			bits & (ATTAR_SPE_ATOMIC | ATTAR_SPE_EXCLUSIVE | ATTAR_SPE_ACQUIRE_RELEASE);
}

static void add_packet(struct attar_spe_sample *s, const struct packet *p)
{
	switch (p->kind) {
	case ADDRESS:
		return set_address(s, p);
	case COUNTER:
		return set_counter(s, p);
	case OPERATION:
		return set_operation(s, p);
	case TIMESTAMP:
		s->time = p->payload;
		s->has |= ATTAR_SPE_TIME;
		return;
	case EVENTS:
		s->events = p->payload;
		s->has |= ATTAR_SPE_EVENTS;
		return;
	case SOURCE:
		s->source = (uint16_t)p->payload;
		s->has |= ATTAR_SPE_SOURCE;
		return;
	case CONTEXT:
		s->context = (uint32_t)p->payload;
		s->has |= ATTAR_SPE_CONTEXT;
		return;
	default:
		return;
	}
}

/* After an invalid packet, the rest of its sample is skipped. */
bool attar_spe_next(struct attar_spe *spe, struct attar_spe_sample *ret)
{
	CHECK_ARG_OR(spe, "spe", false);
	CHECK_ARG_OR(ret, "ret_sample", false);

	struct attar_spe_sample sample = {0};
	bool bad = false;

	while (left(spe) > 0) {
		struct packet packet;
		size_t size = read_packet(spe, &packet);

		bad |= packet.kind == BAD || size == 0;
		spe->at += size ? size : left(spe);
		if (!bad)
			add_packet(&sample, &packet);
		if (size == 0 || (packet.kind != END && packet.kind != TIMESTAMP))
			continue;
		if (!bad && sample.has & ~(uint32_t)ATTAR_SPE_TIME) {
			spe->samples++;
			*ret = sample;
			return true;
		}
		spe->malformed += bad;
		bad = false;
		sample = (struct attar_spe_sample){0};
	}
	spe->malformed += bad || sample.has;
	return false;
}
