package desired

import (
	"encoding/json"
	"fmt"

	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/model/network"
)

// A network that is handed over to `cni: {}` goes on with the preparation of the node: modules,
// sysctls, mounts, and what other services must leave alone. The preparation is in the ledger,
// because the documents that asked for it are gone. It ends when switch.from names the network, or
// when the node gets another network.

// handedOver returns the preparation for a network that another owner runs now; nil: there is
// none. An unreadable preparation is an error, because otherwise a pass would remove all of it
// under a network that is in use.
func (d *State) handedOver(had ledger.Network) (*network.Preparation, error) {
	if d.Pinned != nil || d.Network() != "cni" || had.Prepares == "" {
		return nil, nil
	}
	from := d.SwitchSpec().From
	var p network.Preparation
	if err := json.Unmarshal([]byte(had.Prepares), &p); err != nil && from == "" {
		return nil, fmt.Errorf("read from the ledger what the handed-over network needs: %w: if that network "+
			"is gone, name it in spec.networking.switch.from", err)
	}
	if p.Of == "" || p.Of == from {
		return nil, nil
	}
	return &p, nil
}

// prepares returns the preparation as the ledger records it.
func prepares(p *network.Preparation) (string, error) {
	if p == nil {
		return "", nil
	}
	text, err := json.Marshal(p)
	if err != nil {
		return "", fmt.Errorf("record what the network needs: %w", err)
	}
	return string(text), nil
}
