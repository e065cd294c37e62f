/* SPDX-License-Identifier: MIT */
#include "symbol_child.h"

#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/wait.h>
#include <unistd.h>

static char directory[64];

static void become(const char *program, const int in[2], const int out[2],
	child_prepare_fn *prepare, void *ctx)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	dup2(in[0], 0);
	dup2(out[1], 1);
	close(in[0]);
	close(in[1]);
	close(out[0]);
	close(out[1]);
	if (!prepare || prepare(ctx))
		execl(program, program, (char *)NULL);
	_exit(127);
}

static bool listen(struct child *child)
{
	FILE *f = fdopen(child->out, "r");
	char line[256];

	child->n = 0;
	while (f && fgets(line, sizeof(line), f) && line[0] != '.') {
		struct child_function *function = &child->functions[child->n];
		unsigned long address;

		if (child->n == 8 || sscanf(line, "%63s %lx", function->name, &address) != 2)
			break;
		function->address = address;
		child->n++;
	}
	if (f)
		fclose(f);
	child->out = -1;
	return child->n > 0;
}

bool child_start(struct child *child, const char *program, child_prepare_fn *prepare, void *ctx)
{
	int in[2], out[2];

	if (pipe(in) < 0 || pipe(out) < 0)
		return false;
	child->pid = fork();
	if (child->pid < 0)
		return false;
	if (!child->pid)
		become(program, in, out, prepare, ctx);
	close(in[0]);
	close(out[1]);
	child->in = in[1];
	child->out = out[0];
	if (listen(child))
		return true;
	child_stop(child);
	return false;
}

void child_stop(struct child *child)
{
	if (child->pid <= 0)
		return;
	close(child->in);
	waitpid(child->pid, NULL, 0);
	child->pid = 0;
}

const char *child_path(const char *name)
{
	static char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	char *slash;

	path[n > 0 ? n : 0] = '\0';
	slash = strrchr(path, '/');
	if (slash)
		snprintf(slash + 1, sizeof(path) - (size_t)(slash + 1 - path), "%s", name);
	return path;
}

const char *child_directory(void)
{
	strcpy(directory, "/tmp/attar-unit-XXXXXX");
	return mkdtemp(directory);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *where)
{
	(void)st;
	(void)type;
	(void)where;
	return remove(path);
}

void child_clean(void)
{
	if (directory[0])
		nftw(directory, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	directory[0] = '\0';
}

static bool copy_all(int from, int to)
{
	ssize_t n;

	do
		n = sendfile(to, from, NULL, 1 << 20);
	while (n > 0);
	return n == 0;
}

bool child_copy(const char *name, int to)
{
	int from = open(child_path(name), O_RDONLY | O_CLOEXEC);
	bool done = from >= 0 && to >= 0 && copy_all(from, to);

	close(from);
	return done;
}

bool child_copy_file(const char *name, const char *path)
{
	int to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	bool done = child_copy(name, to);

	return close(to) == 0 && done;
}

bool child_shell(const char *fmt, ...)
{
	char command[8192];
	va_list args;

	va_start(args, fmt);
	vsnprintf(command, sizeof(command), fmt, args);
	va_end(args);
	return system(command) == 0;
}
