package kops

import (
	"slices"

	"github.com/netwright/netwright/pkg/config/document"
)

// DropUnset removes from a document of kOps what kOps reads as not set: each null, and each "",
// because kOps' types do not distinguish an empty text from none. Entries of lists stay.
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
