package reconcile

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/checkpoint"
	"github.com/netwright/netwright/pkg/checkpoint/firstboot"
	"github.com/netwright/netwright/pkg/checkpoint/probe"
	"github.com/netwright/netwright/pkg/config/policy"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/reconcile/history"
	"github.com/netwright/netwright/test/hostroot"
	"github.com/netwright/netwright/test/netns"
)

// This test goes from the pass that changes a file to the boot that fails with it, on a link with a
// gateway and without systemd. The test itself does what networkd would do with the restored file.
// The lines that keep it: take_checkpoint.go, undoable (AtBoot); pkg/reconcile/session/session.go,
// Holding (firstBoot); failed_boots.go.
func TestAPassIsJudgedByTheNextBoot(t *testing.T) {
	if !netns.Alone(t, "/etc", "/run", "/var/lib") {
		return
	}
	sh := func(script string) {
		t.Helper()
		if out, err := exec.Command("/bin/sh", "-ec", script).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s\n%s", err, out, script)
		}
	}
	const well = "ip addr flush dev up0; ip addr add 10.0.0.2/24 dev up0; ip route replace default via 10.0.0.1"
	sh(`ip netns add out; ip link add up0 type veth peer name up1 netns out
ip -n out addr add 10.0.0.1/24 dev up1; ip -n out link set up1 up; ip link set up0 up; mkdir -p /etc/systemd/system; printf 1 >/etc/boots; ` + well)
	pass := func(window time.Duration) Pass {
		return Pass{
			Host: host.Options{Root: "/"}, Log: zap.NewNop(),
			Checkpoint: checkpoint.Settings{Window: window, Probes: []probe.Probe{"neighbour:up0/10.0.0.1"}},
		}
	}
	want := func(content string) *desired.State {
		return wanting(file("/etc/boots", content), file("/etc/motd", content))
	}

	plan, err := pass(time.Second).Converge(t.Context(), want("2"))
	if err != nil || len(plan.AwaitingBoot) != 1 || plan.AwaitingBoot[0] != "/etc/boots" {
		t.Fatalf("%v, awaiting %q", err, plan.AwaitingBoot)
	}
	if err := pass(time.Second).Session().FirstBoot(t.Context()); err != nil { // it is the same boot
		t.Fatal(err)
	}
	boot := func(id, script string) {
		t.Helper()
		const index = firstboot.Dir + "/index.json"
		var record map[string]any
		data, err := os.ReadFile(index)
		if err == nil {
			err = json.Unmarshal(data, &record)
		}
		if err != nil {
			t.Fatal(err)
		}
		record["right"], record["boot"] = record["boot"], id // as if another boot had read it
		if data, err = json.Marshal(record); err == nil {
			err = os.WriteFile(index, data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		sh(script)
	}
	boot("one", "ip addr flush dev up0; ip addr add 192.0.2.7/24 dev up0")
	acted := make(chan struct{})
	go func() {
		defer close(acted)
		for now, _ := os.ReadFile("/etc/boots"); string(now) != "1"; now, _ = os.ReadFile("/etc/boots") {
			time.Sleep(10 * time.Millisecond)
		}
		if out, err := exec.Command("/bin/sh", "-ec", well).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	}()
	// Nothing calls FirstBoot here: the next pass judges the boot first.
	plan, err = pass(time.Second).Converge(t.Context(), want("2"))
	<-acted
	var failed *BootFailedError
	if !errors.As(err, &failed) || failed.Outcome != string(firstboot.Bad) || !strings.Contains(failed.Why, "address:up0/10.0.0.2/24") {
		t.Fatalf("%v\n%s", err, said(plan))
	}
	if now := hostroot.Read(t, "/", "/etc/boots"); now != "1" || len(plan.AwaitingBoot) > 0 {
		t.Errorf("the file is %q, awaiting %q", now, plan.AwaitingBoot)
	}
	h, err := history.Read(pass(0).Host)
	if err != nil || len(h.Boots) != 1 || h.Boots[0].Outcome != string(firstboot.Bad) {
		t.Errorf("the history: %+v, %v", h, err)
	}

	// Another content is made and awaits its boot. The boot confirms it, before the agent asks any
	// store.
	d := want("3")
	d.Node.Update.BootUndo = policy.BootUndoReboot
	if plan, err = pass(time.Second).Converge(t.Context(), d); err != nil || len(plan.AwaitingBoot) != 1 {
		t.Fatalf("%v, awaiting %q", err, plan.AwaitingBoot)
	}
	boot("two", "true")
	if err := pass(time.Second).Session().FirstBoot(t.Context()); err != nil {
		t.Fatal(err)
	}
	if h, err = history.Read(pass(0).Host); err != nil || h.Boots[len(h.Boots)-1].Outcome != string(firstboot.Confirmed) || len(h.AwaitingBoot) > 0 {
		t.Errorf("the history: %+v, %v", h, err)
	}
	if now := hostroot.Read(t, "/", "/etc/boots"); now != "3" {
		t.Errorf("the file is %q", now)
	}
}
