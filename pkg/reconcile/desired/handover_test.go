package desired

import (
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/config/networks"
	"github.com/netwright/netwright/pkg/ledger"
)

// A record that cannot be read is an error. It is no reason to remove what a network in use needs.
func TestADamagedHandoverIsSaid(t *testing.T) {
	d := &State{Node: &config.Node{Networking: networks.Networking{CNI: &networks.CNI{}}}}
	if p, err := d.handedOver(ledger.Network{Prepares: `{"of": "calico"`}); err == nil || p != nil || !strings.Contains(err.Error(), "spec.networking.switch.from") {
		t.Errorf("handedOver returns %+v, %v", p, err)
	}
	if p, err := d.handedOver(ledger.Network{Prepares: `{"of": "calico"}`}); err != nil || p == nil || p.Of != "calico" {
		t.Errorf("a good one: %+v, %v", p, err)
	}
}
