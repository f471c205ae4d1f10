package networks

import "github.com/netwright/netwright/pkg/config/decode"

// Bare is a network without fields here: its settings are those of its own DaemonSet or
// controller.
type Bare struct{}

func (*Bare) fields() []decode.Field { return nil }

// allocate gives the struct behind a pointer, made when there is none yet: a later document adds to
// what an earlier one said.
func allocate[T any](p **T) *T {
	if *p == nil {
		*p = new(T)
	}
	return *p
}
