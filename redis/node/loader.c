#include "redis/node/loader.h"

#include <stdio.h>
#include <string.h>

enum { PAUSE_MS = 1000 }; /* after a refusal */

void loader_begin(struct loader *loader)
{
    loader->is_loading = true;
}

/* "ERR Library 'baton_...' already exists" */
static bool loader_is_there(const char *error)
{
    static const char HEAD[] = "ERR Library '";
    return !error ||
           (strncmp(error, HEAD, sizeof HEAD - 1) == 0 && strstr(error, "already exists"));
}

void loader_end(struct loader *loader, const char *error, uint64_t now)
{
    bool is_there = loader_is_there(error);
    loader->is_loading = false;
    loader->refused_at = is_there ? 0 : now;
    snprintf(loader->error, sizeof loader->error, "%s", is_there ? "" : error);
}

const char *loader_refusal(const struct loader *loader, uint64_t now)
{
    bool is_recent = loader->refused_at != 0 && now < loader->refused_at + PAUSE_MS;
    return is_recent ? loader->error : NULL;
}
