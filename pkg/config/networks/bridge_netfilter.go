package networks

import (
	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/config/document"
)

// Unmanaged is the bridgeNetfilter that is not ours.
const Unmanaged = "unmanaged"

// bridgeNetfilter takes the kernel's own numbers, in quotes or not, or that they are not ours.
func bridgeNetfilter(to *string) decode.Set {
	return func(v decode.Reading) {
		if v.Kind == document.KindInt && (v.Text == "0" || v.Text == "1") {
			*to = v.Text
			return
		}
		decode.Choice("bridgeNetfilter", to, "1", "0", Unmanaged).Set(v)
	}
}
