/* quorum.h: some independent redis-servers, the members of a quorum. */
#ifndef BATON_TESTS_SUPPORT_QUORUM_H
#define BATON_TESTS_SUPPORT_QUORUM_H

#include "tests/support/certificates.h"
#include "tests/support/faults/hosts.h"
#include "tests/support/redis_process.h"

enum { QUORUM_MEMBERS = 5 };

struct quorum_options {
    const struct hosts *hosts; /* member i is on host i; NULL: all are here, and on 127.0.0.1 */
    const char *const *environment[QUORUM_MEMBERS]; /* as process_start has it */
};

struct quorum_servers {
    struct redis_process members[QUORUM_MEMBERS];
    struct quorum_options options;
    const char *flags[QUORUM_MEMBERS][5];
    int tls_ports[QUORUM_MEMBERS];
    char url[256]; /* redis+quorum://… with all of them, or rediss+quorum://… */
};

/* Starts them without files: whoever is started again is empty. They stay where they are. */
void quorum_servers_start(struct quorum_servers *servers);
void quorum_servers_start_on(struct quorum_servers *servers, const struct quorum_options *options);

/* Starts one again after redis_process_kill. */
void quorum_servers_resume(struct quorum_servers *servers, int member);

/* All of them speak TLS besides, with the certificate, and the URL asks for that. */
void quorum_servers_speak_tls(struct quorum_servers *servers, const struct certificate *certificate,
                              const struct certificate *authority);

/* The same for one that was started again. */
void quorum_servers_member_speaks_tls(struct quorum_servers *servers, int member,
                                      const struct certificate *certificate,
                                      const struct certificate *authority);

/* Whatever state they are in. */
void quorum_servers_stop(struct quorum_servers *servers);

/* Whether the name has holds at that member, and at how many it has. */
bool quorum_servers_member_holds(struct quorum_servers *servers, int member, const char *name);
int quorum_servers_held(struct quorum_servers *servers, const char *name);

/* The version of the name at each; 0: it has none. */
void quorum_servers_versions(struct quorum_servers *servers, const char *name,
                             int64_t ret[QUORUM_MEMBERS]);

#endif
