package certs

import (
	"crypto/x509"
	"hash/fnv"
	"time"
)

// A certificate is renewed at about two thirds of its lifetime. The earliest and the latest renewal
// are a fifteenth of the lifetime apart, which is 24 days of a year.
const (
	renewAt     = 2.0 / 3
	renewSpread = 1.0 / 15
)

// RenewAt returns when a certificate is renewed: after about two thirds of its lifetime. seed moves
// this time a little, so that the nodes of a fleet do not renew at once. It is made of the name of
// the node and of the certificate, so that a node always gets the same time. The lifetime counts
// from issued if that is within the validity, because signers date certificates back. Kubernetes
// dates one back by five minutes, even if it is valid for ten.
func RenewAt(c *x509.Certificate, issued time.Time, seed string) time.Time {
	from := c.NotBefore
	if issued.After(from) && issued.Before(c.NotAfter) {
		from = issued
	}
	part := renewAt + renewSpread*(Share(seed)-0.5)
	return from.Add(time.Duration(part * float64(c.NotAfter.Sub(from))))
}

// Share maps a seed to a number from 0 to 1, without 1. It spreads seeds evenly, and maps the same
// seed to the same number.
func Share(seed string) float64 {
	h := fnv.New64a()
	h.Write([]byte(seed)) // never fails
	x := h.Sum64()
	x ^= x >> 33 // names that differ only in the last letter differ only in the low bits of the hash
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	return float64(x>>11) / (1 << 53)
}
