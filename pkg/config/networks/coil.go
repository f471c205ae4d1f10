package networks

import (
	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/config/document"
)

// Coil has the options of coild that matter to the node. kOps never had this network.
// https://github.com/cybozu-go/coil/blob/v2.15.0/docs/cmd-coild.md
type Coil struct {
	// IPAM: false means that Coil is chained after another plugin, only for its egress.
	IPAM bool `json:"ipam"`
	// Egress: true means that pods leave through NAT servers, over FoU.
	Egress bool `json:"egress"`
	// CompatCalico: true gives the pods' links the names that Calico gives them.
	CompatCalico bool `json:"compatCalico,omitempty"`
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
