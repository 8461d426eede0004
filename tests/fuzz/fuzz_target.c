/* fuzz_target.c: a request line: METHOD TARGET. */
#include "api/http/target.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/play.h"

#include <stdlib.h>

static bool is_within(struct slice part, const char *whole)
{
    return !part.bytes ||
           (part.bytes >= whole && part.bytes + part.length <= whole + strlen(whole));
}

/* What was decoded comes back from being encoded and decoded. It is read off a copy behind which
 * there is nothing. */
static void claim_round_trip(struct slice part)
{
    struct slice text = {malloc(part.length + !part.length), part.length};
    char *decoded = malloc(text.length + 1), *encoded = malloc(3 * text.length + 1),
         *again = malloc(3 * text.length + 1);
    size_t length, again_length;
    if (!text.bytes || !decoded || !encoded || !again)
        abort();
    if (part.length > 0)
        memcpy((char *)(uintptr_t)text.bytes, part.bytes, part.length);
    if (percent_decode(text, decoded, &length) == 0) {
        size_t encoded_length = percent_encode((struct slice){decoded, length}, encoded);
        CLAIM(length <= text.length && encoded_length == strlen(encoded));
        CLAIM(percent_decode(slice_of(encoded), again, &again_length) == 0);
        CLAIM(again_length == length && memcmp(again, decoded, length) == 0);
    }
    free((char *)(uintptr_t)text.bytes);
    free(decoded);
    free(encoded);
    free(again);
}

static void claim_parts(const char *target)
{
    struct slice path, query, name, value;
    target_split(target, &path, &query);
    CLAIM((is_within(path, target) || slice_equals(path, "/")) && is_within(query, target));
    CLAIM(path.length == 0 || path.bytes[0] == '/');
    claim_round_trip(path);
    while (query_next(&query, &name, &value)) {
        CLAIM(is_within(name, target) && is_within(value, target));
        CLAIM(name.length + value.length > 0 || value.bytes);
        claim_round_trip(value);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct play play;
    struct question question = {.method = NULL};
    struct slice line = {(const char *)bytes, size};
    question.method = fuzz_text(fuzz_cut(&line, ' '));
    question.target = fuzz_text(line);
    claim_parts(question.target);
    play_open(&play);
    play_ask(&play, &question);
    play_close(&play);
    return 0;
}
