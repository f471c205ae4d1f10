package certs

import (
	"crypto/x509"
	"hash/fnv"
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

// The latest and the earliest of renewals are a fifteenth of the life apart, around two thirds of
// it: 24 days of a year.
const (
	renewAt     = 2.0 / 3
	renewSpread = 1.0 / 15
)

// RenewAt is when a certificate is renewed: at two thirds of its life, a little earlier or later by
// what seed says, so that a fleet does not renew in step, and one node always at the same time. A
// seed is the node's name and the certificate's. The life is counted from when it was issued, if
// that is within it: signers date certificates back, Kubernetes' by five minutes, of one that lives
// ten.
func RenewAt(c *x509.Certificate, issued time.Time, seed string) time.Time {
	from := c.NotBefore
	if issued.After(from) && issued.Before(c.NotAfter) {
		from = issued
	}
	part := renewAt + renewSpread*(Share(seed)-0.5)
	return from.Add(time.Duration(part * float64(c.NotAfter.Sub(from))))
}

// Share spreads seeds evenly over 0 to 1, 1 excluded, the same one always to the same place.
func Share(seed string) float64 {
	h := fnv.New64a()
	h.Write([]byte(seed)) // never fails
	x := h.Sum64()
	x ^= x >> 33 // names that differ in the last letter differ in the low bits only
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	return float64(x>>11) / (1 << 53)
}
