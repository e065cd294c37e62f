/* SPDX-License-Identifier: MIT */
/*
 * cost OUT COMMAND...: runs a command and writes the cost of it and its children to the file OUT,
 * as JSON. It is a separate process because exec inherits the peak memory of its caller: measured
 * from Python, no program is smaller than Python. Forwards signals; exits with the command's
 * status.
 */
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile pid_t child;

static void pass_on(int signal)
{
	if (child > 0)
		kill(child, signal);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static double seconds(struct timeval t)
{
	return t.tv_sec + t.tv_usec / 1e6;
}

int main(int argc, char **argv)
{
	struct rusage use;
	double start, end;
	int status;
	FILE *out;

	if (argc < 3)
		return 2;
	signal(SIGINT, pass_on);
	signal(SIGTERM, pass_on);
	start = now();
	child = fork();
	if (!child) {
		signal(SIGINT, SIG_DFL);
		signal(SIGTERM, SIG_DFL);
		execvp(argv[2], argv + 2);
		perror(argv[2]);
		_exit(127);
	}
	while (child < 0 || wait4(child, &status, 0, &use) != child)
		if (child < 0)
			return 1;
	end = now();
	out = fopen(argv[1], "w");
	if (!out)
		return 1;
	fprintf(out,
		"{\"start\": %.9f, \"wall\": %.9f, \"user\": %.6f, \"system\": %.6f, \"rss\": "
		"%ld}\n",
		start, end - start, seconds(use.ru_utime), seconds(use.ru_stime),
		use.ru_maxrss * 1024);
	fclose(out);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
