package statestore

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/problem"
)

// Clusters lists the clusters of a directory store, sorted, for who names
// none. A cluster's own directory is taken for the store above it. A store
// that cannot be listed, as one behind a URL, is an error that says to name
// the cluster.
func Clusters(location string) (store string, clusters []string, err error) {
	if strings.Contains(location, "://") && !strings.HasPrefix(location, "file://") {
		if _, err := Open(location, "a-cluster", Options{}); err != nil { // what is wrong with the URL comes first
			return "", nil, err
		}
		return "", nil, problem.StoreLocation.Errorf("no cluster is named: set cluster in /etc/netwright/agent.yaml " +
			"or give --cluster")
	}
	return clustersOf(location)
}

// clustersOf is [Clusters] of a directory, or a file:// URL.
func clustersOf(location string) (store string, clusters []string, err error) {
	dir := strings.TrimPrefix(location, "file://")
	for _, head := range clusterDocuments[:3] { // a file called config says little
		if _, err := os.Lstat(filepath.Join(dir, head)); err != nil {
			continue
		}
		full, err := filepath.Abs(dir)
		if err != nil {
			return "", nil, fmt.Errorf("find the store of %s: %w", dir, err)
		}
		return filepath.Dir(full), []string{filepath.Base(full)}, nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", nil, fmt.Errorf("state store %s: %w", location, explainDir(dir, err))
	}
	defer root.Close()
	names, clusters, err := clustersIn(root)
	if err != nil {
		return "", nil, fmt.Errorf("state store %s: %w", location, err)
	}
	if len(clusters) == 0 {
		return "", nil, problem.StoreMissing.Because(fs.ErrNotExist,
			"state store %s has no cluster: put a cluster's documents into %s%s",
			location, filepath.Join(dir, "<cluster>", clusterDocument), misnamed(root, names))
	}
	return location, clusters, nil
}

// mostClusters is how many an error names.
const mostClusters = 10

// clustersIn lists the directory that root is, and those in it that have a cluster in them.
func clustersIn(root *os.Root) (names, clusters []string, err error) {
	dir, err := hostfs.OpenQuietly(root, ".")
	if err == nil {
		defer dir.Close()
		names, err = namesIn(dir)
	}
	if err != nil {
		return nil, nil, explain("list", ".", err)
	}
	for _, name := range names {
		if validCluster(name) && slices.ContainsFunc(append([]string{manifestName}, clusterDocuments...), func(head string) bool {
			_, err := root.Lstat(path.Join(name, head))
			return err == nil
		}) {
			clusters = append(clusters, name)
		}
	}
	return names, clusters, nil
}

// misnamed says which file may be a cluster's document under another name; "": none.
func misnamed(root *os.Root, names []string) string {
	for _, name := range append([]string{"."}, names...) {
		for _, other := range []string{"cluster.yml", "Cluster.yaml", "cluster.yaml.txt", "cluster.json", "cluster"} {
			if info, err := root.Lstat(path.Join(name, other)); err == nil && info.Mode().IsRegular() {
				return fmt.Sprintf("; %s may be meant: rename it to %s", path.Join(name, other), clusterDocument)
			}
		}
	}
	return ""
}
