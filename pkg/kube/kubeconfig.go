package kube

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io/fs"
	"os"
	"sync"
)

// Kubeconfig is a file that clients are made of, again whenever it has changed, or the file of CAs
// that it names: tokens and certificates stand in it as often as beside it, and an agent lives
// longer than they do. Its zero value with a Path works. It is safe for several goroutines.
type Kubeconfig struct {
	Path    string
	Options Options

	mu     sync.Mutex
	client *Client // nil: none could be made yet
	made   [sha256.Size]byte
}

// Client is the client of the files as they are now. Errors are those of [Open]. While they cannot
// be read, as in the middle of being written, that of the last ones holds; when the kubeconfig is
// gone, none does.
func (k *Kubeconfig) Client() (*Client, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	text, err := os.ReadFile(k.Path) // before it is opened: what changes in between is seen the next time
	sum := sha256.Sum256(text)
	if err == nil && k.client != nil && sum == k.made && k.current() {
		return k.client, nil
	}
	client, err := Open(k.Path, k.Options)
	switch {
	case err == nil:
		k.client, k.made = client, sum
	case errors.Is(err, fs.ErrNotExist):
		k.client = nil
	case k.client != nil:
		return k.client, nil
	}
	return client, err
}

// current reports that the client's CAs are still what their file has. One that cannot be read, or
// is empty, as in the middle of being written, says nothing else. The other files of a kubeconfig
// (certificate, key, token) client-go reads again.
func (k *Kubeconfig) current() bool {
	if k.client.authoritiesFile == "" {
		return true
	}
	text, err := os.ReadFile(k.client.authoritiesFile)
	return err != nil || len(text) == 0 || bytes.Equal(text, k.client.authorities)
}
