package manifest

import "fmt"

// The limits of a snapshot. More is an error that names the limit: a store without an end must not
// use up the memory of a node.
const (
	MaxObjects      = 20_000   // a document for each of 15 000 nodes, and keys
	MaxObjectSize   = 2 << 20  // bytes; etcd, where kOps' documents once had to fit, stops at 1.5 MiB
	MaxSnapshotSize = 64 << 20 // bytes, all objects
)

// TooBig returns the error for an object that is bigger than [MaxObjectSize].
func TooBig(name string, size int64) error {
	return fmt.Errorf("%q has %d bytes, at most %d can be read: put big files under assets/ and name them in "+
		"spec.assets", name, size, MaxObjectSize)
}

// ErrTooMany is the error for more than [MaxObjects] objects.
var ErrTooMany = fmt.Errorf("more than %d objects, which is all that can be read: remove nodes' documents that only "+
	"repeat their group's", MaxObjects)

// CheckTotal returns an error if all objects have more than [MaxSnapshotSize] bytes in total.
func CheckTotal(size int64) error {
	if size > MaxSnapshotSize {
		return fmt.Errorf("all objects have %d bytes, at most %d can be read: put big files under assets/ and name "+
			"them in spec.assets", size, MaxSnapshotSize)
	}
	return nil
}
