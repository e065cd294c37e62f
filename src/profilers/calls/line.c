/* SPDX-License-Identifier: MIT */
#include "calls/line.h"

#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

/* ---- text ---- */

void calls_line_add(struct calls_line *line, const char *fmt, ...)
{
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(line->at + line->n, line->max - line->n, fmt, args);
	va_end(args);
	if (n > 0)
		line->n += (size_t)n < line->max - line->n ? (size_t)n : line->max - line->n - 1;
}

static void line_put(struct calls_line *line, const char *text, size_t n)
{
	if (n > line->max - line->n - 1)
		n = line->max - line->n - 1;
	memcpy(line->at + line->n, text, n);
	line->n += n;
	line->at[line->n] = '\0';
}

/* next: the byte after it, which must not become a part of an octal number. */
static size_t escape_byte(char out[8], unsigned char c, int next)
{
	static const char letters[] = "\aa\bb\ff\nn\rr\tt\vv";

	if (c == '"' || c == '\\')
		return (size_t)sprintf(out, "\\%c", c);
	if (c >= ' ' && c < 0x7f) {
		*out = (char)c;
		return 1;
	}
	for (const char *p = letters + 4; c && *p; p += 2) /* \a and \b are octal */
		if (*p == (char)c)
			return (size_t)sprintf(out, "\\%c", p[1]);
	return (size_t)sprintf(out, next >= '0' && next <= '7' ? "\\%03o" : "\\%o", c);
}

void calls_line_quote(
	struct calls_line *line, const char *bytes, size_t n, bool is_hex, bool is_cut)
{
	char out[8];

	line_put(line, "\"", 1);
	for (size_t i = 0; i < n && line->n + sizeof(out) < line->max; i++) {
		unsigned char c = (unsigned char)bytes[i];
		size_t size = is_hex ? (size_t)sprintf(out, "\\x%02x", c)
				     : escape_byte(out, c, i + 1 < n ? bytes[i + 1] : -1);

		line_put(line, out, size);
	}
	line_put(line, is_cut ? "\"..." : "\"", is_cut ? 4 : 1);
}

/* ---- numbers ---- */

static void line_one(struct calls_line *line, const struct calls_names *names, uint64_t value)
{
	const char *name = calls_find_name(names, value);

	if (name)
		calls_line_add(line, "%s", name);
	else if (names->is_decimal)
		calls_line_add(line, "%" PRIu64, value);
	else if (names->unknown)
		calls_line_add(line, "%#" PRIx64 " /* %s */", value, names->unknown);
	else
		calls_line_add(line, "%#" PRIx64, value);
}

void calls_line_names(struct calls_line *line, const struct calls_names *names, uint64_t value)
{
	uint64_t bits = names->bits == 32 ? (uint32_t)value : value, rest;
	const char *between = "", *name;

	if (names->choice == UINT64_MAX) {
		line_one(line, names, bits);
		return;
	}
	name = calls_find_name(names, bits & names->choice);
	rest = bits;
	if (name && (names->choice || !bits)) {
		calls_line_add(line, "%s", name);
		rest &= ~names->choice;
		between = "|";
	}
	for (size_t i = 0; i < names->n && rest; i++) {
		uint64_t flag = names->at[i].value;

		if (!flag || (flag & names->choice) || (rest & flag) != flag)
			continue;
		calls_line_add(line, "%s%s", between, names->at[i].name);
		rest &= ~flag;
		between = "|";
	}
	if (rest && !*between && names->unknown)
		calls_line_add(line, "%#" PRIx64 " /* %s */", rest, names->unknown);
	else if (rest || !*between)
		calls_line_add(line, rest ? "%s%#" PRIx64 : "%s0", between, rest);
}

void calls_line_pointer(struct calls_line *line, uint64_t address)
{
	calls_line_add(line, address ? "%#" PRIx64 : "NULL", address);
}

void calls_line_fd(struct calls_line *line, pid_t pid, int fd)
{
	calls_line_add(line, "%d", fd);
	if (line->name_fd && fd >= 0)
		line->name_fd(line->ctx, line, pid, fd);
}

void calls_line_signal(struct calls_line *line, int signal)
{
	if (signal == 0)
		calls_line_add(line, "0");
	else
		line_one(line, &calls_names_signal, (uint32_t)signal);
}

void calls_line_mode(struct calls_line *line, unsigned mode)
{
	enum { FLAGS = S_ISUID | S_ISGID | S_ISVTX };
	const char *type =
		mode & S_IFMT ? calls_find_name(&calls_names_mode_type, mode & S_IFMT) : NULL;

	if (mode & S_IFMT && !type) {
		calls_line_add(line, "%#03o", mode);
		return;
	}
	calls_line_add(line, "%s%s%s%s%s%#03o", type ?: "", type ? "|" : "",
		mode & S_ISUID ? "S_ISUID|" : "", mode & S_ISGID ? "S_ISGID|" : "",
		mode & S_ISVTX ? "S_ISVTX|" : "", mode & ~(unsigned)(S_IFMT | FLAGS));
}

static void line_protocol(struct calls_line *line, const struct calls_call *call, uint64_t value)
{
	if (call->args[0] == AF_INET || call->args[0] == AF_INET6)
		calls_line_names(line, &calls_names_protocol, value);
	else
		calls_line_add(line, "%" PRIu32, (uint32_t)value);
}

static void line_socket_option(
	struct calls_line *line, const struct calls_call *call, uint64_t value)
{
	const struct calls_names *names = call->args[1] == SOL_SOCKET ? &calls_names_socket_option
					  : call->args[1] == 0        ? &calls_names_ip_option
					  : call->args[1] == 6        ? &calls_names_tcp_option
					  : call->args[1] == 41       ? &calls_names_ipv6_option
								      : NULL;

	if (names)
		calls_line_names(line, names, value);
	else
		calls_line_add(line, "%#" PRIx32, (uint32_t)value);
}

/* ---- memory ---- */

/* Of memory that is not known. */
static void line_address(struct calls_line *line, const struct calls_call *call, unsigned i)
{
	calls_line_pointer(line, call->args[i]);
	if (call->memory[i].is_lost)
		calls_line_add(line, " /* lost */");
}

static void line_memory(
	struct calls_line *line, const struct calls_call *call, unsigned i, bool is_path)
{
	const struct calls_memory *memory = &call->memory[i];
	size_t n = memory->n;
	bool is_cut = memory->is_cut;

	if (!memory->at) {
		line_address(line, call, i);
		return;
	}
	if (!is_path && n > line->text_max) {
		n = line->text_max;
		is_cut = true;
	}
	calls_line_quote(
		line, memory->at, n, call->signature->args[i].kind == CALLS_RANDOM, is_cut);
}

void calls_line_struct(struct calls_line *line, const struct calls_call *call, unsigned i)
{
	const struct calls_struct *how = call->signature->args[i].struct_;
	const struct calls_memory *memory = &call->memory[i];

	if (memory->at && (!how->is_whole || memory->n >= how->size))
		how->show(line, call, i, memory->at, memory->n);
	else
		line_address(line, call, i);
}

/* ---- arguments ---- */

static bool has_open_mode(const struct calls_call *call, unsigned i)
{
	return call->args[i - 1] & O_CREAT || (call->args[i - 1] & O_TMPFILE) == O_TMPFILE;
}

static void line_arg(struct calls_line *line, const struct calls_call *call, unsigned i)
{
	const struct calls_arg *arg = &call->signature->args[i];
	uint64_t value = call->args[i];

	switch (arg->kind) {
	case CALLS_INT:
		calls_line_add(line, "%" PRId32, (int32_t)value);
		break;
	case CALLS_UINT:
		calls_line_add(line, "%" PRIu32, (uint32_t)value);
		break;
	case CALLS_LONG:
		calls_line_add(line, "%" PRId64, (int64_t)value);
		break;
	case CALLS_ULONG:
		calls_line_add(line, "%" PRIu64, value);
		break;
	case CALLS_HEX:
	case CALLS_OFFSET:
		calls_line_add(line, "%#" PRIx64, value);
		break;
	case CALLS_OCTAL:
	case CALLS_OPEN_MODE:
		calls_line_add(line, "%#03o", (unsigned)(value & 0xffff));
		break;
	case CALLS_FILE_MODE:
		calls_line_mode(line, (uint16_t)value);
		break;
	case CALLS_DIRFD:
		if ((int)value == AT_FDCWD) {
			calls_line_add(line, "AT_FDCWD");
			break;
		}
		/* fallthrough */
	case CALLS_FD:
		calls_line_fd(line, call->pid, (int)value);
		break;
	case CALLS_DEVICE:
		calls_line_add(line, "makedev(%#x, %#x)", major(value), minor(value));
		break;
	case CALLS_PATH:
	case CALLS_TEXT:
		line_memory(line, call, i, true);
		break;
	case CALLS_IN:
	case CALLS_OUT:
	case CALLS_RANDOM:
		line_memory(line, call, i, false);
		break;
	case CALLS_NAMES:
		calls_line_names(line, arg->names, value);
		break;
	case CALLS_STRUCT:
		calls_line_struct(line, call, i);
		break;
	case CALLS_SIGNAL:
		calls_line_signal(line, (int)value);
		break;
	case CALLS_ID:
		calls_line_add(line, (int32_t)value == -1 ? "-1" : "%" PRIu32, (uint32_t)value);
		break;
	case CALLS_SOCKET_OPTION:
		line_socket_option(line, call, value);
		break;
	case CALLS_PROTOCOL:
		line_protocol(line, call, value);
		break;
	default:
		calls_line_pointer(line, value);
	}
}

/* Some arguments depend on others. */
static bool has_arg(const struct calls_call *call, unsigned i)
{
	enum calls_kind kind = call->signature->args[i].kind;

	if (kind == CALLS_DEVICE)
		return S_ISCHR(call->args[i - 1]) || S_ISBLK(call->args[i - 1]);
	return kind != CALLS_END && (kind != CALLS_OPEN_MODE || has_open_mode(call, i));
}

static void line_known_args(struct calls_line *line, const struct calls_call *call)
{
	for (unsigned i = 0; i < CALLS_ARGS && has_arg(call, i); i++) {
		if (call->signature->args[i].kind == CALLS_SPECIAL) {
			calls_line_special(line, call, i);
			return;
		}
		if (i)
			calls_line_add(line, ", ");
		line_arg(line, call, i);
	}
}

void calls_line_args(struct calls_line *line, const struct calls_call *call)
{
	line->n = 0;
	calls_line_add(line, "%s(", call->name);
	if (call->signature)
		line_known_args(line, call);
	else
		for (unsigned i = 0; i < CALLS_ARGS; i++)
			calls_line_add(line, "%s%#" PRIx64, i ? ", " : "", call->args[i]);
	calls_line_add(line, ")");
}

/* ---- results ---- */

static void line_error(struct calls_line *line, int error)
{
	const char *name = calls_error_name(error);

	if (!name)
		calls_line_add(line, " = -1 (errno %d)", error);
	else if (error >= 512)
		calls_line_add(line, " = ? %s (%s)", name, calls_error_text(error));
	else
		calls_line_add(line, " = -1 %s (%s)", name, calls_error_text(error));
}

static void line_fcntl_result(struct calls_line *line, const struct calls_call *call)
{
	uint64_t result = (uint64_t)call->result;

	switch ((int)call->args[1]) {
	case F_DUPFD:
	case F_DUPFD_CLOEXEC:
		calls_line_fd(line, call->pid, (int)result);
		break;
	case F_GETFD:
		calls_line_add(line, result ? "%#" PRIx64 " (flags " : "%" PRIx64, result);
		if (result) {
			calls_line_names(line, &calls_names_descriptor, result);
			calls_line_add(line, ")");
		}
		break;
	case F_GETFL:
		calls_line_add(
			line, result ? "%#" PRIx64 " (flags " : "%" PRIx64 " (flags ", result);
		calls_line_names(line, &calls_names_open, result);
		calls_line_add(line, ")");
		break;
	default:
		calls_line_add(line, "%" PRId64, call->result);
	}
}

/* The descriptors that are ready, from the structures of the first argument. */
static void line_poll_result(struct calls_line *line, const struct calls_call *call)
{
	const struct calls_memory *memory = &call->memory[0];
	const char *between = " ([";

	calls_line_add(line, "%" PRId64, call->result);
	if (!call->result)
		calls_line_add(line, " (Timeout)");
	for (size_t at = 0; memory->at && at + sizeof(struct pollfd) <= memory->n;
		at += sizeof(struct pollfd)) {
		struct pollfd poll;

		memcpy(&poll, memory->at + at, sizeof(poll));
		if (!poll.revents)
			continue;
		calls_line_add(line, "%s{fd=", between);
		calls_line_fd(line, call->pid, poll.fd);
		calls_line_add(line, ", revents=");
		calls_line_names(line, &calls_names_poll, (uint16_t)poll.revents);
		calls_line_add(line, "}");
		between = ", ";
	}
	if (*between == ',')
		calls_line_add(line, "])");
}

void calls_line_result(struct calls_line *line, const struct calls_call *call)
{
	enum calls_result kind = call->signature ? call->signature->result : CALLS_RETURNS_NUMBER;

	if (kind == CALLS_RETURNS_NOTHING) {
		calls_line_add(line, " = ?");
		return;
	}
	if (!call->has_ended) {
		line->n -= line->n > 0 && line->at[line->n - 1] == ')';
		calls_line_add(line, " <unfinished ...>");
		return;
	}
	if (calls_has_failed(call->result)) {
		line_error(line, (int)-call->result);
		return;
	}
	calls_line_add(line, " = ");
	switch (kind) {
	case CALLS_RETURNS_POINTER:
		calls_line_add(line, "%#" PRIx64, (uint64_t)call->result);
		break;
	case CALLS_RETURNS_FD:
		calls_line_fd(line, call->pid, (int)call->result);
		break;
	case CALLS_RETURNS_OCTAL:
		calls_line_add(line, "%#03" PRIo64, (uint64_t)call->result);
		break;
	case CALLS_RETURNS_FCNTL:
		line_fcntl_result(line, call);
		break;
	case CALLS_RETURNS_POLL:
		line_poll_result(line, call);
		break;
	default:
		calls_line_add(line, "%" PRId64, call->result);
	}
}
