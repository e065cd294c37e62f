/* SPDX-License-Identifier: MIT */
/*
 * A call tree packed into a few bytes per node, because a page can contain 100,000 stacks:
 *
 *	{"name", "unit", "scale", "count",  count: of nodes
 *	 "modules": ["", ...],              names of modules; the first is none
 *	 "shared", "names": [],             frames sorted by name: how many UTF-16 units each name shares
 *	                                    with the one before (numbers), and the rest of it
 *	 "kinds", "homes",                  of each frame: a digit (enum attar_frame_kind), its module
 *	                                    (numbers)
 *	 "nodes",                           the nodes (numbers), each before its children
 *	 "tasks": [[node, pid, tid], ...],
 *	 "changes": [number, ...]}          of each node, -100 to 100; absent: no difference
 *
 * Numbers stand in a string, one after the other, each in digits of an alphabet of 91 printable
 * characters that need no escaping anywhere: 27 digits (the last of the alphabet) of value v mean
 * that more follow, 64 end the number; the least significant digit comes first.
 *
 * A node is a number 4 * edge + 2 * up + own, then:
 *	edge 0: a number, the frame. edge n: the n-th frame that occurred below this parent's frame so far.
 *	        Stacks repeat: what a function calls was mostly seen before, so an edge is one character.
 *	up 1:   a number: how many levels above the node before its parent is found, 1 for a sibling.
 *	up 0:   it is that node's child.
 *	own 1:  a number: the self weight divided by scale.
 */
#include "report/sinks/html/html.h"

#include "base/escape.h"
#include "base/map.h"
#include "report/model/tree.h"

/* A frame is a combination of name, module and kind: packed in a key, and numbered for the page. */
struct packer {
	struct attar_renderer *r;
	struct attar_section *s;
	struct map frames;  /* frame_key() to the frame's number */
	VEC(uint64_t) keys; /* by number */
	struct map modules; /* string number to the page's module number */
	VEC(uint32_t) module_names;
	struct map edges;            /* parent frame + 1, frame to the edge's number */
	VEC(uint32_t) fans;          /* edges by parent frame + 1 */
	VEC(struct tree_task) tasks; /* by the page's node numbers */
	VEC(int8_t) changes;         /* the same */
	uint64_t scale;
	bool failed;
};

static void packer_done(struct packer *p)
{
	map_done(&p->frames);
	vec_done(&p->keys);
	map_done(&p->modules);
	vec_done(&p->module_names);
	map_done(&p->edges);
	vec_done(&p->fans);
	vec_done(&p->tasks);
	vec_done(&p->changes);
}

void html_number(struct buf *b, uint64_t n)
{
	static const char digits[] = "!#$%&'()*+,-./0123456789:;=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[]^_"
				     "`abcdefghijklmnopqrstuvwxyz{|}~";

	for (; n >= 64; n /= 27)
		buf_char(b, digits[64 + n % 27]);
	buf_char(b, digits[n]);
}

static uint64_t frame_key(const struct tree_node *node)
{
	return (uint64_t)node->name << 32 | (uint64_t)node->module << 3 | node->kind;
}

static const char *key_name(const struct packer *p, uint64_t key)
{
	return section_text(p->s, (uint32_t)(key >> 32));
}

static uint32_t key_module(uint64_t key)
{
	return (uint32_t)key >> 3;
}

static int by_name(const void *a, const void *b, void *arg)
{
	const struct packer *p = arg;
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	int r = strcmp(key_name(p, x), key_name(p, y));

	return r ? r : (x > y) - (x < y);
}

/* Numbers the frames in order of name, so that adjacent names have long common prefixes. */
static void number_frames(struct packer *p)
{
	for (size_t i = 0; i < p->s->nodes.n; i++) {
		uint64_t key = frame_key(&p->s->nodes.at[i]);

		if (map_get(&p->frames, key))
			continue;
		p->failed |= map_put(&p->frames, key, 0) < 0 || vec_push(&p->keys, key) < 0;
		if (p->failed)
			return;
	}
	if (p->keys.n)
		qsort_r(p->keys.at, p->keys.n, sizeof(*p->keys.at), by_name, p);
	for (size_t i = 0; i < p->keys.n; i++)
		*map_get(&p->frames, p->keys.at[i]) = i;
}

/* The page's number of a module; adds a new one. */
static uint64_t module_number(struct packer *p, uint32_t module)
{
	uint64_t *known = map_get(&p->modules, module);

	if (known)
		return *known;
	p->failed |= map_put(&p->modules, module, p->module_names.n) < 0 ||
		     vec_push(&p->module_names, module) < 0;
	return p->failed ? 0 : p->module_names.n - 1;
}

static uint64_t gcd(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* The greatest common divisor of all weights: samples of a clock all have its period. */
static uint64_t common_scale(const struct attar_section *s)
{
	uint64_t scale = 0;

	for (size_t i = 0; i < s->nodes.n && scale != 1; i++)
		scale = gcd(s->nodes.at[i].self, scale);
	return scale ? scale : 1;
}

/* The number of the edge from a parent's frame to a frame; 0 for a new one, which gets a number. */
static uint64_t edge(struct packer *p, uint64_t parent, uint64_t frame)
{
	uint64_t key = parent << 32 | frame, *known = map_get(&p->edges, key);

	if (known)
		return *known;
	p->failed |= map_put(&p->edges, key, ++p->fans.at[parent]) < 0;
	return 0;
}

static void add_node(struct packer *p, const struct tree_node *node, uint32_t up)
{
	struct buf *b = &p->r->out;
	const struct tree_node *nodes = p->s->nodes.at;
	bool root = node->parent == ATTAR_TREE_ROOT;
	uint64_t parent = root ? 0 : *map_get(&p->frames, frame_key(&nodes[node->parent])) + 1;
	uint64_t frame = *map_get(&p->frames, frame_key(node)), number = edge(p, parent, frame);

	html_number(b, number * 4 + (up ? 2 : 0) + (node->self ? 1 : 0));
	if (!number)
		html_number(b, frame);
	if (up)
		html_number(b, up);
	if (node->self)
		html_number(b, node->self / p->scale);
	render_spill(p->r);
}

static void keep_task(struct packer *p, uint32_t node, uint32_t number)
{
	struct tree_task key = {.node = node}, *task;

	task = bsearch(&key, p->s->tasks.at, p->s->tasks.n, sizeof(key), tree_task_order);
	if (!task)
		return;
	key = *task;
	key.node = number;
	p->failed |= vec_push(&p->tasks, key) < 0;
}

static int add_nodes(struct packer *p)
{
	struct tree_walk walk _cleanup_(tree_walk_done) = {0};
	uint32_t n, depth, last = 0, number = 0;
	int error = tree_walk_init(&walk, p->s);

	buf_str(&p->r->out, ",\n\"nodes\":\"");
	for (; error == 0 && !p->failed && tree_walk_next(&walk, &n, &depth); number++) {
		const struct tree_node *node = &p->s->nodes.at[n];

		add_node(p, node, number ? last + 1 - depth : 0);
		if (node->kind == ATTAR_FRAME_TASK && p->s->tasks.n)
			keep_task(p, n, number);
		if (p->s->changes.n)
			p->failed |= vec_push(&p->changes, p->s->changes.at[n]) < 0;
		last = depth;
	}
	buf_char(&p->r->out, '"');
	p->failed |= walk.failed;
	return error;
}

/* The length of the common prefix in whole characters: in bytes, and in UTF-16 units. */
static size_t common_start(const char *a, const char *b, uint32_t *ret_units)
{
	size_t n = 0, whole = 0;
	uint32_t units = 0, behind = 0;

	while (a[n] && a[n] == b[n]) {
		if ((a[n] & 0xc0) != 0x80) {
			whole = n;
			units = behind;
			behind += (unsigned char)a[n] >= 0xf0 ? 2 : 1;
		}
		n++;
	}
	if ((a[n] & 0xc0) != 0x80 && (b[n] & 0xc0) != 0x80) {
		whole = n;
		units = behind;
	}
	*ret_units = units;
	return whole;
}

/* Writes "names" and "shared". The names are compared in escaped form, as they are shown. */
static void add_names(struct packer *p)
{
	struct buf *b = &p->r->out, shared _cleanup_(buf_done) = {0};
	struct buf last _cleanup_(buf_done) = {0}, name _cleanup_(buf_done) = {0};

	buf_str(b, ",\n\"names\":[");
	for (size_t i = 0; i < p->keys.n; i++) {
		const char *text = key_name(p, p->keys.at[i]);
		struct buf swap = last;
		uint32_t units;
		size_t same;

		buf_reset(&name);
		escape_file_text(&name, text, strlen(text));
		same = common_start(buf_text(&last), buf_text(&name), &units);
		html_number(&shared, units);
		if (i)
			buf_char(b, ',');
		html_string(b, buf_text(&name) + same);
		last = name;
		name = swap;
		render_spill(p->r);
	}
	buf_str(b, "],\n\"shared\":\"");
	buf_str(b, buf_text(&shared));
	buf_char(b, '"');
	p->failed |= shared.failed || last.failed || name.failed;
}

static void add_frames(struct packer *p)
{
	struct buf *b = &p->r->out;

	module_number(p, 0);
	add_names(p);
	buf_str(b, ",\n\"kinds\":\"");
	for (size_t i = 0; i < p->keys.n; i++)
		buf_char(b, (char)('0' + (p->keys.at[i] & 7)));
	buf_str(b, "\",\n\"homes\":\"");
	for (size_t i = 0; i < p->keys.n; i++)
		html_number(b, module_number(p, key_module(p->keys.at[i])));
	buf_str(b, "\",\n\"modules\":[");
	for (size_t i = 0; i < p->module_names.n; i++) {
		if (i)
			buf_char(b, ',');
		html_string(b, section_text(p->s, p->module_names.at[i]));
	}
	buf_char(b, ']');
}

static void add_tasks(struct packer *p)
{
	buf_str(&p->r->out, ",\n\"tasks\":[");
	for (size_t i = 0; i < p->tasks.n; i++) {
		const struct tree_task *task = &p->tasks.at[i];

		buf_printf(
			&p->r->out, "%s[%u,%u,%u]", i ? "," : "", task->node, task->pid, task->tid);
		render_spill(p->r);
	}
	buf_char(&p->r->out, ']');
}

static void add_changes(struct packer *p)
{
	buf_str(&p->r->out, ",\n\"changes\":[");
	for (size_t i = 0; i < p->changes.n; i++) {
		buf_printf(&p->r->out, "%s%d", i ? "," : "", p->changes.at[i]);
		render_spill(p->r);
	}
	buf_char(&p->r->out, ']');
}

static int add_tree(struct packer *p)
{
	int n;

	number_frames(p);
	if (p->failed || vec_reserve(&p->fans, p->keys.n + 1) < 0)
		return base_oom();
	memset(p->fans.at, 0, (p->keys.n + 1) * sizeof(*p->fans.at));
	n = add_nodes(p);
	if (n < 0)
		return n;
	add_frames(p);
	add_tasks(p);
	if (p->changes.n)
		add_changes(p);
	return p->failed ? base_oom() : 0;
}

int html_tree(struct attar_renderer *r, struct attar_section *s)
{
	struct packer p _cleanup_(packer_done) = {.r = r, .s = s, .scale = common_scale(s)};
	int n;

	buf_str(&r->out, "{\"name\":");
	html_string(&r->out, section_text(s, s->name));
	buf_printf(&r->out, ",\"unit\":\"%s\",\"scale\":%llu,\"count\":%zu", unit_name(s->unit),
		(unsigned long long)p.scale, s->nodes.n);
	n = add_tree(&p);
	buf_char(&r->out, '}');
	return n;
}
