#include "locks/quarantine/quarantine.h"

#include "base/duration.h"

static const struct {
    const char *word;
    const char *text;
} REASONS[] = {[QUARANTINE_NONE] = {"", ""},
#define X(name, word, text) [name] = {word, text},
               QUARANTINE_REASONS(X)
#undef X
};

const char *quarantine_word(enum quarantine_reason reason)
{
    return REASONS[reason].word;
}

const char *quarantine_text(enum quarantine_reason reason)
{
    return REASONS[reason].text;
}

enum quarantine_reason quarantine_reason_of(struct slice word)
{
    for (enum quarantine_reason reason = 1; reason < QUARANTINE_REASON_COUNT; reason++)
        if (slice_equals(word, quarantine_word(reason)))
            return reason;
    return QUARANTINE_NONE;
}

bool quarantine_parse(struct slice text, int64_t *ret)
{
    int64_t ms;
    if (slice_equals(text, "auto")) {
        *ret = QUARANTINE_AUTO;
        return true;
    }
    if (slice_equals(text, "off")) {
        *ret = QUARANTINE_OFF;
        return true;
    }
    if (duration_parse(text, &ms) < 0 || ms < QUARANTINE_SHORTEST_MS || ms > QUARANTINE_LONGEST_MS)
        return false;
    *ret = ms;
    return true;
}
