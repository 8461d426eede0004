/* Who waits for a name, over all workers of a process. */
#include "locks/quorum/tickets.h"
#include "tests/support/cmocka.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 6, WORKERS = 4, ROUNDS = 300 };

/* Two workers, on loops that the test turns; and what they were called for, a word each. */
struct scene {
    struct tickets *tickets;
    uv_loop_t loops[2];
    struct ticket_worker desks[2];
    char called[200];
    struct ticket_notice last;
};

static struct slice name(void)
{
    return slice_of("name");
}

static void note(struct ticket *ticket, const struct ticket_notice *call)
{
    struct scene *scene = ticket->worker->context;
    const char *what = call->ended == LOCKS_CANCELLED    ? "-"
                       : call->ended == LOCKS_SUPERSEDED ? "="
                                                         : "+";
    size_t length = strlen(scene->called);
    snprintf(scene->called + length, sizeof scene->called - length, "%.*s%s",
             (int)ticket->token.length, ticket->token.bytes, what);
    scene->last = *call;
}

static int begin(void **state)
{
    struct scene *scene = calloc(1, sizeof *scene);
    scene->tickets = tickets_new();
    for (int i = 0; i < 2; i++) {
        uv_loop_init(&scene->loops[i]);
        ticket_worker_open(&scene->desks[i], scene->tickets, &scene->loops[i], note, scene);
    }
    *state = scene;
    return 0;
}

static int finish(void **state)
{
    struct scene *scene = *state;
    for (int i = 0; i < 2; i++) {
        ticket_worker_close(&scene->desks[i], NULL);
        uv_run(&scene->loops[i], UV_RUN_DEFAULT);
        assert_int_equal(uv_loop_close(&scene->loops[i]), 0);
    }
    tickets_free(scene->tickets);
    free(scene);
    return 0;
}

/* What is called for when both loops have turned. */
static void calls(struct scene *scene, const char *expected)
{
    scene->called[0] = '\0';
    for (int i = 0; i < 2; i++)
        uv_run(&scene->loops[i], UV_RUN_NOWAIT);
    assert_string_equal(scene->called, expected);
}

static struct ticket ticket_of(const char *token)
{
    return (struct ticket){.token = slice_of(token), .owner = slice_of(token)};
}

static void shows(struct scene *scene, const char *expected)
{
    struct lock_view view;
    struct ticket_texts texts;
    char text[200] = "";
    tickets_show(scene->tickets, name(), slice_of("nobody's"), 0, &view, &texts);
    assert_int_equal(view.position, 0);
    for (size_t i = 0; i < view.waiter_count; i++)
        strncat(text, view.waiters[i].owner.bytes, view.waiters[i].owner.length);
    assert_string_equal(text, expected);
    assert_int_equal(view.queue_length, strlen(expected));
    for (size_t i = 0; expected[i]; i++) {
        tickets_show(scene->tickets, name(), (struct slice){expected + i, 1}, 0, &view, &texts);
        assert_int_equal(view.position, i + 1);
    }
}

/* `count` tickets called a, b, c and so on, at one desk and the other in turn. */
static void draw(struct scene *scene, struct ticket *tickets, int count)
{
    static const char *const TOKENS[] = {"a", "b", "c", "d", "e", "f"};
    for (int i = 0; i < count; i++) {
        tickets[i] = ticket_of(TOKENS[i]);
        assert_int_equal(ticket_join(&tickets[i], &scene->desks[i % 2], name(), MOST),
                         i == 0 ? TICKET_FIRST : TICKET_BEHIND);
    }
}

TEST_WITH(the_first_is_called_wherever_it_waits, begin, finish)
{
    struct scene *scene = *state;
    struct ticket tickets[4];
    assert_false(tickets_wait(scene->tickets, name()));
    draw(scene, tickets, 4);
    assert_true(tickets_wait(scene->tickets, name()));
    assert_false(tickets_wait(scene->tickets, slice_of("other")));
    shows(scene, "abcd");
    calls(scene, "");
    assert_ptr_equal(ticket_worker_first(&scene->desks[0], name()), &tickets[0]);
    assert_null(ticket_worker_first(&scene->desks[1], name()));
    ticket_leave(&tickets[2], NULL);
    calls(scene, "");
    ticket_leave(&tickets[0], NULL);
    assert_ptr_equal(ticket_worker_first(&scene->desks[1], name()), &tickets[1]);
    calls(scene, "b+");
    assert_true(ticket_is_first(&tickets[1]));
    ticket_leave(&tickets[1], NULL);
    ticket_leave(&tickets[1], NULL);
    calls(scene, "d+");
    ticket_leave(&tickets[3], NULL);
    calls(scene, "");
    assert_false(tickets_wait(scene->tickets, name()));
    shows(scene, "");
}

TEST_WITH(who_has_left_is_not_called, begin, finish)
{
    struct scene *scene = *state;
    struct ticket tickets[3];
    draw(scene, tickets, 3);
    ticket_leave(&tickets[0], NULL);
    ticket_leave(&tickets[1], NULL); /* its call is on the way */
    calls(scene, "c+");
    assert_true(tickets_cancel(scene->tickets, name(), slice_of("c")));
    ticket_leave(&tickets[2], NULL);
    calls(scene, "");
}

TEST_WITH(who_steps_aside_is_passed_over, begin, finish)
{
    struct scene *scene = *state;
    struct ticket tickets[3];
    draw(scene, tickets, 3);
    assert_true(ticket_step_aside(&tickets[0]));
    calls(scene, "b+");
    shows(scene, "bca");
    assert_true(ticket_step_aside(&tickets[1]));
    assert_true(ticket_step_aside(&tickets[2]));
    assert_false(tickets_wait(scene->tickets, name()));
    calls(scene, ""); /* there is nobody, and who was called has gone: */
    for (int i = 0; i < 3; i++)
        ticket_leave(&tickets[i], NULL);
    assert_false(ticket_step_aside(&tickets[0]));
}

TEST_WITH(a_repetition_takes_the_place_of_the_earlier_one, begin, finish)
{
    struct scene *scene = *state;
    struct ticket tickets[3];
    draw(scene, tickets, 3);
    struct ticket again = ticket_of("b"), first = ticket_of("a");
    assert_int_equal(ticket_join(&again, &scene->desks[0], name(), 3), TICKET_BEHIND);
    calls(scene, "b=");
    shows(scene, "abc");
    assert_false(ticket_step_aside(&tickets[1]));
    ticket_step_aside(&tickets[0]);
    calls(scene, "b+");
    assert_int_equal(ticket_join(&first, &scene->desks[1], name(), 3), TICKET_FIRST);
    calls(scene, "a=");
    assert_false(ticket_is_first(&again));
    ticket_leave(&first, NULL);
    ticket_leave(&again, NULL);
    calls(scene, "c+");
    ticket_leave(&tickets[2], NULL);
}

TEST_WITH(no_more_wait_than_may, begin, finish)
{
    struct scene *scene = *state;
    struct ticket tickets[MOST], more = ticket_of("more"), again = ticket_of("b");
    draw(scene, tickets, MOST);
    assert_int_equal(ticket_join(&more, &scene->desks[0], name(), MOST), TICKET_REFUSED);
    assert_int_equal(more.refused.queue_length, MOST);
    assert_false(ticket_is_first(&more));
    ticket_leave(&more, NULL);
    assert_int_equal(ticket_join(&again, &scene->desks[0], name(), MOST), TICKET_BEHIND);
    for (int i = 0; i < MOST; i++)
        ticket_leave(&tickets[i], NULL);
    ticket_leave(&again, NULL);
}

TEST_WITH(any_worker_cancels, begin, finish)
{
    struct scene *scene = *state;
    struct ticket tickets[2];
    draw(scene, tickets, 2);
    assert_false(tickets_cancel(scene->tickets, name(), slice_of("c")));
    assert_false(tickets_cancel(scene->tickets, slice_of("other"), slice_of("a")));
    assert_true(tickets_cancel(scene->tickets, name(), slice_of("a")));
    assert_false(tickets_cancel(scene->tickets, name(), slice_of("a")));
    calls(scene, "a-b+");
    ticket_leave(&tickets[0], NULL);
    ticket_leave(&tickets[1], NULL);
}

TEST_WITH(who_comes_first_is_first, begin, finish)
{
    struct scene *scene = *state;
    struct ticket tickets[3];
    draw(scene, tickets, 3);
    ticket_come_first(&tickets[2]);
    assert_true(ticket_is_first(&tickets[2]));
    shows(scene, "cab");
    calls(scene, "");
    ticket_leave(&tickets[2], NULL);
    calls(scene, "a+");
    ticket_leave(&tickets[0], NULL);
    ticket_leave(&tickets[1], NULL);
}

/* The next is told of the hold for which it is to wait, if it has to. */
TEST_WITH(the_next_hears_of_the_hold_before_it, begin, finish)
{
    static const struct {
        enum lock_mode mode, next_mode;
        const char *owner;
        bool reenters;
        bool excludes;
    } CASES[] = {
        {LOCK_EXCLUSIVE, LOCK_EXCLUSIVE, "a", false, true},
        {LOCK_EXCLUSIVE, LOCK_EXCLUSIVE, "a", true, true},
        {LOCK_EXCLUSIVE, LOCK_EXCLUSIVE, "b", false, true},
        {LOCK_EXCLUSIVE, LOCK_EXCLUSIVE, "b", true, false},
        {LOCK_SHARED, LOCK_EXCLUSIVE, "a", false, true},
        {LOCK_EXCLUSIVE, LOCK_SHARED, "a", false, true},
        {LOCK_SHARED, LOCK_SHARED, "a", false, false},
    };
    struct scene *scene = *state;
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        struct ticket first = ticket_of("a"), next = ticket_of("b");
        struct hold hold = {
            .version = 7, .ttl_ms = 1000, .mode = CASES[i].mode, .owner = slice_of(CASES[i].owner)};
        next.mode = CASES[i].next_mode;
        next.is_reentrant = CASES[i].reenters;
        ticket_join(&first, &scene->desks[0], name(), MOST);
        ticket_join(&next, &scene->desks[1], name(), MOST);
        uint64_t now = uv_now(&scene->loops[0]);
        ticket_leave(&first, &hold);
        calls(scene, "b+");
        assert_int_equal(scene->last.version, CASES[i].excludes ? 7 : 0);
        if (CASES[i].excludes)
            assert_int_equal(scene->last.until, now + 1000);
        ticket_leave(&next, NULL);
    }
}

/* The earlier one goes on. */
TEST_WITH(ticket_of_another_use_of_its_token_is_refused, begin, finish)
{
    struct scene *scene = *state;
    struct ticket first = ticket_of("a"), other = ticket_of("a");
    ticket_join(&first, &scene->desks[0], name(), MOST);
    other.mode = LOCK_SHARED;
    assert_int_equal(ticket_join(&other, &scene->desks[1], name(), MOST), TICKET_IN_USE);
    assert_int_equal(other.refused.mode, LOCK_EXCLUSIVE);
    assert_false(other.refused.is_other_set);
    other = ticket_of("a");
    other.set = 5;
    assert_int_equal(ticket_join(&other, &scene->desks[1], name(), MOST), TICKET_IN_USE);
    assert_true(other.refused.is_other_set);
    assert_int_equal(other.refused.reentry, 0);
    other = ticket_of("a");
    other.is_reentrant = true;
    assert_int_equal(ticket_join(&other, &scene->desks[1], name(), MOST), TICKET_IN_USE);
    assert_int_equal(other.refused.reentry, -1);
    other = ticket_of("a");
    other.owner = slice_of("b");
    assert_int_equal(ticket_join(&other, &scene->desks[1], name(), MOST), TICKET_IN_USE);
    calls(scene, "");
    other.owner_is_made = true;
    assert_int_equal(ticket_join(&other, &scene->desks[1], name(), MOST), TICKET_FIRST);
    calls(scene, "a=");
    ticket_leave(&other, NULL);
}

/* On threads: each worker draws a ticket again and again, and who is first alone may change what
 * all share. */

struct shared {
    struct tickets *tickets;
    long turns;
};

struct worker {
    struct shared *shared;
    uv_loop_t loop;
    struct ticket_worker desk;
    struct ticket ticket;
    char token[16];
    int rounds;
    uv_thread_t thread;
};

static void take_turns(struct worker *worker, enum ticket_joined drawn)
{
    while (drawn == TICKET_FIRST) {
        assert_true(ticket_is_first(&worker->ticket));
        worker->shared->turns++;
        ticket_leave(&worker->ticket, NULL);
        if (++worker->rounds == ROUNDS) {
            ticket_worker_close(&worker->desk, NULL);
            return;
        }
        worker->ticket = ticket_of(worker->token);
        worker->ticket.context = worker;
        drawn = ticket_join(&worker->ticket, &worker->desk, name(), WORKERS);
    }
}

static void turn_has_come(struct ticket *ticket, const struct ticket_notice *call)
{
    assert_int_equal(call->ended, LOCKS_DONE);
    take_turns(ticket->context, TICKET_FIRST);
}

static void work(void *context)
{
    struct worker *worker = context;
    worker->ticket = ticket_of(worker->token);
    worker->ticket.context = worker;
    take_turns(worker, ticket_join(&worker->ticket, &worker->desk, name(), WORKERS));
    uv_run(&worker->loop, UV_RUN_DEFAULT);
}

TEST_WITH(one_at_a_time_over_all_threads, begin, finish)
{
    struct shared shared = {.tickets = ((struct scene *)*state)->tickets};
    struct worker workers[WORKERS];
    memset(workers, 0, sizeof workers);
    for (int i = 0; i < WORKERS; i++) {
        struct worker *worker = &workers[i];
        worker->shared = &shared;
        snprintf(worker->token, sizeof worker->token, "worker-%d", i);
        uv_loop_init(&worker->loop);
        ticket_worker_open(&worker->desk, shared.tickets, &worker->loop, turn_has_come, worker);
    }
    for (int i = 0; i < WORKERS; i++)
        uv_thread_create(&workers[i].thread, work, &workers[i]);
    for (int i = 0; i < WORKERS; i++) {
        uv_thread_join(&workers[i].thread);
        assert_int_equal(uv_loop_close(&workers[i].loop), 0);
    }
    assert_int_equal(shared.turns, WORKERS * ROUNDS);
    assert_false(tickets_wait(shared.tickets, name()));
}
