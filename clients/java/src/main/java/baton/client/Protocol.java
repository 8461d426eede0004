package baton.client;

import java.time.Duration;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** What a client asks of batond to take, keep and end a lock, and for how long it repeats that. Times are in nanoseconds. */
final class Protocol {
    private static final long KEEP_MS = 10_000; // for the place in the queue between two requests
    private static final long SHORTEST_PORTION = 1_000_000_000; // a batond with a shorter max-wait is not waited at
    private static final long PAUSE = 300_000_000;
    private static final long LEAVING = 2_000_000_000; // how long a lock() that has failed tries to end what it may have got

    private final Transport transport;
    private final long timeout;
    private final long portion;
    private final long patience;

    Protocol(Transport transport, long timeout, long portion, long patience) {
        this.transport = transport;
        this.timeout = timeout;
        this.portion = portion;
        this.patience = patience;
    }

    /** In as many requests as it needs: all have one token, and so one place in the queue. */
    void acquire(Lease lease, long wait, Map<String, Object> fields) throws InterruptedException {
        long begun = System.nanoTime();
        long part = portion;
        boolean isGranted = false;
        while (true) {
            long leftOfWait = wait - (System.nanoTime() - begun);
            boolean isLast = leftOfWait <= part;
            long waits = isGranted ? 0 : Math.max(0, Math.min(part, leftOfWait));
            Reply reply = take(lease, "POST", acquireBody(lease, fields, waits), waits + timeout, Long.MAX_VALUE);
            isGranted = reply.isDone();
            if (isGranted) {
                boolean isRepeated = waits == 0;
                // A wait counts as time on the way. The same request again, without one, says what is left.
                if (lease.left() > lease.ttl() / 2 || (isRepeated && lease.left() > 0)) {
                    lease.take();
                    return;
                }
            }
            Problem problem = isGranted ? Reply.none("the answers come too late for this TTL", 0).problem() : reply.problem();
            if (isTooLong(part, problem)) {
                part /= 2;
                continue;
            }
            long end = begun + (isTrouble(problem) ? Math.max(wait, patience) : wait);
            boolean isTimeout = problem instanceof Problem.WaitTimeout;
            boolean mayGoOn = isTrouble(problem) || (isTimeout && !isLast) || problem instanceof Problem.Quarantined
                    || problem instanceof Problem.TooMany;
            if (!mayGoOn || System.nanoTime() - end >= 0) {
                throw problem;
            }
            if (!isGranted && !isTimeout) {
                long pause = problem.retryAfter().isZero() ? PAUSE : problem.retryAfter().toNanos();
                sleep(Math.min(Math.min(pause, SHORTEST_PORTION), end - System.nanoTime()));
            }
        }
    }

    /** Whether batond has refused the wait, since its max-wait is shorter, and takes half of it. */
    static boolean isTooLong(long part, Problem problem) {
        return problem.status() == 400 && String.valueOf(problem.document().get("parameter")).startsWith("wait")
                && part / 2 >= SHORTEST_PORTION;
    }

    /** An earlier request, given up here, may come late to batond, and supersede the one that waits. */
    private static boolean isTrouble(Problem problem) {
        return problem instanceof Problem.Superseded
                || (problem instanceof Problem.Unavailable && !(problem instanceof Problem.Quarantined));
    }

    private static Map<String, Object> acquireBody(Lease lease, Map<String, Object> fields, long waits) {
        Map<String, Object> body = new HashMap<>(lease.body);
        body.putAll(fields);
        if (waits > 0) {
            body.put("wait_ms", (waits + 999_999) / 1_000_000);
            if (lease.names.size() == 1 && !body.containsKey("keep")) {
                body.putIfAbsent("keep_ms", KEEP_MS);
            }
        }
        return body;
    }

    /** Renews the lease for as long as it can. */
    void keep(Lease lease) throws InterruptedException {
        while (lease.awaitRenewal()) {
            if (lease.renewing.tryLock(lease.left(), TimeUnit.NANOSECONDS)) {
                try {
                    renew(lease);
                } finally {
                    lease.renewing.unlock();
                }
            }
        }
    }

    private void renew(Lease lease) throws InterruptedException {
        if (lease.untilRenewal() > 0) {
            return; // somebody has extended it meanwhile
        }
        Reply reply = take(lease, "PUT", lease.body, Math.min(timeout, lease.ttl() / 4), lease.left());
        if (!reply.isDone()) {
            lease.refuse(reply.problem());
        }
    }

    /** Goes on with a hold that another has taken. If batond refuses that, nothing is released. */
    void adopt(Lease lease) throws InterruptedException {
        insist(() -> take(lease, "PUT", lease.body, timeout, Long.MAX_VALUE), patience);
        lease.take();
    }

    /** Renews the lease now, with that TTL from now on, if it is not null. */
    void extend(Lease lease, Duration ttl) throws InterruptedException {
        Map<String, Object> body = new HashMap<>(lease.body);
        if (ttl != null) {
            body.put("ttl_ms", ttl.toMillis());
        }
        long length = ttl == null ? lease.ttl() : ttl.toNanos();
        try {
            insist(() -> extendOnce(lease, body, length), Math.min(patience, Math.min(length, lease.left())));
        } catch (Problem.NotHeld problem) {
            lease.refuse(problem);
            throw problem;
        } catch (Problem | InterruptedException error) {
            lease.renewNow(); // so that the answer tells which TTL it has
            throw error;
        }
    }

    private Reply extendOnce(Lease lease, Map<String, Object> body, long ttl) throws InterruptedException {
        long before = lease.expect(ttl);
        Reply reply = take(lease, "PUT", body, Math.min(timeout, ttl / 4), lease.left());
        if (!reply.isDone() && !reply.isRepeated() && !(reply.problem() instanceof Problem.Unavailable)) {
            lease.countUntil(before);
        }
        return reply;
    }

    /** One request that takes the lock or renews it. */
    private Reply take(Lease lease, String method, Map<String, Object> body, long timeout, long limit)
            throws InterruptedException {
        Reply reply = transport.ask(method, lease.path, "ttl_ms", lease.token, body, timeout, limit);
        if (reply.isDone()) {
            lease.count(reply);
        }
        return reply;
    }

    /** Ends the hold, or the wait, even of a thread that is interrupted. If nobody answers, its TTL ends it. */
    Reply release(Lease lease) {
        boolean isInterrupted = Thread.interrupted();
        boolean isRepeated = false;
        long begun = System.nanoTime();
        long end = lease.isTaken() ? patience : Math.min(patience, LEAVING);
        Reply reply = Reply.none("interrupted", begun);
        while (true) {
            long left = lease.left();
            try {
                long limit = Math.min(timeout, Math.max(left, SHORTEST_PORTION));
                reply = transport.ask("DELETE", lease.path, "released", lease.token, lease.body, limit);
                Problem problem = reply.isDone() ? null : reply.problem();
                boolean mayGoOn = problem instanceof Problem.Unavailable || problem instanceof Problem.TooMany;
                if (!mayGoOn || (lease.isTaken() && left <= 0) || System.nanoTime() - begun > end) {
                    break;
                }
                sleep(PAUSE);
            } catch (InterruptedException error) {
                isInterrupted = true; // and once more
                if (System.nanoTime() - begun > end) {
                    break;
                }
            }
            isRepeated = true;
        }
        if (isInterrupted) {
            Thread.currentThread().interrupt();
        }
        return isRepeated ? reply.repeated() : reply;
    }

    Iterator<Map<String, Object>> events(String path) {
        return new Events(this, path, portion);
    }

    /** Any other request. One that only reads is repeated while nobody answers. */
    Map<String, Object> request(String method, String path, String proof, long waits) throws InterruptedException {
        long longest = method.equals("GET") ? waits + patience : 0;
        return insist(() -> transport.ask(method, path, proof, null, null, waits + timeout), longest).document();
    }

    private interface Attempt {
        Reply make() throws InterruptedException;
    }

    /** Repeats a request while no batond can serve. */
    private static Reply insist(Attempt attempt, long longest) throws InterruptedException {
        long begun = System.nanoTime();
        for (Reply reply = attempt.make();; reply = attempt.make()) {
            if (reply.isDone()) {
                return reply;
            }
            Problem problem = reply.problem();
            boolean mayGoOn = problem instanceof Problem.Unavailable || problem instanceof Problem.TooMany;
            if (!mayGoOn || System.nanoTime() - begun >= longest) {
                throw problem;
            }
            sleep(PAUSE);
        }
    }

    private static void sleep(long nanoseconds) throws InterruptedException {
        Thread.sleep(Math.max(0, nanoseconds) / 1_000_000, (int) (Math.max(0, nanoseconds) % 1_000_000));
    }
}
