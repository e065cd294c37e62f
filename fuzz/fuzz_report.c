/* SPDX-License-Identifier: MIT */
/* Reports in JSON, which attar diff reads. */
#include <stddef.h>
#include <stdint.h>

#include "attar/report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct attar_report *report = NULL;

	if (attar_report_read_json((const char *)data, size, &report) == 0)
		attar_report_free(report);
	attar_error_clear();
	return 0;
}
