/* inboxes.h: what servers are notified of: a connection that is subscribed to all inboxes. */
#ifndef BATON_TESTS_SCRIPTS_INBOXES_H
#define BATON_TESTS_SCRIPTS_INBOXES_H

#include "tests/scripts/scripts.h"

enum { MESSAGES = 2048, MESSAGE = 128 };

struct inboxes {
    struct scripts *scripts;
    redisContext *link;
    size_t count;
    char text[MESSAGES][MESSAGE]; /* "SERVER MESSAGE", e.g. "one g attempt baton:{n}" */
};

void inboxes_open(struct inboxes *inboxes, struct scripts *scripts);
void inboxes_close(struct inboxes *inboxes);

/* Collects all that was published since it was opened or read, sorted. */
void inboxes_read(struct inboxes *inboxes);

/* How many of these messages begin so. */
size_t inboxes_count(const struct inboxes *inboxes, const char *beginning);

/* Reads, and fails unless these are all the messages there are; as assert_notified(inboxes, "one g
 * a baton:{n}", ...). */
#define assert_notified(inboxes, ...)                                                              \
    assert_notified_all(inboxes, (const char *const[]){__VA_ARGS__, NULL}, __FILE__, __LINE__)
#define assert_not_notified(inboxes)                                                               \
    assert_notified_all(inboxes, (const char *const[]){NULL}, __FILE__, __LINE__)
void assert_notified_all(struct inboxes *inboxes, const char *const *expected, const char *file,
                         int line);

#endif
