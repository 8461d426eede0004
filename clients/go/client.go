// Package baton holds locks of Baton. It renews them by itself, and ends their context before they end.
package baton

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"
)

const (
	keepMS          = 10_000          // for the place in the queue between two requests
	leaving         = 2 * time.Second // how long an acquire that has failed tries to end what it may have got
	shortestPortion = time.Second     // a batond with a shorter max-wait is not waited at
	longestAnswer   = 16 << 20        // bytes of an answer
)

// Forever is a wait without an end.
const Forever time.Duration = 1<<63 - 1

// Client talks to one batond, or to several that share a Redis. Change nothing in it once it is in use.
type Client struct {
	URLs     []string
	Bearer   string        `json:"-"` // the API key
	Timeout  time.Duration // for an answer, beside the wait
	Portion  time.Duration // how long one request waits: less than any proxy allows
	Patience time.Duration // how long a request is repeated while no batond can serve
	HTTP     *http.Client

	current atomic.Uint32 // the URL that answered last
}

// New makes a client with the usual patience. Without a URL it asks http://127.0.0.1:7420.
func New(urls ...string) *Client {
	if len(urls) == 0 {
		urls = []string{"http://127.0.0.1:7420"}
	}
	return &Client{URLs: urls, Timeout: 5 * time.Second, Portion: 25 * time.Second, Patience: 10 * time.Second,
		HTTP: &http.Client{}}
}

// Format shows no API key, whatever prints the client.
func (c *Client) Format(state fmt.State, _ rune) { fmt.Fprint(state, "baton.Client") }

// call is one request. Its proof is a field that the answer of a batond has.
type call struct {
	method, path, proof, token string
	body                       map[string]any
	timeout                    time.Duration
	bearer                     string
}

// reply is an answer of batond. Its problem is nil if the request was done.
type reply struct {
	document []byte
	problem  *Problem
	sent     time.Time
	repeated bool // an earlier request may have done the same
}

// ask asks one URL after another until a batond can serve.
func (c *Client) ask(ctx context.Context, request call) reply {
	bases, err := basesOf(c.URLs)
	if err == nil && c.Bearer != "" {
		request.bearer, err = secret(c.Bearer, "API key")
	}
	if err != nil {
		return reply{problem: err.(*Problem)}
	}
	var answer reply
	for i := range bases {
		current := c.current.Load()
		sent := time.Now()
		answer = c.send(ctx, bases[int(current)%len(bases)], request)
		answer.sent, answer.repeated = sent, i > 0
		if answer.problem == nil || !answer.problem.Is(ErrUnavailable) || ctx.Err() != nil {
			break
		}
		c.current.CompareAndSwap(current, current+1)
		if request.token == "" && request.method != "GET" {
			break // a break that is repeated could end another's hold
		}
	}
	return answer
}

func (c *Client) send(ctx context.Context, base string, request call) reply {
	ctx, cancel := context.WithTimeout(ctx, request.timeout)
	defer cancel()
	var body io.Reader
	if request.body != nil {
		encoded, err := json.Marshal(request.body)
		if err != nil {
			return reply{problem: wrong("%s", err).(*Problem)}
		}
		body = bytes.NewReader(encoded)
	}
	message, err := http.NewRequestWithContext(ctx, request.method, base+request.path, body)
	if err != nil {
		return reply{problem: noAnswer(0, err.Error())}
	}
	message.Header.Set("Accept", "application/json")
	if body != nil {
		message.Header.Set("Content-Type", "application/json")
	}
	if request.token != "" {
		message.Header.Set("Lock-Token", request.token)
	}
	if request.bearer != "" {
		message.Header.Set("Authorization", "Bearer "+request.bearer)
	}
	direct := *c.HTTP
	direct.CheckRedirect = noRedirect
	response, err := direct.Do(message)
	if err != nil {
		if failed := new(url.Error); errors.As(err, &failed) {
			err = failed.Err // without the path, which has the name of the lock
		}
		detail := fmt.Sprintf("No batond answers at %s (%s). Check the URL, and that batond runs there.", base, err)
		return reply{problem: noAnswer(0, detail)}
	}
	defer response.Body.Close()
	document, err := io.ReadAll(io.LimitReader(response.Body, longestAnswer+1))
	if err != nil {
		return reply{problem: noAnswer(0, err.Error())}
	}
	if len(document) > longestAnswer {
		return reply{problem: noAnswer(0, "the answer is too long")}
	}
	return replyOf(response.StatusCode, document, request.proof)
}

// noRedirect takes a redirect for the answer: to follow it would show the token of the lock to another host, and make a
// GET of a POST.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// replyOf reads an answer: a server of another kind may answer anything.
func replyOf(status int, document []byte, proof string) reply {
	if status >= 200 && status < 300 && proven(document, proof) {
		return reply{document: document}
	}
	problem := problemOf(status, document)
	if problem == nil {
		problem = ofAnother(status)
	}
	return reply{document: document, problem: problem}
}

// proven is whether the document, or each of its locks, has a field of that name and its kind.
func proven(document []byte, proof string) bool {
	var fields map[string]any
	if json.Unmarshal(document, &fields) != nil {
		return false
	}
	locks, several := fields["locks"].([]any)
	if _, ok := fields[proof]; ok || !several {
		locks = []any{fields}
	}
	for _, lock := range locks {
		hold, _ := lock.(map[string]any)
		if !proves(hold[proof], proof) {
			return false
		}
	}
	return len(locks) > 0
}

func proves(value any, proof string) (is bool) {
	switch proof {
	case "released", "changed":
		_, is = value.(bool)
	case "locks":
		_, is = value.([]any)
	default:
		_, is = value.(float64)
	}
	return is
}

func ofAnother(status int) *Problem {
	return noAnswer(status, fmt.Sprintf("the answer (%d) is not one of batond", status))
}

// take is one request that takes the lock or renews it.
func (c *Client) take(ctx context.Context, l *lease, method string, body map[string]any, timeout time.Duration) reply {
	answer := c.ask(ctx, call{method: method, path: l.path, proof: "ttl_ms", token: l.token, body: body,
		timeout: timeout})
	if answer.problem == nil && !l.count(answer.document, answer.sent) {
		answer.problem = ofAnother(200)
	}
	return answer
}

// acquire takes the lock, in as many requests as it needs: all have one token, and so one place in the queue.
func (c *Client) acquire(ctx context.Context, l *lease, wait time.Duration, fields map[string]any) error {
	begun, portion, granted := time.Now(), c.Portion, false
	for {
		leftOfWait := wait
		if wait != Forever {
			leftOfWait = wait - time.Since(begun)
		}
		last := leftOfWait <= portion
		waits := least(portion, leftOfWait)
		if granted || waits < time.Millisecond {
			waits = 0
		}
		answer := c.take(ctx, l, "POST", acquireBody(l, fields, waits), waits+c.Timeout)
		if err := ctx.Err(); err != nil {
			return err
		}
		problem := answer.problem
		if problem == nil {
			// A wait counts as time on the way. The same request again, without one, says what is left.
			left, _, ttl := l.left()
			if left > ttl/2 || (granted && left > 0) {
				l.taken = true
				return nil
			}
			problem = noAnswer(0, "the answers come too late for this TTL")
		}
		granted = answer.problem == nil
		if problem.tooLong(portion) {
			portion /= 2
			continue
		}
		// An earlier request, given up here, may come late to batond, and supersede the one that waits.
		trouble := problem.Is(ErrSuperseded) || problem.Is(ErrUnavailable) && !problem.Is(ErrQuarantined)
		end := wait
		if trouble && end < c.Patience {
			end = c.Patience
		}
		mayGoOn := trouble || problem.Is(ErrWaitTimeout) || problem.Is(ErrQuarantined) || problem.Is(ErrTooMany)
		if !mayGoOn || time.Since(begun) >= end || (last && problem.Is(ErrWaitTimeout)) {
			return problem
		}
		if granted || problem.Is(ErrWaitTimeout) {
			continue
		}
		pause := problem.retryAfter()
		if pause == 0 {
			pause = 300 * time.Millisecond
		}
		if err := sleep(ctx, least(pause, time.Second, end-time.Since(begun))); err != nil {
			return err
		}
	}
}

func acquireBody(l *lease, fields map[string]any, waits time.Duration) map[string]any {
	body := map[string]any{}
	for _, more := range []map[string]any{l.body, fields} {
		for name, value := range more {
			body[name] = value
		}
	}
	if waits == 0 {
		return body
	}
	body["wait_ms"] = waits.Milliseconds()
	_, keeps := body["keep"]
	_, keepsMS := body["keep_ms"]
	if len(l.names) == 1 && !keeps && !keepsMS {
		body["keep_ms"] = keepMS
	}
	return body
}

// adopt goes on with a hold that another has taken.
func (c *Client) adopt(ctx context.Context, l *lease) error {
	_, err := insist(ctx, c.Patience, func() reply { return c.renewal(ctx, l, l.body) })
	l.taken = err == nil
	return err
}

// keep renews the lease for as long as it can. It is true if the lease has ended, false if ctx has.
func (c *Client) keep(ctx context.Context, l *lease) bool {
	for {
		left, pause, _ := l.left()
		if left <= 0 {
			return true
		}
		renewing := l.renewing
		if pause > 0 {
			renewing, left = nil, least(pause, left)
		}
		timer := time.NewTimer(left)
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-l.woken:
		case renewing <- struct{}{}:
			c.renew(ctx, l)
			<-renewing
		}
		timer.Stop()
		if ctx.Err() != nil {
			return false
		}
	}
}

// renew renews the lease, if it is time.
func (c *Client) renew(ctx context.Context, l *lease) {
	if _, pause, _ := l.left(); pause > 0 {
		return
	}
	if answer := c.renewal(ctx, l, l.body); answer.problem != nil && ctx.Err() == nil {
		l.refuse(answer.problem)
	}
}

// extend renews the lease now. From then on its renewals have this TTL.
func (c *Client) extend(ctx context.Context, l *lease, ttl time.Duration) error {
	body := map[string]any{}
	for name, value := range l.body {
		body[name] = value
	}
	if ttl != 0 {
		body["ttl_ms"] = ttl.Milliseconds()
	}
	before := l.bound(ttl)
	left, _, _ := l.left()
	answer, err := insist(ctx, least(c.Patience, left), func() reply { return c.renewal(ctx, l, body) })
	if answered := answer.problem == nil || !answer.problem.Is(ErrUnavailable); answered && !answer.repeated {
		l.unbound(before)
	}
	if errors.Is(err, ErrNotHeld) {
		l.refuse(answer.problem)
		return l.lost()
	}
	return err
}

// renewal is one renewal. One of a lease that this client counts on ends before that does, at all URLs together.
func (c *Client) renewal(ctx context.Context, l *lease, body map[string]any) reply {
	timeout := c.Timeout
	if left, _, ttl := l.left(); l.taken {
		timeout = least(timeout, ttl/4)
		untilEnd, cancel := context.WithTimeout(ctx, left)
		defer cancel()
		ctx = untilEnd
	}
	return c.take(ctx, l, "PUT", body, timeout)
}

// release ends the hold, or the wait. If nobody answers, the hold ends with its TTL.
func (c *Client) release(l *lease) reply {
	patience := leaving
	if l.taken {
		patience, _, _ = l.left()
	}
	answer, _ := insist(context.Background(), least(c.Patience, patience), func() reply {
		timeout := time.Second
		if left, _, _ := l.left(); left > timeout {
			timeout = least(left, c.Timeout)
		}
		return c.ask(context.Background(), call{method: "DELETE", path: l.path, proof: "released", token: l.token, body: l.body,
			timeout: timeout})
	})
	return answer
}

// request sends any other request. One that only reads is repeated while nobody answers.
func (c *Client) request(ctx context.Context, method, path, proof string, waits time.Duration, into any) error {
	patience := waits + c.Patience
	if method != "GET" {
		patience = 0
	}
	answer, err := insist(ctx, patience, func() reply {
		return c.ask(ctx, call{method: method, path: path, proof: proof, timeout: waits + c.Timeout})
	})
	if err != nil {
		return err
	}
	return json.Unmarshal(answer.document, into)
}

// insist repeats a request while no batond can serve.
func insist(ctx context.Context, patience time.Duration, attempt func() reply) (reply, error) {
	begun := time.Now()
	for repeated := false; ; repeated = true {
		answer := attempt()
		answer.repeated = answer.repeated || repeated
		if err := ctx.Err(); err != nil {
			return answer, err
		}
		if answer.problem == nil {
			return answer, nil
		}
		mayGoOn := answer.problem.Is(ErrUnavailable) || answer.problem.Is(ErrTooMany)
		if !mayGoOn || time.Since(begun) >= patience {
			return answer, answer.problem
		}
		if err := sleep(ctx, 300*time.Millisecond); err != nil {
			return answer, err
		}
	}
}

func sleep(ctx context.Context, pause time.Duration) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
