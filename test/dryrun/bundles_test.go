package dryrun

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"io/fs"
	"os"
	"path"
	"sync"

	"github.com/netwright/netwright/pkg/archive"
	"github.com/netwright/netwright/pkg/tasks"
	"github.com/netwright/netwright/test/pki"
)

var bundleKinds = []kind{
	{"archive", []string{absent, right, content, mode, owner, wrong, dangling, missing, "no record", "one member lost"}, archives},
	{"certificate set", []string{absent, right, content, mode, owner, wrong, dangling, missing, "key does not fit"}, certificates},
}

// fetcher has one archive, and counts the requests.
type fetcher struct {
	mu     sync.Mutex
	opened int
}

func (f *fetcher) Open(_ context.Context, url string) (io.ReadCloser, int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.opened++
	if path.Base(url) != "x.tgz" {
		return nil, 0, fs.ErrNotExist
	}
	data := tarball()
	return io.NopCloser(bytes.NewReader(data)), int64(len(data)), nil
}

var members = []string{"bridge", "host-local"}

var tarball = sync.OnceValue(func() []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, name := range append(members, "dhcp") {
		body := bytes.Repeat([]byte(name+"\n"), 3000)
		_ = w.WriteHeader(&tar.Header{Name: "./" + name, Mode: 0o755, Size: int64(len(body))}) // into memory
		_, _ = w.Write(body)
	}
	_, _ = w.Close(), z.Close()
	return b.Bytes()
})

func archives(w *world, state string) []tasks.Task {
	dir := path.Dir(w.path())
	t := tasks.Archive{Meta: meta(), Name: w.name("plugins"), URLs: []string{"assets/x.tgz"}, Sum: archive.ChecksumOf(tarball()), Dir: dir, Members: members, Mode: 0o755, Fetch: w.fetch}
	at := dir + "/" + members[0]
	switch state {
	case absent:
		w.must(os.MkdirAll(dir, 0o755))
	case missing:
	case "no record":
		w.must(os.MkdirAll(dir, 0o755))
		w.must(os.WriteFile(at, []byte("who knows"), 0o755))
	default:
		w.converge(t, func() { spoil(w, at, state) })
	}
	return []tasks.Task{t}
}

// spoil makes one member of an archive wrong.
func spoil(w *world, at, state string) {
	switch state {
	case content:
		w.must(os.WriteFile(at, []byte("changed by somebody"), 0o755))
	case mode:
		w.must(os.Chmod(at, 0o700))
	case owner:
		w.must(os.Chown(at, 5, 6))
	case wrong:
		w.must(os.Remove(at))
		w.must(os.Mkdir(at, 0o755))
	case dangling:
		w.must(os.Remove(at))
		w.must(os.Symlink("nowhere", at))
	case "one member lost":
		w.must(os.Remove(at))
	}
}

func certificates(w *world, state string) []tasks.Task {
	dir := path.Dir(w.path()) + "/tls"
	w.parent(dir, state)
	ca := pki.New(w.T, "ca")
	pair := ca.Client("calico-client")
	t := tasks.CertificateSet{
		Meta: meta(), Dir: dir, CommonName: "calico-client",
		CA:   tasks.CertFile{Name: "ca.pem", PEM: []byte(ca.PEM), Mode: 0o644},
		Cert: tasks.CertFile{Name: "client.pem", PEM: []byte(pair.Cert), Mode: 0o644},
		Key:  tasks.CertFile{Name: "client-key.pem", PEM: []byte(pair.Key), Mode: 0o600},
	}
	if state == "key does not fit" {
		t.Key.PEM = []byte(ca.Client("calico-client").Key)
	}
	if state == absent || state == missing || state == "key does not fit" {
		return []tasks.Task{t}
	}
	w.must(os.MkdirAll(dir, 0o755))
	odd := w.IntN(3) // which of the three is wrong
	for i, f := range []tasks.CertFile{t.CA, t.Cert, t.Key} {
		as := right
		if i == odd {
			as = state
		}
		w.put(dir+"/"+f.Name, string(f.PEM), as, f.Mode)
	}
	return []tasks.Task{t}
}
