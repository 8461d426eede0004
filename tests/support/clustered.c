#include "tests/support/clustered.h"

#include "tests/support/clock.h"
#include "tests/support/cmocka.h"
#include "tests/support/free_port.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CALM_MS = CLOCK_HANG_MS,
    ANSWER_MS = 30000,
    PATIENT_MS = 60000,
    LOOK_MS = 20,
    MIGRATE_MS = 1000,
    AGAIN_MS = 2500,
    NOBODY = 255,
    SET_SLOT_TRIES = 3
};

static bool runs(const struct clustered *clustered, int node)
{
    return clustered->nodes[node].process.pid != 0 && !clustered->frozen[node];
}

static const char *address_of(const struct clustered *clustered, int node)
{
    return clustered->options.hosts ? hosts_address(node) : "127.0.0.1";
}

static void hang_up(struct clustered *clustered, int node)
{
    if (clustered->links[node])
        redisFree(clustered->links[node]);
    clustered->links[node] = NULL;
}

static redisContext *link_to(struct clustered *clustered, int node)
{
    struct timeval limit = {.tv_sec = ANSWER_MS / 1000};
    if (clustered->links[node] && clustered->links[node]->err)
        hang_up(clustered, node);
    if (clustered->links[node])
        return clustered->links[node];
    redisContext *link = redisConnectUnixWithTimeout(clustered->nodes[node].socket, limit);
    clustered->links[node] = link;
    if (!link || link->err)
        return NULL;
    redisSetTimeout(link, limit);
    if (clustered->options.password)
        freeReplyObject(redisCommand(link, "AUTH %s", clustered->options.password));
    return link;
}

/* NULL where nobody answers. */
static redisReply *try_to_ask(struct clustered *clustered, int node, const char *command)
{
    redisContext *link = runs(clustered, node) ? link_to(clustered, node) : NULL;
    return link ? redisCommand(link, command) : NULL;
}

redisReply *clustered_ask(struct clustered *clustered, int node, const char *format, ...)
{
    char command[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(command, sizeof command, format, arguments);
    va_end(arguments);
    redisReply *reply = try_to_ask(clustered, node, command);
    if (!reply)
        fail_msg("node %d does not answer to %s", node, command);
    if (reply->type == REDIS_REPLY_ERROR)
        fail_msg("node %d: %s: %s", node, command, reply->str);
    return reply;
}

/* For an answer that is of no interest. */
#define clustered_command(...) freeReplyObject(clustered_ask(__VA_ARGS__))

int clustered_slot(const char *key)
{
    const char *open = strchr(key, '{'), *close = open ? strchr(open, '}') : NULL;
    bool has_tag = close && close > open + 1;
    const char *at = has_tag ? open + 1 : key, *end = has_tag ? close : key + strlen(key);
    unsigned crc = 0; /* CRC-16/XMODEM */
    for (; at < end; at++) {
        crc ^= (unsigned)(unsigned char)*at << 8;
        for (int bit = 0; bit < 8; bit++)
            crc = (crc << 1 ^ (crc & 0x8000 ? 0x1021 : 0)) & 0xffff;
    }
    return (int)(crc % CLUSTERED_SLOTS);
}

/* By the primary's id in a range of CLUSTER SLOTS. */
static int node_at(const struct clustered *clustered, const redisReply *range)
{
    for (int i = 0; i < clustered->count; i++)
        if (strcmp(range->element[2]->element[2]->str, clustered->ids[i]) == 0)
            return i;
    return -1;
}

/* Who serves what, as the witness sees it; NOBODY: nobody. False where it does not answer. */
static bool see(struct clustered *clustered, int witness, unsigned char primaries[CLUSTERED_SLOTS])
{
    memset(primaries, NOBODY, CLUSTERED_SLOTS);
    redisReply *reply = try_to_ask(clustered, witness, "CLUSTER SLOTS");
    bool answers = reply && reply->type == REDIS_REPLY_ARRAY;
    for (size_t i = 0; answers && i < reply->elements; i++) {
        const redisReply *range = reply->element[i];
        int node = node_at(clustered, range);
        for (long long slot = range->element[0]->integer; slot <= range->element[1]->integer;
             slot++)
            primaries[slot] = (unsigned char)node;
    }
    freeReplyObject(reply);
    return answers;
}

int clustered_view(struct clustered *clustered, int witness, int slot)
{
    unsigned char primaries[CLUSTERED_SLOTS];
    bool served = see(clustered, witness, primaries) && primaries[slot] != NOBODY;
    return served ? primaries[slot] : -1;
}

int clustered_primary(struct clustered *clustered, int slot)
{
    for (int witness = 0; witness < clustered->count; witness++) {
        int node = clustered_view(clustered, witness, slot);
        if (node >= 0)
            return node;
    }
    fail_msg("nobody serves slot %d", slot);
    return -1;
}

static bool text_has(struct clustered *clustered, int node, const char *command, const char *word)
{
    redisReply *reply = try_to_ask(clustered, node, command);
    bool has = reply && reply->type == REDIS_REPLY_STRING && strstr(reply->str, word);
    freeReplyObject(reply);
    return has;
}

static bool is_replica(struct clustered *clustered, int node)
{
    return text_has(clustered, node, "INFO replication", "role:slave");
}

int clustered_replica(struct clustered *clustered, int primary)
{
    char place[80];
    int found = -1;
    int port_of = clustered->tls_ports[primary] ? clustered->tls_ports[primary]
                                                : clustered->nodes[primary].port;
    snprintf(place, sizeof place, "\nmaster_host:%s\r\nmaster_port:%d\r",
             address_of(clustered, primary), port_of);
    for (int i = 0; found < 0 && i < clustered->count; i++)
        if (is_replica(clustered, i) && text_has(clustered, i, "INFO replication", place))
            found = i;
    return found;
}

static bool answers(struct clustered *clustered, int node)
{
    redisReply *reply = try_to_ask(clustered, node, "PING");
    freeReplyObject(reply);
    return reply != NULL;
}

/* The latest epoch that the node has heard of. */
static long epoch_of(struct clustered *clustered, int node)
{
    static const char NAME[] = "cluster_current_epoch:";
    redisReply *reply = try_to_ask(clustered, node, "CLUSTER INFO");
    bool has_text = reply && reply->type == REDIS_REPLY_STRING;
    const char *found = has_text ? strstr(reply->str, NAME) : NULL;
    long epoch = found ? strtol(found + strlen(NAME), NULL, 10) : -1;
    freeReplyObject(reply);
    return epoch;
}

/* Whether each that answers says that all is well, and they agree. */
static bool agree(struct clustered *clustered)
{
    unsigned char first[CLUSTERED_SLOTS] = {0}, own[CLUSTERED_SLOTS] = {0};
    bool has_first = false;
    long epoch = -1;
    for (int i = 0; i < clustered->count; i++) {
        unsigned char *primaries = has_first ? own : first;
        if (!answers(clustered, i))
            continue;
        if (!text_has(clustered, i, "CLUSTER INFO", "cluster_state:ok") ||
            !see(clustered, i, primaries))
            return false;
        if (has_first && (memcmp(first, own, sizeof own) != 0 || epoch_of(clustered, i) != epoch))
            return false;
        if (!has_first)
            epoch = epoch_of(clustered, i);
        has_first = true;
    }
    return has_first && !memchr(first, NOBODY, sizeof first);
}

static bool is_calm(void *context)
{
    struct clustered *clustered = context;
    clock_sleep_ms(LOOK_MS);
    for (int i = 0; i < clustered->count; i++)
        if (is_replica(clustered, i) &&
            !text_has(clustered, i, "INFO replication", "master_link_status:up"))
            return false;
    return agree(clustered);
}

void clustered_await_calm(struct clustered *clustered)
{
    if (!clock_wait_until(is_calm, clustered, CALM_MS))
        fail_msg("the nodes do not agree");
}

struct change {
    struct clustered *clustered;
    int slot, old;
};

static bool has_changed(void *context)
{
    struct change *change = context;
    clock_sleep_ms(LOOK_MS);
    for (int i = 0; i < change->clustered->count; i++)
        if (answers(change->clustered, i) &&
            clustered_view(change->clustered, i, change->slot) == change->old)
            return false;
    return agree(change->clustered);
}

int clustered_await_other(struct clustered *clustered, int slot, int old)
{
    struct change change = {clustered, slot, old};
    if (!clock_wait_until(has_changed, &change, CALM_MS))
        fail_msg("nobody takes the place of node %d", old);
    return clustered_primary(clustered, slot);
}

struct promotion {
    struct clustered *clustered;
    int node;
    int64_t asked;
};

/* Nobody votes twice within two seconds for the place of one primary: then it is asked for again.
 */
static bool is_promoted(void *context)
{
    struct promotion *promotion = context;
    if (clock_ms() - promotion->asked > AGAIN_MS) {
        clustered_command(promotion->clustered, promotion->node, "CLUSTER FAILOVER");
        promotion->asked = clock_ms();
    }
    clock_sleep_ms(LOOK_MS);
    return text_has(promotion->clustered, promotion->node, "INFO replication", "role:master");
}

void clustered_fail_over(struct clustered *clustered, int replica)
{
    struct promotion promotion = {clustered, replica, 0};
    if (!clock_wait_until(is_promoted, &promotion, CALM_MS))
        fail_msg("node %d is not promoted", replica);
}

void clustered_kill(struct clustered *clustered, int node)
{
    hang_up(clustered, node);
    redis_process_kill(&clustered->nodes[node]);
    clustered->frozen[node] = false;
}

void clustered_freeze(struct clustered *clustered, int node)
{
    hang_up(clustered, node);
    redis_process_freeze(&clustered->nodes[node]);
    clustered->frozen[node] = true;
}

void clustered_thaw(struct clustered *clustered, int node)
{
    redis_process_thaw(&clustered->nodes[node]);
    clustered->frozen[node] = false;
}

/* The value of a field of what CLUSTER LINKS says of one link. */
static const char *link_field(const redisReply *link, const char *name)
{
    for (size_t i = 0; i + 1 < link->elements; i += 2)
        if (strcmp(link->element[i]->str, name) == 0)
            return link->element[i + 1]->str;
    return "";
}

/* One that is broken already must not be named. */
void clustered_break_links(struct clustered *clustered)
{
    for (int from = 0; from < CLUSTERED_PRIMARIES; from++) {
        redisReply *links = clustered_ask(clustered, from, "CLUSTER LINKS");
        for (size_t i = 0; i < links->elements; i++)
            if (strcmp(link_field(links->element[i], "direction"), "to") == 0)
                freeReplyObject(clustered_ask(clustered, from, "DEBUG CLUSTERLINK KILL to %s",
                                              link_field(links->element[i], "node")));
        freeReplyObject(links);
    }
}

/* The link that redis_process makes has no limit to what it waits for. */
static void disconnect(struct redis_process *node)
{
    redisFree(node->link);
    node->link = NULL;
}

static void enter(const struct clustered *clustered, int node)
{
    if (clustered->options.hosts)
        hosts_enter(clustered->options.hosts, node);
}

static void leave(const struct clustered *clustered)
{
    if (clustered->options.hosts)
        hosts_leave(clustered->options.hosts);
}

void clustered_resume(struct clustered *clustered, int node)
{
    enter(clustered, node);
    redis_process_resume(&clustered->nodes[node]);
    leave(clustered);
    disconnect(&clustered->nodes[node]);
}

static int port_for_nodes(const struct clustered *clustered, int node)
{
    return clustered->options.tls ? clustered->tls_ports[node] : clustered->nodes[node].port;
}

static void add_arguments(struct clustered *clustered, int node, const char *const *more)
{
    size_t count = 0, most = sizeof clustered->arguments[node] / sizeof(char *);
    while (clustered->arguments[node][count])
        count++;
    for (; *more && count + 1 < most; more++)
        clustered->arguments[node][count++] = *more;
}

#define ARGUMENTS(...) add_arguments(clustered, node, (const char *const[]){__VA_ARGS__, NULL})

/* The nodes talk to one another above the port for TLS then. */
static void arrange_tls(struct clustered *clustered, int node)
{
    char *port = clustered->tls_port_texts[node];
    clustered->tls_ports[node] = free_port_pair(REDIS_BUS);
    snprintf(port, sizeof clustered->tls_port_texts[node], "%d", clustered->tls_ports[node]);
    ARGUMENTS("--tls-port", port, "--tls-cluster", "yes", "--tls-replication", "yes");
    ARGUMENTS("--tls-auth-clients", "no", "--tls-cert-file", clustered->certificate.file);
    ARGUMENTS("--tls-key-file", clustered->certificate.key, "--tls-ca-cert-file",
              clustered->authority.file);
}

/* A quick death, and replicas that stay with their primary. */
static void arrange(struct clustered *clustered, int node)
{
    const struct clustered_options *options = &clustered->options;
    ARGUMENTS("--cluster-node-timeout", "1000", "--cluster-migration-barrier", "10");
    ARGUMENTS("--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1");
    ARGUMENTS("--enable-debug-command", "local"); /* tests break the links between nodes */
    ARGUMENTS("--cluster-require-full-coverage", options->partial ? "no" : "yes");
    if (options->hosts)
        ARGUMENTS("--bind", hosts_address(node), "--protected-mode", "no");
    if (options->password)
        ARGUMENTS("--requirepass", options->password, "--masterauth", options->password);
    if (options->tls)
        arrange_tls(clustered, node);
}

static int launch(struct clustered *clustered)
{
    int node = clustered->count++;
    assert_true(node < CLUSTERED_MOST);
    arrange(clustered, node);
    enter(clustered, node);
    redis_process_start(&clustered->nodes[node],
                        &(struct redis_options){
                            .cluster = true,
                            .arguments = clustered->arguments[node],
                            .environment = clustered->options.environment[node],
                        });
    leave(clustered);
    disconnect(&clustered->nodes[node]);
    redisReply *id = clustered_ask(clustered, node, "CLUSTER MYID");
    snprintf(clustered->ids[node], sizeof clustered->ids[node], "%s", id->str);
    freeReplyObject(id);
    clustered_command(clustered, node, "CLUSTER SET-CONFIG-EPOCH %d", node + 1);
    return node;
}

static bool knows_all(struct clustered *clustered, int node)
{
    redisReply *nodes = try_to_ask(clustered, node, "CLUSTER NODES");
    bool all = nodes && nodes->type == REDIS_REPLY_STRING && !strstr(nodes->str, "handshake");
    for (int i = 0; all && i < clustered->count; i++)
        all = !runs(clustered, i) || strstr(nodes->str, clustered->ids[i]);
    freeReplyObject(nodes);
    return all;
}

static bool all_know_all(void *context)
{
    struct clustered *clustered = context;
    bool all = true;
    for (int i = 0; all && i < clustered->count; i++)
        all = !runs(clustered, i) || knows_all(clustered, i);
    if (!all)
        clock_sleep_ms(LOOK_MS);
    return all;
}

/* Each pair of them, which is quicker than by hearsay. */
static void introduce(struct clustered *clustered, int node)
{
    for (int i = 0; i < node; i++)
        if (runs(clustered, i))
            clustered_command(clustered, node, "CLUSTER MEET %s %d", address_of(clustered, i),
                              port_for_nodes(clustered, i));
}

static void assign(struct clustered *clustered, int node)
{
    int first = node * CLUSTERED_SLOTS / CLUSTERED_PRIMARIES;
    int last = (node + 1) * CLUSTERED_SLOTS / CLUSTERED_PRIMARIES;
    const char *words[CLUSTERED_SLOTS + 2] = {"CLUSTER", "ADDSLOTS"};
    char(*numbers)[12] = calloc(CLUSTERED_SLOTS, sizeof *numbers);
    for (int slot = first; slot < last; slot++) {
        snprintf(numbers[slot], sizeof numbers[slot], "%d", slot);
        words[2 + slot - first] = numbers[slot];
    }
    redisReply *reply = redisCommandArgv(link_to(clustered, node), 2 + last - first, words, NULL);
    if (!reply || reply->type != REDIS_REPLY_STATUS)
        fail_msg("node %d takes no slots", node);
    freeReplyObject(reply);
    free(numbers);
}

static void make_certificates(struct clustered *clustered)
{
    temp_dir_make(&clustered->certificates);
    certificate_make(&clustered->authority, &clustered->certificates, "authority",
                     &(struct certificate_options){.authority = true});
    certificate_make(
        &clustered->certificate, &clustered->certificates, "redis",
        &(struct certificate_options){.issuer = &clustered->authority, .names = "IP:127.0.0.1"});
}

static void write_url(struct clustered *clustered)
{
    const struct clustered_options *options = &clustered->options;
    int length = snprintf(clustered->url, sizeof clustered->url, "%s+cluster://%s%s%s",
                          options->tls ? "rediss" : "redis", options->password ? ":" : "",
                          options->password ? options->password : "", options->password ? "@" : "");
    for (int i = 0; i < clustered->count; i++)
        length +=
            snprintf(clustered->url + length, sizeof clustered->url - (size_t)length, "%s%s:%d",
                     i ? "," : "", address_of(clustered, i), port_for_nodes(clustered, i));
}

static bool replicas_are_known(void *context)
{
    struct clustered *clustered = context;
    size_t each = clustered->count > CLUSTERED_PRIMARIES ? 4 : 3;
    bool known = true;
    for (int i = 0; known && i < clustered->count; i++) {
        redisReply *slots = try_to_ask(clustered, i, "CLUSTER SLOTS");
        for (size_t j = 0; known && slots && j < slots->elements; j++)
            known = slots->element[j]->elements == each;
        freeReplyObject(slots);
    }
    if (!known)
        clock_sleep_ms(LOOK_MS);
    return known;
}

void clustered_start(struct clustered *clustered, const struct clustered_options *options)
{
    static const struct clustered_options NONE = {.password = NULL};
    *clustered = (struct clustered){.options = options ? *options : NONE};
    if (clustered->options.tls)
        make_certificates(clustered);
    int nodes = clustered->options.no_replicas ? CLUSTERED_PRIMARIES : CLUSTERED_NODES;
    for (int i = 0; i < nodes; i++) {
        launch(clustered);
        introduce(clustered, i);
        if (i < CLUSTERED_PRIMARIES)
            assign(clustered, i);
    }
    if (!clock_wait_until(all_know_all, clustered, CALM_MS))
        fail_msg("the nodes do not find each other");
    for (int i = CLUSTERED_PRIMARIES; i < nodes; i++)
        clustered_command(clustered, i, "CLUSTER REPLICATE %s",
                          clustered->ids[i - CLUSTERED_PRIMARIES]);
    clustered_await_calm(clustered);
    if (!clock_wait_until(replicas_are_known, clustered, CALM_MS))
        fail_msg("the nodes do not know who is whose replica");
    for (int i = 0; clustered->options.is_patient && i < nodes; i++)
        clustered_command(clustered, i, "CONFIG SET cluster-node-timeout %d", PATIENT_MS);
    write_url(clustered);
}

void clustered_stop(struct clustered *clustered)
{
    for (int i = 0; i < clustered->count; i++) {
        hang_up(clustered, i);
        redis_process_stop(&clustered->nodes[i]);
    }
    temp_dir_remove(&clustered->certificates);
}

/* valkey tells its replicas first, and says so where they take too long: then once more. */
static void set_slot(struct clustered *clustered, int node, int slot, const char *what, int other)
{
    char command[120];
    redisReply *reply = NULL;
    snprintf(command, sizeof command, "CLUSTER SETSLOT %d %s %s", slot, what,
             clustered->ids[other]);
    for (int i = 0; i < SET_SLOT_TRIES; i++) {
        freeReplyObject(reply);
        reply = try_to_ask(clustered, node, command);
        if (reply && reply->type == REDIS_REPLY_STATUS)
            break;
    }
    if (!reply || reply->type != REDIS_REPLY_STATUS)
        fail_msg("node %d: %s: %s", node, command, reply ? reply->str : "no answer");
    freeReplyObject(reply);
}

void clustered_begin_move(struct clustered *clustered, const struct slot_move *move)
{
    set_slot(clustered, move->to, move->slot, "IMPORTING", move->from);
    set_slot(clustered, move->from, move->slot, "MIGRATING", move->to);
}

/* On a busy machine a node may take the others for dead for a moment. */
static bool passes(const redisReply *reply)
{
    return reply && reply->type == REDIS_REPLY_ERROR &&
           (strstr(reply->str, "CLUSTERDOWN") || strstr(reply->str, "IOERR"));
}

/* The key may have bytes of any kind. */
static void migrate(struct clustered *clustered, const struct slot_move *move,
                    const redisReply *key)
{
    char port[12], limit[12];
    const char *password = clustered->options.password;
    snprintf(port, sizeof port, "%d", port_for_nodes(clustered, move->to));
    snprintf(limit, sizeof limit, "%d", MIGRATE_MS);
    const char *words[] = {
        "MIGRATE", address_of(clustered, move->to), port, key->str, "0", limit, "REPLACE",
        "AUTH",    password ? password : ""};
    size_t lengths[sizeof words / sizeof *words];
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        lengths[i] = i == 3 ? key->len : strlen(words[i]);
    redisReply *reply = NULL;
    int64_t until = clock_ms() + CALM_MS;
    do {
        if (reply)
            clock_sleep_ms(LOOK_MS);
        freeReplyObject(reply);
        reply = redisCommandArgv(link_to(clustered, move->from), password ? 9 : 7, words, lengths);
    } while (passes(reply) && clock_ms() < until);
    if (!reply || reply->type != REDIS_REPLY_STATUS)
        fail_msg("%s does not move: %s", key->str, reply ? reply->str : "no answer");
    freeReplyObject(reply);
}

bool clustered_carry(struct clustered *clustered, const struct slot_move *move, int most)
{
    redisReply *keys =
        clustered_ask(clustered, move->from, "CLUSTER GETKEYSINSLOT %d %d", move->slot, most);
    for (size_t i = 0; i < keys->elements; i++)
        migrate(clustered, move, keys->element[i]);
    bool may_be_more = keys->elements == (size_t)most;
    freeReplyObject(keys);
    return may_be_more;
}

/* All at once, as redis-cli does. Replicas answer an error and learn it from their primaries; so
 * does one that has given its last slot away, and follows the new owner from then on. */
static void notify_others(struct clustered *clustered, const struct slot_move *move)
{
    bool notified[CLUSTERED_MOST] = {false};
    for (int i = 0; i < clustered->count; i++) {
        redisContext *link = runs(clustered, i) && i != move->to ? link_to(clustered, i) : NULL;
        notified[i] = link && redisAppendCommand(link, "CLUSTER SETSLOT %d NODE %s", move->slot,
                                                 clustered->ids[move->to]) == REDIS_OK;
    }
    for (int i = 0; i < clustered->count; i++) {
        void *reply = NULL;
        if (notified[i] && redisGetReply(clustered->links[i], &reply) == REDIS_OK)
            freeReplyObject(reply);
    }
}

struct arrival {
    struct clustered *clustered;
    int node;
};

static long long epoch_at(struct clustered *clustered, int node)
{
    static const char NAME[] = "cluster_current_epoch:";
    redisReply *reply = try_to_ask(clustered, node, "CLUSTER INFO");
    const char *found =
        reply && reply->type == REDIS_REPLY_STRING ? strstr(reply->str, NAME) : NULL;
    long long epoch = found ? strtoll(found + sizeof NAME - 1, NULL, 10) : 0;
    freeReplyObject(reply);
    return epoch;
}

static bool knows_all_epochs(void *context)
{
    const struct arrival *arrival = context;
    long long known = epoch_at(arrival->clustered, arrival->node);
    for (int node = 0; node < arrival->clustered->count; node++)
        if (epoch_at(arrival->clustered, node) > known)
            return false;
    return true;
}

/* The new owner takes the next epoch that it knows of. Had another node taken the same one just
 * before, what the old owner has sent before it knew could outdo it, and it would drop the slot
 * with all its keys again. */
static void await_epochs(struct clustered *clustered, const struct slot_move *move)
{
    struct arrival arrival = {clustered, move->to};
    if (!clock_wait_until(knows_all_epochs, &arrival, CALM_MS))
        fail_msg("node %d does not hear of the others' epochs", move->to);
}

/* The new owner first: if the old one gave it up and the new one failed, nobody would have it. */
void clustered_end_move(struct clustered *clustered, const struct slot_move *move)
{
    redisReply *left =
        clustered_ask(clustered, move->from, "CLUSTER COUNTKEYSINSLOT %d", move->slot);
    if (left->integer)
        fail_msg("slot %d still has %lld keys", move->slot, left->integer);
    freeReplyObject(left);
    await_epochs(clustered, move);
    set_slot(clustered, move->to, move->slot, "NODE", move->to);
    notify_others(clustered, move);
}

void clustered_move(struct clustered *clustered, const struct slot_move *move)
{
    clustered_begin_move(clustered, move);
    while (clustered_carry(clustered, move, 1)) {
    }
    clustered_end_move(clustered, move);
}

int clustered_add(struct clustered *clustered)
{
    int node = launch(clustered);
    introduce(clustered, node);
    if (!clock_wait_until(all_know_all, clustered, CALM_MS))
        fail_msg("the new node is not known to all");
    clustered_await_calm(clustered);
    return node;
}

void clustered_remove(struct clustered *clustered, int node)
{
    hang_up(clustered, node);
    redis_process_stop(&clustered->nodes[node]);
    for (int i = 0; i < clustered->count; i++)
        if (runs(clustered, i))
            clustered_command(clustered, i, "CLUSTER FORGET %s", clustered->ids[node]);
}
