/* SPDX-License-Identifier: MIT */
/*
 * attar help --json: what the descriptors of profilers and commands say, for programs. Members that
 * have no value are left out.
 */
#include "base/base.h"
#include "base/escape.h"
#include "cli/cli.h"
#include "cli/commands.h"

/* "NAME": "TEXT", after a comma unless it is the first member. */
static void json_member(struct buf *b, const char *name, const char *text)
{
	if (!text || !*text)
		return;
	if (b->len && b->data[b->len - 1] != '{')
		buf_str(b, ", ");
	escape_json_text(b, name);
	buf_str(b, ": ");
	escape_json_text(b, text);
}

/* The comma between two elements of an array. */
static void json_next(struct buf *b)
{
	if (b->len && b->data[b->len - 1] != '[')
		buf_str(b, ",\n");
}

static void json_examples(struct buf *b, const struct attar_example *e)
{
	buf_str(b, ", \"examples\": [");
	for (; e && e->command; e++) {
		json_next(b);
		buf_str(b, "{\"command\": \"attar ");
		escape_json(b, e->command, strlen(e->command));
		buf_char(b, '"');
		json_member(b, "what", e->what);
		buf_char(b, '}');
	}
	buf_char(b, ']');
}

static const char *json_type(enum attar_option_type type)
{
	static const char *const names[] = {
		[ATTAR_OPTION_FLAG] = "flag",
		[ATTAR_OPTION_SWITCH] = "switch",
		[ATTAR_OPTION_COUNT] = "count",
		[ATTAR_OPTION_TIME] = "time",
		[ATTAR_OPTION_SIZE] = "size",
		[ATTAR_OPTION_PERCENT] = "percent",
		[ATTAR_OPTION_TEXT] = "text",
		[ATTAR_OPTION_LIST] = "list",
		[ATTAR_OPTION_JOINED] = "list",
	};

	return (size_t)type < ARRAY_SIZE(names) ? names[type] : NULL;
}

static void json_option(struct buf *b, const char *group, const struct attar_option *o)
{
	char letter[] = {o->letter, '\0'};

	json_next(b);
	buf_char(b, '{');
	json_member(b, "name", o->name);
	json_member(b, "letter", letter);
	json_member(b, "group", group);
	json_member(b, "type", json_type(o->type));
	json_member(b, "value", o->value);
	json_member(b, "implied", o->implied);
	json_member(b, "help", o->help);
	buf_char(b, '}');
}

static void json_options(struct buf *b, const char *group, const struct attar_option *options)
{
	for (const struct attar_option *o = options; o && o->name; o++)
		if (o->help)
			json_option(b, group, o);
}

static void json_profiler(struct buf *b, const struct attar_profiler *p)
{
	json_next(b);
	buf_char(b, '{');
	json_member(b, "name", p->name);
	json_member(b, "summary", p->summary);
	json_member(b, "group", p->group);
	json_member(b, "question", help_question(p->group));
	json_member(b, "operand", help_operand(p));
	json_member(b, "needs", p->needs);
	json_examples(b, p->examples);
}

static void json_group(struct buf *b, const char *group)
{
	for (const struct attar_profiler *const *p = attar_profilers(); *p; p++) {
		if (strcmp((*p)->group, group) != 0)
			continue;
		json_profiler(b, *p);
		buf_char(b, '}');
	}
}

static void json_command(struct buf *b, const struct command *c)
{
	json_next(b);
	buf_char(b, '{');
	json_member(b, "name", c->name);
	json_member(b, "summary", c->summary);
	json_member(b, "usage", c->usage);
	json_examples(b, c->examples);
}

void help_json(struct buf *b)
{
	buf_char(b, '{');
	json_member(b, "version", attar_version());
	buf_str(b, ",\n\"profilers\": [");
	help_each_group(b, json_group);
	buf_str(b, "],\n\"commands\": [");
	for (const struct command *const *c = commands; *c; c++) {
		json_command(b, *c);
		buf_char(b, '}');
	}
	buf_str(b, "]}\n");
}

void help_json_profiler(
	struct buf *b, const struct attar_run *run, const struct attar_profiler *profiler)
{
	json_profiler(b, profiler);
	buf_str(b, ", \"options\": [");
	for (const struct attar_option_group *g = attar_run_option_groups(run); g->title; g++)
		json_options(b, g->title, g->options);
	buf_char(b, ']');
	json_member(b, "page", help_page(profiler->name));
	buf_str(b, "}\n");
}

void help_json_command(struct buf *b, const struct command *c)
{
	json_command(b, c);
	buf_str(b, ", \"operands\": [");
	for (const struct command_operand *o = c->operands; o && o->name; o++) {
		json_next(b);
		buf_char(b, '{');
		json_member(b, "name", o->name);
		json_member(b, "help", o->help);
		buf_char(b, '}');
	}
	buf_str(b, "], \"options\": [");
	json_options(b, "Options", c->options);
	buf_char(b, ']');
	json_member(b, "page", help_page(c->name));
	buf_str(b, "}\n");
}
