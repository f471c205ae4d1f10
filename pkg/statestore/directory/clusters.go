package directory

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/host/hostpath"
	"github.com/netwright/netwright/pkg/problem"
	"github.com/netwright/netwright/pkg/statestore/manifest"
)

// Clusters lists the clusters of a directory or a file:// URL: see [stores.Clusters].
func Clusters(location string) (store string, clusters []string, err error) {
	dir := strings.TrimPrefix(location, "file://")
	for _, head := range manifest.ClusterDocuments[:3] { // not "config", which other directories have too
		if _, err := os.Lstat(filepath.Join(dir, head)); err != nil {
			continue
		}
		full, err := filepath.Abs(dir)
		if err != nil {
			return "", nil, fmt.Errorf("find the store of %s: %w", dir, err)
		}
		return filepath.Dir(full), []string{filepath.Base(full)}, nil
	}
	root, err := os.OpenRoot(dir + "/") // as openRoot
	if err != nil {
		return "", nil, fmt.Errorf("state store %s: %w", location, explainDir(dir, err))
	}
	defer root.Close()
	names, clusters, err := clustersIn(root)
	if err != nil {
		return "", nil, fmt.Errorf("state store %s: %w", location, err)
	}
	if len(clusters) == 0 {
		return "", nil, problem.StoreMissing.Missing(
			"state store %s has no cluster: put a cluster's documents into %s%s",
			location, filepath.Join(dir, "<cluster>", manifest.ClusterDocument), misnamed(root, names))
	}
	return location, clusters, nil
}

// mostClusters is how many clusters an error names.
const mostClusters = 10

// clustersIn returns the names in the directory root, and those of them that are clusters.
func clustersIn(root *os.Root) (names, clusters []string, err error) {
	dir, err := hostpath.OpenQuietly(root, ".")
	if err == nil {
		defer dir.Close()
		names, err = namesIn(dir)
	}
	if err != nil {
		return nil, nil, explain("list", ".", err)
	}
	for _, name := range names {
		if manifest.ValidCluster(name) && slices.ContainsFunc(append([]string{manifest.Name}, manifest.ClusterDocuments...), func(head string) bool {
			_, err := root.Lstat(path.Join(name, head))
			return err == nil
		}) {
			clusters = append(clusters, name)
		}
	}
	return names, clusters, nil
}

// misnamed names a file that may be a misnamed cluster document; it returns "" if there is none.
func misnamed(root *os.Root, names []string) string {
	for _, name := range append([]string{"."}, names...) {
		for _, other := range []string{"cluster.yml", "Cluster.yaml", "cluster.yaml.txt", "cluster.json", "cluster"} {
			if info, err := root.Lstat(path.Join(name, other)); err == nil && info.Mode().IsRegular() {
				return fmt.Sprintf("; %s may be meant: rename it to %s", path.Join(name, other), manifest.ClusterDocument)
			}
		}
	}
	return ""
}
