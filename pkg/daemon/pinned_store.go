package daemon

import (
	"errors"
	"slices"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/statestore/trust"
)

// unlessPinned returns load, or nil where the node has the documents that its pin names: a pin
// keeps the node at one configuration, so a newer publication is no error.
func (l *loop) unlessPinned(load error) error {
	was := l.pinned
	l.pinned = errors.Is(load, trust.ErrPinned) && l.desired != nil && l.Pass.Trust != nil &&
		l.desired.Snapshot.Digest == l.Pass.Trust.Pin.Digest
	if !l.pinned {
		return load
	}
	if d := l.desired; d.Instead != "" { // the pin wants the documents that were kept
		d.Damage = slices.DeleteFunc(d.Damage, func(text string) bool { return text == d.Instead })
		d.Instead = ""
	}
	if !was {
		l.Pass.Log.Info("the store has a configuration that the pin does not name: the one in force stays",
			zap.Int64("generation", l.desired.Snapshot.Generation))
	}
	return nil
}
