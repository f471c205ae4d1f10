package e2e

import (
	"os"
	"testing"

	"github.com/netwright/netwright/test/program"
)

func TestMain(m *testing.M) { os.Exit(program.Main(m)) }
