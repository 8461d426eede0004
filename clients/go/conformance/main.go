// Command conformance does what clients/conformance/run.py says on standard input, and reports what it saw.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"sync"
	"time"

	baton "git.example/baton/clients/go"
)

const act = 10 * time.Millisecond // between two steps of the work in a block

type command struct {
	Do         string         `json:"do"`
	URLs       []string       `json:"urls"`
	Bearer     string         `json:"bearer"`
	TimeoutMS  int64          `json:"timeout_ms"`
	PortionMS  int64          `json:"portion_ms"`
	PatienceMS int64          `json:"patience_ms"`
	Names      []string       `json:"names"`
	WaitMS     int64          `json:"wait_ms"`
	Checks     bool           `json:"checks"`
	Fields     map[string]any `json:"fields"`
	Name       string         `json:"name"`
	Count      int            `json:"count"`
	Skip       bool           `json:"skip"`
	Lead       bool           `json:"lead"`
	Token      string         `json:"token"`
	TTLMS      int64          `json:"ttl_ms"`
	Prefix     string         `json:"prefix"`
	Which      struct {
		Fence  int64  `json:"fence"`
		Reason string `json:"reason"`
	} `json:"which"`
}

var output sync.Mutex

func now() float64 { return float64(time.Now().UnixMicro()) / 1000 }

func report(saw string, fields map[string]any) {
	output.Lock()
	defer output.Unlock()
	if _, ok := fields["at"]; !ok {
		fields["at"] = now()
	}
	fields["saw"] = saw
	_ = json.NewEncoder(os.Stdout).Encode(fields)
}

func milliseconds(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// take takes a field out, since Options has a name of its own for it.
func take[T any](fields map[string]any, name string) T {
	value, _ := fields[name].(T)
	delete(fields, name)
	return value
}

// open makes a client. New cannot refuse a URL: the first request does. Here that has no time, so it is not sent.
func open(c command) *baton.Client {
	client := baton.New()
	client.URLs, client.Bearer = c.URLs, c.Bearer
	client.Timeout, client.Portion = milliseconds(c.TimeoutMS), milliseconds(c.PortionMS)
	client.Patience = milliseconds(c.PatienceMS)
	hasty := baton.Client{URLs: c.URLs, Bearer: c.Bearer, HTTP: client.HTTP}
	if _, err := hasty.Inspect(context.Background(), "job"); errors.Is(err, baton.ErrInvalid) {
		report("refused", map[string]any{"detail": err.Error()})
	}
	return client
}

// job is one hold, in the way that the command says.
type job struct {
	command
	over           chan struct{} // closed by "release"
	lock           *baton.Lock   // of the block
	lastAct, ended float64
}

func (j *job) options() baton.Options {
	return baton.Options{Wait: milliseconds(j.WaitMS), Skip: j.Skip, Owner: take[string](j.Fields, "owner"),
		Reentrant: take[bool](j.Fields, "reentrant"), Mode: take[string](j.Fields, "mode"),
		Limit: int(take[float64](j.Fields, "limit")), Permits: int(take[float64](j.Fields, "permits")), Fields: j.Fields}
}

func (j *job) hold(ctx context.Context, client *baton.Client) {
	var err error
	switch {
	case j.Lead:
		err = client.Lead(ctx, j.options(), func(ctx context.Context, lock *baton.Lock) error {
			err := j.act(ctx, lock)
			j.tell(err)
			return err
		}, j.Names[0])
		if err == nil {
			return
		}
	case j.Token != "":
		var lock *baton.Lock
		if lock, err = client.Held(ctx, j.Token, j.Names...); err == nil {
			_ = j.act(lock.Context(), lock)
			err = lock.Unlock()
		}
	default:
		err = client.Do(ctx, j.options(), j.act, j.Names...)
	}
	j.tell(err)
}

func (j *job) act(ctx context.Context, lock *baton.Lock) error {
	j.lock = lock
	report("granted", map[string]any{"token": lock.Token(), "fence": lock.Fence(), "fences": lock.Fences(),
		"mode": lock.Mode()})
	defer func() { j.ended = now() }()
	for {
		if err := lock.Err(); j.Checks && err != nil {
			return err
		}
		j.lastAct = now()
		select {
		case <-ctx.Done():
			if err := lock.Err(); err != nil {
				return err
			}
			return ctx.Err()
		case <-j.over:
			return nil
		case <-time.After(act):
		}
	}
}

func (j *job) tell(err error) {
	var lost *baton.Lost
	switch {
	case err == nil && j.lock == nil:
		report("skipped", map[string]any{})
	case err == nil:
		report("ended", map[string]any{"why": "released", "last_act": j.lastAct})
	case errors.As(err, &lost) && errors.Is(err, baton.ErrLost):
		report("ended", map[string]any{"why": "lost", "last_act": j.lastAct, "at": j.ended, "code": lost.Code,
			"ended": lost.Ended, "detail": err.Error()})
	case errors.Is(err, context.Canceled):
		report("cancelled", map[string]any{})
	default:
		refuse(err)
	}
}

// attempt tells what was done, or why it was refused.
func attempt(err error, saw string, fields map[string]any) {
	if err != nil {
		refuse(err)
		return
	}
	report(saw, fields)
}

func refuse(err error) {
	fields := map[string]any{"error": "Lost", "detail": err.Error()}
	var problem *baton.Problem
	if errors.As(err, &problem) {
		fields["error"], fields["code"] = problem.Kind(), problem.Code
		if len(problem.Holders) > 0 {
			fields["holder"] = problem.Holders[0].Owner
		}
	}
	report("refused", fields)
}

func watch(client *baton.Client, c command) {
	w := client.Watch(c.Name)
	for i := 0; i < c.Count && w.Next(context.Background()); i++ {
		report("change", map[string]any{"state": w.State().State, "version": w.State().Version})
	}
}

func main() {
	var client *baton.Client
	var current *job
	var cancel context.CancelFunc
	always := context.Background()
	input := bufio.NewScanner(os.Stdin)
	for input.Scan() {
		var c command
		if err := json.Unmarshal(input.Bytes(), &c); err != nil {
			panic(err)
		}
		switch c.Do {
		case "open":
			client = open(c)
		case "hold":
			var ctx context.Context
			ctx, cancel = context.WithCancel(always)
			current = &job{command: c, over: make(chan struct{})}
			go current.hold(ctx, client)
		case "release":
			close(current.over)
		case "cancel":
			cancel()
		case "extend":
			attempt(current.lock.Extend(always, milliseconds(c.TTLMS)), "extended", map[string]any{})
		case "watch":
			go watch(client, c)
		case "list":
			locks, err := client.List(always, c.Prefix)
			names := []string{}
			for _, lock := range locks {
				names = append(names, lock.Name)
			}
			attempt(err, "list", map[string]any{"names": names})
		case "break":
			broken, err := client.Break(always, c.Name, baton.BreakOptions(c.Which))
			fields := map[string]any{"broken": broken.Count}
			if len(broken.Holders) > 0 {
				fields["owner"] = broken.Holders[0].Owner
			}
			attempt(err, "broken", fields)
		}
	}
}
