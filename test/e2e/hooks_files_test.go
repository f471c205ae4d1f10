package e2e

import (
	"os"
	"strings"
	"testing"

	"github.com/netwright/netwright/test/node"
)

// A dry run knows the unit file that is about to be written: where a stale one cannot be enabled, it promises what the run then does, at once. And what a hook reads is
// there when it starts. Red without Installs in host/overlay.go, and without readBy in model/user_hooks.go.
func TestHookOverAStaleFile(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := bridgeStore(t)
	plain, err := os.ReadFile(s.path("cluster.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	const stale = "[Service]\nExecStart=/bin/true\n"
	n := node.NewFabric(t).Node(t, options(t, s, "node-1", "10.77.0.11", node.Options{
		Files: map[string]string{"/etc/systemd/system/x.service": stale, "/usr/lib/systemd/system/y.service": stale},
	}))
	files := ""
	for _, name := range []string{"x", "y"} {
		files += "  - {path: /srv/lab/" + name + ", mode: '0755', content: \"#!/bin/sh\\necho $WORD >/run/lab-" + name + "\\n\"}\n" +
			"  - {path: /srv/lab/" + name + ".env, content: \"WORD=here\\n\"}\n"
	}
	text := string(plain) + "  fileAssets:\n" + files + "  hooks:\n"
	for _, name := range []string{"x", "y"} {
		text += "  - name: " + name + "\n    manifest: |\n      Type=oneshot\n      RemainAfterExit=yes\n      EnvironmentFile=/srv/lab/" + name + ".env\n      ExecStart=/srv/lab/" + name + "\n"
	}
	n.Write("/srv/netwright/"+cluster+"/cluster.yaml", text, 0o644)
	if planned := keys(plan(ctx, t, n, 2)); !planned["unit:x.service"] || !planned["unit:y.service"] {
		t.Errorf("the dry run does not plan them: %v", planned)
	}
	res := n.Run(ctx, "netwright", "--once")
	if res.Code != 0 || strings.Contains(res.Stdout+res.Stderr, "changed since planned") {
		t.Errorf("the run: exit %d\n%s%s", res.Code, res.Stdout, res.Stderr)
	}
	if got := n.Shell(ctx, "cat /run/lab-x /run/lab-y; systemctl is-enabled x y; systemctl is-active x y"); got != "here\nhere\nenabled\nenabled\nactive\nactive\n" {
		t.Errorf("they are %q", got)
	}
	nothingToDo(t, n)
}
