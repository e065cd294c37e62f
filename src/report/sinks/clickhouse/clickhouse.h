/* SPDX-License-Identifier: MIT */
/*
 * Shared by the parts of the sink for ClickHouse, -o clickhouse://HOST/DATABASE:
 *
 *	clickhouse.c            sections of a report become rows
 *	clickhouse_tables.c     the definitions of tables, and their columns on the server
 *	clickhouse_batch.h      rows of a table on their way
 *	clickhouse_sender.c     the thread that sends batches
 *	clickhouse_spool.c      batches on the disk while the server is away
 *	clickhouse_transport.c  HTTP
 *	clickhouse_url.c        the address and its parameters
 *	clickhouse_read.c       reports of a time range, for attar diff
 *
 * docs/fleet.md describes tables, batches and the format of spool files.
 */
#ifndef REPORT_SINKS_CLICKHOUSE_CLICKHOUSE_H
#define REPORT_SINKS_CLICKHOUSE_CLICKHOUSE_H

#include "attar/private/report.h"
#include "report/sinks/clickhouse/batch.h"
#include "base/vec.h"
#include "report/sinks/render.h"

/* ---- the address ---- */

struct clickhouse_url {
	char *name;     /* "clickhouse[s]://HOST:PORT/DATABASE", for messages */
	char *base;     /* "http[s]://HOST:PORT/" */
	char *folder;   /* the name of its folder in the spool */
	char *user;     /* "": the server's default */
	char *password; /* "": none */
	char *database;
	char *service; /* values of columns */
	char *host;
	char *spool; /* the directory; NULL: the default one */
	char *ca;    /* a file of certificates that are trusted; NULL: certificates of the system */
	bool tls, is_loopback;
	bool is_insecure; /* the password can be sent without TLS */
	uint64_t quota, timeout_ns;
	/* Only for reading, see report/sinks/clickhouse/input.h. */
	uint64_t from, to; /* ns since 1970; 0: not given */
	char *profiler;    /* NULL: any */
	bool has_host;     /* host was given: it is not the name of this machine */
};

/*
 * Reads the text of -o. Returns 0 or -EINVAL, -EIO or -ENOMEM with an error message; *ret is to be
 * freed in any case.
 */
int clickhouse_url_parse(const char *text, struct clickhouse_url *ret);
void clickhouse_url_done(struct clickhouse_url *url);

/* ---- requests ---- */

struct transport;

/*
 * How requests fail: each has an error message. TRANSPORT_AWAY: the server was not reached, so that
 * it has not done anything. TRANSPORT_UNKNOWN: it may have. TRANSPORT_REFUSED: it said why not.
 */
enum { TRANSPORT_AWAY = -ECONNREFUSED, TRANSPORT_UNKNOWN = -EIO, TRANSPORT_REFUSED = -EPROTO };

/* Returns 0, or a negative errno with an error message. url is borrowed. */
int transport_new(const struct clickhouse_url *url, struct transport **ret_transport);
struct transport *transport_free(struct transport *t);

/* Called some times a second during requests. Returning true ends the request: UNKNOWN. */
void transport_watch(struct transport *t, bool (*turn)(void *ctx), void *ctx);

/* How many bytes an answer may have; 1 MiB at first. */
void transport_limit(struct transport *t, size_t bytes);

/* Executes a query and replaces the contents of answer (may be NULL). */
int transport_query(struct transport *t, const char *query, struct buf *answer);

/* Inserts the rows in body; id names the query on the server. */
int transport_insert(struct transport *t, const char *query, uint64_t id, const struct buf *body);

/* The number of the server's exception after TRANSPORT_REFUSED; 0: unknown. */
unsigned transport_exception(const struct transport *t);

/* ---- tables ---- */

enum { TABLES_VERSION = 1 };

struct table_insert {
	char *table, *insert;
};

/* The state of the tables on the server. */
struct tables {
	bool is_checked; /* attar_schema has our version */
	VEC(struct table_insert) known;
};

/* Begins the text of a table, see struct batch, with the columns that all tables have. */
void tables_begin(struct buf *table, const char *name);

/*
 * Appends a column with the name of a section's column, with the unit; a name that is in the
 * table already gets a number.
 */
void tables_add(struct buf *table, const char *name, enum attar_unit unit, const char *type);

/* Appends a name to the name of a table: letters, digits and _ only. */
void tables_add_name(struct buf *name, const char *text);

/* The type of a section's columns of this unit. */
const char *tables_type(enum attar_unit unit);

/* Whether a text from a file names a table, so that it can be part of a query. */
bool tables_is_valid(const char *table);

/* Checks the version of the tables, once. Returns 0, or as transport_query(). */
int tables_check(struct tables *t, struct transport *transport);

/*
 * Creates the table, or adds the columns that it lacks, and gives the query that inserts rows,
 * borrowed until tables_forget(). Returns 0, or as transport_query().
 */
int tables_prepare(
	struct tables *t, struct transport *transport, const char *table, const char **ret_insert);
void tables_forget(struct tables *t);

/* ---- the spool ---- */

struct spool;

/*
 * Returns 0, or a negative errno with an error message if there is no directory that can be used.
 */
int spool_open(const struct clickhouse_url *url, struct spool **ret_spool);
struct spool *spool_free(struct spool *spool);

/* The directory, for messages. */
const char *spool_path(const struct spool *spool);

/*
 * Writes a batch to a file. Returns 0; -EDQUOT: the quota is reached; or another negative errno;
 * with an error message.
 */
int spool_put(struct spool *spool, const struct batch *batch);

/*
 * Reads the oldest batch; the caller frees it, and calls spool_remove() once it is stored, before
 * the next call. *ret_batch NULL: there is none, or another process is sending them. Damaged files
 * are removed, and counted. Returns 0, or a negative errno with an error message: the file or the
 * lock of the directory cannot be used now.
 */
int spool_oldest(struct spool *spool, struct batch **ret_batch);
void spool_remove(struct spool *spool);

/* A damaged file that was removed. */
struct spool_damage {
	uint64_t id;   /* of the batch, as its name says; 0: unknown */
	uint32_t rows; /* 0: unknown, the head is damaged */
};

/* Takes one of those that were not taken yet. False: there is none. */
bool spool_take_damaged(struct spool *spool, struct spool_damage *ret_damage);

/* ---- the thread ---- */

struct sender;

/*
 * Starts the thread. Takes over url in any case. Returns 0 or a negative errno with an error
 * message.
 */
int sender_start(struct clickhouse_url *url, struct sender **ret_sender);

/*
 * Around the calls of sender_batch() and sender_end_row() of a report. The thread can send nothing
 * meanwhile: rows are dropped only if there were too many before.
 */
void sender_lock(struct sender *s);
void sender_unlock(struct sender *s);

/* The batch for the next row of a table; NULL: out of memory. */
struct batch *sender_batch(struct sender *s, const char *table, uint16_t date);

/* The row is complete. Returns whether the batch has room for another one. */
bool sender_end_row(struct sender *s, struct batch *batch);

/* How often rows were dropped: what was sent once may be gone. */
uint64_t sender_losses(struct sender *s);

const struct clickhouse_url *sender_url(const struct sender *s);

/* Logs the messages of the thread. */
void sender_turn(struct sender *s);

/* Sends all rows, or writes them to the spool, within the timeout. */
void sender_finish(struct sender *s);
void sender_get_delivery(struct sender *s, struct attar_delivery *ret_delivery);

/* Finishes, and logs the sums unless quiet is set. Returns NULL. */
struct sender *sender_free(struct sender *s);

#endif
