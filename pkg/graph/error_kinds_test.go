package graph

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestMarks(t *testing.T) {
	boom := errors.New("boom")
	tests := []struct {
		name            string
		err             error
		transient, wait bool
	}{
		{"none", nil, false, false},
		{"unmarked", boom, false, false},
		{"transient", Transient(boom), true, false},
		{"wrapped", fmt.Errorf("fetch: %w", Transient(boom)), true, false},
		{"permanent within", Transient(Permanent(boom)), true, false},
		{"transient within", fmt.Errorf("verify: %w", Permanent(fmt.Errorf("fetch: %w", Transient(boom)))), false, false},
		{"wait", fmt.Errorf("read: %w", Wait("time")), false, true},
		{"two of which one is transient", fmt.Errorf("%w: %w", boom, Transient(boom)), true, false},
		{"joined with a permanent one", errors.Join(Transient(boom), Permanent(boom)), false, false},
		{"a wait beside an error", errors.Join(Wait("time"), boom), false, false},
		{"two waits", errors.Join(Wait("time"), fmt.Errorf("and %w", Wait("tide"))), false, true},
	}
	for _, tt := range tests {
		if IsTransient(tt.err) != tt.transient || IsWait(tt.err) != tt.wait {
			t.Errorf("%s: transient %t, wait %t", tt.name, IsTransient(tt.err), IsWait(tt.err))
		}
	}
	if Transient(nil) != nil || Permanent(nil) != nil {
		t.Error("a mark makes an error of none")
	}
	if err := Transient(boom); err.Error() != "boom" || !errors.Is(err, boom) {
		t.Error("a mark hides what it marks")
	}
}

func TestBackoffStaysWithinItsBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := Backoff{
			First: time.Duration(rapid.Int64Min(0).Draw(t, "first")),
			Max:   time.Duration(rapid.Int64Min(0).Draw(t, "max")),
			Rand:  func() float64 { return rapid.Float64Range(0, 0.999999).Draw(t, "rand") },
		}
		if pause := b.pause(rapid.IntRange(1, 100).Draw(t, "attempt")); pause < 0 || pause > b.Max {
			t.Fatalf("pause %s", pause)
		}
	})
}
