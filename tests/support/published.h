/* published.h: messages of Redis to a subscriber, in what passes a proxy of a test. */
#ifndef BATON_TESTS_SUPPORT_PUBLISHED_H
#define BATON_TESTS_SUPPORT_PUBLISHED_H

#include <stdbool.h>
#include <stddef.h>

/* Cuts out each message that `loses` takes, which gets its text. Returns how many bytes are left. A
 * message that is not whole stays. */
size_t published_cut(char *bytes, size_t length,
                     bool (*loses)(void *context, const char *text, size_t length), void *context);

#endif
