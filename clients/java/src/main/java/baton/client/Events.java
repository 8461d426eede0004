package baton.client;

import java.util.Iterator;
import java.util.Map;

/** Waits for changes, one request after another. An interrupt ends it with an exception. */
final class Events implements Iterator<Map<String, Object>> {
    private final Client client;
    private final String path;
    private String after = "";

    Events(Client client, String path) {
        this.client = client;
        this.path = path;
    }

    @Override
    public boolean hasNext() {
        return true;
    }

    @Override
    public Map<String, Object> next() {
        while (true) {
            try {
                Map<String, Object> change = client.nextChange(path + after);
                after = "&after=" + change.get("version");
                if (Boolean.TRUE.equals(change.get("changed"))) {
                    return change;
                }
            } catch (InterruptedException error) {
                Thread.currentThread().interrupt();
                throw new BatonException("interrupted while it waited for a change");
            }
        }
    }
}
