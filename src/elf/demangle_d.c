/* SPDX-License-Identifier: MIT */
#include "elf/demangle_d.h"

#include <ctype.h>
#include <inttypes.h>

struct reader {
	const char *start, *at; /* after "_D"; NUL-terminated */
	struct buf *out;
	bool parameters, failed;
	int depth, steps;
};

static void take_type(struct reader *r);
static void take_qualified(struct reader *r, bool modifiers);
static void take_value(struct reader *r, char type, const char *name);

/* ---- reading ---- */

static bool fail(struct reader *r)
{
	r->failed = true;
	return false;
}

/* Called for each part. The caller decrements depth. */
static bool enter(struct reader *r)
{
	if (++r->depth > DEMANGLE_D_DEPTH || ++r->steps > DEMANGLE_D_STEPS ||
		r->out->len > DEMANGLE_D_OUTPUT)
		return fail(r);
	return !r->failed;
}

static void shorten(struct buf *b, size_t n)
{
	b->len = n;
	if (b->data)
		b->data[n] = '\0';
}

static bool demangle_d_take(struct reader *r, const char *text)
{
	size_t n = strlen(text);

	if (r->failed || strncmp(r->at, text, n) != 0)
		return false;
	r->at += n;
	return true;
}

static uint64_t take_number(struct reader *r)
{
	uint64_t n = 0;

	if (!isdigit((unsigned char)*r->at))
		fail(r);
	for (; isdigit((unsigned char)*r->at); r->at++) {
		if (n > (UINT64_MAX - 9) / 10)
			fail(r);
		n = n * 10 + (uint64_t)(*r->at - '0');
	}
	return n;
}

/* What "Q" and a number in base 26 refer to, whose last digit is a small letter. NULL: nothing. */
static const char *referred(const char *start, const char *at, const char **ret_end)
{
	const char *q = at++;
	size_t n = 0;

	for (; *at >= 'A' && *at <= 'Z' && n < 1 << 20; at++)
		n = n * 26 + (size_t)(*at - 'A');
	if (*at < 'a' || *at > 'z')
		return NULL;
	n = n * 26 + (size_t)(*at - 'a');
	*ret_end = at + 1;
	return n && n <= (size_t)(q - start) ? q - n : NULL;
}

/* Whether an identifier follows, rather than a type. */
static bool at_symbol(const struct reader *r)
{
	const char *end, *target;

	if (*r->at != 'Q')
		return isdigit((unsigned char)*r->at) || !strncmp(r->at, "__T", 3) ||
		       !strncmp(r->at, "__U", 3);
	target = referred(r->start, r->at, &end);
	return target && isdigit((unsigned char)*target);
}

static bool at_convention(const struct reader *r)
{
	return *r->at && strchr("FUWRY", *r->at);
}

/* ---- functions ---- */

static void take_modifiers(struct reader *r, struct buf *text)
{
	for (;;) {
		if (demangle_d_take(r, "x"))
			buf_str(text, " const");
		else if (demangle_d_take(r, "y"))
			buf_str(text, " immutable");
		else if (demangle_d_take(r, "O"))
			buf_str(text, " shared");
		else if (demangle_d_take(r, "Ng"))
			buf_str(text, " inout");
		else
			return;
	}
}

static void take_attributes(struct reader *r, struct buf *text)
{
	static const char *const names[] = {
		['a'] = "pure ",
		['b'] = "nothrow ",
		['c'] = "ref ",
		['d'] = "@property ",
		['e'] = "@trusted ",
		['f'] = "@safe ",
		['i'] = "@nogc ",
		['j'] = "return ",
		['l'] = "scope ",
		['m'] = "@live ",
	};

	while (*r->at == 'N') {
		unsigned char c = (unsigned char)r->at[1];

		if (c >= ARRAY_SIZE(names) || !names[c])
			return; /* of the first parameter */
		buf_str(text, names[c]);
		r->at += 2;
	}
}

static void take_parameter(struct reader *r)
{
	static const char *const classes[][2] = {{"M", "scope "}, {"Nk", "return "}, {"I", "in "},
		{"J", "out "}, {"K", "ref "}, {"L", "lazy "}};

	for (bool more = true; more;) {
		more = false;
		for (size_t i = 0; i < ARRAY_SIZE(classes); i++) {
			if (!demangle_d_take(r, classes[i][0]))
				continue;
			buf_str(r->out, classes[i][1]);
			more = true;
		}
	}
	take_type(r);
}

/* "(int, char)" */
static void take_parameters(struct reader *r)
{
	buf_char(r->out, '(');
	for (size_t n = 0; !r->failed; n++) {
		if (demangle_d_take(r, "Z"))
			break;
		if (demangle_d_take(r, "X")) { /* the last one is any number of them */
			buf_str(r->out, "...");
			break;
		}
		if (n)
			buf_str(r->out, ", ");
		if (demangle_d_take(r, "Y")) {
			buf_str(r->out, "...");
			break;
		}
		take_parameter(r);
	}
	buf_char(r->out, ')');
}

static const char *take_convention(struct reader *r)
{
	static const struct {
		char code;
		const char *text;
	} conventions[] = {{'F', ""}, {'U', "extern(C) "}, {'W', "extern(Windows) "},
		{'R', "extern(C++) "}, {'Y', "extern(Objective-C) "}};

	for (size_t i = 0; i < ARRAY_SIZE(conventions); i++) {
		if (*r->at != conventions[i].code)
			continue;
		r->at++;
		return conventions[i].text;
	}
	fail(r);
	return "";
}

/* "extern(C) int(char) pure " */
static void take_function(struct reader *r)
{
	struct buf attributes _cleanup_(buf_done) = {0}, parameters _cleanup_(buf_done) = {0};
	struct buf *out = r->out;

	buf_str(out, take_convention(r));
	take_attributes(r, &attributes);
	r->out = &parameters;
	take_parameters(r);
	r->out = out;
	take_type(r);
	buf_str(out, buf_text(&parameters));
	buf_char(out, ' ');
	buf_str(out, buf_text(&attributes));
}

/* ---- types ---- */

static const char *basic_type(char code)
{
	static const char *const names[] = {
		['a'] = "char",
		['b'] = "bool",
		['c'] = "creal",
		['d'] = "double",
		['e'] = "real",
		['f'] = "float",
		['g'] = "byte",
		['h'] = "ubyte",
		['i'] = "int",
		['j'] = "ireal",
		['k'] = "uint",
		['l'] = "long",
		['m'] = "ulong",
		['n'] = "typeof(null)",
		['o'] = "ifloat",
		['p'] = "idouble",
		['q'] = "cfloat",
		['r'] = "cdouble",
		['s'] = "short",
		['t'] = "ushort",
		['u'] = "wchar",
		['v'] = "void",
		['w'] = "dchar",
	};
	unsigned char c = (unsigned char)code;

	return c < ARRAY_SIZE(names) ? names[c] : NULL;
}

/* "const(" type ")" */
static void take_within(struct reader *r, const char *prefix)
{
	buf_str(r->out, prefix);
	take_type(r);
	buf_char(r->out, ')');
}

/* The type that "Q" refers to. */
static void take_reference(struct reader *r)
{
	const char *end, *target = referred(r->start, r->at, &end);

	if (!target) {
		fail(r);
		return;
	}
	r->at = target;
	take_type(r);
	r->at = end;
}

/* value[key] */
static void take_map(struct reader *r)
{
	struct buf key _cleanup_(buf_done) = {0};
	struct buf *out = r->out;

	r->out = &key;
	take_type(r);
	r->out = out;
	take_type(r);
	buf_printf(out, "[%s]", buf_text(&key));
}

static void take_delegate(struct reader *r)
{
	struct buf modifiers _cleanup_(buf_done) = {0};
	const char *end = NULL;

	take_modifiers(r, &modifiers);
	if (*r->at == 'Q') {
		const char *target = referred(r->start, r->at, &end);

		if (!target) {
			fail(r);
			return;
		}
		r->at = target;
	}
	take_function(r);
	if (end)
		r->at = end;
	buf_str(r->out, "delegate");
	buf_str(r->out, buf_text(&modifiers));
}

static void take_pointer(struct reader *r)
{
	if (at_convention(r)) {
		take_function(r);
		buf_str(r->out, "function");
	} else {
		take_type(r);
		buf_char(r->out, '*');
	}
}

static void take_tuple(struct reader *r)
{
	uint64_t n = take_number(r);

	buf_str(r->out, "Tuple!(");
	for (uint64_t i = 0; i < n && !r->failed; i++) {
		if (i)
			buf_str(r->out, ", ");
		take_type(r);
	}
	buf_char(r->out, ')');
}

/* Types of one letter and what follows. False: another type. */
static bool take_composed(struct reader *r)
{
	const char *digits;
	int n;

	switch (*r->at++) {
	case 'A':
		take_type(r);
		buf_str(r->out, "[]");
		return true;
	case 'G':
		digits = r->at;
		take_number(r);
		n = (int)(r->at - digits);
		take_type(r);
		buf_printf(r->out, "[%.*s]", n, digits);
		return true;
	case 'H':
		take_map(r);
		return true;
	case 'P':
		take_pointer(r);
		return true;
	case 'D':
		take_delegate(r);
		return true;
	case 'B':
		take_tuple(r);
		return true;
	case 'C':
	case 'S':
	case 'E':
	case 'T':
	case 'I':
		take_qualified(r, false);
		return true;
	}
	r->at--;
	return false;
}

static void take_type(struct reader *r)
{
	const char *basic;

	if (!enter(r)) {
		r->depth--;
		return;
	}
	basic = basic_type(*r->at);
	if (demangle_d_take(r, "x"))
		take_within(r, "const(");
	else if (demangle_d_take(r, "y"))
		take_within(r, "immutable(");
	else if (demangle_d_take(r, "O"))
		take_within(r, "shared(");
	else if (demangle_d_take(r, "Ng"))
		take_within(r, "inout(");
	else if (demangle_d_take(r, "Nh"))
		take_within(r, "__vector(");
	else if (demangle_d_take(r, "Nn"))
		buf_str(r->out, "typeof(*null)");
	else if (demangle_d_take(r, "zi"))
		buf_str(r->out, "cent");
	else if (demangle_d_take(r, "zk"))
		buf_str(r->out, "ucent");
	else if (*r->at == 'Q')
		take_reference(r);
	else if (basic)
		buf_str(r->out, basic), r->at++;
	else if (at_convention(r))
		take_function(r);
	else if (!take_composed(r))
		fail(r);
	r->depth--;
}

/* ---- values of template parameters ---- */

static void add_character(struct buf *out, uint64_t c, char type)
{
	if (c >= 0x20 && c < 0x7f)
		buf_printf(out, "'%c'", (char)c);
	else if (type == 'a')
		buf_printf(out, "'\\x%02" PRIx64 "'", c);
	else if (type == 'u')
		buf_printf(out, "'\\u%04" PRIx64 "'", c);
	else
		buf_printf(out, "'\\U%08" PRIx64 "'", c);
}

static void take_integer(struct reader *r, char type)
{
	const char *digits = r->at;
	uint64_t n = take_number(r);

	if (type == 'a' || type == 'u' || type == 'w')
		add_character(r->out, n, type);
	else if (type == 'b')
		buf_str(r->out, n ? "true" : "false");
	else
		buf_add(r->out, digits, (size_t)(r->at - digits));
	if (type == 'h' || type == 't' || type == 'k')
		buf_char(r->out, 'u');
	else if (type == 'l')
		buf_char(r->out, 'L');
	else if (type == 'm')
		buf_str(r->out, "uL");
}

/* "NAN", or "N18P-3": hexadecimal digits and an exponent; N: negative. */
static void take_real(struct reader *r)
{
	if (demangle_d_take(r, "NAN")) {
		buf_str(r->out, "NaN");
		return;
	}
	if (demangle_d_take(r, "INF") || demangle_d_take(r, "NINF")) {
		buf_str(r->out, r->at[-4] == 'N' ? "-Inf" : "Inf");
		return;
	}
	if (demangle_d_take(r, "N"))
		buf_char(r->out, '-');
	if (!isxdigit((unsigned char)*r->at)) {
		fail(r);
		return;
	}
	buf_printf(r->out, "0x%c.", *r->at++);
	while (isxdigit((unsigned char)*r->at))
		buf_char(r->out, *r->at++);
	if (!demangle_d_take(r, "P")) {
		fail(r);
		return;
	}
	buf_char(r->out, 'p');
	if (demangle_d_take(r, "N"))
		buf_char(r->out, '-');
	buf_u64(r->out, take_number(r));
}

static int hex_digit(char c)
{
	return isdigit((unsigned char)c)    ? c - '0'
	       : isxdigit((unsigned char)c) ? (c | 32) - 'a' + 10
					    : -1;
}

static void add_text(struct buf *out, char c)
{
	static const char controls[] = "\t\n\v\f\r", letters[] = "tnvfr";
	const char *control = c ? strchr(controls, c) : NULL;

	if (control)
		buf_printf(out, "\\%c", letters[control - controls]);
	else if (c >= 0x20 && c < 0x7f)
		buf_char(out, c);
	else
		buf_printf(out, "\\x%02x", (unsigned char)c);
}

/* "a5_68656c6c6f": the kind of characters, bytes, and these as hexadecimal digits. */
static void take_string(struct reader *r)
{
	char kind = *r->at++;
	uint64_t n = take_number(r);

	if (!demangle_d_take(r, "_"))
		fail(r);
	buf_char(r->out, '"');
	for (; n && !r->failed; n--) {
		int high = hex_digit(r->at[0]), low = high < 0 ? -1 : hex_digit(r->at[1]);

		if (low < 0) {
			fail(r);
			return;
		}
		r->at += 2;
		add_text(r->out, (char)(high << 4 | low));
		if (r->out->len > DEMANGLE_D_OUTPUT)
			fail(r);
	}
	buf_char(r->out, '"');
	if (kind != 'a')
		buf_char(r->out, kind == 'u' ? 'w' : 'd');
}

/* n values, of an associative array each with its key. */
static void take_values(struct reader *r, char close, bool keys)
{
	uint64_t n = take_number(r);

	for (uint64_t i = 0; i < n && !r->failed; i++) {
		if (i)
			buf_str(r->out, ", ");
		take_value(r, 0, NULL);
		if (!keys)
			continue;
		buf_char(r->out, ':');
		take_value(r, 0, NULL);
	}
	buf_char(r->out, close);
}

static void take_value(struct reader *r, char type, const char *name)
{
	if (!enter(r)) {
		r->depth--;
		return;
	}
	if (demangle_d_take(r, "n")) {
		buf_str(r->out, "null");
	} else if (demangle_d_take(r, "N")) {
		buf_char(r->out, '-');
		take_integer(r, type);
	} else if (demangle_d_take(r, "i") || isdigit((unsigned char)*r->at)) {
		take_integer(r, type);
	} else if (demangle_d_take(r, "e")) {
		take_real(r);
	} else if (demangle_d_take(r, "c")) {
		take_real(r);
		buf_char(r->out, '+');
		if (!demangle_d_take(r, "c"))
			fail(r);
		take_real(r);
		buf_char(r->out, 'i');
	} else if (*r->at == 'a' || *r->at == 'w' || *r->at == 'd') {
		take_string(r);
	} else if (demangle_d_take(r, "A")) {
		buf_char(r->out, '[');
		take_values(r, ']', type == 'H');
	} else if (demangle_d_take(r, "S")) {
		buf_str(r->out, name ?: "");
		buf_char(r->out, '(');
		take_values(r, ')', false);
	} else if (demangle_d_take(r, "f_D")) {
		take_qualified(r, true);
		take_type(r);
	} else {
		fail(r);
	}
	r->depth--;
}

/* ---- templates ---- */

/* The first letter of a type, of what it refers to. */
static char type_letter(const struct reader *r)
{
	const char *at = r->at, *end;

	for (int i = 0; at && *at == 'Q' && i < DEMANGLE_D_DEPTH; i++)
		at = referred(r->start, at, &end);
	return at ? *at : 0;
}

static void take_value_argument(struct reader *r)
{
	struct buf name _cleanup_(buf_done) = {0};
	struct buf *out = r->out;
	char letter = type_letter(r);

	r->out = &name;
	take_type(r);
	r->out = out;
	take_value(r, letter, buf_text(&name));
}

/* An argument that is a symbol; a function has its type after it. */
static void take_symbol_argument(struct reader *r)
{
	struct buf type _cleanup_(buf_done) = {0};
	struct buf *out = r->out;

	if (!demangle_d_take(r, "_D")) {
		take_qualified(r, false);
		return;
	}
	take_qualified(r, true);
	if (demangle_d_take(r, "Z"))
		return;
	r->out = &type;
	take_type(r);
	r->out = out;
}

static void take_arguments(struct reader *r)
{
	for (size_t n = 0; !r->failed && !demangle_d_take(r, "Z"); n++) {
		uint64_t bytes;

		if (n)
			buf_str(r->out, ", ");
		demangle_d_take(r, "H"); /* of a specialized parameter */
		if (demangle_d_take(r, "T")) {
			take_type(r);
		} else if (demangle_d_take(r, "V")) {
			take_value_argument(r);
		} else if (demangle_d_take(r, "S")) {
			take_symbol_argument(r);
		} else if (demangle_d_take(r, "X")) {
			bytes = take_number(r);
			if (strnlen(r->at, bytes) < bytes)
				fail(r);
			else
				buf_add(r->out, r->at, bytes), r->at += bytes;
		} else {
			fail(r);
		}
	}
}

/* ---- names ---- */

/* A name of n bytes. Names that compilers make are shown as in the source. */
static void take_plain(struct reader *r, size_t start)
{
	static const char *const names[][2] = {{"__ctor", "this"}, {"__dtor", "~this"}};
	static const char *const objects[][2] = {{"__init", "initializer for "},
		{"__vtbl", "vtable for "}, {"__Class", "ClassInfo for "},
		{"__Interface", "Interface for "}, {"__ModuleInfo", "ModuleInfo for "}};
	uint64_t n = take_number(r);
	struct buf name _cleanup_(buf_done) = {0};

	if (r->failed || !n || strnlen(r->at, n) < n) {
		fail(r);
		return;
	}
	buf_add(&name, r->at, n);
	r->at += n;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (strcmp(buf_text(&name), names[i][0]) != 0)
			continue;
		buf_str(r->out, names[i][1]);
		return;
	}
	for (size_t i = 0; *r->at == 'Z' && i < ARRAY_SIZE(objects); i++) {
		struct buf whole _cleanup_(buf_done) = {0};

		if (strcmp(buf_text(&name), objects[i][0]) != 0 || r->out->len <= start)
			continue;
		buf_str(&whole, objects[i][1]);
		buf_add(&whole, buf_text(r->out) + start, r->out->len - start - 1);
		shorten(r->out, start);
		buf_str(r->out, buf_text(&whole));
		return;
	}
	buf_str(r->out, buf_text(&name));
}

/* start: where in the output the qualified name starts. */
static void take_identifier(struct reader *r, size_t start)
{
	if (!enter(r)) {
		r->depth--;
		return;
	}
	if (*r->at == 'Q') {
		const char *end, *target = referred(r->start, r->at, &end);

		if (target && isdigit((unsigned char)*target)) {
			r->at = target;
			take_plain(r, start);
			r->at = end;
		} else {
			fail(r);
		}
	} else if (demangle_d_take(r, "__T") || demangle_d_take(r, "__U")) {
		take_identifier(r, start);
		buf_str(r->out, "!(");
		take_arguments(r);
		buf_char(r->out, ')');
	} else {
		take_plain(r, start);
	}
	r->depth--;
}

/* The parameters of a function, if another name or a type follows; else nothing is taken. */
static void take_own_parameters(struct reader *r, bool show_modifiers)
{
	struct buf modifiers _cleanup_(buf_done) = {0}, attributes _cleanup_(buf_done) = {0};
	const char *at = r->at;
	size_t n = r->out->len;

	if (demangle_d_take(r, "M"))
		take_modifiers(r, &modifiers);
	take_convention(r);
	take_attributes(r, &attributes);
	take_parameters(r);
	if (show_modifiers)
		buf_str(r->out, buf_text(&modifiers));
	if (r->failed || !*r->at) {
		r->failed = r->steps > DEMANGLE_D_STEPS;
		r->at = at;
		shorten(r->out, n);
	}
	if (!r->parameters)
		shorten(r->out, n);
}

/* modifiers: the modifiers of methods are shown, after their parameters. */
static void take_qualified(struct reader *r, bool modifiers)
{
	size_t start = r->out->len;

	do {
		if (*r->at == '0') { /* a name of nothing */
			r->at++;
			continue;
		}
		if (r->out->len > start)
			buf_char(r->out, '.');
		take_identifier(r, start);
		if (!r->failed && (*r->at == 'M' || at_convention(r)))
			take_own_parameters(r, modifiers);
	} while (!r->failed && at_symbol(r));
}

bool demangle_d(const char *mangled, bool parameters, struct buf *ret_text)
{
	struct buf name _cleanup_(buf_done) = {0}, type _cleanup_(buf_done) = {0};
	struct reader r = {
		.start = mangled, .at = mangled + 2, .out = &name, .parameters = parameters};

	if (!strcmp(mangled, "_Dmain")) {
		buf_str(ret_text, "D main");
		return !buf_failed(ret_text);
	}
	if (strncmp(mangled, "_D", 2) != 0 || !isdigit((unsigned char)mangled[2]))
		return false;
	take_qualified(&r, true);
	r.out = &type;
	if (demangle_d_take(&r, "M")) /* a method whose type was in the name before */
		take_modifiers(&r, &type);
	if (!demangle_d_take(&r, "Z"))
		take_type(&r);
	if (r.failed || *r.at || buf_failed(&name) || buf_failed(&type))
		return false;
	buf_str(ret_text, buf_text(&name));
	return !buf_failed(ret_text);
}
