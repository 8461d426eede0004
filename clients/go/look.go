package baton

import (
	"context"
	"net/url"
	"strconv"
)

// Inspect shows a lock.
func (c *Client) Inspect(ctx context.Context, name string) (State, error) {
	var state State
	path, err := pathOf(name)
	if err != nil {
		return state, err
	}
	err = c.request(ctx, "GET", path, "version", 0, &state)
	return state, err
}

// List shows what is held under a prefix.
func (c *Client) List(ctx context.Context, prefix string) ([]State, error) {
	var locks []State
	values := url.Values{}
	if prefix != "" {
		values.Set("prefix", prefix)
	}
	for {
		var page struct {
			Locks  []State `json:"locks"`
			Cursor *string `json:"cursor"`
		}
		if err := c.request(ctx, "GET", "/locks"+query(values), "locks", 0, &page); err != nil {
			return nil, err
		}
		locks = append(locks, page.Locks...)
		if page.Cursor == nil {
			return locks, nil
		}
		values.Set("cursor", *page.Cursor)
	}
}

// BreakOptions say which hold to break, and why. Both are optional.
type BreakOptions struct {
	Fence  int64 // of the hold; without it, all holds end
	Reason string
}

// Broken is what a break has ended.
type Broken struct {
	Count   int64    `json:"broken"`
	Holders []Holder `json:"holders"`
}

// Break ends all holds of the name, whoever has them, or that of the fence, and says which. After an ErrUnavailable,
// look before you repeat it.
func (c *Client) Break(ctx context.Context, name string, options BreakOptions) (Broken, error) {
	var broken Broken
	path, err := pathOf(name)
	if err != nil {
		return broken, err
	}
	values := url.Values{"force": {"true"}}
	if options.Fence != 0 {
		values.Set("fence", strconv.FormatInt(options.Fence, 10))
	}
	if options.Reason != "" {
		values.Set("reason", options.Reason)
	}
	err = c.request(ctx, "DELETE", path+query(values), "broken", 0, &broken)
	return broken, err
}
