package config

import (
	"slices"

	"github.com/netwright/netwright/pkg/blob"
	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/config/networks"
)

// loader has the documents of one store. It parses each at most once.
type loader struct {
	kinds         []string // the kinds of keys that spec.drift may name
	docs          map[string]*decode.Doc
	files         []blob.Named // files, not documents, that documents name with source; sorted
	cluster       *decode.Doc
	groups, nodes []*decode.Doc // sorted by path
	nodeups       []*decode.Doc // from kOps' own store
	members       map[*decode.Doc]networks.Peer
	skipPeers     bool
	checks        bool                 // see [decode.Decoder]
	loose         document.Diagnostics // about no single document
}

// lost keeps a diagnostic that belongs to no line.
func (l *loader) lost(d document.Diagnostic) {
	if !slices.Contains(l.loose, d) {
		l.loose = append(l.loose, d)
	}
}
