#include "locks/locks.h"

#include "base/random.h"
#include "locks/operation.h"

#include <errno.h>
#include <stdlib.h>

int locks_open(struct locks **ret, const struct locks_options *options)
{
    struct locks *locks = calloc(1, sizeof *locks);
    if (!locks)
        return -ENOMEM;
    locks->store = options->store;
    locks->loop = options->loop;
    locks->key_prefix_length = options->key_prefix.length;
    memcpy(locks->key_prefix, options->key_prefix.bytes, options->key_prefix.length);
    number_text(options->retention_ms, locks->retention);
    random_bytes(&locks->next_attempt, sizeof locks->next_attempt);
    doubts_init(&locks->doubts);
    *ret = locks;
    return 0;
}

void locks_close(struct locks *locks)
{
    if (!locks)
        return;
    doubts_free(&locks->doubts);
    free(locks);
}
