/* What somebody else has written to the keys of a lock, and rights in Redis that are missing: the
 * other locks are served, and it is said what is the matter. */
#include "tests/support/fixtures/parked.h"

#include <stdio.h>
#include <string.h>

enum { PATIENCE_MS = CLOCK_HANG_MS };

static const char TOKEN[] = "a-token-of-a-damaged-lock";

static void command(struct service *service, const char *text)
{
    redisReply *reply = redis_process_command(&service->redis, text);
    assert_int_not_equal(reply->type, REDIS_REPLY_ERROR);
    freeReplyObject(reply);
}

static bool damage_is_counted(void *context)
{
    return metric_of(context, "baton_damaged_total") > 0;
}

static void the_others_are_listed(struct service *service)
{
    struct http_client *client = service->client;
    answers(client, "GET /locks", NULL, 200, NULL);
    assert_int_equal(json_array_size(member(client, "locks")), 1);
    assert_string_equal(member_text(client, "locks.0.name"), "whole");
    assert_int_equal(member_integer(client, "skipped"), 1);
    answers(client, "GET /events", NULL, 200, NULL);
    assert_int_equal(json_array_size(member(client, "locks")), 1);
    answers(client, "GET /stats", NULL, 200, NULL);
    answers(client, "GET /metrics", NULL, 200, NULL);
}

/* A change elsewhere is told all the same, and so is this one's once it can be read again. */
static void a_watch_of_all_goes_on(struct service *service)
{
    struct http_client *client = service->client;
    struct parked *watch =
        parked_send(service->batond.port, "Accept: text/event-stream", "GET /events", NULL);
    assert_true(parked_receives(watch, "\"name\":\"whole\"", PATIENCE_MS));
    command(service, "SET baton:{junk} y");
    answers(client, "POST /locks/another", NULL, 201, NULL);
    assert_true(parked_receives(watch, "\"name\":\"another\"", PATIENCE_MS));
    answers(client, "DELETE /locks/another?force=true", NULL, 200, NULL);
    parked_close(watch);
}

/* A release is last: it ends the hold, if the record has one. */
static void each_request_says_what_to_do(struct http_client *client, const char *name)
{
    static const struct {
        const char *method, *rest;
    } REQUESTS[] = {{"GET", ""},           {"GET", "/events"}, {"POST", ""},
                    {"POST", "?wait=1ms"}, {"PUT", ""},        {"DELETE", ""}};
    for (size_t i = 0; i < sizeof REQUESTS / sizeof REQUESTS[0]; i++) {
        char request[60];
        snprintf(request, sizeof request, "%s /locks/%s%s", REQUESTS[i].method, name,
                 REQUESTS[i].rest);
        answers_token(client, TOKEN, request, NULL, 500, "damaged");
        assert_non_null(strstr(member_text(client, "detail"), "force=true"));
        assert_null(http_header(client, "Retry-After"));
    }
}

TEST_ON_SERVICE(one_bad_record_is_the_matter_of_its_name_alone)
{
    struct http_client *client = service->client;
    answers(client, "POST /locks/whole?ttl=5m", NULL, 201, NULL);
    int64_t fence = member_integer(client, "fence");
    command(service, "SET baton:{junk} x");
    the_others_are_listed(service);
    a_watch_of_all_goes_on(service);
    each_request_says_what_to_do(client, "junk");
    for (int i = 0; i < 5; i++)
        the_others_are_listed(service);
    logs_times(&service->batond, "baton:{junk}", 1);
    assert_true(clock_wait_until(damage_is_counted, client, PATIENCE_MS));

    answers(client, "DELETE /locks/junk?force=true", NULL, 200, NULL);
    assert_true(json_is_true(member(client, "cleared")));
    logs_times(&service->batond, "\"lock broken\",\"lock\":\"junk\"", 1);
    answers(client, "POST /locks/junk", NULL, 201, NULL);
    assert_true(member_integer(client, "fence") > fence);
    answers(client, "GET /locks", NULL, 200, NULL);
    assert_int_equal(json_array_size(member(client, "locks")), 2);
    assert_null(member(client, "skipped"));
}

/* The scripts can: an owner in it is no UTF-8. */
TEST_ON_SERVICE(a_record_that_only_batond_cannot_read_is_the_matter_of_its_name_too)
{
    struct http_client *client = service->client;
    char change[80];
    answers(client, "DELETE /locks/junk?force=true", NULL, 200, NULL);
    answers_token(client, TOKEN, "POST /locks/torn?owner=nobody-else&ttl=5m", NULL, 201, NULL);
    redisReply *record = redis_process_command(&service->redis, "GET baton:{torn}");
    assert_int_equal(record->type, REDIS_REPLY_STRING);
    const char *owner = memmem(record->str, record->len, "nobody-else", strlen("nobody-else"));
    assert_non_null(owner);
    snprintf(change, sizeof change, "SETRANGE baton:{torn} %td \xff", owner - record->str);
    freeReplyObject(record);
    command(service, change);
    the_others_are_listed(service);
    logs_times(&service->batond, "baton:{torn}", 1);
    answers(client, "POST /locks/torn", NULL, 500, "damaged");
    answers(client, "POST /locks/torn?wait=1ms", NULL, 500, "damaged");
    each_request_says_what_to_do(client, "torn");
    answers(client, "DELETE /locks/torn?force=true", NULL, 200, NULL);
    answers(client, "GET /locks", NULL, 200, NULL);
    assert_null(member(client, "skipped"));
}

/* Rights in Redis */

TEST_ON_SERVICE(missing_rights_are_named)
{
    struct batond_process batond;
    char url[300];
    command(service, "ACL SETUSER lesser on >secret ~baton:* &baton:* +@all -zadd -hset");
    snprintf(url, sizeof url, "redis://lesser:secret@127.0.0.1:%s",
             strrchr(service->redis.port_url, ':') + 1);
    struct http_client *client = batond_open(&batond, url, NULL);
    assert_true(comes_to_answer(client, "/readyz", 503, PATIENCE_MS));
    assert_true(comes_to_answer(client, "/readyz?verbose=true", 503, PATIENCE_MS));
    assert_non_null(strstr(client->reply.body, "zadd"));
    assert_non_null(strstr(client->reply.body, "hset"));
    assert_non_null(strstr(client->reply.body, "docs/redis.md"));
    static const char LINE[] = "RIGHTS +hset +zadd";
    char line[1000];
    assert_true(process_wait_line(&batond.process, LINE, NULL, line, sizeof line, PATIENCE_MS));
    assert_non_null(strstr(line, "by ACL SETUSER (docs/redis.md has all rules)"));
    command(service, "ACL SETUSER lesser +zadd +hset");
    assert_true(comes_to_answer(client, "/readyz", 200, PATIENCE_MS));
    command(service, "ACL SETUSER lesser -hmget");
    assert_true(comes_to_answer(client, "/readyz", 503, PATIENCE_MS));
    assert_non_null(strstr(client->reply.body, "hmget"));
    command(service, "ACL SETUSER lesser +hmget");
    assert_true(comes_to_answer(client, "/readyz", 200, PATIENCE_MS));
    batond_close(&batond, client);
}

/* As managed Redis makes users. */
TEST_ON_SERVICE(user_without_channels_learns_which_to_allow)
{
    struct batond_process batond;
    char url[300], line[1000];
    command(service, "ACL SETUSER mute on >secret ~baton:* resetchannels +@all");
    snprintf(url, sizeof url, "redis://mute:secret@127.0.0.1:%s",
             strrchr(service->redis.port_url, ':') + 1);
    struct http_client *client = batond_open(&batond, url, NULL);
    assert_true(comes_to_answer(client, "/readyz?verbose=true", 503, PATIENCE_MS));
    assert_non_null(strstr(client->reply.body, "RIGHTS &baton:*)"));
    assert_true(process_wait_line(&batond.process, "RIGHTS &baton:*", NULL, line, sizeof line,
                                  PATIENCE_MS));
    assert_non_null(strstr(line, "by ACL SETUSER"));
    command(service, "ACL SETUSER mute &baton:* &__redis__:invalidate");
    assert_true(comes_to_answer(client, "/readyz", 200, PATIENCE_MS));
    batond_close(&batond, client);
}

/* Without these two batond cannot even look whether Redis has lost anything. */
TEST_ON_SERVICE(so_is_what_is_needed_first_of_all)
{
    struct batond_process batond;
    char url[300];
    command(service, "ACL SETUSER least on >secret ~baton:* &baton:* +@all -time -hmget");
    snprintf(url, sizeof url, "redis://least:secret@127.0.0.1:%s",
             strrchr(service->redis.port_url, ':') + 1);
    struct http_client *client = batond_open(&batond, url, NULL);
    assert_true(comes_to_answer(client, "/readyz", 503, PATIENCE_MS));
    assert_non_null(strstr(client->reply.body, "time"));
    assert_non_null(strstr(client->reply.body, "hmget"));
    command(service, "ACL SETUSER least +time +hmget");
    assert_true(comes_to_answer(client, "/readyz", 200, PATIENCE_MS));
    batond_close(&batond, client);
}

static int start(void **state)
{
    return service_start_with(state, &(struct redis_options){.port = true}, LIST("--workers=2"));
}

RUN_TESTS(start, service_stop)
