package watch

import (
	"errors"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/firewall"
)

// nftWatch hears changes of nf_tables. Those of ip_tables nobody is told of.
type nftWatch struct {
	w      *Watcher
	socket *multicast
	aim    atomic.Pointer[nftAim]
}

// nftAim is what of nf_tables matters.
type nftAim struct {
	tables  map[nftKey]bool
	forward bool
}

type nftKey struct {
	family byte
	table  string
}

func newNFTWatch(w *Watcher) *nftWatch { return &nftWatch{w: w} }

func (n *nftWatch) name() Source { return NFT }

func (n *nftWatch) set(i *Interest) (err error) {
	aim := &nftAim{tables: map[nftKey]bool{}, forward: i.Forward}
	for _, t := range i.Tables {
		aim.tables[nftKey{byte(firewall.TableFamilies[t.Family]), t.Name}] = true
	}
	n.aim.Store(aim)
	if n.socket != nil && !n.w.isUnwatched(NFT) {
		return nil
	}
	_ = n.socket.close() // what has ended has nothing to tell
	n.socket = nil
	if len(aim.tables) == 0 && !aim.forward {
		return nil
	}
	if !firewall.Loaded("/") { // to listen would load it (net/netfilter/nfnetlink.c, nfnetlink_bind)
		return errors.New("nf_tables is not loaded")
	}
	lost := func() { n.w.trigger(NFT, "too many events", true) }
	n.socket, err = openMulticast(unix.NETLINK_NETFILTER, []int{unix.NFNLGRP_NFTABLES}, nil, n.handle, lost,
		func(err error) { n.w.lose(NFT, err) })
	return err
}

func (n *nftWatch) close() error { return n.socket.close() }

func (n *nftWatch) handle(b []byte) {
	aim := n.aim.Load()
	for kind, m := range messages(b) {
		if kind>>8 == unix.NFNL_SUBSYS_NFTABLES && len(m) >= 4 {
			if what := aim.concerns(kind&0xff, m); what != "" {
				n.w.trigger(NFT, what, false)
			}
		}
	}
}

// concerns returns the name of the table that a message is about, if it matters. The first
// attribute of all messages but that of a new generation is the table's name
// (linux/netfilter/nf_tables.h).
func (a *nftAim) concerns(kind uint16, m []byte) string {
	const table, chainHook, ruleChain = unix.NFTA_TABLE_NAME, unix.NFTA_CHAIN_HOOK, unix.NFTA_RULE_CHAIN
	if kind == unix.NFT_MSG_NEWGEN {
		return ""
	}
	name, forward := "", kind == unix.NFT_MSG_DELTABLE
	for attr, value := range netlinkAttributes(m, 4) {
		switch {
		case attr == table:
			name = attributeText(value)
		case attr == chainHook && (kind == unix.NFT_MSG_NEWCHAIN || kind == unix.NFT_MSG_DELCHAIN):
			forward = true
		case attr == ruleChain && (kind == unix.NFT_MSG_NEWRULE || kind == unix.NFT_MSG_DELRULE):
			// iptables' FORWARD, firewalld's filter_FORWARD: what others call theirs is seen when
			// it is looked at.
			forward = strings.HasSuffix(strings.ToLower(attributeText(value)), "forward")
		}
	}
	if a.tables[nftKey{m[0], name}] || a.forward && forward {
		return name
	}
	return ""
}
