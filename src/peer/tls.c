/* SPDX-License-Identifier: MIT */
#include "peer/tls.h"

#include "base/library.h"
#include "base/parse.h"
#include "base/user_file.h"

bool tls_is_wanted(const struct tls_files *files)
{
	return files->psk || files->certificate || files->key || files->ca;
}

/* The header of a record: its type and version 3.x, see RFC 8446, section 5.1. */
bool tls_is_spoken(const char *bytes, size_t n)
{
	enum { ALERT = 21, HANDSHAKE = 22 };

	return n >= 2 && (bytes[0] == ALERT || bytes[0] == HANDSHAKE) && bytes[1] == 3;
}

int tls_only_there(void)
{
	return attar_fail(-EBADMSG, "the other side uses TLS, but this one does not" ATTAR_FIX
				    "give both sides the same --peer-psk file, or none");
}

#ifdef HAVE_GNUTLS

#include <arpa/inet.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <stdio.h>

#define PRIORITIES "NORMAL:-VERS-ALL:+VERS-TLS1.3"
/* Not PSK alone: an attacker who obtains the key later could decrypt recorded traffic. */
#define PSK_PRIORITIES PRIORITIES ":+ECDHE-PSK:+DHE-PSK"
#define PSK_NAME       "attar"

static const char soname[] = "libgnutls.so.30";

enum { FILE_MAX = 1 << 16, KEY_MIN = 16, KEY_MAX = 64 };

/* What is used of GnuTLS. */
#define FUNCTIONS(F)                                                                               \
	F(init, gnutls_init)                                                                       \
	F(deinit, gnutls_deinit)                                                                   \
	F(priority_set_direct, gnutls_priority_set_direct)                                         \
	F(credentials_set, gnutls_credentials_set)                                                 \
	F(transport_set_int2, gnutls_transport_set_int2)                                           \
	F(handshake, gnutls_handshake)                                                             \
	F(record_send, gnutls_record_send)                                                         \
	F(record_recv, gnutls_record_recv)                                                         \
	F(record_get_direction, gnutls_record_get_direction)                                       \
	F(alert_send_appropriate, gnutls_alert_send_appropriate)                                   \
	F(alert_send, gnutls_alert_send)                                                           \
	F(alert_get, gnutls_alert_get)                                                             \
	F(alert_get_name, gnutls_alert_get_name)                                                   \
	F(certificate_get_peers, gnutls_certificate_get_peers)                                     \
	F(x509_crt_init, gnutls_x509_crt_init)                                                     \
	F(x509_crt_deinit, gnutls_x509_crt_deinit)                                                 \
	F(x509_crt_import, gnutls_x509_crt_import)                                                 \
	F(x509_crt_get_subject_alt_name, gnutls_x509_crt_get_subject_alt_name)                     \
	F(strerror, gnutls_strerror)                                                               \
	F(error_is_fatal, gnutls_error_is_fatal)                                                   \
	F(psk_allocate_server_credentials, gnutls_psk_allocate_server_credentials)                 \
	F(psk_allocate_client_credentials, gnutls_psk_allocate_client_credentials)                 \
	F(psk_set_server_credentials_function, gnutls_psk_set_server_credentials_function)         \
	F(psk_set_client_credentials, gnutls_psk_set_client_credentials)                           \
	F(psk_free_server_credentials, gnutls_psk_free_server_credentials)                         \
	F(psk_free_client_credentials, gnutls_psk_free_client_credentials)                         \
	F(certificate_allocate_credentials, gnutls_certificate_allocate_credentials)               \
	F(certificate_free_credentials, gnutls_certificate_free_credentials)                       \
	F(certificate_set_x509_trust_file, gnutls_certificate_set_x509_trust_file)                 \
	F(certificate_set_x509_key_mem, gnutls_certificate_set_x509_key_mem)                       \
	F(certificate_server_set_request, gnutls_certificate_server_set_request)                   \
	F(session_set_ptr, gnutls_session_set_ptr)                                                 \
	F(session_get_verify_cert_status, gnutls_session_get_verify_cert_status)                   \
	F(session_set_verify_cert, gnutls_session_set_verify_cert)

LIBRARY_FUNCTIONS(gnutls, FUNCTIONS);

struct tls_keys {
	struct gnutls gnutls;
	bool is_server;
	unsigned char key[KEY_MAX];
	unsigned n_key; /* 0: certificates */
	gnutls_psk_server_credentials_t psk_server;
	gnutls_psk_client_credentials_t psk_client;
	gnutls_certificate_credentials_t certificates;
};

struct tls {
	struct tls_keys *keys;
	gnutls_session_t session;
	const char *host; /* borrowed; NULL: any */
	bool is_ready;    /* the handshake is over */
	bool is_writing;  /* a write was interrupted */
};

static int load(struct gnutls *gnutls)
{
	int r = library_load(soname, gnutls_names, ARRAY_SIZE(gnutls_names), gnutls);

	return r < 0 ? library_fail(r, "TLS", "GnuTLS", "libgnutls30") : 0;
}

/* ---- keys ---- */

static int bad_key(const char *path)
{
	return attar_fail(-EINVAL,
		"%s does not contain a key" ATTAR_FIX
		"write one line of %d to %d hexadecimal digits, such as the output of 'openssl "
		"rand -hex 32'",
		CLIP(path), 2 * KEY_MIN, 2 * KEY_MAX);
}

static int read_key(struct tls_keys *keys, const char *path)
{
	struct buf text _cleanup_(buf_done) = {0};
	size_t n;
	int r = user_file_read_secret(path, FILE_MAX, &text);

	if (r < 0)
		return r;
	n = strcspn(buf_text(&text), "\r\n");
	if (n % 2 || n < 2 * KEY_MIN || n > 2 * KEY_MAX)
		return bad_key(path);
	for (size_t i = 0; i < n / 2; i++) {
		int high = parse_hex_digit(text.data[2 * i]),
		    low = parse_hex_digit(text.data[2 * i + 1]);

		if (high < 0 || low < 0)
			return bad_key(path);
		keys->key[i] = (unsigned char)(high << 4 | low);
	}
	keys->n_key = (unsigned)(n / 2);
	return 0;
}

/* GnuTLS asks the server for the key of a name, and frees it. */
static int tell_key(gnutls_session_t session, const char *name, gnutls_datum_t *ret_key)
{
	__typeof__(gnutls_session_get_ptr) *get_ptr;
	const struct tls_keys *keys;

	*(void **)&get_ptr = library_function(soname, "gnutls_session_get_ptr");
	if (!get_ptr || strcmp(name, PSK_NAME) != 0)
		return -1;
	keys = get_ptr(session);
	ret_key->data = malloc(keys->n_key);
	if (!ret_key->data)
		return -1;
	memcpy(ret_key->data, keys->key, keys->n_key);
	ret_key->size = keys->n_key;
	return 0;
}

static int use_key(struct tls_keys *keys)
{
	const gnutls_datum_t key = {.data = keys->key, .size = keys->n_key};
	int e;

	if (keys->is_server) {
		e = keys->gnutls.psk_allocate_server_credentials(&keys->psk_server);
		if (e == 0)
			keys->gnutls.psk_set_server_credentials_function(
				keys->psk_server, tell_key);
	} else {
		e = keys->gnutls.psk_allocate_client_credentials(&keys->psk_client);
		if (e == 0)
			e = keys->gnutls.psk_set_client_credentials(
				keys->psk_client, PSK_NAME, &key, GNUTLS_PSK_KEY_RAW);
	}
	return e < 0 ? attar_fail(-EINVAL, "TLS: %s", keys->gnutls.strerror(e)) : 0;
}

static gnutls_datum_t datum_of(const struct buf *b)
{
	return (gnutls_datum_t){.data = (unsigned char *)b->data, .size = (unsigned)b->len};
}

static int use_own_certificate(struct tls_keys *keys, const struct tls_files *files)
{
	struct buf certificate _cleanup_(buf_done) = {0}, key _cleanup_(buf_done) = {0};
	gnutls_datum_t certificate_data, key_data;
	int r = user_file_read(files->certificate, FILE_MAX, &certificate);

	if (r < 0)
		return attar_context(r, "--peer-cert");
	r = user_file_read_secret(files->key, FILE_MAX, &key);
	if (r < 0)
		return attar_context(r, "--peer-key");
	certificate_data = datum_of(&certificate);
	key_data = datum_of(&key);
	r = keys->gnutls.certificate_set_x509_key_mem(
		keys->certificates, &certificate_data, &key_data, GNUTLS_X509_FMT_PEM);
	explicit_bzero(key.data, key.len);
	return r < 0 ? attar_fail(
			       -EINVAL, "--peer-cert and --peer-key: %s", keys->gnutls.strerror(r))
		     : 0;
}

static int use_certificates(struct tls_keys *keys, const struct tls_files *files)
{
	const struct gnutls *gnutls = &keys->gnutls;
	int e;

	if (!files->certificate || !files->key || !files->ca)
		return attar_fail(-EINVAL,
			"TLS needs a shared key or a certificate" ATTAR_FIX
			"use --peer-psk, or --peer-cert, --peer-key and --peer-ca");
	if (gnutls->certificate_allocate_credentials(&keys->certificates) < 0)
		return base_oom();
	e = gnutls->certificate_set_x509_trust_file(
		keys->certificates, files->ca, GNUTLS_X509_FMT_PEM);
	if (e <= 0)
		return attar_fail(-EINVAL, "--peer-ca: %s has no certificates%s%s", CLIP(files->ca),
			e ? ": " : "", e ? gnutls->strerror(e) : "");
	return use_own_certificate(keys, files);
}

int tls_keys_new(const struct tls_files *files, bool is_server, struct tls_keys **ret_keys)
{
	struct tls_keys *keys = calloc(1, sizeof(*keys));
	int r = keys ? load(&keys->gnutls) : base_oom();

	if (r == 0 && files->psk && (files->certificate || files->key || files->ca))
		r = attar_fail(-EINVAL, "--peer-psk and certificates are mutually exclusive");
	if (r == 0) {
		keys->is_server = is_server;
		r = files->psk ? read_key(keys, files->psk) : use_certificates(keys, files);
	}
	if (r == 0 && keys->n_key)
		r = use_key(keys);
	if (r < 0) {
		tls_keys_free(keys);
		return r;
	}
	*ret_keys = keys;
	return 0;
}

struct tls_keys *tls_keys_free(struct tls_keys *keys)
{
	if (!keys)
		return NULL;
	if (keys->psk_server)
		keys->gnutls.psk_free_server_credentials(keys->psk_server);
	if (keys->psk_client)
		keys->gnutls.psk_free_client_credentials(keys->psk_client);
	if (keys->certificates)
		keys->gnutls.certificate_free_credentials(keys->certificates);
	explicit_bzero(keys->key, sizeof(keys->key));
	free(keys);
	return NULL;
}

/* ---- sessions ---- */

static int set_credentials(struct tls *t, const char *host)
{
	struct tls_keys *keys = t->keys;
	const struct gnutls *gnutls = &keys->gnutls;
	int e;

	if (keys->n_key)
		return gnutls->credentials_set(t->session, GNUTLS_CRD_PSK,
			keys->is_server ? (void *)keys->psk_server : (void *)keys->psk_client);
	e = gnutls->credentials_set(t->session, GNUTLS_CRD_CERTIFICATE, keys->certificates);
	if (e == 0 && keys->is_server)
		gnutls->certificate_server_set_request(t->session, GNUTLS_CERT_REQUIRE);
	if (e == 0)
		gnutls->session_set_verify_cert(t->session, host, 0);
	return e;
}

int tls_new(struct tls_keys *keys, int fd, const char *host, struct tls **ret_tls)
{
	const unsigned side = keys->is_server ? GNUTLS_SERVER : GNUTLS_CLIENT;
	const struct gnutls *gnutls = &keys->gnutls;
	struct tls *t = calloc(1, sizeof(*t));
	int e;

	if (!t)
		return base_oom();
	t->keys = keys;
	t->host = host;
	e = gnutls->init(&t->session, side | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL);
	if (e == 0)
		e = gnutls->priority_set_direct(
			t->session, keys->n_key ? PSK_PRIORITIES : PRIORITIES, NULL);
	if (e == 0)
		e = set_credentials(t, host);
	if (e < 0) {
		e = attar_fail(-EINVAL, "TLS: %s", gnutls->strerror(e));
		tls_free(t);
		return e;
	}
	gnutls->session_set_ptr(t->session, keys);
	gnutls->transport_set_int2(t->session, fd, fd);
	*ret_tls = t;
	return 0;
}

/* The other side detects a connection that is cut: frames have an END. */
struct tls *tls_free(struct tls *t)
{
	if (t && t->session)
		t->keys->gnutls.deinit(t->session);
	free(t);
	return NULL;
}

/* ---- refusals ---- */

static unsigned status_of_certificate(const struct tls *t, int e)
{
	if (t->keys->n_key || e != GNUTLS_E_CERTIFICATE_VERIFICATION_ERROR)
		return 0;
	return t->keys->gnutls.session_get_verify_cert_status(t->session);
}

/* Appends one name of a certificate. Returns false after the last. */
static bool add_name(
	const struct gnutls *gnutls, gnutls_x509_crt_t certificate, unsigned i, struct buf *names)
{
	char name[256], number[INET6_ADDRSTRLEN] = "";
	size_t size = sizeof(name) - 1;
	int type = gnutls->x509_crt_get_subject_alt_name(certificate, i, name, &size, NULL);

	if (type == GNUTLS_E_SHORT_MEMORY_BUFFER)
		return true;
	if (type < 0)
		return false;
	name[size] = '\0';
	if (type == GNUTLS_SAN_IPADDRESS)
		inet_ntop(size == 4 ? AF_INET : AF_INET6, name, number, sizeof(number));
	if (type == GNUTLS_SAN_IPADDRESS || type == GNUTLS_SAN_DNSNAME)
		buf_printf(names, "%s%s", names->len ? ", " : "",
			type == GNUTLS_SAN_DNSNAME ? CLIP(name) : number);
	return true;
}

/* The names of the other side's certificate, for a message. */
static void list_names(const struct tls *t, struct buf *names)
{
	const struct gnutls *gnutls = &t->keys->gnutls;
	unsigned n = 0;
	const gnutls_datum_t *chain = gnutls->certificate_get_peers(t->session, &n);
	gnutls_x509_crt_t certificate;

	if (!chain || !n || gnutls->x509_crt_init(&certificate) < 0)
		return;
	if (gnutls->x509_crt_import(certificate, chain, GNUTLS_X509_FMT_DER) == 0)
		for (unsigned i = 0; add_name(gnutls, certificate, i, names); i++)
			;
	gnutls->x509_crt_deinit(certificate);
}

static int other_name(const struct tls *t)
{
	struct buf names _cleanup_(buf_done) = {0};

	list_names(t, &names);
	return attar_fail(-EPROTO,
		"TLS failed: the certificate of the other side is for %s, not for %s" ATTAR_FIX
		"connect to a name of the certificate, or add %s to its names (subjectAltName)",
		names.len ? CLIP(buf_text(&names)) : "no names", CLIP(t->host), CLIP(t->host));
}

/* The other side has ended the connection, with an alert that says why. */
static int refused(const struct tls *t)
{
	const struct gnutls *gnutls = &t->keys->gnutls;
	gnutls_alert_description_t alert = gnutls->alert_get(t->session);
	const char *name = gnutls->alert_get_name(alert) ?: "unknown";

	if (t->keys->n_key)
		return attar_fail(-EPROTO,
			"TLS failed: the other side refused the key (alert: %s)" ATTAR_FIX
			"give both sides the same --peer-psk file",
			name);
	if (alert == GNUTLS_A_CERTIFICATE_EXPIRED)
		return attar_fail(-EPROTO,
			"TLS failed: the other side refused the certificate of this side, which "
			"has expired or is not valid yet" ATTAR_FIX
			"renew --peer-cert, or set the clocks");
	/* GnuTLS does not send a certificate of an authority that was not asked for */
	if (alert == GNUTLS_A_UNKNOWN_CA || alert == GNUTLS_A_CERTIFICATE_REQUIRED)
		return attar_fail(-EPROTO,
			"TLS failed: the other side refused the certificate of this side, which "
			"its --peer-ca has not signed" ATTAR_FIX
			"use a --peer-cert that the --peer-ca of the other side has signed");
	if (alert == GNUTLS_A_BAD_CERTIFICATE)
		return attar_fail(-EPROTO,
			"TLS failed: the other side refused the certificate of this side" ATTAR_FIX
			"see its message: the address or the purpose may not be those of "
			"--peer-cert");
	return attar_fail(-EPROTO,
		"TLS failed: the other side sent the alert '%s'" ATTAR_FIX
		"use TLS with the same kind of keys on both sides: --peer-psk, "
		"or --peer-cert, --peer-key and --peer-ca",
		name);
}

/* Returns 0 or more, -EAGAIN, or -EPROTO with an error message. */
static ssize_t result(const struct tls *t, ssize_t e)
{
	if (e >= 0)
		return e;
	if (!t->keys->gnutls.error_is_fatal((int)e))
		return -EAGAIN;
	if (e == GNUTLS_E_FATAL_ALERT_RECEIVED)
		return refused(t);
	return attar_fail(-EPROTO, "TLS: %s", t->keys->gnutls.strerror((int)e));
}

/* The fix, as GnuTLS does not say which side lacks what. */
static int not_authenticated(const struct tls *t, int e)
{
	const char *why = t->keys->gnutls.strerror(e);
	unsigned status = status_of_certificate(t, e);

	if (e == GNUTLS_E_FATAL_ALERT_RECEIVED)
		return refused(t);
	if (status & (GNUTLS_CERT_EXPIRED | GNUTLS_CERT_NOT_ACTIVATED))
		return attar_fail(-EPROTO,
			"TLS failed: the certificate of the other side %s" ATTAR_FIX
			"renew it, or set the clock of this machine",
			status & GNUTLS_CERT_EXPIRED ? "has expired" : "is not valid yet");
	if (status & GNUTLS_CERT_UNEXPECTED_OWNER && !(status & GNUTLS_CERT_SIGNER_NOT_FOUND))
		return other_name(t);
	return t->keys->n_key
		       ? attar_fail(-EPROTO,
				 "TLS failed, probably because the keys differ (%s)" ATTAR_FIX
				 "give both sides the same --peer-psk file",
				 why)
		       : attar_fail(-EPROTO,
				 "TLS failed, probably because the certificates have different "
				 "authorities (%s)" ATTAR_FIX
				 "give both sides certificates that the --peer-ca of the other has "
				 "signed",
				 why);
}

/* Alerts of RFC 8446, section 6.2. GnuTLS has one for all errors of certificates. */
static void send_alert(const struct tls *t, int e)
{
	const struct gnutls *gnutls = &t->keys->gnutls;
	unsigned status = status_of_certificate(t, e);

	if (status & (GNUTLS_CERT_EXPIRED | GNUTLS_CERT_NOT_ACTIVATED))
		gnutls->alert_send(t->session, GNUTLS_AL_FATAL, GNUTLS_A_CERTIFICATE_EXPIRED);
	else if (status & GNUTLS_CERT_SIGNER_NOT_FOUND)
		gnutls->alert_send(t->session, GNUTLS_AL_FATAL, GNUTLS_A_UNKNOWN_CA);
	else
		gnutls->alert_send_appropriate(t->session, e);
}

/* 0: the other side is authenticated; -EAGAIN: not yet; other: refused, with an error message. */
static int tls_handshake(struct tls *t)
{
	const struct gnutls *gnutls = &t->keys->gnutls;
	int e = t->is_ready ? 0 : gnutls->handshake(t->session);

	t->is_ready = e >= 0;
	if (e >= 0)
		return 0;
	if (!gnutls->error_is_fatal(e))
		return -EAGAIN;
	send_alert(t, e);
	return not_authenticated(t, e);
}

ssize_t tls_read(struct tls *t, void *bytes, size_t n)
{
	int r = tls_handshake(t);
	ssize_t got;

	if (r < 0)
		return r;
	got = t->keys->gnutls.record_recv(t->session, bytes, n);
	return got == GNUTLS_E_PREMATURE_TERMINATION ? 0 : result(t, got);
}

/* GnuTLS has its own copy of what an interrupted write could not send. */
ssize_t tls_write(struct tls *t, const void *bytes, size_t n)
{
	int r = tls_handshake(t);
	ssize_t sent;

	if (r < 0)
		return r;
	sent = t->keys->gnutls.record_send(
		t->session, t->is_writing ? NULL : bytes, t->is_writing ? 0 : n);
	t->is_writing = sent == GNUTLS_E_AGAIN || sent == GNUTLS_E_INTERRUPTED;
	return result(t, sent);
}

bool tls_wants_write(const struct tls *t)
{
	return t->is_writing ||
	       (!t->is_ready && t->keys->gnutls.record_get_direction(t->session) == 1);
}

#else

static int not_built(void)
{
	return attar_fail(-EOPNOTSUPP,
		"TLS is not available: this attar was built without GnuTLS" ATTAR_FIX
		"install libgnutls28-dev and rebuild attar");
}

int tls_keys_new(const struct tls_files *files, bool is_server, struct tls_keys **ret_keys)
{
	return not_built();
}

struct tls_keys *tls_keys_free(struct tls_keys *keys)
{
	return NULL;
}

int tls_new(struct tls_keys *keys, int fd, const char *host, struct tls **ret_tls)
{
	return not_built();
}

struct tls *tls_free(struct tls *tls)
{
	return NULL;
}

ssize_t tls_read(struct tls *tls, void *bytes, size_t n)
{
	return -EPROTO;
}

ssize_t tls_write(struct tls *tls, const void *bytes, size_t n)
{
	return -EPROTO;
}

bool tls_wants_write(const struct tls *tls)
{
	return false;
}

#endif
