package selinux

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// libselinux gives these types for the same lines. On a machine with a policy, test/e2e compares
// the labels of the agent's files with restorecon.
func TestTypes(t *testing.T) {
	c, err := Read(root(t, map[string]string{
		"config": "# comment\nSELINUX=enforcing\nSELINUXTYPE=mine\n",
		"mine/contexts/files/file_contexts": `# comment
/.*	system_u:object_r:default_t:s0
/etc/.*	system_u:object_r:etc_t:s0
/etc/hosts	--	system_u:object_r:net_conf_t:s0
/etc/hosts[^/]*	--	system_u:object_r:late_t:s0
/etc/modules-load\.d(/.*)?	system_u:object_r:modules_conf_t:s0
/etc/systemd/system(/.*)?	-d	system_u:object_r:dirs_t:s0
/opt/.*	system_u:object_r:usr_t:s0
/opt/(.*/)?bin(/.*)?	system_u:object_r:bin_t:s0
/usr/lib(/.*)?	system_u:object_r:lib_t:s0
/usr/x?bin/.*	system_u:object_r:bin_t:s0
/(srv|pub)/.*	system_u:object_r:pub_t:s0
/run/.*	<<none>>
/broken(	system_u:object_r:broken_t:s0
`,
		"mine/contexts/files/file_contexts.local":     "/opt/mine/bin(/.*)?	system_u:object_r:local_t:s0-s0:c0.c3",
		"mine/contexts/files/file_contexts.subs_dist": "# comment\n/lib /usr/lib\n/var/opt /opt\n",
	}))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct {
		path string
		kind Kind
		name string
	}{
		{"/other", File, "default_t"},
		{"/etc/cni", Directory, "etc_t"},
		{"/etc/hosts", File, "net_conf_t"}, // a whole path counts before patterns
		{"/etc/hosts", Symlink, "etc_t"},
		{"/etc/hosts.bak", File, "late_t"},
		{"/etc/modules-load.d", Directory, "modules_conf_t"},
		{"/etc/modules-load.d/x.conf", File, "modules_conf_t"},
		{"/etc/modules-loadXd", Directory, "etc_t"},
		{"/etc/systemd/system/a.service.d", Directory, "dirs_t"},
		{"/etc/systemd/system/a.service", File, "etc_t"},
		{"/opt/cni", Directory, "usr_t"},
		{"/opt/cni/bin/bridge", File, "bin_t"},
		{"/opt/mine/bin/x", File, "local_t"},
		{"/var/opt/cni/bin", Directory, "bin_t"},
		{"/lib/x", File, "lib_t"},
		{"/library", File, "default_t"},
		{"/usr/bin/x", File, "bin_t"},
		{"/pub/x", File, "pub_t"},
		{"/run/x", File, ""},
		{"/broken(", File, "default_t"},
	} {
		if got := c.Type(want.path, want.kind); got != want.name {
			t.Errorf("%s as %s: %q, want %q", want.path, want.kind, got, want.name)
		}
	}
}

func TestWithType(t *testing.T) {
	for label, want := range map[string]string{
		"unconfined_u:object_r:usr_t:s0-s0:c0.c1023": "unconfined_u:object_r:bin_t:s0-s0:c0.c1023",
		"system_u:object_r:usr_t":                    "system_u:object_r:bin_t",
		"odd":                                        "odd",
	} {
		if got := WithType(label, "bin_t"); got != want {
			t.Errorf("%s: %s, want %s", label, got, want)
		}
	}
}

func TestNoPolicy(t *testing.T) {
	for _, files := range []map[string]string{nil, {"config": "SELINUX=disabled\n"}} {
		if _, err := Read(root(t, files)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%v: Read returns %v", files, err)
		}
	}
}

// root returns a root with files below /etc/selinux.
func root(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		name = filepath.Join(dir, "etc/selinux", name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
