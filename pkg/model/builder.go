package model

import (
	"fmt"

	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/host/facts"
	"github.com/netwright/netwright/pkg/model/network"
	"github.com/netwright/netwright/pkg/tasks"
)

// builder collects what the steps of [Build] make. Each step reads the input and adds tasks. No
// step reads what another step added, except conf and effects, which run last.
type builder struct {
	in    Input
	net   network.Network
	view  network.Input
	built network.Built

	tasks []tasks.Task
	notes []Note
	errs  []error
}

func (b *builder) add(ts ...tasks.Task) { b.tasks = append(b.tasks, ts...) }

func (b *builder) note(level network.Level, origin, format string, args ...any) {
	b.notes = append(b.notes, Note{Level: level, Origin: origin, Text: fmt.Sprintf(format, args...)})
}

// header is the first line of every line-based file that the agent writes.
const header = facts.OwnFileMark + "; edits are undone. `netwright explain` says where each line comes from.\n"

// nodeDefault returns the Meta of a task that every node gets.
func nodeDefault(why string) tasks.Meta { return tasks.Meta{From: document.NodeDefault, Why: why} }
