package statestore

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/problem"
)

// Clusters lists the clusters of a directory store, sorted, for who names
// none. A cluster's own directory is taken for the store above it. A store
// that cannot be listed, as one behind a URL, is an error that says to name
// the cluster.
func Clusters(location string) (store string, clusters []string, err error) {
	dir, isFile := strings.CutPrefix(location, "file://")
	if !isFile && strings.Contains(location, "://") {
		if _, err := Open(location, "a-cluster", Options{}); err != nil { // what is wrong with the URL comes first
			return "", nil, err
		}
		return "", nil, problem.StoreLocation.Errorf("no cluster is named: set cluster in /etc/netwright/agent.yaml " +
			"or give --cluster")
	}
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
	names, err := readNames(root)
	if err != nil {
		return "", nil, fmt.Errorf("state store %s: %w", location, explain("list", ".", err))
	}
	for _, name := range names {
		if holdsCluster(root, name) {
			clusters = append(clusters, name)
		}
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

// holdsCluster tells that a directory of a store has a cluster in it.
func holdsCluster(root *os.Root, name string) bool {
	return validCluster(name) &&
		slices.ContainsFunc(append([]string{manifestName}, clusterDocuments...), func(head string) bool {
			_, err := root.Lstat(path.Join(name, head))
			return err == nil
		})
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
