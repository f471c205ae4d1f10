package ledger

import (
	"fmt"
	"testing"
	"time"
)

// A command that is run again, since it was killed, did one thing; what follows something else is a
// deed of its own.
func TestDeedsAreRemembered(t *testing.T) {
	_, d := open(t, t.TempDir())
	at := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	note := func(deed Deed) {
		t.Helper()
		at = at.Add(time.Minute)
		deed.By, deed.Time = "root", at
		if err := NoteDeed(t.Context(), d.Files, deed); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		note(Deed{Act: RolledBack, Revision: 1})
	}
	note(Deed{Act: Resumed, Revision: 1})
	note(Deed{Act: RolledBack, Revision: 1})
	note(Deed{Act: RolledBack, Revision: 2})
	list, err := ReadDeeds(d.Live.Files)
	if err != nil {
		t.Fatal(err)
	}
	var got string
	for _, deed := range list {
		got += fmt.Sprint(deed.Act, " ", deed.Revision, " ", deed.Time.Minute(), "; ")
	}
	if want := "rollback 1 1; resume 1 4; rollback 1 5; rollback 2 6; "; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for range 2 * maxDeeds {
		note(Deed{Act: WasPaused})
		note(Deed{Act: Resumed})
	}
	if list, err = ReadDeeds(d.Live.Files); err != nil || len(list) != maxDeeds {
		t.Errorf("%d deeds are kept, want %d; %v", len(list), maxDeeds, err)
	}
}
