#include "server/process/file_limit.h"

#include "redis/sentinel/votes.h"
#include "server/http/delivery_check.h"
#include "server/http/lingering_close.h"

enum {
    FILES_KEPT_BACK = 32, /* descriptors for logs, the embedded Redis and the main loop */
    /* Descriptors for the loop, the socket, connections to Redis and to sentinels, lingering
     * connections and deliveries. */
    FILES_OF_A_WORKER = 16 + SENTINELS_MOST + LINGERING_MOST + DELIVERIES_MOST,
    /* Descriptors, with 8 for its socket and its daemon. */
    ADMIN_FILES = ADMIN_CONNECTIONS + LINGERING_MOST + DELIVERIES_MOST + 8,
};

rlim_t file_limit_others(size_t workers, bool has_admin_listener)
{
    return FILES_KEPT_BACK + workers * FILES_OF_A_WORKER + (has_admin_listener ? ADMIN_FILES : 0);
}

size_t file_limit_workers(rlim_t limit, size_t most, bool has_admin_listener)
{
    while (most > 1 && file_limit_others(most, has_admin_listener) > limit / 2)
        most--;
    return most;
}
