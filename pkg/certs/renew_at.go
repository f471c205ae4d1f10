package certs

import (
	"crypto/x509"
	"hash/fnv"
	"time"
)

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
