package tasks

import (
	_ "os"

	_ "github.com/netwright/netwright/pkg/config" // want `tasks imports config`
	_ "github.com/netwright/netwright/pkg/graph"
	_ "github.com/netwright/netwright/pkg/host"
)
