/* stuck_thread.h: stops one thread of another process, and nothing else of it, as a loop does that
 * is caught in something without an end. */
#ifndef BATON_TESTS_SUPPORT_FAULTS_STUCK_THREAD_H
#define BATON_TESTS_SUPPORT_FAULTS_STUCK_THREAD_H

#include <stdbool.h>
#include <sys/types.h>

/* Stops the thread with this name (as top -H shows it), until stuck_thread_end on the same thread
 * of the test. It is stopped while it waits for events: in malloc or in a sanitizer it could have a
 * lock that the other threads need. Returns its id; 0 where this machine does not let one process
 * trace another. Fails the test where there is no such thread. */
pid_t stuck_thread_begin(pid_t process, const char *name);

/* Lets it go on. Takes 0. */
void stuck_thread_end(pid_t thread);

#endif
