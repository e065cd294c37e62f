/* SPDX-License-Identifier: MIT */
/* Records of scripts that are neither samples nor of tasks: mappings, names of kernel code, ... */
#include <ctype.h>
#include <sys/mman.h>

#include "perfdata/script_internal.h"

enum { KSYMBOL_BPF = 1, KSYMBOL_UNREGISTER = 1, BPF_LOAD = 1, BPF_UNLOAD = 2, TAG_BYTES = 8 };

static const char not_a_number[] = "an address, a length or an ID is not a number";

static bool take_number(const char *word, uint64_t *ret_value)
{
	char *end;

	*ret_value = strtoull(word, &end, 0);
	return *word && !*end;
}

static void put_u16(struct buf *b, uint64_t value)
{
	buf_add(b, &(uint16_t){(uint16_t)value}, sizeof(uint16_t));
}

static void put_u32(struct buf *b, uint64_t value)
{
	buf_add(b, &(uint32_t){(uint32_t)value}, sizeof(uint32_t));
}

static void put_u64(struct buf *b, uint64_t value)
{
	buf_add(b, &value, sizeof(value));
}

static void pad(struct buf *b)
{
	while (b->len % 8)
		buf_char(b, '\0');
}

static void put_text(struct buf *b, const char *text)
{
	buf_add(b, text, strlen(text) + 1);
	pad(b);
}

/* "0f1f00": bytes in hexadecimal digits. */
static const char *take_bytes(const char *word, struct buf *ret_bytes)
{
	for (; isxdigit((unsigned char)word[0]) && isxdigit((unsigned char)word[1]); word += 2) {
		const char digits[] = {word[0], word[1], '\0'};

		buf_char(ret_bytes, (char)strtoul(digits, NULL, 16));
	}
	return *word ? "bytes are pairs of hexadecimal digits" : NULL;
}

/* Index of the word in two words; -1: it is neither. */
static int choose(const char *word, const char *first, const char *second)
{
	return !strcmp(word, first) ? 0 : !strcmp(word, second) ? 1 : -1;
}

/* mmap ADDRESS LENGTH OFFSET PROTECTION FILE; PROTECTION as in /proc/PID/maps: r-xp */
static const char *put_mmap(const struct script_task *of, char *const *words, struct buf *b)
{
	const char *prot = words[3];
	uint64_t place[3];

	for (size_t i = 0; i < ARRAY_SIZE(place); i++)
		if (!take_number(words[i], &place[i]))
			return not_a_number;
	if (strlen(prot) != 4 || strspn(prot, "rwxps-") != 4)
		return "the protection is like that in /proc/PID/maps: r-xp";
	put_u32(b, of->pid);
	put_u32(b, of->tid);
	buf_add(b, place, sizeof(place));
	put_u64(b, 0); /* device */
	put_u64(b, 0); /* inode */
	put_u64(b, 0);
	put_u32(b, (prot[0] == 'r' ? PROT_READ : 0) | (prot[1] == 'w' ? PROT_WRITE : 0) |
			   (prot[2] == 'x' ? PROT_EXEC : 0));
	put_u32(b, prot[3] == 's' ? MAP_SHARED : MAP_PRIVATE);
	put_text(b, words[4]);
	return NULL;
}

/* ksymbol register ADDRESS LENGTH NAME, or unregister */
static const char *put_ksymbol(const struct script_task *of, char *const *words, struct buf *b)
{
	int what = choose(words[0], "register", "unregister");
	uint64_t address, len;

	if (what < 0)
		return "ksymbol is followed by register or unregister";
	if (!take_number(words[1], &address) || !take_number(words[2], &len))
		return not_a_number;
	put_u64(b, address);
	put_u32(b, len);
	put_u16(b, KSYMBOL_BPF);
	put_u16(b, what == 1 ? KSYMBOL_UNREGISTER : 0);
	put_text(b, words[3]);
	return NULL;
}

/* bpf load ID TAG, or unload */
static const char *put_bpf(const struct script_task *of, char *const *words, struct buf *b)
{
	int what = choose(words[0], "load", "unload");
	struct buf tag _cleanup_(buf_done) = {0};
	const char *why;
	uint64_t id;

	if (what < 0)
		return "bpf is followed by load or unload";
	if (!take_number(words[1], &id))
		return not_a_number;
	why = take_bytes(words[2], &tag);
	if (why)
		return why;
	if (tag.len != TAG_BYTES)
		return "a tag has 16 hexadecimal digits";
	put_u16(b, what == 0 ? BPF_LOAD : BPF_UNLOAD);
	put_u16(b, 0);
	put_u32(b, id);
	buf_add(b, tag.data, tag.len);
	return NULL;
}

/* cgroup ID PATH */
static const char *put_cgroup(const struct script_task *of, char *const *words, struct buf *b)
{
	uint64_t id;

	if (!take_number(words[0], &id))
		return not_a_number;
	put_u64(b, id);
	put_text(b, words[1]);
	return NULL;
}

/* text-poke ADDRESS OLD NEW */
static const char *put_poke(const struct script_task *of, char *const *words, struct buf *b)
{
	struct buf old _cleanup_(buf_done) = {0}, new _cleanup_(buf_done) = {0};
	uint64_t address;
	const char *why;

	if (!take_number(words[0], &address))
		return not_a_number;
	why = take_bytes(words[1], &old);
	if (!why)
		why = take_bytes(words[2], &new);
	if (why)
		return why;
	put_u64(b, address);
	put_u16(b, old.len);
	put_u16(b, new.len);
	buf_add(b, old.data, old.len);
	buf_add(b, new.data, new.len);
	pad(b);
	return NULL;
}

static const struct script_record kinds[] = {
	{"mmap", PERF_RECORD_MMAP2, 5, "mmap ADDRESS LENGTH OFFSET PROTECTION FILE", put_mmap},
	{"ksymbol", PERF_RECORD_KSYMBOL, 4, "ksymbol register|unregister ADDRESS LENGTH NAME",
		put_ksymbol},
	{"bpf", PERF_RECORD_BPF_EVENT, 3, "bpf load|unload ID TAG", put_bpf},
	{"cgroup", PERF_RECORD_CGROUP, 2, "cgroup ID PATH", put_cgroup},
	{"text-poke", PERF_RECORD_TEXT_POKE, 3, "text-poke ADDRESS OLD NEW", put_poke},
};

const struct script_record *script_record_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (!strcmp(kinds[i].name, name))
			return &kinds[i];
	return NULL;
}
