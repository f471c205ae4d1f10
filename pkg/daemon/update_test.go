package daemon

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/checkpoint"
	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/reconcile/rollout"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/test/hostroot"
)

// fleetNode returns a box whose documents have this spec.update and this content of two files, one
// of them a file of the network.
func fleetNode(t *testing.T) (b *box, publish func(t *testing.T, update, content string)) {
	b = newBox(t)
	hostroot.Put(t, b.root, "/proc/sys/kernel/random/boot_id", "boot\n")
	b.daemon.Pass.UpdatesAnywhere = true
	b.daemon.Select.Node = "n"
	base := hostroot.Read(t, b.store, "/demo/cluster.yaml")
	publish = func(t *testing.T, update, content string) {
		t.Helper()
		b.write(t, "cluster.yaml", base+"  update: "+update+"\n  fileAssets:\n  - {name: live, path: /etc/motd, content: "+content+
			"}\n  - {name: reload, path: /etc/systemd/network/50-x.network, content: \"# "+content+"\"}\n")
	}
	return b, publish
}

// waits returns the waiting configuration that the disk records.
func (b *box) waits(t *testing.T) *ledger.Update {
	t.Helper()
	files, err := host.OpenFiles(host.Options{Root: b.root})
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close() // only read from
	u, err := ledger.ReadUpdate(files)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// A configuration whose class is above spec.update.auto waits, and the daemon says so once.
// Meanwhile it repairs the whole accepted configuration. A restart of the agent does not apply what
// waits. A person's command does. The lines that keep it: pkg/reconcile/rollout/update.go, Take and
// Effective.
func TestAConfigurationAboveAutoWaits(t *testing.T) {
	b, publish := fleetNode(t)
	publish(t, "{auto: live, splay: 0s}", "one")
	told := &listener{}
	b.daemon.Observers = []Observer{told}
	b.live(t, func(t *testing.T) { // a node without a configuration takes the published one
		if got := hostroot.Read(t, b.root, "/etc/systemd/network/50-x.network"); got != "# one" {
			t.Fatalf("the first configuration was not taken: %q", got)
		}
		publish(t, "{auto: live, splay: 0s}", "two")
		later(11 * time.Minute)
		if err := os.Remove(filepath.Join(b.root, "etc/motd")); err != nil {
			t.Fatal(err)
		}
		later(11 * time.Minute)
		if got := hostroot.Read(t, b.root, "/etc/motd"); got != "one" {
			t.Errorf("what is in force was not repaired, or not to what is in force: %q", got)
		}
		s := told.last()
		if w := s.Waiting; w == nil || w.Class != "reload" || !w.Until.IsZero() || !strings.Contains(w.Reason, "spec.update.auto (cluster.yaml:11:12) allows at most live without approval") {
			t.Errorf("the status says that %+v waits", w)
		}
		if s.State != report.NodeWaiting || s.Totals.Repairs != 1 || b.logged("right again") != 0 || !waitsUnnumbered(b.manager.last(t).text) {
			t.Errorf("the status is %s (%s), %d repairs; systemd's is %q", s.State, s.Reason, s.Totals.Repairs, b.manager.last(t).text)
		}
	})
	if got := b.log.FilterMessageSnippet("waits, and this one stays in force").Len(); got != 1 {
		t.Errorf("it was logged %d times that a configuration waits, want once", got)
	}
	since := b.waits(t).Since
	b.manager = &manager{}
	b.daemon.Manager = b.manager
	b.live(t, func(t *testing.T) {
		later(11 * time.Minute)
		if u := b.waits(t); hostroot.Read(t, b.root, "/etc/motd") != "one" || !u.Since.Equal(since) {
			t.Errorf("a restart of the agent took what waits, or began the time anew: %+v", u)
		}
		pass := b.daemon.Pass
		pass.TakeNow = "alice"
		d, err := desired.Load(t.Context(), b.daemon.Store, b.daemon.Select, statestore.Revision{})
		if err != nil {
			t.Fatal(err)
		}
		plan, err := pass.Converge(t.Context(), d)
		if err != nil || plan.Waiting != nil || hostroot.Read(t, b.root, "/etc/systemd/network/50-x.network") != "# two" || b.waits(t) != nil {
			t.Errorf("a person's word did not take it: %v", err)
		}
		if err := os.Remove(filepath.Join(b.root, "etc/motd")); err != nil {
			t.Fatal(err)
		}
		later(11 * time.Minute)
		if hostroot.Read(t, b.root, "/etc/motd") != "two" {
			t.Error("the daemon does not keep what a person has let go")
		}
	})
}

// If the agent cannot record that it takes a configuration, it does not take it. It repairs what is
// in force and says READY. A person's command for that configuration fails, and has no later
// effect. The lines that keep it: pkg/reconcile/rollout/update.go, Take and unnoted.
func TestWhatCannotBeNotedWaits(t *testing.T) {
	b, publish := fleetNode(t)
	publish(t, "{splay: 0s}", "one")
	b.live(t, func(t *testing.T) {})
	publish(t, "{splay: 0s}", "two")
	hostroot.Put(t, b.root, ledger.Dir+"/update.json/in/the-way", "")
	b.manager = &manager{}
	b.daemon.Manager = b.manager
	told := &listener{}
	b.daemon.Observers = []Observer{told}
	b.live(t, func(t *testing.T) {
		if n := b.manager.count("ready"); n != 1 {
			t.Errorf("READY was said %d times, want once", n)
		}
		hostroot.Put(t, b.root, "/etc/motd", "somebody's")
		later(11 * time.Minute)
		if got := hostroot.Read(t, b.root, "/etc/motd"); got != "one" {
			t.Errorf("what is in force is not kept right: %q", got)
		}
		if w := told.last().Waiting; w == nil || !strings.HasPrefix(w.Reason, "this node cannot record when the wait began: ") {
			t.Errorf("the status says that %+v waits", w)
		}
		d, err := desired.Load(t.Context(), b.daemon.Store, b.daemon.Select, statestore.Revision{})
		if err != nil {
			t.Fatal(err)
		}
		pass := b.daemon.Pass
		pass.TakeNow = "alice"
		if _, err := pass.Converge(t.Context(), d); err == nil || hostroot.Read(t, b.root, "/etc/motd") != "one" {
			t.Errorf("a person's word: %v", err)
		}
		if err := os.RemoveAll(filepath.Join(b.root, ledger.Dir, "update.json")); err != nil {
			t.Fatal(err)
		}
		later(11 * time.Minute)
		if got := hostroot.Read(t, b.root, "/etc/motd"); got != "two" {
			t.Errorf("when it can be noted it is not taken: %q", got)
		}
	})
}

// The record of what waits is written only if it changes, so that a node that waits for days writes
// nothing. A configuration that changes nothing here needs no record. The line that keeps it:
// pkg/reconcile/rollout/update.go, Take (u != was).
func TestOnlyANewWaitIsRecorded(t *testing.T) {
	b, publish := fleetNode(t)
	publish(t, "{auto: live, splay: 0s}", "one")
	told := &listener{}
	b.daemon.Observers = []Observer{told}
	b.live(t, func(t *testing.T) {
		record := func() os.FileInfo {
			t.Helper()
			info, err := os.Stat(filepath.Join(b.root, ledger.Dir, "update.json"))
			if err != nil {
				t.Fatal(err)
			}
			return info
		}
		publish(t, "{auto: live, splay: 0s}", "two")
		later(11 * time.Minute)
		first := record()
		hostroot.Put(t, b.root, "/etc/motd", "by hand") // so that a pass is seen to have been made
		later(11 * time.Minute)
		if again := record(); hostroot.Read(t, b.root, "/etc/motd") != "one" || !os.SameFile(first, again) {
			t.Error("no pass was made, or it recorded the same wait once more")
		}
		publish(t, "{auto: live, splay: 0s}", "one")
		later(11 * time.Minute)
		hostroot.Put(t, b.root, ledger.Dir+"/update.json/in/the-way", "")
		publish(t, "{auto: live, splay: 1s}", "one")
		later(11 * time.Minute)
		if w := told.last().Waiting; w != nil {
			t.Errorf("what changes nothing here waits: %+v", w)
		}
	})
}

// A dry run shows what waits, and what the daemon says of it. It writes nothing.
func TestADryRunForetellsTheWait(t *testing.T) {
	b, publish := fleetNode(t)
	publish(t, "{auto: live}", "one")
	b.live(t, func(t *testing.T) {})
	publish(t, "{auto: live}", "two")
	d, err := desired.Load(t.Context(), b.daemon.Store, b.daemon.Select, statestore.Revision{})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := b.daemon.Pass.DryRun(t.Context(), d)
	if err != nil || plan.Waiting == nil || plan.Class != "reload" || !strings.Contains(said(plan), "the daemon waits with it: its class is reload") || b.waits(t) != nil {
		t.Errorf("%v, class %s, waiting %+v:\n%s", err, plan.Class, plan.Waiting, said(plan))
	}
}

// The nodes of a fleet take a change one after another, each at its own moment within the splay.
func TestSplay(t *testing.T) {
	moments := map[time.Duration]string{}
	for _, name := range []string{"n", "another"} {
		t.Run(name, func(t *testing.T) {
			b, publish := fleetNode(t)
			b.daemon.Select.Node = name
			own := strings.Replace(hostroot.Read(t, b.store, "/demo/nodes/n.yaml"), "name: n}", "name: "+name+"}", 1)
			if err := os.Remove(filepath.Join(b.store, "demo/nodes/n.yaml")); err != nil {
				t.Fatal(err)
			}
			b.write(t, "nodes/"+name+".yaml", own)
			publish(t, "{splay: 1h}", "one")
			b.live(t, func(t *testing.T) {
				publish(t, "{splay: 1h}", "two")
				later(time.Minute)
				u := b.waits(t)
				if u == nil || u.Class != "reload" {
					t.Fatalf("it did not wait: %+v", u)
				}
				until := u.Free.Add(time.Duration(float64(time.Hour) * rollout.UnitHash(name))).Truncate(time.Second)
				moments[until.Sub(u.Free)] = name
				later(time.Until(until) - time.Second)
				if got := hostroot.Read(t, b.root, "/etc/motd"); got != "one" {
					t.Errorf("it was taken before its moment: %q", got)
				}
				later(2 * time.Second)
				if got := hostroot.Read(t, b.root, "/etc/motd"); got != "two" || b.waits(t) != nil {
					t.Errorf("it was not taken at its moment, %s: %q", until, got)
				}
				publish(t, "{splay: 0s}", "three")
				later(11 * time.Minute)
				if got := hostroot.Read(t, b.root, "/etc/motd"); got != "three" {
					t.Errorf("without a splay it was not taken at once: %q", got)
				}
			})
		})
	}
	if len(moments) != 2 {
		t.Errorf("the nodes go together: %v", moments)
	}
}

// A change that was released is completed, whatever would keep it back by now. A run that was
// killed in the middle is completed, and not undone. This does not hold for another generation.
func TestWhatWasLetGoGoesOn(t *testing.T) {
	b, publish := fleetNode(t)
	publish(t, "{auto: live}", "one")
	b.live(t, func(t *testing.T) {
		publish(t, "{auto: live}", "two")
		later(11 * time.Minute)
		u := b.waits(t)
		if u == nil {
			t.Fatal("it did not wait")
		}
		hostroot.Put(t, b.root, ledger.Dir+"/update.json", strings.Replace(hostroot.Read(t, b.root, ledger.Dir+"/update.json"), u.Digest+"\",", u.Digest+"\", \"letGo\": \"alice\",", 1))
		hostroot.Put(t, b.root, "/etc/motd", "two") // the state when the run was killed
		later(11 * time.Minute)
		if got := hostroot.Read(t, b.root, "/etc/systemd/network/50-x.network"); got != "# two" || b.waits(t) != nil {
			t.Errorf("the released change was not completed: %q", got)
		}
		publish(t, "{auto: live}", "three")
		later(11 * time.Minute)
		if u := b.waits(t); u == nil || u.LetGo != "" || hostroot.Read(t, b.root, "/etc/motd") != "two" {
			t.Errorf("the next one was let go with it: %+v", u)
		}
	})
}

// A change that waits for a window is applied in it. A live change waits for no window.
func TestAWindow(t *testing.T) {
	b, publish := fleetNode(t)
	const window = `{splay: 30m, window: [{days: [Sun], from: "02:00", until: "02:20"}]}`
	publish(t, window, "one")
	b.live(t, func(t *testing.T) { // time begins on 2000-01-01, a Saturday
		publish(t, window, "two")
		later(11 * time.Minute)
		if s := b.log.FilterMessageSnippet("it is outside of spec.update.window: the next one begins at 2000-01-02T02:00:00Z").Len(); s != 1 {
			t.Errorf("it was said %d times when the window is", s)
		}
		later(time.Until(time.Date(2000, 1, 2, 2, 0, 0, 0, time.UTC)) - time.Second)
		if got := hostroot.Read(t, b.root, "/etc/motd"); got != "one" {
			t.Errorf("it was taken outside of the window: %q", got)
		}
		later(20 * time.Minute)
		if got := hostroot.Read(t, b.root, "/etc/motd"); got != "two" {
			t.Errorf("it was not taken in the window: %q", got)
		}
		b.write(t, "cluster.yaml", strings.Replace(hostroot.Read(t, b.store, "/demo/cluster.yaml"), "content: two", "content: live", 1))
		later(11 * time.Minute)
		if got := hostroot.Read(t, b.root, "/etc/motd"); got != "live" {
			t.Errorf("a live change waited for a window: %q", got)
		}
	})
}

func TestPercent(t *testing.T) {
	b, publish := fleetNode(t)
	publish(t, "{percent: 0, splay: 0s}", "one")
	b.live(t, func(t *testing.T) {
		publish(t, "{percent: 0, splay: 0s}", "three")
		later(11 * time.Minute)
		u := b.waits(t)
		if u == nil || hostroot.Read(t, b.root, "/etc/motd") != "one" {
			t.Fatalf("no node takes it, and this one did: %+v", u)
		}
		at := rollout.Bucket("n", u.Fingerprint)
		publish(t, fmt.Sprintf("{percent: %d,   splay: 0s}", at), "three") // spaces for another length: the store compares it, since times stand still here
		later(11 * time.Minute)
		if again := b.waits(t); again == nil || again.Fingerprint != u.Fingerprint || !again.Since.Equal(u.Since) || again.Digest == u.Digest {
			t.Errorf("a generation that wants the same is another change: %+v, was %+v", again, u)
		}
		publish(t, fmt.Sprintf("{percent: %d,      splay: 0s}", at+1), "three")
		later(11 * time.Minute)
		if got := hostroot.Read(t, b.root, "/etc/motd"); got != "three" {
			t.Errorf("it was not taken as its place came: %q", got)
		}
		publish(t, "{percent: 0,         splay: 0s}", "three")
		later(11 * time.Minute)
		if got := hostroot.Read(t, b.root, "/etc/motd"); got != "three" || b.waits(t) != nil {
			t.Errorf("a node that has applied the change does not keep it: %q, %+v", got, b.waits(t))
		}
	})
}

// A change that waits stays the same change if the API's answer changes meanwhile, for example when
// a node joins. The change keeps its time, and the node keeps its place, also in the generation
// that raises the percent. The lines that keep it: pkg/reconcile/rollout/update.go, weigh.
func TestWhatTheAPIBringsIsNoOtherChange(t *testing.T) {
	b, publish := fleetNode(t)
	b.write(t, "nodes/n.yaml", "apiVersion: netwright.dev/v1alpha1\nkind: Node\nmetadata: {name: n}\nspec: {address: 10.0.0.1}\n")
	said := func(t *testing.T, pods string) {
		t.Helper()
		h, err := host.Open(t.Context(), host.Options{Root: b.root})
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		if err := ledger.SaveAPICache(t.Context(), h.Files, ledger.APICache{Node: "n", PodCIDRs: []netip.Prefix{netip.MustParsePrefix(pods)}, Judged: true}); err != nil {
			t.Fatal(err)
		}
	}
	said(t, "100.96.1.0/24")
	publish(t, "{percent: 0, splay: 0s}", "one")
	b.live(t, func(t *testing.T) {
		publish(t, "{percent: 0, splay: 0s}", "three")
		later(11 * time.Minute)
		u := b.waits(t)
		if u == nil || hostroot.Read(t, b.root, "/etc/motd") != "one" {
			t.Fatalf("no node takes it, and this one did: %+v", u)
		}
		for _, pods := range []string{"100.96.2.0/24", "100.96.3.0/24"} {
			said(t, pods)
			later(11 * time.Minute)
			if again := b.waits(t); again == nil || again.Fingerprint != u.Fingerprint || !again.Since.Equal(u.Since) {
				t.Errorf("with %s it is another change: %+v, was %+v", pods, again, u)
			}
			if conf := hostroot.Read(t, b.root, "/etc/cni/net.d/05-netwright-bridge.conflist"); !strings.Contains(conf, pods) {
				t.Errorf("the configuration in force does not follow the API: %s", conf)
			}
		}
		at := rollout.Bucket("n", u.Fingerprint)
		publish(t, fmt.Sprintf("{percent: %d,   splay: 0s}", at), "three") // the spaces: see TestPercent
		later(11 * time.Minute)
		if again := b.waits(t); again == nil || again.Fingerprint != u.Fingerprint || !again.Since.Equal(u.Since) || again.Digest == u.Digest {
			t.Errorf("a generation that wants the same is another change: %+v, was %+v", again, u)
		}
		publish(t, "{percent: 0,      splay: 0s}", "four")
		later(11 * time.Minute)
		if again := b.waits(t); again == nil || again.Fingerprint == u.Fingerprint || again.Since.Equal(u.Since) {
			t.Errorf("a generation that wants something else is the same change: %+v", again)
		}
	})
}

// A freeze also keeps live changes back, and no repair. The line that keeps it:
// pkg/reconcile/rollout/update.go, blockedReason.
func TestFreeze(t *testing.T) {
	b, publish := fleetNode(t)
	publish(t, "{splay: 0s, freeze: true}", "one") // a first configuration is no change
	b.live(t, func(t *testing.T) {
		publish(t, "{splay: 0s, freeze: true}", "three")
		later(11 * time.Minute)
		if u := b.waits(t); u == nil || hostroot.Read(t, b.root, "/etc/motd") != "one" {
			t.Fatalf("the configuration was applied, or does not wait: %+v", u)
		}
		hostroot.Put(t, b.root, "/etc/motd", "by hand")
		later(11 * time.Minute)
		if got := hostroot.Read(t, b.root, "/etc/motd"); got != "one" {
			t.Errorf("a repair waited: %q", got)
		}
		publish(t, "{splay: 0s}", "three")
		later(11 * time.Minute)
		if got := hostroot.Read(t, b.root, "/etc/motd"); got != "three" {
			t.Errorf("it was not taken when the freeze was over: %q", got)
		}
	})
}

// The configuration that was taken last cannot be read. A changed configuration waits as always,
// and the revision replaces what is in force. A configuration that equals the revision is no
// change. The line that keeps it: pkg/reconcile/rollout/update.go, Changes.
func TestAFreezeHoldsWithoutTheLastGood(t *testing.T) {
	b, publish := fleetNode(t)
	publish(t, "{splay: 0s, freeze: true}", "one")
	b.live(t, func(t *testing.T) {})
	const file = ledger.Dir + "/last-good.json"
	hostroot.Put(t, b.root, file, "damaged")
	b.manager = &manager{}
	b.daemon.Manager = b.manager
	b.live(t, func(t *testing.T) {
		later(11 * time.Minute)
		if got := hostroot.Read(t, b.root, file); got == "damaged" || b.waits(t) != nil {
			t.Fatalf("the configuration in force is not recorded again: %q", got)
		}
		hostroot.Put(t, b.root, file, "damaged")
		publish(t, "{splay: 0s, freeze: true}", "three")
		later(11 * time.Minute)
		hostroot.Put(t, b.root, "/etc/motd", "by hand")
		later(11 * time.Minute)
		if got := hostroot.Read(t, b.root, "/etc/motd"); got != "one" || b.waits(t) == nil {
			t.Errorf("it was taken, or a repair waited: %q", got)
		}
		publish(t, "{splay: 0s}", "three")
		later(11 * time.Minute)
		if got := hostroot.Read(t, b.root, "/etc/motd"); got != "three" || hostroot.Read(t, b.root, file) == "damaged" {
			t.Errorf("it was not taken when the freeze was over: %q", got)
		}
	})
}

// A change that only the API brings does not wait with the documents. It is applied with the
// documents in force. The lines that keep it: pkg/reconcile/rollout/update.go, Take and Effective.
func TestAFreezeHoldsNoFactBack(t *testing.T) {
	b, publish := fleetNode(t)
	b.write(t, "nodes/n1.yaml", "apiVersion: netwright.dev/v1alpha1\nkind: Node\nmetadata: {name: n1}\nspec: {}\n")
	h, err := host.Open(t.Context(), host.Options{Root: b.root})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	converge := func(learnt string) {
		t.Helper()
		node := ledger.APICache{Node: "n1", PodCIDRs: []netip.Prefix{netip.MustParsePrefix(learnt)}}
		if err := ledger.SaveAPICache(t.Context(), h.Files, node); err != nil {
			t.Fatal(err)
		}
		d, err := desired.Load(t.Context(), b.daemon.Store, config.Select{Node: "n1"}, statestore.Revision{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.daemon.Pass.Converge(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
	const pods = "\n  podCIDR: 100.96.0.0/12"
	publish(t, "{splay: 0s}"+pods, "one")
	converge("100.96.1.0/24")
	publish(t, "{splay: 0s, freeze: true}"+pods, "three")
	for _, own := range []string{"100.96.1.0/24", "100.96.3.0/24"} {
		converge(own)
		if u := b.waits(t); u == nil || hostroot.Read(t, b.root, "/etc/motd") != "one" {
			t.Errorf("the configuration was applied, or does not wait: %+v", u)
		}
		if conf := hostroot.Read(t, b.root, conflist); !strings.Contains(conf, own) {
			t.Errorf("the Node has %s, and the conf is %s", own, conf)
		}
	}
}

// A generation that was undone is kept back, and the one in force is not. Drift is repaired, and
// what a boot removed is restored. Each pass still ends with an error. The lines that keep it:
// pkg/reconcile/rollout/update.go, Take; pkg/reconcile/converge.go, takeAndConverge.
func TestAnUndoneGenerationHoldsNoRepairBack(t *testing.T) {
	b, publish := fleetNode(t)
	publish(t, "{splay: 0s}", "one")
	told := &listener{}
	b.daemon.Observers = []Observer{told}
	b.live(t, func(t *testing.T) {
		publish(t, "{splay: 0s}", "two")
		d, err := desired.Load(t.Context(), b.daemon.Store, b.daemon.Select, statestore.Revision{})
		if err != nil {
			t.Fatal(err)
		}
		hostroot.Put(t, b.root, checkpoint.VerdictFile, `{"generation":7,"digest":"`+d.Snapshot.Digest+`","bad":true,"why":"tcp:x (no answer)","tries":1,"at":"2000-01-01T00:00:00Z"}`)
		hostroot.Put(t, b.root, "/etc/motd", "by hand")
		later(11 * time.Minute)
		if got := hostroot.Read(t, b.root, "/etc/motd"); got != "one" {
			t.Errorf("a repair was held back: %q", got)
		}
		if s := told.last(); s.State != report.NodeFailing || !strings.Contains(s.Reason, "generation 7 is bad: probe tcp:x") || s.Waiting == nil {
			t.Errorf("the status is %s (%s), %+v waits", s.State, s.Reason, s.Waiting)
		}
		publish(t, "{splay: 0s}", "four")
		later(11 * time.Minute)
		if got := hostroot.Read(t, b.root, "/etc/motd"); got != "four" {
			t.Errorf("the next generation was not taken: %q", got)
		}
	})
}

// The same holds if the generation in force was undone later, with a hook that ran anew. Only what
// is not proved is refused. The line that keeps it: pkg/reconcile/take_checkpoint.go,
// withoutUnsafe.
func TestAnUndoneHookHoldsNoOtherRepairBack(t *testing.T) {
	b, publish := fleetNode(t)
	const hook = "/etc/systemd/system/x.service"
	publish(t, "{splay: 0s}\n  hooks: [{name: x.service, manifest: \"ExecStart=/bin/true\"}]", "one")
	told := &listener{}
	b.daemon.Observers = []Observer{told}
	b.live(t, func(t *testing.T) {
		d, err := desired.Load(t.Context(), b.daemon.Store, b.daemon.Select, statestore.Revision{})
		if err != nil {
			t.Fatal(err)
		}
		hostroot.Put(t, b.root, checkpoint.VerdictFile, `{"generation":7,"digest":"`+d.Snapshot.Digest+`","bad":true,"why":"tcp:x (no answer)","tries":1,"at":"2000-01-01T00:00:00Z"}`)
		hostroot.Put(t, b.root, "/etc/motd", "by hand")
		hostroot.Put(t, b.root, hook, "by hand")
		later(11 * time.Minute)
		if got := hostroot.Read(t, b.root, "/etc/motd"); got != "one" {
			t.Errorf("a repair was held back: %q", got)
		}
		if got := hostroot.Read(t, b.root, hook); got != "by hand" {
			t.Errorf("the hook was written again: %q", got)
		}
		if s := told.last(); s.State != report.NodeFailing || !strings.Contains(s.Reason, "generation 7 is bad: probe tcp:x") {
			t.Errorf("the status is %s (%s)", s.State, s.Reason)
		}
	})
}

// A clock that is set back keeps nothing back for longer than the splay.
func TestAClockThatWasSetBack(t *testing.T) {
	b, publish := fleetNode(t)
	publish(t, "{splay: 10m}", "one")
	b.live(t, func(t *testing.T) {
		publish(t, "{splay: 10m}", "two")
		later(11 * time.Minute)
		u := b.waits(t)
		if u == nil {
			t.Skip("its turn was already")
		}
		text := strings.Replace(hostroot.Read(t, b.root, ledger.Dir+"/update.json"), u.Free.Format(time.RFC3339), u.Free.AddDate(1, 0, 0).Format(time.RFC3339), 1)
		hostroot.Put(t, b.root, ledger.Dir+"/update.json", text)
		later(22 * time.Minute)
		if got := hostroot.Read(t, b.root, "/etc/motd"); got != "two" {
			t.Errorf("the change waits by the wrong clock: %q", got)
		}
	})
}

// A clock that is set forward makes no splay shorter, since the agent measures it by the machine's
// uptime. The line that keeps it: pkg/reconcile/rollout/splay.go, free.
func TestAClockThatWasSetAhead(t *testing.T) {
	b, publish := fleetNode(t)
	publish(t, "{splay: 10h}", "one")
	up := func(d time.Duration) {
		hostroot.Put(t, b.root, "/proc/uptime", fmt.Sprintf("%.2f 1.00\n", d.Seconds()))
	}
	up(time.Hour)
	b.live(t, func(t *testing.T) {
		publish(t, "{splay: 10h}", "two")
		later(12 * time.Hour) // by the wall clock
		if got := hostroot.Read(t, b.root, "/etc/motd"); got != "one" || b.waits(t) == nil {
			t.Errorf("it was taken when the clock was set ahead: %q", got)
		}
		up(11 * time.Hour)
		later(11 * time.Minute)
		if got := hostroot.Read(t, b.root, "/etc/motd"); got != "two" {
			t.Errorf("it was not taken at its turn: %q", got)
		}
	})
}

// waitsUnnumbered says whether the daemon's line to systemd reports a waiting configuration without
// a number.
func waitsUnnumbered(line string) bool {
	return regexp.MustCompile(", sha256 [0-9a-f]{12} waits$").MatchString(line)
}

// The agent restarts while the store does not answer. A change that waits keeps the time that it
// has waited. The line that keeps it: pkg/reconcile/converge.go, d.Taken.
func TestAnOutageOfTheStoreIsNoNewBeginning(t *testing.T) {
	b, publish := fleetNode(t)
	publish(t, "{splay: 24h}", "one")
	var u *ledger.Update
	b.live(t, func(t *testing.T) {
		publish(t, "{splay: 24h}", "three")
		later(11 * time.Minute)
		if u = b.waits(t); u == nil {
			t.Fatal("it was taken at once")
		}
	})
	away := b.store + ".away"
	if err := os.Rename(b.store, away); err != nil {
		t.Fatal(err)
	}
	b.manager = &manager{}
	b.daemon.Manager = b.manager
	b.live(t, func(t *testing.T) {
		later(11 * time.Minute)
		if err := os.Rename(away, b.store); err != nil {
			t.Fatal(err)
		}
		later(11 * time.Minute)
		if again := b.waits(t); again == nil || *again != *u {
			t.Errorf("the wait is recorded as\n%+v, before as\n%+v", again, u)
		}
	})
}
