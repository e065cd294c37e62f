/* SPDX-License-Identifier: MIT */
/*
 * The thread that sends batches, oldest first: first the batches of the spool, then those in
 * memory. A profiler never waits for it. While the server is away, batches go to the spool, and the
 * thread tries again after a second, later after half a minute. What the spool does not take is
 * dropped and counted.
 */
#include "report/sinks/clickhouse/clickhouse.h"

#include <ctype.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

#include "attar/private/report.h"
#include "base/map.h"
#include "base/rights.h"

#define SECOND_NS 1000000000ULL

enum {
	TICK_MS = 250,
	BACKOFF_MAX_S = 30,
	SPOOL_ABOVE = 64 << 20, /* bytes of batches that wait in memory */
	DROP_ABOVE = 192 << 20, /* the disk is too slow, too */
	MESSAGES_MAX = 8192,
};

struct sender {
	struct clickhouse_url url;
	struct transport *transport; /* this and the next ones are the thread's */
	struct spool *spool;         /* NULL: there is none */
	struct tables tables;
	uint64_t retry_at;  /* base_now(); 0: the last attempt did not fail */
	uint64_t retry_s;   /* the pause before it */
	bool may_be_stored; /* after the last failure, it is unknown what the server did */
	struct buf failure; /* the last one that was logged; "": the last attempt did not fail */
	struct buf drops;   /* the last reason that was logged */
	struct buf trouble; /* with the spool, that was logged */
	struct map spooled; /* numbers of this run's batches in the spool -> rows */

	pthread_t thread;
	bool is_running;
	pthread_mutex_t lock; /* of all that follows */
	pthread_cond_t work, done;
	VEC(struct batch *) open; /* not full yet */
	struct batch *oldest, **end;
	size_t waiting; /* bytes of these */
	size_t before;  /* the same, before the current report */
	struct attar_delivery counts;
	uint64_t losses;
	struct buf messages; /* to be logged by the owner's thread */
	bool is_closing;
	uint64_t wanted, finished; /* calls of sender_finish() */
	uint64_t finish_by;        /* base_now(); 0: no limit */
};

/* ---- messages and counts: with the lock ---- */

static void log_line(struct sender *s, const char *text)
{
	if (s->messages.len + strlen(text) < MESSAGES_MAX)
		buf_printf(&s->messages, "%s\n", text);
}

/* What differs from the last text of its kind. */
static void log_once(struct sender *s, struct buf *last, const char *text)
{
	if (last->len && !strcmp(buf_text(last), text))
		return;
	buf_reset(last);
	buf_str(last, text);
	log_line(s, text);
}

/* Each reason once. */
static void sender_drop(struct sender *s, uint64_t rows, const char *why)
{
	struct buf text _cleanup_(buf_done) = {0};

	s->counts.dropped += rows;
	s->losses++;
	buf_printf(&text, "%s: rows are dropped: %s", s->url.name, why);
	log_once(s, &s->drops, buf_text(&text));
}

/* Rows of the spool that are not in the counts of this run. */
static void drop_foreign(struct sender *s, uint64_t rows, const char *why)
{
	struct buf text _cleanup_(buf_done) = {0};

	s->losses++;
	buf_printf(&text, "%s: %llu row%s of another run %s dropped: %s", s->url.name,
		(unsigned long long)rows, PLURAL_S(rows), rows == 1 ? "is" : "are", why);
	log_line(s, buf_text(&text));
}

static void drop_batch(struct sender *s, struct batch *batch, const char *why)
{
	sender_drop(s, batch->rows, why);
	batch_free(batch);
}

/* ---- the queue: with the lock ---- */

static void sender_push(struct sender *s, struct batch *batch)
{
	if (buf_failed(&batch->body)) {
		drop_batch(s, batch, "out of memory");
		return;
	}
	if (MIN(s->before, s->waiting) > DROP_ABOVE) {
		drop_batch(s, batch, "neither the server nor the disk is fast enough");
		return;
	}
	batch->next = NULL;
	*s->end = batch;
	s->end = &batch->next;
	s->waiting += batch->body.len;
	pthread_cond_signal(&s->work);
}

static struct batch *sender_pop(struct sender *s)
{
	struct batch *batch = s->oldest;

	if (!batch)
		return NULL;
	s->oldest = batch->next;
	if (!s->oldest)
		s->end = &s->oldest;
	s->waiting -= batch->body.len;
	return batch;
}

static void push_back(struct sender *s, struct batch *batch)
{
	batch->next = s->oldest;
	s->oldest = batch;
	if (!batch->next)
		s->end = &batch->next;
	s->waiting += batch->body.len;
}

/* Those that began a second ago, or all. */
static void close_batches(struct sender *s, bool all)
{
	uint64_t now = base_now();
	size_t kept = 0;

	for (size_t i = 0; i < s->open.n; i++) {
		struct batch *batch = s->open.at[i];

		if (batch->rows && (all || now - batch->began >= SECOND_NS))
			sender_push(s, batch);
		else
			s->open.at[kept++] = batch;
	}
	s->open.n = kept;
}

/* ---- the spool: without the lock ---- */

/* Rows of this run waited until now. Returns the rows that are known of. */
static uint64_t count_damage(struct sender *s, const struct spool_damage *damage)
{
	const uint64_t *own = damage->id ? map_get(&s->spooled, damage->id) : NULL;
	uint64_t rows = own ? *own : damage->rows;

	pthread_mutex_lock(&s->lock);
	s->counts.damaged++;
	s->losses++;
	if (own) {
		s->counts.waiting -= rows;
		s->counts.dropped += rows;
		map_remove(&s->spooled, damage->id);
	}
	pthread_mutex_unlock(&s->lock);
	return rows;
}

static void count_damaged(struct sender *s)
{
	struct buf text _cleanup_(buf_done) = {0};
	struct spool_damage damage;
	uint64_t rows = 0, files = 0;

	for (; spool_take_damaged(s->spool, &damage); files++)
		rows += count_damage(s, &damage);
	if (!files)
		return;
	buf_printf(&text,
		"%s: %llu damaged file%s of the spool %s %s removed, with at least %llu row%s",
		s->url.name, (unsigned long long)files, PLURAL_S(files), spool_path(s->spool),
		files == 1 ? "was" : "were", (unsigned long long)rows, PLURAL_S(rows));
	pthread_mutex_lock(&s->lock);
	log_line(s, buf_text(&text));
	pthread_mutex_unlock(&s->lock);
}

/* Takes over the batch. */
static void spool_batch(struct sender *s, struct batch *batch)
{
	int e = s->spool ? spool_put(s->spool, batch) : attar_fail(-ENOENT, "there is no spool");

	pthread_mutex_lock(&s->lock);
	if (e < 0) {
		sender_drop(s, batch->rows, attar_error());
	} else {
		s->counts.waiting += batch->rows;
		/* a failure makes only the sums less exact */
		map_put(&s->spooled, batch->id, batch->rows);
	}
	pthread_mutex_unlock(&s->lock);
	attar_error_clear();
	batch_free(batch);
}

static void spool_down_to(struct sender *s, size_t bytes)
{
	for (;;) {
		struct batch *batch;

		pthread_mutex_lock(&s->lock);
		batch = s->waiting > bytes || !bytes ? sender_pop(s) : NULL;
		pthread_mutex_unlock(&s->lock);
		if (!batch)
			return;
		spool_batch(s, batch);
	}
}

/* During a request. Returns whether to end it: sender_finish() waits no longer. */
static bool turn(void *ctx)
{
	struct sender *s = ctx;
	uint64_t by;

	spool_down_to(s, SPOOL_ABOVE);
	pthread_mutex_lock(&s->lock);
	close_batches(s, false);
	by = s->finish_by;
	pthread_mutex_unlock(&s->lock);
	return by && base_now() > by;
}

/* ---- sending: without the lock ---- */

/* Whether a batch that was sent before is stored: *ret_rows of it. */
static int query_stored(struct sender *s, const struct batch *batch, uint64_t *ret_rows)
{
	struct buf sql _cleanup_(buf_done) = {0}, answer _cleanup_(buf_done) = {0};
	char *end;
	int e;

	buf_printf(&sql,
		"SELECT (SELECT count() FROM system.processes WHERE query_id = 'attar-%016llx'), "
		"count() FROM %.*s WHERE date = toDate(%u) AND batch = %llu",
		(unsigned long long)batch->id, (int)strcspn(batch->table, "\n"), batch->table,
		batch->date, (unsigned long long)batch->id);
	e = buf_failed(&sql) ? base_oom() : transport_query(s->transport, buf_text(&sql), &answer);
	if (e < 0)
		return e;
	if (strtoull(buf_text(&answer), &end, 10) || end == buf_text(&answer) || *end != '\t')
		return attar_fail(TRANSPORT_UNKNOWN, "the server is still storing a batch");
	if (isdigit((unsigned char)*++end))
		*ret_rows = strtoull(end, &end, 10);
	return strcmp(end, "\n") == 0 && isdigit((unsigned char)end[-1])
		       ? 0
		       : attar_fail(TRANSPORT_UNKNOWN,
				 "the response of the server is not in the format of ClickHouse");
}

/* Frees a batch of which so many rows are stored, and the others dropped. */
static void account(struct sender *s, struct batch *batch, uint64_t rows, const char *why)
{
	bool is_stacks = !strncmp(batch->table, "attar_stacks\n", 13); /* equal rows are merged */
	uint64_t stored = rows && is_stacks ? batch->rows : MIN(rows, (uint64_t)batch->rows);
	bool is_own = true;

	if (batch->is_spooled)
		spool_remove(s->spool);
	pthread_mutex_lock(&s->lock);
	if (batch->is_spooled)
		is_own = map_remove(&s->spooled, batch->id);
	if (batch->is_spooled && is_own)
		s->counts.waiting -= batch->rows;
	*(is_own ? &s->counts.stored : &s->counts.drained) += stored;
	if (stored < batch->rows)
		(is_own ? sender_drop : drop_foreign)(s, batch->rows - stored, why);
	pthread_mutex_unlock(&s->lock);
	batch_free(batch);
}

/* The rows do not fit the table: they never will. */
static bool is_hopeless(const struct transport *t)
{
	static const unsigned exceptions[] = {26 /* CANNOT_PARSE_QUOTED_STRING */,
		27 /* CANNOT_PARSE_INPUT_ASSERTION_FAILED */, 33 /* CANNOT_READ_ALL_DATA */,
		117 /* INCORRECT_DATA */, 131 /* TOO_LARGE_STRING */};
	unsigned exception = transport_exception(t);

	for (size_t i = 0; i < ARRAY_SIZE(exceptions); i++)
		if (exceptions[i] == exception)
			return true;
	return false;
}

/* Frees the batch if it is stored or dropped; otherwise the caller still owns it. */
static int send_batch(struct sender *s, struct batch *batch)
{
	const char *insert;
	uint64_t rows = 0;
	int e = tables_prepare(&s->tables, s->transport, batch->table, &insert);

	if (e == 0 && (batch->may_be_stored || batch->is_spooled))
		e = query_stored(s, batch, &rows);
	if (e < 0)
		return e;
	if (!rows) {
		e = transport_insert(s->transport, insert, batch->id, &batch->body);
		batch->may_be_stored |= e == TRANSPORT_UNKNOWN || e == TRANSPORT_REFUSED;
		rows = batch->rows;
	}
	if (e < 0 && !(e == TRANSPORT_REFUSED && is_hopeless(s->transport)))
		return e;
	account(s, batch, e < 0 ? 0 : rows,
		e < 0 ? attar_error() : "the server has only a part of a batch");
	return 0;
}

/* NULL: there is none that can be sent now. */
static struct batch *take_spooled(struct sender *s)
{
	struct buf text _cleanup_(buf_done) = {0};
	struct batch *batch;

	if (spool_oldest(s->spool, &batch) < 0) {
		buf_printf(&text, "%s: %s", s->url.name, attar_error());
		attar_error_clear();
		pthread_mutex_lock(&s->lock);
		log_once(s, &s->trouble, buf_text(&text));
		pthread_mutex_unlock(&s->lock);
	}
	count_damaged(s);
	return batch;
}

static struct batch *take_oldest(struct sender *s)
{
	struct batch *batch = s->spool ? take_spooled(s) : NULL;

	if (batch)
		return batch;
	pthread_mutex_lock(&s->lock);
	batch = sender_pop(s);
	pthread_mutex_unlock(&s->lock);
	return batch;
}

static int send_all(struct sender *s)
{
	int e = tables_check(&s->tables, s->transport);

	while (e == 0) {
		struct batch *batch = turn(s) ? NULL : take_oldest(s);

		if (!batch)
			return 0;
		e = send_batch(s, batch);
		if (e < 0 && batch->is_spooled) {
			batch_free(batch);
		} else if (e < 0) {
			pthread_mutex_lock(&s->lock);
			push_back(s, batch);
			pthread_mutex_unlock(&s->lock);
		}
	}
	return e;
}

/* ---- the thread ---- */

/* Each failure that differs from the one before is reported. */
static void note_failure(struct sender *s, int e)
{
	struct buf text _cleanup_(buf_done) = {0};

	buf_printf(&text, "%s: %s", s->url.name, attar_error());
	attar_error_clear();
	s->retry_s = s->retry_s ? MIN(s->retry_s * 2, (uint64_t)BACKOFF_MAX_S) : 1;
	s->retry_at = base_now() + s->retry_s * SECOND_NS;
	s->may_be_stored = e != TRANSPORT_AWAY;
	tables_forget(&s->tables); /* another server may answer the next time */
	pthread_mutex_lock(&s->lock);
	log_once(s, &s->failure, buf_text(&text));
	pthread_mutex_unlock(&s->lock);
}

static void note_success(struct sender *s)
{
	s->retry_at = s->retry_s = 0;
	pthread_mutex_lock(&s->lock);
	buf_reset(&s->failure);
	pthread_mutex_unlock(&s->lock);
}

/*
 * A server that was stopped executes the requests that it has received when it continues: wait a
 * second after the failure before asking whether the batch is stored.
 */
static void wait_before_asking(struct sender *s)
{
	if (!s->may_be_stored || !s->retry_s)
		return;
	while (base_now() < s->retry_at - (s->retry_s - 1) * SECOND_NS && !turn(s))
		usleep(10000);
}

static void pass(struct sender *s, bool is_last)
{
	int e;

	if (is_last)
		wait_before_asking(s);
	if (is_last || base_now() >= s->retry_at) {
		e = send_all(s);
		if (e < 0)
			note_failure(s, e);
		else
			note_success(s);
	}
	if (is_last || s->retry_at)
		spool_down_to(s, 0);
}

/* With the lock. */
static void wait_for_work(struct sender *s)
{
	struct timespec until;

	if (s->wanted != s->finished || (s->oldest && !s->retry_at))
		return;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += TICK_MS * 1000000L;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_cond_timedwait(&s->work, &s->lock, &until);
}

static void *work(void *ctx)
{
	struct sender *s = ctx;
	bool is_first = true;

	rights_drop(~RIGHTS_FOR_FILES, true);
	pthread_mutex_lock(&s->lock);
	while (!s->is_closing || s->wanted != s->finished) {
		uint64_t wanted;

		if (!is_first)
			wait_for_work(s);
		is_first = false;
		wanted = s->wanted;
		close_batches(s, wanted != s->finished);
		pthread_mutex_unlock(&s->lock);
		pass(s, wanted != s->finished);
		pthread_mutex_lock(&s->lock);
		s->finished = wanted;
		pthread_cond_broadcast(&s->done);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

/* ---- for the renderer ---- */

static void init(struct sender *s)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->work, &attr);
	pthread_cond_init(&s->done, &attr);
	pthread_condattr_destroy(&attr);
	s->end = &s->oldest;
}

/* The thread takes no signals: those are for the main one. */
static int start(struct sender *s)
{
	sigset_t all, before;
	int e;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	e = pthread_create(&s->thread, NULL, work, s);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	s->is_running = e == 0;
	return e ? attar_fail(-e, "cannot start a thread: %s", strerror(e)) : 0;
}

int sender_start(struct clickhouse_url *url, struct sender **ret_sender)
{
	struct sender *s = calloc(1, sizeof(*s));
	int e;

	if (!s) {
		clickhouse_url_done(url);
		return base_oom();
	}
	s->url = *url;
	*url = (struct clickhouse_url){0};
	init(s);
	e = spool_open(&s->url, &s->spool);
	if (e == 0)
		e = transport_new(&s->url, &s->transport);
	if (e == 0) {
		transport_watch(s->transport, turn, s);
		e = start(s);
	}
	if (e < 0) {
		sender_free(s);
		return e;
	}
	*ret_sender = s;
	return 0;
}

void sender_lock(struct sender *s)
{
	pthread_mutex_lock(&s->lock);
	s->before = s->waiting;
}

void sender_unlock(struct sender *s)
{
	pthread_mutex_unlock(&s->lock);
}

struct batch *sender_batch(struct sender *s, const char *table, uint16_t date)
{
	struct batch *batch;

	vec_each (&s->open, it)
		if ((*it)->date == date && !strcmp((*it)->table, table))
			return *it;
	batch = batch_new(table, date);
	if (!batch || vec_push(&s->open, batch) < 0)
		return batch_free(batch);
	return batch;
}

bool sender_end_row(struct sender *s, struct batch *batch)
{
	batch->rows++;
	s->counts.rows++;
	if (batch->rows < BATCH_ROWS_MAX && batch->body.len < BATCH_BYTES_MAX &&
		!buf_failed(&batch->body))
		return true;
	vec_each (&s->open, it)
		if (*it == batch) {
			*it = s->open.at[--s->open.n];
			break;
		}
	sender_push(s, batch);
	return false;
}

uint64_t sender_losses(struct sender *s)
{
	return s->losses;
}

const struct clickhouse_url *sender_url(const struct sender *s)
{
	return &s->url;
}

void sender_turn(struct sender *s)
{
	struct buf text _cleanup_(buf_done) = {0};
	char *save = NULL;

	pthread_mutex_lock(&s->lock);
	text = s->messages;
	s->messages = (struct buf){0};
	pthread_mutex_unlock(&s->lock);
	if (!text.len)
		return;
	for (char *line = strtok_r(text.data, "\n", &save); line;
		line = strtok_r(NULL, "\n", &save))
		log_warn("%s", line);
}

void sender_finish(struct sender *s)
{
	uint64_t number;

	pthread_mutex_lock(&s->lock);
	number = ++s->wanted;
	s->finish_by = base_now() + s->url.timeout_ns;
	pthread_cond_signal(&s->work);
	while (s->is_running && s->finished < number)
		pthread_cond_wait(&s->done, &s->lock);
	s->finish_by = 0;
	pthread_mutex_unlock(&s->lock);
	sender_turn(s);
}

void sender_get_delivery(struct sender *s, struct attar_delivery *ret_delivery)
{
	pthread_mutex_lock(&s->lock);
	*ret_delivery = s->counts;
	pthread_mutex_unlock(&s->lock);
}

static void log_sums(struct sender *s)
{
	const struct attar_delivery *c = &s->counts;
	struct buf text _cleanup_(buf_done) = {0};

	buf_printf(&text, "%s: ", s->url.name);
	buf_grouped(&text, c->rows);
	buf_printf(&text, " row%s, ", PLURAL_S(c->rows));
	buf_grouped(&text, c->stored);
	buf_str(&text, " stored, ");
	buf_grouped(&text, c->dropped);
	buf_str(&text, " dropped");
	if (c->waiting) {
		buf_str(&text, ", ");
		buf_grouped(&text, c->waiting);
		buf_printf(
			&text, " wait%s in %s", c->waiting == 1 ? "s" : "", spool_path(s->spool));
	}
	if (c->drained) {
		buf_str(&text, ", ");
		buf_grouped(&text, c->drained);
		buf_str(&text, " of earlier runs stored");
	}
	if (c->dropped)
		log_warn("%s", buf_text(&text));
	else
		log_note("%s", buf_text(&text));
}

struct sender *sender_free(struct sender *s)
{
	if (s->is_running) {
		sender_finish(s);
		pthread_mutex_lock(&s->lock);
		s->is_closing = true;
		pthread_cond_signal(&s->work);
		pthread_mutex_unlock(&s->lock);
		pthread_join(s->thread, NULL);
		log_sums(s);
	}
	vec_each (&s->open, it)
		batch_free(*it);
	vec_done(&s->open);
	tables_forget(&s->tables);
	transport_free(s->transport);
	spool_free(s->spool);
	buf_done(&s->messages);
	buf_done(&s->failure);
	buf_done(&s->drops);
	buf_done(&s->trouble);
	map_done(&s->spooled);
	pthread_cond_destroy(&s->work);
	pthread_cond_destroy(&s->done);
	pthread_mutex_destroy(&s->lock);
	clickhouse_url_done(&s->url);
	free(s);
	return NULL;
}
