#include "api/http/represent.h"
#include "tests/support/cmocka.h"

#include <stdlib.h>

/* Names and owners, by turns. */
static const char *const TEXTS[] = {
    "deploy",
    "a",
    " ",
    "\"",
    "\\",
    "a\"b",
    "a\\b",
    "a\\",
    "\\\"",
    "\\u0041",
    "/",
    "</script>",
    "%s%n%d",
    "{}",
    "'",
    "\xc3\xa9",
    "\xe2\x82\xac \"\xe2\x82\xac\"",
    "\xf0\x9f\x94\x92\\",
    "\xc2\xa0\xe2\x80\xa8",
};

static json_t *expected_hold(const char *name, const char *token, const struct hold *hold,
                             const char *owner)
{
    json_t *json = json_pack(
        "{s:s, s:s, s:s, s:s, s:I, s:I, s:I}", "name", name, "token", token, "owner", owner, "mode",
        hold->mode == LOCK_SHARED ? "shared" : "exclusive", "fence", (json_int_t)hold->fence,
        "ttl_ms", (json_int_t)hold->ttl_ms, "holds", (json_int_t)hold->holds);
    if (hold->limit > 0)
        json_object_set_new(json, "limit", json_integer(hold->limit));
    return json;
}

/* The text is what jansson makes of the object, byte by byte: the quick way shows in nothing. */
static void assert_hold(const char *name, const char *owner, int64_t limit, enum lock_mode mode)
{
    static const char TOKEN[] = "abcdefghijklmnopqrst-_";
    struct hold hold = {.fence = INT64_C(9007199254740991),
                        .ttl_ms = 86400000,
                        .holds = 3,
                        .owner = slice_of(owner),
                        .mode = mode,
                        .limit = limit};
    json_t *expected = expected_hold(name, TOKEN, &hold, owner);
    char *text = represent_hold(slice_of(name), slice_of(TOKEN), &hold);
    json_t *read = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    if (!read || !json_equal(read, expected))
        fail_msg("%s", text);
    char *written = dump_line(expected);
    assert_string_equal(text, written);
    free(written);
    free(text);
    json_decref(read);
}

TEST(a_hold_is_the_same_json_whichever_way_it_is_written)
{
    for (size_t i = 0; i < LENGTH(TEXTS); i++) {
        for (size_t j = 0; j < LENGTH(TEXTS); j++) {
            assert_hold(TEXTS[i], TEXTS[j], 0, LOCK_EXCLUSIVE);
            assert_hold(TEXTS[i], TEXTS[j], 0, LOCK_SHARED);
            assert_hold(TEXTS[i], TEXTS[j], 1000000, LOCK_SHARED);
        }
    }
}

TEST(only_the_slices_are_written)
{
    struct hold hold = {.fence = 1, .ttl_ms = 2, .holds = 3, .owner = {"owner\"", 5}};
    char *text;
    text = represent_hold((struct slice){"name\\", 4}, (struct slice){"token\"", 5}, &hold);
    assert_string_equal(text, "{\"name\":\"name\",\"token\":\"token\",\"owner\":\"owner\","
                              "\"mode\":\"exclusive\",\"fence\":1,\"ttl_ms\":2,\"holds\":3}\n");
    free(text);
}

static void assert_view(const struct lock_view *view, const char *expected)
{
    json_t *json = represent_view(slice_of("n"), view);
    json_t *wanted = json_loads(expected, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(wanted);
    char *line = dump_line(json);
    json_t *read = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
    if (!json_equal(read, wanted))
        fail_msg("%s", line);
    json_decref(wanted);
    json_decref(read);
    free(line);
}

TEST(a_free_lock_has_no_holders)
{
    const struct lock_view view = {.version = 7};
    assert_view(&view, "{\"name\":\"n\",\"state\":\"free\",\"version\":7,\"hold_count\":0,"
                       "\"holders\":[],\"queue_length\":0,\"waiters\":[],\"last_release\":null}");
}

/* As with a hold: byte by byte what jansson makes of it. */
TEST(a_release_is_written_as_its_document_is)
{
    static const struct release RELEASES[] = {
        {.fence = INT64_C(9007199254740991), .held_ms = 86400000, .holds = 3, .version = 7},
        {.fence = 1},
        {.fence = 1, .free_in_ms = 2},
        {.cancelled = true, .version = 8},
    };
    for (size_t i = 0; i < LENGTH(TEXTS) * LENGTH(RELEASES); i++) {
        struct slice name = slice_of(TEXTS[i % LENGTH(TEXTS)]);
        const struct release *release = &RELEASES[i / LENGTH(TEXTS)];
        char *expected = dump_line(represent_release_document(name, release));
        char *text = represent_release(name, release);
        assert_string_equal(text, expected);
        free(expected);
        free(text);
    }
}

TEST(a_lock_shows_its_holders_and_its_last_release)
{
    struct lock_view view = {
        .version = 9,
        .hold_count = 12,
        .extra_permits = 3,
        .limit = 20,
        .queue_length = 4,
        .last_release = {.fence = 8, .reason = slice_of("expired"), .ago_ms = 1500},
        .holder_count = 2,
        .waiter_count = 2};
    view.holders[0] = (struct holder){.owner = slice_of("me"),
                                      .mode = LOCK_SHARED,
                                      .fence = 5,
                                      .ttl_ms = 100,
                                      .held_ms = 200,
                                      .since_us = 1,
                                      .client = slice_of("::1"),
                                      .meta = slice_of("{}"),
                                      .released = true,
                                      .at_least_ms = 100};
    view.holders[1] = (struct holder){.owner = slice_of("\"you\""),
                                      .mode = LOCK_EXCLUSIVE,
                                      .fence = 6,
                                      .ttl_ms = 300,
                                      .held_ms = 400,
                                      .since_us = 1000,
                                      .meta = slice_of("{\"a\":[1]}")};
    view.waiters[0] = (struct waiter_view){slice_of("she"), LOCK_SHARED, 700, 1763715600000000,
                                           slice_of("10.0.0.1")};
    view.waiters[1] = (struct waiter_view){.owner = slice_of("ci\x1fhe")};
    assert_view(&view,
                "{\"name\":\"n\",\"state\":\"held\",\"version\":9,\"hold_count\":12,\"limit\":20,"
                "\"taken\":15,"
                "\"holders\":[{\"owner\":\"me\",\"client\":\"::1\",\"mode\":\"shared\",\"fence\":5,"
                "\"ttl_ms\":100,\"held_ms\":200,\"since\":\"1970-01-01T00:00:00.000Z\","
                "\"released\":true,\"at_least_ms\":100,\"meta\":{}},"
                "{\"owner\":\"\\\"you\\\"\",\"mode\":\"exclusive\",\"fence\":6,\"ttl_ms\":300,"
                "\"held_ms\":400,\"since\":\"1970-01-01T00:00:00.001Z\",\"meta\":{\"a\":[1]}}],"
                "\"queue_length\":4,\"waiters\":[{\"owner\":\"she\",\"client\":\"10.0.0.1\","
                "\"mode\":\"shared\",\"waited_ms\":700,\"since\":\"2025-11-21T09:00:00.000Z\"},"
                "{\"owner\":\"he\",\"principal\":\"ci\",\"mode\":\"exclusive\",\"waited_ms\":0,"
                "\"since\":\"1970-01-01T00:00:00.000Z\"}],"
                "\"last_release\":{\"fence\":8,\"reason\":\"expired\",\"ago_ms\":1500}}");
}

TEST(a_meta_that_is_none_is_null)
{
    static const char *const METAS[] = {NULL, "", "{", "nonsense", "{\"a\":\xff}"};
    for (size_t i = 0; i < LENGTH(METAS); i++) {
        struct lock_view view = {.holder_count = 1};
        view.holders[0] = (struct holder){.owner = slice_of("me"), .meta = slice_of(METAS[i])};
        json_t *holders = represent_holders(&view);
        assert_int_equal(json_array_size(holders), 1);
        assert_true(json_is_null(json_object_get(json_array_get(holders, 0), "meta")));
        json_decref(holders);
    }
}

TEST(a_text_that_is_no_utf8_becomes_empty)
{
    json_t *text = represent_text(slice_of("\xff"));
    assert_string_equal(json_string_value(text), "");
    json_decref(text);
    text = represent_text((struct slice){"abc", 2});
    assert_string_equal(json_string_value(text), "ab");
    json_decref(text);
}
