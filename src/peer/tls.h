/* SPDX-License-Identifier: MIT */
/*
 * TLS 1.3 of GnuTLS, which is loaded when it is used. Both sides authenticate: by a shared key, or
 * by certificates of an authority that both trust.
 */
#ifndef PEER_TLS_H
#define PEER_TLS_H

#include "base/base.h"

/* Paths of files, borrowed; NULL: not given. */
struct tls_files {
	const char *psk;                    /* a key, as at least 32 hexadecimal digits */
	const char *certificate, *key, *ca; /* in PEM */
};

struct tls_keys;
struct tls;

/* Whether the first bytes of a connection are an alert or a handshake of TLS. */
bool tls_is_spoken(const char *bytes, size_t n);

/* Sets the error message for a side that does not expect them. Returns -EBADMSG. */
int tls_only_there(void);

/* Whether any of the files was given. */
bool tls_is_wanted(const struct tls_files *files);

/* Reads the files. -EINVAL: they cannot be used; -EOPNOTSUPP: there is no GnuTLS. */
int tls_keys_new(const struct tls_files *files, bool is_server, struct tls_keys **ret_keys);
struct tls_keys *tls_keys_free(struct tls_keys *keys);

/*
 * A session on a non-blocking socket. keys and host are borrowed until tls_free(). host: the name
 * that the certificate of the other side must have; NULL: any of the authority.
 */
int tls_new(struct tls_keys *keys, int fd, const char *host, struct tls **ret_tls);
struct tls *tls_free(struct tls *tls);

/* Like link_read() and link_write(). */
ssize_t tls_read(struct tls *tls, void *bytes, size_t n);
ssize_t tls_write(struct tls *tls, const void *bytes, size_t n);
bool tls_wants_write(const struct tls *tls);

#endif
