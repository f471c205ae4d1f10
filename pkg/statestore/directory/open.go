package directory

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/blob"
	"github.com/netwright/netwright/pkg/problem"
	"github.com/netwright/netwright/pkg/statestore/manifest"
)

// noCluster returns the error for a missing cluster, which names the clusters that exist.
func (d *Directory) noCluster(root *os.Root) error {
	names, clusters, err := clustersIn(root)
	switch {
	case err != nil:
		return err
	case slices.Contains(names, manifest.ClusterDocument):
		return problem.StoreMissing.Missing(
			"no cluster %q in it: it is itself a cluster's directory, so set store to %s and cluster to %s",
			d.cluster, filepath.Dir(d.dir), filepath.Base(d.dir))
	case len(clusters) == 0:
		return problem.StoreMissing.Missing(
			"no cluster %q in it, nor any other: put the cluster's documents into %s", d.cluster, d)
	}
	more := ""
	if n := len(clusters) - mostClusters; n > 0 {
		clusters, more = clusters[:mostClusters], fmt.Sprintf(" and %d more", n)
	}
	return problem.StoreMissing.Missing(
		"no cluster %q in it: it has %s%s; set cluster to one of them",
		d.cluster, strings.Join(clusters, ", "), more)
}

// openRoot opens the store's directory and checks that the cluster is in it.
func (d *Directory) openRoot() (*os.Root, error) {
	root, err := os.OpenRoot(d.dir + "/") // with "/" it does not wait for the writer of a pipe
	if err != nil {
		return nil, explainDir(d.dir, err)
	}
	info, err := root.Stat(d.cluster)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("it is a %s, a directory with cluster.yaml is expected", blob.TypeWord(info.Mode()))
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = d.noCluster(root)
	} else if err != nil {
		err = explain("open", ".", err)
	}
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return root, nil
}
