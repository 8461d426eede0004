#include "locks/quorum/fan.h"

#include "locks/quorum/majority.h"

enum { NS_PER_MS = 1000000 };

static struct fans *fans_of(const struct fan *fan)
{
    return majority_fans(fan->locks);
}

static void on_due(uv_timer_t *timer);

static void plan(struct fans *fans)
{
    const struct fan *first = fans->first;
    if (!first) {
        uv_timer_stop(&fans->timer);
        return;
    }
    uint64_t now = uv_now(fans->timer.loop);
    uv_timer_start(&fans->timer, on_due, first->due > now ? first->due - now : 0, 0);
}

static void append(struct fans *fans, struct fan *fan)
{
    fan->next = NULL;
    fan->previous = fans->last;
    if (fans->last)
        fans->last->next = fan;
    else
        fans->first = fan;
    fans->last = fan;
}

static void detach(struct fans *fans, struct fan *fan)
{
    if (fan->previous)
        fan->previous->next = fan->next;
    else
        fans->first = fan->next;
    if (fan->next)
        fan->next->previous = fan->previous;
    else
        fans->last = fan->previous;
}

static void look(struct fan *fan, bool is_last)
{
    if (fan->is_decided || !fan->kind->decide(fan, is_last))
        return;
    fan->is_decided = true;
    detach(fans_of(fan), fan);
    if (!fans_of(fan)->first)
        plan(fans_of(fan));
}

/* When this process was held up itself, answers may lie in the sockets that have come in time: the
 * loop is let go on once. */
static void on_due(uv_timer_t *timer)
{
    struct fans *fans = timer->data;
    struct fan *fan = fans->first;
    while (fan && fan->due <= uv_now(timer->loop)) {
        struct fan *next = fan->next;
        if (!fan->is_late) {
            fan->is_late = true;
            fan->due = uv_now(timer->loop) + 1;
        } else {
            look(fan, true);
        }
        fan = next;
    }
    plan(fans);
}

void fan_begin(struct fan *fan, struct locks *locks, const struct fan_kind *kind)
{
    struct fans *fans = majority_fans(locks);
    *fan = (struct fan){.kind = kind, .locks = locks, .sent = uv_hrtime()};
    fan->due = uv_now(locks->loop) + FAN_PATIENCE_MS;
    for (unsigned i = 0; i < BALLOT_MEMBERS; i++)
        fan->legs[i].fan = fan;
    append(fans, fan);
    if (!fan->previous)
        plan(fans);
}

void fan_answered(void *context, const struct store_result *result)
{
    struct fan_leg *leg = context;
    struct fan *fan = leg->fan;
    fan->kind->hear(fan, (unsigned)(leg - fan->legs), result);
    fan->open--;
    look(fan, fan->open == 0);
    if (fan->open == 0)
        fan->kind->end(fan);
}

/* Of whom it was too slow for nothing is asked any more once all is decided: whoever was told has
 * gone on since, and what a renewal or a break would find there then may be another hold, or have
 * been renewed for longer. */
static bool is_open(const void *context)
{
    const struct fan_leg *leg = context;
    return !leg->fan->is_decided;
}

void fan_send(struct fan *fan, unsigned member, const struct script *script, struct slice key,
              const struct slice *arguments, size_t argument_count)
{
    static const struct ask_events EVENTS = {is_open, fan_answered};
    fan->open++;
    ask_redis_at_while(fan->locks, member, &EVENTS, script, key, arguments, argument_count,
                       &fan->legs[member]);
}

void fan_send_all(struct fan *fan, const struct script *script, struct slice key,
                  const struct slice *arguments, size_t argument_count)
{
    unsigned members = store_part_count(fan->locks->store);
    for (unsigned i = 0; i < members; i++)
        fan_send(fan, i, script, key, arguments, argument_count);
}

int64_t fan_elapsed(const struct fan *fan)
{
    return (int64_t)((uv_hrtime() - fan->sent + NS_PER_MS - 1) / NS_PER_MS);
}

enum vote_kind fan_silence(const struct store_result *result)
{
    bool is_sure = result->outcome == STORE_UNSENT || result->outcome == STORE_REFUSED ||
                   result->outcome == STORE_LATE;
    return is_sure ? VOTE_AWAY : VOTE_DOUBT;
}

void fans_open(struct locks *locks, struct fans *fans)
{
    fans->locks = locks;
    uv_timer_init(locks->loop, &fans->timer);
    fans->timer.data = fans;
}

void fans_close(struct fans *fans, uv_close_cb closed)
{
    uv_close((uv_handle_t *)&fans->timer, closed);
}
