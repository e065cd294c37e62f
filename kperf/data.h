/* SPDX-License-Identifier: MIT */
/*
 * data.h - arrays of struct PmuData and what they point to.
 *
 * An origin is what data of a task needs after the task is closed: formats, symbols, names. An
 * arena holds the memory of data that was read together; arrays that were appended share it. Both
 * are counted, so that arrays can be freed in any order. An array of the caller is identified by
 * its address: another address is refused.
 */
#ifndef KPERF_DATA_H
#define KPERF_DATA_H

#include <pthread.h>

#include "attar/event.h"
#include "attar/symbol.h"
#include "pcie.h"
#include "pmu.h"

struct kp_origin {
	unsigned refs;        /* atomic */
	pthread_mutex_t lock; /* of all that follows */
	struct attar_catalog *catalog;
	struct attar_symbols *symbols;
	struct attar_event_list **events; /* specs, whose names data refers to */
	size_t n_events;
	struct kp_field *fields; /* that PmuGetFieldExp() returned */
	struct kp_text *texts;
	const char *sysfs;      /* where the catalog's PMUs are from */
	struct kp_bdfs bdfs[2]; /* of each enum PmuBdfType */
	bool has_bdfs[2];       /* they were looked up */
	enum PmuTaskType type;  /* of the task */
	enum SymbolMode mode;
	int exiting; /* atomic: PmuExit() was called */
};

/* Returns NULL if out of memory, or if libattar fails. */
struct kp_origin *kp_origin_new(const struct attar_catalog_opts *opts);
struct kp_origin *kp_origin_ref(struct kp_origin *origin);
void kp_origin_unref(struct kp_origin *origin);

/* A copy of the string that lives as long as the origin; NULL if out of memory. */
const char *kp_origin_text(struct kp_origin *origin, const char *text);

/* The address of a function in a stack, and what it is in all processes. */
struct kp_frame {
	uint64_t ip;
	attar_location location;
	bool kernel, caller;
};

struct kp_frames {
	struct kp_origin *origin; /* whose symbols the locations are of */
	size_t n;
	struct kp_frame at[];
};

struct kp_list {
	struct PmuData *rows;
	struct kp_frames **frames; /* of each row, see kp_list_frames(); NULL: no row has any */
	size_t n, room;
	struct kp_arena *own;     /* memory of its rows */
	struct kp_arena **shared; /* of lists that were appended; NULL: none */
	size_t n_shared;
	void *array;          /* that the caller has: rows, or an array of another type */
	struct kp_list *next; /* in the table of arrays that callers have */
};

/* An empty list. NULL if out of memory. */
struct kp_list *kp_list_new(struct kp_origin *origin);
void kp_list_free(struct kp_list *list);
struct kp_origin *kp_list_origin(const struct kp_list *list);

/* A zeroed row at the end; NULL if out of memory. Valid until the next call. */
struct PmuData *kp_list_add(struct kp_list *list);

/* The frames of a row; NULL: none. */
const struct kp_frames *kp_list_frames(const struct kp_list *list, size_t row);

/* Sets the frames of a row. 0 or -ENOMEM. */
int kp_list_set_frames(struct kp_list *list, size_t row, struct kp_frames *frames);

/* Memory that lives as long as the rows; NULL if out of memory. */
void *kp_list_alloc(struct kp_list *list, size_t size);

/* Appends rows of another list, of which `to` keeps the memory. 0 or -ENOMEM. */
int kp_list_append(struct kp_list *to, const struct kp_list *from);

/* The caller gets the array; an empty list is freed and is NULL. */
struct PmuData *kp_list_publish(struct kp_list *list);

/* The same with an array of another type, from malloc(3); NULL: nothing. */
void *kp_list_publish_as(struct kp_list *list, void *array);

/* The list of an array that a caller has, NULL: there is none. */
struct kp_list *kp_list_find(const void *array);

/* Frees the list of an array that a caller has; otherwise the call of the function has failed. */
void kp_list_release(const void *array, const char *function);

/* Sets the stacks of all rows that have frames. Takes the locks of origins. 0 or -ENOMEM. */
int kp_list_resolve(struct kp_list *list);

/* What precedes the bytes of SampleRawData.data. */
struct kp_raw {
	uint64_t magic; /* KP_RAW_MAGIC */
	struct kp_origin *origin;
	const struct attar_format *format;
	size_t size;
	char bytes[];
};
#define KP_RAW_MAGIC UINT64_C(0x6b70657266726177)

/* The bytes of a tracepoint's record; NULL: it has none. */
const struct kp_raw *kp_raw_of(const struct PmuData *row);

/* A copy of a tracepoint's record; NULL if out of memory. */
struct SampleRawData *kp_raw_new(
	struct kp_list *list, const struct attar_format *format, const void *bytes, size_t size);

#endif
