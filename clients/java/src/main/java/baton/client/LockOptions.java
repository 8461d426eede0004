package baton.client;

import java.io.IOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;

/** How to take a lock. All are optional. */
public final class LockOptions {
    /** A wait without an end. */
    public static final Duration FOREVER = Duration.ofDays(36_500);

    private static final String OWNER = user() + "@" + host();

    Duration waitFor = Duration.ZERO;
    Runnable onLost = () -> { };
    boolean skips;
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

    /** Client.run() does nothing if another has the lock, in place of Problem.Locked. */
    public LockOptions skip() {
        skips = true;
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

    /** All fields, of which the owner is USER@HOST if none is named. */
    Map<String, Object> request() {
        if (Boolean.TRUE.equals(fields.get("reentrant")) && !fields.containsKey("owner")) {
            throw new IllegalArgumentException("reentrant is for the holds of one owner. Name it: owner.");
        }
        Map<String, Object> request = new LinkedHashMap<>(fields);
        request.putIfAbsent("owner", OWNER);
        return request;
    }

    private static String user() {
        String user = System.getProperty("user.name", "?"); // as Java says it if it does not know
        return user.equals("?") ? "user" : user.substring(0, Math.min(32, user.length()));
    }

    private static String host() {
        try {
            return Files.readString(Path.of("/proc/sys/kernel/hostname")).strip(); // without DNS
        } catch (IOException error) {
            try {
                return InetAddress.getLocalHost().getHostName();
            } catch (UnknownHostException unknown) {
                return "host";
            }
        }
    }
}
