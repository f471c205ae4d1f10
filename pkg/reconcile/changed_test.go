package reconcile

import (
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/reset"
	"github.com/netwright/netwright/test/hostroot"
)

// A reset keeps what a person changed. With its flag it removes that too, and restores what was
// there before the agent. The lines that keep it: pkg/reset/reset.go, policy; pkg/reset/decide.go.
func TestResetAsksWhatBecomesOfWhatAPersonChanged(t *testing.T) {
	for name, remove := range map[string]bool{"keep": false, "remove": true} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			hostroot.Put(t, root, "/etc/found", "theirs")
			mustConverge(t, root, file("/etc/ours", "1"), file("/etc/found", "2"))
			hostroot.Put(t, root, "/etc/ours", "changed")
			hostroot.Put(t, root, "/etc/found", "changed")
			r := reset.Reset{Session: onRoot(root).Session(), RemoveChanged: remove}
			dry, err := r.Plan(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			p, err := r.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for what, p := range map[string]*report.Plan{"planned": dry, "done": p} {
				if reason, goes := reasons(p)["file:/etc/ours"]; goes != remove || remove && !strings.Contains(reason, "by --changed=remove") {
					t.Errorf("%s: goes %v: %q", what, goes, reason)
				}
				if kept := strings.Count(said(p), "--changed=remove"); remove != (kept == 0) {
					t.Errorf("%s: what stays, and how it would go:\n%s", what, said(p))
				}
			}
			want := map[bool]string{false: "changed", true: "theirs"}[remove]
			if got := hostroot.Read(t, root, "/etc/found"); got != want || hostroot.There(root, "/etc/ours") == remove {
				t.Errorf("/etc/found is %q, want %q; /etc/ours there: %v", got, want, hostroot.There(root, "/etc/ours"))
			}
		})
	}
}
