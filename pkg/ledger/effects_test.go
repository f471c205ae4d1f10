package ledger

import (
	"maps"
	"testing"
)

// A trial of an effect stays when the run that made it has ended. It ends with the next change that
// asks for the effect, since the trial did not see that change.
func TestWhatWasTriedIsRemembered(t *testing.T) {
	d := disk{bootIDFile: "b\n"}
	l := Load(d)
	l.Effects.Attempt("effect:restart x", "nobody owes it")
	l.Effects.Enqueue("effect:restart x", "file:/a")
	if got := l.Effects.Attempted(); len(got) > 0 {
		t.Errorf("tried before it was owed: %v", got)
	}
	l.Effects.Attempt("effect:restart x", "run 1")
	if err := l.Effects.Save(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	l = Load(d)
	if got := l.Effects.Attempted(); !maps.Equal(got, map[string]string{"effect:restart x": "run 1"}) {
		t.Errorf("after a restart of the agent: %v", got)
	}
	l.Effects.Enqueue("effect:restart x", "file:/a")
	if got := l.Effects.Attempted(); len(got) > 0 {
		t.Errorf("a later change counts as restarted for: %v", got)
	}
	l.Effects.Ack("effect:restart x")
	if err := l.Effects.Save(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	if l = Load(d); len(l.Effects.List())+len(l.Effects.Attempted()) > 0 {
		t.Errorf("paid, and still owed: %v", l.Effects.List())
	}
}
