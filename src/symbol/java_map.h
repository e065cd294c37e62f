/* SPDX-License-Identifier: MIT */
/*
 * Asks a Java virtual machine (HotSpot, JDK 17 or later) for its perf map: the names of the methods
 * that it has compiled, in /tmp/perf-PID.map. It listens on a UNIX socket for commands, as jcmd(1)
 * sends them, once it has been asked to by a file and SIGQUIT.
 */
#ifndef SYMBOL_JAVA_MAP_H
#define SYMBOL_JAVA_MAP_H

#include <sys/types.h>

/*
 * Returns 0 if the process has written its map; -ENOENT, without an error message, if it is no Java
 * virtual machine that can be asked; another negative errno with a sentence: it does not answer
 * within five seconds, or refuses. Only root and the user of the process are allowed to ask.
 */
int java_map_write(pid_t pid);

#endif
