/* SPDX-License-Identifier: MIT */
/* Memory use of this process. */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H

#include <stdint.h>

/* Peak resident memory in bytes. */
uint64_t memory_peak(void);

#endif
