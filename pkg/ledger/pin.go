package ledger

import "context"

// SetPin pins the node to a revision for this process, or removes the pin if pin is nil. The disk
// keeps the former pin, whatever is committed, until [Ledger.SavePin]. So a pass that does not
// complete, because it is killed or the disk is full, changes no pin.
func (l *Ledger) SetPin(pin *Pin) {
	if !l.pinUnsaved {
		l.savedPin, l.pinUnsaved = l.head.Pin, true
	}
	l.head.Pin = pin
}

// SavePin writes the pin that [Ledger.SetPin] set. Without such a call it does nothing.
func (l *Ledger) SavePin(ctx context.Context, w Host) error {
	if !l.pinUnsaved {
		return nil
	}
	l.pinUnsaved = false
	return l.Commit(ctx, w, Batch{Head: l.head})
}

// durable returns the head as it is written to the disk.
func (l *Ledger) durable(head Head) Head {
	if l.pinUnsaved {
		head.Pin = l.savedPin
	}
	return head
}
