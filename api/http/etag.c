#include "api/http/etag.h"

#include "api/http/exchange.h"
#include "base/decimal.h"

enum { TAG_LONGEST = DECIMAL_LONGEST + 2 };

/* Returns the length without the NUL. */
static size_t etag_write_tag(int64_t version, char tag[TAG_LONGEST + 1])
{
    char *end = stpcpy(decimal_put(stpcpy(tag, "\""), version), "\"");
    return (size_t)(end - tag);
}

void etag_reply(struct exchange *exchange, int64_t version)
{
    char tag[TAG_LONGEST + 1];
    size_t length = etag_write_tag(version, tag);
    reply_header_text(exchange, "ETag", (struct slice){tag, length});
}

void fence_reply(struct exchange *exchange, int64_t fence)
{
    char text[DECIMAL_LONGEST];
    if (fence > 0)
        reply_header_text(exchange, "Lock-Fence",
                          (struct slice){text, (size_t)(decimal_put(text, fence) - text)});
}

void etag_reply_view(struct exchange *exchange, const struct lock_view *view)
{
    etag_reply(exchange, view->version);
    fence_reply(exchange,
                view->hold_count == 1 && view->holder_count == 1 ? view->holders[0].fence : 0);
}

bool etag_matches(const char *if_none_match, int64_t version)
{
    char tag[TAG_LONGEST + 1];
    etag_write_tag(version, tag);
    return etag_is_among(if_none_match, tag);
}

bool etag_is_among(const char *if_none_match, const char *tag)
{
    size_t length = strlen(tag);
    const char *next = if_none_match ? if_none_match : "";
    while (*next) {
        next += strspn(next, ", \t");
        if (*next == '*')
            return true;
        if (strncmp(next, "W/", 2) == 0)
            next += 2;
        if (strncmp(next, tag, length) == 0)
            return true;
        if (*next == '"')
            next += 1 + strcspn(next + 1, "\"");
        next += strcspn(next, ",");
    }
    return false;
}
