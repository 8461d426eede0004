#include "tests/chaos/crew.h"

#include "tests/history/reply.h"
#include "tests/history/rules.h"
#include "tests/support/clock.h"
#include "tests/support/cmocka.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    TURN_US = 5000,
    PATIENCE_MS = 10000,
    FOOTHOLD_MS = 1,
    THERE_US = 100000,
    NAP_MS = 10,
    STALL_US = 100000
};

static void *grown(void *items, size_t count, size_t *room, size_t size)
{
    if (count < *room)
        return items;
    *room = *room ? 2 * *room : 256;
    items = realloc(items, *room * size);
    if (!items)
        abort();
    return items;
}

/* By how much Redis's clock is ahead of ours. Of a few looks at both, the one that was interrupted
 * the least. */
static int64_t clock_offset(void)
{
    int64_t best = INT64_MAX, offset = 0;
    for (int i = 0; i < 20; i++) {
        struct timespec now;
        int64_t before = clock_us();
        clock_gettime(CLOCK_REALTIME, &now);
        int64_t took = clock_us() - before;
        if (took < best)
            offset = (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000 - before;
        best = took < best ? took : best;
    }
    return offset;
}

static void add_disturbance(struct crew *crew, int server, int64_t from, int64_t to)
{
    pthread_mutex_lock(&crew->lock);
    if (crew->disturbance_count == DISTURBANCES)
        abort();
    crew->disturbances[crew->disturbance_count++] = (struct disturbance){server, from, to};
    pthread_mutex_unlock(&crew->lock);
}

/* Who sleeps for NAP_MS and wakes up much later was not let run, and others were not, either. */
static void *watch(void *context)
{
    struct crew *crew = context;
    while (!crew->stop) {
        int64_t begun = clock_us();
        clock_sleep_ms(NAP_MS);
        if (clock_us() - begun > STALL_US)
            add_disturbance(crew, 0, begun, clock_us());
    }
    return NULL;
}

void crew_start(struct crew *crew, struct stage *stage)
{
    memset(crew, 0, sizeof *crew);
    crew->stage = stage;
    crew->many = many_new();
    crew->clock_offset = clock_offset();
    pthread_mutex_init(&crew->lock, NULL);
    if (pthread_create(&crew->watchman, NULL, watch, crew))
        abort();
}

static void dismiss_watchman(struct crew *crew)
{
    if (!atomic_exchange(&crew->stop, true))
        pthread_join(crew->watchman, NULL);
}

void crew_free(struct crew *crew)
{
    dismiss_watchman(crew);
    for (size_t i = 0; i < crew->count; i++) {
        many_hang_up(&crew->members[i]->client, true, false);
        free(crew->members[i]);
    }
    free(crew->members);
    record_free(&crew->record);
    many_free(crew->many);
}

static int owner_of(const struct member *member)
{
    return member->part.owner ? member->part.owner : member->number;
}

static struct event *note(struct member *member, enum operation operation)
{
    member->event = member->crew->record.count;
    return record_add(
        &member->crew->record,
        &(struct event){.operation = operation,
                        .name = member->part.name,
                        .token = member->number,
                        .owner = owner_of(member),
                        .reentrant = member->part.owner != 0,
                        .shared = member->part.shared,
                        .limit = member->part.limit,
                        .server = member->part.way <= TO_SECOND ? (int)member->part.way + 1 : 0});
}

static void write_token(const struct member *member, char *text, size_t size)
{
    snprintf(text, size, "chaos-%016" PRIx64 "-%d", member->crew->stage->seed, member->number);
}

static void send_request(struct member *member, const char *method, struct event *event,
                         const char *body)
{
    char path[64], token[80];
    struct crew *crew = member->crew;
    snprintf(path, sizeof path, "/locks/chaos-%d", member->part.name);
    write_token(member, token, sizeof token);
    member->requests++;
    many_send(crew->many, &member->client, crew->stage->ports[member->part.way], method, path,
              token, body);
    event->sent = member->client.sent;
    if (member->has_place && member->away && event->sent - member->away > crew->longest_away) {
        crew->longest_away = event->sent - member->away;
        crew->longest_away_member = member;
    }
}

static void ask_for_it(struct member *member)
{
    char body[300], limit[40] = "";
    const struct part *part = &member->part;
    struct event *event = note(member, ACQUIRE);
    event->ttl_ms = part->ttl_ms;
    event->wait_ms = part->foothold && !member->has_place ? FOOTHOLD_MS : part->wait_ms;
    event->keep_ms = event->wait_ms > 0 ? part->keep_ms : 0;
    if (part->limit)
        snprintf(limit, sizeof limit, ",\"limit\":%d", part->limit);
    int length =
        snprintf(body, sizeof body, "{\"owner\":\"o%d\",\"mode\":\"%s\"%s%s,\"ttl_ms\":%" PRId64,
                 owner_of(member), part->shared ? "shared" : "exclusive", limit,
                 part->owner ? ",\"reentrant\":true" : "", part->ttl_ms);
    if (event->wait_ms > 0)
        length += snprintf(body + length, sizeof body - (size_t)length, ",\"wait_ms\":%" PRId64,
                           event->wait_ms);
    if (event->keep_ms > 0)
        length += snprintf(body + length, sizeof body - (size_t)length, ",\"keep_ms\":%" PRId64,
                           event->keep_ms);
    snprintf(body + length, sizeof body - (size_t)length, "}");
    member->act = ASKS;
    send_request(member, "POST", event, body);
    if (!member->first_sent)
        member->first_sent = event->sent;
}

static void ask_to_release(struct member *member)
{
    member->act = RELEASES;
    member->releasing = true;
    send_request(member, "DELETE", note(member, RELEASE), NULL);
}

/* Whether the latest request had reached a replica that let it wait, by its reply. A proxy, and a
 * batond without Redis, take their time to refuse, too. */
static bool was_there(const struct member *member)
{
    return strcmp(member->last_code, "wait_timeout") == 0 ||
           (strcmp(member->last_code, "draining") == 0 &&
            member->client.received - member->client.sent > THERE_US);
}

static void pause_then_repeat(struct member *member)
{
    if (!member->part.patient && !member->releasing) {
        member->act = FAILED;
        return;
    }
    member->act = PAUSES;
    if (was_there(member) || !member->away)
        member->away = member->client.received;
    member->due = clock_us() + member->part.pause_us;
}

static void hold_it(struct member *member, const struct event *event)
{
    struct crew *crew = member->crew;
    member->act = HOLDS;
    member->granted = event->received;
    member->away = 0;
    member->fence = event->fence;
    member->due = event->received + member->part.hold_us;
    crew->grants++;
    if (crew->granted)
        crew->granted(member);
}

static void acquire_answered(struct member *member, const struct event *event)
{
    switch (event->outcome) {
    case DONE:
    case HOLDING:
        hold_it(member, event);
        break;
    case TIMED_OUT:
        if (member->part.foothold && !member->has_place) {
            member->has_place = true;
            member->away = 0;
            member->placed = event->received;
            ask_for_it(member);
            break;
        }
        pause_then_repeat(member);
        break;
    case UNKNOWN:
    case SUPERSEDED: /* by its own earlier request, which was late */
        pause_then_repeat(member);
        break;
    default:
        member->act = FAILED;
    }
}

static void release_answered(struct member *member, const struct event *event)
{
    if (event->outcome == DONE)
        member->act = DONE_WELL;
    else if (event->outcome == UNKNOWN)
        pause_then_repeat(member);
    else
        member->act = member->unsure ? LEFT : FAILED;
}

static void read_reply(struct member *member, struct event *event)
{
    char etag[64];
    json_t *body = many_json(&member->client);
    const char *code = json_string_value(json_object_get(body, "code"));
    event->received = member->client.received;
    event->outcome = reply_outcome(event, member->client.status, body);
    if (event->outcome != UNKNOWN)
        reply_read(event, many_header(&member->client, "ETag", etag, sizeof etag), body);
    if (event->operation == ACQUIRE && event->outcome == DONE)
        event->granted = event->fence - member->crew->clock_offset;
    if (event->outcome == STRANGE)
        print_error("%s: %d %s\n", event->operation == ACQUIRE ? "POST" : "DELETE",
                    member->client.status, member->client.body ? member->client.body : "");
    member->last_status = member->client.status;
    snprintf(member->last_code, sizeof member->last_code, "%s", code ? code : "");
    json_decref(body);
}

static void answered(struct many_client *client)
{
    struct member *member = client->context;
    read_reply(member, &member->crew->record.events[member->event]);
    struct event event = member->crew->record.events[member->event]; /* what follows may move it */
    if (event.operation == ACQUIRE)
        acquire_answered(member, &event);
    else
        release_answered(member, &event);
}

struct member *crew_send(struct crew *crew, const struct part *part)
{
    struct member *member = calloc(1, sizeof *member);
    crew->members = grown(crew->members, crew->count, &crew->room, sizeof(struct member *));
    if (!member)
        abort();
    crew->members[crew->count++] = member;
    member->part = *part;
    member->home = part->way;
    member->crew = crew;
    member->number = (int)crew->count;
    member->client.done = answered;
    member->client.context = member;
    ask_for_it(member);
    return member;
}

void crew_print(const struct member *member)
{
    const struct crew *crew = member->crew;
    print_error("client %d (act %d, latest reply %d %s):\n", member->number, (int)member->act,
                member->last_status, member->last_code);
    for (size_t i = 0; i < crew->record.count; i++)
        if (crew->record.events[i].token == member->number)
            print_error("  %s\n", event_text(&crew->record.events[i]));
}

void crew_release(struct member *member)
{
    member->part.hold_us = 0;
    member->due = 0;
}

void crew_turn_to(struct crew *crew, enum way way)
{
    for (size_t i = 0; i < crew->count; i++)
        crew->members[i]->part.way = way;
}

void crew_leave(struct member *member, bool reset)
{
    if (many_is_busy(&member->client)) {
        struct event *event = &member->crew->record.events[member->event];
        event->outcome = UNKNOWN;
        event->hung_up = clock_us();
        bool by_proxy = member->part.way > TO_SECOND;
        bool unanswered = many_hang_up(&member->client, reset, by_proxy);
        event->received = member->client.received;
        if (!unanswered && event->operation == ACQUIRE) {
            member->unsure = true;
            ask_to_release(member);
            return;
        }
    }
    member->act = LEFT;
}

static bool is_over(const struct member *member)
{
    return member->act >= DONE_WELL ||
           (member->act == HOLDS && member->part.hold_us == FOR_EVER_US);
}

/* Does what is due. Returns when the next one is, and how many are not over. */
static int64_t do_what_is_due(struct crew *crew, size_t *left)
{
    int64_t now = clock_us(), next = now + TURN_US;
    *left = 0;
    for (size_t i = 0; i < crew->count; i++) {
        struct member *member = crew->members[i];
        bool leaves = member->leave && member->act == ASKS;
        if (leaves && member->leave <= now && !many_has_reply(&member->client))
            crew_leave(member, member->number % 2);
        bool is_due = member->due <= now;
        if (member->act == HOLDS && is_due)
            ask_to_release(member);
        else if (member->act == PAUSES && is_due)
            member->releasing ? ask_to_release(member) : ask_for_it(member);
        if ((member->act == HOLDS || member->act == PAUSES) && member->due < next)
            next = member->due;
        if (leaves && member->act == ASKS && member->leave < next)
            next = member->leave;
        *left += !is_over(member);
    }
    return next;
}

static bool play(struct crew *crew, int64_t ms, size_t grants, bool finish)
{
    int64_t until = clock_us() + ms * 1000;
    for (;;) {
        size_t left;
        int64_t next = do_what_is_due(crew, &left);
        if ((finish && left == 0) || crew->grants >= grants)
            return true;
        many_run(crew->many, next < until ? next : until);
        if (clock_us() >= until)
            return false;
    }
}

void crew_play(struct crew *crew, int64_t ms)
{
    play(crew, ms, SIZE_MAX, false);
}

bool crew_finish(struct crew *crew, int64_t timeout_ms)
{
    return play(crew, timeout_ms, SIZE_MAX, true);
}

bool crew_await_grants(struct crew *crew, size_t grants, int64_t timeout_ms)
{
    return play(crew, timeout_ms, grants, false);
}

void crew_await_queued(struct crew *crew, int name, int64_t length)
{
    int64_t until = clock_ms() + PATIENCE_MS, got, asked;
    for (;;) {
        crew_play(crew, 0);
        asked = clock_us();
        got = stage_ask(crew->stage, name, "queue_length");
        if (got == length)
            break;
        for (size_t i = 0; clock_ms() > until && i < crew->count; i++)
            if (crew->members[i]->part.name == name)
                crew_print(crew->members[i]);
        if (clock_ms() > until)
            fail_msg("%" PRId64 " wait for name %d, not %" PRId64, got, name, length);
    }
    for (size_t i = 0; i < crew->record.count; i++) {
        struct event *event = &crew->record.events[i];
        if (event->operation == ACQUIRE && event->name == name && !event->received &&
            !event->queued && event->wait_ms > FOOTHOLD_MS && event->sent < asked)
            event->queued = clock_us();
    }
}

void crew_inspect(struct crew *crew, int name)
{
    struct event *event = record_add(
        &crew->record,
        &(struct event){.operation = INSPECT, .name = name, .token = NOBODY, .sent = clock_us()});
    struct http_client *http = stage_inspect(crew->stage, name);
    event->received = clock_us();
    if (!http)
        return;
    event->outcome = DONE;
    reply_read(event, http_header(http, "ETag"), http->reply.json);
}

void crew_disturb(struct crew *crew, int replica)
{
    add_disturbance(crew, replica + 1, clock_us(), INT64_MAX);
}

void crew_calm(struct crew *crew, int replica)
{
    pthread_mutex_lock(&crew->lock);
    for (size_t i = 0; i < crew->disturbance_count; i++)
        if (crew->disturbances[i].server == replica + 1 && crew->disturbances[i].to == INT64_MAX)
            crew->disturbances[i].to = clock_us();
    pthread_mutex_unlock(&crew->lock);
}

static bool passed(const struct member *one, const struct member *other)
{
    return one->part.name == other->part.name && other->placed && one->fence &&
           other->placed < one->first_sent && (!other->fence || one->fence < other->fence);
}

size_t crew_count_passed(const struct crew *crew)
{
    size_t count = 0;
    for (size_t i = 0; i < crew->count; i++) {
        for (size_t j = 0; j < i; j++) {
            if (!passed(crew->members[i], crew->members[j]))
                continue;
            if (count++ == 0) {
                crew_print(crew->members[j]);
                crew_print(crew->members[i]);
            }
            break;
        }
    }
    return count;
}

size_t crew_count(const struct crew *crew, enum act act)
{
    size_t count = 0;
    for (size_t i = 0; i < crew->count; i++)
        count += crew->members[i]->act == act;
    return count;
}

/* Those that are still under way have had no reply yet. */
static void close_events(struct crew *crew)
{
    for (size_t i = 0; i < crew->record.count; i++)
        if (!crew->record.events[i].received)
            crew->record.events[i].received = clock_us();
}

void crew_check(struct crew *crew)
{
    struct findings findings;
    dismiss_watchman(crew);
    struct terms terms = {.claim_us = (int64_t)crew->stage->claim_ms * 1000,
                          .slack_us = 2000000, /* the machine may stand still */
                          .settle_us = 500000,
                          .disturbances = crew->disturbances,
                          .disturbance_count = crew->disturbance_count};
    close_events(crew);
    history_check_on(&terms, crew->record.events, crew->record.count, &findings);
    char *text = findings_text(&findings);
    print_message("%zu requests and %zu grants checked\n", crew->record.count, crew->grants);
    if (findings.total > 0)
        print_error("%sBATON_SEED=%" PRIu64 "\n", text, crew->stage->seed);
    free(text);
    assert_int_equal(findings.total, 0);
}
