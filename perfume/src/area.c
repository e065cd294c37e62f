/* SPDX-License-Identifier: CC0-1.0 */
/*
 * The memory area shared with collectors: creates it, fills it with events, and sends it to
 * collectors.
 */
#include "internal.h"

#define LEASE_AT_FIRST                                                                             \
	5000000000ULL /* ns; until the collector receives the area and renews the lease */

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/*
 * Rings are used if user_events are unavailable. PERFUME_RING=0 disables them, 1 always enables
 * them. Libraries that are preloaded are compiled with PERFUME_PACED: the variables of a program
 * are not for them.
 */
static int area_is_wanted(void)
{
#ifdef PERFUME_PACED
	return 1;
#endif
	const char *text = secure_getenv("PERFUME_RING");

	if (text && *text)
		return *text != '0';
	return kernel.interface == PERFUME_INTERFACE_NONE ||
	       kernel.interface == PERFUME_INTERFACE_UNKNOWN;
}

/* Ring size in bytes: 1 MiB by default, or PERFUME_RING_KB, a power of two from 64 to 65536. */
static uint32_t ring_size(void)
{
#ifdef PERFUME_PACED
	const char *text = NULL;
#else
	const char *text = secure_getenv("PERFUME_RING_KB");
#endif
	unsigned long kb = text ? strtoul(text, NULL, 10) : 0;

	return kb >= 64 && kb <= 65536 && !(kb & (kb - 1)) ? (uint32_t)kb << 10 : 1 << 20;
}

static struct area *area_new(void)
{
	const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	uint32_t size = ring_size();
	uint64_t all = AREA_DATA + (uint64_t)size * AREA_RINGS;
	struct rlimit limit;
	void *area = MAP_FAILED;
	int fd;

	/* Exceeding `ulimit -f` raises a fatal signal. Unused pages take no memory. */
	if (getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur < all)
		return NULL;
	fd = memfd_create(AREA_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return NULL;
	fd = raise_fd(fd, -1);
	if (!ftruncate(fd, (off_t)all) && !fcntl(fd, F_ADD_SEALS, seals) &&
		!fstat(fd, &shared.stat))
		area = mmap(NULL, sizeof(struct area), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (area == MAP_FAILED) {
		close(fd);
		return NULL;
	}
	shared.fd = fd;
	shared.pid = getpid();
	shared.area = area;
	shared.ring_size = shared.area->ring_size = size;
	shared.area->pid = (uint32_t)shared.pid;
	prctl(PR_GET_NAME, shared.area->comm);
	__atomic_store_n(&shared.area->magic, AREA_MAGIC, __ATOMIC_RELEASE);
	return area;
}

/* The program may have closed our descriptor and reused its number for another file. */
static int is_our_fd(void)
{
	struct stat st;

	return !fstat(shared.fd, &st) && st.st_dev == shared.stat.st_dev &&
	       st.st_ino == shared.stat.st_ino;
}

/* ---- collectors ---- */

static int send_area(int fd)
{
	char control[CMSG_SPACE(sizeof(int))] __attribute__((aligned(8))) = {0}, nothing = 0;
	struct iovec vec = {&nothing, 1};
	struct msghdr message = {.msg_iov = &vec, .msg_iovlen = 1};
	struct cmsghdr *rights;

	message.msg_control = control;
	message.msg_controllen = sizeof(control);
	rights = CMSG_FIRSTHDR(&message);
	rights->cmsg_level = SOL_SOCKET;
	rights->cmsg_type = SCM_RIGHTS;
	rights->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(rights), &shared.fd, sizeof(int));
	return sendmsg(fd, &message, MSG_NOSIGNAL) >= 0;
}

/* Only root and this user may read. Any user can bind the socket name of a killed collector. */
static int may_collect(int fd)
{
	struct ucred peer;
	socklen_t n = sizeof(peer);

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) &&
	       (!peer.uid || peer.uid == geteuid());
}

/* Sends the area to the collector with that id. Returns false if the collector has exited. */
static int hand_over(uint64_t id)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), sent;
	socklen_t n;

	if (fd < 0)
		return 0;
	n = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			(size_t)snprintf(to.sun_path + 1, sizeof(to.sun_path) - 1, COLLECTOR_SOCKET,
				(unsigned long long)id));
	if (!connect(fd, (struct sockaddr *)&to, n))
		sent = may_collect(fd) && send_area(fd);
	else
		/* A full queue does not mean that it has exited; it will find us in /proc. */
		sent = errno == EAGAIN;
	close(fd);
	return sent;
}

static void claim(uint64_t id, const char *patterns, size_t n)
{
	struct area_claim *claim = shared.area->claims, *end = claim + AREA_CLAIMS;
	uint64_t none = 0;

	if (!id || n >= sizeof(claim->patterns) || !hand_over(id))
		return;
	while (claim < end && !__atomic_compare_exchange_n(&claim->id, &none, id, 0,
				      __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
		none = 0;
		claim++;
	}
	if (claim == end)
		return;
	memcpy(claim->patterns, patterns, n);
	__atomic_store_n(&claim->lease, now_ns() + LEASE_AT_FIRST, __ATOMIC_RELEASE);
}

/* A request is a line: the collector's id as 16 hexadecimal digits, a colon, and patterns. */
static void take_requests(const char *text)
{
	const char *line, *end;

	for (line = text; *line; line = *end ? end + 1 : end) {
		end = line + strcspn(line, "\n");
		if (end - line > 17 && line[16] == ':')
			claim(strtoull(line, NULL, 16), line + 17, (size_t)(end - line) - 17);
	}
}

/* Reads the request files of root and of this user only. */
static void read_requests(const char *path, uid_t owner)
{
	char text[8 * (AREA_TEXT + 20)];
	struct stat st;
	ssize_t n;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	if (fd < 0)
		return;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_uid == owner && !(st.st_mode & 022)) {
		n = read(fd, text, sizeof(text) - 1);
		text[n > 0 ? n : 0] = 0;
		take_requests(text);
	}
	close(fd);
}

static void find_collectors(void)
{
	const char *inherited = secure_getenv(COLLECTOR_VARIABLE);
	char path[64];
	uid_t user = geteuid();

	if (inherited)
		take_requests(inherited);
	read_requests(REQUESTS_OF_ROOT, 0);
	snprintf(path, sizeof(path), REQUESTS_OF_USER, (unsigned)user);
	read_requests(path, user);
}

/* Returns whether `name` matches one of the patterns, which are in volatile memory. */
static int fits(const struct area_claim *claim, const char *name)
{
	char patterns[AREA_TEXT], *pattern, *rest = patterns;

	memcpy(patterns, claim->patterns, sizeof(patterns) - 1);
	patterns[sizeof(patterns) - 1] = 0;
	while ((pattern = strsep(&rest, ",")) != NULL)
		if (*pattern && !fnmatch(pattern, name, 0))
			return 1;
	return 0;
}

/* ---- slots ---- */

/*
 * A collector holds the lock for microseconds. Do not wait long for a stopped collector, and at
 * most one second in total, because a collector can take the lock any number of times.
 */
static void area_lock(struct area *area)
{
	const struct timespec nap = {.tv_nsec = 100000};
	uint32_t open = 0, tries = 2000;

	while (!__atomic_compare_exchange_n(
		       &area->lock, &open, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED) &&
		--tries && shared.n_waits < 10000) {
		open = 0;
		shared.n_waits++;
		nanosleep(&nap, NULL);
	}
}

static void area_unlock(struct area *area)
{
	__atomic_store_n(&area->lock, 0, __ATOMIC_RELEASE);
}

/* Returns the previous slot of the same event, a free slot, or NULL. */
static struct area_slot *slot_for(struct area *area, const char *text)
{
	struct area_slot *slot = area->slots;
	uint32_t dead = shared.n_dead, i;

	for (i = 0; i < shared.n_slots && dead; i++, slot++) {
		if (shared.live[i])
			continue;
		if (!strncmp(slot->text, text, sizeof(slot->text))) {
			shared.n_dead--;
			return slot;
		}
		dead--;
	}
	if (shared.n_slots == AREA_SLOTS)
		return NULL;
	slot = &area->slots[shared.n_slots];
	strcpy(slot->text, text);
	__atomic_store_n(&area->n_slots, ++shared.n_slots, __ATOMIC_RELEASE);
	return slot;
}

/*
 * Called immediately in a forked child. If a signal handler forked in the middle of a record, the
 * child completes that record when the handler returns, but must not write to the parent's memory.
 */
static void area_forked(void)
{
	if (!shared.area || !rings_in_use() || !is_our_fd())
		return;
	rings_leave();
	mmap(shared.area, sizeof(*shared.area), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED,
		shared.fd, 0);
}

static void area_begin(void)
{
	shared.tried = 1;
	if (area_new())
		find_collectors();
}

static void ring_add(struct perfume_event *event, const char *text)
{
	struct area_slot *slot;
	uint32_t wanted = 0;
	struct area *area;
	int k;

	if (!shared.area && !shared.tried && area_is_wanted())
		area_begin();
	area = shared.area;
	slot = area ? slot_for(area, text) : NULL;
	if (!slot)
		return;
	event->slot = (uint32_t)(slot - area->slots) + 1;
	shared.live[event->slot - 1] = 1;
	for (k = 0; k < AREA_CLAIMS; k++)
		if (area->claims[k].id && fits(&area->claims[k], event->name))
			wanted |= 1u << k;
	slot->word = (uintptr_t)event->word;
	__atomic_store_n(&slot->wanted, wanted, __ATOMIC_RELAXED);
	__atomic_store_n(&slot->live, 1, __ATOMIC_RELEASE);
	if (wanted)
		__atomic_fetch_or(event->word, PERFUME_WORD_RING, __ATOMIC_RELEASE);
}

static void ring_remove(struct perfume_event *event)
{
	struct area_slot *slot;

	if (!event->slot || !shared.area)
		return;
	slot = &shared.area->slots[event->slot - 1];
	area_lock(shared.area);
	slot->live = 0;
	slot->wanted = 0;
	area_unlock(shared.area);
	__atomic_fetch_and(event->word, ~(uint32_t)PERFUME_WORD_RING, __ATOMIC_RELAXED);
	shared.live[event->slot - 1] = 0;
	shared.n_dead++;
	event->slot = 0;
}

/* ---- fork and exit ---- */

/* The child inherits the parent's collectors. */
static void inherit(const struct area *parent)
{
	char patterns[AREA_TEXT];
	int k;

	for (k = 0; k < AREA_CLAIMS; k++) {
		memcpy(patterns, parent->claims[k].patterns, sizeof(patterns) - 1);
		patterns[sizeof(patterns) - 1] = 0;
		if (parent->claims[k].id && parent->claims[k].lease > now_ns())
			claim(parent->claims[k].id, patterns, strlen(patterns));
	}
}

/* Maps the `wanted` bits of the parent's area to the bits of the child's area. */
static uint32_t translate(const struct area *parent, uint32_t wanted)
{
	uint32_t ours = 0;
	int k, l;

	for (k = 0; k < AREA_CLAIMS; k++)
		for (l = 0; l < AREA_CLAIMS && wanted >> k & 1; l++)
			if (parent->claims[k].id &&
				shared.area->claims[l].id == parent->claims[k].id)
				ours |= 1u << l;
	return ours;
}

/* Copies an event of the parent's area to the same slot of the child's area. */
static void slot_fork(const struct area *parent, struct perfume_event *event)
{
	struct area_slot *slot;
	uint32_t wanted;

	if (!event->slot)
		return;
	if (shared.area) {
		slot = &shared.area->slots[event->slot - 1];
		wanted = translate(parent, parent->slots[event->slot - 1].wanted);
		slot->word = (uintptr_t)event->word;
		slot->wanted = wanted;
		slot->live = 1;
	} else {
		wanted = 0;
		event->slot = 0;
	}
	if (!wanted)
		__atomic_fetch_and(event->word, ~(uint32_t)PERFUME_WORD_RING, __ATOMIC_RELAXED);
}

/* Creates the area of a forked child. Called with the lock held. */
static void area_fork(void)
{
	struct area *parent = shared.area;
	struct perfume_event *event;
	struct perfume_file *file;
	uint32_t i;

	if (!parent)
		return;
	rings_forget();
	shared.area = NULL;
	if (is_our_fd())
		close(shared.fd);
	if (area_new()) {
		inherit(parent);
		for (i = 0; i < shared.n_slots; i++)
			memcpy(shared.area->slots[i].text, parent->slots[i].text, AREA_TEXT - 1);
	}
	for (file = files; file; file = file->next)
		for (event = file->events; event; event = event->next)
			slot_fork(parent, event);
	if (shared.area)
		__atomic_store_n(&shared.area->n_slots, shared.n_slots, __ATOMIC_RELEASE);
	munmap(parent, sizeof(*parent));
}

/*
 * Releases the memory at exit. Called with the lock held. Records that other threads are writing at
 * this time are discarded. Collectors keep their mappings.
 */
static void area_leave(void)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE;
	const int access = PROT_READ | PROT_WRITE;

	if (!shared.area)
		return;
	rings_leave();
	mmap(shared.area, sizeof(*shared.area), access, flags, -1, 0);
	if (is_our_fd())
		close(shared.fd);
}
