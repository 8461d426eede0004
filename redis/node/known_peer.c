#include "redis/node/known_peer.h"

#include "redis/wire/server_info.h"

#include <stdio.h>
#include <string.h>

int64_t known_peer_note(struct known_peer *known, const struct session_peer *peer,
                        const char *place)
{
    const char *run_id = peer->info->peer.run_id;
    bool is_same_run = run_id[0] && strcmp(run_id, known->peer.run_id) == 0;
    int64_t before = is_same_run ? known->client_id : 0;
    known->connects++;
    known->switches += known->place[0] && strcmp(known->place, place) != 0;
    snprintf(known->place, sizeof known->place, "%s", place);
    known->client_id = peer->client_id;
    known->peer = peer->info->peer;
    return before;
}
