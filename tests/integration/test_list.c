/* Listing: pages over hundreds of names, none missed and none too many, whatever they are called.
 */
#include "tests/support/fixtures/service.h"

#include <stdio.h>
#include <string.h>

static void hold(struct http_client *client, const char *name, int number)
{
    char request[200];
    snprintf(request, sizeof request, "POST /locks/%s%d?ttl=10m", name, number);
    answers(client, request, NULL, 201, NULL);
}

/* Ten holders, each with a good deal of meta. */
static void hold_by_many(struct http_client *client, const char *name, int number)
{
    char request[200], body[1100];
    snprintf(request, sizeof request, "POST /locks/%s%d?mode=shared&ttl=10m", name, number);
    snprintf(body, sizeof body, "{\"meta\": {\"x\": \"%01000d\"}}", 0);
    for (int i = 0; i < 10; i++)
        answers(client, request, body, 201, NULL);
}

/* Goes through all pages. Returns the names as an object {name: times seen}, to be freed, and the
 * number of pages; no page may have more than `limit`. */
static json_t *list_all(struct http_client *client, const char *query, size_t limit, int *ret_pages)
{
    json_t *seen = json_object();
    char cursor[8000] = "";
    *ret_pages = 0;
    do {
        char target[8192];
        snprintf(target, sizeof target, "/locks?limit=%zu%s%s%s", limit, query,
                 cursor[0] ? "&cursor=" : "", cursor);
        assert_int_equal(http_call(client, "GET", target, NULL), 200);
        json_t *locks = member(client, "locks"), *lock;
        size_t i;
        assert_true(json_array_size(locks) <= limit);
        json_array_foreach (locks, i, lock) {
            const char *name = json_string_value(json_object_get(lock, "name"));
            json_int_t times = json_integer_value(json_object_get(seen, name));
            json_object_set_new(seen, name, json_integer(times + 1));
            assert_string_equal(json_string_value(json_object_get(lock, "state")), "held");
        }
        const char *next = http_text(client, "cursor");
        assert_true(next || json_is_null(member(client, "cursor")));
        snprintf(cursor, sizeof cursor, "%s", next ? next : "");
        assert_true(++*ret_pages < 2000);
    } while (cursor[0]);
    return seen;
}

TEST_OF_CLIENT_WITH(a_lock_is_listed_as_it_is_inspected, service_forget, NULL)
{
    answers(client, "POST /locks/a%2Fb?mode=shared&limit=4", "{\"meta\": {\"x\": 1}}", 201, NULL);
    answers(client, "GET /locks", NULL, 200, NULL);
    json_t *listed = json_deep_copy(member(client, "locks.0"));
    answers(client, "GET /locks/a%2Fb", NULL, 200, NULL);
    static const char *const VOLATILE[] = {"ttl_ms", "held_ms"};
    for (size_t i = 0; i < 2; i++) {
        json_object_del(json_array_get(json_object_get(listed, "holders"), 0), VOLATILE[i]);
        json_object_del(member(client, "holders.0"), VOLATILE[i]);
    }
    assert_true(json_equal(listed, client->reply.json));
    json_decref(listed);
}

TEST_OF_CLIENT_WITH(list_is_filtered_by_owner_and_time, service_forget, NULL)
{
    int pages;
    for (int i = 0; i < 300; i++)
        hold(client, "other", i);
    answers(client, "POST /locks/old?owner=ann", NULL, 201, NULL);
    answers(client, "POST /locks/shared?mode=shared&owner=bob", NULL, 201, NULL);
    answers(client, "POST /locks/shared?mode=shared&owner=ann", NULL, 201, NULL);
    json_t *seen = list_all(client, "&owner=ann", 10, &pages);
    assert_int_equal(json_object_size(seen), 2);
    json_decref(seen);
    answers(client, "GET /locks?owner=ann&prefix=sha", NULL, 200, NULL);
    assert_int_equal(member_integer(client, "locks.0.hold_count"), 2);
    assert_int_equal(json_array_size(member(client, "locks.0.holders")), 1);
    assert_string_equal(member_text(client, "locks.0.holders.0.owner"), "ann");
    seen = list_all(client, "&held_for=1h", 1000, &pages);
    assert_int_equal(json_object_size(seen), 0);
    json_decref(seen);
    seen = list_all(client, "&held_for_ms=1", 1000, &pages);
    assert_int_equal(json_object_size(seen), 302);
    json_decref(seen);
    answers(client, "GET /locks?held_for=1", NULL, 200, NULL);
    answers(client, "GET /locks?held_for=soon", NULL, 400, "invalid_parameter");
}

TEST_OF_CLIENT_WITH(all_of_hundreds_are_listed_page_by_page, service_forget, NULL)
{
    static const size_t LIMITS[] = {1, 7, 100, 1000};
    for (int i = 0; i < 500; i++)
        hold(client, "name", i);
    for (size_t i = 0; i < sizeof LIMITS / sizeof *LIMITS; i++) {
        int pages;
        json_t *seen = list_all(client, "", LIMITS[i], &pages);
        assert_int_equal(json_object_size(seen), 500);
        assert_true((size_t)pages >= 500 / LIMITS[i]);
        json_decref(seen);
    }
    answers(client, "GET /locks", NULL, 200, NULL);
    assert_int_equal(json_array_size(member(client, "locks")), 100);
}

/* One script makes a page, and all else in Redis waits for it. */
TEST_OF_CLIENT_WITH(page_with_large_locks_ends_early, service_forget, NULL)
{
    enum { NAMES = 40, MOST_BYTES = 400000 };
    int pages;
    for (int i = 0; i < NAMES; i++)
        hold_by_many(client, "fat", i);
    answers(client, "GET /locks?limit=1000", NULL, 200, NULL);
    assert_non_null(http_text(client, "cursor"));
    assert_in_range(client->reply.length, 1, MOST_BYTES);
    json_t *seen = list_all(client, "", 1000, &pages);
    assert_int_equal(json_object_size(seen), NAMES);
    assert_in_range(pages, 2, NAMES);
    json_decref(seen);
}

/* What Redis' patterns and keys would take for something else. */
TEST_OF_CLIENT_WITH(odd_names_are_listed_and_odd_prefixes_taken_literally, service_forget, NULL)
{
    static const char *const NAMES[][2] = {
        {"*", "%2A"},
        {"[a]", "%5Ba%5D"},
        {"a", "a"},
        {"\\", "%5C"},
        {"{a}", "%7Ba%7D"},
        {"%7B", "%257B"},
        {"*a", "%2Aa"},
        {":holds", "%3Aholds"},
        {"}:holds", "%7D%3Aholds"},
        {"[a-c]", "%5Ba-c%5D"},
        {"a:released:0", "a%3Areleased%3A0"},
    };
    enum { COUNT = sizeof NAMES / sizeof *NAMES };
    int pages;
    for (size_t i = 0; i < COUNT; i++) {
        char request[100];
        snprintf(request, sizeof request, "POST /locks/%s?mode=shared", NAMES[i][1]);
        answers(client, request, NULL, 201, NULL);
        answers(client, request, NULL, 201, NULL); /* a second hold: keys of its own */
    }
    json_t *seen = list_all(client, "", 3, &pages);
    assert_int_equal(json_object_size(seen), COUNT);
    for (size_t i = 0; i < COUNT; i++)
        assert_non_null(json_object_get(seen, NAMES[i][0]));
    json_decref(seen);

    for (size_t i = 0; i < COUNT; i++) {
        char query[100];
        size_t expected = 0;
        for (size_t j = 0; j < COUNT; j++)
            expected += strncmp(NAMES[j][0], NAMES[i][0], strlen(NAMES[i][0])) == 0;
        snprintf(query, sizeof query, "&prefix=%s", NAMES[i][1]);
        seen = list_all(client, query, 100, &pages);
        if (json_object_size(seen) != expected)
            fail_msg("prefix %s lists %zu, not %zu", NAMES[i][0], json_object_size(seen), expected);
        json_decref(seen);
    }
}

/* How many of the names in the latest page are new and begin with `beginning`. */
static int count_new(struct http_client *client, json_t *seen, const char *beginning)
{
    json_t *lock;
    size_t i;
    int count = 0;
    json_array_foreach (member(client, "locks"), i, lock) {
        const char *name = json_string_value(json_object_get(lock, "name"));
        count += !strncmp(name, beginning, strlen(beginning)) && !json_object_get(seen, name);
        json_object_set_new(seen, name, json_true());
    }
    return count;
}

TEST_OF_CLIENT_WITH(lock_held_all_the_while_is_never_missed, service_forget, NULL)
{
    char cursor[8000] = "", target[8192];
    int found = 0, round = 0;
    json_t *seen = json_object();
    for (int i = 0; i < 200; i++)
        hold(client, "steady", i);
    do { /* others come between the pages, so that Redis moves its table */
        for (int i = 0; i < 40; i++)
            hold(client, "passing", 1000 * round + i);
        snprintf(target, sizeof target, "/locks?limit=20%s%s", cursor[0] ? "&cursor=" : "", cursor);
        assert_int_equal(http_call(client, "GET", target, NULL), 200);
        found += count_new(client, seen, "steady");
        const char *next = http_text(client, "cursor");
        snprintf(cursor, sizeof cursor, "%s", next ? next : "");
    } while (cursor[0] && ++round < 200);
    assert_string_equal(cursor, "");
    assert_int_equal(found, 200);
    json_decref(seen);
}

RUN_TESTS(service_start, service_stop)
