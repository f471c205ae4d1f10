package model

import (
	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/tasks"
)

// nodeDefault returns the Meta of a task that every node gets.
func nodeDefault(why string) tasks.Meta { return tasks.Meta{From: document.NodeDefault, Why: why} }
