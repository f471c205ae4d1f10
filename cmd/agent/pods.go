package main

import (
	"context"

	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/host"
)

func provePods(ctx context.Context, s streams, opt host.Options, n *config.Node) error {
	return nil
}
