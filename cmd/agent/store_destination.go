package main

import (
	"cmp"
	"os"
	"path/filepath"

	"github.com/netwright/netwright/pkg/cli"
	"github.com/netwright/netwright/pkg/statestore/objectstore"
	"github.com/netwright/netwright/pkg/statestore/stores"
)

// eachPublished calls do for each published cluster at a location.
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

// publisherOptions returns how to open stores for publishing from a person's machine. It uses the
// store settings of the agent's own file, as the daemon does; without a kubeconfig there, it uses
// the one that kubectl uses. It ignores the cluster in the file, which is the cluster of the node
// that the file is on.
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

// clustersOf returns the clusters that a command works on: the named one, or all in a directory.
func clustersOf(f *cli.Flags, location string) (store string, clusters []string, err error) {
	if f.Cluster != "" {
		return location, []string{f.Cluster}, nil
	}
	return stores.Clusters(location)
}

// caller returns who runs this command; another publisher that must wait shows it.
func caller() string {
	host, err := os.Hostname()
	if err != nil {
		host = "a machine without a name"
	}
	return cli.CurrentUser() + " on " + host
}
