/* SPDX-License-Identifier: CC0-1.0 */
/* A program with events: claims one of its collector slots, enables and disables its events. */
#include "writer.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#define LEASE_NS         3000000000ULL
#define LOCK_BELIEVED_NS 1000000000ULL
#define MIN_RING         (64U << 10)
#define MAX_RING         (64U << 20)

/* ---- its memory ---- */

/*
 * Takes the program's lock, which prevents it from unmapping its enable words. A killed collector
 * may have left the lock held, so it is ignored after one second.
 */
static int lock_area(struct area *area, int respect_lock)
{
	uint32_t open = 0;
	int tries = 10;

	while (!__atomic_compare_exchange_n(
		       &area->lock, &open, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED) &&
		--tries) {
		open = 0;
		usleep(100);
	}
	return tries || !respect_lock;
}

static void unlock_area(struct area *area)
{
	__atomic_store_n(&area->lock, 0, __ATOMIC_RELEASE);
}

struct word_update {
	const struct writer *writer;
	int respect_lock; /* respect the lock if it is held */
};

/* Sets the enable words of events to be enabled. Returns 1 if the lock is held. */
static int set_words(const void *ctx)
{
	const struct word_update *update = ctx;
	const struct writer *writer = update->writer;
	uint32_t i;

	if (!lock_area(writer->area, update->respect_lock))
		return 1;
	for (i = 0; i < writer->n_events; i++) {
		const struct area_slot *slot = &writer->area->slots[i];

		if (writer->events[i]->pending && __atomic_load_n(&slot->live, __ATOMIC_RELAXED))
			(void)!pwrite(writer->mem, "\1", 1, (off_t)slot->word + 1);
	}
	unlock_area(writer->area);
	return 0;
}

/*
 * Returns whether the pages of the enable words are present, so that access does not block. A
 * process of our own user could remove them in the meantime, but it could also stop this process.
 */
static int words_are_resident(const struct writer *writer)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), entry;
	int resident = writer->user->uid == geteuid();
	uint32_t i;

	for (i = 0; i < writer->n_events && resident; i++)
		if (writer->events[i]->pending)
			resident = pread(writer->pages, &entry, sizeof(entry),
					   (off_t)((writer->area->slots[i].word + 1) / page *
						   sizeof(entry))) == sizeof(entry) &&
				   entry >> 63;
	return resident;
}

static int set_words_safely(const struct word_update *update)
{
	if (update->writer->mem < 0)
		return -EACCES;
	return words_are_resident(update->writer) ? set_words(update)
						  : perfume_helper_process(set_words, update,
							    &update->writer->user->patience_ns);
}

static void give_up_writing(struct perfume_collector *c, struct writer *writer)
{
	c->past.refused += !writer->refused;
	writer->refused = 1;
	if (writer->mem >= 0)
		close(writer->mem);
	writer->mem = -1;
}

/*
 * Each program of another user takes a process, and longer if its lock is held: those for which
 * there is no time wait for the next poll.
 */
static int set_words_in_time(
	struct perfume_collector *c, const struct word_update *update, uint64_t now)
{
	struct user *user = update->writer->user;
	uint64_t took;
	int result;

	if (perfume_user_is_trusted(user))
		return set_words_safely(update);
	if (user->enabling_ns > ENABLE_USER_NS || c->enabling_ns > ENABLE_OTHERS_NS)
		return -EAGAIN;
	result = set_words_safely(update);
	took = perfume_collector_now() - now;
	user->enabling_ns += took;
	c->enabling_ns += took;
	return result;
}

/* Enables pending events; if the lock is held, retries at the next visit. */
static void enable_pending(struct perfume_collector *c, struct writer *writer)
{
	uint64_t now = perfume_collector_now();
	struct word_update update = {
		writer, !writer->locked_since || now - writer->locked_since < LOCK_BELIEVED_NS};
	int result = set_words_in_time(c, &update, now);
	uint32_t i;

	if (result == 1 && !writer->locked_since)
		writer->locked_since = now;
	if (result == -ETIMEDOUT)
		unlock_area(writer->area);
	if (result == -ETIMEDOUT || result == -EACCES)
		give_up_writing(c, writer);
	if (result == 1 || (result < 0 && !writer->refused))
		return;
	writer->locked_since = 0;
	for (i = 0; i < writer->n_events; i++)
		writer->events[i]->pending = 0;
}

/*
 * Returns whether the program has exited. Its /proc/PID/pagemap returns EOF after exit, even if the
 * PID is reused; while it runs, reading a part of an entry is an error. Other files need a lock of
 * the memory, which the program can hold for ever: a thread reads memory that never arrives, and
 * another one maps some.
 */
static int ended(const struct writer *writer)
{
	char byte;

	if (writer->pages < 0)
		return kill(writer->pid, 0) < 0 && errno == ESRCH;
	return pread(writer->pages, &byte, 1, 0) == 0;
}

/* Returns whether the process has this area mapped. */
static int has_area(pid_t pid, ino_t ino)
{
	unsigned long long line_ino;
	char line[512], name[64];
	FILE *maps;
	int found = 0;

	snprintf(line, sizeof(line), "/proc/%d/maps", (int)pid);
	maps = fopen(line, "re");
	while (maps && !found && fgets(line, sizeof(line), maps))
		found = sscanf(line, "%*s %*s %*s %*s %llu %63s", &line_ino, name) == 2 &&
			line_ino == ino && !strcmp(name, "/memfd:" AREA_NAME);
	if (maps)
		fclose(maps);
	return found;
}

/*
 * Gets the PID of a process in its own PID namespace, and its fsuid. Returns false if the process
 * has exited.
 */
static int read_status(pid_t pid, uint32_t *ret_own_pid, uint32_t *ret_user)
{
	char line[256], *last;
	FILE *status;

	snprintf(line, sizeof(line), "/proc/%d/status", (int)pid);
	status = fopen(line, "re");
	*ret_own_pid = (uint32_t)pid;
	*ret_user = UINT32_MAX;
	while (status && fgets(line, sizeof(line), status)) {
		sscanf(line, "Uid: %*u %*u %*u %u", ret_user);
		last = strrchr(line, '\t');
		if (!strncmp(line, "NSpid:", 6) && last)
			*ret_own_pid = (uint32_t)strtoul(last, NULL, 10);
	}
	if (status)
		fclose(status);
	return status != NULL;
}

/*
 * Opens the memory of the process that owns the area. If the PID was reused meanwhile, either the
 * new process has not mapped the area, or the opened memory belongs to the exited process. A
 * program cannot make the collector write to the memory of another user that has mapped its area,
 * such as another collector.
 */
static void open_memory(struct writer *writer)
{
	uid_t owner = writer->user->uid;
	uint32_t own_pid, user;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)writer->pid);
	writer->mem = open(path, O_RDWR | O_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/%d/pagemap", (int)writer->pid);
	writer->pages = open(path, O_RDONLY | O_CLOEXEC);
	if (has_area(writer->pid, writer->ino) && read_status(writer->pid, &own_pid, &user) &&
		(!owner || owner == user))
		return;
	if (writer->mem >= 0)
		close(writer->mem);
	if (writer->pages >= 0)
		close(writer->pages);
	writer->mem = writer->pages = -1;
}

static void read_comm(pid_t pid, char comm[16])
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? 0 : read(fd, comm, 15);
	comm[n > 0 ? n : 0] = 0;
	comm[strcspn(comm, "\n")] = 0;
	if (fd >= 0)
		close(fd);
}

/* ---- the claim ---- */

static void renew(struct writer *writer)
{
	if (writer->claim >= 0)
		__atomic_store_n(&writer->area->claims[writer->claim].lease,
			perfume_collector_now() + LEASE_NS, __ATOMIC_RELEASE);
}

/* The slots of events, read in groups; memory of an area that nobody has written to stays free. */
struct slots {
	int fd;
	uint32_t first, n;
	struct area_slot at[64];
};

static void slots_begin(struct slots *slots, const struct writer *writer)
{
	slots->fd = writer->fd;
	slots->first = slots->n = 0;
}

/* Returns a copy of the slot, or NULL. */
static const struct area_slot *read_slot(struct slots *slots, uint32_t i)
{
	ssize_t n;

	if (i < slots->first || i >= slots->first + slots->n) {
		n = pread(slots->fd, slots->at, sizeof(slots->at),
			(off_t)(offsetof(struct area, slots) + i * sizeof(slots->at[0])));
		slots->first = i;
		slots->n = n > 0 ? (uint32_t)((size_t)n / sizeof(slots->at[0])) : 0;
	}
	return slots->n ? &slots->at[i - slots->first] : NULL;
}

/* Clear the `wanted` bits that the exited collector left behind. */
static void clear_claim(const struct writer *writer, int k)
{
	uint32_t n = __atomic_load_n(&writer->area->n_slots, __ATOMIC_ACQUIRE), i;
	const struct area_slot *slot;
	struct slots slots;

	slots_begin(&slots, writer);
	for (i = 0; i < n && n <= AREA_SLOTS && (slot = read_slot(&slots, i)) != NULL; i++)
		if (slot->wanted >> k & 1)
			__atomic_fetch_and(
				&writer->area->slots[i].wanted, ~(1u << k), __ATOMIC_RELAXED);
}

/* Returns the claim that the program made for us because it found us first, or -1. */
static int find_claim(const struct perfume_collector *c, const struct area *area)
{
	int k;

	for (k = 0; k < AREA_CLAIMS; k++)
		if (__atomic_load_n(&area->claims[k].id, __ATOMIC_ACQUIRE) == c->id)
			return k;
	return -1;
}

/* Returns a free claim, otherwise an expired one, otherwise -1. */
static int take_claim(const struct perfume_collector *c, const struct writer *writer)
{
	struct area *area = writer->area;
	uint64_t id, lease, now = perfume_collector_now();
	int k, expired;

	for (expired = 0; expired < 2; expired++)
		for (k = 0; k < AREA_CLAIMS; k++) {
			id = __atomic_load_n(&area->claims[k].id, __ATOMIC_ACQUIRE);
			lease = __atomic_load_n(&area->claims[k].lease, __ATOMIC_ACQUIRE);
			if (id && !(expired && lease && lease < now))
				continue;
			if (!__atomic_compare_exchange_n(&area->claims[k].id, &id, c->id, 0,
				    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
				continue;
			clear_claim(writer, k);
			memcpy(area->claims[k].patterns, c->patterns, sizeof(c->patterns));
			return k;
		}
	return -1;
}

/* ---- events ---- */

static int chosen(const struct perfume_collector *c, const char *name)
{
	char patterns[AREA_TEXT], *rest = patterns, *pattern;

	memcpy(patterns, c->patterns, sizeof(patterns));
	while ((pattern = strsep(&rest, ",")) != NULL)
		if (*pattern && !fnmatch(pattern, name, 0))
			return 1;
	return 0;
}

static int printable(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			return 0;
	return 1;
}

static void see_user(struct perfume_collector *c, uid_t uid)
{
	c->has_several_users |= c->has_first_user && c->first_user != uid;
	c->first_user = uid;
	c->has_first_user = 1;
}

/* Returns 0 or a negative errno. A program writes an event's text before it counts the event. */
static int learn_event(struct perfume_collector *c, struct writer *writer,
	const struct area_slot *slot, uint32_t i)
{
	size_t n = slot ? strnlen(slot->text, AREA_TEXT - 1) : 0;
	struct known_event *event;
	char *blank;

	if (!n) {
		perfume_writer_give_up(c, writer);
		return -EBADMSG;
	}
	event = calloc(1, sizeof(*event) + n + 1);
	if (!event)
		return -ENOMEM;
	memcpy(event->text, slot->text, n);
	blank = strchr(event->text, ' ');
	if (blank)
		*blank++ = 0;
	event->source.name = event->text;
	event->source.fields = blank ? blank : "";
	event->source.pid = writer->pid;
	event->source.comm = writer->comm;
	event->chosen = printable(event->source.name) && printable(event->source.fields) &&
			chosen(c, event->source.name);
	if (event->chosen && !writer->n_chosen++) {
		perfume_reader_count_from_here(writer);
		see_user(c, writer->user->uid);
	}
	writer->events[i] = event;
	c->n_events++;
	writer->user->n_events++;
	return 0;
}

static void learn_events(struct perfume_collector *c, struct writer *writer)
{
	uint32_t n = __atomic_load_n(&writer->area->n_slots, __ATOMIC_ACQUIRE);
	struct known_event **events;
	struct slots slots;

	if (n > AREA_SLOTS) {
		perfume_writer_give_up(c, writer);
		return;
	}
	if (n <= writer->n_events || writer->gone == 2)
		return;
	events = reallocarray(writer->events, n, sizeof(*events));
	if (!events)
		return;
	writer->events = events;
	slots_begin(&slots, writer);
	while (writer->n_events < n && c->n_events < MAX_EVENTS &&
		perfume_user_has_room(writer->user, writer->user->n_events, MAX_EVENTS) &&
		learn_event(c, writer, read_slot(&slots, writer->n_events), writer->n_events) >= 0)
		writer->n_events++;
}

/*
 * Sets our `wanted` bit for a selected event. The program clears it if the lease expired. Returns
 * true if the event has to be enabled.
 */
static int switch_on(struct perfume_collector *c, struct writer *writer, uint32_t i)
{
	struct area_slot *slot = &writer->area->slots[i];
	struct known_event *event = writer->events[i];
	uint32_t bit = 1u << writer->claim, before;

	if (!event->chosen || !__atomic_load_n(&slot->live, __ATOMIC_ACQUIRE)) {
		event->on = event->pending = 0;
		return 0;
	}
	before = __atomic_fetch_or(&slot->wanted, bit, __ATOMIC_SEQ_CST);
	if (event->on && !(before & bit))
		c->past.lapses++;
	event->on = 1;
	event->pending |= !(before & bit);
	return event->pending;
}

/* Another collector may have taken our claim while this process was stopped. */
static void keep_claim(struct perfume_collector *c, struct writer *writer)
{
	uint32_t i;

	if (!*c->patterns ||
		(writer->claim >= 0 && __atomic_load_n(&writer->area->claims[writer->claim].id,
					       __ATOMIC_ACQUIRE) == c->id))
		return;
	writer->claim = take_claim(c, writer);
	for (i = 0; i < writer->n_events; i++)
		writer->events[i]->pending = 0;
}

int perfume_is_possible(uint64_t records, uint64_t since)
{
	return records <= (perfume_collector_now() - since) / RECORD_NS;
}

void perfume_writer_give_up(struct perfume_collector *c, struct writer *writer)
{
	c->past.forged += writer->gone != 2;
	c->past.forged_user = writer->user->uid;
	writer->gone = 2;
}

static void count_without_ring(struct perfume_collector *c, struct writer *writer)
{
	uint64_t lost = __atomic_load_n(&writer->area->lost, __ATOMIC_RELAXED);
	uint64_t since = lost - writer->lost_no_ring_before;

	if (writer->gone == 2 || !since)
		return;
	if (!perfume_is_possible(since, writer->visited)) {
		perfume_writer_give_up(c, writer);
		return;
	}
	writer->lost_no_ring_before = lost;
	writer->lost_no_ring += since;
	if (writer->n_chosen)
		writer->user->lost += since;
}

void perfume_writer_visit(struct perfume_collector *c, struct writer *writer)
{
	uint32_t i, pending = 0;

	if (!writer->gone && ended(writer))
		writer->gone = 1;
	count_without_ring(c, writer);
	learn_events(c, writer);
	if (writer->gone)
		return;
	keep_claim(c, writer);
	if (writer->claim < 0)
		return;
	renew(writer);
	for (i = 0; i < writer->n_events; i++)
		pending += (uint32_t)switch_on(c, writer, i);
	if (pending)
		enable_pending(c, writer);
}

/* ---- users ---- */

void perfume_users_begin_poll(struct perfume_collector *c)
{
	struct user *user;

	c->enabling_ns = 0;
	for (user = c->users; user; user = user->next) {
		user->enabling_ns = 0;
		user->last_bytes = perfume_user_is_trusted(user) ? SIZE_MAX : LAST_BYTES;
	}
}

static struct user *user_of(struct perfume_collector *c, uid_t uid)
{
	struct user *user = c->users;

	while (user && user->uid != uid)
		user = user->next;
	if (user)
		return user;
	user = calloc(1, sizeof(*user));
	if (user) {
		user->uid = uid;
		user->patience_ns = PATIENCE_NS;
		user->next = c->users;
		c->users = user;
	}
	return user;
}

/*
 * A user for whom the collector has waited is not forgotten, so that it waits once only, nor one
 * whose programs have lost events.
 */
static void user_leave(struct perfume_collector *c, struct user *user)
{
	struct user **link = &c->users;

	if (--user->n_writers || user->patience_ns < PATIENCE_NS || user->lost)
		return;
	while (*link != user)
		link = &(*link)->next;
	*link = user->next;
	free(user);
}

int perfume_user_is_trusted(const struct user *user)
{
	return !user->uid || user->uid == geteuid();
}

int perfume_user_has_room(const struct user *user, uint32_t taken, uint32_t all)
{
	return taken < (perfume_user_is_trusted(user) ? all : all / SHARE_OF_USER);
}

/* ---- adding and removing programs ---- */

static uint32_t areas_of(const struct perfume_collector *c, pid_t pid)
{
	const struct writer *writer;
	uint32_t n = 0;

	for (writer = c->writers; writer; writer = writer->next)
		n += writer->pid == pid && !writer->gone;
	return n;
}

static int known(const struct perfume_collector *c, const struct stat *st)
{
	const struct writer *writer;

	for (writer = c->writers; writer; writer = writer->next)
		if (writer->dev == st->st_dev && writer->ino == st->st_ino)
			return 1;
	return 0;
}

/*
 * Accept only a memfd without huge pages whose size is sealed, because it cannot be truncated while
 * mapped.
 */
static int is_area(int fd, struct stat *ret_stat)
{
	const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	const long tmpfs = 0x01021994;
	int have = fcntl(fd, F_GET_SEALS);
	struct statfs fs;

	return have >= 0 && (have & seals) == seals && !fstat(fd, ret_stat) && !fstatfs(fd, &fs) &&
	       fs.f_type == tmpfs && (uint64_t)ret_stat->st_size > AREA_DATA;
}

static struct writer *writer_new(int fd, const struct stat *st)
{
	struct writer *writer = calloc(1, sizeof(*writer));
	uint64_t room = ((uint64_t)st->st_size - AREA_DATA) / AREA_RINGS;

	if (!writer)
		return NULL;
	writer->area = mmap(NULL, sizeof(struct area), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (writer->area == MAP_FAILED) {
		free(writer);
		return NULL;
	}
	writer->ring_size = writer->area->ring_size;
	if (writer->area->magic != AREA_MAGIC || writer->ring_size != room ||
		writer->ring_size < MIN_RING || writer->ring_size > MAX_RING ||
		writer->ring_size & (writer->ring_size - 1)) {
		munmap(writer->area, sizeof(struct area));
		free(writer);
		return NULL;
	}
	writer->fd = fd;
	writer->dev = st->st_dev;
	writer->ino = st->st_ino;
	return writer;
}

/* A forked child has its parent's area until it creates its own; collectors have it mapped, too. */
static int is_of_another(const struct area *area, pid_t pid)
{
	uint32_t own_pid, user;

	return read_status(pid, &own_pid, &user) && own_pid != area->pid;
}

int perfume_writer_add(struct perfume_collector *c, int fd, pid_t pid)
{
	struct writer *writer;
	struct user *user;
	struct stat st;

	if (!is_area(fd, &st) || known(c, &st) || areas_of(c, pid) >= MAX_AREAS) {
		close(fd);
		return 0;
	}
	user = user_of(c, st.st_uid);
	if (!user) {
		close(fd);
		return -ENOMEM;
	}
	user->n_writers++;
	writer = NULL;
	if (c->past.writers < MAX_WRITERS &&
		perfume_user_has_room(user, user->n_writers - 1, MAX_WRITERS))
		writer = writer_new(fd, &st);
	if (!writer) {
		user_leave(c, user);
		close(fd);
		return -EPROTO;
	}
	if (is_of_another(writer->area, pid)) {
		user_leave(c, user);
		munmap(writer->area, sizeof(struct area));
		free(writer);
		close(fd);
		return 0;
	}
	writer->pid = pid;
	writer->user = user;
	open_memory(writer);
	read_comm(pid, writer->comm);
	if (!*writer->comm) /* it has exited */
		memcpy(writer->comm, writer->area->comm, sizeof(writer->comm) - 1);
	writer->lost_no_ring_before = writer->area->lost;
	writer->visited = perfume_collector_now();
	writer->claim = find_claim(c, writer->area);
	if (writer->claim >= 0) {
		if (writer->visited - c->began < UNSEEN_NS)
			writer->visited = c->began;
		else
			writer->visited -= UNSEEN_NS;
	} else {
		writer->claim = *c->patterns ? take_claim(c, writer) : -1;
		perfume_reader_begin(c, writer);
	}
	c->past.writers++;
	writer->next = c->writers;
	c->writers = writer;
	perfume_writer_visit(c, writer);
	return 1;
}

int perfume_writer_waits(const struct writer *writer)
{
	uint32_t i;

	for (i = 0; i < writer->n_readers; i++)
		if (writer->readers[i]->waiting || perfume_reader_has_left(writer->readers[i]))
			return 1;
	return 0;
}

static void leave(struct writer *writer)
{
	struct area_claim *claim = &writer->area->claims[writer->claim];

	clear_claim(writer, writer->claim);
	memset(claim->patterns, 0, sizeof(claim->patterns));
	__atomic_store_n(&claim->lease, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&claim->id, 0, __ATOMIC_RELEASE);
}

void perfume_writer_free(struct perfume_collector *c, struct writer *writer)
{
	uint32_t i;

	if (!writer->gone && writer->claim >= 0)
		leave(writer);
	count_without_ring(c, writer);
	if (writer->n_chosen)
		c->past.lost_no_ring += writer->lost_no_ring;
	c->past.writers--;
	for (i = 0; i < writer->n_readers; i++)
		perfume_reader_free(c, writer->readers[i]);
	for (i = 0; i < writer->n_events; i++)
		free(writer->events[i]);
	c->n_events -= writer->n_events;
	writer->user->n_events -= writer->n_events;
	user_leave(c, writer->user);
	free(writer->events);
	munmap(writer->area, sizeof(struct area));
	if (writer->mem >= 0)
		close(writer->mem);
	if (writer->pages >= 0)
		close(writer->pages);
	close(writer->fd);
	free(writer);
}
