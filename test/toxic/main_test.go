package toxic_test

import (
	"os"
	"testing"

	"github.com/netwright/netwright/test/program"
)

func TestMain(m *testing.M) { os.Exit(program.Main(m)) }
