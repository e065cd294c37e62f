/* SPDX-License-Identifier: MIT */
/*
 * The configuration of attar agent: a section [agent], and one for each profiler, whose key `run`
 * is a command line of attar without the word attar. docs/agent.md describes the keys.
 */
#ifndef CLI_AGENT_CONFIG_H
#define CLI_AGENT_CONFIG_H

#include "base/vec.h"
#include "cli/output/http_server.h"

enum { AGENT_NAME_MAX = 32, AGENT_SECTIONS_MAX = 64, AGENT_WORDS_MAX = 256 };

struct agent_section {
	char name[AGENT_NAME_MAX + 1];
	unsigned line; /* of its head */
	unsigned run_line;
	char *run;    /* the command line as written; NULL: the key is missing */
	char **words; /* of a copy of run; end with NULL */
	char *copy;
};

/* Strings are owned by the configuration; NULL: not given. */
struct agent_config {
	char *listen, *listen_token_file, *listen_cert, *listen_key;
	bool insecure;
	char *metrics;       /* a file that is replaced */
	mode_t metrics_mode; /* of the file, if it is new; 0: place_default_mode() */
	char *user, *capabilities;
	double max_cpu;      /* share of one CPU; 0: no limit */
	uint64_t max_memory; /* bytes; 0: no limit */
	uint64_t check_ns;   /* how often the limits are applied */
	VEC(struct agent_section) sections;
};

/* How a file is read: until its first error, or to find and print all, also of this machine. */
enum agent_reading { AGENT_READS, AGENT_CHECKS };

/*
 * Reads a file, replaces its keys of [agent] by the options, and checks the command lines. Returns
 * 0, or a negative errno; the error message has file, line, reason and fix. AGENT_CHECKS: prints
 * each error; the error message has their number. What profilers would only find out when they are
 * started is an error then, too, such as folders that do not exist and events that this machine
 * does not have: both can be there when a profiler is started again. Free with agent_config_done(),
 * also after a failure.
 */
int agent_config_read(const char *path, const struct agent_config *options, enum agent_reading how,
	struct agent_config *ret_config);

/* Sets a key of [agent], also as an option of the command. 0 or a negative errno. */
int agent_config_set(struct agent_config *config, const char *key, const char *value);

/* How the agent listens; without address: not at all. Strings are borrowed, pages missing. */
struct http_server_opts agent_config_server(const struct agent_config *config);

void agent_config_done(struct agent_config *config);

#endif
