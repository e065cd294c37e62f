/* SPDX-License-Identifier: CC0-1.0 */
/* cmocka, and the library's own chapters: a test sees what is static in them. */
#ifndef TESTS_H
#define TESTS_H

#include "../perfume.c"

#include <setjmp.h>
#include <cmocka.h>

#endif
