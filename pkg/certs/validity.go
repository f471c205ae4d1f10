package certs

import (
	"crypto/x509"
	"time"
)

// State is where in its life a certificate is.
type State string

// The states, from good to bad. Ending and Urgent ask for a person: what renews itself is renewed
// long before.
const (
	Valid        State = "valid"
	NeedsRenewal State = "due"    // the time of its renewal has come
	Ending       State = "ending" // a third of its life is left, or 90 days; of one that renews itself, a quarter
	Urgent       State = "urgent" // a tenth of its life is left, or 30 days
	Expired      State = "expired"
	NotYet       State = "not yet valid"
)

// The bounds of what is said early: a CA of ten years is no topic for three of them.
const (
	endingAtMost = 90 * 24 * time.Hour
	urgentAtMost = 30 * 24 * time.Hour
)

// Validity is the time of one certificate.
type Validity struct {
	NotBefore, NotAfter time.Time
	// RenewAt is when it is renewed without anybody's help; zero: never, somebody must issue
	// another.
	RenewAt time.Time
}

// ValidityOf is the life of a certificate that nobody renews.
func ValidityOf(c *x509.Certificate) Validity {
	return Validity{NotBefore: c.NotBefore, NotAfter: c.NotAfter}
}

// StateAt says where in its life it is.
func (l Validity) StateAt(now time.Time) State {
	whole, left := l.NotAfter.Sub(l.NotBefore), l.NotAfter.Sub(now)
	ending := whole / 3
	if !l.RenewAt.IsZero() {
		ending = whole / 4 // after the latest of renewals
	}
	switch {
	case now.Before(l.NotBefore):
		return NotYet
	case left < 0:
		return Expired
	case left < min(whole/10, urgentAtMost):
		return Urgent
	case left < min(ending, endingAtMost):
		return Ending
	case !l.RenewAt.IsZero() && !now.Before(l.RenewAt):
		return NeedsRenewal
	}
	return Valid
}
