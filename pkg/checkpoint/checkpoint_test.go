package checkpoint

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/host"
)

// files is a Reader with the files of a test.
type files map[string]string

func (f files) ReadFile(path string) ([]byte, error) {
	if text, ok := f[path]; ok {
		return []byte(text), nil
	}
	return nil, fs.ErrNotExist
}

func (f files) ReadEnds(path string, most int) (begin, end []byte, err error) {
	data, err := f.ReadFile(path)
	most = min(most, len(data))
	return data[:most], data[len(data)-most:], err
}

// unread is a disk that cannot be read now.
type unread struct{ files }

func (unread) ReadFile(path string) ([]byte, error) {
	return nil, &fs.PathError{Op: "open", Path: path, Err: syscall.EIO}
}

func TestHeld(t *testing.T) {
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	bad := files{VerdictFile: `{"generation":3,"digest":"d","bad":true,"tries":1,"at":"2026-11-21T12:00:00Z"}`}
	unsure := files{VerdictFile: `{"generation":3,"digest":"d","bad":false,"tries":2,"at":"2026-11-21T12:00:00Z"}`}
	for _, c := range []struct {
		name   string
		r      host.FileReader
		digest string
		now    time.Time
		want   bool
	}{
		{"nothing known", files{}, "d", at, false},
		{"damaged", files{VerdictFile: "{"}, "d", at, false},
		{"not to be read now", unread{}, "d", at, true},
		{"bad", bad, "d", at.AddDate(1, 0, 0), true},
		{"another generation", bad, "e", at, false},
		{"inconclusive, too early", unsure, "d", at.Add(59 * time.Second), true},
		{"inconclusive, again", unsure, "d", at.Add(time.Minute), false},
		{"the clock was set back", unsure, "d", at.Add(-time.Hour), false},
	} {
		if got := Suppressed(c.r, c.digest, c.now); (got != nil) != c.want {
			t.Errorf("%s: held %v, want %v", c.name, got, c.want)
		}
	}
}

func TestPendingRefusesWhatItCannotRead(t *testing.T) {
	if j, err := Pending(files{}); j != nil || err != nil {
		t.Errorf("no journal: %v, %v", j, err)
	}
	for _, text := range []string{"", "{", `{"version":99}`} {
		var damaged *DamagedError
		if _, err := Pending(files{JournalFile: text}); !errors.As(err, &damaged) || !strings.Contains(err.Error(), "mv "+JournalFile) {
			t.Errorf("of the journal %q it says %v, and not what to do", text, err)
		}
	}
}

// Journals of released versions stay readable as a whole. The first agent of version N wrote
// journal-N.json. Never write that file anew.
func TestReleasedJournalsAreRead(t *testing.T) {
	text, err := os.ReadFile("testdata/journal-1.json")
	if err != nil {
		t.Fatal(err)
	}
	j, err := Pending(files{JournalFile: string(text)})
	if err != nil {
		t.Fatal(err)
	}
	if again, err := json.Marshal(j); err != nil || string(again) != strings.TrimSpace(string(text)) {
		t.Errorf("something of it was not read (%v):\n%s\nbecame\n%s", err, text, again)
	}
}
