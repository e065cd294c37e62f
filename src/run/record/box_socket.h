/* SPDX-License-Identifier: MIT */
/*
 * The socket of the black box of this machine: /run/attar/box of root, $XDG_RUNTIME_DIR/attar-box
 * of other users. Who connects receives a descriptor of a recording, in memory. Only root and the
 * same user may; both ends check it.
 *
 *	box_socket_listen(&fd);				// the box
 *	client = box_socket_accept(fd);
 *	box_socket_give(client, recording);
 *
 *	box_socket_get(&recording);			// who reads
 */
#ifndef RUN_RECORD_BOX_SOCKET_H
#define RUN_RECORD_BOX_SOCKET_H

#include <stdbool.h>

/* 0; -EADDRINUSE: another box listens; or another negative errno. No error message. */
int box_socket_listen(int *ret_fd);

/* A descriptor of who has connected, to be closed by the caller; -1: nobody. Does not wait. */
int box_socket_accept(int fd);

/* Gives a descriptor, or -1: there is no recording; then closes the connection. */
void box_socket_give(int client, int recording);

/* Removes the socket and closes it; -1 is accepted. */
void box_socket_close(int fd);

/*
 * A descriptor of all that the box holds, to be closed by the caller. 0; -ENOENT: no box runs; or
 * another negative errno, all with an error message.
 */
int box_socket_get(int *ret_recording);

#endif
