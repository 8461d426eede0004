/* Messages in this worker's inbox. The scripts that other workers run publish them. */
#include "locks/calls/operation.h"
#include "locks/central/central.h"
#include "locks/waiting/renewer.h"
#include "locks/waiting/subscription.h"
#include "locks/waiting/waiting.h"

#include <stdio.h>
#include <stdlib.h>

static int64_t message_number(struct slice word)
{
    char text[DECIMAL_TEXT];
    snprintf(text, sizeof text, "%.*s", (int)word.length, word.bytes);
    return strtoll(text, NULL, 10);
}

/* Whether this can be the key of a lock. Scripts must not write to other keys. */
static bool message_key_is_lock(const struct locks *locks, struct slice key)
{
    char name[NAME_LENGTH];
    return operation_name(locks, key, name).length > 0;
}

static void message_plan(struct locks *locks, struct slice key, int64_t next_ms)
{
    struct subscription *subscription = subscription_find(locks, key);
    if (subscription)
        subscription_plan(subscription, next_ms);
}

/* g ATTEMPT TOKEN MS KEY: the waiter's turn has come. MS as in n. */
static void message_granted(struct locks *locks, struct slice rest)
{
    struct slice attempt = slice_take_word(&rest);
    struct slice token = slice_take_word(&rest);
    struct slice next_ms = slice_take_word(&rest);
    if (!message_key_is_lock(locks, rest))
        return;
    waiting_granted(locks, rest, attempt, token);
    message_plan(locks, rest, message_number(next_ms));
}

/* x ATTEMPT KEY: a release has taken the waiter out of the queue. */
static void message_cancelled(struct locks *locks, struct slice rest)
{
    struct slice attempt = slice_take_word(&rest);
    waiting_cancelled(locks, rest, attempt);
}

/* n MS KEY: the next hold of the name ends in MS milliseconds, sooner than planned; -1: no hold
 * ends. */
static void message_next_end(struct locks *locks, struct slice rest)
{
    int64_t next_ms = message_number(slice_take_word(&rest));
    message_plan(locks, rest, next_ms);
}

/* c VERSION KEY: the name has changed. */
static void message_changed(struct locks *locks, struct slice rest)
{
    int64_t version = message_number(slice_take_word(&rest));
    struct subscription *subscription = subscription_find(locks, rest);
    if (subscription)
        watched_changed(&subscription->watched, version);
}

/* w KEY: the name has its first waiter, or no waiter is left. */
static void message_wanted(struct locks *locks, struct slice key)
{
    struct subscription *subscription = subscription_find(locks, key);
    if (subscription && subscription->watched.of_holds > 0)
        watched_check(&subscription->watched);
}

/* s KEY: the queue passes over this worker, because another worker of its process did not claim in
 * time. */
static void message_suspected(struct locks *locks, struct slice key)
{
    struct subscription *subscription = subscription_find(locks, key);
    if (subscription)
        subscription_check(subscription);
}

/* e TOKEN KEY: another request has ended the hold of a connection to this worker. */
static void message_ended(struct locks *locks, struct slice rest)
{
    struct slice token = slice_take_word(&rest);
    renewers_check_hold(locks, rest, token);
}

void central_message(struct locks *locks, unsigned shard, struct slice text)
{
    (void)shard;
    static const struct {
        const char *word;
        void (*handle)(struct locks *locks, struct slice rest);
    } MESSAGES[] = {
        {"g", message_granted}, {"x", message_cancelled}, {"n", message_next_end},
        {"c", message_changed}, {"s", message_suspected}, {"e", message_ended},
        {"w", message_wanted},
    };
    struct slice kind = slice_take_word(&text);
    for (size_t i = 0; i < sizeof MESSAGES / sizeof MESSAGES[0]; i++)
        if (slice_equals(kind, MESSAGES[i].word))
            MESSAGES[i].handle(locks, text);
}
