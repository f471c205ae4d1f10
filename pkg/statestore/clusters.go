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
		return "", nil, problem.StoreLocation.Errorf("no cluster is named: set cluster in /etc/netwright/agent.yaml or give --cluster")
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
		for _, head := range append([]string{manifestName}, clusterDocuments...) {
			if _, err := root.Lstat(path.Join(name, head)); err == nil && validCluster(name) && !slices.Contains(clusters, name) {
				clusters = append(clusters, name)
			}
		}
	}
	if len(clusters) == 0 {
		return "", nil, problem.StoreMissing.Errorf("state store %s has no cluster: put a cluster's documents into %s: %w",
			location, filepath.Join(dir, "<cluster>", clusterDocument), fs.ErrNotExist)
	}
	return location, clusters, nil
}
