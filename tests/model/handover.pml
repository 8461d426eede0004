/* handover.pml: how a lock passes from hand to hand, as a model that spin checks.
 *
 * One name, exclusive wishes, two servers, three waiting clients and an outsider who holds the lock
 * at first. Every script of Redis is one indivisible step, as in Redis; everything else happens in
 * any order. What it stands for: locks/scripts/ (the inlines below), locks/waiting/waiting.c and locks/central/messages.c
 * (processes request and server). Which runs there are, and which seeded mistakes, is in run.sh.
 *
 * Time is a few units: a grant that nobody collected lasts CLAIM of them, a collected one TTL. It
 * passes only while no server that is up, awake and reachable has anything left to do, since a
 * message takes far less than a claim window; so whoever is late in here is late for a reason
 * (paused, cut off, crashed). A server's lease ends only while it is paused or dead, and what keeps
 * a place ends whenever it likes: how long both last is not modelled, only what may come first.
 * Repetitions that would change nothing (heartbeats, looking again) are left out. With that no run is
 * endless (checked, pan -l), and what has to happen in the end is what holds when all is at rest.
 *
 * A server is told of the turn of its waiter TURNS times, each time for CLAIM. Whose script told
 * others something looks after it when it is due (`minded`): a third party in here, which may be
 * killed, too.
 *
 * Faults are counted: CRASHES, PAUSES, CUTS (of a subscription, with what was on its way), HANGUPS,
 * RETRIES (a client comes with its token again, to the other server), TIMEOUTS (a wait ends),
 * CANCELS (DELETE while waiting), FORGOTTEN (Redis loses what a `leave` did), LOSSES (of a message, on
 * a connection that stays up), MINDERS (of those who look after what they have told, so many live: 0
 * or 1).
 *
 * Properties, each an assertion on a variable of its name:
 *   one_hold   at most one hold; who was told of a hold has it until it gives it back or its TTL ends
 *   order      no grant passes an earlier waiter in good standing
 *   phantom    no hold outlives the claim window if its client cannot have learnt of it
 *   departed   who cancelled is never granted; nobody is granted twice with one token
 *   place_kept who keeps its place gets it back
 *   prompt     no time passes while the lock is free and a live waiter is at the head
 *   latest     a client's latest request is never told that a later one has its place
 *   served     in the end nobody waits whose client and server are there
 */

#ifndef CRASHES
#define CRASHES 0
#endif
#ifndef PAUSES
#define PAUSES 0
#endif
#ifndef CUTS
#define CUTS 0
#endif
#ifndef HANGUPS
#define HANGUPS 0
#endif
#ifndef RETRIES
#define RETRIES 0
#endif
#ifndef TIMEOUTS
#define TIMEOUTS 0
#endif
#ifndef CANCELS
#define CANCELS 0
#endif
#ifndef FORGOTTEN
#define FORGOTTEN 0
#endif
#ifndef LOSSES
#define LOSSES 0
#endif
#ifndef MINDERS
#define MINDERS 1
#endif
#ifndef KEEPERS
#define KEEPERS 1 /* bit mask of the clients that use keep_ms */
#endif
#ifndef HOMES
#define HOMES 2 /* bit mask of the clients that ask server 1 first; the others ask server 0 */
#endif

#define SERVERS  2
#define CLIENTS  3
#define ATTEMPTS 6 /* two for each client: attempt a is of client a / 2 */
#define OUTSIDER 3 /* its token; a client's token is its number */
#define TOKENS   4
#define NOBODY   7

#define CLAIM 1
#define TTL   2
#ifndef TURNS
#define TURNS 2
#endif

/* Seeded mistakes that are no more than a condition. */
#ifdef TICK_HEAD_ONLY
#define HEARS_OF_TICKS(s) (best != NOBODY && waits_at(best) == (s))
#else
#define HEARS_OF_TICKS(s) true
#endif
#ifdef CLAIM_ANY
#define CLAIMS_ANY true
#else
#define CLAIMS_ANY false
#endif
#ifdef STALE_TAKES_CLAIMED
#define TAKES_BACK(why) true
#else
#define TAKES_BACK(why) ((why) == GONE)
#endif
#ifdef TAKE_BACK_ANY
#define TAKES_BACK_ANY true
#else
#define TAKES_BACK_ANY false
#endif

#ifndef COME
#define COME CLIENTS /* so many of them want the lock */
#endif
#ifdef IN_ORDER /* the clients come one after the other: a sixth of the runs */
#define MAY_COME(w) ((w) < COME && ((w) == 0 || client[(w) - 1] != IDLE))
#else
#define MAY_COME(w) ((w) < COME)
#endif

#ifdef ENDLESS /* the outsider's TTL is beyond all that is looked at */
#define LAST_TO_END (OUTSIDER - 1)
#else
#define LAST_TO_END (TOKENS - 1)
#endif

/* ---- What Redis knows of the name ------------------------------------------------------------ */

bool holds[TOKENS];  /* the live holds, and those whose end nobody noticed yet (left = 0) */
byte left[TOKENS];   /* units until the hold's end */
byte claimer[TOKENS]; /* ATTEMPT of the hold: who claimed it */
#define UNCLAIMED 6
#define REPEATED  7

/* The waiters: the queue of each server, `absent` and `missed`. */
mtype = { OUT, QUEUED, ABSENT, MISSED, GRANTED, GRANTED_ABSENT };
mtype place[CLIENTS] = OUT;
byte attempt_of[CLIENTS]; /* the latest parked request */
#define NO_ATTEMPT 7      /* it has ended; the place is kept for who comes again */
byte arrival[CLIENTS];
byte last_arrival;
bool released[CLIENTS]; /* remembered: released or cancelled */
byte missed[CLIENTS];   /* turns, since its server asked last */

/* The table of servers. */
mtype = { UNKNOWN, GOOD, SUSPECT };
mtype standing[SERVERS] = UNKNOWN;
bool lease_over[SERVERS];
byte tick_told; /* TICK, in units from now; 0: not in the future */

/* ---- The servers, their requests and their clients ------------------------------------------- */

bool up[SERVERS] = true;
bool paused[SERVERS];
bool lease_ended[SERVERS]; /* while it slept */
bool listens[SERVERS] = true; /* its inbox is subscribed */

/* What lies in an inbox unread: `g` and `x` by attempt, `n` by server (0: none, else units + 1). */
bool told_grant[ATTEMPTS];
bool told_cancel[ATTEMPTS];
byte told_next[SERVERS];

byte minded; /* when whoever told them looks after it: 0: never, else units + 1 */

byte planned[SERVERS];    /* the next tick: 0: none, else units + 1 */
byte tick_reply[SERVERS]; /* of a tick that Redis ran, unread: 0: none, 1: no next end, else + 2 */

mtype = { NONE, UNREAD, PARKED, CLAIMED, ENDED };
mtype request[ATTEMPTS] = NONE;
byte server_of[ATTEMPTS + 2];
bool connected[ATTEMPTS];
bool look[ATTEMPTS]; /* has to be looked at again: acquire '2' */

mtype = { IDLE, WAITS, AWAY, HOLDS, DONE };
mtype client[CLIENTS] = IDLE;
byte current[CLIENTS]; /* its latest attempt */

byte crashes = CRASHES, pauses = PAUSES, cuts = CUTS, hangups = HANGUPS, retries = RETRIES,
     timeouts = TIMEOUTS, cancels = CANCELS, forgotten = FORGOTTEN, losses = LOSSES;

/* ---- What only the properties know ------------------------------------------------------------ */

byte believes[CLIENTS];  /* units for which the client knows that it holds */
bool excused[CLIENTS];   /* its server died or slept between claim and answer */
bool has_slept[SERVERS];   /* what it read late it may have planned late */
bool keeps_place[CLIENTS]; /* it arrived, and nothing happened since that ends its place */
byte came[CLIENTS];      /* when it arrived */
bool finished[CLIENTS]; /* it released or cancelled */

/* An assertion that fails tells the name of its property. */
bool one_hold = true, order = true, phantom = true, departed = true, place_kept = true,
     prompt = true, latest = true, served = true;
#define MUST(property, condition)                                                                  \
    property = property && (condition);                                                            \
    assert(property)

hidden byte i, j, k, best, next;
hidden mtype answer;
mtype = { TOLD, WAITING, GONE_BY, OTHERS };

#define keeps(w)    ((KEEPERS >> (w)) & 1)
#define home(w)     ((HOMES >> (w)) & 1)
#define awake(s)    (up[s] && !paused[s])
#define waits_at(w) server_of[attempt_of[w]]
#define live(s)     (standing[s] != UNKNOWN && !lease_over[s])
#define held        (holds[0] || holds[1] || holds[2] || holds[3])
#define alive(t)    (holds[t] && left[t] > 0)

/* ---- Pieces that the scripts share ------------------------------------------------------------ */

/* Whoever has run the script is told when something that it told others is due. */
inline mind(when) {
#if LOSSES > 0 && MINDERS > 0
    minded = (minded == 0 || (when) < minded -> (when) : minded)
#else
    skip
#endif
}

/* PUBLISH g: look again at this request. */
inline tell_grant(a) {
    if
    :: listens[server_of[a]] -> told_grant[a] = true
    :: else
    fi
}

/* Holds that have ended. If nobody claimed one, its waiter goes back to its place, and
 * its server is suspect, or all who are absent have missed their turn. */
inline expire() {
    for (i : 0 .. TOKENS - 1) {
        if
        :: holds[i] && left[i] == 0 ->
            holds[i] = false;
            if
            :: i < CLIENTS && claimer[i] == UNCLAIMED && place[i] == GRANTED_ABSENT ->
                place[i] = MISSED;
                for (j : 0 .. CLIENTS - 1) {
                    if
                    :: place[j] == ABSENT -> place[j] = MISSED
                    :: else
                    fi
                }
            :: i < CLIENTS && claimer[i] == UNCLAIMED && place[i] == GRANTED ->
                if
                :: standing[waits_at(i)] != UNKNOWN ->
                    place[i] = QUEUED;
                    missed[i] = (missed[i] < TURNS -> missed[i] + 1 : TURNS);
                    if
                    :: missed[i] == TURNS -> standing[waits_at(i)] = SUSPECT
                    :: else
                    fi
                :: standing[waits_at(i)] == UNKNOWN -> place[i] = (keeps(i) -> MISSED : OUT)
                fi;
#ifdef DROP_PLACE
                place[i] = OUT;
#endif
#ifdef REMOVE_SUSPECT
                place[i] = OUT;
                for (j : 0 .. CLIENTS - 1) {
                    if
                    :: place[j] == QUEUED && waits_at(j) == waits_at(i) -> place[j] = OUT
                    :: else
                    fi
                }
#endif
            :: else
            fi;
            claimer[i] = UNCLAIMED
        :: else
        fi
    }
}

/* Servers whose lease is over, and those who wait there. */
inline bury() {
    for (i : 0 .. SERVERS - 1) {
        if
        :: lease_over[i] ->
            for (j : 0 .. CLIENTS - 1) {
                if
                :: place[j] == QUEUED && waits_at(j) == i ->
                    if
                    :: !keeps(j) -> place[j] = OUT
                    :: keeps(j) && standing[i] == GOOD -> place[j] = ABSENT
                    :: else -> place[j] = MISSED
                    fi
                :: else
                fi
            }
            standing[i] = UNKNOWN;
            lease_over[i] = false
        :: else
        fi
    }
}

/* Rules 1 and 2: the head of the queue, and its grant for the claim window. */
inline hand_over() {
    best = NOBODY;
    for (i : 0 .. CLIENTS - 1) {
        if
        :: !held && ((place[i] == QUEUED && standing[waits_at(i)] == GOOD && !lease_over[waits_at(i)]) ||
                     place[i] == ABSENT) ->
            if
            :: best == NOBODY -> best = i
            :: best != NOBODY && arrival[i] < arrival[best] -> best = i
            :: else
            fi
        :: else
        fi
    }
    if
    :: best != NOBODY ->
        check_order(best);
        holds[best] = true;
        left[best] = CLAIM;
        claimer[best] = UNCLAIMED;
#ifdef NO_CLAIM
        left[best] = TTL;
#endif
        if
        :: place[best] == QUEUED ->
            place[best] = GRANTED;
            tell_grant(attempt_of[best]);
            mind(CLAIM + 1)
        :: else -> place[best] = GRANTED_ABSENT
        fi
    :: else
    fi
}

inline find_next() {
    next = NOBODY;
    for (i : 0 .. LAST_TO_END) {
        if
        :: holds[i] -> next = left[i]
        :: else
        fi
    }
}

/* Every server in the table has a tick planned no later than the next end. */
inline plan_ticks() {
    find_next();
    if
    :: next != NOBODY && (live(0) || live(1)) && (tick_told == 0 || next < tick_told) ->
        tick_told = next;
        mind(next + 1);
        for (i : 0 .. SERVERS - 1) {
            if
            :: live(i) && listens[i] && HEARS_OF_TICKS(i) -> told_next[i] = (told_next[i] == 0 || next + 1 < told_next[i] -> next + 1 : told_next[i])
            :: else
            fi
        }
    :: else
    fi
}

/* The hold gets its TTL: a claim, or a grant to a newcomer. */
inline claim(w, a) {
    MUST(departed, !finished[w]);
    claimer[w] = a;
    left[w] = TTL;
    place[w] = OUT;
    keeps_place[w] = false
}

/* ---- The scripts ------------------------------------------------------------------------------ */

#define FIRST 1 /* ARGV[5] '1': a request that the server has just read */
#define AGAIN 2 /* ARGV[5] '2': the server looks at a parked request again, or claims for it */

/* acquire.lua: answer is TOLD (it holds), WAITING, GONE_BY (released or cancelled) or OTHERS
 * (superseded: a later request with this token has taken over). Its order is part of the design:
 * what has ended makes servers suspect, then the caller's server is in good standing again, then
 * the lock goes to the head, and only what is left then is the caller's. */
inline acquire(w, a, kind) {
    answer = WAITING;
#ifdef REGISTER_FIRST
    standing[server_of[a]] = GOOD;
#endif
    expire();
    bury();
    if
    :: kind == AGAIN && ((holds[w] && claimer[w] != UNCLAIMED && claimer[w] != a) ||
                         ((!holds[w] || claimer[w] == UNCLAIMED) && place[w] != OUT &&
                          attempt_of[w] != a && !CLAIMS_ANY)) ->
        answer = OTHERS
    :: !holds[w] && place[w] == OUT && released[w] -> answer = GONE_BY
    :: else ->
#ifndef REGISTER_FIRST
        if
        :: !holds[w] || standing[server_of[a]] == SUSPECT -> standing[server_of[a]] = GOOD
        :: else
        fi;
#endif
        if
        :: holds[w] && claimer[w] == UNCLAIMED ->
            tell_superseded(w, a);
            claim(w, a);
            answer = TOLD
        :: holds[w] && claimer[w] != UNCLAIMED ->
            claimer[w] = (claimer[w] == a -> a : REPEATED);
            answer = TOLD
        :: !holds[w] && place[w] == OUT ->
            MUST(place_kept, !keeps_place[w]);
            last_arrival++;
            arrival[w] = last_arrival;
            came[w] = last_arrival;
            keeps_place[w] = true;
            place[w] = QUEUED;
            missed[w] = 0;
            attempt_of[w] = a;
#ifdef NEWCOMER_BLIND
            if
            :: !held ->
                check_order(w);
                holds[w] = true;
                claim(w, a)
            :: else
            fi
#endif
        :: else -> /* goes on at its place */
            tell_superseded(w, a);
            place[w] = QUEUED;
            missed[w] = 0;
            attempt_of[w] = a
        fi
    fi;
    hand_over();
    if
    :: answer == WAITING && holds[w] && claimer[w] == UNCLAIMED ->
        claim(w, a);
        answer = TOLD
    :: answer == WAITING && holds[w] && claimer[w] == a -> answer = TOLD
    :: else
    fi;
    plan_ticks();
    if
    :: answer == WAITING && next != NOBODY ->
        tick_told = next;
        plan(server_of[a], next + 1)
    :: else
    fi
}

/* A request whose place another one takes is told to look, and to hear that it has been superseded. */
inline tell_superseded(w, a) {
#ifndef SUPERSEDED_UNTOLD
    if
    :: attempt_of[w] != a && attempt_of[w] != NO_ATTEMPT && (place[w] == QUEUED || place[w] == GRANTED) ->
        tell_grant(attempt_of[w])
    :: else
    fi
#else
    skip
#endif
}

/* leave.lua: acts on what is this attempt's, and on nothing else. GONE: the client has gone; WAIT_OVER:
 * it gets the hold if there is one; STALE: the server was told of a grant to an attempt that it does
 * not know any more, so nobody will claim it. */
#define GONE      1
#define WAIT_OVER 2
#define STALE     3

inline leave(w, a, why) {
    answer = GONE_BY;
    expire();
    bury();
    if
    :: holds[w] && why == WAIT_OVER && claimer[w] == UNCLAIMED && attempt_of[w] == a ->
        claim(w, a);
        answer = TOLD
    :: holds[w] && why == WAIT_OVER && claimer[w] != UNCLAIMED -> answer = TOLD
    :: holds[w] && why != WAIT_OVER &&
       ((claimer[w] == UNCLAIMED && attempt_of[w] == a) || (claimer[w] == a && TAKES_BACK(why)) ||
        TAKES_BACK_ANY) ->
        if
        :: keeps(w) && why == GONE -> /* the hold is reserved for one more window */
            place[w] = GRANTED_ABSENT;
            claimer[w] = UNCLAIMED;
            left[w] = CLAIM;
            keeps_place[w] = true
        :: else ->
            place[w] = OUT;
            holds[w] = false;
            claimer[w] = UNCLAIMED;
            keeps_place[w] = keeps_place[w] && keeps(w)
        fi;
        end_attempt(w)
    :: !holds[w] && place[w] != OUT && attempt_of[w] == a ->
        if
        :: keeps(w) && why != STALE -> place[w] = ABSENT
        :: else ->
            place[w] = OUT;
            keeps_place[w] = keeps_place[w] && keeps(w)
        fi;
        end_attempt(w)
    :: else
    fi;
    hand_over();
    plan_ticks()
}

inline end_attempt(w) {
#ifndef ATTEMPT_STAYS
    attempt_of[w] = NO_ATTEMPT
#else
    skip
#endif
}

/* release.lua of a hold, by its client. */
inline release(t) {
    expire();
    bury();
    if
    :: holds[t] ->
        holds[t] = false;
        claimer[t] = UNCLAIMED
    :: else
    fi;
    hand_over();
    plan_ticks()
}

/* release.lua of a token that waits, or was granted the lock and does not know it yet. */
inline cancel(w) {
    expire();
    bury();
    if
    :: place[w] == QUEUED && listens[waits_at(w)] ->
        told_cancel[attempt_of[w]] = true
    :: else
    fi;
    holds[w] = false;
    claimer[w] = UNCLAIMED;
    place[w] = OUT;
#ifndef FORGET_CANCEL
    released[w] = true;
#endif
    hand_over();
    plan_ticks()
}

/* tick.lua */
inline tick() {
    expire();
    bury();
    hand_over();
    plan_ticks();
    if
    :: next != NOBODY -> tick_told = next
    :: else
    fi
}

/* ---- The properties --------------------------------------------------------------------------- */

#define sleeps_on(a) (request[a] == CLAIMED && !awake(server_of[a]))
#define is_asleep_with_answer(w) (sleeps_on(2 * (w)) || sleeps_on(2 * (w) + 1))
#define is_parked(w)                                                                               \
    (client[w] == WAITS && request[current[w]] == PARKED && attempt_of[w] == current[w])
#define is_served_by(s) (awake(s) && !has_slept[s] && listens[s] && standing[s] == GOOD && !lease_over[s])

inline check_order(w) {
    for (k : 0 .. CLIENTS - 1) {
        MUST(order, !(k != w && keeps_place[k] && came[k] < came[w] &&
                      (place[k] == ABSENT ||
                       (is_parked(k) && place[k] != MISSED && standing[waits_at(k)] == GOOD &&
                        !lease_over[waits_at(k)]))))
    }
}

inline check_now() {
    MUST(one_hold, alive(0) + alive(1) + alive(2) + alive(3) <= 1);
    for (k : 0 .. CLIENTS - 1) {
        MUST(one_hold, believes[k] == 0 || holds[k])
    }
}

/* Also where its grant has ended and nobody has noticed, as long as somebody lives who should. */
#if LOSSES > 0 && MINDERS > 0
#define waits_unserved(w) (place[w] == QUEUED || place[w] == GRANTED)
#else
#define waits_unserved(w) (place[w] == QUEUED && losses == LOSSES)
#endif

/* What must not be the case when a unit of time has passed. */
inline check_time() {
    for (k : 0 .. CLIENTS - 1) {
        MUST(phantom, !(left[k] > 1 && holds[k] && believes[k] == 0 && client[k] != WAITS && client[k] != HOLDS &&
                          !excused[k] && !is_asleep_with_answer(k)));
        MUST(prompt, !(is_parked(k) && waits_unserved(k) && is_served_by(waits_at(k)) &&
                         !alive(0) && !alive(1) && !alive(2) && !alive(3)))
    }
}

/* ---- A server --------------------------------------------------------------------------------- */

#define is_at(a, s)    (server_of[a] == (s))
#define is_open(a)     (request[a] == PARKED)
#define open_at(a, s)  (is_at(a, s) && is_open(a))
#define any_open(s)                                                                                \
    (open_at(0, s) || open_at(1, s) || open_at(2, s) || open_at(3, s) || open_at(4, s) || open_at(5, s))

#define is_looking(a, s) (is_at(a, s) && look[a])
#define any_looking(s)                                                                             \
    (is_looking(0, s) || is_looking(1, s) || is_looking(2, s) || is_looking(3, s) ||               \
     is_looking(4, s) || is_looking(5, s))

/* A request that waits here and not there, or has got a hold that was not claimed, and no message of
 * that is on its way. */
#define is_unheard(w, a, s)                                                                        \
    (open_at(a, s) && !told_grant[a] && !told_cancel[a] &&                                         \
     !(place[w] == QUEUED && attempt_of[w] == (a)))
#define any_unheard(s)                                                                             \
    (is_unheard(0, 0, s) || is_unheard(0, 1, s) || is_unheard(1, 2, s) || is_unheard(1, 3, s) ||   \
     is_unheard(2, 4, s) || is_unheard(2, 5, s))
#define is_over(t) (holds[t] && left[t] == 0)
#define tick_is_late (is_over(0) || is_over(1) || is_over(2) || is_over(3))

/* A plan is only ever moved forward; it ends when the tick is sent. */
inline plan(s, when) {
    planned[s] = (planned[s] == 0 || (when) < planned[s] -> (when) : planned[s])
}

inline look_at_all(s) {
    for (k : 0 .. ATTEMPTS - 1) {
        if
        :: open_at(k, s) -> look[k] = true
        :: else
        fi
    }
}

proctype server(byte s) {
end:
    do
    /* inbox: n */
    :: d_step {
        awake(s) && told_next[s] > 0 ->
            if
            :: any_open(s) -> plan(s, told_next[s])
            :: else
            fi;
            told_next[s] = 0;
            skip
       }
#ifndef NO_TICK
    :: d_step {
        awake(s) && planned[s] == 1 && tick_reply[s] == 0 ->
            planned[s] = 0;
            if
            :: any_open(s) ->
                tick();
                tick_reply[s] = (next == NOBODY -> 1 : next + 2)
            :: else
            fi;
            check_now();
            skip
       }
#endif
    /* The command connection and the inbox are two: `n` may have come meanwhile. */
    :: d_step {
        awake(s) && tick_reply[s] > 0 ->
#ifdef REPLY_REPLACES_PLAN
            planned[s] = tick_reply[s] - 1;
#else
            if
            :: tick_reply[s] > 1 -> plan(s, tick_reply[s] - 1)
            :: else
            fi;
#endif
            tick_reply[s] = 0;
            skip
       }
    /* heartbeat.lua reported: missing, dead or suspect. */
    :: d_step {
        awake(s) && any_open(s) && !any_looking(s) && (standing[s] != GOOD || lease_over[s]) ->
            look_at_all(s);
            skip
       }
#if LOSSES > 0
    /* heartbeat.lua reported what should be known. */
#ifndef HEARTBEAT_BLIND
    :: d_step {
        awake(s) && any_open(s) && !any_looking(s) && losses < LOSSES && any_unheard(s) ->
            look_at_all(s);
            skip
       }
    :: d_step {
        awake(s) && any_open(s) && losses < LOSSES && tick_is_late && planned[s] == 0 ->
            plan(s, 1);
            skip
       }
#endif
#endif
    /* The subscription is back. */
    :: d_step {
        awake(s) && !listens[s] ->
            listens[s] = true;
#ifndef NO_RECHECK
            look_at_all(s)
#endif
            skip
       }
    od
}

/* ---- A request at its server ------------------------------------------------------------------ */

inline park_or_answer(a) {
    MUST(latest, !(answer == OTHERS && connected[a] && current[(a) / 2] == a));
    if
    :: answer == TOLD ->
        request[a] = CLAIMED;
        look[a] = false
    :: answer == WAITING -> request[a] = PARKED
    :: else -> end_request(a) /* it has been released, or goes on elsewhere: the client is told so */
    fi;
    check_now()
}

/* The client has its answer, whatever it is, or has gone. */
inline end_request(a) {
    if
    :: connected[a] && client[(a) / 2] == WAITS && current[(a) / 2] == a -> client[(a) / 2] = DONE
    :: else
    fi;
    request[a] = ENDED;
    connected[a] = false;
    look[a] = false
}

inline let_go(w, a) {
    if
    :: forgotten > 0 && request[a] == PARKED ->
        forgotten--;
        keeps_place[w] = false
    :: else -> leave(w, a, GONE)
    fi;
    end_request(a);
    check_now()
}

#define my_turn awake(server_of[a])

proctype request_of(byte w; byte a) {
end:
    do
    :: d_step {
        my_turn && request[a] == UNREAD ->
#ifndef READ_WITHOUT_LOOKING
            if
            :: !connected[a] -> end_request(a)
            :: else ->
#endif
                acquire(w, a, FIRST);
                park_or_answer(a)
#ifndef READ_WITHOUT_LOOKING
            fi
#endif
            skip
       }
    :: d_step {
        my_turn && told_grant[a] ->
            told_grant[a] = false;
            if
            :: is_open(a) && connected[a] ->
                acquire(w, a, AGAIN);
                park_or_answer(a)
#ifndef GHOST_IGNORED
            :: request[a] == ENDED ->
                leave(w, a, STALE);
                check_now()
#endif
            :: else /* it asks already, or its hang-up is about to be noticed */
            fi;
            skip
       }
    :: d_step {
        my_turn && look[a] ->
            look[a] = false;
            acquire(w, a, AGAIN);
            park_or_answer(a);
            skip
       }
    :: d_step {
        my_turn && told_cancel[a] ->
            told_cancel[a] = false;
            if
            :: is_open(a) -> end_request(a)
            :: else
            fi;
            skip
       }
    :: d_step {
        my_turn && is_open(a) && !connected[a] ->
#ifdef HANG_UP_IGNORED
            end_request(a)
#else
            let_go(w, a)
#endif
            skip
       }
    :: d_step {
        my_turn && request[a] == CLAIMED && !connected[a] ->
#ifdef HANG_UP_IGNORED
            end_request(a)
#else
            let_go(w, a)
#endif
            skip
       }
    :: d_step {
        my_turn && request[a] == CLAIMED && connected[a] ->
            request[a] = ENDED;
            connected[a] = false;
            client[w] = HOLDS;
            believes[w] = (holds[w] -> left[w] : 0);
            check_now();
            skip
       }
    :: d_step {
        my_turn && is_open(a) && connected[a] && timeouts > 0 ->
            timeouts--;
            leave(w, a, WAIT_OVER);
            if
            :: answer == TOLD ->
                request[a] = CLAIMED;
                look[a] = false
            :: else ->
                end_request(a);
                if
                :: client[w] == DONE && keeps(w) -> client[w] = AWAY
                :: else
                fi
            fi;
            check_now();
            skip
       }
    od
}

/* ---- A client --------------------------------------------------------------------------------- */

inline post(w, a, s) {
    current[w] = a;
    server_of[a] = s;
    request[a] = UNREAD;
    connected[a] = true;
    client[w] = WAITS
}

proctype client_of(byte w) {
end:
    do
    :: d_step { client[w] == IDLE && up[home(w)] && MAY_COME(w) -> post(w, 2 * w, home(w)); skip }
    :: d_step {
        client[w] == WAITS && connected[current[w]] && hangups > 0 ->
            hangups--;
            connected[current[w]] = false;
            client[w] = AWAY;
            skip
       }
    :: d_step {
        client[w] == AWAY && current[w] == 2 * w && up[1 - home(w)] && retries > 0 ->
            retries--;
            post(w, 2 * w + 1, 1 - home(w));
            skip
       }
    :: d_step {
        client[w] == WAITS && cancels > 0 && (place[w] != OUT || holds[w]) ->
            cancels--;
            keeps_place[w] = false;
            cancel(w);
            finished[w] = true;
            client[w] = DONE;
            check_now();
            skip
       }
    :: d_step {
        client[w] == HOLDS ->
            believes[w] = 0;
            if
            :: holds[w] ->
                released[w] = true;
                finished[w] = true
            :: else
            fi;
            release(w);
            client[w] = DONE;
            check_now();
            skip
       }
    od
}

/* ---- Time and misfortune ---------------------------------------------------------------------- */

#define is_busy_with(a)                                                                            \
    (awake(server_of[a]) &&                                                                        \
     (request[a] == UNREAD || request[a] == CLAIMED || look[a] || told_grant[a] || told_cancel[a] || \
      (is_open(a) && !connected[a])))
#ifdef NO_TICK
#define tick_is_due(s) false
#else
#define tick_is_due(s) (planned[s] == 1)
#endif
#define is_busy(s) (awake(s) && (told_next[s] > 0 || tick_reply[s] > 0 || tick_is_due(s)))
#ifdef NOBODY_MINDS
#define minds_now false
#else
#define minds_now (minded == 1)
#endif
#define all_is_quiet                                                                               \
    (!minds_now && !is_busy(0) && !is_busy(1) && !is_busy_with(0) && !is_busy_with(1) && !is_busy_with(2) &&     \
     !is_busy_with(3) && !is_busy_with(4) && !is_busy_with(5))
#define something_ends                                                                             \
    (alive(0) || alive(1) || alive(2) || alive(3) || tick_told > 0 || planned[0] > 1 || planned[1] > 1)

inline pass_time() {
    for (i : 0 .. LAST_TO_END) {
        left[i] = (left[i] > 0 -> left[i] - 1 : 0)
    }
    for (i : 0 .. CLIENTS - 1) {
        believes[i] = (believes[i] > 0 -> believes[i] - 1 : 0)
    }
    for (i : 0 .. SERVERS - 1) {
        planned[i] = (planned[i] > 1 -> planned[i] - 1 : planned[i])
    }
    tick_told = (tick_told > 0 -> tick_told - 1 : 0);
    minded = (minded > 1 -> minded - 1 : minded)
}

inline lose_inbox(s) {
    for (k : 0 .. ATTEMPTS - 1) {
        if
        :: is_at(k, s) ->
            told_grant[k] = false;
            told_cancel[k] = false
        :: else
        fi
    }
    told_next[s] = 0
}

/* A grant's message carries the next end, too. */
inline lose_one(a) {
    losses--;
    told_next[server_of[a]] = (told_grant[a] -> 0 : told_next[server_of[a]]);
    told_grant[a] = false;
    told_cancel[a] = false
}

inline crash(s) {
    up[s] = false;
    listens[s] = false;
    paused[s] = false;
    lose_inbox(s);
    planned[s] = 0;
    tick_reply[s] = 0;
    for (k : 0 .. ATTEMPTS - 1) {
        if
        :: is_at(k, s) && request[k] != NONE && request[k] != ENDED ->
            excused[k / 2] = excused[k / 2] || request[k] == CLAIMED;
            request[k] = ENDED;
            look[k] = false;
            if
            :: client[k / 2] == WAITS && current[k / 2] == k -> client[k / 2] = AWAY
            :: else
            fi;
            connected[k] = false
        :: else
        fi
    }
}

inline end_lease(s) {
    lease_over[s] = true;
    lease_ended[s] = up[s];
    for (k : 0 .. CLIENTS - 1) {
        keeps_place[k] = keeps_place[k] && (keeps(k) || attempt_of[k] == NO_ATTEMPT || waits_at(k) != s)
    }
}

proctype time() {
end:
    do
    :: d_step {
        all_is_quiet && something_ends ->
            check_time();
            pass_time();
            skip
       }
    :: d_step {
        minds_now ->
            minded = 0;
            tick();
            if
            :: next != NOBODY -> mind(next + 1)
            :: else
            fi;
            check_now();
            skip
       }
    :: d_step { holds[OUTSIDER] && left[OUTSIDER] > 0 -> release(OUTSIDER); check_now(); skip }
    :: d_step { place[0] == ABSENT || place[0] == MISSED -> place[0] = OUT; keeps_place[0] = false; skip }
    od
}

proctype fate_of(byte s) {
end:
    do
    :: d_step { up[s] && crashes > 0 -> crashes--; crash(s); skip }
    :: d_step { awake(s) && pauses > 0 -> pauses--; paused[s] = true; has_slept[s] = true; skip }
    :: d_step {
        paused[s] ->
            paused[s] = false;
            /* A server that slept longer than its lease looks at all it has: the lease may be new
             * by its next heartbeat. */
            if
#ifndef SLEPT_UNNOTICED
            :: lease_ended[s] -> look_at_all(s)
#endif
            :: else
            fi;
            lease_ended[s] = false
       }
    :: d_step { up[s] && listens[s] && cuts > 0 -> cuts--; listens[s] = false; lose_inbox(s); skip }
    :: d_step { !awake(s) && standing[s] != UNKNOWN && !lease_over[s] -> end_lease(s); skip }
    od
}

#define lies_unread(a) (told_grant[a] || told_cancel[a])

proctype loss() {
end:
    do
    :: d_step { losses > 0 && lies_unread(0) -> lose_one(0); skip }
    :: d_step { losses > 0 && lies_unread(1) -> lose_one(1); skip }
    :: d_step { losses > 0 && lies_unread(2) -> lose_one(2); skip }
    :: d_step { losses > 0 && lies_unread(3) -> lose_one(3); skip }
    :: d_step { losses > 0 && lies_unread(4) -> lose_one(4); skip }
    :: d_step { losses > 0 && lies_unread(5) -> lose_one(5); skip }
    :: d_step { losses > 0 && told_next[0] > 0 -> losses--; told_next[0] = 0; skip }
    :: d_step { losses > 0 && told_next[1] > 0 -> losses--; told_next[1] = 0; skip }
    od
}

/* When nothing can happen any more. */
proctype judge() {
    byte a;
    timeout ->
    for (a : 0 .. ATTEMPTS - 1) {
        MUST(served, !(up[server_of[a]] && (request[a] == UNREAD || is_open(a) || request[a] == CLAIMED)))
    }
}

init {
    atomic {
        for (i : 0 .. TOKENS - 1) {
            claimer[i] = UNCLAIMED
        }
        holds[OUTSIDER] = true;
        left[OUTSIDER] = TTL;
        claimer[OUTSIDER] = REPEATED;
        run time();
        run fate_of(0);
        run fate_of(1);
        run server(0);
        run server(1);
        run client_of(0);
        run client_of(1);
        run client_of(2);
        run request_of(0, 0);
        run request_of(1, 2);
        run request_of(2, 4);
#if RETRIES > 0
        run request_of(0, 1);
        run request_of(1, 3);
        run request_of(2, 5);
#endif
#if LOSSES > 0
        run loss();
#endif
        run judge()
    }
}
