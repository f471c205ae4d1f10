package agent

import (
	"encoding/json"

	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/model/network"
)

// A network that is handed over to `cni: {}` goes on with what the node was prepared with: modules,
// sysctls, mounts, what other services leave alone. The ledger has it, since the documents that said it
// are gone. It ends when switch.from names the network, or another one comes.

// handedOver is what the node stays prepared with for a network that its owner goes on with; nil: none.
func (d *Desired) handedOver(had ledger.Network) *network.Preparation {
	if d.held != nil || d.network() != "cni" || had.Prepares == "" {
		return nil
	}
	var p network.Preparation
	if json.Unmarshal([]byte(had.Prepares), &p) != nil || p.Of == d.switchSpec().From {
		return nil
	}
	return &p
}

// prepares is what the ledger is to know of it.
func prepares(p *network.Preparation) string {
	if p == nil {
		return ""
	}
	text, err := json.Marshal(p)
	if err != nil {
		return ""
	}
	return string(text)
}
