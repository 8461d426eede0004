/* free_port.h: a TCP port that nobody listens on, for programs that cannot be given port 0. */
#ifndef BATON_TESTS_SUPPORT_FREE_PORT_H
#define BATON_TESTS_SUPPORT_FREE_PORT_H

/* A port of 127.0.0.1 that is free, and that no other test program is given, nor any connection,
 * before this one has ended: whoever listens there may be ended and started again. Fails the test
 * if there is none. */
int free_port(void);

/* The same of a port so far above which another is free, too. */
int free_port_pair(int distance);

#endif
