#include "redis/wire/counterpart.h"

#include "redis/wire/facts.h"

#include <stdio.h>
#include <string.h>

static void counterpart_note_peer(struct store_peer *peer, const struct facts *facts)
{
    snprintf(peer->run_id, sizeof peer->run_id, "%s", facts->run_id);
    snprintf(peer->history, sizeof peer->history, "%s", facts->history);
    snprintf(peer->history_before, sizeof peer->history_before, "%s", facts->history_before);
    peer->up_s = facts->up_s;
    peer->replicas = facts->replicas;
}

int64_t counterpart_note(struct counterpart *counterpart, const struct session_peer *peer,
                         const char *place)
{
    bool is_same_run = peer->run_id[0] && strcmp(peer->run_id, counterpart->peer.run_id) == 0;
    int64_t before = is_same_run ? counterpart->client_id : 0;
    counterpart->connects++;
    counterpart->switches += counterpart->place[0] && strcmp(counterpart->place, place) != 0;
    snprintf(counterpart->place, sizeof counterpart->place, "%s", place);
    counterpart->client_id = peer->client_id;
    counterpart_note_peer(&counterpart->peer, peer->facts);
    return before;
}
