package tasks

import (
	_ "github.com/netwright/netwright/test/needs"
)
