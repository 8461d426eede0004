#include "server/log/journal.h"

#include "api/routes.h"
#include "base/digest.h"

enum { MARK_DIGITS = 12, METHOD_LONGEST = 32, PATH_LONGEST = 256, STATUS_REFUSED = 400 };

static const char *const MODES[] = {[LOCK_EXCLUSIVE] = "exclusive", [LOCK_SHARED] = "shared"};

static void journal_add_text(struct line *line, const char *name, struct slice text)
{
    if (text.length > 0)
        line_text(line, name, text);
}

static void journal_add_word(struct line *line, const char *name, struct slice word)
{
    if (word.length > 0)
        line_word(line, name, word);
}

static void journal_add_number(struct line *line, const char *name, int64_t number)
{
    if (number >= 0)
        line_number(line, name, number);
}

static void journal_add_ms(struct line *line, const char *name, int64_t us)
{
    if (us >= 0)
        line_ms(line, name, us);
}

static void journal_add_token(struct line *line, struct slice token)
{
    char hex[DIGEST_HEX_LENGTH + 1];
    if (token.length == 0)
        return;
    struct digest digest = digest_of(token);
    digest_format(&digest, hex);
    line_word(line, "token_sha256", (struct slice){hex, MARK_DIGITS});
}

/* The access log */

bool journal_wants_requests(const struct log *log)
{
    return log && log->access && log->level <= LOG_INFO;
}

/* Cuts a text of the client, which would leave no room in the line for the client's address. */
static struct slice journal_cut(const char *text, size_t most)
{
    return (struct slice){text, strnlen(text, most)};
}

/* A path without its query. A target that is no path may hold a password, so it is left out. */
static struct slice journal_path(const char *target)
{
    size_t length = target[0] == '/' ? strcspn(target, "?") : 0;
    return (struct slice){target, length < PATH_LONGEST ? length : PATH_LONGEST};
}

static void journal_add_target(struct line *line, const struct exchange *exchange)
{
    if (exchange->route)
        line_word(line, "route", slice_of(exchange->route->path));
    else
        journal_add_text(line, "path", journal_path(exchange->head.target));
}

static void journal_add_lock(struct line *line, const struct exchange *exchange)
{
    const struct parameters *parameters = &exchange->parameters;
    journal_add_text(line, "lock", exchange->name);
    if (parameters->names)
        line_number(line, "locks", parameters->numbers[FIELD_NAMES]);
    journal_add_text(line, "owner", parameters->texts[FIELD_OWNER]);
    if (exchange->wait.noted.fence > 0 && !parameters->names)
        line_number(line, "fence", exchange->wait.noted.fence);
    if (exchange->wait.noted.waited)
        line_ms(line, "waited_ms", exchange->wait.noted.waited_us);
    if (exchange->reply.status >= STATUS_REFUSED) /* the audit log has those that succeed */
        journal_add_token(line, parameters->texts[FIELD_LOCK_TOKEN]);
}

static void journal_add_asker(struct line *line, const struct outcome *outcome)
{
    const struct exchange *exchange = outcome->exchange;
    line_word(line, "request_id", slice_of(exchange->head.request_id));
    journal_add_word(line, "trace_id", slice_of(exchange->head.trace_id));
    if (exchange->principal)
        journal_add_text(line, "principal", exchange->principal->name);
    journal_add_word(line, "client", slice_of(outcome->client));
    journal_add_word(line, "forwarded_for", slice_of(outcome->forwarded_for));
}

void journal_answered(const struct log *log, const struct outcome *outcome)
{
    struct line line;
    const struct exchange *exchange = outcome->exchange;
    if (!journal_wants_requests(log) ||
        !log_begin(log, route_is_probe(exchange->route) ? LOG_DEBUG : LOG_INFO, "request", &line))
        return;
    line_text(&line, "method", journal_cut(exchange->head.method, METHOD_LONGEST));
    journal_add_target(&line, exchange);
    line_number(&line, "status", exchange->reply.status);
    journal_add_ms(&line, "duration_ms", outcome->took_us);
    line_number(&line, "bytes", (int64_t)outcome->bytes);
    if (!outcome->delivered)
        line_flag(&line, "delivered", false);
    journal_add_asker(&line, outcome);
    journal_add_lock(&line, exchange);
    log_end(log, &line);
}

/* The audit log */

/* NULL: not in the audit log. */
static const char *const MESSAGES[LOCK_EVENT_KINDS] = {
    [LOCK_EVENT_GRANTED] = "lock granted",       [LOCK_EVENT_RELEASED] = "lock released",
    [LOCK_EVENT_EXPIRED] = "lock expired",       [LOCK_EVENT_FORCED] = "lock broken",
    [LOCK_EVENT_TAKEN_BACK] = "lock taken back", [LOCK_EVENT_REOPENED] = "quarantine ended",
};

/* Adds the caller and the client of an operator's request. `event->principal` is the hold's, if the
 * lock was broken. */
static void journal_add_operator(struct line *line, const struct lock_event *event,
                                 const struct exchange *exchange)
{
    bool is_break = event->kind == LOCK_EVENT_FORCED;
    if (is_break && exchange->principal)
        journal_add_text(line, "principal", exchange->principal->name);
    journal_add_word(line, "client", slice_of(exchange->head.client));
    if (is_break)
        journal_add_text(line, "owner_principal", event->principal);
}

void journal_happened(const struct log *log, const struct lock_event *event,
                      const struct exchange *exchange)
{
    struct line line;
    const char *message = MESSAGES[event->kind];
    if (!log || !log->audit || !message || !log_begin(log, LOG_INFO, message, &line))
        return;
    journal_add_text(&line, "lock", event->name);
    if (exchange && (event->kind == LOCK_EVENT_FORCED || event->kind == LOCK_EVENT_REOPENED))
        journal_add_operator(&line, event, exchange);
    if (event->kind != LOCK_EVENT_FORCED)
        journal_add_text(&line, "principal", event->principal);
    journal_add_text(&line, "owner", event->owner);
    journal_add_number(&line, "fence", event->fence);
    if (event->owner.length > 0 && event->kind != LOCK_EVENT_RELEASED)
        line_word(&line, "mode", slice_of(MODES[event->mode]));
    journal_add_number(&line, "ttl_ms", event->ttl_ms);
    journal_add_number(&line, "held_ms", event->held_ms);
    journal_add_ms(&line, "waited_ms", event->waited_us);
    journal_add_text(&line, "reason", event->reason);
    if (event->kind == LOCK_EVENT_REOPENED)
        line_number(&line, "servers", event->count);
    else if (event->count != 1)
        line_number(&line, "holds", event->count);
    journal_add_word(&line, "request_id", event->request_id);
    journal_add_word(&line, "trace_id", event->trace_id);
    if (exchange)
        journal_add_token(&line, exchange->parameters.texts[FIELD_LOCK_TOKEN]);
    log_end(log, &line);
}
