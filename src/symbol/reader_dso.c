/* SPDX-License-Identifier: MIT */
#include "symbol/reader_dso.h"

void reader_dso_done(struct reader_dso *dso)
{
	vec_done(&dso->ranges);
	*dso = (struct reader_dso){0};
}

const char *readers_reason(int error)
{
	switch (-error) {
	case ETIMEDOUT:
		return "reading it takes too long";
	case ENOMEM:
		return "reading it takes too much memory";
	case EDQUOT:
		return "the files of its user have taken too much CPU time";
	case ECHILD:
		return "too many files of its user could not be read";
	default:
		return "the process that read it has crashed";
	}
}
