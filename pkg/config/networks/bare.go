package networks

import "github.com/netwright/netwright/pkg/config/decode"

// Bare is a network that has no fields here, because its own DaemonSet or controller has its
// settings.
type Bare struct{}

func (*Bare) fields() []decode.Field { return nil }

// allocate returns the struct behind a pointer, and creates it if there is none yet. So a later
// document adds to what an earlier one set.
func allocate[T any](p **T) *T {
	if *p == nil {
		*p = new(T)
	}
	return *p
}
