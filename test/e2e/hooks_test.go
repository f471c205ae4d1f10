package e2e

import (
	"os"
	"strings"
	"testing"

	"github.com/netwright/netwright/test/node"
)

// Units of the user come and go with the documents. A unit that is no longer named is stopped,
// disabled and removed, and not restarted. The run after that has nothing to do. The lines that
// keep it: pkg/tasks/unit_state.go, gone; pkg/tasks/removal.go, effects; pkg/model/user_hooks.go,
// hookUnit.
func TestHooksComeAndGo(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := bridgeStore(t)
	plain, err := os.ReadFile(s.path("cluster.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	n := node.NewFabric(t).Node(t, options(t, s, "node-1", "10.77.0.11", node.Options{}))
	doc := "/srv/netwright/" + cluster + "/cluster.yaml"
	n.Write(doc, string(plain)+`  hooks:
  - name: settle.service
    manifest: |
      [Service]
      Type=oneshot
      ExecStart=/bin/sh -c 'echo settled >>/run/settled'
  - name: stay.service
    manifest: |
      [Service]
      ExecStart=/bin/sleep infinity
  - name: raw.service
    useRawManifest: true
    manifest: |
      [Unit]
      Before=kubelet.service
      [Service]
      Type=oneshot
      ExecStart=/bin/sh -c 'echo ran >>/run/raw'
`, 0o644)
	n.Must(ctx, "netwright", "--once") // the run starts the user's units and does not wait
	idle(t, n)
	if got := n.Must(ctx, "systemctl", "is-active", "stay"); got != "active\n" {
		t.Errorf("stay.service is %q", got)
	}
	nothingToDo(t, n)
	idle(t, n)
	for _, file := range []string{"/run/settled", "/run/raw"} {
		if got := n.Read(file); strings.Count(got, "\n") != 1 {
			t.Errorf("the oneshot of %s ran %d times, want once", file, strings.Count(got, "\n"))
		}
	}
	n.Write(doc, string(plain), 0o644)
	if listed := keys(plan(ctx, t, n, 2)); listed["effect:restart stay.service"] || !listed["unit:stay.service"] {
		t.Errorf("a unit that goes is to be restarted, or does not go: %v", listed)
	}
	n.Must(ctx, "netwright", "--once")
	idle(t, n)
	if got := n.Shell(ctx, "systemctl list-units --all --plain --no-legend stay.service settle.service raw.service; pgrep -x sleep || true"); got != "" {
		t.Errorf("left of the hooks: %s", got)
	}
	n.Must(ctx, "test", "!", "-e", "/etc/systemd/system/stay.service")
	nothingToDo(t, n)
}

// idle waits until systemd has no job queued or running.
func idle(t *testing.T, n *node.Node) {
	t.Helper()
	until(t, n, "systemd has no jobs", "! systemctl list-jobs --no-legend | grep -q .")
}

func nothingToDo(t *testing.T, n *node.Node) {
	t.Helper()
	if res := n.Run(t.Context(), "netwright", "--once"); res.Code != 0 || !strings.Contains(res.Stdout, "nothing to do") {
		t.Errorf("the next run: exit %d\n%s\n%s", res.Code, res.Stdout, res.Stderr)
	}
}
