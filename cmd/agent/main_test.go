package main

import (
	"errors"
	"os"
	"runtime"
	"runtime/metrics"
	"testing"

	"k8s.io/klog/v2"
)

// No log of client-go reaches stderr, not even an error, since it does not go through the agent's
// own log.
func TestClientsAreSilent(t *testing.T) {
	out, err := os.CreateTemp(t.TempDir(), "stderr")
	if err != nil {
		t.Fatal(err)
	}
	stderr := os.Stderr
	os.Stderr = out
	defer func() { os.Stderr = stderr }()
	say := func() {
		klog.Errorf("a line of an error")
		klog.Warningf("a line of a warning")
		klog.Background().Error(errors.New("cause"), "an error with fields")
	}
	say()
	klog.Flush()
	if before, err := out.Stat(); err != nil || before.Size() == 0 {
		t.Fatalf("klog wrote nothing before it was silenced: %v", err)
	}
	silenceClients()
	if err := out.Truncate(0); err != nil {
		t.Fatal(err)
	}
	say()
	klog.Flush()
	if after, err := out.Stat(); err != nil || after.Size() > 0 {
		t.Errorf("klog wrote %d bytes to stderr, %v", after.Size(), err)
	}
}

func TestOnlyTheFirstCollectionIsDeferred(t *testing.T) {
	percent := func() uint64 {
		read := []metrics.Sample{{Name: "/gc/gogc:percent"}}
		metrics.Read(read)
		return read[0].Value.Uint64()
	}
	before := percent()
	deferCollection()
	if got := percent(); got != 200 {
		t.Fatalf("the heap may grow by %d %% before it is collected, want 200", got)
	}
	for runtime.GC(); percent() != before; runtime.GC() { // the test's own time limit ends it
		runtime.Gosched()
	}
}
