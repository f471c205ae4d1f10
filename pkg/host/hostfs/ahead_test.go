package hostfs

import (
	"crypto/sha256"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// What is read ahead is what a reading finds, serves once, and only as long as nobody changed the
// file: also where size and mtime are as before. A file that could still change under its stamp is
// read when somebody asks.
//
// The lines that keep it: take, and settledSum in read.go.
func TestReadAhead(t *testing.T) {
	root := t.TempDir()
	same, changed, fresh := root+"/same", root+"/changed", root+"/fresh"
	for _, path := range []string{same, changed} {
		must(t, os.WriteFile(path, []byte("one"), 0o644))
		long := unix.NsecToTimespec(fileClock() - 3600e9)
		must(t, unix.UtimesNanoAt(unix.AT_FDCWD, path, []unix.Timespec{long, long}, 0))
		var st unix.Stat_t
		must(t, unix.Stat(path, &st))
		if !AwaitTick(FileInfo{Mtime: st.Mtim.Nano(), Ctime: st.Ctim.Nano()}) {
			t.Fatal("the clock stands still")
		}
	}
	must(t, os.WriteFile(fresh, []byte("one"), 0o644))
	ahead := unix.NsecToTimespec(fileClock() + 3600e9)
	must(t, unix.UtimesNanoAt(unix.AT_FDCWD, fresh, []unix.Timespec{ahead, ahead}, 0))

	opt := Options{Root: root, Verify: true, Stamps: stampBook{}}
	opt.Ahead = ReadAhead(opt, []string{"/same", "/changed", "/fresh", "/missing"})
	opt.Ahead.readers.Wait()
	t.Cleanup(func() { must(t, opt.Ahead.Close()) })
	if one := opt.Ahead.read["/fresh"]; one.info != (FileInfo{}) || len(opt.Ahead.read) != 3 {
		t.Errorf("read ahead: %v", opt.Ahead.read)
	}
	before := opt.Ahead.read["/changed"].info
	must(t, os.WriteFile(changed, []byte("two"), 0o644))
	at := unix.NsecToTimespec(before.Mtime)
	must(t, unix.UtimesNanoAt(unix.AT_FDCWD, changed, []unix.Timespec{at, at}, 0))
	opt.Ahead.read["/same"].sum = Digest{7} // shows who is believed

	h := openImage(t, opt)
	two := Digest(sha256.Sum256([]byte("two")))
	for _, c := range []struct {
		name string
		want Digest
	}{{"/same", Digest{7}}, {"/same", sha256.Sum256([]byte("one"))}, {"/changed", two}, {"/changed", two}, {"/fresh", sha256.Sum256([]byte("one"))}} {
		if sum, err := h.Sum(c.name); err != nil || sum != c.want {
			t.Errorf("%s: %s, %v; want %s", c.name, sum, err, c.want)
		}
	}
}

// Who asks for a file that is being read waits for that, and one that was not begun is not read
// twice.
func TestReadAheadIsNotReadTwice(t *testing.T) {
	a := &Ahead{next: []string{"/a", "/b"}, read: map[string]*aheadSum{}}
	name, one := a.begin()
	if _, known := a.take("/b", FileInfo{}); known || name != "/a" || len(a.next) != 0 {
		t.Errorf("%s is read, and then %v; /b is known: %t", name, a.next, known)
	}
	one.info, one.sum = FileInfo{Size: 1}, Digest{1}
	go close(one.ended)
	if sum, known := a.take("/a", FileInfo{Size: 1}); !known || sum != (Digest{1}) {
		t.Errorf("/a: %s, %t", sum, known)
	}
}
