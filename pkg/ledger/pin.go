package ledger

import "context"

// SetPin pins the node to a revision, or lets go of it where pin is nil, for this process. On the
// disk the node is held as before, whatever is committed, until [Ledger.SavePin]: a pass that does
// not come to its end, killed or for want of room, holds nothing.
func (l *Ledger) SetPin(pin *Pin) {
	if !l.pinUnsaved {
		l.savedPin, l.pinUnsaved = l.head.Pin, true
	}
	l.head.Pin = pin
}

// SavePin writes down what [Ledger.SetPin] said. Without it there is nothing to do.
func (l *Ledger) SavePin(ctx context.Context, w Host) error {
	if !l.pinUnsaved {
		return nil
	}
	l.pinUnsaved = false
	return l.Commit(ctx, w, Batch{Head: l.head})
}

// durable is the head as it is written.
func (l *Ledger) durable(head Head) Head {
	if l.pinUnsaved {
		head.Pin = l.savedPin
	}
	return head
}
