package node

import (
	"context"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Layer ends the node, and returns what it changed of its base as a layer for [Options.Layers] of
// other nodes. It is there for as long as the node's fabric; the node does not come back.
func (n *Node) Layer(ctx context.Context) string {
	n.t.Helper()
	n.PowerOff(ctx)
	if err := retry(func() error { return unix.Unmount(n.Root(), 0) }); err != nil {
		n.t.Fatalf("making a layer of node %s: %v", n.name, err)
	}
	return n.Upper()
}

// Renew ends the node and makes it anew: what it changed is gone. The options are for its next
// life, but for the name, which stays. It is off.
func (n *Node) Renew(o Options) {
	n.t.Helper()
	if err := n.renew(o); err != nil {
		n.t.Fatalf("renewing node %s: %v", n.name, err)
	}
}

func (n *Node) renew(o Options) error {
	if err := n.kill(); err != nil {
		return err
	}
	if err := retry(func() error { return unix.Unmount(n.Root(), 0) }); err != nil {
		return fmt.Errorf("unmounting its root: %w", err)
	}
	if err := os.RemoveAll(n.dir); err != nil {
		return fmt.Errorf("removing what it changed: %w", err)
	}
	o.Name = n.name
	n.options = o
	return n.prepare()
}

// Ended is closed once the node is off, also by itself: a node that boots anew is off until Boot.
// It is of this life of the node alone.
func (n *Node) Ended() <-chan struct{} {
	if n.process != nil {
		return n.process.Ended
	}
	off := make(chan struct{})
	close(off)
	return off
}

// TryBoot is Boot, and says why a node does not come up. One with failed units has come up.
func (n *Node) TryBoot(ctx context.Context) error {
	_, err := n.boot(ctx)
	return err
}
