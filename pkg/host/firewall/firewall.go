// Package firewall reads and writes the packet filter of a network namespace: nft tables, chains of
// iptables-nft and legacy iptables, ipsets, and the chains at the forward hook. Reading loads no
// module.
//
// [Reader] has no method that writes. [Writer] replaces a table of the agent as a whole, removes
// named objects, and restores a rule set that was read before.
//
// # Files
//
//   - the Reader and the Writer: firewall
//   - one table of nft, read and replaced: nft_table, nft_types, nft_canonical, nft_text
//   - the names of all tables; a table removed: nft_table_names
//   - nf_tables over netlink: nft_socket, nft_batch, nft_chains, nft_expr, nft_encode, nft_decode
//   - chains and rules of iptables, in nf_tables and in ip_tables (legacy): iptables*
//   - the policy for forwarded packets, and the rules that accept them: forward*
//   - ipsets: ipset*
//   - the whole rule set, recorded before a change and restored by an undo: ruleset*
package firewall

import (
	"context"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// Reader reads the packet filter of the calling thread's network namespace: nft tables, chains of
// iptables and ipsets. It loads no module and caches nothing.
type Reader struct {
	live bool // the root has a running kernel
}

// Open opens nothing yet. If live is false, all methods return [sys.ErrNoLiveState].
func Open(live bool) *Reader { return &Reader{live: live} }

// Writer changes the packet filter that a [Reader] reads.
type Writer struct {
	fw  *Reader
	log *zap.Logger
}

// NewWriter returns a Writer for the packet filter that fw reads. log may be nil.
func NewWriter(fw *Reader, log *zap.Logger) *Writer {
	return &Writer{fw: fw, log: log}
}

func (n *Reader) ready(ctx context.Context) error { return sys.Ready(ctx, n.live, "the packet filter") }

// Loaded reports whether the running kernel has nf_tables. Without it no nft table can exist. root
// is put before the paths, for tests.
func Loaded(root string) bool { return sys.HasModule(root, "nf_tables", "CONFIG_NF_TABLES") }
