#include "locks/operation.h"
#include "locks/scripts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* What is needed to take the grant back, should its reply get lost. */
struct acquiring {
    struct locks *locks;
    locks_done *done;
    void *context;
    struct attempt attempt;
    size_t name_length;
    size_t token_length;
    char name_and_token[];
};

static bool read_acquired(const struct value *value, struct locks_reply *ret)
{
    if (reply_says(value, "granted") || reply_says(value, "holding")) {
        ret->result = reply_says(value, "granted") ? LOCKS_DONE : LOCKS_REPEATED;
        return read_hold(value, &ret->hold);
    }
    if (reply_says(value, "locked")) {
        ret->result = LOCKS_LOCKED;
        return read_view(value_at(value, 1), &ret->view);
    }
    if (reply_says(value, "limit_mismatch")) {
        ret->result = LOCKS_LIMIT_MISMATCH;
        return read_view(value_at(value, 2), &ret->view);
    }
    ret->result = LOCKS_TOKEN_RELEASED;
    return reply_says(value, "released");
}

static void acquire_done(void *context, const struct store_result *result)
{
    struct acquiring *acquiring = context;
    struct locks_reply reply = {.result = LOCKS_DONE, .attempt = acquiring->attempt};
    operation_read(result, read_acquired, &reply);
    /* A reply that cannot be read hides an outcome just as a lost one does. */
    bool unread = result->outcome == STORE_REPLIED && reply.result == LOCKS_UNAVAILABLE;
    if (result->outcome == STORE_IN_DOUBT || unread)
        doubts_add(acquiring->locks,
                   (struct slice){acquiring->name_and_token, acquiring->name_length},
                   (struct slice){acquiring->name_and_token + acquiring->name_length,
                                  acquiring->token_length},
                   &acquiring->attempt);
    acquiring->done(acquiring->context, &reply);
    free(acquiring);
}

static struct acquiring *acquiring_new(struct locks *locks, const struct acquire *acquire,
                                       locks_done *done, void *context)
{
    struct slice name = acquire->name, token = acquire->token;
    struct acquiring *acquiring = malloc(sizeof *acquiring + name.length + token.length);
    if (!acquiring)
        abort();
    *acquiring = (struct acquiring){.locks = locks,
                                    .done = done,
                                    .context = context,
                                    .name_length = name.length,
                                    .token_length = token.length};
    snprintf(acquiring->attempt.text, sizeof acquiring->attempt.text, "%016" PRIx64,
             locks->next_attempt++);
    memcpy(acquiring->name_and_token, name.bytes, name.length);
    memcpy(acquiring->name_and_token + name.length, token.bytes, token.length);
    return acquiring;
}

void locks_acquire(struct locks *locks, const struct acquire *acquire, locks_done *done,
                   void *context)
{
    struct acquiring *acquiring = acquiring_new(locks, acquire, done, context);
    char key[KEY_LENGTH], limit[NUMBER_TEXT], ttl[NUMBER_TEXT];
    const struct slice arguments[] = {
        slice_of(locks->retention),
        acquire->token,
        acquire->owner,
        slice_of(acquire->mode == LOCK_SHARED ? "shared" : "exclusive"),
        number_text(acquire->limit, limit),
        number_text(acquire->ttl_ms, ttl),
        slice_of(acquiring->attempt.text),
        acquire->meta,
        slice_of(acquire->token_is_new ? "0" : "1"),
        slice_of("0"), /* does not wait */
        slice_of("0"),
    };
    store_eval(locks->store, &script_acquire, operation_key(locks, acquire->name, key), arguments,
               sizeof arguments / sizeof arguments[0], acquire_done, acquiring);
}
