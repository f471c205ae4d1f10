package statestore

import (
	"errors"
	"os"
	"strconv"
	"testing"
)

// Twenty thousand files take a test seconds to make; the listing is filled without them.
func TestListingIsBounded(t *testing.T) {
	info, err := os.Stat("scan_test.go")
	if err != nil {
		t.Fatal(err)
	}
	l := listing{}
	for i := range MaxObjects {
		if err := l.add(strconv.Itoa(i), seenAs(info, nil)); err != nil {
			t.Fatalf("object %d: %v", i, err)
		}
	}
	if err := l.add("one more", seenAs(info, nil)); !errors.Is(err, errTooMany) {
		t.Errorf("one more than %d: %v", MaxObjects, err)
	}
}
