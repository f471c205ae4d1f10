package config

import "github.com/netwright/netwright/pkg/config/decode"

// choice is a network that documents can select. To add one is its type in [Networking], its
// fields, and a line in choices.
type choice struct {
	name   string
	set    func(*Networking) bool
	fields func(*Networking) []decode.Field
}

// byoNetwork plays two parts: see [CNI].
const byoNetwork = "cni"

// allocate gives the struct behind a pointer, made when there is none yet: a later document adds to
// what an earlier one said.
func allocate[T any](p **T) *T {
	if *p == nil {
		*p = new(T)
	}
	return *p
}
