package e2e

import (
	"strings"
	"testing"

	"github.com/netwright/netwright/test/node"
)

// Where no document says which conf is right, a broken conf that nobody mends is a failure. The
// plan, status and verify call it a failure, name the file and say why.
func TestBrokenConfs(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	const dir = "/etc/cni/net.d/"
	s := newStore(t, strings.Replace(bridgeSpec, "bridge: {}", "cni: {}", 1), nil)
	s.write(t, "cluster.yaml", document("Cluster", cluster, strings.Replace(bridgeSpec, "bridge: {}", "cni: {}", 1)+s.pluginSpec(t)))
	s.write(t, "nodes/node-1.yaml", goodNode("[10.244.1.0/24]"))
	n := node.NewFabric(t).Node(t, options(t, s, "node-1", "10.77.0.11", node.Options{}))
	if res := n.Run(ctx, "netwright", "--once"); res.Code != 0 || !strings.Contains(res.Stdout+res.Stderr, "no conf in /etc/cni/net.d yet") {
		t.Fatalf("without a conf: exit %d\n%s%s", res.Code, res.Stdout, res.Stderr)
	}
	n.Must(ctx, "systemctl", "start", "netwright-agent")
	const good = `{"cniVersion":"1.0.0","name":"good","plugins":[{"type":"bridge","ipam":{"type":"host-local","subnet":"10.9.0.0/24"}}]}`
	for _, c := range []struct {
		name  string
		files map[string]string // without a file; a name that ends with "/" is a directory
		says  string
	}{
		{"no JSON", map[string]string{"10-x.conflist": `{"name": `}, "line 1, column 9: unexpected end"},
		{"empty", map[string]string{"10-x.conf": ""}, "it is empty"},
		{"a list in .conf", map[string]string{"10-x.conf": good}, "name it .conflist"},
		{"a plugin in .conflist", map[string]string{"10-x.conflist": `{"name":"x","type":"bridge"}`}, "name it .conf"},
		{"no name", map[string]string{"10-x.conflist": `{"plugins":[{"type":"bridge"}]}`}, "no `name`"},
		{"a name with a slash", map[string]string{"10-x.conf": `{"name":"a/b","type":"bridge"}`}, "libcni refuses its `name`"},
		{"no type", map[string]string{"10-x.conflist": `{"name":"x","plugins":[{}]}`}, "no `type`"},
		{"a type with a slash", map[string]string{"10-x.conf": `{"name":"x","type":"../bin/bridge"}`}, "libcni refuses the plugin `type`"},
		{"another version", map[string]string{"10-x.conf": `{"cniVersion":"9.9.9","name":"x","type":"bridge"}`}, "`cniVersion` \"9.9.9\" is none that containerd"},
		{"an impossible subnet", map[string]string{"10-x.conf": `{"name":"x","type":"bridge","ipam":{"type":"host-local","subnet":"10.9.0.0/99"}}`}, "10.9.0.0/99"},
		{"a list without plugins", map[string]string{"10-x.conflist": `{"cniVersion":"1.0.0","name":"x"}`, "x/00-a.conf": `{"type":"bridge"}`}, "no `plugins`"},
		{"a byte order mark", map[string]string{"10-x.conflist": "\xef\xbb\xbf" + good}, "byte order mark"},
		{"broken before a good one", map[string]string{"10-x.conflist": `{`, "20-good.conflist": good}, "and the runtime tries no later file, such as 20-good.conflist"},
	} {
		n.Shell(ctx, "rm -rf "+dir+"*")
		for name, text := range c.files {
			n.Write(dir+name, text, 0o644)
		}
		n.Shell(ctx, "find "+dir+" -exec touch -h -d '-2 minutes' {} +")
		until(t, n, "status is not well: "+c.name, `out=$(netwright status); test $? = 2 && echo "$out" | grep -qF '`+dir+`10-x.conf' && echo "$out" | grep -qF '`+c.says+`'`)
		for _, args := range []string{"--dry-run", "verify"} {
			res := n.Run(ctx, "netwright", args)
			if out := res.Stdout + res.Stderr; res.Code != 1 || !strings.Contains(out, c.says) || !strings.Contains(out, dir+"10-x.conf") {
				t.Errorf("%s: %s: exit %d, want 1, the file and %q:\n%s", c.name, args, res.Code, c.says, out)
			}
		}
	}

	// No output calls one of these files a fault.
	for name, script := range map[string]string{
		"a good one":                "true",
		"two of one network":        "cp " + dir + "50-good.conflist " + dir + "60-good.conflist",
		"a directory called as one": "mkdir " + dir + "10-x.conf",
	} {
		n.Shell(ctx, "rm -rf "+dir+"*")
		n.Write(dir+"50-good.conflist", good, 0o644)
		n.Shell(ctx, script)
		until(t, n, "status is well: "+name, "netwright status")
		if res := n.Run(ctx, "netwright", "--dry-run"); res.Code != 0 {
			t.Errorf("%s: exit %d:\n%s%s", name, res.Code, res.Stdout, res.Stderr)
		}
		verified(ctx, t, n, 0, "containerd has loaded network")
	}
}
