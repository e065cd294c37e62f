/* SPDX-License-Identifier: MIT */
#include "overview/kernel_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	RECORD_BYTES = 8192,
	RECORDS_MAX = 4096, /* of one reading */
	FACILITY_KERNEL = 0,
};

/* A part of each message. */
static const char *const errors[] = {"I/O error", "critical medium error", "critical target error",
	"EXT4-fs error", "EXT4-fs warning", "Remounting filesystem read-only",
	"Corruption of in-memory data", "BTRFS error", "blocked for more than", "soft lockup",
	"hard LOCKUP", "rcu_preempt detected stalls", "detected stalls on CPUs", "Hardware Error",
	"machine check", "Uncorrected error", "nf_conntrack: table full",
	"neighbour: arp_cache: neighbor table overflow", "NETDEV WATCHDOG", "Link is Down",
	"nfs: server", "page allocation failure", "timekeeping watchdog",
	"temperature above threshold", "I/O timeout", "link is slow to respond",
	"failed command:", "fork rejected by pids controller"};

static const char killed[] = "Killed process ";

void kernel_log_open(struct kernel_log *log, const char *path, bool is_whole)
{
	*log = (struct kernel_log){.fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)};
	log->is_open = log->fd >= 0;
	if (log->is_open && !is_whole)
		lseek(log->fd, 0, SEEK_END);
}

/* Characters of a terminal in names of processes and devices are written as \x1b by the kernel. */
static void keep_text(char text[KERNEL_LOG_TEXT_BYTES], const char *from)
{
	snprintf(text, KERNEL_LOG_TEXT_BYTES, "%s", from);
	for (char *at = text; *at; at++)
		if ((unsigned char)*at < ' ' || *at == 0x7f)
			*at = '?';
}

/* "Killed process 7 (python3) total-vm:..." */
static void read_killed(struct kernel_log *log, const char *at)
{
	char text[64], *end;

	snprintf(text, sizeof(text), "%s", at + sizeof(killed) - 1);
	end = strchr(text, ')');
	if (end)
		end[1] = '\0';
	keep_text(log->killed, text);
}

static void read_message(struct kernel_log *log, const char *text)
{
	const char *at = strstr(text, killed);

	if (at) {
		read_killed(log, at);
		return;
	}
	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++)
		if (strstr(text, errors[i])) {
			if (!log->errors++)
				keep_text(log->error, text);
			return;
		}
}

/* "6,1143,50094249851,-;text", where the first number has the facility: only the kernel's. */
static void read_record(struct kernel_log *log, char *record)
{
	char *text = strchr(record, ';');

	if (!text || strtoul(record, NULL, 10) >> 3 != FACILITY_KERNEL)
		return;
	text[strcspn(text, "\n")] = '\0';
	read_message(log, text + 1);
}

/* /dev/kmsg returns one record at a time; a file several lines, of which the last may be cut. */
void kernel_log_read(struct kernel_log *log)
{
	char record[RECORD_BYTES], *save;

	for (int i = 0; log->is_open && i < RECORDS_MAX; i++) {
		ssize_t n = read(log->fd, record, sizeof(record) - 1);

		if (n < 0 && (errno == EPIPE || errno == EINTR)) /* overwritten: the next one */
			continue;
		if (n <= 0)
			return;
		record[n] = '\0';
		for (char *line = strtok_r(record, "\n", &save); line;
			line = strtok_r(NULL, "\n", &save))
			if (*line != ' ') /* of a device: a key and a value */
				read_record(log, line);
	}
}

void kernel_log_close(struct kernel_log *log)
{
	if (log->is_open)
		close(log->fd);
	log->is_open = false;
}
