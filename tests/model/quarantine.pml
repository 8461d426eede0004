/* quarantine.pml: how long nothing is granted after Redis has lost a hold, as a model that spin checks.
 *
 * One exclusive lock, two workers, whose clients take it for a SHORT or a LONG TTL. What it stands for:
 * locks/scripts/epoch.lua (the epoch and its windows), locks/quarantine/span.c (what a worker remembers) and
 * locks/quarantine/judge.c (what it makes of an epoch). A step of Redis is indivisible; a worker that was
 * granted the lock raises the span in the epoch before it reports the hold, unless the epoch covers it.
 *
 * Time is a few units, and passes only while each worker has looked at the epoch since it last did, as
 * workers do every second; so MARGIN is one unit. A hold may be reported any time later. A worker that has
 * read of a loss begins a new epoch in a second step, and others may act in between.
 *
 * Faults are counted: FORGETS (Redis loses the lock and nothing else, such as a promoted replica), EMPTIES
 * (it loses all; a worker that was never there before takes it for a new one, so all have looked before),
 * CRASHES (a worker is killed and starts anew, without a memory; its client goes on), JUMPS (one worker alone
 * notices a jump of the clock, and the others go on).
 *
 * Property: `single`: the lock is granted only while no other client counts on it. */

#ifndef FORGETS
#define FORGETS 0
#endif
#ifndef EMPTIES
#define EMPTIES 0
#endif
#ifndef CRASHES
#define CRASHES 0
#endif
#ifndef JUMPS
#define JUMPS 0
#endif
#ifndef TAKES
#define TAKES 3 /* how often the lock is taken */
#endif

#define SHORT 1
#define LONG 3
#define MARGIN 1
#define WORKERS 2
#define NONE 0 /* in the place of an epoch */

#define GREATER(a, b) (a > b -> a : b)
#define LESS_ONE(a) (a > 0 -> a - 1 : 0)

bool single = true;
#define MUST(property, condition)                                                                  \
    property = property && (condition);                                                            \
    assert(property)

/* Redis: the lock, the run of its server, and the epoch. Times are units that are left. */
byte lock_left, server = 1;
byte epoch, of_server, span, before, turns, closed;
byte epochs;

/* What a worker knows of the epoch, and what it asked it to have. */
typedef worker {
    byte epoch, server, span, before, turns, closed, asked;
    bool has_looked;
    bool waits;     /* it was granted the lock, and has not reported it */
    byte hold_left; /* of the lock that it was granted */
    bool begins;    /* an epoch in the place of `found`, by the span `lasts` that was known */
    byte found, lasts, length;
};
worker knows[WORKERS];
byte believes[WORKERS]; /* how long a client of this worker counts on the lock; also after a crash */

byte forgets = FORGETS, empties = EMPTIES, crashes = CRASHES, jumps = JUMPS, takes = TAKES;

#define COVERS(w, ttl) (knows[w].span >= (ttl) && knows[w].turns > 0)

hidden byte memory, length;

inline recall(w) {
    memory = GREATER(knows[w].span, knows[w].before);
    memory = GREATER(memory, knows[w].asked)
}

inline turn() {
    if
    :: turns == 0 ->
        turns = 1 + GREATER(span, SHORT);
#ifdef LOWERED_AFTER_ONE_WINDOW
        before = 0;
#else
        before = span;
#endif
        span = 0
    :: else
    fi
}

inline see(w) {
    knows[w].epoch = epoch;
    knows[w].server = server;
    knows[w].span = span;
    knows[w].before = before;
    knows[w].turns = turns;
    knows[w].closed = closed;
    if
    :: knows[w].asked <= span -> knows[w].asked = 0
    :: else
    fi
}

/* What is known of the span now, and that nothing is granted for `length`. */
inline plan(w) {
    knows[w].begins = true;
    knows[w].found = epoch;
    knows[w].lasts = memory;
    knows[w].length = length;
    knows[w].has_looked = false
}

inline recall_all(w) {
    recall(w);
    memory = GREATER(memory, span);
    memory = GREATER(memory, before);
    length = memory + MARGIN
}

/* A new epoch, if the one that was found is still there; its worker looks again. */
inline begin(w) {
    if
    :: epoch == knows[w].found ->
#ifdef LATE_BEGIN_FORGETS
        before = knows[w].lasts;
#else
        before = GREATER(before, span);
        before = GREATER(before, knows[w].lasts);
#endif
        span = 0;
        turns = 1 + GREATER(before, SHORT);
        epochs++;
        epoch = epochs;
        of_server = server;
        closed = GREATER(closed, knows[w].length)
    :: else
    fi;
    knows[w].begins = false;
    knows[w].found = NONE;
    knows[w].lasts = 0;
    knows[w].length = 0
}

/* Another worker has noticed a loss: the span that this one remembers counts as well. */
inline follow(w) {
    recall(w);
    length = memory + MARGIN;
    closed = GREATER(closed, length);
    turn();
    if
    :: memory > span && memory > before -> span = memory
    :: else
    fi
}

inline adopt(w) {
    see(w);
    knows[w].has_looked = true
}

inline look(w) {
    if
    :: epoch == NONE && knows[w].epoch == NONE -> recall(w); length = 0; plan(w)
    :: epoch == NONE && knows[w].epoch != NONE -> recall_all(w); plan(w)
    :: epoch != NONE && of_server != server ->
#ifdef RESTART_UNNOTICED
        of_server = server;
        adopt(w)
#else
        recall_all(w);
        plan(w)
#endif
    :: epoch != NONE && of_server == server && knows[w].epoch != NONE && knows[w].epoch != epoch ->
#ifdef NOT_FOLLOWED
        turn();
#else
        follow(w);
#endif
        adopt(w)
    :: else -> turn(); adopt(w)
    fi
}

/* The script: it grants nothing on data of another epoch than its worker knows. */
inline acquire(w, ttl) {
    MUST(single, believes[0] == 0 && believes[1] == 0);
    takes--;
    lock_left = ttl;
    knows[w].hold_left = ttl;
#ifdef TOLD_BEFORE_RAISED
    believes[w] = ttl;
#endif
    if
    :: COVERS(w, ttl) -> believes[w] = ttl
    :: else ->
        knows[w].asked = GREATER(knows[w].asked, ttl);
        knows[w].waits = true
    fi
}

#define MAY_ASK(w)                                                                                 \
    (knows[w].has_looked && knows[w].epoch == epoch && epoch != NONE && knows[w].server == server && !knows[w].waits && \
     knows[w].closed == 0 && closed == 0 && lock_left == 0 && takes > 0)

/* The span is raised, and the hold is reported; if the epoch is another by now, it is not. */
inline report(w) {
    knows[w].waits = false;
    if
    :: knows[w].epoch == epoch ->
#ifndef RAISED_HERE_AND_NOT_THERE
        turn();
        span = GREATER(span, knows[w].asked);
        see(w);
#endif
        believes[w] = knows[w].hold_left
    :: else ->
#ifdef REPORTED_WITHOUT_THE_EPOCH
        believes[w] = knows[w].hold_left
#else
        skip
#endif
    fi
}

/* All connections to Redis are lost, and with them what was on its way. */
inline disconnect() {
    knows[0].has_looked = false;
    knows[1].has_looked = false;
    knows[0].waits = false;
    knows[1].waits = false;
    knows[0].begins = false;
    knows[1].begins = false
}

proctype worker_of(byte w) {
end:
    do
    :: d_step { !knows[w].has_looked && !knows[w].begins -> look(w); skip }
    :: d_step { knows[w].begins -> begin(w); skip }
    :: d_step { jumps > 0 && knows[w].has_looked && knows[w].epoch == epoch -> jumps--; recall_all(w); plan(w); skip }
    :: d_step { MAY_ASK(w) -> acquire(w, SHORT); skip }
    :: d_step { MAY_ASK(w) -> acquire(w, LONG); skip }
    :: d_step { knows[w].waits && knows[w].has_looked -> report(w); skip }
    :: d_step { believes[w] > 0 && lock_left > 0 -> believes[w] = 0; lock_left = 0; skip }
    :: d_step {
        crashes > 0 && epoch != NONE ->
            crashes--;
            knows[w].epoch = NONE;
            knows[w].span = 0;
            knows[w].before = 0;
            knows[w].turns = 0;
            knows[w].closed = 0;
            knows[w].asked = 0;
            knows[w].has_looked = false;
            knows[w].waits = false;
            knows[w].begins = false;
            skip
       }
    od
}

proctype redis() {
end:
    do
    :: d_step {
        knows[0].has_looked && knows[1].has_looked && (takes > 0 || believes[0] > 0 || believes[1] > 0) ->
            lock_left = LESS_ONE(lock_left);
            turns = LESS_ONE(turns);
            closed = LESS_ONE(closed);
            believes[0] = LESS_ONE(believes[0]);
            believes[1] = LESS_ONE(believes[1]);
            knows[0].turns = LESS_ONE(knows[0].turns);
            knows[1].turns = LESS_ONE(knows[1].turns);
            knows[0].closed = LESS_ONE(knows[0].closed);
            knows[1].closed = LESS_ONE(knows[1].closed);
            knows[0].hold_left = LESS_ONE(knows[0].hold_left);
            knows[1].hold_left = LESS_ONE(knows[1].hold_left);
            knows[0].has_looked = false;
            knows[1].has_looked = false;
            skip
       }
    :: d_step { forgets > 0 -> forgets--; lock_left = 0; server++; disconnect(); skip }
    :: d_step {
        empties > 0 && epoch != NONE && knows[0].epoch == epoch && knows[1].epoch == epoch ->
            empties--;
            lock_left = 0;
            epoch = NONE;
            span = 0;
            before = 0;
            turns = 0;
            closed = 0;
            disconnect();
            skip
       }
    od
}

init {
    atomic {
        run redis();
        run worker_of(0);
        run worker_of(1)
    }
}
