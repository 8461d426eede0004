#include "locks/operation.h"
#include "locks/scripts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    MODE_LENGTH = 9, /* "exclusive" */
    TEXTS_LENGTH = TOKEN_LONGEST + LOCK_OWNER_LENGTH + MODE_LENGTH + LOCK_ATTEMPT_LENGTH +
                   LOCK_META_LENGTH + 5,
};

/* What is needed to read the reply, and to take the grant back should the reply get lost. */
struct acquiring {
    struct locks *locks;
    locks_done *done;
    void *context;
    struct attempt attempt;
    struct acquire acquire; /* its slices point to `bytes`; the meta is left out */
    char bytes[];
};

static bool read_acquired(const struct value *value, struct locks_reply *ret)
{
    ret->hold.holds = 1;
    if (value_integer(value, &ret->hold.fence)) /* in the common case that is all */
        return true;
    if (reply_says(value, "granted"))
        return value_integer(value_at(value, 1), &ret->hold.fence) &&
               value_integer(value_at(value, 2), &ret->hold.holds);
    if (reply_says(value, "holding")) {
        ret->result = LOCKS_REPEATED;
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

/* Of a new hold Redis only tells what the request did not say. */
static void complete_hold(const struct acquire *acquire, struct hold *hold)
{
    hold->ttl_ms = acquire->ttl_ms;
    hold->version = hold->fence;
    hold->owner = acquire->owner;
    hold->mode = acquire->mode;
    hold->limit = acquire->limit;
}

static void acquire_done(void *context, const struct store_result *result)
{
    struct acquiring *acquiring = context;
    const struct acquire *acquire = &acquiring->acquire;
    struct locks_reply reply = {.result = LOCKS_DONE, .attempt = acquiring->attempt};
    operation_read(result, read_acquired, &reply);
    if (reply.result == LOCKS_DONE)
        complete_hold(acquire, &reply.hold);
    /* A reply that cannot be read hides an outcome just as a lost one does. */
    bool unread = result->outcome == STORE_REPLIED && reply.result == LOCKS_UNAVAILABLE;
    if (result->outcome == STORE_IN_DOUBT || unread)
        doubts_add(acquiring->locks, acquire->name, acquire->token, &acquiring->attempt);
    acquiring->done(acquiring->context, &reply);
    free(acquiring);
}

/* Copies a text behind those before it; `*end` goes on. */
static struct slice append(char **end, struct slice text)
{
    struct slice copy = {*end, text.length};
    if (text.length > 0)
        memcpy(*end, text.bytes, text.length);
    *end += text.length;
    return copy;
}

static struct acquiring *acquiring_new(struct locks *locks, const struct acquire *acquire,
                                       locks_done *done, void *context)
{
    struct acquiring *acquiring = malloc(sizeof *acquiring + acquire->name.length +
                                         acquire->token.length + acquire->owner.length);
    if (!acquiring)
        abort();
    *acquiring = (struct acquiring){locks, done, context, .acquire = *acquire};
    snprintf(acquiring->attempt.text, sizeof acquiring->attempt.text, "%016" PRIx64,
             locks->next_attempt++);
    char *end = acquiring->bytes;
    acquiring->acquire.name = append(&end, acquire->name);
    acquiring->acquire.token = append(&end, acquire->token);
    acquiring->acquire.owner = append(&end, acquire->owner);
    acquiring->acquire.meta = slice_of(NULL);
    return acquiring;
}

/* The texts of a hold as Redis keeps them: each ended by a NUL. */
static struct slice pack_texts(const struct acquire *acquire, const struct attempt *attempt,
                               char texts[TEXTS_LENGTH])
{
    const struct slice all[] = {
        acquire->token,
        acquire->owner,
        slice_of(acquire->mode == LOCK_SHARED ? "shared" : "exclusive"),
        slice_of(attempt->text),
        acquire->meta,
    };
    char *end = texts;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        append(&end, all[i]);
        *end++ = '\0';
    }
    return (struct slice){texts, (size_t)(end - texts)};
}

void locks_acquire(struct locks *locks, const struct acquire *acquire, locks_done *done,
                   void *context)
{
    struct acquiring *acquiring = acquiring_new(locks, acquire, done, context);
    char key[KEY_LENGTH], texts[TEXTS_LENGTH], limit[NUMBER_TEXT], ttl[NUMBER_TEXT];
    const struct slice arguments[] = {
        slice_of(locks->retention),
        pack_texts(acquire, &acquiring->attempt, texts),
        number_text(acquire->limit, limit),
        number_text(acquire->ttl_ms, ttl),
        slice_of(acquire->token_is_new ? "0" : "1"),
    };
    store_eval(locks->store, &script_acquire, operation_key(locks, acquire->name, key), arguments,
               sizeof arguments / sizeof arguments[0], acquire_done, acquiring);
}
