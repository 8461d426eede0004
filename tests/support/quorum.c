#include "tests/support/quorum.h"

#include "tests/support/free_port.h"

#include <stdio.h>
#include <string.h>

static const char *address_of(const struct quorum_servers *servers, int member)
{
    return servers->options.hosts ? hosts_address(member) : "127.0.0.1";
}

static void enter(const struct quorum_servers *servers, int member)
{
    if (servers->options.hosts)
        hosts_enter(servers->options.hosts, member);
}

static void leave(const struct quorum_servers *servers)
{
    if (servers->options.hosts)
        hosts_leave(servers->options.hosts);
}

static void start(struct quorum_servers *servers, int member)
{
    const char **flags = servers->flags[member];
    if (servers->options.hosts) {
        flags[0] = "--bind";
        flags[1] = hosts_address(member);
        flags[2] = "--protected-mode";
        flags[3] = "no";
    }
    enter(servers, member);
    redis_process_start(&servers->members[member],
                        &(struct redis_options){
                            .port = true,
                            .arguments = flags,
                            .environment = servers->options.environment[member],
                        });
    leave(servers);
}

static void write_url(struct quorum_servers *servers, const char *scheme)
{
    size_t length = (size_t)snprintf(servers->url, sizeof servers->url, "%s", scheme);
    for (int i = 0; i < QUORUM_MEMBERS; i++) {
        int port = servers->tls_ports[i] ? servers->tls_ports[i] : servers->members[i].port;
        length += (size_t)snprintf(servers->url + length, sizeof servers->url - length, "%s%s:%d",
                                   i ? "," : "", address_of(servers, i), port);
    }
}

void quorum_servers_start_on(struct quorum_servers *servers, const struct quorum_options *options)
{
    *servers = (struct quorum_servers){.options = *options};
    for (int i = 0; i < QUORUM_MEMBERS; i++)
        start(servers, i);
    write_url(servers, "redis+quorum://");
}

void quorum_servers_start(struct quorum_servers *servers)
{
    quorum_servers_start_on(servers, &(struct quorum_options){.hosts = NULL});
}

void quorum_servers_resume(struct quorum_servers *servers, int member)
{
    enter(servers, member);
    redis_process_resume(&servers->members[member]);
    leave(servers);
}

void quorum_servers_member_speaks_tls(struct quorum_servers *servers, int member,
                                      const struct certificate *certificate,
                                      const struct certificate *authority)
{
    freeReplyObject(redis_process_command(
        &servers->members[member],
        "CONFIG SET tls-cert-file %s tls-key-file %s tls-ca-cert-file %s tls-auth-clients no "
        "tls-port %d",
        certificate->file, certificate->key, authority->file, servers->tls_ports[member]));
}

void quorum_servers_speak_tls(struct quorum_servers *servers, const struct certificate *certificate,
                              const struct certificate *authority)
{
    for (int i = 0; i < QUORUM_MEMBERS; i++) {
        servers->tls_ports[i] = free_port();
        quorum_servers_member_speaks_tls(servers, i, certificate, authority);
    }
    write_url(servers, "rediss+quorum://");
}

void quorum_servers_stop(struct quorum_servers *servers)
{
    for (int i = 0; i < QUORUM_MEMBERS; i++)
        redis_process_stop(&servers->members[i]);
}

/* The second byte of the main key is its layout; where that is WHOLE, the 11th to 14th tell how
 * many: see STATE in locks/scripts/shared/01-formats.lua. */
bool quorum_servers_member_holds(struct quorum_servers *servers, int member, const char *name)
{
    enum { WHOLE, FREE, HELD, AWAITED, COUNT = 9 };
    redisReply *reply =
        redis_process_command(&servers->members[member], "GETRANGE baton:{%s} 1 10", name);
    bool holds = reply->len > 0 && (reply->str[0] == HELD || reply->str[0] == AWAITED ||
                                    (reply->str[0] == WHOLE && reply->str[COUNT] != 0));
    freeReplyObject(reply);
    return holds;
}

int quorum_servers_held(struct quorum_servers *servers, const char *name)
{
    int count = 0;
    for (int i = 0; i < QUORUM_MEMBERS; i++)
        count += quorum_servers_member_holds(servers, i, name);
    return count;
}

/* Its 3rd to 10th bytes are the version. */
void quorum_servers_versions(struct quorum_servers *servers, const char *name,
                             int64_t ret[QUORUM_MEMBERS])
{
    for (int i = 0; i < QUORUM_MEMBERS; i++) {
        redisReply *reply =
            redis_process_command(&servers->members[i], "GETRANGE baton:{%s} 2 9", name);
        double version = 0;
        if (reply->len == sizeof version)
            memcpy(&version, reply->str, sizeof version);
        ret[i] = (int64_t)version;
        freeReplyObject(reply);
    }
}
