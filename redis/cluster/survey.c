#include "redis/cluster/survey.h"

#include "redis/wire/errors.h"
#include "redis/wire/session.h"

#include <errno.h>
#include <hiredis/hiredis.h>
#include <stdlib.h>
#include <string.h>

enum { ANSWERS = 2 }; /* of a question: CLUSTER INFO, CLUSTER SLOTS */

struct survey {
    uv_loop_t *loop;
    const struct redis_url *url;
    struct roster *roster;
    struct survey_events events;
    struct session *session;
    struct guide guide; /* to the one that is asked */
    size_t candidate;   /* which that is; see point_to_candidate */
    size_t passed_over; /* in a row, without an answer that counts */
    bool is_turning;    /* it leaves a node that can be reached */
    bool asks_next;     /* another one is to be asked, for this one may know less */

    bool asking;
    bool ask_again; /* when that is over */
    size_t answered;
    uint64_t asked;
    bool is_cut_off; /* by what it has answered so far: it sees no majority, */
    bool is_behind;  /* or less than others have told */
    uint64_t epoch;  /* the greatest that a node has told */
    bool is_mapped;  /* there was an answer that counts */
    bool is_told;    /* that nobody can be asked */

    void (*closed)(void *context);
    void *closed_context;
};

/* Whom to ask: those that serve slots, then those of the URL. */

static size_t count_candidates(const struct survey *survey)
{
    return roster_count_serving(survey->roster) + survey->url->node_count;
}

static void turn(struct survey *survey, const char *host, int port)
{
    survey->is_turning = true;
    guide_point(&survey->guide, host, port);
    survey->is_turning = false;
}

static void point_to_candidate(struct survey *survey)
{
    size_t index = survey->candidate % count_candidates(survey);
    size_t serving = roster_count_serving(survey->roster);
    if (index < serving) {
        unsigned node = roster_serving(survey->roster, index);
        struct roster_address address = roster_address(survey->roster, node);
        turn(survey, address.host, address.port);
    } else {
        const struct redis_node *node = &survey->url->nodes[index - serving];
        turn(survey, node->host, node->port);
    }
}

/* The next one is asked at once; but where all were asked in vain, after the session's pause. */
static void pass_over(struct survey *survey)
{
    survey->asking = false;
    survey->candidate++;
    if (++survey->passed_over % count_candidates(survey) != 0)
        point_to_candidate(survey);
}

/* It has lost its node, or could not reach it. */
static void on_doubt(void *context)
{
    struct survey *survey = context;
    if (!survey->is_turning)
        pass_over(survey);
}

static void tell_lost(struct survey *survey, int code, const char *reason)
{
    size_t failed = survey->passed_over + 1, candidates = count_candidates(survey);
    if (survey->is_mapped && (survey->is_told || failed < candidates))
        return;
    /* Always of the same candidate, so that who is told can see whether the reason is another. */
    if (!survey->is_mapped && failed % candidates != 0 && code != -EPROTO)
        return;
    survey->is_told = true;
    survey->events.lost(survey->events.context, code, reason);
}

void survey_turn_to(struct survey *survey, unsigned node)
{
    struct roster_address address = roster_address(survey->roster, node);
    if (!roster_is_dismissed(survey->roster, node))
        turn(survey, address.host, address.port);
}

/* Asking */

static void ask(struct survey *survey)
{
    static const struct slice INFO[] = {{"CLUSTER", 7}, {"INFO", 4}};
    static const struct slice SLOTS[] = {{"CLUSTER", 7}, {"SLOTS", 5}};
    survey->asking = true;
    survey->ask_again = survey->is_cut_off = survey->is_behind = false;
    survey->answered = 0;
    survey->asked = uv_now(survey->loop);
    session_send_words(survey->session, INFO, 2);
    session_send_words(survey->session, SLOTS, 2);
    session_wake(survey->session, survey->asked + SURVEY_ANSWER_MS);
}

static void ask_next(struct survey *survey)
{
    if (survey->asks_next) {
        survey->candidate++;
        point_to_candidate(survey); /* and asks as soon as it can */
    }
    survey->asks_next = false;
    if (session_is_ready(survey->session))
        ask(survey);
}

void survey_doubt(struct survey *survey)
{
    if (survey->asking) {
        survey->ask_again = true;
        return;
    }
    if (!session_is_ready(survey->session))
        return; /* it is asked as soon as somebody can be */
    survey->ask_again = true;
    session_wake(survey->session, survey->asked + SURVEY_SPACE_MS);
}

static void on_ready(void *context, const struct session_peer *peer)
{
    (void)peer;
    ask(context);
}

static void on_woken(void *context)
{
    struct survey *survey = context;
    while (survey->asking && session_read(survey->session))
        ;
    if (!session_is_ready(survey->session))
        return;
    unsigned space = survey->asking      ? SURVEY_ANSWER_MS
                     : survey->ask_again ? SURVEY_SPACE_MS
                                         : SURVEY_ASK_MS;
    if (uv_now(survey->loop) < survey->asked + space)
        session_wake(survey->session, survey->asked + space);
    else if (survey->asking)
        session_lose(survey->session, -EAGAIN, "it does not say which node serves what");
    else
        ask_next(survey);
}

/* Answers */

static bool find_line(const redisReply *reply, const char *name, struct slice *ret)
{
    const char *found = reply->type == REDIS_REPLY_STRING ? strstr(reply->str, name) : NULL;
    if (!found)
        return false;
    found += strlen(name);
    *ret = (struct slice){found, strcspn(found, "\r\n")};
    return true;
}

/* A user that may not ask is believed to be well served: that costs a detour at worst. */
static void info_answered(struct survey *survey, const redisReply *reply)
{
    struct slice text;
    if (find_line(reply, "cluster_state:", &text))
        survey->is_cut_off = !slice_equals(text, "ok");
    if (!find_line(reply, "cluster_current_epoch:", &text))
        return;
    uint64_t epoch = strtoull(text.bytes, NULL, 10);
    survey->is_behind = epoch < survey->epoch;
    if (epoch > survey->epoch)
        survey->epoch = epoch;
}

/* The slots of an answer, before any of them is given to anybody. */
struct draft {
    struct survey *survey;
    uint16_t owners[SLOT_COUNT];
};

static void note_range(void *context, unsigned first, unsigned last,
                       const struct slot_node *primary)
{
    struct draft *draft = context;
    const struct guide *guide = &draft->survey->guide;
    unsigned owner = roster_meet_by(draft->survey->roster, primary, guide->host, guide->port);
    for (unsigned slot = first; slot <= last; slot++)
        draft->owners[slot] = (uint16_t)owner;
}

/* A node that a slot is on its way to goes on naming the one that it comes from, also when that has
 * died and another one has taken its place: as long as somebody is named who cannot be reached,
 * others are asked, too. */
static void take_map(struct survey *survey, const redisReply *reply)
{
    struct draft draft = {.survey = survey};
    for (unsigned slot = 0; slot < SLOT_COUNT; slot++)
        draft.owners[slot] = CLUSTER_NOBODY;
    if (reply->type != REDIS_REPLY_ARRAY ||
        !slots_read((const struct value *)(const void *)reply, note_range, &draft)) {
        session_lose(survey->session, -EAGAIN, "it does not say which node serves what");
        return;
    }
    survey->is_mapped = true;
    survey->is_told = false;
    survey->passed_over = 0;
    survey->events.answered(survey->events.context, draft.owners);
    survey->asks_next = roster_serves_lost(survey->roster);
}

/* Where all say so, they are right: the Cluster is down as a whole, or was set up anew. */
static bool counts(struct survey *survey)
{
    bool all = survey->passed_over + 1 >= count_candidates(survey);
    if (all && survey->is_behind)
        survey->epoch = 0;
    return all || !survey->is_mapped || !(survey->is_cut_off || survey->is_behind);
}

static void slots_refused(struct survey *survey, const char *error)
{
    struct failure reason;
    bool forbidden = error_has_code(error, "NOPERM");
    bool disabled = strstr(error, "cluster support disabled") != NULL;
    failure_set(&reason, error_passes(error) ? -EAGAIN : -EPROTO,
                "%s does not say which node serves what: %s%s", session_place(survey->session),
                error,
                forbidden  ? ": allow this user `ACL SETUSER … +cluster|slots +cluster|info "
                             "+cluster|nodes +asking`"
                : disabled ? ": it is no node of a Redis Cluster, write redis://host:port"
                           : "");
    session_lose(survey->session, error_passes(error) ? -EAGAIN : -EPROTO, reason.text);
}

static void slots_answered(struct survey *survey, const redisReply *reply)
{
    if (reply->type == REDIS_REPLY_ERROR) {
        slots_refused(survey, reply->str);
        return;
    }
    survey->asking = false;
    if (!counts(survey)) {
        pass_over(survey);
        return;
    }
    take_map(survey, reply);
    if (session_is_ready(survey->session))
        session_wake(survey->session,
                     survey->asked + (survey->ask_again ? SURVEY_SPACE_MS : SURVEY_ASK_MS));
}

static void on_replied(void *context, const redisReply *reply)
{
    struct survey *survey = context;
    if (!survey->asking)
        session_lose(survey->session, -EAGAIN, "it sent a reply to nothing");
    else if (++survey->answered < ANSWERS)
        info_answered(survey, reply);
    else
        slots_answered(survey, reply);
}

static void on_lost(void *context, const struct session_loss *loss)
{
    struct survey *survey = context;
    if (loss->code != -ECANCELED && !survey->is_turning)
        tell_lost(survey, loss->code, loss->reason);
}

/* The beginning and the end */

static void on_closed(void *context)
{
    struct survey *survey = context;
    void (*closed)(void *context) = survey->closed;
    void *closed_context = survey->closed_context;
    free(survey);
    closed(closed_context);
}

int survey_open(struct survey **ret, uv_loop_t *loop, const struct redis_url *url,
                struct roster *roster, const struct survey_events *events, struct failure *failure)
{
    struct survey *survey = calloc(1, sizeof *survey);
    if (!survey)
        return failure_set(failure, -ENOMEM, "no memory");
    survey->loop = loop;
    survey->url = url;
    survey->roster = roster;
    survey->events = *events;
    guide_init(&survey->guide, on_doubt, survey);
    survey->guide.takes_replicas = true;
    point_to_candidate(survey);
    const struct session_events session_events = {
        .context = survey,
        .ready = on_ready,
        .replied = on_replied,
        .lost = on_lost,
        .woken = on_woken,
        .closed = on_closed,
    };
    int result =
        session_open(&survey->session, loop, url, &survey->guide, &session_events, failure);
    if (result < 0) {
        free(survey);
        return result;
    }
    *ret = survey;
    return 0;
}

void survey_close(struct survey *survey, void (*closed)(void *context), void *context)
{
    survey->closed = closed;
    survey->closed_context = context;
    session_close(survey->session);
}
