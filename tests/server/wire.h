/* wire.h: a client's side of the wire: sends requests and reads replies, byte by byte. */
#ifndef BATON_TESTS_SERVER_WIRE_H
#define BATON_TESTS_SERVER_WIRE_H

#include "tests/server/stage.h"

#include <stddef.h>

enum { WIRE_SIZE = 4096 };

/* Asks for a target on a connection, or on a new one; ask_place asks for "/KIND/PLACE". All that
 * does not go as it should fails the test. */
void say(int fd, const char *target);
int ask(struct stage *stage, const char *target);
int ask_place(struct stage *stage, const char *kind, int place);

/* The head of the next reply; what comes behind it is left in the socket. */
void read_head(int fd, char head[WIRE_SIZE]);

/* The next reply, of a known length, has this body. */
void expect_reply(int fd, const char *body);

/* The next bytes are these. */
void expect_bytes(int fd, const char *bytes);

/* The next chunk of a chunked body, its size line taken off; "" at the end. */
void expect_chunk(int fd, const char *bytes);

/* The connection ends, with no byte more. It is closed here, too. */
void ends(int fd);

/* Closes the connection by a reset. */
void reset(int fd);

/* Nothing comes for this long, and the connection stays. */
void is_quiet(int fd, int ms);

/* How many descriptors this process has, the stage's included. */
size_t open_files(void);

#endif
