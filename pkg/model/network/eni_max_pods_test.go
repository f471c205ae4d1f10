package network

import (
	"strings"
	"testing"
)

// The numbers are those of AWS' own list (amazon-vpc-cni-k8s v1.23.2, misc/eni-max-pods.txt). For
// delegated prefixes they are the result of its calculator before its bound.
func TestLimitsOf(t *testing.T) {
	for instance, want := range map[string]struct{ pods, prefixes, custom int }{
		"t3.micro":       {4, 34, 3},
		"t3.medium":      {17, 242, 12},
		"m5.large":       {29, 434, 20},
		"m5.24xlarge":    {737, 11762, 688},
		"m5.metal":       {737, 11762, 688},
		"m6g.large":      {29, 434, 20},
		"c7i-flex.large": {29, 434, 20},
		"g4dn.metal":     {737, 11762, 688},
		"m4.large":       {20, 20, 11}, // Xen
	} {
		l, ok := limitsOf(instance)
		if !ok || l.pods(false, false) != want.pods || l.pods(true, false) != want.prefixes || l.pods(false, true) != want.custom {
			t.Errorf("%s: %+v (%v): %d, by prefixes %d, custom %d; want %+v", instance, l, ok, l.pods(false, false), l.pods(true, false), l.pods(false, true), want)
		}
	}
	for _, unknown := range []string{"", "m5", "m5.", ".large", "m5.larg", "m99.large", "3x10", "#", "m5.large,xlarge"} {
		if l, ok := limitsOf(unknown); ok {
			t.Errorf("%q is known: %+v", unknown, l)
		}
	}
}

// Every line of the table has two limits and names of types, and no type is in two lines.
func TestLimitsTable(t *testing.T) {
	seen := map[string]bool{}
	for line := range strings.Lines(eniTypes) {
		words := strings.Fields(line)
		if words[0] == "#" {
			continue
		}
		for _, word := range words[1:] {
			family, sizes, ok := strings.Cut(word, ".")
			if !ok && word != "xen" {
				t.Errorf("%q in %.20q", word, line)
			}
			for size := range strings.SplitSeq(sizes, ",") {
				name := family + "." + size
				if l, known := limitsOf(name); ok && (seen[name] || !known || l.Interfaces < 1 || l.Addresses < 2) {
					t.Errorf("%s: limitsOf returns %+v", name, l)
				}
				seen[name] = true
			}
		}
	}
	if len(seen) < 1391 {
		t.Errorf("%d types", len(seen))
	}
}
