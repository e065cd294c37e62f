/* SPDX-License-Identifier: CC0-1.0 */
#include "heap.h"

uint8_t heap_set_all;
uint8_t heap_set_counts[1 << HEAP_SET_BITS];
static uintptr_t heap_set_slots[1 << HEAP_SET_BITS][HEAP_SET_WAYS] __attribute__((aligned(64)));

/*
 * A thread that allocates gives the address to another one by synchronization of the program, so
 * that the other one sees the set as it was left: relaxed operations are sufficient.
 */
void heap_set_add(const void *address)
{
	const size_t bucket = heap_set_bucket(address);

	for (unsigned i = 0; i < HEAP_SET_WAYS; i++) {
		uintptr_t none = 0;

		if (__atomic_compare_exchange_n(&heap_set_slots[bucket][i], &none,
			    (uintptr_t)address, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
			__atomic_fetch_add(&heap_set_counts[bucket], 1, __ATOMIC_RELAXED);
			return;
		}
	}
	__atomic_store_n(&heap_set_all, 1, __ATOMIC_RELAXED);
}

int heap_set_remove(const void *address)
{
	const size_t bucket = heap_set_bucket(address);

	for (unsigned i = 0; i < HEAP_SET_WAYS; i++) {
		uintptr_t found = (uintptr_t)address;

		if (__atomic_load_n(&heap_set_slots[bucket][i], __ATOMIC_RELAXED) == found &&
			__atomic_compare_exchange_n(&heap_set_slots[bucket][i], &found, 0, 0,
				__ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
			__atomic_fetch_sub(&heap_set_counts[bucket], 1, __ATOMIC_RELAXED);
			return 1;
		}
	}
	return heap_set_all;
}
