package fetch

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/netwright/netwright/pkg/archive"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/tasks"
)

// A download is checked as it comes, and not in the pass that asks for it: the wrong gigabyte would
// delay all repairs by seconds.
func TestADownloadIsCheckedAsItComes(t *testing.T) {
	root, m := t.TempDir(), &mirror{content: []byte("what there is"), takes: time.Second}
	const url = "https://mirror.example.com/plugins.tar"
	right := archive.Wanted{Name: "plugins", Sum: archive.ChecksumOf(m.content)}
	wrong := archive.Wanted{Name: "plugins", Sum: archive.ChecksumOf(nil)}
	if err := os.MkdirAll(filepath.Join(root, ledger.Dir), 0o755); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		a := New(t.Context(), m, host.Options{Root: root}, "", func() bool { return true })
		defer a.Close()
		for i, want := range []archive.Wanted{wrong, wrong, right} { // documents would correct it to the third
			if i == 1 {
				a.Retry() // a person tries again
			}
			if there, err := a.begin(url, want); there || err != nil {
				t.Fatalf("it is there at once: %t, %v", there, err)
			}
			time.Sleep(2 * m.takes)
			synctest.Wait()
			there, err := a.begin(url, want)
			var refused *archive.Error
			if bad := errors.As(err, &refused); !there || bad != (want.Sum == wrong.Sum) {
				t.Errorf("held against %s: there %t, %v", want.Sum, there, err)
			}
			if want.Sum == wrong.Sum && !strings.Contains(err.Error(), "plugins sha256 is "+string(right.Sum)) {
				t.Errorf("it says %q", err)
			}
		}
		if m.times.Load() != 3 {
			t.Errorf("the mirror was asked %d times, want once for each checksum, and once for a person", m.times.Load())
		}
	})
}

// The daemon prefetches a URL once, and not after it has said READY. A single pass prefetches every
// URL of its changes.
func TestWhatMayBePrefetched(t *testing.T) {
	early := true
	a := New(t.Context(), &mirror{}, host.Options{Root: t.TempDir()}, "", func() bool { return early })
	defer a.Close()
	one := tasks.Archive{Fetch: a, URLs: []string{"https://mirror.example.com/one.tgz"}}
	two, alone := one, one
	two.URLs, alone.Fetch = []string{"https://mirror.example.com/two.tgz"}, &mirror{}
	first, again := MayPrefetch(one), MayPrefetch(one)
	early = false
	if late := MayPrefetch(two); !first || again || late || !MayPrefetch(alone) || !MayPrefetch(alone) {
		t.Errorf("at first %t, again %t, after READY %t, and a single pass is not let", first, again, late)
	}
}

// Two assets name one URL with two checksums. Both are checked. Neither replaces the other's
// download, and the reader of the URL gets the right one.
func TestTwoChecksumsOfOneURL(t *testing.T) {
	root, m := t.TempDir(), &mirror{content: []byte("what there is")}
	const url = "https://mirror.example.com/plugins.tar"
	right := archive.Wanted{Name: "right", Sum: archive.ChecksumOf(m.content)}
	wrong := archive.Wanted{Name: "wrong", Sum: archive.ChecksumOf(nil)}
	if err := os.MkdirAll(filepath.Join(root, ledger.Dir), 0o755); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		a := New(t.Context(), m, host.Options{Root: root}, "", func() bool { return true })
		defer a.Close()
		for range 3 { // passes, each of which asks for both
			_, _ = a.begin(url, wrong)
			_, _ = a.begin(url, right)
		}
		synctest.Wait()
		var refused *archive.Error
		if _, err := a.begin(url, wrong); !errors.As(err, &refused) {
			t.Errorf("the wrong one: %v, want that its checksum is another", err)
		}
		if there, err := a.begin(url, right); !there || err != nil {
			t.Errorf("the right one: there %t, %v", there, err)
		}
		body, _, err := a.Open(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		defer body.Close()
		if got, err := io.ReadAll(body); err != nil || !bytes.Equal(got, m.content) {
			t.Errorf("it reads %q, %v", got, err)
		}
		if m.times.Load() != 2 {
			t.Errorf("the mirror was asked %d times, want once for each checksum", m.times.Load())
		}
	})
}

// mirror is a server of one asset.
type mirror struct {
	content []byte
	takes   time.Duration // the time until its answer
	times   atomic.Int32
}

func (m *mirror) Open(context.Context, string) (io.ReadCloser, int64, error) {
	m.times.Add(1)
	time.Sleep(m.takes)
	return io.NopCloser(bytes.NewReader(m.content)), -1, nil
}
