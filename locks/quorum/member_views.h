/* member_views.h: merges what the members of a quorum report about a name. Internal to
 * locks/quorum/. */
#ifndef BATON_LOCKS_QUORUM_MEMBER_VIEWS_H
#define BATON_LOCKS_QUORUM_MEMBER_VIEWS_H

#include "locks/locks.h"
#include "locks/quorum/tally.h"

/* One view per member; NULL if the member has not answered. */
struct member_views {
    unsigned members;
    const struct lock_view *of[TALLY_MEMBERS];
};

/* Whether the holders stay the same, whatever the silent members still report. */
bool member_views_suffice(const struct member_views *views);

/* Merges the views into what a majority of members has, or may have: a hold that silent members
 * could complete to a majority is shown rather than hidden. The version is the greatest. *ret uses
 * the texts of `views`. */
void member_views_merge(const struct member_views *views, struct lock_view *ret);

#endif
