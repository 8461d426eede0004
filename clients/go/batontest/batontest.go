// Package batontest starts a batond for tests, which ends with them.
package batontest

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	baton "git.example/baton/clients/go"
)

// Server is a batond with a Redis of its own that knows no lock.
type Server struct {
	URL     string
	command *exec.Cmd
}

// Start starts one. It needs the package baton, or its program in BATON_BATOND. The settings are options of batond.
func Start(t testing.TB, settings ...string) *Server {
	t.Helper()
	program := "batond"
	var environment []string
	for _, variable := range os.Environ() {
		if name, value, _ := strings.Cut(variable, "="); name == "BATON_BATOND" {
			program = value
		} else if !strings.HasPrefix(name, "BATON_") {
			environment = append(environment, variable)
		}
	}
	command := exec.Command(program, append([]string{"--listen=127.0.0.1:0", "--workers=1", "--log-format=json",
		"--state-dir=" + t.TempDir()}, settings...)...)
	command.Env = environment
	output, err := command.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatalf("There is no batond. Install the package baton, or name the program in BATON_BATOND. (%v)", err)
	}
	server := &Server{command: command}
	t.Cleanup(server.Stop)
	said := ""
	for lines := bufio.NewScanner(output); server.URL == "" && lines.Scan(); said += lines.Text() + "\n" {
		var line struct{ Msg, URL string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "listening" {
			server.URL = line.URL
		}
	}
	if server.URL == "" {
		t.Fatalf("batond has ended: %s", said)
	}
	go io.Copy(io.Discard, output)
	return server
}

// Client makes a client for it.
func (s *Server) Client() *baton.Client { return baton.New(s.URL) }

// Stop ends it, before the test does.
func (s *Server) Stop() {
	_ = s.command.Process.Signal(syscall.SIGTERM)
	_ = s.command.Wait()
}
