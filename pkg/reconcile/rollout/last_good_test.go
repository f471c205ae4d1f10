package rollout

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/statestore/trust"
	"github.com/netwright/netwright/test/netns"
)

// While the last accepted configuration cannot be read, it counts as unknown, and no generation is
// accepted. A damaged file is written again from the store. The lines that keep it: last_good.go,
// Seen; pkg/ledger/last_good.go, ReadLastGood (Unread); pkg/statestore/trust/policy.go, fresh.
func TestAnUnreadableLastGoodLetsNoOlderGenerationIn(t *testing.T) {
	if !netns.Alone(t) {
		return
	}
	root := t.TempDir()
	file := filepath.Join(root, "var/lib/netwright/last-good.json")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	older := []byte("{\"generation\": 1}\n")
	policy := trust.Policy{Unsigned: true, Seen: Rollout{Host: host.Options{Root: root}}.Seen}
	check := func(what string, taken bool) {
		t.Helper()
		if _, err := policy.Check(older, "/store"); (err == nil) != taken {
			t.Errorf("%s: generation 1: %v; want it taken: %v", what, err, taken)
		}
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	check("nothing was taken", true)
	const sum = "b403f289e3109bf1df85a39c6de3fe72a181a74f3e65b9d7b45141b70e47ce00"
	write(`{"store":"/store","cluster":"c","generation":2,"manifest":"` + sum + `","objects":"` + sum + `"}`)
	check("generation 2 was taken", false)

	// /proc/PID/mem is a file whose first byte cannot be read: EIO.
	memory := filepath.Join("/proc", strconv.Itoa(os.Getpid()), "mem")
	if err := unix.Mount(memory, file, "", unix.MS_BIND, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := os.ReadFile(file); err == nil {
		t.Fatal("it can be read")
	}
	check("it cannot be read", false)
	if err := unix.Unmount(file, 0); err != nil {
		t.Fatal(err)
	}

	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	none := unix.Rlimit{Cur: 0, Max: limit.Max}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &none); err != nil {
		t.Fatal(err)
	}
	check("there is no descriptor for it", false)
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	write("{")
	check("it is damaged", true)
}
