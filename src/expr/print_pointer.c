/* SPDX-License-Identifier: MIT */
/*
 * Implement the printk conversions "%p" with a suffix: Documentation/core-api/printk-formats.rst.
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>

#include "expr/print.h"

static void put_function(struct print_run *run, uint64_t address, bool with_offset)
{
	struct attar_kernel_name name = {0};
	struct tracefs *t = run->tracefs;

	if (!t || !t->resolve || !t->resolve(t->resolve_ctx, address, &name) || !name.name) {
		print_form(run, "0x%llx", (unsigned long long)address);
		return;
	}
	print_form(run, "%s", name.name);
	if (with_offset)
		print_form(run, "+0x%llx", (unsigned long long)(address - name.start));
	if (with_offset && name.size)
		print_form(run, "/0x%llx", (unsigned long long)name.size);
	if (name.module)
		print_form(run, " [%s]", name.module);
}

/* M MF MR m mR */
static void put_mac(struct print_run *run, const char *suffix, const uint8_t *at)
{
	const char *between = suffix[0] == 'm' ? "" : suffix[1] == 'F' ? "-" : ":";
	bool reversed = strchr(suffix, 'R') != NULL;

	for (int i = 0; i < 6; i++)
		print_form(run, "%s%02x", i ? between : "", at[reversed ? 5 - i : i]);
}

static void put_ip4(struct print_run *run, const uint8_t *at, bool padded)
{
	print_form(run, padded ? "%03u.%03u.%03u.%03u" : "%u.%u.%u.%u", at[0], at[1], at[2], at[3]);
}

/* I6 with colons, i6 without, I6c shortened. */
static void put_ip6(struct print_run *run, const char *suffix, const uint8_t *at)
{
	char text[INET6_ADDRSTRLEN];

	if (suffix[2] == 'c' && inet_ntop(AF_INET6, at, text, sizeof(text))) {
		print_form(run, "%s", text);
		return;
	}
	for (int i = 0; i < 16; i += 2)
		print_form(run, "%s%02x%02x", i && suffix[0] == 'I' ? ":" : "", at[i], at[i + 1]);
}

/* IS, iS with p (port), f (flow), s (scope), c (shortened). */
static void put_sockaddr(struct print_run *run, const char *suffix, struct expr_value v)
{
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
	bool port = strchr(suffix, 'p');
	uint16_t family;

	if (v.len < sizeof(family))
		return;
	memcpy(&family, v.bytes, sizeof(family));
	if (family == AF_INET && v.len >= sizeof(in)) {
		memcpy(&in, v.bytes, sizeof(in));
		put_ip4(run, (const uint8_t *)&in.sin_addr, suffix[0] == 'i');
		if (port)
			print_form(run, ":%u", ntohs(in.sin_port));
	} else if (family == AF_INET6 && v.len >= sizeof(in6)) {
		memcpy(&in6, v.bytes, sizeof(in6));
		print_form(run, "%s", port ? "[" : "");
		put_ip6(run,
			strchr(suffix, 'c') ? "I6c"
			: suffix[0] == 'i'  ? "i6"
					    : "I6",
			(const uint8_t *)&in6.sin6_addr);
		if (port)
			print_form(run, "]:%u", ntohs(in6.sin6_port));
		if (strchr(suffix, 'f') && (ntohl(in6.sin6_flowinfo) & 0x0fffffff))
			print_form(run, "/%u", ntohl(in6.sin6_flowinfo) & 0x0fffffff);
		if (strchr(suffix, 's') && in6.sin6_scope_id)
			print_form(run, "%%%u", in6.sin6_scope_id);
	} else {
		print_form(run, "family %u", family);
	}
}

static void put_internet(struct print_run *run, const char *suffix, struct expr_value v)
{
	if (suffix[1] == 'S')
		put_sockaddr(run, suffix, v);
	else if (suffix[1] == '4' && v.len >= 4)
		put_ip4(run, v.bytes, suffix[0] == 'i');
	else if (suffix[1] == '6' && v.len >= 16)
		put_ip6(run, suffix, v.bytes);
}

/* U Ub UB Ul UL: l and L have the first three groups in little-endian order. */
static void put_uuid(struct print_run *run, const char *suffix, const uint8_t *at)
{
	static const uint8_t big[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
	static const uint8_t little[] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};
	const uint8_t *order = (suffix[1] | 32) == 'l' ? little : big;
	bool upper = suffix[1] == 'B' || suffix[1] == 'L';

	for (int i = 0; i < 16; i++) {
		bool dash = i == 4 || i == 6 || i == 8 || i == 10;

		print_form(run, dash ? "-" : "%s", "");
		print_form(run, upper ? "%02X" : "%02x", at[order[i]]);
	}
}

/*
 * h hC hD hN: bytes separated by a space, colon, dash or nothing; the width is the number of bytes.
 */
static void put_hex(struct print_run *run, const char *suffix, int width, struct expr_value v)
{
	const char *between = suffix[1] == 'C'   ? ":"
			      : suffix[1] == 'D' ? "-"
			      : suffix[1] == 'N' ? ""
						 : " ";
	size_t n = width < 0 ? MIN(v.len, 1UL) : MIN(v.len, (size_t)width);

	for (size_t i = 0; i < n; i++)
		print_form(run, "%s%02x", i ? between : "", v.bytes[i]);
}

static bool bit_at(const uint8_t *bytes, size_t bit)
{
	return bytes[bit / 8] >> (bit % 8) & 1;
}

static void put_ranges(struct print_run *run, const uint8_t *bytes, size_t bits)
{
	bool any = false;

	for (size_t i = 0; i < bits; i++) {
		size_t first = i;

		if (!bit_at(bytes, i))
			continue;
		while (i + 1 < bits && bit_at(bytes, i + 1))
			i++;
		print_form(run, i > first ? "%s%zu-%zu" : "%s%zu", any ? "," : "", first, i);
		any = true;
	}
}

/*
 * Words of 32 bits, the highest first; the kernel's bitmaps consist of longs, here little-endian.
 */
void print_bitmap(struct print_run *run, const uint8_t *bytes, size_t bits, bool as_list)
{
	size_t words = (bits + 31) / 32;

	if (as_list) {
		put_ranges(run, bytes, bits);
		return;
	}
	for (size_t i = words; i-- > 0;) {
		unsigned in_word = i == words - 1 && bits % 32 ? (unsigned)(bits % 32) : 32;
		uint32_t word = 0;

		for (unsigned bit = 0; bit < in_word; bit++)
			word |= (uint32_t)bit_at(bytes, i * 32 + bit) << bit;
		print_form(run, "%s%0*x", i == words - 1 ? "" : ",", (int)(in_word + 3) / 4, word);
	}
}

/* a ad ap: a physical or DMA address, given by a pointer to it. */
static void put_physical(struct print_run *run, struct expr_value v)
{
	uint64_t address = 0;

	memcpy(&address, v.bytes, MIN(v.len, sizeof(address)));
	print_form(
		run, "0x%0*llx", (int)MIN(v.len, sizeof(address)) * 2, (unsigned long long)address);
}

static bool put_bytes(struct print_run *run, const char *suffix, int width, struct expr_value v)
{
	switch (suffix[0]) {
	case 'M':
	case 'm':
		if (v.len >= 6)
			put_mac(run, suffix, v.bytes);
		return true;
	case 'I':
	case 'i':
		put_internet(run, suffix, v);
		return true;
	case 'U':
		if (v.len >= 16)
			put_uuid(run, suffix, v.bytes);
		return true;
	case 'h':
		put_hex(run, suffix, width, v);
		return true;
	case 'b':
		print_bitmap(run, v.bytes, width < 0 ? v.len * 8 : MIN(v.len * 8, (size_t)width),
			suffix[1] == 'l');
		return true;
	case 'a':
		put_physical(run, v);
		return true;
	}
	return false;
}

static void put_error(struct print_run *run, uint64_t number)
{
	const char *name = -(int64_t)number > 0 && -(int64_t)number < 4096
				   ? strerrorname_np((int)-(int64_t)number)
				   : NULL;

	if (name)
		print_form(run, "-%s", name);
	else
		print_form(run, "0x%llx", (unsigned long long)number);
}

void print_pointer(struct print_run *run, const char *suffix, int width, struct expr_value v)
{
	if (v.bytes && put_bytes(run, suffix, width, v))
		return;
	switch (suffix[0]) {
	case 'S':
	case 'B':
	case 'F':
		put_function(run, v.number, true);
		break;
	case 's':
	case 'f':
		put_function(run, v.number, false);
		break;
	case 'e':
		put_error(run, v.number);
		break;
	default: /* the kernel would hash it; users who may trace may see it */
		print_form(run, "%016llx", (unsigned long long)v.number);
	}
}
