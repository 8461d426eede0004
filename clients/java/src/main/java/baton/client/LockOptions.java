package baton.client;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;

/** How to take a lock. All are optional. */
public final class LockOptions {
    /** A wait without an end. */
    public static final Duration FOREVER = Duration.ofDays(36_500);

    Duration waitFor = Duration.ZERO;
    Runnable onLost = () -> { };
    final Map<String, Object> fields = new LinkedHashMap<>();

    /** For how long to wait, for all requests together. Without it, a lock that is taken is refused at once. */
    public LockOptions waitFor(Duration wait) {
        waitFor = wait;
        return this;
    }

    /** A thread of the client runs it before the lock ends: for a block that cannot check. */
    public LockOptions onLost(Runnable action) {
        onLost = action;
        return this;
    }

    public LockOptions ttl(Duration ttl) {
        return field("ttl", ttl);
    }

    public LockOptions owner(String owner) {
        return field("owner", owner);
    }

    /** The owner's other holds let this one in. */
    public LockOptions reentrant() {
        return field("reentrant", true);
    }

    /** Holds that are shared exist together. */
    public LockOptions shared() {
        return field("mode", "shared");
    }

    /** A semaphore: at most so many holds exist together. */
    public LockOptions semaphore(int limit) {
        return shared().field("limit", limit);
    }

    /** For how many the hold counts by the limit of a semaphore, all or none. */
    public LockOptions permits(int permits) {
        return field("permits", permits);
    }

    /** Any field of the API, by its name. A Duration goes as milliseconds. */
    public LockOptions field(String name, Object value) {
        if (value instanceof Duration duration) {
            fields.put(name + "_ms", duration.toMillis());
        } else {
            fields.put(name, value);
        }
        return this;
    }
}
