package kube

import (
	"crypto/sha256"
	"errors"
	"io/fs"
	"os"
	"sync"
)

// Kubeconfig is a file that clients are made of, again whenever it has changed: tokens and
// certificates stand in it as often as beside it, and an agent lives longer than they do. Its zero
// value with a Path works. It is safe for several goroutines.
type Kubeconfig struct {
	Path    string
	Options Options

	mu     sync.Mutex
	client *Client // nil: none could be made yet
	made   [sha256.Size]byte
}

// Client is the client of the file as it is now. Errors are those of [Open]. While the file cannot
// be read, as in the middle of being written, that of the last one holds; when it is gone, none
// does.
func (k *Kubeconfig) Client() (*Client, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	text, err := os.ReadFile(k.Path) // before it is opened: what changes in between is seen the next time
	sum := sha256.Sum256(text)
	if err == nil && k.client != nil && sum == k.made {
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
