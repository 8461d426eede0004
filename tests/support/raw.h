/* raw.h: bytes to and from a TCP port, for what no proper HTTP client would send. */
#ifndef BATON_TESTS_SUPPORT_RAW_H
#define BATON_TESTS_SUPPORT_RAW_H

#include <stdbool.h>
#include <stddef.h>

/* Connects to 127.0.0.1:`port`. Returns the socket, or -1. To be closed with close(2). */
int raw_connect(int port);

/* Sends all of the bytes. Returns false where the other side has gone. */
bool raw_send(int fd, const char *bytes, size_t length);

/* Waits until the program at the other end, on this machine, has read all that was sent. Returns
 * false when `timeout_ms` have passed. */
bool raw_comes_to_be_read(int fd, int timeout_ms);

/* Reads until the other side closes, the buffer (NUL-terminated) is full, `until` (may be NULL) has
 * come, or `timeout_ms` have passed. Returns the number of bytes; *closed (may be NULL) says
 * whether the other side closed. */
size_t raw_receive(int fd, char *buffer, size_t size, const char *until, int timeout_ms,
                   bool *closed);

#endif
