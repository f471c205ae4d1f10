package daemon

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/test/hostroot"
)

// pass makes a pass with the documents that the box has now.
func (b *box) pass(t *testing.T, dry bool) *report.Plan {
	t.Helper()
	d, err := desired.Load(t.Context(), b.daemon.Store, b.daemon.Select, statestore.Revision{})
	if err != nil {
		t.Fatal(err)
	}
	do := b.daemon.Pass.Converge
	if dry {
		do = b.daemon.Pass.DryRun
	}
	p, err := do(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// What a person changed is removed only if the documents say so, which may be a node's own field.
// The plan names the line that says so. The lines that keep it: pkg/reconcile/ownership/policy.go,
// PolicyOf; pkg/reconcile/ownership/removals.go, sort.
func TestDocumentsSayWhatBecomesOfWhatAPersonChanged(t *testing.T) {
	const files = "  fileAssets:\n  - {path: /srv/changed, content: ours, mode: \"0644\"}\n  - {path: /srv/dir/inside, content: ours, mode: \"0644\"}\n  - {path: /srv/plain, content: ours, mode: \"0644\"}\n"
	const network = "apiVersion: netwright.dev/v1alpha1\nkind: Node\nmetadata: {name: n}\nspec:\n  address: 10.0.0.1\n  podCIDRs: [100.96.1.0/24]\n"
	for _, c := range []struct {
		name, cluster, node string
		goes                bool
		says                string
	}{
		{name: "nothing said", goes: false},
		{name: "keep", cluster: "  prune: {changed: keep}\n", goes: false},
		{name: "remove", cluster: "  prune: {changed: remove}\n", goes: true, says: "it is removed nevertheless, by cluster.yaml:7:11"},
		{name: "the node keeps", cluster: "  prune: {changed: remove}\n", node: "  prune: {changed: keep}\n", goes: false},
		{name: "the node removes", node: "  prune: {changed: remove}\n", goes: true, says: "it is removed nevertheless, by nodes/n.yaml:7:11"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBox(t)
			doc, err := os.ReadFile(filepath.Join(b.store, "demo/cluster.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			b.write(t, "cluster.yaml", string(doc)+files)
			b.pass(t, false)
			hostroot.Put(t, b.root, "/srv/changed", "a person's")
			hostroot.Put(t, b.root, "/srv/dir/theirs", "a person's")
			head, assets, _ := strings.Cut(string(doc), "  assets:\n")
			b.write(t, "cluster.yaml", head+c.cluster+"  assets:\n"+assets)
			b.write(t, "nodes/n.yaml", network+c.node)

			planned, p := b.pass(t, true), b.pass(t, false)
			for what, p := range map[string]*report.Plan{"planned": planned, "done": p} {
				reason, goes := reasons(p)["file:/srv/changed"]
				if goes != c.goes || !strings.Contains(reason, c.says) {
					t.Errorf("%s: /srv/changed goes: %v (%q), want %v (%q)", what, goes, reason, c.goes, c.says)
				}
				if plain := reasons(p)["file:/srv/plain"]; plain != "no longer wanted" {
					t.Errorf("%s: /srv/plain, which nobody changed, goes because %q", what, plain)
				}
				if reported := strings.Contains(said(p), "file:/srv/changed is no longer wanted and stays: somebody changed it"); reported == c.goes {
					t.Errorf("%s: that it stays is said: %v\n%s", what, reported, said(p))
				}
			}
			if hostroot.There(b.root, "/srv/changed") == c.goes || hostroot.There(b.root, "/srv/plain") || hostroot.There(b.root, "/srv/dir/inside") {
				t.Errorf("there: changed %v, plain %v, inside %v", hostroot.There(b.root, "/srv/changed"), hostroot.There(b.root, "/srv/plain"), hostroot.There(b.root, "/srv/dir/inside"))
			}
			if !hostroot.There(b.root, "/srv/dir/theirs") {
				t.Error("a file that was never ours is gone")
			}
			if again := b.pass(t, false); again.Summary.Changes() != 0 || strings.Contains(said(again), "/srv/changed") {
				t.Errorf("the next pass has something to say:\n%s", said(again))
			}
		})
	}
}
