package rollout

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/checkpoint"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/kube"
	"github.com/netwright/netwright/pkg/kube/access"
	"github.com/netwright/netwright/pkg/ledger"
)

// cordonTime limits the time of cordon and uncordon, so that an API that does not answer does not
// delay a switch.
const cordonTime = 10 * time.Second

// Cordon makes the node unschedulable before pods lose their network, if the API allows it. First
// it saves learnt with the record that the node must be uncordoned later. An error becomes a note
// of the plan and does not stop the change. Cordon is called once, when the disruptive part begins.
func (r Rollout) Cordon(ctx context.Context, h *host.Host, learnt ledger.APICache, node, why string) error {
	if r.API == nil || !r.Host.Running() || node == "" {
		return nil
	}
	now := learnt
	if now.Node != node {
		now = ledger.APICache{Node: node}
	}
	now.Cordoned, now.Machine = true, host.MachineID(h.Live.Files)
	if err := ledger.SaveAPICache(ctx, h.Files, now); err != nil {
		return err
	}
	err := markNode(ctx, r.API, h.Live.Facts, func(ctx context.Context, c *kube.Client) error {
		return c.Cordon(ctx, h.Live.Facts.Kubelet.NodeName(node), why)
	})
	if errors.Is(err, fs.ErrNotExist) { // nothing was cordoned without a kubeconfig or a Node
		return errors.Join(err, ledger.SaveAPICache(ctx, h.Files, learnt))
	}
	return err
}

// RetriesLater reports whether a change was undone or is held back and will be retried without a
// person.
func RetriesLater(err error) bool {
	var undone *checkpoint.UndoneError
	var held *checkpoint.SuppressedError
	switch {
	case errors.As(err, &undone):
		return !undone.Verdict.Bad && !undone.Verdict.Unconfirmed
	case errors.As(err, &held):
		return !held.Bad && !held.Unconfirmed
	}
	return false
}

// Uncordon makes the node schedulable again if this pass or a killed one cordoned it. The next
// pass retries what fails.
func (r Rollout) Uncordon(ctx context.Context, h *host.Host) {
	learnt, err := ledger.LoadAPICache(h.Live.Files)
	if err != nil || !learnt.Cordoned || r.API == nil || !r.Host.Running() {
		return
	}
	ctx = context.WithoutCancel(ctx)
	node := h.Live.Facts.Kubelet.NodeName(learnt.Node)
	err = markNode(ctx, r.API, h.Live.Facts, func(ctx context.Context, c *kube.Client) error {
		err := c.Uncordon(ctx, node)
		if errors.Is(err, fs.ErrNotExist) { // a deleted Node needs no uncordon
			err = nil
		}
		return err
	})
	if err == nil {
		learnt.Cordoned = false
		err = ledger.SaveAPICache(ctx, h.Files, learnt)
	}
	if err != nil && r.Log != nil {
		r.Log.Warn("the node stays cordoned until a later pass; or: kubectl uncordon "+node, zap.Error(err))
	}
}

// markNode changes the node's own Node object, with the first identity that is permitted to.
func markNode(
	ctx context.Context, a *access.API, facts *host.Facts, do func(context.Context, *kube.Client) error,
) error {
	ctx, cancel := context.WithTimeoutCause(ctx, cordonTime, fmt.Errorf("no answer within %s", cordonTime))
	defer cancel()
	return a.As(ctx, a.Identities(facts, false), func(c *kube.Client) error { return do(ctx, c) })
}
