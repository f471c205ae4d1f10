package torture

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/netwright/netwright/test/assets"
)

// The cost of durability: the same first converge, with the real CNI plugins, by the agent and by
// one without its syncs, in turns. The test does not judge the times.
func TestPriceOfDurability(t *testing.T) {
	if !full {
		t.Skip("runs in `make torture`: a measurement, not a test")
	}
	archive, sum := assets.CNIArchive(t)
	content, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	spec := fmt.Sprintf("  assets:\n  - name: cni-plugins\n    arch:\n      %s:\n        sha256: %s\n        urls: [assets/plugins.tgz]\n", runtime.GOARCH, sum)
	d := nodeDocuments(t, "v1", "")
	d["cluster.yaml"] = document("Cluster", cluster, baseSpec+"  networking:\n    bridge: {}\n"+extras("one", "128")+spec)
	d["assets/plugins.tgz"] = string(content)
	store := t.TempDir()
	d.write(t, store)
	agents := map[string]string{"durable": agent(t), "no syncs": agent(t, "nofsync")}
	took := map[string][]time.Duration{}
	for range 15 {
		for _, name := range sortedKeys(agents) {
			i := image{agents[name], store, filepath.Join(t.TempDir(), "root")}
			if err := os.Mkdir(i.root, 0o755); err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			if code, said := i.run(t, 0); code != 0 {
				t.Fatalf("exit %d\n%s", code, said)
			}
			took[name] = append(took[name], time.Since(start))
		}
	}
	note := ""
	for _, name := range sortedKeys(took) {
		slices.Sort(took[name])
		note += fmt.Sprintf("%s: median %d ms, best %d ms; ", name, took[name][7].Milliseconds(), took[name][0].Milliseconds())
	}
	report(t, "price of durability, cold", 15, 0, "%sof 15 each, in turns", note)
}
