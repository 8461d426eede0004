#include "api/etag.h"

#include "api/exchange.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void etag_reply(struct exchange *exchange, int64_t version)
{
    reply_header(exchange, "ETag", "\"%" PRId64 "\"", version);
}

bool etag_matches(const char *if_none_match, int64_t version)
{
    char tag[32];
    snprintf(tag, sizeof tag, "\"%" PRId64 "\"", version);
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
