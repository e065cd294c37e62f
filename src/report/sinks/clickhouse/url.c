/* SPDX-License-Identifier: MIT */
/*
 * clickhouse[s]://[USER@]HOST[:PORT]/DATABASE[?NAME=VALUE&...]. A password in it would be visible
 * in the list of processes: it is read from a file or from the environment. Without TLS it is sent
 * within this machine only.
 */
#include "report/sinks/clickhouse/clickhouse.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <time.h>

#include "base/parse.h"
#include "base/user_file.h"
#include "report/sinks/clickhouse/input.h"

enum { PASSWORD_MAX = 4096 };

#define SECONDS_MAX (UINT64_C(86400) * UINT16_MAX) /* of the type Date */

static const char scheme[] = "clickhouse", tls_scheme[] = "clickhouses", after_scheme[] = "://";

void clickhouse_url_done(struct clickhouse_url *url)
{
	char *const texts[] = {url->name, url->base, url->folder, url->user, url->password,
		url->database, url->service, url->host, url->spool, url->profiler, url->ca};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		free(texts[i]);
	*url = (struct clickhouse_url){0};
}

/* Copies n bytes, and decodes %XX. */
static int url_take(char **ret, const char *text, size_t n)
{
	struct buf b = {0};

	for (size_t i = 0; i < n; i++) {
		int high = -1, low = -1;

		if (text[i] == '%' && i + 2 < n) {
			high = parse_hex_digit(text[i + 1]);
			low = parse_hex_digit(text[i + 2]);
		}
		if (high >= 0 && low >= 0 && (high || low)) {
			buf_char(&b, (char)(high << 4 | low));
			i += 2;
		} else {
			buf_char(&b, text[i]);
		}
	}
	buf_str(&b, "");
	free(*ret);
	*ret = buf_take(&b);
	return *ret ? 0 : base_oom();
}

static int read_password(struct clickhouse_url *url, const char *path)
{
	struct buf text _cleanup_(buf_done) = {0};
	int e = user_file_read_secret(path, PASSWORD_MAX, &text);

	if (e < 0)
		return attar_context(-EIO, "password_file");
	return url_take(&url->password, buf_text(&text), strcspn(buf_text(&text), "\r\n"));
}

/* Seconds since 1970, or a date with or without a time of day, UTC. */
static int parse_moment(const char *value, uint64_t *ret_ns)
{
	static const char *const formats[] = {"%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d"};
	uint64_t seconds = 0;

	for (size_t i = 0; !seconds && i < ARRAY_SIZE(formats); i++) {
		struct tm tm = {0};
		const char *end = strptime(value, formats[i], &tm);
		time_t time = end && !*end ? timegm(&tm) : 0;

		seconds = time > 0 ? (uint64_t)time : 0;
	}
	if (!seconds && parse_u64(value, &seconds) < 0)
		attar_error_clear();
	if (!seconds || seconds >= SECONDS_MAX)
		return attar_fail(-EINVAL,
			"'%s' is not a time" ATTAR_FIX
			"write seconds since 1970, or 2026-11-20T12:00:00 (UTC)",
			CLIP(value));
	*ret_ns = seconds * 1000000000;
	return 0;
}

static int set_parameter(struct clickhouse_url *url, const char *name, const char *value)
{
	char *path _cleanup_free_ = NULL;
	int e;

	if (!strcmp(name, "spool") && !*value)
		return attar_fail(-EINVAL, "it must name a directory");
	if (!strcmp(name, "spool"))
		return url_take(&url->spool, value, strlen(value));
	if (!strcmp(name, "service"))
		return url_take(&url->service, value, strlen(value));
	if (!strcmp(name, "host")) {
		url->has_host = true;
		return url_take(&url->host, value, strlen(value));
	}
	if (!strcmp(name, "ca"))
		return url_take(&url->ca, value, strlen(value));
	if (!strcmp(name, "insecure")) {
		url->is_insecure = !strcmp(value, "1");
		return url->is_insecure ? 0 : attar_fail(-EINVAL, "the only value is 1");
	}
	if (!strcmp(name, "profiler"))
		return url_take(&url->profiler, value, strlen(value));
	if (!strcmp(name, "from"))
		return parse_moment(value, &url->from);
	if (!strcmp(name, "to"))
		return parse_moment(value, &url->to);
	if (!strcmp(name, "quota"))
		return parse_size(value, &url->quota);
	if (!strcmp(name, "timeout"))
		return parse_time(value, 1000000000, &url->timeout_ns);
	if (!strcmp(name, "password_file")) {
		e = url_take(&path, value, strlen(value));
		return e == 0 ? read_password(url, path) : e;
	}
	return attar_fail(-EINVAL,
		"no parameter '%s': the parameters are ca, host, insecure, password_file, quota, "
		"service, spool and timeout; 'attar diff' also has from, to and profiler",
		CLIP(name));
}

static int set_parameters(struct clickhouse_url *url, const char *text)
{
	char *list _cleanup_free_ = strdup(text), *save = NULL;

	if (!list)
		return base_oom();
	for (char *word = strtok_r(list, "&", &save); word; word = strtok_r(NULL, "&", &save)) {
		char *value = strchr(word, '=');
		int e;

		if (value)
			*value++ = '\0';
		e = set_parameter(url, word, value ?: "");
		if (e < 0)
			return attar_context(e, "parameter '%s'", CLIP(word));
	}
	return 0;
}

static int fail_password(void)
{
	return attar_fail(-EINVAL, "the address of ClickHouse contains a password, which all users "
				   "can see in the list of processes" ATTAR_FIX
				   "set CLICKHOUSE_PASSWORD, or use ?password_file=FILE");
}

/* What is before an '@' can be a password, which is not printed. */
static int fail(const char *text)
{
	const char *start = strstr(text, after_scheme);
	const char *colon = strchr(start ? start + strlen(after_scheme) : text, ':');

	if (colon && strchr(colon, '@'))
		return fail_password();
	return attar_fail(-EINVAL,
		"'%s' is not a ClickHouse address" ATTAR_FIX
		"use clickhouse://USER@HOST:8123/DATABASE, or with TLS "
		"clickhouses://USER@HOST:8443/DATABASE",
		CLIP(text));
}

/* By number, or a name that libcurl does not look up. */
static bool is_loopback(const char *host, size_t n)
{
	static const char name[] = "localhost", six[] = "[::1]";
	char text[INET_ADDRSTRLEN];
	struct in_addr four;

	snprintf(text, sizeof(text), "%.*s", (int)n, host);
	return (n == strlen(name) && !strncasecmp(host, name, n)) ||
	       (n == strlen(six) && !memcmp(host, six, n)) ||
	       (n < sizeof(text) && inet_pton(AF_INET, text, &four) == 1 &&
		       ntohl(four.s_addr) >> 24 == 127);
}

/* "HOST[:PORT]" */
static int set_place(struct clickhouse_url *url, const char *place, size_t n, const char *text)
{
	size_t host = *place == '[' ? strcspn(place, "]") + 1 : strcspn(place, ":/?");
	struct buf base = {0}, name = {0}, folder = {0};
	char *end = NULL;
	long usual = url->tls ? 8443 : 8123;
	long number = host < n && place[host] == ':' ? strtol(place + host + 1, &end, 10) : usual;
	int port = number > 0 && number < 65536 ? (int)number : 0;

	if (!host || host > n || !port || (host < n && end != place + n))
		return fail(text);
	for (size_t i = 0; i < host; i++)
		if (!isalnum((unsigned char)place[i]) && !strchr("[]:.-_", place[i]))
			return fail(text);
	url->is_loopback = is_loopback(place, host);
	buf_printf(&base, "http%s://%.*s:%d/", url->tls ? "s" : "", (int)host, place, port);
	buf_printf(&name, "%s://%.*s:%d/%s", url->tls ? tls_scheme : scheme, (int)host, place, port,
		url->database);
	buf_printf(&folder, "%.*s_%d_", (int)host, place, port);
	for (const char *c = url->database; *c; c++)
		if (isalnum((unsigned char)*c))
			buf_char(&folder, *c);
		else
			buf_printf(&folder, "_%02x", (unsigned char)*c);
	url->base = buf_take(&base);
	url->name = buf_take(&name);
	url->folder = buf_take(&folder);
	return url->base && url->name && url->folder ? 0 : base_oom();
}

static int url_split(struct clickhouse_url *url, const char *text)
{
	const char *at = strstr(text, after_scheme) + strlen(after_scheme);
	const char *query = strchrnul(at, '?');
	const char *slash = memchr(at, '/', (size_t)(query - at));
	const char *user_end = slash ? memrchr(at, '@', (size_t)(slash - at)) : NULL;
	const char *last_at = memrchr(at, '@', (size_t)(query - at));
	int e;

	if (!slash || slash + 1 == query)
		return fail(text);
	if (last_at && memchr(at, ':', (size_t)(last_at - at)))
		return fail_password(); /* with a slash in it, too: a database's '@' is "%40" */
	e = url_take(&url->user, at, user_end ? (size_t)(user_end - at) : 0);
	if (e == 0)
		e = url_take(&url->database, slash + 1, (size_t)(query - slash - 1));
	at = user_end ? user_end + 1 : at;
	if (e == 0)
		e = set_place(url, at, (size_t)(slash - at), text);
	if (e == 0 && *query)
		e = set_parameters(url, query + 1);
	return e;
}

/* A password, and what the server answers to it. */
static int check_security(const struct clickhouse_url *url)
{
	if (url->tls && url->is_insecure)
		return attar_fail(-EINVAL, "insecure=1 is for clickhouse://, not with TLS");
	if (url->ca && !url->tls)
		return attar_fail(-EINVAL,
			"ca= needs TLS" ATTAR_FIX "write clickhouses:// instead of clickhouse://");
	if (url->tls || url->is_insecure || url->is_loopback || !*url->password)
		return 0;
	return attar_fail(-EINVAL,
		"the password would be sent to %s without encryption" ATTAR_FIX
		"use TLS, %s://, or add the parameter insecure=1 if the network is safe",
		url->name, tls_scheme);
}

int clickhouse_url_parse(const char *text, struct clickhouse_url *ret)
{
	const char *password = getenv("CLICKHOUSE_PASSWORD") ?: "";
	char host[256] = "";
	int e;

	*ret = (struct clickhouse_url){.quota = 1ULL << 30, .timeout_ns = 10000000000};
	if (!clickhouse_is_address(text))
		return fail(text);
	ret->tls = text[strlen(scheme)] == 's';
	gethostname(host, sizeof(host) - 1);
	e = url_take(&ret->password, password, strlen(password));
	if (e == 0)
		e = url_take(&ret->host, host, strlen(host));
	if (e == 0)
		e = url_take(&ret->service, "", 0);
	if (e == 0)
		e = url_split(ret, text);
	if (e == 0)
		e = check_security(ret);
	if (e == 0 && !ret->timeout_ns)
		e = attar_fail(-EINVAL, "parameter 'timeout' must not be 0");
	return e;
}
