/* SPDX-License-Identifier: MIT */
#include "block/devices.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "attar/base.h"

enum { MINOR_BITS = 20, PATH_BYTES = 288 };

static unsigned major_of(uint32_t dev)
{
	return dev >> MINOR_BITS;
}

static unsigned minor_of(uint32_t dev)
{
	return dev & ((1u << MINOR_BITS) - 1);
}

static void sysfs_path(uint32_t dev, const char *file, char path[PATH_BYTES])
{
	snprintf(path, PATH_BYTES, "/sys/dev/block/%u:%u%s", major_of(dev), minor_of(dev), file);
}

const char *block_name(uint32_t dev, char name[BLOCK_NAME_BYTES])
{
	char path[PATH_BYTES], link[PATH_BYTES];
	const char *last;
	ssize_t n;

	sysfs_path(dev, "", path);
	n = readlink(path, link, sizeof(link) - 1);
	link[n > 0 ? n : 0] = '\0';
	last = strrchr(link, '/');
	if (last && last[1])
		snprintf(name, BLOCK_NAME_BYTES, "%.*s", BLOCK_NAME_BYTES - 1, last + 1);
	else
		snprintf(name, BLOCK_NAME_BYTES, "%u:%u", major_of(dev), minor_of(dev));
	return name;
}

uint32_t block_devices_disk(struct block_devices *devices, uint32_t dev)
{
	unsigned major, minor;
	char path[PATH_BYTES];
	uint32_t disk = dev;
	FILE *file;

	for (size_t i = 0; i < devices->n_disks; i++)
		if (devices->disks[i].part == dev)
			return devices->disks[i].disk;
	sysfs_path(dev, "/partition", path);
	if (access(path, F_OK) == 0) {
		sysfs_path(dev, "/../dev", path);
		file = fopen(path, "re");
		if (file && fscanf(file, "%u:%u", &major, &minor) == 2)
			disk = major << MINOR_BITS | minor;
		if (file)
			fclose(file);
	}
	if (devices->n_disks == sizeof(devices->disks) / sizeof(*devices->disks))
		devices->n_disks = 0;
	devices->disks[devices->n_disks].part = dev;
	devices->disks[devices->n_disks++].disk = disk;
	return disk;
}

/* A number of sysfs, such as the first sector of a partition. */
static bool read_number(uint32_t dev, const char *file, uint64_t *ret_number)
{
	char path[PATH_BYTES];
	FILE *opened;
	bool has;

	sysfs_path(dev, file, path);
	opened = fopen(path, "re");
	has = opened && fscanf(opened, "%" SCNu64, ret_number) == 1;
	if (opened)
		fclose(opened);
	return has;
}

/* Requests have sectors of the disk, and the partition has a part of them. */
static int take_partition(
	struct block_devices *devices, const char *name, struct block_device *device)
{
	uint64_t size;

	if (!read_number(device->dev, "/start", &device->first) ||
		!read_number(device->dev, "/size", &size) || !size)
		return attar_fail(-ENOENT,
			"--device: the sectors of '%s' are not known" ATTAR_FIX "name its disk",
			name);
	device->last = device->first + size - 1;
	device->dev = block_devices_disk(devices, device->dev);
	return 0;
}

static int find_device(
	struct block_devices *devices, const char *name, struct block_device *ret_device)
{
	char path[PATH_BYTES];
	unsigned major, minor;
	struct stat st;
	char rest;

	if (sscanf(name, "%u:%u%c", &major, &minor, &rest) == 2) {
		ret_device->dev = major << MINOR_BITS | minor;
		return 0;
	}
	snprintf(path, sizeof(path), "%s%s", *name == '/' ? "" : "/dev/", name);
	if (stat(path, &st) < 0 && isdigit((unsigned char)*name))
		return attar_fail(-EINVAL,
			"--device: no block device '%s' (%s)" ATTAR_FIX
			"the option of a time is --duration",
			name, strerror(errno));
	if (stat(path, &st) < 0)
		return attar_fail(-EINVAL,
			"--device: no block device '%s' (%s)" ATTAR_FIX "'lsblk' lists the devices",
			name, strerror(errno));
	if (!S_ISBLK(st.st_mode))
		return attar_fail(-EINVAL,
			"--device: '%s' is not a block device" ATTAR_FIX
			"'lsblk' lists the devices",
			name);
	ret_device->dev = major(st.st_rdev) << MINOR_BITS | minor(st.st_rdev);
	sysfs_path(ret_device->dev, "/partition", path);
	return access(path, F_OK) == 0 ? take_partition(devices, name, ret_device) : 0;
}

int block_devices_parse(struct block_devices *devices, const char *text)
{
	for (const char *p = text; p && *p; p += *p == ',') {
		size_t n = strcspn(p, ",");
		char name[256];
		int r;

		if (devices->n_devs == sizeof(devices->devs) / sizeof(*devices->devs))
			return attar_fail(-E2BIG,
				"--device: at most %zu devices" ATTAR_FIX "leave it out for all",
				devices->n_devs);
		snprintf(name, sizeof(name), "%.*s", (int)n, p);
		r = find_device(devices, name, &devices->devs[devices->n_devs++]);
		if (r < 0)
			return r;
		p += n;
	}
	return 0;
}

bool block_devices_has(const struct block_devices *devices, uint64_t dev, uint64_t sector)
{
	for (size_t i = 0; i < devices->n_devs; i++) {
		const struct block_device *named = &devices->devs[i];

		if (named->dev == dev &&
			(!named->last || (sector >= named->first && sector <= named->last)))
			return true;
	}
	return !devices->n_devs;
}
