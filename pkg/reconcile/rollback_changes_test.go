package reconcile

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/netwright/netwright/pkg/reconcile/history"
	"github.com/netwright/netwright/pkg/tasks"
	"github.com/netwright/netwright/test/needs"
)

// The history says which keys each revision changed, up to a limit. It reads that from the ledger,
// whichever release wrote it.
func TestHistoryTellsWhatARevisionChanged(t *testing.T) {
	needs.Root(t) // files belong to root
	root := t.TempDir()
	a, b := file("/etc/a", "1"), file("/etc/b", "1")
	mustConverge(t, root, a, b)
	mustConverge(t, root, file("/etc/a", "2"), file("/etc/c", "1"))
	var many []tasks.Task
	for name := range strings.SplitSeq("d e f g h i j", " ") {
		many = append(many, file("/etc/"+name, "1"))
	}
	mustConverge(t, root, many...)
	h, err := history.Read(onRoot(root).Host)
	if err != nil {
		t.Fatal(err)
	}
	want := map[int]history.Changes{
		2: {Since: 1, Added: 1, Changed: 1, Removed: 1, Keys: []string{"~ file:/etc/a", "- file:/etc/b", "+ file:/etc/c"}},
		3: {Since: 2, Added: 7, Removed: 2, Keys: []string{"- file:/etc/a", "- file:/etc/c", "+ file:/etc/d", "+ file:/etc/e", "+ file:/etc/f"}},
	}
	if diff := cmp.Diff(want, h.Changes); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	const line = "7 new, 2 removed since 2: - file:/etc/a, - file:/etc/c, + file:/etc/d, + file:/etc/e, + file:/etc/f, and 4 more"
	if got := h.Changes[3].String(); got != line {
		t.Errorf("got  %s\nwant %s", got, line)
	}
}
