#include "server/process/lock_observers.h"

#include "api/stats/contention.h"
#include "server/log/journal.h"
#include "server/metrics/metrics.h"

void lock_observers_notify(void *context, const struct lock_event *event,
                           const struct exchange *exchange)
{
    struct lock_observers *observers = context;
    metrics_happened(observers->metrics, event);
    journal_happened(observers->log, event, exchange);
    contention_add(observers->contention, event);
}
