/* SPDX-License-Identifier: MIT */
#include "base/suggest.h"

enum { WORD_MAX = 64 };

/*
 * Optimal string alignment: insert, delete, replace, and swapping adjacent characters cost 1 each.
 */
static unsigned distance(const char *a, const char *b)
{
	unsigned row[3][WORD_MAX + 1];
	size_t na = strlen(a), nb = strlen(b);

	for (size_t j = 0; j <= nb; j++)
		row[0][j] = (unsigned)j;
	for (size_t i = 1; i <= na; i++) {
		unsigned *now = row[i % 3], *up = row[(i + 2) % 3], *up2 = row[(i + 1) % 3];

		now[0] = (unsigned)i;
		for (size_t j = 1; j <= nb; j++) {
			unsigned best = up[j - 1] + (a[i - 1] != b[j - 1]);

			best = MIN(best, up[j] + 1);
			best = MIN(best, now[j - 1] + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				best = MIN(best, up2[j - 2] + 1);
			now[j] = best;
		}
	}
	return row[na % 3][nb];
}

void suggest_offer(struct suggest *s, const char *known)
{
	unsigned d;

	if (strlen(s->word) > WORD_MAX || strlen(known) > WORD_MAX)
		return;
	d = distance(s->word, known);
	if (strlen(s->word) >= 3 && !strncmp(s->word, known, strlen(s->word)))
		d = 1;
	if (d > (strlen(known) + 2) / 3 || d * 2 >= strlen(known) || (s->best && d >= s->distance))
		return;
	s->best = known;
	s->distance = d;
}
