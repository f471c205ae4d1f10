package model

import "github.com/netwright/netwright/pkg/model/network"

// problems notes what of the host is there and could not be read: the plan was made as if it were not there.
func (b *builder) problems() {
	for _, p := range b.in.Facts.Problems {
		b.note(network.Warning, "", "planned without what could not be learnt of this host: %s", p)
	}
}
