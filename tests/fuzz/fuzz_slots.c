/* fuzz_slots.c: what a node of a Redis Cluster says of who serves what: a redirect, a key, and then
 * the reply to CLUSTER SLOTS, a line each (notation.h). */
#include "redis/address/url.h"
#include "redis/cluster/slots.h"
#include "redis/wire/errors.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/notation.h"

#include <hiredis/hiredis.h>
#include <stdlib.h>

static void claim_node(const struct slot_node *node)
{
    CLAIM(node->port >= 0 && node->port <= 65535);
    CLAIM(node->host.length <= REDIS_HOST_LONGEST && node->id.length <= SLOT_NODE_ID_LONGEST);
    CLAIM(!node->host.bytes == (node->host.length == 0));
}

static void on_range(void *context, unsigned first, unsigned last, const struct slot_node *primary)
{
    size_t *ranges = context;
    CLAIM(first <= last && last < SLOT_COUNT);
    claim_node(primary);
    ++*ranges;
}

static void read_redirect(struct slice line)
{
    struct redirect redirect;
    char *text = fuzz_text(line);
    if (redirect_read(text, &redirect)) {
        CLAIM(error_kind(text) == ERROR_ELSEWHERE);
        CLAIM(redirect.slot < SLOT_COUNT && redirect.to.port > 0);
        claim_node(&redirect.to);
    }
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct slice rest = {(const char *)bytes, size};
    size_t ranges = 0;
    read_redirect(fuzz_cut(&rest, '\n'));
    CLAIM(slot_of(fuzz_cut(&rest, '\n')) < SLOT_COUNT);
    redisReply *reply = notation_read(rest);
    const struct value *value = (const struct value *)(const void *)reply;
    bool is_read = slots_read(value, on_range, &ranges);
    CLAIM(ranges == (is_read ? value_count(value) : 0));
    freeReplyObject(reply);
    return 0;
}
