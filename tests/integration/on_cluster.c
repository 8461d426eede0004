#include "tests/integration/on_cluster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATIENCE_MS = 15000, AT_ONCE_MS = 5000 };

void on_cluster_open(struct on_cluster *all, const struct clustered_options *options,
                     const char *const *flags)
{
    clustered_start(&all->clustered, options);
    on_cluster_start_batonds(all, flags);
}

void on_cluster_start_batonds(struct on_cluster *all, const char *const *flags)
{
    for (int i = 0; i < ON_CLUSTER_BATONDS; i++) {
        batond_process_start(&all->batond[i], &(struct batond_options){
                                                  .redis_url = all->clustered.url,
                                                  .arguments = flags,
                                              });
        all->client[i] = http_client_new(all->batond[i].url);
        assert_true(comes_to_answer(all->client[i], "/readyz", 200, PATIENCE_MS));
    }
}

void on_cluster_close(struct on_cluster *all)
{
    int code = 0;
    for (int i = 0; i < ON_CLUSTER_BATONDS; i++) {
        http_client_free(all->client[i]);
        code |= batond_process_stop(&all->batond[i]);
    }
    clustered_stop(&all->clustered);
    assert_int_equal(code, 0);
}

int on_cluster_start(void **state)
{
    /* Who is not woken by a message is served when that window is over, or when its batond vouches
     * for it, after three seconds: that must not pass for a message. */
    static const char *const FLAGS[] = {"--workers=2", "--claim-window=10s", NULL};
    *state = calloc(1, sizeof(struct on_cluster));
    on_cluster_open(*state, NULL, FLAGS);
    return 0;
}

int on_cluster_stop(void **state)
{
    on_cluster_close(*state);
    free(*state);
    return 0;
}

int on_cluster_slot(const char *name)
{
    char key[ON_CLUSTER_NAME + 16];
    snprintf(key, sizeof key, "baton:{%s}", name);
    return clustered_slot(key);
}

void on_cluster_name(struct on_cluster *all, int primary, const char *begin, int number,
                     char name[ON_CLUSTER_NAME])
{
    int tries = 0;
    do
        snprintf(name, ON_CLUSTER_NAME, "%s%d-%d", begin, number, tries++);
    while (clustered_primary(&all->clustered, on_cluster_slot(name)) != primary);
}

const char *on_cluster_request(char line[ON_CLUSTER_LINE], const char *method, const char *name,
                               const char *query)
{
    snprintf(line, ON_CLUSTER_LINE, "%s /locks/%s%s", method, name, query);
    return line;
}

int64_t on_cluster_acquire(struct http_client *client, const char *name, const char *query,
                           char token[TOKEN_TEXT])
{
    char path[ON_CLUSTER_LINE];
    snprintf(path, sizeof path, "/locks/%s%s", name, query);
    int64_t until = clock_ms() + PATIENCE_MS;
    while (clock_ms() < until) {
        int64_t begun = clock_ms();
        long status = http_call(client, "POST", path, NULL);
        assert_in_range(clock_ms() - begun, 0, AT_ONCE_MS);
        if (status == 201) {
            keep_token(client, token);
            return http_integer(client, "fence");
        }
        if (status != 503)
            fail_msg("%s: %ld %s", path, status, client->reply.body);
        clock_sleep_ms(20);
    }
    fail_msg("%s is not granted any more: %s", path, client->reply.body);
    return 0;
}

int64_t on_cluster_take(struct on_cluster *all, int batond, const char *name,
                        char token[TOKEN_TEXT])
{
    char line[ON_CLUSTER_LINE];
    answers(all->client[batond], on_cluster_request(line, "POST", name, "?ttl=1m"), NULL, 201,
            NULL);
    keep_token(all->client[batond], token);
    return http_integer(all->client[batond], "fence");
}

void on_cluster_give(struct on_cluster *all, int batond, const char *name, const char *token)
{
    char line[ON_CLUSTER_LINE];
    answers_token(all->client[batond], token, on_cluster_request(line, "DELETE", name, ""), NULL,
                  200, NULL);
}

void on_cluster_answers_again(struct on_cluster *all, const char *name)
{
    char target[ON_CLUSTER_LINE];
    snprintf(target, sizeof target, "/locks/%s", name);
    for (int i = 0; i < ON_CLUSTER_BATONDS; i++)
        assert_true(comes_to_answer(all->client[i], target, 200, PATIENCE_MS));
}

struct slot_move on_cluster_plan_move(struct on_cluster *all, const char *name)
{
    int slot = on_cluster_slot(name), from = clustered_primary(&all->clustered, slot);
    for (int to = 0;; to++)
        if (to != from && clustered_replica(&all->clustered, to) >= 0)
            return (struct slot_move){slot, from, to};
}

void on_cluster_move_back(struct on_cluster *all, struct slot_move move)
{
    clustered_move(&all->clustered,
                   &(struct slot_move){.slot = move.slot, .from = move.to, .to = move.from});
}

struct parked *on_cluster_wait(struct on_cluster *all, int batond, const char *name,
                               const char *query)
{
    char line[ON_CLUSTER_LINE];
    struct http_client *client = all->client[1 - batond];
    answers(client, on_cluster_request(line, "GET", name, ""), NULL, 200, NULL);
    int64_t before = http_integer(client, "queue_length"), until = clock_ms() + PATIENCE_MS;
    struct parked *parked = parked_send(all->batond[batond].port, NULL,
                                        on_cluster_request(line, "POST", name, query), NULL);
    do {
        if (clock_ms() > until)
            fail_msg("who asks for %s does not come to wait", name);
        clock_sleep_ms(2);
        answers(client, on_cluster_request(line, "GET", name, ""), NULL, 200, NULL);
    } while (http_integer(client, "queue_length") != before + 1);
    return parked;
}
