package main

import (
	"cmp"
	"fmt"
	"os"
	"os/user"
	"path/filepath"

	"github.com/netwright/netwright/pkg/cli"
	"github.com/netwright/netwright/pkg/statestore/objectstore"
	"github.com/netwright/netwright/pkg/statestore/stores"
)

// eachPublished calls do for each cluster that is published at a location.
func eachPublished(f *cli.Flags, location string, do func(at objectstore.Destination, cluster string) error) error {
	options, err := publisherOptions(f)
	if err != nil {
		return err
	}
	location, clusters, err := clustersOf(f, location)
	if err != nil {
		return err
	}
	for _, cluster := range clusters {
		to, err := stores.OpenDestination(location, cluster, options)
		if err != nil {
			return err
		}
		if err := do(to, cluster); err != nil {
			return err
		}
	}
	return nil
}

// publisherOptions are how a person's own machine publishes: with the settings for stores of the
// agent's own file, as the daemon would, and without one to Kubernetes as kubectl would. What the
// file says of clusters is of the node that it is on.
func publisherOptions(f *cli.Flags) (stores.Options, error) {
	named := f.Cluster
	if err := f.Read(); err != nil {
		return stores.Options{}, err
	}
	f.Cluster = named
	o := f.StoreOptions(nil)
	o.Kubernetes.Kubeconfig = cmp.Or(o.Kubernetes.Kubeconfig, os.Getenv("KUBECONFIG"))
	if home, err := os.UserHomeDir(); err == nil && o.Kubernetes.Kubeconfig == "" {
		o.Kubernetes.Kubeconfig = filepath.Join(home, ".kube", "config")
	}
	return o, nil
}

// clustersOf are the clusters that a command is about: the named one, or all of a directory.
func clustersOf(f *cli.Flags, location string) (store string, clusters []string, err error) {
	if f.Cluster != "" {
		return location, []string{f.Cluster}, nil
	}
	return stores.Clusters(location)
}

// caller is who runs this, for whoever has to wait for it.
func caller() string {
	host, err := os.Hostname()
	if err != nil {
		host = "a machine without a name"
	}
	who := fmt.Sprintf("user %d", os.Getuid())
	if u, err := user.Current(); err == nil {
		who = u.Username
	}
	return who + " on " + host
}
