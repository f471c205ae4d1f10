package ledger

import (
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/host"
)

// FuzzMemory loads a ledger whose small files hold anything: what is damaged is said and believed in nothing.
func FuzzMemory(f *testing.F) {
	sum := strings.Repeat("ab", 32)
	for _, s := range []string{
		"", "{}", `{"effect:restart x":["file:/a"]}`, `{"effect:restart x":null}`, `null`, `[]`, `{"a":1}`, "{", stampsHeader + "boot\n", stampsHeader + "boot\n" + sum + " 420 0 0 5 6 7 8 /etc/x\n",
		stampsHeader + "boot\n" + sum + " 420 0 0 5 6 7 8 \n", stampsHeader + "boot\n" + sum[:62] + "zz 420 0 0 5 6 7 8 /etc/x\n", stampsHeader + "other\n" + sum + " x\n", stampsHeader, "\x00",
		stampsHeader + "boot\n" + sum + " 99999999999999999999 0 0 5 6 7 8 /x\n", strings.Repeat("{\"a\":", 20000),
	} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, stamps, owed string) {
		l := Load(disk{bootIDFile: "boot\n", stampsFile: stamps, owedFile: owed})
		if !strings.HasPrefix(stamps, stampsHeader+"boot\n") {
			if len(l.stamps) != 0 {
				t.Fatalf("stamps of another boot, or none, are believed: %q", stamps)
			}
		}
		for path, s := range l.stamps {
			if path == "" {
				t.Fatal("a stamp of no file")
			}
			if _, ok := l.Known(path, host.FileInfo{Size: s.size + 1}); ok {
				t.Fatal("a stamp is believed for another file")
			}
		}
		l.Owe("effect:x", "file:/y")
		l.Paid("effect:x")
		l.Forgive("effect:z", "file:/y")
		text := string(formatStamps(l.stamps, "boot"))
		if again, err := parseStamps([]byte(text), "boot"); err != nil || len(again) != len(l.stamps) {
			t.Fatalf("written back they read otherwise: %d, %d, %v\n%q", len(l.stamps), len(again), err, text)
		}
	})
}
