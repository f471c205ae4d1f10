package host

import (
	"os"
	"testing"
)

// A process runs until another process has its number. A process of a service runs as long as any
// process is in the service's control group.
func TestAWriterRunsUntilItIsGone(t *testing.T) {
	self := WriterID{Process: Self()}
	if !self.Runs() {
		t.Error("this process does not run")
	}
	another := self
	another.Started++
	if another.Runs() {
		t.Error("a process that had the same number runs")
	}
	dir := t.TempDir()
	groups := []string{dir + "/absent", dir}
	another.Service = "/x.service"
	if another.runs(groups) {
		t.Error("a service without a control group runs")
	}
	for text, want := range map[string]bool{"": false, "17\n": true} {
		if err := os.MkdirAll(dir+another.Service, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(dir+another.Service+"/cgroup.procs", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := another.runs(groups); got != want {
			t.Errorf("with %q in its control group it runs: %t", text, got)
		}
	}
}
