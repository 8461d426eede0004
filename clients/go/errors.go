package baton

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// ErrLost says that the lock may be another's from now on. Stop the work that it protects.
var ErrLost = errors.New("the lock is lost")

// Lost is the error of a lock that is lost; errors.Is(err, ErrLost) is true.
type Lost struct {
	Code  string `json:"code"`  // "not_held" or "max_held", if batond has said so
	Ended *Ended `json:"ended"` // how the hold has ended, if that is known
	text  string
}

func (l *Lost) Error() string { return l.text }

// Unwrap makes errors.Is work with ErrLost.
func (l *Lost) Unwrap() error { return ErrLost }

// Ended is how a hold has ended.
type Ended struct {
	Name      string   `json:"name,omitempty"` // of several locks, which one
	Owner     string   `json:"owner,omitempty"`
	Principal string   `json:"principal,omitempty"`
	Fence     int64    `json:"fence"`
	Reason    string   `json:"reason"` // "forced", "expired" or "released"
	AgoMS     int64    `json:"ago_ms"`
	Broken    *Breaker `json:"broken,omitempty"` // by whom, if it was forced
}

// Breaker is who has broken a lock, and why.
type Breaker struct {
	Principal string `json:"principal,omitempty"`
	Client    string `json:"client,omitempty"`
	Reason    string `json:"reason,omitempty"`
}

// kind is a kind of problem; the parent has it too.
type kind struct {
	name   string
	parent *kind
}

func (k *kind) Error() string { return k.name }

func newKind(name string, parent *kind) *kind { return &kind{name, parent} }

var (
	locked      = newKind("Locked", nil)
	waitTimeout = newKind("WaitTimeout", locked)
	unavailable = newKind("Unavailable", nil)
	quarantined = newKind("Quarantined", unavailable)
	unreachable = newKind("Unreachable", unavailable)
	notHeld     = newKind("NotHeld", nil)
	maxHeld     = newKind("MaxHeld", nil)
	tooMany     = newKind("TooMany", nil)
	invalid     = newKind("Invalid", nil)
	other       = newKind("Problem", nil)
)

// The kinds of problems, for errors.Is.
var (
	ErrLocked          error = locked      // others hold the lock, or wait for it
	ErrWaitTimeout     error = waitTimeout // an ErrLocked at the end of the wait
	ErrUnavailable     error = unavailable // no batond can serve now; repeating the request is safe
	ErrQuarantined     error = quarantined // an ErrUnavailable: new locks are paused
	ErrUnreachable     error = unreachable // an ErrUnavailable: no batond has answered
	ErrNotHeld         error = notHeld     // the token has no live hold
	ErrMaxHeld         error = maxHeld     // the hold has reached its max_held, and cannot get longer
	ErrTooMany         error = tooMany     // too many requests wait, or were sent in a second
	ErrInvalid         error = invalid     // the request itself is wrong
	ErrTokenInUse      error = newKind("TokenInUse", nil)
	ErrUpgradeConflict error = newKind("UpgradeConflict", nil)
	ErrSuperseded      error = newKind("Superseded", nil)
	ErrUnauthorized    error = newKind("Unauthorized", nil)
	ErrForbidden       error = newKind("Forbidden", nil)
	ErrDamaged         error = newKind("Damaged", nil)
)

var ofCode = map[string]error{
	"locked": ErrLocked, "wait_timeout": ErrWaitTimeout, "not_held": ErrNotHeld, "max_held": ErrMaxHeld,
	"token_in_use": ErrTokenInUse, "upgrade_conflict": ErrUpgradeConflict, "superseded": ErrSuperseded,
	"quarantined": ErrQuarantined, "damaged": ErrDamaged,
}

var ofStatus = map[int]error{
	0: ErrUnreachable, 401: ErrUnauthorized, 403: ErrForbidden, 408: ErrUnavailable, 409: other, 429: ErrTooMany,
	500: other, 502: ErrUnavailable, 503: ErrUnavailable, 504: ErrUnavailable,
}

// Problem is a refusal by batond, or by the proxy in front of it. Status is 0 if nobody has answered.
type Problem struct {
	Status       int
	Code         string          `json:"code"`
	Detail       string          `json:"detail"`
	Parameter    string          `json:"parameter"`
	RetryAfterMS int64           `json:"retry_after_ms"`
	Holders      []Holder        `json:"holders"`
	Document     json.RawMessage `json:"-"` // all of it, without a token
	kind         *kind
}

func (p *Problem) Error() string {
	if p.Code == "" {
		return p.Detail
	}
	return fmt.Sprintf("%s: %s", p.Code, p.Detail)
}

// Kind is the name of the most exact kind, such as WaitTimeout.
func (p *Problem) Kind() string { return p.kind.name }

// Is makes errors.Is work with the kinds.
func (p *Problem) Is(target error) bool {
	for k := p.kind; k != nil; k = k.parent {
		if error(k) == target {
			return true
		}
	}
	return false
}

// tooLong is whether batond has refused the wait, since its max-wait is shorter, and takes half of it.
func (p *Problem) tooLong(portion time.Duration) bool {
	return p.Status == 400 && strings.HasPrefix(p.Parameter, "wait") && portion/2 >= shortestPortion
}

func (p *Problem) retryAfter() time.Duration { return time.Duration(p.RetryAfterMS) * time.Millisecond }

// problemOf reads a problem document; nil if the body is none.
func problemOf(status int, body []byte) *Problem {
	problem := &Problem{}
	if json.Unmarshal(body, problem) != nil || problem.Code == "" {
		return nil
	}
	problem.hideToken(body)
	return problem.sort(status)
}

// What a refused acquire says of its token, and what is so when its error is returned.
var ofToken = regexp.MustCompile(`(?s)(^|\. )(Your place in the queue|[^.]*\bthis token\b).*`)

const givenUp = "${1}The client has given up its place in the queue."

func (p *Problem) hideToken(body []byte) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(body, &fields) == nil && fields["token"] != nil {
		p.Detail = ofToken.ReplaceAllString(p.Detail, givenUp)
		delete(fields, "token")
		fields["detail"], _ = json.Marshal(p.Detail)
		body, _ = json.Marshal(fields)
	}
	p.Document = body
}

// noAnswer is the problem of a request that no batond has answered.
func noAnswer(status int, detail string) *Problem {
	if status < 502 || status > 504 {
		status = 0
	}
	return (&Problem{Detail: detail}).sort(status)
}

func (p *Problem) sort(status int) *Problem {
	p.Status = status
	found, ok := ofCode[p.Code]
	if !ok {
		found, ok = ofStatus[status]
	}
	if !ok {
		found = ErrInvalid
	}
	p.kind = found.(*kind)
	return p
}
