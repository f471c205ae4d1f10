// Package prober asks other systems for a checkpoint: the store, the Kubernetes API, addresses and
// pods. Commands that open a store use it, and so does the undo, which has neither settings nor an
// open store.
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

// wholeAnswer is how many bytes of an answer must arrive, where the answer is that long. It is more
// than the socket buffers of both ends hold on a connection that passes no large packets.
const wholeAnswer = 64 << 10

// askStore reads a snapshot over a new connection, and also a file where the snapshot is small. An
// error that the server sends is an answer too, because it came over the network; a transient error
// or one after the deadline is none. With by, the store is opened with the credentials and CAs of
// the agent's own file: where these do not work any more, the store counts as lost. The undo and
// the watch do not read that file (by is nil), so for them a server whose certificate they cannot
// verify has answered.
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
	snap, err := statestore.Bounded(store).Fetch(ctx, statestore.Revision{})
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
		_, err := file.Bytes() // Bytes has its own time limit
		read <- err
	}()
	select {
	case err := <-read:
		return answered(err)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Means returns the functions by which a checkpoint's probes ask other systems. by says how to open
// the store; nil: without credentials.
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
