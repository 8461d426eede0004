package baton.client;

import java.net.http.HttpClient;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Map;

/** Talks to one batond, or to several that share a Redis. Threads may share it. */
public final class Client {
    private final Protocol protocol;

    public Client() {
        this(builder());
    }

    public Client(String... urls) {
        this(builder(urls));
    }

    private Client(Builder builder) {
        Transport transport = new Transport(builder.urls, builder.bearer, builder.http);
        protocol = new Protocol(transport, builder.timeout.toNanos(), builder.portion.toNanos(), builder.patience.toNanos());
    }

    public static Builder builder() {
        return builder("http://127.0.0.1:7420");
    }

    public static Builder builder(String... urls) {
        return new Builder(Arrays.asList(urls.clone()));
    }

    /** How to reach batond, and how patient to be. */
    public static final class Builder {
        private final List<String> urls;
        private String bearer;
        private Duration timeout = Duration.ofSeconds(5);
        private Duration portion = Duration.ofSeconds(25);
        private Duration patience = Duration.ofSeconds(10);
        private HttpClient http = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

        private Builder(List<String> urls) {
            this.urls = urls;
        }

        /** The API key. */
        public Builder bearer(String key) {
            bearer = key;
            return this;
        }

        /** For an answer, beside the wait. */
        public Builder timeout(Duration duration) {
            timeout = duration;
            return this;
        }

        /** How long one request waits: less than any proxy allows. */
        public Builder portion(Duration duration) {
            portion = duration;
            return this;
        }

        /** How long a request is repeated while no batond can serve. */
        public Builder patience(Duration duration) {
            patience = duration;
            return this;
        }

        /** For certificates, for example. Let it use HTTP/1.1, and follow no redirect, as is the default. */
        public Builder http(HttpClient client) {
            http = client;
            return this;
        }

        public Client build() {
            return new Client(this);
        }
    }

    /** Takes one lock, or several, all or none, without a wait. */
    public Lock lock(String... names) throws InterruptedException {
        return lock(new LockOptions(), names);
    }

    /** Takes one lock, or several, all or none. An interrupt cancels the wait. */
    public Lock lock(LockOptions options, String... names) throws InterruptedException {
        return lock(options, options.waitFor, names);
    }

    private Lock lock(LockOptions options, Duration wait, String... names) throws InterruptedException {
        Lease lease = new Lease(names);
        Map<String, Object> fields = options.request();
        Lock lock = null;
        try {
            protocol.acquire(lease, wait.toNanos(), fields);
            lock = new Lock(protocol, lease, options.onLost);
        } finally {
            if (lock == null) {
                protocol.release(lease); // leaves the queue; a grant whose answer was lost ends, too
            }
        }
        return lock;
    }

    /** A lock that another has taken, who has passed its token on. It is renewed and closed like any other. */
    public Lock held(String token, String... names) throws InterruptedException {
        return held(() -> { }, token, names);
    }

    /** The same, and a thread of the client runs the action before the lock ends. */
    public Lock held(Runnable onLost, String token, String... names) throws InterruptedException {
        Lease lease = new Lease(token, Arrays.asList(names.clone()));
        protocol.adopt(lease);
        return new Lock(protocol, lease, onLost);
    }

    /** What is done under a lock. */
    @FunctionalInterface
    public interface Task<E extends Exception> {
        void run(Lock lock) throws E;
    }

    /** Runs the task while it holds the lock. False if options.skip() is set and another has the lock: it did not run. */
    public <E extends Exception> boolean run(LockOptions options, Task<E> task, String... names)
            throws InterruptedException, E {
        Lock lock;
        try {
            lock = lock(options, names);
        } catch (Problem.Locked refusal) {
            if (options.skips) {
                return false;
            }
            throw refusal;
        }
        try (lock) {
            task.run(lock);
        }
        return true;
    }

    /**
     * Waits until this process leads, and runs the task. If the lock is lost, it waits and runs it again. It returns when the
     * task has ended while this process led. Every exception of the task but LockLost ends it.
     */
    public <E extends Exception> void lead(LockOptions options, Task<E> task, String name) throws InterruptedException, E {
        while (true) {
            try (Lock lock = lock(options, LockOptions.FOREVER, name)) {
                task.run(lock);
            } catch (BatonException.LockLost lost) {
                continue;
            }
            return;
        }
    }

    /** Shows a lock, as GET /locks/NAME does. */
    public Map<String, Object> inspect(String name) throws InterruptedException {
        return protocol.request("GET", Lease.path(name), "version", 0);
    }

    /** What is held under a prefix. */
    @SuppressWarnings("unchecked")
    public List<Map<String, Object>> list(String prefix) throws InterruptedException {
        List<Map<String, Object>> locks = new ArrayList<>();
        Object cursor = "";
        while (cursor != null) {
            String after = cursor.equals("") ? "" : "&cursor=" + Lease.encode(cursor.toString());
            var page = protocol.request("GET", "/locks?prefix=" + Lease.encode(prefix) + after, "locks", 0);
            locks.addAll((List<Map<String, Object>>) page.get("locks"));
            cursor = page.get("cursor");
        }
        return locks;
    }

    /** Ends all holds of the name, whoever has them, and says which. After a Problem.Unavailable, look before you repeat it. */
    public Map<String, Object> breakLock(String name) throws InterruptedException {
        return breakLock(name, null, null);
    }

    /** Ends the hold of the fence, or all if it is null. The reason goes to the log, and to who has lost the lock. */
    public Map<String, Object> breakLock(String name, Long fence, String reason) throws InterruptedException {
        String which = (fence == null ? "" : "&fence=" + fence) + (reason == null ? "" : "&reason=" + Lease.encode(reason));
        return protocol.request("DELETE", Lease.path(name) + "?force=true" + which, "broken", 0);
    }

    /** The lock as it is, and then whenever it changes: next() waits. */
    public Iterator<Map<String, Object>> events(String name) {
        return protocol.events(Lease.path(name) + "/events?");
    }

    /** What is held under a prefix, and then what changes there, as GET /events shows it: next() waits. */
    public Iterator<Map<String, Object>> eventsUnder(String prefix) {
        return protocol.events("/events?prefix=" + Lease.encode(prefix) + "&");
    }
}
