package dryrun

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/reconcile"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/tasks"
	"github.com/netwright/netwright/test/needs"
	"github.com/netwright/netwright/test/node"
	"github.com/netwright/netwright/test/program"
)

// inNode is set for this test program when it runs inside of a node.
const inNode = "NETWRIGHT_DRYRUN_IN_NODE"

func TestMain(m *testing.M) { os.Exit(program.Main(m)) }

// With a real systemd, the listed changes of units, mounts and effects are what systemctl then
// shows, and no other unit was touched.
//
// The lines that keep it: pkg/host/systemd/unit_state.go, look (GetUnitFileState: links that
// systemd does not know yet); pkg/tasks/mount.go, Plan (missingParents).
func TestUnitsInANode(t *testing.T) {
	t.Parallel()
	if os.Getenv(inNode) == "" {
		needs.Root(t)
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		n := node.NewFabric(t).Node(t, node.Options{Name: "n", Address: "10.77.0.11", Copies: map[string]string{
			"/dryrun.test": self, "/usr/bin/netwright": program.Agent(t), // also for an undo, since units take a checkpoint
		}})
		out := n.Run(t.Context(), "env", inNode+"=1", "/dryrun.test", "-test.run=^TestUnitsInANode$", "-test.v", "-test.timeout=10m")
		if t.Log(out.Stdout); out.Code != 0 {
			t.Errorf("exit %d: %s", out.Code, out.Stderr)
		}
		return
	}
	for _, c := range unitCases {
		t.Run(c.name, func(t *testing.T) { tryUnits(t, c) })
	}
}

const sleeper = "[Service]\nExecStart=sleep 1000\n[Install]\nWantedBy=multi-user.target\n"

// unitCase is a unit in a state, and what the documents want of it.
type unitCase struct {
	name string
	set  string // a script that makes the state
	want func(name string) []tasks.Task
}

var unitCases = []unitCase{
	{"absent", "", entire},
	{"right", "write; systemctl enable --now $u", entire},
	{"edited-while-it-runs", "write '# other'; systemctl enable --now $u", entire},
	{"stopped", "write; systemctl enable $u", entire},
	{"disabled", "write; systemctl start $u", entire},
	{"not-read-again", "write '# other'; systemctl enable --now $u; write", entire},
	{"drop-in-absent", "write; systemctl start $u", dropped},
	{"drop-in-of-what-is-stopped", "write; systemctl daemon-reload", dropped},
	{"no-such-unit", "", func(name string) []tasks.Task {
		return []tasks.Task{tasks.UnitState{Meta: meta(), Name: name, Active: new(true)}}
	}},
	{"to-be-stopped", "write; systemctl enable --now $u", func(name string) []tasks.Task {
		return []tasks.Task{tasks.UnitState{Meta: meta(), Name: name, Active: new(false), Enabled: new(false)}}
	}},
	{"mount", "", func(name string) []tasks.Task {
		return []tasks.Task{tasks.Mount{Meta: meta(), What: "tmpfs", Where: "/srv/mnt", Type: "tmpfs"}}
	}},
}

func reload() tasks.Task { return tasks.Effect{Meta: meta(), Action: tasks.ActionDaemonReload} }

func restart(name string) tasks.Task {
	return tasks.Effect{Meta: meta(), Action: tasks.ActionRestart, Unit: name, Wait: true}
}

func entire(name string) []tasks.Task {
	return []tasks.Task{
		reload(), restart(name), tasks.Unit{Meta: meta(tasks.Restart(name)), Name: name, Content: []byte(sleeper)},
		tasks.UnitState{Meta: tasks.Meta{From: "state", Requires: []graph.Key{tasks.Restart(name)}}, Name: name, Enabled: new(true), Active: new(true)},
	}
}

func dropped(name string) []tasks.Task {
	return []tasks.Task{reload(), restart(name), tasks.DropIn{Meta: meta(tasks.Restart(name)), Unit: name, Name: "50-netwright.conf", Content: []byte("[Service]\nNice=1\n")}}
}

// truth returns a unit as systemctl shows it, and how often systemd has read its files.
func truth(t *testing.T, name string) map[string]string {
	t.Helper()
	out := map[string]string{"reloads": strings.TrimSpace(sh(t, "journalctl --sync; journalctl -b _PID=1 -o cat | grep -c '^Reloading' || true"))}
	out["UnitFileState"] = strings.TrimSpace(sh(t, "systemctl is-enabled "+name+" 2>/dev/null || true")) // as on the disk
	for line := range strings.Lines(sh(t, "systemctl show -p ActiveState,InvocationID "+name)) {
		k, v, _ := strings.Cut(strings.TrimSpace(line), "=")
		out[k] = v
	}
	return out
}

func sh(t *testing.T, script string) string {
	t.Helper()
	out, err := exec.Command("sh", "-euc", script).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return string(out)
}

func tryUnits(t *testing.T, c unitCase) {
	name := c.name + ".service"
	sh(t, fmt.Sprintf("rm -rf /var/lib/netwright; mkdir -p /srv; u=%s; write() { printf '%%s\\n' \"$@\" | sed '/^$/d' >/tmp/head; printf '%s' | cat /tmp/head - >/etc/systemd/system/$u; }; %s", name, strings.ReplaceAll(sleeper, "\n", `\n`), c.set))
	p := reconcile.Pass{Host: host.Options{Root: "/"}, Log: zap.NewNop()}
	d := desired.FromTasks("n", c.want(name))
	files, was := take(t), truth(t, name)
	listed, _ := p.DryRun(t.Context(), d)
	identical(t, "the dry run", files, take(t))
	if now := truth(t, name); fmt.Sprint(now) != fmt.Sprint(was) {
		t.Errorf("the dry run changed %v to %v", was, now)
	}
	made, _ := p.Converge(t.Context(), d)
	is, after := truth(t, name), take(t)
	fates(t, listed, made)
	said := claims(listed)
	unit, touched := said["unit:"+name]
	for _, f := range unit.Fields {
		if got := map[string]string{"active": is["ActiveState"], "enabled": is["UnitFileState"]}[f.Name]; got != "" && got != f.After {
			t.Errorf("%s was to be %s and is %s", f.Name, f.After, got)
		}
	}
	if !touched && (was["ActiveState"] != is["ActiveState"] || was["UnitFileState"] != is["UnitFileState"]) {
		t.Errorf("the unit went from %v to %v and was not listed", was, is)
	}
	// A listed restart happened, for a unit that ran. No other restart did.
	_, again := said["effect:restart "+name]
	ran := was["ActiveState"] == "active" && is["ActiveState"] == "active"
	if ran && again != (was["InvocationID"] != is["InvocationID"]) {
		t.Errorf("a restart was listed: %t; it was %v and is %v", again, was, is)
	}
	// A start reads new files by itself. A reload is wrong only if nothing explains it.
	_, read := said["effect:daemon-reload"]
	if read && was["reloads"] == is["reloads"] || len(said) == 0 && was["reloads"] != is["reloads"] {
		t.Errorf("a daemon-reload was listed: %t; there were %s and are %s", read, was["reloads"], is["reloads"])
	}
	for _, key := range union(files, after) {
		_, ok := said[key]
		link := strings.Contains(key, ".wants") // made when the unit is enabled
		if strings.HasPrefix(key, "file:") && !ok && !link && !same(files[key], after[key]) {
			t.Errorf("%s changed and was not listed", key)
		}
	}
	if left, _ := p.DryRun(t.Context(), d); left.Summary.Changes() != 0 {
		t.Errorf("left:\n%s", show(left))
	}
	if t.Failed() {
		t.Logf("listed:\n%smade:\n%s", show(listed), show(made))
	}
}
