#include "tests/integration/pair.h"

#include <string.h>

static void open_batonds(struct pair *pair, const char *const *arguments)
{
    for (int i = 0; i < 2; i++) {
        batond_process_start(
            &pair->batond[i],
            &(struct batond_options){.redis_url = pair->redis.url, .arguments = arguments});
        pair->client[i] = http_client_new(pair->batond[i].url);
    }
}

void pair_open_batonds(struct pair *pair, const char *flag)
{
    open_batonds(pair, (const char *const[]){"--workers=2", flag, NULL});
}

void pair_open(struct pair *pair, const struct redis_options *redis, const char *flag)
{
    redis_process_start(&pair->redis, redis);
    pair_open_batonds(pair, flag);
}

void pair_open_with(struct pair *pair, const struct redis_options *redis,
                    const char *const *arguments)
{
    redis_process_start(&pair->redis, redis);
    open_batonds(pair, arguments);
}

void pair_close_batonds(struct pair *pair)
{
    for (int i = 0; i < 2; i++) {
        http_client_free(pair->client[i]);
        assert_int_equal(batond_process_stop(&pair->batond[i]), 0);
    }
}

void pair_close(struct pair *pair)
{
    pair_close_batonds(pair);
    redis_process_stop(&pair->redis);
}

void pair_restart(struct pair *pair)
{
    redis_process_kill(&pair->redis);
    redis_process_resume(&pair->redis);
    for (int i = 0; i < 2; i++)
        assert_true(comes_to_answer(pair->client[i], "/readyz", 200, 15000));
}

bool is_quarantined(struct http_client *client)
{
    return client->reply.status == 503 && http_text(client, "code") &&
           strcmp(http_text(client, "code"), "quarantined") == 0;
}

bool comes_to_quarantine(void *context)
{
    const struct asking *asking = context;
    http_call(asking->client, "POST", asking->path, NULL);
    return is_quarantined(asking->client);
}

bool is_granted_between(struct http_client *client, const char *path, int64_t from, int64_t until)
{
    int64_t begun = clock_ms();
    long status = http_call(client, "POST", path, NULL);
    if (status == 201 && begun < from)
        fail_msg("granted %lld ms too early", (long long)(from - begun));
    if (status == 201)
        return true;
    assert_true(is_quarantined(client) || status == 409);
    assert_true(begun < until);
    return false;
}

void assert_granted_between(struct http_client *client, const char *path, int64_t from,
                            int64_t until)
{
    while (!is_granted_between(client, path, from, until))
        clock_sleep_ms(10);
}
