/* Watching one's own hold: told when it ends, and when somebody begins or ceases to wait. */
#include "tests/support/cmocka.h"
#include "tests/support/fixtures/locks_fixture.h"

static const char MINE[] = "mine-01234567890123456", OTHER[] = "other-0123456789012345";

enum { PATIENCE_MS = FIXTURE_TTL_MS };

static struct watch *watch_mine(struct site *site, struct answer *answer, struct watch_for what)
{
    *answer = (struct answer){0};
    what.token = slice_of(MINE);
    return locks_watch(site->locks, slice_of("n"), &what, PATIENCE_MS, fixture_answered, answer);
}

static void assert_reported(struct locks_fixture *fixture, struct answer *answer, bool mine,
                            int64_t waiting)
{
    fixture_await(fixture, &answer->count, 1);
    assert_int_equal(answer->reply.result, LOCKS_DONE);
    assert_true(answer->reply.changed);
    assert_int_equal(answer->reply.view.mine, mine);
    assert_int_equal(answer->reply.view.queue_length, waiting);
}

static void share(struct site *site, const char *token)
{
    struct acquire request = fixture_request("n", token, FIXTURE_TTL_MS);
    request.mode = LOCK_SHARED;
    fixture_acquire(site, &request);
}

/* A waiter at this site, which is in the queue when this returns. */
static struct waiter *queue_up_as(struct site *site, const char *token, struct answer *answer)
{
    struct acquire request = fixture_request("n", token, FIXTURE_TTL_MS);
    request.wait_ms = PATIENCE_MS;
    *answer = (struct answer){0};
    const struct acquirer acquirer = {answer, fixture_is_connected, .queued = NULL};
    struct waiter *waiter = locks_wait(site->locks, &request, &acquirer, fixture_answered);
    fixture_await_queue(site, "n", 1);
    return waiter;
}

static struct waiter *queue_up(struct site *site, struct answer *answer)
{
    return queue_up_as(site, "waiter-012345678901234", answer);
}

TEST_IN_FIXTURE(watch_of_hold_is_answered_when_that_hold_ends)
{
    for (int i = 0; i < 3; i++) {
        struct answer answer;
        struct acquire request = fixture_request("n", MINE, i == 2 ? 500 : FIXTURE_TTL_MS);
        request.mode = LOCK_SHARED;
        fixture_acquire(&fixture->there, &request);
        watch_mine(&fixture->here, &answer, (struct watch_for){.mine = true});
        share(&fixture->there, OTHER);
        fixture_release(&fixture->there, "n", OTHER);
        fixture_settle(&fixture->here);
        if (i < 2)
            assert_int_equal(answer.count, 0);
        if (i == 0)
            fixture_break(&fixture->there, "n");
        else if (i == 1)
            fixture_release(&fixture->there, "n", MINE);
        assert_reported(fixture, &answer, false, 0);
        freeReplyObject(redis_process_command(&fixture->redis, "FLUSHALL"));
    }
}

TEST_IN_FIXTURE(watch_of_token_without_hold_is_answered_at_once)
{
    struct answer answer;
    share(&fixture->there, OTHER);
    watch_mine(&fixture->here, &answer, (struct watch_for){.mine = true});
    assert_reported(fixture, &answer, false, 0);
}

TEST_IN_FIXTURE(watch_of_token_that_waits_is_answered_when_place_or_hold_is_over)
{
    for (int i = 0; i < 2; i++) {
        struct answer answer, waiting;
        fixture_lock(&fixture->there, "n", OTHER, FIXTURE_TTL_MS);
        struct waiter *waiter = queue_up_as(&fixture->there, MINE, &waiting);
        watch_mine(&fixture->here, &answer, (struct watch_for){.mine = true});
        fixture_settle(&fixture->here);
        assert_int_equal(answer.count, 0);
        if (i == 0) {
            locks_abandon(waiter);
        } else {
            fixture_break(&fixture->there, "n");
            fixture_await(fixture, &waiting.count, 1);
            fixture_settle(&fixture->here);
            assert_int_equal(answer.count, 0);
            fixture_break(&fixture->there, "n");
        }
        assert_reported(fixture, &answer, false, 0);
        fixture_break(&fixture->there, "n");
    }
}

TEST_IN_FIXTURE(watch_of_hold_is_answered_when_waiting_begins_and_ends)
{
    struct site *const sites[] = {&fixture->here, &fixture->there};
    fixture_lock(&fixture->here, "n", MINE, FIXTURE_TTL_MS);
    for (int i = 0; i < 2; i++) {
        struct answer answer, waiting, late;
        watch_mine(&fixture->here, &answer, (struct watch_for){.mine = true});
        fixture_settle(&fixture->here);
        struct waiter *waiter = queue_up(sites[i], &waiting);
        assert_reported(fixture, &answer, true, 1);
        watch_mine(&fixture->here, &late, (struct watch_for){.mine = true});
        assert_reported(fixture, &late, true, 1);
        watch_mine(&fixture->here, &answer, (struct watch_for){.mine = true, .wanted = true});
        fixture_settle(&fixture->here);
        assert_int_equal(answer.count, 0);
        locks_abandon(waiter);
        assert_reported(fixture, &answer, true, 0);
    }
}

TEST_IN_FIXTURE(watch_that_was_ended_is_not_answered)
{
    struct answer answer, gone;
    fixture_lock(&fixture->here, "n", MINE, FIXTURE_TTL_MS);
    locks_unwatch(watch_mine(&fixture->here, &gone, (struct watch_for){.mine = true}));
    struct watch *looking = watch_mine(&fixture->here, &gone, (struct watch_for){.mine = true});
    watch_mine(&fixture->here, &answer, (struct watch_for){.mine = false});
    assert_reported(fixture, &answer, true, 0); /* so the other is inspecting, or has */
    locks_unwatch(looking);
    fixture_break(&fixture->there, "n");
    fixture_settle(&fixture->here);
    assert_int_equal(gone.count, 0);
}
