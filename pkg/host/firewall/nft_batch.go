package firewall

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/google/nftables/expr"
	"github.com/google/nftables/userdata"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// nftBatch is a list of messages about one table. nf_tables takes them in one transaction.
type nftBatch struct {
	family   byte
	table    string
	messages []netlink.Message
}

func (b *nftBatch) add(kind uint16, flags netlink.HeaderFlags, attributes ...[]byte) {
	data := []byte{b.family, 0, 0, 0} // struct nfgenmsg
	for _, a := range attributes {
		data = append(data, a...)
	}
	b.messages = append(b.messages, netlink.Message{
		Header: netlink.Header{Type: netlink.HeaderType(unix.NFNL_SUBSYS_NFTABLES<<8 | kind),
			Flags: netlink.Request | flags},
		Data: data,
	})
}

func (b *nftBatch) makeTable() {
	b.add(unix.NFT_MSG_NEWTABLE, netlink.Create, sys.TextAttribute(unix.NFTA_TABLE_NAME, b.table))
}

func (b *nftBatch) removeTable() {
	b.add(unix.NFT_MSG_DELTABLE, 0, sys.TextAttribute(unix.NFTA_TABLE_NAME, b.table))
}

// onChain adds a message about a chain.
func (b *nftBatch) onChain(kind uint16, flags netlink.HeaderFlags, chain string, attributes ...[]byte) {
	b.add(kind, flags, append([][]byte{sys.TextAttribute(unix.NFTA_CHAIN_TABLE, b.table),
		sys.TextAttribute(unix.NFTA_CHAIN_NAME, chain)}, attributes...)...)
}

// onRules adds a message about rules of a chain: all rules, or those that the attributes select.
func (b *nftBatch) onRules(kind uint16, flags netlink.HeaderFlags, chain string, attributes ...[]byte) {
	b.add(kind, flags, append([][]byte{sys.TextAttribute(unix.NFTA_RULE_TABLE, b.table),
		sys.TextAttribute(unix.NFTA_RULE_CHAIN, chain)}, attributes...)...)
}

// appendRule adds a rule to the end of a chain.
func (b *nftBatch) appendRule(chain string, exprs []expr.Any, comment string) error {
	var list []byte
	for _, e := range exprs {
		one, err := expr.Marshal(b.family, e)
		if err != nil {
			return err
		}
		list = append(list, sys.NestedAttribute(unix.NFTA_LIST_ELEM, one)...)
	}
	attributes := [][]byte{sys.NestedAttribute(unix.NFTA_RULE_EXPRESSIONS, list)}
	if comment != "" {
		attributes = append(attributes,
			sys.NewAttribute(unix.NFTA_RULE_USERDATA, userdata.AppendString(nil, userdata.TypeComment, comment)))
	}
	b.onRules(unix.NFT_MSG_NEWRULE, netlink.Create|netlink.Append, chain, attributes...)
	return nil
}

// removeRule removes a rule from a chain.
func (b *nftBatch) removeRule(chain string, handle uint64) {
	b.onRules(unix.NFT_MSG_DELRULE, 0, chain,
		sys.NewAttribute(unix.NFTA_RULE_HANDLE, binary.BigEndian.AppendUint64(nil, handle)))
}

// numberAttribute returns a number as an attribute, in the byte order of nf_tables.
func numberAttribute(kind uint16, n uint32) []byte {
	return sys.NewAttribute(kind, binary.BigEndian.AppendUint32(nil, n))
}

// policyAttribute returns the attribute of a chain's policy.
func policyAttribute(policy string) []byte {
	if policy == "drop" {
		return numberAttribute(unix.NFTA_CHAIN_POLICY, policyDrop)
	}
	return numberAttribute(unix.NFTA_CHAIN_POLICY, policyAccept)
}

// The two policies of a chain (linux/netfilter.h, NF_DROP and NF_ACCEPT).
const (
	policyDrop   = 0
	policyAccept = 1
)

// Message types for the begin and end of a transaction (linux/netfilter/nfnetlink.h,
// NFNL_MSG_BATCH_…).
const (
	batchBegin = 0x10
	batchEnd   = 0x11
)

// transact sends changes in one transaction: the kernel makes all or none. If necessary, the kernel
// loads nf_tables.
func (w *Writer) transact(ctx context.Context, batches ...nftBatch) error {
	if err := w.fw.ready(ctx); err != nil {
		return err
	}
	end := func(kind netlink.HeaderType) netlink.Message {
		return netlink.Message{Header: netlink.Header{Type: kind, Flags: netlink.Request},
			Data: []byte{0, 0, 0, unix.NFNL_SUBSYS_NFTABLES}}
	}
	list := []netlink.Message{end(batchBegin)}
	for _, b := range batches {
		list = append(list, b.messages...)
	}
	last := len(list) - 1
	if last == 0 {
		return nil
	}
	// The kernel sends errors of all messages, and it sends them before the answer to the last
	// message.
	list[last].Header.Flags |= netlink.Acknowledge
	list = append(list, end(batchEnd))
	c, err := dial(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	size := 0
	for i := range list {
		size += len(list[i].Data) + unix.NLMSG_HDRLEN + 4
	}
	if err := c.SetWriteBuffer(2*size + 1<<16); err != nil { // for one message
		return fmt.Errorf("make room for the nft transaction: %w", err)
	}
	if list, err = c.SendMessages(list); err != nil {
		return err
	}
	for {
		answers, err := c.Receive()
		if err != nil {
			return err
		}
		for _, m := range answers {
			if m.Header.Sequence == list[last].Header.Sequence {
				return nil
			}
		}
	}
}
