package stores

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/netwright/netwright/pkg/problem"
	"github.com/netwright/netwright/pkg/statestore/directory"
	"github.com/netwright/netwright/pkg/statestore/manifest"
	"github.com/netwright/netwright/pkg/statestore/objectstore"
	"github.com/netwright/netwright/pkg/statestore/s3"
)

// OpenDestination returns the destination to which a cluster is published: a directory, or a URL of
// a store that can be written. It writes nothing.
func OpenDestination(location, cluster string, o Options) (objectstore.Destination, error) {
	if !manifest.ValidCluster(cluster) {
		return nil, fmt.Errorf("cluster name %q is no directory name: name it without slashes", cluster)
	}
	scheme, _, isURL := strings.Cut(location, "://")
	if !isURL {
		return directory.NewWriter(location, cluster)
	}
	u, err := url.Parse(location)
	if err != nil { // the text of err may contain a password
		return nil, errors.New("the URL to publish to does not parse: write it as scheme://host/path, with special " +
			"characters percent-encoded and an IPv6 address in brackets, as in https://[fd00::1]:8443/path")
	}
	switch scheme {
	case "file":
		return directory.NewWriter(u.Path, cluster)
	case "s3":
		return s3.New(u, cluster, o.HTTPS.CA)
	case "k8s":
		return namespaceOf(u, cluster, o)
	case "https":
		return nil, problem.StoreLocation.Errorf("publish to %s: https:// can only be read: publish to a directory, "+
			"and serve that", u.Redacted())
	}
	return nil, problem.StoreLocation.Errorf("publish to %s: no scheme %q can be published to: use a directory or "+
		"s3://", u.Redacted(), scheme)
}
