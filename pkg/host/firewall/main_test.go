package firewall

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// readWriter reads and writes the packet filter of a test's own namespace.
type readWriter struct {
	*Reader
	*Writer
}

func openTest() readWriter {
	fw := Open(true)
	return readWriter{fw, NewWriter(fw, nil)}
}

func noError(t testing.TB, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestNoPacketFilterInAnImage(t *testing.T) {
	if _, err := Open(false).Table(t.Context(), "inet", "x"); !errors.Is(err, sys.ErrNoLiveState) {
		t.Errorf("Table: %v", err)
	}
}

// saysAll fails unless the error has every one of these words.
func saysAll(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error; want one that says %q", words)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error %q does not say %q", err, w)
		}
	}
}

var netipEqual = cmp.Options{
	cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }),
	cmp.Comparer(func(a, b netip.Addr) bool { return a == b }),
}
