// Package takeover compares what another agent made on a node with what this agent wants there.
// `agent diff --nodeup` prints the result. The package changes nothing.
package takeover

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host/facts"
	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/reconcile/changes"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/tasks"
)

// Takeover is the result for one node.
type Takeover struct {
	Peer string `json:"peer"` // the other agent: nodeup
	// Stays is what the other agent made and this agent neither needs nor changes.
	Stays []Resource `json:"stays"`
	// ChangesHands is what the other agent made and this agent wants in the same form. From then on
	// this agent repairs it.
	ChangesHands []Resource `json:"changesHands"`
	// Differs is what the other agent made and this agent would change.
	Differs []Resource `json:"differs"`
	// New is what only this agent would make.
	New []Resource `json:"new"`
}

// Resource is a file or a setting on the node.
type Resource struct {
	Key     string         `json:"key"` // key of the plan, or a path in Stays
	Purpose string         `json:"purpose,omitempty"`
	Fields  []report.Field `json:"fields,omitempty"` // the present and the wanted values, in Differs
}

// made are the paths that nodeup writes and that matter to the network, each with its purpose. "*"
// at the end means all files in the directory. Source: kops/nodeup/pkg/model (sysctls.go,
// containerd.go, kubelet.go, firewall.go, networking/*.go), upup/pkg/fi/nodeup/install.go.
var made = []struct{ path, purpose string }{
	{"/etc/systemd/system/kops-configuration.service", "runs nodeup at each boot"},
	{"/lib/systemd/system/kops-configuration.service", "runs nodeup at each boot"},
	{sysctlFile, "kernel parameters"},
	{"/etc/containerd/config.toml", "containerd's configuration"},
	{"/etc/containerd/config-kops.toml", "containerd's configuration"},
	{"/etc/containerd/config-cni.template", "the template of kubenet's CNI configuration"},
	{"/etc/sysconfig/containerd", "containerd's flags"},
	{"/etc/sysconfig/kubelet", "kubelet's flags"},
	{"/var/lib/kubelet/kubelet.conf", "kubelet's configuration"},
	{"/var/lib/kubelet/kubeconfig", "kubelet's credentials"},
	{"/opt/cni/bin/*", "a CNI plugin"},
	{"/etc/cni/net.d/10-cni-ipvlan-vpc-k8s.conflist", "Lyft's CNI configuration"},
	{"/srv/kubernetes/calico/*", "Calico's etcd client certificate"},
	{"/etc/kubernetes/pki/cilium/*", "Cilium's etcd client certificate"},
	{"/var/lib/kube-router/kubeconfig", "kube-router's credentials"},
	{"/var/lib/kube-proxy/kubeconfig", "kube-proxy's credentials"},
	{"/etc/systemd/system/sys-fs-bpf.mount", "the mount of bpffs"},
	{"/lib/systemd/system/sys-fs-bpf.mount", "the mount of bpffs"},
	{"/etc/systemd/system/run-cilium-cgroupv2.mount", "the mount of Cilium's cgroup"},
	{"/lib/systemd/system/run-cilium-cgroupv2.mount", "the mount of Cilium's cgroup"},
	{"/opt/kops/bin/cni-iptables-setup", "the script of the chain IP-MASQ"},
	{"/lib/systemd/system/cni-iptables-setup.service", "makes the chain IP-MASQ"},
	{"/etc/systemd/system/cni-iptables-setup.service", "makes the chain IP-MASQ"},
	{"/opt/kops/bin/iptables-setup", "lets the host's firewall accept"},
	{"/etc/udev/rules.d/99-vpc-policy-routes.rules", "keeps the distribution off pods' interfaces"},
	{"/usr/lib/systemd/networkd.conf.d/40-disable-manage-foreign-routes.conf", "keeps networkd off the network's routes"},
	{"/etc/systemd/network/99-default.link", "keeps udev off the MAC addresses of pods' links"},
	{"/etc/systemd/network/75-eni-secondary.network", "keeps networkd off secondary interfaces"},
	// kOps 1.34 and 1.35
	{"/etc/systemd/network/10-eni-secondary.network", "keeps networkd off secondary interfaces"},
	{"/etc/kops/nm-cloud-setup-disabled", "says that nm-cloud-setup is off"},
	{"/etc/kops/firewalld-disabled", "says that firewalld is off"},
	{"/etc/cloud/cloud.cfg.d/99-disable-network-hotplug.cfg", "keeps cloud-init off the network after boot"},
	{"/etc/udev/rules.d/75-cloud-ifupdown.rules", "keeps ifupdown off pods' interfaces"},
}

// sysctlFile is nodeup's file of kernel parameters.
const sysctlFile = "/etc/sysctl.d/99-k8s-general.conf"

// Nodeup compares what nodeup made on a node with what the documents want there, and with the plan
// of a dry run. It is an error if nodeup never ran on the host: other installers make containerd's
// configuration and CNI plugins too.
func Nodeup(files hostfs.Files, g *graph.Graph[tasks.Task], plan *report.Plan) (*Takeover, error) {
	if !slices.Contains(facts.OtherAgents(files), "nodeup") {
		return nil, errors.New("nodeup made nothing on this host: this is for a node of kOps")
	}
	c := &comparing{out: Takeover{Peer: "nodeup", Stays: []Resource{}, ChangesHands: []Resource{}, Differs: []Resource{}, New: []Resource{}},
		items: map[string]report.Item{}, seen: map[string]bool{}}
	for _, step := range plan.Steps {
		for _, item := range step.Items {
			if step.State == report.Planned {
				c.items[item.Key] = item
			}
		}
	}
	wanted := map[string]string{} // path → key
	for _, t := range g.Order() {
		for _, key := range t.Owns() {
			if file := tasks.FileOf(key); file != "" {
				wanted[file] = string(key)
			}
		}
	}
	for _, m := range made {
		paths, err := glob(files, m.path)
		if err != nil {
			return nil, err
		}
		for _, p := range paths {
			key, ours := wanted[p]
			if !ours || changes.OfPeers([]string{"nodeup"}, graph.Key(key)) {
				c.out.Stays = append(c.out.Stays, Resource{Key: p, Purpose: m.purpose})
				continue
			}
			c.handed(key, m.purpose)
		}
	}
	if err := c.sysctls(files, g); err != nil {
		return nil, err
	}
	for _, step := range plan.Steps {
		for _, item := range step.Items {
			if _, changed := c.items[item.Key]; !changed || c.seen[item.Key] {
				continue
			}
			thing := Resource{Key: item.Key, Purpose: step.Why}
			if item.Op != "+" {
				thing.Fields = item.Fields
			}
			c.out.New = append(c.out.New, thing)
		}
	}
	return &c.out, nil
}

// comparing is a comparison in progress.
type comparing struct {
	out   Takeover
	items map[string]report.Item // changes of the plan, by key
	seen  map[string]bool        // keys that the other agent made too
}

// handed adds a key that both agents make.
func (c *comparing) handed(key, purpose string) {
	c.seen[key] = true
	if item, changed := c.items[key]; changed {
		c.out.Differs = append(c.out.Differs, Resource{Key: key, Purpose: purpose, Fields: item.Fields})
		return
	}
	c.out.ChangesHands = append(c.out.ChangesHands, Resource{Key: key, Purpose: purpose})
}

// sysctls adds the parameters in nodeup's file, with the values in the file, which the next boot
// sets.
func (c *comparing) sysctls(files hostfs.Files, g *graph.Graph[tasks.Task]) error {
	raw, err := files.ReadFile(sysctlFile)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	for line := range strings.Lines(string(raw)) {
		key, value, ok := strings.Cut(strings.TrimLeft(strings.TrimSpace(line), "-"), "=")
		key, value = strings.TrimSpace(key), strings.Join(strings.Fields(value), " ")
		if !ok || strings.HasPrefix(key, "#") || strings.HasPrefix(key, ";") {
			continue
		}
		name := graph.Key("sysctl:" + key)
		t, ours := g.Find(name)
		want, isSysctl := t.(tasks.Sysctl)
		switch {
		case !ours || !isSysctl:
			c.out.Stays = append(c.out.Stays, Resource{Key: string(name), Purpose: value})
		case strings.Join(strings.Fields(want.Value), " ") != value:
			c.seen[string(name)] = true
			c.out.Differs = append(c.out.Differs, Resource{Key: string(name), Purpose: want.Why,
				Fields: []report.Field{{Name: "value", Before: value, After: want.Value}}})
		default: // the plan may still change it, because the kernel may have another value
			c.handed(string(name), value)
		}
	}
	return nil
}

// glob returns the existing paths that match a pattern, which may end with "*".
func glob(files hostfs.Files, pattern string) (paths []string, err error) {
	dir, all := strings.CutSuffix(pattern, "/*")
	if !all {
		if _, err := files.Lstat(pattern); err != nil {
			return nil, tasks.IgnoreMissing(err)
		}
		return []string{pattern}, nil
	}
	names, err := files.ReadDir(dir)
	if err != nil {
		return nil, tasks.IgnoreMissing(err)
	}
	for _, name := range names {
		paths = append(paths, path.Join(dir, name))
	}
	slices.Sort(paths)
	return paths, nil
}
