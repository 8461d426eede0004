/* fuzz_url.c: the URL of Redis. */
#include "redis/address/url.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

static bool same(const char *one, const char *other)
{
    return one && other ? strcmp(one, other) == 0 : one == other;
}

static void claim_same_place(const struct redis_url *one, const struct redis_url *other)
{
    CLAIM(same(one->path, other->path) && same(one->host, other->host));
    CLAIM(one->kind == other->kind && same(one->master, other->master));
    CLAIM(one->node_count == other->node_count && !one->nodes == !other->nodes);
    for (size_t i = 0; one->nodes && i < one->node_count; i++)
        CLAIM(same(one->nodes[i].host, other->nodes[i].host) &&
              one->nodes[i].port == other->nodes[i].port);
    CLAIM(one->port == other->port && one->database == other->database && one->tls == other->tls);
}

/* What is logged names the same place. A path may need escapes, which are left out there. */
static void claim_description(const struct redis_url *url)
{
    char text[REDIS_NODES_MOST * (REDIS_HOST_LONGEST + 9) + 200];
    struct redis_url again;
    redis_url_describe(url, text, sizeof text);
    if (url->path && strpbrk(url->path, "%?@"))
        return;
    CLAIM(redis_url_parse(text, &again, NULL) == 0);
    claim_same_place(url, &again);
    CLAIM(!again.user && !again.password);
    redis_url_free(&again);
}

static void claim_accepted(const struct redis_url *url)
{
    struct redis_url copy;
    CLAIM(!url->path + !url->host + !url->nodes == 2);
    CLAIM((url->kind == REDIS_SERVER) == !url->nodes);
    CLAIM((url->kind == REDIS_WATCHED) == (url->master != NULL));
    CLAIM(url->port > 0 && url->port <= 65535 && url->database >= 0);
    CLAIM(!url->user || url->password);
    redis_url_copy(url, &copy);
    claim_same_place(url, &copy);
    CLAIM(same(url->user, copy.user) && same(url->password, copy.password));
    redis_url_free(&copy);
    claim_description(url);
}

/* Nothing that may belong to a password is repeated. */
static void claim_refused(const char *text, const struct failure *failure)
{
    CLAIM(failure->text[0]);
    CLAIM(!strstr(text, "s3cret") || !strstr(failure->text, "s3cret"));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct redis_url url;
    struct failure failure = {""};
    char *text = fuzz_text((struct slice){(const char *)bytes, size});
    if (redis_url_parse(text, &url, &failure) == 0) {
        claim_accepted(&url);
        redis_url_free(&url);
    } else {
        claim_refused(text, &failure);
    }
    free(text);
    return 0;
}
