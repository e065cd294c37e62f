/* SPDX-License-Identifier: MIT */
/* The functions of queries: names of numbers, and addresses as text. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "sql/db.h"

enum { TEXT_BYTES = 128, BYTES_MAX = 128 };

/* ---- functions of expressions ---- */

/* f(number), or f(number, tid) for what belongs to a process. */
static void call_expr(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	struct attar_expr_value number = {.number = (uint64_t)sqlite3_value_int64(argv[0])}, value;
	struct attar_expr_record record = {.variables = &number};
	struct attar_expr *expr = sqlite3_user_data(context);

	for (int i = 0; i < argc; i++)
		if (sqlite3_value_type(argv[i]) == SQLITE_NULL)
			return;
	if (argc > 1)
		record.tid = sqlite3_value_int(argv[1]);
	attar_expr_eval(expr, &record, &value);
	sqlite3_result_text(
		context, value.bytes ? value.bytes : "", (int)value.len, SQLITE_TRANSIENT);
}

static void free_expr(void *expr)
{
	attar_expr_free(expr);
}

static int add_expr(
	struct attar_run *run, struct sql_db *db, const char *name, const char *function, int argc)
{
	static const struct attar_expr_variable variable = {.name = "n"};
	struct attar_expr_opts opts = {
		.size = sizeof(opts), .n_variables = 1, .variables = &variable};
	struct attar_expr *expr;
	char text[TEXT_BYTES];
	int r;

	snprintf(text, sizeof(text), "%s(n)", function);
	r = attar_run_expr(run, 0, text, &opts, &expr);
	if (r < 0)
		return r;
	if (sqlite3_create_function_v2(db->sqlite, name, argc, SQLITE_UTF8, expr, call_expr, NULL,
		    NULL, free_expr) != SQLITE_OK)
		return sql_db_failed(db, name);
	return 0;
}

/* ---- addresses ---- */

/* The bytes of a BLOB, or of an array as text, "{127,0,0,1}". Returns their number; 0: neither. */
static size_t get_bytes(sqlite3_value *value, unsigned char ret_bytes[BYTES_MAX])
{
	size_t n = 0;

	if (sqlite3_value_type(value) == SQLITE_BLOB) {
		n = (size_t)sqlite3_value_bytes(value);
		n = n < BYTES_MAX ? n : BYTES_MAX;
		memcpy(ret_bytes, n ? sqlite3_value_blob(value) : "", n);
	} else if (sqlite3_value_type(value) == SQLITE_TEXT) {
		char *at = (char *)(uintptr_t)sqlite3_value_text(value), *start;

		while (n < BYTES_MAX && (*at == '{' || *at == ',')) {
			start = at + 1;
			ret_bytes[n] = (unsigned char)strtol(start, &at, 10);
			n += at != start;
		}
	}
	return n;
}

static size_t ip_text(int family, const unsigned char *bytes, char *ret_text)
{
	return inet_ntop(family, bytes, ret_text, TEXT_BYTES) ? strlen(ret_text) : 0;
}

static size_t ipv4_text(const unsigned char *bytes, size_t n, char *ret_text)
{
	return n >= 4 ? ip_text(AF_INET, bytes, ret_text) : 0;
}

/* In the machine's byte order. */
static size_t ipv4_host_text(const unsigned char *bytes, size_t n, char *ret_text)
{
	uint32_t number;

	if (n < sizeof(number))
		return 0;
	memcpy(&number, bytes, sizeof(number));
	number = htonl(number);
	return ip_text(AF_INET, (const void *)&number, ret_text);
}

static size_t ipv6_text(const unsigned char *bytes, size_t n, char *ret_text)
{
	return n >= 16 ? ip_text(AF_INET6, bytes, ret_text) : 0;
}

/* A socket address: "127.0.0.1:80", "[::1]:80". */
static size_t ipsa_text(const unsigned char *bytes, size_t n, char *ret_text)
{
	char address[TEXT_BYTES] = "";
	struct sockaddr_in6 in6;
	struct sockaddr_in in;
	sa_family_t family;

	if (n < sizeof(in))
		return 0;
	memcpy(&family, bytes, sizeof(family));
	memcpy(&in, bytes, sizeof(in));
	if (family == AF_INET && ip_text(AF_INET, (const void *)&in.sin_addr, address))
		return (size_t)snprintf(
			ret_text, TEXT_BYTES, "%.100s:%u", address, ntohs(in.sin_port));
	if (family != AF_INET6 || n < offsetof(struct sockaddr_in6, sin6_scope_id))
		return 0;
	memset(&in6, 0, sizeof(in6));
	memcpy(&in6, bytes, n < sizeof(in6) ? n : sizeof(in6));
	if (!ip_text(AF_INET6, (const void *)&in6.sin6_addr, address))
		return 0;
	return (size_t)snprintf(ret_text, TEXT_BYTES, "[%.100s]:%u", address, ntohs(in6.sin6_port));
}

static size_t mac_text(const unsigned char *b, size_t n, char *ret_text)
{
	return n < 6 ? 0
		     : (size_t)snprintf(ret_text, TEXT_BYTES, "%02x:%02x:%02x:%02x:%02x:%02x", b[0],
			       b[1], b[2], b[3], b[4], b[5]);
}

/* The bytes of a UUID in the order in which they are written. */
static size_t uuid_text(const unsigned char *b, size_t n, char *ret_text)
{
	return n < 16 ? 0
		      : (size_t)snprintf(ret_text, TEXT_BYTES,
				"%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x"
				"%02x",
				b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10],
				b[11], b[12], b[13], b[14], b[15]);
}

/* The first three parts of a GUID are little-endian numbers. */
static size_t guid_text(const unsigned char *b, size_t n, char *ret_text)
{
	static const unsigned char order[16] = {
		3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};
	unsigned char ordered[16];

	for (size_t i = 0; n >= 16 && i < 16; i++)
		ordered[i] = b[order[i]];
	return n < 16 ? 0 : uuid_text(ordered, 16, ret_text);
}

struct address_function {
	const char *name;
	size_t (*text)(const unsigned char *bytes, size_t n, char *ret_text);
};

/* NULL for other values. */
static void call_address(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	const struct address_function *function = sqlite3_user_data(context);
	unsigned char bytes[BYTES_MAX];
	size_t n = get_bytes(argv[0], bytes);
	char text[TEXT_BYTES];

	if (sqlite3_value_type(argv[0]) == SQLITE_INTEGER && function->text == ipv4_text) {
		uint32_t number = (uint32_t)sqlite3_value_int64(argv[0]);

		memcpy(bytes, &number, sizeof(number));
		n = sizeof(number);
	}
	n = function->text(bytes, n, text);
	if (n)
		sqlite3_result_text(context, text, (int)n, SQLITE_TRANSIENT);
}

int sql_functions_add(struct attar_run *run, struct sql_db *db)
{
	static const struct {
		const char *name, *function;
		int argc;
	} exprs[] = {{"syscall_name", "syscall_name", 1}, {"syscall", "syscall_name", 1},
		{"ksymbol", "ksymbol", 1}, {"usymbol", "usymbol", 2}, {"comm_get", "comm_get", 1},
		{"error_name", "error_name", 1}, {"signal_name", "signal_name", 1},
		{"tcp_state", "tcp_state", 1}};
	static struct address_function addresses[] = {{"ipv4_str", ipv4_text},
		{"ipv4_hstr", ipv4_host_text}, {"ipv6_str", ipv6_text}, {"ipsa_str", ipsa_text},
		{"mac_str", mac_text}, {"uuid_str", uuid_text}, {"guid_str", guid_text}};
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof(exprs) / sizeof(exprs[0]); i++)
		r = add_expr(run, db, exprs[i].name, exprs[i].function, exprs[i].argc);
	for (size_t i = 0; r == 0 && i < sizeof(addresses) / sizeof(addresses[0]); i++)
		if (sqlite3_create_function(db->sqlite, addresses[i].name, 1,
			    SQLITE_UTF8 | SQLITE_DETERMINISTIC, &addresses[i], call_address, NULL,
			    NULL) != SQLITE_OK)
			r = sql_db_failed(db, addresses[i].name);
	return r == 0 ? sql_symbolic_add(db) : r;
}
