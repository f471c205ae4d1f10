package manifest

import "fmt"

// The bounds of a snapshot. More is an error that names the bound: a store that does not end must
// not take a node's memory.
const (
	MaxObjects      = 20_000   // a document for each of 15 000 nodes, and keys
	MaxObjectSize   = 2 << 20  // bytes; etcd, where kOps' documents once had to fit, stops at 1.5 MiB
	MaxSnapshotSize = 64 << 20 // bytes, all objects
)

// TooBig refuses an object for its size.
func TooBig(name string, size int64) error {
	return fmt.Errorf("%q has %d bytes, at most %d can be read: put big files under assets/ and name them in "+
		"spec.assets", name, size, MaxObjectSize)
}

// ErrTooMany refuses more than [MaxObjects] objects.
var ErrTooMany = fmt.Errorf("more than %d objects, which is all that can be read: remove nodes' documents that only "+
	"repeat their group's", MaxObjects)

// CheckTotal refuses objects that have more than [MaxSnapshotSize] bytes together.
func CheckTotal(size int64) error {
	if size > MaxSnapshotSize {
		return fmt.Errorf("all objects have %d bytes, at most %d can be read: put big files under assets/ and name "+
			"them in spec.assets", size, MaxSnapshotSize)
	}
	return nil
}
