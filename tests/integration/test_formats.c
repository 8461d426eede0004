/* What another release of batond has written to Redis in a format that this one does not know: it
 * is refused with both versions, and left as it is. */
#include "tests/support/fixtures/service.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char TOKEN[] = "a-token-of-another-release";

static void refuses(struct service *service, const char *name, const char *const says[2])
{
    static const char *const REQUESTS[] = {"GET /locks/%s",
                                           "PUT /locks/%s",
                                           "DELETE /locks/%s",
                                           "POST /locks/%s",
                                           "POST /locks/%s?wait=1s",
                                           "GET /locks/%s/events",
                                           "DELETE /locks/%s?force=true"};
    struct http_client *client = service->client;
    for (size_t i = 0; i < sizeof REQUESTS / sizeof REQUESTS[0]; i++) {
        char request[80];
        const char *hole = strstr(REQUESTS[i], "%s");
        snprintf(request, sizeof request, "%.*s%s%s", (int)(hole - REQUESTS[i]), REQUESTS[i], name,
                 hole + 2);
        if (strstr(request, "force"))
            answers(client, request, NULL, 503, "store_unavailable");
        else
            answers_token(client, TOKEN, request, NULL, 503, "store_unavailable");
        const char *detail = member_text(client, "detail");
        if (!strstr(detail, says[0]) || !strstr(detail, says[1]))
            fail_msg("%s: %s", request, detail);
    }
}

static void log_says_no_damage(struct service *service)
{
    char *log = process_output(&service->batond.process);
    assert_null(strstr(log, "damaged"));
    free(log);
    answers(service->client, "GET /metrics", NULL, 200, NULL);
    assert_non_null(strstr(service->client->reply.body, "\nbaton_damaged_total 0\n"));
}

TEST(a_later_format_is_refused_and_left_alone)
{
    static const char *const SAYS[] = {"The state of this name in Redis has format 5",
                                       "knows format 4"};
    struct service service;
    service_open(&service, NULL, NULL);
    freeReplyObject(redis_process_command(&service.redis, "SET baton:{new} \x09of-tomorrow"));
    refuses(&service, "new", SAYS);
    redisReply *reply = redis_process_command(&service.redis, "GET baton:{new}");
    assert_string_equal(reply->str, "\x09of-tomorrow");
    freeReplyObject(reply);
    answers(service.client, "POST /locks/other", NULL, 201, NULL);
    log_says_no_damage(&service);
    service_close(&service);
}

TEST(release_0_1_is_named)
{
    static const char *const SAYS[] = {"The state of this name in Redis is of release 0.1",
                                       "docs/deploy.md"};
    struct service service;
    service_open(&service, NULL, NULL);
    freeReplyObject(redis_process_command(
        &service.redis, "EVAL %s 1 baton:{old}",
        "return redis.call('set', KEYS[1], struct.pack('<d', 1795255595472869) .. "
        "string.rep('\\0', 120))"));
    refuses(&service, "old", SAYS);
    log_says_no_damage(&service);
    service_close(&service);
}

TEST(a_later_epoch_is_refused)
{
    static const char EPOCH[] = "the epoch of this Redis has format 3";
    struct service service;
    service_open(&service, NULL, NULL);
    answers(service.client, "POST /locks/a", NULL, 201, NULL);
    freeReplyObject(redis_process_command(&service.redis, "HSET baton:epoch format 3"));
    batond_process_stop(&service.batond);
    batond_process_start(&service.batond, &(struct batond_options){.redis_url = service.redis.url});
    http_client_free(service.client);
    service.client = http_client_new(service.batond.url);
    answers(service.client, "POST /locks/b", NULL, 503, "store_unavailable");
    answers(service.client, "GET /readyz?verbose", NULL, 503, NULL);
    if (!strstr(service.client->reply.body, EPOCH))
        fail_msg("%s", service.client->reply.body);
    assert_true(process_wait_line(&service.batond.process, EPOCH, NULL, NULL, 0, CLOCK_HANG_MS));
    assert_int_equal(redis_process_integer(&service.redis, "HEXISTS baton:epoch format"), 1);
    freeReplyObject(redis_process_command(&service.redis, "HSET baton:epoch format 2"));
    assert_true(comes_to_answer(service.client, "/readyz", 200, CLOCK_HANG_MS));
    answers(service.client, "POST /locks/b", NULL, 201, NULL);
    service_close(&service);
}
