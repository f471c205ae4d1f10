package witness

import (
	"os"
	"testing"

	"github.com/netwright/netwright/test/program"
)

func TestMain(m *testing.M) { os.Exit(program.Main(m)) }

// These are the limits of a run, in percent of its documents.
const (
	leastApplied = 60
	leastUndone  = 15
	mostRefused  = 15
	leastLost    = 30 // without the checkpoint; below it the documents are too tame
)
