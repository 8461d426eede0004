// Command conformance does what clients/conformance/run.py says on standard input, and reports what it saw.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"sync"
	"time"

	baton "baton.example/client"
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
	client := baton.New(c.URLs...)
	client.Bearer = c.Bearer
	client.Timeout, client.Portion = milliseconds(c.TimeoutMS), milliseconds(c.PortionMS)
	client.Patience = milliseconds(c.PatienceMS)
	hasty := baton.Client{URLs: c.URLs, HTTP: client.HTTP}
	if _, err := hasty.Inspect(context.Background(), "job"); errors.Is(err, baton.ErrInvalid) {
		report("refused", map[string]any{"detail": err.Error()})
	}
	return client
}

func hold(ctx context.Context, client *baton.Client, c command, over <-chan struct{}) {
	var lastAct, ended float64
	options := baton.Options{Wait: milliseconds(c.WaitMS), Owner: take[string](c.Fields, "owner"),
		Reentrant: take[bool](c.Fields, "reentrant"), Mode: take[string](c.Fields, "mode"),
		Limit: int(take[float64](c.Fields, "limit")), Permits: int(take[float64](c.Fields, "permits")), Fields: c.Fields}
	err := client.Do(ctx, options, func(ctx context.Context, lock *baton.Lock) error {
		report("granted", map[string]any{"token": lock.Token(), "fence": lock.Fence(), "fences": lock.Fences(),
			"mode": lock.Mode()})
		defer func() { ended = now() }()
		for {
			if err := lock.Err(); c.Checks && err != nil {
				return err
			}
			lastAct = now()
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-over:
				return nil
			case <-time.After(act):
			}
		}
	}, c.Names...)
	var problem *baton.Problem
	switch {
	case err == nil:
		report("ended", map[string]any{"why": "released", "last_act": lastAct})
	case errors.Is(err, baton.ErrLost):
		code := ""
		for _, word := range []string{"max_held", "not_held"} { // an error of not_held may speak of max_held
			if strings.Contains(err.Error(), word) {
				code = word
			}
		}
		report("ended", map[string]any{"why": "lost", "last_act": lastAct, "at": ended, "code": code})
	case errors.As(err, &problem):
		refuse(problem)
	default:
		report("cancelled", map[string]any{"error": err.Error()})
	}
}

func refuse(problem *baton.Problem) {
	fields := map[string]any{"error": problem.Kind(), "code": problem.Code}
	if len(problem.Holders) > 0 {
		fields["holder"] = problem.Holders[0].Owner
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
	var over chan struct{}
	var cancel context.CancelFunc
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
			ctx, cancel = context.WithCancel(context.Background())
			over = make(chan struct{})
			go hold(ctx, client, c, over)
		case "release":
			close(over)
		case "cancel":
			cancel()
		case "watch":
			go watch(client, c)
		case "break":
			var problem *baton.Problem
			if err := client.Break(context.Background(), c.Name); errors.As(err, &problem) {
				refuse(problem)
			} else {
				report("broken", map[string]any{})
			}
		}
	}
}
