package config

import (
	"slices"

	"github.com/netwright/netwright/pkg/blob"
	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/config/networks"
)

// loader keeps the documents of one store, each parsed at most once.
type loader struct {
	kinds         []string // of keys: what spec.drift may name
	docs          map[string]*decode.Doc
	files         []blob.Named // no documents, but what documents name by source; sorted
	cluster       *decode.Doc
	groups, nodes []*decode.Doc // by path
	nodeups       []*decode.Doc // of kOps' own store
	members       map[*decode.Doc]networks.Peer
	skipPeers     bool
	checks        bool                 // see [decoder.checks]
	loose         document.Diagnostics // about no document in particular
}

// lost keeps a diagnostic that has no line.
func (l *loader) lost(d document.Diagnostic) {
	if !slices.Contains(l.loose, d) {
		l.loose = append(l.loose, d)
	}
}
