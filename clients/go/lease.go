package baton

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
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
	most    time.Duration // the TTL is not longer, whatever an answer says
	why     string        // it is lost, if it is
	cause   *Problem      // of that, if batond has said why

	renewing chan struct{} // has a place for one renewal at a time
	woken    chan struct{} // if renewAt has changed

	taken bool // by an acquire that has succeeded: before any other goroutine knows the lease
}

func newLease(names []string, token string) (*lease, error) {
	path, err := pathOf(names...)
	if err != nil {
		return nil, err
	}
	if token == "" {
		random := make([]byte, 16)
		if _, err := rand.Read(random); err != nil {
			return nil, err
		}
		token = base64.RawURLEncoding.EncodeToString(random)
	}
	names = append([]string(nil), names...) // the caller may change its own
	l := &lease{names: names, token: token, path: path, body: map[string]any{}, most: Forever,
		renewing: make(chan struct{}, 1), woken: make(chan struct{}, 1)}
	if len(names) > 1 {
		l.body["names"] = names
	}
	return l, nil
}

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
	l.holds, l.ttl = holds, least(time.Duration(shortest)*time.Millisecond, l.most)
	l.expires, l.renewAt = times(sent, l.ttl)
	l.why, l.cause = late, nil
	return true
}

// times are until when to count on a TTL, and when to renew it.
func times(sent time.Time, ttl time.Duration) (expires, renewAt time.Time) {
	return sent.Add(ttl*99/100 - least(ttl/10, time.Second)), sent.Add(ttl / 3)
}

// bound counts on no more than this TTL from now on: a request for it, even one that is given up, may come to batond at
// any time. It returns the bound before.
func (l *lease) bound(ttl time.Duration) (before time.Duration) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	before = l.most
	if ttl <= 0 {
		return before
	}
	l.most = least(ttl, before)
	if expires, renewAt := times(time.Now(), ttl); expires.Before(l.expires) {
		l.expires, l.renewAt = expires, renewAt
		l.wake()
	}
	return before
}

func (l *lease) wake() {
	select {
	case l.woken <- struct{}{}:
	default:
	}
}

func (l *lease) unbound(before time.Duration) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.most = before
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
	l.why, l.cause = problem.Error(), problem
	switch {
	case problem.Is(ErrNotHeld):
		l.expires = time.Time{}
	case problem.Is(ErrMaxHeld):
		l.renewAt = l.expires.Add(time.Hour)
	default:
		l.why, l.cause = late+"; at last: "+l.why, nil
		l.renewAt = time.Now().Add(l.ttl / 20)
	}
}

// lost is the error of a lease that has ended.
func (l *lease) lost() error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.lostBecause(l.why, l.cause)
}

func (l *lease) lostBecause(why string, cause *Problem) error {
	lost := &Lost{text: fmt.Sprintf("%s: %s: %s", strings.Join(l.names, ", "), ErrLost, why)}
	if cause != nil {
		_ = json.Unmarshal(cause.Document, lost)
	}
	return lost
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
