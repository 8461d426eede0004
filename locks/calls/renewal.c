#include "locks/calls/renewal.h"

#include "locks/quarantine/stamp.h"

void renewal_pack(const struct renewal *renewal, struct renewal_arguments *ret)
{
    struct slice *next = ret->all;
    bool has_terms = renewal->at_least_ms > 0 || renewal->max_held_ms > 0;
    *next++ = stamp_placeholder();
    *next++ = renewal->token;
    *next++ = renewal->ttl_ms ? decimal_text(renewal->ttl_ms, ret->ttl) : slice_of("");
    if (renewal->is_of_worker)
        *next++ = slice_of("server");
    if (has_terms) {
        *next++ = decimal_text(renewal->at_least_ms, ret->at_least);
        *next++ = decimal_text(renewal->max_held_ms, ret->max_held);
    }
    ret->count = (size_t)(next - ret->all);
}
