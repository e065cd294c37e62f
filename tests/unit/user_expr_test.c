/* SPDX-License-Identifier: MIT */
/* Expressions of users: what they yield, which errors they have, and what keys are made of. */
#include "unit.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "attar/expr.h"
#include "attar/private/expr.h"
#include "base/base.h"

static const char text[] = "name: all\nID: 1\nformat:\n"
			   "\tfield:int common_pid;\toffset:0;\tsize:4;\tsigned:1;\n\n"
			   "\tfield:char comm[16];\toffset:4;\tsize:16;\tsigned:0;\n"
			   "\tfield:pid_t pid;\toffset:20;\tsize:4;\tsigned:1;\n"
			   "\tfield:int prio;\toffset:24;\tsize:4;\tsigned:1;\n"
			   "\tfield:__data_loc char[] name;\toffset:28;\tsize:4;\tsigned:0;\n"
			   "\tfield:__rel_loc char[] rel;\toffset:32;\tsize:4;\tsigned:1;\n"
			   "\tfield:u8 byte;\toffset:36;\tsize:1;\tsigned:0;\n"
			   "\tfield:s8 small;\toffset:37;\tsize:1;\tsigned:1;\n"
			   "\tfield:__be16 port;\toffset:38;\tsize:2;\tsigned:0;\n"
			   "\tfield:u64 big;\toffset:40;\tsize:8;\tsigned:0;\n"
			   "\tfield:long wide;\toffset:48;\tsize:8;\tsigned:1;\n"
			   "\tfield:__u8 saddr[4];\toffset:56;\tsize:4;\tsigned:0;\n"
			   "\tfield:u32 dev;\toffset:60;\tsize:4;\tsigned:0;\n"
			   "\tfield:unsigned long args[2];\toffset:64;\tsize:16;\tsigned:0;\n"
			   "\tfield:struct f64 price;\toffset:80;\tsize:8;\tsigned:0;\n"
			   "\tfield:void * ip;\toffset:88;\tsize:8;\tsigned:0;\n"
			   "\tfield:struct x thing;\toffset:96;\tsize:8;\tsigned:0;\n"
			   "\tfield:__data_loc u32[] list;\toffset:104;\tsize:4;\tsigned:0;\n";

static struct record {
	int32_t common_pid;
	char comm[16];
	int32_t pid, prio;
	uint32_t name, rel;
	uint8_t byte;
	int8_t small;
	uint16_t port;
	uint64_t big;
	int64_t wide;
	uint8_t saddr[4];
	uint32_t dev;
	uint64_t args[2];
	double price;
	uint64_t ip;
	char thing[8];
	uint32_t list;
	char names[20];
	uint32_t numbers[3];
} record = {.common_pid = 77,
	.comm = "k\xc3\xa4se/0",
	.pid = 42,
	.prio = 98,
	.name = 108 | 6 << 16,
	.rel = (114 - 36) | 7 << 16,
	.byte = 200,
	.small = -2,
	.big = (1ULL << 63) + 1,
	.wide = INT64_MIN,
	.saddr = {10, 0, 0, 1},
	.dev = 8,
	.args = {3, UINT64_MAX},
	.price = 2.75,
	.ip = 0xffffffff81000000,
	.list = 128 | 12 << 16,
	.names = "kwork\0folder",
	.numbers = {5, 6, 7}};

static struct attar_format *format;
static char output[4096];

static int setup(void **state)
{
	assert_int_equal(sizeof(record), 144);
	record.port = htons(40000);
	return attar_format_parse("sys", text, strlen(text), &format);
}

static int teardown(void **state)
{
	format = attar_format_free(format);
	return 0;
}

/* ---- evaluating ---- */

static size_t name_of(
	void *ctx, const struct attar_expr_record *r, uint64_t number, char *ret_text, size_t max)
{
	return number == 1 ? 0
			   : (size_t)snprintf(ret_text, max, "%s_%llx", (char *)ctx,
				     (unsigned long long)number);
}

static size_t process_of(
	void *ctx, const struct attar_expr_record *r, uint64_t number, char *ret_text, size_t max)
{
	return (size_t)snprintf(ret_text, max, "%d", r->pid);
}

static unsigned n_announced;

/* Threads below 50 are in nothing. */
static size_t group_of(void *ctx, const struct attar_expr_record *r, enum attar_expr_group group,
	int32_t tid, char *ret_text, size_t max)
{
	n_announced += !r;
	return !r || tid < 50 ? 0 : (size_t)snprintf(ret_text, max, "%u of %d", group, tid);
}

static void print(void *ctx, const char *bytes, size_t n)
{
	strncat(output, bytes, n);
}

static const struct attar_expr_variable variables[] = {
	{.name = "key", .is_signed = true}, {.name = "label", .is_text = true}};
static char prefix[] = "f";
static const struct attar_expr_value values[] = {{.number = 12}, {.bytes = "ready", .len = 5}};

static struct attar_expr_record whole(void)
{
	return (struct attar_expr_record){.raw = &record,
		.raw_size = sizeof(record),
		.time = 1000000000000,
		.period = 9,
		.cpu = 3,
		.pid = 100,
		.tid = 101,
		.variables = values};
}

static struct attar_expr_opts all_options(unsigned flags)
{
	return (struct attar_expr_opts){.size = sizeof(struct attar_expr_opts),
		.flags = flags,
		.n_variables = ARRAY_SIZE(variables),
		.variables = variables,
		.ctx = prefix,
		.ksymbol = name_of,
		.usymbol = process_of,
		.comm_get = name_of,
		.group_get = group_of,
		.output = print};
}

static struct attar_expr *compile(const char *expression, unsigned flags)
{
	struct attar_expr_opts opts = all_options(flags);
	struct attar_expr *e;

	if (attar_expr_new(expression, format, &opts, &e) < 0)
		fail_msg("%s", attar_error());
	return e;
}

static int64_t number(const char *expression)
{
	struct attar_expr *e = compile(expression, 0);
	struct attar_expr_record r = whole();
	struct attar_expr_value v;

	attar_expr_eval(e, &r, &v);
	if (v.bytes)
		fail_msg("'%s' is not a number", expression);
	assert_true(v.number == attar_expr_number(e, &r));
	assert_int_equal(attar_expr_is_true(e, &r), v.number != 0);
	attar_expr_free(e);
	return (int64_t)v.number;
}

static void is(const char *expression, int64_t expected)
{
	int64_t n = number(expression);

	if (n != expected)
		fail_msg("'%s' is %lld, not %lld", expression, (long long)n, (long long)expected);
}

static void is_text(const char *expression, const char *expected)
{
	struct attar_expr *e = compile(expression, 0);
	struct attar_expr_record r = whole();
	struct attar_expr_value v;

	attar_expr_eval(e, &r, &v);
	assert_int_equal(attar_expr_get_column(e, 0)->kind, ATTAR_EXPR_TEXT);
	if (v.len != strlen(expected) || memcmp(v.bytes, expected, v.len) != 0)
		fail_msg("'%s' is '%.*s', not '%s'", expression, (int)v.len, v.bytes, expected);
	attar_expr_free(e);
}

static void test_names(void **state)
{
	is("pid", 42);
	is("common_pid", 77);
	is("byte", 200);
	is("small", -2);
	is("big", INT64_MIN + 1);
	is("wide", INT64_MIN);
	is("_cpu", 3);
	is("_pid", 100);
	is("_tid", 101);
	is("_time", 1000000000000);
	is("_period", 9);
	is("key + 1", 13);
	is_text("label", "ready");
	is("label == \"ready\"", 1);
	is("name_offset", 108);
	is("name_len", 6);
	is("rel_offset", 114);
	is("rel_len", 7);
	is("true + true + false", 2);
}

/* The kernel's char is signed or not depending on its version: text is text in both cases. */
static void test_text(void **state)
{
	is_text("comm", "k\xc3\xa4se/0");
	is_text("name", "kwork");
	is_text("rel", "folder");
	is("comm == \"k\xc3\xa4se/0\"", 1);
	is("comm != \"k\xc3\xa4se/0\"", 0);
	is("comm == \"k\"", 0);
	is("comm ~ \"k*\"", 1);
	is("comm ~ \"*/0\"", 1);
	is("comm ~ \"*/1\"", 0);
	is("comm~\"k[!a]*\" && pid==42", 1);
	is("!(comm ~ \"x*\")", 1);
	is("comm ~ \"[^x]*\" && comm ~ \"k[^a]*\" && !(comm ~ \"[^k]*\")", 1);
	is("\"^\" ~ \"[a^]\" && \"^\" ~ \"\\\\^\" && \"a\" ~ \"[^]b]\" && !(\"]\" ~ \"[^]b]\")", 1);
	is("\"[^a]\" ~ \"\\\\[^a]\" && \"[^\" ~ \"[^\" && \"x[\" ~ \"x[^^]\" && !(\"^\" ~ "
	   "\"[^[^]\")",
		1);
	is("\"^\" ~ \"[^]\" && \"b\" ~ \"[]^]\" == 0 && \"^]\" ~ \"[[^]]\"", 1);
	is("name == \"kwork\"", 1);
	is("name ~ \"k?or*\"", 1);
	is("rel == \"folder\"", 1);
	is("rel ~ \"*d*\"", 1);
	is("rel != name", 1);
	is("\"a\" \"b\" == \"ab\"", 1);
	is("comm[0] == 'k'", 1);
	is("comm[1] == '\\xc3'", 1);
	is("comm[1]", (int8_t)0xc3);
	is("*comm", 'k');
	is("name[4]", 'k');
	is("name[5]", 0);
	is("len(comm)", 7);
	is("strlen(name)", 5);
	is("strlen(\"\")", 0);
	is("strncmp(comm, \"kx\", 1)", 0);
	is("strncmp(name, \"kwork/0\", 5)", 0);
	is("strncmp(name, \"kwork/0\", 6)", -1);
	is("strncmp(\"b\", name, 3) < 0", 1);
	is("strncmp(\"k\\xff\", name, 3)", 1);
	is_text("pid > 1 ? comm : name", "k\xc3\xa4se/0");
	is_text("pid < 1 ? comm : name", "kwork");
}

static void test_arrays(void **state)
{
	is("args[0]", 3);
	is("args[1]", -1);
	is("args[0] + args[pid - 41]", 2);
	is("saddr[0]", 10);
	is("saddr[3]", 1);
	is("*saddr", 10);
	is("len(saddr)", 4);
	is("len(args)", 2);
	is("list[2]", 7);
	is("len(list)", 3);
	is("ntohl(*(u32 *)saddr) == 0x0a000001", 1);
	is("((u16 *)saddr)[1] == 256", 1);
	is("*(short *)&port == (short)port", 1);
}

static void test_operators(void **state)
{
	is("1 + 2 * 3 - 4 / 2 % 2", 7);
	is("(1 + 2) * 3", 9);
	is("-7 / 2", -3);
	is("-7 % 3", -1);
	is("1 << 4 | 1", 17);
	is("(_cpu << 32) | pid", 3LL << 32 | 42);
	is("small << 63 - 31", -2LL * (1LL << 32));
	is("(u8)pid << 63", 0);
	is("prio << 32 >> 32", 98);
	is("sizeof(pid << 32)", 8);
	is("sizeof(pid << 31)", 4);
	is("pid << 31", 0);
	is("pid << byte - 168", 0);
	is("pid << 64", 0);
	is("0xff & ~0x0f ^ 1", 0xf1);
	is("010 + 0x10 + 10", 34);
	is("'a' + '\\n' + '\\0'", 107);
	is("2 && 3", 1);
	is("2 || 0", 1);
	is("0 || 0", 0);
	is("!5", 0);
	is("!!5", 1);
	is("1 ? 2 : 3", 2);
	is("0 ? 1 : 0 ? 2 : 3", 3);
	is("1, 2, 3", 3);
	is("(1, pid) + 1", 43);
	is("pid == 42 ? 1 : 2, 7", 7);
	is("pid - 50 < 0", 1);
	is("(unsigned)pid - 50 < 0", 0);
	is("-1 < 0u", 0);
	is("byte - 201 < 0", 1);
	is("big > 0", 1);
	is("(long)big < 0", 1);
	is("1 # one", 1);
	is("1 // one\n + 1", 2);
	is("strlen(\"# // '\")", 6);
}

static void test_casts(void **state)
{
	is("(int)(pid+8)", 50);
	is("(char)300", 44);
	is("(char)200", -56);
	is("(unsigned char)200", 200);
	is("(u8)(pid + 256)", 42);
	is("(short)40000", -25536);
	is("(unsigned short)-1", 65535);
	is("(int)0x1ffffffff", -1);
	is("(unsigned int)-1", 4294967295);
	is("(long)(int)big", 1);
	is("(pid) + 1", 43);
	is("(pid) & 2", 2);
	is("sizeof(int) + sizeof(long) + sizeof(char)", 13);
	is("sizeof(comm)", 16);
	is("sizeof comm + 1", 17);
	is("sizeof pid", 4);
	is("sizeof(char *)", 8);
	is("sizeof(\"abc\")", 4);
	is("ntohs(port)", 40000);
	is("ntohl(0x01020304)", 0x04030201);
	is("ntohll(1)", 1LL << 56);
	is("(long)price", 2);
	is("price > 2.5 && price < 3 && price != 2", 1);
	is("2 < price", 1);
}

/* Offsets are those of struct record. */
static void test_addresses(void **state)
{
	is("&pid", offsetof(struct record, pid));
	is("&pid + 1", offsetof(struct record, prio));
	is("1 + &pid", offsetof(struct record, prio));
	is("&prio - 1", offsetof(struct record, pid));
	is("&port", offsetof(struct record, port));
	is("&port - 1", offsetof(struct record, port) - 2);
	is("(long)&big", offsetof(struct record, big));
	is("(long)comm", offsetof(struct record, comm));
	is("(long)&comm", offsetof(struct record, comm));
	is("(long)(u32 *)saddr", offsetof(struct record, saddr));
	is("(char)args + 1", offsetof(struct record, args) + 1);
	is("(long)&thing", offsetof(struct record, thing));
	is("(long)name", 108);
	is("(long)name - (long)comm == name - comm", 1);
	is("sizeof(&byte)", 8);
	is("*&pid", 42);
	is("*&small", -2);
	is("*(&pid + 1)", 98);
	is("(&pid)[1]", 98);
	is("(&prio)[-1]", 42);
	is("(&pid)[-5]", 77);
	is("*(&prio - 1)", 42);
	is("*(unsigned char *)&pid", 42);
	is("((unsigned char *)&pid)[1]", 0);
	is("*(unsigned long *)&pid", 42 | 98LL << 32);
	is("(unsigned long *)&wide - 1", offsetof(struct record, big));
	is("*((unsigned long *)&wide - 1) == big", 1);
	is("(unsigned int *)comm + 2", offsetof(struct record, comm) + 8);
	is("*((unsigned int *)comm + 4) == pid", 1);
	is("&common_pid - &pid", -5);
	is("&pid - &common_pid", 5);
	is("(char *)&pid - comm", 16);
	is("&args[1] - args", 1);
	is("&args[1]", offsetof(struct record, args) + 8);
	is("&comm[2] - comm", 2);
	is("&pid == &prio - 1", 1);
	is("&pid < &prio", 1);
	is("&pid != &pid", 0);
	is("*(comm + 0)", 'k');
	is("*(comm + 4)", 'e');
	is("*(4 + comm)", 'e');
	is("*(name + 1)", 'w');
	is("*(\"abc\" + 2)", 'c');
	is("*(list + 1)", 6);
	is("*(&list[2] - 2)", 5);
	is("&list[0]", offsetof(struct record, numbers));
	is_text("comm + 3", "se/0");
	is_text("comm + 6 - 2", "e/0");
	is_text("comm + 16", "*"); /* of pid */
	is_text("\"k\" \"work\" + 1", "work");
	is_text("label + 3", "dy");
	is_text("(char *)&common_pid + name_offset", "kwork");
	is_text("(unsigned char *)&pid", "*");
	is_text("(char *)(int *)comm + 3", "se/0");
	is("(char *)&pid == \"*\"", 1);
	is("(long)((char *)&pid + 1)", offsetof(struct record, pid) + 1);
	is("comm + 3 == \"se/0\"", 1);
	is("comm + 3 == comm", 0);
	is("comm + 5 ~ \"/?\"", 1);
	is("strlen(comm + 3)", 4);
	is("strncmp(name + 1, \"work\", 4)", 0);
	is("ip(&dev) == \"8.0.0.0\"", 1);
	is_text("ip(saddr)", "10.0.0.1");
}

/* An address outside of the data yields 0, and is counted. */
static void test_addresses_elsewhere(void **state)
{
	static const struct {
		const char *expression;
		unsigned faults;
	} cases[] = {
		{"(unsigned long *)&common_pid - 1", 2}, /* the address, and its offset */
		{"*((unsigned long *)&common_pid - 1)", 2},
		{"(&pid)[-6]", 1},
		{"(&pid)[1000]", 1},
		{"(&pid)[0x4000000000000001]", 1},
		{"(&pid)[-0x4000000000000001]", 1},
		{"*(&pid + 0x7fffffffffffffff)", 2},
		{"*(&pid - 0x2000000000000000)", 2},
		{"*(args + (1ul << 63))", 2},
		{"*(\"abc\" + 4)", 2},
		{"*(\"abc\" - 1)", 2},
		{"*(\"abc\" + 3)", 1},             /* the NUL is not one of its characters */
		{"(long)((char *)&pid + 124)", 0}, /* the end of the data */
		{"(long)((char *)&pid + 125)", 2},
		{"*((char *)&pid + 124)", 1},
		{"*((char *)&pid + 125)", 2},
		{"*((char *)&pid + 123)", 0}, /* the last byte */
		{"*(long *)((char *)&pid + 117)", 1},
		{"\"abc\" - comm", 1},
		{"ksymbol(ip) + 1 - comm", 1},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct attar_expr_record r = whole();
		struct attar_expr_faults faults;
		struct attar_expr_value v;
		struct attar_expr *e;

		e = compile(cases[i].expression, 0);
		attar_expr_eval(e, &r, &v);
		attar_expr_get_faults(e, &faults);
		if (faults.absent != cases[i].faults)
			fail_msg("'%s': %u faults", cases[i].expression, (unsigned)faults.absent);
		if (faults.absent)
			assert_int_equal(v.number, 0);
		attar_expr_free(e);
	}
}

static void test_changes(void **state)
{
	struct record before = record;

	is("pid = 7", 7);
	is("pid = 7, pid", 7);
	is("pid = prio = 1000, pid + prio", 2000);
	is("pid = prio, prio = 1, pid", 98);
	is("byte = 300", 44);
	is("byte = 300, byte", 44);
	is("small = 200", -56);
	is("pid = big", 1);
	is("pid++", 42);
	is("pid++, pid", 43);
	is("++pid", 43);
	is("++pid, pid", 43);
	is("pid--, pid", 41);
	is("--pid", 41);
	is("pid ++ + ++ pid", 42 + 44);
	is("byte = 255, ++byte", 0);
	is("byte = 255, byte++, byte", 0);
	is("small = -128, --small", 127);
	is("args[1] = 5, args[0] + args[1]", 8);
	is("args[pid - 41]++, args[1]", 0);
	is("saddr[3]++, saddr[3]", 2);
	is("list[2] = 9, list[2]", 9);
	is_text("comm[0] = 'A', comm", "A\xc3\xa4se/0");
	is_text("comm[1] = 0, comm", "k");
	is_text("name[0] = 'W', name", "Wwork");
	is_text("*(comm + 3) = 'S', comm", "k\xc3\xa4Se/0");
	is("comm[0] = 'A', comm == \"k\xc3\xa4se/0\"", 0);
	is("((unsigned long)pid)++", 42);
	is("((unsigned long)pid)++, pid", 43);
	is("(char)pid = 300", 44);
	is("(char)pid = 300, pid", 44);
	is("++(u8)prio", 99);
	is("*(unsigned long *)&pid = 5, pid + prio", 5);
	is("*(unsigned long *)&pid = 1ul << 32, prio", 1);
	is("(&pid)[1] = 3, prio", 3);
	is("pid ? prio = 5 : 1, prio", 5);
	is("pid && (prio = 6), prio", 6);
	is("0 && (prio = 6), prio", 98);
	is("pid == 42 ? pid = 1 : 2", 1);
	is("pid = 41 + 1 == 42", 1);
	is("(pid = 5) == pid", 1);
	is("pid==42", 1);
	is("strlen(comm) + (comm[0] = 0) + strlen(comm)", 7);
	is("port = ntohs(port), port", 40000);
	assert_memory_equal(&before, &record, sizeof(record));
}

/* Each evaluation starts with the data of the event. */
static void test_changes_last_for_one_evaluation(void **state)
{
	struct attar_expr *e = compile("pid++, ++pid", 0);
	struct attar_expr_record r = whole();
	struct attar_expr_faults faults;

	for (int i = 0; i < 3; i++)
		assert_int_equal(attar_expr_number(e, &r), 44);
	attar_expr_free(e);
	e = compile("{pid++,pid}", ATTAR_EXPR_KEY);
	attar_expr_free(e);
	e = compile("pid = 5, pid", 0);
	r.raw_size = offsetof(struct record, pid) + 3;
	assert_int_equal(attar_expr_number(e, &r), 0);
	attar_expr_get_faults(e, &faults);
	assert_int_equal(faults.absent, 2); /* the change, and reading it */
	r.raw = NULL;
	assert_int_equal(attar_expr_number(e, &r), 0);
	attar_expr_free(e);
}

static void key_is(const char *expression, const char *formatted, size_t expected_size)
{
	struct attar_expr *e = compile(expression, ATTAR_EXPR_KEY);
	struct attar_expr_record r = whole();
	char key[ATTAR_EXPR_KEY_MAX], line[64];
	size_t n = attar_expr_key(e, &r, key, sizeof(key));

	assert_int_equal(n, expected_size);
	assert_true(n <= attar_expr_key_size(e));
	assert_int_equal(attar_expr_key(e, &r, key, attar_expr_key_size(e) - 1), 0);
	assert_int_equal(attar_expr_key_format(e, key, n, line, sizeof(line)), strlen(formatted));
	assert_string_equal(line, formatted);
	attar_expr_free(e);
}

/* Expressions as they are written for perf-prof, on fields that record has. */
static void test_expressions_of_perf_prof(void **state)
{
	is("pid>10", 1);
	is("prio<10", 0);
	is("pid>10 && prio<100", 1);
	is("pid<prio", 1);
	is("common_pid+1>10", 1);
	is("name==\"java\"", 0);
	is("name~\"kwor*\"", 1);
	is("name ~ \"*sh\"", 0);
	is("pid<prio && name==\"kwork\"", 1);
	is("ksymbol(ip)~\"f_*\"", 1);
	is("(4096/2)", 2048);
	is("1/0", 0);
	is("2&&3", 1);
	is("ntohs(port)", 40000);
	is("printf(\"%s %d\\n\", comm, pid), 0", 0);
	is("_pid == 100 && _cpu >= 0", 1);
	is("exit_reason_str(1, 48) == \"EPT_VIOLATION\" ? pid : -1", 42);
	key_is("{dev,pid}", "8,42", 16);
}

static void test_functions(void **state)
{
	is_text("ksymbol(ip)", "f_ffffffff81000000");
	is("ksymbol(ip) ~ \"f_*\"", 1);
	is("ksymbol(2) == ksymbol(3)", 0);
	is_text("ksymbol(1)", "0x1");
	is_text("usymbol(1)", "100");
	is_text("comm_get(pid)", "f_2a");
	is_text("comm_get(1)", ":1");
	is_text("exit_reason_str(1, 12)", "HLT");
	is_text("exit_reason_str(1, 0x80000021)", "INVALID_STATE");
	is_text("exit_reason_str(2, 0x78)", "hlt");
	is_text("exit_reason_str(3, 0x24)", "DABT_LOW");
	is_text("exit_reason_str(3, 0x100)", "IRQ");
	is_text("exit_reason_str(3, 2)", "exit_2");
	is_text("exit_reason_str(4, 1)", "exit_1");
	is_text("syscall_name(100000)", "syscall_100000");
#ifdef __x86_64__
	is_text("syscall_name(0)", "read");
	is_text("syscall_name(59)", "execve");
#else
	is_text("syscall_name(63)", "read");
	is_text("syscall_name(221)", "execve");
#endif
	is_text("syscall_name(462)", "mseal");
}

static void test_printf(void **state)
{
	static const struct {
		const char *expression, *output;
	} cases[] = {
		{"printf(\"%d %s\\n\", pid, comm)", "42 k\xc3\xa4se/0\n"},
		{"printf(\"%d %u %x\", wide, small, small)", "-9223372036854775808 254 fe"},
		{"printf(\"%ld|%5d|%-5d|%05lu\", pid, pid, pid, pid)", "42|   42|42   |00042"},
		{"printf(\"%.3s|%8s|%c%%\", name, name, 'x')", "kwo|   kwork|x%"},
		{"printf(\"%*d\", 4, pid)", "  42"},
		{"printf(\"%p\", ip)", "ffffffff81000000"},
		{"printf(\"%pI4\", saddr)", "10.0.0.1"},
		{"printf(\"none\")", "none"},
		{"printf(\"pid%10=%d\", pid)", "pid%10=42"},
		{"printf(\"50%! %-08.3l, %\")", "50%! %-08.3l, %"},
		{"printf(\"%s %p\", comm + 3, &pid)", "se/0 0000000000000014"},
		{"pid > 50 && printf(\"no\")", ""},
		{"printf(\"a\"), printf(\"b%d\", printf(\"c\"))", "acb1"},
		{"printf(\"%s\", ksymbol(ip) ~ \"f*\" ? \"yes\" : \"no\")", "yes"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		output[0] = '\0';
		number(cases[i].expression); /* evaluated three times */
		assert_int_equal(strlen(output), 3 * strlen(cases[i].output));
		assert_memory_equal(output, cases[i].output, strlen(cases[i].output));
	}
	is("printf(\"12345\")", 5);
}

static void test_system(void **state)
{
	struct attar_expr_opts opts = all_options(0);
	struct attar_expr *e;

	assert_int_equal(attar_expr_new("system(\"true\")", format, &opts, &e), -EPERM);
	assert_non_null(strstr(attar_error(), "--allow-exec"));
	e = compile("system(\"exit %d\", pid) >> 8", ATTAR_EXPR_ALLOW_EXEC);
	assert_int_equal(attar_expr_number(e, &(struct attar_expr_record){.raw = &record,
						      .raw_size = sizeof(record)}),
		42);
	attar_expr_free(e);
}

static void test_numbers_of_another_architecture(void **state)
{
	struct attar_expr *e = compile("syscall_name(59)", ATTAR_EXPR_OTHER_ARCH);
	struct attar_expr_record r = whole();
	struct attar_expr_value v;

	attar_expr_eval(e, &r, &v);
	assert_int_equal(v.len, strlen("syscall_59"));
	assert_memory_equal(v.bytes, "syscall_59", v.len);
	attar_expr_free(e);
}

static void test_calls_without_a_number_or_for_probes(void **state)
{
	static const struct {
		const char *text, *name;
	} calls[] = {
		{"syscall_name(-1)", "none"},
#ifdef __x86_64__
		{"syscall_name(335)", "uretprobe"},
		{"syscall_name(336)", "uprobe"},
#endif
	};
	struct attar_expr_record r = whole();

	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		struct attar_expr *e = compile(calls[i].text, 0);
		struct attar_expr_value v;

		attar_expr_eval(e, &r, &v);
		assert_int_equal(v.len, strlen(calls[i].name));
		assert_memory_equal(v.bytes, calls[i].name, v.len);
		attar_expr_free(e);
	}
}

/* A process chooses its name. */
static void test_commands_from_names(void **state)
{
	static const char bad[] = "$(exit 9)`x`;'\"";
	struct record r = record;
	struct attar_expr *e = compile(
		"system(\"test \\\"%s\\\" = '%s' && test %s = __exit_9__x____\", comm, comm, comm)",
		ATTAR_EXPR_ALLOW_EXEC);

	memcpy(r.comm, bad, sizeof(bad));
	assert_int_equal(
		attar_expr_number(e, &(struct attar_expr_record){.raw = &r, .raw_size = sizeof(r)}),
		0);
	attar_expr_free(e);
}

/* ---- faults ---- */

static void test_faults(void **state)
{
	struct attar_expr *e = compile("pid / (pid - 42) + 7 % (pid - 42) + args[pid]", 0);
	struct attar_expr_record r = whole();
	struct attar_expr_faults faults;

	assert_int_equal(attar_expr_number(e, &r), 0);
	attar_expr_get_faults(e, &faults);
	assert_int_equal(faults.by_zero, 2);
	assert_int_equal(faults.absent, 1);
	r.raw_size = 22;
	assert_int_equal(attar_expr_number(e, &r), 7); /* pid is 0 */
	attar_expr_get_faults(e, &faults);
	assert_int_equal(faults.by_zero, 2);
	assert_true(faults.absent > 2);
	attar_expr_free(e);
}

static void test_absent_fields(void **state)
{
	static const char *const conditions[] = {"prio < 100", "prio != 3", "!(prio == 1)",
		"name != \"x\"", "comm == comm && prio == prio", "price < 9"};
	struct attar_expr_record r = whole();
	struct attar_expr_faults faults;

	r.raw_size = 22;
	for (size_t i = 0; i < ARRAY_SIZE(conditions); i++) {
		struct attar_expr *e = compile(conditions[i], ATTAR_EXPR_CONDITION);

		assert_int_equal(attar_expr_is_true(e, &r), conditions[i][0] == '!');
		attar_expr_get_faults(e, &faults);
		assert_true(faults.absent > 0);
		attar_expr_free(e);
	}
	r.raw = NULL;
	struct attar_expr *e = compile("{comm, pid}", ATTAR_EXPR_KEY);
	char key[ATTAR_EXPR_KEY_MAX];

	assert_int_equal(attar_expr_key(e, &r, key, sizeof(key)), 10);
	attar_expr_free(e);
}

/* ---- keys ---- */

static void test_keys(void **state)
{
	key_is("pid", "42", 8);
	key_is("small", "-2", 8);
	key_is("ip", "0xffffffff81000000", 8);
	key_is("comm", "k\xc3\xa4se/0", 7);
	key_is("name", "kwork", 5);
	key_is("{dev,wide}", "8,-9223372036854775808", 16);
	key_is("{ dev , name, (u8)pid }", "8,kwork,42", 23);
	key_is("{pid}", "42", 8);
	key_is("ksymbol(ip)", "f_ffffffff81000000", 18);
}

static void test_columns(void **state)
{
	struct attar_expr *e = compile("{ dev , pid+1,comm, ip} # key", ATTAR_EXPR_KEY);
	struct attar_expr_record r = whole();
	struct attar_expr_value v;
	char key[ATTAR_EXPR_KEY_MAX];
	size_t n = attar_expr_key(e, &r, key, sizeof(key));

	assert_int_equal(attar_expr_columns(e), 4);
	assert_string_equal(attar_expr_get_column(e, 0)->name, "dev");
	assert_string_equal(attar_expr_get_column(e, 1)->name, "pid+1");
	assert_string_equal(attar_expr_get_column(e, 2)->name, "comm");
	assert_true(attar_expr_get_column(e, 1)->is_signed);
	assert_false(attar_expr_get_column(e, 0)->is_signed);
	assert_int_equal(attar_expr_get_column(e, 0)->bits, 32);
	assert_true(attar_expr_get_column(e, 3)->is_address);
	assert_null(attar_expr_get_column(e, 4));
	assert_true(attar_expr_key_value(e, key, n, 1, &v));
	assert_int_equal(v.number, 43);
	assert_true(attar_expr_key_value(e, key, n, 2, &v));
	assert_int_equal(v.len, 7);
	assert_false(attar_expr_key_value(e, key, n, 4, &v));
	assert_false(attar_expr_key_value(e, key, n - 1, 3, &v));
	attar_expr_free(e);
}

/* What is only a field can be read without the expression, and has the same value. */
static void test_plain_fields(void **state)
{
	static const char *const plain[] = {"dev", "pid", "ip"}, *const others[] = {"pid + 1",
									 "(u8)pid", "comm", "name",
									 "{dev,pid}", "pid == 42",
									 "_cpu", "7"};
	struct attar_expr_record r = whole();

	for (size_t i = 0; i < ARRAY_SIZE(plain); i++) {
		struct attar_expr *e = compile(plain[i], ATTAR_EXPR_KEY);
		const struct attar_field *field = expr_get_field(e);

		assert_non_null(field);
		assert_int_equal(
			attar_field_u64(field, r.raw, r.raw_size), attar_expr_number(e, &r));
		attar_expr_free(e);
	}
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		struct attar_expr *e = compile(others[i], ATTAR_EXPR_KEY);

		assert_null(expr_get_field(e));
		attar_expr_free(e);
	}
}

/* "a" and "bc" are another key than "ab" and "c". */
static void test_keys_are_unique(void **state)
{
	struct attar_expr *e = compile("{comm,name}", ATTAR_EXPR_KEY);
	struct record a = {.comm = "a", .name = 108 | 3 << 16, .names = "bc"},
		      b = {.comm = "ab", .name = 108 | 2 << 16, .names = "c"};
	struct attar_expr_record r = {.raw = &a, .raw_size = sizeof(a)};
	char keys[2][ATTAR_EXPR_KEY_MAX];
	size_t n = attar_expr_key(e, &r, keys[0], sizeof(keys[0]));

	r.raw = &b;
	assert_int_equal(attar_expr_key(e, &r, keys[1], sizeof(keys[1])), n);
	assert_memory_not_equal(keys[0], keys[1], n);
	/* What follows the NUL of a text is not part of it. */
	b = a;
	memset(b.comm + 2, 'x', 14);
	assert_int_equal(attar_expr_key(e, &r, keys[1], sizeof(keys[1])), n);
	assert_memory_equal(keys[0], keys[1], n);
	attar_expr_free(e);
}

static void test_long_text_in_keys(void **state)
{
	static struct {
		struct record record;
		char text[300];
	} r;
	struct attar_expr *e = compile("name", ATTAR_EXPR_KEY);
	struct attar_expr_record record_of = {.raw = &r, .raw_size = sizeof(r)};
	struct attar_expr_faults faults;
	char key[ATTAR_EXPR_KEY_MAX];

	r.record.name = sizeof(struct record) | 300 << 16;
	memset(r.text, 'x', sizeof(r.text));
	assert_int_equal(attar_expr_key(e, &record_of, key, sizeof(key)), ATTAR_EXPR_TEXT_MAX);
	attar_expr_get_faults(e, &faults);
	assert_int_equal(faults.cut, 1);
	attar_expr_free(e);
}

/* ---- errors ---- */

static void error_is(const char *expression, unsigned flags, const char *sentence, int column)
{
	struct attar_expr_opts opts = all_options(flags);
	struct attar_expr *e;
	const char *caret;

	if (attar_expr_new(expression, format, &opts, &e) != -EINVAL)
		fail_msg("'%s' is accepted", expression);
	if (!strstr(attar_error(), sentence))
		fail_msg("'%s': %s", expression, attar_error());
	caret = strrchr(attar_error(), '\n');
	if (!*expression)
		return; /* there is nothing to show */
	assert_non_null(caret);
	if (strlen(caret) != 6U + (unsigned)column)
		fail_msg("not in column %d: %s", column, attar_error());
}

static const struct {
	const char *expression, *sentence;
	int column;
} errors[] = {
	{"", "expected an operand", 0},
	{"pid > 10 && cmm == \"x\"", "no such field or variable 'cmm': did you mean 'comm'?", 12},
	{"pidd", "did you mean 'pid'?", 0},
	{"ksymbl(ip)", "no such function 'ksymbl': did you mean 'ksymbol'?", 0},
	{"foo (ip)", "no such function 'foo'; docs/expressions.md lists the functions", 0},
	{"ksymbol > 5",
		"no such field or variable 'ksymbol': it is a function, as in ksymbol(VALUE)", 0},
	{"zzzzzzzz", "the fields are comm, pid, prio", 0},
	{"pid +", "expected an operand", 5},
	{"(pid", "expected ')'", 4},
	{"pid)", "this parenthesis is not closed, or not opened", 3},
	{"pid 5", "expected an operator", 4},
	{"\"abc", "missing closing quote", 0},
	{"pid += 5", "there is no such operator: write a = a + b for a += b", 4},
	{"pid <<= 5", "there is no such operator", 4},
	{"pid = comm", "only an integer can be assigned", 4},
	{"pid = price", "only an integer can be assigned", 4},
	{"comm = \"x\"", "an array cannot be changed as a whole: change its elements", 5},
	{"price = 5", "floating-point numbers cannot be changed", 6},
	{"pid + 1 = 5", "only fields and their elements can be changed", 8},
	{"5++", "only fields and their elements can be changed", 1},
	{"--_pid", "only fields and their elements can be changed", 0},
	{"key = 1", "only fields and their elements can be changed", 4},
	{"label[0] = 1", "only fields and their elements can be changed", 9},
	{"\"abc\"[1]++", "only fields and their elements can be changed", 8},
	{"(pid, prio) = 5", "only fields and their elements can be changed", 12},
	{"pid =", "expected an operand", 5},
	{"1 + $retval",
		"what a probe fetches is a field: name it with args=, as in args=(ptr=$retval)", 4},
	{"comm == 5", "one side is text and the other a number", 5},
	{"pid != \"5\"", "one side is text and the other a number", 4},
	{"pid > 18446744073709551616", "the number does not fit in 64 bits", 6},
	{"5 - comm", "text is not a number", 2},
	{"comm * 2", "text is not a number", 5},
	{"comm + name", "text is not a number", 5},
	{"comm + price", "text is not a number", 5},
	{"args - comm", "the addresses are of elements of different sizes: cast one of them", 5},
	{"thing + 1", "this has no elements", 6},
	{"&_pid", "& needs a field or an element", 5},
	{"strlen(&pid)", "this argument must be text", 7},
	{"comm && pid", "text is not a number", 5},
	{"!comm", "text is not a number", 0},
	{"comm < \"x\"", "text is not a number", 5},
	{"(int)\"abc\"", "text is not a number", 0},
	{"(int)ksymbol(ip)", "text is not a number", 0},
	{"pid ~ \"x\"", "~ can only compare strings", 4},
	{"saddr == 5", "an array is not a number", 6},
	{"pid[0]", "this has no elements", 0},
	{"*pid", "this has no elements", 0},
	{"*(int *)ip", "this has no elements", 0},
	{"thing[0]", "this has no elements", 0},
	{"saddr[4]", "the array has fewer elements", 0},
	{"args[-1]", "the array has fewer elements", 0},
	{"pid ? comm : 5", "one of the values is a number, the other is not", 4},
	{"price + 1", "floating-point numbers can only be compared", 6},
	{"price == pid", "one side is an integer and the other a floating-point number", 6},
	{"pid > 1.5", "one side is an integer and the other a floating-point number", 4},
	{"price", "a floating-point number cannot be the value", 0},
	{"&5", "& needs a field or an element", 2},
	{"len(pid)", "this argument must be text or an array", 4},
	{"strlen(saddr)", "this argument must be text", 7},
	{"ntohs(comm)", "this argument must be a number", 6},
	{"ntohs()", "expected an operand", 6},
	{"ntohs(1, 2)", "expected ')'", 7},
	{"strncmp(comm, name)", "expected ','", 18},
	{"printf(pid)", "expected a format in double quotes", 7},
	{"printf(\"%d\")", "more conversions than there are arguments", 11},
	{"printf(\"%d\", comm)", "prints a number, but this is not", 13},
	{"printf(\"%s\", pid)", "%s prints text, but this is not", 13},
	{"printf(\"%f\", pid)", "unknown conversion", 7},
	{"printf(\"%k\", pid)", "unknown conversion", 7},
	{"printf(\"x\", pid)", "the format has more arguments than conversions", 10},
	{"sizeof(name)", "its size differs between records: use len()", 6},
	{"{pid}", "only a key can be a list in braces", 0},
	{"pid -> x", "expected an operand", 5},
	{"pid; prio", "expected an operator", 3},
};

static void test_errors(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(errors); i++)
		error_is(errors[i].expression, 0, errors[i].sentence, errors[i].column);
	error_is("{pid,", ATTAR_EXPR_KEY, "expected an operand", 5);
	error_is("{pid", ATTAR_EXPR_KEY, "expected '}'", 4);
	error_is("{pid,saddr}", ATTAR_EXPR_KEY, "an array or struct cannot be a key", 5);
	error_is("thing", ATTAR_EXPR_KEY, "an array or struct cannot be a key", 0);
	error_is("{price}", ATTAR_EXPR_KEY, "a floating-point number cannot be the value", 1);
	error_is("{1,2,3,4,5,6,7,8,9}", ATTAR_EXPR_KEY, "a key has at most 8 values", 17);
	error_is("pid = 5", ATTAR_EXPR_CONDITION,
		"a condition cannot change values: use == to compare", 4);
	error_is("(pid++) > 5", ATTAR_EXPR_CONDITION, "a condition cannot change values", 4);
	error_is("comm", ATTAR_EXPR_CONDITION, "the value must be a number, but this is text", 0);
}

static void test_error_column(void **state)
{
	unsigned column = 99;
	struct attar_expr_opts opts = all_options(0);
	struct attar_expr *e;

	opts.ret_column = &column;
	opts.what = "key";
	assert_int_equal(attar_expr_new("pid + pidd", format, &opts, &e), -EINVAL);
	assert_int_equal(column, 7);
	assert_string_equal(
		attar_error(), "key: no such field or variable 'pidd': did you mean 'pid'?");
	assert_int_equal(attar_expr_new("pid", format, &opts, &e), 0);
	assert_int_equal(column, 0);
	attar_expr_free(e);
}

static void test_unavailable(void **state)
{
	static const char *const expressions[] = {"ksymbol(1)", "usymbol(1)", "comm_get(1)",
		"printf(\"x\")", "container_get(1)", "cgroup_get(1)"};
	struct attar_expr *e;

	for (size_t i = 0; i < ARRAY_SIZE(expressions); i++) {
		assert_int_equal(attar_expr_new(expressions[i], format, NULL, &e), -EINVAL);
		assert_non_null(strstr(attar_error(), "not available here"));
	}
}

/* Whoever knows the groups is told when an expression is compiled that needs them. */
static void test_groups(void **state)
{
	static const char *const none[] = {"_container", "_pod", "_unit", "_cgroup"};
	struct attar_expr_opts opts = all_options(0);
	struct attar_expr *e;

	n_announced = 0;
	is_text("_comm", "f_65");
	assert_int_equal(n_announced, 0);
	is_text("_cgroup", "0 of 101");
	assert_int_equal(n_announced, 1);
	is_text("_unit", "1 of 101");
	is_text("_container", "2 of 101");
	is_text("_pod", "3 of 101");
	is_text("container_get(prio)", "2 of 98");
	is_text("pod_get(pid)", "");
	is("_container == \"2 of 101\"", 1);
	is("_pod ~ \"?*\" && unit_get(pid) == \"\" && cgroup_get(1) == \"\"", 1);
	opts.group_get = NULL;
	for (size_t i = 0; i < ARRAY_SIZE(none); i++) {
		assert_int_equal(attar_expr_new(none[i], format, &opts, &e), -EINVAL);
		assert_null(strstr(attar_error(), "did you mean '_cgroup'"));
	}
}

/* As printkey=, which only has the variable "key". */
static void test_without_format(void **state)
{
	struct attar_expr_opts opts = all_options(0);
	struct attar_expr_record r = {.variables = values};
	struct attar_expr *e;

	assert_int_equal(attar_expr_new("printf(\"%d:%d\", key>>2, key & 3)", NULL, &opts, &e), 0);
	output[0] = '\0';
	attar_expr_number(e, &r);
	assert_string_equal(output, "3:0");
	attar_expr_free(e);
	assert_int_equal(attar_expr_new("zzzzz", NULL, &opts, &e), -EINVAL);
	assert_non_null(strstr(attar_error(), "the variables are key, label"));
}

/* Far more than any user writes, but not without bounds. */
static void test_limits(void **state)
{
	struct attar_expr *e;
	char deep[4096], longer[70000];

	memset(deep, '(', sizeof(deep) - 1);
	deep[sizeof(deep) - 1] = '\0';
	assert_int_equal(attar_expr_new(deep, format, NULL, &e), -EINVAL);
	assert_non_null(strstr(attar_error(), "nested too deeply"));
	memset(longer, '1', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	assert_int_equal(attar_expr_new(longer, format, NULL, &e), -EINVAL);
	assert_true(strlen(attar_error()) < 200);
	for (size_t i = 0; i + 2 < 60000; i += 2)
		memcpy(longer + i, "1,", 3);
	assert_int_equal(attar_expr_new(longer, format, NULL, &e), -EINVAL);
	assert_non_null(strstr(attar_error(), "too"));
	assert_true(strlen(attar_error()) < 400);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_arrays),
		cmocka_unit_test(test_operators),
		cmocka_unit_test(test_casts),
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_addresses_elsewhere),
		cmocka_unit_test(test_changes),
		cmocka_unit_test(test_changes_last_for_one_evaluation),
		cmocka_unit_test(test_functions),
		cmocka_unit_test(test_expressions_of_perf_prof),
		cmocka_unit_test(test_printf),
		cmocka_unit_test(test_system),
		cmocka_unit_test(test_numbers_of_another_architecture),
		cmocka_unit_test(test_calls_without_a_number_or_for_probes),
		cmocka_unit_test(test_commands_from_names),
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_absent_fields),
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_columns),
		cmocka_unit_test(test_plain_fields),
		cmocka_unit_test(test_keys_are_unique),
		cmocka_unit_test(test_long_text_in_keys),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_error_column),
		cmocka_unit_test(test_unavailable),
		cmocka_unit_test(test_groups),
		cmocka_unit_test(test_without_format),
		cmocka_unit_test(test_limits),
	};

	return cmocka_run_group_tests_name("user_expr", tests, setup, teardown);
}
