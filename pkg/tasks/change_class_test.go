package tasks

import (
	"testing"

	"github.com/netwright/netwright/pkg/graph"
)

// Each kind of change has the class that people on call expect, and the highest class counts.
func TestClasses(t *testing.T) {
	one := func(op Op, key graph.Key) *Change {
		return &Change{Items: []Item{{Key: key, Op: op}}, Proof: ProofHarmless}
	}
	with := func(c *Change, d Disruption, asks ...graph.Key) *Change {
		c.Disruption, c.Effects = d, asks
		return c
	}
	file, unit := FileKey("/etc/cni/net.d/10-a.conflist"), graph.MakeKey(KindUnit, "docker.service")
	for _, c := range []struct {
		name string
		key  graph.Key
		c    *Change
		want Class
	}{
		{"nothing", file, nil, ClassLive},
		{"a conf", file, one(Update, file), ClassLive},
		{"a conf that goes", file, one(Remove, file), ClassLive},
		{"systemd reads its files", DaemonReload, one(Run, DaemonReload), ClassLive},
		{"a unit's file", file, with(one(Create, file), NoDisruption, DaemonReload), ClassLive},
		{"a new link", LinkKey("cbr0"), one(Create, LinkKey("cbr0")), ClassLive},
		{"a file that a unit reads", file, with(one(Update, file), NoDisruption, Restart("containerd.service")), ClassLive},
		{"what nobody has proved", file, &Change{Items: []Item{{Key: file, Op: Update}}}, ClassReload},
		{"what was proved before", file, &Change{Items: []Item{{Key: file, Op: Update}}, Proof: ProofBefore}, ClassLive},
		{"a reload", Reload("systemd-udevd.service"), one(Run, Reload("systemd-udevd.service")), ClassReload},
		{"a reload of the network", Reload("systemd-networkd.service"), with(one(Run, Reload("systemd-networkd.service")), MayCutOff), ClassReload},
		{"a default route", "route:254/0.0.0.0/0", with(one(Create, "route:254/0.0.0.0/0"), MayCutOff), ClassReload},
		{"a restart", Restart("containerd.service"), with(one(Run, Restart("containerd.service")), RestartsUnit), ClassRestart},
		{"a restart of what does not run", Restart("new.service"), one(Run, Restart("new.service")), ClassLive},
		{"a restart of the network", Restart("systemd-networkd.service"), with(one(Run, Restart("systemd-networkd.service")), MayCutOff), ClassRestart},
		{"a unit that stops", unit, with(one(Update, unit), RestartsUnit), ClassRestart},
		{"a switch stops kubelet", "pause:kubelet.service", with(one(Update, "unit:kubelet.service"), MayCutOff), ClassRestart},
		{"a switch takes pods away", EvictKey("flannel"), with(one(Remove, "pod:default/web-1"), MayCutOff), ClassDrain},
		{"the pods' gateway goes", "address:cbr0/10.0.0.1/24", with(one(Remove, "address:cbr0/10.0.0.1/24"), MayCutOff), ClassDrain},
		{"the kernel's command line", FileKey("/etc/default/grub.d/50-ipv6.cfg"), one(Create, FileKey("/etc/default/grub.d/50-ipv6.cfg")), ClassReplace},
		{"not on this host", unit, &Change{Disruption: RestartsUnit, NotApplicable: "no systemd here"}, ClassLive},
	} {
		if got, why := ClassOf(c.key, c.c); got != c.want || (why == "") != (got == ClassLive) {
			t.Errorf("%s is %s (%s), want %s", c.name, got, why, c.want)
		}
	}
}

func TestClassNames(t *testing.T) {
	for c := ClassLive; c <= ClassReplace; c++ {
		if got := ParseClass(c.String()); got != c {
			t.Errorf("%s is parsed as %s", c, got)
		}
	}
	if got := ParseClass("weather"); got != ClassLive {
		t.Errorf("an unknown class is %s", got)
	}
}
