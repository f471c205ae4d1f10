package daemons

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/netwright/netwright/test/assets"
	"github.com/netwright/netwright/test/etcd"
	"github.com/netwright/netwright/test/node"
)

// Calico does on nodes what the DaemonSet calico-node does, with the datastore etcd.
type Calico struct {
	t      testing.TB
	server *etcd.Server
	dir    string // with the certificates that the etcd wants to see
	env    []string
}

// lab is where Bring puts what a test has beside a network's own files.
const lab = "/opt/lab/calico"

// NewCalico keeps a cluster's policy in an etcd: pods may talk to all, as Calico's controllers say
// it of a namespace without a policy. Its parts show the etcd the certificates of a directory, as
// the agent installs them; "": [Calico.Bring] brings some. environment is what calico-node gets
// beside what all manifests have.
// https://github.com/projectcalico/calico/blob/master/manifests/calico-etcd.yaml
func NewCalico(t testing.TB, server *etcd.Server, certificates string, environment ...string) Calico {
	t.Helper()
	all := `[{"action": "Allow", "source": {}, "destination": {}}]`
	put(t, server, "/calico/resources/v3/projectcalico.org/profiles/k8s-pod-network", `{"apiVersion": "projectcalico.org/v3", "kind": "Profile",
		"metadata": {"name": "k8s-pod-network", "uid": "00000000-0000-4000-8000-000000000001", "creationTimestamp": "2026-01-01T00:00:00Z"},
		"spec": {"ingress": `+all+`, "egress": `+all+`}}`)
	return Calico{t, server, cmp.Or(certificates, lab), environment}
}

// Bring copies the daemon and the settings for the etcd to a node.
func (d Calico) Bring(n *node.Node) {
	d.t.Helper()
	n.Copy(assets.Calico(d.t)+"/calico-node", "/opt/lab/calico-node", 0o755)
	if d.dir == lab {
		pair := d.server.Authority.Client("calico-client")
		for name, text := range map[string]string{"ca.pem": d.server.Authority.PEM, "calico-client.pem": pair.Cert, "calico-client-key.pem": pair.Key} {
			n.Write(lab+"/"+name, text, 0o600)
		}
	}
	n.Write(lab+"/env", d.environment(n), 0o644)
}

// environment is that of calico-node, for a unit's EnvironmentFile. Its own scripts say to Felix
// once more what its other parts know.
// https://github.com/projectcalico/calico/blob/master/node/filesystem/etc/service/available/felix/run
func (d Calico) environment(n *node.Node) string {
	var out strings.Builder
	for _, line := range append([]string{
		"NODENAME=" + n.Name(), "CALICO_K8S_NODE_REF=" + n.Name(), "FELIX_FELIXHOSTNAME=" + n.Name(),
		"DATASTORE_TYPE=etcdv3", "FELIX_DATASTORETYPE=etcdv3", "ETCD_ENDPOINTS=" + d.server.Endpoint, "FELIX_ETCDENDPOINTS=" + d.server.Endpoint,
		"ETCD_CA_CERT_FILE=" + d.dir + "/ca.pem", "FELIX_ETCDCAFILE=" + d.dir + "/ca.pem",
		"ETCD_CERT_FILE=" + d.dir + "/calico-client.pem", "FELIX_ETCDCERTFILE=" + d.dir + "/calico-client.pem",
		"ETCD_KEY_FILE=" + d.dir + "/calico-client-key.pem", "FELIX_ETCDKEYFILE=" + d.dir + "/calico-client-key.pem",
		"CALICO_DISABLE_FILE_LOGGING=true", "FELIX_DEFAULTENDPOINTTOHOSTACTION=ACCEPT", "FELIX_HEALTHENABLED=true",
		"FELIX_MTUIFACEPATTERN=host0",       // it knows the names of real links
		"FELIX_USAGEREPORTINGENABLED=false", // it would ask a host of its makers
	}, d.env...) {
		fmt.Fprintln(&out, line)
	}
	return out.String()
}

// Install does what its init container does: the plugins, those of others in its chain among them,
// the conf list of this name, and the plugin's credentials for the API, which nobody asks here.
// ipam is the conf's member of that name.
//
// The plugin is not told to ask for the policies of Kubernetes: it would ask the API for each pod.
func (d Calico) Install(ctx context.Context, n *node.Node, conf, ipam string) {
	d.t.Helper()
	for _, name := range []string{"calico", "calico-ipam"} {
		n.Copy(assets.Calico(d.t)+"/calico", "/opt/cni/bin/"+name, 0o755)
	}
	for _, name := range []string{"host-local", "loopback", "portmap"} { // its image has them
		n.Copy(assets.CNIPlugins(d.t)+"/"+name, "/opt/cni/bin/"+name, 0o755)
	}
	n.Write("/etc/cni/net.d/calico-kubeconfig", `{"apiVersion": "v1", "kind": "Config", "current-context": "it",
		"clusters": [{"name": "it", "cluster": {"server": "https://127.0.0.1:1"}}], "contexts": [{"name": "it", "context": {"cluster": "it"}}]}`, 0o600)
	installConf(ctx, n, conf, fmt.Sprintf(`{
  "name": "k8s-pod-network",
  "cniVersion": "0.3.1",
  "plugins": [
    {
      "type": "calico", "log_level": "info", "log_file_path": "/var/log/calico/cni/cni.log", "nodename": %q, "mtu": 0,
      "etcd_endpoints": %q, "etcd_ca_cert_file": "%[3]s/ca.pem",
      "etcd_cert_file": "%[3]s/calico-client.pem", "etcd_key_file": "%[3]s/calico-client-key.pem",
      "ipam": %[4]s,
      "kubernetes": {"kubeconfig": "/etc/cni/net.d/calico-kubeconfig"}
    },
    {"type": "portmap", "snat": true, "capabilities": {"portMappings": true}}
  ]
}
`, n.Name(), d.server.Endpoint, d.dir, ipam))
}

// Start starts calico-node as the unit calico-node, and waits until Felix says that it is ready: it
// has programmed the node then. Before that calico-node registers the node and the cluster's pool,
// and takes the addresses of its tunnels. [Calico.Bring] comes first.
// https://github.com/projectcalico/calico/blob/master/node/filesystem/etc/rc.local
func (d Calico) Start(ctx context.Context, n *node.Node) {
	d.t.Helper()
	n.Must(ctx, "systemd-run", "--quiet", "--collect", "--unit=calico-node", "--property=EnvironmentFile="+lab+"/env", "--property=TimeoutStartSec=infinity",
		"--property=ExecStartPre=/opt/lab/calico-node -startup",
		"--property=ExecStartPre=/opt/lab/calico-node -allocate-tunnel-addrs -allocate-tunnel-addrs-run-once", "--",
		"/opt/lab/calico-node", "-felix")
	if !n.Await(ctx, "curl -fsS -o /dev/null http://localhost:9099/readiness") {
		d.t.Fatalf("node %s: Felix does not come up:\n%s", n.Name(), n.Run(ctx, "journalctl", "-u", "calico-node", "-n", "60", "--no-pager").Stdout)
	}
}

// Peer registers a node that does not exist, from node n. Felix on n then has routes to that node's
// pods.
func (d Calico) Peer(ctx context.Context, n *node.Node, name string, environment ...string) {
	d.t.Helper()
	for _, step := range []string{"-startup", "-allocate-tunnel-addrs -allocate-tunnel-addrs-run-once"} {
		n.Shell(ctx, "set -a; . "+lab+"/env; "+strings.Join(environment, " ")+" NODENAME="+name+" CALICO_K8S_NODE_REF="+name+
			" CALICO_NODENAME_FILE="+lab+"/peer; /opt/lab/calico-node "+step)
	}
}
