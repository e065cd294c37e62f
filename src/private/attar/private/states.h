/* SPDX-License-Identifier: MIT */
/*
 * What attar/states.h has for attar itself only. It may change with each version, and is not
 * installed.
 */
#ifndef ATTAR_PRIVATE_STATES_H
#define ATTAR_PRIVATE_STATES_H

#include "attar/states.h"

/* Like attar_states_set_u64(), with a key of key_size bytes. */
struct attar_state *states_set_key(struct attar_states *states, const void *key, size_t key_size,
	uint32_t state, const struct attar_stamp *at);

/*
 * Like states_set_key(), of an object that attar_states_get() or states_at_u64() returned,
 * without looking it up again. Called per event: does not check its arguments. Returns 0; -ENOMEM:
 * the segment that ends was not added.
 */
int state_change(struct attar_states *states, struct attar_state *state, uint32_t to,
	const struct attar_stamp *at);

/*
 * The object with the key of these 8 bytes, which is added if it is not known: its state is unknown
 * then. Called per event: does not check its arguments. NULL: out of memory.
 */
struct attar_state *states_at_u64(struct attar_states *states, uint64_t key);

/*
 * A change of this object was not delivered, as another event shows: drops its segment. Its state
 * is unknown until the next change.
 */
void state_drop(struct attar_states *states, struct attar_state *state);

/* The same for an object whose changes are not followed from now on: nothing is missing. */
void state_forget(struct attar_states *states, struct attar_state *state);

#endif
