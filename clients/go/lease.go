package baton

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"
)

const late = "no batond has renewed it in time"

// hold is one name of a lock, as batond answers it.
type hold struct {
	Name  string `json:"name"`
	Mode  string `json:"mode"`
	Fence int64  `json:"fence"`
	TTLMS int64  `json:"ttl_ms"`
}

// lease is a hold of one name or several, and how long this client counts on it.
type lease struct {
	names []string
	token string
	path  string
	body  map[string]any // names the locks, if there are several

	mutex   sync.Mutex
	holds   []hold
	ttl     time.Duration
	expires time.Time // by the monotonic clock, before it ends in Redis
	renewAt time.Time
	why     string // it is lost, if it is

	taken bool // by an acquire that has succeeded: before any other goroutine knows the lease
}

func newLease(names []string) (*lease, error) {
	random := make([]byte, 16)
	if _, err := rand.Read(random); err != nil {
		return nil, err
	}
	names = append([]string(nil), names...) // the caller may change its own
	l := &lease{names: names, token: base64.RawURLEncoding.EncodeToString(random), path: "/locks",
		body: map[string]any{"names": names}}
	if len(names) == 1 {
		l.path, l.body = lockPath(names[0]), map[string]any{}
	}
	return l, nil
}

func lockPath(name string) string { return "/locks/" + url.PathEscape(name) }

// count counts from when the request was sent: it may have been on its way for any part of the time since. A
// hundredth is for clocks that differ, the rest for a program that is slow to stop. It is false if the answer is not one
// of batond.
func (l *lease) count(document []byte, sent time.Time) bool {
	var answer struct {
		hold
		Locks []hold `json:"locks"`
	}
	if json.Unmarshal(document, &answer) != nil {
		return false
	}
	holds := answer.Locks
	if len(holds) == 0 {
		holds = []hold{answer.hold}
	}
	shortest := holds[0].TTLMS
	for _, h := range holds {
		if h.TTLMS < shortest {
			shortest = h.TTLMS
		}
	}
	if shortest <= 0 {
		return false
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.holds, l.ttl = holds, time.Duration(shortest)*time.Millisecond
	l.expires = sent.Add(l.ttl*99/100 - least(l.ttl/10, time.Second))
	l.renewAt = sent.Add(l.ttl / 3)
	l.why = late
	return true
}

// left is how long to count on it, until when to wait before the next renewal, and the TTL.
func (l *lease) left() (left, pause, ttl time.Duration) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return time.Until(l.expires), time.Until(l.renewAt), l.ttl
}

// refuse notes why a renewal was refused: the lease has ended, ends soon, or may be renewed yet.
func (l *lease) refuse(problem *Problem) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.why = problem.Error()
	switch {
	case problem.Is(ErrNotHeld):
		l.expires = time.Time{}
	case problem.Is(ErrMaxHeld):
		l.renewAt = l.expires.Add(time.Hour)
	default:
		l.why = late + "; at last: " + l.why
		l.renewAt = time.Now().Add(l.ttl / 20)
	}
}

// lost is the error of a lease that has ended.
func (l *lease) lost() error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.lostBecause(l.why)
}

func (l *lease) lostBecause(why string) error {
	return fmt.Errorf("%s: %w: %s", strings.Join(l.names, ", "), ErrLost, why)
}

func least(durations ...time.Duration) time.Duration {
	shortest := durations[0]
	for _, d := range durations {
		if d < shortest {
			shortest = d
		}
	}
	return shortest
}
