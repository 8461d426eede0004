#include "redis/quorum/preflight.h"

#include "redis/node/preflight.h"

#include <errno.h>
#include <string.h>

struct member {
    struct preflight preflight;
    struct failure failure;
};

/* One server behind two addresses would have two votes. */
static int preflight_check_apart(const struct member *members, size_t count,
                                 struct failure *failure)
{
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++)
            if (members[i].preflight.run_id[0] &&
                strcmp(members[i].preflight.run_id, members[j].preflight.run_id) == 0)
                return failure_set(failure, -EPROTO,
                                   "redis-url names one server of the quorum twice: members %zu "
                                   "and %zu are the same Redis. Name each server once.",
                                   j + 1, i + 1);
    return 0;
}

/* A majority must answer. A member that fails in a way that waiting cannot mend stops the start. */
static int preflight_judge(const struct member *members, size_t count, struct failure *failure)
{
    size_t up = 0;
    const struct member *away = NULL;
    for (size_t i = 0; i < count; i++) {
        int result = members[i].preflight.result;
        if (result < 0 && result != -EAGAIN)
            return failure_set(failure, result, "member %zu of the quorum: %s", i + 1,
                               members[i].failure.text);
        if (result < 0)
            away = &members[i];
        else
            up++;
    }
    int result = preflight_check_apart(members, count, failure);
    if (result < 0 || up > count / 2)
        return result;
    return failure_set(failure, -EAGAIN, "only %zu of %zu members of the quorum answer: %s", up,
                       count, away->failure.text);
}

static int preflight_begin_members(struct member *members, uv_loop_t *loop,
                                   const struct redis_url *url, int timeout_ms,
                                   struct failure *failure)
{
    for (size_t i = 0; i < url->node_count; i++) {
        struct member *member = &members[i];
        struct redis_url own;
        member->preflight =
            (struct preflight){.loop = loop, .timeout_ms = timeout_ms, .failure = &member->failure};
        int result = redis_url_of(url, REDIS_SERVER, url->nodes[i].host, url->nodes[i].port, &own);
        if (result < 0)
            return failure_set(failure, result, "no memory");
        preflight_begin(&member->preflight, &own);
        redis_url_free(&own);
    }
    return 0;
}

int preflight_quorum(const struct redis_url *url, int timeout_ms, struct failure *failure)
{
    uv_loop_t loop;
    struct member members[REDIS_QUORUM_MOST] = {0};
    int result = preflight_open_loop(&loop, failure);
    if (result < 0)
        return result;
    result = preflight_begin_members(members, &loop, url, timeout_ms, failure);
    uv_run(&loop, UV_RUN_DEFAULT);
    uv_loop_close(&loop);
    return result < 0 ? result : preflight_judge(members, url->node_count, failure);
}
