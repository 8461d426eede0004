/* fuzz_greeting.c: what a Redis answers first: the replies to AUTH, SELECT and CLIENT ID, a line
 * each (notation.h), and then what INFO says. */
#include "redis/wire/errors.h"
#include "redis/wire/greeting.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/notation.h"

#include <errno.h>
#include <hiredis/hiredis.h>
#include <stdlib.h>

static void send_nothing(void *context, const struct slice *words, size_t count)
{
    size_t *sent = context;
    CLAIM(count > 0 && words[0].length > 0);
    ++*sent;
}

/* An INFO that is no error and no nil is a text of many lines. */
static redisReply *read_reply(struct slice *rest, bool is_last)
{
    bool is_text = is_last && rest->length > 0 && !strchr("-(", rest->bytes[0]);
    redisReply *reply = notation_read(is_text ? slice_of("text") : fuzz_cut(rest, '\n'));
    if (!is_text)
        return reply;
    free(reply->str);
    reply->type = REDIS_REPLY_STRING;
    reply->str = fuzz_text(*rest);
    reply->len = strlen(reply->str);
    return reply;
}

static int answer(struct greeting *greeting, struct slice *rest, bool is_last)
{
    struct failure failure = {""};
    redisReply *reply = read_reply(rest, is_last);
    int result = greeting_answered(greeting, reply, &failure);
    if (reply->type == REDIS_REPLY_ERROR)
        CLAIM(error_kind(reply->str) != ERROR_REFUSED ||
              !error_has_code(reply->str, "ERR Function not found"));
    CLAIM(result == 0 || result == -EINPROGRESS || failure.text[0]);
    CLAIM((result == -EINPROGRESS) == (!is_last && !failure.text[0]));
    if (result == 0 && !greeting->warning.text[0])
        CLAIM(greeting->info.major >= 7 && !greeting->info.loading);
    freeReplyObject(reply);
    return result;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct slice rest = {(const char *)bytes, size};
    const struct redis_url url = {.user = "u", .password = "p", .database = 1};
    struct greeting greeting;
    size_t sent = 0;
    greeting_begin(&greeting, &url, "redis://h:6379/1", send_nothing, &sent);
    CLAIM(sent == GREETING_STEPS - 1); /* it is not asked for its CONFIG */
    for (size_t i = 1; i <= sent && answer(&greeting, &rest, i == sent) == -EINPROGRESS; i++)
        continue;
    return 0;
}
