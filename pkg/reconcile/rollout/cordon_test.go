package rollout

import (
	"errors"
	"fmt"
	"testing"

	"github.com/netwright/netwright/pkg/checkpoint"
)

// A node stays cordoned between the tries of a switch, and no longer than it is tried.
func TestACordonLastsAsLongAsTheSwitchIsTried(t *testing.T) {
	for _, c := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{errors.New("a task failed"), false},
		{fmt.Errorf("it was undone: %w", &checkpoint.UndoneError{}), true},
		{&checkpoint.UndoneError{Verdict: checkpoint.Verdict{Bad: true}}, false},
		{&checkpoint.UndoneError{Verdict: checkpoint.Verdict{Unconfirmed: true}}, false},
		{errors.Join(errors.New("a task failed"), &checkpoint.SuppressedError{}), true},
		{&checkpoint.SuppressedError{Verdict: checkpoint.Verdict{Bad: true}}, false},
		{&checkpoint.RefusedError{Err: errors.New("no room")}, false}, // it was not begun
	} {
		if got := RetriesLater(c.err); got != c.want {
			t.Errorf("%v: %t", c.err, got)
		}
	}
}
