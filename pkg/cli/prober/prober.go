// Package prober is what a checkpoint asks of others: the store, the Kubernetes API, addresses and
// pods. Whoever opens a store has it from here, and so has the undo, which has neither settings nor
// a store.
package prober

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"net/netip"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/checkpoint/probe"
	"github.com/netwright/netwright/pkg/statestore/stores"
	netprobe "github.com/netwright/netwright/pkg/verify/probe"

	"github.com/netwright/netwright/pkg/blob"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/kube"
	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/pkg/statestore/objectstore"
)

// wholeAnswer is how much of an answer has to come through where there is as much, in bytes: more
// than fits into what either side keeps of a connection that nothing comes through.
const wholeAnswer = 64 << 10

// askStore reads a snapshot over a new connection, and where that is little, a file besides. A
// refusal came over the network, too, but of one who does not answer in time. Who the node is to a
// server, and whom it believes, is in the agent's own file, by which the store is opened: what that
// does not allow any more is lost. The undo and the watch do not read it (by is nil), and whom they
// do not believe has answered them.
func askStore(ctx context.Context, location, cluster string, by *stores.Options) error {
	var how stores.Options
	if by != nil {
		how = *by
	}
	how.Trust, how.Meter, how.Kubernetes.OwnConnections = nil, nil, true
	store, err := stores.Open(location, cluster, how)
	if err != nil {
		return err
	}
	remote := strings.Contains(location, "://")
	answered := func(err error) error {
		var file *objectstore.LocalError
		var belief *tls.CertificateVerificationError
		lost := by != nil && (errors.As(err, &file) || errors.As(err, &belief))
		if remote && !lost && ctx.Err() == nil && !graph.IsTransient(err) {
			return nil
		}
		return err
	}
	snap, err := store.Fetch(ctx, statestore.Revision{})
	if err != nil || !remote || len(snap.Files) == 0 {
		return answered(err)
	}
	left := int64(wholeAnswer)
	for _, object := range snap.Objects {
		left -= int64(len(object))
	}
	if left <= 0 {
		return nil
	}
	file := slices.MaxFunc(snap.Files,
		func(a, b blob.Named) int { return cmp.Compare(min(a.Size, left), min(b.Size, left)) })
	read := make(chan error, 1)
	go func() {
		_, err := file.Bytes() // within a bound of its own
		read <- err
	}()
	select {
	case err := <-read:
		return answered(err)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Means are what a checkpoint's probes need of others. The store is opened as by says; nil: as by a
// stranger.
func Means(by *stores.Options) probe.Means {
	return probe.Means{
		Store: func(ctx context.Context, location, cluster string) error {
			return askStore(ctx, location, cluster, by)
		},
		API: func(ctx context.Context, kubeconfig string) error {
			client, err := kube.Open(kubeconfig, kube.Options{OnlyFiles: true, OwnConnections: true})
			if err != nil {
				return err
			}
			return client.Answer(ctx, wholeAnswer)
		},
		Ping: func(ctx context.Context, to netip.Addr) error {
			_, err := netprobe.Ping(ctx, "", to, 0)
			return err
		},
		Full: func(ctx context.Context, to netip.Addr, size int) error {
			_, err := netprobe.Ping(ctx, "", to, size)
			return err
		},
		Traffic: askTraffic,
	}
}
