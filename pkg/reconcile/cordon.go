package reconcile

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
	"github.com/netwright/netwright/pkg/model"
	"github.com/netwright/netwright/pkg/model/network"
)

// cordonTime bounds what cordon and uncordon may take: an API that does not answer does not hold a
// switch up.
const cordonTime = 10 * time.Second

// cordon makes the node unschedulable before pods lose their network, if the API lets us: an error
// is a note of the plan, and the switch goes on. That the node is owed an uncordon is written down
// first. It is called once, when the switch begins.
func (p Pass) cordon(ctx context.Context, h *host.Host, r *run) {
	if p.API == nil || !p.Host.Running() || r.desired.Node.Name == "" || !r.sw.Begins() || r.sw.Safe {
		return
	}
	learnt := r.learnt
	if learnt.Node != r.desired.Node.Name {
		learnt = ledger.Learnt{Node: r.desired.Node.Name}
	}
	learnt.Cordoned = true
	err := ledger.SaveLearnt(ctx, h.Files, learnt)
	if err == nil {
		r.learnt = learnt
		why := fmt.Sprintf("netwright switches its network from %s to %s", r.sw.From.Name, r.sw.To.Name)
		err = markNode(ctx, p.API, h.Live.Facts, func(ctx context.Context, c *kube.Client) error {
			_, err := c.Cordon(ctx, learnt.Node, why)
			return err
		})
	}
	if err != nil {
		r.notes = append(r.notes, model.Note{Level: network.Warning,
			Text: "the node is not cordoned for the switch, which goes on: " + err.Error()})
		if p.Log != nil {
			p.Log.Warn("the node is not cordoned for the switch of networks, which goes on", zap.Error(err))
		}
	}
}

// triedAgain says that a change was undone, or is held back, and is made again by itself.
func triedAgain(err error) bool {
	var undone *checkpoint.UndoneError
	var held *checkpoint.HeldError
	switch {
	case errors.As(err, &undone):
		return !undone.Verdict.Bad && !undone.Verdict.Unconfirmed
	case errors.As(err, &held):
		return !held.Bad && !held.Unconfirmed
	}
	return false
}

// uncordon makes the node schedulable again that a pass cordoned, this one or one that was killed.
// What fails is tried again in the next pass.
func (p Pass) uncordon(ctx context.Context, h *host.Host) {
	learnt, err := ledger.LoadLearnt(h.Live.Files)
	if err != nil || !learnt.Cordoned || p.API == nil || !p.Host.Running() {
		return
	}
	ctx = context.WithoutCancel(ctx)
	err = markNode(ctx, p.API, h.Live.Facts,
		func(ctx context.Context, c *kube.Client) error { return c.Uncordon(ctx, learnt.Node) })
	if err == nil || errors.Is(err, fs.ErrNotExist) { // without a kubeconfig or a Node nothing was cordoned either
		learnt.Cordoned = false
		err = ledger.SaveLearnt(ctx, h.Files, learnt)
	}
	if err != nil && p.Log != nil {
		p.Log.Warn("the node stays cordoned until a later pass; or: kubectl uncordon "+learnt.Node, zap.Error(err))
	}
}

// markNode changes the node's own Node, as the first identity that may.
func markNode(
	ctx context.Context, a *access.API, facts *host.Facts, do func(context.Context, *kube.Client) error,
) error {
	ctx, cancel := context.WithTimeoutCause(ctx, cordonTime, fmt.Errorf("no answer within %s", cordonTime))
	defer cancel()
	return a.As(ctx, a.Identities(facts, false), func(c *kube.Client) error { return do(ctx, c) })
}
