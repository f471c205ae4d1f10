package daemon

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/reset"
)

// A pass that waits for the end of a reset begins only when nothing of the ledger is left.
// Otherwise it would work with files that are being removed, beside the next process with the lock.
// The line that keeps it: pkg/reset/reset.go, Run (the lock until forget has returned).
func TestNobodyRunsBeforeAResetHasForgotten(t *testing.T) {
	b := newBox(t)
	b.pass(t, false)
	waiting, looked := make(chan struct{}), make(chan error, 1)
	var lock *os.File
	b.daemon.Pass.Hooks.OnPhase = func(phase string) {
		if phase != "record" {
			return
		}
		var err error
		if lock, err = os.OpenFile(filepath.Join(b.root, ledger.LockFile), os.O_RDWR, 0); err != nil {
			t.Error(err)
			return
		}
		go func() {
			close(waiting)
			whole := unix.Flock_t{Type: unix.F_WRLCK} // an open file description lock (fcntl(2)), which also keeps this process out
			looked <- unix.FcntlFlock(lock.Fd(), unix.F_OFD_SETLKW, &whole)
			if b.has("/var/lib/netwright") {
				t.Error("the lock was free while the ledger was there")
			}
			close(looked)
		}()
		<-waiting
	}
	if _, err := (reset.Reset{Session: b.daemon.Pass.Session()}).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-looked; err != nil {
		t.Fatal(err)
	}
	<-looked
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
}
