#include "server/happenings.h"

#include "server/metrics.h"

void happenings_tell(void *context, const struct happening *happening,
                     const struct exchange *exchange)
{
    struct happenings *happenings = context;
    (void)exchange;
    metrics_happened(happenings->metrics, happening);
}
