package tasks

import (
	"os"
	"testing"
)

func TestMain(*testing.M) { _ = os.WriteFile("x", nil, 0) }
