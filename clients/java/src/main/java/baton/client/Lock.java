package baton.client;

import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** A lock that is held, and renewed by a thread. Use it in a try-with-resources. */
public final class Lock implements AutoCloseable {
    private final Protocol protocol;
    private final Lease lease;
    private final Runnable onLost;
    private final Thread keeper;
    private volatile boolean isOver;
    private Lease.Reason whyLost; // what close() says; null if it was not lost

    Lock(Protocol protocol, Lease lease, Runnable onLost) {
        this.protocol = protocol;
        this.lease = lease;
        this.onLost = onLost;
        keeper = new Thread(this::keep, "baton-renew");
        keeper.setDaemon(true);
        keeper.start();
    }

    private void keep() {
        Lease.Reason failure = null;
        try {
            protocol.keep(lease);
        } catch (Throwable error) { // whatever ends the renewals, the block must learn of it
            failure = new Lease.Reason(error.toString());
        }
        synchronized (this) {
            if (isOver) {
                return;
            }
            lease.lose(failure == null ? lease.why() : failure);
        }
        onLost.run();
    }

    public List<String> names() {
        return lease.names;
    }

    /** The token of the hold. Keep it secret. */
    public String token() {
        return lease.token;
    }

    public String mode() {
        return (String) lease.holds().get(0).get("mode");
    }

    /** The fence; of several locks, that of the first name. */
    public long fence() {
        return fences().get(names().get(0));
    }

    /** The fence of each name. */
    public Map<String, Long> fences() {
        Map<String, Long> fences = new HashMap<>();
        lease.holds().forEach(hold -> fences.put((String) hold.get("name"), (Long) hold.get("fence")));
        return fences;
    }

    /** For how long you may count on the lock, unless a renewal adds to it; zero if it is lost. */
    public Duration left() {
        return Duration.ofNanos(isOver ? 0 : Math.max(0, lease.left()));
    }

    /** Throws if the lock may be another's. Call it before each step of the work. */
    public void check() {
        if (left().isZero()) {
            throw loss(isOver ? new Lease.Reason("it was closed") : lease.why());
        }
    }

    /** Renews the lock now. */
    public void extend() throws InterruptedException {
        extend(null);
    }

    /** Renews the lock now. It has this TTL from now on, if it is not null; nothing is added to the time left. */
    public void extend(Duration ttl) throws InterruptedException {
        lease.renewing.lockInterruptibly();
        try {
            check();
            protocol.extend(lease, ttl);
        } catch (Problem.NotHeld problem) {
            throw loss(lease.why());
        } finally {
            lease.renewing.unlock();
        }
    }

    private BatonException.LockLost loss(Lease.Reason why) {
        return new BatonException.LockLost(names(), why);
    }

    /** Ends the hold. Throws if it was lost before, so that the work may have been in vain. */
    @Override
    public void close() {
        if (end()) {
            judge(protocol.release(lease));
        }
        synchronized (this) {
            if (whyLost != null) {
                throw loss(whyLost);
            }
        }
    }

    /** True for the first call. */
    private synchronized boolean end() {
        if (isOver) {
            return false;
        }
        if (left().isZero()) {
            whyLost = lease.why();
            lease.lose(whyLost); // so the thread that renews ends by itself, after onLost
        } else {
            keeper.interrupt();
        }
        isOver = true;
        return true;
    }

    /** If the release has found no hold before it could end by itself, it was lost after the last renewal. */
    private synchronized void judge(Reply reply) {
        boolean isEarly = !reply.isRepeated() && !lease.hasExpired();
        if (whyLost == null && isEarly && reply.problem() instanceof Problem.NotHeld problem) {
            whyLost = new Lease.Reason(problem);
        }
    }
}
