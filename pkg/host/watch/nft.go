package watch

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/firewall"
)

// ForwardNotifies says that the kernel tells of each change of the chains at the forward hook. Of
// those of ip_tables nobody is told.
func ForwardNotifies() bool { return !firewall.LegacyForward() }

// nftWatch hears changes of nf_tables.
type nftWatch struct {
	w      *Watcher
	socket *multicast

	mu  sync.Mutex
	aim nftAim
}

// nftAim is what of nf_tables matters.
type nftAim struct {
	tables  map[nftKey]bool
	forward bool
	chains  map[nftChain]bool // at the forward hook, also those that are gone
}

type nftKey struct {
	family byte
	table  string
}

type nftChain struct {
	nftKey
	name string
}

func newNFTWatch(w *Watcher) *nftWatch {
	return &nftWatch{w: w, aim: nftAim{chains: map[nftChain]bool{}}}
}

func (n *nftWatch) name() Source { return NFT }

func (n *nftWatch) set(i *Interest) error {
	tables := map[nftKey]bool{}
	for _, t := range i.Tables {
		tables[nftKey{byte(firewall.TableFamilies[t.Family]), t.Name}] = true
	}
	n.mu.Lock()
	n.aim.tables, n.aim.forward = tables, i.Forward
	n.mu.Unlock()
	if n.socket == nil || n.w.isUnwatched(NFT) {
		_ = n.socket.close() // what has ended has nothing to tell
		n.socket = nil
		if err := n.open(len(tables) == 0 && !i.Forward); err != nil {
			return err
		}
	}
	if i.Forward {
		return n.learn()
	}
	return nil
}

// open begins to listen, unless there is nothing to hear.
func (n *nftWatch) open(nothing bool) (err error) {
	if nothing {
		return nil
	}
	if !firewall.Loaded("/") { // to listen would load it (net/netfilter/nfnetlink.c, nfnetlink_bind)
		return errors.New("nf_tables is not loaded")
	}
	lost := func() {
		if err := n.learn(); err != nil {
			n.w.note(NFT, err)
		}
		n.w.trigger(NFT, "too many events", true)
	}
	n.socket, err = openMulticast(unix.NETLINK_NETFILTER, []int{unix.NFNLGRP_NFTABLES}, nil, n.handle, lost,
		func(err error) { n.w.lose(NFT, err) })
	return err
}

// learn notes the chains that are at the forward hook. Those that come later are heard of.
func (n *nftWatch) learn() error {
	list, err := firewall.Open(true).ForwardChains(context.Background())
	if err != nil {
		return fmt.Errorf("read which chains to listen for: %w", err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range list {
		n.aim.chains[nftChain{nftKey{byte(firewall.TableFamilies[c.Family]), c.Table}, c.Name}] = true
	}
	return nil
}

func (n *nftWatch) close() error { return n.socket.close() }

func (n *nftWatch) handle(b []byte) {
	for kind, m := range messages(b) {
		if kind>>8 == unix.NFNL_SUBSYS_NFTABLES && len(m) >= 4 {
			n.mu.Lock()
			what := n.aim.concerns(kind&0xff, m)
			n.mu.Unlock()
			if what != "" {
				n.w.trigger(NFT, what, false)
			}
		}
	}
}

// concerns returns the name of the table that a message is about, if it matters. The first
// attribute of all messages but that of a new generation is the table's name
// (linux/netfilter/nf_tables.h).
func (a *nftAim) concerns(kind uint16, m []byte) string {
	if kind == unix.NFT_MSG_NEWGEN {
		return ""
	}
	at, forward := nftChain{nftKey: nftKey{family: m[0]}}, kind == unix.NFT_MSG_DELTABLE
	for attr, value := range netlinkAttributes(m, 4) {
		switch {
		case attr == unix.NFTA_TABLE_NAME:
			at.table = attributeText(value)
		case kind == unix.NFT_MSG_NEWCHAIN || kind == unix.NFT_MSG_DELCHAIN:
			switch attr {
			case unix.NFTA_CHAIN_NAME:
				at.name = attributeText(value)
			case unix.NFTA_CHAIN_HOOK:
				forward = hookOf(value) == unix.NF_INET_FORWARD
			}
		case attr == unix.NFTA_RULE_CHAIN && (kind == unix.NFT_MSG_NEWRULE || kind == unix.NFT_MSG_DELRULE):
			at.name = attributeText(value)
			forward = a.chains[at]
		}
	}
	if forward && kind == unix.NFT_MSG_NEWCHAIN {
		a.chains[at] = true
	}
	if a.tables[at.nftKey] || a.forward && forward {
		return at.table
	}
	return ""
}

// hookOf is the number of the hook that a chain is at; no hook's where the kernel does not say.
func hookOf(hook []byte) uint32 {
	for attr, value := range netlinkAttributes(hook, 0) {
		if attr == unix.NFTA_HOOK_HOOKNUM && len(value) == 4 {
			return binary.BigEndian.Uint32(value)
		}
	}
	return unix.NF_INET_NUMHOOKS
}
