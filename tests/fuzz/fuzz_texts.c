/* fuzz_texts.c: the small notations: cursors, durations, entity tags, keys, tokens. Each is given
 * the whole input. */
#include "api/http/etag.h"
#include "base/duration.h"
#include "base/utf8.h"
#include "locks/central/cursor.h"
#include "tests/fuzz/fuzz.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static bool equal(struct slice one, struct slice other)
{
    return one.length == other.length && memcmp(one.bytes, other.bytes, one.length) == 0;
}

static void try_base64url(struct slice text)
{
    char *bytes = malloc(text.length + 1), *again = malloc(text.length * 2 + 5);
    size_t length;
    if (!bytes || !again)
        abort();
    if (base64url_decode(text, bytes, &length) == 0) {
        base64url_encode(bytes, length, again);
        CLAIM(equal(text, slice_of(again)));
    }
    free(bytes);
    free(again);
}

static void try_cursor(struct slice text)
{
    char bytes[CURSOR_BYTES], again[CURSOR_TEXT];
    struct cursor cursor;
    if (cursor_decode(text, bytes, &cursor) < 0)
        return;
    CLAIM(cursor.name_count <= CURSOR_NAMES && cursor.scan.length <= CURSOR_SCAN_LENGTH);
    for (size_t i = 0; i < cursor.name_count; i++)
        CLAIM(name_is_valid(cursor.names[i]));
    cursor_encode(&cursor, again);
    CLAIM(equal(text, slice_of(again)));
}

static void try_duration(struct slice text)
{
    char again[DURATION_TEXT];
    int64_t ms, same_ms;
    if (duration_parse(text, &ms) < 0)
        return;
    CLAIM(ms >= 0 && ms <= INT64_C(9007199254740991));
    duration_format(ms, again);
    CLAIM(duration_parse(slice_of(again), &same_ms) == 0 && same_ms == ms);
}

static void try_key(struct slice text)
{
    struct slice prefix = slice_of("baton:");
    char name[NAME_LENGTH], key[KEY_LENGTH], pattern[KEY_PATTERN_LENGTH];
    size_t length = name_from_key(prefix, text, name);
    if (length > 0) {
        CLAIM(name_is_valid((struct slice){name, length}));
        CLAIM(equal(text,
                    (struct slice){key, name_to_key(prefix, (struct slice){name, length}, key)}));
    }
    if (!name_is_valid(text))
        return;
    CLAIM(utf8_is_clean(text));
    CLAIM(name_to_pattern(prefix, text, pattern) <= KEY_PATTERN_LENGTH);
    size_t key_length = name_to_key(prefix, text, key);
    CLAIM(equal(
        text, (struct slice){name, name_from_key(prefix, (struct slice){key, key_length}, name)}));
}

/* A tag in quotes, alone, matches its version; and `*` every. */
static void try_etag(const char *text)
{
    int64_t version;
    char again[32];
    bool matches = etag_matches(text, 5);
    CLAIM(!matches || strchr(text, '5') || strchr(text, '*'));
    if (sscanf(text, "\"%15" SCNd64 "\"", &version) != 1 || version < 0)
        return;
    snprintf(again, sizeof again, "\"%" PRId64 "\"", version);
    CLAIM(strcmp(again, text) != 0 || etag_matches(text, version));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct slice text = {(const char *)bytes, size};
    char *copy = fuzz_text(text);
    if (size == 0)
        text.bytes = copy;
    try_base64url(text);
    try_cursor(text);
    try_duration(text);
    try_key(text);
    try_etag(copy);
    free(copy);
    return 0;
}
