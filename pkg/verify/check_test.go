package verify

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/cri"
	"github.com/netwright/netwright/pkg/model/network"
	"github.com/netwright/netwright/pkg/tasks"
	"github.com/netwright/netwright/test/assets"
	"github.com/netwright/netwright/test/needs"
	"github.com/netwright/netwright/test/netns"
)

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// podsOf is a container runtime with the answers of a test.
type podsOf struct {
	pods []cri.Pod
	err  error
}

func (r podsOf) Pods(context.Context) ([]cri.Pod, error) { return r.pods, r.err }

// with returns the lab's host with other facts and another runtime.
func (l *lab) with(facts host.Facts, runtime podsOf) host.View {
	v := l.host.Live.View()
	v.Facts, v.Runtime = &facts, runtime
	return v
}

// lab has a conf directory and a directory of plugins, which are the real reference plugins and
// those that a test adds.
type lab struct {
	t         *testing.T
	conf, bin string
	host      *host.Host
	runtime   host.RuntimeFacts
	pods      []cri.Pod
	podsErr   error
}

func newLab(t *testing.T) *lab {
	h, err := host.Open(t.Context(), host.Options{Root: "/"})
	ok(t, err)
	t.Cleanup(func() { h.Close() })
	l := &lab{t: t, conf: t.TempDir(), bin: t.TempDir(), host: h}
	for _, name := range []string{"bridge", "host-local", "portmap", "loopback"} {
		data, err := os.ReadFile(filepath.Join(assets.CNIPlugins(t), name))
		ok(t, err)
		ok(t, os.WriteFile(filepath.Join(l.bin, name), data, 0o755))
	}
	l.write("10-flannel.conflist", `{"cniVersion":"1.0.0","name":"cbr0","plugins":[{"type":"bridge","ipam":{"type":"host-local","subnet":"10.244.1.0/24"}},{"type":"portmap"}]}`)
	return l
}

func (l *lab) write(name, text string) {
	l.t.Helper()
	ok(l.t, os.WriteFile(filepath.Join(l.conf, name), []byte(text), 0o600))
}

// plugin writes a program that answers VERSION with these specs.
func (l *lab) plugin(name, supports string) {
	l.t.Helper()
	text := "#!/bin/sh\necho '{\"cniVersion\":\"1.0.0\",\"supportedVersions\":[" + supports + "]}'\n"
	ok(l.t, os.WriteFile(filepath.Join(l.bin, name), []byte(text), 0o755))
}

// conf returns the task for the conf for which the lab's network waits.
func conf(l *lab) *tasks.WaitConf {
	return &tasks.WaitConf{Network: "flannel", Writer: "its DaemonSet writes it", Dir: l.conf, File: "10-flannel.conflist", BinDirs: []string{"/nowhere", l.bin}, FirstOnly: true}
}

func (l *lab) check(signs ...network.HealthCheck) []Result {
	l.t.Helper()
	net, _ := network.Find("flannel")
	view := l.with(host.Facts{Runtime: l.runtime}, podsOf{l.pods, l.podsErr})
	results, err := Check(l.t.Context(), view, l.host, Expect{Network: net, HealthChecks: signs, Minimums: map[string]string{"bridge": "0.2.0", "host-local": "0.2.0"},
		Conf: conf(l)})
	ok(l.t, err)
	return results
}

func (l *lab) bad(results []Result) (out []string) {
	for _, r := range results {
		if r.State == Failed || r.State == Waiting {
			out = append(out, fmt.Sprintf("%s %s: %s → %s", r.Check, r.State, r.Seen, r.Next))
		}
	}
	return out
}

// An MTU of the documents that another program must write into the conf is compared with the conf:
// the plan of the node has nothing of it.
func TestTheConfsMTU(t *testing.T) {
	calico, _ := network.Find("calico")
	for wanted, want := range map[int]string{
		0:    "",
		1440: "conf MTU ok: 1440, as in the documents → ",
		1350: "conf MTU failed: pods get links of 1440 bytes, and the documents have an mtu of 1350 → the agent does not set it: set calico's own configuration in the cluster to the same value",
	} {
		l := newLab(t)
		l.write("10-flannel.conflist", `{"cniVersion":"1.0.0","name":"k8s-pod-network","plugins":[{"type":"bridge","mtu":1440,"ipam":{"type":"host-local","subnet":"10.244.1.0/24"}},{"type":"portmap"}]}`)
		results, err := Check(t.Context(), l.with(host.Facts{Runtime: l.runtime}, podsOf{}), l.host, Expect{Network: calico, Conf: conf(l), MTU: wanted})
		ok(t, err)
		got := ""
		for _, r := range results {
			if r.Check == "conf MTU" {
				got = fmt.Sprintf("%s %s: %s → %s", r.Check, r.State, r.Seen, r.Next)
			}
		}
		if got != want {
			t.Errorf("an mtu of %d:\n%s, want\n%s", wanted, got, want)
		}
	}
}

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(*lab)
		want  []string // one text for each complaint, in order; none: all is well
	}{
		{"all is well", func(*lab) {}, nil},
		{"no conf", func(l *lab) { ok(l.t, os.Remove(l.conf+"/10-flannel.conflist")) }, []string{"conf waiting: flannel: no 10-flannel.conflist"}},
		{"a conf that is cut off", func(l *lab) { l.write("10-flannel.conflist", `{"name":"cbr0",`) }, []string{"conf waiting: flannel: "}},
		{"another conf has an earlier name", func(l *lab) { l.write("05-old.conf", `{"name":"old","type":"ptp"}`) }, []string{"conf failed: " + "05-old.conf"}},
		{"a broken conf has an earlier name", func(l *lab) { l.write("05-old.json", `{`) }, []string{"repair it or remove it"}},
		{"a plugin is missing", func(l *lab) { ok(l.t, os.Remove(l.bin+"/portmap")) }, []string{"plugin portmap failed: portmap is not in /nowhere, "}},
		{"an IPAM plugin is missing", func(l *lab) { ok(l.t, os.Remove(l.bin+"/host-local")) }, []string{"plugin host-local failed: host-local, which bridge calls, is not in"}},
		{"a plugin is not executable", func(l *lab) { ok(l.t, os.Chmod(l.bin+"/bridge", 0o644)) }, []string{"is not executable (mode 0644) → `chmod 0755 "}},
		{"a plugin is on a mount with noexec", func(l *lab) {
			needs.Root(l.t)
			ok(l.t, unix.Mount(l.bin, l.bin, "", unix.MS_BIND, ""))
			l.t.Cleanup(func() { ok(l.t, unix.Unmount(l.bin, unix.MNT_DETACH)) })
			ok(l.t, unix.Mount("", l.bin, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_NOEXEC, ""))
		}, []string{"plugin bridge failed: run DIR/bridge: its file system is mounted noexec → `findmnt -T DIR`",
			"plugin host-local failed", "plugin portmap failed"}},
		{"a plugin is a directory", func(l *lab) { ok(l.t, os.Remove(l.bin+"/bridge")); ok(l.t, os.Mkdir(l.bin+"/bridge", 0o755)) }, []string{"is a directory, no program"}},
		{"a plugin is a pipe", func(l *lab) { ok(l.t, os.Remove(l.bin+"/bridge")); ok(l.t, syscall.Mkfifo(l.bin+"/bridge", 0o755)) }, []string{"is a device, pipe or socket, no program"}},
		{"a plugin is a link to a program", func(l *lab) {
			ok(l.t, os.Rename(l.bin+"/bridge", l.bin+"/b"))
			ok(l.t, os.Symlink("b", l.bin+"/bridge"))
		}, nil},
		{"a plugin is a dangling link", func(l *lab) { ok(l.t, os.Remove(l.bin+"/bridge")); ok(l.t, os.Symlink("gone", l.bin+"/bridge")) }, []string{"plugin bridge failed: bridge is not in"}},
		{"a plugin is a damaged program", func(l *lab) { ok(l.t, os.WriteFile(l.bin+"/bridge", []byte("\x7fELF damaged"), 0o755)) }, []string{"does not answer VERSION"}},
		{"a program that is no plugin", func(l *lab) { ok(l.t, os.WriteFile(l.bin+"/bridge", []byte("#!/bin/sh\necho hello\n"), 0o755)) }, []string{"does not answer VERSION"}},
		{"a plugin that hangs", func(l *lab) { ok(l.t, os.WriteFile(l.bin+"/bridge", []byte("#!/bin/sh\nexec sleep 1000\n"), 0o755)) }, []string{"does not answer VERSION: plugin bridge: run `" + "DIR/bridge`: no answer within 5s"}},
		{"a name that libcni refuses", func(l *lab) {
			l.write("10-flannel.conflist", `{"name":"a/b","plugins":[{"type":"bridge"}]}`)
			ok(l.t, os.Chtimes(l.conf+"/10-flannel.conflist", time.Time{}, time.Now().Add(-time.Hour)))
		}, []string{"conf failed: flannel: no pod is added by 10-flannel.conflist (its DaemonSet writes it), which has not changed since: libcni refuses its `name` \"a/b\""}},
		{"the conf asks for a newer spec than the plugin supports", func(l *lab) { l.plugin("bridge", `"0.1.0","0.2.0","0.4.0"`) }, []string{"supports spec 0.1.0, 0.2.0, 0.4.0, and is called with 1.0.0"}},
		{"a plugin is older than the network needs", func(l *lab) {
			l.write("10-flannel.conflist", `{"name":"cbr0","plugins":[{"type":"bridge"}]}`)
			l.plugin("bridge", `"0.1.0"`)
		}, []string{"supports spec 0.1.0, and flannel needs at least 0.2.0"}},
		{"the newest of several versions is asked for", func(l *lab) {
			l.write("10-flannel.conflist", `{"cniVersions":["0.4.0","1.1.0"],"name":"cbr0","plugins":[{"type":"bridge"}]}`)
			l.plugin("bridge", `"0.4.0"`)
		}, []string{"supports spec 0.4.0, and is called with 1.1.0"}},
		{"an IPAM type that is no plugin", func(l *lab) {
			l.write("10-flannel.conflist", `{"cniVersion":"0.4.0","name":"cbr0","plugins":[{"type":"bridge","ipam":{"type":"romana-ipam"}}]}`)
		}, nil},
		{"a delegate is missing", func(l *lab) {
			l.write("10-flannel.conflist", `{"cniVersion":"0.4.0","name":"cbr0","plugins":[{"type":"flannel"}]}`)
			l.plugin("flannel", `"0.4.0"`)
			ok(l.t, os.Remove(l.bin+"/bridge"))
		}, []string{"bridge, which flannel calls, is not in"}},
		{"Multus in front", func(l *lab) {
			l.write("00-multus.conf", `{"cniVersion":"0.3.1","name":"m","type":"multus","delegates":[{"cniVersion":"0.3.1","name":"x","type":"macvlan"}]}`)
			l.plugin("multus", `"0.3.1"`)
		}, []string{"macvlan, which multus calls, is not in"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLab(t)
			c.spoil(l)
			got := l.bad(l.check())
			if len(got) != len(c.want) {
				t.Fatalf("%d complaints, want %d:\n%s", len(got), len(c.want), strings.Join(got, "\n"))
			}
			for i, want := range c.want {
				if !strings.Contains(strings.NewReplacer(l.conf+"/", "", l.bin, "DIR").Replace(got[i]), want) {
					t.Errorf("%s\nwant %s", got[i], want)
				}
			}
		})
	}
}

func TestRuntimeCheck(t *testing.T) {
	yes, no := true, false
	loaded := host.RuntimeFacts{Name: "containerd", Socket: "/x", NetworkReady: &yes, LoadedNetwork: "cbr0", LoadedConf: "10-flannel.conflist", ConfDir: "/etc/cni/net.d"}
	change := func(do func(*host.RuntimeFacts)) host.RuntimeFacts { rt := loaded; do(&rt); return rt }
	for _, c := range []struct {
		name    string
		runtime host.RuntimeFacts
		want    string
	}{
		{"loaded", loaded, "runtime ok: containerd has loaded network \"cbr0\" of 10-flannel.conflist"},
		{"none", host.RuntimeFacts{}, "runtime not here"},
		{"silent", host.RuntimeFacts{Name: "containerd", Socket: "/x"}, "runtime waiting: containerd does not answer"},
		{"CRI-O is silent", host.RuntimeFacts{Name: "cri-o"}, "runtime waiting: cri-o does not answer over CRI: check that it runs and serves CRI: `systemctl status crio.service`"},
		{"CRI-O does not say", host.RuntimeFacts{Name: "cri-o", Socket: "/x", NetworkReady: &yes}, "runtime ok: cri-o says"},
		{"CRI-O and a new conf", host.RuntimeFacts{Name: "cri-o", Socket: "/x", NetworkReady: &no}, "runtime waiting: cri-o has no network yet"},
		{"not ready", change(func(r *host.RuntimeFacts) {
			r.NetworkReady, r.NetworkReason, r.LoadedNetwork = &no, "cni plugin not initialized", ""
		}), "runtime failed: containerd has no network: cni plugin not initialized"},
		{"CRI switched off", change(func(r *host.RuntimeFacts) {
			r.CRIDisabled, r.CRIDisabledBy, r.NetworkReady = true, []string{"cri in /etc/containerd/config.toml"}, nil
		}), "runtime failed: the CRI of containerd is switched off: disabled_plugins has cri in /etc/containerd/config.toml"},
		{"could not load", change(func(r *host.RuntimeFacts) { r.LoadError = "no network config found" }), "runtime failed: containerd has loaded network \"cbr0\", and could not load"},
		{"the runtime has loaded another conf", change(func(r *host.RuntimeFacts) { r.LoadedConf, r.LoadedNetwork = "05-old.conf", "old" }), "of 05-old.conf, and 10-flannel.conflist is in force"},
		{"the loaded conf is gone", change(func(r *host.RuntimeFacts) { r.LoadedConf = "" }), "which no file in /etc/cni/net.d has any more"},
		{"the loaded conf has changed since", change(func(r *host.RuntimeFacts) { r.LoadedOld = true }), "as it was before its last change"},
	} {
		l := newLab(t)
		l.runtime = c.runtime
		var got []string
		for _, r := range l.check() {
			if r.Check == "runtime" {
				got = append(got, fmt.Sprintf("%s %s: %s: %s", r.Check, r.State, r.Seen, r.Next))
			}
		}
		if len(got) != 1 || !strings.Contains(got[0], c.want) {
			t.Errorf("%s: %q, want %s", c.name, got, c.want)
		}
	}
}

// Links and tables belong to the kernel of a namespace, and paths are real files.
func TestSigns(t *testing.T) {
	node := netns.New(t)
	node.Run("ip", "link", "add", "br-up", "type", "bridge")
	node.Run("ip", "link", "set", "br-up", "up")
	node.Run("ip", "address", "add", "10.85.0.1/16", "dev", "br-up")
	node.Run("ip", "link", "add", "br-down", "type", "bridge")
	node.Run("nft", "add", "table", "inet", "kindnet-ipmasq")
	dir := t.TempDir()
	ok(t, os.WriteFile(filepath.Join(dir, "lease"), []byte("LEASE=10.244.1.1/24\nOTHER=10.85.0.1/16\n"), 0o600))
	ok(t, os.WriteFile(filepath.Join(dir, "cilium_calls"), nil, 0o600))
	served, err := net.Listen("unix", dir+"/served.sock")
	ok(t, err)
	defer served.Close()
	left, err := net.ListenUnix("unix", &net.UnixAddr{Name: dir + "/left.sock"})
	ok(t, err)
	left.SetUnlinkOnClose(false) // as a killed program leaves it
	ok(t, left.Close())
	ok(t, syscall.Mkfifo(dir+"/pipe", 0o600))
	node.Do(func() {
		l := newLab(t)
		for _, c := range []struct {
			sign network.HealthCheck
			want string
		}{
			{network.HealthCheck{Link: "br-up", Kind: "bridge"}, "ok: x: br-up is up"},
			{network.HealthCheck{Link: "br-u*"}, "ok: x: br-up is up"},
			{network.HealthCheck{Link: "br-up", Kind: "vxlan"}, `failed: x: br-up is of kind "bridge", not vxlan`},
			{network.HealthCheck{Link: "br-down"}, "failed: x: br-down is down"},
			{network.HealthCheck{Link: "br-none", Missing: "make it"}, "failed: x: br-none is not there → make it"},
			{network.HealthCheck{Path: dir + "/lease", Lease: "br-up LEASE"}, "failed: x: br-up has 10.85.0.1/16, and the lease is 10.244.1.1/24"},
			{network.HealthCheck{Path: dir + "/lease", Lease: "br-up OTHER"}, "ok: x: " + dir + "/lease, br-up has 10.85.0.1/16"},
			{network.HealthCheck{Path: dir + "/lease", Lease: "br-up NONE"}, "ok: x: "},
			{network.HealthCheck{Path: dir + "/none", Lease: "br-up LEASE"}, "ok: x: " + dir + "/none is not there"},
			{network.HealthCheck{Path: dir + "/lease", Lease: "br-down LEASE"}, "br-down has no address yet"},
			{network.HealthCheck{Path: dir + "/lease", Lease: "br-none LEASE"}, "br-none has no address yet"},
			{network.HealthCheck{Path: dir + "/cilium_*"}, "ok: x: " + dir + "/cilium_calls"},
			{network.HealthCheck{Path: dir + "/calico_*"}, "failed: x: " + dir + "/calico_* is not there → look at the network's pod"},
			{network.HealthCheck{Path: dir + "/cilium_calls/below"}, "below is not there"},
			{network.HealthCheck{Path: dir + "/served.sock"}, "ok: x: " + dir + "/served.sock"},
			{network.HealthCheck{Path: dir + "/left.sock"}, "failed: x: nobody listens at " + dir + "/left.sock → look at the network's pod"},
			{network.HealthCheck{Path: dir + "/pipe"}, "ok: x: " + dir + "/pipe"},
			{network.HealthCheck{Path: dir, Link: "br-down"}, "failed: x: br-down is down"},
			{network.HealthCheck{Table: "inet kindnet-ipmasq"}, "ok: x: table inet kindnet-ipmasq"},
			{network.HealthCheck{Table: "ip kindnet-ipmasq"}, "failed: x: nft table ip kindnet-ipmasq is not there"},
		} {
			c.sign.Text = "x"
			results := l.check(c.sign)
			last := results[len(results)-1]
			if got := fmt.Sprintf("%s: %s → %s", last.State, last.Seen, last.Next); last.Check != "sign of life" || !strings.Contains(got, c.want) {
				t.Errorf("%+v: %s, want %s", c.sign, got, c.want)
			}
		}
		// Without a conf the network has not yet said that it is ready.
		ok(t, os.Remove(filepath.Join(l.conf, "10-flannel.conflist")))
		results := l.check(network.HealthCheck{Text: "x", Link: "br-none"})
		if last := results[len(results)-1]; last.State != Waiting || Worst(results) != Waiting {
			t.Errorf("check returns %+v", results)
		}
	})
}

// A file that a network writes with its first pod is no failure before that pod.
func TestFilesOfPods(t *testing.T) {
	at := filepath.Join(t.TempDir(), "ipam.json")
	sign := network.HealthCheck{Text: "x", Path: at, Pods: true, Missing: "why"}
	l := newLab(t)
	for _, c := range []struct {
		pods []cri.Pod
		err  error
		want string
	}{
		{nil, nil, "ok: x: no pod with an address runs here yet"},
		{[]cri.Pod{{Name: "agent", Ready: true, HostNetwork: true}, {Name: "job"}}, nil, "ok: x: no pod with an address"},
		{[]cri.Pod{{Name: "web", Ready: true}}, nil, "failed: x: " + at + " is not there → why"},
		{nil, host.ErrNoLiveState, "not here: x"},
		{nil, errors.New("broken"), "failed: x: the runtime does not say which pods run here: broken → check that it runs"},
	} {
		l.pods, l.podsErr = c.pods, c.err
		results := l.check(sign)
		last := results[len(results)-1]
		if got := fmt.Sprintf("%s: %s → %s", last.State, last.Seen, last.Next); !strings.Contains(got, c.want) {
			t.Errorf("%+v: %s, want %s", c.pods, got, c.want)
		}
	}
	ok(t, os.WriteFile(at, nil, 0o600))
	results := l.check(sign)
	if last := results[len(results)-1]; last.State != OK || !strings.Contains(last.Seen, at) {
		t.Errorf("it is there: %+v", last)
	}
}

// Each pod with an address has its link. Without a pod, or if the pods are not known, that is no
// failure.
func TestSignsOfPods(t *testing.T) {
	node := netns.New(t)
	node.Run("ip", "link", "add", "knet1", "type", "veth", "peer", "name", "p1")
	node.Run("ip", "link", "add", "knet2", "type", "veth", "peer", "name", "p2")
	node.Run("ip", "link", "add", "knet3", "type", "bridge")
	node.Run("ip", "link", "set", "knet1", "master", "knet3")
	for _, link := range []string{"knet1", "p1", "knet3"} {
		node.Run("ip", "link", "set", link, "up")
	}
	web, db := cri.Pod{Name: "web", Ready: true}, cri.Pod{Name: "db", Ready: true}
	ended, agent := cri.Pod{Name: "job"}, cri.Pod{Name: "kindnet", Ready: true, HostNetwork: true}
	node.Do(func() {
		for name, c := range map[string]struct {
			pods   []cri.Pod
			err    error
			want   string
			master string
		}{
			"none":            {nil, nil, "ok: x: no pod with an address runs here yet", ""},
			"none of its":     {[]cri.Pod{agent, ended}, nil, "ok: x: no pod with an address", ""},
			"one":             {[]cri.Pod{agent, web}, nil, "ok: x: 1 of knet* up for 1 pod", ""},
			"one without":     {[]cri.Pod{web, db}, nil, "failed: x: 1 of knet* up for 2 pods with an address → why", ""},
			"nobody to ask":   {nil, host.ErrNoLiveState, "not here: x", ""},
			"does not answer": {nil, errors.New("broken"), "failed: x: the runtime does not say which pods run here: broken → check that it runs", ""},
			"one on it":       {[]cri.Pod{web}, nil, "ok: x: 1 of knet* on knet3 up for 1 pod", "knet3"},
			"one, and not on": {[]cri.Pod{web}, nil, "failed: x: 0 of knet* on cbr0 up for 1 pod with an address → why", "cbr0"},
		} {
			l := newLab(t)
			l.pods, l.podsErr = c.pods, c.err
			results := l.check(network.HealthCheck{Text: "x", Link: "knet*", Kind: "veth", Master: c.master, Pods: true, Missing: "why"})
			last := results[len(results)-1]
			if got := fmt.Sprintf("%s: %s → %s", last.State, last.Seen, last.Next); !strings.Contains(got, c.want) {
				t.Errorf("%s: %s, want %s", name, got, c.want)
			}
		}
	})
}

func TestMinimums(t *testing.T) {
	flannel, _ := network.Find("flannel")
	got := Minimums(flannel)
	for name, want := range map[string]string{"bridge": "0.4.0", "loopback": "0.4.0", "host-local": "0.4.0", "ptp": ""} {
		if got[name] != want {
			t.Errorf("%s: %q, want %q", name, got[name], want)
		}
	}
	for release, want := range map[string]string{"v1.9.1": "1.1.0", "v1.6.0": "1.1.0", "v1.5.1": "1.0.0", "v1.0.0": "1.0.0", "v0.9.1": "0.4.0", "v0.8.0": "0.4.0", "v0.7.5": "0.3.1", "v0.2.0": "0.2.0"} {
		own := network.Network{Plugins: []network.Plugin{{Asset: network.CNIPlugins, Members: []string{"ptp"}, Minimum: release}}}
		if got := Minimums(own)["ptp"]; got != want {
			t.Errorf("release %s: %s, want %s", release, got, want)
		}
	}
	calico, _ := network.Find("calico")
	if got := Minimums(calico); got["loopback"] != "0.2.0" || got["portmap"] != "" {
		t.Errorf("Minimums returns %v", got)
	}
}
