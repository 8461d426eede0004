/* hosts.h: hosts on one machine, each with an address of its own, that can be cut off from others.
 */
#ifndef BATON_TESTS_SUPPORT_FAULTS_HOSTS_H
#define BATON_TESTS_SUPPORT_FAULTS_HOSTS_H

#include <stdbool.h>

enum { HOSTS_MOST = 8 };

/* A host is a network namespace with a veth to a bridge in one more namespace, where nftables drops
 * what is not to arrive. None has a name: only this process and those it has started in them hold
 * them, so nothing is left of them when those have ended, however they did. */
struct hosts {
    int count;
    int home; /* the namespace of the process */
    int hub;  /* the one with the bridge */
    int host[HOSTS_MOST];
};

/* A set of hosts is a number with their bits. */
#define HOST(index) (1U << (index))

/* From the test's main thread. Prints why and returns false where that is not permitted. */
bool hosts_open(struct hosts *hosts, int count);
void hosts_close(struct hosts *hosts);

/* "10.77.0.1", …; the text is a constant. */
const char *hosts_address(int host);

/* Moves the calling thread to a host: what it connects and listens to, the processes that it starts
 * and the threads that it makes are there from then on. Files and Unix sockets are everybody's. */
void hosts_enter(const struct hosts *hosts, int host);
void hosts_leave(const struct hosts *hosts);

/* From the main thread: nothing that a host of `from` sends arrives at one of `to` any more, at one
 * instant for all of them; nobody is told. */
void hosts_silence(const struct hosts *hosts, unsigned from, unsigned to);

/* In both directions. */
void hosts_part(const struct hosts *hosts, unsigned some, unsigned others);

/* Everything arrives again. */
void hosts_heal(const struct hosts *hosts);

#endif
