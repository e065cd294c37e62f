/* SPDX-License-Identifier: MIT */
/* Shared by the parts of merge_reports(): fleet_*.c. */
#ifndef REPORT_MERGE_PARTS_H
#define REPORT_MERGE_PARTS_H

#include "base/vec.h"
#include "attar/private/merge.h"

/* Sections of one name and kind, each with its host, in the order of the hosts. */
struct fleet_section {
	const char *host;
	const struct attar_section *section;
	int64_t offset; /* see struct attar_merge_part */
};
typedef VEC(struct fleet_section) fleet_sections;

/* ---- fleet_rules.c ---- */

/* How a column is merged. */
enum fleet_rule {
	FLEET_KEY, /* distinguishes rows */
	FLEET_SUM,
	FLEET_LEAST,
	FLEET_MOST,
	FLEET_SHARE, /* of the sum of the column `basis` */
	FLEET_PART,  /* of the column `basis` of its row */
	FLEET_MEAN,  /* the column `total` divided by the column `basis` */
	FLEET_LEFT_OUT,
};

struct fleet_column {
	const char *name; /* borrowed from a section */
	enum attar_unit unit;
	enum fleet_rule rule;
	size_t basis, total; /* indexes of columns, see above */
};
typedef VEC(struct fleet_column) fleet_columns;

/* The columns of all sections, with their rules. Returns 0 or -ENOMEM. */
int fleet_columns_of(const fleet_sections *all, fleet_columns *ret_columns);

/* The column of a section with this name and unit; -1: it has none. */
int fleet_column_in(const struct attar_section *s, const struct fleet_column *column);

/* Whether rows can be merged, and not only be listed. */
bool fleet_can_merge(const fleet_columns *columns);

/* For each node of the first tree of a host's report: its node in the merged tree. */
struct fleet_nodes_of {
	const struct attar_report *report;
	uint32_t *of; /* owned */
	size_t n;
};
typedef VEC(struct fleet_nodes_of) fleet_nodes;

/* ---- sections: they add to out, and return 0 or -ENOMEM ---- */

int fleet_merge_table(
	const fleet_sections *all, const fleet_columns *columns, struct attar_report *out);
int fleet_list_rows(
	const fleet_sections *all, const fleet_columns *columns, struct attar_report *out);
/* ret_nodes: for each host; NULL: not needed. */
int fleet_merge_trees(
	const fleet_sections *all, bool by_host, struct attar_report *out, fleet_nodes *ret_nodes);
int fleet_merge_spans(
	const fleet_sections *all, const fleet_nodes *nodes, struct attar_report *out);
int fleet_merge_series(const fleet_sections *all, struct attar_report *out);

#endif
