#include "redis/cluster/member.h"

#include <stdio.h>
#include <stdlib.h>

enum { KEY_SIZE = sizeof((struct failure *)0)->text };

struct member {
    const struct cluster *cluster;
    struct part_options options;
    struct part *part;
    struct inbox *ear; /* hears of changed keys; NULL: nobody has asked so far */
    bool tracks;
    bool is_marked;
    unsigned marked_slot;
    int open; /* the part and the ear */
    void (*closed)(void *context);
    void *closed_context;
};

/* The ear */

static void ear_listening(void *context)
{
    struct member *member = context;
    part_heard_by(member->part, member->ear);
}

static void ear_message(void *context, struct slice text)
{
    (void)context, (void)text; /* it has subscribed to no channel */
}

static void ear_touched(void *context, struct slice key)
{
    const struct member *member = context;
    member->options.events.touched(member->options.events.context, key);
}

static void ear_lost(void *context, const char *reason)
{
    (void)context, (void)reason; /* what is missed meanwhile, the part's tracking knows */
}

static void open_ear(struct member *member)
{
    const struct inbox_events events = {
        .context = member,
        .listening = ear_listening,
        .message = ear_message,
        .touched = ear_touched,
        .lost = ear_lost,
    };
    const struct part_options *options = &member->options;
    if (!member->ear && inbox_open(&member->ear, options->loop, options->url, options->guide,
                                   (struct slice){NULL, 0}, &events) == 0)
        member->open++;
}

void member_track(struct member *member, struct slice prefix)
{
    open_ear(member);
    member->tracks = true;
    part_track(member->part, prefix);
}

void member_untrack(struct member *member)
{
    if (member->tracks)
        part_untrack(member->part);
    member->tracks = false;
}

bool member_tracks(const struct member *member)
{
    return member->tracks;
}

/* The marker */

void member_mark(struct member *member, const char *marker, int replicas)
{
    char tag[SLOT_TAG_SIZE], key[KEY_SIZE];
    unsigned before = member->is_marked ? member->marked_slot : SLOT_COUNT - 1;
    unsigned slot = cluster_next_slot(member->cluster, member->options.number, before);
    if (slot == SLOT_COUNT)
        return;
    slot_tag(slot, tag);
    snprintf(key, sizeof key, "%s:{%s}", marker, tag);
    member->is_marked = true;
    member->marked_slot = slot;
    part_expect_replicas(member->part, slice_of(key), replicas);
}

bool member_is_marked(const struct member *member)
{
    return member->is_marked &&
           cluster_owner(member->cluster, member->marked_slot) == member->options.number;
}

struct part *member_part(const struct member *member)
{
    return member->part;
}

struct link *member_link(const struct member *member)
{
    return part_link(member->part);
}

/* The beginning and the end */

int member_open(struct member **ret, const struct cluster *cluster,
                const struct part_options *options)
{
    struct member *member = calloc(1, sizeof *member);
    if (!member)
        abort();
    member->cluster = cluster;
    member->options = *options;
    member->open = 1;
    int result = part_open(&member->part, options);
    if (result < 0) {
        free(member);
        return result;
    }
    *ret = member;
    return 0;
}

static void on_one_closed(void *context)
{
    struct member *member = context;
    if (--member->open > 0)
        return;
    void (*closed)(void *context) = member->closed;
    void *closed_context = member->closed_context;
    free(member);
    closed(closed_context);
}

void member_close(struct member *member, void (*closed)(void *context), void *context)
{
    member->closed = closed;
    member->closed_context = context;
    if (member->ear)
        inbox_close(member->ear, on_one_closed, member);
    part_close(member->part, on_one_closed, member);
}
