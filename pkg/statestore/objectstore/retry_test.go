package objectstore

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/netwright/netwright/pkg/graph"
)

// moody is a source with a list of answers, one for each request.
type moody struct {
	Source
	answers []error
	asked   int
}

func (m *moody) Get(context.Context, string, string, int64) (Object, error) {
	err := m.answers[min(m.asked, len(m.answers)-1)]
	m.asked++
	return Object{}, err
}

func get(p *Retrying) error {
	_, err := p.Get(context.Background(), "manifest", "", 1)
	return err
}

var (
	errReset     = graph.Transient(errors.New("connection reset"))
	errForbidden = errors.New("forbidden")
)

func TestPatience(t *testing.T) {
	const leastPause = time.Second
	for name, c := range map[string]struct {
		answers []error
		want    error
		asked   int
	}{
		"well":              {[]error{nil}, nil, 1},
		"not modified":      {[]error{ErrNotModified}, ErrNotModified, 1},
		"permanent":         {[]error{errForbidden}, errForbidden, 1},
		"once":              {[]error{errReset, nil}, nil, 2},
		"then permanent":    {[]error{errReset, errForbidden}, errForbidden, 2},
		"always":            {[]error{errReset}, errReset, 3},
		"busy for a moment": {[]error{graph.Transient(&Busy{leastPause, errReset}), nil}, nil, 2},
		"busy for long":     {[]error{graph.Transient(&Busy{time.Minute, errReset}), nil}, errReset, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			m, begun := &moody{answers: c.answers}, time.Now()
			err := get(NewRetrying(m))
			if !errors.Is(err, c.want) || m.asked != c.asked {
				t.Errorf("%s: %v after %d requests; want %v after %d", name, err, m.asked, c.want, c.asked)
			}
			took := time.Since(begun)
			if (took > 0) != (m.asked > 1) || name == "busy for a moment" && took < leastPause {
				t.Errorf("%s: pauses of %s for %d requests", name, took, m.asked)
			}
		})
	}
}

// A source that goes on failing gets one request in each call. After its first success it gets
// retries again.
func TestPatienceEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &moody{answers: []error{errReset, errReset, errReset, errReset, nil, errReset, nil}}
		p := NewRetrying(m)
		for i, want := range []int{3, 4, 5, 7} {
			_ = get(p)
			if m.asked != want {
				t.Errorf("after call %d: %d requests, want %d", i+1, m.asked, want)
			}
		}
	})
}

// A pause that a server asks for holds over several calls, but not for ever.
func TestPatienceAsLongAsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &moody{answers: []error{graph.Transient(&Busy{1000 * time.Hour, errReset}), nil}}
		p := NewRetrying(m)
		for range 3 {
			if err := get(p); !graph.IsTransient(err) || m.asked != 1 {
				t.Errorf("%v after %d requests", err, m.asked)
			}
		}
		until := time.Now().Add(maxRetryAfter)
		if err := get(p); !strings.Contains(err.Error(), "to wait until "+until.UTC().Format(time.RFC3339)) {
			t.Errorf("got %v, want the time until which to wait", err)
		}
		time.Sleep(maxRetryAfter)
		if err := get(p); err != nil || m.asked != 2 {
			t.Errorf("%v after %d requests", err, m.asked)
		}
	})
}

func TestPatienceCancelled(t *testing.T) {
	cause := errors.New("the pass was given up")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(cause)
	m := &moody{answers: []error{errReset}}
	if _, err := NewRetrying(m).Get(ctx, "manifest", "", 1); !errors.Is(err, cause) || m.asked != 1 {
		t.Errorf("%v after %d requests", err, m.asked)
	}
}
