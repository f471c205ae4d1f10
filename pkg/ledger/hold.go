package ledger

import "context"

// Hold pins the node to a revision, or lets go of it where pin is nil, for this process. On the
// disk the node is held as before, whatever is committed, until [Ledger.SaveHold]: a pass that does
// not come to its end, killed or for want of room, holds nothing.
func (l *Ledger) Hold(pin *Pin) {
	if !l.ahead {
		l.heldBefore, l.ahead = l.head.Held, true
	}
	l.head.Held = pin
}

// SaveHold writes down what [Ledger.Hold] said. Without it there is nothing to do.
func (l *Ledger) SaveHold(ctx context.Context, w Host) error {
	if !l.ahead {
		return nil
	}
	l.ahead = false
	return l.Commit(ctx, w, Batch{Head: l.head})
}

// durable is the head as it is written.
func (l *Ledger) durable(head Head) Head {
	if l.ahead {
		head.Held = l.heldBefore
	}
	return head
}
