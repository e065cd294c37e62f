/* SPDX-License-Identifier: MIT */
/*
 * Counts records by a key that the user wrote: ./21-expressions '{dev,rwbs}' 'sector > 1000'
 *
 * A program that reads events takes the format from attar_catalog_format() and the records from a
 * stream; here both are in the program.
 */
#include <attar/attar.h>
#include <stdio.h>
#include <string.h>

static const char text[] = "name: block_rq_issue\nID: 1\nformat:\n"
			   "\tfield:dev_t dev;\toffset:0;\tsize:4;\tsigned:0;\n"
			   "\tfield:u64 sector;\toffset:8;\tsize:8;\tsigned:0;\n"
			   "\tfield:char rwbs[8];\toffset:16;\tsize:8;\tsigned:0;\n";

struct record {
	uint32_t dev;
	uint64_t sector;
	char rwbs[8];
};

static const struct record records[] = {
	{8, 2048, "R"}, {8, 1000, "W"}, {8, 4096, "R"}, {9, 2048, "WS"}, {8, 5000, "R"}};

/* The keys so far. A real program would use a hash table: equal keys are equal bytes. */
static struct {
	char key[ATTAR_EXPR_KEY_MAX];
	size_t size;
	int count;
} table[8];

static void count(struct attar_expr *key, const struct attar_expr_record *record)
{
	char bytes[ATTAR_EXPR_KEY_MAX];
	size_t size = attar_expr_key(key, record, bytes, sizeof(bytes)), i = 0;

	while (table[i].count && (table[i].size != size || memcmp(table[i].key, bytes, size)))
		i++;
	memcpy(table[i].key, bytes, size);
	table[i].size = size;
	table[i].count++;
}

static int run(const char *key_text, const char *filter_text, const struct attar_format *format)
{
	struct attar_expr_opts opts = {
		.size = sizeof(opts), .what = "key", .flags = ATTAR_EXPR_KEY};
	struct attar_expr *key = NULL, *filter = NULL;
	int r = attar_expr_new(key_text, format, &opts, &key);

	opts.what = "filter";
	opts.flags = ATTAR_EXPR_CONDITION;
	if (r == 0)
		r = attar_expr_new(filter_text, format, &opts, &filter);
	for (size_t i = 0; r == 0 && i < sizeof(records) / sizeof(records[0]); i++) {
		struct attar_expr_record record = {
			.raw = &records[i], .raw_size = sizeof(records[i])};

		if (attar_expr_is_true(filter, &record))
			count(key, &record);
	}
	for (size_t i = 0; r == 0 && table[i].count; i++) {
		char line[256];

		attar_expr_key_format(key, table[i].key, table[i].size, line, sizeof(line));
		printf("%8d  %s\n", table[i].count, line);
	}
	attar_expr_free(filter);
	attar_expr_free(key);
	return r;
}

int main(int argc, char **argv)
{
	struct attar_format *format = NULL;
	int r = attar_format_parse("block", text, strlen(text), &format);

	if (r == 0)
		r = run(argc > 1 ? argv[1] : "{dev,rwbs}", argc > 2 ? argv[2] : "sector > 1000",
			format);
	if (r < 0)
		fprintf(stderr, "%s\n", attar_error());
	attar_format_free(format);
	return r < 0;
}
