package desired

import (
	"encoding/json"
	"fmt"

	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/model/network"
)

// A network that is handed over to `cni: {}` goes on with what the node was prepared with: modules,
// sysctls, mounts, what other services leave alone. The ledger has it, since the documents that
// said it are gone. It ends when switch.from names the network, or another one comes.

// handedOver is what the node stays prepared with for a network that its owner goes on with; nil:
// none. What cannot be read is an error: without it all of that would go, under a network that is
// in use.
func (d *State) handedOver(had ledger.Network) (*network.Preparation, error) {
	if d.Pinned != nil || d.Network() != "cni" || had.Prepares == "" {
		return nil, nil
	}
	from := d.SwitchSpec().From
	var p network.Preparation
	if err := json.Unmarshal([]byte(had.Prepares), &p); err != nil && from == "" {
		return nil, fmt.Errorf("read from the ledger what the handed-over network needs: %w: name that network as "+
			"spec.networking.switch.from if it is gone", err)
	}
	if p.Of == "" || p.Of == from {
		return nil, nil
	}
	return &p, nil
}

// prepares is what the ledger is to know of it.
func prepares(p *network.Preparation) (string, error) {
	if p == nil {
		return "", nil
	}
	text, err := json.Marshal(p)
	if err != nil {
		return "", fmt.Errorf("write down what the network needs: %w", err)
	}
	return string(text), nil
}
