/* Watching all names under a prefix: what there is, what changes, and that nothing is missed. */
#include "locks/watching/prefix.h"
#include "tests/support/clock.h"
#include "tests/support/cmocka.h"
#include "tests/support/fixtures/locks_fixture.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static const char TOKEN[] = "0123456789012345678901";

enum { NAMES_MOST = 6000 };

/* What one watch has told. */
struct observed {
    struct prefix_watch *watch;
    int reported;
    int done;
    struct {
        char name[24];
        int64_t version;
        int64_t holds;
    } each[NAMES_MOST];
    enum locks_result result;
    int64_t version;
    struct prefix_position reached;
    bool begins; /* a snapshot */
    bool failed; /* with a text */
    int64_t at_ms;
};

static void on_each(void *context, struct slice name, const struct lock_view *view, char **shared)
{
    struct observed *observed = context;
    assert_ptr_not_equal(shared, NULL);
    assert_int_equal(observed->done, 0);
    assert_true(observed->reported < NAMES_MOST);
    snprintf(observed->each[observed->reported].name, sizeof observed->each[0].name, "%.*s",
             (int)name.length, name.bytes);
    observed->each[observed->reported].version = view->version;
    observed->each[observed->reported].holds = view->hold_count;
    observed->reported++;
}

static void on_done(void *context, enum locks_result result, const struct prefix_position *reached,
                    bool begins, const char *error)
{
    struct observed *observed = context;
    observed->done++;
    observed->result = result;
    observed->version = reached->after;
    observed->reached = *reached;
    observed->begins = begins;
    observed->failed = error != NULL;
    observed->at_ms = clock_ms();
    observed->watch = NULL;
}

static void resume(struct observed *observed, struct site *site, const char *prefix,
                   struct prefix_position from, int64_t wait_ms, size_t limit)
{
    const struct prefix_listener listener = {observed, NULL, on_each, on_done};
    memset(observed, 0, sizeof *observed);
    observed->watch =
        locks_watch_prefix(site->locks, slice_of(prefix), &from, wait_ms, limit, &listener);
    assert_int_equal(observed->done, 0);
}

static void begin(struct observed *observed, struct site *site, const char *prefix, int64_t after,
                  int64_t wait_ms, size_t limit)
{
    resume(observed, site, prefix, (struct prefix_position){.after = after}, wait_ms, limit);
}

static struct observed *watch(struct site *site, const char *prefix, int64_t after, int64_t wait_ms,
                              size_t limit)
{
    static struct observed observed;
    begin(&observed, site, prefix, after, wait_ms, limit);
    fixture_await(site->fixture, &observed.done, 1);
    return &observed;
}

/* From where on nothing has changed, with the prefix scanned. */
static int64_t current(struct site *site, const char *prefix)
{
    const struct observed *observed = watch(site, prefix, 0, 0, 1000);
    assert_int_equal(observed->result, LOCKS_DONE);
    return observed->version;
}

static const char *reported(const struct observed *observed, const char *name)
{
    for (int i = 0; i < observed->reported; i++)
        if (strcmp(observed->each[i].name, name) == 0)
            return observed->each[i].holds > 0 ? "held" : "free";
    return "";
}

static void lock(struct site *site, const char *name)
{
    fixture_lock(site, name, TOKEN, FIXTURE_TTL_MS);
}

static void release(struct site *site, const char *name)
{
    assert_int_equal(fixture_release(site, name, TOKEN).reply.result, LOCKS_DONE);
}

static int64_t scans(struct locks_fixture *fixture)
{
    return redis_process_calls(&fixture->redis, "scan");
}

TEST_IN_FIXTURE(all_that_is_held_is_reported_first)
{
    lock(&fixture->there, "job/1");
    lock(&fixture->there, "job/{2}%");
    lock(&fixture->there, "job/gone");
    release(&fixture->there, "job/gone");
    lock(&fixture->there, "jo");
    lock(&fixture->there, "other");
    const struct observed *observed = watch(&fixture->here, "job/", 0, FIXTURE_TTL_MS, 10);
    assert_int_equal(observed->result, LOCKS_DONE);
    assert_true(observed->begins);
    assert_true(observed->reached.after >= observed->reached.snapshot); /* and ends */
    assert_int_equal(observed->reported, 2);
    assert_string_equal(reported(observed, "job/1"), "held");
    assert_string_equal(reported(observed, "job/{2}%"), "held");
    assert_int_equal(watch(&fixture->here, "", 0, FIXTURE_TTL_MS, 10)->reported, 4);
}

/* By the version that an answer gives, each change is told, whether it was watched or not. */
TEST_IN_FIXTURE(no_change_is_missed)
{
    int64_t version = current(&fixture->here, "n");
    lock(&fixture->there, "n1");
    lock(&fixture->here, "n2");
    lock(&fixture->there, "other");
    const struct observed *observed = watch(&fixture->here, "n", version, FIXTURE_TTL_MS, 10);
    assert_int_equal(observed->reported, 2);
    assert_true(observed->version > version);
    version = observed->version;

    release(&fixture->there, "n1");
    observed = watch(&fixture->here, "n", version, FIXTURE_TTL_MS, 10);
    assert_int_equal(observed->reported, 1);
    assert_string_equal(reported(observed, "n1"), "free");
    version = observed->version;

    fixture_break(&fixture->there, "n2");
    observed =
        watch(&fixture->there, "n", version, FIXTURE_TTL_MS, 10); /* of another server, as well */
    assert_int_equal(observed->reported, 1);
    assert_string_equal(reported(observed, "n2"), "free");

    observed = watch(&fixture->there, "n", observed->version, 150, 10);
    assert_int_equal(observed->result, LOCKS_DONE);
    assert_int_equal(observed->reported, 0);
    assert_false(observed->begins);
}

TEST_IN_FIXTURE(a_renewal_is_no_change)
{
    static struct observed observed;
    lock(&fixture->there, "n");
    begin(&observed, &fixture->here, "", current(&fixture->here, ""), FIXTURE_TTL_MS, 10);
    fixture_renew(&fixture->there, "n", TOKEN, FIXTURE_TTL_MS / 2);
    current(&fixture->here, "");
    lock(&fixture->there, "m");
    fixture_await(fixture, &observed.done, 1);
    assert_int_equal(observed.reported, 1);
    assert_string_equal(reported(&observed, "m"), "held");
}

/* Nothing runs in Redis when a hold ends, and nobody else asks. */
TEST_IN_FIXTURE(an_expiry_is_reported)
{
    int64_t version = current(&fixture->here, "");
    for (int i = 0; i < 2; i++) {
        int64_t begun = clock_ms();
        fixture_lock_and_close(fixture, "n", TOKEN, 300); /* unknown so far, or forgotten */
        const struct observed *observed = watch(&fixture->here, "", version, FIXTURE_TTL_MS, 10);
        if (strcmp(reported(observed, "n"), "held") == 0)
            observed = watch(&fixture->here, "", observed->version, FIXTURE_TTL_MS, 10);
        assert_string_equal(reported(observed, "n"), "free");
        assert_true(observed->at_ms - begun >= 295);
        version = observed->version;
    }
}

/* Of a lock that is held and does not change, too, the end is known beforehand. */
TEST_IN_FIXTURE(an_expiry_of_what_was_there_is_reported)
{
    int64_t granted = clock_ms();
    fixture_lock(&fixture->there, "n", TOKEN, 4000);
    fixture_lock(&fixture->there, "m", TOKEN, FIXTURE_TTL_MS);
    int64_t version = current(&fixture->there, ""); /* so that `here` has to scan */
    const struct observed *observed = watch(&fixture->here, "", version, FIXTURE_TTL_MS, 10);
    assert_int_equal(observed->reported, 1);
    assert_string_equal(reported(observed, "n"), "free");
    assert_true(observed->at_ms - granted >= 3995);
}

TEST_IN_FIXTURE(a_renewed_hold_is_not_reported_as_ended)
{
    enum { ENDS_MS = 4000, ENDS_LATER_MS = 5000 };
    static struct observed observed;
    fixture_lock(&fixture->there, "n", TOKEN, ENDS_MS);
    begin(&observed, &fixture->here, "", current(&fixture->here, ""), FIXTURE_TTL_MS, 10);
    int64_t renewed = clock_ms();
    assert_int_equal(fixture_renew(&fixture->there, "n", TOKEN, ENDS_LATER_MS).reply.result,
                     LOCKS_DONE);
    fixture_await(fixture, &observed.done, 1);
    assert_true(observed.at_ms - renewed >= ENDS_LATER_MS - 5);
    assert_string_equal(reported(&observed, "n"), "free");
}

TEST_IN_FIXTURE(changes_before_the_first_watch_are_scanned)
{
    lock(&fixture->there, "before");
    int64_t version = current(&fixture->there, "");
    lock(&fixture->there, "held");
    lock(&fixture->there, "freed");
    release(&fixture->there, "freed");
    const struct observed *observed = watch(&fixture->here, "", version, FIXTURE_TTL_MS, 10);
    assert_int_equal(observed->reported, 2);
    assert_false(observed->begins);
    assert_string_equal(reported(observed, "held"), "held");
    assert_string_equal(reported(observed, "freed"), "free");
}

/* Whoever asks again at once, as a stream does, costs Redis no scan. */
TEST_IN_FIXTURE(only_the_first_watch_scans)
{
    int64_t version = current(&fixture->here, "job/");
    int64_t before = scans(fixture);
    char name[16];
    for (int i = 0; i < 10; i++) {
        snprintf(name, sizeof name, "job/%d", i);
        lock(&fixture->there, name);
        const struct observed *observed =
            watch(&fixture->here, "job/", version, FIXTURE_TTL_MS, 10);
        assert_int_equal(observed->reported, 1);
        release(&fixture->there, name);
        observed = watch(&fixture->here, name, observed->version, FIXTURE_TTL_MS, 10);
        assert_int_equal(observed->reported, 1);
        version = observed->version;
    }
    assert_int_equal(scans(fixture), before);
    current(&fixture->here, "");
    assert_true(scans(fixture) > before);
}

/* What one answer leaves out, the next ones tell: the oldest first. */
TEST_IN_FIXTURE(a_limit_tears_nothing_apart)
{
    int64_t version = current(&fixture->here, "");
    char name[16];
    for (int i = 0; i < 25; i++) {
        snprintf(name, sizeof name, "n%d", i);
        lock(&fixture->there, name);
    }
    assert_int_equal(watch(&fixture->here, "", version, 0, 100)->reported, 25);
    for (int page = 0; page < 5; page++) {
        const struct observed *observed = watch(&fixture->here, "", version, FIXTURE_TTL_MS, 5);
        assert_int_equal(observed->reported, 5);
        assert_false(observed->begins);
        for (int i = 0; i < 5; i++) {
            snprintf(name, sizeof name, "n%d", page * 5 + i);
            assert_string_equal(observed->each[i].name, name);
        }
        version = observed->version;
    }
    assert_int_equal(watch(&fixture->here, "", version, 0, 5)->reported, 0);
}

static int held_among(const struct observed *observed)
{
    int count = 0;
    for (int i = 0; i < observed->reported; i++)
        count += observed->each[i].holds > 0;
    return count;
}

/* A snapshot goes from page to page, and what changes meanwhile is told in the end. */
TEST_IN_FIXTURE(snapshot_comes_in_pages)
{
    enum { PAGES = 5, PAGE = 5 };
    static struct observed observed;
    char name[16];
    int held = 0;
    bool freed = false;
    for (int i = 0; i < PAGES * PAGE; i++) {
        snprintf(name, sizeof name, "n%d", i);
        lock(&fixture->there, name);
    }
    observed.reached = (struct prefix_position){0};
    for (int page = 0; page <= PAGES; page++) {
        resume(&observed, &fixture->here, "", observed.reached, 0, PAGE);
        fixture_await(fixture, &observed.done, 1);
        assert_int_equal(observed.begins, page == 0);
        assert_int_equal(observed.reached.snapshot > observed.reached.after, page < PAGES - 1);
        held += held_among(&observed);
        freed |= strcmp(reported(&observed, "n1"), "free") == 0;
        if (page == 0)
            release(&fixture->there, "n1");
    }
    assert_int_equal(held, PAGES * PAGE);
    assert_true(freed);
}

TEST_IN_FIXTURE(many_watches_learn_of_one_change)
{
    enum { MANY = 20 };
    struct observed *observed = calloc(MANY, sizeof *observed);
    int64_t version = current(&fixture->here, "");
    for (int i = 0; i < MANY; i++)
        begin(&observed[i], &fixture->here, i % 2 ? "job/" : "", version, FIXTURE_TTL_MS, 10);
    current(&fixture->here, "job/");
    uint64_t calls = store_figures(fixture->here.store).calls;
    lock(&fixture->there, "job/1");
    for (int i = 0; i < MANY; i++) {
        fixture_await(fixture, &observed[i].done, 1);
        assert_int_equal(observed[i].reported, 1);
    }
    /* the mark and the look, and the same once more where the mark was early */
    assert_in_range(store_figures(fixture->here.store).calls - calls, 2, 4);
    free(observed);
}

TEST_IN_FIXTURE(a_watch_that_nobody_wants_is_silent)
{
    static struct observed starting, waiting, other;
    int64_t version = current(&fixture->here, "");
    begin(&waiting, &fixture->here, "", version, FIXTURE_TTL_MS, 10);
    begin(&other, &fixture->here, "", version, FIXTURE_TTL_MS, 10);
    fixture_settle(&fixture->here);
    begin(&starting, &fixture->here, "", 0, FIXTURE_TTL_MS, 10);
    locks_unwatch_prefix(starting.watch);
    locks_unwatch_prefix(waiting.watch);
    lock(&fixture->there, "n");
    fixture_await(fixture, &other.done, 1);
    current(&fixture->here, "");
    assert_int_equal(starting.done + starting.reported + waiting.done + waiting.reported, 0);
}

TEST_IN_FIXTURE(a_server_that_drains_answers)
{
    static struct observed observed;
    begin(&observed, &fixture->here, "", current(&fixture->here, ""), FIXTURE_TTL_MS, 10);
    fixture_settle(&fixture->here);
    locks_drain(fixture->here.locks);
    fixture_await(fixture, &observed.done, 1);
    assert_int_equal(observed.result, LOCKS_DONE);
    assert_int_equal(watch(&fixture->here, "", observed.version, FIXTURE_TTL_MS, 10)->reported, 0);
}

static struct watched_prefix *watched_by(struct site *site)
{
    return LIST_FIRST(&site->locks->prefixes->list);
}

TEST_IN_FIXTURE(version_beyond_the_window_begins_a_snapshot)
{
    enum { SECOND = 1000000 };
    lock(&fixture->there, "held");
    lock(&fixture->there, "freed");
    release(&fixture->there, "freed");
    int64_t now = current(&fixture->here, "");
    const struct observed *observed =
        watch(&fixture->here, "", now - 30 * SECOND, CLOCK_HANG_MS, 10);
    assert_false(observed->begins);
    assert_int_equal(observed->reported, 2);
    observed = watch(&fixture->here, "", now - 61 * SECOND, CLOCK_HANG_MS, 10);
    assert_true(observed->begins);
    assert_int_equal(observed->reported, 1);
    assert_string_equal(reported(observed, "held"), "held");
    assert_false(watch(&fixture->here, "", observed->version, 0, 10)->begins);

    watched_by(&fixture->here)->since = now - 120 * SECOND; /* as if scanned a minute ago */
    assert_false(watch(&fixture->here, "", now - 61 * SECOND, 0, 10)->begins);
}

/* So many names that not all can be remembered once they are free. */
TEST_IN_FIXTURE(memory_is_bounded)
{
    enum { MANY = 5000, AT_ONCE = 100 };
    int64_t version = current(&fixture->there, "");
    struct answer *answers = calloc(MANY, sizeof *answers);
    char name[16];
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "n%d", i);
        struct acquire acquire = fixture_request(name, TOKEN, FIXTURE_TTL_MS);
        locks_acquire(fixture->there.locks, &acquire, fixture_answered, &answers[i]);
        locks_release(fixture->there.locks, acquire.name, acquire.token, fixture_answered,
                      &answers[i]);
        if (i % AT_ONCE == AT_ONCE - 1)
            fixture_await(fixture, &answers[i].count, 2);
    }
    for (int i = 0; i < MANY; i++)
        assert_int_equal(answers[i].reply.result, LOCKS_DONE);
    free(answers);
    lock(&fixture->there, "last");
    const struct observed *observed = watch(&fixture->here, "", version, 0, NAMES_MOST);
    assert_int_equal(observed->result, LOCKS_DONE);
    assert_true(observed->begins);
    assert_int_equal(observed->reported, 1); /* what is held */
    observed = watch(&fixture->here, "", observed->version, 0, NAMES_MOST);
    assert_false(observed->begins);
    assert_int_equal(observed->reported, 0);
}

TEST_IN_FIXTURE(without_redis_it_is_unavailable)
{
    static struct observed waiting;
    int64_t begun = clock_ms();
    begin(&waiting, &fixture->here, "", current(&fixture->here, ""), 4000, 10);
    current(&fixture->here, "");
    redis_process_halt(&fixture->redis);
    fixture_await(fixture, &fixture->here.downs, 1);
    const struct observed *observed = watch(&fixture->here, "", 0, FIXTURE_TTL_MS, 10);
    assert_int_equal(observed->result, LOCKS_UNAVAILABLE);
    assert_true(observed->failed);
    fixture_await(fixture, &waiting.done, 1);
    assert_true(waiting.at_ms - begun >= 3995); /* Redis may come back in time */
    assert_int_equal(waiting.result, LOCKS_UNAVAILABLE);
    assert_int_equal(waiting.reported, 0);
    redis_process_resume(&fixture->redis);
}

/* What Redis could not tell in time is found out: both what is held and what is free again. */
TEST_IN_FIXTURE(change_while_nobody_listens_is_reported)
{
    static struct observed observed;
    lock(&fixture->there, "old");
    release(&fixture->there, "old");
    begin(&observed, &fixture->here, "", current(&fixture->here, ""), FIXTURE_TTL_MS, 10);
    current(&fixture->here, "");
    redis_process_integer(&fixture->redis, "CLIENT KILL TYPE pubsub");
    struct answer answers[3] = {0}; /* sent at once, before the inbox can be back */
    struct acquire n = fixture_request("n", TOKEN, FIXTURE_TTL_MS),
                   m = fixture_request("m", TOKEN, FIXTURE_TTL_MS);
    locks_acquire(fixture->there.locks, &n, fixture_answered, &answers[0]);
    locks_acquire(fixture->there.locks, &m, fixture_answered, &answers[1]);
    locks_release(fixture->there.locks, m.name, m.token, fixture_answered, &answers[2]);
    fixture_await(fixture, &observed.done, 1);
    for (int i = 0; i < 3; i++)
        fixture_await(fixture, &answers[i].count, 1);
    assert_int_equal(observed.result, LOCKS_DONE);
    assert_false(observed.begins);
    assert_int_equal(observed.reported, 2);
    assert_string_equal(reported(&observed, "n"), "held");
    assert_string_equal(reported(&observed, "m"), "free");
}

TEST_IN_FIXTURE(a_watch_outlives_the_loss_of_its_connection)
{
    static struct observed observed;
    static const char *const LOST[] = {"pubsub", "normal"}, *const NAMES[] = {"n", "m"};
    for (int i = 0; i < 2; i++) {
        begin(&observed, &fixture->here, "", current(&fixture->here, ""), FIXTURE_TTL_MS, 10);
        current(&fixture->here, "");
        struct site here = fixture->here, there = fixture->there;
        redis_process_integer(&fixture->redis, "CLIENT KILL TYPE %s", LOST[i]);
        fixture_await(fixture, &fixture->here.listens, here.listens + (i == 0));
        fixture_await(fixture, &fixture->there.listens, there.listens + (i == 0));
        fixture_await(fixture, &fixture->here.ups, here.ups + (i == 1));
        fixture_await(fixture, &fixture->there.ups, there.ups + (i == 1));
        current(&fixture->here, "");
        assert_int_equal(observed.done, 0);
        lock(&fixture->there, NAMES[i]);
        fixture_await(fixture, &observed.done, 1);
        assert_int_equal(observed.result, LOCKS_DONE);
        assert_string_equal(reported(&observed, NAMES[i]), "held");
    }
}

/* How many turns of the loop it takes until `done`. */
static int turns_until(struct locks_fixture *fixture, const int *done)
{
    int turns = 0;
    for (int64_t deadline = clock_ms() + CLOCK_HANG_MS; *done == 0 && clock_ms() < deadline;)
        turns += uv_run(&fixture->loop, UV_RUN_ONCE) != 0;
    assert_int_equal(*done, 1);
    return turns;
}

/* As if nobody had watched for long. */
static int turns_to_forget(struct site *site)
{
    int turns = 0;
    watched_by(site)->idle = 0;
    watched_prefix_plan(watched_by(site));
    for (int64_t deadline = clock_ms() + CLOCK_HANG_MS; watched_by(site) && clock_ms() < deadline;)
        turns += uv_run(&site->fixture->loop, UV_RUN_ONCE) != 0;
    assert_null(watched_by(site));
    assert_false(site->locks->prefixes->tracking);
    return turns;
}

/* As if they were all held, since long ago and for long. */
static void know(struct site *site, int64_t count)
{
    struct prefix_names *table = &watched_by(site)->known;
    char name[24];
    for (int64_t i = 0; i < count; i++) {
        int length = snprintf(name, sizeof name, "many/%" PRId64, i * 7919 % count);
        struct prefix_name *known = prefix_name_get(table, (struct slice){name, (size_t)length});
        prefix_name_seen(table, known, 1000 + i, true, INT64_MAX - 1);
    }
}

/* Those that it has news of, that it has no news of, and those that are forgotten: no turn of the
 * loop goes through more names where there are more. */
TEST_IN_FIXTURE(many_names_take_many_turns)
{
    enum { MANY = 50000, TURNS = MANY / 2000 };
    static struct observed observed;
    lock(&fixture->there, "few/1");
    current(&fixture->here, "");
    know(&fixture->here, MANY);
    const struct prefix_position early = {1, .snapshot = current(&fixture->here, "few")};
    resume(&observed, &fixture->here, "few", early, 0, 10);
    int narrow = turns_until(fixture, &observed.done);
    assert_int_equal(observed.reported, 1);
    resume(&observed, &fixture->here, "", early, 0, 100);
    int wide = turns_until(fixture, &observed.done);
    assert_in_range(observed.reached.after, 1000, 1000 + 100); /* Redis knows none of those */
    int last = turns_to_forget(&fixture->here);
    print_message("it took %d, %d and %d turns\n", narrow, wide, last);
    assert_true(narrow >= TURNS);
    assert_true(last >= TURNS);
}
