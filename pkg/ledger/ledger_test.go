package ledger

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/netwright/netwright/pkg/blob"
	"github.com/netwright/netwright/pkg/host/hostfs"
)

const bootIDFile = "/proc/sys/kernel/random/boot_id"

// disk is a directory in memory that the ledger reads and writes.
type disk map[string]string

func (d disk) ReadFile(path string) ([]byte, error) {
	s, ok := d[path]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return []byte(s), nil
}

func (d disk) ReadDir(dir string) ([]string, error) {
	var names []string
	for path := range d {
		if name, below := strings.CutPrefix(path, dir+"/"); below {
			names = append(names, name)
		}
	}
	return names, nil
}

func (d disk) WriteFile(_ context.Context, path string, content []byte, _ hostfs.FileSpec) error {
	d[path] = string(content)
	return nil
}

func (d disk) Mkdir(path string, mode fs.FileMode, uid, gid int) error {
	if path != Dir || mode != 0o700 || uid != 0 || gid != 0 {
		return fmt.Errorf("mkdir %s %v %d:%d", path, mode, uid, gid)
	}
	return nil
}

var info = hostfs.FileInfo{Type: hostfs.Regular, Mode: 0o755, UID: 1, GID: 2, Size: 3, Inode: 4, Mtime: 5, Ctime: 6}

func TestStampsAreBelievedOnlyAsRecordedAndForTheirBoot(t *testing.T) {
	d := disk{bootIDFile: "boot-1\n"}
	l := Load(d)
	sum := blob.Digest{1, 2, 3}
	l.Record("/opt/cni/bin/with space", info, sum)
	if err := l.SaveStamps(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	again := Load(d)
	if got, ok := again.Lookup("/opt/cni/bin/with space", info); !ok || got != sum {
		t.Fatalf("Known = %v, %v; want the recorded digest", got, ok)
	}
	for name, change := range map[string]func(*hostfs.FileInfo){
		"mode": func(i *hostfs.FileInfo) { i.Mode = 0o644 }, "owner": func(i *hostfs.FileInfo) { i.UID = 9 },
		"group": func(i *hostfs.FileInfo) { i.GID = 9 }, "size": func(i *hostfs.FileInfo) { i.Size = 9 },
		"inode": func(i *hostfs.FileInfo) { i.Inode = 9 }, "mtime": func(i *hostfs.FileInfo) { i.Mtime = 9 },
		"ctime": func(i *hostfs.FileInfo) { i.Ctime = 9 }, "device": func(i *hostfs.FileInfo) { i.Dev = 9 },
	} {
		other := info
		change(&other)
		if _, ok := again.Lookup("/opt/cni/bin/with space", other); ok {
			t.Errorf("a file with another %s was believed", name)
		}
	}
	if _, ok := again.Lookup("/opt/cni/bin/with", info); ok {
		t.Error("another file was believed")
	}
	d[bootIDFile] = "boot-2\n"
	if _, ok := Load(d).Lookup("/opt/cni/bin/with space", info); ok {
		t.Error("a stamp of another boot was believed")
	}
}

func TestNothingIsWrittenWhenNothingIsNew(t *testing.T) {
	d := disk{bootIDFile: "b\n"}
	l := Load(d)
	l.Record("/x", info, blob.Digest{1})
	if err := l.SaveStamps(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	again := Load(d)
	again.Record("/x", info, blob.Digest{1})
	before := cmp.Diff(disk{}, d)
	delete(d, stampsFile)
	if err := again.SaveStamps(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	if err := again.Effects.Save(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	if len(d) != 1 {
		t.Errorf("a run without news wrote: %v (before: %s)", d, before)
	}
}

// Stamps that no pass asks for any more are removed only when there is something else to write. The
// ledger has no stamps of its own files.
func TestStampsThatNobodyAskedForAreForgotten(t *testing.T) {
	d := disk{bootIDFile: "b\n"}
	l := Load(d)
	for _, path := range []string{"/kept", "/gone", blobDir + "/x", revisionFile(1), JournalFile, stampsFile, effectsFile} {
		l.Record(path, info, blob.Digest{1})
	}
	save := func() {
		t.Helper()
		if err := l.SaveStamps(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		l = Load(d)
	}
	save()
	if len(l.used) != 2 {
		t.Errorf("%d stamps, want those of two files", len(l.used))
	}
	save()
	if len(l.used) != 2 {
		t.Errorf("a run that recorded nothing forgot something")
	}
	l.Lookup("/kept", info)
	l.Record("/new", info, blob.Digest{2})
	l.Record("/new", info, blob.Digest{3}) // the last one that was read
	save()
	_, kept := l.Lookup("/kept", info)
	_, gone := l.Lookup("/gone", info)
	if sum, ok := l.Lookup("/new", info); !kept || gone || !ok || sum != (blob.Digest{3}) {
		t.Errorf("kept %t, gone %t, new %t %v", kept, gone, ok, sum)
	}
	for _, path := range []string{"/1", "/2"} { // by one daemon, which reads each file once
		l.Record(path, info, blob.Digest{1})
		if err := l.SaveStamps(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"/kept", "/new", "/1", "/2"} {
		if _, ok := Load(d).Lookup(path, info); !ok {
			t.Errorf("the stamp of %s is lost", path)
		}
	}
}

// A file that changes in each pass of a daemon has one stamp, in memory and on disk.
func TestAChangedFileHasOneStamp(t *testing.T) {
	d := disk{bootIDFile: "b\n"}
	l := Load(d)
	for i := range 5 {
		for _, path := range []string{"/changes", "/stays"} {
			at := info
			if path == "/changes" {
				at.Mtime = int64(i)
			}
			l.Record(path, at, blob.Digest{byte(i)})
			if sum, ok := l.Lookup(path, at); !ok || sum != (blob.Digest{byte(i)}) {
				t.Errorf("pass %d: %s has the digest %v, %t", i, path, sum, ok)
			}
		}
		if err := l.SaveStamps(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		if here, there := len(l.used), len(Load(d).used); here != 2 || there != 2 {
			t.Fatalf("pass %d: %d stamps in memory and %d on disk, want one for each of two files", i, here, there)
		}
	}
}

func TestOwedEffectsOutliveTheProcess(t *testing.T) {
	d := disk{}
	l := Load(d)
	l.Effects.Enqueue("effect:daemon-reload", "file:/b")
	l.Effects.Enqueue("effect:daemon-reload", "file:/a")
	l.Effects.Enqueue("effect:daemon-reload", "file:/a")
	if err := l.Effects.Save(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	again := Load(d)
	if diff := cmp.Diff(map[string][]string{"effect:daemon-reload": {"file:/a", "file:/b"}}, again.Effects.List()); diff != "" {
		t.Fatalf("the pending effects (-want +got):\n%s", diff)
	}
	again.Effects.Ack("effect:daemon-reload")
	if err := again.Effects.Save(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	if owed := Load(d).Effects.List(); len(owed) != 0 {
		t.Errorf("still owed after it was paid: %v", owed)
	}
}

func TestDamageIsSaidAndBelievedInNothing(t *testing.T) {
	for name, stamps := range map[string]string{
		"empty": "", "zeros": strings.Repeat("\x00", 100), "garbage": "\x00\x01", "cut": stampsHeader + "b 00000000\n" + strings.Repeat("0", 30),
		"a bit": stampsHeader + "b 00000000\n" + strings.Repeat("0", stampSize),
	} {
		d := disk{bootIDFile: "b\n", stampsFile: stamps, effectsFile: "{"}
		l := Load(d)
		want := 2 // both files
		if strings.Trim(stamps, "\x00") == "" {
			want = 1 // a power cut loses the one of the stamps, which are not synced
		}
		if len(l.Damage()) != want {
			t.Errorf("%s: Damage = %q; want that of %d files", name, l.Damage(), want)
		}
		if len(l.onDisk) != 0 {
			t.Errorf("%s: stamps were believed: %q", name, l.onDisk)
		}
	}
}

// Each record is found at its index. A fingerprint between two records leads to the index of the
// next one. This holds if fingerprints are evenly distributed, and if not.
// A power cut can leave an empty journal. To count it as no ledger would make all keys ours. The
// line that keeps it: journal.go, loadJournal (is empty).
func TestAnEmptyJournalIsALostLedger(t *testing.T) {
	if l := Load(disk{JournalFile: ""}); !l.Lost || len(l.Damage()) != 1 {
		t.Errorf("lost %t, damage %q", l.Lost, l.Damage())
	}
	if l := Load(disk{}); l.Lost || len(l.Damage()) != 0 {
		t.Errorf("without a journal: lost %t, damage %q", l.Lost, l.Damage())
	}
}

// A cordon belongs to the machine that made it: an image or a clone has made none. The line that
// keeps it: api_cache.go, LoadAPICache (IsOtherMachine).
func TestTheCordonOfAnotherMachineIsNotOurs(t *testing.T) {
	const own, other = "0123456789abcdef0123456789abcdef", "fedcba9876543210fedcba9876543210"
	for machine, want := range map[string]bool{own: true, other: false, "": true} {
		d := disk{"/etc/machine-id": own + "\n"}
		if err := SaveAPICache(t.Context(), d, APICache{Node: "n", Cordoned: true, Machine: machine}); err != nil {
			t.Fatal(err)
		}
		if got, err := LoadAPICache(d); err != nil || got.Node != "n" || got.Cordoned != want {
			t.Errorf("machine %q: %+v, %v; want cordoned %t", machine, got, err, want)
		}
	}
	if got, err := LoadAPICache(disk{apiCacheFile: `{"node": "n", "cordoned`}); err == nil || got.Node != "" {
		t.Errorf("a damaged file: %+v, %v", got, err)
	}
}

func TestStampsAreFound(t *testing.T) {
	for _, spread := range []func(i int) fingerprint{
		func(i int) fingerprint { return fingerprintOf(strconv.Itoa(i), info) },
		func(i int) fingerprint { return fingerprint{15: byte(i), 14: byte(i >> 8)} },
		func(i int) fingerprint { return fingerprint{0: 255, 1: 255, 15: byte(i), 14: byte(i >> 8)} },
	} {
		for _, count := range []int{0, 1, 2, 63, 1000} {
			s := &Stamps{used: make([]bool, count)}
			var sorted []fingerprint
			for i := range count {
				sorted = append(sorted, spread(2*i))
			}
			slices.SortFunc(sorted, func(a, b fingerprint) int { return bytes.Compare(a[:], b[:]) })
			for _, p := range sorted {
				s.onDisk = append(append(s.onDisk, p[:]...), make([]byte, len(blob.Digest{}))...)
			}
			for i := range 2*count + 1 {
				p := spread(i)
				want, there := slices.BinarySearchFunc(sorted, p, func(a, b fingerprint) int { return bytes.Compare(a[:], b[:]) })
				if at, ok := s.find(p); at != want || ok != there {
					t.Fatalf("of %d: found %x at %d, %t; want %d, %t", count, p, at, ok, want, there)
				}
			}
		}
	}
}

func BenchmarkStampsLookup(b *testing.B) {
	d := disk{bootIDFile: "b\n"}
	l, paths := Load(d), make([]string, 20_000)
	for i := range paths {
		paths[i] = fmt.Sprintf("/etc/kubernetes/conf.d/%05d.conf", i)
		l.Record(paths[i], info, blob.Digest{byte(i)})
	}
	_ = l.SaveStamps(b.Context(), d)
	l = Load(d)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, ok := l.Lookup(paths[i%len(paths)], info); !ok {
			b.Fatal(paths[i%len(paths)])
		}
	}
}

func BenchmarkLoad(b *testing.B) {
	d := disk{bootIDFile: "b\n"}
	l := Load(d)
	for i := range 10_000 {
		l.Record(fmt.Sprintf("/etc/kubernetes/conf.d/%05d.conf", i), info, blob.Digest{byte(i)})
	}
	_ = l.SaveStamps(b.Context(), d)
	b.ReportAllocs()
	for b.Loop() {
		if got := Load(d); len(got.used) != 10_000 {
			b.Fatal(len(got.used))
		}
	}
}
