package archive

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

// The tests of package host check how members are written to a disk.

// memory is a sink that keeps members.
type memory struct {
	t    *testing.T
	got  map[string]string
	full error
}

func (m memory) Create(name string) (io.WriteCloser, error) { return &member{m: m, name: name}, m.full }

func (m memory) Scratch() (io.ReadWriteSeeker, error) { return os.Create(m.t.TempDir() + "/scratch") }

type member struct {
	bytes.Buffer
	m    memory
	name string
}

func (m *member) Close() error {
	m.m.got[m.name] = m.String()
	return nil
}

// archives returns one archive of these members in each format.
func archives(t *testing.T, members ...string) map[string][]byte {
	t.Helper()
	var plain bytes.Buffer
	w := tar.NewWriter(&plain)
	for _, name := range members {
		content := "content of " + name
		err := w.WriteHeader(&tar.Header{Name: "./" + name, Typeflag: tar.TypeReg, Size: int64(len(content)), Mode: 0o755})
		if _, errWrite := io.WriteString(w, content); err != nil || errWrite != nil {
			t.Fatal(err, errWrite)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{"plain": plain.Bytes()}
	for how, open := range map[string]func(io.Writer) (io.WriteCloser, error){
		"gzip": func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil },
		"zstd": func(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w) },
		"xz":   func(w io.Writer) (io.WriteCloser, error) { return xz.NewWriter(w) },
	} {
		var b bytes.Buffer
		z, err := open(&b)
		if err != nil {
			t.Fatal(err)
		}
		_, err = z.Write(plain.Bytes())
		if err = errors.Join(err, z.Close()); err != nil {
			t.Fatal(err)
		}
		out[how] = b.Bytes()
	}
	return out
}

func TestRead(t *testing.T) {
	for how, data := range archives(t, "bridge", "loopback", "LICENSE") {
		to := memory{t: t, got: map[string]string{}}
		want := Wanted{Name: "plugins v1", Sum: ChecksumOf(data), Members: []string{"bridge", "loopback"}}
		if err := Read(context.Background(), bytes.NewReader(data), want, to); err != nil {
			t.Errorf("%s: Read returns %v", how, err)
		}
		if diff := cmp.Diff(map[string]string{"bridge": "content of bridge", "loopback": "content of loopback"}, to.got); diff != "" {
			t.Errorf("%s: %s", how, diff)
		}
		if err := Inspect(context.Background(), bytes.NewReader(data), want); err != nil {
			t.Errorf("%s, inspected: %v", how, err)
		}

		full := errors.New("the disk is full")
		if err := Read(context.Background(), bytes.NewReader(data), want, memory{t: t, full: full}); !errors.Is(err, full) || err.Error() != full.Error() {
			t.Errorf("%s: an error of the sink: %v", how, err)
		}
		want.Sum = ChecksumOf(nil)
		var refused *Error
		if err := Inspect(context.Background(), bytes.NewReader(data), want); !errors.As(err, &refused) || refused.Right {
			t.Errorf("%s, with another checksum: %v", how, err)
		}
	}
}
