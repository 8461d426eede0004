#include "tests/scripts/inboxes.h"

#include "tests/support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char PREFIX[] = "baton:inbox:";

static redisReply *next_reply(struct inboxes *inboxes)
{
    void *reply;
    if (redisGetReply(inboxes->link, &reply) != REDIS_OK)
        fail_msg("redis: %s", inboxes->link->errstr);
    return reply;
}

void inboxes_open(struct inboxes *inboxes, struct scripts *scripts)
{
    inboxes->scripts = scripts;
    inboxes->link = redisConnectUnix(scripts->redis.socket);
    assert_int_equal(inboxes->link->err, 0);
    assert_int_equal(redisAppendCommand(inboxes->link, "PSUBSCRIBE %s*", PREFIX), REDIS_OK);
    freeReplyObject(next_reply(inboxes));
}

void inboxes_close(struct inboxes *inboxes)
{
    redisFree(inboxes->link);
}

/* {"pmessage", pattern, channel, text}; false where it is the last one, which the test sends. */
static bool collect(struct inboxes *inboxes, const redisReply *reply)
{
    const char *channel = reply->element[2]->str, *text = reply->element[3]->str;
    if (strcmp(channel + strlen(PREFIX), "end") == 0)
        return false;
    assert_true(inboxes->count < MESSAGES);
    int length =
        snprintf(inboxes->text[inboxes->count++], MESSAGE, "%s %s", channel + strlen(PREFIX), text);
    assert_true(length < MESSAGE);
    return true;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(a, b);
}

void inboxes_read(struct inboxes *inboxes)
{
    inboxes->count = 0;
    redis_process_integer(&inboxes->scripts->redis, "PUBLISH %send -", PREFIX);
    bool more = true;
    while (more) {
        redisReply *reply = next_reply(inboxes);
        more = collect(inboxes, reply);
        freeReplyObject(reply);
    }
    qsort(inboxes->text, inboxes->count, MESSAGE, by_text);
}

size_t inboxes_count(const struct inboxes *inboxes, const char *beginning)
{
    size_t count = 0;
    for (size_t i = 0; i < inboxes->count; i++)
        count += strncmp(inboxes->text[i], beginning, strlen(beginning)) == 0;
    return count;
}

void assert_notified_all(struct inboxes *inboxes, const char *const *expected, const char *file,
                         int line)
{
    size_t count = 0;
    inboxes_read(inboxes);
    while (expected[count])
        count++;
    for (size_t i = 0; i < count; i++)
        if (inboxes_count(inboxes, expected[i]) == 0)
            fail_msg("%s:%d: nobody was notified of \"%s\", but of %zu messages the first was %s",
                     file, line, expected[i], inboxes->count, inboxes->text[0]);
    if (inboxes->count != count)
        fail_msg("%s:%d: %zu messages instead of %zu, the last is %s", file, line, inboxes->count,
                 count, inboxes->count ? inboxes->text[inboxes->count - 1] : "");
}
