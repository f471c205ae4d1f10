package network

import (
	"fmt"
	"slices"
)

// Disagreement is a difference between two statements of kOps about a network, in documents or in
// code. It says which one Netwright follows.
type Disagreement struct {
	Networks []string `json:"-"`
	Says     string   `json:"says"`
	But      string   `json:"but"`
	Here     string   `json:"held"`
	Source   string   `json:"source"`
}

// Describe returns the disagreement in one line.
func (d Disagreement) Describe() string {
	return fmt.Sprintf("kOps: %s; but %s (%s). Here: %s", d.Says, d.But, d.Source, d.Here)
}

const kopsTree = "https://github.com/kubernetes/kops/blob/"

// Disagreements lists where the table in kOps' documents (docs/networking.md, releases 1.28 to
// 1.32) differs from kOps' code or from later documents. Each entry was read at its source.
func Disagreements() []Disagreement {
	const validation = "pkg/apis/kops/validation/validation.go"
	return []Disagreement{
		{Networks: []string{"flannel", "kubeRouter", "kindnet"}, Source: kopsTree + "release-1.33/docs/networking.md",
			Says: "flannel and kube-router are deprecated by 1.27 and removed with Kubernetes 1.28, and there is no " +
				"kindnet (documents up to 1.32)",
			But:  "from 1.33 on the documents have neither mark, and kindnet as experimental since 1.32",
			Here: "the newer documents"},
		{Networks: []string{"flannel"}, Source: kopsTree + "release-1.29/" + validation,
			Says: "flannel is removed with Kubernetes 1.28",
			But: "the code refuses it in kOps 1.28 and 1.29 only, takes it again from 1.30 on, and ships it today; " +
				"since then the backend has no default",
			Here: "not refused, and `backend` must be said"},
		{Networks: []string{"kubeRouter"}, Source: kopsTree + "master/" + validation,
			Says: "kube-router is removed with Kubernetes 1.28",
			But:  "no release ever refused it, and today's ships v2; it only wants no kube-proxy and no IPv6",
			Here: "not refused; IPv6 is in a cluster of kOps, and the plan says that kube-proxy must not run"},
		{Networks: []string{"canal"}, Source: "https://github.com/kubernetes/kops/pull/17642",
			Says: "canal is removed with Kubernetes 1.28",
			But:  "its template was shipped up to 1.33, and the API kept its field until 1.34",
			Here: "refused from Kubernetes 1.28 on, as the code does"},
		{Networks: []string{"weave"}, Source: kopsTree + "release-1.27/" + validation,
			Says: "weave is deprecated by 1.23 and removed with Kubernetes 1.23",
			But: "kOps 1.23 to 1.27 refuse it for Kubernetes 1.23 and up only; from 1.28 on for every release, and " +
				"the template is gone",
			Here: "refused from Kubernetes 1.23 on, with a warning below"},
		{Networks: []string{"romana"}, Source: kopsTree + "release-1.19/" + validation,
			Says: "romana is deprecated by 1.18 and removed with 1.19",
			But:  "the template was there from 1.8 to 1.18 without a word of it in the validation of those",
			Here: "refused from Kubernetes 1.19 on, which only kOps 1.19 and newer install"},
		{Networks: []string{"external", "classic"}, Source: kopsTree + "release-1.32/" + validation,
			Says: "nothing: the table has no row for either",
			But: "external is refused for Kubernetes 1.26 and up since kOps 1.26, and always since 1.32; classic " +
				"since Kubernetes 1.4",
			Here: "external refused from Kubernetes 1.26 on, classic always"},
		{Networks: []string{"kubenet"}, Source: kopsTree + "master/nodeup/pkg/model/containerd.go",
			Says: "kubenet is stable since 1.5, a Linux bridge, and the default",
			But: "from Kubernetes 1.24 on it is containerd's conf_template with ptp, host-local and portmap, and " +
				"since kOps 1.26 the default is cilium",
			Here: "the code: kubelet's plugin below 1.24 with docker, the template otherwise; no network is a default"},
		{Networks: []string{"calico"},
			Source: kopsTree + "release-1.5/upup/models/cloudup/resources/addons/networking.projectcalico.org",
			Says:   "calico is experimental since 1.6",
			But:    "the template is there in 1.5",
			Here:   "not refused with an older Kubernetes"},
		{Networks: []string{"calico"}, Source: kopsTree + "master/pkg/model/components/calico.go",
			Says: "`encapsulationMode` may be ipip, vxlan or none",
			But:  "the code overwrites what the document says: ipip, on IPv6 none, on Azure vxlan",
			Here: "the document's word; the code's values are the defaults"},
		{Networks: []string{"kindnet"}, Source: kopsTree + "master/pkg/model/components/kindnet.go",
			Says: "the default version is v1.8.0 (comment of the API)",
			But:  "the code fills in v1.0.1, from another registry",
			Here: "no default: the version is its DaemonSet's, and the node does not need it"},
		{Networks: []string{"kopeio"}, Source: "https://github.com/kopeio/networking",
			Says: "kopeio has no mark of deprecation",
			But:  "its image is of 2018, and the last commit of March 2024",
			Here: "a warning that the project sleeps"},
		{Networks: []string{"cilium"}, Source: kopsTree + "master/nodeup/pkg/model/sysctls.go",
			Says: "net.ipv4.conf.lxc*.rp_filter and cilium_* are 0 besides `all`",
			But: "Cilium's own /etc/sysctl.d/99-zzz-override_cilium.conf, which a container of its DaemonSet writes, " +
				"has the same two",
			Here: "all three: the two patterns in our file, for links that appear before Cilium has written its own"},
		{Networks: []string{"canal"},
			Source: "https://github.com/projectcalico/calico/blob/master/manifests/canal.yaml",
			Says:   "canal's chain ends with bandwidth (its last template)",
			But:    "Calico's own manifest has calico and portmap alone",
			Here:   "the plugin is installed, and nothing misses it where the conf does not call it"},
		{Networks: []string{"kubeRouter"},
			Source: "https://github.com/cloudnativelabs/kube-router/tree/master/daemonset",
			Says:   "kube-router's chain is bridge, then portmap",
			But:    "its own manifests have no portmap, but for one",
			Here:   "the plugin is installed; without it in the conf a hostPort is not published"},
	}
}

// disagreementsOn returns the disagreements about one network.
func disagreementsOn(name string) []Disagreement {
	return slices.DeleteFunc(Disagreements(), func(d Disagreement) bool { return !slices.Contains(d.Networks, name) })
}
