/* exchange.h: what each connection asks again and again, and what it expects, read from a file. */
#ifndef BATON_TESTS_BENCH_EXCHANGE_H
#define BATON_TESTS_BENCH_EXCHANGE_H

#include "tests/bench/caller.h"

#include <stdbool.h>
#include <stddef.h>

/* A line of the file is a word and a text:
 *   once REQUEST      asked when the connection is made
 *   each REQUEST      asked in turn with the others, for ever
 * where a request is "METHOD TARGET", or for Redis a command with blanks between its arguments.
 * Lines that follow it say more of it:
 *   header TEXT
 *   body TEXT
 *   expect TEXT       the status of the answer, or what Redis's reply begins with
 *   contains TEXT     what the answer has in it somewhere
 *   take N TEXT       what follows this text in the answer, up to a quote, is <N> from now on
 * Texts may have in them <name>, <token>, both of EXCHANGE_VALUE - 8 characters of base64url at
 * most, <1> to <3>, and \xHH. */
enum { EXCHANGE_STEPS = 6, EXCHANGE_VALUE = 128, EXCHANGE_TAKEN = 3, EXCHANGE_MOST = 2048 };

/* What stands for the words in angles: <name>, <token>, <1>... */
struct values {
    char of[2 + EXCHANGE_TAKEN][EXCHANGE_VALUE];
};

enum { VALUE_NAME, VALUE_TOKEN, VALUE_TAKEN };

struct step;

struct exchange {
    struct step *steps;
    size_t once;  /* so many of them come first */
    size_t count; /* of all */
    bool redis;   /* else HTTP */
};

/* Reads the file, and the address of the server from "http://ADDRESS:PORT" or "redis://...". Ends
 * the program where it cannot. To be cleared. */
void exchange_read(struct exchange *exchange, const char *path, const char *url,
                   struct sockaddr_in *ret_server);
void exchange_clear(struct exchange *exchange);

/* Writes the request of a step, and returns its length. */
size_t exchange_ask(const struct exchange *exchange, size_t step, const struct values *values,
                    char request[EXCHANGE_MOST]);

/* Whether the caller's reply is what the step expects; takes from it what the step takes. */
bool exchange_check(const struct exchange *exchange, size_t step, const struct caller *caller,
                    struct values *values);

#endif
