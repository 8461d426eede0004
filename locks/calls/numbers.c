#include "locks/calls/numbers.h"

#include "locks/calls/operation.h"
#include "locks/quarantine/guard.h"

void numbers_heard(const struct locks *locks, const struct locks_reply *reply)
{
    const int64_t numbers[] = {reply->view.version, reply->release.version, reply->broken.version};
    int64_t greatest = reply->hold.version;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        greatest = numbers[i] > greatest ? numbers[i] : greatest;
    guard_heard_number(locks->guard, greatest);
}
