package certs

import (
	"crypto/x509"
	"fmt"
	"testing"
	"time"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func TestRenewalsSpread(t *testing.T) {
	c := &x509.Certificate{NotBefore: start, NotAfter: start.Add(1000 * time.Hour)}
	const nodes = 1000
	var buckets [10]int
	for i := range nodes {
		seed := fmt.Sprintf("node-%d/etcd", i)
		at := RenewAt(c, start, seed)
		if at != RenewAt(c, start, seed) {
			t.Fatalf("%s renews at another time when asked again", seed)
		}
		part := float64(at.Sub(start)) / float64(1000*time.Hour)
		if part < 0.633 || part > 0.701 {
			t.Errorf("%s renews at %.3f of the life", seed, part)
		}
		buckets[min(int((part-0.6333)/(1.0/150)), 9)]++
	}
	for i, n := range buckets {
		if n < nodes/20 || n > nodes/5 {
			t.Errorf("a tenth of the time has %d of %d renewals (%d)", n, nodes, i)
		}
	}
}

// If a signer sets the start of the validity back by more than two thirds of the lifetime, the
// certificate would otherwise be renewed at once.
func TestRenewalCountsFromTheIssuing(t *testing.T) {
	c := &x509.Certificate{NotBefore: start, NotAfter: start.Add(6 * time.Minute)}
	issued := start.Add(5 * time.Minute)
	if at := RenewAt(c, issued, "n"); at.Before(issued.Add(35*time.Second)) || at.After(issued.Add(45*time.Second)) {
		t.Errorf("renewed at %s, issued at %s", at, issued)
	}
	if at := RenewAt(c, c.NotAfter.Add(time.Hour), "n"); at.After(c.NotAfter) {
		t.Errorf("a time of issue that cannot be is taken: %s", at)
	}
}

func TestStates(t *testing.T) {
	day := 24 * time.Hour
	short, long := start.Add(100*time.Hour), start.Add(3650*day)
	for _, c := range []struct {
		life Validity
		at   time.Time
		want State
	}{
		{Validity{NotBefore: start, NotAfter: short}, start.Add(-time.Second), NotYet},
		{Validity{NotBefore: start, NotAfter: short}, start.Add(66 * time.Hour), Valid},
		{Validity{NotBefore: start, NotAfter: short}, start.Add(67 * time.Hour), Ending},
		{Validity{NotBefore: start, NotAfter: short}, start.Add(91 * time.Hour), Urgent},
		{Validity{NotBefore: start, NotAfter: short}, start.Add(101 * time.Hour), Expired},
		{Validity{start, short, start.Add(68 * time.Hour)}, start.Add(67 * time.Hour), Valid},
		{Validity{start, short, start.Add(68 * time.Hour)}, start.Add(69 * time.Hour), NeedsRenewal},
		{Validity{start, short, start.Add(68 * time.Hour)}, start.Add(76 * time.Hour), Ending},
		{Validity{NotBefore: start, NotAfter: long}, long.Add(-91 * day), Valid},
		{Validity{NotBefore: start, NotAfter: long}, long.Add(-89 * day), Ending},
		{Validity{NotBefore: start, NotAfter: long}, long.Add(-29 * day), Urgent},
	} {
		if got := c.life.StateAt(c.at); got != c.want {
			t.Errorf("%v at %s is %s, want %s", c.life, c.at, got, c.want)
		}
	}
}
