/* SPDX-License-Identifier: MIT */
/*
 * attar agent: runs profilers for months. Each is a separate process; this one starts them, watches
 * them, joins their metrics and keeps them within limits. docs/decisions.md gives the reasons.
 */
#include "cli/agent/agent.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "cli/agent/notify.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "base/place.h"
#include "cli/output/atomic_file.h"

#define SECOND        UINT64_C(1000000000)
#define METRICS_STALE (10 * SECOND) /* maximum age of the agent's own metrics */

enum { TURN_MS = 1000 };

/* ---- options ---- */

struct arguments {
	const char *path;
	bool check;
	/* keys of [agent], of which the file has the same texts */
	const char *listen, *token_file, *cert, *key, *insecure, *metrics, *metrics_mode, *max_cpu,
		*max_memory, *limit_interval, *user, *capabilities;
};

#define T struct arguments

enum { FIRST_KEY = 2 };

static const struct attar_option agent_options[] = {
	ATTAR_TEXT(T, path, 'c', "config", "FILE",
		"the configuration: a section [agent] with the keys below, and for each profiler a "
		"section with its command line, such as run = profile -F 19 -g -i 10s",
		.complete = "file"),
	ATTAR_FLAG(T, check, 0, "check",
		"check the configuration, but start nothing; exit status 2: it is invalid"),
	[FIRST_KEY] = ATTAR_TEXT(T, listen, 0, "listen", "[ADDRESS:]PORT",
		"serve the metrics of all profilers and of the agent at /metrics"),
	ATTAR_TEXT(T, token_file, 0, "listen-token-file", "FILE", "as for profilers",
		.complete = "file"),
	ATTAR_TEXT(T, cert, 0, "listen-cert", "FILE", "as for profilers", .complete = "file"),
	ATTAR_TEXT(T, key, 0, "listen-key", "FILE", "as for profilers", .complete = "file"),
	ATTAR_TEXT(T, insecure, 0, "insecure", "yes|no", "as for profilers"),
	ATTAR_TEXT(T, metrics, 0, "metrics", "FILE.prom",
		"write these metrics to a file, which is replaced each second", .complete = "file"),
	ATTAR_TEXT(T, max_cpu, 0, "max-cpu", "PCT",
		"use at most this share of one CPU: frequencies are lowered, then profilers "
		"paused"),
	ATTAR_TEXT(T, max_memory, 0, "max-memory", "SIZE", "use at most this much memory"),
	ATTAR_TEXT(T, metrics_mode, 0, "metrics-mode", "MODE",
		"mode of the file of --metrics, such as 0644 (default: 0600 for root)"),
	ATTAR_TEXT(T, limit_interval, 0, "limit-interval", "TIME",
		"how often the limits are checked (default 1m)"),
	ATTAR_TEXT(T, user, 0, "user", "NAME",
		"run as this user, with the capabilities that profilers need"),
	ATTAR_TEXT(T, capabilities, 0, "capabilities", "LIST",
		"also keep these capabilities: cap_bpf, cap_sys_admin, cap_dac_override"),
	{0}};

static int take_arguments(struct agent *a, const struct arguments *args)
{
	if (!args->path)
		return attar_fail(-EINVAL, "attar agent requires a configuration file" ATTAR_FIX
					   "-c /etc/attar/agent.conf");
	a->path = args->path;
	for (const struct attar_option *o = agent_options + FIRST_KEY; o->name; o++) {
		const char *value = *(const char *const *)((const char *)args + o->offset);

		if (value && agent_config_set(&a->options, o->name, value) < 0)
			return attar_context(-EINVAL, "option");
	}
	return 0;
}

static int read_config(const struct agent *a, enum agent_reading how, struct agent_config *config)
{
	int r = agent_config_read(a->path, &a->options, how, config);

	if (r == 0 && agent_rights_check(config->user, config->capabilities) < 0)
		r = attar_context(-EINVAL, "%s", a->path);
	return r;
}

/* ---- children ---- */

static struct agent_child *find_child(const struct agent *a, const struct agent_section *s)
{
	vec_each (&a->children, it)
		if (!(*it)->removed && !strcmp((*it)->name, s->name) && !strcmp((*it)->run, s->run))
			return *it;
	return NULL;
}

/* The newest child of a section, even if it has been removed. */
static struct agent_child *find_newest(const struct agent *a, const char *name)
{
	struct agent_child *newest = NULL;

	vec_each (&a->children, it)
		if (!strcmp((*it)->name, name))
			newest = *it;
	return newest;
}

static bool is_configured(const struct agent_config *config, const struct agent_child *c)
{
	vec_each (&config->sections, s)
		if (!strcmp(s->name, c->name) && !strcmp(s->run, c->run))
			return true;
	return false;
}

/* Profilers whose section is the same keep running. */
static int adopt_sections(struct agent *a, const struct agent_config *config)
{
	vec_each (&a->children, it)
		if (!is_configured(config, *it)) {
			(*it)->removed = true;
			agent_child_stop(*it);
		}
	vec_each (&config->sections, s) {
		struct agent_child *c, *former;

		if (find_child(a, s))
			continue;
		if (agent_child_new(s, a->directory.path, &c) < 0)
			return -ENOMEM;
		former = find_newest(a, s->name);
		if (former)
			agent_child_succeed(c, former);
		if (vec_push(&a->children, c) < 0) {
			agent_child_free(c);
			return -ENOMEM;
		}
	}
	return 0;
}

static void forget_removed(struct agent *a)
{
	size_t kept = 0;

	for (size_t i = 0; i < a->children.n; i++) {
		struct agent_child *c = a->children.at[i];

		if (c->removed && !c->pid)
			agent_child_free(c);
		else
			a->children.at[kept++] = c;
	}
	a->children.n = kept;
}

/* The former process of a changed section writes to the same files. */
static bool is_name_running(const struct agent *a, const struct agent_child *child)
{
	vec_each (&a->children, it)
		if (*it != child && (*it)->pid && !strcmp((*it)->name, child->name))
			return true;
	return false;
}

static void start_due(struct agent *a)
{
	vec_each (&a->children, it) {
		struct agent_child *c = *it;

		agent_child_hurry(c);
		if (!a->stopping && c->state == AGENT_WAITS && !c->pid && !c->removed &&
			base_now() >= c->due && !is_name_running(a, c))
			agent_child_start(c);
	}
}

static void take_end(struct agent *a, struct agent_child *c, int status, uint64_t cpu_ns)
{
	struct agent_child *newest = find_newest(a, c->name);

	agent_child_ended(c, status, cpu_ns);
	if (newest != c)
		agent_child_add_rest(newest, c);
}

static void reap(struct agent *a)
{
	struct rusage used;
	int status;
	pid_t pid;

	while ((pid = wait4(-1, &status, WNOHANG, &used)) > 0) {
		uint64_t us = (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
		uint64_t s = (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec);

		vec_each (&a->children, it)
			if ((*it)->pid == pid)
				take_end(a, *it, status, s * SECOND + us * 1000);
	}
	forget_removed(a);
}

static bool any_running(const struct agent *a)
{
	vec_each (&a->children, it)
		if ((*it)->pid)
			return true;
	return false;
}

/* ---- metrics ---- */

static int open_server(struct agent *a)
{
	static const struct http_server_page metrics = {
		"/metrics", "text/plain; version=0.0.4; charset=utf-8"};
	struct http_server_opts opts = agent_config_server(&a->config);

	opts.pages = &metrics;
	opts.n_pages = 1;
	return opts.address ? http_server_start(&opts, &a->server) : 0;
}

/* A number that differs when a profiler has written metrics or its state has changed. */
static uint64_t version_of_metrics(const struct agent *a)
{
	uint64_t h = BASE_HASH_START;

	vec_each (&a->children, it) {
		const struct agent_child *c = *it;
		const uint64_t counts[] = {c->starts, c->failures, c->state, (uint64_t)c->pid};
		struct stat st;

		h = base_hash_bytes(h, counts, sizeof(counts));
		h = base_hash_bytes(h, c->steps, sizeof(c->steps));
		if (stat(c->metrics, &st) == 0)
			h = base_hash_bytes(h, &st.st_mtim, sizeof(st.st_mtim));
	}
	return h + a->reloads + a->failed_reloads;
}

static bool is_news(struct agent *a)
{
	uint64_t now = base_now(), version;

	if ((!a->server && !a->config.metrics) || now < a->metrics_due)
		return false;
	a->metrics_due = now + SECOND;
	version = version_of_metrics(a);
	if (version == a->metrics_version && now < a->metrics_stale)
		return false;
	a->metrics_version = version;
	a->metrics_stale = now + METRICS_STALE;
	return true;
}

static void publish(struct agent *a)
{
	struct buf text _cleanup_(buf_done) = {0};
	int r;

	if (!is_news(a))
		return;
	agent_measure_memory(a);
	agent_metrics_write(a, &text);
	if (buf_failed(&text))
		return;
	if (a->server)
		http_server_publish(a->server, 0, text.data, text.len);
	r = a->config.metrics
		    ? replace_file(a->config.metrics,
			      a->config.metrics_mode ?: place_default_mode(), text.data, text.len)
		    : 0;
	if (r < 0)
		log_warn("cannot write '%s': %s", CLIP(a->config.metrics), place_error(-r));
}

/* ---- reloading ---- */

static bool is_same(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

/* Rights and sockets are set up at the start only. */
static void note_restart(const struct agent_config *old, const struct agent_config *new)
{
	if (!is_same(old->listen, new->listen) ||
		!is_same(old->listen_token_file, new->listen_token_file) ||
		!is_same(old->listen_cert, new->listen_cert) ||
		!is_same(old->listen_key, new->listen_key) || old->insecure != new->insecure ||
		!is_same(old->user, new->user) || !is_same(old->capabilities, new->capabilities))
		log_warn("changes of listen, user and capabilities have no effect until the agent "
			 "is restarted");
}

static void reload(struct agent *a)
{
	struct agent_config config;
	int r;

	agent_notify_reloading();
	r = read_config(a, AGENT_READS, &config);
	if (r == 0) {
		note_restart(&a->config, &config);
		agent_config_done(&a->config);
		a->config = config;
		a->reloads++;
		a->check_due = 0;
		log_note("the configuration was reloaded: %zu profiler%s", config.sections.n,
			PLURAL_S(config.sections.n));
		r = adopt_sections(a, &config);
		if (r < 0)
			log_warn("%s", attar_error());
	} else {
		a->failed_reloads++;
		log_warn("the new configuration is invalid, the old one stays in effect: %s",
			attar_error());
		agent_config_done(&config);
	}
	attar_error_clear();
	agent_notify("READY=1");
}

/* ---- the loop ---- */

static void agent_stop(struct agent *a)
{
	if (!a->stopping)
		agent_notify("STOPPING=1");
	a->stopping = true;
	vec_each (&a->children, it)
		agent_child_stop(*it);
}

static void take_signals(struct agent *a)
{
	struct signalfd_siginfo info;

	while (read(a->signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGHUP)
			reload(a);
		else if (info.ssi_signo != SIGCHLD)
			agent_stop(a);
	}
}

static void report_alive(struct agent *a)
{
	if (!a->watchdog_ns || base_now() < a->watchdog_due)
		return;
	agent_notify("WATCHDOG=1");
	a->watchdog_due = base_now() + a->watchdog_ns;
}

static void wait_for_work(struct agent *a)
{
	struct pollfd fds[2 * AGENT_SECTIONS_MAX + 1] = {{.fd = a->signals, .events = POLLIN}};
	int timeout = TURN_MS;
	nfds_t n = 1;

	vec_each (&a->children, it)
		if ((*it)->log >= 0 && n < ARRAY_SIZE(fds))
			fds[n++] = (struct pollfd){.fd = (*it)->log, .events = POLLIN};
	if (a->watchdog_ns)
		timeout = (int)MIN(a->watchdog_ns / 1000000, (uint64_t)TURN_MS);
	poll(fds, n, timeout);
}

static void run_until_stopped(struct agent *a)
{
	while (!a->stopping || any_running(a)) {
		wait_for_work(a);
		take_signals(a);
		vec_each (&a->children, it)
			agent_child_read_log(*it);
		reap(a);
		start_due(a);
		if (!a->stopping)
			agent_limit_check(a);
		publish(a);
		report_alive(a);
	}
}

/* ---- beginning and end ---- */

static int open_signals(struct agent *a)
{
	const int taken[] = {SIGHUP, SIGINT, SIGTERM, SIGQUIT, SIGCHLD};
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_SIZE(taken); i++)
		sigaddset(&set, taken[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	a->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return a->signals >= 0 ? 0 : attar_fail(-errno, "signalfd: %s", strerror(errno));
}

/* Profilers need a descriptor for each CPU and event. */
static void raise_file_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

/*
 * Capabilities belong to threads, and new threads inherit them: the rights are given up before the
 * server has a thread. CAP_DAC_READ_SEARCH, which is kept, reads a token or key of root.
 */
static int agent_begin(struct agent *a)
{
	int r = open_signals(a);

	raise_file_limit();
	if (r == 0)
		r = agent_rights_drop(a->config.user, a->config.capabilities);
	if (r == 0)
		r = open_server(a);
	if (r == 0)
		r = agent_directory_open(&a->directory);
	if (r == 0)
		r = adopt_sections(a, &a->config);
	return r;
}

static void agent_end(struct agent *a)
{
	vec_each (&a->children, it)
		agent_child_free(*it);
	vec_done(&a->children);
	http_server_free(a->server);
	agent_directory_close(&a->directory);
	if (a->signals >= 0)
		close(a->signals);
	agent_config_done(&a->config);
	agent_config_done(&a->options);
}

static int print_check(const struct agent *a)
{
	struct buf b _cleanup_(buf_done) = {0};

	buf_printf(&b, "%s is valid:", a->path);
	vec_each (&a->config.sections, s)
		buf_printf(&b, "%s %s", s == a->config.sections.at ? "" : ",", s->name);
	buf_char(&b, '\n');
	return print_buf(&b);
}

static int agent_run(void *state, const struct command_words *words)
{
	struct agent a = {.signals = -1, .directory.lock = -1, .calm_needed = 1};
	const struct arguments *args = state;
	int status = STATUS_OK, r = take_arguments(&a, args);

	if (r == 0)
		r = read_config(&a, args->check ? AGENT_CHECKS : AGENT_READS, &a.config);
	if (r < 0) {
		status = report_error(STATUS_USAGE);
	} else if (args->check) {
		status = print_check(&a);
	} else if ((r = agent_begin(&a)) < 0) {
		status = report_error(status_of(r));
	} else {
		start_due(&a);
		a.watchdog_ns = agent_notify_watchdog();
		log_note("starting %zu profiler%s of %s", a.children.n, PLURAL_S(a.children.n),
			a.path);
		agent_notify("READY=1");
		run_until_stopped(&a);
	}
	agent_end(&a);
	return status;
}

static const struct attar_example agent_examples[] = {
	{"agent --check -c agent.conf", "check a configuration"},
	{"agent -c /etc/attar/agent.conf", "run its profilers until SIGTERM"},
	{0},
};

const struct command command_agent = {
	.name = "agent",
	.usage = "-c FILE [--check] [OPTIONS]",
	.summary = "run profilers permanently, as a service",
	.options = agent_options,
	.state_size = sizeof(T),
	.examples = agent_examples,
	.run = agent_run,
};
