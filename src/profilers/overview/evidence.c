/* SPDX-License-Identifier: MIT */
/* Adds findings and their evidence. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "overview/findings.h"

struct overview_finding *overview_add_finding(struct overview_findings *findings, const char *name,
	double value, double limit, const char *unit)
{
	struct overview_finding *finding = &findings->at[findings->n];
	const char *blank = *unit == '/' ? "" : " ";

	if (value < limit || findings->n == FINDINGS_MAX)
		return NULL;
	findings->n++;
	*finding = (struct overview_finding){
		.name = name, .excess = value / limit, .value = value, .limit = limit};
	snprintf(finding->value_text, sizeof(finding->value_text), "%.*f%s%s", value < 100 ? 1 : 0,
		value, blank, unit);
	snprintf(finding->limit_text, sizeof(finding->limit_text), "%.0f%s%s", limit, blank, unit);
	return finding;
}

struct overview_finding *overview_add_rate(
	struct overview_findings *findings, const char *name, uint64_t n, double limit)
{
	if ((double)n < limit)
		return NULL;
	return overview_add_finding(
		findings, name, (double)n / overview_seconds(findings->sums), limit, "/s");
}

struct overview_finding *overview_check_rate(
	struct overview_findings *findings, uint64_t n, const struct overview_rate *rate)
{
	struct overview_finding *finding =
		n >= rate->least ? overview_add_rate(findings, rate->name, n, rate->limit) : NULL;

	if (!finding)
		return NULL;
	overview_say(finding, "%llu %s", (unsigned long long)n, rate->what);
	if (rate->is_of_system)
		overview_set_system_command(findings, finding, &rate->next);
	else
		overview_set_command(findings, finding, NULL, &rate->next);
	return finding;
}

void overview_say(struct overview_finding *finding, const char *fmt, ...)
{
	size_t n = strlen(finding->evidence);
	va_list args;

	va_start(args, fmt);
	vsnprintf(finding->evidence + n, FINDING_TEXT_BYTES - n, fmt, args);
	va_end(args);
}
