/* SPDX-License-Identifier: MIT */
/*
 * Requests to ClickHouse by libcurl, which is loaded when it is used. Each request has a separate
 * connection: libcurl repeats a request on a connection that turns out to be closed, and would thus
 * store rows twice if the server was killed just after it had stored them. Bodies are sent after
 * the server has answered "100 Continue", so a server that does not run receives none.
 */
#include "report/sinks/clickhouse/clickhouse.h"

#include <curl/curl.h>

#include "base/library.h"

enum { ANSWER_MAX = 1 << 20, TEXT_MAX = 300 }; /* bytes */

/* What is used of libcurl. */
#define FUNCTIONS(F)                                                                               \
	F(init, curl_global_init)                                                                  \
	F(new_request, curl_easy_init)                                                             \
	F(set, curl_easy_setopt)                                                                   \
	F(perform, curl_easy_perform)                                                              \
	F(get, curl_easy_getinfo)                                                                  \
	F(free, curl_easy_cleanup)                                                                 \
	F(escape, curl_easy_escape)                                                                \
	F(free_text, curl_free)                                                                    \
	F(append, curl_slist_append)                                                               \
	F(free_list, curl_slist_free_all)

LIBRARY_FUNCTIONS(curl, FUNCTIONS);

struct transport {
	struct curl lib;
	const struct clickhouse_url *url;
	CURL *curl;
	struct curl_slist *headers, *insert_headers;
	struct buf answer;
	size_t answer_max;
	const struct buf *parts[2]; /* of the body that is being sent */
	size_t sent;
	bool is_too_long; /* the answer of this request */
	unsigned exception;
	bool (*turn)(void *ctx);
	void *ctx;
	char error[CURL_ERROR_SIZE];
};

static int transport_load(struct curl *lib)
{
	static const char *const sonames[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};
	int r = -ENOENT;

	for (size_t i = 0; r == -ENOENT && i < ARRAY_SIZE(sonames); i++)
		r = library_load(sonames[i], curl_names, ARRAY_SIZE(curl_names), lib);
	if (r == 0 && lib->init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		r = -ENOSYS;
	return r < 0 ? library_fail(r, "ClickHouse", "libcurl", "libcurl4") : 0;
}

/* ---- what libcurl calls ---- */

static size_t receive(char *bytes, size_t size, size_t n, void *ctx)
{
	struct transport *t = ctx;

	if (t->answer.len + n > t->answer_max) {
		t->is_too_long = true;
		return 0;
	}
	buf_add(&t->answer, bytes, n);
	return buf_failed(&t->answer) ? 0 : n;
}

static size_t send_part(char *bytes, size_t size, size_t n, void *ctx)
{
	struct transport *t = ctx;
	size_t before = 0, room = size * n;

	for (size_t i = 0; i < ARRAY_SIZE(t->parts); i++) {
		const struct buf *part = t->parts[i];

		if (part && t->sent < before + part->len) {
			size_t at = t->sent - before, more = MIN(room, part->len - at);

			memcpy(bytes, part->data + at, more);
			t->sent += more;
			return more;
		}
		before += part ? part->len : 0;
	}
	return 0;
}

static int watch(void *ctx, curl_off_t all_in, curl_off_t in, curl_off_t all_out, curl_off_t out)
{
	struct transport *t = ctx;

	return t->turn && t->turn(t->ctx);
}

/* ---- life cycle ---- */

static int add_header(struct transport *t, const char *name, const char *value)
{
	struct buf line _cleanup_(buf_done) = {0};
	struct curl_slist *list, *inserts;

	buf_printf(&line, "%s:%s%s", name, *value ? " " : "", value);
	if (buf_failed(&line))
		return base_oom();
	list = t->lib.append(t->headers, buf_text(&line));
	inserts = t->lib.append(t->insert_headers, buf_text(&line));
	t->headers = list ?: t->headers;
	t->insert_headers = inserts ?: t->insert_headers;
	return list && inserts ? 0 : base_oom();
}

/* Header lines, in which the password is not part of the address. */
static int add_headers(struct transport *t)
{
	const char *texts[] = {t->url->user, t->url->password};
	struct curl_slist *list;
	int e = 0;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (strpbrk(texts[i], "\r\n"))
			return attar_fail(-EINVAL,
				"ClickHouse: user and password must not contain line breaks");
	if (*t->url->user)
		e = add_header(t, "X-ClickHouse-User", t->url->user);
	if (e == 0 && *t->url->password)
		e = add_header(t, "X-ClickHouse-Key", t->url->password);
	if (e < 0)
		return e;
	list = t->lib.append(t->headers, "Expect:");
	t->headers = list ?: t->headers;
	if (!list)
		return base_oom();
	list = t->lib.append(t->insert_headers, "Expect: 100-continue");
	t->insert_headers = list ?: t->insert_headers;
	return list ? 0 : base_oom();
}

/* Before libcurl 7.85, protocols are a number. A server cannot redirect: that is off. */
static int set_protocol(struct transport *t)
{
	enum { OLD_PROTOCOLS = 181, OLD_HTTP = 1 << 0, OLD_HTTPS = 1 << 1 };
	bool tls = t->url->tls;
	CURLcode code = t->lib.set(t->curl, CURLOPT_PROTOCOLS_STR, tls ? "https" : "http");

	if (code == CURLE_UNKNOWN_OPTION)
		code = t->lib.set(
			t->curl, (CURLoption)OLD_PROTOCOLS, (long)(tls ? OLD_HTTPS : OLD_HTTP));
	if (code == CURLE_OK && tls)
		code = t->lib.set(t->curl, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	if (code == CURLE_OK && t->url->ca)
		code = t->lib.set(t->curl, CURLOPT_CAINFO, t->url->ca);
	if (code == CURLE_OK)
		return 0;
	return attar_fail(-EOPNOTSUPP, "ClickHouse: this libcurl does not support %s%s",
		tls ? "https" : "http", t->url->ca ? " with ca=" : "");
}

static void set_options(struct transport *t)
{
	long timeout_ms = (long)(t->url->timeout_ns / 1000000);
	CURL *curl = t->curl;

	t->lib.set(curl, CURLOPT_NOSIGNAL, 1L);
	t->lib.set(curl, CURLOPT_PROXY, "");
	t->lib.set(curl, CURLOPT_ERRORBUFFER, t->error);
	t->lib.set(curl, CURLOPT_POST, 1L);
	t->lib.set(curl, CURLOPT_READFUNCTION, send_part);
	t->lib.set(curl, CURLOPT_READDATA, t);
	t->lib.set(curl, CURLOPT_WRITEFUNCTION, receive);
	t->lib.set(curl, CURLOPT_WRITEDATA, t);
	t->lib.set(curl, CURLOPT_NOPROGRESS, 0L);
	t->lib.set(curl, CURLOPT_XFERINFOFUNCTION, watch);
	t->lib.set(curl, CURLOPT_XFERINFODATA, t);
	t->lib.set(curl, CURLOPT_CONNECTTIMEOUT_MS, timeout_ms);
	/* after this time the body would be sent anyway: the low speed ends the request before */
	t->lib.set(curl, CURLOPT_EXPECT_100_TIMEOUT_MS, 2 * timeout_ms + 10000L);
	t->lib.set(curl, CURLOPT_FRESH_CONNECT, 1L);
	t->lib.set(curl, CURLOPT_FORBID_REUSE, 1L);
	t->lib.set(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
	t->lib.set(curl, CURLOPT_LOW_SPEED_TIME, MAX(timeout_ms / 1000, 1L));
}

int transport_new(const struct clickhouse_url *url, struct transport **ret_transport)
{
	struct transport *t = calloc(1, sizeof(*t));
	int e;

	if (!t)
		return base_oom();
	t->url = url;
	t->answer_max = ANSWER_MAX;
	e = transport_load(&t->lib);
	if (e == 0 && !(t->curl = t->lib.new_request()))
		e = base_oom();
	if (e == 0)
		e = set_protocol(t);
	if (e == 0)
		e = add_headers(t);
	if (e < 0) {
		transport_free(t);
		return e;
	}
	set_options(t);
	*ret_transport = t;
	return 0;
}

struct transport *transport_free(struct transport *t)
{
	if (!t)
		return NULL;
	if (t->curl)
		t->lib.free(t->curl);
	if (t->lib.free_list) {
		t->lib.free_list(t->headers);
		t->lib.free_list(t->insert_headers);
	}
	buf_done(&t->answer);
	free(t);
	return NULL;
}

void transport_watch(struct transport *t, bool (*turn)(void *ctx), void *ctx)
{
	t->turn = turn;
	t->ctx = ctx;
}

void transport_limit(struct transport *t, size_t bytes)
{
	t->answer_max = bytes;
}

unsigned transport_exception(const struct transport *t)
{
	return t->exception;
}

/* ---- requests ---- */

/* "Code: 81, e.displayText() = DB::Exception: TEXT, e.what() = DB::Exception" */
static int refused(struct transport *t, long status)
{
	static const char mark[] = "DB::Exception: ";
	const char *text = buf_text(&t->answer), *found = strstr(text, mark), *end;
	int n;

	t->exception = 0;
	if (sscanf(text, "Code: %u", &t->exception) != 1)
		return attar_fail(TRANSPORT_REFUSED,
			"'%s' responded with status %ld, but is not ClickHouse", t->url->base,
			status);
	text = found ? found + strlen(mark) : text;
	end = strstr(text, ", e.what()");
	n = (int)MIN(end ? (size_t)(end - text) : strlen(text), (size_t)TEXT_MAX);
	switch (t->exception) {
	case 81: /* UNKNOWN_DATABASE */
		return attar_fail(TRANSPORT_REFUSED,
			"database '%s' does not exist on %s" ATTAR_FIX
			"create it, CREATE DATABASE %s",
			t->url->database, t->url->base, t->url->database);
	case 192: /* UNKNOWN_USER */
	case 193: /* WRONG_PASSWORD */
	case 194: /* REQUIRED_PASSWORD */
	case 516: /* AUTHENTICATION_FAILED */
		return attar_fail(TRANSPORT_REFUSED,
			"%s does not accept user '%s' with this password" ATTAR_FIX
			"set CLICKHOUSE_PASSWORD, or use ?password_file=FILE (%.*s)",
			t->url->base, *t->url->user ? t->url->user : "default", n, text);
	default:
		return attar_fail(TRANSPORT_REFUSED, "%s refused: %.*s", t->url->base, n, text);
	}
}

static int failed(struct transport *t, CURLcode code)
{
	const char *text = *t->error ? t->error : "the transfer failed";

	if (t->is_too_long && t->answer_max > ANSWER_MAX)
		return attar_fail(TRANSPORT_UNKNOWN,
			"the response of %s exceeds %zu MiB" ATTAR_FIX
			"choose a shorter range of time",
			t->url->base, t->answer_max >> 20);
	if (code == CURLE_COULDNT_CONNECT || code == CURLE_COULDNT_RESOLVE_HOST)
		return attar_fail(TRANSPORT_AWAY, "cannot connect to %s: %s", t->url->base, text);
	if (code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE)
		return attar_fail(TRANSPORT_AWAY,
			"the certificate of %s is not trusted: %s" ATTAR_FIX
			"add ca=FILE with the authority that signed it",
			t->url->base, text);
	if (code == CURLE_SSL_CONNECT_ERROR)
		return attar_fail(TRANSPORT_AWAY,
			"cannot begin TLS with %s: %s" ATTAR_FIX "use the HTTPS port of the server",
			t->url->base, text);
	if (code == CURLE_OPERATION_TIMEDOUT || code == CURLE_ABORTED_BY_CALLBACK)
		return attar_fail(TRANSPORT_UNKNOWN, "%s did not respond in time", t->url->base);
	return attar_fail(TRANSPORT_UNKNOWN,
		"the response of %s is not in the format of ClickHouse: %s", t->url->base, text);
}

static int set_address(struct transport *t, uint64_t id)
{
	struct buf address _cleanup_(buf_done) = {0};
	char *database = t->lib.escape(t->curl, t->url->database, 0);

	if (!database)
		return base_oom();
	buf_printf(&address, "%s?database=%s", t->url->base, database);
	t->lib.free_text(database);
	if (id)
		buf_printf(&address, "&query_id=attar-%016llx", (unsigned long long)id);
	if (buf_failed(&address))
		return base_oom();
	t->lib.set(t->curl, CURLOPT_URL, buf_text(&address)); /* copied */
	return 0;
}

static int post(struct transport *t, const struct buf *query, uint64_t id, const struct buf *body)
{
	bool is_insert = body != NULL;
	long status = 0;
	CURLcode code;
	int e = set_address(t, id);

	if (e < 0)
		return e;
	buf_reset(&t->answer);
	*t->error = '\0';
	t->is_too_long = false;
	t->parts[0] = query;
	t->parts[1] = body;
	t->sent = 0;
	t->lib.set(t->curl, CURLOPT_POSTFIELDSIZE_LARGE,
		(curl_off_t)(query->len + (body ? body->len : 0)));
	t->lib.set(t->curl, CURLOPT_HTTPHEADER, is_insert ? t->insert_headers : t->headers);
	code = t->lib.perform(t->curl);
	if (code != CURLE_OK)
		return failed(t, code);
	t->lib.get(t->curl, CURLINFO_RESPONSE_CODE, &status);
	return status == 200 ? 0 : refused(t, status);
}

int transport_query(struct transport *t, const char *query, struct buf *answer)
{
	struct buf text _cleanup_(buf_done) = {0};
	int e;

	buf_str(&text, query);
	e = buf_failed(&text) ? base_oom() : post(t, &text, 0, NULL);
	if (e < 0 || !answer)
		return e;
	buf_reset(answer);
	buf_add(answer, buf_text(&t->answer), t->answer.len);
	return buf_failed(answer) ? base_oom() : 0;
}

int transport_insert(struct transport *t, const char *query, uint64_t id, const struct buf *body)
{
	struct buf text _cleanup_(buf_done) = {0};

	buf_str(&text, query);
	return buf_failed(&text) ? base_oom() : post(t, &text, id, body);
}
