package cli

import (
	"cmp"
	"context"
	"os"
	"strconv"

	"github.com/netwright/netwright/pkg/blob"
	"github.com/netwright/netwright/pkg/checkpoint/probe"
	"github.com/netwright/netwright/pkg/statestore/stores"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/checkpoint"
	"github.com/netwright/netwright/pkg/cli/prober"
	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/config/agentfile"
	"github.com/netwright/netwright/pkg/control"
	"github.com/netwright/netwright/pkg/ec2"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/accounts"
	"github.com/netwright/netwright/pkg/inbound"
	"github.com/netwright/netwright/pkg/kube"
	"github.com/netwright/netwright/pkg/kube/access"
	"github.com/netwright/netwright/pkg/problem"
	"github.com/netwright/netwright/pkg/reconcile"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/reconcile/rollout"
	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/pkg/statestore/assets"
	"github.com/netwright/netwright/pkg/statestore/objectstore"
)

// Opened is an open store, and a pass that makes the host match it.
type Opened struct {
	Store  statestore.Store
	Select config.Select
	Pass   reconcile.Pass
	Target control.Target
	Meter  *objectstore.Meter // counts the requests to the store
}

// Open reads the agent's own file and opens the store.
func (s *Settings) Open(log *zap.Logger) (*Opened, error) {
	if err := s.Read(); err != nil {
		return nil, err
	}
	root := s.Host.Root
	if info, err := os.Stat(root); root != "/" && root != "" && (err != nil || !info.IsDir()) {
		return nil, problem.Usage.Errorf("--root %s: there is no such directory: --root takes the directory that an "+
			"image is mounted on", root)
	}
	if s.Store == "" {
		return nil, problem.StoreLocation.Errorf("no state store: name one with --store, or in %s as `store: "+
			"/srv/netwright`", agentfile.Path)
	}
	if err := s.nameNode(); err != nil {
		return nil, err
	}
	_ = host.UnmapProgram() // it only saves memory: after an error the pages stay
	target := s.Target()
	if err := s.onlyCluster(); err != nil {
		if s.Cluster = rollout.CachedCluster(s.Host, s.Store); s.Cluster == "" {
			return nil, err
		}
	}
	target.Cluster = s.Cluster
	options := s.StoreOptions(&s.Trust)
	options.Meter = new(objectstore.Meter)
	store, err := stores.Open(s.Store, s.Cluster, options)
	if err != nil {
		return nil, err
	}
	o := &Opened{Store: store, Select: selected(s), Target: target,
		Meter: options.Meter, Pass: reconcile.Pass{
			Host:   s.Host,
			Assets: assets.New(store),
			Log:    log,
			Trust:  &s.Trust,
			API:    &access.API{Kubeconfig: cmp.Or(s.Kubeconfig, kube.DefaultKubeconfig), Options: s.Kube},
			EC2:    new(ec2.Client),
			Checkpoint: checkpoint.Settings{
				Window: s.ProbeWindow, Store: probe.StoreProbe(s.Store, s.Cluster), Means: prober.Means(&options),
			},
		}}
	for _, p := range s.Probes {
		o.Pass.Checkpoint.Probes = append(o.Pass.Checkpoint.Probes, probe.Probe(p))
	}
	if len(s.Peers.Ask) > 0 {
		o.Pass.Checkpoint.Inbound = inbound.Static(s.Peers).Knock
	}
	s.Trust.Seen = o.Pass.Rollout().Seen
	return o, o.Pass.Remember(store)
}

// Load opens the store and loads the node's documents, for a command that ends by itself.
func (s *Settings) Load(ctx context.Context) (*Opened, *desired.State, error) {
	o, err := s.Open(zap.NewNop())
	if err != nil {
		return nil, nil, err
	}
	d, _, err := o.Documents(ctx)
	return o, d, err
}

// Documents loads the documents from the store. Where the store cannot be used, it returns the last
// good ones, and why is the error of the store.
func (o *Opened) Documents(ctx context.Context) (d *desired.State, why, err error) {
	load := func(ctx context.Context) (*desired.State, error) {
		return desired.Load(ctx, o.Store, o.Select, statestore.Revision{})
	}
	d, err = statestore.UnlessHung(ctx, o.Store.String(), desired.LoadLimit, load) // with the keys, which Load fetches
	if err == nil {
		return d, nil, nil
	}
	kept, keptErr := o.Pass.Rollout().LastGood(ctx, o.Store, o.Select, err)
	return kept, err, keptErr
}

// Local returns a pass that needs no store, for work that needs only the ledger.
func (s *Settings) Local() reconcile.Pass {
	return reconcile.Pass{Host: s.Host, Log: zap.NewNop(), By: CurrentUser(),
		Checkpoint: checkpoint.Settings{Means: prober.Means(nil)}}
}

// LocalThatChanges returns a pass that needs no store, for work that may cut the node off or fetch
// an archive. It gets the store's assets and the checkpoint's settings where the store can be
// opened.
func (s *Settings) LocalThatChanges() reconcile.Pass {
	pass := s.Local()
	if o, err := s.Open(zap.NewNop()); err == nil {
		pass.Assets, pass.Checkpoint = o.Pass.Assets, o.Pass.Checkpoint
	}
	return pass
}

// CurrentUser returns the person who runs the command, also where sudo runs it.
func CurrentUser() string {
	uid := os.Getuid()
	known := accounts.Name(uid, blob.ReadFile) // os/user waits for the writer of a pipe
	return cmp.Or(os.Getenv("SUDO_USER"), known, "uid "+strconv.Itoa(uid))
}
