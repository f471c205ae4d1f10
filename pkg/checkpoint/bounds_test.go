package checkpoint

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/checkpoint/undo"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/tasks"
	"github.com/netwright/netwright/test/netns"
)

// Files that are large together, on this file system and on another, do not make the journal large,
// and all are restored. The lines that keep it: pkg/checkpoint/undo/capture.go, file (contents) and
// SaveFiles; journal.go, write.
func TestManyFilesAreTakenBack(t *testing.T) {
	if !netns.Alone(t, "/etc", "/run", "/var/lib") {
		return
	}
	h, _ := onNode(t)
	netns.Shell(t, `mkdir /var/lib/log /run/log; for i in $(seq 8); do for d in /run/log /var/lib/log; do head -c 1000000 /dev/urandom >$d/$i; done; done; sha256sum /run/log/* /var/lib/log/* >/run/sums`)
	var keys []graph.Key
	for i := 1; i <= 8; i++ {
		keys = append(keys, tasks.FileKey(fmt.Sprintf("/run/log/%d", i)), tasks.FileKey(fmt.Sprintf("/var/lib/log/%d", i)))
	}
	c, err := Take(t.Context(), h, Change{Generation: 7, Digest: "d7", Keys: keys}, settings())
	if err == nil {
		err = c.Arm(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(JournalFile); err != nil || info.Size() > 8<<20 {
		t.Errorf("the journal: %v, %v", info.Size(), err)
	}
	netns.Shell(t, "rm -r /run/log /var/lib/log/1; rm /var/lib/log/2 /var/lib/log/8; echo x >/var/lib/log/2; echo x >/var/lib/log/8; mkdir /run/log")
	if _, err := Undo(t.Context(), h, settings()); err != nil {
		t.Fatal(err)
	}
	netns.Shell(t, "sha256sum --quiet -c /run/sums")
}

// A change that is too large to be undone is refused before anything is written. The lines that
// keep it: pkg/checkpoint/undo/capture.go, Take (MaxKeys) and affordable; journal.go, encode.
func TestTooMuchIsRefused(t *testing.T) {
	if !netns.Alone(t, "/etc", "/run", "/var/lib") {
		return
	}
	h, was := onNode(t)
	netns.Shell(t, "truncate -s 600M /run/a /run/b")
	for _, c := range []struct {
		what   string
		change Change
		say    string
	}{
		{"two files of 600 MB on another file system", Change{Keys: []graph.Key{tasks.FileKey("/run/a"), tasks.FileKey("/run/b")}}, "would copy 1200 MiB"},
		{"a hundred thousand keys", Change{Keys: make([]graph.Key, undo.MaxKeys+1)}, "100001 keys at once"},
		{"a memory of 65 MiB", Change{Keys: changed, Before: []byte(`"` + strings.Repeat("m", 65<<20) + `"`)}, "its undo would be 65 MiB"},
	} {
		_, err := Take(t.Context(), h, c.change, settings())
		if err == nil || !strings.Contains(err.Error(), c.say) || !strings.Contains(err.Error(), "the change is not made") {
			t.Errorf("%s: Take returns %v", c.what, err)
		}
		if v, err := Undo(t.Context(), h, settings()); v != nil || err != nil { // the next pass
			t.Errorf("%s: Undo returns %+v, %v", c.what, v, err)
		}
	}
	unchanged(t, was)
}

// Somebody damaged the journal during the change. The process that made the change does not need
// it. Another process gets an error that says what to do, whatever the journal has become. The
// lines that keep it: finish.go, Finish; journal.go, DamagedError.
func TestADamagedJournal(t *testing.T) {
	if !netns.Alone(t, "/etc", "/run", "/var/lib") {
		return
	}
	h, was := onNode(t)
	for _, damage := range []string{"echo damaged >" + JournalFile, "rm " + JournalFile + "; mkdir " + JournalFile} {
		c := armed(t, h, settings())
		netns.Shell(t, "printf other >/etc/nw/content; "+damage)
		var damaged *DamagedError
		if _, err := Undo(t.Context(), h, settings()); !errors.As(err, &damaged) {
			t.Errorf("%s: another process says %v", damage, err)
		}
		if _, err := Pending(host.View(h.Live.View()).Files); !errors.As(err, &damaged) {
			t.Errorf("%s: a dry run says %v", damage, err)
		}
		var undone *UndoneError
		if err := c.Finish(t.Context(), nil); !errors.As(err, &undone) {
			t.Errorf("%s: its own process says %v", damage, err)
		}
		unchanged(t, was, VerdictFile)
		netns.Shell(t, "rm -r "+Dir)
	}
}
