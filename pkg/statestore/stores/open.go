// Package stores knows all kinds of store, and opens one by its location.
package stores

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/netwright/netwright/pkg/problem"
	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/pkg/statestore/directory"
	"github.com/netwright/netwright/pkg/statestore/https"
	"github.com/netwright/netwright/pkg/statestore/kubernetes"
	"github.com/netwright/netwright/pkg/statestore/manifest"
	"github.com/netwright/netwright/pkg/statestore/objectstore"
	"github.com/netwright/netwright/pkg/statestore/remote"
	"github.com/netwright/netwright/pkg/statestore/s3"
	"github.com/netwright/netwright/pkg/statestore/trust"
)

// Options are how a store is opened, beyond where it is.
type Options struct {
	// Trust decides on manifests. With nil whatever is there is taken: for who validates,
	// publishes, or only looks whether the store answers.
	Trust *trust.Policy
	// NodeGroup is the group whose documents are read of a store of kOps that cannot be listed.
	NodeGroup string
	// HTTPS are the files that an https:// store is asked with; of them, an s3:// store knows the
	// CA.
	HTTPS https.Settings
	// Kubernetes is how the API of a k8s:// store is spoken to.
	Kubernetes kubernetes.Options
	// Meter counts the requests to a store that is asked over a network; nil: nobody does.
	Meter *objectstore.Meter
}

// Open returns the store at location for one cluster: a path, or a URL. It reads nothing yet, so
// that a store which is not there at boot is an error of Fetch, which may be tried again; every
// error of Open is permanent.
func Open(location, cluster string, o Options) (statestore.Store, error) {
	switch {
	case location == "":
		return nil, problem.StoreLocation.Errorf("no state store is named: set store in /etc/netwright/agent.yaml or " +
			"give --store")
	case cluster == "":
		return nil, problem.StoreLocation.Errorf("no cluster is named: set cluster in /etc/netwright/agent.yaml or " +
			"give --cluster")
	case !manifest.ValidCluster(cluster):
		return nil, problem.StoreLocation.Errorf("cluster name %q is no directory name: name the cluster as its "+
			"directory in the store is named, without slashes", cluster)
	}
	if !strings.Contains(location, "://") {
		return directory.New(location, cluster, o.Trust)
	}
	u, err := url.Parse(location)
	if err != nil {
		// A URL that does not parse may still hold a password: url.Error would print it.
		return nil, problem.StoreLocation.Errorf("the state store's URL does not parse: write it as " +
			"scheme://host/path, with special characters percent-encoded and an IPv6 address in brackets, as in " +
			"https://[fd00::1]:8443/path")
	}
	s, err := open(u, cluster, o)
	return s, problem.StoreLocation.Wrap(err)
}

// open opens each kind of store that a URL can name.
func open(u *url.URL, cluster string, o Options) (statestore.Store, error) {
	var source objectstore.Source
	var err error
	switch u.Scheme {
	case "file":
		if (u.Host != "" && u.Host != "localhost") || !filepath.IsAbs(u.Path) {
			return nil, fmt.Errorf("state store %s: a file URL names a path of this machine: write file:///path", u.Redacted())
		}
		return directory.New(u.Path, cluster, o.Trust)
	case "k8s":
		namespace, err := namespaceOf(u, cluster, o)
		if err != nil {
			return nil, err
		}
		return remote.New(o.Meter.Of(namespace), cluster, o.Trust), nil
	case "https":
		source, err = https.New(u, cluster, o.HTTPS)
	case "s3":
		source, err = s3.New(u, cluster, o.HTTPS.CA)
	default:
		err = fmt.Errorf("state store %s: no scheme %q is known: use a path, file://, https://, s3:// or k8s://",
			u.Redacted(), u.Scheme)
	}
	if err != nil {
		return nil, err
	}
	return remote.NewAutodetect(objectstore.NewRetrying(o.Meter.Of(source)), cluster, o.NodeGroup, o.Trust), nil
}

func namespaceOf(u *url.URL, cluster string, o Options) (*kubernetes.Namespace, error) {
	if strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.User != nil {
		return nil, problem.StoreLocation.Errorf("state store %s: a namespace is all that it names: write "+
			"k8s://NAMESPACE", u.Redacted())
	}
	namespace, err := kubernetes.New(u.Host, cluster, o.Kubernetes)
	if err != nil {
		return nil, problem.StoreLocation.Errorf("state store %s: %w", u.Redacted(), err)
	}
	return namespace, nil
}
