#include "locks/calls/breaking.h"

#include "locks/calls/replies.h"

static const char SEPARATOR = '\x1f'; /* is in no clean text */

void breaking_write(int64_t fence, const struct breaker *breaker, struct breaking *ret)
{
    const struct slice texts[] = {breaker->principal, breaker->client, breaker->reason};
    char *end = ret->breaker;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (i > 0)
            *end++ = SEPARATOR;
        if (texts[i].length > 0)
            end = mempcpy(end, texts[i].bytes, texts[i].length);
    }
    ret->arguments[0] = fence > 0 ? decimal_text(fence, ret->fence) : slice_of("");
    ret->arguments[1] = (struct slice){ret->breaker, (size_t)(end - ret->breaker)};
}

bool breaking_read(const struct value *value, struct locks_reply *ret)
{
    ret->broken.cleared = value_count(value) > 3;
    if (!reply_read_holders(value_at(value, 2), &ret->view))
        ret->view.holder_count = 0; /* a damaged record is broken all the same */
    return value_integer(value_at(value, 0), &ret->broken.count) &&
           value_integer(value_at(value, 1), &ret->broken.version);
}

/* Takes the text before the next separator off the front of `rest`. */
static struct slice take_part(struct slice *rest)
{
    const char *end = rest->length > 0 ? memchr(rest->bytes, SEPARATOR, rest->length) : NULL;
    struct slice part = {rest->bytes, end ? (size_t)(end - rest->bytes) : rest->length};
    size_t taken = end ? part.length + 1 : part.length;
    *rest = (struct slice){rest->bytes + taken, rest->length - taken};
    return part;
}

void breaking_split(struct slice *reason, struct breaker *ret)
{
    struct slice rest = *reason;
    *reason = take_part(&rest);
    ret->principal = take_part(&rest);
    ret->client = take_part(&rest);
    ret->reason = rest;
}
