package network

import (
	_ "net/http" // want `model imports net/http: get it from the caller; the model is pure`
	_ "net/netip"
	_ "os"      // want `model imports os`
	_ "os/exec" // want `model imports os/exec`

	_ "github.com/netwright/netwright/pkg/config"
	_ "github.com/netwright/netwright/pkg/daemon" // want `model imports daemon, which is not below it`
	_ "github.com/netwright/netwright/pkg/graph"
	_ "github.com/netwright/netwright/pkg/host"
	_ "github.com/netwright/netwright/pkg/ledger" // want `model imports ledger, which is not below it`
	_ "github.com/netwright/netwright/pkg/model"
	_ "github.com/netwright/netwright/pkg/tasks"
	_ "github.com/netwright/netwright/test/needs" // want `model imports test/needs, which runs on a developer's machine`
)
