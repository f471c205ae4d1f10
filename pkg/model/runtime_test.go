package model

import (
	"cmp"
	"fmt"
	"path"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/facts"
	"github.com/netwright/netwright/pkg/tasks"
)

// The key by which containerd takes a directory of plugins. The table has what `containerd config
// dump` of 1.6, 2.1 and 2.4 prints for such a file, with the key in a file that it imports.
func TestBinDirKey(t *testing.T) {
	for _, c := range []struct {
		release string
		version int
		has     string // the key in its files
		want    string
	}{
		{"1.6.20~ds1", 2, "bin_dir", "bin_dir"},
		{"1.6.20~ds1", 2, "", "bin_dir"},
		{"1.7.29", 2, "bin_dirs", "bin_dir"}, // it does not know the new key, which 2.x got
		{"2.0.5", 3, "", "bin_dir"},
		{"2.0.5", 3, "bin_dirs", "bin_dir"},
		{"2.1.4", 3, "", "bin_dirs"},
		{"2.1.4", 3, "bin_dir", "bin_dir"}, // with the new key beside it, CRI fails
		{"2.4.2", 3, "bin_dir", "bin_dirs"},
		{"2.4.2", 4, "bin_dir", "bin_dirs"},
		{"2.4.2", 2, "bin_dir", "bin_dir"}, // migrated, and counts more than the new key
		{"2.4.2", 2, "", "bin_dirs"},
		{"", 3, "bin_dirs", "bin_dirs"}, // not running
		{"", 4, "", "bin_dirs"},         // not running: such a file is 2.3's or newer
		{"", 3, "", "bin_dir"},
		{"", 2, "", "bin_dir"},
	} {
		rt := host.RuntimeFacts{Name: "containerd", Version: c.release, ConfigVersion: c.version, BinDirKey: c.has, BinDirs: []string{"/opt/cni/bin"}}
		if got := binDirSetting(rt, "/srv/cni/bin", "").key; got != c.want {
			t.Errorf("containerd %q, version %d, with %q: %s, want %s", c.release, c.version, c.has, got, c.want)
		}
	}
}

// The agent makes a setting where it counts, in the file that containerd reads last. If the agent
// may not write that file, a note names it. If that file surely has the last word, the network's
// conf is where the runtime reads it. `containerd config dump` of 1.7 and 2.4 agrees for such
// files. The line that keeps it: network_input.go, view (readsOtherConfs).
func TestRuntimeSettingCounts(t *testing.T) {
	const nvidia = "/etc/containerd/conf.d/99-nvidia.toml"
	const own = "/etc/containerd/conf.d/50-netwright.toml"
	imports := []string{"/etc/containerd/conf.d/*.toml"}
	for name, c := range map[string]struct {
		rt    host.RuntimeFacts
		path  string // the file that gets the directory of confs
		noted string // the file that wins
		conf  string // the directory of the network's conf; "": the documents'
	}{
		"1.x": {rt: host.RuntimeFacts{Version: "1.7.28", ConfigVersion: 2}, path: "/etc/containerd/config.toml"},
		"1.x, another's section": {rt: host.RuntimeFacts{Version: "1.7.28", ConfigVersion: 2, Imports: imports, SetBy: map[string]string{"conf_dir": nvidia}},
			path: nvidia},
		"1.x, a pattern that 1.6 takes as below /": {rt: host.RuntimeFacts{Version: "1.6.20", ConfigVersion: 2, Imports: []string{"conf.d/*.toml"}, SetBy: map[string]string{"conf_dir": nvidia}},
			path: nvidia + " /etc/containerd/config.toml"},
		"1.x, and a drop-in of ours for 2.x": {rt: host.RuntimeFacts{ConfigVersion: 2, Imports: imports, SetBy: map[string]string{"conf_dir": own}},
			path: "/etc/containerd/config.toml"},
		"2.x, no pattern": {rt: host.RuntimeFacts{Version: "2.1.4", ConfigVersion: 3, SetBy: map[string]string{"conf_dir": "/etc/containerd/cni.toml"}},
			path: "/etc/containerd/cni.toml"},
		"2.x, one before ours": {rt: host.RuntimeFacts{Version: "2.1.4", ConfigVersion: 3, Imports: imports, ConfDir: "/x", SetBy: map[string]string{"conf_dir": "/etc/containerd/conf.d/10-x.toml"}},
			path: own},
		"2.x, one after ours": {rt: host.RuntimeFacts{Version: "2.1.4", ConfigVersion: 3, Imports: imports, ConfDir: "/x", SetBy: map[string]string{"conf_dir": nvidia}},
			path: own, noted: nvidia, conf: "/x"},
		"2.x, one after ours that says the same": {rt: host.RuntimeFacts{Version: "2.1.4", ConfigVersion: 3, Imports: imports, ConfDir: "/srv/cni/net.d", SetBy: map[string]string{"conf_dir": nvidia}},
			path: own},
		"2.x, one of a pattern after ours": {rt: host.RuntimeFacts{Version: "2.1.4", ConfigVersion: 3, Imports: append(imports, "/opt/x/*.toml"), ConfDir: "/x", SetBy: map[string]string{"conf_dir": "/opt/x/a.toml"}},
			path: own, noted: "/opt/x/a.toml"},
		"2.x, one of a pattern before ours": {rt: host.RuntimeFacts{Version: "2.1.4", ConfigVersion: 3, Imports: append([]string{"x.d/*.toml"}, imports...), ConfDir: "/x", SetBy: map[string]string{"conf_dir": "/etc/containerd/x.d/a.toml"}},
			path: own},
		"2.x, one that an imported file imports": {rt: host.RuntimeFacts{Version: "2.1.4", ConfigVersion: 3, Imports: imports, ConfDir: "/x", SetBy: map[string]string{"conf_dir": "/opt/y.toml"}},
			path: own, noted: "/opt/y.toml"},
		"CRI-O, one after ours": {rt: host.RuntimeFacts{Name: "cri-o", ConfDir: "/x", SetBy: map[string]string{"network_dir": "/etc/crio/crio.conf.d/99-x.conf"}},
			path: "/etc/crio/crio.conf.d/50-netwright.conf", noted: "/etc/crio/crio.conf.d/99-x.conf", conf: "/x"},
		"CRI-O, its command line": {rt: host.RuntimeFacts{Name: "cri-o", ConfDir: "/x", DropInDir: "/etc/crio.d", SetBy: map[string]string{"network_dir": "its command line"}},
			path: "/etc/crio.d/50-netwright.conf", noted: "its command line", conf: "/x"},
	} {
		s := scenarios(t, "testdata/plans/bridge-dirs-crio.txtar")[0] // it wants /srv/cni/net.d
		if c.rt.Name == "" {
			c.rt.Name, c.rt.ConfigFile = "containerd", "/etc/containerd/config.toml"
		}
		s.in.Facts.Runtime = c.rt
		made, notes, err := Build(s.in)
		if err != nil {
			t.Fatal(name, err)
		}
		var paths, noted []string
		conf := ""
		for _, task := range made {
			switch task := task.(type) {
			case tasks.TOMLKey:
				if task.Key == "conf_dir" {
					paths = append(paths, task.Path)
				}
			case tasks.File:
				if strings.Contains(string(task.Content), `_dir = "/srv/cni/net.d"`) {
					paths = append(paths, task.Path)
				}
				if path.Ext(task.Path) == ".conflist" {
					conf = path.Dir(task.Path)
				}
			}
		}
		if want := cmp.Or(c.conf, "/srv/cni/net.d"); conf != want {
			t.Errorf("%s: the conf is in %q, want %s", name, conf, want)
		}
		for _, n := range notes {
			if strings.Contains(n.Text, "wins over our") {
				noted = append(noted, n.Origin)
			}
		}
		if strings.Join(paths, " ") != c.path || strings.Join(noted, " ") != c.noted {
			t.Errorf("%s: set in %q, want %s; noted %q, want %q", name, paths, c.path, noted, c.noted)
		}
	}
}

// In a file that containerd imports, the agent makes a setting in the table of that file's version,
// and by a key of that version. containerd 2.4.2 reports the directories of the documents with such
// files. The line that keeps it: runtime.go, containerd (OtherTables).
func TestTableOfAnImport(t *testing.T) {
	const imported = "/etc/containerd/more.toml"
	for name, c := range map[string]struct {
		version int
		key     string
		plugin  string // of the imported file, where it is another
		want    string
	}{
		"version 2 in version 4": {4, "bin_dirs", "io.containerd.grpc.v1.cri", `plugins io.containerd.grpc.v1.cri cni bin_dir = /srv/cni/bin`},
		"version 3 in version 2": {2, "bin_dirs", "io.containerd.cri.v1.runtime", `plugins io.containerd.cri.v1.runtime cni bin_dirs = [/srv/cni/bin /usr/lib/cni]`},
		"version 2 in version 1": {1, "bin_dir", "io.containerd.grpc.v1.cri", `plugins io.containerd.grpc.v1.cri cni bin_dir = /srv/cni/bin`},
		"the same version":       {4, "bin_dirs", "", `plugins io.containerd.cri.v1.runtime cni bin_dirs = [/srv/cni/bin /usr/lib/cni]`},
	} {
		s := scenarios(t, "testdata/plans/bridge-dirs-crio.txtar")[0] // it wants /srv/cni/bin
		rt := host.RuntimeFacts{Name: "containerd", Version: "2.4.2", ConfigFile: "/etc/containerd/config.toml", ConfigVersion: c.version,
			BinDirs: []string{"/usr/lib/cni"}, BinDirKey: c.key, SetBy: map[string]string{c.key: imported}}
		if c.plugin != "" {
			rt.OtherTables = map[string]string{imported: c.plugin}
		}
		s.in.Facts.Runtime = rt
		made, _, err := Build(s.in)
		if err != nil {
			t.Fatal(name, err)
		}
		var got []string
		for _, task := range made {
			if key, is := task.(tasks.TOMLKey); is && key.Path == imported {
				got = append(got, fmt.Sprintf("%s %s = %v", strings.Join(key.Table, " "), key.Key, key.Value))
			}
		}
		if text := strings.Join(got, ", "); text != c.want {
			t.Errorf("%s: %s, want %s", name, text, c.want)
		}
	}
}

// containerd before 2.3 reads all files as the version of the last one. 1.7, 2.0 and 2.2 ignore the
// CNI settings of the main file then, or do not start.
func TestNewerImport(t *testing.T) {
	for release, want := range map[string]bool{"1.7.29": true, "2.0.5": true, "2.2.1": true, "2.3.0": false, "": false} {
		s := scenarios(t, "testdata/plans/bridge-dirs-crio.txtar")[0] // it wants /srv/cni/net.d
		s.in.Facts.Runtime = host.RuntimeFacts{Name: "containerd", Version: release, ConfigFile: "/etc/containerd/config.toml", ConfigVersion: 2,
			NewerImport: "/etc/containerd/conf.d/99-nvidia.toml"}
		if _, _, err := Build(s.in); (err != nil) != want || err != nil && !strings.Contains(err.Error(), "99-nvidia.toml has a newer version than /etc/containerd/config.toml") {
			t.Errorf("containerd %q: %v", release, err)
		}
	}
}

// If no document names the directories any more, the conf and the plugins go to the directories
// that the runtime has without our drop-in file. The directory of that file is not kept beside
// another one.
func TestDirectoriesWithoutOurDropIn(t *testing.T) {
	rt := host.RuntimeFacts{Name: "cri-o", ConfDir: "/old", BinDirs: []string{"/old", "/usr/lib/cni"},
		ByOthers: &facts.CNIDirs{ConfDir: "/etc/cni/net.d", BinDirs: []string{"/usr/lib/cni"}}}
	s := scenarios(t, "testdata/plans/bridge-ipv4.txtar")[0]
	s.in.Facts.Runtime = rt
	if conf, bins := CNIDirs(s.in.Node, s.in.Facts); conf != "/etc/cni/net.d" || strings.Join(bins, " ") != "/usr/lib/cni" {
		t.Errorf("without documents %s and %q", conf, bins)
	}
	if got := fmt.Sprint(binDirSetting(rt, "/srv", "").value); got != "[/srv /usr/lib/cni]" {
		t.Errorf("plugin_dirs are %s", got)
	}
}

// cri-dockerd has its settings on its command line. A note says what is missing there, and the
// agent sets nothing.
func TestDirectoriesOfCRIDockerd(t *testing.T) {
	s := scenarios(t, "testdata/plans/bridge-dirs-crio.txtar")[0] // it wants /srv/cni/net.d
	for dir, want := range map[string]int{"/etc/cni/net.d": 1, "/srv/cni/net.d": 0} {
		s.in.Facts.Runtime = host.RuntimeFacts{Name: "docker", ConfDir: dir, BinDirs: []string{"/opt/cni/bin", "/srv/cni/bin"}}
		_, notes, err := Build(s.in)
		if err != nil {
			t.Fatal(err)
		}
		said := 0
		for _, n := range notes {
			if strings.Contains(n.Text, "give its unit --cni-conf-dir=/srv/cni/net.d") {
				said++
			}
		}
		if said != want {
			t.Errorf("with %s it is said %d times, want %d: %+v", dir, said, want, notes)
		}
	}
}
