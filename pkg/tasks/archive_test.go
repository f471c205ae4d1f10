package tasks

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/archive"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host/hostfs"
)

// shelf is a Fetcher over memory. It records the requests.
type shelf struct {
	t      *testing.T
	bodies map[string][]byte
	asked  []string
	breaks map[string]error // fails after half of the body
}

func (s *shelf) Open(_ context.Context, url string) (io.ReadCloser, int64, error) {
	s.asked = append(s.asked, url)
	body, ok := s.bodies[url]
	if !ok {
		return nil, 0, fmt.Errorf("get %s: 404 not found", url)
	}
	if err := s.breaks[url]; err != nil {
		return io.NopCloser(io.MultiReader(bytes.NewReader(body[:len(body)/2]), iotest.ErrReader(err))), -1, nil
	}
	return io.NopCloser(bytes.NewReader(body)), -1, nil
}

func tgz(t *testing.T, members map[string]string) []byte {
	t.Helper()
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	w := tar.NewWriter(z)
	for _, name := range slices.Sorted(maps.Keys(members)) {
		ok(t, w.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Size: int64(len(members[name])), Mode: 0o600}))
		_, err := io.WriteString(w, members[name])
		ok(t, err)
	}
	ok(t, w.Close(), z.Close())
	return buf.Bytes()
}

// plugins returns an archive of three members. A task wants two of them.
func plugins(t *testing.T) (Archive, *shelf) {
	t.Helper()
	body := tgz(t, map[string]string{"./bridge": strings.Repeat("bridge", 5000), "./loopback": "loopback", "./LICENSE": "free"})
	s := &shelf{t: t, bodies: map[string][]byte{"assets/plugins.tgz": body}, breaks: map[string]error{}}
	return Archive{
		Name: "cni-plugins v1", URLs: []string{"assets/plugins.tgz"}, Sum: archive.ChecksumOf(body), Dir: "/opt/cni/bin",
		Members: []string{"bridge", "loopback"}, Mode: 0o755, Fetch: s,
	}, s
}

func TestArchive(t *testing.T) {
	h, root := onDisk(t)
	a, s := plugins(t)
	c := plan(t, a, h.Live.View())
	wantLines(t, c, "+ file:/opt, type →directory, mode →0755, owner →root:root", "+ file:/opt/cni, type →directory, mode →0755, owner →root:root",
		"+ file:/opt/cni/bin, type →directory, mode →0755, owner →root:root",
		"+ file:/opt/cni/bin/bridge, content →from cni-plugins v1, mode →0755, owner →root:root",
		"+ file:/opt/cni/bin/loopback, content →from cni-plugins v1, mode →0755, owner →root:root")
	if len(s.asked) != 0 {
		t.Fatalf("a plan fetched %q", s.asked)
	}
	converge(t, h, a)
	wantFile(t, root+"/opt/cni/bin/loopback", "loopback", 0o755, 0)
	wantFile(t, root+"/opt/cni/bin/bridge", strings.Repeat("bridge", 5000), 0o755, 0)
	if names, err := os.ReadDir(root + "/opt/cni/bin"); err != nil || len(names) != 2 {
		t.Errorf("in the directory: %v, %v", names, err)
	}
	if len(s.asked) != 1 {
		t.Errorf("fetched %q", s.asked)
	}
}

func TestArchiveRepairsOnlyWhatDiffers(t *testing.T) {
	h, root := onDisk(t)
	a, s := plugins(t)
	converge(t, h, a)
	bridge, loopback := root+"/opt/cni/bin/bridge", root+"/opt/cni/bin/loopback"
	var before, after unix.Stat_t
	ok(t, unix.Stat(bridge, &before))

	ok(t, os.Chmod(loopback, 0o700))
	wantLines(t, converge(t, h, a), "~ file:/opt/cni/bin/loopback, mode 0700→0755")
	if len(s.asked) != 1 {
		t.Errorf("fetched for a mode: %q", s.asked)
	}
	ok(t, os.WriteFile(loopback, []byte("tampered"), 0o755))
	c := converge(t, h, a)
	if len(c.Items) != 1 || c.Reason != "content differs" || c.Items[0].Key != "file:/opt/cni/bin/loopback" {
		t.Errorf("one changed member: %v, %s; want loopback, content differs", lines(c), c.Reason)
	}
	ok(t, os.Remove(loopback), os.Symlink("bridge", loopback))
	if c := converge(t, h, a); len(c.Items) != 1 || c.Reason != "is a symlink" {
		t.Errorf("a symlink: %v, %s; want one change of a symlink", lines(c), c.Reason)
	}
	wantFile(t, loopback, "loopback", 0o755, 0)
	ok(t, unix.Stat(bridge, &after))
	if before != after {
		t.Errorf("what was right was touched: %+v, %+v", before, after)
	}

	// Another set of members of the same archive keeps what is known of the first set.
	more := a
	more.Members = []string{"LICENSE"}
	converge(t, h, more)
	if c := plan(t, a, h.Live.View()); c != nil {
		t.Errorf("the receipt forgot: %v", lines(c))
	}
	ok(t, os.RemoveAll(root+"/var/lib/netwright"))
	if c := converge(t, h, a); c.Reason != "there is no record of what cni-plugins v1 has" || len(c.Items) != 2 {
		t.Errorf("no record: %v, %s; want both members", lines(c), c.Reason)
	}
	ok(t, os.WriteFile(root+a.receiptPath(), []byte("{dama"), 0o644))
	converge(t, h, a)
}

// A plan reads the largest member first, by the sizes of the receipt. It reads each member once.
func TestArchiveLooksAtTheLargestFirst(t *testing.T) {
	a := Archive{Members: []string{"small", "unknown", "large", "middle"}}
	known := map[string]hostfs.Member{"small": {Size: 1}, "large": {Size: 3}, "middle": {Size: 2}}
	if order := a.largestFirst(known); !slices.Equal(order, []int{2, 3, 0, 1}) {
		t.Errorf("the order is %v", order)
	}
}

// The task waits for a download that takes too long. The error does not say how much was read,
// since each pass would log another number. The line that keeps it: archive_fetch.go, fromURLs
// (SourceError).
func TestArchiveWaitsForItsDownload(t *testing.T) {
	h, _ := onDisk(t)
	a, s := plugins(t)
	s.breaks["assets/plugins.tgz"] = graph.Wait("what is being fetched")
	c := plan(t, a, h.Live.View())
	if err := a.Apply(t.Context(), h, c); !graph.IsWait(err) || strings.Contains(err.Error(), "bytes") {
		t.Errorf("Apply returns %v", err)
	}
}

func TestArchiveTriesTheNextURL(t *testing.T) {
	h, _ := onDisk(t)
	a, s := plugins(t)
	good := s.bodies["assets/plugins.tgz"]
	s.bodies["https://mirror/half"], s.bodies["https://mirror/other"] = good, tgz(t, map[string]string{"bridge": "evil", "loopback": "evil"})
	s.breaks["https://mirror/half"] = errors.New("connection reset")
	a.URLs = []string{"https://user:pass@mirror/none?token=abc", "https://mirror/other", "https://mirror/half", "assets/plugins.tgz"}
	converge(t, h, a)
	if !slices.Equal(s.asked, a.URLs) {
		t.Errorf("asked %q", s.asked)
	}
}

// An archive with a sha512 has a receipt, is restored from kept copies, and comes back from the
// ledger.
func TestArchiveBySHA512(t *testing.T) {
	h, root := onDisk(t)
	a, s := plugins(t)
	sum := sha512.Sum512(s.bodies["assets/plugins.tgz"])
	a.Sum = archive.Checksum(hex.EncodeToString(sum[:]))
	converge(t, h, a)
	ok(t, a.Cache(t.Context(), h))
	if _, err := os.Stat(root + "/var/lib/netwright/assets/" + string(a.Sum) + ".json"); err != nil {
		t.Error(err)
	}
	r, _, err := Record(a)
	ok(t, err)
	again, err := Rebuild(r, nil)
	ok(t, err)
	back, _ := again.(Archive)
	if back.Sum != a.Sum {
		t.Errorf("rebuilt with %q", back.Sum)
	}
	back.URLs = []string{"assets/gone"}
	ok(t, os.Remove(root+"/opt/cni/bin/bridge"), ForgetArchives(h, []Archive{back}))
	converge(t, h, back)
	r.Params = bytes.Replace(r.Params, []byte(a.Sum), []byte("../../../../etc/x"), 1)
	if _, err := Rebuild(r, nil); err == nil || !strings.Contains(err.Error(), "checksum") {
		t.Errorf("a ledger with another file's name for a checksum: %v", err)
	}
}

func TestArchiveSaysWhatIsWrong(t *testing.T) {
	half := func(b []byte) []byte { return b[:len(b)/2] }
	for name, c := range map[string]struct {
		change    func(t *testing.T, a *Archive, s *shelf)
		want      []string
		transient bool
	}{
		"wrong hash": {func(_ *testing.T, a *Archive, _ *shelf) { a.Sum = archive.ChecksumOf([]byte("another")) },
			[]string{"from assets/plugins.tgz", "sha256 is", "expected", "correct its entry in spec.assets"}, false},
		"truncated": {func(_ *testing.T, _ *Archive, s *shelf) {
			s.bodies["assets/plugins.tgz"] = half(s.bodies["assets/plugins.tgz"])
		},
			[]string{"is truncated", "expected"}, false},
		"missing member": {func(_ *testing.T, a *Archive, _ *shelf) { a.Members = []string{"bridge", "flannel"} },
			[]string{`no member "flannel"`, "it has LICENSE, bridge, loopback"}, false},
		"dot dot": {func(t *testing.T, a *Archive, s *shelf) {
			s.bodies["assets/plugins.tgz"] = tgz(t, map[string]string{"bridge": "x", "loopback": "x", "../evil": "x"})
			a.Sum = archive.ChecksumOf(s.bodies["assets/plugins.tgz"])
			a.URLs = append(a.URLs, "assets/not-asked")
		}, []string{`"../evil" that leads out`}, false},
		"no URL": {func(_ *testing.T, a *Archive, _ *shelf) { a.URLs = nil }, []string{"add urls"}, false},
		"network": {func(_ *testing.T, _ *Archive, s *shelf) {
			s.breaks["assets/plugins.tgz"] = errors.New("connection reset")
		}, []string{"connection reset", "after"}, true},
		"all of several": {func(_ *testing.T, a *Archive, _ *shelf) {
			a.URLs, a.Sum = append(a.URLs, "https://me:secret@mirror/none?sig=secret"), archive.ChecksumOf(nil)
		}, []string{"from assets/plugins.tgz", "from https://mirror/none?", "404"}, false},
		"a URL is said once": {func(_ *testing.T, a *Archive, _ *shelf) { a.URLs = []string{"https://mirror/none"} },
			[]string{"gave the right archive:\nget https://mirror/none: 404 not found\n"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			h, root := onDisk(t)
			a, s := plugins(t)
			c.change(t, &a, s)
			err := a.Apply(t.Context(), h, plan(t, a, h.Live.View()))
			if err == nil {
				t.Fatal("no error")
			}
			for _, w := range c.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%q does not say %q", err, w)
				}
			}
			if name == "all of several" && strings.Contains(strings.ReplaceAll(err.Error(), "get https://me:secret@mirror/none?sig=secret", ""), "secret") {
				t.Errorf("a secret is shown: %q", err)
			}
			if graph.IsTransient(err) != c.transient {
				t.Errorf("transient is %v", graph.IsTransient(err))
			}
			if left, _ := os.ReadDir(root + "/opt/cni/bin"); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
			if slices.Contains(s.asked, "assets/not-asked") {
				t.Error("a hostile archive was asked for elsewhere")
			}
		})
	}
}

func TestArchiveDirectoryInTheWay(t *testing.T) {
	h, root := onDisk(t)
	a, _ := plugins(t)
	ok(t, os.MkdirAll(root+"/opt/cni/bin/bridge", 0o755))
	wantError(t, a, h.Live.View(), "a directory is in the way of the file", "/opt/cni/bin/bridge.old")
}
