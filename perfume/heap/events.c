/* SPDX-License-Identifier: CC0-1.0 */
/*
 * The events. They are always in shared memory, also if the kernel has user_events: a payload of
 * the kernel's trace buffer costs a system call.
 */
#include "heap.h"

#define PERFUME_NO_USDT
#include "../perfume.h"

/*
 * `own`: 0 if the program's calls of malloc() do not reach this library, because the program itself
 * has a malloc().
 */
PERFUME_EVENT(heap_start, (u64, interval), (u8, own))
PERFUME_EVENT(heap_alloc, (u64, address), (u64, size), (f64, weight), (u8, call), (u64s, stack))
/* `how`: HEAP_FREED, HEAP_KEPT, or the number of bytes that are unmapped. */
PERFUME_EVENT(heap_free, (u64, address), (u64, how))

void heap_events_begin(void)
{
	perfume_image_add(__start_perfume_events, __stop_perfume_events);
	perfume_heap_start(heap_interval, heap_is_used());
}

void heap_events_alloc(const void *address, size_t size, double weight, enum heap_call call,
	const uint64_t *stack, size_t n)
{
	perfume_heap_alloc((uintptr_t)address, size, weight, (uint8_t)call, stack, n);
}

void heap_events_free(const void *address, uint64_t how)
{
	perfume_heap_free((uintptr_t)address, how);
}
