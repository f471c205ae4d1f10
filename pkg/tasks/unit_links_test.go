package tasks

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/netwright/netwright/pkg/host/systemd"
)

// A unit was enabled, disabled or masked, and with it perhaps the units of its Also=. Its restore
// leaves the links that were there before, also those that people made, and directories of their
// own. The Also= of a masked unit counts. The lines that keep it: unit_links.go, LinksOfUnit,
// alsoOf, relink
func TestTheLinksOfAUnitComeBack(t *testing.T) {
	h, root := onDisk(t)
	at := root + unitDir + "/"
	link := func(path, target string) {
		ok(t, os.MkdirAll(filepath.Dir(at+path), 0o755), os.Symlink(target, at+path))
	}
	vendor := root + "/usr/lib/systemd/system/"
	ok(t, os.MkdirAll(vendor, 0o755), os.MkdirAll(at+"empty.target.wants", 0o755))
	for name, also := range map[string]string{"a.service": "b.socket", "b.socket": "c.timer a.service", "c.timer": "", "d.service": ""} {
		ok(t, os.WriteFile(vendor+name, []byte("[Install]\nAlso="+also+"\n"), 0o644))
	}
	link("hand.target.wants/a.service", "../a.service")
	link("a.service", "/dev/null")
	link("other.service", "/usr/lib/systemd/system/c.timer")
	link("x.target.wants/d.service", "/usr/lib/systemd/system/d.service")
	was, err := LinksOfUnit(h.Live.View(), systemd.UnitState{Name: "a.service", ID: "a.service"})
	ok(t, err)
	if !slices.Equal(was.Names, []string{"a.service", "b.socket", "c.timer"}) || len(was.Links) != 3 {
		t.Errorf("the unit's links are %+v", was)
	}
	ok(t, os.RemoveAll(at+"hand.target.wants"), os.Remove(at+"a.service"), os.Remove(at+"other.service"))
	link("new.target.requires/b.socket", "/usr/lib/systemd/system/b.socket")
	link("empty.target.wants/c.timer", "/usr/lib/systemd/system/c.timer")
	link("x.target.wants/a.service", "/usr/lib/systemd/system/a.service")
	link("other.service", "/usr/lib/systemd/system/b.socket")
	for _, want := range []bool{true, false} {
		if changed, err := was.relink(h); err != nil || changed != want {
			t.Errorf("changed %t (%v), want %t", changed, err, want)
		}
		if right, err := was.Restored(h.Live.View()); err != nil || !right {
			t.Errorf("restored %t (%v)", right, err)
		}
	}
	for path, there := range map[string]bool{"new.target.requires": false, "empty.target.wants": true, "x.target.wants/d.service": true} {
		if _, err := os.Lstat(at + path); (err == nil) != there {
			t.Errorf("%s: Lstat returns %v", path, err)
		}
	}
}

// If a program removes links of units, these links are restored. A mask is not restored, and
// neither are links of a unit whose file is gone. Added links stay. The lines that keep it:
// unit_links.go, remake, LinksOfUnits
func TestLinksThatAreGoneComeBack(t *testing.T) {
	h, root := onDisk(t)
	at := root + unitDir + "/"
	ok(t, os.MkdirAll(root+"/usr/lib/systemd/system", 0o755), os.MkdirAll(at+"x.target.wants", 0o755),
		os.WriteFile(root+"/usr/lib/systemd/system/a.service", nil, 0o644))
	gone := map[string]bool{"x.target.wants/a.service": true, "alias.service": true, "mask.service": false, "x.target.wants/b.service": false}
	for path, target := range map[string]string{"x.target.wants/a.service": "../alias.service", "alias.service": "/usr/lib/systemd/system/a.service",
		"mask.service": "/dev/null", "x.target.wants/b.service": "/usr/lib/systemd/system/b.service"} {
		ok(t, os.Symlink(target, at+path))
	}
	was, err := LinksOfUnits(h.Live.View())
	ok(t, err)
	for path := range gone {
		ok(t, os.Remove(at+path))
	}
	ok(t, os.Symlink("../alias.service", at+"x.target.wants/new.service"))
	gone["x.target.wants/new.service"] = true
	for _, want := range []bool{true, false} {
		if made, err := was.remake(h); err != nil || made != want {
			t.Errorf("made %t (%v), want %t", made, err, want)
		}
	}
	for path, want := range gone {
		if _, err := os.Lstat(at + path); (err == nil) != want {
			t.Errorf("%s: Lstat returns %v", path, err)
		}
	}
}

// A baseline of an earlier release has no names of links. It is restored by the commands of
// systemd. The line that keeps it: unit_baseline.go, unitBaseline
func TestAnOlderBaselineOfAUnit(t *testing.T) {
	var was unitBaseline
	ok(t, json.Unmarshal([]byte(`{"Name":"a.service","File":"enabled","links":[{"path":"/p","target":"t","mtime":1}]}`), &was))
	if was.Names != nil || was.File != "enabled" || !slices.Equal(was.Links, []unitLink{{"/p", "t", 1}}) {
		t.Errorf("read %+v", was)
	}
}
