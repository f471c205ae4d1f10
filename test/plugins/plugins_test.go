package plugins

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/netwright/netwright/pkg/model/network"
	"github.com/netwright/netwright/test/assets"
	"github.com/netwright/netwright/test/needs"
)

// plugin is a program in a network's chain.
type plugin struct {
	network string // the network's row
	module  string // below modules
	tool    string // the program's name in its module
	name    string // its name in the chain
	// reads is a field that the program decodes from the conf. The program refuses a value of
	// another type, and names the field.
	reads string
	// stops is the error of an ADD with the whole conf, but without a pod, a daemon and a network.
	stops string
}

// long has modules whose builds need more than a minute of two processors each without a cache, and
// that no other suite uses.
var long = []string{"azure", "kubeovn"}

var table = []plugin{
	{"calico", "calico", "calico", "calico", "mtu", "stat /var/lib/calico/nodename: no such file"},
	{"canal", "calico", "calico", "calico", "mtu", "stat /var/lib/calico/nodename: no such file"},
	{"lyftvpc", "lyft", "ipam", "cni-ipvlan-vpc-k8s-ipam", "interfaceIndex", "169.254.169.254:80: connect: network is unreachable"},
	{"lyftvpc", "lyft", "ipvlan", "cni-ipvlan-vpc-k8s-ipvlan", "mode", `"master" field is required`}, // of the plugin before it, by its result
	{"lyftvpc", "lyft", "unnumbered-ptp", "cni-ipvlan-vpc-k8s-unnumbered-ptp", "hostInterface", "unable to get MTU for hostInterface"},
	{"azure", "azure", "plugin", "azure-vnet", "mode", `failed to find plugin "azure-vnet-ipam" in path [/nowhere]`},
	{"coil", "coil", "coil", "coil", "socket", "dial unix /run/coild.sock"},
	{"hybridnet", "hybridnet", "cni", "hybridnet", "server_socket", "unable to open netns"},
	{"amazonVPC", "amazonvpc", "routed-eni-cni-plugin", "aws-cni", "mtu", "dial unix /var/run/aws-node/ipamd.sock"},
	{"amazonVPC", "amazonvpc", "egress-cni-plugin", "egress-cni", "mtu", "must be called as a chained plugin"}, // with the result of the one before it
	{"cilium", "clientgo", "cilium-cni", "cilium-cni", "enable-debug", "dial unix /var/run/cilium/cilium.sock"},
	{"multus", "clientgo", "multus-shim", "multus-shim", "logLevel", "timed out waiting for the condition"}, // for the daemon; it does not say so
	{"kubeOVN", "kubeovn", "cni", "kube-ovn", "server_socket", "failed to Statfs"},
}

// TestPlugins calls each program as a runtime does.
func TestPlugins(t *testing.T) {
	t.Parallel()
	needs.Root(t) // for a network of its own without connections
	for _, p := range table {
		if os.Getenv("NETWRIGHT_PLUGINS") != "full" && slices.Contains(long, p.module) {
			continue
		}
		t.Run(p.network+"/"+p.name, func(t *testing.T) {
			row, ok := network.Find(p.network)
			if !ok || !slices.Contains(row.Conf.Chain, p.name) {
				t.Fatalf("the chain of %s is %v, without %s", p.network, row.Conf.Chain, p.name)
			}
			list := conf(t, row)
			at := slices.IndexFunc(list.Plugins, func(c map[string]any) bool { return c["type"] == p.name })
			if at < 0 {
				t.Fatalf("the conf of %s has no plugin %s: %v", p.network, p.name, list.Plugins)
			}
			one := list.Plugins[at] // as libcni passes it
			one["name"], one["cniVersion"] = list.Name, list.CNIVersion
			program := filepath.Join(assets.Plugins(t, p.module), p.tool) // one build at a time
			t.Parallel()                                                  // some wait half a minute for their daemon

			var answer struct{ SupportedVersions []string }
			if out, err := call(t, program, "VERSION", map[string]any{"cniVersion": list.CNIVersion}); err != nil || json.Unmarshal(out, &answer) != nil {
				t.Fatalf("VERSION: %v: %s", err, out)
			}
			if !slices.Contains(answer.SupportedVersions, list.CNIVersion) {
				t.Errorf("the conf is of version %s, and the program answers %v", list.CNIVersion, answer.SupportedVersions)
			}
			if out, err := call(t, program, "ADD", one); err == nil || !strings.Contains(string(out), escaped(p.stops)) {
				t.Errorf("an ADD without a pod: %v: %s, want %s", err, out, p.stops)
			}
			one[p.reads] = otherType(t, one[p.reads])
			if out, err := call(t, program, "ADD", one); err == nil || !strings.Contains(string(out), "cannot unmarshal") || !strings.Contains(string(out), "."+p.reads+" of type") {
				t.Errorf("an ADD with %s %v: %v: %s", p.reads, one[p.reads], err, out)
			}
		})
	}
}

// call runs a plugin in a network of its own without a link, for a pod that does not exist. Its
// files and logs are not the machine's.
func call(t *testing.T, program, command string, conf map[string]any) ([]byte, error) {
	t.Helper()
	in, err := json.Marshal(conf)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `mount -t tmpfs none /run && mount -t tmpfs none /var/log && exec "$0"`, program)
	cmd.Stdin = bytes.NewReader(in)
	cmd.Env = append(os.Environ(), "CNI_COMMAND="+command, "CNI_CONTAINERID=none", "CNI_NETNS=/nowhere/netns", "CNI_IFNAME=eth0", "CNI_PATH=/nowhere",
		"CNI_ARGS=IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME=none;K8S_POD_INFRA_CONTAINER_ID=none", "HOME="+t.TempDir(), "TMPDIR="+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS}
	return cmd.Output()
}

// otherType returns a value of another JSON type.
func otherType(t *testing.T, v any) any {
	t.Helper()
	switch v.(type) {
	case string:
		return 5
	case float64:
		return "five"
	case bool:
		return "yes"
	}
	t.Fatalf("a field that is %v cannot be made wrong", v)
	return nil
}

// escaped returns a text as JSON writes it.
func escaped(s string) string {
	quoted, _ := json.Marshal(s)
	return strings.Trim(string(quoted), `"`)
}

// conflist has the parts of a conf that a runtime reads.
type conflist struct {
	CNIVersion string
	Name       string
	Plugins    []map[string]any
}

// conf returns the conf that the network's installer writes. testdata has these as upstream has
// them, without logs on the host. If testdata has documents instead, the agent writes the conf.
func conf(t *testing.T, row network.Network) conflist {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", row.Conf.File))
	if errors.Is(err, fs.ErrNotExist) {
		content, err = written(row.Name)
	}
	var list conflist
	if err == nil {
		err = json.Unmarshal(content, &list)
	}
	if err == nil && path.Ext(row.Conf.File) == ".conf" { // one plugin, and not a list
		list.Plugins = make([]map[string]any, 1)
		err = json.Unmarshal(content, &list.Plugins[0])
	}
	if err != nil {
		t.Fatal(fmt.Errorf("reading the conf of %s: %w", row.Name, err))
	}
	return list
}
