package networks

import "github.com/netwright/netwright/pkg/config/decode"

// KVSwitch has the settings of k-vswitch. https://github.com/k-vswitch/k-vswitch
type KVSwitch struct {
	// Overlay: Sets what carries packets between nodes.
	Overlay string `json:"overlay"`
}

func (k *KVSwitch) fields() []decode.Field {
	return []decode.Field{decode.Choice("overlay", &k.Overlay, "vxlan", "gre").Default("vxlan")}
}
