/* slow.h: many clients that are slow, each in its way, driven by whoever calls. */
#ifndef BATON_TESTS_SUPPORT_FAULTS_SLOW_H
#define BATON_TESTS_SUPPORT_FAULTS_SLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum slow_kind {
    SLOW_LINE,   /* sends the line of its first request */
    SLOW_HEAD,   /* sends the header fields */
    SLOW_BODY,   /* sends the body */
    SLOW_AGAIN,  /* sends the line of a further request */
    SLOW_READER, /* asks for a lot, and reads nothing of it */
    SLOW_KINDS,
};

struct slow;

/* Connects them to 127.0.0.1:`port`, as many of each kind. NULL where one cannot connect. */
struct slow *slow_new(int port, size_t count);

/* Hangs up. Takes NULL. */
void slow_free(struct slow *slow);

/* Each that is to send something sends a byte. */
void slow_drip(struct slow *slow);

/* How many of a kind the server has hung up on. Of readers it reads what has come until now. */
size_t slow_ended(struct slow *slow, enum slow_kind kind);

/* How many of a kind there are, ended or not. */
size_t slow_count(const struct slow *slow, enum slow_kind kind);

#endif
