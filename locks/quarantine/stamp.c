#include "locks/quarantine/stamp.h"

#include "locks/types/packed.h"

struct slice stamp_placeholder(void)
{
    static const char PLACEHOLDER[STORE_STAMP_LENGTH] = {0};
    return (struct slice){PLACEHOLDER, sizeof PLACEHOLDER};
}

void stamp_write(const struct stamp *stamp, char bytes[STORE_STAMP_LENGTH])
{
    bytes = packed_put(bytes, stamp->retention);
    bytes = packed_put(bytes, stamp->latest);
    bytes = packed_put(bytes, stamp->opens);
    bytes = packed_put(bytes, stamp->floor);
    bytes = packed_put(bytes, stamp->level);
    memcpy(bytes, stamp->epoch, sizeof stamp->epoch);
    memcpy(bytes + sizeof stamp->epoch, stamp->tag, sizeof stamp->tag);
}
