package facts

import (
	"fmt"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/cri"
)

func TestRuntimeFiles(t *testing.T) {
	imported := func(file string, keys ...string) map[string]string {
		out := map[string]string{}
		for _, key := range keys {
			out[key] = "/etc/containerd/conf.d/" + file
		}
		return out
	}
	const unit = "[Service]\nExecStart=/usr/bin/containerd\n"
	for name, c := range map[string]struct {
		files map[string]string
		want  RuntimeFacts
	}{
		"containerd without a file": {
			files: map[string]string{"/lib/systemd/system/containerd.service": unit},
			want:  RuntimeFacts{Name: "containerd", BinDirs: []string{"/opt/cni/bin"}, ConfDir: "/etc/cni/net.d", MaxConfNum: 1, From: "default"},
		},
		"containerd 1.x, nodeup's": {
			files: map[string]string{
				"/lib/systemd/system/containerd.service":   unit,
				"/etc/systemd/system/containerd.service":   "[Service]\nEnvironmentFile=/etc/sysconfig/containerd\nEnvironment=CONTAINERD_OPTS=\nExecStart=/usr/bin/containerd -c /etc/containerd/config-kops.toml \"$CONTAINERD_OPTS\"\n",
				"/etc/containerd/config-kops.toml":         "version = 2\nimports = ['conf.d/*.toml']\n[plugins.\"io.containerd.grpc.v1.cri\".cni]\nbin_dir = '/bin/cni'\nconf_template = '/t'\n",
				"/etc/containerd/conf.d/10-x.toml":         "version = 2\n[plugins.\"io.containerd.grpc.v1.cri\".cni]\nconf_dir = '/net.d'\n",
				"/etc/containerd/conf.d/not-imported.conf": "broken",
			},
			want: RuntimeFacts{Name: "containerd", ConfigFile: "/etc/containerd/config-kops.toml", ConfigVersion: 2, Imports: []string{"conf.d/*.toml"},
				BinDirs: []string{"/opt/cni/bin"}, ConfDir: "/net.d", MaxConfNum: 1, From: "/etc/containerd/config-kops.toml", SetBy: imported("10-x.toml", "bin_dir", "bin_dirs", "conf_dir", "conf_template")},
		},
		"containerd 2.x, its old key beside an empty new one": {
			files: map[string]string{
				"/lib/systemd/system/containerd.service": unit,
				"/etc/containerd/config.toml":            "version = 3\n[plugins.'io.containerd.cri.v1.runtime'.cni]\nbin_dir = '/a'\nbin_dirs = []\n",
			},
			want: RuntimeFacts{Name: "containerd", ConfigFile: "/etc/containerd/config.toml", ConfigVersion: 3,
				BinDirs: []string{"/a"}, BinDirKey: "bin_dir", ConfDir: "/etc/cni/net.d", MaxConfNum: 1, From: "/etc/containerd/config.toml"},
		},
		"containerd 2.x": {
			files: map[string]string{
				"/usr/lib/systemd/system/containerd.service": unit,
				"/etc/containerd/config.toml":                "version = 3\nimports = ['/etc/containerd/conf.d/*.toml']\n[plugins.'io.containerd.cri.v1.runtime'.cni]\nbin_dirs = ['/a', '/b']\nmax_conf_num = 0\n",
				"/etc/containerd/conf.d/20-y.toml":           "version = 3\n[plugins.'io.containerd.cri.v1.runtime'.cni]\nconf_dir = '/y'\n",
				"/etc/containerd/conf.d/10-x.toml":           "version = 3\n[plugins.'io.containerd.cri.v1.runtime'.cni]\nconf_dir = '/x'\nconf_template = '/t'\n",
			},
			want: RuntimeFacts{Name: "containerd", ConfigFile: "/etc/containerd/config.toml", ConfigVersion: 3, Imports: []string{"/etc/containerd/conf.d/*.toml"},
				BinDirs: []string{"/a", "/b"}, BinDirKey: "bin_dirs", ConfDir: "/y", ConfTemplate: "/t", From: "/etc/containerd/config.toml", SetBy: map[string]string{"conf_dir": "/etc/containerd/conf.d/20-y.toml", "conf_template": "/etc/containerd/conf.d/10-x.toml"}},
		},
		"containerd 1.x, a section of another's file without the settings": {
			files: map[string]string{
				"/lib/systemd/system/containerd.service": unit,
				"/etc/containerd/config.toml":            "version = 2\nimports = ['/etc/containerd/conf.d/*.toml']\n[plugins.\"io.containerd.grpc.v1.cri\".cni]\nbin_dir = '/b'\nconf_dir = '/c'\n",
				"/etc/containerd/conf.d/99-nvidia.toml":  "version = 2\n[plugins.\"io.containerd.grpc.v1.cri\".containerd]\ndefault_runtime_name = 'nvidia'\n",
			},
			want: RuntimeFacts{Name: "containerd", ConfigFile: "/etc/containerd/config.toml", ConfigVersion: 2, Imports: []string{"/etc/containerd/conf.d/*.toml"},
				BinDirs: []string{"/opt/cni/bin"}, ConfDir: "/etc/cni/net.d", MaxConfNum: 1, From: "/etc/containerd/config.toml", SetBy: imported("99-nvidia.toml", "bin_dir", "bin_dirs", "conf_dir", "conf_template")},
		},
		"containerd, an import with a newer version": {
			files: map[string]string{
				"/lib/systemd/system/containerd.service": unit,
				"/etc/containerd/config.toml":            "version = 2\nimports = ['/etc/containerd/conf.d/*.toml']\n",
				"/etc/containerd/conf.d/10-x.toml":       "version = 2\n",
				"/etc/containerd/conf.d/20-x.toml":       "version = 3\n",
				"/etc/containerd/conf.d/30-x.toml":       "",
				"/etc/containerd/conf.d/" + OwnTOML:      "version = 3\n", // the agent removes it
			},
			want: RuntimeFacts{Name: "containerd", ConfigFile: "/etc/containerd/config.toml", ConfigVersion: 2, Imports: []string{"/etc/containerd/conf.d/*.toml"},
				NewerImport: "/etc/containerd/conf.d/20-x.toml", BinDirs: []string{"/opt/cni/bin"}, ConfDir: "/etc/cni/net.d", MaxConfNum: 1, From: "/etc/containerd/config.toml"},
		},
		"containerd 2.x, an import of version 2": {
			files: map[string]string{
				"/lib/systemd/system/containerd.service": unit,
				"/etc/containerd/config.toml":            "version = 3\nimports = ['/etc/containerd/conf.d/*.toml']\n",
				"/etc/containerd/conf.d/x.toml":          "version = 2\n[plugins.\"io.containerd.grpc.v1.cri\".cni]\nbin_dir = '/x'\n",
			},
			want: RuntimeFacts{Name: "containerd", ConfigFile: "/etc/containerd/config.toml", ConfigVersion: 3, Imports: []string{"/etc/containerd/conf.d/*.toml"},
				BinDirs: []string{"/x"}, BinDirKey: "bin_dirs", ConfDir: "/etc/cni/net.d", MaxConfNum: 1, From: "/etc/containerd/config.toml", SetBy: map[string]string{"bin_dirs": "/etc/containerd/conf.d/x.toml"},
				OtherTables: map[string]string{"/etc/containerd/conf.d/x.toml": "io.containerd.grpc.v1.cri"}},
		},
		"containerd 2.x, imports of imports, in directories by a pattern": {
			files: map[string]string{
				"/lib/systemd/system/containerd.service": unit,
				"/etc/containerd/config.toml":            "version = 4\nimports = ['*/cni.toml', 'conf.d/[x].toml']\n[plugins.'io.containerd.server.v1.grpc']\naddress = '/x'\n",
				"/etc/containerd/one/cni.toml":           "version = 3\nimports = ['../last.toml', '/etc/containerd/config.toml']\n[plugins.'io.containerd.cri.v1.runtime'.cni]\nconf_dir = '/one'\n",
				"/etc/containerd/two/cni.toml":           "version = 4\n[plugins.'io.containerd.cri.v1.runtime'.cni]\nconf_dir = '/two'\nbin_dirs = ['/two']\n",
				"/etc/containerd/conf.d/x.toml":          "version = 4\n[plugins.'io.containerd.cri.v1.runtime'.cni]\nbin_dirs = ['/x']\n",
				"/etc/containerd/conf.d/[x].toml":        "version = 4\n",
				"/etc/containerd/last.toml":              "version = 4\n[plugins.'io.containerd.cri.v1.runtime'.cni]\nconf_dir = '/last'\n",
			},
			want: RuntimeFacts{Name: "containerd", ConfigFile: "/etc/containerd/config.toml", ConfigVersion: 4, Imports: []string{"*/cni.toml", "conf.d/[x].toml"},
				BinDirs: []string{"/two"}, BinDirKey: "bin_dirs", ConfDir: "/last", MaxConfNum: 1, From: "/etc/containerd/config.toml", SetBy: map[string]string{"conf_dir": "/etc/containerd/last.toml", "bin_dirs": "/etc/containerd/two/cni.toml"}},
		},
		"containerd, directories below its own": { // systemd starts it in /
			files: map[string]string{
				"/lib/systemd/system/containerd.service": unit,
				"/etc/containerd/config.toml":            "version = 2\n[plugins.\"io.containerd.grpc.v1.cri\".cni]\nbin_dir = 'usr/lib/cni'\nconf_dir = 'etc/cni/net.d/'\n",
			},
			want: RuntimeFacts{Name: "containerd", ConfigFile: "/etc/containerd/config.toml", ConfigVersion: 2,
				BinDirs: []string{"/usr/lib/cni"}, BinDirKey: "bin_dir", ConfDir: "/etc/cni/net.d", MaxConfNum: 1, From: "/etc/containerd/config.toml"},
		},
		"cri-o before containerd": {
			files: map[string]string{
				"/lib/systemd/system/containerd.service": unit,
				"/lib/systemd/system/crio.service":       "[Service]\nExecStart=/usr/bin/crio\n",
				"/etc/crio/crio.conf":                    "[crio.network]\nnetwork_dir = \"/etc/cni/net.d/\"\nplugin_dirs = [\"/opt/cni/bin/\", \"/usr/libexec/cni/\"]\n",
				"/etc/crio/crio.conf.d/10-x.conf":        "[crio.network]\nnetwork_dir = \"/x/\"\n",
			},
			want: RuntimeFacts{Name: "cri-o", ConfigFile: "/etc/crio/crio.conf", BinDirs: []string{"/opt/cni/bin", "/usr/libexec/cni"}, ConfDir: "/x",
				From: "/etc/crio/crio.conf.d/10-x.conf", SetBy: map[string]string{"network_dir": "/etc/crio/crio.conf.d/10-x.conf"}},
		},
		// `crio config` of 1.36 and 1.37 prints the values that it reads.
		"cri-o, all files below its directory, and the key of old": {
			files: map[string]string{
				"/lib/systemd/system/crio.service":     "[Service]\nExecStart=/usr/bin/crio -d /etc/crio.d\n",
				"/etc/crio/crio.conf":                  "[crio.network]\nplugin_dir = \"/usr/libexec/cni\"\n",
				"/etc/crio/crio.conf.d/99-unread.conf": "[crio.network]\nnetwork_dir = \"/unread\"\n",
				"/etc/crio.d/10/20.conf":               "[crio.network]\nnetwork_dir = \"/below\"\n",
				"/etc/crio.d/10.conf~":                 "[crio.network]\nnetwork_dir = \"/last\"\n",
			},
			want: RuntimeFacts{Name: "cri-o", ConfigFile: "/etc/crio/crio.conf", BinDirs: []string{"/opt/cni/bin", "/usr/libexec/cni"}, ConfDir: "/last",
				From: "/etc/crio.d/10.conf~", DropInDir: "/etc/crio.d", SetBy: map[string]string{"network_dir": "/etc/crio.d/10.conf~"}},
		},
		"cri-o, with a drop-in of ours": {
			files: map[string]string{
				"/lib/systemd/system/crio.service":        "[Service]\nExecStart=/usr/bin/crio\n",
				"/etc/crio/crio.conf.d/10-crio.conf":      "[crio.network]\nplugin_dirs = [\"/opt/cni/bin\", \"/usr/lib/cni\"]\n",
				"/etc/crio/crio.conf.d/50-netwright.conf": "[crio.network]\nnetwork_dir = \"/ours\"\nplugin_dirs = [\"/ours\"]\n",
			},
			want: RuntimeFacts{Name: "cri-o", ConfigFile: "/etc/crio/crio.conf", BinDirs: []string{"/ours"}, ConfDir: "/ours", From: "/etc/crio/crio.conf.d/50-netwright.conf",
				SetBy:    map[string]string{"network_dir": "/etc/crio/crio.conf.d/50-netwright.conf", "plugin_dirs": "/etc/crio/crio.conf.d/50-netwright.conf"},
				ByOthers: &CNIDirs{BinDirs: []string{"/opt/cni/bin", "/usr/lib/cni"}, ConfDir: "/etc/cni/net.d"}},
		},
		"containerd 2.x, with a drop-in of ours": {
			files: map[string]string{
				"/lib/systemd/system/containerd.service":   unit,
				"/etc/containerd/config.toml":              "version = 3\nimports = ['/etc/containerd/conf.d/*.toml']\n[plugins.'io.containerd.cri.v1.runtime'.cni]\nbin_dirs = ['/b']\n",
				"/etc/containerd/conf.d/50-netwright.toml": "version = 3\n[plugins.'io.containerd.cri.v1.runtime'.cni]\nconf_dir = '/ours'\nbin_dirs = ['/ours', '/b']\n",
			},
			want: RuntimeFacts{Name: "containerd", ConfigFile: "/etc/containerd/config.toml", ConfigVersion: 3, Imports: []string{"/etc/containerd/conf.d/*.toml"},
				BinDirs: []string{"/ours", "/b"}, BinDirKey: "bin_dirs", ConfDir: "/ours", MaxConfNum: 1, From: "/etc/containerd/config.toml",
				SetBy: imported("50-netwright.toml", "bin_dirs", "conf_dir"), ByOthers: &CNIDirs{BinDirs: []string{"/b"}, ConfDir: "/etc/cni/net.d"}},
		},
		"cri-o, its command line and its environment": {
			files: map[string]string{
				"/lib/systemd/system/crio.service": "[Service]\nEnvironmentFile=-/etc/sysconfig/crio\nExecStart=/usr/bin/crio $CRIO_RUNTIME_OPTIONS $CRIO_NETWORK_OPTIONS\n",
				"/etc/sysconfig/crio":              "CRIO_NETWORK_OPTIONS=\"--cni-plugin-dir /a,/b\"\nCONTAINER_CNI_CONFIG_DIR=/env\nCONTAINER_CNI_PLUGIN_DIR=/env\nCONTAINER_CONFIG=/etc/crio.conf\n",
				"/etc/crio.conf":                   "[crio.network]\nplugin_dirs = [\"/c\"]\nnetwork_dir = \"/c\"\ncni_default_network = \"crio\"\n",
			},
			want: RuntimeFacts{Name: "cri-o", ConfigFile: "/etc/crio.conf", BinDirs: []string{"/a", "/b"}, ConfDir: "/env", From: "its command line", DefaultNetwork: "crio",
				SetBy: map[string]string{"network_dir": "its command line", "plugin_dirs": "its command line"}},
		},
		"cri-o, no list, and a flag for each directory": {
			files: map[string]string{
				"/lib/systemd/system/crio.service": "[Service]\nExecStart=/usr/bin/crio --cni-plugin-dir /a --cni-plugin-dir=/b,/c\n",
			},
			want: RuntimeFacts{Name: "cri-o", ConfigFile: "/etc/crio/crio.conf", BinDirs: []string{"/a", "/b", "/c"}, ConfDir: "/etc/cni/net.d", From: "its command line",
				SetBy: map[string]string{"plugin_dirs": "its command line"}},
		},
		"cri-o, an empty list and the key of old": {
			files: map[string]string{
				"/lib/systemd/system/crio.service": "[Service]\nExecStart=/usr/bin/crio\n",
				"/etc/crio/crio.conf":              "[crio.network]\nplugin_dirs = []\nplugin_dir = \"/p\"\n",
			},
			want: RuntimeFacts{Name: "cri-o", ConfigFile: "/etc/crio/crio.conf", BinDirs: []string{"/p"}, ConfDir: "/etc/cni/net.d", From: "/etc/crio/crio.conf"},
		},
		"what kubelet names wins": {
			files: map[string]string{
				"/lib/systemd/system/containerd.service": unit,
				"/lib/systemd/system/crio.service":       "[Service]\nExecStart=/usr/bin/crio\n",
				"/lib/systemd/system/kubelet.service":    "[Service]\nExecStart=kubelet --container-runtime-endpoint unix:///run/containerd/containerd.sock\n",
			},
			want: RuntimeFacts{Name: "containerd", BinDirs: []string{"/opt/cni/bin"}, ConfDir: "/etc/cni/net.d", MaxConfNum: 1, From: "default"},
		},
		"kubelet names none": {
			files: map[string]string{
				"/lib/systemd/system/containerd.service": unit,
				"/lib/systemd/system/crio.service":       "[Service]\nExecStart=/usr/bin/crio\n",
				"/lib/systemd/system/kubelet.service":    "[Service]\nExecStart=kubelet\n",
			},
			want: RuntimeFacts{Name: "containerd", BinDirs: []string{"/opt/cni/bin"}, ConfDir: "/etc/cni/net.d", MaxConfNum: 1, From: "default"},
		},
		"kubelet names none, and containerd is not there": {
			files: map[string]string{
				"/lib/systemd/system/crio.service":    "[Service]\nExecStart=/usr/bin/crio\n",
				"/lib/systemd/system/kubelet.service": "[Service]\nExecStart=kubelet\n",
			},
			want: RuntimeFacts{Name: "cri-o", ConfigFile: "/etc/crio/crio.conf", BinDirs: []string{"/opt/cni/bin"}, ConfDir: "/etc/cni/net.d", From: "default"},
		},
		"docker": {
			files: map[string]string{"/lib/systemd/system/docker.service": "[Service]\nExecStart=dockerd\n"},
			want:  RuntimeFacts{Name: "docker"},
		},
		"docker with its containerd": {
			files: map[string]string{
				"/lib/systemd/system/docker.service":     "[Service]\nExecStart=dockerd\n",
				"/lib/systemd/system/containerd.service": unit,
				"/etc/containerd/config.toml":            "disabled_plugins = [\"cri\"]\n",
			},
			want: RuntimeFacts{Name: "docker"},
		},
		"docker with its containerd, which kubelet names": { // kubelet cannot use it
			files: map[string]string{
				"/lib/systemd/system/docker.service":     "[Service]\nExecStart=dockerd\n",
				"/lib/systemd/system/containerd.service": unit,
				"/lib/systemd/system/kubelet.service":    "[Service]\nExecStart=kubelet --container-runtime-endpoint unix:///run/containerd/containerd.sock\n",
				"/etc/containerd/config.toml":            "disabled_plugins = [\"cri\"]\n",
			},
			want: RuntimeFacts{Name: "containerd", ConfigFile: "/etc/containerd/config.toml", ConfigVersion: 1, CRIDisabled: true, CRIDisabledBy: []string{"cri in /etc/containerd/config.toml"},
				BinDirs: []string{"/opt/cni/bin"}, ConfDir: "/etc/cni/net.d", MaxConfNum: 1, From: "/etc/containerd/config.toml"},
		},
		"docker by cri-dockerd": {
			files: map[string]string{
				"/lib/systemd/system/docker.service":     "[Service]\nExecStart=dockerd\n",
				"/lib/systemd/system/containerd.service": unit,
				"/lib/systemd/system/cri-docker.service": "[Service]\nExecStart=/usr/bin/cri-dockerd --container-runtime-endpoint fd:// --cni-conf-dir /etc/cni/docker --cni-bin-dir=/opt/cni/bin,/usr/lib/cni\n",
				"/lib/systemd/system/kubelet.service":    "[Service]\nExecStart=kubelet --container-runtime-endpoint unix:///var/run/cri-dockerd.sock\n",
			},
			want: RuntimeFacts{Name: "docker", BinDirs: []string{"/opt/cni/bin", "/usr/lib/cni"}, ConfDir: "/etc/cni/docker", From: "its command line"},
		},
		"docker by cri-dockerd, as Kubespray has it": {
			files: map[string]string{
				"/lib/systemd/system/docker.service":      "[Service]\nExecStart=dockerd\n",
				"/etc/systemd/system/cri-dockerd.service": "[Service]\nExecStart=/usr/local/bin/cri-dockerd --container-runtime-endpoint unix:///var/run/cri-dockerd.sock --cni-conf-dir=/etc/cni/docker --network-plugin=cni\n",
				"/lib/systemd/system/kubelet.service":     "[Service]\nExecStart=kubelet --container-runtime-endpoint unix:///var/run/cri-dockerd.sock\n",
			},
			want: RuntimeFacts{Name: "docker", BinDirs: []string{"/opt/cni/bin"}, ConfDir: "/etc/cni/docker", From: "its command line"},
		},
		"none": {},
	} {
		if d := cmp.Diff(c.want, factsOf(t, c.files).Runtime); d != "" {
			t.Errorf("%s (-want +got)\n%s", name, d)
		}
	}
}

// containerd 2.x merges the sections of files of version 2, and 1.x takes the last one: 1.7.29,
// 2.0.5 and 2.2.1 report these settings. Of a containerd that does not run, the package of its
// program shows which it is. The line that keeps it: runtime_config.go, replacesSections.
func TestSectionsOfVersionTwo(t *testing.T) {
	root := t.TempDir()
	write(t, root+"/src/go.mod", "module github.com/containerd/containerd/v2\n")
	write(t, root+"/src/cmd/containerd/main.go", "package main\n\nfunc main() {}\n")
	build := exec.Command("go", "build", "-buildvcs=false", "-ldflags=-s -w", "-o", root+"/containerd", "./cmd/containerd")
	build.Dir = root + "/src"
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	const main, nvidia = "/etc/containerd/config.toml", "/etc/containerd/conf.d/99-nvidia.toml"
	write(t, root+main, "version = 2\nimports = ['/etc/containerd/conf.d/*.toml']\n[plugins.\"io.containerd.grpc.v1.cri\".cni]\nbin_dir = '/m'\nconf_dir = '/m'\n")
	write(t, root+nvidia, "version = 2\n[plugins.\"io.containerd.grpc.v1.cri\".cni]\nconf_dir = '/i'\n")
	of1 := RuntimeFacts{BinDirs: []string{"/opt/cni/bin"}, SetBy: map[string]string{"bin_dir": nvidia, "bin_dirs": nvidia, "conf_dir": nvidia, "conf_template": nvidia}}
	of2 := RuntimeFacts{BinDirs: []string{"/m"}, BinDirKey: "bin_dir", SetBy: map[string]string{"conf_dir": nvidia}}
	for _, c := range []struct {
		release, program string
		want             RuntimeFacts
	}{{"1.7.29", "", of1}, {"2.0.5", "", of2}, {"", "/containerd", of2}, {"", main, of1}, {"", "/none", of1}} {
		rt := RuntimeFacts{Version: c.release, ConfigFile: main}
		newGatherer(sourcesOf(t, Options{Root: root}), &Facts{}).containerdFile(&rt, unitCommand{args: []string{c.program}})
		want := c.want
		want.Version, want.ConfigFile, want.ConfigVersion, want.From, want.ConfDir, want.MaxConfNum, want.Imports = c.release, main, 2, main, "/i", 1, rt.Imports
		if d := cmp.Diff(want, rt); d != "" {
			t.Errorf("release %q, program %q (-want +got)\n%s", c.release, c.program, d)
		}
	}
}

// When a key of containerd's own file is gone, its setting is the default again. A file of another
// program does not change.
func TestRuntimeWithoutKeys(t *testing.T) {
	rt := RuntimeFacts{ConfDir: "/ours", BinDirs: []string{"/ours"}}
	if got, want := *rt.Without([]string{"conf_dir"}).ByOthers, (CNIDirs{[]string{"/ours"}, "/etc/cni/net.d"}); !cmp.Equal(got, want) {
		t.Errorf("without conf_dir: %+v, want %+v", got, want)
	}
	rt.ByOthers = &CNIDirs{[]string{"/theirs"}, "/theirs"}
	if got, want := *rt.Without([]string{"bin_dirs"}).ByOthers, (CNIDirs{[]string{"/opt/cni/bin"}, "/theirs"}); !cmp.Equal(got, want) {
		t.Errorf("without bin_dirs: %+v, want %+v", got, want)
	}
	if rt.ByOthers.BinDirs[0] != "/theirs" {
		t.Errorf("the facts themselves are %+v now", rt.ByOthers)
	}
}

// containerd 2 serves no CRI without any one of three plugins, which it calls by their whole names.
// The problem names the plugins, and the files that disable them.
func TestCRISwitchedOff(t *testing.T) {
	for plugin, want := range map[string]bool{
		"cri": true, "io.containerd.grpc.v1.cri": true, "io.containerd.cri.v1.runtime": true, "io.containerd.cri.v1.images": true,
		"io.containerd.nri.v1.nri": false,
	} {
		facts := factsOf(t, map[string]string{
			"/lib/systemd/system/containerd.service": "[Service]\nExecStart=containerd\n",
			"/etc/containerd/config.toml":            "version = 3\nimports = [\"more.toml\"]\ndisabled_plugins = [\"io.containerd.snapshotter.v1.zfs\"]\n",
			"/etc/containerd/more.toml":              "version = 3\ndisabled_plugins = [\"" + plugin + "\"]\n",
		})
		if rt := facts.Runtime; rt.CRIDisabled != want {
			t.Errorf("without %s: CRI is off: %v, want %v", plugin, rt.CRIDisabled, want)
		}
		if says := strings.Contains(fmt.Sprint(facts.Problems), "disabled_plugins has "+plugin+" in /etc/containerd/more.toml: remove it"); says != want {
			t.Errorf("without %s the problems are %v", plugin, facts.Problems)
		}
	}
}

// The unit of some packages of cri-dockerd asks for no network of CNI.
func TestDockerWithoutCNI(t *testing.T) {
	for flag, want := range map[string]int{"": 0, "--network-plugin=cni": 0, "--network-plugin=": 1} {
		facts := factsOf(t, map[string]string{
			"/lib/systemd/system/docker.service":     "[Service]\nExecStart=dockerd\n",
			"/lib/systemd/system/cri-docker.service": "[Service]\nExecStart=/usr/bin/cri-dockerd --container-runtime-endpoint fd:// " + flag + "\n",
		})
		if got := strings.Count(fmt.Sprint(facts.Problems), "set it to cni"); got != want || facts.Runtime.ConfDir != "/etc/cni/net.d" {
			t.Errorf("%q: factsOf returns %v, %+v", flag, facts.Problems, facts.Runtime)
		}
	}
}

// Each form of kubelet's endpoint means a socket. kubelet 1.36 connects to it in each of these
// forms.
func TestRuntimeSocket(t *testing.T) {
	for endpoint, want := range map[string]string{
		"":                                  "/run/containerd/containerd.sock",
		"unix:///run/other/containerd.sock": "/run/other/containerd.sock",
		"unix:/run/other/containerd.sock":   "/run/other/containerd.sock",
		"/run/other/containerd.sock":        "/run/other/containerd.sock",
		"/run/other/crio.sock":              "/run/other/crio.sock",
		"unix:///run/other/crio.sock":       "/run/other/crio.sock",
	} {
		root := t.TempDir()
		write(t, root+"/lib/systemd/system/kubelet.service", "[Service]\nExecStart=kubelet --container-runtime-endpoint="+endpoint+"\n")
		for _, socket := range []string{"/run/containerd/containerd.sock", "/run/other/containerd.sock", "/run/other/crio.sock"} {
			noError(t, os.MkdirAll(root+path.Dir(socket), 0o755), unix.Mknod(root+socket, unix.S_IFSOCK|0o600, 0))
		}
		if got := gathered(t, Options{Root: root}).Runtime.Socket; got != want {
			t.Errorf("%q: %s, want %s", endpoint, got, want)
		}
	}
}

// Without a kubelet, a runtime that starts at boot also counts while it is stopped. Otherwise its
// plugins would be removed when it is restarted. The line that keeps it: runtime.go, runtimeKind.
func TestRuntimeThatIsStopped(t *testing.T) {
	for enabled, want := range map[string]string{"crio.service": "cri-o", "containerd.service": "containerd"} {
		root := t.TempDir()
		for _, unit := range []string{"crio.service", "containerd.service"} {
			write(t, root+"/lib/systemd/system/"+unit, "[Service]\nExecStart=x\n")
		}
		wants := root + "/etc/systemd/system/multi-user.target.wants"
		noError(t, os.MkdirAll(root+"/run/containerd", 0o755), unix.Mknod(root+"/run/containerd/containerd.sock", unix.S_IFSOCK|0o600, 0),
			os.MkdirAll(wants, 0o755), os.Symlink("/lib/systemd/system/"+enabled, wants+"/"+enabled))
		if got := gathered(t, Options{Root: root}).Runtime.Name; got != want {
			t.Errorf("with %s enabled: %s, want %s", enabled, got, want)
		}
	}
}

// A CRI-O that was killed leaves its socket. Without a kubelet it does not count before containerd,
// which starts at boot, and neither does a CRI-O that is masked. CRI-O without a unit of its own
// counts by its socket. The line that keeps it: runtime.go, runtimeKind.
func TestRuntimeThatWasKilled(t *testing.T) {
	const unit = "/lib/systemd/system/crio.service"
	for name, c := range map[string]struct {
		files, links map[string]string
		want         string
	}{
		"disabled": {files: map[string]string{unit: "[Service]\nExecStart=x\n"}, want: "containerd"},
		"masked": {files: map[string]string{unit: "[Service]\nExecStart=x\n"}, want: "containerd",
			links: map[string]string{"crio.service": "/dev/null", "multi-user.target.wants/crio.service": unit}},
		"masked, its package gone": {want: "containerd", links: map[string]string{"crio.service": "/dev/null"}},
		"without a unit":           {want: "cri-o"},
	} {
		root := t.TempDir()
		const etc, containerd = "/etc/systemd/system/", "/lib/systemd/system/containerd.service"
		write(t, root+containerd, "[Service]\nExecStart=x\n")
		for file, text := range c.files {
			write(t, root+file, text)
		}
		noError(t, os.MkdirAll(root+"/run/crio", 0o755), unix.Mknod(root+"/run/crio/crio.sock", unix.S_IFSOCK|0o600, 0),
			os.MkdirAll(root+etc+"multi-user.target.wants", 0o755), os.Symlink(containerd, root+etc+"multi-user.target.wants/containerd.service"))
		for link, to := range c.links {
			noError(t, os.Symlink(to, root+etc+link))
		}
		if got := gathered(t, Options{Root: root}).Runtime.Name; got != c.want {
			t.Errorf("CRI-O %s: %s, want %s", name, got, c.want)
		}
	}
}

// Where kubelet's endpoint has no usual name, the runtime that listens there is kubelet's, also
// while it is stopped. The line that keeps it: runtime.go, listens.
func TestRuntimeAtAnUnusualSocket(t *testing.T) {
	const containerd, grpc = "/etc/containerd/config.toml", "[grpc]\naddress = '/run/cri.sock'\n"
	for name, c := range map[string]struct {
		file, text, want string
	}{
		"containerd":              {containerd, "version = 2\n" + grpc, "containerd"},
		"containerd, by a flag":   {"/etc/systemd/system/containerd.service.d/x.conf", "[Service]\nExecStart=\nExecStart=containerd -a /run/cri.sock\n", "containerd"},
		"containerd, version 4":   {containerd, "version = 4\n[plugins.'io.containerd.server.v1.grpc']\naddress = '/run/cri.sock'\n", "containerd"},
		"cri-o":                   {"/etc/crio/crio.conf.d/x.conf", "[crio.api]\nlisten = '/run/cri.sock'\n", "cri-o"},
		"cri-o, by its variable":  {"/etc/systemd/system/crio.service.d/x.conf", "[Service]\nEnvironment=CONTAINER_LISTEN=/run/cri.sock\n", "cri-o"},
		"nobody, and CRI-O is up": {containerd, "version = 2\n", "cri-o"},
	} {
		root := t.TempDir()
		write(t, root+"/lib/systemd/system/kubelet.service", "[Service]\nExecStart=kubelet --config=/etc/kubelet.yaml\n")
		write(t, root+"/etc/kubelet.yaml", "containerRuntimeEndpoint: unix:///run/cri.sock\n")
		for _, unit := range []string{"crio", "containerd"} {
			write(t, root+"/lib/systemd/system/"+unit+".service", "[Service]\nExecStart="+unit+"\n")
		}
		write(t, root+c.file, c.text)
		if c.want == "containerd" || strings.HasPrefix(name, "nobody") {
			noError(t, os.MkdirAll(root+"/run/crio", 0o755), unix.Mknod(root+"/run/crio/crio.sock", unix.S_IFSOCK|0o600, 0))
		} else {
			noError(t, os.MkdirAll(root+"/run/containerd", 0o755), unix.Mknod(root+"/run/containerd/containerd.sock", unix.S_IFSOCK|0o600, 0))
		}
		if got := gathered(t, Options{Root: root}); got.Runtime.Name != c.want || len(got.Problems) > 0 {
			t.Errorf("%s: %s, want %s; problems %q", name, got.Runtime.Name, c.want, got.Problems)
		}
	}
}

// systemd 252 gives a service these variables for such an EnvironmentFile=, and these words for $A.
func TestEnvironmentFile(t *testing.T) {
	for _, c := range []struct {
		text, value string
		words       []string
	}{
		{"A=one", "one", []string{"one"}},
		{"A=\"\n  --node-ip=192.0.2.1\n  --max-pods=50\n\"\n", "\n  --node-ip=192.0.2.1\n  --max-pods=50\n", []string{"--node-ip=192.0.2.1", "--max-pods=50"}},
		{"A=--a=1 --b=\"2 3\"\n", `--a=1 --b="2 3"`, []string{"--a=1", "--b=2 3"}},
		{"A=\"--a=1 --b=\\\"2 3\\\"\"\n", `--a=1 --b="2 3"`, []string{"--a=1", "--b=2 3"}},
		{"A='--l=\"a b\" c'", `--l="a b" c`, []string{"--l=a b", "c"}},
		{"A=\"a\"'b'c", "abc", []string{"abc"}},
		{"A=x\"y z\"w", `x"y z"w`, []string{"xy zw"}},
		{"A=--a \\\n  --b\nB=1\n", "--a   --b", []string{"--a", "--b"}},
		{"A=\"--a \\\n--b\"\n", "--a --b", []string{"--a", "--b"}},
		{"A=\"x \\$B \\n \\\\ y\"", `x $B \n \ y`, []string{"x", "$B", "n", " y"}},
		{"A=a # no comment  \n", "a # no comment", []string{"a", "#", "no", "comment"}},
		{" A = sp \r\nB=2", "sp", []string{"sp"}},
		{"A=1\n# A=2\n;A=3\n--A=4\nexport A=5\n", "1", []string{"1"}},
		{"A=1\nA=\n", "", nil},
		{"A='1", "1", []string{"1"}},
		{"A=back\\slash", "backslash", []string{"backslash"}},
	} {
		value := ParseAssignments([]byte(c.text))["A"]
		if words := splitCommand(value); value != c.value || !slices.Equal(words, c.words) {
			t.Errorf("%q is %q, words %q; want %q, %q", c.text, value, words, c.value, c.words)
		}
	}
}

// CRI-O of 1.36 ignores its changed files until it starts again, and prints these settings for
// `crio status config`. The line that keeps it: runtime_config.go, crioRuns.
func TestCRIOAsItRuns(t *testing.T) {
	for config, want := range map[string]RuntimeFacts{
		"": {Name: "cri-o", ConfDir: "/of/its/files", From: "/etc/crio/crio.conf"},
		"[crio]\n  [crio.network]\n    cni_default_network = \"x\"\n    network_dir = \"/etc/cni/net.d/\"\n    plugin_dirs = [\"/opt/cni/bin/\", \"/p\"]\n": {
			Name: "cri-o", ConfDir: "/etc/cni/net.d", BinDirs: []string{"/opt/cni/bin", "/p"}, DefaultNetwork: "x", From: "crio status config"},
	} {
		rt := RuntimeFacts{Name: "cri-o", ConfDir: "/of/its/files", From: "/etc/crio/crio.conf"}
		gatherer{}.effective(&rt, cri.Status{Name: "cri-o", Info: map[string]string{"toml": config}})
		if diff := cmp.Diff(want, rt); diff != "" {
			t.Errorf("%q:\n%s", config, diff)
		}
	}
}

// k3s has no unit of containerd. The line that keeps it: runtime.go, EmbeddedRuntime.
func TestRuntimeInsideOfK3s(t *testing.T) {
	files := map[string]string{"/run/k3s/containerd/containerd.sock": ""}
	if f := factsOf(t, files); f.Runtime.Name != "" || !strings.Contains(fmt.Sprint(f.Problems), "inside of k3s and rke2") {
		t.Errorf("%+v, problems %q", f.Runtime, f.Problems)
	}
	files["/lib/systemd/system/containerd.service"] = "[Service]\nExecStart=/usr/bin/containerd\n"
	if f := factsOf(t, files); f.Runtime.Name != "containerd" || len(f.Problems) > 0 {
		t.Errorf("beside containerd: %+v, problems %q", f.Runtime, f.Problems)
	}
}
