package baton

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Options of a lock. All are optional.
type Options struct {
	Wait      time.Duration // for all requests together; Forever has no end
	TTL       time.Duration
	Skip      bool   // of Do: if another has the lock, it does nothing, and that is no error
	Owner     string // without one it is USER@HOST
	Reentrant bool   // whether the owner's other holds let this one in
	Mode      string // "exclusive" or "shared"
	Limit     int    // of a semaphore, with the mode "shared"
	Permits   int    // for how many the hold counts by the limit; 0 is 1
	Meta      any
	Fields    map[string]any // further fields of the API, by their names, such as "confirm"
}

func (o Options) fields() (map[string]any, error) {
	fields := map[string]any{}
	for name, value := range o.Fields {
		if duration, ok := value.(time.Duration); ok {
			name, value = name+"_ms", duration.Milliseconds()
		}
		fields[name] = value
	}
	if o.TTL != 0 {
		fields["ttl_ms"] = o.TTL.Milliseconds()
	}
	if o.Owner != "" {
		fields["owner"] = o.Owner
	}
	if o.Reentrant {
		fields["reentrant"] = true
	}
	if o.Mode != "" {
		fields["mode"] = o.Mode
	}
	if o.Limit != 0 {
		fields["limit"] = o.Limit
	}
	if o.Permits != 0 {
		fields["permits"] = o.Permits
	}
	if o.Meta != nil {
		fields["meta"] = o.Meta
	}
	if fields["owner"] == nil {
		if fields["reentrant"] == true {
			return nil, wrong("reentrant is for the holds of one owner. Name it: owner.")
		}
		fields["owner"] = ownerHere()
	}
	return fields, nil
}

// Lock is a lock that is held. It ends by Unlock.
type Lock struct {
	client  *Client
	lease   *lease
	ctx     context.Context
	cancel  context.CancelFunc
	over    context.Context // ends with Unlock
	unlock  context.CancelFunc
	release sync.Once
	result  error
}

// Lock takes one lock, or several, all or none. ctx cancels the wait, and is the parent of the lock's context.
func (c *Client) Lock(ctx context.Context, options Options, names ...string) (*Lock, error) {
	l, err := newLease(names, "")
	if err != nil {
		return nil, err
	}
	fields, err := options.fields()
	if err != nil {
		return nil, err
	}
	if err := c.acquire(ctx, l, options.Wait, fields); err != nil {
		c.release(l) // leaves the queue; a grant whose answer was lost ends, too
		return nil, err
	}
	return c.hold(ctx, l), nil
}

// Held is a lock that another has taken, who has passed its token on. It is renewed and released like any other.
func (c *Client) Held(ctx context.Context, token string, names ...string) (*Lock, error) {
	token, err := secret(token, "token")
	if err != nil {
		return nil, err
	}
	l, err := newLease(names, token)
	if err != nil {
		return nil, err
	}
	if err := c.adopt(ctx, l); err != nil {
		return nil, err
	}
	return c.hold(ctx, l), nil
}

func (c *Client) hold(ctx context.Context, l *lease) *Lock {
	lock := &Lock{client: c, lease: l}
	lock.ctx, lock.cancel = context.WithCancel(ctx)
	lock.over, lock.unlock = context.WithCancel(context.Background())
	go lock.keep()
	return lock
}

// Do runs a function while it holds the lock. If the lock is lost, the function's context ends, and the error is
// an ErrLost unless the function has another one. With Options.Skip it is nil if another has the lock: then the function
// was not called.
func (c *Client) Do(ctx context.Context, options Options, body func(context.Context, *Lock) error, names ...string) error {
	lock, err := c.Lock(ctx, options, names...)
	if options.Skip && errors.Is(err, ErrLocked) {
		return nil
	}
	if err != nil {
		return err
	}
	defer lock.Unlock() // also if the body panics: a server may recover, and the renewals would go on
	err = body(lock.Context(), lock)
	lost := lock.Unlock()
	if lost != nil && (err == nil || errors.Is(err, context.Canceled)) {
		return lost
	}
	return err
}

// Lead waits until this process leads, and calls the function. If the lock is lost, it waits and calls it again. It
// returns what the function has returned while this process led, or when ctx ends.
func (c *Client) Lead(ctx context.Context, options Options, body func(context.Context, *Lock) error, name string) error {
	options.Wait, options.Skip = Forever, false
	for {
		if err := c.Do(ctx, options, body, name); !errors.Is(err, ErrLost) || ctx.Err() != nil {
			return err
		}
	}
}

// Format shows no token, whatever prints the lock.
func (l *Lock) Format(state fmt.State, _ rune) { fmt.Fprintf(state, "baton.Lock%q", l.lease.names) }

func (l *Lock) keep() {
	if l.client.keep(l.over, l.lease) {
		l.cancel()
	}
}

// Context ends when the lock is lost or unlocked.
func (l *Lock) Context() context.Context { return l.ctx }

// Err is nil while you may count on the lock. A program that was stopped learns of the loss here before the
// context ends: ask before what must not happen twice.
func (l *Lock) Err() error {
	if left, _, _ := l.lease.left(); left <= 0 {
		return l.lease.lost()
	}
	return l.over.Err()
}

// Left is for how long you may count on the lock, unless a renewal adds to it.
func (l *Lock) Left() time.Duration {
	if left, _, _ := l.lease.left(); left > 0 && l.Err() == nil {
		return left
	}
	return 0
}

// Extend renews the lock now. With a ttl it has that one from now on; nothing is added to the time left.
func (l *Lock) Extend(ctx context.Context, ttl time.Duration) error {
	select {
	case l.lease.renewing <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer l.lease.wake()
	defer func() { <-l.lease.renewing }()
	if err := l.Err(); err != nil {
		return err
	}
	return l.client.extend(ctx, l.lease, ttl)
}

// Token is the token of the hold. Keep it secret.
func (l *Lock) Token() string { return l.lease.token }

// Mode is "exclusive" or "shared".
func (l *Lock) Mode() string { return l.holds()[0].Mode }

// Fence is the fence; of several locks, that of the first name.
func (l *Lock) Fence() int64 { return l.Fences()[l.lease.names[0]] }

// Fences are the fences of all names.
func (l *Lock) Fences() map[string]int64 {
	fences := map[string]int64{}
	for _, h := range l.holds() {
		fences[h.Name] = h.Fence
	}
	return fences
}

func (l *Lock) holds() []hold {
	l.lease.mutex.Lock()
	defer l.lease.mutex.Unlock()
	return l.lease.holds
}

// Unlock ends the hold. The error is an ErrLost if it was lost before, so that the work may have been in vain.
func (l *Lock) Unlock() error {
	l.release.Do(func() {
		begun := time.Now()
		left, _, _ := l.lease.left()
		l.result = l.Err()
		l.unlock()
		l.cancel()
		answer := l.client.release(l.lease)
		early := !answer.repeated && time.Since(begun) < left
		if l.result == nil && early && answer.problem != nil && answer.problem.Is(ErrNotHeld) {
			// It has found no hold before that could end by itself: it was lost after the last renewal.
			l.result = l.lease.lostBecause(answer.problem.Error(), answer.problem)
		}
	})
	return l.result
}
