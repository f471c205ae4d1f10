package checkpoint

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/checkpoint/firstboot"
	"github.com/netwright/netwright/pkg/checkpoint/probe"
	"github.com/netwright/netwright/pkg/checkpoint/undo"
)

// Each pass asks whether a change is watched, and what awaits a boot. It does not decode the
// megabyte that an undo of these would need. Its result is the same as that of decoding all of it,
// whichever release wrote it. The lines that keep it: pkg/host/hostfs/head/head.go, Read;
// pkg/checkpoint/watch_hooks.go, Watched; pkg/checkpoint/firstboot/awaiting.go, Summary.
func TestWhoAsksWhatIsWatchedDecodesNoUndo(t *testing.T) {
	const boot = "468bb2a6"
	was := undo.Log{Around: make(undo.Packed, 500_000)}
	for i := range 2000 {
		was.Files = append(was.Files, undo.File{Path: fmt.Sprintf(`/etc/nw/,"probes":%d`, i), Content: []byte("was")})
	}
	encode := func(v any) []byte {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	watched := encode(watch{UntilUS: math.MaxUint64, Until: time.Unix(9e9, 0).UTC(), Gateways: []probe.Probe{"ping:10.0.0.1"},
		Journal: &Journal{Version: journalVersion, Boot: boot, Generation: 7, Log: was}})
	awaited := encode(firstboot.Awaiting{Version: 1, Boot: "another", Since: time.Unix(9e9, 0).UTC(), Files: was.Files[:10], Around: was.Around, Why: "x"})
	indented := func(data []byte) []byte {
		var out bytes.Buffer
		if err := json.Indent(&out, data, "", " "); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	node := func(watched, awaited []byte) files {
		return files{WatchFile: string(watched), scaffoldFile: "{}", index: string(awaited), "/proc/sys/kernel/random/boot_id": boot + "\n"}
	}
	as := node(watched, awaited)
	for name, r := range map[string]files{"as it was written": as, "by another's hand": node(indented(watched), indented(awaited))} {
		generation, _, until := Watched(r)
		whole, err := firstboot.Read(r)
		if err != nil {
			t.Fatal(err)
		}
		summary := firstboot.Summary(r)
		if generation != 7 || !until.Equal(time.Unix(9e9, 0)) || summary == nil || !slices.Equal(summary.Names(), whole.Names()) || !summary.Since.Equal(whole.Since) || len(whole.Names()) != 10 {
			t.Errorf("%s: generation %d is watched until %s, %q await a boot", name, generation, until, summary.Names())
		}
		if due, err := firstboot.Pending(r); !due || err != nil {
			t.Errorf("%s: it does not await this boot: %v", name, err)
		}
	}
	if generation, _, until := Watched(node(watched[:len(watched)/2], nil)); generation != 0 || !until.IsZero() {
		t.Errorf("one that is cut short is watched: generation %d until %s", generation, until)
	}
	if objects := testing.AllocsPerRun(5, func() { Watched(as) }); objects > 100 {
		t.Errorf("to ask whether a change is watched allocates %v objects", objects)
	}
	if objects := testing.AllocsPerRun(5, func() { firstboot.Summary(as) }); objects > 150 {
		t.Errorf("to ask what awaits a boot allocates %v objects", objects)
	}
}
