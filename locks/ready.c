#include "locks/confirm.h"
#include "locks/operation.h"
#include "locks/scripts.h"

#include <stdlib.h>

static bool read_ready(const struct value *value, struct locks_reply *ret)
{
    int64_t one;
    (void)ret;
    return value_integer(value, &one) && one == 1;
}

/* Whoever asks has less time than a grant. */
enum { CONFIRM_LONGEST_MS = 500 };

struct readiness {
    struct locks *locks;
    int64_t replicas;
    locks_done *done;
    void *context;
};

static void confirmed(void *context, const char *error)
{
    struct readiness *readiness = context;
    readiness->done(
        readiness->context,
        &(struct locks_reply){.result = error ? LOCKS_UNCONFIRMED : LOCKS_DONE, .error = error});
    free(readiness);
}

static void asked(void *context, const struct locks_reply *reply)
{
    struct readiness *readiness = context;
    struct locks *locks = readiness->locks;
    int64_t timeout_ms = locks->confirm_timeout_ms < CONFIRM_LONGEST_MS ? locks->confirm_timeout_ms
                                                                        : CONFIRM_LONGEST_MS;
    if (reply->result == LOCKS_DONE && readiness->replicas > 0) {
        store_confirm(locks->store, store_mark(locks->store), (int)readiness->replicas, timeout_ms,
                      confirmed, readiness);
        return;
    }
    readiness->done(readiness->context, reply);
    free(readiness);
}

void locks_ready(struct locks *locks, int64_t replicas, locks_done *done, void *context)
{
    struct readiness *readiness = malloc(sizeof *readiness);
    if (!readiness)
        abort();
    *readiness = (struct readiness){locks, replicas, done, context};
    /* No lock has the empty name: it is free for the script to write beside. */
    operation_run(locks, &script_ready, slice_of(""), NULL, 0, read_ready, asked, readiness);
}

const char *locks_primary(const struct locks *locks)
{
    return store_primary(locks->store);
}
