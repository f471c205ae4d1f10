package networks

import (
	"fmt"
	"slices"

	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/problem"
)

// Flannel has the fields of kOps' flannel. Flannel's DaemonSet writes the conf.
type Flannel struct {
	// Backend: Sets what carries packets between nodes. It is required. kOps' documents take udp
	// and vxlan, and netwright's documents take all four.
	Backend string `json:"backend"`
	// IptablesResyncSeconds: Sets how often flanneld checks its iptables rules, in seconds.
	IptablesResyncSeconds int `json:"iptablesResyncSeconds"`
	// DisableTxChecksumOffloading: true turns off checksum offloading on the VXLAN link, for
	// kernels that compute wrong checksums. The DaemonSet does so.
	DisableTxChecksumOffloading bool `json:"disableTxChecksumOffloading,omitempty"`
}

func (f *Flannel) fields() []decode.Field {
	return []decode.Field{
		{Name: "backend", Set: flannelBackend(&f.Backend)},
		decode.Number("iptablesResyncSeconds", &f.IptablesResyncSeconds, 1, 86_400).KopsDefault(resyncSeconds),
		decode.Bool("disableTxChecksumOffloading", &f.DisableTxChecksumOffloading),
	}
}

// flannelBackends are the backends that a node is prepared for. kOps deploys the first two.
var flannelBackends = [...]string{"udp", "vxlan", "host-gw", "wireguard"}

func flannelBackend(to *string) decode.Set {
	return func(v decode.Reading) {
		if kops := flannelBackends[:2]; v.Doc.Dialect.Lenient && !slices.Contains(kops, v.Str()) &&
			slices.Contains(flannelBackends[2:], v.Str()) {
			v.Bad(decode.OneOf(kops),
				fmt.Sprintf("kOps does not deploy %s; a document of %s may name it, for a flannel of your own", v.Text,
					decode.Strict.APIVersion))
			return
		}
		decode.Choice("backend", to, flannelBackends[:]...).Set(v)
	}
}

// resyncSeconds is kOps' default.
const resyncSeconds = 5

func (f *Flannel) check(_ *ClusterSettings, r *decode.Reporter) {
	if f.Backend == "" {
		r.ErrorAt("spec.networking.flannel",
			document.Diagnostic{ID: problem.FieldMissing, Summary: "spec.networking.flannel.backend is missing",
				Expected: decode.OneOf(flannelBackends[:])})
	}
}
