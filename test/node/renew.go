package node

import (
	"context"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Layer ends the node, and returns the node's changes to its base as a layer for [Options.Layers]
// of other nodes. The layer exists as long as the node's fabric. The node cannot boot again.
func (n *Node) Layer(ctx context.Context) string {
	n.t.Helper()
	n.PowerOff(ctx)
	if err := retry(func() error { return unix.Unmount(n.Root(), 0) }); err != nil {
		n.t.Fatalf("making a layer of node %s: %v", n.name, err)
	}
	return n.Upper()
}

// Renew ends the node, removes all its changes, and prepares it again with other options. It keeps
// the node's name. The node is off afterwards.
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

// Ended is closed when the node is off, also if the node ended by itself. A node that reboots by
// itself is off until Boot. The channel is only for the present boot of the node.
func (n *Node) Ended() <-chan struct{} {
	if n.process != nil {
		return n.process.Ended
	}
	off := make(chan struct{})
	close(off)
	return off
}

// TryBoot is Boot, but returns an error that says why a node does not come up. A node with failed
// units has come up.
func (n *Node) TryBoot(ctx context.Context) error {
	_, err := n.boot(ctx)
	return err
}
