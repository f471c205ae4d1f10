package tasks

import (
	"io/fs"
)

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
