package networks

import (
	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/config/document"
)

// Coil has the options of coild that matter to the node. kOps never had this network.
// https://github.com/cybozu-go/coil/blob/v2.15.0/docs/cmd-coild.md
type Coil struct {
	IPAM         bool `json:"ipam"`                   // false: chained after another plugin, for its egress only
	Egress       bool `json:"egress"`                 // pods leave by NAT servers, over FoU
	CompatCalico bool `json:"compatCalico,omitempty"` // names the pods' links as Calico does
}

func (c *Coil) fields() []decode.Field {
	return []decode.Field{
		decode.Bool("ipam", &c.IPAM).Default(true),
		decode.Bool("egress", &c.Egress).Default(true),
		decode.Bool("compatCalico", &c.CompatCalico),
	}
}

// check refuses coil with neither ipam nor egress, because then it does nothing.
func (c *Coil) check(_ *ClusterSettings, r *decode.Reporter) {
	if !c.IPAM && !c.Egress {
		r.ErrorAt("spec.networking.coil.egress",
			document.Diagnostic{Summary: "coil neither gives addresses nor takes pods out: ipam and egress are both " +
				"false", Expected: "one of them true"})
	}
}
