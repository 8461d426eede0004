#include "server/happenings.h"

#include "api/stats/contention.h"
#include "server/log/journal.h"
#include "server/metrics/metrics.h"

void happenings_tell(void *context, const struct lock_event *event, const struct exchange *exchange)
{
    struct happenings *happenings = context;
    metrics_happened(happenings->metrics, event);
    journal_happened(happenings->log, event, exchange);
    contention_add(happenings->contention, event);
}
