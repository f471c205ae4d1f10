package tasks

import (
	"context"
	"io"
	"io/fs"

	"github.com/netwright/netwright/pkg/host"
)

// Fetcher opens assets. The agent gives one to the model, which hands it on
// to the archives unread. It is called only by Apply.
type Fetcher interface {
	// Open returns the bytes of a URL: relative to the store's cluster
	// directory ("assets/x.tgz"), file://, http:// or https://. Size is -1 when
	// unknown. Errors of the network are transient.
	Open(ctx context.Context, url string) (body io.ReadCloser, size int64, err error)
}

// Archive is the named members of a tar archive (gzip, xz, zstd or plain) in
// a directory. Nothing of it is visible before the archive's sha256 is known
// to be right; all members then appear by rename.
type Archive struct {
	Meta
	Name    string   // for messages: "cni-plugins v1.9.1"
	URLs    []string // tried in order
	SHA256  host.Digest
	Dir     string   // where the members go
	Members []string // base names in Dir; a member is found by its path's last element
	Mode    fs.FileMode
	Owner   string
	Fetch   Fetcher
}

// CertificateSet is the files of one client identity: they appear together
// or not at all, and only if the key fits the certificate and the certificate
// the CA.
type CertificateSet struct {
	Meta
	Dir             string
	CA, Cert, Key   CertFile
	Owner           string
	CommonName      string // expected in the certificate; "" is any
	AllowExpired    bool
	RetainOnRelease bool // stays when the configuration no longer names it
}

// CertFile is one PEM file of a set.
type CertFile struct {
	Name string // base name in the set's directory
	PEM  []byte
	Mode fs.FileMode
}

// TOMLKey is one key in a TOML file that is somebody else's: every other byte stays.
type TOMLKey struct {
	Meta
	Path  string
	Table []string // {"plugins", "io.containerd.grpc.v1.cri", "cni"}
	Key   string
	Value any // string, bool, int64 or []string
}
