package baton.client;

import java.net.http.HttpClient;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;

/** Talks to one batond, or to several that share a Redis. Threads may share it. */
public final class Client {
    private static final long KEEP_MS = 10_000; // for the place in the queue between two requests
    private static final long SHORTEST_PORTION = 1_000_000_000; // a batond with a shorter max-wait is not waited at
    private static final long PAUSE = 300_000_000;
    private static final long LEAVING = 2_000_000_000; // how long a lock() that has failed tries to end what it may have got

    private final Transport transport;
    private final long timeout;
    private final long portion;
    private final long patience;

    public Client() {
        this(builder());
    }

    public Client(String... urls) {
        this(builder(urls));
    }

    private Client(Builder builder) {
        transport = new Transport(builder.urls, builder.bearer, builder.http);
        timeout = builder.timeout.toNanos();
        portion = builder.portion.toNanos();
        patience = builder.patience.toNanos();
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
        Lease lease = new Lease(Arrays.asList(names.clone()));
        Map<String, Object> fields = options.request();
        Lock lock = null;
        try {
            acquire(lease, options.waitFor.toNanos(), fields);
            lock = new Lock(this, lease, options.onLost);
        } finally {
            if (lock == null) {
                release(lease); // leaves the queue; a grant whose answer was lost ends, too
            }
        }
        return lock;
    }

    /** Shows a lock, as GET /locks/NAME does. */
    public Map<String, Object> inspect(String name) throws InterruptedException {
        return request("GET", Lease.path(name), "version", 0);
    }

    /** Ends all holds of the name, whoever has them, and says which. After a Problem.Unavailable, look before you repeat it. */
    public Map<String, Object> breakLock(String name) throws InterruptedException {
        return breakLock(name, null, null);
    }

    /** Ends the hold of the fence, or all if it is null. The reason goes to the log, and to who has lost the lock. */
    public Map<String, Object> breakLock(String name, Long fence, String reason) throws InterruptedException {
        String which = (fence == null ? "" : "&fence=" + fence) + (reason == null ? "" : "&reason=" + Lease.encode(reason));
        return request("DELETE", Lease.path(name) + "?force=true" + which, "broken", 0);
    }

    /** The lock as it is, and then whenever it changes: next() waits. */
    public Iterator<Map<String, Object>> events(String name) {
        return new Events(this, Lease.path(name) + "/events?", portion);
    }

    /** What is held under a prefix, and then what changes there, as GET /events shows it: next() waits. */
    public Iterator<Map<String, Object>> eventsUnder(String prefix) {
        return new Events(this, "/events?prefix=" + Lease.encode(prefix) + "&", portion);
    }

    Map<String, Object> nextChange(String path, long waits) throws InterruptedException {
        return request("GET", path, "changed", waits);
    }

    /** In as many requests as it needs: all have one token, and so one place in the queue. */
    private void acquire(Lease lease, long wait, Map<String, Object> fields) throws InterruptedException {
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
        for (long left = lease.left(); left > 0; left = lease.left()) {
            if (lease.untilRenewal() > 0) {
                sleep(Math.min(lease.untilRenewal(), left));
                continue;
            }
            Reply reply = take(lease, "PUT", lease.body, Math.min(timeout, lease.ttl() / 4), left);
            if (!reply.isDone()) {
                lease.refuse(reply.problem());
            }
        }
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

    /** Any other request. One that only reads is repeated while nobody answers. */
    private Map<String, Object> request(String method, String path, String proof, long waits) throws InterruptedException {
        long begun = System.nanoTime();
        while (true) {
            Reply reply = transport.ask(method, path, proof, null, null, waits + timeout);
            if (reply.isDone()) {
                return reply.document();
            }
            Problem problem = reply.problem();
            boolean mayGoOn = method.equals("GET")
                    && (problem instanceof Problem.Unavailable || problem instanceof Problem.TooMany);
            if (!mayGoOn || System.nanoTime() - begun > waits + patience) {
                throw problem;
            }
            sleep(PAUSE);
        }
    }

    private static void sleep(long nanoseconds) throws InterruptedException {
        Thread.sleep(Math.max(0, nanoseconds) / 1_000_000, (int) (Math.max(0, nanoseconds) % 1_000_000));
    }
}
