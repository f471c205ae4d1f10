package witness

import (
	"os"
	"testing"

	"github.com/netwright/netwright/test/program"
)

func TestMain(m *testing.M) { os.Exit(program.Main(m)) }

// What a run is held to, in percent of its documents.
const (
	leastApplied = 60
	leastUndone  = 15
	mostRefused  = 15
	leastLost    = 30 // with the checkpoint switched off; else the documents are too tame
)
