/* plain.h: bare connections to Redis, to compare with and to look with. */
#ifndef BATON_TESTS_BENCH_PLAIN_H
#define BATON_TESTS_BENCH_PLAIN_H

#include <hiredis/hiredis.h>
#include <sys/types.h>

/* Each function ends the program if Redis is not there or answers an error. */

/* `where` is ADDRESS:PORT or the path of a Unix socket. To be freed with redisFree. */
redisContext *plain_connect(const char *where);

/* Runs a command and waits for the reply, which is to be freed with freeReplyObject. */
__attribute__((format(printf, 2, 3))) redisReply *plain_command(redisContext *link,
                                                                const char *format, ...);

/* Sends a command; the reply is fetched with plain_take. */
__attribute__((format(printf, 2, 3))) void plain_send(redisContext *link, const char *format, ...);

/* To be called when the socket is readable: reads, and returns the next reply, or NULL while it is
 * not complete. To be freed. */
redisReply *plain_read(redisContext *link);

/* The next reply that has been read already, or NULL. To be freed. */
redisReply *plain_take(redisContext *link);

/* The process at the other end. */
pid_t plain_process(redisContext *link);

#endif
