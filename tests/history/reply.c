#include "tests/history/reply.h"

#include <stdlib.h>
#include <string.h>

static int owner_number(const char *text)
{
    return text && text[0] == 'o' ? atoi(text + 1) : NOBODY;
}

static const char *text_in(const json_t *object, const char *member)
{
    return json_string_value(json_object_get(object, member));
}

static int64_t count_in(const json_t *object, const char *member)
{
    int64_t number = json_integer_value(json_object_get(object, member));
    return number > 0 ? number : 0;
}

static bool is_shared(const json_t *object)
{
    const char *mode = text_in(object, "mode");
    return mode && !strcmp(mode, "shared");
}

static void read_shown(struct event *event, const json_t *body)
{
    size_t index;
    json_t *holder, *holders = json_object_get(body, "holders");
    event->shown_count = 0;
    json_array_foreach (holders, index, holder) {
        if (event->shown_count == SHOWN_MOST)
            break;
        event->shown[event->shown_count++] = (struct shown){
            json_integer_value(json_object_get(holder, "fence")),
            owner_number(text_in(holder, "owner")), is_shared(holder),
            json_is_true(json_object_get(holder, "released")), (int)count_in(holder, "permits")};
    }
}

void reply_read(struct event *event, const char *etag, const json_t *body)
{
    event->version = etag && *etag == '"' ? strtoll(etag + 1, NULL, 10) : 0;
    event->fence = count_in(body, "fence");
    event->left_ms = count_in(body, "ttl_ms");
    event->holds = count_in(body, "holds");
    event->held_ms = count_in(body, "held_ms");
    event->queue = count_in(body, "queue_length");
    event->count = count_in(body, event->operation == BREAK ? "broken" : "hold_count");
    event->hold_owner = owner_number(text_in(body, "owner"));
    event->hold_shared = is_shared(body);
    event->hold_limit = (int)count_in(body, "limit");
    event->hold_permits = (int)count_in(body, "permits");
    event->not_mine = json_is_false(json_object_get(body, "mine"));
    read_shown(event, body);
}

static enum outcome refused(const struct event *event, const char *code)
{
    static const struct {
        const char *code;
        enum outcome outcome;
        bool acquire; /* only an acquire is refused so */
    } REFUSALS[] = {
        {"not_held", NOT_HELD, false},
        {"locked", LOCKED, true},
        {"wait_timeout", TIMED_OUT, true},
        {"superseded", SUPERSEDED, true},
        {"upgrade_conflict", UPGRADE_CONFLICT, true},
        {"token_in_use", TOKEN_IN_USE, true},
    };
    for (size_t i = 0; code && i < sizeof REFUSALS / sizeof REFUSALS[0]; i++)
        if (!strcmp(code, REFUSALS[i].code))
            return REFUSALS[i].acquire && event->operation != ACQUIRE ? STRANGE
                                                                      : REFUSALS[i].outcome;
    return STRANGE;
}

enum outcome reply_outcome(const struct event *event, long status, const json_t *body)
{
    bool acquire = event->operation == ACQUIRE;
    switch (status) {
    case 0:
    case 502: /* of a proxy */
    case 503:
    case 504:
        return UNKNOWN;
    case 201:
        return acquire ? DONE : STRANGE;
    case 200:
        if (event->operation == RELEASE && json_is_true(json_object_get(body, "cancelled")))
            return CANCELLED;
        return acquire ? HOLDING : DONE;
    case 304:
        return event->operation == INSPECT ? UNCHANGED : STRANGE;
    case 409:
        return refused(event, text_in(body, "code"));
    case 429:
        return acquire ? FULL : STRANGE;
    default:
        return STRANGE;
    }
}
