package model

import (
	"fmt"

	"github.com/netwright/netwright/pkg/host/facts"
	"github.com/netwright/netwright/pkg/model/network"
	"github.com/netwright/netwright/pkg/tasks"
)

// builder gathers what the steps make. Each step reads the input and adds; none reads what another
// added, but for conf and effects, which come last.
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

// header starts every file of lines that is ours.
const header = facts.OwnFileMark + "; edits are undone. `netwright explain` says where each line comes from.\n"
