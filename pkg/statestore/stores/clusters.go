package stores

import (
	"strings"

	"github.com/netwright/netwright/pkg/problem"
	"github.com/netwright/netwright/pkg/statestore/directory"
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
	return directory.Clusters(location)
}
