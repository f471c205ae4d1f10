// Package stores opens every kind of store by its location.
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

// Options say how a store is opened.
type Options struct {
	// Trust decides which manifests are accepted. Nil accepts every manifest: for commands that
	// validate, publish, or only check that the store answers.
	Trust *trust.Policy
	// NodeGroup is the group whose documents are read from a kOps store that cannot be listed.
	NodeGroup string
	// HTTPS names the files for requests to an https:// store. An s3:// store uses only the CA.
	HTTPS https.Settings
	// Kubernetes says how a k8s:// store reaches its API server.
	Kubernetes kubernetes.Options
	// Meter counts the requests to a store over the network; nil if they are not counted.
	Meter *objectstore.Meter
}

// Open returns the store of one cluster at location, which is a path or a URL. It reads nothing, so
// that a store that is not reachable at boot is an error of Fetch, which may be retried. Every
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
		// The text of a url.Error contains the URL, which may hold a password.
		return nil, problem.StoreLocation.Errorf("the state store's URL does not parse: write it as " +
			"scheme://host/path, with special characters percent-encoded and an IPv6 address in brackets, as in " +
			"https://[fd00::1]:8443/path")
	}
	s, err := open(u, cluster, o)
	return s, problem.StoreLocation.Wrap(err)
}

// open opens the store of a URL.
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
		return nil, problem.StoreLocation.Errorf("state store %s: the URL names more than a namespace: write "+
			"k8s://NAMESPACE", u.Redacted())
	}
	namespace, err := kubernetes.New(u.Host, cluster, o.Kubernetes)
	if err != nil {
		return nil, problem.StoreLocation.Errorf("state store %s: %w", u.Redacted(), err)
	}
	return namespace, nil
}
