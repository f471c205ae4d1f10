package watch

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/firewall"
	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// ForwardNotifies reports whether the kernel reports each change of the chains at the forward hook.
// It does not report chains of ip_tables.
func ForwardNotifies() bool { return !firewall.LegacyForward() }

// nftWatch watches nf_tables.
type nftWatch struct {
	multicast

	mu  sync.Mutex
	aim nftAim
}

// nftAim has the tables and chains whose changes matter.
type nftAim struct {
	tables  map[nftKey]bool
	forward bool
	chains  map[nftChain]bool // at the forward hook, including removed ones
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
	n := &nftWatch{aim: nftAim{chains: map[nftChain]bool{}}, multicast: multicast{listener: listener{w: w, source: NFT},
		protocol: unix.NETLINK_NETFILTER, groups: []int{unix.NFNLGRP_NFTABLES}}}
	n.received, n.lost = n.handle, n.forget
	return n
}

func (n *nftWatch) set(i *Interest) error {
	tables := map[nftKey]bool{}
	for _, t := range i.Tables {
		tables[nftKey{firewall.TableFamilies[t.Family], t.Name}] = true
	}
	n.mu.Lock()
	n.aim.tables, n.aim.forward = tables, i.Forward
	n.mu.Unlock()
	if n.ended() && (len(tables) > 0 || i.Forward) {
		if !firewall.Loaded("/") { // listening loads it (net/netfilter/nfnetlink.c)
			return errors.New("nf_tables is not loaded")
		}
		if err := n.listen(); err != nil {
			return err
		}
	}
	if i.Forward {
		return n.learn()
	}
	return nil
}

// forget handles lost messages: it reads the chains again and triggers.
func (n *nftWatch) forget() {
	if err := n.learn(); err != nil {
		n.w.note(NFT, err)
	}
	n.w.trigger(NFT, tooMany, true)
}

// learn records the chains at the forward hook. Later ones come by messages.
func (n *nftWatch) learn() error {
	list, err := firewall.Open(true).ForwardChains(context.Background())
	if err != nil {
		return fmt.Errorf("read which chains to listen for: %w", err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range list {
		n.aim.chains[nftChain{nftKey{firewall.TableFamilies[c.Family], c.Table}, c.Name}] = true
	}
	return nil
}

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

// concerns returns the name of a message's table if the message matters. The first attribute of all
// messages, except that of a new generation, is the name of the table
// (linux/netfilter/nf_tables.h).
func (a *nftAim) concerns(kind uint16, m []byte) string {
	if kind == unix.NFT_MSG_NEWGEN {
		return ""
	}
	body, forward := m[4:], kind == unix.NFT_MSG_DELTABLE
	at := nftChain{nftKey: nftKey{m[0], sys.AttributeText(body, unix.NFTA_TABLE_NAME)}}
	switch kind {
	case unix.NFT_MSG_NEWCHAIN, unix.NFT_MSG_DELCHAIN:
		at.name = sys.AttributeText(body, unix.NFTA_CHAIN_NAME)
		hook := sys.Attribute(sys.Attribute(body, unix.NFTA_CHAIN_HOOK), unix.NFTA_HOOK_HOOKNUM)
		forward = len(hook) == 4 && binary.BigEndian.Uint32(hook) == unix.NF_INET_FORWARD
	case unix.NFT_MSG_NEWRULE, unix.NFT_MSG_DELRULE:
		at.name = sys.AttributeText(body, unix.NFTA_RULE_CHAIN)
		forward = a.chains[at]
	}
	if forward && kind == unix.NFT_MSG_NEWCHAIN {
		a.chains[at] = true
	}
	if a.tables[at.nftKey] || a.forward && forward {
		return at.table
	}
	return ""
}
