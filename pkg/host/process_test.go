package host_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host"
)

// A process gives pages of its program file back: the pages that it only read leave the memory, and
// those that it wrote stay. The line that keeps it: process.go, UnmapProgram.
func TestTheProgramLeavesTheMemory(t *testing.T) {
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	// resident returns how many kB of the program are in memory, of its read-only and its
	// writable mappings.
	resident := func() (read, written int) {
		smaps, err := os.ReadFile("/proc/self/smaps")
		if err != nil {
			t.Fatal(err)
		}
		var at *int
		for line := range strings.Lines(string(smaps)) {
			word := strings.Fields(line)
			switch {
			case strings.Contains(word[0], "-"): // the first line of a mapping
				if at = nil; word[len(word)-1] == program {
					if at = &read; word[1][1] == 'w' {
						at = &written
					}
				}
			case word[0] == "Rss:" && at != nil:
				kB, _ := strconv.Atoi(word[1])
				*at += kB
			}
		}
		return read, written
	}
	size := touchProgram(t, program)
	before, own := resident()
	if err := host.UnmapProgram(); err != nil {
		t.Fatal(err)
	}
	after, kept := resident()
	t.Logf("of %d kB: %d kB, then %d kB; written %d kB, then %d kB", size, before, after, own, kept)
	if before < size/2 || after > before/2 || kept < own {
		t.Errorf("of %d kB of the program there were %d kB, and are %d kB; of those written %d kB, and %d kB", size, before, after, own, kept)
	}
}

// touchProgram reads each page of the read-only mappings of this program, and returns their kB.
func touchProgram(t *testing.T, program string) (kB int) {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(maps)) {
		word := strings.Fields(line)
		if word[len(word)-1] != program || word[1][1] == 'w' {
			continue
		}
		var from, to uintptr
		if _, err := fmt.Sscanf(word[0], "%x-%x", &from, &to); err != nil {
			t.Fatal(err)
		}
		// MADV_POPULATE_READ needs Linux 5.14.
		if _, _, errno := unix.Syscall(unix.SYS_MADVISE, from, to-from, unix.MADV_POPULATE_READ); errno != 0 {
			t.Skipf("populate: %v", errno)
		}
		kB += int(to-from) / 1024
	}
	return kB
}
