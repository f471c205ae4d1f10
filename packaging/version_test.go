package main

import (
	"testing"
	"time"
)

func TestPackageVersion(t *testing.T) {
	built := time.Unix(1700000000, 0)
	for from, want := range map[string]string{
		"v1.2.3":                    "1.2.3",
		"1.2.3":                     "1.2.3",
		"v1.2.3-rc.1":               "1.2.3~rc.1",
		"v1.2.3-rc-2":               "1.2.3~rc.2",
		"v1.2.3-12-g0123abc":        "1.2.3+12.g0123abc",
		"v1.2.3-rc.1-4-g0123abc":    "1.2.3~rc.1+4.g0123abc",
		"v1.2.3-4-g0123abc-dirty":   "1.2.3+4.g0123abc+dirty",
		"v1.2.3-dirty":              "1.2.3+dirty",
		"0123abc":                   "0~20231114221320.g0123abc",
		"1234567":                   "0~20231114221320.g1234567",
		"e237eba-dirty":             "0~20231114221320.ge237eba+dirty",
		"v1.2.3-beta-1-2-gabcdef01": "1.2.3~beta.1+2.gabcdef01",
	} {
		if got, err := packageVersion(from, built); got != want || err != nil {
			t.Errorf("%s: %s, want %s (%v)", from, got, want, err)
		}
	}
	for _, bad := range []string{"", "devel", "v1.2.3 4", "1_2", "main"} {
		if got, err := packageVersion(bad, built); err == nil {
			t.Errorf("%q: %s, want an error", bad, got)
		}
	}
}
