package model

import (
	"net/netip"
	"slices"

	"github.com/netwright/netwright/pkg/model/network"
)

// problems adds a note for each part of the host that exists and could not be read. The plan was
// made as if that part did not exist.
func (b *builder) problems() {
	for _, p := range b.in.Facts.Problems {
		b.note(network.Warning, "", "the plan lacks what could not be read from this host: %s", p)
	}
	b.address()
}

// address warns if this host does not have the address that the node's document announces. The
// other nodes route packets for its pods to that address.
func (b *builder) address() {
	var has []netip.Addr
	for _, l := range b.in.Facts.Links {
		for _, p := range l.Addresses {
			has = append(has, p.Addr())
		}
	}
	if b.in.Facts.Kernel.Release == "" || !slices.ContainsFunc(has, netip.Addr.IsGlobalUnicast) {
		return // an image, or no link is up yet
	}
	for _, address := range b.in.Node.Address {
		if !slices.Contains(has, address) {
			b.note(network.Warning, b.in.Node.Origin("spec.address").String(),
				"no link of this node has spec.address %s, to which other nodes send packets for its pods: correct "+
					"it in the node's document", address)
			b.notes[len(b.notes)-1].Machine = true
		}
	}
}
