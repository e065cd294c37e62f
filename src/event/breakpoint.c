/* SPDX-License-Identifier: MIT */
/* mem:addr[/len][:rwx]: hardware breakpoints. */
#include <ctype.h>
#include <linux/hw_breakpoint.h>

#include "base/parse.h"
#include "event/list.h"

/* Parses a number up to the end of the word; same errors as parse_u64(). */
static int number(struct parser *parser, uint64_t *ret_value)
{
	const char *at = parser->p;
	char text[32];
	size_t n = 0;
	int r;

	while (isalnum((unsigned char)at[n]))
		n++;
	if (n >= sizeof(text))
		return parser_fail(parser, at, -EINVAL, "'%s' is too large", CLIP_N(at, n));
	memcpy(text, at, n);
	text[n] = '\0';
	r = parse_u64(text, ret_value);
	if (r < 0)
		return parser_context(parser, at, r);
	parser->p += n;
	return 0;
}

/* The access bits of ":rwx"; 0 if the letters after the colon are event modifiers. */
static int access_of(const char *at, size_t n)
{
	static const struct {
		char letter;
		int bit;
	} bits[] = {{'r', HW_BREAKPOINT_R}, {'w', HW_BREAKPOINT_W}, {'x', HW_BREAKPOINT_X}};
	int access = 0;

	for (size_t i = 0; i < n; i++) {
		int bit = 0;

		for (size_t j = 0; j < ARRAY_SIZE(bits); j++)
			if (bits[j].letter == at[i])
				bit = bits[j].bit;
		if (!bit || (access & bit))
			return 0;
		access |= bit;
	}
	return access;
}

/* "/len" after the address, in bytes; 0 if absent. */
static int take_length(struct parser *parser, uint64_t *ret_len)
{
	const char *at = parser->p + 1;
	uint64_t len;
	int r;

	*ret_len = 0;
	if (*parser->p != '/')
		return 0;
	parser->p++;
	r = number(parser, &len);
	if (r < 0)
		return r;
	if (len < 1 || len > 8)
		return parser_fail(parser, at, -EINVAL,
			"the length of a breakpoint must be 1 to 8 bytes, not %llu",
			(unsigned long long)len);
	*ret_len = len;
	return 0;
}

/* ":rwx" after that; rw if absent. */
static int take_access(struct parser *parser, int *ret_access)
{
	const char *at = parser->p + 1;
	int access = 0;
	size_t n = 0;

	if (*parser->p == ':') {
		while (isalnum((unsigned char)at[n]))
			n++;
		access = access_of(at, n);
	}
	if (access)
		parser->p += 1 + n;
	if (access & HW_BREAKPOINT_X && access != HW_BREAKPOINT_X)
		return parser_fail(parser, at, -EINVAL,
			"a breakpoint is either for execution (x) or for data (r, w, rw)");
	*ret_access = access ? access : HW_BREAKPOINT_RW;
	return 0;
}

int breakpoint_parse(struct parser *parser)
{
	struct attar_event_spec *spec;
	uint64_t addr, len = 0;
	struct parts parts;
	const char *end;
	int access = 0, r = number(parser, &addr);

	if (r == 0)
		r = take_length(parser, &len);
	if (r == 0)
		r = take_access(parser, &access);
	end = parser->p;
	if (r == 0)
		r = parts_parse(parser, false, &parts);
	if (r < 0)
		return r;
	/*
	 * The kernel accepts execute breakpoints only with the size of a long, regardless of the
	 * instruction's size.
	 */
	if (access == HW_BREAKPOINT_X && len && len != sizeof(long))
		return parser_fail(parser, parser->event, -EINVAL,
			"an execute breakpoint must have no length, or length %zu", sizeof(long));
	if (!len)
		len = access == HW_BREAKPOINT_X ? sizeof(long) : HW_BREAKPOINT_LEN_4;
	r = parser_add(parser, ATTAR_EVENT_BREAKPOINT, &spec);
	if (r < 0)
		return r;
	spec->type = PERF_TYPE_BREAKPOINT;
	spec->bp_type = (uint32_t)access;
	spec->config1 = addr; /* bp_addr */
	spec->config2 = len;  /* bp_len */
	spec->name = list_text(parser->list, parser->event, (size_t)(end - parser->event));
	return spec->name ? parts_apply(parser, &parts) : base_oom();
}
