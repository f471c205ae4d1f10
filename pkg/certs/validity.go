package certs

import (
	"crypto/x509"
	"time"
)

// State is the state of a certificate by its validity.
type State string

// The states, from good to bad. Ending and Urgent need a person: a certificate that the agent
// renews is renewed long before.
const (
	Valid        State = "valid"
	NeedsRenewal State = "due" // the time of its renewal has come
	// a third of its lifetime is left, or a quarter if the agent renews it; at most 90 days
	Ending  State = "ending"
	Urgent  State = "urgent" // a tenth of its lifetime is left; at most 30 days
	Expired State = "expired"
	NotYet  State = "not yet valid"
)

// The limits of Ending and Urgent. Without them a CA of ten years would be reported for three
// years.
const (
	endingAtMost = 90 * 24 * time.Hour
	urgentAtMost = 30 * 24 * time.Hour
)

// Validity is the validity of a certificate.
type Validity struct {
	NotBefore, NotAfter time.Time
	// RenewAt is when the agent renews the certificate; zero if a person must issue another one.
	RenewAt time.Time
}

// ValidityOf returns the validity of a certificate that the agent does not renew.
func ValidityOf(c *x509.Certificate) Validity {
	return Validity{NotBefore: c.NotBefore, NotAfter: c.NotAfter}
}

// StateAt returns the state at a time.
func (l Validity) StateAt(now time.Time) State {
	whole, left := l.NotAfter.Sub(l.NotBefore), l.NotAfter.Sub(now)
	ending := whole / 3
	if !l.RenewAt.IsZero() {
		ending = whole / 4 // after the latest time of a renewal
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
