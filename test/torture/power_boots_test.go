package torture

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/checkpoint/firstboot"
	"github.com/netwright/netwright/pkg/checkpoint/probe"
	"github.com/netwright/netwright/pkg/checkpoint/undo"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/test/needs"
)

// notes is the ledger of the process that judges a boot.
type notes struct{}

func (notes) Right() string { return "" }

func (n notes) Forget(ctx context.Context, h *host.Host, _ []firstboot.Await, found firstboot.Boot) error {
	return n.Note(ctx, h, found)
}

func (notes) Note(ctx context.Context, h *host.Host, found firstboot.Boot) error {
	return ledger.NoteBoot(ctx, h.Files, ledger.Boot{ID: found.ID, Names: found.Names, Outcome: string(found.Outcome)})
}

// failedWith has the files with which a boot failed, and original has what was there before, by
// path; "": nothing.
var (
	failedWith = map[string]string{"/etc/replaced": "new", "/etc/came": "new", "/etc/went": "", "/etc/large": "new"}
	original   = map[string]string{"/etc/replaced": "was", "/etc/came": "", "/etc/went": "was", "/etc/large": strings.Repeat("large", 1<<18)}
)

// The power fails while the files are restored with which a boot failed, at every write of the
// disk, with and without the disk's cache. The next boot finds the record, or finds all files
// restored. In the end it has the originals, no record, and one note of one boot.
//
// What keeps it: pkg/checkpoint/firstboot/awaiting.go save and drop;
// pkg/checkpoint/firstboot/firstboot.go FirstBoot (Judged); pkg/checkpoint/undo/restore.go Files
// (SyncDirs).
func TestPowerCutWhileFilesComeBack(t *testing.T) {
	t.Parallel()
	needs.Root(t)
	needs.Tool(t, "mkfs.ext4", "mkfs.xfs")
	if _, err := os.Stat("/dev/fuse"); err != nil {
		needs.Missing(t, "needs FUSE: "+err.Error())
	}
	if !inOwnMounts(t) {
		return
	}
	for _, kind := range []string{"ext4", "xfs"} {
		t.Run(kind, func(t *testing.T) {
			p := newPowerTest(t, kind, "")
			p.recorded(t)
			unix.Sync()
			if err := p.r.Record(); err != nil {
				t.Fatal(err)
			}
			if err := p.judged(t, "one"); err != nil {
				t.Fatal(err)
			}
			done := p.r.Len()
			p.foreignSync(t)
			p.r.Stop()
			end := p.r.Len()
			p.unmount(t)
			tried, lost := 0, 0
			for _, moment := range moments(done, end, either(end, 20)) {
				cache := (*rand.Rand)(nil)
				if tried++; tried%2 == 0 {
					cache = rand.New(rand.NewPCG(1, uint64(moment)))
				}
				if err := p.r.Image(p.image(), moment, cache); err != nil {
					t.Fatal(err)
				}
				p.mount(t, p.image())
				broken := p.bootsAgain(t)
				p.unmount(t)
				if len(broken) > 0 {
					lost++
					t.Errorf("power cut at write %d of %d (it was done at %d):\n%s", moment, end, done, strings.Join(broken, "\n"))
				}
			}
			report(t, "power cut: files come back, "+kind, tried, lost, "of %d writes", end)
		})
	}
}

// recorded puts the files of a failed boot on the disk, and the record of them.
func (p *powerTest) recorded(t *testing.T) {
	t.Helper()
	a := firstboot.Awaiting{Version: 1, Boot: "none", Generation: 7, Window: time.Millisecond}
	for path, content := range failedWith {
		if content != "" {
			p.write(t, path, content)
		}
		f := undo.File{Path: path, Mode: 0o640}
		if was := original[path]; was != "" {
			f.Type, f.Copy = hostfs.Regular, firstboot.Dir+map[bool]string{true: "/file-", false: "/content-"}[len(was) > 10]+filepath.Base(path)
			p.write(t, f.Copy, was)
		}
		a.Files = append(a.Files, f)
	}
	index, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	p.write(t, awaitingIndex, string(index))
}

func (p *powerTest) write(t *testing.T, path, content string) {
	t.Helper()
	path = filepath.Join(p.at, path)
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte(content), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// judged judges a boot on the disk. There is no network by which the node could be reached.
func (p *powerTest) judged(t *testing.T, boot string) error {
	t.Helper()
	p.write(t, "/proc/sys/kernel/random/boot_id", boot+"\n")
	h, err := host.Open(t.Context(), host.Options{Root: p.at})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	return firstboot.Examiner{Node: probe.Prober{Host: h}, Books: notes{}, Reboot: h.Units.Reboot, Log: zap.NewNop()}.FirstBoot(t.Context())
}

// bootsAgain makes the boot after the power cut.
func (p *powerTest) bootsAgain(t *testing.T) (broken []string) {
	t.Helper()
	check := func(when string) {
		for path, want := range original {
			if now, _ := os.ReadFile(filepath.Join(p.at, path)); string(now) != want {
				broken = append(broken, fmt.Sprintf("%s: %s is %.20q", when, path, now))
			}
		}
	}
	if _, err := os.Stat(filepath.Join(p.at, awaitingIndex)); err != nil {
		check("the record is gone")
	}
	if err := p.judged(t, "two"); err != nil {
		broken = append(broken, err.Error())
	}
	check("in the end")
	if names, _ := os.ReadDir(filepath.Join(p.at, firstboot.Dir)); len(names) > 0 {
		broken = append(broken, fmt.Sprintf("left: %v", names))
	}
	var list []ledger.Boot
	data, err := os.ReadFile(filepath.Join(p.at, "/var/lib/netwright/boots.json"))
	if err == nil {
		err = json.Unmarshal(data, &list)
	}
	if err != nil || len(list) != 1 || list[0].Outcome != string(firstboot.Unsure) || len(list[0].Names) != len(original) {
		broken = append(broken, fmt.Sprintf("it is known of boots: %+v, %v", list, err))
	}
	return broken
}
