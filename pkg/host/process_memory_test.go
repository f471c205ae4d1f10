package host

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// The program's pages leave the process, and it goes on by those that come back.
func TestUnmapProgram(t *testing.T) {
	before := mappedFiles(t)
	if err := UnmapProgram(); err != nil {
		t.Fatal(err)
	}
	if after := mappedFiles(t); after > before/2 {
		t.Errorf("%d kB of files are mapped, and were before: %d", after, before)
	}
}

// mappedFiles is how much of this process' memory are pages of files, in kB.
func mappedFiles(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if value, found := strings.CutPrefix(line, "RssFile:"); found {
			size, err := strconv.Atoi(strings.Fields(value)[0])
			if err != nil {
				t.Fatal(err)
			}
			return size
		}
	}
	t.Fatal("/proc/self/status has no RssFile")
	return 0
}
