package daemons

import (
	"context"
	_ "embed"
	"encoding/json"
	"slices"
	"testing"

	"github.com/netwright/netwright/test/assets"
	"github.com/netwright/netwright/test/kubeapi"
	"github.com/netwright/netwright/test/node"
)

// KubeOVN is what serves a cluster with Kube-OVN: OVN's databases and northd, and its controller.
// Its DaemonSets are not here: they need a kernel with Open vSwitch.
type KubeOVN struct{ api }

// OVNCentral lists the packages of the distribution that [KubeOVN.Central] runs.
var OVNCentral = []string{"ovn-central"}

// laterOVN is what the databases of Kube-OVN's own OVN have and those of Debian 12 have not:
// database → table → column → its type. Its controller asks for all of it; OVN of Debian 12 does
// not read it.
//
//go:embed testdata/kubeovn-schema.json
var laterOVN []byte

// NewKubeOVN applies its definitions.
func NewKubeOVN(t testing.TB, server *kubeapi.Server) KubeOVN {
	t.Helper()
	d := KubeOVN{api{t, server}}
	d.manifests(assets.KubeOVN(t) + "/kubeovn.yaml")
	return d
}

// Central runs OVN's databases, northd and the controller on a node with [OVNCentral], for pods of
// 10.244.0.0/16. The nodes of the API get addresses of 100.64.0.0/16, its pods theirs.
// https://github.com/kubeovn/kube-ovn/blob/v1.16.2/charts/kube-ovn/templates/controller-deploy.yaml
func (d KubeOVN) Central(ctx context.Context, n *node.Node) {
	d.t.Helper()
	var later map[string]map[string]map[string]any
	if err := json.Unmarshal(laterOVN, &later); err != nil {
		d.t.Fatal(err)
	}
	for name, tables := range later {
		d.extend(n, "/usr/share/ovn/"+name+".ovsschema", tables)
	}
	n.Shell(ctx, `systemctl stop ovn-northd ovn-ovsdb-server-nb ovn-ovsdb-server-sb
rm -f /var/lib/ovn/*.db
systemctl start ovn-ovsdb-server-nb ovn-ovsdb-server-sb ovn-northd
until [ -S /run/ovn/ovnnb_db.sock ] && [ -S /run/ovn/ovnsb_db.sock ]; do sleep 0.1; done
ovn-nbctl set-connection ptcp:6641:0.0.0.0
ovn-sbctl set-connection ptcp:6642:0.0.0.0
mkdir -p /var/log/kube-ovn`)
	n.Copy(assets.KubeOVN(d.t)+"/controller", "/opt/lab/kube-ovn-controller", 0o755)
	kubeconfig := d.kubeconfig(n)
	d.start(ctx, n, "kube-ovn-controller", "ovn-nbctl lr-list | grep -q ovn-cluster",
		[]string{"KUBECONFIG=" + kubeconfig, "KUBE_NODE_NAME=" + n.Name(), "POD_NAMESPACE=kube-system", "POD_NAME=kube-ovn-controller", "POD_IP=" + n.Address(), "POD_IPS=" + n.Address()},
		[]string{"/opt/lab/kube-ovn-controller", "--kubeconfig=" + kubeconfig, "--ovn-nb-addr=tcp:127.0.0.1:6641", "--ovn-sb-addr=tcp:127.0.0.1:6642",
			"--default-cidr=10.244.0.0/16", "--default-gateway=10.244.0.1", "--default-gateway-check=false", "--node-switch-cidr=100.64.0.0/16", "--service-cluster-ip-range=10.96.0.0/12",
			"--enable-lb=false"}) // OVN of Debian 12 cannot select by addresses of IPv6
	d.wait("each node and each pod has its address", func() bool {
		return d.addressed("/api/v1/nodes") && d.addressed("/api/v1/namespaces/default/pods")
	})
}

// addressed says whether the controller gave each object of a list its address.
func (d KubeOVN) addressed(list string) bool {
	d.t.Helper()
	type object struct {
		Metadata struct{ Annotations map[string]string }
	}
	var of struct{ Items []object }
	d.server.Get(list, &of)
	return !slices.ContainsFunc(of.Items, func(o object) bool { return o.Metadata.Annotations["ovn.kubernetes.io/ip_address"] == "" })
}

// extend gives a database's schema columns that it has not.
func (d KubeOVN) extend(n *node.Node, path string, tables map[string]map[string]any) {
	d.t.Helper()
	var schema struct {
		Name    string                    `json:"name"`
		Version string                    `json:"version"`
		Tables  map[string]map[string]any `json:"tables"`
	}
	if err := json.Unmarshal([]byte(n.Read(path)), &schema); err != nil {
		d.t.Fatalf("%s: %v", path, err)
	}
	for table, columns := range tables {
		if schema.Tables[table] == nil {
			schema.Tables[table] = map[string]any{"columns": map[string]any{}, "isRoot": true}
		}
		for column, kind := range columns {
			schema.Tables[table]["columns"].(map[string]any)[column] = map[string]any{"type": kind}
		}
	}
	text, err := json.Marshal(schema)
	if err != nil {
		d.t.Fatal(err)
	}
	n.Write(path, string(text), 0o644)
}
