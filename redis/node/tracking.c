#include "redis/node/tracking.h"

#include "base/memory.h"
#include "redis/wire/errors.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool tracking_is_possible(const struct session *session, const struct inbox *inbox)
{
    return session_is_ready(session) && inbox && inbox_is_listening(inbox);
}

/* Even an error does not matter: Redis only has to run this before the next command. */
static void tracking_send_end(struct session *session)
{
    const struct slice words[] = {slice_of("CLIENT"), slice_of("TRACKING"), slice_of("OFF")};
    session_ask(session, words, 3, session_timeout_ms(session), NULL);
}

/* Ends tracking first: Redis refuses to start what it thinks is on, even if the connection that it
 * reports to is gone. */
static void tracking_send(struct tracking *tracking, struct session *session,
                          const struct inbox *inbox)
{
    char number[24];
    snprintf(number, sizeof number, "%" PRId64, inbox_client_id(inbox));
    const struct slice words[] = {
        slice_of("CLIENT"), slice_of("TRACKING"),
        slice_of("ON"),     slice_of("REDIRECT"),
        slice_of(number),   slice_of("BCAST"),
        slice_of("PREFIX"), {tracking->prefix, tracking->prefix_length},
    };
    tracking_send_end(session);
    session_ask(session, words, 8, session_timeout_ms(session), tracking->answered);
    tracking->awaiting++;
}

void tracking_begin(struct tracking *tracking, struct session *session, const struct inbox *inbox,
                    struct slice prefix)
{
    free(tracking->prefix);
    tracking->prefix = memory_checked(malloc(prefix.length + 1));
    memcpy(tracking->prefix, prefix.bytes, prefix.length);
    tracking->prefix_length = prefix.length;
    tracking->wanted = true;
    tracking->trouble_is_reported = false;
    if (tracking_is_possible(session, inbox))
        tracking_send(tracking, session, inbox);
    else
        tracking->missed = true;
}

void tracking_end(struct tracking *tracking, struct session *session)
{
    tracking->wanted = false;
    tracking->missed = false;
    if (session_is_ready(session))
        tracking_send_end(session);
}

void tracking_reset(struct tracking *tracking)
{
    tracking->awaiting = 0;
}

void tracking_resume(struct tracking *tracking, struct session *session, const struct inbox *inbox)
{
    if (!tracking->wanted)
        return;
    tracking->missed = true;
    if (tracking_is_possible(session, inbox))
        tracking_send(tracking, session, inbox);
}

/* Only the last answer counts: earlier ones may be about an inbox that is gone. */
bool tracking_answered(struct tracking *tracking, const char *error)
{
    tracking->awaiting--;
    if (!tracking->wanted || tracking->awaiting > 0 || error)
        return false;
    bool missed = tracking->missed;
    tracking->missed = false;
    tracking->trouble_is_reported = false;
    return missed;
}

/* If Redis no longer knows the inbox, batond is about to find it lost, and starts tracking again
 * after that. */
bool tracking_warn(struct tracking *tracking, const struct inbox *inbox, const char *error,
                   struct failure *warning)
{
    bool inbox_is_unknown = inbox && inbox_client_id(inbox) == 0;
    bool inbox_is_gone = strstr(error, "redirect to does not exist") && !inbox_is_unknown;
    if (!tracking->wanted || tracking->awaiting > 0 || tracking->trouble_is_reported ||
        inbox_is_gone)
        return false;
    tracking->trouble_is_reported = true;
    const char *advice = "";
    if (inbox_is_unknown)
        advice = ". Allow this user CLIENT ID with `ACL SETUSER … +client|id`.";
    else if (error_has_code(error, "NOPERM"))
        advice = ". Allow it with `ACL SETUSER … +client|tracking`.";
    failure_set(warning, 0, "Redis does not tell which locks change under a prefix: %s%s", error,
                advice);
    return true;
}

void tracking_free(struct tracking *tracking)
{
    free(tracking->prefix);
    tracking->prefix = NULL;
}
