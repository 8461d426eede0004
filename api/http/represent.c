#include "api/http/represent.h"

#include "api/http/state_text.h"
#include "api/http/text_line.h"
#include "base/date.h"
#include "base/decimal.h"
#include "base/memory.h"

/* Bytes of the text of each, beside name, token and owner. */
enum { HOLD_REST = 160, RELEASE_REST = 128 };

enum { STANDING_TEXT = 64, US_PER_SECOND = 1000000, US_PER_MS = 1000 };

static json_t *required(json_t *json)
{
    if (!json)
        abort();
    return json;
}

json_t *represent_text(struct slice text)
{
    json_t *string = json_stringn(text.bytes, text.length);
    return string ? string : required(json_string(""));
}

/* Each hold that is shown has one, and printf would take longer than all the rest of it. */
json_t *represent_moment(int64_t us)
{
    char text[DATE_TEXT];
    date_put(text, us / US_PER_SECOND, (unsigned)(us % US_PER_SECOND / US_PER_MS));
    return required(json_stringn_nocheck(text, sizeof text));
}

static void represent_set(json_t *object, const char *key, json_t *value)
{
    if (json_object_set_new_nocheck(object, key, required(value)) < 0)
        abort();
}

static void set_known(json_t *object, const char *key, struct slice text)
{
    if (text.length > 0)
        represent_set(object, key, represent_text(text));
}

/* Sets a number that is there only where it applies: above 0. */
static void set_number(json_t *object, const char *key, int64_t number)
{
    if (number > 0)
        represent_set(object, key, json_integer(number));
}

/* Splits an owner into its name and its realm, the principal that it belongs to. */
static struct slice represent_name_of(struct slice owner, struct slice *ret_realm)
{
    struct slice name;
    owner_split(owner, ret_realm, &name);
    return name;
}

json_t *represent_owner(struct slice owner)
{
    struct slice realm;
    return represent_text(represent_name_of(owner, &realm));
}

static const char *mode_name(enum lock_mode mode)
{
    return mode == LOCK_SHARED ? "shared" : "exclusive";
}

json_t *represent_hold_document(struct slice name, struct slice token, const struct hold *hold)
{
    json_t *object = required(json_object());
    represent_set(object, "name", represent_text(name));
    represent_set(object, "token", represent_text(token));
    represent_set(object, "owner", represent_owner(hold->owner));
    represent_set(object, "mode", json_string(mode_name(hold->mode)));
    represent_set(object, "fence", json_integer(hold->fence));
    represent_set(object, "ttl_ms", json_integer(hold->ttl_ms));
    represent_set(object, "holds", json_integer(hold->holds));
    set_number(object, "limit", hold->limit);
    if (hold->permits > 1)
        set_number(object, "permits", hold->permits);
    set_number(object, "at_least_ms", hold->at_least_ms);
    set_number(object, "max_held_ms", hold->max_held_ms);
    if (hold->is_final)
        represent_set(object, "renewable", json_false());
    return object;
}

/* Whether a JSON string needs no escapes for it: a hold's texts have no control characters. */
static bool is_plain(struct slice text)
{
    return !memchr(text.bytes, '"', text.length) && !memchr(text.bytes, '\\', text.length);
}

static char *represent_put(char *at, struct slice text)
{
    return mempcpy(at, text.bytes, text.length);
}

/* This is the body of every granted acquire. If nothing needs escapes, which is usual, this writes
 * the text directly: a document costs twenty times as much, and printf leaves a copy of the token
 * on the stack. */
char *represent_hold(struct slice name, struct slice token, const struct hold *hold)
{
    struct slice realm, owner = represent_name_of(hold->owner, &realm);
    bool is_usual = hold->limit == 0 && hold->at_least_ms == 0 && hold->max_held_ms == 0;
    if (!is_usual || !is_plain(name) || !is_plain(owner))
        return dump_line(represent_hold_document(name, token, hold));
    char *text = memory_checked(malloc(name.length + token.length + owner.length + HOLD_REST));
    char *at = represent_put(stpcpy(text, "{\"name\":\""), name);
    at = represent_put(stpcpy(at, "\",\"token\":\""), token);
    at = represent_put(stpcpy(at, "\",\"owner\":\""), owner);
    at = stpcpy(stpcpy(at, "\",\"mode\":\""), mode_name(hold->mode));
    at = decimal_put(stpcpy(at, "\",\"fence\":"), hold->fence);
    at = decimal_put(stpcpy(at, ",\"ttl_ms\":"), hold->ttl_ms);
    at = decimal_put(stpcpy(at, ",\"holds\":"), hold->holds);
    stpcpy(at, "}\n");
    return text;
}

json_t *represent_release_document(struct slice name, const struct release *release)
{
    json_t *object = required(json_object());
    represent_set(object, "name", represent_text(name));
    represent_set(object, "released", json_boolean(!release->cancelled));
    if (release->cancelled) {
        represent_set(object, "cancelled", json_true());
        return object;
    }
    represent_set(object, "fence", json_integer(release->fence));
    represent_set(object, "held_ms", json_integer(release->held_ms));
    represent_set(object, "holds", json_integer(release->holds));
    set_number(object, "free_in_ms", release->free_in_ms);
    return object;
}

/* Written directly, for the same reason as a hold: a waiting client may get its answer next. */
char *represent_release(struct slice name, const struct release *release)
{
    if (release->cancelled || release->free_in_ms > 0 || !is_plain(name))
        return dump_line(represent_release_document(name, release));
    char *text = memory_checked(malloc(name.length + RELEASE_REST));
    char *at = represent_put(stpcpy(text, "{\"name\":\""), name);
    at = decimal_put(stpcpy(at, "\",\"released\":true,\"fence\":"), release->fence);
    at = decimal_put(stpcpy(at, ",\"held_ms\":"), release->held_ms);
    at = decimal_put(stpcpy(at, ",\"holds\":"), release->holds);
    stpcpy(at, "}\n");
    return text;
}

/* The holder's meta, which was checked when it came in; null if it gave none. */
static json_t *meta(struct slice text)
{
    json_t *object = text.length > 0 ? dump_verbatim(text) : NULL;
    return object ? object : json_null();
}

/* A holder or waiter as others see it: its owner, its principal, its client's address and its mode.
 */
static json_t *represent_other(struct slice stored_owner, struct slice client, enum lock_mode mode)
{
    json_t *object = required(json_object());
    struct slice realm, owner = represent_name_of(stored_owner, &realm);
    represent_set(object, "owner", represent_text(owner));
    set_known(object, "principal", realm);
    set_known(object, "client", client);
    represent_set(object, "mode", json_string(mode_name(mode)));
    return object;
}

static json_t *represent_holder(const struct holder *holder)
{
    json_t *object = represent_other(holder->owner, holder->client, holder->mode);
    represent_set(object, "fence", json_integer(holder->fence));
    represent_set(object, "ttl_ms", json_integer(holder->ttl_ms));
    represent_set(object, "held_ms", json_integer(holder->held_ms));
    represent_set(object, "since", represent_moment(holder->since_us));
    if (holder->released)
        represent_set(object, "released", json_true());
    if (holder->permits > 1)
        set_number(object, "permits", holder->permits);
    set_number(object, "at_least_ms", holder->at_least_ms);
    set_number(object, "max_held_ms", holder->max_held_ms);
    represent_set(object, "meta", meta(holder->meta));
    return object;
}

json_t *represent_holders(const struct lock_view *view)
{
    json_t *array = required(json_array());
    for (size_t i = 0; i < view->holder_count; i++)
        if (json_array_append_new(array, represent_holder(&view->holders[i])) < 0)
            abort();
    return array;
}

static json_t *represent_waiters(const struct lock_view *view)
{
    json_t *array = required(json_array());
    struct waiter_view waiter;
    for (size_t i = 0; locks_waiter(view, i, &waiter); i++) {
        json_t *object = represent_other(waiter.owner, waiter.client, waiter.mode);
        represent_set(object, "waited_ms", json_integer(waiter.waited_ms));
        represent_set(object, "since", represent_moment(waiter.since_us));
        if (json_array_append_new(array, object) < 0)
            abort();
    }
    return array;
}

static json_t *represent_breaker(const struct breaker *breaker)
{
    json_t *object = required(json_object());
    set_known(object, "principal", breaker->principal);
    set_known(object, "client", breaker->client);
    set_known(object, "reason", breaker->reason);
    return object;
}

json_t *represent_end(const struct hold_end *end)
{
    if (end->fence == 0)
        return json_null();
    struct slice realm, owner = represent_name_of(end->owner, &realm);
    json_t *object = required(json_object());
    represent_set(object, "fence", json_integer(end->fence));
    set_known(object, "owner", owner);
    set_known(object, "principal", realm);
    represent_set(object, "reason", represent_text(end->reason));
    represent_set(object, "ago_ms", json_integer(end->ago_ms));
    if (slice_equals(end->reason, "forced"))
        represent_set(object, "broken", represent_breaker(&end->breaker));
    return object;
}

json_t *represent_view(struct slice name, const struct lock_view *view)
{
    json_t *object = required(json_object());
    represent_set(object, "name", represent_text(name));
    represent_set(object, "state", json_string(view->hold_count > 0 ? "held" : "free"));
    represent_set(object, "version", json_integer(view->version));
    represent_set(object, "hold_count", json_integer(view->hold_count));
    represent_set(object, "holders", represent_holders(view));
    represent_set(object, "queue_length", json_integer(view->queue_length));
    represent_set(object, "waiters", represent_waiters(view));
    represent_set(object, "last_release", represent_end(&view->last_release));
    set_number(object, "limit", view->limit);
    if (view->limit > 0)
        set_number(object, "taken", view->hold_count + view->extra_permits);
    return object;
}

void represent_position(json_t *document, const struct lock_view *view)
{
    if (view->position > 0)
        represent_set(document, "position", json_integer(view->position));
}

json_t *represent_view_for(const struct exchange *exchange, const struct lock_view *view)
{
    json_t *object = represent_view(exchange->name, view);
    if (field_given(&exchange->parameters, FIELD_LOCK_TOKEN))
        represent_set(object, "mine", json_boolean(view->mine));
    represent_position(object, view);
    return object;
}

void reply_view_line(struct exchange *exchange, const struct lock_view *view)
{
    char text[STATE_TEXT], standing[STANDING_TEXT] = "";
    state_text(view, text);
    if (view->position > 0)
        snprintf(standing, sizeof standing, "; this token is number %lld in the queue",
                 (long long)view->position);
    else if (field_given(&exchange->parameters, FIELD_LOCK_TOKEN))
        strcpy(standing, view->mine ? "; this token holds it" : "; this token does not hold it");
    reply_text(exchange, 200, text_line("%s%s", text, standing));
}
