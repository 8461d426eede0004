package baton.client;

import java.util.Iterator;
import java.util.Map;

/** Waits for changes, one request after another. An interrupt ends it with an exception. */
final class Events implements Iterator<Map<String, Object>> {
    private final Protocol protocol;
    private final String path;
    private String after = "";
    private long part; // how long one request waits

    /** The path ends in ? or &. */
    Events(Protocol protocol, String path, long part) {
        this.protocol = protocol;
        this.path = path;
        this.part = part;
    }

    @Override
    public boolean hasNext() {
        return true;
    }

    @Override
    public Map<String, Object> next() {
        while (true) {
            try {
                Map<String, Object> change = protocol.request("GET",
                        path + "wait_ms=" + part / 1_000_000 + after, "changed", part);
                after = "&after=" + change.get("version");
                if (Boolean.TRUE.equals(change.get("changed"))) {
                    return change;
                }
            } catch (Problem.Invalid problem) {
                if (!Protocol.isTooLong(part, problem)) {
                    throw problem;
                }
                part /= 2;
            } catch (InterruptedException error) {
                Thread.currentThread().interrupt();
                throw new BatonException("interrupted while it waited for a change");
            }
        }
    }
}
