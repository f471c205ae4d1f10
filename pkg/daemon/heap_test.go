package daemon

import (
	"testing"
	"testing/synctest"
	"time"
)

// Memory is given back once, five seconds after the last of passes in a row. The lines that keep
// it: heap.go; daemon.go, await (rest).
func TestMemoryIsGivenBackAfterAPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h heap
		if h.untilTrim() < time.Hour {
			t.Error("it is given back before any pass")
		}
		h.used()
		time.Sleep(restAfter - time.Second)
		h.used()
		if left := h.untilTrim(); left != restAfter {
			t.Errorf("%s after the second pass, want %s", left, restAfter)
		}
		time.Sleep(2 * restAfter)
		if left := h.untilTrim(); left != 0 {
			t.Errorf("it is to be given back in %s, want now", left)
		}
		h.trim()
		if h.untilTrim() < time.Hour {
			t.Error("it is given back again")
		}
	})
}
