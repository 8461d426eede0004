/* tally.h: the votes of a quorum's members on one question, and what they mean together. Internal
 * to locks/quorum/. */
#ifndef BATON_LOCKS_QUORUM_TALLY_H
#define BATON_LOCKS_QUORUM_TALLY_H

#include <stdbool.h>
#include <stdint.h>

/* Rules that need no store; tests/unit/test_tally.c tests each of them. They rest on this: any two
 * majorities share a member, and that member never grants two holds that exclude each other. */

enum {
    TALLY_MEMBERS = 9,  /* at most */
    TALLY_AHEAD = 5000, /* by how much tally_above exceeds a number below `now`; microseconds */
    TALLY_NEAR = 100,   /* the same for any other number; one for each possible hold */
    TALLY_STEP = 50000, /* from one proposal to the next; microseconds */
    TALLY_HOLDERS = 10, /* how many a member reports, at most */
};

enum vote_kind {
    VOTE_NONE,    /* the member has not answered yet */
    VOTE_AWAY,    /* not reached, or Redis refused: the question left nothing there */
    VOTE_DOUBT,   /* it may have granted, but its reply is missing */
    VOTE_GRANTED, /* it granted a new hold */
    VOTE_HOLDING, /* the token had a hold there before */
    VOTE_LOCKED,  /* this and the next three refuse. If members differ, the last of them counts */
    VOTE_UPGRADE,
    VOTE_IN_USE,
    VOTE_RELEASED,
    VOTE_KINDS /* the number of kinds */
};

struct vote {
    enum vote_kind kind;
    int64_t fence; /* down to `was_final`: of the hold, with VOTE_GRANTED or VOTE_HOLDING */
    int64_t ttl_ms;
    int64_t holds;
    bool is_final;   /* no renewal makes the hold longer */
    bool was_final;  /* this renewal did not make it longer either */
    int64_t version; /* of the name there, with any answer */
    /* With VOTE_LOCKED: the holds there that exclude this one. */
    int64_t holders[TALLY_HOLDERS]; /* their fences */
    unsigned holder_count;
    bool has_more_holds; /* it has more than it reported */
    int64_t ends_ms;     /* until the last of them ends; -1: unknown */
};

struct tally {
    unsigned members; /* odd */
    struct vote votes[TALLY_MEMBERS];
};

enum verdict {
    VERDICT_OPEN, /* silent members may still decide it */
    VERDICT_WON,
    VERDICT_LOST,
    VERDICT_UNANSWERED, /* too few have answered */
};

unsigned tally_majority(const struct tally *tally);

/* How many of the votes are of this kind. */
unsigned tally_count(const struct tally *tally, enum vote_kind kind);

/* Whether a majority has the hold. `is_last`: no other member will answer in time. If it is lost,
 * the vote of *ret_member has the best reason. */
enum verdict tally_acquire(const struct tally *tally, bool is_last, unsigned *ret_member);

/* Lost: too many members lack the hold (VOTE_LOCKED) for a majority to have it. */
enum verdict tally_renew(const struct tally *tally, bool is_last);

/* Won: a majority has answered, and the members that had the hold (VOTE_HOLDING) may have been a
 * majority. Lost: they were not. */
enum verdict tally_release(const struct tally *tally, bool is_last);

/* How long a majority will surely have the hold, from now, ms: less the time since the question and
 * what clocks may drift meanwhile. 0 or less: it may be over. */
int64_t tally_validity(const struct tally *tally, int64_t elapsed_ms);

/* Whether a majority reports `is_final`, or `was_final`. */
bool tally_is_final(const struct tally *tally);
bool tally_was_final(const struct tally *tally);

/* The fence that a majority of the holds shares: then it is the fence of the hold. */
bool tally_agrees(const struct tally *tally, int64_t *ret_fence);

/* A number above `number`, and above most numbers that silent members may have given meanwhile:
 * numbers are microseconds of a clock, so this one is some ms ahead. `now` is the latest number of
 * the shard whose numbers are furthest ahead (quarantine/shard.h). Beyond `now`, adds only one for
 * each possible hold, since the clocks must catch up (judge_learn_numbers). */
int64_t tally_above(int64_t number, int64_t now);

/* The fence to propose: above every number that the members know. */
int64_t tally_proposal(const struct tally *tally, int64_t now);

/* The fence to propose after `refused`. It follows from that alone, so all requests of one token
 * propose the same. */
int64_t tally_next_proposal(int64_t refused);

/* The fence that another request may have reported, since a majority may have granted it; 0:
 * none. */
int64_t tally_found_fence(const struct tally *tally);

/* The greatest version of all members. */
int64_t tally_version(const struct tally *tally);

/* The greatest version that a majority of the holds has reached. */
int64_t tally_version_of_holds(const struct tally *tally);

/* Whether a majority of the members knows this version. */
bool tally_knows(const struct tally *tally, int64_t version);

/* How many holds of the owner a majority knows. */
int64_t tally_holds(const struct tally *tally);

/* Whether the request was refused although no owner can have a majority: several requests came at
 * once, and each got some members. If a majority refuses because of one owner, that owner has the
 * lock. */
bool tally_is_split(const struct tally *tally);

/* How many refusing members must become free before a majority can grant. */
unsigned tally_missing(const struct tally *tally);

/* In how many ms that many members may be free, by the holds that they reported; -1: unknown. */
int64_t tally_free_in(const struct tally *tally);

#endif
