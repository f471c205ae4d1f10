package needs

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// verdict replaces a test and records how it ended.
type verdict struct {
	testing.TB
	ended string
}

func (v *verdict) Helper() {}

func (v *verdict) Skip(args ...any) {
	v.ended = "skip: " + fmt.Sprint(args...)
	runtime.Goexit()
}

func (v *verdict) Fatalf(format string, args ...any) {
	v.ended = "fail: " + fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// ending runs f as a test of its own and returns how it ended, "" for success.
func ending(t *testing.T, f func(testing.TB)) string {
	v, done := &verdict{TB: t}, make(chan struct{})
	go func() {
		defer close(done)
		f(v)
	}()
	<-done
	return v.ended
}

func TestToolAbsent(t *testing.T) {
	for _, c := range []struct{ ci, want string }{{"", "skip: needs no-such-tool"}, {"true", "fail: needs no-such-tool"}} {
		t.Setenv("CI", c.ci)
		got := ending(t, func(t testing.TB) { Tool(t, "sh", "no-such-tool") })
		if !strings.HasPrefix(got, c.want) || !strings.Contains(got, "test/setup.sh") {
			t.Errorf("CI=%q: ended with %q, want %q and the remedy", c.ci, got, c.want)
		}
	}
}

func TestToolPresent(t *testing.T) {
	if got := ending(t, func(t testing.TB) { Tool(t, "sh") }); got != "" {
		t.Errorf("sh is there, but the test ended with %q", got)
	}
}

func TestArch(t *testing.T) {
	t.Setenv("CI", "")
	if got := ending(t, func(t testing.TB) { Arch(t, "vax") }); !strings.HasPrefix(got, "skip: needs a machine of vax") {
		t.Errorf("ended with %q", got)
	}
}
