package rollout

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"aead.dev/minisign"
	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/statestore/trust"
	"github.com/netwright/netwright/test/needs"
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

// Who stole a key may have signed a high generation. It does not count once the key is not trusted
// any more. The lines that keep it: last_good.go, Seen (CheckCached, lost).
func TestAGenerationOfAKeyThatIsNoLongerTrustedDoesNotCount(t *testing.T) {
	needs.Root(t) // files belong to root
	root := t.TempDir()
	h, err := host.Open(t.Context(), host.Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	key := func() (trust.Key, minisign.PrivateKey) {
		public, private, err := minisign.GenerateKey(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		return trust.Key{Public: public}, private
	}
	stolen, private := key()
	next, _ := key()
	statement := []byte("{\"generation\": 5}\n")
	manifest := trust.Join(statement, trust.Sign(private, statement, ""))
	good := ledger.LastGood{Store: "/store", Cluster: "c", Generation: 5, Digest: "five"}
	if err := ledger.Load(h.Live.Files).SaveLastGood(t.Context(), h.Files, good, manifest, nil); err != nil {
		t.Fatal(err)
	}
	both := []trust.Key{stolen, next}
	check := func(what string, keys []trust.Key, want int64) {
		t.Helper()
		seen, err := (Rollout{Host: host.Options{Root: root}, Trust: &trust.Policy{Keys: keys}}).Seen("/store")
		if err != nil || seen.Generation != want {
			t.Errorf("%s: %+v, %v; want generation %d", what, seen, err, want)
		}
	}
	check("taken", both, 5)
	check("taken, of the stolen key", []trust.Key{next}, 0)
	for _, c := range []struct {
		keys             string
		trusted, revoked int64
	}{{trust.ID(stolen.Public.ID()), 7, 0}, {trust.ID(next.Public.ID()), 7, 7}, {"", 5, 0}} {
		if err := ledger.SaveUpdate(t.Context(), h.Files, &ledger.Update{Generation: 7, Digest: "seven", Keys: c.keys}); err != nil {
			t.Fatal(err)
		}
		check("waits", both, c.trusted)
		check("waits, of the stolen key", []trust.Key{next}, c.revoked)
	}
	if err := ledger.SaveUpdate(t.Context(), h.Files, &ledger.Update{Generation: 4, Digest: "four", Keys: trust.ID(next.Public.ID())}); err != nil {
		t.Fatal(err)
	}
	check("an older one waits", both, 5)
}
