package networks

import (
	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/config/document"
)

// Unmanaged is the value of bridgeNetfilter with which the agent leaves the sysctls alone.
const Unmanaged = "unmanaged"

// bridgeNetfilter reads 0 or 1, with or without quotes, or unmanaged.
func bridgeNetfilter(to *string) decode.Set {
	return func(v decode.Reading) {
		if v.Kind == document.KindInt && (v.Text == "0" || v.Text == "1") {
			*to = v.Text
			return
		}
		decode.Choice("bridgeNetfilter", to, "1", "0", Unmanaged).Set(v)
	}
}
