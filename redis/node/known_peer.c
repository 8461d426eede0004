#include "redis/node/known_peer.h"

#include "redis/wire/server_info.h"

#include <stdio.h>
#include <string.h>

static void known_peer_fill(struct store_peer *peer, const struct server_info *info)
{
    snprintf(peer->run_id, sizeof peer->run_id, "%s", info->run_id);
    snprintf(peer->history, sizeof peer->history, "%s", info->history);
    snprintf(peer->history_before, sizeof peer->history_before, "%s", info->history_before);
    peer->up_s = info->up_s;
    peer->replicas = info->replicas;
}

int64_t known_peer_note(struct known_peer *known, const struct session_peer *peer,
                        const char *place)
{
    bool is_same_run = peer->info->run_id[0] && strcmp(peer->info->run_id, known->peer.run_id) == 0;
    int64_t before = is_same_run ? known->client_id : 0;
    known->connects++;
    known->switches += known->place[0] && strcmp(known->place, place) != 0;
    snprintf(known->place, sizeof known->place, "%s", place);
    known->client_id = peer->client_id;
    known_peer_fill(&known->peer, peer->info);
    return before;
}
