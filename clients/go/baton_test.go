package baton_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	baton "git.example/baton/clients/go"
	"git.example/baton/clients/go/batontest"
)

var always = context.Background()

// What only the client for Go has; all else is in clients/cases.yaml. clients/conformance/run.py runs it.

func TestWhatIsNoNameIsAnErrorAtOnce(t *testing.T) {
	client := baton.New("http://127.0.0.1:1")
	watch := client.Watch("")
	for i, err := range []error{
		second(client.Lock(always, baton.Options{})),
		second(client.Lock(always, baton.Options{}, "a", "")),
		second(client.Held(always, "token", "")),
		second(client.Held(always, " \n", "a")),
		second(client.Inspect(always, "")),
		second(client.Break(always, "", baton.BreakOptions{})),
		second(client.Lock(always, baton.Options{Reentrant: true}, "a")),
		map[bool]error{false: watch.Err()}[watch.Next(always)],
	} {
		if !errors.Is(err, baton.ErrInvalid) {
			t.Errorf("%d: %v", i, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestNoTextShowsAKeyOrAToken(t *testing.T) {
	server := batontest.Start(t)
	client := server.Client()
	client.Bearer = "SECRET-KEY"
	lock, err := client.Lock(always, baton.Options{}, "secret")
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Unlock()
	_, err = client.Lock(always, baton.Options{Wait: 50 * time.Millisecond}, "secret")
	var problem *baton.Problem
	if !errors.As(err, &problem) || !errors.Is(err, baton.ErrWaitTimeout) {
		t.Fatal(err)
	}
	encoded, _ := json.Marshal([]any{client, lock, problem})
	text := string(encoded) + string(problem.Document)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		text += fmt.Sprintf(verb, client) + fmt.Sprintf(verb, lock) + fmt.Sprintf(verb, err)
	}
	for _, secret := range []string{"SECRET", lock.Token(), `"token"`} {
		if strings.Contains(text, secret) {
			t.Errorf("%s is shown", secret)
		}
	}
}

func TestSkipIsOnlyForTheLockItself(t *testing.T) {
	client := batontest.Start(t).Client()
	inside := func(ctx context.Context, lock *baton.Lock) error {
		return second(client.Lock(ctx, baton.Options{}, "job"))
	}
	if err := client.Do(always, baton.Options{Skip: true}, inside, "job"); !errors.Is(err, baton.ErrLocked) {
		t.Error(err)
	}
}

func TestLeaderThatFailsEndsTheElection(t *testing.T) {
	client := batontest.Start(t).Client()
	failed, terms := errors.New("no database"), 0
	err := client.Lead(always, baton.Options{}, func(ctx context.Context, lock *baton.Lock) error {
		if terms++; terms > 1 {
			return failed
		}
		return second(client.Break(ctx, "leader", baton.BreakOptions{})) // the release finds that it is lost
	}, "leader")
	if err != failed || terms != 2 {
		t.Error(err, terms)
	}
}

// The hold may have the shorter TTL by now, or get it later.
func TestExtendThatNobodyAnswersCountsOnTheShorterTTL(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, request *http.Request) {
		body, _ := io.ReadAll(request.Body)
		if strings.Contains(string(body), "ttl_ms") {
			<-request.Context().Done()
			return
		}
		fmt.Fprint(answer, `{"name":"job","mode":"exclusive","fence":1,"ttl_ms":60000,"released":true}`)
	}))
	defer server.Close()
	lock, err := baton.New(server.URL).Lock(always, baton.Options{}, "job")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(always, 100*time.Millisecond)
	defer cancel()
	if err := lock.Extend(ctx, 3*time.Second); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if lock.Left() > 3*time.Second {
		t.Error(lock.Left())
	}
	if err := lock.Extend(always, 0); err != nil { // the server answers 60 s
		t.Error(err)
	}
	if lock.Left() > 3*time.Second {
		t.Error(lock.Left())
	}
	if err := lock.Unlock(); err != nil {
		t.Error(err)
	}
}

func TestExtendThatIsRefusedAgainAndAgainKeepsNoLossFromTheBlock(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, request *http.Request) {
		if request.Method == "PUT" {
			answer.WriteHeader(503)
		}
		fmt.Fprint(answer, `{"name":"job","mode":"exclusive","fence":1,"ttl_ms":60000,"released":true}`)
	}))
	defer server.Close()
	lock, err := baton.New(server.URL).Lock(always, baton.Options{}, "job")
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(20 * time.Millisecond) // the renewals wait for 20 s by now
	if err := lock.Extend(always, 1400*time.Millisecond); !errors.Is(err, baton.ErrUnavailable) {
		t.Error(err)
	}
	select {
	case <-lock.Context().Done():
	default: // Extend asks each 300 ms, and has been too late
		t.Error("the block goes on")
	}
}

func TestLockThatIsLostOrUnlockedIsNotExtended(t *testing.T) {
	client := batontest.Start(t).Client()
	lock, err := client.Lock(always, baton.Options{}, "job")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Break(always, "job", baton.BreakOptions{Reason: "site closed"}); err != nil {
		t.Error(err)
	}
	for i := 0; i < 2; i++ {
		var lost *baton.Lost
		if err := lock.Extend(always, 0); !errors.As(err, &lost) || lost.Ended.Broken.Reason != "site closed" {
			t.Error(err)
		}
	}
	<-lock.Context().Done()
	if !errors.Is(lock.Unlock(), baton.ErrLost) || lock.Extend(always, 0) == nil {
		t.Error("the lock is lost")
	}
}
