package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"go.uber.org/zap"
	"golang.org/x/term"

	"github.com/netwright/netwright/pkg/checkpoint"
	"github.com/netwright/netwright/pkg/checkpoint/probe"
	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/config/agentfile"
	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/control"
	"github.com/netwright/netwright/pkg/ec2"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/inbound"
	"github.com/netwright/netwright/pkg/kube"
	"github.com/netwright/netwright/pkg/kube/access"
	"github.com/netwright/netwright/pkg/problem"
	"github.com/netwright/netwright/pkg/reconcile"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/reconcile/rollout"
	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/pkg/statestore/assets"
	"github.com/netwright/netwright/pkg/statestore/https"
	"github.com/netwright/netwright/pkg/statestore/kubernetes"
	"github.com/netwright/netwright/pkg/statestore/objectstore"
	"github.com/netwright/netwright/pkg/statestore/stores"
	"github.com/netwright/netwright/pkg/statestore/trust"
)

const (
	defaultConf = agentfile.Path
	minInterval = 5 * time.Second // as in the agent's own file
)

// wired is what the flags and the agent's file together say, opened.
type wired struct {
	store    statestore.Store
	sel      config.Select
	pass     reconcile.Pass
	target   control.Target
	interval time.Duration
	asked    *objectstore.Meter // requests to the store
	unused   error              // why the store is not used, where the node does with what it took last
	again    bool               // a run that follows another one: its end alone is of interest
}

// wire fills the flags from the agent's file and opens the store.
func (f *flags) wire(log *zap.Logger) (*wired, error) {
	if err := f.readConf(); err != nil {
		return nil, err
	}
	if info, err := os.Stat(f.root); f.root != "/" && f.root != "" && (err != nil || !info.IsDir()) {
		return nil, problem.Usage.Errorf("--root %s: there is no such directory: --root takes the directory that an "+
			"image is mounted on", f.root)
	}
	if f.store == "" {
		return nil, problem.StoreLocation.Errorf("no state store: name one with --store, or in %s as `store: "+
			"/srv/netwright`", defaultConf)
	}
	if err := f.nameNode(); err != nil {
		return nil, err
	}
	target := f.target()
	if err := f.onlyCluster(); err != nil {
		if f.cluster = rollout.CachedCluster(f.local().Host, f.store); f.cluster == "" {
			return nil, err
		}
	}
	target.Cluster = f.cluster
	policy := f.policy()
	options := f.storeOptions(policy)
	options.Meter = new(objectstore.Meter)
	store, err := stores.Open(f.store, f.cluster, options)
	if err != nil {
		return nil, err
	}
	w := &wired{store: store, asked: options.Meter, target: target, sel: config.Select{Group: f.group, Node: f.node},
		interval: f.interval}
	if w.interval == 0 {
		w.interval = agentfile.DefaultInterval
	}
	w.pass = reconcile.Pass{
		Host:   host.Options{Root: f.root, Verify: f.verify},
		Assets: assets.New(store),
		Log:    log,
		Trust:  policy,
		API:    &access.API{Kubeconfig: cmp.Or(f.kubeconfig, kube.DefaultKubeconfig), Options: f.kube()},
		EC2:    new(ec2.Client),

		AllowDisruptive: f.disruptive,
		ConfirmWithin:   f.confirm,
		Checkpoint: checkpoint.Settings{
			Probes: f.probes, Window: f.probeWindow, Store: probe.StoreProbe(f.store, f.cluster),
			Means: means(&options),
		},
	}
	if len(f.peers.Ask) > 0 {
		w.pass.Checkpoint.Inbound = f.peers.Knock
	}
	policy.Seen = w.pass.Rollout().Seen
	return w, w.pass.Remember(store)
}

// target is what flags and file name, before anything is looked up.
func (f *flags) target() control.Target {
	return control.Target{Store: f.store, Cluster: f.cluster, NodeGroup: f.group, Node: f.node}
}

// load wires a command that ends by itself, and decodes the node's documents.
func (f *flags) load(ctx context.Context) (*wired, *desired.State, error) {
	w, err := f.wire(zap.NewNop())
	if err != nil {
		return nil, nil, err
	}
	d, _, err := w.documents(ctx)
	return w, d, err
}

// documents are the store's, or where it cannot be used those that the node took from it last: then
// why says what is wrong with it.
func (w *wired) documents(ctx context.Context) (d *desired.State, why, err error) {
	d, err = desired.Load(ctx, w.store, w.sel, statestore.Revision{})
	if err == nil {
		return d, nil, nil
	}
	kept, keptErr := w.pass.Rollout().LastGood(ctx, w.store, w.sel, err)
	return kept, err, keptErr
}

// local is a pass that needs no store: for what the ledger alone knows.
func (f *flags) local() reconcile.Pass {
	return reconcile.Pass{Host: host.Options{Root: f.root, Verify: f.verify}, Log: zap.NewNop(), By: currentUser(),
		AllowDisruptive: f.disruptive, Checkpoint: checkpoint.Settings{Means: means(nil)}}
}

// localThatChanges is a pass that needs no store and may cut the node off, or fetch an archive:
// what is known of the store it gets all the same.
func (f *flags) localThatChanges() reconcile.Pass {
	pass := f.local()
	if w, err := f.wire(zap.NewNop()); err == nil {
		pass.Assets, pass.Checkpoint = w.pass.Assets, w.pass.Checkpoint
	}
	return pass
}

// currentUser is the person at the keyboard, also behind sudo.
func currentUser() string {
	if name := os.Getenv("SUDO_USER"); name != "" {
		return name
	}
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return "uid " + strconv.Itoa(os.Getuid())
}

// onlyCluster takes the store's only cluster when none is named.
func (f *flags) onlyCluster() error {
	if f.cluster != "" {
		return nil
	}
	store, clusters, err := stores.Clusters(f.store)
	if err != nil {
		return err
	}
	if len(clusters) > 1 {
		return fmt.Errorf("%s has several clusters: name one of them with --cluster: %s", f.store,
			strings.Join(clusters, ", "))
	}
	f.store, f.cluster = store, clusters[0]
	return nil
}

// readConf lets the agent's own file say what the flags did not.
func (f *flags) readConf() error {
	if f.confRead {
		return nil
	}
	f.confRead = true
	path := f.conf
	if path == "" {
		path = f.ownFile()
	}
	data, err := readFile(path)
	if errors.Is(err, fs.ErrNotExist) && f.conf == "" {
		return nil
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return problem.AgentFile.Errorf("read the agent's file: %w: give --conf its path", err)
	case errors.Is(err, syscall.EISDIR):
		return problem.AgentFile.Errorf("read the agent's file: %w: give --conf the path of a file", err)
	case err != nil:
		return problem.AgentFile.Errorf("read the agent's file: %w", err) // it says what to do
	}
	own, diags := agentfile.Decode(document.Source{Path: path, Data: data})
	if err := diags.Err(); err != nil {
		return err
	}
	if err := f.trusts(own); err != nil {
		return err
	}
	for _, v := range []struct{ flag, own *string }{
		{&f.metrics, &own.Metrics}, {&f.nodeStatus, &own.NodeStatus}, {&f.store, &own.Store},
		{&f.cluster, &own.Cluster}, {&f.group, &own.NodeGroup}, {&f.node, &own.Node},
	} {
		if *v.flag == "" {
			*v.flag = *v.own
		}
	}
	if f.interval == 0 {
		f.interval = own.Interval
	}
	for _, p := range own.Probes {
		f.probes = append(f.probes, probe.Probe(p))
	}
	f.probeWindow = own.ProbeWindow
	f.storeFiles = https.Settings{CA: own.StoreCA, Cert: own.StoreCert, Key: own.StoreKey,
		TokenFile: own.StoreTokenFile}
	f.kubeconfig, f.statusGroup = own.Kubeconfig, own.StatusGroup
	f.logFormat = cmp.Or(f.logFormat, own.LogFormat)
	f.statusObject = own.StatusObject
	f.peers = inbound.Static{
		KeyFile: own.Peers.KeyFile, Port: uint16(own.Peers.Port), Ask: own.Peers.Ask, Answer: own.Peers.Answer,
	}
	return nil
}

// storeOptions are how the store is opened, once the agent's file has been read.
func (f *flags) storeOptions(policy *trust.Policy) stores.Options {
	return stores.Options{Trust: policy, NodeGroup: f.group, HTTPS: f.storeFiles,
		Kubernetes: kubernetes.Options{Kubeconfig: f.kubeconfig, Options: f.kube()}}
}

// kube is how the Kubernetes API is spoken to. A dry run starts no program for its credentials.
func (f *flags) kube() kube.Options {
	return kube.Options{Version: version, OnlyFiles: f.dryRun}
}

// readFile reads a small file of this machine. It never waits for the other
// end of a pipe, nor takes in what is no file of settings.
func readFile(path string) ([]byte, error) {
	full, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	files, err := host.OpenFiles(host.Options{})
	if err != nil {
		return nil, err
	}
	defer files.Close() // only read from
	return files.ReadFile(full)
}

// isTerminal says whether a stream is one, so that colour and progress make sense.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) && os.Getenv("NO_COLOR") == "" &&
		!strings.EqualFold(os.Getenv("TERM"), "dumb")
}
