#include "redis/node/link_server.h"

#include "redis/wire/server_info.h"

#include <stdio.h>
#include <string.h>

static void link_server_note_peer(struct store_peer *peer, const struct server_info *info)
{
    snprintf(peer->run_id, sizeof peer->run_id, "%s", info->run_id);
    snprintf(peer->history, sizeof peer->history, "%s", info->history);
    snprintf(peer->history_before, sizeof peer->history_before, "%s", info->history_before);
    peer->up_s = info->up_s;
    peer->replicas = info->replicas;
}

int64_t link_server_note(struct link_server *server, const struct session_peer *peer,
                         const char *place)
{
    bool is_same_run =
        peer->info->run_id[0] && strcmp(peer->info->run_id, server->peer.run_id) == 0;
    int64_t before = is_same_run ? server->client_id : 0;
    server->connects++;
    server->switches += server->place[0] && strcmp(server->place, place) != 0;
    snprintf(server->place, sizeof server->place, "%s", place);
    server->client_id = peer->client_id;
    link_server_note_peer(&server->peer, peer->info);
    return before;
}
