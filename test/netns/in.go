package netns

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// In calls do on a separate thread in the network namespace at path: the namespace of a booted
// node, or of a pod. Sockets that do opens stay in the namespace. Goroutines that do starts run
// outside it. Listen on "tcp4" or "tcp6": whether "tcp" means both, Go decides once, in the
// namespace where it is asked first.
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
