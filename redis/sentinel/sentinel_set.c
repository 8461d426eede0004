#include "redis/sentinel/sentinel_set.h"

#include <errno.h>
#include <string.h>

static bool sentinel_set_is_same(const struct sentinel_client *client,
                                 const struct sentinel_client *other)
{
    bool counts = !other->is_dropped && !other->is_left_out;
    return counts && client->id[0] && strcmp(other->id, client->id) == 0;
}

bool sentinel_set_is_twin(const struct sentinel_client *clients,
                          const struct sentinel_client *client)
{
    bool is_before = true;
    for (const struct sentinel_client *other = clients; other; other = other->next) {
        bool is_as_good = sentinel_client_answers(other) == sentinel_client_answers(client);
        if (other == client)
            is_before = false;
        else if (sentinel_set_is_same(client, other) &&
                 (is_as_good ? is_before : sentinel_client_answers(other)))
            return true;
    }
    return false;
}

static bool sentinel_set_counts(const struct sentinel_client *clients,
                                const struct sentinel_client *client)
{
    return !client->is_dropped && !client->is_left_out && !sentinel_set_is_twin(clients, client);
}

/* The next sentinel that counts, from `client` on. */
static const struct sentinel_client *next_counted(const struct sentinel_client *clients,
                                                  const struct sentinel_client *client)
{
    while (client && !sentinel_set_counts(clients, client))
        client = client->next;
    return client;
}

/* Counts only answers with a vote: a sentinel that does not know the primary names no other
 * sentinel. */
static bool most_answer(const struct sentinel_client *clients)
{
    size_t sentinels = 0, answer = 0;
    const struct sentinel_client *client = next_counted(clients, clients);
    for (; client; client = next_counted(clients, client->next)) {
        sentinels++;
        answer += client->has_vote;
    }
    return answer > sentinels / 2;
}

void sentinel_set_renew(struct sentinel_client *clients, uint64_t now)
{
    if (!most_answer(clients))
        return;
    for (struct sentinel_client *client = clients; client; client = client->next)
        client->is_left_out |=
            !sentinel_client_answers(client) && now - client->mentioned >= SENTINEL_SET_FORGET_MS;
}

static void tally_add(struct sentinel_tally *tally, const struct sentinel_client *client)
{
    tally->sentinels++;
    tally->all_settled &= client->is_settled;
    tally->strangers += client->knows_no_such_name;
    if (client->has_vote)
        tally->votes[tally->count++] = &client->vote;
    if (sentinel_client_answers(client))
        return;
    if (!tally->worst || (client->code == -EPROTO && tally->worst->code != -EPROTO))
        tally->worst = client;
    tally->all_need_mending &= client->code == -EPROTO;
}

struct sentinel_tally sentinel_set_tally(const struct sentinel_client *clients)
{
    struct sentinel_tally tally = {.all_settled = true, .all_need_mending = true};
    const struct sentinel_client *client = next_counted(clients, clients);
    for (; client; client = next_counted(clients, client->next))
        tally_add(&tally, client);
    return tally;
}

uint64_t sentinel_set_named(const struct sentinel_client *clients, const struct vote *primary)
{
    uint64_t named[SENTINELS_MOST]; /* the latest first */
    size_t count = 0, sentinels = 0;
    const struct sentinel_client *client = next_counted(clients, clients);
    for (; client; client = next_counted(clients, client->next)) {
        sentinels++;
        if (!client->voted || !vote_equals(&client->vote, primary))
            continue;
        size_t at = count++;
        for (; at > 0 && named[at - 1] < client->voted; at--)
            named[at] = named[at - 1];
        named[at] = client->voted;
    }
    return count > sentinels / 2 ? named[sentinels / 2] : 0;
}
