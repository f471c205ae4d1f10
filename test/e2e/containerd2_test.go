package e2e

import (
	"context"
	"encoding/json"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/netwright/netwright/test/assets"
	"github.com/netwright/netwright/test/node"
	"github.com/netwright/netwright/test/rerun"
)

// containerd2 returns options of a node with a containerd 2.x release and this configuration file.
func containerd2(t *testing.T, config string) node.Options {
	t.Helper()
	return node.Options{
		Copies: map[string]string{"/usr/local/bin/containerd": assets.Containerd2(t)},
		Files: map[string]string{
			"/etc/systemd/system/containerd.service.d/10-version.conf": "[Unit]\nStartLimitIntervalSec=0\n[Service]\nExecStart=\nExecStart=/usr/local/bin/containerd\n",
			"/etc/containerd/config.toml":                              config,
		},
	}
}

const imports = "version = 3\nimports = ['/etc/containerd/conf.d/*.toml']\n"

// Kubernetes 1.24 and later use kubenet on containerd 2. containerd takes the template from the
// agent's drop-in file. It renders the template when kubelet tells it the node's pod CIDR, and a
// pod gets an address of that CIDR.
func TestKubenetOnContainerd2(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := newStore(t, "", nil)
	s.write(t, "cluster.yaml", document("Cluster", cluster, "  kubernetesVersion: 1.36.0\n  podCIDR: 10.244.0.0/16\n  nonMasqueradeCIDR: 10.0.0.0/8\n  networking:\n    kubenet: {}\n"+s.pluginSpec(t)))
	path, text := nodeDocument("node-1", "10.77.0.11", "[10.244.1.0/24]")
	s.write(t, path, text)
	n := node.NewFabric(t).Node(t, options(t, s, "node-1", "10.77.0.11", containerd2(t, imports)))

	n.Must(ctx, "netwright", "--once")
	if got := criCNI(ctx, t, n).ConfTemplate; got != "/etc/containerd/config-cni.template" {
		t.Fatalf("containerd has conf_template %q", got)
	}
	tellPodCIDR(t, n, "10.244.1.0/24")
	deadline := time.Now().Add(2 * time.Minute) // only so that a test that hangs ends
	for ready := false; !ready; ready, _ = networkStatus(ctx, t, n) {
		if time.Now().After(deadline) {
			t.Fatalf("containerd has no network:\n%s", n.Must(ctx, "sh", "-c", "ls -l /etc/cni/net.d; cat /etc/cni/net.d/*"))
		}
		time.Sleep(100 * time.Millisecond)
	}
	pod := n.AddPod(ctx, "pod-1", node.PodOptions{})
	if want := netip.MustParsePrefix("10.244.1.0/24"); len(pod.Addresses) != 1 || !want.Contains(pod.Addresses[0]) {
		t.Errorf("the pod has %v, want one of %s", pod.Addresses, want)
	}
	if p := plan(ctx, t, n, 0); p.Summary.Changes()+p.Summary.Waiting != 0 {
		t.Errorf("a dry run after it: %+v", p.Summary)
	}
}

// A document's directories reach containerd 2, whatever its own file contains, and its CRI reports
// them. The agent never sets both bin_dir and bin_dirs: with both, containerd does not serve CRI.
// The lines that keep it: pkg/model/runtime.go, listsBinDirs (without BinDirKey CRI fails from the
// second case on), containerd (OtherTables); pkg/host/facts/runtime_config.go, replacesSections
// (where it does not run).
func TestContainerd2TakesTheDirectories(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := bridgeStore(t)
	s.write(t, "cluster.yaml", document("Cluster", cluster,
		strings.Replace(bridgeSpec, "bridge: {}", "bridge: {}\n    cni: {binDir: /srv/cni/bin, confDir: /srv/cni/net.d}", 1)+s.pluginSpec(t)))
	n := node.NewFabric(t).Node(t, options(t, s, "node-1", "10.77.0.11", containerd2(t, imports)))

	for _, c := range []struct {
		name, config string
		imported     string // conf.d/99-more.toml
		down         bool   // containerd does not run during the agent's run
		dropIn       bool
		binDirs      []string
	}{
		{name: "imports", config: imports, dropIn: true, binDirs: []string{"/srv/cni/bin", "/opt/cni/bin"}},
		{name: "imports and the old key", config: imports + "[plugins.'io.containerd.cri.v1.runtime'.cni]\nbin_dir = '/usr/lib/cni'\n", dropIn: true, binDirs: []string{"/srv/cni/bin"}},
		{name: "no imports", config: "version = 3\n", binDirs: []string{"/srv/cni/bin", "/opt/cni/bin"}},
		{name: "of containerd 1", config: "version = 2\n[plugins.\"io.containerd.grpc.v1.cri\".cni]\n  bin_dir = \"/opt/cni/bin\"\n  conf_dir = \"/etc/cni/net.d\"\n", binDirs: []string{"/srv/cni/bin"}},
		{name: "of containerd 1, with an import", config: "version = 2\nimports = ['/etc/containerd/conf.d/*.toml']\n[plugins.\"io.containerd.grpc.v1.cri\".cni]\n  bin_dir = \"/opt/cni/bin\"\n",
			imported: "version = 2\n[plugins.\"io.containerd.grpc.v1.cri\".containerd]\n  default_runtime_name = \"runc\"\n", binDirs: []string{"/srv/cni/bin"}},
		{name: "of version 2 with the new key, and an import, not running", config: "version = 2\nimports = ['/etc/containerd/conf.d/*.toml']\n[plugins.\"io.containerd.grpc.v1.cri\".cni]\n  bin_dirs = [\"/opt/cni/bin\"]\n",
			imported: "version = 2\n[plugins.\"io.containerd.grpc.v1.cri\".containerd]\n  default_runtime_name = \"runc\"\n", down: true, binDirs: []string{"/srv/cni/bin", "/opt/cni/bin"}},
		{name: "an import of containerd 1", config: imports, imported: "version = 2\n[plugins.\"io.containerd.grpc.v1.cri\".cni]\n  bin_dir = \"/usr/lib/cni\"\n", dropIn: true,
			binDirs: []string{"/usr/lib/cni"}}, // the last counts, and a note names it
		{name: "an import of containerd 1, by its name", config: "version = 3\nimports = ['/etc/containerd/conf.d/99-more.toml']\n",
			imported: "version = 2\n[plugins.\"io.containerd.grpc.v1.cri\".cni]\n  bin_dir = \"/usr/lib/cni\"\n  conf_dir = \"/x\"\n", binDirs: []string{"/srv/cni/bin"}},
		{name: "not running", config: imports, down: true, dropIn: true, binDirs: []string{"/srv/cni/bin"}},
		{name: "not running, new key", config: imports + "[plugins.'io.containerd.cri.v1.runtime'.cni]\nbin_dirs = ['/usr/lib/cni']\n", down: true, dropIn: true,
			binDirs: []string{"/srv/cni/bin", "/usr/lib/cni"}},
		{name: "its own default", binDirs: []string{"/srv/cni/bin", "/opt/cni/bin"}, dropIn: true},
	} {
		n.Must(ctx, "systemctl", "stop", "containerd.service")
		n.Must(ctx, "rm", "-rf", "/etc/containerd/conf.d", "/var/lib/netwright")
		n.Write("/etc/containerd/config.toml", c.config, 0o644)
		if c.imported != "" {
			n.Write("/etc/containerd/conf.d/99-more.toml", c.imported, 0o644)
		}
		if c.config == "" {
			n.Must(ctx, "sh", "-c", "containerd config default >/etc/containerd/config.toml")
		}
		if !c.down {
			n.Must(ctx, "systemctl", "start", "containerd.service")
		}
		n.Must(ctx, "netwright", "--once")
		n.Must(ctx, "systemctl", "start", "containerd.service")
		got := criCNI(ctx, t, n)
		if got.ConfDir != "/srv/cni/net.d" || !slices.Equal(got.BinDirs, c.binDirs) {
			t.Errorf("%s: containerd has conf_dir %s and bin_dirs %q, want %q", c.name, got.ConfDir, got.BinDirs, c.binDirs)
		}
		if is := n.Run(ctx, "test", "-e", "/etc/containerd/conf.d/50-netwright.toml").Code == 0; is != c.dropIn {
			t.Errorf("%s: our own file is there: %v, want %v", c.name, is, c.dropIn)
		}
		if res := n.Run(ctx, "netwright", "--dry-run"); res.Code != 0 {
			t.Errorf("%s: a dry run after it exits %d\n%s%s", c.name, res.Code, res.Stdout, res.Stderr)
		}
	}

	// Without a file of containerd the agent has none to extend, and makes none. Its error says how
	// to make one.
	n.Must(ctx, "rm", "-rf", "/etc/containerd", "/var/lib/netwright")
	n.Must(ctx, "systemctl", "restart", "containerd.service")
	res := n.Run(ctx, "netwright", "--once")
	if want := "containerd config default > /etc/containerd/config.toml"; res.Code != 1 || !strings.Contains(res.Stdout, want) {
		t.Errorf("without a file: exit %d, want 1 and %q\n%s%s", res.Code, want, res.Stdout, res.Stderr)
	}
}

// Another file has the last word about containerd's directory of confs, and the documents name
// another directory. The conf stays where containerd reads it, with a warning, until that file is
// gone. The line that keeps it: pkg/model/network_input.go, view (readsOtherConfs).
func TestContainerd2KeepsTheConfThatItReads(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := bridgeStore(t)
	o := containerd2(t, imports)
	const late, section = "/etc/containerd/conf.d/99-late.toml", "version = 3\n[plugins.'io.containerd.cri.v1.runtime'.cni]\n"
	o.Files[late] = section + "conf_dir = '/etc/cni/net.d'\n"
	n := node.NewFabric(t).Node(t, options(t, s, "node-1", "10.77.0.11", o))
	n.Must(ctx, "netwright", "--once")
	awaitNetwork(ctx, t, n)
	n.Write("/srv/netwright/"+cluster+"/cluster.yaml", document("Cluster", cluster,
		strings.Replace(bridgeSpec, "bridge: {}", "bridge: {}\n    cni: {confDir: /srv/cni/net.d}", 1)+s.pluginSpec(t)), 0o644)
	if said := n.Must(ctx, "netwright", "--once"); !strings.Contains(said, "it sets conf_dir and wins over our") {
		t.Errorf("nothing warns:\n%s", said)
	}
	for range 2 {
		n.Is(ctx, "test -e /etc/cni/net.d/05-netwright-bridge.conflist")
		awaitNetwork(ctx, t, n)
		n.Must(ctx, "netwright", "--once")
	}
	n.Must(ctx, "netwright", "verify")
	n.Shell(ctx, "rm "+late+"; systemctl restart containerd; netwright --once")
	awaitNetwork(ctx, t, n)
	if got := criCNI(ctx, t, n); got.ConfDir != "/srv/cni/net.d" || n.Run(ctx, "test", "-e", "/etc/cni/net.d/05-netwright-bridge.conflist").Code == 0 {
		t.Errorf("without that file containerd has %+v", got)
	}
}

// containerd starts without CRI if its plugin refuses the settings. If the agent restarts it then,
// it restores what it has changed, and says what it has seen. The line that keeps it:
// pkg/reconcile/probation/judge.go, lostCRI.
func TestContainerd2ThatLosesItsCRI(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := bridgeStore(t)
	s.write(t, "cluster.yaml", document("Cluster", cluster,
		strings.Replace(bridgeSpec, "bridge: {}", "bridge: {}\n    cni: {confDir: /srv/cni/net.d}", 1)+s.pluginSpec(t)))
	n := node.NewFabric(t).Node(t, options(t, s, "node-1", "10.77.0.11", containerd2(t, imports)))
	criStatus(ctx, t, n)
	const broken = "/etc/containerd/conf.d/90-broken.toml" // written since containerd started
	n.Write(broken, "version = 3\n[plugins.'io.containerd.cri.v1.runtime'.containerd]\ndefault_runtime_name = 'none'\n", 0o644)
	res := n.Run(ctx, "netwright", "--once")
	if want := "it serves no CRI"; res.Code != 1 || !strings.Contains(res.Stdout, want) {
		t.Errorf("exit %d, want 1 and %q\n%s%s", res.Code, want, res.Stdout, res.Stderr)
	}
	if n.Run(ctx, "test", "-e", "/etc/containerd/conf.d/50-netwright.toml").Code == 0 {
		t.Error("the agent's file is there")
	}
}

// The pass that restarts containerd is killed before it looks whether that serves CRI. It repairs a
// file, so it has no checkpoint. The next pass looks. The lines that keep it:
// pkg/reconcile/probation/probation.go, Begin (Served); pkg/reconcile/probation/judge.go, lostCRI.
func TestContainerd2ThatLosesItsCRIBelowAKill(t *testing.T) {
	t.Parallel()
	rerun.Never(t, "it kills the agent")
	ctx := t.Context()
	s := bridgeStore(t)
	s.write(t, "cluster.yaml", document("Cluster", cluster,
		strings.Replace(bridgeSpec, "bridge: {}", "bridge: {}\n    cni: {confDir: /srv/cni/net.d}", 1)+s.pluginSpec(t)))
	o := containerd2(t, imports)
	o.Files["/etc/systemd/system/containerd.service.d/20-kill.conf"] = "[Service]\nExecStartPost=/bin/sh -c '! test -e /run/kill || { rm /run/kill; pkill -KILL -x netwright; }'\n"
	n := node.NewFabric(t).Node(t, options(t, s, "node-1", "10.77.0.11", o))
	criStatus(ctx, t, n)
	n.Must(ctx, "netwright", "--once")
	n.Write("/etc/containerd/conf.d/90-broken.toml", "version = 3\n[plugins.'io.containerd.cri.v1.runtime'.containerd]\ndefault_runtime_name = 'none'\n", 0o644)
	n.Shell(ctx, "echo '# by hand' >>/etc/containerd/conf.d/50-netwright.toml; touch /run/kill")
	if res := n.Run(ctx, "netwright", "--once"); res.Code == 0 || n.Run(ctx, "test", "-e", "/run/kill").Code == 0 {
		t.Fatalf("it was not killed: exit %d\n%s%s", res.Code, res.Stdout, res.Stderr)
	}
	res := n.Run(ctx, "netwright", "--once")
	if want := "it serves no CRI"; res.Code != 1 || !strings.Contains(res.Stdout, want) {
		t.Errorf("exit %d, want 1 and %q\n%s%s", res.Code, want, res.Stdout, res.Stderr)
	}
}

// Somebody converts containerd's file below a running daemon. The daemon reads it anew before it
// repairs it: no key goes into a table that the file's new version does not have, and containerd is
// restarted once. The line that keeps it: pkg/daemon/watch_host.go, inShared.
func TestContainerdsFileIsConvertedBelowTheDaemon(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := bridgeStore(t)
	s.write(t, "cluster.yaml", document("Cluster", cluster,
		strings.Replace(bridgeSpec, "bridge: {}", "bridge: {}\n    cni: {confDir: /srv/cni/net.d}", 1)+s.pluginSpec(t)))
	o := containerd2(t, "version = 2\nimports = ['/etc/containerd/conf.d/*.toml']\n")
	o.Enable = []string{"netwright-agent.service"}
	n := node.NewFabric(t).Node(t, options(t, s, "node-1", "10.77.0.11", o))
	if got := criCNI(ctx, t, n); got.ConfDir != "/srv/cni/net.d" {
		t.Fatalf("before it containerd has %+v", got)
	}
	n.Must(ctx, "netwright", "--once") // the daemon has heard of that restart
	n.Write("/root/converted.toml", imports, 0o644)
	n.Must(ctx, "cp", "/root/converted.toml", "/etc/containerd/config.toml")
	until(t, n, "the file of ours is there", "test -e /etc/containerd/conf.d/50-netwright.toml")
	if got := criCNI(ctx, t, n); got.ConfDir != "/srv/cni/net.d" {
		t.Errorf("after it containerd has %+v", got)
	}
	n.Must(ctx, "netwright", "--once")
	if now := n.Read("/etc/containerd/config.toml"); now != imports {
		t.Errorf("containerd's own file:\n%s", now)
	}
	if log := n.Must(ctx, "journalctl", "-b", "-o", "cat", "-u", "containerd"); strings.Count(log, "Stopping containerd") != 2 {
		t.Errorf("containerd was restarted more often than at first and after the conversion:\n%s", log)
	}
	if res := n.Run(ctx, "netwright", "--dry-run"); res.Code != 0 {
		t.Errorf("a dry run after it exits %d\n%s%s", res.Code, res.Stdout, res.Stderr)
	}

	// Back to version 2: 1.7 does not start with the agent's file.
	n.Write("/root/old.toml", "version = 2\nimports = ['/etc/containerd/conf.d/*.toml']\n", 0o644)
	n.Must(ctx, "cp", "/root/old.toml", "/etc/containerd/config.toml")
	until(t, n, "the file of ours is gone", "! test -e /etc/containerd/conf.d/50-netwright.toml")
	n.Must(ctx, "netwright", "--once")
	if got := criCNI(ctx, t, n); got.ConfDir != "/srv/cni/net.d" {
		t.Errorf("with version 2 again containerd has %+v", got)
	}
}

// When no document names the directories any more, containerd gets its own directories and the conf
// in them again by one pass. This holds both for a file of ours and for containerd's own file. The
// lines that keep it: pkg/host/facts/runtime.go, withoutOurs; pkg/reconcile/plan.go,
// withoutOurKeys.
func TestContainerd2GetsItsOwnDirectoriesBack(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := bridgeStore(t)
	spec := func(cni string) string {
		return document("Cluster", cluster, strings.Replace(bridgeSpec, "bridge: {}", "bridge: {}\n    cni: {"+cni+"}", 1)+s.pluginSpec(t))
	}
	for name, config := range map[string]string{"imports": imports, "no imports": "version = 3\n"} {
		n := node.NewFabric(t).Node(t, options(t, s, "node-1", "10.77.0.11", containerd2(t, config)))
		for cni, want := range map[string]criSettings{
			"binDir: /srv/other": {ConfDir: "/etc/cni/net.d", BinDirs: []string{"/srv/other", "/opt/cni/bin"}},
			"":                   {ConfDir: "/etc/cni/net.d", BinDirs: []string{"/opt/cni/bin"}},
		} {
			n.Write("/srv/netwright/"+cluster+"/cluster.yaml", spec("binDir: /srv/cni/bin, confDir: /srv/cni/net.d"), 0o644)
			n.Must(ctx, "netwright", "--once")
			n.Write("/srv/netwright/"+cluster+"/cluster.yaml", spec(cni), 0o644)
			n.Must(ctx, "netwright", "--once")
			awaitNetwork(ctx, t, n)
			if got := criCNI(ctx, t, n); got.ConfDir != want.ConfDir || !slices.Equal(got.BinDirs, want.BinDirs) {
				t.Errorf("%s, %q: containerd has %+v, want %+v", name, cni, got, want)
			}
			if res := n.Run(ctx, "netwright", "--dry-run"); res.Code != 0 {
				t.Errorf("%s, %q: a dry run after it exits %d\n%s%s", name, cni, res.Code, res.Stdout, res.Stderr)
			}
		}
	}
}

// A reset leaves containerd its directories while pods live, since containerd needs them to find
// the plugins that remove the pods, also where containerd is not installed at the time of a reset.
// The lines that keep it: pkg/tasks/removal.go, awaitPods; pkg/reset/decide.go, podsNeed;
// pkg/reconcile/ownership/removals_order.go, IsConf.
func TestResetLeavesTheDirectoriesWhilePodsLive(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := bridgeStore(t)
	s.write(t, "cluster.yaml", document("Cluster", cluster,
		strings.Replace(bridgeSpec, "bridge: {}", "bridge: {}\n    cni: {binDir: /srv/cni/bin, confDir: /srv/cni/net.d}", 1)+s.pluginSpec(t)))
	pause := map[string]string{"/srv/pause.tar": pauseImage(t)}
	two := containerd2(t, imports+"[plugins.'io.containerd.cri.v1.runtime']\nrestrict_oom_score_adj = true\n"+
		"[plugins.'io.containerd.cri.v1.images'.pinned_images]\nsandbox = 'localhost/pause:1'\n")
	maps.Copy(two.Copies, pause)
	for name, o := range map[string]node.Options{"containerd 2": two, "containerd 1": {Copies: pause}} {
		n := node.NewFabric(t).Node(t, options(t, s, "node-1", "10.77.0.11", o))
		n.Shell(ctx, "echo >/etc/resolv.conf; ctr -n k8s.io images import /srv/pause.tar")
		n.Must(ctx, "netwright", "--once")
		pod := runPod(ctx, t, n, "pod-1", false)
		if out := n.Must(ctx, "netwright", "reset"); !strings.Contains(out, "their runtime needs it to remove them") {
			t.Errorf("%s: the reset does not wait for the pod:\n%s", name, out)
		}
		if got := criCNI(ctx, t, n); got.ConfDir != "/srv/cni/net.d" {
			t.Errorf("%s has %+v beside a pod", name, got)
		}
		if got := n.Must(ctx, "sysctl", "-n", "net.ipv4.ip_forward"); got != "1\n" {
			t.Errorf("%s: net.ipv4.ip_forward is %s beside a pod", name, got)
		}
		const unit = "/lib/systemd/system/containerd.service"
		n.Shell(ctx, "systemctl stop containerd; rm -f /run/containerd/containerd.sock; mv "+unit+" /root/; systemctl daemon-reload; "+
			"netwright reset; mv /root/containerd.service "+unit+"; systemctl daemon-reload; systemctl start containerd")
		removePod(ctx, t, n, pod)
		n.Must(ctx, "netwright", "reset")
		if got := criCNI(ctx, t, n); got.ConfDir != "/etc/cni/net.d" || n.Run(ctx, "test", "-e", "/srv/cni").Code == 0 {
			t.Errorf("%s has %+v without a pod", name, got)
		}
	}
}

// criSettings has containerd's CNI settings as its CRI reports them.
type criSettings struct {
	BinDirs      []string `json:"binDirs"`
	ConfDir      string   `json:"confDir"`
	ConfTemplate string   `json:"confTemplate"`
}

func criCNI(ctx context.Context, t *testing.T, n *node.Node) criSettings {
	t.Helper()
	var config struct {
		CNI criSettings `json:"cni"`
	}
	if err := json.Unmarshal([]byte(criStatus(ctx, t, n).GetInfo()["config"]), &config); err != nil {
		t.Fatal(err)
	}
	return config.CNI
}

func runtimeClient(t *testing.T, n *node.Node) cri.RuntimeServiceClient {
	t.Helper()
	conn, err := grpc.NewClient("unix://"+n.Path("/run/containerd/containerd.sock"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return cri.NewRuntimeServiceClient(conn)
}
