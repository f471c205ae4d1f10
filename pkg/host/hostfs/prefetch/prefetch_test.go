package prefetch

import (
	"crypto/sha256"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/blob"
	"github.com/netwright/netwright/pkg/host/hostfs"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A prefetched sum is used once, and only if nobody has changed the file since, also if size and
// mtime are as before. A file that may still change under the same stamp is read when a task asks.
//
// The lines that keep it: Take and read; pkg/host/hostfs/read.go, Sum (Prefetched).
func TestPrefetch(t *testing.T) {
	root := t.TempDir()
	same, changed, fresh := root+"/same", root+"/changed", root+"/fresh"
	for _, path := range []string{same, changed} {
		must(t, os.WriteFile(path, []byte("one"), 0o644))
		must(t, os.Chtimes(path, time.Time{}, time.Now().Add(-time.Hour)))
		var st unix.Stat_t
		must(t, unix.Stat(path, &st))
		if !hostfs.AwaitTick(hostfs.FileInfo{Mtime: st.Mtim.Nano(), Ctime: st.Ctim.Nano()}) {
			t.Fatal("the clock stands still")
		}
	}
	must(t, os.WriteFile(fresh, []byte("one"), 0o644))
	must(t, os.Chtimes(fresh, time.Time{}, time.Now().Add(time.Hour)))

	opt := hostfs.Options{Root: root, Verify: true}
	sums, err := Start(opt, []string{"/same", "/changed", "/fresh", "/missing"})
	must(t, err)
	sums.readers.Wait()
	t.Cleanup(func() { must(t, sums.Close()) })
	if one := sums.sums["/fresh"]; one.info != (hostfs.FileInfo{}) || len(sums.sums) != 3 {
		t.Errorf("read before: %v", sums.sums)
	}
	before := sums.sums["/changed"].info
	must(t, os.WriteFile(changed, []byte("two"), 0o644))
	must(t, os.Chtimes(changed, time.Time{}, time.Unix(0, before.Mtime)))
	sums.sums["/same"].sum = blob.Digest{7} // shows whether the record was used

	opt.Prefetched = sums
	files, err := hostfs.Open(opt)
	must(t, err)
	t.Cleanup(func() { must(t, files.Close()) })
	one, two := blob.Digest(sha256.Sum256([]byte("one"))), blob.Digest(sha256.Sum256([]byte("two")))
	for _, c := range []struct {
		name string
		want blob.Digest
	}{{"/same", blob.Digest{7}}, {"/same", one}, {"/changed", two}, {"/changed", two}, {"/fresh", one}} {
		if sum, err := files.Sum(c.name); err != nil || sum != c.want {
			t.Errorf("%s: %s, %v; want %s", c.name, sum, err, c.want)
		}
	}
}

// A task that asks for a file while it is being read waits for that read. A file that the prefetch
// has not begun is not read twice.
func TestAFileIsNotReadTwice(t *testing.T) {
	s := &Sums{next: []string{"/a", "/b"}, sums: map[string]*fileSum{}}
	name, one := s.begin()
	_, known := s.Take("/b", hostfs.FileInfo{})
	if next, more := s.begin(); known || name != "/a" || more != nil {
		t.Errorf("%s is read, and then %q; /b is known: %t", name, next, known)
	}
	one.info, one.sum = hostfs.FileInfo{Size: 1}, blob.Digest{1}
	go close(one.ended)
	if sum, known := s.Take("/a", hostfs.FileInfo{Size: 1}); !known || sum != (blob.Digest{1}) {
		t.Errorf("/a: %s, %t", sum, known)
	}
}
