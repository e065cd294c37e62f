/* SPDX-License-Identifier: MIT */
/* Block devices by number: their names, their disks, and the devices of --device. */
#ifndef PROFILERS_BLOCK_DEVICES_H
#define PROFILERS_BLOCK_DEVICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BLOCK_NAME_BYTES = 32 };

/* A device number is major << 20 | minor, as in events of the kernel. */
struct block_devices {
	/* That were named: disks, with the sectors of a partition; last 0: all. */
	struct block_device {
		uint32_t dev;
		uint64_t first, last;
	} devs[16];
	size_t n_devs; /* 0: all */
	struct {
		uint32_t part, disk;
	} disks[64]; /* the disks of devices that were seen */
	size_t n_disks;
};

/* Takes NAME,...; NULL: all devices. 0, or a negative errno with an error message. */
int block_devices_parse(struct block_devices *devices, const char *text);

/* Whether the disk was named, or a partition of it that has the sector. */
bool block_devices_has(const struct block_devices *devices, uint64_t dev, uint64_t sector);

/*
 * The disk of a bio's device, which may be a partition; the bio's sector already counts from the
 * start of the disk when it has a request.
 */
uint32_t block_devices_disk(struct block_devices *devices, uint32_t dev);

/* The name of a device: "sda", or "8:0" if this machine has no such device. Returns name. */
const char *block_name(uint32_t dev, char name[BLOCK_NAME_BYTES]);

#endif
