/* What one batond knows of lost locks holds for all, though another one, which knows less, is the
 * first to notice, and though a connection is lost while it says so. */
#include "tests/support/faults/proxy.h"
#include "tests/support/fixtures/pair.h"
#include "tests/support/fixtures/replicated.h"

#include <signal.h>
#include <string.h>

enum {
    LOOK_MS = 1100,
    PATIENCE_MS = CLOCK_HANG_MS,
    SHORT_MS = 15000, /* more than whoever knows less waits */
};

/* A word of a command, and of no script. */
#define WORD(length, word) "$" #length "\r\n" word "\r\n"

/* Two batonds: one knows of all locks, and reaches Redis by a proxy; the other one stands still. */
struct scene {
    struct replicated all;
    struct proxy proxy;
    struct batond_process knows, forgets;
    struct http_client *client[2]; /* of the same */
};

static void start(struct batond_process *batond, const char *url)
{
    batond_process_start(
        batond, &(struct batond_options){
                    .redis_url = url,
                    .arguments = LIST("--workers=1", "--quarantine=auto", "--confirm=replicas:2")});
}

static void open_scene(struct scene *scene)
{
    replicated_start(&scene->all, 1);
    proxy_start(&scene->proxy, scene->all.primary.socket);
    start(&scene->knows, scene->proxy.url);
    start(&scene->forgets, scene->all.primary.url);
    scene->client[0] = http_client_new(scene->knows.url);
    scene->client[1] = http_client_new(scene->forgets.url);
    for (int i = 0; i < 2; i++)
        await_workers(scene->client[i]);
}

static void close_scene(struct scene *scene)
{
    batond_close(&scene->knows, scene->client[0]);
    batond_close(&scene->forgets, scene->client[1]);
    proxy_stop(&scene->proxy);
    replicated_stop(&scene->all);
}

/* A lock of which only one of them knows, in a file that does not have it, is lost. */
static void lose_a_lock(struct scene *scene)
{
    for (int i = 0; i < 2; i++)
        answers(scene->client[i], "POST /locks/other?ttl=1s&wait=50s", NULL, 201, NULL);
    redis_process_save(&scene->all.primary);
    redis_process_await_looks(&scene->all.primary, 2);
    process_signal(&scene->forgets.process, SIGSTOP);
    answers(scene->client[0], "POST /locks/n?ttl=5m", NULL, 201, NULL);
    redis_process_kill(&scene->all.primary);
}

static bool has_lost(void *context)
{
    const struct proxy *proxy = context;
    return proxy->losses > 0;
}

/* The other one notices it alone, and thinks that it will soon be over. */
static void let_the_other_notice(struct scene *scene)
{
    process_signal(&scene->forgets.process, SIGCONT);
    struct asking asking = {scene->client[1], "/locks/n"};
    assert_true(clock_wait_until(comes_to_quarantine, &asking, PATIENCE_MS));
    assert_in_range(quarantine_left_ms(scene->client[1]), 0, SHORT_MS);
}

static bool is_closed_for_long(void *context)
{
    struct http_client *client = context;
    if (http_call(client, "POST", "/locks/n", NULL) == 201)
        fail_msg("granted, though somebody holds it");
    return is_quarantined(client) && quarantine_left_ms(client) > SHORT_MS;
}

static void both_wait_for_it(struct scene *scene)
{
    for (int i = 0; i < 2; i++)
        assert_true(clock_wait_until(is_closed_for_long, scene->client[i], PATIENCE_MS));
}

/* It has looked at what Redis has before, and thinks no better of it for that: this is the same
 * server, started anew, and no replica that was promoted. */
TEST(second_batond_that_reports_a_loss_counts)
{
    struct scene scene;
    open_scene(&scene);
    lose_a_lock(&scene);
    scene.proxy.mark = WORD(5, "begin");
    scene.proxy.mode = PROXY_LOSES_COMMAND;
    redis_process_resume(&scene.all.primary);
    assert_true(clock_wait_until(has_lost, &scene.proxy, PATIENCE_MS));
    let_the_other_notice(&scene);
    clock_sleep_ms(2 * LOOK_MS); /* Redis tells for how many whole seconds it has been there */
    scene.proxy.mode = PROXY_OPEN;
    both_wait_for_it(&scene);
    close_scene(&scene);
}

TEST(report_that_was_lost_is_repeated)
{
    struct scene scene;
    open_scene(&scene);
    lose_a_lock(&scene);
    scene.proxy.mode = PROXY_CLOSED;
    redis_process_resume(&scene.all.primary);
    let_the_other_notice(&scene);
    scene.proxy.mark = WORD(6, "extend");
    scene.proxy.mode = PROXY_LOSES_COMMAND;
    assert_true(clock_wait_until(has_lost, &scene.proxy, PATIENCE_MS));
    scene.proxy.mode = PROXY_OPEN;
    both_wait_for_it(&scene);
    close_scene(&scene);
}
