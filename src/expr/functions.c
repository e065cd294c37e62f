/* SPDX-License-Identifier: MIT */
#include "expr/functions.h"

#include <arpa/inet.h>
#include <endian.h>
#include <signal.h>
#include <stdio.h>

#include "expr/user.h"

#define INT                                                                                        \
	{                                                                                          \
		.bits = 32, .is_signed = true                                                      \
	}
#define U16                                                                                        \
	{                                                                                          \
		.bits = 16                                                                         \
	}
#define U32                                                                                        \
	{                                                                                          \
		.bits = 32                                                                         \
	}
#define U64                                                                                        \
	{                                                                                          \
		.bits = 64                                                                         \
	}
#define TEXT                                                                                       \
	{                                                                                          \
		.kind = EXPR_CLASS_BYTES, .bits = 64, .is_text = true, .is_signed = true,          \
		.element = 1                                                                       \
	}

struct expr_value function_call(struct expr_run *run, const struct expr_node *node)
{
	return functions[node->number].call(run, node);
}

static struct expr_value number_value(uint64_t number)
{
	return (struct expr_value){.number = number};
}

/* ---- numbers as names ---- */

/* The bytes that are reserved for the text of this call. */
static char *own_text(struct expr_run *run, const struct expr_node *node)
{
	return run->user->texts + (size_t)node->field * ATTAR_EXPR_TEXT_MAX;
}

static struct expr_value text_value(const char *text, size_t n)
{
	return (struct expr_value){.bytes = (const uint8_t *)text, .len = n};
}

static struct expr_value unresolved(
	struct expr_run *run, const struct expr_node *node, const char *fmt, uint64_t number)
{
	char *text = own_text(run, node);
	int n = snprintf(text, ATTAR_EXPR_TEXT_MAX, fmt, (unsigned long long)number);

	run->user->faults.unresolved++;
	return text_value(text, (size_t)MAX(n, 0));
}

/* Calls back for the name; without one, the text is the number. */
static struct expr_value functions_resolve(struct expr_run *run, const struct expr_node *node,
	attar_expr_text_fn *fn, const char *unknown)
{
	uint64_t number = expr_number(run, node->a);
	char *text = own_text(run, node);
	size_t n = fn(run->user->opts.ctx, run->record, number, text, ATTAR_EXPR_TEXT_MAX);

	if (!n)
		return unresolved(run, node, unknown, number);
	return text_value(text, MIN(n, (size_t)ATTAR_EXPR_TEXT_MAX));
}

static struct expr_value call_ksymbol(struct expr_run *run, const struct expr_node *node)
{
	return functions_resolve(run, node, run->user->opts.ksymbol, "0x%llx");
}

static struct expr_value call_usymbol(struct expr_run *run, const struct expr_node *node)
{
	return functions_resolve(run, node, run->user->opts.usymbol, "0x%llx");
}

static struct expr_value call_comm_get(struct expr_run *run, const struct expr_node *node)
{
	return functions_resolve(run, node, run->user->opts.comm_get, ":%llu");
}

/* A thread that is in none has no text, which is no fault. */
static struct expr_value functions_group(
	struct expr_run *run, const struct expr_node *node, enum attar_expr_group group)
{
	char *text = own_text(run, node);
	size_t n = run->user->opts.group_get(run->user->opts.ctx, run->record, group,
		(int32_t)expr_number(run, node->a), text, ATTAR_EXPR_TEXT_MAX);

	return text_value(text, MIN(n, (size_t)ATTAR_EXPR_TEXT_MAX));
}

static struct expr_value call_cgroup_get(struct expr_run *run, const struct expr_node *node)
{
	return functions_group(run, node, ATTAR_EXPR_CGROUP);
}

static struct expr_value call_unit_get(struct expr_run *run, const struct expr_node *node)
{
	return functions_group(run, node, ATTAR_EXPR_UNIT);
}

static struct expr_value call_container_get(struct expr_run *run, const struct expr_node *node)
{
	return functions_group(run, node, ATTAR_EXPR_CONTAINER);
}

static struct expr_value call_pod_get(struct expr_run *run, const struct expr_node *node)
{
	return functions_group(run, node, ATTAR_EXPR_POD);
}

static struct expr_value call_syscall_name(struct expr_run *run, const struct expr_node *node)
{
	uint64_t number = expr_number(run, node->a);
	bool other = run->user->opts.flags & ATTAR_EXPR_OTHER_ARCH;
	const char *name = number == UINT64_MAX ? "none" /* cancelled by a tracer or seccomp */
			   : other                ? NULL
						  : syscall_name(number);

	return name ? text_value(name, strlen(name))
		    : unresolved(run, node, "syscall_%lld", number);
}

static struct expr_value call_exit_reason(struct expr_run *run, const struct expr_node *node)
{
	uint64_t isa = expr_number(run, node->a), reason = expr_number(run, node->b);
	const char *name = exit_reason_name(isa, reason);

	return name ? text_value(name, strlen(name)) : unresolved(run, node, "exit_%lld", reason);
}

static struct expr_value call_ustring(struct expr_run *run, const struct expr_node *node)
{
	return functions_resolve(run, node, run->user->opts.ustring, "0x%llx");
}

static struct expr_value call_fd_name(struct expr_run *run, const struct expr_node *node)
{
	return functions_resolve(run, node, run->user->opts.fd_name, "fd %lld");
}

/* The name of a number from a table of texts, which may be NULL. */
static struct expr_value named(
	struct expr_run *run, const struct expr_node *node, const char *name, uint64_t number)
{
	return name ? text_value(name, strlen(name)) : unresolved(run, node, "%lld", number);
}

/* SIGINT, SIGTERM and so on; for real-time signals, the number. */
static struct expr_value call_signal_name(struct expr_run *run, const struct expr_node *node)
{
	uint64_t number = expr_number(run, node->a);
	const char *name = number < 64 ? sigabbrev_np((int)number) : NULL;
	char *text = own_text(run, node);

	return name ? text_value(text, (size_t)snprintf(text, ATTAR_EXPR_TEXT_MAX, "SIG%s", name))
		    : named(run, node, NULL, number);
}

/* ENOENT, EPERM and so on, for a number of either sign; for 0, no text. */
static struct expr_value call_error_name(struct expr_run *run, const struct expr_node *node)
{
	uint64_t number = expr_number(run, node->a);
	uint64_t error = (int64_t)number < 0 ? -number : number;

	if (!error)
		return text_value("", 0);
	return named(run, node, error < 4096 ? strerrorname_np((int)error) : NULL, number);
}

static struct expr_value call_tcp_state(struct expr_run *run, const struct expr_node *node)
{
	static const char *const states[] = {NULL, "ESTABLISHED", "SYN_SENT", "SYN_RECV",
		"FIN_WAIT1", "FIN_WAIT2", "TIME_WAIT", "CLOSE", "CLOSE_WAIT", "LAST_ACK", "LISTEN",
		"CLOSING", "NEW_SYN_RECV"};
	uint64_t number = expr_number(run, node->a);

	return named(run, node, number < ARRAY_SIZE(states) ? states[number] : NULL, number);
}

/* ---- numbers ---- */

static struct expr_value call_ntohs(struct expr_run *run, const struct expr_node *node)
{
	return number_value(be16toh((uint16_t)expr_number(run, node->a)));
}

static struct expr_value call_ntohl(struct expr_run *run, const struct expr_node *node)
{
	return number_value(be32toh((uint32_t)expr_number(run, node->a)));
}

static struct expr_value call_ntohll(struct expr_run *run, const struct expr_node *node)
{
	return number_value(be64toh(expr_number(run, node->a)));
}

/* ---- text ---- */

/* The bytes of an argument; of text, up to its NUL. */
static struct expr_value argument(struct expr_run *run, int32_t index)
{
	struct expr_value v = expr_eval(run, index);

	if (expr_node(run->expr, index)->type.is_text)
		v.len = strnlen((const char *)v.bytes, v.len);
	return v;
}

/* An Internet address of 4 or 16 bytes; of an IPv4 address in IPv6, that address. */
static struct expr_value call_ip(struct expr_run *run, const struct expr_node *node)
{
	static const uint8_t mapped[12] = {[10] = 0xff, 0xff};
	struct expr_value v = expr_eval(run, node->a);
	char *text = own_text(run, node);
	bool is_v4 = v.len == 4;

	if (v.len == 16 && !memcmp(v.bytes, mapped, sizeof(mapped))) {
		v.bytes += sizeof(mapped);
		is_v4 = true;
	}
	if ((!is_v4 && v.len != 16) ||
		!inet_ntop(is_v4 ? AF_INET : AF_INET6, v.bytes, text, ATTAR_EXPR_TEXT_MAX))
		return text_value("", 0);
	return text_value(text, strlen(text));
}

static struct expr_value call_len(struct expr_run *run, const struct expr_node *node)
{
	unsigned element = expr_node(run->expr, node->a)->type.element;

	return number_value(argument(run, node->a).len / MAX(element, 1U));
}

static struct expr_value call_strncmp(struct expr_run *run, const struct expr_node *node)
{
	struct expr_value a = argument(run, node->a), b = argument(run, node->b);
	uint64_t n = expr_number(run, node->c);
	size_t a_len = MIN(a.len, n), b_len = MIN(b.len, n);
	int order = memcmp(a.bytes, b.bytes, MIN(a_len, b_len));

	if (!order)
		order = (a_len > b_len) - (a_len < b_len);
	return number_value((uint64_t)(int64_t)((order > 0) - (order < 0)));
}

/* ---- output ---- */

/* Formats the arguments of a call to text, and returns their length. */
static size_t format(
	struct expr_run *run, const struct expr_node *node, bool for_shell, char *text, size_t max)
{
	struct print_run print = {.record = *run, .at = text, .max = max, .for_shell = for_shell};

	text[0] = '\0';
	for (uint32_t i = 0; i < node->text_len; i++)
		print_conversion(&print, &run->user->pieces.at[node->text + i]);
	run->absent = print.record.absent;
	run->by_zeros = print.record.by_zeros;
	run->user->faults.cut += print.len >= max;
	return print.len;
}

static struct expr_value call_printf(struct expr_run *run, const struct expr_node *node)
{
	char text[ATTAR_EXPR_OUTPUT_MAX + 1];
	size_t n = format(run, node, false, text, sizeof(text));

	run->user->opts.output(run->user->opts.ctx, text, MIN(n, sizeof(text) - 1));
	return number_value(n);
}

/* A command that is cut is not run. */
static struct expr_value call_system(struct expr_run *run, const struct expr_node *node)
{
	char text[ATTAR_EXPR_OUTPUT_MAX + 1];
	size_t n = format(run, node, true, text, sizeof(text));

	return number_value((uint64_t)(int64_t)(n < sizeof(text) ? system(text) : -1));
}

/* ---- the table ---- */

static const char *refuses_ksymbol(const struct attar_expr_opts *opts)
{
	return opts->ksymbol ? NULL : "kernel symbols are not available here";
}

static const char *refuses_usymbol(const struct attar_expr_opts *opts)
{
	return opts->usymbol ? NULL : "symbols of programs are not available here";
}

static const char *refuses_comm_get(const struct attar_expr_opts *opts)
{
	return opts->comm_get ? NULL : "the names of threads are not available here";
}

static const char *refuses_group_get(const struct attar_expr_opts *opts)
{
	if (!opts->group_get)
		return "control groups, units, containers and pods are not available here";
	opts->group_get(opts->ctx, NULL, ATTAR_EXPR_CGROUP, 0, NULL, 0);
	return NULL;
}

static const char *refuses_printf(const struct attar_expr_opts *opts)
{
	return opts->output ? NULL : "output is not available here";
}

static const char *refuses_system(const struct attar_expr_opts *opts)
{
	return opts->flags & ATTAR_EXPR_ALLOW_EXEC
		       ? NULL
		       : "system() runs a command for each event" ATTAR_FIX
			 "allow it with --allow-exec";
}

static const char *refuses_fd_name(const struct attar_expr_opts *opts)
{
	return opts->fd_name ? NULL : "the files of programs are not available here";
}

static const char *refuses_ustring(const struct attar_expr_opts *opts)
{
	return opts->ustring ? NULL : "the memory of programs is not available here";
}

const struct function functions[] = {
	{"cgroup_get", "n", TEXT, call_cgroup_get, refuses_group_get},
	{"comm_get", "n", TEXT, call_comm_get, refuses_comm_get},
	{"container_get", "n", TEXT, call_container_get, refuses_group_get},
	{"error_name", "n", TEXT, call_error_name, NULL},
	{"exit_reason_str", "nn", TEXT, call_exit_reason, NULL},
	{"fd_name", "n", TEXT, call_fd_name, refuses_fd_name},
	{"ip", "a", TEXT, call_ip, NULL},
	{"ksymbol", "n", TEXT, call_ksymbol, refuses_ksymbol},
	{"len", "a", INT, call_len, NULL},
	{"ntohl", "n", U32, call_ntohl, NULL},
	{"ntohll", "n", U64, call_ntohll, NULL},
	{"ntohs", "n", U16, call_ntohs, NULL},
	{"pod_get", "n", TEXT, call_pod_get, refuses_group_get},
	{"printf", "f", INT, call_printf, refuses_printf},
	{"signal_name", "n", TEXT, call_signal_name, NULL},
	{"strlen", "t", INT, call_len, NULL},
	{"strncmp", "ttn", INT, call_strncmp, NULL},
	{"syscall_name", "n", TEXT, call_syscall_name, NULL},
	{"system", "f", INT, call_system, refuses_system, .runs_commands = true},
	{"tcp_state", "n", TEXT, call_tcp_state, NULL},
	{"unit_get", "n", TEXT, call_unit_get, refuses_group_get},
	{"ustring", "n", TEXT, call_ustring, refuses_ustring, .reads_memory = true},
	{"usymbol", "n", TEXT, call_usymbol, refuses_usymbol},
	{NULL, NULL, INT, NULL, NULL},
};
