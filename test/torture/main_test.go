package torture

import (
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/netwright/netwright/test/program"
	"github.com/netwright/netwright/test/trap"
)

func TestMain(m *testing.M) {
	if err := trap.Main(); err != nil {
		fmt.Fprintln(os.Stderr, "trap:", err)
		os.Exit(126)
	}
	os.Exit(program.Main(m, printTable))
}

// full says that the run takes no samples: `make torture`.
var full = os.Getenv("NETWRIGHT_TORTURE") == "full"

// either returns the amount of work for a full or a short run.
func either[T any](whenFull, whenShort T) T {
	if full {
		return whenFull
	}
	return whenShort
}

// row has what a suite tried, and how often a promise was broken.
type row struct {
	Suite       string
	Tried, Lost int
	Note        string
}

var table struct {
	sync.Mutex
	rows []row
}

// report adds a row to the table at the end of the run.
func report(t testing.TB, suite string, tried, lost int, note string, args ...any) {
	t.Helper()
	r := row{suite, tried, lost, fmt.Sprintf(note, args...)}
	table.Lock()
	table.rows = append(table.rows, r)
	table.Unlock()
	t.Logf("%s: tried %d, lost %d; %s", r.Suite, r.Tried, r.Lost, r.Note)
}

func printTable() {
	if !full || os.Getenv(mountsEnv) != "" || len(table.rows) == 0 {
		return
	}
	fmt.Printf("\n%-34s %6s %5s  %s\n", "suite", "tried", "lost", "")
	for _, r := range table.rows {
		fmt.Printf("%-34s %6d %5d  %s\n", r.Suite, r.Tried, r.Lost, r.Note)
	}
}
