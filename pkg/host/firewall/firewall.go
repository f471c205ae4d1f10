// Package firewall reads and writes the packet filter of a network namespace: nft tables, chains of
// iptables in both flavours, ipsets and what the forward hooks let through. Reading loads no
// module.
//
// [Reader] has no method that writes. [Writer] replaces a table of ours as a whole, removes what is
// named to it, and brings a rule set back that was read before. It knows no link and no route.
package firewall

import (
	"context"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// Reader reads the packet filter of the network namespace that the calling thread is in: nft
// tables, chains of iptables and ipsets. It loads no module. Nothing is cached.
type Reader struct {
	live bool // a kernel stands behind the root
}

// Open opens nothing yet; not live, its answer is [sys.ErrNoLiveState].
func Open(live bool) *Reader { return &Reader{live: live} }

// Writer changes what [Reader] reads.
type Writer struct {
	fw  *Reader
	log *zap.Logger
}

// NewWriter changes the packet filter that fw reads. log may be nil.
func NewWriter(fw *Reader, log *zap.Logger) *Writer {
	return &Writer{fw: fw, log: log}
}

func (n *Reader) ready(ctx context.Context) error { return sys.Ready(ctx, n.live, "the packet filter") }

// Loaded says whether nf_tables is in the running kernel. Where it is not no table can exist.
// Root is put before the paths, for tests.
func Loaded(root string) bool { return sys.HasModule(root, "nf_tables", "CONFIG_NF_TABLES") }
