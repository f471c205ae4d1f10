package facts

import (
	"os"
	"strings"
	"testing"
)

// FuzzFacts gathers the facts of an image whose files have any content: it returns facts or a
// problem, and does not panic.
func FuzzFacts(f *testing.F) {
	for _, s := range []string{
		"", "ID=debian\nVERSION_ID=\"12\"\n", "ID='a\"b'\nID_LIKE=\"a b\\", "=\n#\n;\nexport =x\n\\", strings.Repeat("A=\\\n", 1000), "\x00\xff=\xff",
		"version = 2\nimports = [\"/etc/containerd/*.toml\", 1]\n[plugins.\"io.containerd.grpc.v1.cri\".cni]\nconf_dir = 3\n", "version = \"3\"\nimports = \"x\"\nplugins = 1\n",
		"imports = [\"/etc/containerd/config.toml\"]", "[Unit]\n[Service]\nExecStart=/usr/bin/kubelet $A ${B} --config-dir=\\\n /x\nEnvironment=\"A=b c\nEnvironmentFile=-/etc/default/kubelet\n",
		"ExecStart=\nExecStart=-@!/x '", "passwd:x:99999999999999999999:0\n", "address: unix:///x\nruntime-endpoint: [1]\n",
	} {
		f.Add([]byte(s))
	}
	paths := []string{"/etc/os-release", "/etc/hostname", "/etc/containerd/config.toml", "/etc/crictl.yaml", "/etc/systemd/system/kubelet.service", "/etc/systemd/system/kubelet.service.d/10-kubeadm.conf",
		"/etc/default/kubelet", "/var/lib/kubelet/config.yaml", "/var/lib/kubelet/kubeadm-flags.env", "/etc/passwd", "/etc/group", "/etc/crio/crio.conf", "/etc/systemd/system/containerd.service"}
	f.Fuzz(func(t *testing.T, content []byte) {
		root := t.TempDir()
		for _, path := range paths {
			write(t, root+path, string(content))
		}
		noError(t, os.MkdirAll(root+"/usr/lib/systemd", 0o755), os.WriteFile(root+"/usr/lib/systemd/systemd", nil, 0o755))
		l := sourcesOf(t, Options{Root: root})
		if _, err := Gather(t.Context(), l); err != nil {
			t.Fatalf("an odd file is no reason to look at nothing: %v", err)
		}
		if _, _, err := l.files.Owner("netwright:netwright"); err == nil && len(content) == 0 {
			t.Error("an owner that nobody is")
		}
	})
}
