/* SPDX-License-Identifier: MIT */
#include "cli/output/http_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/accept_gate.h"
#include "base/base.h"
#include "base/buf.h"
#include "base/library.h"
#include "base/log.h"
#include "base/place.h"
#include "base/user_file.h"
#include "base/vec.h"

#ifdef HAVE_MICROHTTPD

#include <microhttpd.h>

enum {
	CONNECTIONS_MAX = 64,
	CONNECTIONS_KEPT = 48,   /* a further one replaces the oldest one */
	CONNECTIONS_OF_ONE = 16, /* of one address */
	NEW_OF_ONE = 32,         /* of one address or other user, in a second */
	TIMEOUT_SECONDS = 10,
	TOKEN_MIN = 16, /* bytes */
	FILE_MAX = 1 << 20,
};

/* What is used of libmicrohttpd. */
#define FUNCTIONS(F)                                                                               \
	F(start, MHD_start_daemon)                                                                 \
	F(stop, MHD_stop_daemon)                                                                   \
	F(add, MHD_add_connection)                                                                 \
	F(new_response, MHD_create_response_from_buffer)                                           \
	F(add_header, MHD_add_response_header)                                                     \
	F(answer, MHD_queue_response)                                                              \
	F(free_response, MHD_destroy_response)                                                     \
	F(get_header, MHD_lookup_connection_value)                                                 \
	F(get_info, MHD_get_connection_info)

LIBRARY_FUNCTIONS(mhd, FUNCTIONS);

/* A connection, which has one request. */
struct client {
	struct MHD_Connection *connection; /* NULL: this place is free */
	int fd;                            /* -1: it was shut down */
	uint64_t number;                   /* of all connections, in their order */
};

struct page {
	struct http_server_page opts;
	struct buf text; /* empty: there is none yet */
};

struct http_server {
	struct mhd mhd;
	struct MHD_Daemon *daemon;
	int socket;                             /* -1: none */
	int end;                                /* eventfd that ends the thread; -1: none */
	pthread_t accepts;                      /* the thread that accepts connections */
	struct accept_gate gate;                /* of this thread */
	struct buf token, certificate, key;     /* token: empty: none is required */
	char *socket_path;                      /* of a socket that is a file; owned */
	char *host;                             /* as given; owned */
	bool is_loopback;                       /* only programs of this machine can connect */
	struct client clients[CONNECTIONS_MAX]; /* of the server's thread */
	uint64_t n_opened;
	pthread_mutex_t lock; /* of the pages' text */
	VEC(struct page) pages;
};

static int http_server_load(struct mhd *mhd)
{
	int r = library_load("libmicrohttpd.so.12", mhd_names, ARRAY_SIZE(mhd_names), mhd);

	return r < 0 ? library_fail(r, "--listen", "libmicrohttpd", "libmicrohttpd12") : 0;
}

/* ---- connections ---- */

static struct client *find_client(struct http_server *s, const struct MHD_Connection *connection)
{
	for (size_t i = 0; i < CONNECTIONS_MAX; i++)
		if (s->clients[i].connection == connection)
			return &s->clients[i];
	return NULL;
}

/*
 * Clients that never finish a request must not keep others out: the oldest connection is shut down
 * when there are many.
 */
static void limit_clients(struct http_server *s)
{
	struct client *oldest = NULL;
	size_t n = 0;

	for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
		struct client *c = &s->clients[i];

		if (!c->connection || c->fd < 0)
			continue;
		n++;
		if (!oldest || c->number < oldest->number)
			oldest = c;
	}
	if (n <= CONNECTIONS_KEPT)
		return;
	shutdown(oldest->fd, SHUT_RDWR);
	oldest->fd = -1;
}

static void on_connection(void *ctx, struct MHD_Connection *connection, void **socket_context,
	enum MHD_ConnectionNotificationCode code)
{
	struct http_server *s = ctx;
	const bool starts = code == MHD_CONNECTION_NOTIFY_STARTED;
	const union MHD_ConnectionInfo *info =
		s->mhd.get_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct client *client = find_client(s, starts ? NULL : connection);

	if (!client)
		return;
	*client = (struct client){0};
	if (!starts || !info)
		return;
	*client = (struct client){
		.connection = connection, .fd = info->connect_fd, .number = ++s->n_opened};
	limit_clients(s);
}

/* ---- answers ---- */

static enum MHD_Result answer(struct http_server *s, struct MHD_Connection *connection,
	unsigned status, const char *type, const char *text, size_t n)
{
	struct MHD_Response *response = s->mhd.new_response(n, (void *)text, MHD_RESPMEM_MUST_COPY);
	enum MHD_Result done;

	if (!response)
		return MHD_NO;
	s->mhd.add_header(response, "Content-Type", type);
	s->mhd.add_header(response, "Cache-Control", "no-store");
	s->mhd.add_header(response, "X-Content-Type-Options", "nosniff");
	if (status == MHD_HTTP_UNAUTHORIZED)
		s->mhd.add_header(response, "WWW-Authenticate", "Bearer");
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		s->mhd.add_header(response, "Allow", "GET, HEAD");
	done = s->mhd.answer(connection, status, response);
	s->mhd.free_response(response);
	return done;
}

static enum MHD_Result answer_text(
	struct http_server *s, struct MHD_Connection *connection, unsigned status, const char *text)
{
	return answer(s, connection, status, "text/plain; charset=utf-8", text, strlen(text));
}

static enum MHD_Result answer_page(
	struct http_server *s, struct MHD_Connection *connection, const struct page *page)
{
	enum MHD_Result done;

	pthread_mutex_lock(&s->lock);
	if (page->text.len)
		done = answer(s, connection, MHD_HTTP_OK, page->opts.type, page->text.data,
			page->text.len);
	else
		done = answer_text(s, connection, MHD_HTTP_SERVICE_UNAVAILABLE,
			"The first interval has not ended yet.\n");
	pthread_mutex_unlock(&s->lock);
	return done;
}

static bool is_accepted(const char *accepted, const char *type)
{
	char name[64];

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(type, ";"), type);
	return accepted && strcasestr(accepted, name);
}

/* The last page at the path whose type the client names, or else the first page there. */
static const struct page *find_page(
	const struct http_server *s, const char *path, const char *accepted)
{
	const struct page *found = NULL;

	vec_each (&s->pages, page)
		if (!strcmp(page->opts.path, path) &&
			(!found || is_accepted(accepted, page->opts.type)))
			found = page;
	return found;
}

static enum MHD_Result answer_not_found(struct http_server *s, struct MHD_Connection *connection)
{
	struct buf text _cleanup_(buf_done) = {0};
	const char *former = "";

	buf_str(&text, "Not found. This server has /healthz");
	vec_each (&s->pages, page) {
		if (strcmp(page->opts.path, former) != 0)
			buf_printf(&text, ", %s", page->opts.path);
		former = page->opts.path;
	}
	buf_str(&text, ".\n");
	return answer_text(s, connection, MHD_HTTP_NOT_FOUND, buf_text(&text));
}

/* In a time that does not depend on how much of the token is right. */
static bool is_allowed(struct http_server *s, struct MHD_Connection *connection)
{
	static const char scheme[] = "Bearer ";
	const char *given;
	unsigned char differs = 0;
	size_t n;

	if (!s->token.len)
		return true;
	given = s->mhd.get_header(connection, MHD_HEADER_KIND, "Authorization");
	if (!given || strncasecmp(given, scheme, sizeof(scheme) - 1) != 0)
		return false;
	given += sizeof(scheme) - 1;
	n = strlen(given);
	for (size_t i = 0; i < s->token.len; i++)
		differs |= (unsigned char)(s->token.data[i] ^ (n ? given[i % n] : 0));
	return !differs && n == s->token.len;
}

/*
 * Whether the name by which a client of this machine found the server names this machine. A
 * page of another site could otherwise read the results through the user's browser, with a name of
 * its own that it resolves to a loopback address.
 */
static bool is_own_host(struct http_server *s, struct MHD_Connection *connection)
{
	const char *given = s->mhd.get_header(connection, MHD_HEADER_KIND, "Host");
	struct in_addr v4;
	char host[256];
	size_t n;

	if (!s->is_loopback || !given)
		return true;
	n = *given == '[' ? strcspn(given, "]") + 1 : strcspn(given, ":");
	if (n >= sizeof(host))
		return false;
	snprintf(host, sizeof(host), "%.*s", (int)n, given);
	return !strcasecmp(host, "localhost") || !strcmp(host, "[::1]") ||
	       (s->host && !strcasecmp(host, s->host)) ||
	       (inet_pton(AF_INET, host, &v4) == 1 && ntohl(v4.s_addr) >> 24 == 127);
}

static enum MHD_Result on_request(void *ctx, struct MHD_Connection *connection, const char *url,
	const char *method, const char *version, const char *data, size_t *data_size, void **state)
{
	struct http_server *s = ctx;
	const struct page *page;

	if (!is_own_host(s, connection))
		return answer_text(s, connection, MHD_HTTP_MISDIRECTED_REQUEST,
			"This server has another name: use localhost.\n");
	if (!is_allowed(s, connection))
		return answer_text(
			s, connection, MHD_HTTP_UNAUTHORIZED, "A valid token is required.\n");
	if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
		return answer_text(s, connection, MHD_HTTP_METHOD_NOT_ALLOWED, "Use GET.\n");
	if (!strcmp(url, "/healthz"))
		return answer_text(s, connection, MHD_HTTP_OK, "ok\n");
	page = find_page(s, url, s->mhd.get_header(connection, MHD_HEADER_KIND, "Accept"));
	return page ? answer_page(s, connection, page) : answer_not_found(s, connection);
}

/* ---- starting ---- */

/* Splits "ADDRESS:PORT" in place. */
static int split_address(char *text, const char **ret_host, const char **ret_port)
{
	char *colon = strrchr(text, ':'), *end;
	long port;

	*ret_host = "127.0.0.1";
	*ret_port = colon ? colon + 1 : text;
	if (colon)
		*colon = '\0';
	if (colon && colon > text)
		*ret_host = text;
	if (*text == '[' && colon && colon[-1] == ']') {
		colon[-1] = '\0';
		*ret_host = text + 1;
	}
	port = strtol(*ret_port, &end, 10);
	return **ret_port && !*end && port >= 0 && port <= 65535 ? 0 : -EINVAL;
}

static bool is_loopback(const struct addrinfo *info)
{
	if (info->ai_family == AF_INET)
		return ntohl(((struct sockaddr_in *)info->ai_addr)->sin_addr.s_addr) >> 24 == 127;
	return info->ai_family == AF_INET6 &&
	       IN6_IS_ADDR_LOOPBACK(&((struct sockaddr_in6 *)info->ai_addr)->sin6_addr);
}

static int open_socket(struct http_server *s, const struct addrinfo *info, const char *address)
{
	int one = 1;

	s->socket = socket(info->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->socket < 0)
		return attar_fail(-EIO, "--listen: cannot open a socket: %s", strerror(errno));
	setsockopt(s->socket, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(s->socket, info->ai_addr, info->ai_addrlen) == 0 &&
		listen(s->socket, ACCEPT_QUEUE) == 0)
		return 0;
	if (errno == EADDRINUSE)
		return attar_fail(-EIO,
			"--listen: the port of '%s' is in use" ATTAR_FIX
			"choose another port, or stop the program that uses it",
			CLIP(address));
	return attar_fail(
		-EIO, "--listen: cannot listen on '%s': %s", CLIP(address), strerror(errno));
}

static int check_access(const struct http_server_opts *opts, bool loopback)
{
	if (!opts->certificate != !opts->key)
		return attar_fail(-EINVAL, "TLS needs a certificate and its key" ATTAR_FIX
					   "give both --listen-cert FILE and --listen-key FILE");
	if (loopback || opts->insecure || (opts->certificate && opts->token_file))
		return 0;
	return attar_fail(-EINVAL,
		"--listen: '%s' can be reached from other machines" ATTAR_FIX
		"use TLS (--listen-cert, "
		"--listen-key) and --listen-token-file, or let everybody read the results "
		"(--insecure)",
		CLIP(opts->address));
}

/* *ret_info is NULL after a failure. */
static int find_address(const struct http_server_opts *opts, struct addrinfo **ret_info)
{
	const struct addrinfo hints = {
		.ai_flags = AI_NUMERICSERV | AI_PASSIVE, .ai_socktype = SOCK_STREAM};
	struct addrinfo *info = NULL;
	const char *host, *port;
	char *text _cleanup_free_ = strdup(opts->address);
	int e;

	*ret_info = NULL;
	if (!text)
		return base_oom();
	if (split_address(text, &host, &port) < 0)
		return attar_fail(-EINVAL,
			"--listen: '%s' is not PORT, ADDRESS:PORT or [ADDRESS]:PORT",
			CLIP(opts->address));
	e = getaddrinfo(host, port, &hints, &info);
	if (e != 0)
		return attar_fail(
			-EINVAL, "--listen: unknown address '%s': %s", CLIP(host), gai_strerror(e));
	e = check_access(opts, is_loopback(info));
	if (e < 0)
		freeaddrinfo(info);
	else
		*ret_info = info;
	return e;
}

/* "unix:PATH": a socket that is a file, which only its owner can use, and root. */
static int listen_on_file(struct http_server *s, const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct stat st;
	mode_t before;
	int r;

	if (!*path || strlen(path) >= sizeof(address.sun_path))
		return attar_fail(-EINVAL, "--listen: the path '%s' has not 1 to %zu characters",
			CLIP(path), sizeof(address.sun_path) - 1);
	strcpy(address.sun_path, path);
	s->socket = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->socket < 0)
		return attar_fail(-EIO, "--listen: cannot open a socket: %s", strerror(errno));
	if (lstat(path, &st) == 0 && S_ISSOCK(st.st_mode) && st.st_uid == geteuid() &&
		connect(s->socket, (struct sockaddr *)&address, sizeof(address)) < 0 &&
		errno == ECONNREFUSED)
		place_unlink_path(path); /* left by a server that was killed */
	before = umask(0177);
	r = bind(s->socket, (struct sockaddr *)&address, sizeof(address));
	umask(before);
	if (r < 0 || listen(s->socket, ACCEPT_QUEUE) < 0)
		return attar_fail(
			-EIO, "--listen: cannot listen on '%s': %s", CLIP(path), strerror(errno));
	s->socket_path = strdup(path);
	return s->socket_path ? 0 : base_oom();
}

static const char unix_scheme[] = "unix:";

static int listen_on(struct http_server *s, const struct http_server_opts *opts)
{
	struct addrinfo *info;
	int e;

	if (!strncmp(opts->address, unix_scheme, strlen(unix_scheme)))
		return listen_on_file(s, opts->address + strlen(unix_scheme));
	e = find_address(opts, &info);
	if (e < 0)
		return e;
	s->is_loopback = is_loopback(info);
	if (strchr(opts->address, ':'))
		s->host = strndup(opts->address, strcspn(opts->address, ":"));
	e = open_socket(s, info, opts->address);
	freeaddrinfo(info);
	return e;
}

/* read: user_file_read() or, of a secret, user_file_read_secret() */
static int read_text(const char *option, const char *path, struct buf *text,
	int read(const char *path, size_t max, struct buf *b))
{
	if (!path || read(path, FILE_MAX, text) >= 0)
		return 0;
	return attar_context(-EIO, "%s", option);
}

static int read_files(struct http_server *s, const struct http_server_opts *opts)
{
	int e = read_text(
		"--listen-token-file", opts->token_file, &s->token, user_file_read_secret);

	if (e == 0)
		e = read_text("--listen-cert", opts->certificate, &s->certificate, user_file_read);
	if (e == 0)
		e = read_text("--listen-key", opts->key, &s->key, user_file_read_secret);
	if (e == 0 && opts->certificate && (!s->certificate.len || !s->key.len))
		e = attar_fail(-EINVAL, "--listen-cert and --listen-key: the file is empty");
	if (e < 0 || !opts->token_file)
		return e;
	s->token.len = strcspn(buf_text(&s->token), "\r\n");
	if (s->token.len < TOKEN_MIN)
		return attar_fail(-EINVAL,
			"--listen-token-file: the first line of '%s' has fewer than %d characters",
			CLIP(opts->token_file), TOKEN_MIN);
	return 0;
}

/* Until `end` is readable. */
static void *accept_clients(void *ctx)
{
	struct http_server *s = ctx;
	struct pollfd fds[] = {{.fd = s->end, .events = POLLIN}, {.events = POLLIN}};
	struct sockaddr_storage name;
	uint64_t origin, pause;
	int fd;

	while (!fds[0].revents) {
		while ((fd = accept_gate_next(&s->gate, base_now(), &name, &origin)) >= 0) {
			accept_gate_count(&s->gate, base_now(), &name, origin);
			s->mhd.add(s->daemon, fd, (struct sockaddr *)&name, sizeof(name));
		}
		pause = accept_gate_pause(&s->gate, base_now());
		fds[1].fd = pause ? -1 : s->socket;
		poll(fds, ARRAY_SIZE(fds), pause ? (int)(pause / 1000000) + 1 : -1);
	}
	return NULL;
}

static int start_accepting(struct http_server *s)
{
	int end = eventfd(0, EFD_CLOEXEC), r;

	if (end < 0)
		return attar_fail(-errno, "--listen: %s", strerror(errno));
	s->end = end;
	s->gate = (struct accept_gate){.listener = s->socket, .limit = NEW_OF_ONE};
	r = pthread_create(&s->accepts, NULL, accept_clients, s);
	if (r == 0)
		return 0;
	base_close_p(&s->end);
	return attar_fail(-r, "--listen: cannot start a thread: %s", strerror(r));
}

static void stop_accepting(struct http_server *s)
{
	const uint64_t one = 1;

	if (s->end < 0)
		return;
	if (write(s->end, &one, sizeof(one)) == sizeof(one))
		pthread_join(s->accepts, NULL);
	base_close_p(&s->end);
}

/* The server's threads take no signals: those are for the main one. */
static int start(struct http_server *s)
{
	const bool tls = s->certificate.len > 0;
	struct MHD_OptionItem options[] = {
		{MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS_MAX, NULL},
		{MHD_OPTION_PER_IP_CONNECTION_LIMIT, s->socket_path ? 0 : CONNECTIONS_OF_ONE, NULL},
		{MHD_OPTION_CONNECTION_TIMEOUT, TIMEOUT_SECONDS, NULL},
		{MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)on_connection, s},
		{tls ? MHD_OPTION_HTTPS_MEM_CERT : MHD_OPTION_END, 0, s->certificate.data},
		{MHD_OPTION_HTTPS_MEM_KEY, 0, s->key.data},
		{MHD_OPTION_HTTPS_PRIORITIES, 0,
			(void *)(uintptr_t) "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"},
		{MHD_OPTION_END, 0, NULL},
	};
	sigset_t all, before;
	int r = 0;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	s->daemon = s->mhd.start(MHD_USE_AUTO | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_ITC |
					 MHD_USE_NO_LISTEN_SOCKET | (tls ? MHD_USE_TLS : 0),
		0, NULL, NULL, on_request, s, MHD_OPTION_ARRAY, options, MHD_OPTION_END);
	if (s->daemon)
		r = start_accepting(s);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (s->daemon)
		return r;
	if (!tls)
		return attar_fail(-EIO, "--listen: the server did not start");
	return attar_fail(-EIO, "--listen: the server did not start" ATTAR_FIX
				"check that the certificate and the key are valid PEM files, and "
				"that the key belongs to the certificate");
}

static void log_address(const struct http_server *s)
{
	struct sockaddr_storage address;
	socklen_t size = sizeof(address);
	char host[NI_MAXHOST], port[NI_MAXSERV];

	if (s->socket_path) {
		log_note("listening on unix:%s", s->socket_path);
		return;
	}
	if (getsockname(s->socket, (struct sockaddr *)&address, &size) < 0 ||
		getnameinfo((struct sockaddr *)&address, size, host, sizeof(host), port,
			sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV) != 0)
		return;
	log_note(address.ss_family == AF_INET6 ? "listening on %s://[%s]:%s/"
					       : "listening on %s://%s:%s/",
		s->certificate.len ? "https" : "http", host, port);
}

int http_server_start(const struct http_server_opts *opts, struct http_server **ret_server)
{
	struct http_server *s = calloc(1, sizeof(*s));
	int e;

	if (!s)
		return base_oom();
	s->socket = s->end = -1;
	pthread_mutex_init(&s->lock, NULL);
	e = http_server_load(&s->mhd);
	for (size_t i = 0; i < opts->n_pages && e == 0; i++)
		e = vec_push(&s->pages, ((struct page){.opts = opts->pages[i]}));
	if (e == 0)
		e = listen_on(s, opts);
	if (e == 0)
		e = read_files(s, opts);
	if (e == 0)
		e = start(s);
	if (e < 0) {
		http_server_free(s);
		return e;
	}
	log_address(s);
	*ret_server = s;
	return 0;
}

/* Files that only the user of the server can read are left to it. */
static bool can_read(const struct http_server_opts *opts)
{
	const char *const paths[] = {opts->token_file, opts->certificate, opts->key};

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		if (paths[i] && access(paths[i], R_OK) < 0 && errno == EACCES)
			return false;
	return true;
}

int http_server_check(const struct http_server_opts *opts, struct sockaddr_storage *ret_address)
{
	const bool is_file = !strncmp(opts->address, unix_scheme, strlen(unix_scheme));
	struct http_server s = {.socket = -1};
	struct addrinfo *info;
	int e = is_file ? 0 : find_address(opts, &info);

	if (e < 0)
		return e;
	*ret_address = (struct sockaddr_storage){0};
	if (!is_file) {
		memcpy(ret_address, info->ai_addr, info->ai_addrlen);
		freeaddrinfo(info);
	}
	e = can_read(opts) ? read_files(&s, opts) : 0;
	buf_done(&s.token);
	buf_done(&s.certificate);
	buf_done(&s.key);
	return e;
}

int http_server_publish(struct http_server *s, size_t page, const char *text, size_t n)
{
	struct buf *to = &s->pages.at[page].text;
	bool failed;

	pthread_mutex_lock(&s->lock);
	buf_reset(to);
	buf_add(to, text, n);
	failed = buf_failed(to);
	pthread_mutex_unlock(&s->lock);
	return failed ? base_oom() : 0;
}

struct http_server *http_server_free(struct http_server *s)
{
	if (!s)
		return NULL;
	stop_accepting(s);
	if (s->daemon)
		s->mhd.stop(s->daemon);
	base_close_p(&s->socket);
	if (s->socket_path)
		place_unlink_path(s->socket_path);
	free(s->socket_path);
	free(s->host);
	vec_each (&s->pages, page)
		buf_done(&page->text);
	vec_done(&s->pages);
	buf_done(&s->token);
	buf_done(&s->certificate);
	buf_done(&s->key);
	pthread_mutex_destroy(&s->lock);
	free(s);
	return NULL;
}

#else

static int not_built(void)
{
	return attar_fail(-EOPNOTSUPP,
		"--listen is not available: this attar was built without libmicrohttpd" ATTAR_FIX
		"install libmicrohttpd-dev and rebuild attar");
}

int http_server_start(const struct http_server_opts *opts, struct http_server **ret_server)
{
	return not_built();
}

int http_server_check(const struct http_server_opts *opts, struct sockaddr_storage *ret_address)
{
	return not_built();
}

int http_server_publish(struct http_server *s, size_t page, const char *text, size_t n)
{
	return 0;
}

struct http_server *http_server_free(struct http_server *s)
{
	return NULL;
}

#endif
