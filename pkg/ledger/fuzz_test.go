package ledger

import (
	"bytes"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/host/hostfs"
)

// FuzzMemory loads a ledger whose small files have any content. The ledger reports what is damaged,
// and uses none of it.
func FuzzMemory(f *testing.F) {
	head := stampsHeader + "boot "
	good := string(formatStamps(bytes.Repeat([]byte("ab"), stampSize), "boot"))
	for _, s := range []string{
		"", "{}", `{"effect:restart x":["file:/a"]}`, `{"effect:restart x":null}`, `null`, `[]`, `{"a":1}`, "{", head + "00000000\n", good, good[1:], good[:len(good)-1],
		good + "a", good + good, head, head + "\n", strings.Replace(good, "boot", "other", 1), "netwright-stamps 1 boot\n00 420 0 0 5 6 7 8 /etc/x\n", "\x00", strings.Repeat("{\"a\":", 20000),
	} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, stamps, owed string) {
		l := Load(disk{bootIDFile: "boot\n", stampsFile: stamps, effectsFile: owed})
		if !strings.HasPrefix(stamps, head) && len(l.onDisk) != 0 {
			t.Fatalf("stamps of another boot, or none, are believed: %q", stamps)
		}
		for i := range l.used {
			var p fingerprint
			copy(p[:], l.onDisk[i*stampSize:])
			l.lookUp(p)
		}
		if _, ok := l.Lookup("/x", hostfs.FileInfo{Size: int64(len(stamps))}); ok {
			t.Fatal("a stamp of nothing is believed")
		}
		l.Effects.Enqueue("effect:x", "file:/y")
		l.Effects.Ack("effect:x")
		l.Effects.Cancel("effect:z", "file:/y")
		if again, err := parseStamps(formatStamps(l.onDisk, "boot"), "boot"); err != nil || !bytes.Equal(again, l.onDisk) {
			t.Fatalf("written back they read otherwise: %q, %v", again, err)
		}
	})
}
