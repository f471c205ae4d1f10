package reconcile

import (
	"context"
	"errors"
	"io"
	"os"
	"path"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/graph"
)

// These constants bound how many files a reader opens from a pass to its change.
const (
	maxWalkFrames = 25
	maxWalkFiles  = 12
)

// walker is a source of archives that notes the calls which led to it.
type walker struct {
	from  *oneShelf
	calls []string // the innermost call first
}

func (w *walker) Open(ctx context.Context, url string) (io.ReadCloser, int64, error) {
	w.calls = callsTo()
	if !slices.ContainsFunc(w.calls, applies) { // this call only prefetches
		return nil, 0, graph.Transient(errors.New("not yet"))
	}
	return w.from.Open(ctx, url)
}

func applies(c string) bool { return strings.HasSuffix(c, "tasks.(*ArchivePrefetch).Apply") }

var (
	began = regexp.MustCompile(`(?m)^created by .* in goroutine (\d+)$`)
	call  = regexp.MustCompile(`(?m)^(github.com/netwright/netwright/pkg/\S+)\(.*\)\n\t\S*/(pkg/\S+\.go):\d+`)
)

// callsTo returns our functions that run in this goroutine and in the goroutines that started it,
// as "pkg/file.go function".
func callsTo() (calls []string) {
	buf := make([]byte, 1<<20)
	all := strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n")
	for at := 0; at >= 0; {
		for _, found := range call.FindAllStringSubmatch(all[at], -1) {
			calls = append(calls, found[2]+" "+path.Base(found[1]))
		}
		parent := began.FindStringSubmatch(all[at])
		if parent == nil {
			return calls
		}
		at = slices.IndexFunc(all, func(g string) bool {
			return strings.HasPrefix(g, "goroutine "+parent[1]+" ")
		})
	}
	return calls
}

// To read how a pass makes one change, a reader opens few files, and docs/architecture.md lists
// them.
func TestFewFilesFromAPassToItsChange(t *testing.T) {
	shelf := &oneShelf{body: tarOf(t, "tool", "one")}
	w := &walker{from: shelf}
	tools := archiveOf(shelf)
	tools.Fetch = w
	if _, err := converge(t, t.TempDir(), tools); err != nil {
		t.Fatal(err)
	}
	slices.Reverse(w.calls)
	from := slices.IndexFunc(w.calls, func(c string) bool { return strings.HasSuffix(c, "reconcile.Pass.Converge") })
	to := slices.IndexFunc(w.calls, applies)
	if from < 0 || to < from {
		t.Fatalf("no pass makes this change:\n%s", strings.Join(w.calls, "\n"))
	}
	walk := w.calls[from:to]
	var files []string
	for _, c := range walk {
		if file, _, _ := strings.Cut(c, " "); !slices.Contains(files, file) {
			files = append(files, file)
		}
	}
	if len(walk) > maxWalkFrames || len(files) > maxWalkFiles {
		t.Errorf("%d calls in %d files, at most %d in %d:\n%s", len(walk), len(files), maxWalkFrames, maxWalkFiles, strings.Join(walk, "\n"))
	}
	doc, err := os.ReadFile("../../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	if list := "`" + strings.Join(files, "`, `") + "`"; !strings.Contains(strings.Join(strings.Fields(string(doc)), " "), list) {
		t.Errorf("docs/architecture.md does not list the files in their order:\n%s", list)
	}
}
