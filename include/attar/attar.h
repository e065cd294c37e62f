/* SPDX-License-Identifier: MIT */
/* attar/attar.h - all of libattar's headers. */
#ifndef ATTAR_ATTAR_H
#define ATTAR_ATTAR_H

#include "attar/base.h"
#include "attar/event.h"
#include "attar/eventheader.h"
#include "attar/expr.h"
#include "attar/format.h"
#include "attar/hist.h"
#include "attar/keytable.h"
#include "attar/pairs.h"
#include "attar/perf.h"
#include "attar/record.h"
#include "attar/report.h"
#include "attar/run.h"
#include "attar/sample.h"
#include "attar/states.h"
#include "attar/stats.h"
#include "attar/stream.h"
#include "attar/symbol.h"

#endif
