/* prefix.h: the watches of all names under a prefix, as the rest of locks/ knows them. Internal to
 * locks/. */
#ifndef BATON_LOCKS_PREFIX_H
#define BATON_LOCKS_PREFIX_H

struct locks;
struct prefixes;

/* Each watch is answered as things are now. */
void prefixes_drain(struct locks *locks);

/* From the loop, when there is no watch any more. Takes NULL. */
void prefixes_close(struct prefixes *prefixes);

#endif
