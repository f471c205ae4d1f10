package netns

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// In calls do on a thread of its own in the network namespace at path: that of a booted node, of a
// pod. Sockets that it opens stay there; goroutines that it starts do not. Listen on "tcp4" or
// "tcp6": whether "tcp" means both, Go finds out in whichever namespace it is asked first.
func In(path string, do func() error) error {
	namespace, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("opening a network namespace: %w", err)
	}
	defer namespace.Close()
	return onThread(func() error {
		if err := unix.Setns(int(namespace.Fd()), unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("entering a network namespace: %w", err)
		}
		return do()
	})
}
