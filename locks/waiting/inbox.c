/* The store's events: what other servers' scripts tell this one, and when all has to be checked. */
#include "locks/calls/operation.h"
#include "locks/calls/rights.h"
#include "locks/quarantine/guard.h"
#include "locks/quarantine/horizon.h"
#include "locks/quarantine/identity.h"
#include "locks/quorum/majority.h"
#include "locks/waiting/waiting.h"
#include "locks/watching/prefix.h"
#include "locks/watching/watch.h"

#include <stdio.h>
#include <stdlib.h>

/* Takes the text up to the next space, and the space. The last field, a key, may hold spaces. */
static struct slice take_word(struct slice *rest)
{
    const char *space = rest->length > 0 ? memchr(rest->bytes, ' ', rest->length) : NULL;
    struct slice word = {rest->bytes, space ? (size_t)(space - rest->bytes) : rest->length};
    size_t taken = word.length + (space ? 1 : 0);
    *rest = (struct slice){rest->bytes + taken, rest->length - taken};
    return word;
}

static int64_t to_number(struct slice word)
{
    char text[NUMBER_TEXT];
    snprintf(text, sizeof text, "%.*s", (int)word.length, word.bytes);
    return strtoll(text, NULL, 10);
}

/* Whether a script of Baton's may have named this key: no other is ever written to. */
static bool is_lock(const struct locks *locks, struct slice key)
{
    char name[NAME_LENGTH];
    return name_from_key((struct slice){locks->key_prefix, locks->key_prefix_length}, key, name) >
           0;
}

static void plan(struct locks *locks, struct slice key, int64_t next_ms)
{
    struct interest *interest = interest_find(locks, key);
    if (interest)
        interest_plan(interest, next_ms);
}

/* g ATTEMPT TOKEN MS KEY: the waiter's turn has come; as n. */
static void on_granted(struct locks *locks, struct slice rest)
{
    struct slice attempt = take_word(&rest);
    struct slice token = take_word(&rest);
    struct slice next_ms = take_word(&rest);
    if (!is_lock(locks, rest))
        return;
    waiting_granted(locks, rest, attempt, token);
    plan(locks, rest, to_number(next_ms));
}

/* x ATTEMPT KEY: a release has taken the waiter out of the queue. */
static void on_cancelled(struct locks *locks, struct slice rest)
{
    struct slice attempt = take_word(&rest);
    waiting_cancelled(locks, rest, attempt);
}

/* n MS KEY: the next hold of the name ends sooner than was thought; -1 where it does not. */
static void on_next_end(struct locks *locks, struct slice rest)
{
    int64_t next_ms = to_number(take_word(&rest));
    plan(locks, rest, next_ms);
}

/* c VERSION KEY: the name has changed. */
static void on_changed(struct locks *locks, struct slice rest)
{
    take_word(&rest);
    struct interest *interest = interest_find(locks, rest);
    if (interest)
        watch_check(interest);
}

/* s KEY: this server is passed over, since another one of its process did not claim in time. */
static void on_suspected(struct locks *locks, struct slice key)
{
    struct interest *interest = interest_find(locks, key);
    if (interest)
        interest_check(interest);
}

void locks_store_message(struct locks *locks, struct slice text)
{
    static const struct {
        const char *word;
        void (*handle)(struct locks *locks, struct slice rest);
    } MESSAGES[] = {
        {"g", on_granted}, {"x", on_cancelled}, {"n", on_next_end},
        {"c", on_changed}, {"s", on_suspected},
    };
    if (locks->majority) {
        majority_message(locks, text);
        return;
    }
    struct slice kind = take_word(&text);
    for (size_t i = 0; i < sizeof MESSAGES / sizeof MESSAGES[0]; i++)
        if (slice_equals(kind, MESSAGES[i].word))
            MESSAGES[i].handle(locks, text);
}

void locks_stamp(const struct locks *locks, unsigned part, uint64_t now,
                 char stamp[STORE_STAMP_LENGTH])
{
    guard_stamp(locks->guard, part, now, stamp);
}

bool locks_has_store(const struct locks *locks)
{
    return store_is_up(locks->store);
}

void locks_store_is_up(struct locks *locks, unsigned part)
{
    rights_ask(locks, part);
    identity_connected(locks->guard, part);
}

void locks_serve(struct locks *locks, unsigned part)
{
    if (locks->serving)
        locks->serving(locks->expired_context, part);
    if (locks->majority) {
        majority_is_up(locks, part);
        return;
    }
    doubts_ask(locks);
    interests_check_part(locks, part);
}

void locks_store_has_moved(struct locks *locks)
{
    horizon_level(locks->guard);
    doubts_ask(locks);
}

void locks_store_has_taken(struct locks *locks, unsigned to, unsigned from)
{
    identity_taken(locks->guard, to, from);
}

void locks_store_is_listening(struct locks *locks)
{
    if (locks->majority)
        majority_is_listening(locks);
    interests_check(locks);
}

void locks_try_again(struct locks *locks)
{
    identity_check(locks->guard);
    if (locks->majority)
        majority_try_again(locks);
    doubts_ask(locks);
    if (locks->check_again)
        interests_check(locks);
    locks->check_again = false;
}

void locks_drain(struct locks *locks)
{
    locks->draining = true;
    if (locks->majority)
        majority_drain(locks);
    waiting_drain(locks);
    watch_drain(locks);
    prefixes_drain(locks);
    interests_drain(locks);
}
