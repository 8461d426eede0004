#include "base/memory.h"
#include "locks/calls/confirm.h"
#include "locks/calls/request.h"
#include "locks/central/central.h"
#include "locks/waiting/expiries.h"

/* An acquire under way. batond reads the reply with `acquire` and `attempt`. If the reply gets
 * lost, it takes the grant back with them. */
struct acquiring {
    struct locks *locks;
    locks_done *done;
    void *context;
    struct attempt attempt;
    struct acquire acquire; /* without meta and client; its slices point to `bytes` */
    char bytes[];
};

static void acquire_note_held(const struct acquiring *acquiring, const struct locks_reply *reply)
{
    char bytes[KEY_LENGTH];
    if (!reply_holds(reply))
        return;
    struct slice key = operation_key(acquiring->locks, acquiring->acquire.name, bytes);
    expiries_note(acquiring->locks, key, &reply->hold);
}

static void acquire_take_back(const struct acquiring *acquiring)
{
    central_take_back(acquiring->locks, acquiring->acquire.name, acquiring->acquire.token,
                      &acquiring->attempt, 0);
}

static void acquire_conclude(struct acquiring *acquiring, const struct locks_reply *reply)
{
    acquire_note_held(acquiring, reply);
    acquiring->done(acquiring->context, reply);
    free(acquiring);
}

static void acquire_confirmed(void *context, const struct locks_reply *reply)
{
    struct acquiring *acquiring = context;
    if (!reply_holds(reply))
        acquire_take_back(acquiring);
    acquire_conclude(acquiring, reply);
}

static void acquire_done(void *context, const struct store_result *result)
{
    struct acquiring *acquiring = context;
    struct locks *locks = acquiring->locks;
    struct request_answer answer;
    request_read(result, &acquiring->acquire, &acquiring->attempt, &answer);
    operation_note(locks, &answer.reply);
    request_note_limits(locks, &acquiring->acquire, &answer);
    if (request_is_in_doubt(result, &answer))
        acquire_take_back(acquiring);
    if (!confirm_reply(locks, &answer.reply, store_mark(locks->store), acquiring->acquire.replicas,
                       acquire_confirmed, acquiring))
        acquire_conclude(acquiring, &answer.reply);
}

void central_acquire(struct locks *locks, const struct acquire *acquire, locks_done *done,
                     void *context)
{
    struct acquire kept = *acquire;
    kept.meta = kept.client = slice_of(NULL);
    struct acquiring *acquiring = memory_checked(malloc(sizeof *acquiring + request_length(&kept)));
    *acquiring = (struct acquiring){locks, done, context,
                                    .attempt = request_attempt(locks, acquire->of_connection)};
    acquiring->acquire = request_copy(&kept, acquiring->bytes);
    acquiring->acquire.wait_ms = 0;

    struct acquire sent = *acquire;
    sent.wait_ms = 0;
    char key[KEY_LENGTH];
    const struct request request = {
        .key = operation_key(locks, acquire->name, key),
        .acquire = &sent,
        .attempt = &acquiring->attempt,
        .kind = acquire->token_is_new ? REQUEST_NEW : REQUEST_FIRST,
        .done = acquire_done,
        .context = acquiring,
    };
    request_send(locks, &request);
}
