package ledger

import (
	"fmt"
	"testing"
	"time"
)

// A command that was killed and runs again is one action. What follows another action is an action
// of its own.
func TestDeedsAreRemembered(t *testing.T) {
	_, d := open(t, t.TempDir())
	at := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	note := func(action OperatorAction) {
		t.Helper()
		at = at.Add(time.Minute)
		action.By, action.Time = "root", at
		if err := NoteOperatorAction(t.Context(), d.Files, action); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		note(OperatorAction{Act: RolledBack, Revision: 1})
	}
	note(OperatorAction{Act: Resumed, Revision: 1})
	note(OperatorAction{Act: RolledBack, Revision: 1})
	note(OperatorAction{Act: RolledBack, Revision: 2})
	list, err := ReadOperatorActions(d.Live.Files)
	if err != nil {
		t.Fatal(err)
	}
	var got string
	for _, action := range list {
		got += fmt.Sprint(action.Act, " ", action.Revision, " ", action.Time.Minute(), "; ")
	}
	if want := "rollback 1 1; resume 1 4; rollback 1 5; rollback 2 6; "; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for range 2 * maxOperatorActions {
		note(OperatorAction{Act: WasPaused})
		note(OperatorAction{Act: Resumed})
	}
	if list, err = ReadOperatorActions(d.Live.Files); err != nil || len(list) != maxOperatorActions {
		t.Errorf("%d actions are kept, want %d; %v", len(list), maxOperatorActions, err)
	}
}
