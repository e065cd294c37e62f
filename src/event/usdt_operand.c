/* SPDX-License-Identifier: MIT */
/*
 * The result is written to tracefs, where a newline would start another command: only characters
 * that were parsed are copied.
 */
#include "event/usdt_operand.h"

#include <ctype.h>
#include <stdio.h>

#include "elf/function.h"

static int not_fetched(const char *operand)
{
	return attar_fail(-EOPNOTSUPP, "uprobes cannot fetch the argument '%s' of the USDT probe",
		CLIP(operand));
}

/* A number with an optional sign; *p is advanced past it. False if there is none. */
static bool take_number(const char **p, int64_t *ret_value)
{
	bool minus = **p == '-', hex;
	const char *at = *p + (minus || **p == '+');
	char *end;
	uint64_t value;

	if (!isdigit((unsigned char)*at))
		return false;
	hex = at[0] == '0' && (at[1] == 'x' || at[1] == 'X');
	errno = 0;
	value = strtoull(at, &end, hex ? 16 : 10);
	if (errno)
		return false;
	*ret_value = (int64_t)(minus ? -value : value);
	*p = end;
	return true;
}

static int put_constant(const char *operand, const char *p, struct buf *b)
{
	int64_t value;

	if (!take_number(&p, &value) || *p)
		return not_fetched(operand);
	buf_printf(b, "\\%lld", (long long)value);
	return 0;
}

/* ---- x86-64 ---- */

/* tracefs uses the short name of a register for all sizes. */
static bool put_x86_register(const char *name, size_t n, struct buf *b)
{
	static const char *const names[][5] = {{"ax", "rax", "eax", "ax", "al"},
		{"bx", "rbx", "ebx", "bx", "bl"}, {"cx", "rcx", "ecx", "cx", "cl"},
		{"dx", "rdx", "edx", "dx", "dl"}, {"si", "rsi", "esi", "si", "sil"},
		{"di", "rdi", "edi", "di", "dil"}, {"bp", "rbp", "ebp", "bp", "bpl"},
		{"sp", "rsp", "esp", "sp", "spl"}};
	unsigned number;
	char suffix = 0, rest = 0, text[8];

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		for (size_t k = 1; k < 5; k++)
			if (strlen(names[i][k]) == n && !memcmp(names[i][k], name, n)) {
				buf_printf(b, "%%%s", names[i][0]);
				return true;
			}
	if (n >= sizeof(text) || n < 2 || name[0] != 'r' || !isdigit((unsigned char)name[1]))
		return false;
	memcpy(text, name, n);
	text[n] = '\0';
	if (sscanf(text, "r%u%c%c", &number, &suffix, &rest) < 1 || number < 8 || number > 15 ||
		(suffix && !strchr("dwb", suffix)) || rest)
		return false;
	buf_printf(b, "%%r%u", number);
	return true;
}

/*
 * symbol(%rip) or symbol+4(%rip). The kernel adds the difference between the probe's address and
 * its file offset to the given "file offset".
 */
static int put_variable(const struct usdt_site *site, const char *operand, struct buf *b)
{
	size_t n = strcspn(operand, "+-(");
	const char *p = operand + n;
	char *name _cleanup_free_ = NULL;
	uint64_t vaddr, offset;
	int64_t addend = 0;

	if (!site->elf || !n || (*p != '(' && !take_number(&p, &addend)) || strcmp(p, "(%rip)"))
		return not_fetched(operand);
	name = strndup(operand, n);
	if (!name)
		return base_oom();
	if (!elf_symbol_address(site->elf, name, &vaddr))
		return not_fetched(operand);
	offset = vaddr + (uint64_t)addend - (site->vaddr - site->offset);
	if (offset > INT64_MAX)
		return not_fetched(operand);
	buf_printf(b, "@+0x%llx", (unsigned long long)offset);
	return 0;
}

/* displacement(%register) */
static int x86_operand(const struct usdt_site *site, const char *operand, struct buf *b)
{
	const char *p = operand;
	int64_t displacement = 0;
	size_t n;

	if (*p == '%')
		return put_x86_register(p + 1, strlen(p + 1), b) ? 0 : not_fetched(operand);
	if (*p != '(' && !take_number(&p, &displacement))
		return put_variable(site, operand, b);
	if (p[0] != '(' || p[1] != '%')
		return not_fetched(operand);
	p += 2;
	n = strcspn(p, "),");
	if (strcmp(p + n, ")") != 0)
		return not_fetched(operand);
	buf_printf(b, "%+lld(", (long long)displacement);
	if (!put_x86_register(p, n, b))
		return not_fetched(operand);
	buf_char(b, ')');
	return 0;
}

/* ---- arm64 ---- */

static bool put_arm_register(const char *name, size_t n, struct buf *b)
{
	unsigned number;

	if (n == 2 && !memcmp(name, "sp", 2)) {
		buf_str(b, "%sp");
		return true;
	}
	if (n < 2 || n > 3 || (name[0] != 'x' && name[0] != 'w') ||
		!isdigit((unsigned char)name[1]) || (n == 3 && !isdigit((unsigned char)name[2])))
		return false;
	number = (unsigned)(name[1] - '0');
	if (n == 3)
		number = number * 10 + (unsigned)(name[2] - '0');
	if (number > 30)
		return false;
	buf_printf(b, "%%x%u", number);
	return true;
}

/* [register] or [register, displacement] */
static int arm_operand(const char *operand, struct buf *b)
{
	const char *p = operand;
	int64_t displacement = 0;
	size_t n;

	if (!strcmp(p, "xzr") || !strcmp(p, "wzr"))
		return put_constant(operand, "0", b);
	if (*p != '[')
		return put_arm_register(p, strlen(p), b) ? 0 : not_fetched(operand);
	n = strcspn(++p, ",] ");
	if (p[n] == ',') {
		const char *number = p + n + 1;

		number += strspn(number, " #");
		if (!take_number(&number, &displacement) || strcmp(number, "]") != 0)
			return not_fetched(operand);
	} else if (strcmp(p + n, "]") != 0) {
		return not_fetched(operand);
	}
	buf_printf(b, "%+lld(", (long long)displacement);
	if (!put_arm_register(p, n, b))
		return not_fetched(operand);
	buf_char(b, ')');
	return 0;
}

int usdt_operand(const struct usdt_site *site, const char *operand, struct buf *b)
{
	bool arm = strchr("[xws", *operand) && !strstr(operand, "(%");

	if (*operand == '$')
		return put_constant(operand, operand + 1, b);
	/* gcc writes constants of arm64 without a sign in front. */
	if (site->elf && site->elf->machine == EM_AARCH64 && strchr("-0123456789", *operand))
		return put_constant(operand, operand, b);
	return *operand && arm ? arm_operand(operand, b) : x86_operand(site, operand, b);
}

const char *usdt_operand_next(
	const char *text, char *operand, size_t max, struct usdt_type *ret_type)
{
	size_t n = 0;
	bool inside = false;
	char *at;
	long size;

	text += strspn(text, " ");
	if (!*text)
		return NULL;
	size = strtol(text, &at, 10);
	if (at == text || size < -64 || size > 64)
		return NULL;
	*ret_type = (struct usdt_type){
		.size = (unsigned)labs(size), .is_signed = size < 0, .is_float = *at == 'f'};
	at += *at == 'f';
	if (*at != '@')
		return NULL;
	for (text = at + 1; *text && (inside || *text != ' '); text++) {
		inside = *text == '[' || (inside && *text != ']');
		if (n + 1 == max)
			return NULL;
		operand[n++] = *text;
	}
	operand[n] = '\0';
	return text;
}
