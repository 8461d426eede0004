package baton.client;

import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.security.SecureRandom;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;

/** A hold of one name or several, and how long this client counts on it. Times are in nanoseconds. */
final class Lease {
    private static final SecureRandom RANDOM = new SecureRandom();
    private static final String LATE = "no batond has renewed the lock in time";
    private static final long SECOND = 1_000_000_000;

    /** Why it is lost, and the problem document that says so, if there is one. */
    record Reason(String text, Map<String, Object> document) {
        Reason(String text) {
            this(text, Map.of());
        }

        Reason(Problem problem) {
            this(problem.getMessage(), problem.document());
        }
    }

    /** One renewal at a time: a later one must not be answered before an earlier one with another TTL. */
    final ReentrantLock renewing = new ReentrantLock();
    final List<String> names;
    final String token;
    final String path;
    final Map<String, Object> body;
    private List<Map<String, Object>> holds = List.of();
    private long ttl;
    private long expires; // by System.nanoTime(), before it ends in Redis
    private long renewAt;
    private boolean isTaken;
    private boolean isLost;
    private Reason why = new Reason("it was not taken");

    Lease(String... names) {
        this(newToken(), Arrays.asList(names.clone()));
    }

    /** Of a hold that another may have taken. */
    Lease(String token, List<String> names) {
        this.token = Transport.ofHeader(token, "token");
        this.names = names;
        names.forEach(Lease::path); // checks them
        if (names.isEmpty()) {
            throw new IllegalArgumentException("A lock has a name, or several.");
        }
        path = names.size() == 1 ? path(names.get(0)) : "/locks";
        body = names.size() == 1 ? Map.of() : Map.of("names", names);
    }

    private static String newToken() {
        byte[] bytes = new byte[16];
        RANDOM.nextBytes(bytes);
        return Base64.getUrlEncoder().withoutPadding().encodeToString(bytes);
    }

    static String path(String name) {
        if (name == null || name.isEmpty()) {
            throw new IllegalArgumentException(
                    "The name of a lock is a text that is not empty, and not " + Json.write(name) + ".");
        }
        return "/locks/" + encode(name);
    }

    /** For a path or a query: batond takes a + for a plus. */
    static String encode(String text) {
        return URLEncoder.encode(text, StandardCharsets.UTF_8).replace("+", "%20");
    }

    /**
     * From when the request was sent: it may have been on its way for any part of the time since. A hundredth is for
     * clocks that differ, the rest for a program that is slow to stop.
     */
    @SuppressWarnings("unchecked")
    synchronized void count(Reply reply) {
        holds = (List<Map<String, Object>>) (List<?>) reply.locks("ttl_ms");
        ttl = holds.stream().mapToLong(hold -> (Long) hold.get("ttl_ms")).min().orElseThrow() * 1_000_000;
        expires = reply.sent() + counted(ttl);
        renewAt = reply.sent() + ttl / 3;
        why = new Reason(LATE);
        notifyAll();
    }

    private static long counted(long ttl) {
        return ttl / 100 * 99 - Math.min(ttl / 10, SECOND);
    }

    /** A request is sent that sets the TTL. It may do so without an answer, so from now on the shorter TTL counts. */
    synchronized long expect(long newTtl) {
        long before = expires;
        expires = Math.min(before, System.nanoTime() + counted(newTtl));
        return before;
    }

    /** That request was refused: the time of before counts. */
    synchronized void countUntil(long before) {
        expires = before;
    }

    synchronized void renewNow() {
        renewAt = System.nanoTime();
        notifyAll();
    }

    /** Waits until it is time to renew it. False if it has ended. */
    synchronized boolean awaitRenewal() throws InterruptedException {
        for (long left = left(); left > 0; left = left()) {
            long pause = Math.min(untilRenewal(), left);
            if (pause <= 0) {
                return true;
            }
            TimeUnit.NANOSECONDS.timedWait(this, pause);
        }
        return false;
    }

    /** By a lock() that has succeeded. */
    synchronized void take() {
        isTaken = true;
    }

    synchronized boolean isTaken() {
        return isTaken;
    }

    synchronized List<Map<String, Object>> holds() {
        return holds;
    }

    synchronized long ttl() {
        return ttl;
    }

    /** 0 or less: do not count on it. */
    synchronized long left() {
        return isLost || ttl == 0 ? 0 : expires - System.nanoTime();
    }

    /** Whether it may have ended by itself. */
    synchronized boolean hasExpired() {
        return expires - System.nanoTime() <= 0;
    }

    synchronized long untilRenewal() {
        return renewAt - System.nanoTime();
    }

    /** For good: an answer that comes later does not count. */
    synchronized void lose(Reason because) {
        isLost = true;
        why = because;
        notifyAll();
    }

    /** A renewal was refused: the lease has ended, ends soon, or may be renewed yet. */
    synchronized void refuse(Problem problem) {
        if (problem instanceof Problem.NotHeld) {
            lose(new Reason(problem));
        } else if (problem instanceof Problem.MaxHeld) {
            why = new Reason(problem);
            renewAt = expires + ttl; // never
        } else {
            why = new Reason(LATE + "; at last: " + problem.getMessage());
            renewAt = System.nanoTime() + ttl / 20;
        }
    }

    /** Why it is lost, if it is. */
    synchronized Reason why() {
        return why;
    }
}
