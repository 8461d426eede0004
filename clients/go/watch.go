package baton

import (
	"context"
	"errors"
	"net/url"
	"strconv"
	"time"
)

// Holder is one hold of a lock, as others see it.
type Holder struct {
	Owner  string         `json:"owner"`
	Mode   string         `json:"mode"`
	Fence  int64          `json:"fence"`
	TTLMS  int64          `json:"ttl_ms"`
	HeldMS int64          `json:"held_ms"`
	Meta   map[string]any `json:"meta"`
}

// State is a lock, as GET /locks/NAME shows it.
type State struct {
	Name        string   `json:"name"`
	State       string   `json:"state"` // "free" or "held"
	Version     int64    `json:"version"`
	Holders     []Holder `json:"holders"`
	QueueLength int      `json:"queue_length"`
}

// Changes are the locks under a prefix that have changed, as GET /events shows them.
type Changes struct {
	Version int64 `json:"version"`
	// Complete is false if what you know of other locks is out of date: Locks is all that is held.
	Complete bool `json:"complete"`
	// More is true if more is held than Locks has: Client.List has it.
	More  bool    `json:"more"`
	Locks []State `json:"locks"`
}

// watched is one answer of either kind.
type watched struct {
	State
	Changed  bool    `json:"changed"`
	Complete bool    `json:"complete"`
	More     bool    `json:"more"`
	Locks    []State `json:"locks"`
}

// Watch waits for changes. Use it as `for w.Next(ctx) { w.State() }`, and look at w.Err.
type Watch struct {
	client       *Client
	path, prefix string
	portion      time.Duration
	after        int64
	last         watched
	err          error
}

// Watch shows the lock as it is, and whenever it changes.
func (c *Client) Watch(name string) *Watch {
	w := &Watch{client: c, portion: c.Portion, after: -1}
	if w.path, w.err = pathOf(name); w.err == nil {
		w.path += "/events"
	}
	return w
}

// WatchPrefix shows what is held under a prefix, and what changes there.
func (c *Client) WatchPrefix(prefix string) *Watch {
	return &Watch{client: c, path: "/events", prefix: prefix, portion: c.Portion, after: -1}
}

// Next waits for the next change. It is false after an error, and when ctx has ended.
func (w *Watch) Next(ctx context.Context) bool {
	for w.path != "" {
		w.last = watched{}
		w.err = w.client.request(ctx, "GET", w.next(), "changed", w.portion, &w.last)
		var problem *Problem
		if errors.As(w.err, &problem) && problem.tooLong(w.portion) {
			w.portion /= 2
			continue
		}
		if w.err != nil {
			return false
		}
		w.after = w.last.Version
		if w.last.Changed {
			return true
		}
	}
	return false
}

// next is the path that asks for the next change.
func (w *Watch) next() string {
	values := url.Values{"wait_ms": {strconv.FormatInt(w.portion.Milliseconds(), 10)}}
	if w.prefix != "" {
		values.Set("prefix", w.prefix)
	}
	if w.after >= 0 {
		values.Set("after", strconv.FormatInt(w.after, 10))
	}
	return w.path + query(values)
}

// State is the lock of Watch.
func (w *Watch) State() State { return w.last.State }

// Changes are those of WatchPrefix.
func (w *Watch) Changes() Changes {
	return Changes{Version: w.last.Version, Complete: w.last.Complete, More: w.last.More, Locks: w.last.Locks}
}

// Err is why Next was false.
func (w *Watch) Err() error { return w.err }
