#include "redis/node/durability.h"

/* Each check fills `ret` and returns true if it has something to report. */

static bool durability_lacks_replicas(const struct server_info *info, int replicas,
                                      struct failure *ret)
{
    if (info->replicas >= replicas)
        return false;
    failure_set(ret, 0,
                "confirm is replicas:%d, but Redis has %d replicas, so no lock is granted. Start "
                "more with replicaof, or set confirm to fewer.",
                replicas, info->replicas);
    return true;
}

static bool durability_writes_alone(const struct server_info *info, int replicas,
                                    struct failure *ret)
{
    if (info->needs_replicas)
        return false;
    failure_set(
        ret, 0,
        "a primary that is cut off still accepts writes, which are lost when a replica is "
        "promoted. Set min-replicas-to-write to %d (and min-replicas-max-lag to a few seconds).",
        replicas);
    return true;
}

static bool durability_forgets(const struct server_info *info, int replicas, struct failure *ret)
{
    (void)replicas;
    if (!info->has_no_file)
        return false;
    failure_set(ret, 0,
                "Redis keeps no append-only file, so a primary that restarts comes back empty, and "
                "its replicas copy that. Set appendonly to yes.");
    return true;
}

void durability_warn(const struct server_info *info, int replicas,
                     void (*report)(void *context, const char *text), void *context)
{
    static bool (*const FINDINGS[])(const struct server_info *info, int replicas,
                                    struct failure *ret) = {
        durability_lacks_replicas, durability_writes_alone, durability_forgets};
    struct failure found;
    if (info->version[0] == '\0') /* this user may not run INFO; the node has warned of that */
        return;
    for (size_t i = 0; i < sizeof FINDINGS / sizeof FINDINGS[0]; i++)
        if (FINDINGS[i](info, replicas, &found))
            report(context, found.text);
}
