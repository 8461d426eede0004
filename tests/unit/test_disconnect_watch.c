/* Which hang-ups are reported, by real sockets. */
#include "server/http/disconnect_watch.h"
#include "tests/support/cmocka.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct world {
    uv_loop_t loop;
    uv_timer_t timer;
    uv_check_t check;
    struct disconnect_watches *hangups;
    struct disconnect_watch hangup;
    int ours;
    int theirs;
    unsigned turns;
    unsigned reported;
};

static struct world world;

static void on_gone(struct disconnect_watch *hangup)
{
    assert_ptr_equal(hangup, &world.hangup);
    world.reported++;
}

static void on_turn(uv_check_t *check)
{
    (void)check;
    world.turns++;
}

static void on_time(uv_timer_t *timer)
{
    uv_stop(timer->loop);
}

/* For so long, and through one turn of the loop at least, which looks at the sockets. */
static void run_for(uint64_t ms)
{
    unsigned turns = world.turns;
    do {
        uv_timer_start(&world.timer, on_time, ms, 0);
        uv_run(&world.loop, UV_RUN_DEFAULT);
    } while (world.turns == turns);
}

static void watch(void)
{
    disconnect_watch_start(world.hangups, &world.hangup, world.ours, NULL, on_gone);
}

static int set_up(void **state)
{
    int ends[2];
    (void)state;
    memset(&world, 0, sizeof world);
    uv_loop_init(&world.loop);
    uv_timer_init(&world.loop, &world.timer);
    uv_check_init(&world.loop, &world.check);
    uv_check_start(&world.check, on_turn);
    assert_int_equal(disconnect_watches_open(&world.hangups, &world.loop), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    world.ours = ends[0], world.theirs = ends[1];
    return 0;
}

static void on_closed(void *context)
{
    (void)context;
}

static int tear_down(void **state)
{
    (void)state;
    disconnect_watch_stop(world.hangups, &world.hangup);
    disconnect_watches_close(world.hangups, on_closed, NULL);
    uv_close((uv_handle_t *)&world.timer, NULL);
    uv_close((uv_handle_t *)&world.check, NULL);
    uv_run(&world.loop, UV_RUN_DEFAULT);
    close(world.ours);
    close(world.theirs);
    return uv_loop_close(&world.loop);
}

TEST_WITH(a_hang_up_is_reported_once, set_up, tear_down)
{
    watch();
    run_for(5);
    assert_int_equal(world.reported, 0);
    shutdown(world.theirs, SHUT_WR);
    run_for(5);
    assert_int_equal(world.reported, 1);
    assert_false(world.hangup.watched);
}

/* Nor does it keep the loop busy until it is forgotten. */
TEST_WITH(one_that_is_ignored_is_not_reported, set_up, tear_down)
{
    watch();
    disconnect_watch_pause(&world.hangup);
    shutdown(world.theirs, SHUT_WR);
    run_for(50);
    assert_int_equal(world.reported, 0);
    assert_in_range(world.turns, 1, 4);
    disconnect_watches_report_all(world.hangups);
    assert_int_equal(world.reported, 0);
}

TEST_WITH(socket_can_be_watched_again, set_up, tear_down)
{
    watch();
    disconnect_watch_pause(&world.hangup);
    watch();
    disconnect_watch_stop(world.hangups, &world.hangup);
    watch();
    shutdown(world.theirs, SHUT_WR);
    run_for(5);
    assert_int_equal(world.reported, 1);
}

TEST_WITH(all_can_be_reported, set_up, tear_down)
{
    watch();
    disconnect_watches_report_all(world.hangups);
    assert_int_equal(world.reported, 1);
    shutdown(world.theirs, SHUT_WR);
    run_for(5);
    assert_int_equal(world.reported, 1);
}

TEST_WITH(client_has_disconnected_once_it_sends_no_more, set_up, tear_down)
{
    assert_false(has_disconnected(world.ours, NULL));
    assert_int_equal(write(world.theirs, "GET", 3), 3);
    assert_false(has_disconnected(world.ours, NULL));
    shutdown(world.theirs, SHUT_WR);
    assert_true(has_disconnected(world.ours, NULL));
}

/* The type of a record is in the clear up to TLS 1.2: 23 is data, 21 an alert, as close_notify is.
 */
TEST_WITH(tls_client_has_disconnected_once_its_alert_has_come, set_up, tear_down)
{
    static const unsigned char DATA[] = {23, 3, 3, 0, 1, 0}, ALERT[] = {21, 3, 3, 0, 2, 1, 0};
    unsigned char sent[sizeof DATA];
    gnutls_session_t session;
    assert_int_equal(gnutls_init(&session, GNUTLS_SERVER), 0);
    assert_false(has_disconnected(world.ours, session));
    assert_int_equal(write(world.theirs, DATA, sizeof DATA), sizeof DATA);
    assert_false(has_disconnected(world.ours, session));
    assert_int_equal(read(world.ours, sent, sizeof sent), sizeof sent);
    assert_int_equal(write(world.theirs, ALERT, sizeof ALERT - 1), sizeof ALERT - 1);
    assert_false(has_disconnected(world.ours, session));
    assert_int_equal(write(world.theirs, ALERT + sizeof ALERT - 1, 1), 1);
    assert_true(has_disconnected(world.ours, session));
    gnutls_deinit(session);
}
