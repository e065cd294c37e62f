/* SPDX-License-Identifier: MIT */
#include "heap/library.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "attar/builtin.h"

#define NAME     "libperfume-heap.so.1"
#define VARIABLE "PERFUME_HEAP_SAMPLE="

/* ---- the file of the library ---- */

/* Beside the program: where it is built, installed with its libraries, or copied. */
static const char *const beside[] = {"../../perfume/heap/" NAME, "../lib/" NAME, NAME};

static int is_file(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static int find_library(char ret_path[PATH_MAX])
{
	char self[PATH_MAX], path[2 * PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	self[n > 0 ? n : 0] = '\0';
	slash = strrchr(self, '/');
	if (slash)
		slash[1] = '\0';
	for (size_t i = 0; slash && i < sizeof(beside) / sizeof(*beside); i++) {
		snprintf(path, sizeof(path), "%s%s", self, beside[i]);
		if (is_file(path) && realpath(path, ret_path))
			return 0;
	}
	if (is_file(LIBRARY_DIR "/" NAME) && realpath(LIBRARY_DIR "/" NAME, ret_path))
		return 0;
	return attar_fail(-ENOENT,
		"%s, which is preloaded into programs, was not found in %s or beside "
		"attar" ATTAR_FIX
		"install it (make install, or the package libperfume1), or give its path with "
		"--library",
		NAME, LIBRARY_DIR);
}

static int choose_library(const char *wanted, char ret_path[PATH_MAX])
{
	int r = 0;

	if (!wanted)
		r = find_library(ret_path);
	else if (!is_file(wanted) || !realpath(wanted, ret_path))
		r = attar_fail(-ENOENT, "--library: '%s' is not a file", wanted);
	if (r == 0 && strpbrk(ret_path, " :"))
		return attar_fail(-EINVAL,
			"the path '%s' has a space or a colon, which separate files in "
			"LD_PRELOAD" ATTAR_FIX
			"copy the library to another folder, and use --library",
			ret_path);
	return r;
}

/* ---- the command ---- */

/* Finds the file of a command as execvp(3) does. False: it is not found, as exec will say. */
static bool find_command(const char *name, char ret_path[PATH_MAX])
{
	const char *folder = getenv("PATH") ?: "/bin:/usr/bin", *end;

	if (strchr(name, '/')) {
		snprintf(ret_path, PATH_MAX, "%s", name);
		return true;
	}
	for (; folder; folder = *end ? end + 1 : NULL) {
		end = strchrnul(folder, ':');
		snprintf(ret_path, PATH_MAX, "%.*s%s%s", (int)(end - folder), folder,
			end > folder ? "/" : "", name);
		if (is_file(ret_path) && access(ret_path, X_OK) == 0)
			return true;
	}
	return false;
}

/* The loader ignores LD_PRELOAD in programs that give their user more rights. */
static bool gives_rights(const char *path, const struct stat *st)
{
	if (st->st_mode & S_ISUID && st->st_uid != geteuid())
		return true;
	if (st->st_mode & S_ISGID && st->st_mode & S_IXGRP && st->st_gid != getegid())
		return true;
	return geteuid() && getxattr(path, "security.capability", NULL, 0) > 0;
}

/* A 64-bit program of this machine with a dynamic linker, or no ELF file: a script. */
static bool can_preload(int fd)
{
	Elf64_Ehdr head;
	Elf64_Phdr part;

	if (pread(fd, &head, sizeof(head), 0) != sizeof(head) ||
		memcmp(head.e_ident, ELFMAG, SELFMAG))
		return true;
	if (head.e_ident[EI_CLASS] != ELFCLASS64)
		return false;
	for (unsigned i = 0; i < head.e_phnum; i++)
		if (pread(fd, &part, sizeof(part),
			    (off_t)(head.e_phoff + (uint64_t)i * sizeof(part))) == sizeof(part) &&
			part.p_type == PT_INTERP)
			return true;
	return false;
}

static int check_file(const char *path, int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	if (gives_rights(path, &st))
		return attar_fail(-EOPNOTSUPP,
			"'%s' runs with other rights than its user's (set-user-ID, set-group-ID or "
			"capabilities), so the dynamic linker does not preload a library" ATTAR_FIX
			"run attar as the user that it runs as, or use attar memleak",
			path);
	if (!can_preload(fd))
		return attar_fail(-EOPNOTSUPP,
			"'%s' is statically linked or a 32-bit program: no library can be "
			"preloaded" ATTAR_FIX "use attar memleak, which probes malloc()",
			path);
	return 0;
}

static int check_command(const char *name)
{
	char path[PATH_MAX];
	int fd, r = 0;

	if (!find_command(name, path))
		return 0;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0) {
		r = check_file(path, fd);
		close(fd);
	}
	return r;
}

/* ---- the environment ---- */

int library_preload(struct attar_run *run, const struct library_opts *opts)
{
	const char *others = getenv("LD_PRELOAD");
	char path[PATH_MAX], *preload, sample[64];
	int r = check_command(run_command(run)[0]);

	if (r == 0)
		r = choose_library(opts->path, path);
	if (r < 0)
		return r;
	if (asprintf(&preload, "LD_PRELOAD=%s%s%s", path, others ? ":" : "", others ?: "") < 0)
		return -ENOMEM;
	r = run_add_environment(run, preload);
	free(preload);
	snprintf(sample, sizeof(sample), VARIABLE "%llu", (unsigned long long)opts->sample);
	if (r == 0)
		r = run_add_environment(run, sample);
	if (r == 0)
		r = run_add_environment(
			run, opts->maps ? "PERFUME_HEAP_MMAP=1" : "PERFUME_HEAP_MMAP=0");
	return r;
}

/* ---- processes that run already ---- */

enum { LINE_MAX_BYTES = 8192 };

static FILE *open_proc(pid_t pid, const char *file)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
	return fopen(path, "re");
}

static bool has_library(pid_t pid)
{
	FILE *maps = open_proc(pid, "maps");
	char line[LINE_MAX_BYTES];
	bool found = false;

	while (maps && !found && fgets(line, sizeof(line), maps))
		found = strstr(line, "/libperfume-heap.so") != NULL;
	if (maps)
		fclose(maps);
	return found;
}

/* The value of the variable in the environment with which the process began; 0: none. */
static uint64_t sample_of(pid_t pid)
{
	FILE *environment = open_proc(pid, "environ");
	const size_t prefix = sizeof(VARIABLE) - 1;
	uint64_t sample = 0;
	char *text = NULL;
	size_t room = 0;

	while (environment && !sample && getdelim(&text, &room, '\0', environment) > 0)
		if (!strncmp(text, VARIABLE, prefix))
			sample = strtoull(text + prefix, NULL, 10);
	free(text);
	if (environment)
		fclose(environment);
	return sample;
}

static int find_in_process(pid_t pid, uint64_t *sample)
{
	uint64_t own = sample_of(pid);

	if (!has_library(pid))
		return attar_fail(-EOPNOTSUPP,
			"process %d was not started with %s, so that its allocations are not "
			"seen" ATTAR_FIX
			"start it with LD_PRELOAD=%s, or use attar memleak -p %d, which "
			"probes malloc(): each call then takes some microseconds more",
			pid, NAME, NAME, pid);
	if (own > *sample)
		*sample = own;
	return 0;
}

int library_find(struct attar_run *run, uint64_t *ret_sample)
{
	const char *words = run_target_words(run), *at = words ? strstr(words, " -p ") : NULL;
	uint64_t sample = 0;
	int r = 0;

	if (!at)
		return attar_fail(-EINVAL,
			"attar heap watches a command, or processes that were started with "
			"%s" ATTAR_FIX "give -- COMMAND, or -p PID",
			NAME);
	for (at += 4; r == 0 && *at >= '0' && *at <= '9'; at += *at == ',') {
		char *end;

		r = find_in_process((pid_t)strtol(at, &end, 10), &sample);
		at = end;
	}
	if (r == 0 && sample)
		*ret_sample = sample;
	return r;
}
