package baton

import (
	"fmt"
	"net/url"
	"os"
	"os/user"
	"regexp"
	"strconv"
	"strings"
)

var (
	ofURL    = regexp.MustCompile(`^https?://(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::([0-9]{1,5}))?(/[!-"$->@-~]*)?$`)
	ofHeader = regexp.MustCompile(`^[!-~]+$`)
)

func wrong(format string, values ...any) error {
	return (&Problem{Detail: fmt.Sprintf(format, values...)}).sort(400)
}

// baseOf is what stands before each path. A URL with /locks, as for curl, would make another lock of each name.
func baseOf(given string) (string, error) {
	if strings.Contains(given, "@") {
		return "", wrong("A URL of batond has no user and no password. Give the client the API key as bearer.")
	}
	base := strings.TrimRight(given, "/")
	parts := ofURL.FindStringSubmatch(base)
	if parts != nil && parts[1] != "" {
		if port, _ := strconv.Atoi(parts[1]); port < 1 || port > 65535 {
			parts = nil
		}
	}
	if parts == nil {
		return "", wrong("%q is not a URL of batond. Write http://HOST:PORT or https://HOST:PORT.", given)
	}
	if strings.HasSuffix(parts[2], "/locks") {
		return "", wrong("%q ends in /locks, which the client adds. Write %q.", given, strings.TrimSuffix(base, "/locks"))
	}
	return base, nil
}

func basesOf(urls []string) ([]string, error) {
	if len(urls) == 0 {
		return nil, wrong("There is no URL of batond. Write http://HOST:PORT or https://HOST:PORT.")
	}
	bases := make([]string, len(urls))
	for i, given := range urls {
		var err error
		if bases[i], err = baseOf(given); err != nil {
			return nil, err
		}
	}
	return bases, nil
}

// secret is an API key or a token, without the line break at the end of a file.
func secret(given, what string) (string, error) {
	text := strings.TrimSpace(given)
	if !ofHeader.MatchString(text) {
		return "", wrong("The %s has a character that no header can carry. Is it the %s, and nothing else?", what, what)
	}
	return text, nil
}

// pathOf is the path of one lock, or of several together.
func pathOf(names ...string) (string, error) {
	if len(names) == 0 {
		return "", wrong("A lock has a name, or several.")
	}
	for _, name := range names {
		if name == "" {
			return "", wrong("The name of a lock is a text that is not empty.")
		}
	}
	if len(names) > 1 {
		return "/locks", nil
	}
	return "/locks/" + url.PathEscape(names[0]), nil
}

// query stands behind a path. To batond a + is no space.
func query(values url.Values) string { return "?" + strings.ReplaceAll(values.Encode(), "+", "%20") }

func ownerHere() string {
	name := "user"
	if here, err := user.Current(); err == nil && here.Username != "" {
		name = here.Username
	}
	host, _ := os.Hostname()
	return fmt.Sprintf("%.32s@%s", name, host)
}
