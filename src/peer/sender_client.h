/* SPDX-License-Identifier: MIT */
/* The receivers of a sender: their connections, what they send, and why they are refused. */
#ifndef PEER_SENDER_CLIENT_H
#define PEER_SENDER_CLIENT_H

#include "base/accept_gate.h"
#include "base/vec.h"
#include "peer/frame.h"
#include "peer/link.h"
#include "peer/sender.h"

enum {
	SENDER_IDLE_NS = 1000000000, /* times SENDER_SILENT_S */
	SENDER_DATA_MAX = 256 << 10, /* bytes of a DATA frame */
};

/* REFUSED: until it has sent HELLO, and has read why and closed, for REFUSED_NS at most. */
enum client_state { CLIENT_NEW, CLIENT_STARTED, CLIENT_ENDING, CLIENT_REFUSED, CLIENT_OVER };

struct peer_sender_client {
	struct link link;
	enum client_state state;
	bool is_taken; /* by peer_sender_take_new() */
	bool is_file;  /* epoll does not support regular files: they are always writable */
	uint64_t deadline;
	uint64_t origin; /* see socket_peer_origin() */
	struct sockaddr_storage name;
	uint64_t heard;   /* when a frame of it was read, or nothing was to be confirmed */
	uint64_t written; /* when it took some bytes, or had none to take */
	char why[FRAME_REASON_MAX + 1]; /* it was refused */
	struct buf in, out, round;
	size_t out_at; /* bytes of out that were sent */
	uint64_t in_sequence, out_sequence;
	uint64_t samples, acknowledged;
	uint64_t lost;     /* samples that the next LOST record will report */
	uint64_t all_lost; /* these, and those that earlier ones have reported */
	struct peer_sender_round lost_round;
	uint32_t events; /* epoll's */
	void *object;
};

/* A connection that was refused, until the other side closes it. */
struct refused {
	struct link link;
	uint64_t deadline;
};

struct sender {
	struct peer_sender_opts opts;
	struct address address;
	struct tls_keys *keys; /* NULL: no TLS */
	int listener;          /* -1: a file or device */
	int epoll;
	bool is_watched; /* the listener */
	struct accept_gate gate;
	VEC(struct peer_sender_client *) clients;
	VEC(struct refused) refused; /* at most SENDER_CLIENTS */
	struct peer_sender_stats stats;
};

/* Adds a connection, which owns fd. NULL: out of memory, and fd is closed. */
struct peer_sender_client *client_add(struct sender *s, int fd, bool is_socket);

/* Refuses a new connection of another user, or one too many. */
void client_check_new(struct sender *s, struct peer_sender_client *c);
void client_refuse(struct sender *s, struct peer_sender_client *c, const char *why);

/* The receiver gets data from now on. */
void client_start(struct sender *s, struct peer_sender_client *c);

/* Queues a frame. */
void client_put(struct peer_sender_client *c, uint8_t type, const void *payload, size_t len);
void client_put_hello(struct peer_sender_client *c);

/* Reads and writes what is possible now; a connection that fails is ended. */
void client_read(struct sender *s, struct peer_sender_client *c);
void client_write(struct sender *s, struct peer_sender_client *c);

/* Ends a connection that is silent for too long. */
void client_check_time(struct sender *s, struct peer_sender_client *c);

/* The sender waits for what the connection can do next. */
void client_watch(struct sender *s, struct peer_sender_client *c);

/* Closes the connection; what was not confirmed is counted. */
void client_end(struct sender *s, struct peer_sender_client *c);

/* Closes refused connections whose other side has read why. */
void refused_drain(struct sender *s);
void refused_remove(struct sender *s, size_t i);

#endif
