package e2e

import (
	"context"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/netwright/netwright/test/assets"
	"github.com/netwright/netwright/test/node"
	"github.com/netwright/netwright/test/terminal"
)

// The test types the commands of docs/quick-start.md, docs/rollout.md and docs/kops.md in order, on
// a node that has a released program and no other file of ours. Their output is what the pages
// show. The node has no route to the internet: the plugins are copies that `agent store vendor`
// made elsewhere, as docs/air-gapped.md describes it.
func TestPagesAreTrue(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	plugins, copies := vendored(t)
	n := node.NewFabric(t).Node(t, node.Options{Name: "node-1", Address: "10.77.0.11",
		Copies: map[string]string{"/root/netwright-linux-amd64": agent(t), "/srv/netwright/demo.example.com/assets": copies}})
	rehearse(ctx, t, n, "quick-start.md", func(command string) {
		if strings.HasPrefix(command, "agent store check") {
			const doc = "/srv/netwright/demo.example.com/cluster.yaml"
			n.Write(doc, n.Read(doc)+plugins, 0o644)
		}
	})
	n.Must(ctx, "ln", "-s", "/srv/netwright", "/root/store")
	rehearse(ctx, t, n, "rollout.md", func(string) {})
	takeOverAndBack(t, n)
}

// vendored returns the lines of a spec that names plugins of a server of this machine, and the
// directory of their copies. The server is stopped before vendored returns.
func vendored(t *testing.T) (spec, copies string) {
	t.Helper()
	file, sum := assets.CNIArchive(t)
	server := httptest.NewServer(http.FileServer(http.Dir(filepath.Dir(file))))
	defer server.Close()
	spec = "  assetsMirror: assets\n" + assetSpec(sum, server.URL+"/"+filepath.Base(file))
	s := newStore(t, "  kubernetesVersion: 1.36.0\n  podCIDR: 100.96.0.0/11\n  networking:\n    bridge: {}\n"+spec, nil)
	command(t, agent(t), "store", "vendor", s.dir, "--arch", runtime.GOARCH)
	return spec, s.path("assets")
}

// rehearse types the commands of a page.
func rehearse(ctx context.Context, t *testing.T, n *node.Node, page string, first func(command string)) {
	t.Helper()
	steps, err := terminal.Read("../../docs/" + page)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range steps {
		first(s.Command)
		n.Write("/root/.typed", "cd /root\n"+s.Command+"\n", 0o600)
		printed := ""
		for end := time.Now().Add(time.Minute); ; time.Sleep(200 * time.Millisecond) { // only so that a test that hangs ends
			res := n.Run(ctx, "/bin/sh", "-c", "/bin/sh /root/.typed 2>&1")
			if printed = res.Stdout; s.Matches(printed) || time.Now().After(end) || !looks(s.Command) {
				break
			}
		}
		if !s.Matches(printed) {
			t.Errorf("docs/%s:%d: %s\nprints:\n%s\nand the page shows:\n%s", page, s.Line, s.Command, printed, s.Shows)
		}
	}
}

// looks says whether a command changes nothing, so that the test may repeat it until its output is
// complete.
func looks(command string) bool {
	return strings.HasPrefix(command, "agent status") || strings.HasPrefix(command, "agent verify")
}
