/* SPDX-License-Identifier: MIT */
/* cmocka with the headers that it wants first. */
#ifndef UNIT_H
#define UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#endif
