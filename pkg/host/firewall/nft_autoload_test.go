package firewall

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func TestWhetherNftIsLoadedIsSeenFromOutside(t *testing.T) {
	var name unix.Utsname
	noError(t, unix.Uname(&name))
	release := unix.ByteSliceToString(name.Release[:])
	packed := func(text string) string {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, err := z.Write([]byte(text))
		noError(t, err)
		noError(t, z.Close())
		return b.String()
	}
	const others = "nf_tables_set 1 0 - Live 0x0\nnfnetlink 16384 1 nf_tables, Live 0x0\n"
	for _, c := range []struct {
		name  string
		files map[string]string
		want  bool
	}{
		{"no modules in this kernel", nil, true},
		{"loaded", map[string]string{"proc/modules": others + "nf_tables 24 1 - Live 0x0\n"}, true},
		{"loaded, by its directory", map[string]string{"proc/modules": others, "sys/module/nf_tables/initstate": "live\n"}, true},
		{"not loaded", map[string]string{"proc/modules": others}, false},
		{"built in", map[string]string{"proc/modules": "", "lib/modules/" + release + "/modules.builtin": "kernel/net/netfilter/nf_tables.ko\n"}, true},
		{"loadable", map[string]string{"proc/modules": "", "lib/modules/" + release + "/modules.builtin": "kernel/net/veth.ko\n", "boot/config-" + release: "CONFIG_NF_TABLES=y\n"}, false},
		{"built in, by the configuration", map[string]string{"proc/modules": "", "boot/config-" + release: "#\nCONFIG_NF_TABLES=y\n"}, true},
		{"built in, by the running configuration", map[string]string{"proc/modules": "", "proc/config.gz": packed("CONFIG_NF_TABLES=y\n")}, true},
		{"a module, by the running configuration", map[string]string{"proc/modules": "", "proc/config.gz": packed("CONFIG_NF_TABLES=m\n")}, false},
	} {
		root := t.TempDir()
		for path, text := range c.files {
			noError(t, os.MkdirAll(filepath.Dir(filepath.Join(root, path)), 0o755))
			noError(t, os.WriteFile(filepath.Join(root, path), []byte(text), 0o600))
		}
		if got := Loaded(root); got != c.want {
			t.Errorf("%s: Loaded returns %t, want %v", c.name, got, c.want)
		}
	}
}
