/* free_port.h: a TCP port that nobody listens on, for programs that cannot be given port 0. */
#ifndef BATON_TESTS_SUPPORT_FREE_PORT_H
#define BATON_TESTS_SUPPORT_FREE_PORT_H

/* A port of 127.0.0.1 that was free a moment ago. Fails the test if there is none. */
int free_port(void);

#endif
