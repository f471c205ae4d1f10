// Package a links to [Kept], to [Kept.Method], to [b.There] and to [fs.ErrNotExist]. Units have a
// section [Service].
package a

import "github.com/netwright/netwright/pkg/b"

// Kept is what [b] has. It was [Gone]. // want `\[Gone\] is not declared here`
type Kept struct {
	Field b.There // see [b.Missing] // want `\[b.Missing\] is not declared here`
}

// Method returns [Kept.Field], not [Kept.Lost]; an error is an [error]. // want `\[Kept.Lost\] is not declared here`
func (k Kept) Method() b.There { return k.Field }

//nolint:house doclinks the other project's own
// [Theirs] is another project's.

var _ = Kept.Method
