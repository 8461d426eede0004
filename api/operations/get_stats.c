#include "api/access/permission.h"
#include "api/http/context.h"
#include "api/http/exchange.h"
#include "api/http/represent.h"
#include "api/operations/operations.h"
#include "api/stats/contention.h"
#include "base/table.h"

enum { LIMIT_DEFAULT = 10 };

#define LISTS(X)                                                                                   \
    X(CONTENTION_MOST_WAITERS, {"most_waiters", "waiters", false})                                 \
    X(CONTENTION_LONGEST_WAITS, {"longest_waits", "waited_ms", false})                             \
    X(CONTENTION_LONGEST_HOLDS, {"longest_holds", "held_ms", false})                               \
    X(CONTENTION_MOST_WAITS, {"most_waits", "waits", true})                                        \
    X(CONTENTION_MOST_EXPIRATIONS, {"most_expirations", "expirations", true})

static const struct {
    const char *list;
    const char *value;
    bool has_error;
} ABOUT[] = {LISTS(TABLE_ROW)};
TABLE_IS_COMPLETE(LISTS, CONTENTION_LISTS);

static bool stats_wants(void *context, struct slice name)
{
    return permission_to_read(context, name);
}

/* Leaves out the names that the caller may not read. */
static json_t *get_stats_list(const struct exchange *exchange, const struct contention_view *view,
                              enum contention_list list, size_t limit)
{
    json_t *array = json_array();
    for (size_t i = 0; i < view->lists[list].count && json_array_size(array) < limit; i++) {
        const struct ranked *ranked = &view->lists[list].all[i];
        struct slice name = {ranked->name, ranked->length};
        if (!permission_to_read(exchange, name))
            continue;
        json_t *entry = json_object();
        json_object_set_new(entry, "name", represent_text(name));
        json_object_set_new(entry, ABOUT[list].value, json_integer((json_int_t)ranked->value));
        if (ABOUT[list].has_error)
            json_object_set_new(entry, "error", json_integer((json_int_t)ranked->error));
        json_array_append_new(array, entry);
    }
    return array;
}

static json_t *waiting_of(const struct contention_view *view, size_t limit)
{
    json_t *array = json_array();
    for (size_t i = 0; i < view->waiting_count && i < limit; i++) {
        const struct contention_waiting *waiting = &view->waiting[i];
        json_t *entry = json_object();
        json_object_set_new(entry, "name",
                            represent_text((struct slice){waiting->name, waiting->length}));
        json_object_set_new(entry, "waiters", json_integer((json_int_t)waiting->waiters));
        json_object_set_new(entry, "waiting_ms", json_integer((json_int_t)waiting->since_ms));
        json_array_append_new(array, entry);
    }
    return array;
}

enum handling get_stats(struct exchange *exchange)
{
    int64_t given = exchange->parameters.numbers[FIELD_PAGE];
    size_t limit = (size_t)(given ? given : LIMIT_DEFAULT);
    struct contention_view view = contention_view(exchange->api->contention, stats_wants, exchange);
    json_t *document = json_object();
    json_object_set_new(document, "window_ms", json_integer((json_int_t)view.window_ms));
    json_object_set_new(document, "waiting", waiting_of(&view, limit));
    for (enum contention_list list = 0; list < CONTENTION_LISTS; list++)
        json_object_set_new(document, ABOUT[list].list,
                            get_stats_list(exchange, &view, list, limit));
    contention_view_free(&view);
    reply_json(exchange, 200, "application/json", document);
    return ANSWERED;
}
