package facts

import (
	"encoding/json"
	"errors"
	"net/netip"
	"slices"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/kernel"
	"github.com/netwright/netwright/pkg/host/systemd"
	"github.com/netwright/netwright/test/needs"
)

// factsOf gathers the facts of an image with the given files.
func factsOf(t *testing.T, files map[string]string) *Facts {
	t.Helper()
	root := t.TempDir()
	for path, content := range files {
		write(t, root+path, content)
	}
	return gathered(t, Options{Root: root})
}

func TestFactsOfAnImage(t *testing.T) {
	f := factsOf(t, map[string]string{
		"/etc/hostname":                                  "node-1\n",
		"/usr/lib/os-release":                            "# c\nID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\nVERSION_ID='9.4'\nPRETTY_NAME=\"Rocky Linux 9.4 (Blue \\\"Onyx\\\")\"\n",
		"/usr/lib/systemd/systemd":                       "",
		"/opt/kops/bin/nodeup":                           "",
		"/etc/systemd/system/kops-configuration.service": "",
		"/var/lib/kubelet/kubeadm-flags.env":             "",
	})
	want := &Facts{
		Hostname: "node-1", Arch: f.Arch, Init: "systemd",
		OS:    OSRelease{ID: "rocky", IDLike: []string{"rhel", "centos", "fedora"}, VersionID: "9.4", Pretty: `Rocky Linux 9.4 (Blue "Onyx")`},
		Peers: []string{"nodeup", "kubeadm"},
	}
	if d := cmp.Diff(want, f, cmpopts.EquateComparable(netip.Addr{})); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

// The table has os-release of distributions that run Kubernetes nodes: with and without quotes,
// with and without ID_LIKE, without VERSION_ID or with a long one.
func TestOSRelease(t *testing.T) {
	for _, c := range []struct {
		text string
		want OSRelease
	}{
		{"PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nNAME=\"Debian GNU/Linux\"\nVERSION_ID=\"12\"\nID=debian\n",
			OSRelease{ID: "debian", VersionID: "12", Pretty: "Debian GNU/Linux 12 (bookworm)"}},
		{"PRETTY_NAME=\"Debian GNU/Linux trixie/sid\"\nID=debian\n", OSRelease{ID: "debian", Pretty: "Debian GNU/Linux trixie/sid"}},
		{"PRETTY_NAME=\"Ubuntu 24.04.1 LTS\"\nVERSION_ID=\"24.04\"\nID=ubuntu\nID_LIKE=debian\n",
			OSRelease{ID: "ubuntu", IDLike: []string{"debian"}, VersionID: "24.04", Pretty: "Ubuntu 24.04.1 LTS"}},
		{"ID=\"rhel\"\nID_LIKE=\"fedora\"\nVERSION_ID=\"9.4\"\nPRETTY_NAME=\"Red Hat Enterprise Linux 9.4 (Plow)\"\n",
			OSRelease{ID: "rhel", IDLike: []string{"fedora"}, VersionID: "9.4", Pretty: "Red Hat Enterprise Linux 9.4 (Plow)"}},
		{"ID=\"amzn\"\nID_LIKE=\"fedora\"\nVERSION_ID=\"2023\"\nPRETTY_NAME=\"Amazon Linux 2023.5.20240819\"\n",
			OSRelease{ID: "amzn", IDLike: []string{"fedora"}, VersionID: "2023", Pretty: "Amazon Linux 2023.5.20240819"}},
		{"ID=flatcar\nID_LIKE=coreos\nVERSION_ID=3975.2.0\nPRETTY_NAME=\"Flatcar Container Linux by Kinvolk 3975.2.0 (Oklo)\"\n",
			OSRelease{ID: "flatcar", IDLike: []string{"coreos"}, VersionID: "3975.2.0", Pretty: "Flatcar Container Linux by Kinvolk 3975.2.0 (Oklo)"}},
		{"ID=bottlerocket\nPRETTY_NAME=\"Bottlerocket OS 1.20.5 (aws-k8s-1.30)\"\nVARIANT_ID=aws-k8s-1.30\nVERSION_ID=1.20.5\n",
			OSRelease{ID: "bottlerocket", VersionID: "1.20.5", Pretty: "Bottlerocket OS 1.20.5 (aws-k8s-1.30)"}},
	} {
		if d := cmp.Diff(c.want, factsOf(t, map[string]string{"/etc/os-release": c.text}).OS, cmpopts.EquateEmpty()); d != "" {
			t.Errorf("%s (-want +got)\n%s", c.want.Pretty, d)
		}
	}
}

func TestFactsOfNothing(t *testing.T) {
	f := factsOf(t, nil)
	if d := cmp.Diff(&Facts{Arch: f.Arch}, f, cmpopts.EquateComparable(netip.Addr{})); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

const kubeadmDropIn = "/usr/lib/systemd/system/kubelet.service.d/10-kubeadm.conf"

func TestKubeletFacts(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  KubeletFacts
	}{
		"kubeadm": {
			files: map[string]string{
				"/usr/lib/systemd/system/kubelet.service":                 "[Unit]\nDescription=kubelet\n[Service]\nExecStart=/usr/bin/kubelet\nRestart=always\n",
				"/etc/systemd/system/kubelet.service.d/20-cloud.conf":     "[Service]\nEnvironment=KUBELET_EXTRA_ARGS=--node-ip=192.0.2.2\n",
				"/etc/systemd/system/kubelet.service.d/50-netwright.conf": "[Service]\nEnvironment=KUBELET_EXTRA_ARGS=ours\n",
				kubeadmDropIn: "# Note\n[Service]\n" +
					"Environment=\"KUBELET_KUBECONFIG_ARGS=--bootstrap-kubeconfig=/etc/kubernetes/b.conf --kubeconfig=/etc/kubernetes/kubelet.conf\"\n" +
					"Environment=\"KUBELET_CONFIG_ARGS=--config=/var/lib/kubelet/config.yaml\"\n" +
					"EnvironmentFile=-/var/lib/kubelet/kubeadm-flags.env\nEnvironmentFile=-/etc/default/kubelet\n" +
					"ExecStart=\nExecStart=/usr/bin/kubelet $KUBELET_KUBECONFIG_ARGS $KUBELET_CONFIG_ARGS $KUBELET_KUBEADM_ARGS $KUBELET_EXTRA_ARGS\n",
				"/var/lib/kubelet/kubeadm-flags.env": "KUBELET_KUBEADM_ARGS=\"--container-runtime-endpoint=unix:///run/containerd/containerd.sock --pod-infra-container-image=x\"\n",
			},
			want: KubeletFacts{
				Unit:            "kubelet.service",
				Program:         "/usr/bin/kubelet",
				ExecStart:       "/usr/bin/kubelet $KUBELET_KUBECONFIG_ARGS $KUBELET_CONFIG_ARGS $KUBELET_KUBEADM_ARGS $KUBELET_EXTRA_ARGS",
				Variables:       []string{"KUBELET_KUBECONFIG_ARGS", "KUBELET_CONFIG_ARGS", "KUBELET_KUBEADM_ARGS", "KUBELET_EXTRA_ARGS"},
				EnvFiles:        []string{"/var/lib/kubelet/kubeadm-flags.env", "/etc/default/kubelet"},
				ConfigFile:      "/var/lib/kubelet/config.yaml",
				RuntimeEndpoint: "unix:///run/containerd/containerd.sock",
				Kubeconfig:      "/etc/kubernetes/kubelet.conf",
				Set: []VariableFact{
					{"KUBELET_KUBECONFIG_ARGS", "--bootstrap-kubeconfig=/etc/kubernetes/b.conf --kubeconfig=/etc/kubernetes/kubelet.conf", kubeadmDropIn},
					{"KUBELET_CONFIG_ARGS", "--config=/var/lib/kubelet/config.yaml", kubeadmDropIn},
					{"KUBELET_EXTRA_ARGS", "--node-ip=192.0.2.2", "/etc/systemd/system/kubelet.service.d/20-cloud.conf"},
				},
			},
		},
		"nodeup": {
			files: map[string]string{
				"/lib/systemd/system/kubelet.service": "[Service]\nEnvironmentFile=/etc/sysconfig/kubelet\nExecStart=/usr/local/bin/kubelet \"$DAEMON_ARGS\"\n",
				"/etc/systemd/system/kubelet.service": "[Service]\nEnvironmentFile=/etc/sysconfig/kubelet\nExecStart=/usr/local/bin/kubelet $DAEMON_ARGS\n",
				"/etc/sysconfig/kubelet":              "DAEMON_ARGS=\"--config=/var/lib/kubelet/kubelet.conf --config-dir /etc/kubelet.d\"\nHOME=\"/root\"\n",
				"/var/lib/kubelet/kubelet.conf":       "apiVersion: kubelet.config.k8s.io/v1beta1\nmaxPods: 5\nmaxPods: 6\ncontainerRuntimeEndpoint: \"unix:///run/crio/crio.sock\"\n", // kubelet takes the last
			},
			want: KubeletFacts{
				Unit: "kubelet.service", Program: "/usr/local/bin/kubelet", ExecStart: "/usr/local/bin/kubelet $DAEMON_ARGS", Variables: []string{"DAEMON_ARGS"},
				EnvFiles: []string{"/etc/sysconfig/kubelet"}, ConfigFile: "/var/lib/kubelet/kubelet.conf", ConfigDir: "/etc/kubelet.d",
				RuntimeEndpoint: "unix:///run/crio/crio.sock",
				ConfigSet: []VariableFact{
					{"containerRuntimeEndpoint", "unix:///run/crio/crio.sock", "/var/lib/kubelet/kubelet.conf"}, {"maxPods", "6", "/var/lib/kubelet/kubelet.conf"},
				},
			},
		},
		"nodeup with Docker, whose directories end with a slash": {
			files: map[string]string{
				"/lib/systemd/system/kubelet.service": "[Service]\nEnvironmentFile=/etc/sysconfig/kubelet\nExecStart=/usr/local/bin/kubelet $DAEMON_ARGS\n",
				"/etc/sysconfig/kubelet":              "DAEMON_ARGS=\"--network-plugin=cni --cni-bin-dir=/opt/cni/bin/ --cni-conf-dir=/etc/cni/net.d/\"\n",
			},
			want: KubeletFacts{
				Unit: "kubelet.service", Program: "/usr/local/bin/kubelet", ExecStart: "/usr/local/bin/kubelet $DAEMON_ARGS", Variables: []string{"DAEMON_ARGS"},
				EnvFiles: []string{"/etc/sysconfig/kubelet"}, CNI: KubeletCNI{"cni", "/etc/cni/net.d", []string{"/opt/cni/bin"}},
			},
		},
		// The kubelet of Kubernetes 1.36 logs this as its KubeletConfiguration with these files.
		"EKS, JSON and drop-ins": {
			files: map[string]string{
				"/etc/systemd/system/kubelet.service":                     "[Service]\nExecStart=/usr/bin/kubelet --config=/etc/kubernetes/kubelet/config.json --config-dir=/etc/kubernetes/kubelet/config.json.d\n",
				"/etc/kubernetes/kubelet/config.json":                     "{\n\t\"kind\": \"KubeletConfiguration\", \"apiVersion\": \"kubelet.config.k8s.io/v1beta1\",\n\t\"clusterDNS\": [\"10.100.0.10\"],\n\t\"containerRuntimeEndpoint\": \"unix:///run/containerd/containerd.sock\", \"maxPods\": 29}\n",
				"/etc/kubernetes/kubelet/config.json.d/40-nodeadm.conf":   "{\"kind\": \"KubeletConfiguration\", \"apiVersion\": \"kubelet.config.k8s.io/v1beta1\", \"clusterDNS\": [\"169.254.20.10\"], \"maxPods\": 58}\n",
				"/etc/kubernetes/kubelet/config.json.d/50-netwright.conf": "kind: KubeletConfiguration\napiVersion: kubelet.config.k8s.io/v1beta1\nmaxPods: 110\n",
				"/etc/kubernetes/kubelet/config.json.d/60/more.conf":      "kind: KubeletConfiguration\napiVersion: kubelet.config.k8s.io/v1beta1\nmaxPods: 77\nauthentication: {anonymous: {enabled: no}}\nfailSwapOn: no\nclusterDNS:\n- 10.0.0.10\n- \"fd00::a\"\n",
				"/etc/kubernetes/kubelet/config.json.d/99-not-one.yaml":   "maxPods: 1\n",
			},
			want: KubeletFacts{
				Unit: "kubelet.service", Program: "/usr/bin/kubelet",
				ExecStart:  "/usr/bin/kubelet --config=/etc/kubernetes/kubelet/config.json --config-dir=/etc/kubernetes/kubelet/config.json.d",
				ConfigFile: "/etc/kubernetes/kubelet/config.json", ConfigDir: "/etc/kubernetes/kubelet/config.json.d",
				RuntimeEndpoint: "unix:///run/containerd/containerd.sock",
				ClusterDNS:      []netip.Addr{netip.MustParseAddr("10.0.0.10"), netip.MustParseAddr("fd00::a")},
				ConfigSet: []VariableFact{
					{"containerRuntimeEndpoint", "unix:///run/containerd/containerd.sock", "/etc/kubernetes/kubelet/config.json"},
					{"failSwapOn", "false", "/etc/kubernetes/kubelet/config.json.d/60/more.conf"},
					{"maxPods", "77", "/etc/kubernetes/kubelet/config.json.d/60/more.conf"},
				},
			},
		},
		"continued lines": {
			files: map[string]string{
				"/etc/systemd/system/kubelet.service": "[Service]\nEnvironment=A=1 'B=two words' \"C=3\"\nExecStart=@-/usr/bin/kubelet kubelet \\\n" +
					"  # a comment between\n  --v=${A} --x=${B}/${C} \\\n  $NODE_ARGS\n",
			},
			want: KubeletFacts{
				Unit: "kubelet.service", Program: "/usr/bin/kubelet", ExecStart: "@-/usr/bin/kubelet kubelet --v=${A} --x=${B}/${C} $NODE_ARGS",
				Variables: []string{"NODE_ARGS"},
			},
		},
		"none": {},
	} {
		if d := cmp.Diff(c.want, factsOf(t, c.files).Kubelet, cmpopts.IgnoreFields(KubeletFacts{}, "Flags"), cmpopts.EquateComparable(netip.Addr{})); d != "" {
			t.Errorf("%s (-want +got)\n%s", name, d)
		}
	}
}

// A flag on kubelet's command line counts more than files and more than earlier variables, whether
// it comes from a variable, a file of variables, or neither. A drop-in of ours does not count,
// since otherwise the plan would judge itself. Only a variable that is a whole word becomes several
// words. kubelet 1.36 accepts --max_pods for --max-pods. The lines that keep it: unit_command.go,
// flags, commandOf; kubelet.go, byOthers
func TestTheFlagsThatOthersGiveKubelet(t *testing.T) {
	k := factsOf(t, map[string]string{
		"/lib/systemd/system/kubelet.service": "[Service]\nEnvironment=MORE=--hairpin-mode=none\nEnvironmentFile=/etc/default/kubelet\n" +
			"ExecStart=kubelet --config-dir=/d --max-pods 30 $KUBELET_EXTRA_ARGS ${ONE_WORD} --v=2 $MORE --max_pods=40 --fail\n",
		"/etc/default/kubelet": "ONE_WORD='--pod-cidr=192.0.2.0/24 --v=3'\n",
		"/etc/systemd/system/kubelet.service.d/50-netwright.conf": "[Service]\nEnvironment=KUBELET_EXTRA_ARGS=--resolv-conf=/ours\n",
	}).Kubelet
	want := KubeletFacts{Variables: []string{"KUBELET_EXTRA_ARGS", "MORE"}, Flags: []FlagFact{
		{Name: "config-dir", Value: "/d"},
		{Name: "pod-cidr", Value: "192.0.2.0/24 --v=3", Overrides: []string{"KUBELET_EXTRA_ARGS"}},
		{Name: "v", Value: "2", Overrides: []string{"KUBELET_EXTRA_ARGS"}},
		{Name: "hairpin-mode", Value: "none", Overrides: []string{"KUBELET_EXTRA_ARGS"}},
		{Name: "max-pods", Value: "40", Overrides: []string{"KUBELET_EXTRA_ARGS", "MORE"}},
		{Name: "fail", Overrides: []string{"KUBELET_EXTRA_ARGS", "MORE"}},
	}}
	if d := cmp.Diff(want, KubeletFacts{Variables: k.Variables, Flags: k.Flags}); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

// An empty Environment= of a later file removes a variable. Our drop-in does not bring it back.
func TestVariablesThatAreTakenBack(t *testing.T) {
	files := map[string]string{
		"/lib/systemd/system/kubelet.service":                     "[Service]\nEnvironment=KUBELET_EXTRA_ARGS=--v=4 OTHER=1\nExecStart=kubelet $KUBELET_EXTRA_ARGS $OTHER\n",
		"/etc/systemd/system/kubelet.service.d/20-site.conf":      "[Service]\nEnvironment=\nEnvironment=OTHER=2\n",
		"/etc/systemd/system/kubelet.service.d/50-netwright.conf": "[Service]\nEnvironment=\nEnvironment=KUBELET_EXTRA_ARGS=ours\n",
	}
	want := []VariableFact{{"OTHER", "2", "/etc/systemd/system/kubelet.service.d/20-site.conf"}}
	if d := cmp.Diff(want, factsOf(t, files).Kubelet.Set); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

func TestUnitCommand(t *testing.T) {
	u := systemd.ParseUnitFile([]byte("[Service]\nEnvironment=A=1 'B=two words'\nEnvironment=C=x\n" +
		`ExecStart=-/bin/x "$A" $B '${B}' --c=${C}${C} 'a b' "q\"q" $NONE last`))
	c := commandOf(u, nil)
	want := []string{"/bin/x", "1", "two", "words", "two words", "--c=xx", "a b", `q"q`, "last"}
	if !slices.Equal(c.args, want) {
		t.Errorf("%q, want %q", c.args, want)
	}
}

// Only the host itself can use its stub resolver: pods use the servers behind it.
func TestResolvConfIsOneThatPodsCanUse(t *testing.T) {
	const stub, behind = "nameserver 127.0.0.53\noptions edns0\n", "# by resolved\nnameserver 192.0.2.53\n"
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"a server":           {map[string]string{"/etc/resolv.conf": behind}, "/etc/resolv.conf"},
		"resolved's stub":    {map[string]string{"/etc/resolv.conf": stub, "/run/systemd/resolve/resolv.conf": behind}, "/run/systemd/resolve/resolv.conf"},
		"NetworkManager's":   {map[string]string{"/etc/resolv.conf": "nameserver 127.0.0.1\n", "/run/NetworkManager/no-stub-resolv.conf": behind}, "/run/NetworkManager/no-stub-resolv.conf"},
		"a stub and others":  {map[string]string{"/etc/resolv.conf": stub + behind, "/run/systemd/resolve/resolv.conf": behind}, "/etc/resolv.conf"},
		"nothing but a stub": {map[string]string{"/etc/resolv.conf": "nameserver ::1\n"}, ""},
		"none":               {},
	} {
		if got := factsOf(t, c.files).ResolvConf; got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestProblemsAreFacts(t *testing.T) {
	f := factsOf(t, map[string]string{
		"/lib/systemd/system/containerd.service": "[Service]\nExecStart=/usr/bin/containerd\n",
		"/etc/containerd/config.toml":            "version = ",
	})
	if len(f.Problems) != 1 {
		t.Errorf("problems: %q", f.Problems)
	}
}

func TestFactsSurviveJSON(t *testing.T) {
	ready := false
	for name, f := range map[string]*Facts{
		"empty":        {},
		"this machine": gathered(t, Options{Root: "/", Sandbox: true}),
		"full": {
			Hostname: "n", Arch: "amd64", Init: "systemd", Uplink: "eth0", Address: netip.MustParseAddr("10.0.0.1"),
			Kernel:        KernelFacts{Release: "6", ModuleStates: map[string]kernel.ModuleState{"overlay": kernel.ModuleBuiltin}},
			Links:         []LinkFact{{Name: "eth0", MTU: 9001, Addresses: []netip.Prefix{netip.MustParsePrefix("fe80::1/64")}}},
			Runtime:       RuntimeFacts{Name: "containerd", NetworkReady: &ready, BinDirs: []string{"/a"}},
			ForwardPolicy: map[string]string{"ip": "drop"}, Peers: []string{"kubeadm"}, Problems: []string{"x"},
		},
	} {
		raw, err := json.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		back := &Facts{}
		if err := json.Unmarshal(raw, back); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(f, back, cmpopts.EquateComparable(netip.Addr{}, netip.Prefix{}), cmpopts.EquateEmpty()); d != "" {
			t.Errorf("%s (-want +got)\n%s", name, d)
		}
	}
}

// TestRuntimeAndOtherFilesAreReadTogether blocks each open of one file of each kind. Both are
// opened before either has been read.
func TestRuntimeAndOtherFilesAreReadTogether(t *testing.T) {
	needs.Root(t)
	root := t.TempDir()
	write(t, root+"/usr/lib/systemd/system/containerd.service", "[Service]\nExecStart=/usr/bin/containerd\n")
	files := []string{root + "/etc/containerd/config.toml", root + "/etc/resolv.conf"}
	held, err := unix.FanotifyInit(unix.FAN_CLASS_CONTENT|unix.FAN_CLOEXEC, unix.O_RDONLY|unix.O_CLOEXEC)
	noError(t, err)
	for _, file := range files {
		write(t, file, "")
		noError(t, unix.FanotifyMark(held, unix.FAN_MARK_ADD, unix.FAN_OPEN_PERM, unix.AT_FDCWD, file))
	}
	done := make(chan *Facts)
	sources := sourcesOf(t, Options{Root: root})
	go func() {
		facts, _ := Gather(t.Context(), sources)
		done <- facts
	}()
	opened := 0
	for opened < len(files) {
		if n, err := unix.Poll([]unix.PollFd{{Fd: int32(held), Events: unix.POLLIN}}, 5000); n == 0 {
			t.Errorf("%d of %d files were opened", opened, len(files))
			break
		} else if errors.Is(err, unix.EINTR) {
			continue
		}
		var event unix.FanotifyEventMetadata
		_, err := unix.Read(held, (*[unsafe.Sizeof(event)]byte)(unsafe.Pointer(&event))[:])
		noError(t, err, unix.Close(int(event.Fd)))
		opened++
	}
	noError(t, unix.Close(held)) // releases all of them
	if facts := <-done; facts == nil || facts.Runtime.Name != "containerd" {
		t.Errorf("the facts are %+v", facts)
	}
}
