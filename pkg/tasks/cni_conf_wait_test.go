package tasks_test

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/tasks"
	"github.com/netwright/netwright/test/needs"
)

const (
	flannelList = `{"name":"cbr0","cniVersion":"0.3.1","plugins":[{"type":"flannel","delegate":{}},{"type":"portmap"}]}`
	otherConf   = `{"name":"other","type":"bridge","ipam":{"type":"host-local","subnet":"10.88.0.0/16"}}`
	nerdctlList = `{"name":"bridge","nerdctlID":"17f29b07","plugins":[{"type":"bridge","bridge":"nerdctl0","ipam":{"type":"host-local","subnet":"10.4.0.0/24"}}]}`
	podmanList  = `{"name":"podman","plugins":[{"type":"bridge","bridge":"cni-podman0","ipam":{"type":"host-local","subnet":"10.4.0.0/24"}}]}`
	multusConf  = `{"name":"multus","type":"multus"}`
)

// TestWaitConf tests in one table libcni's order, what each runtime does with a broken file, and
// the text of the agent.
func TestWaitConf(t *testing.T) {
	flannel := tasks.WaitConf{Network: "flannel", Writer: "its DaemonSet writes it", Dir: "/etc/cni/net.d", File: "10-flannel.conflist",
		BinDirs: []string{"/opt/cni/bin"}, FirstOnly: true}
	anyConf := flannel
	anyConf.File, anyConf.Network, anyConf.Writer, anyConf.Consumer = "", "bring your own", "whoever brings the network writes it", tasks.Consumer{LoadsPluginDir: true}
	multus := flannel
	multus.File, multus.Or, multus.Network = "00-multus.conf", "00-multus.conflist", "multus"
	crio := flannel
	crio.FirstOnly = false
	validating := crio // as ocicni 0.4.3 reads these directories, with plugins of spec 1.0.0
	validating.Consumer = tasks.Consumer{Name: "cri-o 1.34.0", LoadsPluginDir: true, Validates: true}
	anyValidated := validating
	anyValidated.File = ""
	two, all := flannel, flannel // as go-cni 1.1.12 reads max_conf_num
	two.Consumer.Loads, all.Consumer.Loads = 2, math.MaxInt
	only, onlyOther := validating, validating
	only.Consumer.Network, onlyOther.Consumer.Network = "cbr0", "crio"
	for _, c := range []struct {
		name  string
		task  tasks.WaitConf
		files map[string]string // base name → content, in the conf directory
		bins  string
		since time.Duration // how long ago the files were written
		wait  string        // a part of the reason to wait
		err   string        // a part of the error
	}{
		{name: "no directory yet", task: flannel, wait: "flannel: no 10-flannel.conflist in /etc/cni/net.d yet (its DaemonSet writes it)"},
		{name: "only a temporary file is there", task: flannel, files: map[string]string{"10-flannel.conflist.tmp": flannelList}, wait: "no 10-flannel.conflist"},
		{name: "the awaited conf is complete", task: flannel, files: map[string]string{"10-flannel.conflist": flannelList}, bins: "flannel bridge host-local portmap"},
		{name: "later files do not matter", task: flannel, bins: "flannel bridge host-local portmap",
			files: map[string]string{"10-flannel.conflist": flannelList, "87-podman-bridge.conflist": "{"}},
		{name: "half written", task: flannel, files: map[string]string{"10-flannel.conflist": flannelList[:40]},
			wait: "/etc/cni/net.d/10-flannel.conflist is not valid yet (its DaemonSet writes it): parse it: line 1, column 40: unexpected end of JSON"},
		{name: "list without plugins", task: flannel, files: map[string]string{"10-flannel.conflist": `{"name":"x","plugins":[]}`}, wait: "its `plugins` is empty"},
		{name: "plugin without type", task: flannel, files: map[string]string{"10-flannel.conflist": `{"name":"x","plugins":[{}]}`}, wait: "plugin 1 has no `type`"},
		{name: "plugin missing", task: flannel, files: map[string]string{"10-flannel.conflist": flannelList}, bins: "bridge host-local portmap",
			wait: "its conf calls the plugin flannel, not in /opt/cni/bin yet"},
		{name: "another one waits meanwhile", task: flannel, files: map[string]string{"87-podman-bridge.conf": otherConf},
			wait: "until then 87-podman-bridge.conf, which is not flannel's, is in force"},
		{name: "a meta-plugin's conf is in force meanwhile", task: flannel, files: map[string]string{"00-multus.conf": multusConf, "87-podman-bridge.conflist": podmanList},
			wait: "until then 00-multus.conf, which is not flannel's, is in force"},
		{name: "a meta-plugin's conf alone is in force meanwhile", task: flannel, files: map[string]string{"00-multus.conf": multusConf},
			wait: "until then 00-multus.conf, which is not flannel's, is in force"},
		{name: "an earlier name wins", task: flannel, bins: "flannel bridge host-local portmap",
			files: map[string]string{"10-flannel.conflist": flannelList, "10-calico.conf": otherConf},
			err:   `/etc/cni/net.d/10-calico.conf (network "other") comes before 10-flannel.conflist by its name`},
		{name: "100 sorts before 87, a dot before digits", task: flannel, bins: "flannel bridge host-local portmap",
			files: map[string]string{"10-flannel.conflist": flannelList, ".hidden.json": otherConf},
			err:   "/etc/cni/net.d/.hidden.json"},
		{name: "a broken first file stops containerd", task: flannel, bins: "flannel bridge host-local portmap",
			files: map[string]string{"10-flannel.conflist": flannelList, "05-x.conflist": "{"},
			err:   "/etc/cni/net.d/05-x.conflist comes before 10-flannel.conflist and is broken"},
		{name: "a broken first file does not stop CRI-O", task: crio, bins: "flannel bridge host-local portmap",
			files: map[string]string{"10-flannel.conflist": flannelList, "05-x.conflist": "{"}},
		{name: "a meta-plugin that is asked for is first itself", task: multus, bins: "multus",
			files: map[string]string{"10-flannel.conflist": flannelList, "00-multus.conf": multusConf}},
		{name: "a meta-plugin under its other name is first itself", task: multus, bins: "multus",
			files: map[string]string{"10-flannel.conflist": flannelList, "00-multus.conflist": `{"name":"multus","plugins":[{"type":"multus"}]}`}},
		{name: "without a meta-plugin's conf the network is called without it", task: multus, files: map[string]string{"10-flannel.conflist": flannelList},
			wait: "multus: no 00-multus.conf in /etc/cni/net.d yet (its DaemonSet writes it); until then 10-flannel.conflist, which is not multus's, is in force"},
		{name: "a meta-plugin is meant to be first", task: flannel, bins: "multus flannel bridge host-local portmap",
			files: map[string]string{"10-flannel.conflist": flannelList, "00-multus.conf": multusConf}},
		{name: "any conf will do", task: anyConf, files: map[string]string{"50-mine.conf": otherConf}, bins: "bridge host-local"},
		{name: "any conf, and there is none", task: anyConf, wait: "bring your own: no conf in /etc/cni/net.d yet (whoever brings the network writes it)"},
		{name: "any conf, and a directory has the name of one", task: anyConf, files: map[string]string{"10-x.conf/readme": ""},
			wait: "no conf in /etc/cni/net.d yet (whoever brings the network writes it); /etc/cni/net.d/10-x.conf is a directory, which no runtime reads: remove it"},
		{name: "any conf after a directory with the name of one", task: anyConf, files: map[string]string{"10-x.conf/readme": "", "50-mine.conf": otherConf}, bins: "bridge host-local"},
		{name: "any conf, and only nerdctl's is there", task: anyConf, files: map[string]string{"nerdctl-bridge.conflist": nerdctlList}, bins: "bridge host-local",
			wait: "bring your own: no conf in /etc/cni/net.d yet (whoever brings the network writes it); until then nerdctl-bridge.conflist, which is for containers of nerdctl, is in force"},
		{name: "any conf, and only podman's is there", task: anyConf, files: map[string]string{"87-podman-bridge.conflist": podmanList}, bins: "bridge host-local",
			wait: "until then 87-podman-bridge.conflist, which is for containers of podman, is in force"},
		{name: "any conf before those for containers", task: anyConf, bins: "bridge host-local",
			files: map[string]string{"50-mine.conf": otherConf, "87-podman-bridge.conflist": podmanList, "nerdctl-bridge.conflist": nerdctlList}},
		{name: "any conf after those for containers", task: anyConf, bins: "bridge host-local",
			files: map[string]string{"87-podman-bridge.conflist": podmanList, "nerdctl-bridge.conflist": nerdctlList, "weave.conf": otherConf},
			err:   "/etc/cni/net.d/87-podman-bridge.conflist is for containers of podman and comes before weave.conf by its name, so the runtime uses it for pods: give weave.conf an earlier name"},
		{name: "a plugin missed for long", task: anyConf, since: time.Hour, files: map[string]string{"50-mine.conf": otherConf}, bins: "bridge",
			err: "no pod is added by /etc/cni/net.d/50-mine.conf: it calls the plugin host-local, which is not in /opt/cni/bin: install it there"},
		{name: "any conf, broken", task: anyConf, files: map[string]string{"50-mine.conf": "{}"}, wait: "/etc/cni/net.d/50-mine.conf is not valid yet"},
		{name: "any conf, broken for long", task: anyConf, since: time.Hour, files: map[string]string{"50-mine.conf": "{}"},
			err: "no pod is added by /etc/cni/net.d/50-mine.conf (whoever brings the network writes it), which has not changed since: it has no `type`: repair it or remove it"},
		{name: "any conf, with a time in the future", task: anyConf, since: -time.Hour, files: map[string]string{"50-mine.conf": " \n"}, err: "it is empty"},
		{name: "any conf, with a broken one before a good one", task: anyConf, files: map[string]string{"10-x.conflist": "{", "20-x.conf": "{", "50-mine.conf": otherConf},
			err: "/etc/cni/net.d/10-x.conflist is broken (parse it: line 1, column 1: unexpected end of JSON input), and the runtime tries no later file, such as 50-mine.conf"},
		{name: "half written for long", task: flannel, since: time.Hour, files: map[string]string{"10-flannel.conflist": flannelList[:40]}, err: "which has not changed since"},
		{name: "a list in a file for one plugin", task: anyConf, since: time.Hour, files: map[string]string{"50-mine.conf": flannelList}, err: "it is a list (`plugins`) in a file for a single plugin: name it .conflist"},
		{name: "one plugin in a file for lists", task: anyConf, since: time.Hour, files: map[string]string{"50-mine.conflist": otherConf}, err: "it is a single plugin (`type`) in a file for lists: name it .conf"},
		{name: "a broken conf before the awaited one", task: flannel, files: map[string]string{"10-flannel.conf": flannelList},
			wait: "no 10-flannel.conflist in /etc/cni/net.d yet (its DaemonSet writes it); /etc/cni/net.d/10-flannel.conf is there and adds no pod: it is a list"},
		{name: "no name", task: anyConf, since: time.Hour, files: map[string]string{"50-mine.conf": `{"type":"bridge"}`}, err: "it has no `name`, and libcni refuses that"},
		{name: "a name that is a path", task: anyConf, since: time.Hour, files: map[string]string{"50-mine.conf": `{"name":"a/b","type":"bridge"}`}, err: "libcni refuses its `name` \"a/b\": expected a letter"},
		{name: "a type that is a path", task: anyConf, since: time.Hour, files: map[string]string{"50-mine.conf": `{"name":"a","type":"../../usr/bin/x"}`},
			err: "libcni refuses the plugin `type` \"../../usr/bin/x\": expected the name of a program"},
		{name: "an IPAM that is a path stops CRI-O too", task: crio, since: time.Hour,
			files: map[string]string{"05-x.conf": `{"name":"a","type":"bridge","ipam":{"type":"x/y"}}`, "10-flannel.conflist": flannelList}, err: "05-x.conf comes before 10-flannel.conflist and is broken (libcni refuses"},
		{name: "CRI-O passes over a conf whose plugin is gone", task: validating, since: time.Hour, bins: "flannel bridge host-local portmap",
			files: map[string]string{"05-cilium.conflist": `{"name":"cilium","cniVersion":"0.3.1","plugins":[{"type":"cilium-cni"}]}`, "10-flannel.conflist": flannelList}},
		{name: "an IPAM that is a path does not stop containerd", task: flannel, since: time.Hour, bins: "flannel bridge host-local portmap",
			files: map[string]string{"05-cilium.conflist": `{"name":"cilium","cniVersion":"0.3.1","plugins":[{"type":"cilium-cni"}]}`, "10-flannel.conflist": flannelList},
			err:   "05-cilium.conflist (network \"cilium\") comes before 10-flannel.conflist by its name"},
		{name: "CRI-O does not look for an IPAM plugin", task: validating, since: time.Hour, bins: "flannel bridge portmap",
			files: map[string]string{"05-x.conf": otherConf, "10-flannel.conflist": flannelList}, err: "comes before 10-flannel.conflist by its name"},
		{name: "CRI-O passes over an unknown version", task: validating, since: time.Hour, bins: "flannel bridge host-local portmap",
			files: map[string]string{"05-x.conf": `{"name":"x","cniVersion":"9.9.9","type":"bridge"}`, "10-flannel.conflist": flannelList}},
		{name: "the plugins of the awaited conf are awaited", task: validating, files: map[string]string{"10-flannel.conflist": flannelList},
			wait: "its conf calls the plugin flannel, portmap, bridge, host-local, not in /opt/cni/bin yet"},
		{name: "any conf, and none that CRI-O takes", task: anyValidated, since: time.Hour, files: map[string]string{"50-mine.conf": otherConf},
			err: "cri-o 1.34.0 passes over it: it calls the plugin bridge, which is no program in /opt/cni/bin"},
		{name: "CRI-O takes the network that it is told", task: only, since: time.Hour, bins: "flannel bridge host-local portmap",
			files: map[string]string{"05-x.conf": otherConf, "10-flannel.conflist": flannelList}},
		{name: "CRI-O takes no other network than its own", task: onlyOther, since: time.Hour, bins: "flannel bridge host-local portmap",
			files: map[string]string{"10-flannel.conflist": flannelList}, err: `its network is "cbr0", and cri-o 1.34.0 gives pods no other than "crio": take cni_default_network out`},
		{name: "a broken file beside stops a containerd that loads all", task: all, since: time.Hour, bins: "flannel bridge host-local portmap",
			files: map[string]string{"10-flannel.conflist": flannelList, "20-x.conf": otherConf, "87-podman-bridge.conflist": "{"},
			err:   "/etc/cni/net.d/87-podman-bridge.conflist is broken (parse it: line 1, column 1: unexpected end of JSON input), and no pod gets a network"},
		{name: "a new broken file is awaited", task: all, bins: "flannel bridge host-local portmap",
			files: map[string]string{"10-flannel.conflist": flannelList, "87-podman-bridge.conflist": "{"}, wait: "/etc/cni/net.d/87-podman-bridge.conflist is not valid yet"},
		{name: "a broken file beside does not stop a containerd that loads two", task: two, since: time.Hour, bins: "flannel bridge host-local portmap",
			files: map[string]string{"10-flannel.conflist": flannelList, "20-x.conf": otherConf, "87-podman-bridge.conflist": "{"}},
		{name: "plugins in a directory beside", task: anyConf, bins: "bridge", files: map[string]string{"50-mine.conflist": `{"name":"m","cniVersion":"1.1.0"}`, "m/00-b.conf": `{"type":"bridge"}`, "m/readme": ""}},
		{name: "no plugins beside", task: anyConf, since: time.Hour, files: map[string]string{"50-mine.conflist": `{"name":"m","cniVersion":"1.1.0"}`, "m/readme": ""}, err: "no `plugins`"},
	} {
		t.Run(c.name, func(t *testing.T) {
			view := hostWritten(t, time.Now().Add(-c.since), c.files, strings.Fields(c.bins))
			change, err := c.task.Plan(t.Context(), view)
			if change != nil {
				t.Errorf("a check planned a change: %+v", change)
			}
			switch {
			case c.wait != "":
				if !graph.IsWait(err) || !strings.Contains(err.Error(), c.wait) {
					t.Errorf("got %v, want a wait that says %q", err, c.wait)
				}
			case c.err != "":
				if err == nil || graph.IsWait(err) || !strings.Contains(err.Error(), c.err) {
					t.Errorf("got %v, want an error that says %q", err, c.err)
				}
			case err != nil:
				t.Errorf("got %v, want nothing to wait for", err)
			}
		})
	}
}

// TestWaitConfOfPlan: a plan takes into account a conf and plugins that the same plan will write,
// and still sees another program's conf before it.
func TestWaitConfOfPlan(t *testing.T) {
	task := tasks.WaitConf{Network: "bridge", Writer: "we write it", Dir: "/etc/cni/net.d", File: "05-netwright-bridge.conflist",
		BinDirs: []string{"/opt/cni/bin"}, FirstOnly: true}
	pending := host.NewPending(nil)
	pending.Add(host.Fact{Key: "file:/etc/cni/net.d/05-netwright-bridge.conflist"})
	if _, err := task.Plan(t.Context(), pending.Over(hostWith(t, nil, nil))); err != nil {
		t.Errorf("our own conf in the plan: %v", err)
	}
	foreign := hostWith(t, map[string]string{"00-wrong.conf": otherConf}, nil)
	if _, err := task.Plan(t.Context(), pending.Over(foreign)); err == nil || !strings.Contains(err.Error(), "00-wrong.conf") {
		t.Errorf("a foreign conf before ours in the plan: got %v, want an error that names it", err)
	}
}

// A half-written conf is looked at again after a minute.
func TestHalfAConfIsJudgedAnew(t *testing.T) {
	written := time.Now().Add(-10 * time.Second).Truncate(time.Second)
	view := hostWritten(t, written, map[string]string{"50-mine.conf": "{"}, nil)
	_, err := tasks.WaitConf{Network: "cni", Dir: "/etc/cni/net.d"}.Plan(t.Context(), view)
	var wait *graph.WaitError
	if !errors.As(err, &wait) || !wait.Until.Equal(written.Add(time.Minute)) {
		t.Errorf("%v, want a wait until a minute after %s", err, written)
	}
}

// A conf that cannot be opened, or that is no file, is broken. A runtime of spec 1.0.0 knows
// neither later versions nor plugins beside a list.
func TestConfThatIsNoFile(t *testing.T) {
	old := tasks.Consumer{Name: "containerd 1.6.20", Spec: "1.0.0"}
	for _, c := range []struct {
		name     string
		make     func(dir string) error
		consumer tasks.Consumer
		says     string // "" if the conf is right
	}{
		{"a dangling link", func(dir string) error { return os.Symlink("none", dir+"/10-x.conf") }, old, "10-x.conf"},
		{"a link to itself", func(dir string) error { return os.Symlink("10-x.conf", dir+"/10-x.conf") }, old, "10-x.conf"},
		{"a link to a directory", func(dir string) error { return os.Symlink(".", dir+"/10-x.conf") }, old, "is a directory"},
		{"a pipe", func(dir string) error { return syscall.Mkfifo(dir+"/10-x.conf", 0o600) }, old, "not a regular file"},
		{"spec 1.1.0", func(dir string) error {
			return os.WriteFile(dir+"/10-x.conf", []byte(`{"cniVersion":"1.1.0","name":"x","type":"bridge"}`), 0o600)
		}, old, "`cniVersion` \"1.1.0\" is none that containerd 1.6.20 knows: expected one of 0.1.0, 0.2.0, 0.3.0, 0.3.1, 0.4.0, 1.0.0"},
		{"versions, of which it reads one", func(dir string) error {
			return os.WriteFile(dir+"/10-x.conflist", []byte(`{"cniVersion":"1.0.0","cniVersions":["1.1.0"],"name":"x","plugins":[{"type":"bridge"}]}`), 0o600)
		}, old, ""},
		{"a list without plugins", func(dir string) error {
			return os.WriteFile(dir+"/10-x.conflist", []byte(`{"cniVersion":"1.0.0","name":"x"}`), 0o600)
		}, old, "the runtime does not look for any in /etc/cni/net.d/x, as libcni does from 1.3 on"},
		{"a spec of a later release", func(dir string) error {
			return os.WriteFile(dir+"/10-x.conf", []byte(`{"cniVersion":"1.7.0","name":"x","type":"bridge"}`), 0o600)
		}, tasks.Consumer{}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			dir := filepath.Join(root, "etc/cni/net.d")
			bin := filepath.Join(root, "opt/cni/bin")
			if err := errors.Join(os.MkdirAll(dir, 0o755), os.MkdirAll(bin, 0o755), os.WriteFile(bin+"/bridge", nil, 0o755), c.make(dir)); err != nil {
				t.Fatal(err)
			}
			view, err := host.OpenView(t.Context(), host.Options{Root: root})
			if err != nil {
				t.Fatal(err)
			}
			defer view.Close() // only read from
			_, err = tasks.WaitConf{Network: "x", Dir: "/etc/cni/net.d", BinDirs: []string{"/opt/cni/bin"}, FirstOnly: true, Consumer: c.consumer}.Plan(t.Context(), view.View())
			if (c.says == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want %q", err, c.says)
			}
		})
	}
}

// On a file system that is mounted noexec no plugin can be started, so the conf is not in force.
func TestConfWithPluginsThatCannotRun(t *testing.T) {
	needs.Root(t)
	dir := t.TempDir()
	mounted := func(flags uintptr) {
		t.Helper()
		if err := unix.Mount("tmpfs", dir, "tmpfs", flags, ""); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
		for _, name := range []string{"bridge", "host-local", "50-mine.conf"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(otherConf), 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	view, err := host.OpenView(t.Context(), host.Options{Root: "/"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = view.Close() })
	task := tasks.WaitConf{Network: "mine", Dir: dir, BinDirs: []string{dir}}
	mounted(0)
	if _, err := task.Plan(t.Context(), view.View()); err != nil {
		t.Errorf("before: %v", err)
	}
	mounted(unix.MS_NOEXEC)
	_, err = task.Plan(t.Context(), view.View())
	if want := "no pod is added by " + dir + "/50-mine.conf: run " + dir + "/bridge: its file system is mounted noexec"; err == nil || !strings.Contains(err.Error(), want) || !strings.HasSuffix(err.Error(), ": `agent verify` says what to do") {
		t.Errorf("%v, want %s", err, want)
	}
}

// hostWith returns a view of a root with these confs and plugins.
func hostWith(t *testing.T, confs map[string]string, bins []string) host.View {
	t.Helper()
	return hostWritten(t, time.Now(), confs, bins)
}

// hostWritten is hostWith with one time for all files.
func hostWritten(t *testing.T, at time.Time, confs map[string]string, bins []string) host.View {
	t.Helper()
	root := t.TempDir()
	write := func(path, content string, mode os.FileMode) {
		full := filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.WriteFile(full, []byte(content), mode), os.Chtimes(full, at, at)); err != nil {
			t.Fatal(err)
		}
	}
	for name, content := range confs {
		write("etc/cni/net.d/"+name, content, 0o644)
	}
	for _, name := range bins {
		write("opt/cni/bin/"+name, "#!", 0o755)
	}
	view, err := host.OpenView(t.Context(), host.Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = view.Close() })
	return view.View()
}
