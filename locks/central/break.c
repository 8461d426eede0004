#include "locks/calls/breaking.h"
#include "locks/calls/operation.h"
#include "locks/central/central.h"
#include "locks/scripts/scripts.h"

void central_break(struct locks *locks, struct slice name, int64_t fence,
                   const struct breaker *breaker, locks_done *done, void *context)
{
    struct breaking breaking;
    breaking_write(fence, breaker, &breaking);
    operation_run(locks, &script_break, name, breaking.arguments, BREAKING_ARGUMENTS, breaking_read,
                  done, context);
}
