/* SPDX-License-Identifier: CC0-1.0 */
/*
 * Static events: the events of a program, library or plug-in are registered and deregistered
 * together.
 */
#include "internal.h"

/* Called with the lock held. */
static void entry_add(struct perfume_file *file, struct perfume_entry *entry)
{
	struct perfume_event *event = entry->event;

	if (event->file || event->error) {
		if (strcmp(event->fields, entry->fields))
			event->error = -EEXIST;
	} else {
		event->error = event_add(file, event);
	}
	/* An event with conflicting fields cannot be enabled. */
	if (event->error < 0 && event->file)
		event_remove(event);
}

void perfume_image_add(struct perfume_entry **start, struct perfume_entry **stop)
{
	struct perfume_entry **entry;
	sigset_t old;
	int saved = errno;

	lock(&old);
	for (entry = start; entry < stop && !(*start)->added; entry++)
		entry_add(&(*start)->file, *entry);
	(*start)->added = 1;
	unlock(&old);
	errno = saved;
}

void perfume_image_remove(struct perfume_entry **start, struct perfume_entry **stop)
{
	struct perfume_entry **entry;
	sigset_t old;
	int saved = errno;

	lock(&old);
	for (entry = start; entry < stop; entry++)
		if ((*entry)->event->file)
			event_remove((*entry)->event);
	(*start)->added = 0;
	unlock(&old);
	errno = saved;
}

uint32_t perfume_event_enabled(const struct perfume_event *event)
{
	return live_listeners(event);
}

int perfume_event_error(const struct perfume_event *event)
{
	switch (event->error) {
	case 0:
		return 0;
	case -EEXIST:
		return fail(-EEXIST,
			"source files of the program declare the event with different fields");
	}
	return kernel_refuses(event->error);
}

int perfume_event_too_long(void)
{
	return fail(-EMSGSIZE, "the payload is longer than 4000 bytes");
}

int perfume_event_write(struct perfume_event *event, uint32_t word, uint32_t *packet, size_t n)
{
	return event_write(event, word, packet, n);
}

void perfume_activity_new(uint8_t ret_id[16])
{
	static uint64_t counter;
	uint64_t words[2] = {now_ns() << 20 ^ (uint64_t)getpid(),
		__atomic_add_fetch(&counter, 1, __ATOMIC_RELAXED)};
	int saved = errno;

	/*
	 * Fall back to the time and a counter until the kernel's random number generator is ready.
	 */
	(void)!getrandom(words, sizeof(words), GRND_NONBLOCK);
	memcpy(ret_id, words, sizeof(words));
	ret_id[6] = (uint8_t)((ret_id[6] & 0x0f) | 0x40);
	ret_id[8] = (uint8_t)((ret_id[8] & 0x3f) | 0x80);
	errno = saved;
}
