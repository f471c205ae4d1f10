package daemon

import (
	"errors"
	"slices"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/statestore/trust"
)

// unlessPinned is why there are no newer documents, and nil where the node has those that its pin
// names: a pin keeps a node where it is, and the next publication makes nothing of that wrong.
func (l *loop) unlessPinned(load error) error {
	was := l.pinned
	l.pinned = errors.Is(load, trust.ErrPinned) && l.desired != nil && l.Pass.Trust != nil &&
		l.desired.Snapshot.Digest == l.Pass.Trust.Pin.Digest
	if !l.pinned {
		return load
	}
	if d := l.desired; d.Instead != "" { // what was kept is what is wanted
		d.Damage = slices.DeleteFunc(d.Damage, func(text string) bool { return text == d.Instead })
		d.Instead = ""
	}
	if !was {
		l.Pass.Log.Info("the store has another configuration than the pin names: this one stays",
			zap.Int64("generation", l.desired.Snapshot.Generation))
	}
	return nil
}
