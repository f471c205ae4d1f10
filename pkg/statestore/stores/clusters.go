package stores

import (
	"context"
	"strings"
	"time"

	"github.com/netwright/netwright/pkg/problem"
	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/pkg/statestore/directory"
)

// listLimit is how long a directory may take to name its clusters. A file server that does not
// answer blocks a call for ever.
const listLimit = 10 * time.Second

// Clusters lists the clusters of a directory store, sorted, for a caller whose user named none. If
// location is a cluster's own directory, store is the directory above it. For a store that cannot
// be listed, such as one behind a URL, the error says to name the cluster.
func Clusters(location string) (store string, clusters []string, err error) {
	if strings.Contains(location, "://") && !strings.HasPrefix(location, "file://") {
		if _, err := Open(location, "a-cluster", Options{}); err != nil { // an error in the URL is reported first
			return "", nil, err
		}
		return "", nil, problem.StoreLocation.Errorf("no cluster is named: set cluster in /etc/netwright/agent.yaml " +
			"or give --cluster")
	}
	type list struct {
		store    string
		clusters []string
	}
	all, err := statestore.UnlessHung(context.Background(), location, listLimit,
		func(context.Context) (l list, err error) {
			l.store, l.clusters, err = directory.Clusters(location)
			return l, err
		})
	return all.store, all.clusters, err
}
