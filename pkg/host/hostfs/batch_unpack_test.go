package hostfs

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/archive"
	"github.com/netwright/netwright/test/needs"
)

// entry is one entry of a test's archive.
type entry struct {
	name, content string
	kind          byte
}

func tarOf(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Typeflag: e.kind, Mode: 0o4777, Uid: 5, Gid: 6}
		switch e.kind {
		case 0, tar.TypeReg:
			h.Typeflag, h.Size = tar.TypeReg, int64(len(e.content))
		case tar.TypeXGlobalHeader:
			h = &tar.Header{Typeflag: tar.TypeXGlobalHeader, PAXRecords: map[string]string{"comment": e.content}}
		default:
			h.Linkname = e.content
		}
		must(t, w.WriteHeader(h))
		if h.Size > 0 {
			_, err := io.WriteString(w, e.content)
			must(t, err)
		}
	}
	must(t, w.Close())
	return buf.Bytes()
}

// packings has the formats that an archive may have.
var packings = map[string]func(io.Writer) (io.WriteCloser, error){
	"gzip": func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil },
	"zstd": func(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w) },
	"xz":   func(w io.Writer) (io.WriteCloser, error) { return xz.NewWriter(w) },
}

func pack(t testing.TB, how string, plain []byte) []byte {
	t.Helper()
	var buf bytes.Buffer
	w, err := packings[how](&buf)
	must(t, err)
	_, err = w.Write(plain)
	must(t, err, w.Close())
	return buf.Bytes()
}

func unpacking(packed []byte, members ...string) Unpacking {
	return Unpacking{Name: "plugins v1", Sum: archive.ChecksumOf(packed), Dir: "/opt/bin", Members: members, Spec: self(0o755)}
}

// unpack unpacks and commits, as a task does.
func unpack(h *readWriter, src io.Reader, u Unpacking) (map[string]Member, error) {
	b := h.Batch()
	defer b.Discard()
	got, err := b.Unpack(context.Background(), src, u)
	if err != nil {
		return nil, err
	}
	return got, b.Commit(context.Background())
}

func TestUnpackNamedMembersOfEveryFormat(t *testing.T) {
	big := strings.Repeat("a binary ", 100_000)
	plain := tarOf(t, entry{kind: tar.TypeXGlobalHeader, content: "made by git"}, entry{name: "./", kind: tar.TypeDir},
		entry{name: "./bridge", content: big}, entry{name: "LICENSE", content: "free"}, entry{name: "deep/er/loopback", content: "lo"},
		entry{name: "empty"}, entry{name: "current", kind: tar.TypeSymlink, content: "/etc/passwd"}, entry{name: "bridge/", kind: tar.TypeDir})
	archives := map[string][]byte{"plain": plain}
	for how := range packings {
		archives[how] = pack(t, how, plain)
	}
	for how, packed := range archives {
		t.Run(how, func(t *testing.T) {
			h, root := image(t)
			got, err := unpack(h, iotest.HalfReader(bytes.NewReader(packed)), unpacking(packed, "bridge", "loopback", "empty"))
			must(t, err)
			sameTree(t, root, map[string]string{
				"/opt": "drwxr-xr-x", "/opt/bin": "drwxr-xr-x", "/opt/bin/bridge": "-rwxr-xr-x " + big, "/opt/bin/loopback": "-rwxr-xr-x lo", "/opt/bin/empty": "-rwxr-xr-x ",
			})
			if want := (Member{SHA256: sha256.Sum256([]byte("lo")), Size: 2}); got["loopback"] != want || len(got) != 3 {
				t.Errorf("members %v", got)
			}
		})
	}
}

// An archive is refused or accepted by its sha512 as by a sha256. Half of a sha512, which is as
// long as a sha256, is another hash.
func TestUnpackBySHA512(t *testing.T) {
	for how := range packings {
		packed := pack(t, how, tarOf(t, entry{name: "bridge", content: "good"}))
		u := unpacking(packed, "bridge")
		sum := sha512.Sum512(packed)
		right := archive.Checksum(hex.EncodeToString(sum[:]))
		for _, wrong := range []archive.Checksum{"0000" + right[4:], right[:64]} {
			h, root := image(t)
			u.Sum = wrong
			_, err := unpack(h, bytes.NewReader(packed), u)
			var bad *archive.Error
			if !errors.As(err, &bad) || bad.Right || !strings.Contains(err.Error(), "expected "+string(wrong)) || !strings.Contains(err.Error(), wrong.Algorithm()+" is ") {
				t.Errorf("%s: unpack returns %v", how, err)
			}
			if _, err := os.Lstat(root + "/opt/bin/bridge"); err == nil {
				t.Errorf("%s: a member is visible", how)
			}
		}
		h, root := image(t)
		u.Sum = right
		_, err := unpack(h, bytes.NewReader(packed), u)
		must(t, err)
		if got, err := os.ReadFile(root + "/opt/bin/bridge"); string(got) != "good" {
			t.Errorf("%s: ReadFile returns %q, %v, want %q", how, got, err, "good")
		}
	}
}

func TestUnpackRefuses(t *testing.T) {
	good := entry{name: "bridge", content: "good"}
	zeros := strings.Repeat("\x00", 65<<20)
	right := pack(t, "gzip", tarOf(t, good))
	random := pack(t, "gzip", tarOf(t, entry{name: "bridge", content: pseudoRandom(3 * piece)}))
	for name, c := range map[string]struct {
		packed []byte
		u      func(*Unpacking)
		want   string
		mirror bool // another URL may have the right archive
	}{
		"dot dot":           {packed: pack(t, "gzip", tarOf(t, good, entry{name: "x/../../bridge", content: "evil"})), want: "leads out"},
		"dot dot unwanted":  {packed: pack(t, "gzip", tarOf(t, good, entry{name: "../cron", content: "evil"})), want: "leads out"},
		"absolute":          {packed: pack(t, "zstd", tarOf(t, entry{name: "/bridge", content: "evil"})), want: "leads out"},
		"symlink":           {packed: pack(t, "gzip", tarOf(t, entry{name: "bridge", kind: tar.TypeSymlink, content: "/bin/sh"})), want: "link or device"},
		"symlink then file": {packed: pack(t, "gzip", tarOf(t, entry{name: "bridge", kind: tar.TypeSymlink, content: "/bin/sh"}, good)), want: "link or device"},
		"hard link":         {packed: pack(t, "xz", tarOf(t, entry{name: "bridge", kind: tar.TypeLink, content: "/bin/sh"})), want: "link or device"},
		"device":            {packed: tarOf(t, entry{name: "bridge", kind: tar.TypeChar}), want: "link or device"},
		"twice":             {packed: pack(t, "gzip", tarOf(t, good, entry{name: "old/bridge", content: "other"})), want: "twice"},
		"missing":           {packed: pack(t, "gzip", tarOf(t, entry{name: "a", content: "x"}, entry{name: "b", content: "x"})), want: `no member "bridge", it has a, b`},
		"empty":             {packed: pack(t, "gzip", tarOf(t)), want: "it has no files"},
		"bomb":              {packed: pack(t, "gzip", tarOf(t, entry{name: "bridge", content: zeros})), want: "times its size"},
		"unwanted bomb":     {packed: pack(t, "zstd", tarOf(t, good, entry{name: "zeros", content: zeros})), want: "times its size"},
		"sparse":            {packed: pack(t, "gzip", sparseTar(t, "bridge")), want: "as a sparse file"},
		"web page":          {packed: []byte("<!DOCTYPE html>\n<title>403</title>"), want: `begins with "<!DOCTYPE html>"`},
		"nothing":           {packed: nil, want: "no tar archive"},
		"half a gzip":       {packed: random[:len(random)/2], want: "damaged as published"},
		"bad checksum":      {packed: append(bytes.Clone(right[:len(right)-8]), 1, 2, 3, 4, 5, 6, 7, 8), want: "damaged as published"},
		"bad member name":   {packed: right, u: func(u *Unpacking) { u.Members = []string{"../bridge"} }, want: "base name"},
		"wrong hash":        {packed: right, u: func(u *Unpacking) { u.Sum = archive.ChecksumOf(nil) }, want: "sha256 is " + string(archive.ChecksumOf(right)), mirror: true},
		"wrong hash of xz":  {packed: pack(t, "xz", tarOf(t, good)), u: func(u *Unpacking) { u.Sum = archive.ChecksumOf(nil) }, want: "expected e3b0c442", mirror: true},
		"truncated":         {packed: random[:len(random)/2], u: func(u *Unpacking) { u.Sum = archive.ChecksumOf(random) }, want: "is truncated: sha256", mirror: true},
		"hostile and wrong": {packed: pack(t, "gzip", tarOf(t, entry{name: "../x", content: "evil"})), u: func(u *Unpacking) { u.Sum = archive.ChecksumOf(nil) }, want: "expected e3b0c442", mirror: true},
	} {
		t.Run(name, func(t *testing.T) {
			h, root := image(t)
			u := unpacking(c.packed, "bridge")
			if c.u != nil {
				c.u(&u)
			}
			_, err := unpack(h, bytes.NewReader(c.packed), u)
			var bad *archive.Error
			if !errors.As(err, &bad) || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "plugins v1 ") {
				t.Fatalf("got %v, want %q", err, c.want)
			}
			if bad.Right == c.mirror {
				t.Errorf("Right is %v", bad.Right)
			}
			for p, what := range readTree(t, root) {
				if !strings.HasPrefix(what, "d") {
					t.Errorf("left: %s %q", p, what)
				}
			}
		})
	}
}

// sparseTar returns an archive of one file with a gigabyte of zeros and one byte.
func sparseTar(t *testing.T, name string) []byte {
	t.Helper()
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, name))
	must(t, err)
	_, err = f.WriteAt([]byte{1}, 1<<30)
	must(t, errors.Join(err, f.Close()))
	out, err := exec.Command("tar", "--create", "--format=posix", "--sparse", "--directory="+dir, name).Output()
	must(t, err)
	if len(out) > 1<<20 {
		t.Fatalf("the archive has %d bytes", len(out))
	}
	return out
}

// pseudoRandom returns a text that does not compress.
func pseudoRandom(n int) string {
	out := make([]byte, 0, n+32)
	for sum := sha256.Sum256(nil); len(out) < n; sum = sha256.Sum256(sum[:]) {
		out = append(out, sum[:]...)
	}
	return string(out[:n])
}

func TestUnpackSourceFails(t *testing.T) {
	packed := pack(t, "gzip", tarOf(t, entry{name: "bridge", content: pseudoRandom(5 * piece)}))
	h, root := image(t)
	broken := errors.New("connection reset")
	_, err := unpack(h, io.MultiReader(bytes.NewReader(packed[:piece]), iotest.ErrReader(broken)), unpacking(packed, "bridge"))
	var src *archive.SourceError
	if !errors.As(err, &src) || !errors.Is(err, broken) || src.Bytes != piece {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("told to stop"))
	b := h.Batch()
	defer b.Discard()
	if _, err := b.Unpack(ctx, bytes.NewReader(packed), unpacking(packed, "bridge")); err == nil || !strings.Contains(err.Error(), "told to stop") {
		t.Errorf("cancelled: %v", err)
	}
	b.Discard()
	sameTree(t, root, map[string]string{"/opt": "drwxr-xr-x", "/opt/bin": "drwxr-xr-x"})
}

func TestUnpackOntoAFullDisk(t *testing.T) {
	needs.Root(t)
	for how := range packings {
		h, root := image(t)
		must(t, h.Mkdir("/opt/bin", 0o755, 0, 0))
		mount(t, "tmpfs", root+"/opt/bin", "tmpfs", 0, "size=64k")
		packed := pack(t, how, tarOf(t, entry{name: "bridge", content: pseudoRandom(256 << 10)}))
		_, err := unpack(h, bytes.NewReader(packed), unpacking(packed, "bridge"))
		if !errors.Is(err, unix.ENOSPC) || !strings.Contains(err.Error(), "free some space") {
			t.Errorf("%s: unpack returns %v", how, err)
		}
		sameTree(t, root+"/opt/bin", nil)
	}
}

// FuzzUnpack unpacks any bytes by two rules: it makes only the named member in its directory, and
// after an error it makes nothing.
func FuzzUnpack(f *testing.F) {
	good := tarOf(f, entry{name: "./bridge", content: "good"}, entry{name: "other", content: strings.Repeat("x", 700)})
	for how := range packings {
		f.Add(pack(f, how, good))
	}
	f.Add(good)
	for _, e := range []entry{{name: "../bridge"}, {name: "/bridge"}, {name: "bridge", kind: tar.TypeSymlink, content: "/x"}, {name: "bridge", kind: tar.TypeLink, content: "../x"}, {name: "a/bridge", content: "1"}} {
		f.Add(tarOf(f, entry{name: "bridge", content: "0"}, e))
		f.Add(pack(f, "gzip", tarOf(f, e)))
	}
	f.Fuzz(func(t *testing.T, packed []byte) {
		h, root := image(t)
		_, err := unpack(h, bytes.NewReader(packed), unpacking(packed, "bridge"))
		for p, what := range readTree(t, root) {
			switch {
			case p == "/opt", p == "/opt/bin":
			case p == "/opt/bin/bridge" && strings.HasPrefix(what, "-rwxr-xr-x ") && err == nil:
			default:
				t.Errorf("made %s %.20q, error %v", p, what, err)
			}
		}
	})
}
