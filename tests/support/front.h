/* front.h: haproxy and nginx in front of replicas of Baton, as deploy/ has them. */
#ifndef BATON_TESTS_SUPPORT_FRONT_H
#define BATON_TESTS_SUPPORT_FRONT_H

#include "tests/support/process.h"
#include "tests/support/temp_dir.h"

enum { FRONT_REPLICAS = 2 };

struct front {
    struct process process;
    struct temp_dir dir; /* its configuration and its log */
    int port;            /* on 127.0.0.1 */
};

enum front_kind {
    FRONT_HAPROXY,
    FRONT_NGINX,
    FRONT_NGINX_PLAIN, /* with what nginx does unless it is told otherwise; batond is below /below/,
                          too */
};

/* Starts the program with the file from deploy/, in which only the ports are others, and waits
 * until it listens. `ports` are the replicas' ones; nobody needs to listen there yet. The test has
 * to run in the folder that Baton was built in. Fails the test if it cannot. */
void front_start(struct front *front, enum front_kind kind, const int ports[FRONT_REPLICAS]);

/* Ends it, whatever is under way. Takes a zeroed one too. */
void front_stop(struct front *front);

#endif
