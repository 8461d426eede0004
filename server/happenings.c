#include "server/happenings.h"

#include "api/stats/contention.h"
#include "server/log/journal.h"
#include "server/metrics/metrics.h"

void happenings_tell(void *context, const struct happening *happening,
                     const struct exchange *exchange)
{
    struct happenings *happenings = context;
    metrics_happened(happenings->metrics, happening);
    journal_happened(happenings->log, happening, exchange);
    contention_happened(happenings->contention, happening);
}
