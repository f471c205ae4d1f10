package graph

import (
	_ "github.com/netwright/netwright/pkg/host" // want `graph imports host`
)
