package tasks_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/containernetworking/cni/libcni"
	"github.com/containernetworking/cni/pkg/invoke"
	"github.com/containernetworking/cni/pkg/version"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/tasks"
	"github.com/netwright/netwright/test/assets"
)

// bridgePlugin calls the IPAM plugin as the reference plugins do, and makes no link.
const bridgePlugin = `#!/bin/sh
conf=$(cat)
case $conf in
*'"type":"host-local"'*) printf '%s' "$conf" | "$CNI_PATH"/host-local ;;
*) echo '{}' ;;
esac
`

// For each conf, what this package says is what libcni, the real host-local and containerd's way to
// read the directory do: whether a pod is added, and if not, why and what to do.
func TestConfAsLibcni(t *testing.T) {
	single := func(more string) string { return `{"cniVersion":"1.0.0","name":"x","type":"bridge"` + more + `}` }
	list := func(more string) string {
		return `{"cniVersion":"1.0.0","name":"x","plugins":[{"type":"bridge"` + more + `}]}`
	}
	ipam := func(more string) string { return `,"ipam":{"type":"host-local","dataDir":"DATA"` + more + `}` }
	for _, c := range []struct{ name, file, conf, says string }{ // says: "" if a pod is added by the conf
		{"a list", "a.conflist", list(""), ""},
		{"a plugin", "a.conf", single(""), ""},
		{"a plugin in .json", "a.json", single(""), ""},
		{"no version", "a.conf", `{"name":"x","type":"bridge"}`, ""},
		{"cut off", "a.conflist", list("")[:30], "line 1, column 30: unexpected end"},
		{"a comma too many", "a.conflist", "{\n  \"name\": \"x\",\n}", "line 3, column 1: invalid character '}'"},
		{"a comment", "a.conf", "// ours\n" + single(""), "line 1, column 1: invalid character '/'"},
		{"YAML", "a.conf", "name: x\ntype: bridge\n", "line 1, column 2: invalid character 'a'"},
		{"text after it", "a.conf", single("") + "x", "after top-level value"},
		{"two in one file", "a.conf", single("") + "\n" + single(""), "line 2, column 1: invalid character '{' after top-level value"},
		{"empty", "a.conf", "", "it is empty"},
		{"blank", "a.conflist", "\n \n", "it is empty"},
		{"zeroes", "a.conf", "\x00\x00", "invalid character '\\x00'"},
		{"null", "a.conf", "null", "no object"},
		{"a number", "a.conflist", "7", "no object"},
		{"an array", "a.conf", "[" + single("") + "]", "no object"},
		{"a byte order mark", "a.conflist", "\xef\xbb\xbf" + list(""), "byte order mark"},
		{"UTF-16", "a.conf", "\xff\xfe{\x00}\x00", "save it as UTF-8"},
		{"a list in .conf", "a.conf", list(""), "name it .conflist"},
		{"a list in .json", "a.json", list(""), "name it .conflist"},
		{"a plugin in .conflist", "a.conflist", single(""), "name it .conf"},
		{"no name", "a.conflist", `{"plugins":[{"type":"bridge"}]}`, "no `name`"},
		{"no name in .conf", "a.conf", `{"type":"bridge"}`, "no `name`"},
		{"an empty name", "a.conflist", `{"name":"","plugins":[{"type":"bridge"}]}`, "no `name`"},
		{"a name in capitals", "a.conflist", `{"Name":"x","plugins":[{"type":"bridge"}]}`, "no name"},
		{"a name that is a number", "a.conflist", `{"name":7,"plugins":[{"type":"bridge"}]}`, "invalid name type"},
		{"a name with a slash", "a.conf", `{"name":"a/b","type":"bridge"}`, "`name` \"a/b\": expected"},
		{"a name with a blank", "a.conf", `{"name":"a b","type":"bridge"}`, "`name` \"a b\": expected"},
		{"a name that begins with a dot", "a.conflist", `{"name":".x","plugins":[{"type":"bridge"}]}`, "`name` \".x\": expected"},
		{"a name with a newline", "a.conf", `{"name":"a\n","type":"bridge"}`, "expected"},
		{"no type", "a.conf", `{"name":"x"}`, "no `type`"},
		{"an empty type", "a.conf", `{"name":"x","type":""}`, "missing 'type'"},
		{"no type in a list", "a.conflist", `{"name":"x","plugins":[{"type":"bridge"},{}]}`, "plugin 2 has no `type`"},
		{"null for a plugin", "a.conflist", `{"name":"x","plugins":[null]}`, "plugin 1 has no `type`"},
		{"a type with a slash", "a.conf", `{"name":"x","type":"../bridge"}`, "`type` \"../bridge\": expected"},
		{"an absolute type", "a.conflist", `{"name":"x","plugins":[{"type":"/opt/cni/bin/bridge"}]}`, "expected the name of a program"},
		{"a type that is not there", "a.conf", `{"name":"x","type":"none"}`, "install it there, or remove the conf"},
		{"a type that is a directory", "a.conf", `{"name":"x","type":".."}`, "no program"},
		{"a version of tomorrow", "a.conflist", `{"cniVersion":"9.9.9","name":"x","plugins":[{"type":"bridge"}]}`, "`cniVersion` \"9.9.9\" is none that libcni knows: expected one of 0.1.0, "},
		{"a version with a v", "a.conf", `{"cniVersion":"v1.0.0","name":"x","type":"bridge"}`, "`cniVersion` \"v1.0.0\""},
		{"a version cut short", "a.conf", `{"cniVersion":"1.0","name":"x","type":"bridge"}`, "`cniVersion` \"1.0\""},
		{"a version that never was", "a.conf", `{"cniVersion":"0.5.0","name":"x","type":"bridge"}`, "`cniVersion` \"0.5.0\""},
		{"a version that is a number", "a.conflist", `{"cniVersion":1,"name":"x","plugins":[{"type":"bridge"}]}`, "invalid cniVersion type"},
		{"versions to choose from", "a.conflist", `{"cniVersions":["9.9.9","1.0.0"],"name":"x","plugins":[{"type":"bridge"}]}`, ""},
		{"versions that are none", "a.conflist", `{"cniVersions":["one"],"name":"x","plugins":[{"type":"bridge"}]}`, "invalid cniVersions entry"},
		{"plugins that are an object", "a.conflist", `{"name":"x","plugins":{"type":"bridge"}}`, "`plugins` is no list"},
		{"plugins that are names", "a.conflist", `{"name":"x","plugins":["bridge"]}`, "`plugins` is no list"},
		{"no plugins", "a.conflist", `{"name":"x","plugins":[]}`, "`plugins` is empty"},
		{"no plugins at all", "a.conflist", `{"name":"x","cniVersion":"1.0.0"}`, "no *.conf in"},
		{"plugins beside it", "a.conflist", `{"name":"beside","cniVersion":"1.1.0"}`, ""},
		{"plugins beside it that nobody may read", "a.conflist", `{"name":"beside","cniVersion":"1.1.0","loadOnlyInlinedPlugins":true}`, "loadOnlyInlinedPlugins"},
		{"plugins beside it, broken", "a.conflist", `{"name":"broken","cniVersion":"1.1.0"}`, "00-x.conf: it has no `type`"},
		{"plugins in it and beside it, broken", "a.conflist", `{"name":"broken","cniVersion":"1.1.0","plugins":[{"type":"bridge"}]}`, "00-x.conf: it has no `type`"},
		{"capabilities as a list", "a.conf", single(`,"capabilities":["portMappings"]`), "capabilities"},
		{"an IPAM that is a name", "a.conflist", list(`,"ipam":"host-local"`), "ipam"},
		{"a switch that is none", "a.conflist", `{"name":"x","disableCheck":7,"plugins":[{"type":"bridge"}]}`, "disableCheck"},
		{"a subnet", "a.conf", single(ipam(`,"subnet":"10.9.0.0/24"`)), ""},
		{"a subnet of IPv6", "a.conflist", list(ipam(`,"ranges":[[{"subnet":"fd00::/64","rangeStart":"fd00::10","rangeEnd":"fd00::20"}]]`)), ""},
		{"no range", "a.conf", single(ipam("")), "it has no range: give it"},
		{"no range in ranges", "a.conf", single(ipam(`,"ranges":[]`)), "it has no range: give it"},
		{"an empty range", "a.conf", single(ipam(`,"ranges":[[]]`)), "set 1 of its `ranges` is empty"},
		{"a range without a subnet", "a.conf", single(ipam(`,"ranges":[[{"gateway":"10.9.0.1"}]]`)), "has no `subnet`"},
		{"a subnet of 99 bits", "a.conf", single(ipam(`,"subnet":"10.9.0.0/99"`)), "10.9.0.0/99"},
		{"a subnet without bits", "a.conf", single(ipam(`,"subnet":"10.9.0.0"`)), "10.9.0.0"},
		{"a subnet that is a word", "a.conflist", list(ipam(`,"subnet":"usePodCidr"`)), "usePodCidr"},
		{"an octet too large", "a.conf", single(ipam(`,"ranges":[[{"subnet":"10.9.0.256/24"}]]`)), "10.9.0.256/24"},
		{"a subnet of one address", "a.conf", single(ipam(`,"subnet":"10.9.0.0/32"`)), "too small"},
		{"a subnet of two addresses of IPv6", "a.conf", single(ipam(`,"subnet":"fd00::/127"`)), "too small"},
		{"a subnet of four addresses", "a.conf", single(ipam(`,"subnet":"10.9.0.0/30"`)), ""},
		{"a subnet with bits of hosts", "a.conf", single(ipam(`,"subnet":"10.9.0.7/24"`)), "the network's address is 10.9.0.0/24"},
		{"a start outside", "a.conf", single(ipam(`,"subnet":"10.9.0.0/24","rangeStart":"10.8.0.1"`)), "`rangeStart` 10.8.0.1 is not in"},
		{"an end outside", "a.conf", single(ipam(`,"ranges":[[{"subnet":"10.9.0.0/24","rangeEnd":"10.9.1.1"}]]`)), "`rangeEnd` 10.9.1.1 is not in"},
		{"an end before the start", "a.conf", single(ipam(`,"subnet":"10.9.0.0/24","rangeStart":"10.9.0.9","rangeEnd":"10.9.0.8"`)), "comes after"},
		{"a gateway that is none", "a.conf", single(ipam(`,"subnet":"10.9.0.0/24","gateway":"one"`)), "one"},
		{"ranges that overlap", "a.conf", single(ipam(`,"ranges":[[{"subnet":"10.9.0.0/24"}],[{"subnet":"10.9.0.0/16"}]]`)), "overlap"},
		{"both families in a range", "a.conf", single(ipam(`,"ranges":[[{"subnet":"10.9.0.0/24"},{"subnet":"fd00::/64"}]]`)), "both families"},
		{"both families", "a.conf", single(ipam(`,"ranges":[[{"subnet":"10.9.0.0/24"}],[{"subnet":"fd00::/64"}]]`)), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			confs, bins := filepath.Join(root, "etc/cni/net.d"), filepath.Join(root, "opt/cni/bin")
			conf := strings.ReplaceAll(c.conf, "DATA", filepath.Join(root, "data"))
			for name, content := range map[string]string{c.file: conf, "beside/00-b.conf": `{"type":"bridge"}`, "broken/00-x.conf": `{}`, "../../../opt/cni/bin/bridge": bridgePlugin} {
				file := filepath.Join(confs, name)
				if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(content), 0o755), os.Chtimes(file, time.Time{}, time.Now().Add(-time.Hour))); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Symlink(filepath.Join(assets.CNIPlugins(t), "host-local"), filepath.Join(bins, "host-local")); err != nil {
				t.Fatal(err)
			}
			added := addByLibcni(t.Context(), confs, bins)
			view, err := host.OpenView(t.Context(), host.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer view.Close() // only read from
			_, err = tasks.WaitConf{Network: "x", Dir: confs, BinDirs: []string{bins}, FirstOnly: true, Consumer: tasks.Consumer{LoadsPluginDir: true}}.Plan(t.Context(), view.View())
			if (added == nil) != (err == nil) {
				t.Errorf("libcni: %v; here: %v", added, err)
			}
			if c.says != "" && (err == nil || graph.IsWait(err) || !strings.Contains(err.Error(), c.says)) {
				t.Errorf("got %v, want an error that says %q (libcni: %v)", err, c.says, added)
			}
		})
	}
}

// addByLibcni reads a directory as containerd does and adds a pod.
// https://github.com/containerd/go-cni/blob/v1.1.13/opts.go (loadFromConfDir)
func addByLibcni(ctx context.Context, confs, bins string) error {
	files, err := libcni.ConfFiles(confs, []string{".conf", ".conflist", ".json"})
	if err != nil || len(files) == 0 {
		return fmt.Errorf("no conf: %w", err)
	}
	sort.Strings(files)
	var list *libcni.NetworkConfigList
	if strings.HasSuffix(files[0], ".conflist") {
		list, err = libcni.NetworkConfFromFile(files[0])
	} else {
		//lint:ignore SA1019 runtimes read a file of one plugin by it
		one, readErr := libcni.ConfFromFile(files[0])
		if readErr != nil {
			return fmt.Errorf("read the conf: %w", readErr)
		}
		//lint:ignore SA1019 runtimes read a file of one plugin by it
		list, err = libcni.ConfListFromConf(one)
	}
	if err != nil {
		return fmt.Errorf("read the conf: %w", err)
	}
	exec := &invoke.DefaultExec{RawExec: &invoke.RawExec{Stderr: nil}, PluginDecoder: version.PluginDecoder{}}
	cni := libcni.NewCNIConfigWithCacheDir([]string{bins}, filepath.Join(confs, "../cache"), exec)
	_, err = cni.AddNetworkList(ctx, list, &libcni.RuntimeConf{ContainerID: "pod", NetNS: "/run/netns/none", IfName: "eth0"})
	return err
}
