package config

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/net"

	"github.com/netwright/netwright/pkg/config/document"
)

const (
	ourCluster  = "apiVersion: netwright.dev/v1alpha1\nkind: Cluster\nmetadata: {name: a.example.com}\nspec:\n  kubernetesVersion: 1.31.2\n"
	kopsCluster = "apiVersion: kops.k8s.io/v1alpha2\nkind: Cluster\nmetadata: {name: a.example.com}\nspec:\n  kubernetesVersion: 1.31.2\n"
	kopsGroup   = "apiVersion: kops.k8s.io/v1alpha2\nkind: InstanceGroup\nmetadata: {name: nodes}\nspec:\n  role: Node\n"
	calico      = "  networking: {calico: {}}\n"
)

// loadKops reads kOps' own documents of a node of the group nodes: the cluster's, and the group's
// and its NodeupConfig if they are given.
func loadKops(t *testing.T, cluster, group, nodeup string) *Node {
	t.Helper()
	sources, sel := []document.Source{{Path: "cluster-completed.spec", Data: []byte(cluster)}}, Select{}
	if group != "" {
		sources, sel.Group = append(sources, document.Source{Path: "instancegroup/nodes", Data: []byte(group)}), "nodes"
	}
	if nodeup != "" {
		sources = append(sources, document.Source{Path: "igconfig/node/nodes/nodeupconfig.yaml", Data: []byte(nodeup)})
	}
	n, diags := Load(keyKinds, sources, sel)
	if n == nil {
		t.Fatalf("right documents have errors: %v", diags)
	}
	return n
}

// refusedAsOurs reports documents of our own that are accepted.
func refusedAsOurs(t *testing.T, spec, want string) {
	t.Helper()
	n, diags := Load(keyKinds, []document.Source{{Path: "cluster.yaml", Data: []byte(ourCluster + spec)}}, Select{})
	if n != nil || !strings.Contains(diags.String(), want) {
		t.Errorf("%s: in a document of ours want %q, got %s", spec, want, diags)
	}
}

// TestKopsFirstOfAKeyCounts: kOps puts an instance group's files and hooks before the cluster's,
// and nodeup skips each one that it has already seen. The line that keeps it:
// pkg/config/decode/lists.go, First
func TestKopsFirstOfAKeyCounts(t *testing.T) {
	const (
		files = "  fileAssets:\n  - {name: motd, content: \"%\"}\n"
		twice = "FileAssets:\n- {name: motd, content: group}\n- {name: motd, path: /srv/kubernetes/assets/motd, content: of the cluster}\n"
		hooks = "  hooks:\n  - {name: a, manifest: ExecStart=/bin/a}\n  - {name: a, manifest: ExecStart=/bin/of-the-cluster}\n"
	)
	n := loadKops(t, kopsCluster+calico+strings.Replace(files, "%", "of the cluster", 1), kopsGroup+strings.Replace(files, "%", "group", 1), twice)
	if len(n.FileAssets) != 1 || n.FileAssets[0].Content.Size != int64(len("group")) || n.FileAssets[0].Origin.File != "igconfig/node/nodes/nodeupconfig.yaml" {
		t.Errorf("files: %+v", n.FileAssets)
	}
	if n = loadKops(t, kopsCluster+calico+hooks, "", ""); len(n.Hooks) != 1 || n.Hooks[0].Manifest.Reveal() != "ExecStart=/bin/a" {
		t.Errorf("hooks: %+v", n.Hooks)
	}
	refusedAsOurs(t, calico+hooks, `"a.service" is in this list twice`)
	refusedAsOurs(t, calico+"  "+strings.ReplaceAll(strings.Replace(twice, "F", "f", 1), "\n-", "\n  -"), `"/srv/kubernetes/assets/motd" is in this list twice`)
}

// TestKopsSysctlsOfSeveralLines: nodeup joins the entries with line ends and writes them unchanged,
// so each line is a sysctl. An error about a line, and its source, have the place of that line. The
// lines that keep it: pkg/config/kops/fields.go, EachLine; pkg/config/document/document.go, LinePos
func TestKopsSysctlsOfSeveralLines(t *testing.T) {
	const key = "net.core.somaxconn"
	for _, c := range []struct{ entries, want string }{
		{"[\"net.core.rmem_max=1\\nnet.core.wmem_max = 2\"]", "net.core.rmem_max=1@7:22 net.core.wmem_max=2@7:22"},
		{"\n  - |\n    # tune\n\n      net.core.somaxconn=1024\n    ; more\n    net.core.rmem_max=1\n  - net.core.wmem_max=2", key + "=1024@11:7 net.core.rmem_max=1@13:5 net.core.wmem_max=2@14:5"},
		{"\n  - |-\n    net.core.somaxconn=1\n    net.core.somaxconn=2", key + "=2@10:5"},
		{"\n  - >\n    net.core.somaxconn=1\n\n    net.core.rmem_max=3", key + "=1@8:5 net.core.rmem_max=3@8:5"},
		{"[\" \", \"\", \" # c\", \"\\n\", \"\\r\\n-net.core.somaxconn=1\\r\\n\"]", key + "=1@7:45"},
		{"\n  - net.ipv4.tcp_rmem = 4096\t131072\t6291456", "net.ipv4.tcp_rmem=4096\t131072\t6291456@8:5"},
	} {
		var got []string
		for _, s := range loadKops(t, kopsCluster+calico+"  sysctlParameters: "+c.entries+"\n", "", "").SysctlParameters {
			got = append(got, fmt.Sprintf("%s=%s@%d:%d", s.Key, s.Value, s.Origin.Line, s.Origin.Column))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%q\ngot  %q\nwant %q", c.entries, got, c.want)
		}
	}
	_, diags := Load(keyKinds, []document.Source{{Path: "cluster-completed.spec", Data: []byte(kopsCluster + calico + "  sysctlParameters:\n  - |\n    net.core.somaxconn=1\n    nonsense\n")}}, Select{})
	if !strings.Contains(diags.String(), `cluster-completed.spec:10:5: spec.sysctlParameters[0] is the string "nonsense"`) {
		t.Errorf("the errors do not name sysctlParameters[0]: %v", diags)
	}
	for _, entry := range []string{"\"net.core.rmem_max=1\\nnet.core.wmem_max=2\"", "\"\"", "\"# c\""} {
		refusedAsOurs(t, calico+"  sysctlParameters: ["+entry+"]\n", "spec.sysctlParameters[0] is the string")
	}
}

// TestKopsSysctlsOfTheClusterCount: a key is in the group's list and in the cluster's. nodeup
// writes the cluster's later in its file, so that one counts. Up to 1.27 a NodeupConfig has only
// the group's list, and later both. The line that keeps it: pkg/config/kops_nodeup.go, sysctlsLast
func TestKopsSysctlsOfTheClusterCount(t *testing.T) {
	const cluster = kopsCluster + calico + "  sysctlParameters: [net.core.somaxconn=1, net.core.rmem_max=1]\n"
	const group = "  sysctlParameters: [net.core.somaxconn=2, net.core.wmem_max=2]\n"
	const want = "net.core.somaxconn=1 net.core.rmem_max=1 net.core.wmem_max=2"
	for nodeup, want := range map[string]string{"": want,
		"SysctlParameters: [net.core.somaxconn=2, net.core.wmem_max=2]\n":                                                                        want,
		"SysctlParameters: [\"# group\", net.core.somaxconn=2, net.core.wmem_max=2, \"# cluster\", net.core.somaxconn=1, net.core.rmem_max=1]\n": want,
	} {
		if got := sysctlsOf(loadKops(t, cluster, kopsGroup+group, nodeup)); got != want {
			t.Errorf("%q: got %s, want %s", nodeup, got, want)
		}
	}
	ours := strings.NewReplacer("kops.k8s.io/v1alpha2", "netwright.dev/v1alpha1", "InstanceGroup", "NodeGroup").Replace(kopsGroup + group)
	n, diags := Load(keyKinds, []document.Source{{Path: "cluster-completed.spec", Data: []byte(cluster)}, {Path: "nodegroups/nodes.yaml", Data: []byte(ours)}}, Select{Group: "nodes"})
	if n == nil {
		t.Fatalf("right documents have errors: %v", diags)
	}
	if got := sysctlsOf(n); got != strings.Replace(want, "somaxconn=1", "somaxconn=2", 1) {
		t.Errorf("a group of ours: %s", got)
	}
}

func sysctlsOf(n *Node) string {
	var out []string
	for _, s := range n.SysctlParameters {
		out = append(out, s.Key+"="+s.Value)
	}
	return strings.Join(out, " ")
}

// TestKopsNamesOfHooks: nodeup names a hook by its number among the hooks for the node's role, in
// the cluster's and in the group's document separately. Hooks with a name, with a container, that
// are disabled or that do nothing count, too. The lines that keep it: pkg/config/extras/hooks.go,
// hookOf; pkg/config/kops/fields.go, HookName
func TestKopsNamesOfHooks(t *testing.T) {
	const hooks = "  hooks:\n  - {roles: [Master], manifest: ExecStart=/bin/a}\n  - {manifest: ExecStart=/bin/b}\n  - {name: c, manifest: ExecStart=/bin/c}\n" +
		"  - {execContainer: {image: d}}\n  - {roles: [Node, Master], manifest: ExecStart=/bin/e}\n  - {enabled: false}\n  - {roles: [Bastion], name: f}\n  - {before: [g.service]}\n  - {manifest: ExecStart=/bin/h}\n"
	for _, c := range []struct{ role, want string }{
		{"Node", "kops-hook-0 /bin/b c /bin/c kops-hook-3 /bin/e kops-hook-4 off kops-hook-6 /bin/h kops-hook-0-ig /bin/b kops-hook-3-ig /bin/e kops-hook-4-ig off kops-hook-6-ig /bin/h"},
		{"Master", "kops-hook-0 /bin/a kops-hook-1 /bin/b c /bin/c kops-hook-4 /bin/e kops-hook-5 off kops-hook-7 /bin/h"},
	} {
		group := strings.Replace(kopsGroup, "role: Node", "role: "+c.role, 1)
		if c.role == "Node" {
			group += hooks
		}
		var got []string
		for _, h := range loadKops(t, kopsCluster+calico+hooks, group, "").Hooks {
			got = append(got, strings.TrimSuffix(h.Name, ".service"), cmp.Or(strings.TrimPrefix(h.Manifest.Reveal(), "ExecStart="), "off"))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.role, got, c.want)
		}
	}
}

// TestKopsNamelessHookThatStopsTheAgent: kOps allows a hook without a name. An error about such a
// hook has the place of its manifest. The line that keeps it: pkg/config/extras/hooks.go, hookOf
func TestKopsNamelessHookThatStopsTheAgent(t *testing.T) {
	n := loadKops(t, kopsCluster+calico+"  hooks:\n  - {manifest: \"Conflicts=netwright-agent.service\"}\n", "", "")
	if len(n.Hooks) != 1 || !strings.Contains(n.Hooks[0].Refused, "Conflicts=netwright-agent.service") {
		t.Errorf("loadKops returns %+v", n.Hooks)
	}
}

// TestKopsUnset: a value that kOps reads as not set is not set, and causes no error. It does not
// replace a value of the cluster's document. The lines that keep it: pkg/config/kops/unset.go,
// DropUnset; pkg/config/decode/scalars.go, Number; pkg/config/decode/decoder.go, field, unset
func TestKopsUnset(t *testing.T) {
	const set = "  containerRuntime: containerd\n  kubelet: {hairpinMode: none, maxPods: 50, podCIDR: 10.0.0.0/24, cniBinDir: /opt/bin}\n"
	plain := loadKops(t, kopsCluster+calico+set, kopsGroup, "")
	for _, c := range []struct{ cluster, group, nodeup string }{
		{cluster: "  networking: {calico: {}, cilium: null, amazonvpc: , unknown: null}\n"},
		{cluster: "  networking: {calico: {encapsulationMode: \"\", wireguardEnabled: null, prometheusMetricsPort: 0, ipipMode: '', registry: \"\", mtu: 0}}\n"},
		{cluster: calico + "  podCIDR: \"\"\n  nonMasqueradeCIDR:\n  topology: {masters: \"\", nodes: null}\n  cloudProvider: \"\"\n  assets: null\n"},
		{cluster: calico + "  kubeAPIServer: {serviceNodePortRange: \"\"}\n  kubeProxy: {enabled: null, proxyMode: \"\"}\n  hooks: null\n  sysctlParameters: [null, \"\"]\n"},
		{cluster: calico, group: "  containerRuntime: \"\"\n  kubelet: {hairpinMode: \"\", maxPods: 0, podCIDR: \"\", cniBinDir: \"\", networkPluginMTU: 0}\n"},
		{cluster: calico + "  hooks: [{name: a, manifest: \"\"}]\n"},
		{cluster: calico, nodeup: "KubeletConfig: {hairpinMode: null, maxPods: 0}\nServiceNodePortRange: \"\"\nFileAssets: null\nSysctlParameters:\n"},
	} {
		n := loadKops(t, kopsCluster+set+c.cluster, kopsGroup+c.group, c.nodeup)
		if got, want := asJSON(t, n), asJSON(t, plain); got != want {
			t.Errorf("%+v\ngot  %s\nwant %s", c, got, want)
		}
	}
	v1alpha3 := strings.Replace(kopsCluster, "v1alpha2", "v1alpha3", 1) + calico + "  cloudProvider: {aws: {}, gce: null}\n"
	if n := loadKops(t, v1alpha3, "", ""); n.CloudProvider != "aws" {
		t.Errorf("cloud %q", n.CloudProvider)
	}
	if n := loadKops(t, kopsCluster+"  networking: {flannel: {backend: vxlan, iptablesResyncSeconds: 0}}\n", "", ""); n.Networking.Flannel.IptablesResyncSeconds != 5 {
		t.Errorf("a 0 keeps the default of flannel out: %+v", n.Networking.Flannel)
	}
	for spec, want := range map[string]string{
		"  networking: {calico: {}, cilium: }\n": `"cilium" has no value`, "  networking: {calico: {ipipMode: \"\"}}\n": `ipipMode is the string ""`,
		"  networking: {calico: {prometheusMetricsPort: 0}}\n": "prometheusMetricsPort is 0", calico + "  kubelet: {maxPods: 0}\n": "maxPods is 0",
	} {
		refusedAsOurs(t, spec, want)
	}
}

func asJSON(t *testing.T, n *Node) string {
	t.Helper()
	text, err := json.Marshal(n)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestKopsControlPlaneKubelet: kOps merges three settings of kubelet for the control plane: the
// cluster's, over it the cluster's for kubelet on the control plane, and over both the group's. An
// error has the place of the wrong value. The lines that keep it: pkg/config/kops/roles.go,
// ControlPlaneKubelet; pkg/config/load.go, read
func TestKopsControlPlaneKubelet(t *testing.T) {
	const all = "  kubelet: {maxPods: 200, hairpinMode: promiscuous-bridge, podCIDR: 10.0.0.0/24}\n"
	const own = "  %sKubelet: {maxPods: 50, hairpinMode: none, unknown: 1}\n"
	v1alpha2 := kopsCluster + calico + all + strings.Replace(own, "%s", "master", 1)
	v1alpha3 := strings.Replace(kopsCluster, "v1alpha2", "v1alpha3", 1) + strings.Replace(own, "%s", "controlPlane", 1) + calico + all
	for _, cluster := range []string{v1alpha2, v1alpha3} {
		for _, c := range []struct{ group, want string }{
			{"Node}", "200 promiscuous-bridge 10.0.0.0/24"},
			{"APIServer}", "200 promiscuous-bridge 10.0.0.0/24"},
			{"Master}", "50 none 10.0.0.0/24"},
			{"ControlPlane, kubelet: {maxPods: 30}}", "30 none 10.0.0.0/24"},
		} {
			group := strings.Replace(kopsGroup, "\n  role: Node", " {role: "+c.group, 1)
			k := loadKops(t, cluster, group, "").Kubelet
			if got := fmt.Sprint(k.MaxPods, " ", k.HairpinMode, " ", k.PodCIDR); got != c.want {
				t.Errorf("%s\n%sgot %s, want %s", cluster, group, got, c.want)
			}
		}
	}
	n := loadKops(t, v1alpha2, strings.Replace(kopsGroup, "Node", "Master", 1), "")
	if at := n.Origin("spec.kubelet.maxPods").String(); at != "cluster-completed.spec:8:19" {
		t.Errorf("maxPods is from %s", at)
	}
	bad := []document.Source{{Path: "cluster-completed.spec", Data: []byte(kopsCluster + calico + "  masterKubelet: {maxPods: many}\n")},
		{Path: "instancegroup/nodes", Data: []byte(strings.Replace(kopsGroup, "Node", "Master", 1))}}
	if _, diags := Load(keyKinds, bad, Select{Group: "nodes"}); !strings.Contains(diags.String(), "cluster-completed.spec:7:28: spec.kubelet.maxPods is the string") {
		t.Errorf("the errors do not name kubelet.maxPods: %v", diags)
	}
}

// TestKopsMirrorOfAnotherKind: nodeup of kOps 1.37 and later also fetches from gs:// and
// azureblob://, and the agent does not. Such a document is accepted, and the agent leaves the
// plugins to nodeup. The line that keeps it: pkg/config/kops/fields.go, Mirror
func TestKopsMirrorOfAnotherKind(t *testing.T) {
	for url, own := range map[string]bool{"gs://files/kops": true, "azureblob://account/assets/files": true, "https://user:password@files.example.com": true,
		"https://files.example.com/kops": false, "s3://files/kops": false} {
		cluster := kopsCluster + calico + "  assets: {fileRepository: \"" + url + "\"}\n"
		n, diags := Load(keyKinds, []document.Source{{Path: "cluster-completed.spec", Data: []byte(cluster)}}, Select{})
		if n == nil || n.OwnPlugins() != own || (n.AssetsMirror == "") != own || strings.Contains(diags.String(), "the CNI plugins are left as they are") != own || strings.Contains(diags.String(), "user:password") {
			t.Errorf("%s: Load returns %+v\n%s", url, n, diags)
		}
	}
	refusedAsOurs(t, calico+"  assetsMirror: gs://files/kops\n", "spec.assetsMirror is the string")
}

// TestKopsNodePorts: kOps accepts the forms of Kubernetes' own flags. The line that keeps it:
// pkg/config/decode/addresses.go, portEnds
func TestKopsNodePorts(t *testing.T) {
	for _, text := range []string{"30000-32767", "30000+2767", "30000", " 30000+0 ", "0-1", "2-1", "1+-1", "1+", "+1", "-1", "1-2+3", "x", "65535+1", "1-65536", "1-2-3", "1+2+3", "99999999999999999999+1", "1 - 2"} {
		_, diags := Load(keyKinds, []document.Source{{Path: "cluster-completed.spec", Data: []byte(kopsCluster + calico + "  kubeAPIServer: {serviceNodePortRange: \"" + text + "\"}\n")}}, Select{})
		want, err := net.ParsePortRange(text)
		if good := err == nil && want.Base > 0; good == diags.HasErrors() {
			t.Errorf("%q: %v, and Kubernetes says %v", text, diags, err)
		} else if good {
			n := loadKops(t, kopsCluster+calico, kopsGroup, "ServiceNodePortRange: \""+text+"\"\n")
			if n.NodePortRange.String() != want.String() {
				t.Errorf("%q: %s, and Kubernetes has %s", text, n.NodePortRange, want)
			}
		}
	}
	refusedAsOurs(t, calico+"  serviceNodePortRange: 30000+2767\n", "a range of ports such as 30000-32767")
}

// TestKopsKubeletLeftToNodeup: a note names what nodeup gives kubelet, for each place where kOps
// allows people to set it. The line that keeps it: pkg/config/kops/left_to_nodeup.go, leftToNodeup
func TestKopsKubeletLeftToNodeup(t *testing.T) {
	for _, c := range []struct{ version, kubelet string }{
		{"v1alpha2", "kubelet"}, {"v1alpha2", "masterKubelet"}, {"v1alpha3", "controlPlaneKubelet"},
	} {
		for _, field := range []string{"resolvConf", "hostnameOverride", "nodeIP"} {
			text := strings.Replace(kopsCluster, "v1alpha2", c.version, 1) + calico + "  " + c.kubelet + ": {" + field + ": x}\n"
			diags := CheckAll(keyKinds, []document.Source{{Path: "cluster-completed.spec", Data: []byte(text)}})
			if diags.HasErrors() || !strings.Contains(diags.String(), ": "+c.kubelet+"."+field+" (") {
				t.Errorf("%s\n%s", text, diags)
			}
		}
	}
}

// TestKopsSpellings: each version of kOps' documents has its own names for two fields of Cilium,
// and for one field that is left to nodeup. The lines that keep it: pkg/config/kops/dialects.go,
// V1Alpha3, Spelling; pkg/config/kops/left_to_nodeup.go, leftToNodeup
func TestKopsSpellings(t *testing.T) {
	const newer = "  networking: {cilium: {toFQDNsDNSRejectResponseCode: refused, toFQDNsEnablePoller: true}}\n  kubeProxy: {ipvsExcludeCIDRs: [10.0.0.0/8]}\n"
	v1alpha2 := kopsCluster + strings.NewReplacer("toFQDNsDNS", "toFqdnsDns", "toFQDNs", "toFqdns", "CIDRs", "Cidrs").Replace(newer)
	v1alpha3 := strings.Replace(kopsCluster, "v1alpha2", "v1alpha3", 1) + newer
	for _, text := range []string{v1alpha2, v1alpha3} {
		diags := CheckAll(keyKinds, []document.Source{{Path: "cluster-completed.spec", Data: []byte(text)}})
		if diags.HasErrors() || !strings.Contains(diags.String(), "kubeProxy.ipvsExcludeC") {
			t.Errorf("%s\n%s", text, diags)
		}
	}
	if _, diags := Load(keyKinds, []document.Source{{Path: "cluster-completed.spec", Data: []byte(kopsCluster + newer)}}, Select{}); !strings.Contains(diags.String(), `did you mean "toFqdnsDnsRejectResponseCode"`) {
		t.Errorf("v1alpha3's names in v1alpha2: %s", diags)
	}
}
