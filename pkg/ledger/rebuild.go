package ledger

import (
	"github.com/netwright/netwright/pkg/blob"
	"github.com/netwright/netwright/pkg/tasks"
)

// Rebuild makes an entry's task again, with its contents; nil for keys that need none.
func (e Entry) Rebuild(r Reader) (tasks.Task, error) {
	if e.Task == nil {
		return nil, nil
	}
	return Rebuild(r, *e.Task)
}

// Rebuild makes a task again that a ledger or a revision has, with its contents.
func Rebuild(r Reader, rec tasks.Recorded) (tasks.Task, error) {
	return tasks.Rebuild(rec, func(sum blob.Digest) ([]byte, error) { return Blob(r, sum) })
}
