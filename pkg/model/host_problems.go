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
		b.note(network.Warning, "", "planned without what could not be learnt of this host: %s", p)
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
				"spec.address %s is on no link of this node, and others send there what is for its pods: correct its "+
					"document", address)
			b.notes[len(b.notes)-1].Machine = true
		}
	}
}
