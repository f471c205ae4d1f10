package kops

import (
	"slices"

	"github.com/netwright/netwright/pkg/config/document"
)

// DropUnset takes out of a document of kOps what kOps reads as not set: a null anywhere, and "",
// for to its types an empty text is the same as none. Entries of lists stay.
// https://github.com/kubernetes/kops/tree/master/pkg/apis/kops (omitempty)
func DropUnset(v *document.Value) {
	v.Entries = slices.DeleteFunc(v.Entries, func(e document.Entry) bool {
		return e.Value.Kind == document.KindNull || e.Value.Kind == document.KindString && e.Value.Text == ""
	})
	for _, e := range v.Entries {
		DropUnset(e.Value)
	}
	for _, item := range v.Items {
		DropUnset(item)
	}
}
