package model

import (
	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/tasks"
)

// nodeDefault is the Meta of what every node gets.
func nodeDefault(why string) tasks.Meta { return tasks.Meta{From: config.NodeDefault, Why: why} }
