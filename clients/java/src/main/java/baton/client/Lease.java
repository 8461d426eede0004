package baton.client;

import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.security.SecureRandom;
import java.util.Base64;
import java.util.List;
import java.util.Map;

/** A hold of one name or several, and how long this client counts on it. Times are in nanoseconds. */
final class Lease {
    private static final SecureRandom RANDOM = new SecureRandom();
    private static final String LATE = "no batond has renewed the lock in time";
    private static final long SECOND = 1_000_000_000;

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
    private String why = "";

    Lease(List<String> names) {
        byte[] bytes = new byte[16];
        RANDOM.nextBytes(bytes);
        token = Base64.getUrlEncoder().withoutPadding().encodeToString(bytes);
        this.names = names;
        names.forEach(Lease::path); // checks them
        if (names.isEmpty()) {
            throw new IllegalArgumentException("A lock has a name, or several.");
        }
        path = names.size() == 1 ? path(names.get(0)) : "/locks";
        body = names.size() == 1 ? Map.of() : Map.of("names", names);
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
        expires = reply.sent() + ttl / 100 * 99 - Math.min(ttl / 10, SECOND);
        renewAt = reply.sent() + ttl / 3;
        why = LATE;
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
    synchronized void lose(String because) {
        isLost = true;
        why = because;
    }

    /** A renewal was refused: the lease has ended, ends soon, or may be renewed yet. */
    synchronized void refuse(Problem problem) {
        why = problem.getMessage();
        if (problem instanceof Problem.NotHeld) {
            isLost = true;
        } else if (problem instanceof Problem.MaxHeld) {
            renewAt = expires + ttl; // never
        } else {
            why = LATE + "; at last: " + why;
            renewAt = System.nanoTime() + ttl / 20;
        }
    }

    /** Why it is lost, if it is. */
    synchronized String why() {
        return why;
    }
}
